//! Errors of place files and Rojo projects, in words for the user.

use std::io;
use std::path::PathBuf;

use vector_place::CodecError;

use crate::disk;

/// An error of a place file or a Rojo project.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    #[error("{file} cannot be read: {why}")]
    Read { file: String, why: io::Error },
    #[error("{file} cannot be opened: {why}")]
    Open { file: String, why: CodecError },
    #[error("{file} is read-only; make it writable, or write elsewhere with --out")]
    ReadOnly { file: String },
    /// The output is not a regular file.
    #[error(
        "{file} is not a file (a folder, a device, or a broken link); choose another with --out"
    )]
    NotAFile { file: String },
    #[error(
        "there is no Rojo project at {0}: name a project file, or a folder with a \
         default.project.json"
    )]
    NoProject(PathBuf),
    #[error("the project {0} cannot be read: {1}")]
    Project(PathBuf, String),
    /// The written files of a project would not read back as the approved state.
    #[error(
        "{project} was not changed: its files would not be read as what was approved ({what}). \
         Make this change by hand, or make another one"
    )]
    ReadsDifferently { project: String, what: String },
    /// An apply failed and was rolled back, except for files that another program changed since.
    #[error(
        "{project} was not changed: {why}; all files were restored except {files}, which another \
         program saved meanwhile. Those were left as they are; check them"
    )]
    ForeignEdits {
        project: String,
        /// Why the apply failed.
        why: String,
        /// The files that another program has changed.
        files: String,
    },
    /// An apply failed and could not be rolled back completely.
    #[error(
        "{project} is changed in part: {why}; these files could not be restored: {left}. Fix the cause and \
         run the command again; these files are restored first"
    )]
    PartlyApplied {
        project: String,
        /// Why the apply failed.
        why: String,
        /// The files that are not restored, each with the reason.
        left: String,
    },
    /// The path of the output cannot be resolved, for example because its folder is missing.
    #[error("{file} cannot be written: {why}; choose another file to write")]
    Output { file: String, why: io::Error },
    #[error(
        "{file} was changed by another program since it was read; nothing was written. Run the command again"
    )]
    Changed { file: String },
    /// The new content cannot be encoded.
    #[error("{file} was not written: {why}")]
    Encode { file: String, why: CodecError },
    /// The memory was written, the place was not, and the memory could not be restored.
    #[error(
        "{file} was not changed, but {memory} was: it contains what the change was to remember, \
         and could not be restored ({why}). The place was not written because: {error}. Restore {memory} by \
         hand"
    )]
    MemoryAhead {
        file: String,
        memory: String,
        /// Why the place was not written.
        error: String,
        /// Why the memory could not be restored.
        why: io::Error,
    },
    /// The new content cannot be written to disk.
    #[error("{file} was not written and is as it was: {why}{hint}")]
    Write { file: String, why: io::Error, hint: &'static str },
}

impl PlaceError {
    /// Whether a retry shortly after may succeed: the system is out of file handles or memory, or
    /// another program has the file open.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Read { why, .. } | Self::Write { why, .. } | Self::Output { why, .. } => {
                disk::is_transient(why)
            }
            _ => false,
        }
    }
}
