//! What can go wrong with a place file or a project, in the person's words.

use std::io;
use std::path::PathBuf;

use vector_place::CodecError;

use crate::disk;

/// What can go wrong with a place file.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// It cannot be read.
    #[error("{file} cannot be read: {why}")]
    Read { file: String, why: io::Error },
    /// Its content is not a place.
    #[error("{file} cannot be opened: {why}")]
    Open { file: String, why: CodecError },
    /// It is marked as read-only.
    #[error("{file} is read-only; make it writable, or write elsewhere with --out")]
    ReadOnly { file: String },
    /// It is no file that could be written.
    #[error(
        "{file} is not a file (a folder, a device, or a broken link); choose another with --out"
    )]
    NotAFile { file: String },
    /// There is no Rojo project.
    #[error(
        "there is no Rojo project at {0}: name a project file, or a folder with a \
         default.project.json"
    )]
    NoProject(PathBuf),
    /// The project cannot be read.
    #[error("the project {0} cannot be read: {1}")]
    Project(PathBuf, String),
    /// The files of a project did not come out as was approved.
    #[error(
        "{project} was not changed: its files would not be read as what was approved ({what}). \
         Make this change by hand, or make another one"
    )]
    ReadsDifferently { project: String, what: String },
    /// A step of a project was not done, and all files were put back but some that are somebody else's.
    #[error(
        "{project} was not changed: {why}; all files were restored except {files}, which another \
         program saved meanwhile. Those were left as they are; check them"
    )]
    ForeignEdits {
        project: String,
        /// Why it was not done.
        why: String,
        /// The files that are somebody else's now.
        files: String,
    },
    /// A step of a project was done in part, and could not be taken back.
    #[error(
        "{project} is changed in part: {why}; these files could not be restored: {left}. Fix the cause and \
         run the command again; these files are restored first"
    )]
    PartlyApplied {
        project: String,
        /// Why it was not done.
        why: String,
        /// The files that are not as they were, each with the reason.
        left: String,
    },
    /// There is no folder to write to.
    #[error("{file} cannot be written: {why}; choose another place with --out")]
    Output { file: String, why: io::Error },
    /// Somebody else changed it meanwhile.
    #[error(
        "{file} was changed by another program since it was read; nothing was written. Run the command again"
    )]
    Changed { file: String },
    /// The new content cannot be made.
    #[error("{file} was not written: {why}")]
    Encode { file: String, why: CodecError },
    /// The memory was written, the place was not, and the memory could not be put back.
    #[error(
        "{file} was not changed, but {memory} was: it contains what the change was to remember, \
         and could not be restored ({why}). The place was not written because: {error}. Restore {memory} by \
         hand"
    )]
    MemoryAhead {
        file: String,
        /// The file of the memory.
        memory: String,
        /// Why the place was not written.
        error: String,
        /// Why the memory could not be put back.
        why: io::Error,
    },
    /// The new content cannot be stored.
    #[error("{file} was not written and is as it was: {why}{hint}")]
    Write { file: String, why: io::Error, hint: &'static str },
}

impl PlaceError {
    /// Whether the same attempt may succeed in a moment: the system has no file or memory left for it
    /// now, or another program holds the file just now.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Read { why, .. } | Self::Write { why, .. } | Self::Output { why, .. } => {
                disk::is_transient(why)
            }
            _ => false,
        }
    }
}
