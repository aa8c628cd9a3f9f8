//! Workflow states read from the ledger, without driving the workflows.
//!
//! [`read_workflow`] reads a whole state; [`WorkflowCache`] keeps states and reads only new
//! entries.

use std::collections::{BTreeSet, HashMap, VecDeque};

use scene_schemas::api::{ContextUsage, Usage};
use scene_schemas::entry::{Entry, Record, Seq};
use vector_core::workflow::{LedgerState, Workflow};
use vector_ledger::{Ledger, LedgerError};

/// How many finished workflows stay cached.
const MAX_FINISHED: usize = 256;

pub fn read_workflow(ledger: &Ledger, workflow: Seq) -> Result<LedgerState, LedgerError> {
    let mut state = LedgerState::default();
    for record in ledger.workflow_records(workflow)? {
        state.apply_record(&record);
    }
    Ok(state)
}

/// A workflow's state, and the last entry that it includes.
#[derive(Debug)]
pub struct WorkflowReading {
    last_seq: Seq,
    pub state: LedgerState,
    /// What models used for it.
    pub usage: Usage,
    /// The size of the last request to the model; None if there was none.
    pub sent: Option<ContextUsage>,
}

impl WorkflowReading {
    fn new() -> Self {
        let usage = Usage { input: 0, output: 0, cost: None };
        Self { last_seq: Seq(0), state: LedgerState::default(), usage, sent: None }
    }

    fn apply_record(&mut self, record: &Record) {
        self.last_seq = record.seq;
        self.state.apply_record(record);
        match &record.entry {
            Entry::Requested { request } => {
                let (turns, bytes, window) = (request.turns, request.bytes, request.window);
                self.sent = Some(ContextUsage { turns, bytes, window });
            }
            Entry::Replied { tokens: Some(tokens), cost, .. } => {
                self.usage.input += tokens.prompt;
                self.usage.output += tokens.generated;
                self.usage.cost =
                    cost.map(|it| it + self.usage.cost.unwrap_or(0.0)).or(self.usage.cost);
            }
            Entry::Started { .. }
            | Entry::Context { .. }
            | Entry::Asked { .. }
            | Entry::Replied { .. }
            | Entry::RequestFailed { .. }
            | Entry::Resumed {}
            | Entry::Cleared {}
            | Entry::Disconnected { .. }
            | Entry::Erased { .. }
            | Entry::Notified { .. }
            | Entry::Summarised { .. }
            | Entry::Said { .. }
            | Entry::Called { .. }
            | Entry::Questioned { .. }
            | Entry::PermissionRequested { .. }
            | Entry::PermissionDecided { .. }
            | Entry::RuleAdded { .. }
            | Entry::RuleRevoked { .. }
            | Entry::Uploading { .. }
            | Entry::Uploaded { .. }
            | Entry::AssetUploading { .. }
            | Entry::AssetUploadAccepted { .. }
            | Entry::AssetUploaded { .. }
            | Entry::UploadFailed { .. }
            | Entry::GenerationStarting { .. }
            | Entry::GenerationAccepted { .. }
            | Entry::GenerationRefining { .. }
            | Entry::Generated { .. }
            | Entry::GenerationFailed { .. }
            | Entry::CloudRunStarted { .. }
            | Entry::CloudRunAccepted { .. }
            | Entry::CloudRunFinished { .. }
            | Entry::Commented { .. }
            | Entry::CommentsAnswered { .. }
            | Entry::ReviewStarted { .. }
            | Entry::Reviewed { .. }
            | Entry::ReviewFailed { .. }
            | Entry::PartStarted { .. }
            | Entry::PartEnded { .. }
            | Entry::Submitted { .. }
            | Entry::Noted { .. }
            | Entry::Answered { .. }
            | Entry::Refused { .. }
            | Entry::Planned { .. }
            | Entry::Proposed { .. }
            | Entry::Approved { .. }
            | Entry::Rejected { .. }
            | Entry::Withdrawn { .. }
            | Entry::Applying { .. }
            | Entry::Applied { .. }
            | Entry::Failed { .. }
            | Entry::Undone { .. }
            | Entry::Redone { .. }
            | Entry::Finished { .. } => {}
        }
    }
}

/// Cache of workflow states. A lookup reads only the entries since the last one.
#[derive(Debug, Default)]
pub struct WorkflowCache {
    readings: HashMap<Seq, WorkflowReading>,
    /// Finished workflows, in the order in which they are dropped. The others are read often, to
    /// count pending proposals, and stay cached.
    finished: VecDeque<Seq>,
    /// The workflows without an end, and the last entry of the ledger that was looked at for them;
    /// None before the first time.
    unfinished: Option<(BTreeSet<Seq>, Seq)>,
}

impl WorkflowCache {
    /// Returns a workflow's current state.
    pub fn current_state(
        &mut self,
        ledger: &Ledger,
        workflow: Seq,
    ) -> Result<&LedgerState, LedgerError> {
        Ok(&self.current_reading(ledger, workflow)?.state)
    }

