//! The runs in Roblox's engine that the ledger records.

use scene_schemas::Fingerprint;
use scene_schemas::entry::{CloudRun, CloudRunReport, Entry, Finish, Place, Record, Seq};
use vector_cloud::{LuauLogMessage, LuauTaskPath};
use vector_core::specs::{CaseOutcome, SpecResult};
use vector_ledger::{AppendBatch, Ledger, LedgerError, WorkflowLease};

use super::report::describe_run;
use crate::tasks::cloud_workflow::{CloudIntention, CloudWorkflow, begin_workflow};
use crate::tasks::deploy::{DeployError, DeployTarget, UploadPurpose, refuse_deploy};

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// When it was recorded, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
    /// Why there are no results, and what to do next.
    pub failure: Option<String>,
    /// Whether it is not known that Roblox started the task.
    pub is_unclear: bool,
    pub report: Option<Box<CloudRunReport>>,
}

/// A run that was begun.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRun {
    pub seq: Seq,
    /// When it was begun, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    pub workflow: Seq,
    /// What runs. Its task is empty until Roblox has named it.
    pub run: CloudRun,
    /// None until its results, or why there are none, are recorded.
    pub end: Option<RunEnd>,
}

impl PastRun {
    pub fn target(&self) -> DeployTarget {
        DeployTarget { universe: self.run.universe, place: self.run.place }
    }

    fn is_in(&self, target: DeployTarget, script: &Fingerprint) -> bool {
        self.target() == target && self.run.script == *script
    }
}

/// A run without results, leased to this process.
#[derive(Debug)]
pub(super) struct OpenRun {
    pub(super) past: PastRun,
    pub(super) _lease: WorkflowLease,
}

/// How a run starts.
#[derive(Debug)]
pub(super) enum RunStart {
    /// It is recorded, and nothing was sent.
    Begun(OpenRun),
    /// Roblox has the task of an interrupted run.
    Resumed(OpenRun),
}

/// The runs of a ledger, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunHistory {
    pub runs: Vec<PastRun>,
}

impl RunHistory {
    /// Reads all runs of a ledger.
    pub fn read(ledger: &Ledger) -> Result<Self, LedgerError> {
        let mut history = Self::default();
        for record in ledger.cloud_runs()? {
            history.add(record);
        }
        Ok(history)
    }

    fn add(&mut self, record: Record) {
        let Record { seq, at, workflow, entry } = record;
        match entry {
            Entry::CloudRunStarted { run } => {
                self.runs.push(PastRun { seq, at, workflow, run: *run, end: None });
            }
            Entry::CloudRunAccepted { run, task } => {
                if let Some(past) = self.find_mut(run) {
                    past.run.task = task;
                }
            }
            Entry::CloudRunFinished {
                run,
                passed,
                failed,
                skipped,
                failure,
                is_unclear,
                report,
            } => {
                let end = RunEnd { at, passed, failed, skipped, failure, is_unclear, report };
                if let Some(past) = self.find_mut(run) {
                    past.end = Some(end);
                }
            }
            _ => {}
        }
    }

    fn find_mut(&mut self, seq: Seq) -> Option<&mut PastRun> {
        self.runs.iter_mut().rev().find(|past| past.seq == seq)
    }

    /// Returns the newest run of a script in a version that Roblox started, and whose results were not
    /// read.
    pub fn unread(
        &self,
        target: DeployTarget,
        script: &Fingerprint,
        version: u64,
    ) -> Option<&PastRun> {
        let mut same = self.runs.iter().rev().filter(|past| past.is_in(target, script));
        same.find(|past| {
            past.end.is_none() && past.run.version == version && !past.run.task.is_empty()
        })
    }

    /// Returns the newest run of a script, if it is not known whether Roblox started it.
    pub fn unclear(&self, target: DeployTarget, script: &Fingerprint) -> Option<&PastRun> {
        let newest = self.runs.iter().rev().find(|past| past.is_in(target, script));
        newest.filter(|past| past.end.as_ref().is_some_and(|end| end.is_unclear))
    }

    /// Records the runs of stopped processes that Roblox may or may not have started.
    pub fn close_interrupted(&mut self, ledger: &Ledger) -> Result<(), LedgerError> {
        let is_unnamed = |past: &&PastRun| past.end.is_none() && past.run.task.is_empty();
        let mut is_changed = false;
        for past in self.runs.iter().filter(is_unnamed) {
            let Some(_lease) = ledger.try_lease(past.workflow)? else { continue };
            // Another process may have ended it since the ledger was read.
            if is_settled(ledger, past)? {
                continue;
            }
            let end = RunFailure { reason: STOPPED.to_owned(), is_unclear: true };
            finish_run(ledger, past, &Err(end), &[])?;
            is_changed = true;
        }
        if is_changed {
            *self = Self::read(ledger)?;
        }
        Ok(())
    }
}

