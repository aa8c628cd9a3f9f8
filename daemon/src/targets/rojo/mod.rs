//! Rojo projects: instances that are files, and the files that are instances.
//!
//! The project is read as Rojo 7.7 reads it, but tolerantly: a file that is wrong is a
//! [`Diagnostic`], and everything else is there.
//!
//! The way is `project` -> `read` (by `glob`, `middleware`, `meta`, `model`, `data`, `value`) ->
//! `snapshot` -> `grow` -> `tree` -> `scene`; `before` is what an update takes over.

mod before;
mod bounded;
mod data;
mod generated;
mod glob;
mod grow;
pub(crate) mod jsonc;
mod listing;
mod meta;
mod middleware;
mod model;
mod nodes;
mod open;
mod owned;
mod project;
mod read;
mod running;
mod scene;
mod snapshot;
mod sourcemap;
mod target;
mod tree;
mod value;
mod watch;
mod write;

pub use self::generated::GeneratedFile;
pub use self::open::{Changed, ProjectError};
pub use self::owned::{FileEffects, alone};
pub use self::running::{PORT, Serving, Syncing, is_locked, serving, syncing};
pub use self::sourcemap::Shown;
pub use self::target::{Prepared, Project, Stored, not_back};
pub use self::tree::{Diagnostic, Instance, Origin, Tree, instance_of, reference_to};
pub use self::watch::{Follower, Heard, Watch, WatchError};
pub use self::write::back::{NotBack, Progress, Rest};
pub use self::write::journal::{Journal, Noted};

#[cfg(test)]
mod tests;
