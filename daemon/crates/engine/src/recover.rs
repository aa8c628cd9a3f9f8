//! Recovers a place after a process was stopped: finishes what was approved, or records the reason
//! it was given up.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scene_schemas::entry::{Entry, FilePlace, Finish, Place, ProjectPlace, Record, Seq};
use scene_schemas::proposal::{Ack, Proposal};
use scene_schemas::{Command, Fingerprint};
use vector_core::proposal::{BlobStore, try_command};
use vector_core::workflow::{LedgerState, PendingStatus, Workflow, WorkflowInput};
use vector_files::place_file::{self, PlaceError, PlaceFile};
use vector_ledger::{Ledger, LedgerError, WorkflowLease};
use vector_rojo_project::{
    self, JournalFile, RemainingProgress, RojoProject, RollbackFailure, StepJournal, StepProgress,
};

use crate::planner::Planner;
use crate::target::DirectDriver;
use crate::{Engine, EngineError, EntryListener, ToolDriver};

const PAGE_SIZE: usize = 1_000;

/// Returns the files that recovery reads or writes for a place file or a project file. A workflow
/// in a place file may write another file. A project file represents all files of its project.
pub fn affected_files(ledger: &Ledger, file: &Path) -> Result<HashSet<String>, LedgerError> {
    let name = file.display().to_string();
    let mut concerned = HashSet::from([name.clone()]);
    for record in ledger.unfinished_starts()? {
        if let Entry::Started { place: Place::File(FilePlace { file, out, .. }), .. } = record.entry
            && (file == name || out.as_ref() == Some(&name))
        {
            concerned.extend([file].into_iter().chain(out));
        }
    }
    Ok(concerned)
}

/// Settles the workflows that a stopped process left unfinished in a place file.
///
/// If the file had been replaced already, that is recorded. Approved changes that were not applied
/// are applied, if the file is unchanged. Undecided proposals are withdrawn, or replanned if the
/// next daemon resumes their workflow. Returns a notice for each proposal that was affected.
pub fn recover_place(ledger: &Arc<Ledger>, file: &Path) -> Result<Vec<String>, EngineError> {
    recover_runs(ledger, file).map(|recovered| recovered.notices)
}

#[derive(Debug, Default)]
pub struct RecoveredRuns {
    /// One sentence for each affected proposal, or for a workflow that cannot go on.
    pub notices: Vec<String>,
    /// The workflows that were interrupted, in order.
    pub workflows: Vec<Seq>,
}

/// Like [`recover_place`], but also returns the workflows that it settled. `file` may be a project
/// as well.
pub fn recover_runs(ledger: &Arc<Ledger>, file: &Path) -> Result<RecoveredRuns, EngineError> {
    let mut recovered = RecoveredRuns::default();
    let Ok(file) = place_file::real_path(file) else {
        return Ok(recovered);
    };
    let name = file.display().to_string();
    let project = RojoProject::find_project_file(&file).ok().map(|file| file.display().to_string());
    for record in ledger.unfinished_starts()? {
        let Entry::Started { place, .. } = &record.entry else {
            continue;
        };
        let is_here = match place {
            Place::File(place) => {
                *place.out.as_ref().unwrap_or(&place.file) == name || place.file == name
            }
            Place::Project(place) => project.as_ref() == Some(&place.project),
            Place::Open(_) => false,
        };
        if !is_here {
            continue;
        }
        let Some(lease) = ledger.try_lease(record.seq)? else {
            continue;
        };
        recovered.workflows.push(record.seq);
        recovered.notices.extend(settle_run(ledger, lease)?);
    }
    Ok(recovered)
}