    /// Returns the workflows without an end, in order. Looks only at those with new entries, and
    /// brings the states of all of them up to date.
    pub fn unfinished_workflows(&mut self, ledger: &Ledger) -> Result<Vec<Seq>, LedgerError> {
        let head = ledger.last_seq()?;
        let (mut unfinished, changed) = match self.unfinished.take() {
            Some((known, last)) if last == head => (known, Vec::new()),
            Some((known, last)) => (known, ledger.workflows_after(last)?),
            None => {
                let started = ledger.unfinished_starts()?.into_iter().map(|it| it.seq);
                (BTreeSet::new(), started.collect())
            }
        };
        for seq in changed {
            let state = self.current_state(ledger, seq)?;
            if state.workflow(seq).is_some_and(|it| !it.is_over()) {
                unfinished.insert(seq);
            } else {
                unfinished.remove(&seq);
            }
        }
        let all = unfinished.iter().copied().collect();
        self.unfinished = Some((unfinished, head));
        Ok(all)
    }

    /// Returns a workflow's state as of the last time that it was looked at; None if it was not.
    pub fn known_workflow(&self, workflow: Seq) -> Option<&Workflow> {
        self.readings.get(&workflow)?.state.workflow(workflow)
    }

    /// Returns a workflow's current state with its model usage.
    pub fn current_reading(
        &mut self,
        ledger: &Ledger,
        workflow: Seq,
    ) -> Result<&WorkflowReading, LedgerError> {
        while self.finished.len() > MAX_FINISHED
            && let Some(oldest) = self.finished.pop_front()
        {
            self.readings.remove(&oldest);
        }
        let reading = self.readings.entry(workflow).or_insert_with(WorkflowReading::new);
        let is_over =
            |it: &WorkflowReading| it.state.workflow(workflow).is_some_and(Workflow::is_over);
        let was_over = is_over(reading);
        for record in ledger.workflow_records_after(workflow, reading.last_seq)? {
            reading.apply_record(&record);
        }
        if !was_over && is_over(reading) {
            self.finished.push_back(workflow);
        }
        Ok(reading)
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::Fingerprint;
    use scene_schemas::entry::{FilePlace, Finish, InteractionMode, Place};
    use scene_schemas::proposal::Mode;
    use scene_schemas::review::TaskRole;
    use vector_ledger::AppendBatch;

    use super::*;

    fn begin(ledger: &Ledger) -> Seq {
        let (file, hash) = ("a.rbxl".to_owned(), Fingerprint::hash_bytes(b"a"));
        let started = Entry::Started {
            place: Place::File(FilePlace { file, out: None, hash, replaces: None }),
            goal: "a goal".to_owned(),
            driver: "calls".to_owned(),
            mode: Mode::Confirm,
            attached: Vec::new(),
            interaction: InteractionMode::Act,
            follows: None,
            guards: None,
            served: false,
            role: TaskRole::Solo,
            requested_by: None,
        };
        let batch = AppendBatch { workflow: None, entries: vec![started], blobs: Vec::new() };
        ledger.append(batch).unwrap()[0].seq
    }

    fn end(ledger: &Ledger, workflow: Seq) {
        let entries = vec![Entry::Finished { outcome: Finish::Done, summary: None }];
        ledger
            .append(AppendBatch { workflow: Some(workflow), entries, blobs: Vec::new() })
            .unwrap();
    }

    #[test]
    fn cache_knows_the_unfinished_workflows_as_the_ledger_does() {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(home.path()).unwrap();
        let mut readings = WorkflowCache::default();
        let mut open = Vec::new();
        for n in 0..120 {
            open.extend([begin(&ledger), begin(&ledger)]);
            if n % 3 > 0 {
                end(&ledger, open.swap_remove(n % open.len()));
            }
            if n % 7 == 0 {
                end(&ledger, open.pop().unwrap());
            }
            if n % 2 == 0 {
                continue;
            }
            let stored = ledger.unfinished_starts().unwrap();
            let stored: Vec<Seq> = stored.into_iter().map(|it| it.seq).collect();
            assert_eq!(readings.unfinished_workflows(&ledger).unwrap(), stored);
            assert_eq!(readings.unfinished_workflows(&ledger).unwrap(), stored);
            for seq in stored {
                assert!(!readings.known_workflow(seq).unwrap().is_over());
            }
        }
    }

    #[test]
    fn cache_keeps_all_unfinished_and_the_latest_finished_workflows() {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(home.path()).unwrap();
        let at_work: Vec<Seq> = (0..=MAX_FINISHED).map(|_| begin(&ledger)).collect();
        let over: Vec<Seq> = (0..MAX_FINISHED + 2).map(|_| begin(&ledger)).collect();
        let mut readings = WorkflowCache::default();
        let mut read = |all: &[Seq]| {
            for seq in all {
                readings.current_state(&ledger, *seq).unwrap();
            }
            let is_kept = |seq: &&Seq| readings.readings.contains_key(*seq);
            (at_work.iter().filter(is_kept).count(), over.iter().filter(is_kept).count())
        };
        assert_eq!(read(&at_work), (MAX_FINISHED + 1, 0));
        // A workflow that was cached before it finished counts as finished once, from then on.
        read(&over[..1]);
        for seq in &over {
            end(&ledger, *seq);
        }
        read(&over[..1]);
        assert_eq!(read(&over[..MAX_FINISHED]), (MAX_FINISHED + 1, MAX_FINISHED));
        assert_eq!(read(&over[..MAX_FINISHED]), (MAX_FINISHED + 1, MAX_FINISHED));
        read(&over[MAX_FINISHED..]);
        assert_eq!(read(&at_work), (MAX_FINISHED + 1, MAX_FINISHED));
        assert!(!readings.readings.contains_key(&over[0]), "the oldest gives way");
    }
}
