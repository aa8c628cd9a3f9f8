//! Targets: where approved proposals are applied.
//!
//! A target is a place file, a Rojo project, a place that is open in Studio, or such a place with
//! projects beside it. Each has a driver in a file of its own, and the rest of the engine knows
//! only the traits of this module. A driver must not know workflows, and appends nothing to the
//! ledger.

mod hybrid;
#[cfg(test)]
mod memory;
mod place_file;
mod rojo;
pub mod studio;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::MutexGuard;

use scene_schemas::entry::{Place, Seq};
use scene_schemas::proposal::{Ack, ProjectFileChanges, Proposal};
use scene_schemas::{Fingerprint, InstancePath, Refusal};
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::BlobStore;
use vector_files::place_file::{PlaceError, PlaceFile};
use vector_ledger::Ledger;
use vector_place::{MissingFacts, Node, Scene};
use vector_rojo_project::{FileChanges, GeneratedFile, RojoProject};

pub use self::hybrid::HybridTarget;
pub use self::place_file::PlaceFileTarget;
pub use self::rojo::RojoTarget;
use self::studio::StudioTarget;
use crate::EngineError;
use crate::planner::Planner;

/// The target to which approved proposals are applied.
#[derive(Debug)]
pub enum Target {
    File(Box<PlaceFileTarget>),
    Project(Box<RojoTarget>),
    Studio(StudioTarget),
    /// A place that is open in Studio, with projects beside it.
    Hybrid(Box<HybridTarget>),
    #[cfg(test)]
    Memory(memory::MemoryTarget),
}

impl Target {
    pub(crate) fn driver(&self) -> &dyn TargetDriver {
        match self {
            Self::File(file) => &**file,
            Self::Project(project) => &**project,
            Self::Studio(studio) => studio,
            Self::Hybrid(hybrid) => &**hybrid,
            #[cfg(test)]
            Self::Memory(memory) => memory,
        }
    }

    pub(crate) fn driver_mut(&mut self) -> &mut dyn TargetDriver {
        match self {
            Self::File(file) => &mut **file,
            Self::Project(project) => &mut **project,
            Self::Studio(studio) => studio,
            Self::Hybrid(hybrid) => &mut **hybrid,
            #[cfg(test)]
            Self::Memory(memory) => memory,
        }
    }

    /// Returns the place as the ledger names it.
    pub fn place(&self) -> Place {
        self.driver().place()
    }

    /// Returns the base of plans that have no pending proposals below them.
    pub fn plan_base(&self) -> Fingerprint {
        self.driver().plan_base()
    }

    /// Adds a project with which Rojo may sync an open place. Other targets have none beside them.
    pub(crate) fn add_project(&mut self, project: RojoProject, scene: PlanningScene) {
        if let Self::Studio(studio) = self {
            *self = Self::Hybrid(Box::new(HybridTarget::new(studio.clone())));
        }
        if let Self::Hybrid(hybrid) = self {
            hybrid.add_project(project, scene);
        }
    }
}

impl From<PlaceFile> for Target {
    fn from(file: PlaceFile) -> Self {
        Self::File(Box::new(PlaceFileTarget::new(file)))
    }
}

impl From<RojoProject> for Target {
    fn from(project: RojoProject) -> Self {
        Self::Project(Box::new(RojoTarget::new(project)))
    }
}

impl From<StudioTarget> for Target {
    fn from(studio: StudioTarget) -> Self {
        Self::Studio(studio)
    }
}

/// A proposal for a target, with its position and that of its call.
pub(crate) type ApprovedProposal<'a> = (Seq, Seq, &'a Proposal);

/// The planned content of each file that differs from the disk; None for a file that goes.
pub(crate) type FileHashes = BTreeMap<String, Option<Fingerprint>>;

/// What all targets have.
///
/// The default of a method is what a target does that has nothing of the kind.
pub(crate) trait TargetDriver: Debug + Send {
    /// Returns the place as the ledger names it.
    fn place(&self) -> Place;

    /// Returns the base of plans that have no pending proposals below them.
    fn plan_base(&self) -> Fingerprint;

    /// The target as one that this process writes itself; None if Studio applies proposals.
    fn direct(&self) -> Option<&dyn DirectDriver> {
        None
    }

    fn direct_mut(&mut self) -> Option<&mut dyn DirectDriver> {
        None
    }

    /// The target as a place that is open in Studio.
    fn live(&self) -> Option<&dyn LiveDriver> {
        None
    }

    fn live_mut(&mut self) -> Option<&mut dyn LiveDriver> {
        None
    }