fn settle_run(ledger: &Arc<Ledger>, lease: WorkflowLease) -> Result<Vec<String>, EngineError> {
    let seq = lease.workflow();
    let records = ledger.workflow_records(seq)?;
    let mut state = LedgerState::default();
    for record in &records {
        state.apply_record(record);
    }
    let Some(workflow) = state.workflow(seq) else {
        return Ok(Vec::new());
    };
    if is_resumable(workflow) && !workflow.proposals().any(|(_, it)| it.status.is_pending()) {
        return Ok(Vec::new());
    }
    let place = match &workflow.place {
        Place::File(place) => place,
        Place::Project(place) => return settle_project(ledger, lease, &records, workflow, place),
        Place::Open(_) => return Ok(Vec::new()),
    };
    let input = Path::new(&place.file).to_owned();
    let out = place.out.as_ref().map(|out| Path::new(out).to_owned());
    let started_with = place.hash.clone();
    let base = match &place.out {
        Some(_) => last_hash(workflow, &place.hash),
        None => expected_hash(ledger, seq, place)?,
    };
    let replaced = hash_to_replace(workflow, place, &base);
    let had_written =
        workflow.proposals().any(|(_, it)| matches!(it.status, PendingStatus::Applied(_)));
    let source = if had_written { out.as_deref().unwrap_or(&input) } else { &input };
    let opened = match PlaceFile::open(source, out.as_deref()) {
        Ok((file, scene)) => (file.addressed_by_path(base != started_with), scene),
        Err(error) => {
            return Ok(vec![format!("Workflow {seq} was stopped and cannot continue: {error}.")]);
        }
    };
    let listener: EntryListener = Box::new(|_| {});
    let mut engine = Engine::without_tasks(ledger, opened.0, opened.1, listener);
    engine.resume_workflow(lease, &records, ToolDriver::Calls);
    let mut notices = engine.settle_replaced(seq)?;
    notices.extend(engine.settle_approved(seq, &base, replaced.as_ref())?);
    engine.close_workflow(seq)?;
    Ok(notices)
}

/// Settles a workflow in a project. An interrupted step is reverted first, so that the project is
/// what it was before it, and then applied again. The second run also checks the result against
/// what was approved, which the stopped process may not have reached.
fn settle_project(
    ledger: &Arc<Ledger>,
    lease: WorkflowLease,
    records: &[Record],
    workflow: &Workflow,
    place: &ProjectPlace,
) -> Result<Vec<String>, EngineError> {
    let seq = lease.workflow();
    let base = last_hash(workflow, &place.hash);
    let given_up = match interrupted_step(ledger, workflow)? {
        Some(step) => revert_step(ledger, place, &step)?,
        None => None,
    };
    let (project, scene) = match RojoProject::open(Path::new(&place.project), false) {
        Ok(opened) => opened,
        Err(error) => {
            return Ok(vec![format!("Workflow {seq} was stopped and cannot continue: {error}.")]);
        }
    };
    let begun = workflow.proposals().filter(|(_, it)| is_begun(&it.status));
    project.sweep_temporary(begun.map(|(seq, it)| (seq, &it.proposal)));
    let by_path = project.hash() != &place.hash;
    let opened = (project.with_path_addressing(by_path), scene);
    let listener: EntryListener = Box::new(|_| {});
    let mut engine = Engine::without_tasks(ledger, opened.0, opened.1, listener);
    engine.resume_workflow(lease, records, ToolDriver::Calls);
    let mut notices = Vec::new();
    if let Some(reason) = given_up {
        notices.extend(engine.fail_applying(seq, &reason)?);
    }
    notices.extend(engine.settle_approved(seq, &base, None)?);
    engine.close_workflow(seq)?;
    Ok(notices)
}

/// Whether the next daemon resumes a workflow.
fn is_resumable(workflow: &Workflow) -> bool {
    workflow.finished.is_none() && (workflow.is_served || workflow.agent_name().is_some())
}

/// Whether files may have been written for a proposal.
fn is_begun(status: &PendingStatus) -> bool {
    matches!(status, PendingStatus::Approved | PendingStatus::Applying(_))
}

/// Returns the journal of the step that was being applied when the process stopped.
fn interrupted_step(
    ledger: &Ledger,
    workflow: &Workflow,
) -> Result<Option<StepJournal>, EngineError> {
    let record = workflow.proposals().find_map(|(_, it)| match &it.status {
        PendingStatus::Applying(ack) => ack.bytes.as_ref().map(|bytes| bytes.patch.clone()),
        _ => None,
    });
    let bytes = record.map(|record| ledger.read_blob(&record)).transpose()?.flatten();
    Ok(bytes.as_deref().and_then(StepJournal::from_bytes))
}

