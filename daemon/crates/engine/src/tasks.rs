//! The workflows of an engine: how they begin, are resumed and end.

use std::collections::BTreeSet;
use std::sync::Arc;

use scene_schemas::Refusal;
use scene_schemas::entry::{Entry, Place, Record, Seq};
use scene_schemas::proposal::Mode;
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::Footprint;
use vector_core::workflow::{PendingProposal, PendingStatus, Workflow, WorkflowInput};
use vector_ledger::{Ledger, WorkflowLease};

use crate::apply::ApplyProgress;
use crate::check::SlowGame;
use crate::executor::{Executor, previous_task};
use crate::model_request::{self, RequestMemory};
use crate::planner::Planner;
use crate::workflow_state::WorkflowCache;
use crate::{Engine, EngineError, EntryListener, Target, ToolDriver, UserRequest};

impl Engine {
    /// Creates an engine without active workflows.
    pub fn without_tasks(
        ledger: &Arc<Ledger>,
        target: impl Into<Target>,
        scene: PlanningScene,
        listener: EntryListener,
    ) -> Self {
        Self {
            executor: Executor::new(ledger, listener),
            planner: Planner::new(scene),
            target: target.into(),
            applying: ApplyProgress::default(),
            reverted_runs: WorkflowCache::default(),
            requests: RequestMemory::default(),
            mode_limit: Mode::Dangerous,
            unpermitted_calls: BTreeSet::new(),
            is_dry_run: false,
            has_play_check: false,
            is_review_required: false,
            unreviewed_results: BTreeSet::new(),
            slow_game: SlowGame::default(),
        }
    }

    pub fn begin_workflow(
        &mut self,
        request: impl Into<UserRequest>,
        driver: ToolDriver,
        mode: Mode,
    ) -> Result<Seq, EngineError> {
        let request = request.into();
        self.executor.load_conversation(request.follows)?;
        // The proposals of other tasks are not part of the context.
        self.planner.drop_overlay_from(0, &self.executor);
        let context = self.select_context(&request, &driver);
        let UserRequest { goal, attached, interaction, follows, role, requested_by, selected: _ } =
            request;
        let started = Entry::Started {
            place: self.target.place(),
            goal,
            driver: driver.name(),
            mode,
            attached,
            interaction,
            follows,
            guards: model_request::driver_guards(&driver),
            served: self.executor.is_served(),
            role,
            requested_by,
        };
        let entries = std::iter::once(started).chain(context).collect();
        self.executor.begin_workflow(entries, driver)
    }

    /// Resumes a workflow of another process.
    pub(crate) fn resume_workflow(
        &mut self,
        lease: WorkflowLease,
        records: &[Record],
        driver: ToolDriver,
    ) {
        if let Some(last) = records.last() {
            self.planner.invalidate_ids(last.seq);
        }
        self.executor.resume_workflow(lease, records, driver);
    }

    /// Resumes a workflow of an open place, from another process or another epoch.
    pub fn resume_in_studio(
        &mut self,
        lease: WorkflowLease,
        driver: ToolDriver,
    ) -> Result<Seq, EngineError> {
        let workflow = lease.workflow();
        let records = self.executor.ledger().workflow_records(workflow)?;
        self.executor.load_conversation(previous_task(&records))?;
        self.resume_workflow(lease, &records, driver);
        if let Some(task) = self.executor.task_mut(workflow) {
            task.is_other_epoch = true;
        }
        self.restore_created_ids()?;
        self.requeue_overlay();
        self.refuse_begun_playtests(workflow)?;
        self.replan_missed(workflow)?;
        Ok(workflow)
    }

    /// Returns the active workflows in the order in which they are run. The one whose call has
    /// asked Studio something is first, because fetched facts are valid for that call only.
    pub fn task_order(&self) -> Vec<Seq> {
        let mut order: Vec<Seq> = self.executor.active_seqs().collect();
        if let Some(first) = self.asking_workflow() {
            order.sort_by_key(|workflow| *workflow != first);
        }
        order
    }

    /// Returns a workflow, as read from the ledger.
    pub fn workflow(&self, workflow: Seq) -> Option<&Workflow> {
        self.executor.workflow(workflow)
    }

    pub fn active_workflows(&self) -> impl Iterator<Item = (Seq, &Workflow)> {
        self.executor.active_workflows()
    }

    pub fn is_active(&self, workflow: Seq) -> bool {
        self.executor.task(workflow).is_some()
    }

    /// Returns a proposal of any active workflow, with that workflow.
    pub fn find_proposal(&self, proposal: Seq) -> Option<(Seq, &PendingProposal)> {
        self.executor.find_proposal(proposal)
    }

