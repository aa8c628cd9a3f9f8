//! A place with a single workflow, for programs that begin one, run it and end.

use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use scene_schemas::api::{ProposedScript, SpendingLimits};
use scene_schemas::entry::{Approver, Record, Seq};
use scene_schemas::proposal::{Mode, Proposal, Row};
use scene_schemas::rule::TaskRule;
use scene_schemas::{InstancePath, Refusal};
use vector_core::planning_scene::PlanningScene;
use vector_core::prompt::ToolCall;
use vector_core::proposal::ProposalDraft;
use vector_core::workflow::{PendingProposal, Workflow, WorkflowInput};
use vector_files::place_file::PlaceFile;
use vector_ledger::Ledger;
use vector_providers::answer::ModelAnswer;
use vector_providers::http::HttpError;

use crate::fetch::{FetchResult, FetchWork};
use crate::model_request::ModelRequest;
use crate::review_gate::MissingReview;
use crate::{
    Engine, EngineError, EntryListener, NextStep, Target, ToolDriver, UserRequest, read_member_rows,
};

/// An engine, and the workflow that all its steps are for.
pub struct WorkflowRun {
    engine: Engine,
    workflow: Seq,
}

impl WorkflowRun {
    /// Creates an engine for a place and begins a workflow in it.
    pub fn start(
        ledger: &Arc<Ledger>,
        opened: (impl Into<Target>, PlanningScene),
        request: impl Into<UserRequest>,
        driver: ToolDriver,
        mode: Mode,
        listener: EntryListener,
    ) -> Result<Self, EngineError> {
        let mut engine = Engine::without_tasks(ledger, opened.0, opened.1, listener);
        let workflow = engine.begin_workflow(request, driver, mode)?;
        Ok(Self { engine, workflow })
    }

    pub fn seq(&self) -> Seq {
        self.workflow
    }

    /// Returns the files of the scripts that have their own, by the scripts' paths.
    pub fn script_files(&self) -> HashMap<InstancePath, PathBuf> {
        self.engine.script_files()
    }

    /// Sets the limits that the user has chosen, and whether they are there to let a costly request
    /// continue.
    pub fn set_spending_limits(&mut self, limits: SpendingLimits, is_attended: bool) {
        self.engine.set_spending_limits(limits);
        self.engine.set_attended(is_attended);
    }

    /// Sets whether proposals are checked by playing the game.
    pub fn set_play_check(&mut self, is_on: bool) {
        self.engine.set_play_check(is_on);
    }

    /// Sets whether a proposal is approved only after a review by a model. A run has no reviewer, so
    /// nothing of it is approved then.
    pub fn set_review_required(&mut self, is_required: bool) {
        self.engine.set_review_required(is_required);
    }

    /// Returns the review that a proposal lacks; None if it can be approved without one.
    pub fn missing_review(&self, proposal: Seq) -> Option<MissingReview> {
        self.engine.find_missing_review(proposal)
    }

    /// Returns the workflow, as read from the ledger.
    pub fn workflow(&self) -> Option<&Workflow> {
        self.engine.workflow(self.workflow)
    }

    pub fn find_proposal(&self, proposal: Seq) -> Option<&PendingProposal> {
        self.workflow()?.proposal(proposal)
    }

    /// Reads preview rows of a command over many instances; see [`read_member_rows`].
    ///
    /// # Errors
    /// See [`read_member_rows`].
    pub fn member_rows(
        &self,
        proposal: &Proposal,
        command: u32,
        members: Range<u32>,
    ) -> Result<Vec<Row>, EngineError> {
        read_member_rows(self.engine.executor.ledger(), proposal, command, members)
    }

    pub fn run(&mut self) -> Result<NextStep, EngineError> {
        self.engine.run(self.workflow)
    }

    pub fn handle_input(&mut self, input: WorkflowInput) -> Result<Vec<Record>, EngineError> {
        self.engine.handle_input(self.workflow, input)
    }

    pub fn add_calls(&mut self, calls: Vec<ToolCall>) -> Result<(), EngineError> {
        self.engine.add_calls(self.workflow, calls)
    }

    pub fn approve(&mut self, proposal: Seq, by: Approver, twice: bool) -> Result<(), EngineError> {
        self.engine.approve(proposal, by, twice)
    }

    /// Approves a proposal, and allows something for the rest of the task.
    pub fn approve_with_rule(
        &mut self,
        proposal: Seq,
        by: Approver,
        rule: TaskRule,
    ) -> Result<(), EngineError> {
        self.engine.approve_with_rule(proposal, by, false, Some(rule))
    }

    pub fn revise_proposal(
        &mut self,
        old: Seq,
        draft: impl FnOnce(&mut ProposalDraft<'_>) -> Result<(), Refusal>,
    ) -> Result<Seq, EngineError> {
        self.engine.revise_proposal(old, draft)
    }

    /// Returns the texts of a script in the preview of a pending proposal, by its index.
    pub fn proposed_script(
        &mut self,
        proposal: Seq,
        script: usize,
    ) -> Result<ProposedScript, EngineError> {
        self.engine.proposed_script(proposal, script)
    }

    pub fn prepare_request(&mut self) -> Result<Option<ModelRequest>, EngineError> {
        self.engine.prepare_request(self.workflow)
    }

    pub fn handle_reply(
        &mut self,
        request: &ModelRequest,
        answer: Result<ModelAnswer, HttpError>,
    ) -> Result<(), EngineError> {
        self.engine.handle_reply(self.workflow, request, answer)
    }

    pub fn find_fetch(&self, call: Seq) -> Option<FetchWork> {
        self.engine.find_fetch(call)
    }

    pub fn record_fetch_result(
        &mut self,
        call: Seq,
        fetched: Result<FetchResult, String>,
    ) -> Result<(), EngineError> {
        self.engine.record_fetch_result(self.workflow, call, fetched)
    }

    /// Returns the proposals that are in the place, recorded or not.
    pub fn applied_in_place(&self) -> Vec<Seq> {
        self.engine.applied_in_place(self.workflow)
    }

    /// Returns the proposals that are approved but not yet in the place.
    pub fn approved_not_applied(&self) -> Vec<Seq> {
        self.engine.approved_not_applied(self.workflow)
    }

    /// Returns the name of the place as entries record it, for messages.
    pub fn place_name(&self) -> String {
        self.engine.place_name()
    }

    /// Returns the place file; None if the target is not a place file.
    pub fn place_file(&self) -> Option<&PlaceFile> {
        self.engine.place_file()
    }

    /// Returns the scene, with the pending proposals.
    pub fn scene(&self) -> &PlanningScene {
        self.engine.scene()
    }

    /// Leaks the scene and the state instead of freeing them. Only for a process that is about to
    /// exit: a large scene takes long to free.
    pub fn release(self) {
        self.engine.release();
    }
}
