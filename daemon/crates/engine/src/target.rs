//! Whom the engine works with: a place file, a Rojo project, or a place that is open in Studio.

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

/// Who performs what is approved.
#[derive(Debug)]
pub enum Target {
    File(PlaceFile),
    /// The files of a Rojo project.
    Project(Box<RojoProject>),
    /// A place that is open in Studio.
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

/// What leads back to the bytes that files had.
#[derive(Debug)]
pub(super) enum RestoreSource {
    Unknown,
    /// Of a place file.
    File(RestorePatches),
    /// Of a project: the records of the steps that are taken back, the newest first.
    Project(Vec<StepJournal>),
}

/// What is ready to be put in its place.
#[derive(Debug)]
pub(super) struct PreparedChange {
    /// None where no proposal could be performed.
    pub(super) ready: Option<ReadyChange>,
    /// The proposals that could not be performed, and why.
    pub(super) refused: Vec<(Seq, String)>,
}

/// New files that do not have their names yet.
#[derive(Debug)]
pub(super) enum ReadyChange {
    File(place_file::StoredFile),
    Project(vector_rojo_project::StoredFiles),
}

impl ReadyChange {
    /// What will be said of each proposal, and what the ledger keeps.
    pub(super) fn take_acks(&mut self) -> (Vec<(Seq, Ack)>, Vec<Vec<u8>>) {
        let (acks, blobs) = match self {
            Self::File(stored) => (&mut stored.acks, &mut stored.blobs),
            Self::Project(stored) => (&mut stored.acks, &mut stored.blobs),
        };
        (std::mem::take(acks), std::mem::take(blobs))
    }
}

impl Target {
    /// How the ledger names the place.
    pub fn place(&self) -> Place {
        match self {
            Self::File(file) => Place::File(file.ledger_place()),
            Self::Project(project) => Place::Project(project.ledger_place()),
            Self::Open(studio) => Place::Open(studio.place().clone()),
        }
    }

    /// The folder whose settings count for the place; none where that is not known.
    pub(super) fn settings_folder(&self) -> Option<PathBuf> {
        match self {
            Self::File(file) => Some(file.settings_folder().to_owned()),
            Self::Project(project) => Some(project.project_folder().to_owned()),
            Self::Open(_) => None,
        }
    }

    /// What acks name: the file that was read; none for a place that is open in Studio.
    pub(super) fn name(&self) -> Option<String> {
        match self {
            Self::File(file) => Some(file.ledger_place().file),
            Self::Project(project) => Some(project.name()),
            Self::Open(_) => None,
        }
    }

    /// What entries say is written; nothing for a place that is open in Studio.
    pub(super) fn output_name(&self) -> String {
        match self {
            Self::File(file) => file.output_file().display().to_string(),
            Self::Project(project) => project.name(),
            Self::Open(_) => String::new(),
        }
    }

    /// What plans stand on that have nothing below them.
    pub fn plan_base(&self) -> Fingerprint {
        match self {
            Self::File(file) => file.hash().clone(),
            Self::Project(project) => project.hash().clone(),
            Self::Open(studio) => studio.plan_base(),
        }
    }

    /// Waits until nobody else writes the same files.
    pub(super) fn lock_files(&self) -> Option<MutexGuard<'static, ()>> {
        matches!(self, Self::Project(_)).then(vector_rojo_project::lock_project_files)
    }

    /// Performs proposals on the scene, and stores the result beside what it replaces. Studio does
    /// its own: there it gives nothing.
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

    /// Puts what is ready in its place, and the scene where that leads.
    ///
    /// # Errors
    /// What was there is as it was, but for what [`PlaceError::Kept`] and [`PlaceError::Torn`] name.
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

    /// Opens what is written once more, where that is what was read.
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
