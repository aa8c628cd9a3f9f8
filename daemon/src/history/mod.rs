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
use scene_schemas::api::{History, HistoryRecord, ScriptAtTime};
use scene_schemas::entry::{Entry, Record, Seq};

pub use self::cache::PlaceSelector;
pub use self::query::{EntryFilter, HistoryQuery, LineStream, ScriptQuery};
pub use self::usage_meter::UsageMeter;

use vector_engine::budget::day_number;
use vector_ledger::{Ledger, LedgerError};

use self::cache::{HistoryCache, touched_paths};
use self::row::HistoryRow;
use self::script_timeline::ScriptTimeline;

/// Entries a page reads before it returns the position to continue from.
const MAX_ENTRIES_READ: usize = 5_000;

/// Entries exported per batch.
const EXPORT_BATCH: usize = 50;

#[derive(Debug, Default)]
pub struct HistoryIndex(Mutex<HistoryCache>);

impl HistoryIndex {
    /// Clears the cache, after entries of the ledger were erased.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = HistoryCache::default();
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
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.refresh(ledger)?;
        let mut at = wanted.before.unwrap_or(known.end_position()).min(known.end_position());
        known.read_back_to(ledger, at)?;
        let mut reader = FilteredReader {
            cache: &mut known,
            ledger,
            query: FilterQuery::from_filter(&wanted.filter),
        };
        let (mut entries, mut read) = (Vec::new(), 0);
        'page: while at > Seq(1) && entries.len() < wanted.limit && read < MAX_ENTRIES_READ {
            let (rows, were_read) = reader.cache.rows_before(ledger, at)?;
            read += if were_read { rows.len() } else { 0 };
            if rows.is_empty() {
                at = Seq(1);
            }
            for row in rows {
                if wanted.filter.day.is_some_and(|wanted| day_number(row.at) < wanted) {
                    at = Seq(1);
                    break 'page;
                }
                at = row.seq;
                entries.extend(reader.matching_line(&row)?);
                if entries.len() == wanted.limit {
                    break 'page;
                }
            }
        }
        let older = (at > Seq(1)).then_some(at);
        Ok(History { entries, older, places: known.recent_places(), tools: known.tool_names() })
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
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.refresh(ledger)?;
        known.read_back_to(ledger, seq)?;
        let line = known.build_line(ledger, &HistoryRow::from_record(&record))?.entry;
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
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.refresh(ledger)?;
        // The outcome of a record can be anywhere after it.
        known.read_back_to(ledger, records.first().map_or(Seq(1), |first| first.seq))?;
        let mut reader =
            FilteredReader { cache: &mut known, ledger, query: FilterQuery::from_filter(filter) };
        let mut fitting = Vec::new();
        for record in records {
            if reader.matching_line(&HistoryRow::from_record(&record))?.is_some() {
                fitting.push(record);
            }
        }
        Ok(fitting)
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
        let (changes, reads) = {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.refresh(ledger)?;
            known.script_changes(ledger, selector, &path.to_string())?
        };
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
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.refresh(ledger)?;
        known.read_back_to(ledger, proposal)?;
        let taken = known.facts.find_revert(proposal).map(RevertBlock::Reverted);
        Ok(taken.or_else(|| known.facts.find_pending_revert(proposal).map(RevertBlock::Pending)))
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
    ["started", "asked", "questioned", "said", "proposed", "unanswered", "finished"];

struct FilteredReader<'a> {
    cache: &'a mut HistoryCache,
    ledger: &'a Ledger,
    query: FilterQuery<'a>,
}

impl FilteredReader<'_> {
    /// The line of an entry if it matches the filter.
    fn matching_line(
        &mut self,
        row: &HistoryRow,
    ) -> Result<Option<scene_schemas::api::HistoryEntry>, LedgerError> {
        let filter = self.query.filter;
        if !self.query.can_match(row)
            || filter.outcome.is_some_and(|it| self.cache.find_outcome(row).0 != Some(it))
        {
            return Ok(None);
        }
        if let Some(place) = &filter.place {
            let found = self.cache.workflow_place(self.ledger, row.workflow)?;
            if found.name != *place && found.session.as_ref().is_none_or(|it| it.0 != *place) {
                return Ok(None);
            }
        }
        if filter.tool.is_some() && self.cache.find_tool(self.ledger, row)? != filter.tool {
            return Ok(None);
        }
        if self.query.text.is_none() && self.query.path.is_none() {
            return self.cache.build_line(self.ledger, row).map(|line| Some(line.entry));
        }
        // Most rows fail the checks above, so their lines are never built.
        let line = self.cache.build_line(self.ledger, row)?;
        let matches_text = match &self.query.text {
            Some(text) => {
                text.is_match(&row.text)
                    || text.is_match(&line.entry.title)
                    || (row.is_truncated && self.has_full_text_match(row, text)?)
            }
            None => true,
        };
        let matches_path = match &self.query.path {
            Some(path) if matches_text => {
                let is_more =
                    line.entry.more_paths as usize + line.entry.paths.len() > line.paths.len();
                line.paths.iter().any(|it| path.is_match(it))
                    || (is_more && self.has_full_path_match(line.entry.proposal, path)?)
            }
            Some(_) => false,
            None => true,
        };
        Ok((matches_text && matches_path).then_some(line.entry))
    }

    /// Whether the part of a text that is not cached matches.
    fn has_full_text_match(&self, row: &HistoryRow, text: &Regex) -> Result<bool, LedgerError> {
        let record = self.ledger.record_at(row.seq)?;
        Ok(record.is_some_and(|record| text.is_match(&row::searchable_text(&record.entry))))
    }

    /// Whether the paths of a proposal that are not cached match.
    fn has_full_path_match(
        &self,
        proposal: Option<Seq>,
        path: &Regex,
    ) -> Result<bool, LedgerError> {
        let record = proposal.map(|seq| self.ledger.record_at(seq)).transpose()?.flatten();
        Ok(match record.map(|record| record.entry) {
            Some(Entry::Proposed { proposal, .. }) => {
                touched_paths(&proposal).iter().any(|it| path.is_match(it))
            }
            _ => false,
        })
    }
}
