//! The history: what has happened, as a person looks through it; a reading of the ledger that several
//! threads share.
//!
//! A page reads no more of the ledger than it shows, or than a filter has to look at; what was read once
//! is kept, as far as there is room. It decides nothing, and what is open is not known here.

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

/// How many entries a page reads before it says where it goes on.
const MAX_ENTRIES_READ: usize = 5_000;

/// How many entries are exported at once.
const EXPORT_BATCH: usize = 50;

#[derive(Debug, Default)]
pub struct HistoryIndex(Mutex<HistoryCache>);

impl HistoryIndex {
    /// Forgets what was read: some of it was erased since.
    pub fn clear(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = HistoryCache::default();
    }

    /// A page of it.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn read_page(
        &self,
        ledger: &Ledger,
        wanted: &HistoryQuery,
    ) -> Result<History, LedgerError> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.refresh(ledger)?;
        let mut at = wanted.before.unwrap_or(known.end_position()).min(known.end_position());
        known.read_back_to(ledger, at)?;
        let mut looking = FilteredReader {
            cache: &mut known,
            ledger,
            query: FilterQuery::from_filter(&wanted.filter),
        };
        let (mut entries, mut read) = (Vec::new(), 0);
        'page: while at > Seq(1) && entries.len() < wanted.limit && read < MAX_ENTRIES_READ {
            let (rows, were_read) = looking.cache.rows_before(ledger, at)?;
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
                entries.extend(looking.matching_line(&row)?);
                if entries.len() == wanted.limit {
                    break 'page;
                }
            }
        }
        let older = (at > Seq(1)).then_some(at);
        Ok(History { entries, older, places: known.recent_places(), tools: known.tool_names() })
    }

    /// An entry, whole; none where there is none.
    ///
    /// # Errors
    /// The ledger cannot be read.
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
    /// All entries that fit, oldest first, as JSON lines, some at a time, until nobody takes them any
    /// more. What happens meanwhile is not among them.
    ///
    /// # Errors
    /// The ledger cannot be read.
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
                    // What was read as JSON can be written as such.
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

    /// Those of some records that fit.
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
        // What became of things may stand anywhere behind them.
        known.read_back_to(ledger, records.first().map_or(Seq(1), |first| first.seq))?;
        let mut looking =
            FilteredReader { cache: &mut known, ledger, query: FilterQuery::from_filter(filter) };
        let mut fitting = Vec::new();
        for record in records {
            if looking.matching_line(&HistoryRow::from_record(&record))?.is_some() {
                fitting.push(record);
            }
        }
        Ok(fitting)
    }
}

impl HistoryIndex {
    /// What a script said right after a position, or says now; none where nothing is known of it. `now`
    /// is what it says in its place, where that is open.
    ///
    /// # Errors
    /// The ledger cannot be read.
    pub fn script_at(
        &self,
        ledger: &Ledger,
        meant: &PlaceSelector,
        path: InstancePath,
        seq: Option<Seq>,
        now: Vec<String>,
    ) -> Result<Option<ScriptAtTime>, LedgerError> {
        let (changes, reads) = {
            let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            known.refresh(ledger)?;
            known.script_changes(ledger, meant, &path.to_string())?
        };
        let script = ScriptTimeline::read_changes(ledger, &path, changes, now, &reads)?;
        Ok(script.has_history().then(|| script.text_at(path, seq)))
    }
}

/// What stands in the way of taking a proposal back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevertBlock {
    /// Another one has taken it back.
    Reverted(Seq),
    /// Another one that would waits for a decision.
    Pending(Seq),
}

impl HistoryIndex {
    /// Whether a proposal that was applied is taken back already, or about to be.
    ///
    /// # Errors
    /// The ledger cannot be read.
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

/// A filter, ready to be looked through by.
struct FilterQuery<'f> {
    filter: &'f EntryFilter,
    path: Option<Regex>,
    text: Option<Regex>,
}

impl<'f> FilterQuery<'f> {
    fn from_filter(filter: &'f EntryFilter) -> Self {
        // Whatever the case; a text that is escaped is always one to look for.
        let finder = |text: &String| {
            RegexBuilder::new(&regex::escape(text)).case_insensitive(true).build().ok()
        };
        let path = filter.path.as_ref().and_then(finder);
        Self { filter, path, text: filter.text.as_ref().and_then(finder) }
    }

    /// Whether nothing more than the line itself decides.
    fn can_match(&self, row: &HistoryRow) -> bool {
        self.filter.day.is_none_or(|wanted| day_number(row.at) == wanted)
            && self.filter.kind.as_ref().is_none_or(|kind| kind == row.kind)
            && (!self.filter.is_brief || BRIEF_KINDS.contains(&row.kind))
    }
}

/// What a person looks for first: what was asked and answered or failed, and each change once. What became of a change
/// stands in its line.
const BRIEF_KINDS: [&str; 7] =
    ["started", "asked", "questioned", "said", "proposed", "unanswered", "finished"];

struct FilteredReader<'a> {
    cache: &'a mut HistoryCache,
    ledger: &'a Ledger,
    query: FilterQuery<'a>,
}

impl FilteredReader<'_> {
    /// The line of an entry, where it fits.
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
        // Most lines say nothing of what is looked for, and are not made.
        let line = self.cache.build_line(self.ledger, row)?;
        let says = match &self.query.text {
            Some(text) => {
                text.is_match(&row.text)
                    || text.is_match(&line.entry.title)
                    || (row.is_truncated && self.has_full_text_match(row, text)?)
            }
            None => true,
        };
        let touches = match &self.query.path {
            Some(path) if says => {
                let is_more =
                    line.entry.more_paths as usize + line.entry.paths.len() > line.paths.len();
                line.paths.iter().any(|it| path.is_match(it))
                    || (is_more && self.has_full_path_match(line.entry.proposal, path)?)
            }
            Some(_) => false,
            None => true,
        };
        Ok((says && touches).then_some(line.entry))
    }

    /// Whether what was not kept of a text has it.
    fn has_full_text_match(&self, row: &HistoryRow, text: &Regex) -> Result<bool, LedgerError> {
        let record = self.ledger.record_at(row.seq)?;
        Ok(record.is_some_and(|record| text.is_match(&row::searchable_text(&record.entry))))
    }

    /// Whether the paths that were not kept of a proposal have it.
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
