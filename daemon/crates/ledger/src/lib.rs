//! The ledger: the append-only log of entries, in SQLite.
//!
//! Everything that happens is an entry here, and all state is derived from the entries. The ledger
//! makes three promises: what [`Ledger::append`] returned is durable, positions have no gaps, and
//! what was written never changes. Several processes may append to one ledger folder, because the
//! next position is assigned inside the writing transaction.
//!
//! It must not know what entries mean, except that a workflow begins with `started` and ends with
//! `finished`. It makes no decisions and notifies no subscribers.
//!
//! # Layout
//!
//! - `schema`: the tables, and how a connection is opened;
//! - `writer`: one thread writes at a time, many batches per commit;
//! - `erase`: erasing at the user's request, the one exception to the third promise;
//! - `chain`: the hashes that show whether anything was changed since;
//! - `blobs`: large texts and removed subtrees, stored by hash;
//! - `lease`: which process works on a workflow;
//! - `private_files`: files and folders that only their owner can access;
//! - `health`: a report on the state of a ledger, for diagnostics;
//! - `error`: errors, in words for the user.

mod blobs;
mod chain;
mod erase;
mod error;
pub mod health;
mod lease;
pub mod private_files;
mod schema;
#[cfg(test)]
mod tests;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, Params, Row};
use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, Record, Seq};
use serde::de::DeserializeOwned;

pub use chain::{ChainFault, ChainHash, ChainHashError, ChainHead, ChainReport};
pub use erase::ErasedSummary;
pub use error::LedgerError;
pub use lease::{ApplyingLock, WorkflowLease, is_in_use};

use lease::LeaseTable;
use writer::{Durability, LedgerWriter, PreparedBatch};

/// The name of the ledger file in its folder.
pub const FILE: &str = "ledger.sqlite";

/// Entries of the cloud, which an index has by these kinds in this order.
const UPLOADS: &str = "WHERE e.kind IN ('uploading', 'uploaded', 'upload_failed', 'asset_uploading', \
                       'asset_upload_accepted', 'asset_uploaded') ORDER BY e.seq";
const GENERATIONS: &str = "WHERE e.kind IN ('generation_starting', 'generation_accepted', \
                           'generation_refining', 'generated', 'generation_failed') ORDER BY e.seq";
const CLOUD_RUNS: &str = "WHERE e.kind IN ('cloud_run_started', 'cloud_run_accepted', \
                          'cloud_run_finished') ORDER BY e.seq";

/// Selects the columns that [`StoredRow::from_row`] reads. A body is in its row or in a blob.
const RECORDS: &str = "SELECT e.seq, e.at, e.workflow, e.body, e.blob, b.packed, b.bytes \
                       FROM entries e LEFT JOIN blobs b ON b.hash = e.blob";

/// Filters for workflows that started and did not finish. SQLite chooses the two partial indexes
/// only because the kinds are literals; with parameters it would not.
const UNFINISHED: &str = "WHERE e.kind = 'started' AND NOT EXISTS (SELECT 1 FROM entries f \
                          WHERE f.kind = 'finished' AND f.workflow = e.seq) ORDER BY e.seq";

/// An open ledger. Threads share it by reference or `Arc`.
#[derive(Debug)]
pub struct Ledger {
    file: PathBuf,
    leases: LeaseTable,
    writer: LedgerWriter,
    reader: Mutex<Connection>,
}

/// Entries that are appended atomically.
#[derive(Debug, Clone)]
pub struct AppendBatch {
    /// The workflow of the entries. None if the first entry is `started`, which creates a new
    /// workflow.
    pub workflow: Option<Seq>,
    /// In the order in which they happened.
    pub entries: Vec<Entry>,
    /// The blobs that the entries name by hash. They become durable together with the entries.
    pub blobs: Vec<Vec<u8>>,
}

/// An entry of which only a part was decoded, with its position.
#[derive(Debug, Clone, PartialEq)]
pub struct PartialRecord<T> {
    pub seq: Seq,
    /// The time of the append, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    pub workflow: Seq,
    /// The decoded part of the body, in its stored form.
    pub body: T,
}

impl Ledger {
    /// Opens the ledger in the folder `home`. Creates the folder and the file if they are missing.
    pub fn open(home: &Path) -> Result<Self, LedgerError> {
        let home = schema::create_folder(home)?;
        let file = home.join(FILE);
        let leases = LeaseTable::in_folder(&home)?;
        // Two processes that create the tables in a new file at once would conflict.
        let _guard = leases.lock_guard()?;
        let writer = schema::open_writer(&file)?;
        Self::with_writer(file, leases, writer)
    }

