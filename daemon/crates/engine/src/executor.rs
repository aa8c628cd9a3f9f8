//! The executor: the active workflows of a place, their leases, and their entries in the ledger.
//!
//! It decides what an input means and appends the resulting entries. It must not know the scene or
//! the target.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, Record, Seq};
use scene_schemas::permission::Permission;
use vector_core::play::PlayRequest;
use vector_core::proposal::{BlobStore, Footprint};
use vector_core::tools::FetchRequest;
use vector_core::workflow::{LedgerState, PendingProposal, Workflow, WorkflowInput, decide};
use vector_ledger::{AppendBatch, Ledger, LedgerError, WorkflowLease};

use crate::check::ProposalCheck;
use crate::fetch::{FinishedRun, RunScene};
use crate::{EngineError, EntryListener, ToolDriver};

/// How many entries are read at once.
const PAGE: usize = 500;

#[derive(Debug)]
pub(crate) struct ActiveTask {
    pub(crate) driver: ToolDriver,
    /// Whether its entries may hold ids from another epoch than the place's.
    pub(crate) is_other_epoch: bool,
    /// The model request whose reply is awaited.
    pub(crate) open_request: Option<Seq>,
    /// The estimated cost of its last request, in US dollars.
    pub(crate) estimated_cost: f64,
    /// The last estimate that was reported to the user, in US dollars.
    pub(crate) reported_cost: Option<f64>,
    /// The call that waits for a fetch, and the fetch.
    pub(crate) fetching: Option<(Seq, Arc<FetchRequest>)>,
    /// For the check of a proposal: the scene without it and with it.
    checking: Option<RunScene>,
    /// The call whose code has run, until its changes are planned.
    ran: Option<(Seq, Arc<FetchRequest>, Arc<FinishedRun>)>,
    /// The last proposal that was checked, or that is being checked.
    pub(crate) check: Option<ProposalCheck>,
    /// The new errors that were returned to its model.
    pub(crate) returned_errors: BTreeSet<String>,
    _lease: WorkflowLease,
}

impl ActiveTask {
    fn new(driver: ToolDriver, lease: WorkflowLease) -> Self {
        Self {
            driver,
            is_other_epoch: false,
            open_request: None,
            estimated_cost: 0.0,
            reported_cost: None,
            fetching: None,
            checking: None,
            ran: None,
            check: None,
            returned_errors: BTreeSet::new(),
            _lease: lease,
        }
    }
}

pub(crate) struct Executor {
    ledger: Arc<Ledger>,
    /// The workflows that are loaded: the active ones and the earlier tasks of their conversations.
    state: LedgerState,
    tasks: BTreeMap<Seq, ActiveTask>,
    /// The last entry that was appended here.
    last_seq: Seq,
    /// Whether a daemon serves the workflows that begin here.
    is_served: bool,
    listener: EntryListener,
}

