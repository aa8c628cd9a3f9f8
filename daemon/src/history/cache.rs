//! In-memory cache of recent ledger entries, so that filters do not read them again, together with
//! the outcomes of the calls and proposals in everything read so far.
//!
//! The ledger is read backwards, only as far as requests have looked. New entries are read before
//! each request.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use scene_schemas::api::{HistoryEntry, HistoryOutcome, SessionId};
use scene_schemas::command::Command;
use scene_schemas::entry::{Entry, Place, Record, Seq};
use scene_schemas::proposal::{Change as Changed, Class, Proposal};
use serde_json::Value as Json;
use vector_engine::conversation::is_same_place;
use vector_ledger::{Ledger, LedgerError};

use super::facts::{OutcomeFacts, ReadOrder};
use super::row::{HistoryRow, RowSubject, verdict_label};

pub(super) const READ_BATCH: usize = 100;
/// Memory limit of the cached rows, in bytes. Older rows are read again.
const MAX_ROW_BYTES: usize = 16 << 20;
/// Memory limit of the summaries of places, calls and proposals, in bytes. The summaries are
/// dropped and read again beyond it.
const MAX_SUMMARY_BYTES: usize = 16 << 20;
/// Paths kept per proposal. The paths of larger proposals are read again.
const MAX_PATHS: usize = 64;
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

/// The entries, outcomes and summaries that were read so far.
#[derive(Debug)]
pub(super) struct HistoryCache {
    /// The position of the newest entry that was read.
    last_read: Seq,
    /// The outcomes of all entries after this position are known.
    facts_after: Seq,
    /// `rows` holds all entries after this position.
    rows_after: Seq,
    rows: VecDeque<Arc<HistoryRow>>,
    size: usize,
    pub(super) facts: OutcomeFacts,
    summaries: SummaryCache,
    places: BTreeSet<String>,
    tools: BTreeSet<String>,
    is_initialized: bool,
}

impl Default for HistoryCache {
    fn default() -> Self {
        Self {
            last_read: Seq(0),
            facts_after: Seq(0),
            rows_after: Seq(0),
            rows: VecDeque::new(),
            size: 0,
            facts: OutcomeFacts::default(),
            summaries: SummaryCache::default(),
            places: BTreeSet::new(),
            tools: BTreeSet::new(),
            is_initialized: false,
        }
    }
}

/// Summaries of workflow places, calls and proposals.
#[derive(Debug, Default)]
struct SummaryCache {
    workflows: HashMap<Seq, Arc<WorkflowPlace>>,
    calls: HashMap<Seq, Arc<CallSummary>>,
    proposals: HashMap<Seq, Arc<ProposalSummary>>,
    size: usize,
}

