//! The file part of proposals for an open place that Rojo syncs with a project.
//!
//! Files are written first, because Vector can restore them alone if Studio does not apply its
//! part. They are restored when Studio did not, when the user undoes the proposal in Studio, and
//! when the process was stopped.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use scene_schemas::InstancePath;
use scene_schemas::entry::{Entry, Place, Seq};
use scene_schemas::proposal::{Ack, Proposal};
use vector_core::planning_scene::PlanningScene;
use vector_core::workflow::{PendingStatus, Workflow, WorkflowInput};
use vector_files::place_file::PlaceError;
use vector_ledger::Ledger;
use vector_rojo_project::{self, FileChanges, RojoProject, StepJournal, StepProgress};

use crate::recover;
use crate::target::studio::ObservedState;
use crate::target::{FilePartError, LiveDriver, PendingFilePart, ReadyChange};
use crate::workflow_state;
use crate::{Engine, EngineError, required_blobs};

impl Engine {
    /// Adds a project with which Rojo may sync the open place.
    pub fn add_linked_project(&mut self, project: RojoProject, scene: PlanningScene) {
        self.target.add_project(project, scene);
    }

    /// Returns the project that the open place is synced with.
    pub fn linked_project(&self) -> Option<&RojoProject> {
        self.target.driver().live().and_then(LiveDriver::linked_project)
    }

    /// Returns the known texts of a script: first the text in the project's files, then the text in
    /// the place. Studio is not asked for unknown texts.
    pub fn script_texts(&mut self, path: &InstancePath) -> Vec<String> {
        let scene = self.mirror_scene();
        let node = scene.resolve(path).ok();
        let own = node.and_then(|node| scene.source_if_known(node)).map(Cow::into_owned);
        let live = self.target.driver().live();
        let in_files = live.and_then(|live| live.project_text(path));
        in_files.into_iter().chain(own).collect()
    }

    /// Returns the files of the scripts that have their own in the Rojo project, as absolute paths.
    pub fn script_files(&self) -> HashMap<InstancePath, PathBuf> {
        let driver = self.target.driver();
        let Some(folder) = driver.settings_folder() else {
            return HashMap::new();
        };
        let scene = &self.planner.scene;
        let files = driver.script_files().into_iter();
        files.map(|(node, file)| (scene.path(node), folder.join(file))).collect()
    }

    /// Returns the file of a script, as an absolute path. None if it has no file of its own in a Rojo
    /// project.
    pub fn script_file(&mut self, path: &InstancePath) -> Option<PathBuf> {
        let node = self.mirror_scene().resolve(path).ok();
        let driver = self.target.driver();
        let own = || {
            let file = driver.script_files().remove(&node?)?;
            Some(driver.settings_folder()?.join(file))
        };
        own().or_else(|| driver.live()?.project_file(path))
    }