/// Why a run has no results whose process was stopped as it started.
const STOPPED: &str = "Vector was stopped as it started the run. Roblox may have run the specs all the \
                       same, and a task ends at its time limit.";

/// Whether Roblox named the task of a run, or the run has ended.
fn is_settled(ledger: &Ledger, past: &PastRun) -> Result<bool, LedgerError> {
    let records = ledger.workflow_records_after(past.workflow, past.seq)?;
    let settles = |entry: &Entry| {
        matches!(entry, Entry::CloudRunAccepted { .. } | Entry::CloudRunFinished { .. })
    };
    Ok(records.iter().any(|record| settles(&record.entry)))
}

/// Takes the interrupted run of the same script in the same version, or records that one begins.
///
/// # Errors
/// Another process runs it or waits for its results.
pub(super) fn begin_run(
    ledger: &Ledger,
    place: &Place,
    run: &CloudRun,
) -> Result<RunStart, DeployError> {
    // Another process looks and begins only when this one has begun.
    let _lock = ledger.lock_applying()?;
    let mut history = RunHistory::read(ledger)?;
    history.close_interrupted(ledger)?;
    let target = DeployTarget { universe: run.universe, place: run.place };
    let open = history.runs.into_iter().rev().find(|past| {
        past.end.is_none() && past.is_in(target, &run.script) && past.run.version == run.version
    });
    if let Some(past) = open {
        let Some(lease) = ledger.try_lease(past.workflow)? else {
            return Err(refuse_deploy(format!(
                "Another process waits for the results of run {}. Wait until it has ended.",
                past.seq
            )));
        };
        // The other process may have read them in between.
        let records = ledger.workflow_records_after(past.workflow, past.seq)?;
        let is_read = |entry: &Entry| matches!(entry, Entry::CloudRunFinished { .. });
        if !records.iter().any(|record| is_read(&record.entry)) {
            return Ok(RunStart::Resumed(OpenRun { past, _lease: lease }));
        }
    }
    let intention = CloudIntention {
        place: place.clone(),
        goal: run.describe(),
        driver: UploadPurpose::Verify.driver(),
        entry: Entry::CloudRunStarted { run: Box::new(run.clone()) },
        blobs: Vec::new(),
    };
    let CloudWorkflow { seq, lease } = begin_workflow(ledger, intention)?;
    let workflow = lease.workflow();
    let past = PastRun { seq, at: 0, workflow, run: run.clone(), end: None };
    Ok(RunStart::Begun(OpenRun { past, _lease: lease }))
}

/// Records the task of a run as soon as Roblox has named it.
pub(super) fn accept_run(
    ledger: &Ledger,
    past: &PastRun,
    task: &LuauTaskPath,
) -> Result<(), LedgerError> {
    let accepted = Entry::CloudRunAccepted { run: past.seq, task: task.as_str().to_owned() };
    let (workflow, entries) = (Some(past.workflow), vec![accepted]);
    ledger.append(AppendBatch { workflow, entries, blobs: Vec::new() })?;
    Ok(())
}

/// Why a run has no results.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RunFailure {
    /// One or more sentences, which say what to do.
    pub(super) reason: String,
    /// Whether it is not known that Roblox started the task.
    pub(super) is_unclear: bool,
}

/// Records what came of a run.
pub(super) fn finish_run(
    ledger: &Ledger,
    past: &PastRun,
    results: &Result<Vec<SpecResult>, RunFailure>,
    logs: &[LuauLogMessage],
) -> Result<(), LedgerError> {
    let all = results.as_deref().unwrap_or_default();
    let count = |outcome| all.iter().map(|it| it.count_outcome(outcome) as u64).sum::<u64>();
    let broken = all.iter().filter(|it| it.failure.is_some()).count() as u64;
    let (passed, failed) = (count(CaseOutcome::Passed), count(CaseOutcome::Failed) + broken);
    let why = results.as_ref().err();
    let mut entries = vec![Entry::CloudRunFinished {
        run: past.seq,
        passed,
        failed,
        skipped: count(CaseOutcome::Skipped),
        failure: why.map(|why| why.reason.clone()),
        is_unclear: why.is_some_and(|why| why.is_unclear),
        report: describe_run(all, logs).map(Box::new),
    }];
    let records = ledger.workflow_records_after(past.workflow, past.seq)?;
    if !records.iter().any(|it| matches!(it.entry, Entry::Finished { .. })) {
        let (outcome, summary) = match results {
            Ok(_) => (Finish::Done, Some(format!("{passed} passed, {failed} failed."))),
            Err(_) => (Finish::Failed, None),
        };
        entries.push(Entry::Finished { outcome, summary });
    }
    let batch = AppendBatch { workflow: Some(past.workflow), entries, blobs: Vec::new() };
    ledger.append(batch)?;
    Ok(())
}
