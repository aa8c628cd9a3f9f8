//! The hash chain over the entries: each entry has the hash of its body, and a link, which is the hash of
//! the previous link, of where and when the entry is, and of that body.
//!
//! A link stands for everything before it. One that was noted elsewhere tells later whether anything up to
//! it was changed, removed or put in between. What was appended after the last noted link can be cut off
//! unnoticed.
//!
//! Erasing keeps the hashes of the bodies that it replaces, so that the links remain right. The mark that
//! it leaves has the hash of what remains. Someone who can write the file can leave such a mark too, and so
//! pass a changed entry off as erased; the number of erased entries is reported for that. This module must not know entries: a body is bytes here.

use std::collections::BTreeMap;
use std::fmt;

use rusqlite::{Connection, Transaction};
use scene_schemas::Fingerprint;
use scene_schemas::entry::Seq;
use sha2::{Digest as _, Sha256};

use super::{Ledger, LedgerError, blobs};

/// Maximum number of reported faults.
const MAX_FAULTS: usize = 20;

/// A SHA-256 hash of a body or a link.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ChainHash([u8; 32]);

impl ChainHash {
    /// What the first entry links to.
    pub(super) const START: Self = Self([0; 32]);

    /// Returns the hash of a body.
    pub(super) fn of_body(body: &[u8]) -> Self {
        Self(Sha256::digest(body).into())
    }

    /// Returns the hash that a column has.
    pub(super) fn from_column(bytes: Option<Vec<u8>>) -> Option<Self> {
        bytes?.try_into().ok().map(Self)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the link of the entry after this link.
    #[must_use]
    pub(super) fn next(&self, row: &LinkedRow<'_>, body: &Self) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(self.0);
        for number in [row.seq, row.at, row.workflow] {
            hasher.update(number.to_be_bytes());
        }
        hasher.update((row.kind.len() as u64).to_be_bytes());
        hasher.update(row.kind);
        hasher.update(body.0);
        Self(hasher.finalize().into())
    }
}

impl fmt::Display for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for ChainHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not a hash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a hash has 64 digits from 0 to 9 and a to f")]
pub struct ChainHashError;

impl std::str::FromStr for ChainHash {
    type Err = ChainHashError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digit = |byte: u8| match byte {
            b'0'..=b'9' => Ok(byte - b'0'),
            b'a'..=b'f' => Ok(byte - b'a' + 10),
            _ => Err(ChainHashError),
        };
        if text.len() != 64 {
            return Err(ChainHashError);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Ok(Self(bytes))
    }
}

/// What a link has of its entry, besides the body.
#[derive(Debug, Clone, Copy)]
pub(super) struct LinkedRow<'a> {
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) workflow: i64,
    pub(super) kind: &'a str,
}

/// The end of the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChainHead {
    /// The position of the last entry; 0 if there is none.
    pub seq: Seq,
    pub link: ChainHash,
}

impl ChainHead {
    /// Reads the end of the chain, after which the next entry is written.
    pub(super) fn read(conn: &Connection) -> rusqlite::Result<Self> {
        let last = "SELECT seq, link FROM entries ORDER BY seq DESC LIMIT 1";
        let mut last = conn.prepare_cached(last)?;
        let mut rows = last.query([])?;
        let Some(row) = rows.next()? else {
            return Ok(Self { seq: Seq(0), link: ChainHash::START });
        };
        let (seq, link): (i64, _) = (row.get(0)?, ChainHash::from_column(row.get(1)?));
        // Verification finds a link that is missing.
        Ok(Self { seq: Seq(seq.unsigned_abs()), link: link.unwrap_or(ChainHash::START) })
    }
}

/// Something that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainFault {
    /// The position of the entry.
    pub seq: Seq,
    /// What is wrong, as the end of a sentence about the entry.
    pub problem: String,
}

/// What a verification has found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChainReport {
    /// Number of entries that were checked.
    pub entries: u64,
    /// Number of entries whose texts were erased.
    pub erased: u64,
    pub head: ChainHead,
    /// The first faults, in order. Empty if the chain is whole.
    pub faults: Vec<ChainFault>,
    /// The blobs whose bytes are not those of their hash.
    pub damaged_blobs: Vec<Fingerprint>,
}

impl ChainReport {
    /// Whether everything is as it was written.
    pub fn is_whole(&self) -> bool {
        self.faults.is_empty() && self.damaged_blobs.is_empty()
    }
}

/// Computes what remains of a workflow that is erased: the hash over its entries and their bodies.
#[derive(Debug, Clone, Default)]
pub(super) struct RemainsHasher(Sha256);

