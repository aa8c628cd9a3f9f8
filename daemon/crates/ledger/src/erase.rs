//! Erasing: replaces entries by versions without texts, deletes blobs that no other entry names,
//! and compacts the file, so that the bytes are gone from disk.
//!
//! This is the one exception to the rule that what was written never changes. It exists for users
//! who want something forgotten. Positions, times and workflows stay. This module must not know
//! what an entry may keep.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior};
use scene_schemas::Fingerprint;
use scene_schemas::entry::{Entry, Seq};

use super::chain::{ChainHash, ChainHead, LinkedRow, RemainsHasher};
use super::writer::{APPEND, unix_millis};
use super::{Ledger, LedgerError, blobs, schema, to_sql};

/// Number of characters in a hash.
const HASH_LEN: usize = 64;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErasedSummary {
    /// Number of entries that lost their texts.
    pub entries: usize,
    /// Number of deleted blobs.
    pub blobs: usize,
    /// Whether the file was rebuilt without the erased data. If not, for lack of disk space for
    /// example, its free pages are still overwritten with zeros.
    pub is_compacted: bool,
}

impl Ledger {
    /// Replaces every entry of these workflows by `erase(entry)`, deletes the blobs that only those
    /// entries name, and appends a mark with the hash of what remains to each workflow, all in one
    /// transaction.
    pub fn erase_workflows(
        &self,
        workflows: &[Seq],
        erase: impl Fn(Entry) -> Entry,
        mark: impl Fn(Fingerprint) -> Entry,
    ) -> Result<ErasedSummary, LedgerError> {
        let wanted: HashSet<i64> = workflows.iter().map(|it| to_sql(*it)).collect();
        self.writer.with_connection(|conn| {
            let failed = |source| LedgerError::from_sql(&self.file, source);
            conn.pragma_update(None, "secure_delete", true).map_err(failed)?;
            let tx =
                conn.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
            let erasing = EraseRun { ledger: self, tx: &tx, wanted: &wanted };
            let (entries, blobs) = erasing.run(&erase, &mark)?;
            tx.commit().map_err(failed)?;
            Ok(ErasedSummary { entries, blobs, is_compacted: compact_database(conn) })
        })
    }

    /// Whether anything was erased after a position, so that entries read earlier may be gone.
    pub fn is_erased_after(&self, after: Seq) -> Result<bool, LedgerError> {
        let query = "SELECT 1 FROM entries WHERE seq > ?1 AND kind = 'erased' LIMIT 1";
        let found = self
            .lock_reader()
            .prepare_cached(query)
            .and_then(|mut query| query.query_row([to_sql(after)], |_| Ok(())).optional());
        found
            .map(|found| found.is_some())
            .map_err(|source| LedgerError::from_sql(&self.file, source))
    }
}

/// Rebuilds the file without free pages and empties its write-ahead log. Returns false on failure.
fn compact_database(conn: &Connection) -> bool {
    let empty_log = || {
        // The pragma returns a row; its first column is 1 if another connection blocked it.
        conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0))
    };
    let result = empty_log().and_then(|_| conn.execute_batch("VACUUM")).and_then(|()| empty_log());
    result.is_ok_and(|busy| busy == 0)
}

struct EraseRun<'a> {
    ledger: &'a Ledger,
    tx: &'a Transaction<'a>,
    /// The workflows to erase.
    wanted: &'a HashSet<i64>,
}

/// A row of the `entries` table.
struct EraseRow {
    seq: i64,
    workflow: i64,
    body: Option<String>,
    blob: Option<String>,
}

