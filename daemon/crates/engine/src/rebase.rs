//! Rebases pending proposals on files that another program changed.
//!
//! The files are read again; proposals that still fit stay, and the others are replanned.

use std::collections::BTreeMap;

use scene_schemas::Fingerprint;
use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use vector_core::planning_scene::PlanningScene;
use vector_core::workflow::{PendingStatus, WorkflowInput};
use vector_files::place_file::{PlaceError, PlaceFile};
use vector_rojo_project::FileChanges;

use crate::target::DirectDriver;
use crate::{Engine, EngineError};

impl Engine {
    /// Reads the files of projects again if another program changed them. Pending proposals that no
    /// longer fit are replanned.
    ///
    /// # Errors
    /// The project cannot be read now, and the scene stays as it was; or the ledger cannot be read
    /// or written.
    pub fn follow_files(&mut self, changes: &FileChanges) -> Result<(), EngineError> {
        match self.target.driver_mut().follow_changes(changes)? {
            Some(scene) => self.replace_scene(scene),
            None => self.follow_projects(changes, None),
        }
    }

    /// Reads the place file again if another program changed it. Returns true if it was read again.
    /// If it cannot be read, the scene stays as it was, and nothing is planned in it.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn follow_place_file(&mut self) -> Result<bool, EngineError> {
        match self.target.driver_mut().follow_place() {
            Some(scene) => self.replace_scene(scene).map(|()| true),
            None => Ok(false),
        }
    }

    /// Whether the place file seems unchanged on disk, so that the scene needs no reading. True for
    /// other targets.
    pub fn is_file_unchanged(&self) -> bool {
        self.place_file().is_none_or(PlaceFile::is_unchanged_on_disk)
    }

    /// Checks whether the place was readable when it was last read.
    ///
    /// # Errors
    /// The reason it was not, and what to do.
    pub fn check_readable(&self) -> Result<(), Refusal> {
        self.target.driver().check_readable()
    }

    /// Continues with a scene that was read again.
    fn replace_scene(&mut self, scene: PlanningScene) -> Result<(), EngineError> {
        self.drop_overlay();
        let taken = self.fingerprint_deleted_texts();
        self.planner.replace_scene(scene, self.executor.last_seq());
        self.requeue_overlay();
        self.replan_changed_deletions(&taken)
    }

    fn fingerprint_deleted_texts(&self) -> BTreeMap<Seq, Fingerprint> {
        let all = self.executor.all_proposals();
        let all: Vec<Seq> = all.into_iter().map(|(seq, _)| seq).collect();
        self.planner.fingerprint_deleted_texts(&all, &self.executor)
    }

    /// Replans the proposals that would now delete other texts than before.
    fn replan_changed_deletions(
        &mut self,
        before: &BTreeMap<Seq, Fingerprint>,
    ) -> Result<(), EngineError> {
        let proposals: Vec<Seq> = before.keys().copied().collect();
        let now = self.planner.fingerprint_deleted_texts(&proposals, &self.executor);
        let reason = "A script that this deletes was modified; it is replanned.";
        for seq in proposals.into_iter().filter(|seq| before.get(seq) != now.get(seq)) {
            let status = self.find_proposal(seq).map(|(_, pending)| &pending.status);
            if matches!(
                status,
                Some(PendingStatus::Waiting | PendingStatus::Drafted | PendingStatus::Approved)
            ) {
                self.replan_proposal(seq, reason.to_owned())?;
            }
        }
        Ok(())
    }

    /// Rebases on the file as another program left it. Proposals whose effect would change are
    /// replanned.
    pub(crate) fn rebase_proposals(
        &mut self,
        workflow: Seq,
        proposals: &[Seq],
    ) -> Result<(), EngineError> {
        let reopened = self.target.driver_mut().direct_mut().and_then(DirectDriver::reopen);
        let scene = match reopened {
            Some(Ok(scene)) => scene,
            Some(Err(error)) => return self.record_failure(workflow, proposals.to_vec(), error),
            None => {
                let error = PlaceError::Changed { file: self.place_name() };
                return self.record_failure(workflow, proposals.to_vec(), error);
            }
        };
        let taken = self.fingerprint_deleted_texts();
        for seq in proposals {
            self.planner.save_planned_texts(*seq, &self.executor);
            // Later proposals were planned on top of this one, so keep it applied. A proposal that
            // does not apply any more was refused already.
            let _ = self.planner.overlay_proposals(&[*seq], &self.executor);
        }
        self.applying.rebase_count += 1;
        self.planner.overlay.clear();
        self.planner.replace_scene(scene, self.executor.last_seq());
        self.requeue_overlay();
        if !self.is_effect_unchanged(proposals, &taken) {
            let reason = "Another program changed the file. This proposal was replanned for the new content.";
            let not_done = proposals.to_vec();
            let moved = WorkflowInput::Moved { reason: reason.to_owned(), not_done };
            self.handle_input(workflow, moved)?;
        }
        self.replan_changed_deletions(&taken)
    }

    /// Whether approved proposals would have the same effect on the changed files as the one that
    /// the user approved.
    fn is_effect_unchanged(
        &mut self,
        proposals: &[Seq],
        taken: &BTreeMap<Seq, Fingerprint>,
    ) -> bool {
        let (planner, executor) = (&mut self.planner, &self.executor);
        let is_same = |(seq, now): (&Seq, &Fingerprint)| taken.get(seq) == Some(now);
        self.target.driver().direct().is_some_and(DirectDriver::can_apply_after_change)
            && planner.fingerprint_deleted_texts(proposals, executor).iter().all(is_same)
            && planner.can_reapply(proposals, executor)
    }
}
