//! Estimates of requests: what a task will probably take, and the confirmation of costly ones.

use scene_schemas::api::{Chat, Failure, FailureKind};
use scene_schemas::tier::TaskEstimate;
use vector_engine::UserRequest;
use vector_providers::config::FILE;

use super::attachments::{SessionRequest, resolve_attachments};
use super::{RequestSettings, SessionActor, ToolDriver};
use crate::failure::failure;

impl SessionActor {
    /// Estimates what a request will take. Files and mentions are not read for it, and an attachment
    /// that is gone is left out: the request itself is refused for it.
    pub(super) fn estimate_chat(&mut self, request: SessionRequest) -> TaskEstimate {
        let SessionRequest { chat, settings: RequestSettings { model, .. }, .. } = request;
        let role = chat.role();
        let Chat { text: goal, interaction, selected, attached, .. } = chat;
        let scene = self.engine.scene();
        let attached = resolve_attachments(scene, &attached).unwrap_or_default();
        // Missing parts of the mirror are not requested.
        let _ = scene.take_missing();
        let request =
            UserRequest { goal, attached, interaction, selected, role, ..UserRequest::default() };
        self.engine.estimate_task(&request, &self.driver_of(model.as_deref()))
    }

    /// Checks that a new task is not estimated to cost more than is allowed without a confirmation.
    pub(super) fn check_estimate(
        &self,
        driver: &ToolDriver,
        request: &UserRequest,
    ) -> Result<(), Failure> {
        let estimate = self.engine.estimate_task(request, driver);
        if !estimate.needs_confirmation {
            return Ok(());
        }
        let message =
            format!("This has to be confirmed, because of what it may cost. {}.", estimate.line);
        let hint = format!(
            "Confirm it on the page or in `vector chat`, or ask for less. caps.estimate_usd in {FILE} \
             sets the limit."
        );
        Err(failure(FailureKind::TooMany, message, &hint))
    }
}
