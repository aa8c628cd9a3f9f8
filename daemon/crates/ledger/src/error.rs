//! What can go wrong with the ledger: what happened, in which file, what to do next.
//!
//! These sentences are read by people as they stand; nobody puts them into other words.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;
use scene_schemas::Fingerprint;
use scene_schemas::entry::Seq;

/// Why the ledger did not do what it was asked for. After any of these on
/// [`append`](super::Ledger::append), nothing of the batch was written.
///
/// The sentences speak of the ledger alone. What the place holds by then is known to the caller, who
/// says so: a failed append may come after the place was written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// A folder or file of the ledger cannot be made or opened.
    #[error(
        "Vector cannot use {}: {source}. Its ledger lives there; see that you may write to it, or choose another folder.",
        path.display()
    )]
    Unusable {
        /// The folder or file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file cannot be opened or written.
    #[error(
        "The ledger {} cannot be opened for writing ({source}). Nothing was added to it. See that you may write to the file and its folder.",
        file.display()
    )]
    ReadOnly { file: PathBuf, source: rusqlite::Error },
    /// The disk is full.
    #[error(
        "The disk that holds the ledger {} is full, and nothing was added to it. Free some space on that disk.",
        file.display()
    )]
    Full { file: PathBuf },
    /// Another process has been writing for too long.
    #[error(
        "Another program has kept the ledger {} locked for 10 seconds, and nothing was added to it. Let the other Vector finish, or end it.",
        file.display()
    )]
    Locked { file: PathBuf },
    /// The file is damaged.
    #[error(
        "The ledger {} is damaged: {detail}. Move it aside together with the files of the same name ending in -wal and -shm, and run again: Vector then starts a new ledger, and `sqlite3 <file> .recover` may save what the old one holds.",
        file.display()
    )]
    Corrupt {
        file: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A newer Vector wrote the file.
    #[error(
        "The ledger {} was written by {by} in format {found}; this is {us}, which knows formats up to {known}. Update Vector, or choose another folder; nothing was changed.",
        file.display()
    )]
    Newer {
        file: PathBuf,
        /// Which Vector wrote it.
        by: String,
        found: i64,
        us: String,
        /// The newest format that this Vector knows.
        known: i64,
    },
    /// An entry that this Vector cannot read.
    #[error(
        "Entry {seq} of the ledger {} cannot be read by this Vector ({source}). A newer one probably wrote it: update Vector.",
        file.display()
    )]
    UnknownEntry {
        file: PathBuf,
        seq: Seq,
        /// What is not understood.
        source: serde_json::Error,
    },
    /// A blob's bytes are not those that its hash names.
    #[error(
        "The blob {hash} in the ledger {} is damaged. What needs it cannot be brought back; restore the ledger from a backup, or go on without.",
        file.display()
    )]
    DamagedBlob { file: PathBuf, hash: Fingerprint },
    /// The batch breaks a rule of the ledger. This is a mistake in Vector.
    #[error(
        "A batch of entries was refused: {reason}. Nothing was added to the ledger; please report this."
    )]
    Malformed { reason: String },
    /// A workflow was leased before it existed.
    #[error(
        "The new workflow is started, but {} is held by another program. End that program, and resume the workflow.",
        file.display()
    )]
    LeasedEarly { file: PathBuf },
    /// Whoever wrote this for others did not come to an end.
    #[error(
        "The ledger {} was not written to, because Vector failed while it wrote. Run Vector again; what was acknowledged is safe.",
        file.display()
    )]
    Stopped { file: PathBuf },
    /// Anything else that SQLite says.
    #[error(
        "The ledger {} could not be used: {source}. Nothing was added to it. Check the disk that holds it if this happens again.",
        file.display()
    )]
    Sqlite { file: PathBuf, source: rusqlite::Error },
}

impl LedgerError {
    /// What SQLite's error means for a person.
    pub(super) fn from_sql(file: &Path, source: rusqlite::Error) -> Self {
        let file = file.to_owned();
        // SQLite says "disk I/O error" where its side files cannot grow.
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

/// SQLite's side file for shared memory grows in steps of this many bytes.
const SIDE_FILE_STEP: usize = 32 * 1024;

/// Whether a folder's disk has no room for what SQLite would have written.
fn is_disk_full(folder: &Path) -> bool {
    let fill = || {
        let mut file = tempfile::tempfile_in(folder)?;
        file.write_all(&vec![0; SIDE_FILE_STEP])?;
        file.sync_all()
    };
    let failed = fill().err().map(|why| why.kind());
    matches!(failed, Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded))
}