impl RemainsHasher {
    pub(super) fn add(&mut self, seq: i64, body: &ChainHash) {
        self.0.update(seq.to_be_bytes());
        self.0.update(body.0);
    }

    pub(super) fn finish(self) -> Fingerprint {
        Fingerprint(ChainHash(self.0.finalize().into()).to_string())
    }
}

/// An entry as it is stored.
struct ChainRow {
    seq: i64,
    at: i64,
    workflow: i64,
    kind: String,
    body: Option<String>,
    blob: Option<(String, Option<bool>, Option<Vec<u8>>)>,
    digest: Option<ChainHash>,
    link: Option<ChainHash>,
}

const ROWS: &str = "SELECT e.seq, e.at, e.workflow, e.kind, e.body, e.blob, b.packed, b.bytes, e.digest, \
                    e.link FROM entries e LEFT JOIN blobs b ON b.hash = e.blob ORDER BY e.seq";

impl ChainRow {
    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let blob: Option<String> = row.get(5)?;
        Ok(Self {
            seq: row.get(0)?,
            at: row.get(1)?,
            workflow: row.get(2)?,
            kind: row.get(3)?,
            body: row.get(4)?,
            blob: match blob {
                Some(hash) => Some((hash, row.get(6)?, row.get(7)?)),
                None => None,
            },
            digest: ChainHash::from_column(row.get(8)?),
            link: ChainHash::from_column(row.get(9)?),
        })
    }

    fn linked(&self) -> LinkedRow<'_> {
        LinkedRow { seq: self.seq, at: self.at, workflow: self.workflow, kind: &self.kind }
    }
}

impl Ledger {
    /// Checks that the entries are those that were appended, in their order, up to the last one. With a
    /// head that was noted earlier, also that it is part of the chain.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn verify_chain(&self, noted: Option<ChainHead>) -> Result<ChainReport, LedgerError> {
        let failed = |source| LedgerError::from_sql(&self.file, source);
        let reader = self.lock_reader();
        let mut check = ChainCheck::new(noted);
        let mut query = reader.prepare(ROWS).map_err(failed)?;
        let mut rows = query.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let row = ChainRow::read(row).map_err(failed)?;
            let body = self.chain_body(&row);
            check.add(&row, body.as_deref());
        }
        drop(rows);
        let damaged_blobs = self.find_damaged_blobs(&reader).map_err(failed)?;
        Ok(ChainReport { damaged_blobs, ..check.finish() })
    }

    fn find_damaged_blobs(&self, reader: &Connection) -> rusqlite::Result<Vec<Fingerprint>> {
        let mut query = reader.prepare("SELECT hash, packed, bytes FROM blobs ORDER BY hash")?;
        let mut rows = query.query([])?;
        let mut damaged = Vec::new();
        while let Some(row) = rows.next()? {
            let hash = Fingerprint(row.get(0)?);
            if blobs::unpack_blob(&self.file, &hash, row.get(1)?, row.get(2)?).is_err() {
                damaged.push(hash);
            }
        }
        Ok(damaged)
    }

    /// Returns the body of an entry; None if there is none, or another one than its hash says.
    fn chain_body(&self, row: &ChainRow) -> Option<Vec<u8>> {
        match (&row.body, &row.blob) {
            (Some(body), _) => Some(body.clone().into_bytes()),
            (None, Some((hash, Some(packed), Some(bytes)))) => {
                let hash = Fingerprint(hash.clone());
                blobs::unpack_blob(&self.file, &hash, *packed, bytes.clone()).ok()
            }
            (None, _) => None,
        }
    }
}

/// The mark of an erased workflow.
#[derive(Debug, Clone, Copy)]
struct ErasureMark {
    seq: Seq,
    /// Number of entries before it whose bodies are not those that were written.
    changed: usize,
    /// Whether what remains is what the erasure left.
    is_right: bool,
}

/// A verification that goes through the entries in order.
struct ChainCheck {
    noted: Option<ChainHead>,
    previous: ChainHash,
    report: ChainReport,
    /// The entries of each workflow whose bodies are not those that were written: erased ones, if a later
    /// mark says so.
    changed: BTreeMap<i64, Vec<Seq>>,
    /// The last mark of each erased workflow.
    marks: BTreeMap<i64, ErasureMark>,
    /// What each workflow has so far.
    remains: BTreeMap<i64, RemainsHasher>,
}

