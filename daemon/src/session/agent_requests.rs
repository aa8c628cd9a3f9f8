//! What agents ask Vector's own models for: reviews of their proposals, and tasks.

use scene_schemas::api::{Failure, FailureKind, WorkflowStarted};
use scene_schemas::entry::Seq;
use scene_schemas::permission::Permission;
use scene_schemas::workers::TaskOffer;
use serde_json::json;
use vector_core::tools::{SessionWork, TaskWish};
use vector_core::workflow::Workflow;
use vector_engine::fetch::FetchResult;
use vector_engine::{ToolDriver, UserRequest};
use vector_providers::ProviderKind;

use super::SessionActor;
use crate::failure::failure;

impl SessionActor {
    /// Answers a call that asks for a task of another model: asks the person for the permission, or begins
    /// it if that is given.
    pub(super) fn answer_agent_request(&mut self, workflow: Seq, call: Seq, work: SessionWork) {
        let answer = match work {
            SessionWork::Review(proposal) => self.begin_requested_review(workflow, call, proposal),
            SessionWork::Task(wish) => self.begin_requested_task(workflow, call, wish),
        };
        let answer = answer.map_err(|Failure { message, hint, .. }| format!("{message} {hint}"));
        if let Err(error) = self.engine.record_fetch_result(workflow, call, answer) {
            self.stop_with_error(workflow, &error);
        }
    }

    /// Returns the task that began for a call and has not ended.
    pub(super) fn requested_task(&self, call: Seq) -> Option<Seq> {
        let mut active = self.engine.active_workflows();
        active.find(|(_, task)| task.requested_by == Some(call)).map(|(task, _)| task)
    }

    /// Begins the task that an agent asks for, once: a call that is planned again finds its task.
    fn begin_requested_task(
        &mut self,
        workflow: Seq,
        call: Seq,
        wish: TaskWish,
    ) -> Result<FetchResult, Failure> {
        if let Some(task) = self.requested_task(call) {
            return Ok(FetchResult::Answer(json!({ "task": task })));
        }
        // A person's task and its questions must not be mixed up with those of another.
        let of_person = |task: &Workflow| {
            task.agent_name().is_none() && task.role.is_own_task() && !task.is_over()
        };
        if let Some((task, _)) = self.engine.active_workflows().find(|(_, task)| of_person(task)) {
            return Err(failure(
                FailureKind::Settled,
                format!("Task {task} is at work in this place."),
                "Ask again when it has ended, or do it yourself.",
            ));
        }
        let (mode, model) = (self.active_settings.mode(), self.active_settings.model());
        let role = wish.role.to_task_role();
        let driver = match self.driver_of(model.as_deref()) {
            ToolDriver::Missing { why, .. } => {
                let hint = "Do it yourself, or ask the person to choose another model.";
                return Err(failure(FailureKind::Provider, why, hint));
            }
            driver @ ToolDriver::Provider(ProviderKind::Model(_)) => driver,
            ToolDriver::Provider(ProviderKind::Offline)
            | ToolDriver::Calls
            | ToolDriver::Agent { .. } => {
                return Err(failure(
                    FailureKind::Provider,
                    "No model is set up in Vector.",
                    "Do it yourself, or ask the person to choose a model in the settings.",
                ));
            }
        };
        let request = UserRequest {
            goal: wish.request.clone(),
            role,
            requested_by: Some(call),
            ..UserRequest::default()
        };
        let driver = self.engine.route_task(&request, driver);
        self.check_first_request(&driver, &request)?;
        let model = driver.name();
        let permitted = self.engine.workflow(workflow).and_then(|it| it.granted_permission(call));
        let is_permitted = matches!(permitted, Some(Permission::Task(offer))
            if offer.request == wish.request && offer.role == wish.role && offer.model == model);
        if !is_permitted {
            let estimate = self.engine.estimate_task(&request, &driver).line;
            let TaskWish { request, role } = wish;
            let offer = TaskOffer { request, role, model, estimate };
            return Ok(FetchResult::NeedsPermission(Permission::Task(Box::new(offer))));
        }
        let WorkflowStarted { workflow: task } = self.start_workflow(request, driver, mode)?;
        Ok(FetchResult::Answer(json!({ "task": task })))
    }
}
