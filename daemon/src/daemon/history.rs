//! Looking back, and going back. What takes long to read is read on a thread of its own: the house
//! answers others meanwhile.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use scene_schemas::InstancePath;
use scene_schemas::api::{
    Failure, FailureKind, HistoryEntry, ScriptAtTime, SessionId, WorkflowStarted,
};
use scene_schemas::entry::{Entry, Place, Seq};
use serde_json::json;
use tokio::sync::mpsc;
use vector_core::prompt::ToolCall;
use vector_engine::budget::day_number;
use vector_engine::conversation::is_same_place;
use vector_engine::model_request::unix_millis;
use vector_engine::{EngineError, REVERT, find_applied_ack};
use vector_ledger::Ledger;

use super::views::{ledger_failure, not_found};
use super::{DaemonActor, SessionMessage, SessionThread};
use crate::history::{HistoryIndex, PlaceSelector, RevertBlock};
use crate::server::{EntryFilter, HistoryRequest, LineStream, Reply, ScriptQuery, failure};

/// So many handfuls of exported entries wait to be taken.
const AHEAD: usize = 4;
/// How long a session may take before it says what a script says.
const BUSY: Duration = Duration::from_secs(10);
/// Further back than any ledger goes.
const MAX_DAYS: u64 = 100_000;

impl DaemonActor {
    pub(super) fn handle_history(&mut self, past: HistoryRequest) {
        let (ledger, seen) = (Arc::clone(&self.ledger), Arc::clone(&self.history_index));
        let board = Arc::clone(&self.event_hub);
        // A session that is not open any more is nobody's to ask.
        let if_open = move |entry: &mut HistoryEntry| {
            entry.session.take_if(|session| board.slot(session).is_none());
        };
        match past {
            HistoryRequest::History(wanted, reply) => drop(thread::spawn(move || {
                let mut page =
                    seen.read_page(&ledger, &wanted).map_err(|error| ledger_failure(&error));
                page.iter_mut().flat_map(|page| &mut page.entries).for_each(if_open);
                let _ = reply.send(page);
            })),
            HistoryRequest::Entry(seq, reply) => drop(thread::spawn(move || {
                let entry = seen.read_entry(&ledger, seq).map_err(|error| ledger_failure(&error));
                let entry = entry.and_then(|found| found.ok_or_else(|| not_found(seq)));
                let _ = reply.send(entry.map(|mut entry| {
                    if_open(&mut entry.line);
                    entry
                }));
            })),
            HistoryRequest::Figures(days, reply) => {
                let measured = Arc::clone(&self.usage_meter);
                let since = (day_number(unix_millis()) + 1).saturating_sub(days.clamp(1, MAX_DAYS));
                thread::spawn(move || {
                    let figures = measured.read_figures(&ledger, since);
                    let _ = reply.send(figures.map_err(|error| ledger_failure(&error)));
                });
            }
            HistoryRequest::Export(filter, reply) => drop(thread::spawn(move || {
                export_entries(&ledger, &seen, &filter, reply);
            })),
            HistoryRequest::Script(wanted, reply) => self.send_script_at(wanted, reply),
            HistoryRequest::Revert(seq, reply) => self.revert_proposal(seq, reply),
        }
    }

    /// Says what a script said. A place that is open knows what it says now.
    fn send_script_at(&self, wanted: ScriptQuery, reply: Reply<ScriptAtTime>) {
        let ScriptQuery { place, path, seq } = wanted;
        let is_it = |(session, open): &(&SessionId, &SessionThread)| {
            session.0 == place || open.place.name() == place
        };
        let open = self.sessions.iter().find(is_it);
        let (meant, words) = match open {
            Some((_, open)) => {
                (PlaceSelector::Open(open.place.clone()), Some(open.message_sender.clone()))
            }
            None => (PlaceSelector::Named(place.clone()), None),
        };
        let (ledger, seen) = (Arc::clone(&self.ledger), Arc::clone(&self.history_index));
        thread::spawn(move || {
            let now = match words {
                Some(words) => current_texts(&words, &path),
                None => Ok(Vec::new()),
            };
            let at = now.and_then(|now| {
                let said = seen.script_at(&ledger, &meant, path.clone(), seq, now);
                said.map_err(|error| ledger_failure(&error))?
                    .ok_or_else(|| script_not_found(&path, &place))
            });
            let _ = reply.send(at);
        });
    }

