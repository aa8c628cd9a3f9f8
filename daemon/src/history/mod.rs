//! The browsable history: a view of the ledger that several threads share.
//!
//! A page reads only the entries that it shows or that a filter has to examine. What was read once
//! is cached while there is room. This module decides nothing, and does not know which sessions are
//! open.

mod cache;
mod facts;
mod query;
mod row;
mod script_timeline;
mod usage_meter;

use std::sync::{Mutex, PoisonError};

use regex::{Regex, RegexBuilder};
use scene_schemas::InstancePath;
use scene_schemas::api::{History, HistoryEntry, HistoryRecord, ScriptAtTime};
use scene_schemas::entry::{Entry, Record, Seq};

pub use self::cache::PlaceSelector;
pub use self::query::{EntryFilter, HistoryQuery, LineStream, ScriptQuery};
pub use self::usage_meter::UsageMeter;

use vector_engine::budget::day_number;
use vector_ledger::{Ledger, LedgerError};

use self::cache::{EntrySubject, HistoryCache};
use self::row::{HistoryRow, searchable_text, touched_paths};
use self::script_timeline::ScriptTimeline;

/// Entries a page reads before it returns the position to continue from.
const MAX_ENTRIES_READ: usize = 5_000;

/// After every position.
const NEWEST: Seq = Seq(u64::MAX);

/// Entries exported per batch.
const EXPORT_BATCH: usize = 50;

#[derive(Debug, Default)]
pub struct HistoryIndex(Mutex<Option<HistoryCache>>);

impl HistoryIndex {
    /// Clears the cache, after entries of the ledger were erased.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Runs `work` with all new entries read, and the outcomes of all entries from `from` on known.
    fn with_cache<T>(
        &self,
        ledger: &Ledger,
        from: Seq,
        work: impl FnOnce(&mut HistoryCache) -> Result<T, LedgerError>,
    ) -> Result<T, LedgerError> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cache = match &mut *slot {
            Some(cache) => cache,
            None => slot.insert(HistoryCache::new(ledger)?),
        };
        cache.refresh(ledger)?;
        cache.read_back_to(ledger, from)?;
        work(cache)
    }

    /// Reads a page of the history.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub fn read_page(
        &self,
        ledger: &Ledger,
        wanted: &HistoryQuery,
    ) -> Result<History, LedgerError> {
        let from = wanted.before.unwrap_or(NEWEST);
        self.with_cache(ledger, from, |cache| {
            let query = FilterQuery::from_filter(&wanted.filter);
            FilteredReader { cache, ledger, query }.read_page(from, wanted.limit)
        })
    }

    /// Reads a whole entry. None if it does not exist.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub fn read_entry(
        &self,
        ledger: &Ledger,
        seq: Seq,
    ) -> Result<Option<HistoryRecord>, LedgerError> {
        let Some(record) = ledger.record_at(seq)? else {
            return Ok(None);
        };
        let line = self.with_cache(ledger, seq, |cache| {
            let row = HistoryRow::from_record(&record);
            let subject = cache.find_subject(ledger, &row)?;
            cache.build_line(ledger, &row, &subject)
        })?;
        let (previous, next) = ledger.neighbours(record.workflow, seq)?;
        Ok(Some(HistoryRecord { line, record: Box::new(record), previous, next }))
    }
}

impl HistoryIndex {
    /// Exports all entries that match the filter, oldest first, as JSON lines in batches, until
    /// `take` returns false. Entries added during the export are not included.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub fn export_entries(
        &self,
        ledger: &Ledger,
        filter: &EntryFilter,
        mut take: impl FnMut(Vec<u8>) -> bool,
    ) -> Result<(), LedgerError> {
        let (head, mut after) = (ledger.last_seq()?, Seq(0));
        while after < head {
            let records = ledger.read(after, EXPORT_BATCH)?;
            let Some(last) = records.last() else {
                return Ok(());
            };
            after = last.seq;
            let mut lines = Vec::new();
            for record in self.filter_records(ledger, filter, records)? {
                if record.seq <= head {
                    // The record was read from JSON, so it can be serialized as JSON.
                    let _ = serde_json::to_writer(&mut lines, &record);
                    lines.push(b'\n');
                }
            }
            if !lines.is_empty() && !take(lines) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The records that match the filter.
    fn filter_records(
        &self,
        ledger: &Ledger,
        filter: &EntryFilter,
        records: Vec<Record>,
    ) -> Result<Vec<Record>, LedgerError> {
        if *filter == EntryFilter::default() {
            return Ok(records);
        }
        // The outcome of a record can be anywhere after it.
        let from = records.first().map_or(NEWEST, |first| first.seq);
        self.with_cache(ledger, from, |cache| {
            let mut reader =
                FilteredReader { cache, ledger, query: FilterQuery::from_filter(filter) };
            let mut fitting = Vec::new();
            for record in records {
                if reader.matching_line(&HistoryRow::from_record(&record))?.is_some() {
                    fitting.push(record);
                }
            }
            Ok(fitting)
        })
    }
}

impl HistoryIndex {
    /// The text of a script right after a position, or now. None if nothing is known of the script.
    /// `now` holds its current texts if its place is open.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub fn script_at(
        &self,
        ledger: &Ledger,
        selector: &PlaceSelector,
        path: InstancePath,
        seq: Option<Seq>,
        now: Vec<String>,
    ) -> Result<Option<ScriptAtTime>, LedgerError> {
        let (changes, reads) = self.with_cache(ledger, NEWEST, |cache| {
            cache.script_changes(ledger, selector, &path.to_string())
        })?;
        let script = ScriptTimeline::read_changes(ledger, &path, changes, now, &reads)?;
        Ok(script.has_history().then(|| script.text_at(path, seq)))
    }
}