    /// Returns the undecided proposals of a workflow, oldest first.
    pub fn undecided_proposals(&self, workflow: Seq) -> Vec<Seq> {
        let all = self.workflow(workflow).into_iter().flat_map(Workflow::proposals);
        all.filter(|(_, it)| it.status == PendingStatus::Waiting).map(|(seq, _)| seq).collect()
    }

    /// Returns the proposal that has to be decided before another one.
    pub fn blocking_proposal(&self, proposal: Seq) -> Option<Seq> {
        self.executor.state().decided_before(proposal)
    }

    /// Returns the position of the last entry that this engine appended.
    pub fn last_position(&self) -> Seq {
        self.executor.last_seq()
    }

    /// Returns the place as the ledger names it.
    pub fn place(&self) -> Place {
        self.target.place()
    }

    /// Handles an input about a proposal, in the workflow that it belongs to.
    pub(crate) fn handle_for_proposal(
        &mut self,
        proposal: Seq,
        input: WorkflowInput,
    ) -> Result<Vec<Record>, EngineError> {
        match self.find_proposal(proposal) {
            Some((workflow, _)) => self.handle_input(workflow, input),
            None => Err(Refusal(format!("There is no proposal {proposal}.")).into()),
        }
    }

    /// Records a proposal as failed.
    pub(crate) fn fail_proposal(&mut self, seq: Seq, reason: String) -> Result<(), EngineError> {
        let failed = WorkflowInput::Failed { proposals: vec![seq], reason };
        self.handle_for_proposal(seq, failed).map(drop)
    }

    /// Withdraws the plan of a proposal, so that its call is planned again, and the plans of those
    /// that depend on it.
    pub(crate) fn replan_proposal(&mut self, seq: Seq, reason: String) -> Result<(), EngineError> {
        let replan = WorkflowInput::Replan { proposal: seq, reason };
        self.handle_for_proposal(seq, replan).map(drop)
    }

    /// Applies new records of a finished task that another task follows.
    pub fn apply_past_records(&mut self, records: &[Record]) {
        self.executor.apply_past_records(records);
    }

    /// Whether the user has to confirm that a workflow continues.
    pub fn has_trouble(&self, workflow: Seq) -> bool {
        self.workflow(workflow).is_some_and(|it| it.conversation().trouble().is_some())
    }

    /// Replaces the driver of a workflow.
    pub fn set_driver(&mut self, workflow: Seq, driver: ToolDriver) {
        if let Some(task) = self.executor.task_mut(workflow) {
            task.driver = driver;
        }
    }

    /// Drops a workflow that is over.
    pub fn end_workflow(&mut self, workflow: Seq) {
        if self.asking_workflow() == Some(workflow) {
            self.forget_questions();
        }
        let is_last = self.executor.end_workflow(workflow);
        self.retract_playtests();
        if is_last {
            self.drop_overlay();
            self.forget_questions();
            self.planner.forget_workflows();
            if let Some(studio) = self.studio_mut() {
                studio.created_ids_mut().clear();
            }
        }
    }

    /// Withdraws the pending proposals of other tasks that touch what was applied, to plan them again.
    pub(crate) fn replan_touched(&mut self, records: &[Record]) -> Result<(), EngineError> {
        for record in records {
            let Entry::Applied { proposal: applied, .. } = record.entry else {
                continue;
            };
            let Some((_, pending)) = self.find_proposal(applied) else {
                continue;
            };
            let footprint = Footprint::new(&pending.proposal);
            let others = self.undispatched(|_| true).into_iter();
            let others: Vec<Seq> = others
                .filter(|seq| {
                    self.find_proposal(*seq).is_some_and(|(of, it)| {
                        of != record.workflow && !it.proposal.after.contains(&applied)
                    })
                })
                .collect();
            for seq in self.planner.find_touched(&footprint, &others, &self.executor) {
                self.replan_proposal(seq, replan_reason(applied))?;
            }
        }
        Ok(())
    }

    /// Withdraws the pending proposals of a resumed task that touch what was applied for other tasks
    /// while this one was not active, to plan them again.
    fn replan_missed(&mut self, workflow: Seq) -> Result<(), EngineError> {
        for (seq, applied) in self.executor.find_missed_changes(workflow)? {
            self.replan_proposal(seq, replan_reason(applied))?;
        }
        Ok(())
    }
}

fn replan_reason(applied: Seq) -> String {
    format!("Proposal {applied} was applied and touches this; it is replanned.")
}