    /// The folder of the ledger, which has the settings of the user too.
    pub fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    fn with_writer(
        file: PathBuf,
        leases: LeaseTable,
        writer: Connection,
    ) -> Result<Self, LedgerError> {
        let reader = Mutex::new(schema::open_reader(&file)?);
        let writer = LedgerWriter::new(file.clone(), writer);
        Ok(Self { file, leases, writer, reader })
    }

    /// Appends a batch. It is durable on return; on an error, none of it was written.
    ///
    /// Blocks until the data is on disk, and up to 10 seconds while another process writes.
    pub fn append(&self, batch: AppendBatch) -> Result<Vec<Record>, LedgerError> {
        self.append_with(batch, Durability::Immediate)
    }

    /// Appends a batch that becomes durable with the next one that [`Ledger::append`] writes.
    ///
    /// It survives the end of this process. A power cut may lose it, and then all that followed,
    /// so positions have no gaps in any case. For entries that nothing acts on.
    pub fn append_deferred(&self, batch: AppendBatch) -> Result<Vec<Record>, LedgerError> {
        self.append_with(batch, Durability::Deferred)
    }

    fn append_with(
        &self,
        batch: AppendBatch,
        durability: Durability,
    ) -> Result<Vec<Record>, LedgerError> {
        let AppendBatch { workflow, entries, blobs } = batch;
        let batch = PreparedBatch::new(workflow, &entries, blobs, durability)?;
        let receipt = self.writer.write_batch(batch)?;
        Ok((receipt.first..)
            .zip(entries)
            .map(|(seq, entry)| Record {
                seq: Seq(seq),
                at: receipt.at,
                workflow: receipt.workflow,
                entry: resolve_call(Seq(seq), entry),
            })
            .collect())
    }

    /// Appends a batch that starts a workflow, and leases the workflow before any other process
    /// can.
    pub fn start_workflow(
        &self,
        batch: AppendBatch,
    ) -> Result<(Vec<Record>, WorkflowLease), LedgerError> {
        if batch.workflow.is_some() || batch.entries.is_empty() {
            return Err(LedgerError::malformed_entry("it does not start a workflow"));
        }
        let guard = self.leases.lock_guard()?;
        let records = self.append(batch)?;
        let workflow = records.first().map_or(Seq(0), |first| first.workflow);
        match self.leases.try_lease(&guard, workflow)? {
            Some(lease) => Ok((records, lease)),
            None => Err(LedgerError::LeasedEarly { file: self.leases.lease_path(workflow) }),
        }
    }

    /// The blob with this hash; None if it was never stored.
    pub fn read_blob(&self, hash: &Fingerprint) -> Result<Option<Vec<u8>>, LedgerError> {
        let sql = "SELECT packed, bytes FROM blobs WHERE hash = ?1";
        let found = self
            .lock_reader()
            .prepare_cached(sql)
            .and_then(|mut statement| {
                let row = |row: &Row| Ok((row.get(0)?, row.get(1)?));
                statement.query_row([&hash.0], row).optional()
            })
            .map_err(|source| LedgerError::from_sql(&self.file, source))?;
        found.map(|(packed, bytes)| blobs::unpack_blob(&self.file, hash, packed, bytes)).transpose()
    }

    /// The records after position `after`, in order, at most `limit`.
    pub fn read(&self, after: Seq, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.query_records("WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2", (to_sql(after), limit))
    }

    /// The records before position `before`, newest first, at most `limit`.
    pub fn read_before(&self, before: Seq, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.query_records("WHERE e.seq < ?1 ORDER BY e.seq DESC LIMIT ?2", (to_sql(before), limit))
    }