/// The place of a workflow.
#[derive(Debug, Default)]
pub(super) struct WorkflowPlace {
    pub(super) name: String,
    pub(super) session: Option<SessionId>,
    place: Option<Place>,
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

#[derive(Debug, Default)]
struct CallSummary {
    tool: String,
    path: Option<String>,
}

#[derive(Debug)]
struct ProposalSummary {
    call: Seq,
    title: String,
    class: Class,
    paths: Vec<String>,
    more: u32,
    /// The project whose files the proposal changes as well.
    project: Option<String>,
}

/// A history line, with the paths of its subject.
#[derive(Debug)]
pub(super) struct HistoryLine {
    pub(super) entry: HistoryEntry,
    /// The paths of the subject, up to [`MAX_PATHS`].
    pub(super) paths: Vec<String>,
}

impl HistoryCache {
    pub(super) fn refresh(&mut self, ledger: &Ledger) -> Result<(), LedgerError> {
        if !self.is_initialized {
            self.last_read = ledger.last_seq()?;
            (self.facts_after, self.rows_after) = (self.last_read, self.last_read);
            for started in ledger.recent_starts(MAX_PLACES_LISTED)? {
                self.note_place(&started);
            }
            self.is_initialized = true;
        }
        loop {
            let new = ledger.read(self.last_read, READ_BATCH)?;
            let Some(last) = new.last() else {
                return Ok(());
            };
            self.last_read = last.seq;
            for record in &new {
                self.note_record(record, ReadOrder::Forwards);
                self.note_place(record);
                let row = HistoryRow::from_record(record);
                self.size += row.memory_size();
                self.rows.push_back(Arc::new(row));
            }
            while self.size > MAX_ROW_BYTES
                && let Some(row) = self.rows.pop_front()
            {
                self.size -= row.memory_size();
                self.rows_after = row.seq;
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
            self.read_older(ledger)?;
        }
        Ok(())
    }

    /// Returns some rows before a position, newest first, and whether they had to be read from the
    /// ledger. The rows are empty if there are none left.
    pub(super) fn rows_before(
        &mut self,
        ledger: &Ledger,
        seq: Seq,
    ) -> Result<(Vec<Arc<HistoryRow>>, bool), LedgerError> {
        let seq = seq.min(self.end_position());
        let kept = seq.0.saturating_sub(1).saturating_sub(self.rows_after.0) as usize;
        if kept > 0 {
            let rows = self.rows.range(..kept).rev().take(READ_BATCH).cloned().collect();
            return Ok((rows, false));
        }
        if seq.0 == self.facts_after.0 + 1 {
            return Ok((self.read_older(ledger)?, true));
        }
        let read = ledger.read_before(seq, READ_BATCH)?;
        for record in &read {
            self.note_record(record, ReadOrder::Backwards);
        }
        Ok((read.iter().map(|record| Arc::new(HistoryRow::from_record(record))).collect(), true))
    }

    /// Reads the entries before all that were read, and caches them while there is room.
    fn read_older(&mut self, ledger: &Ledger) -> Result<Vec<Arc<HistoryRow>>, LedgerError> {
        let read = ledger.read_before(Seq(self.facts_after.0 + 1), READ_BATCH)?;
        let mut rows = Vec::with_capacity(read.len());
        for record in &read {
            self.note_record(record, ReadOrder::Backwards);
            let row = Arc::new(HistoryRow::from_record(record));
            if self.rows_after == self.facts_after && self.size + row.memory_size() <= MAX_ROW_BYTES
            {
                self.size += row.memory_size();
                self.rows.push_front(Arc::clone(&row));
                self.rows_after = Seq(record.seq.0 - 1);
            }
            self.facts_after = Seq(record.seq.0 - 1);
            rows.push(row);
        }
        if read.is_empty() {
            self.facts_after = Seq(0);
        }
        Ok(rows)
    }

    /// Records the outcomes, tools and summaries from a record.
    fn note_record(&mut self, record: &Record, order: ReadOrder) {
        self.facts.read_record(record, order);
        match &record.entry {
            Entry::Called { tool, args, .. } => {
                if !self.tools.contains(tool) {
                    self.tools.insert(tool.clone());
                }
                self.summaries.note_call(record.seq, tool, args);
            }
            Entry::Proposed { call, proposal, .. } => {
                self.summaries.note_proposal(record.seq, *call, proposal);
            }
            _ => {}
        }
    }

    fn note_place(&mut self, record: &Record) {
        if let Entry::Started { place, .. } = &record.entry {
            self.places.insert(place.name());
        }
    }

    /// The outcome of an entry's subject, and its proposal.
    pub(super) fn find_outcome(&self, row: &HistoryRow) -> (Option<HistoryOutcome>, Option<Seq>) {
        match row.subject {
            RowSubject::Nothing => (None, None),
            RowSubject::Call(call) => self.facts.call_outcome(call, row.workflow),
            RowSubject::Proposal(seq) => (Some(self.facts.proposal_outcome(seq)), Some(seq)),
        }
    }

    pub(super) fn workflow_place(
        &mut self,
        ledger: &Ledger,
        workflow: Seq,
    ) -> Result<Arc<WorkflowPlace>, LedgerError> {
        if let Some(known) = self.summaries.workflows.get(&workflow) {
            return Ok(Arc::clone(known));
        }
        let place = match ledger.record_at(workflow)?.map(|record| record.entry) {
            Some(Entry::Started { place, .. }) => WorkflowPlace {
                name: place.name(),
                session: Some(place.session_id()),
                place: Some(place),
            },
            _ => WorkflowPlace::default(),
        };
        let place = Arc::new(place);
        self.summaries.reserve_bytes(place.name.len());
        self.summaries.workflows.insert(workflow, Arc::clone(&place));
        Ok(place)
    }

    /// The tool of an entry's subject.
    pub(super) fn find_tool(
        &mut self,
        ledger: &Ledger,
        row: &HistoryRow,
    ) -> Result<Option<String>, LedgerError> {
        let call = match row.subject {
            RowSubject::Nothing => return Ok(None),
            RowSubject::Call(call) => call,
            RowSubject::Proposal(seq) => match self.summaries.proposal_summary(ledger, seq)? {
                Some(proposed) => proposed.call,
                None => return Ok(None),
            },
        };
        let called = self.summaries.call_summary(ledger, call)?;
        Ok(Some(called.tool.clone()).filter(|tool| !tool.is_empty()))
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
            let (rows, _) = self.rows_before(ledger, at)?;
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
                        let called = self.summaries.call_summary(ledger, call)?;
                        let is_its =
                            called.tool == "read_script" && called.path.as_deref() == Some(path);
                        if is_its
                            && self.workflow_place(ledger, row.workflow)?.is_selected_by(selector)
                        {
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
        let Some(proposed) = self.summaries.proposal_summary(ledger, proposal)? else {
            return Ok(false);
        };
        // A change of an ancestor may have changed the script too.
        let touches = |it: &String| path.strip_prefix(it.as_str()).is_some_and(is_path_boundary);
        if proposed.more == 0 && !proposed.paths.iter().any(touches) {
            return Ok(false);
        }
        let is_project = match selector {
            PlaceSelector::Open(place) => proposed.project.as_ref() == Some(&place.name()),
            PlaceSelector::Named(name) => proposed.project.as_ref() == Some(name),
        };
        Ok(is_project || self.workflow_place(ledger, row.workflow)?.is_selected_by(selector))
    }

    /// Builds the displayed line of a row. It does not know whether the session is open.
    pub(super) fn build_line(
        &mut self,
        ledger: &Ledger,
        row: &HistoryRow,
    ) -> Result<HistoryLine, LedgerError> {
        let place = self.workflow_place(ledger, row.workflow)?;
        let tool = self.find_tool(ledger, row)?;
        let (outcome, proposal) = self.find_outcome(row);
        let proposed = match proposal {
            Some(seq) => self.summaries.proposal_summary(ledger, seq)?,
            None => None,
        };
        let (mut paths, more) = match &proposed {
            Some(proposed) => (proposed.paths.clone(), proposed.more),
            None => (Vec::new(), 0),
        };
        if let (RowSubject::Call(call), None) = (row.subject, &proposed) {
            paths.extend(self.summaries.call_summary(ledger, call)?.path.clone());
        }
        let first_line = row.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let title = match (verdict_label(row.kind), &proposed) {
            (Some(verdict), Some(proposed)) if first_line.is_empty() => {
                format!("{verdict}: {}", proposed.title)
            }
            (Some(verdict), Some(proposed)) => {
                format!("{verdict}: {} ({first_line})", proposed.title)
            }
            _ => first_line.to_owned(),
        };
        let shown: Vec<String> = paths.iter().take(MAX_PATHS_SHOWN).cloned().collect();
        let entry = HistoryEntry {
            seq: row.seq,
            at: row.at,
            workflow: row.workflow,
            session: place.session.clone(),
            place: place.name.clone(),
            kind: row.kind.to_owned(),
            title: shorten_text(title),
            tool,
            outcome,
            proposal,
            more_paths: more + (paths.len() - shown.len()) as u32,
            paths: shown,
            by: row.by,
            class: proposed.map(|it| it.class),
        };
        Ok(HistoryLine { entry, paths })
    }
}

impl WorkflowPlace {
    fn is_selected_by(&self, selector: &PlaceSelector) -> bool {
        match selector {
            PlaceSelector::Open(open) => {
                self.place.as_ref().is_some_and(|place| is_same_place(place, open))
            }
            PlaceSelector::Named(name) => {
                self.name == *name || self.session.as_ref().is_some_and(|it| it.0 == *name)
            }
        }
    }
}

/// Whether `rest`, which follows a path, starts a new segment or is empty.
fn is_path_boundary(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['.', '['])
}

impl SummaryCache {
    /// Reserves memory for `bytes` more. If the limit is exceeded, all summaries are dropped, and
    /// read again when they are needed.
    fn reserve_bytes(&mut self, bytes: usize) {
        self.size += bytes + 200;
        if self.size > MAX_SUMMARY_BYTES {
            *self = Self { size: bytes + 200, ..Self::default() };
        }
    }

