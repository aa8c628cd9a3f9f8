//! In-memory cache of recent ledger entries, so that filters do not read them again, together with
//! the outcomes of the calls and proposals in everything read so far.
//!
//! The ledger is read backwards, only as far as requests have looked. New entries are read before
//! each request.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use scene_schemas::api::{HistoryEntry, HistoryOutcome};
use scene_schemas::entry::{Entry, Place, Record, Seq};
use vector_engine::conversation::is_same_place;
use vector_ledger::{Ledger, LedgerError};

use super::facts::{OutcomeFacts, ReadOrder};
use super::row::{
    CallDetail, HistoryRow, ProposalDetail, RowSubject, WorkflowDetail, verdict_label,
};

pub(super) const READ_BATCH: usize = 100;
/// Memory limit of the recent rows, in bytes. Older rows are read again.
const MAX_RECENT_BYTES: usize = 24 << 20;
/// Memory limit of the older rows, in bytes. They are dropped and read again beyond it.
const MAX_OLDER_BYTES: usize = 8 << 20;
/// Paths shown per line.
const MAX_PATHS_SHOWN: usize = 3;
/// The limit on how many of a script's newest changes are followed.
const MAX_SCRIPT_CHANGES: usize = 1_000;
/// The limit on how many of the newest answers with the script's text are used.
const MAX_SCRIPT_READS: usize = 20;
/// The maximum length of a title, in characters.
const MAX_TITLE_CHARS: usize = 160;
/// The number of newest workflows whose places are listed.
const MAX_PLACES_LISTED: usize = 100;

/// The entries and outcomes that were read so far.
#[derive(Debug)]
pub(super) struct HistoryCache {
    /// The position of the newest entry that was read.
    last_read: Seq,
    /// The outcomes of all entries after this position are known.
    facts_after: Seq,
    /// The newest entries, without gaps up to `last_read`.
    recent: VecDeque<Arc<HistoryRow>>,
    recent_size: usize,
    /// Some of the entries before `recent`.
    older: HashMap<Seq, Arc<HistoryRow>>,
    older_size: usize,
    /// The number of entries that were read backwards, to limit the work of a request.
    pub(super) read_count: usize,
    pub(super) facts: OutcomeFacts,
    places: BTreeSet<String>,
    tools: BTreeSet<String>,
}

/// A place that a request selects.
#[derive(Debug)]
pub enum PlaceSelector {
    Open(Place),
    /// A place by its name or its session ID.
    Named(String),
}

/// An entry that changed a script, or may have changed it.
#[derive(Debug)]
pub(super) struct ScriptChange {
    pub(super) seq: Seq,
    pub(super) at: u64,
    pub(super) kind: &'static str,
    pub(super) proposal: Seq,
}

/// The call and the proposal that an entry is about, and their outcome.
#[derive(Debug)]
pub(super) struct EntrySubject {
    outcome: Option<HistoryOutcome>,
    pub(super) proposal: Option<Seq>,
    proposal_row: Option<Arc<HistoryRow>>,
    call_row: Option<Arc<HistoryRow>>,
}

impl HistoryCache {
    /// Starts at the end of the ledger.
    pub(super) fn new(ledger: &Ledger) -> Result<Self, LedgerError> {
        let last_read = ledger.last_seq()?;
        let mut cache = Self {
            last_read,
            facts_after: last_read,
            recent: VecDeque::new(),
            recent_size: 0,
            older: HashMap::new(),
            older_size: 0,
            read_count: 0,
            facts: OutcomeFacts::default(),
            places: BTreeSet::new(),
            tools: BTreeSet::new(),
        };
        for started in ledger.recent_starts(MAX_PLACES_LISTED)? {
            cache.note_place(&started);
        }
        Ok(cache)
    }

