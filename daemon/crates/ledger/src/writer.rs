//! Group commit: one thread writes at a time, and commits the batches that others have queued.
//!
//! A commit waits for the disk, and the wait is the same for one batch as for a hundred, so the
//! batches that arrive during one commit share the next. The first thread to get the connection
//! writes for all that wait, so no dedicated writer thread has to be woken. Callers encode, hash
//! and compress before they queue. This module must not know what entries mean.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, Seq};

use super::blobs::StoredBlob;
use super::chain::{ChainHash, ChainHead, LinkedRow};
use super::{LedgerError, schema, to_sql};

/// A body of more bytes than this is stored as a blob, compressed and deduplicated.
const MAX_INLINE_BODY: usize = 64 * 1024;

/// A group takes no more batches once it has this many rows or bytes, to keep commits short.
const GROUP_ROWS: usize = 4_096;
const GROUP_BYTES: usize = 16 * 1024 * 1024;

pub(super) const APPEND: &str = "INSERT INTO entries (seq, at, workflow, kind, body, blob, digest, link) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";

/// An encoded batch that only lacks its position.
#[derive(Debug)]
pub(super) struct PreparedBatch {
    workflow: Option<Seq>,
    rows: Vec<EntryRow>,
    blobs: Vec<StoredBlob>,
    durability: Durability,
}

/// When a batch is on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// Before its caller goes on.
    Immediate,
    /// With the next batch of this or another process that is immediately durable, and at the
    /// latest when the file is closed.
    Deferred,
}

#[derive(Debug)]
struct EntryRow {
    kind: String,
    body: EncodedBody,
    /// The hash of the body.
    digest: ChainHash,
}

#[derive(Debug)]
enum EncodedBody {
    Text(String),
    Blob(Fingerprint),
}

/// The position of a written batch. Its entries have consecutive positions from `first`.
#[derive(Debug)]
pub(super) struct BatchReceipt {
    pub(super) first: u64,
    pub(super) at: u64,
    pub(super) workflow: Seq,
}

/// The result of a batch, set once it was written.
type BatchOutcome = Arc<OnceLock<Result<BatchReceipt, LedgerError>>>;

#[derive(Debug)]
struct WriteJob {
    batch: PreparedBatch,
    outcome: BatchOutcome,
}

impl WriteJob {
    fn finish(self, outcome: Result<BatchReceipt, LedgerError>) {
        // Cannot fail: each job is finished only once.
        let _ = self.outcome.set(outcome);
    }
}

impl PreparedBatch {
    /// Encodes the entries and compresses the blobs.
    pub(super) fn new(
        workflow: Option<Seq>,
        entries: &[Entry],
        blobs: Vec<Vec<u8>>,
        durability: Durability,
    ) -> Result<Self, LedgerError> {
        for (index, entry) in entries.iter().enumerate() {
            let starts = matches!(entry, Entry::Started { .. });
            if starts != (index == 0 && workflow.is_none()) {
                return Err(LedgerError::malformed_entry(format!(
                    "entry {index} {} `started`, and just the first entry of a new workflow has to be",
                    if starts { "is" } else { "is not" }
                )));
            }
        }
        let mut blobs: Vec<StoredBlob> = blobs.into_iter().map(StoredBlob::pack).collect();
        let rows = entries
            .iter()
            .map(|entry| EntryRow::new(entry, &mut blobs))
            .collect::<Result<_, _>>()?;
        Ok(Self { workflow, rows, blobs, durability })
    }

    fn size_in_bytes(&self) -> usize {
        let bodies = self.rows.iter().map(|row| match &row.body {
            EncodedBody::Text(text) => text.len(),
            EncodedBody::Blob(_) => 0,
        });
        bodies.chain(self.blobs.iter().map(|blob| blob.bytes.len())).sum()
    }
}

impl EntryRow {
    fn new(entry: &Entry, blobs: &mut Vec<StoredBlob>) -> Result<Self, LedgerError> {
        let body = serde_json::to_string(entry).map_err(encode_failed)?;
        let kind = entry_kind(&body).to_owned();
        // An entry that is nested too deeply to be parsed again would make the ledger unreadable
        // for good, so reject it before it is written.
        if nesting_depth(&body) > SAFE_DEPTH {
            serde_json::from_str::<Entry>(&body).map_err(encode_failed)?;
        }
        let digest = ChainHash::of_body(body.as_bytes());
        if body.len() <= MAX_INLINE_BODY {
            let body = EncodedBody::Text(body);
            return Ok(Self { kind, body, digest });
        }
        let blob = StoredBlob::pack(body.into_bytes());
        let body = EncodedBody::Blob(blob.hash.clone());
        blobs.push(blob);
        Ok(Self { kind, body, digest })
    }
}

/// The `kind` tag of an encoded entry, which is always its first field.
fn entry_kind(body: &str) -> &str {
    body.split('"').nth(3).unwrap_or_default()
}

/// A nesting depth that every JSON parser accepts.
const SAFE_DEPTH: usize = 64;