    /// The records after position `after`, in order, at most `limit`, with their bodies decoded as
    /// `T`.
    pub fn read_as<T: DeserializeOwned>(
        &self,
        after: Seq,
        limit: usize,
    ) -> Result<Vec<PartialRecord<T>>, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows =
            self.query_rows("WHERE e.seq > ?1 ORDER BY e.seq LIMIT ?2", (to_sql(after), limit))?;
        rows.into_iter().map(|row| row.decode_part(&self.file)).collect()
    }

    /// The positions right before and after `seq` in its workflow.
    pub fn neighbours(
        &self,
        workflow: Seq,
        seq: Seq,
    ) -> Result<(Option<Seq>, Option<Seq>), LedgerError> {
        let query = "SELECT (SELECT max(seq) FROM entries WHERE workflow = ?1 AND seq < ?2), \
                     (SELECT min(seq) FROM entries WHERE workflow = ?1 AND seq > ?2)";
        let found: (Option<i64>, Option<i64>) = self
            .lock_reader()
            .prepare_cached(query)
            .and_then(|mut statement| {
                let both = |row: &Row| Ok((row.get(0)?, row.get(1)?));
                statement.query_row([to_sql(workflow), to_sql(seq)], both)
            })
            .map_err(|source| LedgerError::from_sql(&self.file, source))?;
        let seq = |at: i64| Seq(at.unsigned_abs());
        Ok((found.0.map(seq), found.1.map(seq)))
    }

    /// All records of a workflow, in order; empty if the workflow does not exist.
    pub fn workflow_records(&self, workflow: Seq) -> Result<Vec<Record>, LedgerError> {
        self.query_records("WHERE e.workflow = ?1 ORDER BY e.seq", [to_sql(workflow)])
    }

    /// The records of a workflow after position `after`, in order.
    pub fn workflow_records_after(
        &self,
        workflow: Seq,
        after: Seq,
    ) -> Result<Vec<Record>, LedgerError> {
        let of = "WHERE e.workflow = ?1 AND e.seq > ?2 ORDER BY e.seq";
        self.query_records(of, [to_sql(workflow), to_sql(after)])
    }

    /// The first records of a workflow, at most `limit`.
    pub fn first_records(&self, workflow: Seq, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.query_records(
            "WHERE e.workflow = ?1 ORDER BY e.seq LIMIT ?2",
            [to_sql(workflow), limit],
        )
    }

    /// The last record of a workflow; None if the workflow does not exist.
    pub fn last_record(&self, workflow: Seq) -> Result<Option<Record>, LedgerError> {
        Ok(self
            .query_records("WHERE e.workflow = ?1 ORDER BY e.seq DESC LIMIT 1", [to_sql(workflow)])?
            .pop())
    }

    /// The record at this position.
    pub fn record_at(&self, seq: Seq) -> Result<Option<Record>, LedgerError> {
        Ok(self.query_records("WHERE e.seq = ?1", [to_sql(seq)])?.pop())
    }

    /// The last position; 0 if the ledger is empty.
    pub fn last_seq(&self) -> Result<Seq, LedgerError> {
        let head: i64 = self
            .lock_reader()
            .query_row("SELECT coalesce(max(seq), 0) FROM entries", [], |row| row.get(0))
            .map_err(|source| LedgerError::from_sql(&self.file, source))?;
        Ok(Seq(head.unsigned_abs()))
    }

    /// The `started` records of the workflows without a `finished` record, in order.
    pub fn unfinished_starts(&self) -> Result<Vec<Record>, LedgerError> {
        self.query_records(UNFINISHED, [])
    }

    /// The workflows with entries after a position, each once.
    pub fn workflows_after(&self, after: Seq) -> Result<Vec<Seq>, LedgerError> {
        let query = "SELECT DISTINCT workflow FROM entries WHERE seq > ?1 ORDER BY workflow";
        self.lock_reader()
            .prepare_cached(query)
            .and_then(|mut statement| {
                let rows = statement.query_map([to_sql(after)], |row| row.get::<_, i64>(0))?;
                rows.map(|workflow| Ok(Seq(workflow?.unsigned_abs()))).collect()
            })
            .map_err(|source| LedgerError::from_sql(&self.file, source))
    }

    /// The newest `started` records, newest first, at most `limit`.
    pub fn recent_starts(&self, limit: usize) -> Result<Vec<Record>, LedgerError> {
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        self.query_records("WHERE e.kind = 'started' ORDER BY e.seq DESC LIMIT ?1", [limit])
    }

    /// The `replied` records after position `after`, in order.
    pub fn replies_after(&self, after: Seq) -> Result<Vec<Record>, LedgerError> {
        self.query_records(
            "WHERE e.kind = 'replied' AND e.seq > ?1 ORDER BY e.seq",
            [to_sql(after)],
        )
    }

    /// The records of uploads to Roblox, in order: how each began, and how it ended.
    pub fn uploads(&self) -> Result<Vec<Record>, LedgerError> {
        self.query_records(UPLOADS, [])
    }

    /// The records of generated models, in order: how each generation began, and how it ended.
    pub fn generations(&self) -> Result<Vec<Record>, LedgerError> {
        self.query_records(GENERATIONS, [])
    }

    /// The records of runs of specs in Roblox's engine, in order: how each began, and how it ended.
    pub fn cloud_runs(&self) -> Result<Vec<Record>, LedgerError> {
        self.query_records(CLOUD_RUNS, [])
    }

    /// Leases a workflow to this process until the lease is dropped or the process ends, even by a
    /// crash. Returns None if the lease is already held.
    pub fn try_lease(&self, workflow: Seq) -> Result<Option<WorkflowLease>, LedgerError> {
        self.leases.try_lease(&self.leases.lock_guard()?, workflow)
    }

    /// Waits until nobody else applies a change of this ledger, and keeps them from it until the
    /// lock is dropped.
    ///
    /// # Errors
    /// The lock file cannot be opened or locked.
    pub fn lock_applying(&self) -> Result<ApplyingLock, LedgerError> {
        self.leases.lock_applying()
    }

    /// Whether this process has leased a workflow through this ledger handle.
    pub fn has_lease(&self, workflow: Seq) -> bool {
        self.leases.is_held(workflow)
    }

    /// Writes a consistent copy of the whole ledger to another folder.
    pub fn copy_to(&self, home: &Path) -> Result<(), LedgerError> {
        vector_system::create_private_folder(home).map_err(LedgerError::unusable_path(home))?;
        let copy = home.join(FILE);
        schema::copy_database(&self.file, &copy)
    }

    /// The path of the ledger file, for messages.
    pub fn file_path(&self) -> &Path {
        &self.file
    }

    fn query_records(&self, rest: &str, params: impl Params) -> Result<Vec<Record>, LedgerError> {
        let stored = self.query_rows(rest, params)?;
        stored.into_iter().map(|row| row.decode(&self.file)).collect()
    }

    /// Collects the rows before decoding them, so that decoding does not hold the reader lock.
    fn query_rows(&self, rest: &str, params: impl Params) -> Result<Vec<StoredRow>, LedgerError> {
        self.lock_reader()
            .prepare_cached(&format!("{RECORDS} {rest}"))
            .and_then(|mut statement| statement.query_map(params, StoredRow::from_row)?.collect())
            .map_err(|source| LedgerError::from_sql(&self.file, source))
    }

    fn lock_reader(&self) -> MutexGuard<'_, Connection> {
        // A panic leaves no half-done state behind in a reading connection.
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A row of the `entries` table as it is stored.
struct StoredRow {
    seq: i64,
    at: i64,
    workflow: i64,
    body: Option<String>,
    blob: Option<(String, Option<bool>, Option<Vec<u8>>)>,
}

