//! History and reverts. The ledger is read on separate threads, not on the daemon's.

use std::io;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use scene_schemas::InstancePath;
use scene_schemas::api::{
    Failure, FailureKind, Figures, History, HistoryEntry, HistoryRecord, ScriptAtTime,
    WorkflowStarted,
};
use scene_schemas::entry::{Entry, Place, Seq};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::timeout;
use vector_core::prompt::ToolCall;
use vector_engine::budget::day_number;
use vector_engine::conversation::is_same_place;
use vector_engine::model_request::unix_millis;
use vector_engine::{EngineError, REVERT, find_applied_ack};
use vector_ledger::Ledger;

use super::DaemonHandle;
use super::handle::{HandleState, run_on_thread};
use super::views::{ledger_failure, not_found};
use crate::failure::failure;
use crate::history::{
    EntryFilter, HistoryIndex, HistoryQuery, LineStream, PlaceSelector, RevertBlock, ScriptQuery,
};
use crate::session::Answer;

/// The number of exported batches that may wait for the reader.
const AHEAD: usize = 4;
/// The time within which a session has to return the texts of a script.
const BUSY: Duration = Duration::from_secs(10);
/// More days than any ledger contains.
const MAX_DAYS: u64 = 100_000;

impl DaemonHandle {
    /// Reads a page of the history.
    pub fn read_history(&self, query: HistoryQuery) -> Answer<History> {
        let state = Arc::clone(&self.state);
        run_on_thread(move || {
            let read = state.history_index.read_page(&state.ledger, &query);
            let mut page = read.map_err(|error| ledger_failure(&error))?;
            page.entries.iter_mut().for_each(|entry| state.drop_closed_session(entry));
            Ok(page)
        })
    }

    /// Reads an entry of the history.
    pub fn read_entry(&self, seq: Seq) -> Answer<HistoryRecord> {
        let state = Arc::clone(&self.state);
        run_on_thread(move || {
            let read = state.history_index.read_entry(&state.ledger, seq);
            let found = read.map_err(|error| ledger_failure(&error))?;
            let mut entry = found.ok_or_else(|| not_found(seq))?;
            state.drop_closed_session(&mut entry.line);
            Ok(entry)
        })
    }

    /// Reads the usage of models and tools in the last `days` days.
    pub fn read_figures(&self, days: u64) -> Answer<Figures> {
        let state = Arc::clone(&self.state);
        run_on_thread(move || {
            let since = (day_number(unix_millis()) + 1).saturating_sub(days.clamp(1, MAX_DAYS));
            let read = state.usage_meter.read_figures(&state.ledger, since);
            read.map_err(|error| ledger_failure(&error))
        })
    }

    /// Exports all entries that a filter selects, at the speed of the reader.
    pub fn export_history(&self, filter: EntryFilter) -> Result<LineStream, Failure> {
        let state = Arc::clone(&self.state);
        let (lines, taken) = mpsc::channel(AHEAD);
        let export = move || {
            let send = |some| lines.blocking_send(Ok(some)).is_ok();
            let exported = state.history_index.export_entries(&state.ledger, &filter, send);
            if let Err(error) = exported {
                let _ = lines.blocking_send(Err(io::Error::other(error.to_string())));
            }
        };
        thread::Builder::new().spawn(export).map_err(|error| {
            let message = format!("No thread could be started for the export: {error}.");
            failure(FailureKind::Internal, message, "Try again.")
        })?;
        Ok(taken)
    }

    /// Returns the text of a script at a position of the ledger. If the place is open, its session
    /// provides the current text.
    ///
    /// # Errors
    /// No text of the script is known, or the place is busy.
    pub async fn script_at(&self, query: ScriptQuery) -> Result<ScriptAtTime, Failure> {
        let ScriptQuery { place, path, seq } = query;
        let mut sessions = self.state.sessions.list().into_iter();
        let open = sessions.find(|(id, open)| id.0 == place || open.place.name() == place);
        let (selector, now) = match open {
            Some((_, open)) => {
                let now = timeout(BUSY, open.handle.read_script(path.clone())).await;
                let now = now.map_err(|_| {
                    failure(
                        FailureKind::Settled,
                        "The place is busy, so the script's current text is not available.",
                        "Try again when it is no longer busy.",
                    )
                })?;
                (PlaceSelector::Open(open.place), now.unwrap_or_default())
            }
            None => (PlaceSelector::Named(place.clone()), Vec::new()),
        };
        let state = Arc::clone(&self.state);
        run_on_thread(move || {
            let read =
                state.history_index.script_at(&state.ledger, &selector, path.clone(), seq, now);
            read.map_err(|error| ledger_failure(&error))?
                .ok_or_else(|| script_not_found(&path, &place))
        })
        .await
    }