fn nesting_depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => skip_text(&mut bytes),
            _ => {}
        }
    }
    deepest
}

/// Advances past the closing quote of a string.
fn skip_text(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => return,
            _ => {}
        }
    }
}

fn encode_failed(error: serde_json::Error) -> LedgerError {
    LedgerError::malformed_entry(format!("an entry could not be read again ({error})"))
}

/// The writing connection, and the queue of batches that wait for it.
#[derive(Debug)]
pub(super) struct LedgerWriter {
    file: PathBuf,
    conn: Mutex<Connection>,
    queue: Mutex<VecDeque<WriteJob>>,
}

/// Ignores poisoning: a panic leaves no state behind, because an open transaction is rolled back.
fn lock_mutex<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl LedgerWriter {
    pub(super) fn new(file: PathBuf, conn: Connection) -> Self {
        Self { file, conn: Mutex::new(conn), queue: Mutex::default() }
    }

    /// Queues a batch and waits until it is written, and durable if it has to be.
    pub(super) fn write_batch(&self, batch: PreparedBatch) -> Result<BatchReceipt, LedgerError> {
        let mut outcome = BatchOutcome::default();
        lock_mutex(&self.queue).push_back(WriteJob { batch, outcome: Arc::clone(&outcome) });
        let mut conn = lock_mutex(&self.conn);
        loop {
            // The previous holder of the connection may have written this batch too.
            outcome = match Arc::try_unwrap(outcome).map(OnceLock::into_inner) {
                Ok(Some(settled)) => return settled,
                // The thread that wrote this batch panicked.
                Ok(None) => return Err(LedgerError::Stopped { file: self.file.clone() }),
                Err(still_queued) => still_queued,
            };
            write_group(&self.file, &mut conn, self.next_group());
        }
    }

    /// Runs `work` with the connection while no other thread of this process writes.
    pub(super) fn with_connection<T>(
        &self,
        work: impl FnOnce(&mut Connection) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let mut conn = lock_mutex(&self.conn);
        schema::set_durability(&conn, Durability::Immediate)
            .map_err(|source| LedgerError::from_sql(&self.file, source))?;
        work(&mut conn)
    }

    /// Takes the batches for the next commit from the queue.
    fn next_group(&self) -> Vec<WriteJob> {
        let mut queue = lock_mutex(&self.queue);
        let (mut rows, mut bytes, mut group) = (0, 0, Vec::new());
        while rows < GROUP_ROWS
            && bytes < GROUP_BYTES
            && let Some(job) = queue.pop_front()
        {
            rows += job.batch.rows.len();
            bytes += job.batch.size_in_bytes();
            group.push(job);
        }
        group
    }
}

/// Writes a group and reports the result to each caller. If the group fails, its batches are
/// written one by one, so that only the bad ones fail.
fn write_group(file: &Path, conn: &mut Connection, group: Vec<WriteJob>) {
    match insert_batches(file, conn, group.iter().map(|job| &job.batch)) {
        Ok(receipts) => {
            for (job, receipt) in group.into_iter().zip(receipts) {
                job.finish(Ok(receipt));
            }
        }
        // The lock is not the fault of any batch. Retrying each alone would wait just as long.
        Err(LedgerError::Locked { file }) => {
            for job in group {
                let file = file.clone();
                job.finish(Err(LedgerError::Locked { file }));
            }
        }
        Err(error) => match <[WriteJob; 1]>::try_from(group) {
            Ok([job]) => job.finish(Err(error)),
            Err(group) => {
                for job in group {
                    write_group(file, conn, vec![job]);
                }
            }
        },
    }
}

fn insert_batches<'a>(
    file: &Path,
    conn: &mut Connection,
    batches: impl Iterator<Item = &'a PreparedBatch> + Clone,
) -> Result<Vec<BatchReceipt>, LedgerError> {
    let failed = |source| LedgerError::from_sql(file, source);
    let is_deferred = batches.clone().all(|batch| batch.durability == Durability::Deferred);
    let durability = if is_deferred { Durability::Deferred } else { Durability::Immediate };
    schema::set_durability(conn, durability).map_err(failed)?;
    // An immediate transaction is the only writer in any process from its start, so the next
    // position cannot be taken by another.
    let tx = conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    let mut head = ChainHead::read(&tx).map_err(failed)?;
    let mut receipts = Vec::new();
    for batch in batches {
        if let Some(workflow) = batch.workflow
            && !is_workflow(&tx, workflow).map_err(failed)?
        {
            return Err(LedgerError::malformed_entry(format!("there is no workflow {workflow}")));
        }
        receipts.push(insert_batch(&tx, batch, &mut head).map_err(failed)?);
    }
    tx.commit().map_err(failed)?;
    Ok(receipts)
}

/// Whether a workflow exists: only its `started` entry has the position of the workflow.
fn is_workflow(tx: &Transaction, workflow: Seq) -> rusqlite::Result<bool> {
    tx.prepare_cached("SELECT 1 FROM entries WHERE seq = ?1 AND workflow = ?1")?
        .query_row([to_sql(workflow)], |_| Ok(()))
        .optional()
        .map(|found| found.is_some())
}

