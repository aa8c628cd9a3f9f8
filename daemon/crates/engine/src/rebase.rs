//! Rebases pending proposals on files that another program changed.
//!
//! The files are read again; proposals that still fit stay, and the others are replanned.

use std::collections::BTreeMap;

use scene_schemas::Fingerprint;
use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use scene_schemas::refusal::refuse;
use vector_core::code;
use vector_core::workflow::WorkflowInput;
use vector_files::place_file::{PlaceError, PlaceFile};
use vector_place::Scene;
use vector_rojo_project::FileChanges;

use crate::{Engine, EngineError, Target};

impl Engine {
    /// Reads the files of a project again if another program changed them. Pending proposals that
    /// no longer fit are replanned.
    ///
    /// # Errors
    /// The project cannot be read now. The scene stays as it was.
    pub fn follow_project_files(&mut self, changes: &FileChanges) -> Result<(), EngineError> {
        let Target::Project(project) = &mut self.target else {
            return Ok(());
        };
        match project.follow_changes(changes)? {
            Some(scene) => self.replace_scene(scene),
            None => Ok(()),
        }
    }

    /// Reads the place file again if another program changed it. Returns true if it was read again.
    /// If it cannot be read, the scene stays as it was, and nothing is planned in it.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn follow_place_file(&mut self) -> Result<bool, EngineError> {
        let Target::File(file) = &mut self.target else {
            return Ok(false);
        };
        match file.follow_changes() {
            Some(scene) => self.replace_scene(scene).map(|()| true),
            None => Ok(false),
        }
    }

    /// Whether the place file seems unchanged on disk, so that the scene needs no reading. True for
    /// other targets.
    pub fn is_file_unchanged(&self) -> bool {
        self.place_file().is_none_or(PlaceFile::is_unchanged_on_disk)
    }

    /// Checks whether the place file was readable when it was last read.
    ///
    /// # Errors
    /// The reason it was not, and what to do.
    pub fn check_readable(&self) -> Result<(), Refusal> {
        match self.place_file().and_then(PlaceFile::unreadable_reason) {
            None => Ok(()),
            Some(why) => refuse!(
                "{why}. Vector has it open, and does not change it until it can be read again. Fix \
                 the problem and try again."
            ),
        }
    }

    /// Continues with a scene that was read again.
    fn replace_scene(&mut self, scene: Scene) -> Result<(), EngineError> {
        self.drop_overlay_from(0);
        let taken = self.fingerprint_deleted_texts(&self.all_proposal_seqs());
        code::transfer_index(&self.scene, &scene);
        self.scene = scene;
        self.invalidate_ids(self.last_seq);
        self.requeue_overlay();
        self.replan_changed_deletions(&taken)
    }

    fn all_proposal_seqs(&self) -> Vec<Seq> {
        self.all_proposals().into_iter().map(|(seq, _)| seq).collect()
    }

    /// Rebases on the file as another program left it. Proposals whose effect would change are
    /// replanned.
    pub(super) fn rebase_proposals(
        &mut self,
        workflow: Seq,
        proposals: &[Seq],
    ) -> Result<(), EngineError> {
        let (target, scene) = match self.target.reopen() {
            Some(Ok(opened)) => opened,
            Some(Err(error)) => return self.record_failure(workflow, proposals.to_vec(), error),
            None => {
                let file = self.target.output_name();
                return self.record_failure(
                    workflow,
                    proposals.to_vec(),
                    PlaceError::Changed { file },
                );
            }
        };
        let taken = self.fingerprint_deleted_texts(&self.all_proposal_seqs());
        for seq in proposals {
            self.save_planned_texts(*seq);
            // Later proposals were planned on top of this one, so keep it applied. A proposal that
            // does not apply any more was refused already.
            let _ = self.overlay_proposals(&[*seq]);
        }
        self.rebase_count += 1;
        self.overlay.clear();
        code::transfer_index(&self.scene, &scene);
        (self.target, self.scene) = (target, scene);
        self.invalidate_ids(self.last_seq);
        self.requeue_overlay();
        if !self.is_effect_unchanged(proposals, &taken) {
            let reason = "Another program changed the file. This proposal was replanned for the new content.";
            let not_done = proposals.to_vec();
            self.handle_input(
                workflow,
                WorkflowInput::Moved { reason: reason.to_owned(), not_done },
            )?;
        }
        self.replan_changed_deletions(&taken)
    }

    /// Whether approved proposals of a project would have the same effect on its current files as
    /// the one that the user approved.
    fn is_effect_unchanged(
        &mut self,
        proposals: &[Seq],
        taken: &BTreeMap<Seq, Fingerprint>,
    ) -> bool {
        let is_project = matches!(self.target, Target::Project(_));
        let is_same = |(seq, now): (&Seq, &Fingerprint)| taken.get(seq) == Some(now);
        is_project
            && self.fingerprint_deleted_texts(proposals).iter().all(is_same)
            && self.can_reapply(proposals)
    }
}
