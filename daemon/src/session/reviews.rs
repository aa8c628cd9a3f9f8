//! Reviews of proposals by a model, in the session of their place: those that are asked for, and those
//! that start by themselves where every proposal needs one.

use scene_schemas::api::{
    Event, Failure, FailureKind, ReviewEstimate, ReviewQuote, WorkflowStarted,
};
use scene_schemas::entry::Seq;
use scene_schemas::permission::Permission;
use scene_schemas::review::{ReviewOffer, TaskRole};
use serde_json::json;
use vector_core::workflow::Workflow;
use vector_engine::ToolDriver;
use vector_engine::fetch::FetchResult;

use super::{Reply, RequestSettings, SessionActor, WorkflowSlot, engine_failure};
use crate::event_hub::{ApprovalObstacle, ReviewDemand};
use crate::failure::failure;

impl SessionActor {
    /// Begins the review of a pending proposal by a model.
    pub(super) fn start_review(
        &mut self,
        proposal: Seq,
        model: Option<&str>,
    ) -> Result<WorkflowStarted, Failure> {
        let driver = self.review_driver(proposal, model)?;
        let request =
            self.engine.review_request(proposal).map_err(|error| engine_failure(&error))?;
        self.check_first_request(&driver, &request)?;
        let begun = self.engine.begin_review(proposal, driver);
        let workflow = begun.map_err(|error| engine_failure(&error))?;
        self.workflow_slots.insert(workflow, WorkflowSlot::default());
        Ok(WorkflowStarted { workflow })
    }

    /// Returns the driver of a reviewer.
    fn review_driver(&self, proposal: Seq, model: Option<&str>) -> Result<ToolDriver, Failure> {
        match self.driver_of(model) {
            ToolDriver::Missing { why, .. } => {
                let hint = "Fix the problem, or choose another model in the settings.";
                Err(failure(FailureKind::Provider, why, hint))
            }
            driver => Ok(driver.for_role(TaskRole::Reviewer { proposal })),
        }
    }

    /// Replies what a review of a pending proposal would cost, or why no model can review it.
    pub(super) fn send_quote(
        &self,
        proposal: Seq,
        settings: &RequestSettings,
        reply: Reply<ReviewQuote>,
    ) {
        let quote = match self.estimate_review(proposal, settings.model.as_deref()) {
            Ok(estimate) => {
                let cost = estimate.describe();
                let text = format!("{}: {cost} for its first request", estimate.model);
                ReviewQuote { estimate: Some(estimate), text }
            }
            Err(Failure { message, .. }) => ReviewQuote { estimate: None, text: message },
        };
        let _ = reply.send(Ok(quote));
    }

    /// Estimates what a review of a pending proposal costs.
    fn estimate_review(
        &self,
        proposal: Seq,
        model: Option<&str>,
    ) -> Result<ReviewEstimate, Failure> {
        let driver = self.review_driver(proposal, model)?;
        self.engine.estimate_review(proposal, &driver).map_err(|error| engine_failure(&error))
    }

    /// Begins the review that an agent asks for, or asks the person for the permission. Its result is part
    /// of the proposal, so that the call need not wait for it.
    pub(super) fn begin_requested_review(
        &mut self,
        workflow: Seq,
        call: Seq,
        proposal: Seq,
    ) -> Result<FetchResult, Failure> {
        let model = self.active_settings.model();
        let estimate = self.estimate_review(proposal, model.as_deref())?;
        let is_permitted = |task: &Workflow| task.may_request_review(call, proposal);
        if self.engine.workflow(workflow).is_some_and(is_permitted) {
            self.start_review(proposal, model.as_deref())?;
            let answer =
                json!({ "proposal": proposal, "review": "running", "model": estimate.model });
            return Ok(FetchResult::Answer(answer));
        }
        let pending = self.engine.find_proposal(proposal);
        let title = pending.map_or_else(String::new, |(_, it)| it.proposal.title.clone());
        let cost = estimate.describe();
        let offer = ReviewOffer { proposal, title, model: estimate.model, cost };
        Ok(FetchResult::NeedsPermission(Permission::Review(Box::new(offer))))
    }

    /// Records the results of reviews that have ended, drops the requests of those that were cut off,
    /// and starts the reviews that are required.
    pub(super) fn settle_reviews(&mut self) {
        // A ledger error shows up again when the engine runs.
        for reviewer in self.engine.settle_reviews().unwrap_or_default() {
            if let Some(slot) = self.workflow_slots.get_mut(&reviewer) {
                slot.active_request = None;
                slot.is_stopped = false;
            }
        }
        if !self.workflow_slots.is_empty() {
            self.refresh_review_gate();
            self.start_required_reviews();
        }
    }

    /// Checks that a proposal was reviewed, if that is required at this moment.
    pub(super) fn check_reviewed(&mut self, proposal: Seq) -> Result<(), Failure> {
        self.refresh_review_gate();
        let found = self.engine.find_proposal(proposal);
        let task = found.and_then(|(task, _)| self.engine.workflow(task));
        match task.and_then(|task| self.review_gate.find_obstacle(task, proposal)) {
            None => Ok(()),
            Some(ApprovalObstacle { message, hint }) => {
                Err(failure(FailureKind::Settled, message, hint))
            }
        }
    }

    /// Reads whether reviews are required. The settings may change at any time, and a project can have
    /// its own.
    fn refresh_review_gate(&mut self) {
        let folder = self.mention_folder();
        self.review_gate.demand = match self.model_selector.is_review_required(folder.as_deref()) {
            Ok(false) => ReviewDemand::Optional,
            Ok(true) => ReviewDemand::Required,
            Err(why) => ReviewDemand::Unknown(why),
        };
        let is_waiting = |seq: &Seq| {
            self.engine.find_proposal(*seq).is_some_and(|(_, it)| it.status.is_pending())
        };
        self.review_gate.problems.retain(|seq, _| is_waiting(seq));
        self.engine.set_review_required(self.review_gate.demand != ReviewDemand::Optional);
        self.slot.set_review_gate(&self.review_gate);
    }

    /// Starts a review of each proposal that needs one, once. In a dry run, nothing can be approved
    /// anyway.
    fn start_required_reviews(&mut self) {
        if self.review_gate.demand != ReviewDemand::Required || self.active_settings.is_dry_run() {
            return;
        }
        for proposal in self.engine.proposals_to_review() {
            if self.review_gate.problems.contains_key(&proposal) {
                continue;
            }
            let model = self.active_settings.model();
            let Err(Failure { kind, message, hint }) =
                self.start_review(proposal, model.as_deref())
            else {
                continue;
            };
            // A refusal of the engine says itself what to do.
            let is_refusal = kind == FailureKind::Settled;
            let problem = if is_refusal { message } else { format!("{message} {hint}") };
            let text = format!("It was not reviewed: {problem}");
            self.review_gate.problems.insert(proposal, problem);
            self.slot.set_review_gate(&self.review_gate);
            if let Some((task, _)) = self.engine.find_proposal(proposal) {
                self.emit_progress(task, Event::Review { proposal, text });
            }
        }
    }
}