    /// Detects the project that the open place is synced with. Proposals planned before it was
    /// known are replanned.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn detect_linked_project(&mut self) -> Result<(), EngineError> {
        // Overlaid proposals may have moved the instances that the detection compares.
        if !self.planner.overlay.is_empty() || !self.planner.scene.is_tree_complete() {
            return Ok(());
        }
        let live = self.target.driver_mut().live_mut();
        if !live.is_some_and(|live| live.detect_project(&self.planner.scene)) {
            return Ok(());
        }
        let reason = "The place is now synced with a Rojo project; this is replanned.";
        for seq in self.undispatched(|proposal| proposal.files.is_none()) {
            self.replan_proposal(seq, reason.to_owned())?;
        }
        Ok(())
    }

    /// Returns the proposals that are waiting or approved, and that `wanted` selects.
    pub(crate) fn undispatched(&self, wanted: impl Fn(&Proposal) -> bool) -> Vec<Seq> {
        let all = self.executor.all_proposals().into_iter();
        let undispatched = all.filter(|(_, it)| {
            matches!(
                it.status,
                PendingStatus::Waiting | PendingStatus::Drafted | PendingStatus::Approved
            )
        });
        undispatched.filter(|(_, it)| wanted(&it.proposal)).map(|(seq, _)| seq).collect()
    }

    /// Records an approved proposal as being applied, then writes its file part. Returns false if
    /// the files were not written: the reason is recorded and nothing was changed. After a partly
    /// applied write it also returns false, and the proposal stays recorded as being applied.
    pub(crate) fn write_files(
        &mut self,
        seq: Seq,
        call: Seq,
        proposal: &Proposal,
        mut ack: Ack,
        session: String,
    ) -> Result<bool, EngineError> {
        let _alone = vector_rojo_project::lock_project_files();
        let Some(live) = self.target.driver_mut().live_mut() else {
            return Ok(false);
        };
        let ReadyChange { mut acks, blobs } =
            match live.prepare_files(seq, call, proposal, &self.planner.blobs) {
                Ok(ready) => ready,
                Err(error) => return self.reject_file_part(seq, error).map(|()| false),
            };
        ack.files = acks.pop().map(|(_, ack)| Box::new(ack));
        let acks = vec![ack];
        let applying =
            WorkflowInput::Applying { proposals: vec![seq], file: session, before: None, acks };
        let recorded = match self.find_proposal(seq) {
            Some((workflow, _)) => self.handle_with_blobs(workflow, applying, blobs).map(|_| true),
            None => Ok(false),
        };
        let Some(live) = self.target.driver_mut().live_mut() else {
            return Ok(false);
        };
        if !matches!(recorded, Ok(true)) {
            live.abandon_files();
            return recorded;
        }
        match live.commit_files() {
            Ok(()) => Ok(true),
            // A partly applied write is restored before anything else, and reported then.
            Err(PlaceError::PartlyApplied { .. }) => Ok(false),
            Err(error) => {
                let project = proposal.files.as_ref().map(|files| files.project.clone());
                let project = project.unwrap_or_default();
                self.reject_file_part(seq, FilePartError::Place { project, error })?;
                Ok(false)
            }
        }
    }

    /// Records why the file part of a proposal was not written. If its files were changed, the
    /// proposal is replanned on them.
    fn reject_file_part(&mut self, seq: Seq, error: FilePartError) -> Result<(), EngineError> {
        match error {
            FilePartError::NotServed => {
                let reason = "Its files belong to a project that is no longer served. Serve it \
                (`vector serve --project PATH`), then try again.";
                self.fail_proposal(seq, reason.to_owned())
            }
            FilePartError::Refused(reason) => self.handle_stale(seq, &reason, None),
            FilePartError::Place { project, error: why @ PlaceError::Changed { .. } } => {
                let reason = format!("{why} It is replanned for the current state.");
                let moved = WorkflowInput::Moved { reason, not_done: vec![seq] };
                self.handle_for_proposal(seq, moved)?;
                self.follow_projects(&FileChanges::All, Some(&project))
            }
            FilePartError::Place { error, .. } => self.fail_proposal(seq, error.to_string()),
        }
    }

    /// Handles a proposal that does not fit the place any more. It is replanned, unless the next
    /// plan would be the same: if files are ahead of Studio, or if not all files could be restored,
    /// it fails.
    pub(crate) fn handle_stale(
        &mut self,
        seq: Seq,
        why: &str,
        predicted: Option<&Ack>,
    ) -> Result<(), EngineError> {
        let files = predicted.map_or(Ok(Ok(String::new())), |it| self.revert_files(it))?;
        let input = match files {
            Ok(files) if self.linked_project().is_none() || predicted.is_some() => {
                WorkflowInput::Moved {
                    reason: format!("{why} It is replanned for the current state.{files}"),
                    not_done: vec![seq],
                }
            }
            Ok(files) => WorkflowInput::Failed {
                proposals: vec![seq],
                reason: format!(
                    "{why} Studio may not have it until Rojo has synced the files; request it again after that.{files}"
                ),
            },
            Err(files) => {
                WorkflowInput::Failed { proposals: vec![seq], reason: format!("{why}{files}") }
            }
        };
        self.handle_for_proposal(seq, input).map(drop)
    }

    /// Records a proposal as applied that has no part for Studio.
    pub(crate) fn complete_in_files(
        &mut self,
        seq: Seq,
        call: Seq,
        proposal: &Proposal,
    ) -> Result<(), EngineError> {
        let status = self.find_proposal(seq).map(|(_, it)| it.status.clone());
        if let Some(PendingStatus::Applying(ack)) = status {
            self.handle_for_proposal(seq, WorkflowInput::Acted { proposal: seq, ack })?;
            self.record_unsynced(call, proposal);
            self.requeue_overlay();
        }
        Ok(())
    }

    /// Remembers the part of a proposal that is written to files and that Rojo still has to sync.
    pub(crate) fn record_unsynced(&mut self, call: Seq, proposal: &Proposal) {
        if proposal.files.is_none() {
            return;
        }
        self.drop_overlay();
        if let Some(live) = self.target.driver_mut().live_mut() {
            live.record_unsynced(call, proposal);
        }
    }

    /// Follows file changes of the projects beside an open place, or of one of them. Pending
    /// proposals are tried again on the new files; those that would blindly overwrite a changed
    /// file are replanned.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub(crate) fn follow_projects(
        &mut self,
        changes: &FileChanges,
        only: Option<&str>,
    ) -> Result<(), EngineError> {
        let Some(live) = self.target.driver_mut().live_mut() else {
            return Ok(());
        };
        for changed in live.follow_projects(changes, only) {
            self.drop_overlay();
            let is_its = |proposal: &Proposal| {
                proposal.files.as_ref().is_some_and(|files| files.project == changed.name)
            };
            let mut by_task: BTreeMap<Seq, Vec<PendingFilePart>> = BTreeMap::new();
            for seq in self.undispatched(is_its) {
                if let Some((task, pending)) = self.find_proposal(seq)
                    && let Some(files) = pending.proposal.files.clone()
                {
                    let part = PendingFilePart { proposal: seq, call: pending.call, files };
                    by_task.entry(task).or_default().push(part);
                }
            }
            let mut unfit = Vec::new();
            if let Some(live) = self.target.driver_mut().live_mut() {
                for pending in by_task.values() {
                    unfit.extend(live.find_unfit(&changed, pending, &self.planner.blobs));
                }
            }
            let reason = "A file that this changes was modified; it is replanned.";
            for seq in unfit {
                self.replan_proposal(seq, reason.to_owned())?;
            }
            self.requeue_overlay();
        }
        Ok(())
    }

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
                format!("{} has changed since", files.join(", "))
            }
            StepProgress::NotStarted if seen != ObservedState::NotDone => {
                "its files were restored".to_owned()
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
            "Vector was stopped while it wrote this, and {explanation}. Check whether the change \
             was applied, and request it again if not."
        );
        self.fail_proposal(seq, reason).map(|()| false)
    }

    /// Reads the journal of a proposal's file changes.
    fn read_journal(&self, ack: &Ack) -> Result<Option<StepJournal>, EngineError> {
        load_journal(self.executor.ledger(), ack)
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
        let back = recover::restore_step_files(self.executor.ledger(), &step)?;
        self.reload_project(ack)?;
        Ok(match back {
            Ok(()) => Ok(" Its files were restored.".to_owned()),
            Err(left) => Err(format!(" Some of its files could not be restored: {left}.")),
        })
    }

    /// Reads the project again whose files were restored.
    fn reload_project(&mut self, ack: &Ack) -> Result<(), EngineError> {
        match ack.files.as_ref().and_then(|ack| ack.file.as_deref()) {
            Some(file) => self.follow_projects(&FileChanges::All, Some(file)),
            None => Ok(()),
        }
    }

    /// Undoes or redoes a proposal's file changes when the user undoes or redoes the proposal in
    /// Studio. All files are changed or none. Returns what was left undone, or None.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub(crate) fn undo_files(
        &mut self,
        proposal: Seq,
        again: bool,
    ) -> Result<Option<String>, EngineError> {
        let Some(record) = self.executor.ledger().record_at(proposal)? else {
            return Ok(None);
        };
        let state = workflow_state::read_workflow(self.executor.ledger(), record.workflow)?;
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
                        "Its files stay as they are because {} has changed since. Revert that \
                         first, or change the files by hand.",
                        files.join(", ")
                    )));
                }
                self.drop_overlay();
                if let Some(live) = self.target.driver_mut().live_mut() {
                    live.forget_unsynced(pending.call);
                }
                Ok(self.revert_files(ack)?.err())
            }
            PendingStatus::Undone(_) if again => {
                self.load_blobs(required_blobs(&pending.proposal.commands))?;
                Ok(self.redo_files(proposal, pending.call, &pending.proposal).err())
            }
            _ => Ok(None),
        }
    }

    /// Writes the files of an undone proposal again.
    fn redo_files(&mut self, seq: Seq, call: Seq, proposal: &Proposal) -> Result<(), String> {
        let _alone = vector_rojo_project::lock_project_files();
        let failed = |why: String| format!("Its files are unchanged: {why}");
        let Some(live) = self.target.driver_mut().live_mut() else {
            return Ok(());
        };
        live.prepare_files(seq, call, proposal, &self.planner.blobs).map_err(|error| {
            failed(match error {
                FilePartError::NotServed => "their project is no longer served.".to_owned(),
                FilePartError::Refused(why) => why,
                FilePartError::Place { error, .. } => error.to_string(),
            })
        })?;
        match live.commit_files() {
            Ok(()) => {
                self.record_unsynced(call, proposal);
                Ok(())
            }
            // The error itself names the files that were not restored.
            Err(error @ (PlaceError::PartlyApplied { .. } | PlaceError::ForeignEdits { .. })) => {
                Err(error.to_string())
            }
            Err(error) => Err(failed(error.to_string())),
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
                Ok(()) => "its files were restored".to_owned(),
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