    /// Reads the new entries.
    pub(super) fn refresh(&mut self, ledger: &Ledger) -> Result<(), LedgerError> {
        loop {
            let new = ledger.read(self.last_read, READ_BATCH)?;
            if new.is_empty() {
                return Ok(());
            }
            for record in &new {
                self.last_read = record.seq;
                self.note_place(record);
                let row = self.read_row(record, ReadOrder::Forwards);
                self.recent_size += row.memory_size();
                self.recent.push_back(row);
            }
            while self.recent_size > MAX_RECENT_BYTES
                && let Some(row) = self.recent.pop_front()
            {
                self.recent_size -= row.memory_size();
            }
        }
    }

    /// The position after the newest entry.
    pub(super) fn end_position(&self) -> Seq {
        Seq(self.last_read.0 + 1)
    }

    /// The places of recent workflows.
    pub(super) fn recent_places(&self) -> Vec<String> {
        self.places.iter().cloned().collect()
    }

    /// The tools called in the entries read so far.
    pub(super) fn tool_names(&self) -> Vec<String> {
        self.tools.iter().cloned().collect()
    }

    /// Reads back far enough to know the outcomes of all entries from `seq` on.
    pub(super) fn read_back_to(&mut self, ledger: &Ledger, seq: Seq) -> Result<(), LedgerError> {
        while self.facts_after >= seq && self.facts_after > Seq(0) {
            self.read_older(ledger, Seq(self.facts_after.0 + 1))?;
        }
        Ok(())
    }

    /// Returns some rows before a position, newest first; none if there are none left. The outcomes
    /// of the entries from that position on must be known.
    pub(super) fn rows_before(
        &mut self,
        ledger: &Ledger,
        seq: Seq,
    ) -> Result<Vec<Arc<HistoryRow>>, LedgerError> {
        let seq = seq.min(self.end_position());
        let count = seq.0.saturating_sub(1).saturating_sub(self.recent_after().0) as usize;
        if count > 0 {
            return Ok(self.recent.range(..count).rev().take(READ_BATCH).cloned().collect());
        }
        self.read_older(ledger, seq)
    }

    /// `recent` holds all entries after this position.
    fn recent_after(&self) -> Seq {
        Seq(self.last_read.0 - self.recent.len() as u64)
    }

    /// Reads entries before a position, and caches them while there is room.
    fn read_older(
        &mut self,
        ledger: &Ledger,
        before: Seq,
    ) -> Result<Vec<Arc<HistoryRow>>, LedgerError> {
        let read = ledger.read_before(before, READ_BATCH)?;
        let mut rows = Vec::with_capacity(read.len());
        for record in &read {
            let row = self.read_row(record, ReadOrder::Backwards);
            let size = self.recent_size + row.memory_size();
            if record.seq == self.recent_after() && size <= MAX_RECENT_BYTES {
                self.recent_size = size;
                self.recent.push_front(Arc::clone(&row));
            } else {
                self.insert_older(&row);
            }
            rows.push(row);
        }
        let first = read.last().map_or(Seq(0), |last| Seq(last.seq.0 - 1));
        self.facts_after = self.facts_after.min(first);
        self.read_count += rows.len();
        Ok(rows)
    }

    /// Makes the row of a record, and records its outcomes and its tool.
    fn read_row(&mut self, record: &Record, order: ReadOrder) -> Arc<HistoryRow> {
        self.facts.read_record(record, order);
        let row = HistoryRow::from_record(record);
        if let Some(called) = row.call_detail()
            && !self.tools.contains(&called.tool)
        {
            self.tools.insert(called.tool.clone());
        }
        Arc::new(row)
    }

    fn note_place(&mut self, record: &Record) {
        if let Entry::Started { place, .. } = &record.entry {
            self.places.insert(place.name());
        }
    }

    fn insert_older(&mut self, row: &Arc<HistoryRow>) {
        self.older_size += row.memory_size();
        if self.older_size > MAX_OLDER_BYTES {
            self.older.clear();
            self.older_size = row.memory_size();
        }
        self.older.insert(row.seq, Arc::clone(row));
    }