    /// Returns the folder whose settings apply to the place.
    fn settings_folder(&self) -> Option<PathBuf> {
        None
    }

    /// Returns the file that acks name: the one that was read.
    fn recorded_file(&self) -> Option<String> {
        None
    }

    /// Returns the file name that entries record as written.
    fn output_name(&self) -> String {
        String::new()
    }

    /// Returns the place file, if the target is one.
    fn place_file(&self) -> Option<&PlaceFile> {
        None
    }

    /// Reads the memory of the place again. None if it is not valid text, or unchanged.
    fn read_memory(&mut self) -> Option<String>;

    /// Checks whether the place was readable when it was last read.
    ///
    /// # Errors
    /// The reason it was not, and what to do.
    fn check_readable(&self) -> Result<(), Refusal> {
        Ok(())
    }

    /// Returns the planned content of the files that the scene changes.
    fn planned_files(&self, _scene: &Scene) -> FileHashes {
        FileHashes::new()
    }

    /// Completes a planned proposal with what the target does for it, and checks that the target
    /// can represent it.
    fn complete_plan(
        &mut self,
        proposal: Proposal,
        _context: PlanContext<'_>,
    ) -> Result<Result<CompletedPlan, Refusal>, EngineError> {
        Ok(Ok(CompletedPlan { proposal, generated: Vec::new() }))
    }

    /// Returns the file of each script, relative to the settings folder.
    fn script_files(&self) -> HashMap<Node, String> {
        HashMap::new()
    }

    /// Returns the place as another program left it, if it was changed and is read as a whole.
    fn follow_place(&mut self) -> Option<PlanningScene> {
        None
    }

    /// Returns the place after these file changes, if they affect it.
    ///
    /// # Errors
    /// The place cannot be read now.
    fn follow_changes(
        &mut self,
        _changes: &FileChanges,
    ) -> Result<Option<PlanningScene>, PlaceError> {
        Ok(None)
    }
}

/// What a target needs to complete a plan.
pub(crate) struct PlanContext<'a> {
    pub(crate) call: Seq,
    /// The scene, with the proposal and all pending ones applied to it.
    pub(crate) scene: &'a PlanningScene,
    /// The pending proposals below this one, each with its call.
    pub(crate) pending: Vec<(Seq, &'a Proposal)>,
    pub(crate) files_before: &'a FileHashes,
    pub(crate) blobs: &'a mut BlobStore,
    pub(crate) ledger: &'a Ledger,
}

/// A proposal as the target would apply it.
pub(crate) struct CompletedPlan {
    pub(crate) proposal: Proposal,
    /// The files that it changes and that another tool will overwrite.
    pub(crate) generated: Vec<GeneratedFile>,
}

/// A target that this process writes itself.
pub(crate) trait DirectDriver: TargetDriver {
    /// Locks the target against other writers in this process.
    fn lock_files(&self) -> Option<MutexGuard<'static, ()>> {
        None
    }

    /// Performs proposals on the scene, and keeps the result beside what it replaces until
    /// [`DirectDriver::commit`] or [`DirectDriver::abandon`].
    fn prepare(
        &mut self,
        approved: &[ApprovedProposal<'_>],
        context: ApplyContext<'_>,
    ) -> Result<PreparedChange, EngineError>;

    /// Puts the prepared result in place, and updates the scene accordingly.
    ///
    /// # Errors
    /// The target is unchanged, except for the files that [`PlaceError::ForeignEdits`] and
    /// [`PlaceError::PartlyApplied`] name.
    fn commit(&mut self, scene: &mut PlanningScene) -> Result<(), PlaceError>;

    /// Drops the prepared result.
    fn abandon(&mut self);

    /// Reads the target again after another program changed it. None if what is written is not what
    /// was read.
    fn reopen(&mut self) -> Option<Result<PlanningScene, PlaceError>>;

    /// Whether approved proposals are applied to changed files if their effect is unchanged. If
    /// not, every change requires a new plan.
    fn can_apply_after_change(&self) -> bool;

    /// Whether the target is as an interrupted process left it: `base` is the hash that it read,
    /// `replaced` that of the file it was to replace.
    fn is_as_left(&self, base: &Fingerprint, replaced: Option<&Fingerprint>) -> bool;
}

/// What a target needs to apply proposals.
pub(crate) struct ApplyContext<'a> {
    pub(crate) scene: &'a mut PlanningScene,
    pub(crate) blobs: &'a mut BlobStore,
    pub(crate) ledger: &'a Ledger,
}