fn insert_batch(
    tx: &Transaction,
    batch: &PreparedBatch,
    head: &mut ChainHead,
) -> rusqlite::Result<BatchReceipt> {
    let first = to_sql(head.seq) + 1;
    let mut add = tx.prepare_cached(
        "INSERT INTO blobs (hash, size, packed, bytes) VALUES (?1, ?2, ?3, ?4) \
         ON CONFLICT (hash) DO NOTHING",
    )?;
    for blob in &batch.blobs {
        let size = blob.size as i64;
        add.execute((&blob.hash.0, size, blob.packed, &blob.bytes))?;
    }
    let mut append = tx.prepare_cached(APPEND)?;
    let at = unix_millis();
    let workflow = batch.workflow.map_or(first, to_sql);
    for (seq, row) in (first..).zip(&batch.rows) {
        let (body, blob) = match &row.body {
            EncodedBody::Text(text) => (Some(text), None),
            EncodedBody::Blob(hash) => (None, Some(&hash.0)),
        };
        let linked = LinkedRow { seq, at: at as i64, workflow, kind: &row.kind };
        let link = head.link.next(&linked, &row.digest);
        *head = ChainHead { seq: Seq(seq.unsigned_abs()), link };
        let (digest, link) = (row.digest.as_bytes(), link.as_bytes());
        append.execute((seq, at as i64, workflow, &row.kind, body, blob, digest, link))?;
    }
    Ok(BatchReceipt { first: first.unsigned_abs(), at, workflow: Seq(workflow.unsigned_abs()) })
}

pub(super) fn unix_millis() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_millis() as u64)
}

#[cfg(test)]
mod tests {
    use scene_schemas::entry::Phase;

    use super::*;

    fn said(workflow: u64) -> PreparedBatch {
        said_with(workflow, Durability::Immediate)
    }

    fn said_with(workflow: u64, durability: Durability) -> PreparedBatch {
        let entry = Entry::Said { text: "x".to_owned(), phase: Phase::Update, answers: Vec::new() };
        PreparedBatch::new(Some(Seq(workflow)), &[entry], Vec::new(), durability).unwrap()
    }

    #[test]
    fn rows_carry_their_entry_kind() {
        assert_eq!(said(1).rows[0].kind, "said");
    }

    #[test]
    fn nesting_depth_counts_brackets_outside_strings() {
        assert_eq!(nesting_depth(r#"{"[": "[[\"[", "b": [{}], "c": []}"#), 3);
        assert_eq!(nesting_depth(r#""\\" [["#), 2);
    }

    #[test]
    fn group_is_synced_if_one_of_its_batches_has_to_be() {
        use Durability::{Deferred, Immediate};
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("ledger.sqlite");
        let mut conn = schema::open_writer(&file).unwrap();
        conn.execute(
            "INSERT INTO entries VALUES (1, 0, 1, 'started', '{}', NULL, x'00', x'00')",
            [],
        )
        .unwrap();
        let mut level_after = |group: &[Durability]| -> i64 {
            let batches: Vec<_> = group.iter().map(|it| said_with(1, *it)).collect();
            insert_batches(&file, &mut conn, batches.iter()).unwrap();
            conn.pragma_query_value(None, "synchronous", |row| row.get(0)).unwrap()
        };
        let (normal, full) = (1, 2);
        assert_eq!(level_after(&[Deferred, Deferred]), normal);
        assert_eq!(level_after(&[Deferred, Immediate, Deferred]), full);
        assert_eq!(level_after(&[Deferred]), normal);
        assert_eq!(level_after(&[Immediate]), full);
    }

    #[test]
    fn bad_batch_does_not_fail_its_group() {
        let home = tempfile::tempdir().unwrap();
        let file = home.path().join("ledger.sqlite");
        let mut conn = schema::open_writer(&file).unwrap();
        conn.execute(
            "INSERT INTO entries VALUES (1, 0, 1, 'started', '{}', NULL, x'00', x'00')",
            [],
        )
        .unwrap();
        let (group, answers): (Vec<WriteJob>, Vec<_>) = [1, 77, 1, 78, 1]
            .into_iter()
            .map(|workflow| {
                let outcome = BatchOutcome::default();
                (WriteJob { batch: said(workflow), outcome: Arc::clone(&outcome) }, outcome)
            })
            .unzip();
        write_group(&file, &mut conn, group);
        let said: Vec<String> = answers
            .iter()
            .map(|outcome| match outcome.get().unwrap() {
                Ok(receipt) => receipt.first.to_string(),
                Err(error) => error.to_string(),
            })
            .collect();
        assert_eq!([&said[0], &said[2], &said[4]], ["2", "3", "4"]);
        assert!(said[1].contains("no workflow 77"), "{}", said[1]);
        assert!(said[3].contains("no workflow 78"), "{}", said[3]);
    }
}