/// The reason a proposal cannot be reverted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevertBlock {
    /// Another proposal has reverted it.
    Reverted(Seq),
    /// Another proposal that would revert it is waiting for a decision.
    Pending(Seq),
}

impl HistoryIndex {
    /// Whether an applied proposal is already reverted, or has a revert pending.
    ///
    /// # Errors
    /// Fails if the ledger cannot be read.
    pub fn find_revert_block(
        &self,
        ledger: &Ledger,
        proposal: Seq,
    ) -> Result<Option<RevertBlock>, LedgerError> {
        self.with_cache(ledger, proposal, |cache| {
            let taken = cache.facts.find_revert(proposal).map(RevertBlock::Reverted);
            let pending = || cache.facts.find_pending_revert(proposal).map(RevertBlock::Pending);
            Ok(taken.or_else(pending))
        })
    }
}

/// A filter with its patterns compiled.
struct FilterQuery<'f> {
    filter: &'f EntryFilter,
    path: Option<Regex>,
    text: Option<Regex>,
}

impl<'f> FilterQuery<'f> {
    fn from_filter(filter: &'f EntryFilter) -> Self {
        // Ignores case. An escaped text is always a valid pattern.
        let finder = |text: &String| {
            RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build().ok()
        };
        let path = filter.path.as_ref().and_then(finder);
        Self { filter, path, text: filter.text.as_ref().and_then(finder) }
    }

    /// Whether the row's own fields (day and kind) match the filter.
    fn can_match(&self, row: &HistoryRow) -> bool {
        self.filter.day.is_none_or(|wanted| day_number(row.at) == wanted)
            && self.filter.kind.as_ref().is_none_or(|kind| kind == row.kind)
            && (!self.filter.is_brief || BRIEF_KINDS.contains(&row.kind))
    }
}

/// The kinds of entries a user looks for first: requests and their answers or failures, and each
/// change once. The outcome of a change is shown in its line.
const BRIEF_KINDS: [&str; 7] =
    ["started", "asked", "questioned", "said", "proposed", "request_failed", "finished"];

struct FilteredReader<'a> {
    cache: &'a mut HistoryCache,
    ledger: &'a Ledger,
    query: FilterQuery<'a>,
}

impl FilteredReader<'_> {
    /// Reads a page of the entries before a position.
    fn read_page(&mut self, before: Seq, limit: usize) -> Result<History, LedgerError> {
        let mut at = before.min(self.cache.end_position());
        let (mut entries, start) = (Vec::new(), self.cache.read_count);
        'page: while at > Seq(1)
            && entries.len() < limit
            && self.cache.read_count - start < MAX_ENTRIES_READ
        {
            let rows = self.cache.rows_before(self.ledger, at)?;
            if rows.is_empty() {
                at = Seq(1);
            }
            for row in rows {
                if self.query.filter.day.is_some_and(|wanted| day_number(row.at) < wanted) {
                    at = Seq(1);
                    break 'page;
                }
                at = row.seq;
                entries.extend(self.matching_line(&row)?);
                if entries.len() == limit {
                    break 'page;
                }
            }
        }
        let older = (at > Seq(1)).then_some(at);
        let (places, tools) = (self.cache.recent_places(), self.cache.tool_names());
        Ok(History { entries, older, places, tools })
    }

    /// The line of an entry if it matches the filter.
    fn matching_line(&mut self, row: &HistoryRow) -> Result<Option<HistoryEntry>, LedgerError> {
        let filter = self.query.filter;
        if !self.query.can_match(row)
            || filter.outcome.is_some_and(|it| self.cache.find_outcome(row).0 != Some(it))
        {
            return Ok(None);
        }
        if let Some(place) = &filter.place {
            let started = self.cache.row_at(self.ledger, row.workflow)?;
            let workflow = started.as_ref().and_then(|it| it.workflow_detail());
            if !workflow.is_some_and(|it| it.is_named(place)) {
                return Ok(None);
            }
        }
        let subject = self.cache.find_subject(self.ledger, row)?;
        let is_match = (filter.tool.is_none() || subject.tool() == filter.tool.as_deref())
            && self.has_text_match(row, &subject)?
            && self.has_path_match(&subject)?;
        if !is_match {
            return Ok(None);
        }
        self.cache.build_line(self.ledger, row, &subject).map(Some)
    }

    /// Whether the text or the title matches. The part of a text that is not cached is read again.
    fn has_text_match(
        &self,
        row: &HistoryRow,
        subject: &EntrySubject,
    ) -> Result<bool, LedgerError> {
        let Some(text) = &self.query.text else {
            return Ok(true);
        };
        if text.is_match(&row.text) || text.is_match(&subject.title_of(row)) {
            return Ok(true);
        }
        let record = if row.is_truncated { self.ledger.record_at(row.seq)? } else { None };
        Ok(record.is_some_and(|record| text.is_match(&searchable_text(&record.entry))))
    }

    /// Whether a path matches. The paths of a proposal that are not cached are read again.
    fn has_path_match(&self, subject: &EntrySubject) -> Result<bool, LedgerError> {
        let Some(path) = &self.query.path else {
            return Ok(true);
        };
        let has_match = |paths: &[String]| paths.iter().any(|it| path.is_match(it));
        if has_match(subject.paths()) {
            return Ok(true);
        }
        let proposal = subject.proposal.filter(|_| subject.more_paths() > 0);
        let record = proposal.map(|seq| self.ledger.record_at(seq)).transpose()?.flatten();
        Ok(record.is_some_and(|record| match &record.entry {
            Entry::Proposed { proposal, .. } => has_match(&touched_paths(proposal)),
            _ => false,
        }))
    }
}
