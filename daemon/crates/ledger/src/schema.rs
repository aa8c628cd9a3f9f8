//! The tables of the ledger, and how a connection to them is opened.
//!
//! The tables and queries are plain SQL that PostgreSQL accepts as well, with `BYTEA` for `BLOB`.
//! Specific to SQLite are the pragmas, the bodies of the triggers (`RAISE`), `sqlite_master`, and
//! `BEGIN IMMEDIATE`, for which a server would lock the table.
//!
//! Must not know entries: the body of a row is text here.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};

use super::writer::Durability;
use super::{LedgerError, chain, private_files};

/// The format that this version of Vector writes. Increase it with every change to the tables.
const FORMAT: i64 = 2;

/// How long a connection waits for locks of other processes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// The triggers enforce the rules at the database level: no code can change a row or leave a gap.
/// The trigger on insertion also stops `REPLACE`, which fires no trigger for the row that it
/// deletes.
const TABLES: &str = "
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
CREATE TABLE blobs (
    hash TEXT PRIMARY KEY,
    size INTEGER NOT NULL,
    packed INTEGER NOT NULL,
    bytes BLOB NOT NULL
);
CREATE TABLE entries (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    workflow INTEGER NOT NULL,
    kind TEXT NOT NULL,
    body TEXT,
    blob TEXT REFERENCES blobs (hash),
    digest BLOB,
    link BLOB,
    CHECK ((body IS NULL) <> (blob IS NULL))
);
CREATE INDEX entries_by_workflow ON entries (workflow, seq);
CREATE INDEX entries_started ON entries (seq) WHERE kind = 'started';
CREATE INDEX entries_finished ON entries (workflow) WHERE kind = 'finished';
CREATE INDEX entries_replied ON entries (seq) WHERE kind = 'replied';
CREATE INDEX entries_cloud_runs ON entries (seq)
WHERE kind IN ('cloud_run_started', 'cloud_run_accepted', 'cloud_run_finished');
CREATE INDEX entries_uploads ON entries (seq)
WHERE kind IN ('uploading', 'uploaded', 'upload_failed', 'asset_uploading', 'asset_upload_accepted', 'asset_uploaded');
CREATE INDEX entries_generations ON entries (seq)
WHERE kind IN ('generation_starting', 'generation_accepted', 'generation_refining', 'generated', 'generation_failed');
CREATE TRIGGER entries_follow BEFORE INSERT ON entries
WHEN new.seq <> (SELECT coalesce(max(seq), 0) + 1 FROM entries)
BEGIN SELECT RAISE(ABORT, 'an entry takes the next position'); END;
CREATE TRIGGER entries_remain BEFORE DELETE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are appended, never deleted'); END;
CREATE TRIGGER blobs_stay BEFORE UPDATE ON blobs
BEGIN SELECT RAISE(ABORT, 'blobs are added, never changed'); END;
";

/// The rules that only [`erase`](super::erase) suspends, within its transaction.
const IMMUTABILITY_TRIGGERS: &str = "
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries
BEGIN SELECT RAISE(ABORT, 'entries are appended, never changed'); END;
CREATE TRIGGER blobs_remain BEFORE DELETE ON blobs
BEGIN SELECT RAISE(ABORT, 'blobs are added, never deleted'); END;
";

/// Drops the triggers that keep written rows from changing.
pub(super) fn suspend_rules(tx: &Transaction) -> rusqlite::Result<()> {
    tx.execute_batch("DROP TRIGGER entries_stay; DROP TRIGGER blobs_remain;")
}

pub(super) fn restore_rules(tx: &Transaction) -> rusqlite::Result<()> {
    tx.execute_batch(IMMUTABILITY_TRIGGERS)
}

/// The columns of the hash chain, which a ledger of format 1 lacks.
const ADDED_CHAIN: &str = "
ALTER TABLE entries ADD COLUMN digest BLOB;
ALTER TABLE entries ADD COLUMN link BLOB;
";

/// The rule of the hash chain, which a ledger of format 1 lacks.
const CHAIN_TRIGGER: &str = "
CREATE TRIGGER entries_link BEFORE INSERT ON entries
WHEN new.digest IS NULL OR new.link IS NULL
BEGIN SELECT RAISE(ABORT, 'an entry has its link'); END;
";

/// Indexes that a ledger of the same format from an older Vector may lack. Without them it reads
/// the same, only slower.
const ADDED_INDEXES: &str = "
CREATE INDEX IF NOT EXISTS entries_replied ON entries (seq) WHERE kind = 'replied';
CREATE INDEX IF NOT EXISTS entries_cloud_runs ON entries (seq)
WHERE kind IN ('cloud_run_started', 'cloud_run_accepted', 'cloud_run_finished');
CREATE INDEX IF NOT EXISTS entries_uploads ON entries (seq)
WHERE kind IN ('uploading', 'uploaded', 'upload_failed', 'asset_uploading', 'asset_upload_accepted', 'asset_uploaded');
CREATE INDEX IF NOT EXISTS entries_generations ON entries (seq)
WHERE kind IN ('generation_starting', 'generation_accepted', 'generation_refining', 'generated', 'generation_failed');
";