    fn note_call(&mut self, seq: Seq, tool: &str, args: &Json) -> Arc<CallSummary> {
        let path = args.get("path").and_then(Json::as_str).map(str::to_owned);
        let called = Arc::new(CallSummary { tool: tool.to_owned(), path });
        self.reserve_bytes(tool.len() + called.path.as_ref().map_or(0, String::len));
        self.calls.insert(seq, Arc::clone(&called));
        called
    }

    fn call_summary(&mut self, ledger: &Ledger, seq: Seq) -> Result<Arc<CallSummary>, LedgerError> {
        if let Some(known) = self.calls.get(&seq) {
            return Ok(Arc::clone(known));
        }
        Ok(match ledger.record_at(seq)?.map(|record| record.entry) {
            Some(Entry::Called { tool, args, .. }) => self.note_call(seq, &tool, &args),
            _ => Arc::default(),
        })
    }

    fn note_proposal(&mut self, seq: Seq, call: Seq, proposal: &Proposal) -> Arc<ProposalSummary> {
        let mut paths = touched_paths(proposal);
        let more = paths.len().saturating_sub(MAX_PATHS) as u32;
        paths.truncate(MAX_PATHS);
        let title = proposal.title.clone();
        let project = proposal.files.as_ref().map(|files| files.project.clone());
        self.reserve_bytes(title.len() + paths.iter().map(|path| path.len() + 24).sum::<usize>());
        let proposed =
            Arc::new(ProposalSummary { call, title, class: proposal.class, paths, more, project });
        self.proposals.insert(seq, Arc::clone(&proposed));
        proposed
    }

