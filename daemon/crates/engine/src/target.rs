//! Targets: a place file, a Rojo project, or a place that is open in Studio.
//!
//! Prepares approved proposals for files and commits them. Studio applies proposals itself, so for
//! an open place there is nothing to commit.

use std::path::PathBuf;
use std::sync::MutexGuard;

use scene_schemas::Fingerprint;
use scene_schemas::entry::{Place, Seq};
use scene_schemas::proposal::{Ack, Proposal};
use vector_core::code;
use vector_core::proposal::BlobStore;
use vector_files::place_file::{self, PlaceError, PlaceFile, RestorePatches};
use vector_place::Scene;
use vector_rojo_project::{self, RojoProject, StepJournal};

use crate::studio::StudioTarget;

/// The target to which approved proposals are applied.
#[derive(Debug)]
pub enum Target {
    File(PlaceFile),
    Project(Box<RojoProject>),
    Open(StudioTarget),
}

impl From<PlaceFile> for Target {
    fn from(file: PlaceFile) -> Self {
        Self::File(file)
    }
}

impl From<RojoProject> for Target {
    fn from(project: RojoProject) -> Self {
        Self::Project(Box::new(project))
    }
}

/// What restores the exact bytes that files had.
#[derive(Debug)]
pub(super) enum RestoreSource {
    Unknown,
    /// For a place file.
    File(RestorePatches),
    /// For a project: the journals of the reverted steps, newest first.
    Project(Vec<StepJournal>),
}

/// The result of preparing proposals, before it is committed.
#[derive(Debug)]
pub(super) struct PreparedChange {
    /// None if no proposal could be performed.
    pub(super) ready: Option<ReadyChange>,
    /// The proposals that could not be performed, with the reason.
    pub(super) refused: Vec<(Seq, String)>,
}

/// New files that are still under temporary names.
#[derive(Debug)]
pub(super) enum ReadyChange {
    File(place_file::StoredFile),
    Project(vector_rojo_project::StoredFiles),
}

impl ReadyChange {
    /// Takes the predicted ack of each proposal, and the blobs for the ledger.
    pub(super) fn take_acks(&mut self) -> (Vec<(Seq, Ack)>, Vec<Vec<u8>>) {
        let (acks, blobs) = match self {
            Self::File(stored) => (&mut stored.acks, &mut stored.blobs),
            Self::Project(stored) => (&mut stored.acks, &mut stored.blobs),
        };
        (std::mem::take(acks), std::mem::take(blobs))
    }
}

impl Target {
    /// Returns the place as the ledger names it.
    pub fn place(&self) -> Place {
        match self {
            Self::File(file) => Place::File(file.ledger_place()),
            Self::Project(project) => Place::Project(project.ledger_place()),
            Self::Open(studio) => Place::Open(studio.place().clone()),
        }
    }

    /// Returns the folder whose settings apply to the place; None if it is open in Studio.
    pub(super) fn settings_folder(&self) -> Option<PathBuf> {
        match self {
            Self::File(file) => Some(file.settings_folder().to_owned()),
            Self::Project(project) => Some(project.project_folder().to_owned()),
            Self::Open(_) => None,
        }
    }

    /// Returns the file that acks name: the one that was read. None if the place is open in Studio.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::File(file) => Some(file.ledger_place().file),
            Self::Project(project) => Some(project.name()),
            Self::Open(_) => None,
        }
    }

    /// Returns the file name that entries record as written. Empty if the place is open in Studio.
    pub(super) fn output_name(&self) -> String {
        match self {
            Self::File(file) => file.output_file().display().to_string(),
            Self::Project(project) => project.name(),
            Self::Open(_) => String::new(),
        }
    }

    /// Returns the base of plans that have no pending proposals below them.
    pub fn plan_base(&self) -> Fingerprint {
        match self {
            Self::File(file) => file.hash().clone(),
            Self::Project(project) => project.hash().clone(),
            Self::Open(studio) => studio.plan_base(),
        }
    }

    /// Locks the files of projects against other writers in this process. None for other targets.
    pub(super) fn lock_files(&self) -> Option<MutexGuard<'static, ()>> {
        matches!(self, Self::Project(_)).then(vector_rojo_project::lock_project_files)
    }

    /// Performs proposals on the scene, and stores the result beside the files that it replaces.
    /// Does nothing for an open place, because Studio performs proposals itself.
    pub(super) fn prepare(
        &mut self,
        scene: &mut Scene,
        proposals: &[(Seq, Seq, &Proposal)],
        blobs: &BlobStore,
        back: &RestoreSource,
    ) -> Result<PreparedChange, PlaceError> {
        match self {
            Self::File(file) => {
                let back = match back {
                    RestoreSource::File(back) => Some(back),
                    _ => None,
                };
                let place_file::PreparedFile { stored, refused } =
                    file.prepare_proposals(scene, proposals, blobs, back)?;
                Ok(PreparedChange { ready: stored.map(ReadyChange::File), refused })
            }
            Self::Project(project) => {
                let back = match back {
                    RestoreSource::Project(back) => Some(&back[..]),
                    _ => None,
                };
                let vector_rojo_project::PreparedProject { stored, refused } =
                    project.prepare_proposals(scene, proposals, blobs, back)?;
                Ok(PreparedChange { ready: stored.map(ReadyChange::Project), refused })
            }
            Self::Open(_) => Ok(PreparedChange { ready: None, refused: Vec::new() }),
        }
    }

    /// Moves prepared files to their final names, and updates the scene accordingly.
    ///
    /// # Errors
    /// The old files are unchanged, except for those that [`PlaceError::ForeignEdits`] and
    /// [`PlaceError::PartlyApplied`] name.
    pub(super) fn commit(
        &mut self,
        ready: ReadyChange,
        scene: &mut Scene,
    ) -> Result<(), PlaceError> {
        match (self, ready) {
            (Self::File(file), ReadyChange::File(stored)) => {
                file.commit(stored)?;
                scene.forget_history();
            }
            (Self::Project(project), ReadyChange::Project(stored)) => {
                if let Some(read) = project.commit_files(stored, scene)? {
                    code::transfer_index(scene, &read);
                    *scene = read;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Opens the target again. None if the written file is not the one that was read, or if the
    /// place is open in Studio.
    pub(super) fn reopen(&self) -> Option<Result<(Self, Scene), PlaceError>> {
        match self {
            Self::File(file) => Some(file.reopen()?.map(|(file, scene)| (file.into(), scene))),
            Self::Project(project) => {
                Some(project.reopen().map(|(project, scene)| (project.into(), scene)))
            }
            Self::Open(_) => None,
        }
    }
}
