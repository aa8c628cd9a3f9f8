//! The active workflows of a place, side by side.
//!
//! The scene, the target and the overlay belong to the place. Each workflow has its driver and its
//! lease. Every step names the workflow that it is for.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use scene_schemas::Refusal;
use scene_schemas::entry::{Entry, Place, Record, Seq};
use scene_schemas::proposal::Mode;
use vector_core::proposal::BlobStore;
use vector_core::tools::FetchRequest;
use vector_core::workflow::{
    LedgerState, PendingProposal, PendingStatus, Workflow, WorkflowInput, decide,
};
use vector_ledger::{AppendBatch, Ledger, LedgerError, WorkflowLease};
use vector_place::Scene;

use crate::budget::SpendingMeter;
use crate::hybrid::LinkedProjects;
use crate::model_request;
use crate::studio_sync;
use crate::{Engine, EngineError, EntryListener, Target, ToolDriver, UserRequest};

#[derive(Debug)]
pub(super) struct ActiveTask {
    pub(super) driver: ToolDriver,
    /// Whether its entries may hold ids from another epoch than the place's.
    pub(super) is_other_epoch: bool,
    /// The model request whose reply is awaited.
    pub(super) open_request: Option<Seq>,
    /// The call that waits for a fetch, and the fetch.
    pub(super) fetching: Option<(Seq, Arc<FetchRequest>)>,
    _lease: WorkflowLease,
}