impl Executor {
    pub(crate) fn new(ledger: &Arc<Ledger>, listener: EntryListener) -> Self {
        Self {
            ledger: Arc::clone(ledger),
            state: LedgerState::default(),
            tasks: BTreeMap::new(),
            last_seq: Seq(0),
            is_served: false,
            listener,
        }
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    pub(crate) fn shared_ledger(&self) -> Arc<Ledger> {
        Arc::clone(&self.ledger)
    }

    pub(crate) fn state(&self) -> &LedgerState {
        &self.state
    }

    /// Returns the last entry that was appended here.
    pub(crate) fn last_seq(&self) -> Seq {
        self.last_seq
    }

    pub(crate) fn is_served(&self) -> bool {
        self.is_served
    }

    /// Marks workflows that begin from now on as served by a daemon.
    pub(crate) fn mark_served(&mut self) {
        self.is_served = true;
    }

    /// Leaks the state instead of freeing it.
    pub(crate) fn release(self) {
        std::mem::forget(self.state);
    }

    pub(crate) fn active_seqs(&self) -> impl Iterator<Item = Seq> {
        self.tasks.keys().copied()
    }

    pub(crate) fn tasks(&self) -> impl Iterator<Item = (&Seq, &ActiveTask)> {
        self.tasks.iter()
    }

    pub(crate) fn task(&self, workflow: Seq) -> Option<&ActiveTask> {
        self.tasks.get(&workflow)
    }

    pub(crate) fn task_mut(&mut self, workflow: Seq) -> Option<&mut ActiveTask> {
        self.tasks.get_mut(&workflow)
    }

    /// Marks the ids in the entries of all workflows as those of another epoch.
    pub(crate) fn begin_epoch(&mut self) {
        self.tasks.values_mut().for_each(|task| task.is_other_epoch = true);
    }

    /// Returns a workflow, as read from the ledger.
    pub(crate) fn workflow(&self, workflow: Seq) -> Option<&Workflow> {
        self.state.workflow(workflow)
    }

    pub(crate) fn driver(&self, workflow: Seq) -> Option<&ToolDriver> {
        self.tasks.get(&workflow).map(|task| &task.driver)
    }

    pub(crate) fn active_workflows(&self) -> impl Iterator<Item = (Seq, &Workflow)> {
        self.tasks.keys().filter_map(|seq| Some((*seq, self.state.workflow(*seq)?)))
    }

    /// Returns a proposal of any active workflow, with that workflow.
    pub(crate) fn find_proposal(&self, proposal: Seq) -> Option<(Seq, &PendingProposal)> {
        self.state.find_proposal(proposal).filter(|(workflow, _)| self.tasks.contains_key(workflow))
    }

    /// Returns the proposals of all active workflows, oldest first.
    pub(crate) fn all_proposals(&self) -> Vec<(Seq, &PendingProposal)> {
        let mut all: Vec<_> = self.active_workflows().flat_map(|(_, it)| it.proposals()).collect();
        all.sort_unstable_by_key(|(seq, _)| *seq);
        all
    }

    /// Returns the number of pending proposals.
    pub(crate) fn pending_count(&self) -> usize {
        let all = self.active_workflows().flat_map(|(_, it)| it.proposals());
        all.filter(|(_, it)| it.status.is_pending()).count()
    }

    /// Returns the oldest proposal that is approved and not yet applied.
    pub(crate) fn first_approved(&self) -> Option<Seq> {
        self.active_workflows().flat_map(|(_, it)| it.approved_proposals()).min()
    }

    /// Begins a workflow with its first entries.
    pub(crate) fn begin_workflow(
        &mut self,
        entries: Vec<Entry>,
        driver: ToolDriver,
    ) -> Result<Seq, EngineError> {
        let batch = AppendBatch { workflow: None, entries, blobs: Vec::new() };
        let (records, lease) = self.ledger.start_workflow(batch)?;
        let workflow = lease.workflow();
        self.tasks.insert(workflow, ActiveTask::new(driver, lease));
        self.apply_records(&records);
        Ok(workflow)
    }

    /// Resumes a workflow of another process.
    pub(crate) fn resume_workflow(
        &mut self,
        lease: WorkflowLease,
        records: &[Record],
        driver: ToolDriver,
    ) {
        self.tasks.insert(lease.workflow(), ActiveTask::new(driver, lease));
        self.apply_past_records(records);
    }

    /// Drops a workflow that is over. Returns true if no active one is left.
    pub(crate) fn end_workflow(&mut self, workflow: Seq) -> bool {
        self.tasks.remove(&workflow);
        self.state.retain_workflows(self.tasks.keys().copied());
        if self.tasks.is_empty() {
            self.state = LedgerState::default();
        }
        self.tasks.is_empty()
    }

    /// Appends entries and applies them to the state. They are durable then, except for those of a
    /// call that only reads.
    pub(crate) fn append_entries(
        &mut self,
        workflow: Seq,
        entries: Vec<Entry>,
        blobs: Vec<Vec<u8>>,
    ) -> Result<Vec<Record>, EngineError> {
        let only_reads = entries.iter().all(is_part_of_reading);
        let batch = AppendBatch { workflow: Some(workflow), entries, blobs };
        let records = if only_reads {
            self.ledger.append_deferred(batch)?
        } else {
            self.ledger.append(batch)?
        };
        self.apply_records(&records);
        Ok(records)
    }

    fn apply_records(&mut self, records: &[Record]) {
        for record in records {
            self.state.apply_record(record);
            self.last_seq = record.seq;
            (self.listener)(record);
        }
    }

    /// Applies records that others appended, such as those of a finished task that another task
    /// follows.
    pub(crate) fn apply_past_records(&mut self, records: &[Record]) {
        for record in records {
            self.state.apply_record(record);
        }
    }

    /// Reads the earlier tasks of a conversation, unless they are loaded already.
    pub(crate) fn load_conversation(&mut self, follows: Option<Seq>) -> Result<(), EngineError> {
        let is_known = |workflow| self.state.workflow(workflow).is_some();
        for record in conversation_records(&self.ledger, follows, is_known)? {
            self.state.apply_record(&record);
        }
        Ok(())
    }

    /// Returns the pending proposals of a workflow that touch one that was applied for another
    /// workflow since they were proposed, each with that one.
    pub(crate) fn find_missed_changes(
        &self,
        workflow: Seq,
    ) -> Result<Vec<(Seq, Seq)>, EngineError> {
        let all = self.workflow(workflow).into_iter().flat_map(Workflow::proposals);
        let pending = all.filter(|(_, it)| it.status.is_pending());
        let mut pending: Vec<(Seq, &PendingProposal, Footprint)> =
            pending.map(|(seq, it)| (seq, it, Footprint::new(&it.proposal))).collect();
        let mut missed = Vec::new();
        let Some(mut at) = pending.first().map(|(seq, ..)| *seq) else {
            return Ok(missed);
        };
        loop {
            let records = self.ledger.read(at, PAGE)?;
            let Some(last) = records.last() else {
                return Ok(missed);
            };
            at = last.seq;
            for record in records.iter().filter(|it| it.workflow != workflow) {
                let Entry::Applied { proposal: applied, .. } = record.entry else {
                    continue;
                };
                let Some(proposed) = self.ledger.record_at(applied)? else {
                    continue;
                };
                let Entry::Proposed { proposal, .. } = &proposed.entry else {
                    continue;
                };
                let change = Footprint::new(proposal);
                pending.retain(|(seq, it, footprint)| {
                    let is_missed = *seq < record.seq
                        && !it.proposal.after.contains(&applied)
                        && footprint.touches(&change);
                    if is_missed {
                        missed.push((*seq, applied));
                    }
                    !is_missed
                });
            }
        }
    }

    /// Decides what an input means for a workflow.
    pub(crate) fn decide(
        &self,
        workflow: Seq,
        input: WorkflowInput,
    ) -> Result<Vec<Entry>, EngineError> {
        Ok(decide(&self.state, workflow, input)?)
    }

    /// Whether a fetch for a call is in progress.
    pub(crate) fn is_fetching(&self, call: Seq) -> bool {
        self.find_fetch(call).is_some()
    }

    /// Returns the fetch that a call waits for.
    pub(crate) fn find_fetch(&self, call: Seq) -> Option<&Arc<FetchRequest>> {
        let mut requests = self.tasks.values().filter_map(|task| task.fetching.as_ref());
        requests.find(|(of, _)| *of == call).map(|(_, request)| request)
    }

    /// Returns what a person permitted the call that a fetch is in progress for.
    pub(crate) fn granted_permission(&self, call: Seq) -> Option<&Permission> {
        self.workflow(self.workflow_of_fetch(call)?)?.granted_permission(call)
    }

    /// Returns the workflow of the call that a fetch is in progress for.
    pub(crate) fn workflow_of_fetch(&self, call: Seq) -> Option<Seq> {
        let is_of = |task: &ActiveTask| task.fetching.as_ref().is_some_and(|(of, _)| *of == call);
        self.tasks.iter().find(|(_, task)| is_of(task)).map(|(workflow, _)| *workflow)
    }

    pub(crate) fn begin_fetch(&mut self, workflow: Seq, call: Seq, request: Arc<FetchRequest>) {
        if let Some(task) = self.tasks.get_mut(&workflow) {
            task.fetching = Some((call, request));
        }
    }

    /// Begins to play the game with a call's proposal and without it.
    pub(crate) fn begin_check(
        &mut self,
        workflow: Seq,
        call: Seq,
        request: PlayRequest,
        scenes: RunScene,
    ) {
        self.begin_fetch(workflow, call, Arc::new(FetchRequest::Check(request)));
        if let Some(task) = self.tasks.get_mut(&workflow) {
            task.checking = Some(scenes);
        }
    }

    /// Returns the scenes of the check that a call waits for.
    pub(crate) fn checked_scenes(&self, call: Seq) -> Option<&RunScene> {
        let is_of = |task: &&ActiveTask| task.fetching.as_ref().is_some_and(|(of, _)| *of == call);
        self.tasks.values().find(is_of)?.checking.as_ref()
    }

    /// Drops the fetch of a call, and returns it.
    pub(crate) fn end_fetch(&mut self, call: Seq) -> Option<Arc<FetchRequest>> {
        let taken = |task: &mut ActiveTask| {
            let (_, request) = task.fetching.take_if(|(of, _)| *of == call)?;
            task.checking = None;
            Some(request)
        };
        self.tasks.values_mut().find_map(taken)
    }

    /// Keeps a run until the changes of its code are planned.
    pub(crate) fn keep_run(
        &mut self,
        workflow: Seq,
        call: Seq,
        request: Arc<FetchRequest>,
        run: FinishedRun,
    ) {
        if let Some(task) = self.tasks.get_mut(&workflow) {
            task.ran = Some((call, request, Arc::new(run)));
        }
    }

    /// Returns the run of a call.
    pub(crate) fn find_run(
        &self,
        workflow: Seq,
        call: Seq,
    ) -> Option<(Arc<FetchRequest>, Arc<FinishedRun>)> {
        let (of, request, run) = self.tasks.get(&workflow)?.ran.as_ref()?;
        (*of == call).then(|| (Arc::clone(request), Arc::clone(run)))
    }

    /// Drops what was kept for a call that is not planned any more.
    pub(crate) fn forget_call(&mut self, call: Seq) {
        for task in self.tasks.values_mut() {
            task.ran.take_if(|(of, ..)| *of == call);
            task.check.take_if(|check| check.is_of(call));
        }
    }

    /// Drops the run of a workflow's call: its code has to run again, or its changes are planned.
    pub(crate) fn drop_run(&mut self, workflow: Seq) {
        if let Some(task) = self.tasks.get_mut(&workflow) {
            task.ran = None;
        }
    }

    /// Reads blobs from the ledger, unless they are loaded already.
    pub(crate) fn load_blobs(
        &self,
        hashes: impl IntoIterator<Item = Fingerprint>,
        blobs: &mut BlobStore,
    ) -> Result<(), EngineError> {
        for hash in hashes {
            if !blobs.contains_key(&hash)
                && let Some(bytes) = self.ledger.read_blob(&hash)?
            {
                blobs.insert(hash, bytes);
            }
        }
        Ok(())
    }
}

/// Whether nothing but an answer follows from an entry. All that a model does with the answer is
/// recorded by later entries, and these are never durable without this one.
fn is_part_of_reading(entry: &Entry) -> bool {
    matches!(entry, Entry::Called { .. } | Entry::Answered { .. } | Entry::Refused { .. })
}

/// Returns the records of the earlier tasks of a conversation, oldest first, because a plan is
/// handed on from one task to the next. Reading stops at the first task that is known already.
pub(crate) fn conversation_records(
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

/// Reads the earlier tasks of a conversation, up to the entry `before`.
pub(crate) fn read_conversation(
    ledger: &Ledger,
    follows: Option<Seq>,
    before: Seq,
) -> Result<LedgerState, LedgerError> {
    let mut state = LedgerState::default();
    let records = conversation_records(ledger, follows, |_| false)?;
    for record in records.iter().filter(|record| record.seq < before) {
        state.apply_record(record);
    }
    Ok(state)
}

/// Returns the task that this one follows, by its first record.
pub(crate) fn previous_task(records: &[Record]) -> Option<Seq> {
    let first = records.first()?;
    match &first.entry {
        // A task follows an earlier one, never itself.
        Entry::Started { follows, .. } => follows.filter(|before| *before < first.seq),
        _ => None,
    }
}