    /// The row of one entry; None if the entry does not exist.
    pub(super) fn row_at(
        &mut self,
        ledger: &Ledger,
        seq: Seq,
    ) -> Result<Option<Arc<HistoryRow>>, LedgerError> {
        let index = seq.0.checked_sub(self.recent_after().0 + 1);
        let recent = index.and_then(|index| self.recent.get(index as usize));
        if let Some(row) = recent.or_else(|| self.older.get(&seq)) {
            return Ok(Some(Arc::clone(row)));
        }
        let row = ledger.record_at(seq)?.map(|it| Arc::new(HistoryRow::from_record(&it)));
        if let Some(row) = &row {
            self.insert_older(row);
        }
        Ok(row)
    }

    /// The outcome of an entry's subject, and its proposal.
    pub(super) fn find_outcome(&self, row: &HistoryRow) -> (Option<HistoryOutcome>, Option<Seq>) {
        match row.subject {
            RowSubject::Nothing => (None, None),
            RowSubject::Call(call) => self.facts.call_outcome(call, row.workflow),
            RowSubject::Proposal(seq) => (Some(self.facts.proposal_outcome(seq)), Some(seq)),
        }
    }

    pub(super) fn find_subject(
        &mut self,
        ledger: &Ledger,
        row: &HistoryRow,
    ) -> Result<EntrySubject, LedgerError> {
        let (outcome, proposal) = self.find_outcome(row);
        let proposal_row = proposal.map(|seq| self.row_at(ledger, seq)).transpose()?.flatten();
        let call = match row.subject {
            RowSubject::Nothing => None,
            RowSubject::Call(call) => Some(call),
            RowSubject::Proposal(_) => {
                proposal_row.as_ref().and_then(|it| it.proposal_detail()).map(|it| it.call)
            }
        };
        let call_row = call.map(|seq| self.row_at(ledger, seq)).transpose()?.flatten();
        Ok(EntrySubject { outcome, proposal, proposal_row, call_row })
    }

    /// Returns the entries that changed a script in a place, oldest first, and the newest calls
    /// that were answered with its text. The script is identified by its path.
    pub(super) fn script_changes(
        &mut self,
        ledger: &Ledger,
        selector: &PlaceSelector,
        path: &str,
    ) -> Result<(Vec<ScriptChange>, Vec<Seq>), LedgerError> {
        let (mut changes, mut reads, mut at) = (Vec::new(), Vec::new(), self.end_position());
        loop {
            let rows = self.rows_before(ledger, at)?;
            let Some(last) = rows.last() else {
                break;
            };
            at = last.seq;
            for row in rows {
                let (seq, kind) = (row.seq, row.kind);
                match row.subject {
                    RowSubject::Proposal(proposal)
                        if matches!(kind, "applied" | "undone" | "redone")
                            && self.is_script_change(ledger, &row, proposal, selector, path)? =>
                    {
                        changes.push(ScriptChange { seq, at: row.at, kind, proposal });
                    }
                    RowSubject::Call(call)
                        if kind == "answered" && reads.len() < MAX_SCRIPT_READS =>
                    {
                        let called = self.row_at(ledger, call)?;
                        let is_its =
                            called.as_ref().and_then(|it| it.call_detail()).is_some_and(|it| {
                                it.tool == "read_script" && it.path.as_deref() == Some(path)
                            });
                        if is_its && self.is_in_place(ledger, row.workflow, selector)? {
                            reads.push(seq);
                        }
                    }
                    _ => {}
                }
            }
            if changes.len() >= MAX_SCRIPT_CHANGES {
                break;
            }
        }
        changes.reverse();
        Ok((changes, reads))
    }

    /// Whether a proposal in the selected place, or in the files of the selected project, touches a
    /// script.
    fn is_script_change(
        &mut self,
        ledger: &Ledger,
        row: &HistoryRow,
        proposal: Seq,
        selector: &PlaceSelector,
        path: &str,
    ) -> Result<bool, LedgerError> {
        let proposed = self.row_at(ledger, proposal)?;
        let Some(proposed) = proposed.as_ref().and_then(|it| it.proposal_detail()) else {
            return Ok(false);
        };
        // A change of an ancestor may have changed the script too.
        let touches = |it: &String| path.strip_prefix(it.as_str()).is_some_and(is_path_boundary);
        if proposed.more_paths == 0 && !proposed.paths.iter().any(touches) {
            return Ok(false);
        }
        let is_project = match selector {
            PlaceSelector::Open(place) => proposed.project.as_ref() == Some(&place.name()),
            PlaceSelector::Named(name) => proposed.project.as_ref() == Some(name),
        };
        Ok(is_project || self.is_in_place(ledger, row.workflow, selector)?)
    }

