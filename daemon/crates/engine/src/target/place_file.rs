//! A place file as a target.

use std::path::PathBuf;

use scene_schemas::entry::Place;
use scene_schemas::refusal::refuse;
use scene_schemas::{Fingerprint, Refusal};
use vector_core::planning_scene::PlanningScene;
use vector_files::place_file::{PlaceError, PlaceFile, PreparedFile, StoredFile};

use super::{
    ApplyContext, ApprovedProposal, DirectDriver, PreparedChange, ReadyChange, TargetDriver,
};
use crate::EngineError;
use crate::revert::collect_patches;

#[derive(Debug)]
pub struct PlaceFileTarget {
    file: PlaceFile,
    /// The new file under its temporary name, between preparing and committing.
    stored: Option<StoredFile>,
}

impl PlaceFileTarget {
    pub(super) fn new(file: PlaceFile) -> Self {
        Self { file, stored: None }
    }
}

impl TargetDriver for PlaceFileTarget {
    fn place(&self) -> Place {
        Place::File(self.file.ledger_place())
    }

    fn plan_base(&self) -> Fingerprint {
        self.file.hash().clone()
    }

    fn direct(&self) -> Option<&dyn DirectDriver> {
        Some(self)
    }

    fn direct_mut(&mut self) -> Option<&mut dyn DirectDriver> {
        Some(self)
    }

    fn settings_folder(&self) -> Option<PathBuf> {
        Some(self.file.settings_folder().to_owned())
    }

    fn recorded_file(&self) -> Option<String> {
        Some(self.file.ledger_place().file)
    }

    fn output_name(&self) -> String {
        self.file.output_file().display().to_string()
    }

    fn place_file(&self) -> Option<&PlaceFile> {
        Some(&self.file)
    }

    fn read_memory(&mut self) -> Option<String> {
        self.file.read_memory()
    }

    fn check_readable(&self) -> Result<(), Refusal> {
        match self.file.unreadable_reason() {
            None => Ok(()),
            Some(why) => refuse!(
                "{why}. Vector keeps it open but does not change it until it is readable again. Fix \
                 the problem and try again."
            ),
        }
    }

    fn follow_place(&mut self) -> Option<PlanningScene> {
        self.file.follow_changes()
    }
}

impl DirectDriver for PlaceFileTarget {
    fn prepare(
        &mut self,
        approved: &[ApprovedProposal<'_>],
        context: ApplyContext<'_>,
    ) -> Result<PreparedChange, EngineError> {
        let ApplyContext { scene, blobs, ledger } = context;
        let back = collect_patches(ledger, self.file.hash(), approved)?;
        let PreparedFile { stored, refused } =
            self.file.prepare_proposals(scene, approved, blobs, back.as_ref())?;
        let ready = stored.map(|mut stored| {
            let acks = std::mem::take(&mut stored.acks);
            let blobs = std::mem::take(&mut stored.blobs);
            self.stored = Some(stored);
            ReadyChange { acks, blobs }
        });
        Ok(PreparedChange { ready, refused })
    }

    fn commit(&mut self, scene: &mut PlanningScene) -> Result<(), PlaceError> {
        if let Some(stored) = self.stored.take() {
            self.file.commit(stored)?;
            scene.scene_mut().forget_history();
        }
        Ok(())
    }

    fn abandon(&mut self) {
        self.stored = None;
    }

    fn reopen(&mut self) -> Option<Result<PlanningScene, PlaceError>> {
        let reopened = self.file.reopen()?;
        Some(reopened.map(|(file, scene)| {
            *self = Self::new(file);
            scene
        }))
    }

    fn can_apply_after_change(&self) -> bool {
        false
    }

    fn is_as_left(&self, base: &Fingerprint, replaced: Option<&Fingerprint>) -> bool {
        self.file.hash() == base && self.file.replaced_hash() == replaced
    }
}
