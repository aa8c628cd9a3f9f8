//! Rojo projects: read as Rojo 7.7 reads them, but tolerantly (a wrong file is a [`Diagnostic`], and everything else is
//! there), written, watched, and mapped to sources.
//!
//! Reading goes `project` -> `read` (by `glob`, `middleware`, `meta`, `model`, `data`, `value`) -> `snapshot` -> `grow` -> `tree`
//! -> `scene`; `before` is the previous reading that an update starts from. It must not know Studio, the ledger or who approved
//! a proposal.

mod before;
mod bounded;
mod data;
mod generated;
mod glob;
mod grow;
pub mod jsonc;
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