/// Creates the folder if it is missing, accessible by its owner only, and removes the access of
/// other users to what is in it.
pub(super) fn create_folder(home: &Path) -> Result<PathBuf, LedgerError> {
    let home = std::path::absolute(home).map_err(LedgerError::unusable_path(home))?;
    vector_system::create_private_folder(&home).map_err(LedgerError::unusable_path(&home))?;
    private_files::tighten_permissions(&home);
    Ok(home)
}

/// Opens a connection for writing, to a file that has the tables of this format.
///
/// The caller must make sure that no other process prepares the same file meanwhile.
pub(super) fn open_writer(file: &Path) -> Result<Connection, LedgerError> {
    create_private(file)?;
    let failed = |source| LedgerError::from_sql(file, source);
    let mut conn = connect(file).map_err(failed)?;
    // Check the format before changing anything: a newer file must stay exactly as it is.
    check_format(&conn, file)?;
    conn.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    create_tables(tx).map_err(failed)?;
    Ok(conn)
}

/// The format of a file; None if it has no tables yet.
///
/// # Errors
/// The format is newer than this version of Vector.
pub(super) fn check_format(conn: &Connection, file: &Path) -> Result<Option<i64>, LedgerError> {
    let found = read_format(conn).map_err(|source| LedgerError::from_sql(file, source))?;
    match found {
        Some((found, by)) if found > FORMAT => Err(LedgerError::Newer {
            file: file.to_owned(),
            by,
            found,
            us: vector_version(),
            known: FORMAT,
        }),
        found => Ok(found.map(|(format, _)| format)),
    }
}

/// Opens a connection for reading. It is not opened read-only, because a file in WAL mode may need
/// its side files created before it can be read.
pub(super) fn open_reader(file: &Path) -> Result<Connection, LedgerError> {
    let open = || {
        let conn = connect(file)?;
        conn.pragma_update(None, "query_only", true)?;
        Ok(conn)
    };
    open().map_err(|source| LedgerError::from_sql(file, source))
}

/// Copies a ledger file to a path that does not exist yet.
pub(super) fn copy_database(file: &Path, to: &Path) -> Result<(), LedgerError> {
    let failed = |source| LedgerError::from_sql(file, source);
    let conn = connect(file).map_err(failed)?;
    conn.execute("VACUUM INTO ?1", [to.display().to_string()]).map(drop).map_err(failed)
}

fn connect(file: &Path) -> rusqlite::Result<Connection> {
    let conn = Connection::open(file)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    set_durability(&conn, Durability::Immediate)?;
    // On macOS an ordinary sync leaves the bytes in the drive's cache. No effect elsewhere.
    conn.pragma_update(None, "fullfsync", true)?;
    conn.pragma_update(None, "foreign_keys", true)?;
    Ok(conn)
}

/// Sets when the commits that follow are on disk. The log is synced as a whole, so a commit that is
/// immediately durable includes the deferred ones before it.
pub(super) fn set_durability(conn: &Connection, durability: Durability) -> rusqlite::Result<()> {
    let level = match durability {
        Durability::Immediate => "FULL",
        Durability::Deferred => "NORMAL",
    };
    conn.pragma_update(None, "synchronous", level)
}

/// Creates the main file with private permissions, because SQLite gives its side files the same.
fn create_private(file: &Path) -> Result<(), LedgerError> {
    let mut options = OpenOptions::new();
    let opened = vector_system::open_private(options.append(true).create(true), file);
    opened.map(drop).map_err(LedgerError::unusable_path(file))
}

fn create_tables(tx: Transaction) -> rusqlite::Result<()> {
    match read_format(&tx)? {
        None => {
            tx.execute_batch(TABLES)?;
            tx.execute_batch(CHAIN_TRIGGER)?;
            tx.execute_batch(IMMUTABILITY_TRIGGERS)?;
            write_format(&tx)?;
        }
        Some((format, _)) => {
            if format < FORMAT {
                add_chain(&tx)?;
            }
            tx.execute_batch(ADDED_INDEXES)?;
        }
    }
    tx.commit()
}

/// Links the entries of a ledger that an older Vector wrote.
fn add_chain(tx: &Transaction) -> rusqlite::Result<()> {
    suspend_rules(tx)?;
    tx.execute_batch(ADDED_CHAIN)?;
    chain::link_entries(tx)?;
    tx.execute_batch(CHAIN_TRIGGER)?;
    restore_rules(tx)?;
    write_format(tx)
}

fn write_format(tx: &Transaction) -> rusqlite::Result<()> {
    let put = "INSERT INTO meta (key, value) VALUES (?1, ?2) \
               ON CONFLICT (key) DO UPDATE SET value = excluded.value";
    tx.execute(put, ("format", FORMAT.to_string()))?;
    tx.execute(put, ("written_by", vector_version())).map(drop)
}

/// The format of the file and the version of Vector that wrote it; None if it has no tables yet.
fn read_format(conn: &Connection) -> rusqlite::Result<Option<(i64, String)>> {
    let known = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'";
    if conn.query_row(known, [], |_| Ok(())).optional()?.is_none() {
        return Ok(None);
    }
    conn.query_row(
        "SELECT CAST(f.value AS INTEGER), b.value FROM meta f, meta b \
         WHERE f.key = 'format' AND b.key = 'written_by'",
        [],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )
    .optional()
}

fn vector_version() -> String {
    concat!("Vector ", env!("CARGO_PKG_VERSION")).to_owned()
}
