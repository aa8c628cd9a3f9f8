//! Restores the files of a hybrid proposal: when Studio did not apply its part, when the user
//! undoes it in Studio, and when the process was stopped.

use std::path::Path;

use scene_schemas::entry::{Entry, Place, Seq};
use scene_schemas::proposal::{Ack, Proposal};
use vector_core::workflow::{PendingStatus, Workflow};
use vector_files::place_file::PlaceError;
use vector_ledger::Ledger;
use vector_rojo_project::{self, FileChanges, StepJournal, StepProgress};

use super::LinkedProject;
use crate::recover;
use crate::studio::ObservedState;
use crate::workflow_state;
use crate::{Engine, EngineError, required_blobs};

impl Engine {
    /// Whether the files of a proposal were completely written when an earlier process stopped. If
    /// not, they are restored where that is possible, and the outcome of the proposal is recorded.
    pub(crate) fn has_finished_files(
        &mut self,
        seq: Seq,
        predicted: &Ack,
        seen: ObservedState,
    ) -> Result<bool, EngineError> {
        let Some(step) = self.read_journal(predicted)? else {
            return Ok(true);
        };
        let explanation = match step.find_progress() {
            StepProgress::Done => return Ok(true),
            StepProgress::Diverged { foreign: theirs, .. } => {
                let files: Vec<String> = theirs.iter().map(|it| it.display().to_string()).collect();
                format!("{} was changed since", files.join(", "))
            }
            StepProgress::NotStarted if seen != ObservedState::NotDone => {
                "its files are what they were before it".to_owned()
            }
            StepProgress::NotStarted | StepProgress::Partial => {
                // Studio receives its part only when the files are written, so it did not receive
                // it.
                let why = "Vector was stopped while it wrote the files of this.";
                self.handle_stale(seq, why, Some(predicted))?;
                return Ok(false);
            }
        };
        let reason = format!(
            "Vector was stopped while it wrote this, and {explanation}: look whether it is there, and ask for it \
             again where it is not."
        );
        self.fail_proposal(seq, reason).map(|()| false)
    }

    /// Reads the journal of a proposal's file changes.
    fn read_journal(&self, ack: &Ack) -> Result<Option<StepJournal>, EngineError> {
        load_journal(&self.ledger, ack)
    }

    /// Restores the files of a proposal that Studio did not apply. Returns a sentence that reports
    /// it, or as the inner error the files that could not be restored.
    pub(crate) fn revert_files(
        &mut self,
        ack: &Ack,
    ) -> Result<Result<String, String>, EngineError> {
        let Some(step) = self.read_journal(ack)? else {
            return Ok(Ok(String::new()));
        };
        let back = recover::restore_step_files(&self.ledger, &step)?;
        self.reload_project(ack)?;
        Ok(match back {
            Ok(()) => Ok(" Its files are what they were.".to_owned()),
            Err(left) => Err(format!(" Some of its files could not be restored: {left}.")),
        })
    }

    /// Reads the project again whose files were restored.
    fn reload_project(&mut self, ack: &Ack) -> Result<(), EngineError> {
        let file = ack.files.as_ref().and_then(|ack| ack.file.clone());
        let is_it = |it: &LinkedProject| Some(it.project.name()) == file;
        match self.linked_projects.projects.iter().position(is_it) {
            Some(at) => self.follow_project(at, &FileChanges::All),
            None => Ok(()),
        }
    }