    /// Has the way back from a proposal planned where it was applied.
    fn revert_proposal(&self, seq: Seq, reply: Reply<WorkflowStarted>) {
        let session = self.place_of_entry(seq).map(|place| {
            let open = self.sessions.values().find(|open| is_same_place(&open.place, &place));
            (open.map(|open| open.message_sender.clone()), place)
        });
        let (ledger, seen) = (Arc::clone(&self.ledger), Arc::clone(&self.history_index));
        thread::spawn(move || {
            let title = session.and_then(|(words, place)| {
                let title = check_revertible(&ledger, &seen, seq)?;
                Ok((title, words.ok_or_else(|| place_closed(&place))?))
            });
            match title {
                Ok((title, words)) => {
                    let goal = format!("Revert proposal {seq}: {title}");
                    let call = ToolCall::new(REVERT, json!({ "proposal": seq }));
                    // A session that has ended drops the reply, which says so.
                    let _ = words.send(SessionMessage::StartRevert(goal, call, reply));
                }
                Err(failure) => drop(reply.send(Err(failure))),
            }
        });
    }

    /// The place of the workflow that an entry belongs to.
    fn place_of_entry(&self, seq: Seq) -> Result<Place, Failure> {
        let record = self.ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
        let workflow = record.ok_or_else(|| not_found(seq))?.workflow;
        let started = self.ledger.record_at(workflow).map_err(|error| ledger_failure(&error))?;
        match started.map(|started| started.entry) {
            Some(Entry::Started { place, .. }) => Ok(place),
            _ => Err(not_found(seq)),
        }
    }
}

/// Hands entries over, as fast as they are taken.
fn export_entries(
    ledger: &Ledger,
    seen: &HistoryIndex,
    filter: &EntryFilter,
    reply: Reply<LineStream>,
) {
    let (lines, taken) = mpsc::channel(AHEAD);
    if reply.send(Ok(taken)).is_err() {
        return;
    }
    let whole = seen.export_entries(ledger, filter, |some| lines.blocking_send(Ok(some)).is_ok());
    if let Err(error) = whole {
        let _ = lines.blocking_send(Err(io::Error::other(error.to_string())));
    }
}

/// What a script says in an open place, and in its file.
fn current_texts(
    words: &Sender<SessionMessage>,
    path: &InstancePath,
) -> Result<Vec<String>, Failure> {
    let (ask, answer) = channel();
    let _ = words.send(SessionMessage::ReadScript(path.clone(), ask));
    match answer.recv_timeout(BUSY) {
        Ok(now) => Ok(now),
        // A session that has ended says nothing of what is there now.
        Err(RecvTimeoutError::Disconnected) => Ok(Vec::new()),
        Err(RecvTimeoutError::Timeout) => Err(failure(
            FailureKind::Settled,
            "The place is busy, and does not say what the script says now.",
            "Ask again when what it is at is done.",
        )),
    }
}

fn script_not_found(path: &InstancePath, place: &str) -> Failure {
    failure(
        FailureKind::NotFound,
        format!("Nothing is known of a script {path} in {place}."),
        "Look how both are written. Where the place is closed, open it first: under Chat on the page, or \
         with `vector serve`.",
    )
}

/// The title of a proposal that can be taken back.
fn check_revertible(ledger: &Ledger, seen: &HistoryIndex, seq: Seq) -> Result<String, Failure> {
    let settled = |message: String, hint: String| failure(FailureKind::Settled, message, hint);
    let wrong =
        |error: &EngineError| failure(FailureKind::Internal, error.to_string(), "Try again.");
    let (title, _) =
        find_applied_ack(ledger, seq).map_err(|error| wrong(&error))?.map_err(|refusal| {
            settled(refusal.0, "The history says what became of each proposal.".to_owned())
        })?;
    match seen.find_revert_block(ledger, seq).map_err(|error| ledger_failure(&error))? {
        None => Ok(title),
        Some(RevertBlock::Reverted(by)) => Err(settled(
            format!("Proposal {seq} was already reverted by proposal {by}."),
            format!("Take proposal {by} back to have it again."),
        )),
        Some(RevertBlock::Pending(by)) => Err(settled(
            format!("Proposal {by} takes proposal {seq} back, and waits for a decision."),
            format!("Decide upon proposal {by}."),
        )),
    }
}

/// The place is not open.
pub(super) fn place_closed(place: &Place) -> Failure {
    let name = place.name();
    let (message, hint) = match place {
        Place::Open(_) => (
            format!("{} is not connected.", name.replace(" (open in Studio)", "")),
            "Open it in Studio, look whether the plugin is connected, and try again.".to_owned(),
        ),
        Place::File(_) => (
            format!("{name} is not open in Vector."),
            "Open it under Chat on the page, or with `vector serve --place FILE`, and try again; or \
             `vector revert` takes it back on a terminal."
                .to_owned(),
        ),
        Place::Project(_) => (
            format!("{name} is not open in Vector."),
            "Open it under Chat on the page, or with `vector serve --project DIR`, and try again; or \
             `vector revert` takes it back on a terminal."
                .to_owned(),
        ),
    };
    failure(FailureKind::NotFound, message, hint)
}