impl EraseRun<'_> {
    fn run(
        &self,
        erase: &impl Fn(Entry) -> Entry,
        mark: &impl Fn(Fingerprint) -> Entry,
    ) -> Result<(usize, usize), LedgerError> {
        let (mut erased_blobs, mut kept_blobs) = (BTreeSet::new(), BTreeSet::new());
        let mut erased = Vec::new();
        let mut remains: BTreeMap<i64, RemainsHasher> = BTreeMap::new();
        self.for_each_row(|row| {
            let body = self.read_body(&row)?;
            let is_wanted = self.wanted.contains(&row.workflow);
            let names = if is_wanted { &mut erased_blobs } else { &mut kept_blobs };
            names.extend(find_hashes(&body).chain(row.blob));
            if is_wanted {
                let entry = serde_json::from_slice(&body).map_err(|source| {
                    let (file, seq) = (self.ledger.file.clone(), Seq(row.seq.unsigned_abs()));
                    LedgerError::UnknownEntry { file, seq, source }
                })?;
                let text = serde_json::to_string(&erase(entry))
                    .map_err(|error| LedgerError::malformed_entry(error.to_string()))?;
                let digest = ChainHash::of_body(text.as_bytes());
                remains.entry(row.workflow).or_default().add(row.seq, &digest);
                erased.push((row.seq, text));
            }
            Ok(())
        })?;
        let (erased_blobs, kept_blobs) =
            (self.reachable_blobs(erased_blobs)?, self.reachable_blobs(kept_blobs)?);
        let mut marks = Vec::new();
        for workflow in self.wanted.iter().collect::<BTreeSet<_>>() {
            let remains = remains.remove(workflow).unwrap_or_default().finish();
            let mark = serde_json::to_string(&mark(remains))
                .map_err(|error| LedgerError::malformed_entry(error.to_string()))?;
            marks.push((*workflow, mark));
        }
        self.write_erased(&erased, erased_blobs.difference(&kept_blobs), &marks)
            .map_err(|source| LedgerError::from_sql(&self.ledger.file, source))
    }

    /// Visits all entries, one row at a time.
    fn for_each_row(
        &self,
        mut each: impl FnMut(EraseRow) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        let failed = |source| LedgerError::from_sql(&self.ledger.file, source);
        let query = "SELECT seq, workflow, body, blob FROM entries ORDER BY seq";
        let mut query = self.tx.prepare(query).map_err(failed)?;
        let mut rows = query.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let read = || {
                let (seq, workflow) = (row.get(0)?, row.get(1)?);
                Ok(EraseRow { seq, workflow, body: row.get(2)?, blob: row.get(3)? })
            };
            each(read().map_err(failed)?)?;
        }
        Ok(())
    }

    fn read_body(&self, row: &EraseRow) -> Result<Vec<u8>, LedgerError> {
        match (&row.body, &row.blob) {
            (Some(body), _) => Ok(body.clone().into_bytes()),
            (None, Some(hash)) => Ok(self.read_blob(hash)?.unwrap_or_default()),
            (None, None) => Ok(Vec::new()),
        }
    }

    /// The bytes of a blob; None if there is no blob with this hash.
    fn read_blob(&self, hash: &str) -> Result<Option<Vec<u8>>, LedgerError> {
        let file = &self.ledger.file;
        let found: Option<(bool, Vec<u8>)> = self
            .tx
            .prepare_cached("SELECT packed, bytes FROM blobs WHERE hash = ?1")
            .and_then(|mut query| {
                query.query_row([hash], |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .map_err(|source| LedgerError::from_sql(file, source))?;
        let unpack = |(packed, bytes)| {
            blobs::unpack_blob(file, &Fingerprint(hash.to_owned()), packed, bytes)
        };
        found.map(unpack).transpose()
    }

    /// All blobs that can be reached from these, because a blob may name others.
    fn reachable_blobs(&self, names: BTreeSet<String>) -> Result<BTreeSet<String>, LedgerError> {
        let (mut reached, mut open) = (BTreeSet::new(), names);
        while let Some(name) = open.pop_first() {
            if reached.contains(&name) {
                continue;
            }
            if let Some(bytes) = self.read_blob(&name)? {
                open.extend(find_hashes(&bytes).filter(|it| !reached.contains(it)));
                reached.insert(name);
            }
        }
        Ok(reached)
    }

    fn write_erased<'n>(
        &self,
        erased: &[(i64, String)],
        blobs: impl Iterator<Item = &'n String>,
        marks: &[(i64, String)],
    ) -> rusqlite::Result<(usize, usize)> {
        schema::suspend_rules(self.tx)?;
        let mut replace =
            self.tx.prepare("UPDATE entries SET body = ?2, blob = NULL WHERE seq = ?1")?;
        for (seq, body) in erased {
            replace.execute((seq, body))?;
        }
        let mut delete = self.tx.prepare("DELETE FROM blobs WHERE hash = ?1")?;
        let mut deleted = 0;
        for blob in blobs {
            deleted += delete.execute([blob])?;
        }
        let mut append = self.tx.prepare(APPEND)?;
        let (at, kind) = (unix_millis() as i64, "erased");
        let ChainHead { seq: last, mut link } = ChainHead::read(self.tx)?;
        for (seq, (workflow, mark)) in (to_sql(last) + 1..).zip(marks) {
            let digest = ChainHash::of_body(mark.as_bytes());
            link = link.next(&LinkedRow { seq, at, workflow: *workflow, kind }, &digest);
            let blob: Option<&str> = None;
            let hashes = (digest.as_bytes(), link.as_bytes());
            append.execute((seq, at, workflow, kind, mark, blob, hashes.0, hashes.1))?;
        }
        schema::restore_rules(self.tx)?;
        Ok((erased.len(), deleted))
    }
}

/// The hashes that occur in a text.
fn find_hashes(bytes: &[u8]) -> impl Iterator<Item = String> + '_ {
    let runs = bytes.split(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let runs = runs.filter(|run| run.len() == HASH_LEN);
    runs.map(|run| String::from_utf8_lossy(run).into_owned())
}