/// The result of preparing proposals, before it is committed.
#[derive(Debug)]
pub(crate) struct PreparedChange {
    /// None if no proposal could be performed.
    pub(crate) ready: Option<ReadyChange>,
    /// The proposals that could not be performed, with the reason.
    pub(crate) refused: Vec<(Seq, String)>,
}

/// What the ledger records of prepared proposals.
#[derive(Debug)]
pub(crate) struct ReadyChange {
    /// The predicted ack of each proposal.
    pub(crate) acks: Vec<(Seq, Ack)>,
    pub(crate) blobs: Vec<Vec<u8>>,
}

/// A place that is open in Studio.
///
/// Some of its instances may belong to the files of a project. The defaults are those of a place
/// without one.
pub(crate) trait LiveDriver: TargetDriver {
    fn studio(&self) -> &StudioTarget;

    fn studio_mut(&mut self) -> &mut StudioTarget;

    /// Returns the project that the place is synced with.
    fn linked_project(&self) -> Option<&RojoProject> {
        None
    }

    /// Detects the project that the place is synced with. Returns true if proposals planned before
    /// do not take it into account.
    fn detect_project(&mut self, _scene: &Scene) -> bool {
        false
    }

    /// Forgets which project the place is synced with, and what Studio does not show yet.
    fn reset_links(&mut self) {}

    /// Returns the file of a script in the linked project, as an absolute path.
    fn project_file(&self, _path: &InstancePath) -> Option<PathBuf> {
        None
    }

    /// Returns the text of a script in the files of the linked project.
    fn project_text(&self, _path: &InstancePath) -> Option<String> {
        None
    }

    /// Lays over the mirror what is written to files and not shown in Studio.
    ///
    /// # Errors
    /// Studio has to be asked for these facts first. Nothing was laid.
    fn lay_unsynced(&mut self, _planner: &mut Planner) -> Result<(), MissingFacts> {
        Ok(())
    }

    /// Removes from the mirror what is not shown in Studio. The proposals on top of it must be
    /// rolled back first.
    fn remove_unsynced(&mut self, _scene: &mut PlanningScene) {}

    /// Remembers the part of a proposal that is written to files and that Rojo still has to sync.
    /// It must not be laid over the mirror now.
    fn record_unsynced(&mut self, _call: Seq, _proposal: &Proposal) {}

    /// Forgets what [`LiveDriver::record_unsynced`] remembered for a call.
    fn forget_unsynced(&mut self, _call: Seq) {}

    /// Checks that the files that a proposal wrote are still as it left them.
    fn check_files_unchanged(
        &mut self,
        _call: Seq,
        _files: &Ack,
        _blobs: &BlobStore,
    ) -> Result<(), Refusal> {
        Ok(())
    }

    /// Prepares the file part of a proposal, which is then kept until
    /// [`LiveDriver::commit_files`] or [`LiveDriver::abandon_files`].
    fn prepare_files(
        &mut self,
        _seq: Seq,
        _call: Seq,
        _proposal: &Proposal,
        _blobs: &BlobStore,
    ) -> Result<ReadyChange, FilePartError> {
        Err(FilePartError::NotServed)
    }

    /// Writes the prepared file part. If that fails, the scene of its project is as it was.
    fn commit_files(&mut self) -> Result<(), PlaceError> {
        Ok(())
    }

    fn abandon_files(&mut self) {}

    /// Reads the projects again after these changes. Returns those that were changed.
    fn follow_projects(
        &mut self,
        _changes: &FileChanges,
        _only: Option<&str>,
    ) -> Vec<ChangedProject> {
        Vec::new()
    }

    /// Returns which of these proposals of one task the files of a changed project no longer fit.
    fn find_unfit(
        &mut self,
        _changed: &ChangedProject,
        _pending: &[PendingFilePart],
        _blobs: &BlobStore,
    ) -> Vec<Seq> {
        Vec::new()
    }
}

/// The reason the file part of a proposal was not prepared.
#[derive(Debug)]
pub(crate) enum FilePartError {
    /// Its project is not open any more.
    NotServed,
    /// Its commands do not fit the files.
    Refused(String),
    Place {
        project: String,
        error: PlaceError,
    },
}

/// A project whose files were changed.
#[derive(Debug)]
pub(crate) struct ChangedProject {
    /// The path of the project file.
    pub(crate) name: String,
    pub(crate) files: BTreeSet<String>,
}

/// The file part of a proposal that is waiting or approved.
#[derive(Debug)]
pub(crate) struct PendingFilePart {
    pub(crate) proposal: Seq,
    pub(crate) call: Seq,
    pub(crate) files: ProjectFileChanges,
}