impl ChainCheck {
    fn new(noted: Option<ChainHead>) -> Self {
        let head = ChainHead { seq: Seq(0), link: ChainHash::START };
        let report = ChainReport {
            entries: 0,
            erased: 0,
            head,
            faults: Vec::new(),
            damaged_blobs: Vec::new(),
        };
        Self {
            noted,
            previous: ChainHash::START,
            report,
            changed: BTreeMap::new(),
            marks: BTreeMap::new(),
            remains: BTreeMap::new(),
        }
    }

    fn add(&mut self, row: &ChainRow, body: Option<&[u8]>) {
        let seq = Seq(row.seq.unsigned_abs());
        if seq.0 != self.report.head.seq.0 + 1 {
            self.fault(seq, format!("follows entry {}", self.report.head.seq));
        }
        let link = row.digest.map(|digest| self.previous.next(&row.linked(), &digest));
        if link.is_none() || link != row.link {
            self.fault(seq, "is not the one that was linked here".to_owned());
        }
        // Go on from what is stored, so that one changed entry is one fault.
        self.previous = row.link.unwrap_or(ChainHash::START);
        match body.map(ChainHash::of_body) {
            Some(actual) => {
                if Some(actual) != row.digest {
                    self.changed.entry(row.workflow).or_default().push(seq);
                }
                if row.kind == "erased" {
                    self.add_mark(row, body.unwrap_or_default());
                }
                self.remains.entry(row.workflow).or_default().add(row.seq, &actual);
            }
            None => self.fault(seq, "has no body, or a damaged one".to_owned()),
        }
        self.report.entries += 1;
        self.report.head = ChainHead { seq, link: self.previous };
        if let Some(noted) = self.noted.filter(|it| it.seq == seq)
            && noted.link != self.previous
        {
            self.fault(seq, format!("has the link {}, and not the noted one", self.previous));
        }
    }

    /// Notes the mark of an erased workflow. A later one accounts for the entries before an earlier one too.
    fn add_mark(&mut self, row: &ChainRow, body: &[u8]) {
        let remains = self.remains.get(&row.workflow).cloned().unwrap_or_default().finish();
        let mark = ErasureMark {
            seq: Seq(row.seq.unsigned_abs()),
            changed: self.changed.get(&row.workflow).map_or(0, Vec::len),
            is_right: marked_remains(body) == Some(remains),
        };
        self.marks.insert(row.workflow, mark);
    }

    fn fault(&mut self, seq: Seq, problem: String) {
        self.report.faults.push(ChainFault { seq, problem });
    }

    fn finish(mut self) -> ChainReport {
        for (workflow, changed) in std::mem::take(&mut self.changed) {
            let mark = self.marks.get(&workflow).copied();
            let (erased, others) = changed.split_at(mark.map_or(0, |it| it.changed));
            self.report.erased += erased.len() as u64;
            if let Some(mark) = mark.filter(|it| !it.is_right && !erased.is_empty()) {
                let problem = "marks an erasure, and what remains is not what it left".to_owned();
                self.fault(mark.seq, problem);
            }
            for seq in others {
                self.fault(*seq, "has another body than the one that was written".to_owned());
            }
        }
        if let Some(noted) = self.noted.filter(|it| it.seq > self.report.head.seq) {
            let last = self.report.head.seq;
            self.fault(noted.seq, format!("is missing: the last entry is {last}"));
        }
        self.report.faults.sort_by_key(|it| it.seq);
        self.report.faults.truncate(MAX_FAULTS);
        self.report
    }
}

/// Returns what the mark of an erasure says that remains.
fn marked_remains(body: &[u8]) -> Option<Fingerprint> {
    let mark: serde_json::Value = serde_json::from_slice(body).ok()?;
    mark["remains"].as_str().map(|it| Fingerprint(it.to_owned()))
}

/// Links the entries of a ledger that has no chain yet.
pub(super) fn link_entries(tx: &Transaction) -> rusqlite::Result<()> {
    let mut query = tx.prepare(ROWS)?;
    let mut rows = query.query([])?;
    let mut update = tx.prepare("UPDATE entries SET digest = ?2, link = ?3 WHERE seq = ?1")?;
    let mut previous = ChainHash::START;
    while let Some(row) = rows.next()? {
        let row = ChainRow::read(row)?;
        let of_blob = || row.blob.as_ref().and_then(|(hash, ..)| hash.parse().ok());
        let of_text = row.body.as_ref().map(|body| ChainHash::of_body(body.as_bytes()));
        let digest = of_text.or_else(of_blob).unwrap_or(ChainHash::START);
        previous = previous.next(&row.linked(), &digest);
        update.execute((row.seq, digest.as_bytes(), previous.as_bytes()))?;
    }
    Ok(())
}