    /// Undoes or redoes a proposal's file changes when the user undoes or redoes the proposal in
    /// Studio. All files are changed or none. Returns what was left undone, or None.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn undo_files(
        &mut self,
        proposal: Seq,
        again: bool,
    ) -> Result<Option<String>, EngineError> {
        let Some(record) = self.ledger.record_at(proposal)? else {
            return Ok(None);
        };
        let state = workflow_state::read_workflow(&self.ledger, record.workflow)?;
        let pending = state.workflow(record.workflow).and_then(|it| it.proposal(proposal));
        let Some(pending) = pending.filter(|it| it.proposal.files.is_some()) else {
            return Ok(None);
        };
        match &pending.status {
            PendingStatus::Applied(ack) | PendingStatus::Applying(ack) if !again => {
                let Some(step) = self.read_journal(ack)? else {
                    return Ok(None);
                };
                if let StepProgress::Diverged { foreign: theirs, .. } = step.find_progress() {
                    let files: Vec<String> =
                        theirs.iter().map(|it| it.display().to_string()).collect();
                    return Ok(Some(format!(
                        "Its files stay as they are, for {} was changed since. Take that back first, or \
                         change the files by hand.",
                        files.join(", ")
                    )));
                }
                self.drop_overlay();
                self.linked_projects.unsynced.retain(|it| it.call != pending.call);
                Ok(self.revert_files(ack)?.err())
            }
            PendingStatus::Undone(_) if again => {
                self.load_blobs_by_hash(required_blobs(&pending.proposal.commands))?;
                Ok(self.redo_files(proposal, pending.call, &pending.proposal).err())
            }
            _ => Ok(None),
        }
    }

    /// Writes the files of an undone proposal again.
    fn redo_files(&mut self, seq: Seq, call: Seq, proposal: &Proposal) -> Result<(), String> {
        let _alone = vector_rojo_project::lock_project_files();
        let failed = |why: String| format!("Its files are as they were: {why}");
        let Some((at, own)) = self.file_part(proposal) else {
            return Err(failed("their project is not served any more.".to_owned()));
        };
        let LinkedProject { project, scene, .. } = &mut self.linked_projects.projects[at];
        let start = scene.journal_mark();
        let prepared = project.prepare_proposals(scene, &[(seq, call, &own)], &self.blobs, None);
        let mut prepared = prepared.map_err(|error| failed(error.to_string()))?;
        let Some(stored) = prepared.stored.take() else {
            let why = prepared.refused.pop().map(|(_, reason)| reason).unwrap_or_default();
            return Err(failed(why));
        };
        match project.commit_files(stored, scene) {
            Ok(read) => {
                if let Some(read) = read {
                    self.linked_projects.projects[at].replace_scene(read);
                }
                self.record_unsynced(call, proposal);
                Ok(())
            }
            Err(error) => {
                scene.rollback(start);
                Err(match error {
                    // The error itself names the files that were not restored.
                    PlaceError::PartlyApplied { .. } | PlaceError::ForeignEdits { .. } => {
                        error.to_string()
                    }
                    error => failed(error.to_string()),
                })
            }
        }
    }
}

/// Restores the files of a project that a stopped process had partly written for an open place, so
/// that calls do not work on a half-written state. The proposals are settled when the place is
/// opened again.
///
/// # Errors
/// The ledger cannot be read or written.
pub fn restore_interrupted_files(
    ledger: &Ledger,
    project: &Path,
) -> Result<Vec<String>, EngineError> {
    let name = project.display().to_string();
    let mut notices = Vec::new();
    for started in ledger.unfinished_starts()? {
        let Entry::Started { place: Place::Open(_), .. } = &started.entry else {
            continue;
        };
        // A lease locks a session out of its workflow, so look for interrupted steps without one
        // first.
        if interrupted_steps(ledger, started.seq, &name)?.is_empty() {
            continue;
        }
        let Some(_lease) = ledger.try_lease(started.seq)? else {
            continue;
        };
        for (seq, step) in interrupted_steps(ledger, started.seq, &name)? {
            if step.find_progress() != StepProgress::Partial {
                continue;
            }
            let outcome = match recover::restore_step_files(ledger, &step)? {
                Ok(()) => "its files are what they were before it".to_owned(),
                Err(left) => format!("some of its files could not be restored: {left}"),
            };
            notices.push(format!("Vector was stopped while it wrote proposal {seq}; {outcome}."));
        }
    }
    Ok(notices)
}

/// Returns the proposals of a workflow whose project files are being written, with their journals.
fn interrupted_steps(
    ledger: &Ledger,
    workflow: Seq,
    project: &str,
) -> Result<Vec<(Seq, StepJournal)>, EngineError> {
    let state = workflow_state::read_workflow(ledger, workflow)?;
    let mut written = Vec::new();
    for (seq, pending) in state.workflow(workflow).into_iter().flat_map(Workflow::proposals) {
        let PendingStatus::Applying(ack) = &pending.status else {
            continue;
        };
        if ack.files.as_ref().and_then(|ack| ack.file.as_deref()) == Some(project) {
            written.extend(load_journal(ledger, ack)?.map(|step| (seq, step)));
        }
    }
    Ok(written)
}

/// Reads the journal of a proposal's file changes.
fn load_journal(ledger: &Ledger, ack: &Ack) -> Result<Option<StepJournal>, EngineError> {
    let record = ack.files.as_ref().and_then(|ack| ack.bytes.as_ref());
    let bytes = record.map(|it| ledger.read_blob(&it.patch)).transpose()?.flatten();
    Ok(bytes.as_deref().and_then(StepJournal::from_bytes))
}