/// Reverts an interrupted step. If other programs changed its files since, the rest is still
/// restored, and the reason for giving the step up is returned.
fn revert_step(
    ledger: &Ledger,
    place: &ProjectPlace,
    step: &StepJournal,
) -> Result<Option<String>, EngineError> {
    let (theirs, rest) = match step.find_progress() {
        StepProgress::NotStarted | StepProgress::Partial | StepProgress::Done => {
            (Vec::new(), Some(RemainingProgress::Partial))
        }
        StepProgress::Diverged { foreign: theirs, rest } => (theirs, rest),
    };
    if rest != Some(RemainingProgress::Partial) {
        step.sweep_temporary();
        return Ok(Some(divergence_reason(&theirs, rest)));
    }
    match restore_step_files(ledger, step)? {
        Ok(()) if theirs.is_empty() => Ok(None),
        Ok(()) => Ok(Some(divergence_reason(&theirs, rest))),
        Err(left) if left.faults.is_empty() => Ok(Some(divergence_reason(&left.foreign, rest))),
        // The ledger keeps the step as it is, so that it is reverted when that becomes possible.
        Err(left) => {
            let why = "Vector was stopped while it wrote this";
            Err(vector_rojo_project::rollback_error(place.project.clone(), why, &left).into())
        }
    }
}

/// Returns the reason for giving up a step whose files another program changed since.
fn divergence_reason(theirs: &[PathBuf], rest: Option<RemainingProgress>) -> String {
    let files: Vec<String> = theirs.iter().map(|it| it.display().to_string()).collect();
    let rest = match rest {
        Some(RemainingProgress::NotStarted) => "no other file was written",
        Some(RemainingProgress::Partial) => "all other files were restored",
        Some(RemainingProgress::Done) => "all other files have their new content",
        None => "no other file shows whether it was applied",
    };
    format!(
        "Vector was stopped while it wrote this, and {} has changed since; {rest}. Check whether \
         the change was applied, and request it again if not.",
        files.join(", ")
    )
}

/// Restores the files of a step to what they were before it, under the lock for project files. The
/// inner error names the files that could not be restored.
pub(crate) fn restore_step_files(
    ledger: &Ledger,
    step: &StepJournal,
) -> Result<Result<(), RollbackFailure>, EngineError> {
    let mut before = BlobStore::new();
    for hash in step.required_blobs() {
        if let Some(bytes) = ledger.read_blob(hash)? {
            before.insert(hash.clone(), bytes);
        }
    }
    let _alone = vector_rojo_project::lock_project_files();
    let kept = |noted: &JournalFile| before.get(&noted.before.as_ref()?.hash).cloned();
    Ok(step.roll_back(kept))
}

/// Returns the file hash that the workflow last read or wrote.
fn last_hash(workflow: &Workflow, started_with: &Fingerprint) -> Fingerprint {
    let written = workflow.proposals().filter_map(|(_, pending)| match &pending.status {
        PendingStatus::Applied(ack) => ack.after.clone(),
        _ => None,
    });
    written.last().unwrap_or_else(|| started_with.clone())
}

/// Returns the hash that the file has if only Vector changed it since a workflow began. It follows
/// the applied steps of all workflows.
fn expected_hash(
    ledger: &Ledger,
    workflow: Seq,
    place: &FilePlace,
) -> Result<Fingerprint, EngineError> {
    let (mut hash, mut after) = (place.hash.clone(), workflow);
    loop {
        let records = ledger.read(after, PAGE_SIZE)?;
        let Some(last) = records.last() else {
            return Ok(hash);
        };
        after = last.seq;
        for record in records {
            if let Entry::Applied { ack, .. } = record.entry
                && ack.file.as_ref() == Some(&place.file)
                && ack.before.as_ref() == Some(&hash)
            {
                hash = ack.after.unwrap_or(hash);
            }
        }
    }
}

/// Returns the hash of the file that the workflow was to replace next.
fn hash_to_replace(
    workflow: &Workflow,
    place: &FilePlace,
    base: &Fingerprint,
) -> Option<Fingerprint> {
    let has_written =
        workflow.proposals().any(|(_, it)| matches!(it.status, PendingStatus::Applied(_)));
    match &place.out {
        Some(_) if !has_written => place.replaces.clone(),
        _ => Some(base.clone()),
    }
}