impl Engine {
    /// Creates an engine without active workflows.
    pub fn without_tasks(
        ledger: &Arc<Ledger>,
        target: impl Into<Target>,
        scene: Scene,
        listener: EntryListener,
    ) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            state: LedgerState::default(),
            tasks: BTreeMap::new(),
            scene,
            target: target.into(),
            overlay: Vec::new(),
            blobs: BlobStore::new(),
            planned_texts: HashMap::new(),
            rebase_count: 0,
            mode_limit: Mode::Dangerous,
            questions: studio_sync::AskedQuestions::default(),
            linked_projects: LinkedProjects::default(),
            last_system: None,
            spending: SpendingMeter::default(),
            last_seq: Seq(0),
            is_served: false,
            ids_valid_after: Seq(0),
            listener,
            unrecorded: Vec::new(),
        }
    }

    /// Begins a workflow.
    pub fn begin_workflow(
        &mut self,
        request: impl Into<UserRequest>,
        driver: ToolDriver,
        mode: Mode,
    ) -> Result<Seq, EngineError> {
        let request = request.into();
        self.load_conversation(request.follows)?;
        let context = self.select_context(&request, &driver);
        let UserRequest { goal, attached, stance, follows } = request;
        let started = Entry::Started {
            place: self.target.place(),
            goal,
            driver: driver.name(),
            mode,
            attached,
            stance,
            follows,
            guards: model_request::driver_guards(&driver),
            served: self.is_served,
        };
        let entries = std::iter::once(started).chain(context).collect();
        let batch = AppendBatch { workflow: None, entries, blobs: Vec::new() };
        let (records, lease) = self.ledger.start_workflow(batch)?;
        let workflow = lease.workflow();
        self.activate_workflow(lease, driver);
        self.apply_records(&records);
        Ok(workflow)
    }

    /// Resumes a workflow of another process.
    pub(super) fn resume_workflow(
        &mut self,
        lease: WorkflowLease,
        records: &[Record],
        driver: ToolDriver,
    ) {
        self.activate_workflow(lease, driver);
        for record in records {
            self.invalidate_ids(record.seq);
            self.state.apply_record(record);
        }
    }

    fn activate_workflow(&mut self, lease: WorkflowLease, driver: ToolDriver) {
        let workflow = lease.workflow();
        let task = ActiveTask {
            driver,
            is_other_epoch: false,
            open_request: None,
            fetching: None,
            _lease: lease,
        };
        self.tasks.insert(workflow, task);
    }

    /// Resumes a workflow of an open place, from another process or another epoch.
    pub fn resume_in_studio(
        &mut self,
        lease: WorkflowLease,
        driver: ToolDriver,
    ) -> Result<Seq, EngineError> {
        let workflow = lease.workflow();
        let records = self.ledger.workflow_records(workflow)?;
        self.load_conversation(previous_task(&records))?;
        self.resume_workflow(lease, &records, driver);
        if let Some(task) = self.tasks.get_mut(&workflow) {
            task.is_other_epoch = true;
        }
        self.requeue_overlay();
        for gone in self.find_lost_dependencies(workflow)? {
            self.handle_input(workflow, WorkflowInput::Lost(gone))?;
        }
        Ok(workflow)
    }

    /// Returns the proposals of other workflows that this one's pending proposals depended on, and
    /// that were rejected or withdrawn while this workflow was not active.
    fn find_lost_dependencies(&self, workflow: Seq) -> Result<Vec<Seq>, EngineError> {
        let all = self.workflow(workflow).into_iter().flat_map(Workflow::proposals);
        let pending = all.filter(|(_, it)| it.status.is_pending());
        let mut below: Vec<Seq> = pending.flat_map(|(_, it)| it.proposal.after.clone()).collect();
        below.sort_unstable();
        below.dedup();
        let mut lost = Vec::new();
        for seq in below {
            let Some(record) = self.ledger.record_at(seq)? else {
                continue;
            };
            let mut state = LedgerState::default();
            for record in self.ledger.workflow_records(record.workflow)? {
                state.apply_record(&record);
            }
            if state.find_proposal(seq).is_some_and(|(_, it)| is_gone(it)) {
                lost.push(seq);
            }
        }
        Ok(lost)
    }

    /// Returns the active workflows in the order of their turns. The one whose call has asked
    /// Studio something is first, because fetched facts are valid for that call only.
    pub fn task_order(&self) -> Vec<Seq> {
        let mut turns: Vec<Seq> = self.tasks.keys().copied().collect();
        if let Some(first) = self.asking_workflow() {
            turns.sort_by_key(|workflow| *workflow != first);
        }
        turns
    }

    /// Returns a proposal of any active workflow, with that workflow.
    pub fn find_proposal(&self, proposal: Seq) -> Option<(Seq, &PendingProposal)> {
        self.active_workflows()
            .find_map(|(seq, workflow)| Some((seq, workflow.proposal(proposal)?)))
    }

    /// Handles an input about a proposal, in the workflow that it belongs to.
    pub(super) fn handle_for_proposal(
        &mut self,
        proposal: Seq,
        input: WorkflowInput,
    ) -> Result<Vec<Record>, EngineError> {
        match self.find_proposal(proposal) {
            Some((workflow, _)) => self.handle_input(workflow, input),
            None => Err(Refusal(format!("There is no proposal {proposal}.")).into()),
        }
    }

    /// Returns the proposals of all active workflows, oldest first.
    pub(super) fn all_proposals(&self) -> Vec<(Seq, &PendingProposal)> {
        let mut all: Vec<_> = self.active_workflows().flat_map(|(_, it)| it.proposals()).collect();
        all.sort_unstable_by_key(|(seq, _)| *seq);
        all
    }

    /// Returns the undecided proposals, oldest first.
    pub fn undecided_proposals(&self) -> Vec<Seq> {
        let all = self.all_proposals().into_iter();
        all.filter(|(_, it)| it.status == PendingStatus::Waiting).map(|(seq, _)| seq).collect()
    }

    /// Returns the oldest proposal that is approved and not yet applied.
    pub(super) fn first_approved(&self) -> Option<Seq> {
        self.active_workflows().flat_map(|(_, it)| it.approved_proposals()).min()
    }

    pub fn active_workflows(&self) -> impl Iterator<Item = (Seq, &Workflow)> {
        self.tasks.keys().filter_map(|seq| Some((*seq, self.state.workflow(*seq)?)))
    }

    /// Returns the proposal that has to be decided before another one.
    pub fn blocking_proposal(&self, proposal: Seq) -> Option<Seq> {
        self.state.decided_before(proposal)
    }

    pub fn is_active(&self, workflow: Seq) -> bool {
        self.tasks.contains_key(&workflow)
    }

    /// Returns the position of the last entry that this engine appended.
    pub fn last_position(&self) -> Seq {
        self.last_seq
    }

    /// Returns the place as the ledger names it.
    pub fn place(&self) -> Place {
        self.target.place()
    }

    pub(super) fn driver(&self, workflow: Seq) -> Option<&ToolDriver> {
        self.tasks.get(&workflow).map(|task| &task.driver)
    }

    /// Reads the earlier tasks of a conversation, unless they are loaded already.
    fn load_conversation(&mut self, follows: Option<Seq>) -> Result<(), EngineError> {
        let is_known = |workflow| self.state.workflow(workflow).is_some();
        for record in conversation_records(&self.ledger, follows, is_known)? {
            self.state.apply_record(&record);
        }
        Ok(())
    }

    /// Applies new records of a finished task that another task follows.
    pub fn apply_past_records(&mut self, records: &[Record]) {
        for record in records {
            self.state.apply_record(record);
        }
    }

    /// Whether the user has to confirm that a workflow continues.
    pub fn has_trouble(&self, workflow: Seq) -> bool {
        self.workflow(workflow).is_some_and(|it| it.conversation().trouble().is_some())
    }

    /// Replaces the driver of a workflow.
    pub fn set_driver(&mut self, workflow: Seq, driver: ToolDriver) {
        if let Some(task) = self.tasks.get_mut(&workflow) {
            task.driver = driver;
        }
    }

    /// Drops a workflow that is over.
    pub fn end_workflow(&mut self, workflow: Seq) {
        if self.asking_workflow() == Some(workflow) {
            self.forget_questions();
        }
        self.tasks.remove(&workflow);
        self.state.retain_workflows(self.tasks.keys().copied());
        if self.tasks.is_empty() {
            self.drop_overlay();
            self.forget_questions();
            self.state = LedgerState::default();
            self.blobs.clear();
            self.planned_texts.clear();
        }
    }

    /// Withdraws, in the other workflows, the proposals that depend on one that is gone.
    pub(super) fn withdraw_dependents(&mut self, records: &[Record]) -> Result<(), EngineError> {
        for record in records {
            let (Entry::Rejected { proposal, .. } | Entry::Withdrawn { proposal, .. }) =
                record.entry
            else {
                continue;
            };
            let others: Vec<Seq> =
                self.tasks.keys().copied().filter(|it| *it != record.workflow).collect();
            for other in others {
                let entries = decide(&self.state, other, WorkflowInput::Lost(proposal))?;
                self.append_entries(other, entries, Vec::new())?;
            }
        }
        Ok(())
    }
}

/// Returns the records of the earlier tasks of a conversation, oldest first, because a plan is
/// handed on from one task to the next. Reading stops at the first task that is known already.
pub(super) fn conversation_records(
    ledger: &Ledger,
    mut follows: Option<Seq>,
    is_known: impl Fn(Seq) -> bool,
) -> Result<Vec<Record>, LedgerError> {
    let mut tasks = Vec::new();
    while let Some(workflow) = follows.filter(|workflow| !is_known(*workflow)) {
        let records = ledger.workflow_records(workflow)?;
        follows = previous_task(&records);
        tasks.push(records);
    }
    Ok(tasks.into_iter().rev().flatten().collect())
}

/// Returns the task that this one follows, by its first record.
fn previous_task(records: &[Record]) -> Option<Seq> {
    let first = records.first()?;
    match &first.entry {
        // A task follows an earlier one, never itself.
        Entry::Started { follows, .. } => follows.filter(|before| *before < first.seq),
        _ => None,
    }
}

/// Whether a proposal is gone, so that no other can depend on it any more.
fn is_gone(pending: &PendingProposal) -> bool {
    matches!(pending.status, PendingStatus::Rejected(_) | PendingStatus::Withdrawn(_))
}
