//! Reviews of proposals by a model, in the session of their place.

use scene_schemas::api::{Failure, FailureKind, WorkflowStarted};
use scene_schemas::entry::Seq;
use scene_schemas::review::TaskRole;
use vector_engine::ToolDriver;

use super::{SessionActor, WorkflowSlot, engine_failure};
use crate::failure::failure;

impl SessionActor {
    /// Begins the review of a pending proposal by a model.
    pub(super) fn start_review(
        &mut self,
        proposal: Seq,
        model: Option<&str>,
    ) -> Result<WorkflowStarted, Failure> {
        let driver = match self.driver_of(model) {
            ToolDriver::Missing { why, .. } => {
                let hint = "Fix the problem, or choose another model in the settings.";
                return Err(failure(FailureKind::Provider, why, hint));
            }
            driver => driver.for_role(TaskRole::Reviewer { proposal }),
        };
        let request =
            self.engine.review_request(proposal).map_err(|error| engine_failure(&error))?;
        self.check_first_request(&driver, &request)?;
        let begun = self.engine.begin_review(proposal, driver);
        let workflow = begun.map_err(|error| engine_failure(&error))?;
        self.workflow_slots.insert(workflow, WorkflowSlot::default());
        Ok(WorkflowStarted { workflow })
    }

    /// Records the results of reviews that have ended, and drops the requests of those that were cut off.
    pub(super) fn settle_reviews(&mut self) {
        // A ledger error shows up again when the engine runs.
        for reviewer in self.engine.settle_reviews().unwrap_or_default() {
            if let Some(slot) = self.workflow_slots.get_mut(&reviewer) {
                slot.active_request = None;
                slot.is_stopped = false;
            }
        }
    }
}
