//! Rojo projects: reading, writing, watching, and mapping instances to their source files.
//!
//! Reading follows Rojo 7.7 but is tolerant: a faulty file becomes a [`ProjectDiagnostic`], and the
//! rest of the project is still read. The order is `open_project` -> `project` -> `nodes` and
//! `reader` (using `glob`, `listing`, `middleware`, `meta`, `model`, `data`, `value`) -> `snapshot`
//! -> `build_tree` -> `tree` -> `scene`. An update starts from `previous_tree`. The crate must not
//! know Studio, the ledger, or who approved a proposal.

mod bounded_read;
mod build_tree;
mod data;
mod generated;
mod glob;
mod listing;
mod meta;
mod middleware;
mod model;
mod nodes;
mod open_project;
mod ownership;
mod previous_tree;
mod project;
mod reader;
mod scene;
mod snapshot;
mod sourcemap;
mod sync_detection;
mod target;
mod tree;
mod value;
mod watch;
mod write;

pub use self::generated::GeneratedFile;
pub use self::open_project::{ProjectError, TreeUpdate};
pub use self::ownership::{FileEffects, NamedIds, lock_project_files};
pub use self::sourcemap::SourcemapOptions;
pub use self::sync_detection::{
    DEFAULT_PORT, RojoServer, SyncState, find_server, find_sync_state, has_sync_lock,
};
pub use self::target::{PreparedProject, RojoProject, StoredFiles, rollback_error};
pub use self::tree::{
    InstanceOrigin, ProjectDiagnostic, ProjectInstance, ProjectTree, instance_of, reference_to,
};
pub use self::watch::{FileChanges, FileWatch, WatchError, WatchUpdater};
pub use self::write::journal::{JournalFile, StepJournal};
pub use self::write::rollback::{RemainingProgress, RollbackFailure, StepProgress};

#[cfg(test)]
mod tests;