impl Engine {
    /// Ends a workflow that a stopped process left. If a daemon can resume it, its proposals are
    /// replanned instead: the user still has to decide on them, and an agent may come back for its
    /// calls.
    fn close_workflow(&mut self, workflow: Seq) -> Result<(), EngineError> {
        let left = if self.workflow(workflow).is_some_and(is_resumable) {
            let reason = "Vector was restarted, and this was replanned.".to_owned();
            WorkflowInput::Moved { reason, not_done: Vec::new() }
        } else {
            WorkflowInput::Finish { outcome: Finish::Failed }
        };
        self.handle_input(workflow, left).map(drop)
    }

    /// Records the proposals that were applied when the process stopped: the file has the hash that
    /// they were to produce.
    fn settle_replaced(&mut self, workflow: Seq) -> Result<Vec<String>, EngineError> {
        let now =
            self.place_file().and_then(|file| place_file::hash_place_file(file.output_file()).ok());
        // The memory is written before the place file. If the file stays the same, only the memory
        // shows whether the proposal was applied.
        let is_remembered = self.is_memory_applied(workflow);
        let done: Vec<Seq> = self.filter_proposals(workflow, |status| match status {
            PendingStatus::Applying(ack) => {
                now.is_some() && ack.after == now && (is_remembered || ack.before != ack.after)
            }
            _ => false,
        });
        self.record_done(workflow, done)
    }

    /// Records the proposals that were being applied as failed.
    fn fail_applying(&mut self, workflow: Seq, reason: &str) -> Result<Vec<String>, EngineError> {
        let begun =
            self.filter_proposals(workflow, |status| matches!(status, PendingStatus::Applying(_)));
        if begun.is_empty() {
            return Ok(Vec::new());
        }
        self.handle_input(
            workflow,
            WorkflowInput::Failed { proposals: begun.clone(), reason: reason.to_owned() },
        )?;
        Ok(begun.iter().map(|seq| format!("Proposal {seq}: {reason}")).collect())
    }

    fn record_done(&mut self, workflow: Seq, done: Vec<Seq>) -> Result<Vec<String>, EngineError> {
        if done.is_empty() {
            return Ok(Vec::new());
        }
        let say = |seq: &Seq| format!("Proposal {seq} had been applied when Vector was stopped.");
        let notices = done.iter().map(say).collect();
        self.handle_input(workflow, WorkflowInput::Applied(done))?;
        Ok(notices)
    }

    /// Applies the approved proposals, if the file is unchanged.
    fn settle_approved(
        &mut self,
        workflow: Seq,
        base: &Fingerprint,
        replaced: Option<&Fingerprint>,
    ) -> Result<Vec<String>, EngineError> {
        let approved = self.filter_proposals(workflow, is_begun);
        if approved.is_empty() {
            return Ok(Vec::new());
        }
        let was_begun = !self
            .filter_proposals(workflow, |status| matches!(status, PendingStatus::Applying(_)))
            .is_empty();
        let target = self.target.driver().direct();
        let is_as_left = target.is_some_and(|target| target.is_as_left(base, replaced));
        // A step in several files was begun on the approved ones and then reverted. Other files may
        // have changed meanwhile, so check whether the proposals still fit.
        let can_fit = target.is_some_and(DirectDriver::can_apply_after_change);
        let fits = can_fit
            && was_begun
            && !is_as_left
            && self.planner.can_reapply(&approved, &self.executor);
        if !is_as_left && !fits {
            let reason = match (was_begun, can_fit) {
                (false, _) => "The file changed after this was approved; request it again.",
                (true, false) => {
                    "Vector was stopped while it wrote this, and the file has changed since. Check \
                     whether the change was applied, and request it again if not."
                }
                (true, true) => {
                    "Vector was stopped while it wrote this. Other files of the project have \
                     changed since, so it no longer fits. Its own files are as they were before; you can \
                     request it again."
                }
            };
            let reason = reason.to_owned();
            self.handle_input(
                workflow,
                WorkflowInput::Failed { proposals: approved.clone(), reason: reason.clone() },
            )?;
            return Ok(approved.iter().map(|seq| format!("Proposal {seq}: {reason}")).collect());
        }
        self.restore_memory(workflow);
        match self.apply_proposals(workflow, &approved) {
            // The outcome is reported below, as the ledger records it.
            Err(EngineError::Place(error))
                if !matches!(error, PlaceError::PartlyApplied { .. }) => {}
            applied => applied?,
        }
        let say = |seq: &Seq| {
            let status =
                self.workflow(workflow).and_then(|it| it.proposal(*seq)).map(|it| &it.status);
            match status {
                Some(PendingStatus::Applied(_)) if fits => format!(
                    "Proposal {seq} was being applied when Vector was stopped. Other files of the \
                     project have changed since; it is now applied on top of those changes, so review it again."
                ),
                Some(PendingStatus::Applied(_)) => {
                    format!(
                        "Proposal {seq} was approved before Vector was stopped; it is applied now."
                    )
                }
                Some(PendingStatus::Failed(reason)) => {
                    format!("Proposal {seq} was not applied: {reason}")
                }
                _ => format!("Proposal {seq} is not settled."),
            }
        };
        Ok(approved.iter().map(say).collect())
    }