impl StoredRow {
    fn from_row(row: &Row) -> rusqlite::Result<Self> {
        let hash: Option<String> = row.get(4)?;
        Ok(Self {
            seq: row.get(0)?,
            at: row.get(1)?,
            workflow: row.get(2)?,
            body: row.get(3)?,
            blob: match hash {
                Some(hash) => Some((hash, row.get(5)?, row.get(6)?)),
                None => None,
            },
        })
    }

    fn decode(self, file: &Path) -> Result<Record, LedgerError> {
        let PartialRecord { seq, at, workflow, body } = self.decode_part(file)?;
        Ok(Record { seq, at, workflow, entry: resolve_call(seq, body) })
    }

    fn decode_part<T: DeserializeOwned>(
        self,
        file: &Path,
    ) -> Result<PartialRecord<T>, LedgerError> {
        let seq = Seq(self.seq.unsigned_abs());
        let body = match (self.body, self.blob) {
            (Some(body), _) => body.into_bytes(),
            (None, Some((hash, Some(packed), Some(bytes)))) => {
                blobs::unpack_blob(file, &Fingerprint(hash), packed, bytes)?
            }
            (None, _) => {
                let detail = format!("entry {seq} has no body");
                return Err(LedgerError::corrupt_ledger(file, detail));
            }
        };
        let body = serde_json::from_slice(&body).map_err(|source| LedgerError::UnknownEntry {
            file: file.to_owned(),
            seq,
            source,
        })?;
        let (at, workflow) = (self.at.unsigned_abs(), Seq(self.workflow.unsigned_abs()));
        Ok(PartialRecord { seq, at, workflow, body })
    }
}

/// Fills in the call of an `answered` or `refused` entry that has none: the entry right before it.
fn resolve_call(seq: Seq, mut entry: Entry) -> Entry {
    if let Entry::Answered { call, .. } | Entry::Refused { call, .. } = &mut entry
        && *call == Seq(0)
    {
        *call = Seq(seq.0.saturating_sub(1));
    }
    entry
}

/// A position as an SQLite integer. Larger positions become `i64::MAX`: no entry is beyond it.
fn to_sql(seq: Seq) -> i64 {
    i64::try_from(seq.0).unwrap_or(i64::MAX)
}