    fn proposal_summary(
        &mut self,
        ledger: &Ledger,
        seq: Seq,
    ) -> Result<Option<Arc<ProposalSummary>>, LedgerError> {
        if let Some(known) = self.proposals.get(&seq) {
            return Ok(Some(Arc::clone(known)));
        }
        Ok(match ledger.record_at(seq)?.map(|record| record.entry) {
            Some(Entry::Proposed { call, proposal, .. }) => {
                Some(self.note_proposal(seq, call, &proposal))
            }
            _ => None,
        })
    }
}

/// The paths of the instances that a proposal touches, without duplicates and in the order of the
/// commands.
pub(super) fn touched_paths(proposal: &Proposal) -> Vec<String> {
    let mut all = Vec::new();
    for command in &proposal.commands {
        all.push(match command {
            Command::Create { parent, name, .. } | Command::Clone { parent, name, .. } => {
                parent.path.child(name, None).to_string()
            }
            command => command.target().path.to_string(),
        });
    }
    for row in &proposal.preview.rows {
        all.push(row.path.to_string());
        if let Changed::Moved { to } = &row.change {
            all.push(to.to_string());
        }
    }
    all.extend(proposal.preview.scripts.iter().map(|script| script.path.to_string()));
    let mut seen = std::collections::HashSet::new();
    all.retain(|path| seen.insert(path.clone()));
    all
}

fn shorten_text(text: String) -> String {
    match text.char_indices().nth(MAX_TITLE_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
