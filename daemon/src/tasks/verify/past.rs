//! The runs in Roblox's engine that the ledger records.

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Approver, CloudRun, Entry, Seq};
use vector_cloud::{LuauTaskPath, LuauTaskStart};
use vector_ledger::{Ledger, LedgerError, WorkflowLease};

use super::VerifyPlan;
use crate::tasks::deploy::{DeployError, DeploySource, DeployTarget, refuse_deploy};

/// A run that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastRun {
    pub seq: Seq,
    pub workflow: Seq,
    pub run: CloudRun,
    /// Whether its results, or why there are none, were recorded.
    pub is_finished: bool,
}

impl PastRun {
    pub fn target(&self) -> DeployTarget {
        DeployTarget { universe: self.run.universe, place: self.run.place }
    }
}

/// A run whose results were not read, leased to this process.
#[derive(Debug)]
pub(super) struct OpenRun {
    pub(super) past: PastRun,
    _lease: WorkflowLease,
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
            match record.entry {
                Entry::CloudRunStarted { run } => history.runs.push(PastRun {
                    seq: record.seq,
                    workflow: record.workflow,
                    run: *run,
                    is_finished: false,
                }),
                Entry::CloudRunFinished { run, .. } => {
                    let mut all = history.runs.iter_mut().rev();
                    if let Some(past) = all.find(|past| past.seq == run) {
                        past.is_finished = true;
                    }
                }
                _ => {}
            }
        }
        Ok(history)
    }

    /// Takes the newest run of the same script in the same version whose results were not read.
    ///
    /// # Errors
    /// Another process waits for it.
    pub(super) fn take_open(
        self,
        ledger: &Ledger,
        start: &LuauTaskStart,
    ) -> Result<Option<OpenRun>, DeployError> {
        let script = Fingerprint::hash_bytes(start.script.as_bytes());
        let is_same = |past: &PastRun| {
            !past.is_finished
                && past.run.script == script
                && past.run.place == start.place
                && past.run.universe == start.universe
                && start.version == Some(past.run.version)
        };
        let Some(past) = self.runs.into_iter().rev().find(is_same) else { return Ok(None) };
        let Some(lease) = ledger.try_lease(past.workflow)? else {
            return Err(refuse_deploy(format!(
                "Another process waits for the results of run {}. Wait until it has ended.",
                past.seq
            )));
        };
        // The other process may have read them in between.
        let records = ledger.workflow_records_after(past.workflow, past.seq)?;
        let is_read = |entry: &Entry| matches!(entry, Entry::CloudRunFinished { .. });
        if records.iter().any(|record| is_read(&record.entry)) {
            return Ok(None);
        }
        Ok(Some(OpenRun { past, _lease: lease }))
    }
}

/// Describes a task that was started, for the ledger.
pub(super) fn describe_run(
    start: &LuauTaskStart,
    source: &DeploySource,
    plan: &VerifyPlan,
    task: &LuauTaskPath,
    by: Approver,
) -> CloudRun {
    CloudRun {
        universe: start.universe,
        place: start.place,
        version: start.version.unwrap_or_default(),
        contents: source.contents.clone(),
        script: Fingerprint::hash_bytes(start.script.as_bytes()),
        specs: plan.specs.len() as u64,
        proposal: plan.proposal,
        task: task.as_str().to_owned(),
        by,
    }
}