    /// Returns the proposals that are being applied, in order, each with its predicted ack.
    fn applying_steps(&self, workflow: Seq) -> Vec<(&Proposal, &Ack)> {
        let proposals = self.workflow(workflow).into_iter().flat_map(Workflow::proposals);
        let applying = proposals.filter_map(|(_, it)| match &it.status {
            PendingStatus::Applying(ack) => Some((&it.proposal, &**ack)),
            _ => None,
        });
        applying.collect()
    }

    /// Whether the memory is as the proposals that are being applied were to leave it.
    fn is_memory_applied(&self, workflow: Seq) -> bool {
        let applying = self.applying_steps(workflow);
        let outcomes = applying.iter().flat_map(|(it, ack)| it.commands.iter().zip(&ack.outcomes));
        let mut left = outcomes.filter(|(command, _)| command.is_memory());
        let now = self.planner.scene.memory().map(|text| Fingerprint::hash_bytes(text.as_bytes()));
        left.next_back().is_none_or(|(_, outcome)| outcome.fingerprint == now)
    }

    /// Reverts the memory in the scene if it was written but the place file was not, since all is
    /// applied again.
    fn restore_memory(&mut self, workflow: Seq) {
        let inverses = self
            .applying_steps(workflow)
            .into_iter()
            .rev()
            .flat_map(|(_, ack)| ack.inverse.clone());
        let memory: Vec<Command> = inverses.filter(Command::is_memory).collect();
        let Planner { scene, blobs, .. } = &mut self.planner;
        for command in memory {
            // An inverse that does not fit was never needed, or the memory has changed since. In
            // the latter case, the proposal is refused when it is applied.
            let _ = try_command(scene, &command, blobs);
        }
    }

    fn filter_proposals(&self, workflow: Seq, wanted: impl Fn(&PendingStatus) -> bool) -> Vec<Seq> {
        let Some(state) = self.workflow(workflow) else {
            return Vec::new();
        };
        state.proposals().filter(|(_, it)| wanted(&it.status)).map(|(seq, _)| seq).collect()
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::entry::InteractionMode;
    use scene_schemas::proposal::Mode;
    use scene_schemas::review::TaskRole;
    use vector_ledger::AppendBatch;

    use super::*;

    #[test]
    fn affected_files_include_a_workflows_source_and_output() {
        let home = tempfile::tempdir().unwrap();
        let ledger = Ledger::open(home.path()).unwrap();
        let (file, out) = ("a.rbxl".to_owned(), Some("b.rbxl".to_owned()));
        let hash = Fingerprint::hash_bytes(b"a");
        let started = Entry::Started {
            place: Place::File(FilePlace { file, out, hash, replaces: None }),
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
        ledger.append(batch).unwrap();
        let both = HashSet::from(["a.rbxl".to_owned(), "b.rbxl".to_owned()]);
        for end in &both {
            assert_eq!(affected_files(&ledger, Path::new(end)).unwrap(), both);
        }
        let other = HashSet::from(["c.rbxl".to_owned()]);
        assert_eq!(affected_files(&ledger, Path::new("c.rbxl")).unwrap(), other);
    }
}
