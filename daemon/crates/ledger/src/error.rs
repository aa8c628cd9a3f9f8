//! Ledger errors: each message says what happened, in which file, and what to do next.
//!
//! Users read these messages verbatim; no other code rewords them.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use scene_schemas::Fingerprint;
use scene_schemas::entry::Seq;

/// The reason an operation on the ledger failed. If [`append`](super::Ledger::append) returns one
/// of these, nothing of the batch was written.
///
/// The messages describe the ledger only. The caller has to add the state of the place, because an
/// append may fail after the place was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A folder or file of the ledger cannot be created or opened.
    #[error(
        "Vector cannot use {}: {source}. Its ledger lives there; see that you may write to it, or choose another folder.",
        path.display()
    )]
    Unusable { path: PathBuf, source: io::Error },
    #[error(
        "The ledger {} cannot be opened for writing ({source}). Nothing was added to it. See that you may write to the file and its folder.",
        file.display()
    )]
    ReadOnly { file: PathBuf, source: rusqlite::Error },
    #[error(
        "The disk that holds the ledger {} is full, and nothing was added to it. Free some space on that disk.",
        file.display()
    )]
    Full { file: PathBuf },
    /// Another process has held the write lock for too long.
    #[error(
        "Another program has kept the ledger {} locked for 10 seconds, and nothing was added to it. Let the other Vector finish, or end it.",
        file.display()
    )]
    Locked { file: PathBuf },
    #[error(
        "The ledger {} is damaged: {detail}. Move it aside together with the files of the same name ending in -wal and -shm, and run again: Vector then starts a new ledger, and `sqlite3 <file> .recover` may save what the old one holds.",
        file.display()
    )]
    Corrupt {
        file: PathBuf,
        /// The damage that was found.
        detail: String,
    },
    /// A newer version of Vector wrote the file.
    #[error(
        "The ledger {} was written by {by} in format {found}; this is {us}, which knows formats up to {known}. Update Vector, or choose another folder; nothing was changed.",
        file.display()
    )]
    Newer {
        file: PathBuf,
        /// The version of Vector that wrote it.
        by: String,
        found: i64,
        us: String,
        /// The newest format that this version of Vector knows.
        known: i64,
    },
    /// This version of Vector cannot read an entry.
    #[error(
        "Entry {seq} of the ledger {} cannot be read by this Vector ({source}). Another version wrote it: update Vector if that one is newer, or begin a new ledger (`--home DIR`).",
        file.display()
    )]
    UnknownEntry { file: PathBuf, seq: Seq, source: serde_json::Error },
    /// The bytes of a blob do not match its hash.
    #[error(
        "The blob {hash} in the ledger {} is damaged. What needs it cannot be brought back; restore the ledger from a backup, or go on without.",
        file.display()
    )]
    DamagedBlob { file: PathBuf, hash: Fingerprint },
    /// The batch violates a rule of the ledger, which is a bug in Vector.
    #[error(
        "A batch of entries was refused: {reason}. Nothing was added to the ledger; please report this."
    )]
    Malformed { reason: String },
    /// Another process leased the position of a new workflow before this process could.
    #[error(
        "The new workflow is started, but {} is held by another program. End that program, and resume the workflow.",
        file.display()
    )]
    LeasedEarly { file: PathBuf },
    /// The thread that wrote this batch on behalf of others did not finish.
    #[error(
        "The ledger {} was not written to, because Vector failed while it wrote. Run Vector again; what was acknowledged is safe.",
        file.display()
    )]
    Stopped { file: PathBuf },
    /// Any other SQLite error.
    #[error(
        "The ledger {} could not be used: {source}. Nothing was added to it. Check the disk that holds it if this happens again.",
        file.display()
    )]
    Sqlite { file: PathBuf, source: rusqlite::Error },
}

impl LedgerError {
    /// Translates an SQLite error for the user.
    pub(super) fn from_sql(file: &Path, source: rusqlite::Error) -> Self {
        let file = file.to_owned();
        // SQLite reports "disk I/O error" if its side files cannot grow.
        let is_io = source.sqlite_error_code() == Some(ErrorCode::SystemIoFailure);
        if is_io && is_disk_full(file.parent().unwrap_or(Path::new("."))) {
            return Self::Full { file };
        }
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full { file },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => Self::Locked { file },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Corrupt { file, detail: source.to_string() }
            }
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
                Self::ReadOnly { file, source }
            }
            _ => Self::Sqlite { file, source },
        }
    }

    pub(super) fn corrupt_ledger(file: &Path, detail: impl Into<String>) -> Self {
        Self::Corrupt { file: file.to_owned(), detail: detail.into() }
    }

    pub(super) fn malformed_entry(reason: impl Into<String>) -> Self {
        Self::Malformed { reason: reason.into() }
    }

    pub(super) fn unusable_path(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Unusable { path, source }
    }
}

/// SQLite's shared-memory file grows in steps of this many bytes.
const SIDE_FILE_STEP: usize = 32 * 1024;

/// Whether the disk of a folder has no space for what SQLite tried to write.
fn is_disk_full(folder: &Path) -> bool {
    let fill = || {
        let mut file = tempfile::tempfile_in(folder)?;
        file.write_all(&vec![0; SIDE_FILE_STEP])?;
        file.sync_all()
    };
    let failed = fill().err().map(|why| why.kind());
    matches!(failed, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}