    /// Whether a workflow works on the selected place.
    fn is_in_place(
        &mut self,
        ledger: &Ledger,
        workflow: Seq,
        selector: &PlaceSelector,
    ) -> Result<bool, LedgerError> {
        let started = self.row_at(ledger, workflow)?;
        let workflow = started.as_ref().and_then(|it| it.workflow_detail());
        Ok(workflow.is_some_and(|it| match selector {
            PlaceSelector::Open(open) => is_same_place(&it.place, open),
            PlaceSelector::Named(name) => it.is_named(name),
        }))
    }

    /// Builds the displayed line of a row. It does not know whether the session is open.
    pub(super) fn build_line(
        &mut self,
        ledger: &Ledger,
        row: &HistoryRow,
        subject: &EntrySubject,
    ) -> Result<HistoryEntry, LedgerError> {
        let started = self.row_at(ledger, row.workflow)?;
        let workflow = started.as_ref().and_then(|it| it.workflow_detail());
        let paths = subject.paths();
        let shown = &paths[..paths.len().min(MAX_PATHS_SHOWN)];
        Ok(HistoryEntry {
            seq: row.seq,
            at: row.at,
            workflow: row.workflow,
            session: workflow.map(|it| it.session.clone()),
            place: workflow.map_or(String::new(), |it| it.name.clone()),
            kind: row.kind.to_owned(),
            title: subject.title_of(row),
            tool: subject.tool().map(str::to_owned),
            outcome: subject.outcome,
            proposal: subject.proposal,
            paths: shown.to_vec(),
            more_paths: (subject.more_paths() + paths.len() - shown.len()) as u32,
            by: row.by,
            class: subject.proposal_detail().map(|it| it.class),
        })
    }
}

impl EntrySubject {
    fn proposal_detail(&self) -> Option<&ProposalDetail> {
        self.proposal_row.as_ref()?.proposal_detail()
    }

    fn call_detail(&self) -> Option<&CallDetail> {
        self.call_row.as_ref()?.call_detail()
    }

    pub(super) fn tool(&self) -> Option<&str> {
        self.call_detail().map(|it| it.tool.as_str()).filter(|tool| !tool.is_empty())
    }

    /// The touched paths, without those that are not cached.
    pub(super) fn paths(&self) -> &[String] {
        match self.proposal_detail() {
            Some(proposal) => &proposal.paths,
            None => self.call_detail().map_or(&[], |it| it.path.as_slice()),
        }
    }

    /// The number of touched paths that are not cached.
    pub(super) fn more_paths(&self) -> usize {
        self.proposal_detail().map_or(0, |it| it.more_paths)
    }

    /// The title of the line of an entry with this subject.
    pub(super) fn title_of(&self, row: &HistoryRow) -> String {
        let first_line = row.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let title = self.proposal_row.as_ref().filter(|it| it.proposal_detail().is_some());
        shorten_text(match (verdict_label(row.kind), title.map(|it| &it.text)) {
            (Some(verdict), Some(title)) if first_line.is_empty() => format!("{verdict}: {title}"),
            (Some(verdict), Some(title)) => format!("{verdict}: {title} ({first_line})"),
            _ => first_line.to_owned(),
        })
    }
}

impl WorkflowDetail {
    /// Whether this is the name or the session ID of the place.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.name == name || self.session.0 == name
    }
}

/// Whether `rest`, which follows a path, starts a new segment or is empty.
fn is_path_boundary(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
}

fn shorten_text(text: String) -> String {
    match text.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