    /// Plans the revert of a proposal in the place where it was applied.
    ///
    /// # Errors
    /// The proposal cannot be reverted, or its place is not open.
    pub async fn revert_proposal(&self, seq: Seq) -> Result<WorkflowStarted, Failure> {
        let state = Arc::clone(&self.state);
        let (title, place) = run_on_thread(move || {
            let place = place_of_entry(&state.ledger, seq)?;
            Ok((check_revertible(&state.ledger, &state.history_index, seq)?, place))
        })
        .await?;
        let mut sessions = self.state.sessions.list().into_iter();
        let session = sessions.find(|(_, open)| is_same_place(&open.place, &place));
        let (_, session) = session.ok_or_else(|| place_closed(&place))?;
        let goal = format!("Revert proposal {seq}: {title}");
        let call = ToolCall::new(REVERT, json!({ "proposal": seq }));
        session.handle.start_call(goal, call).await
    }
}

impl HandleState {
    /// Removes the session of an entry if it is not open.
    fn drop_closed_session(&self, entry: &mut HistoryEntry) {
        entry.session.take_if(|session| self.event_hub.slot(session).is_none());
    }
}

/// Returns the place of the workflow that an entry belongs to.
fn place_of_entry(ledger: &Ledger, seq: Seq) -> Result<Place, Failure> {
    let record = ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
    let workflow = record.ok_or_else(|| not_found(seq))?.workflow;
    let started = ledger.record_at(workflow).map_err(|error| ledger_failure(&error))?;
    match started.map(|started| started.entry) {
        Some(Entry::Started { place, .. }) => Ok(place),
        _ => Err(not_found(seq)),
    }
}

fn script_not_found(path: &InstancePath, place: &str) -> Failure {
    failure(
        FailureKind::NotFound,
        format!("There is no script {path} in the history of {place}."),
        "Check the spelling of both. If the place is closed, open it first: under Chat on the page, \
         or with `vector serve`.",
    )
}

/// Checks that a proposal can be reverted. Returns its title.
fn check_revertible(ledger: &Ledger, seen: &HistoryIndex, seq: Seq) -> Result<String, Failure> {
    let settled = |message: String, hint: String| failure(FailureKind::Settled, message, hint);
    let wrong =
        |error: &EngineError| failure(FailureKind::Internal, error.to_string(), "Try again.");
    let (title, _) =
        find_applied_ack(ledger, seq).map_err(|error| wrong(&error))?.map_err(|refusal| {
            settled(refusal.0, "The history shows the outcome of each proposal.".to_owned())
        })?;
    match seen.find_revert_block(ledger, seq).map_err(|error| ledger_failure(&error))? {
        None => Ok(title),
        Some(RevertBlock::Reverted(by)) => Err(settled(
            format!("Proposal {seq} was already reverted by proposal {by}."),
            format!("Revert proposal {by} to reapply it."),
        )),
        Some(RevertBlock::Pending(by)) => Err(settled(
            format!("Proposal {by} reverts proposal {seq}, and is pending."),
            format!("Approve or reject proposal {by}."),
        )),
    }
}

pub(super) fn place_closed(place: &Place) -> Failure {
    let name = place.name();
    let (message, hint) = match place {
        Place::Open(_) => (
            format!("{} is not connected.", name.replace(" (open in Studio)", "")),
            "Open it in Studio, check that the plugin is connected, and try again.".to_owned(),
        ),
        Place::File(_) => (
            format!("{name} is not open in Vector."),
            "Open it under Chat on the page, or with `vector serve --place FILE`, and try again; or \
             `vector revert` reverts it in a terminal."
                .to_owned(),
        ),
        Place::Project(_) => (
            format!("{name} is not open in Vector."),
            "Open it under Chat on the page, or with `vector serve --project DIR`, and try again; or \
             `vector revert` reverts it in a terminal."
                .to_owned(),
        ),
    };
    failure(FailureKind::NotFound, message, hint)
}
