//! Agents of their own at the desk: which place a call is for, what became of calls, and what is on
//! record of them.

use scene_schemas::api::{
    AgentCall, AgentLog, Became, CallView, Failure, FailureKind, LoggedCall, SessionId,
};
use scene_schemas::entry::{Entry, Record, Seq};
use serde_json::Value as Json;
use tokio::sync::oneshot;

use super::views::{broken, missing, state_of};
use super::{House, LISTED, Mode, Word};
use crate::core::workflow::{self, AGENT};
use crate::engine::live::{Calling, may_call, view};
use crate::server::{Reply, failed};

/// How many calls the record shows.
const LOGGED: usize = 100;
/// Longer answers are left out of the record, in bytes.
const LONG: usize = 400;
/// How long names of connections and calls are.
const MAX_NAME: usize = 64;

impl House {
    /// Passes a call on to the session that it is for.
    pub(super) fn agent_calls(
        &self,
        mut call: AgentCall,
        noted: oneshot::Sender<Seq>,
        reply: Reply<CallView>,
    ) {
        let session = check(&call).and_then(|()| self.place_of(call.session.as_ref()));
        let session = match session {
            Ok(session) => session,
            Err(failure) => return drop(reply.send(Err(failure))),
        };
        call.client = plain(&call.client);
        let mode = self.mode();
        self.tell(&session, |_| Word::Call(Box::new(Calling { call, mode, noted, reply })));
    }

    /// Which proposals go without a person's yes, of what begins now.
    pub(super) fn mode(&self) -> Mode {
        if self.settings.dry_run { Mode::Confirm } else { self.settings.mode }
    }

    /// The session that is named, or the only one.
    fn place_of(&self, named: Option<&SessionId>) -> Result<SessionId, Failure> {
        if let Some(named) = named
            && self.sessions.contains_key(named)
        {
            return Ok(named.clone());
        }
        let open: Vec<String> = {
            let mut open: Vec<_> = self.sessions.iter().collect();
            open.sort_by(|a, b| a.0.cmp(b.0));
            open.iter().map(|(name, known)| format!("{name} ({})", known.shown().name)).collect()
        };
        let mut only = self.sessions.keys();
        let (message, hint) = match (named, only.next(), only.next()) {
            (None, Some(session), None) => return Ok(session.clone()),
            (_, None, _) => (
                "No place is open.".to_owned(),
                "Open one in Studio with Vector's plugin, or start Vector with --place FILE or --project \
                 DIR."
                    .to_owned(),
            ),
            (Some(named), ..) => (
                format!("No place is open as session {named}."),
                format!("Open are: {}.", open.join(", ")),
            ),
            (None, ..) => (
                "Several places are open, and the call does not say which it is for.".to_owned(),
                format!("Call again with `session`, one of: {}.", open.join(", ")),
            ),
        };
        Err(failed(FailureKind::NotFound, message, hint))
    }

    /// What became of a call, by its number or its proposal's.
    pub(super) fn agent_call(&self, seq: Seq, reply: Reply<CallView>) {
        match self.session_of_entry(seq) {
            Ok(session) => self.tell(&session, |_| Word::Called(seq, reply)),
            Err(_) => drop(reply.send(self.recorded(seq))),
        }
    }

    /// The same of a call whose place is closed.
    fn recorded(&self, seq: Seq) -> Result<CallView, Failure> {
        let record = self.ledger.record(seq).map_err(|error| broken(&error))?;
        let workflow = record.ok_or_else(|| missing(seq))?.workflow;
        let state = state_of(&self.ledger, workflow)?;
        let found = state.workflow(workflow).and_then(|it| view(it, workflow, seq));
        found.ok_or_else(|| missing(seq))
    }

    pub(super) fn agent_cancels(&self, seq: Seq, reply: Reply<CallView>) {
        match self.session_of_entry(seq) {
            Ok(session) => self.tell(&session, |_| Word::CancelCall(seq, reply)),
            Err(failure) => drop(reply.send(Err(failure))),
        }
    }

    /// Says something to all sessions.
    pub(super) fn tell_all(&self, word: impl Fn() -> Word) {
        for session in self.sessions.values() {
            let _ = session.words.send(word());
        }
    }

    /// What agents have called lately.
    pub(super) fn agent_log(&self) -> Result<AgentLog, Failure> {
        let mut calls = Vec::new();
        for started in self.ledger.started(LISTED).map_err(|error| broken(&error))? {
            let Entry::Started { driver, place, .. } = &started.entry else {
                continue;
            };
            let Some(client) = driver.strip_prefix(AGENT) else {
                continue;
            };
            let records = self.ledger.workflow(started.seq).map_err(|error| broken(&error))?;
            calls.extend(logged(&records, client, &place.name()));
            if calls.len() >= LOGGED {
                break;
            }
        }
        calls.sort_by_key(|call| call.view.call);
        let first = calls.len().saturating_sub(LOGGED);
        Ok(AgentLog { calls: calls.split_off(first) })
    }
}

/// The calls of a workflow, as the record shows them.
fn logged(records: &[Record], client: &str, place: &str) -> Vec<LoggedCall> {
    let mut state = workflow::State::default();
    for record in records {
        state.apply(record);
    }
    let all = records.iter().filter_map(|record| {
        let Entry::Called { args, .. } = &record.entry else {
            return None;
        };
        let own = state.workflow(record.workflow)?;
        let mut view = view(own, record.workflow, record.seq)?;
        if let Became::Done { answer, .. } = &mut view.became
            && answer.to_string().len() > LONG
        {
            *answer = Json::Null;
        }
        let (client, place) = (client.to_owned(), place.to_owned());
        Some(LoggedCall { at: record.at, client, place, brief: workflow::brief(args), view })
    });
    all.collect()
}

fn check(call: &AgentCall) -> Result<(), Failure> {
    let is_name = |name: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain)
    };
    if !is_name(&call.connection) || !is_name(&call.id) {
        return Err(failed(
            FailureKind::BadRequest,
            "A connection and a call are called by 1 to 64 letters, digits and dashes.",
            "Call them so.",
        ));
    }
    if !may_call(&call.tool) {
        return Err(failed(
            FailureKind::NotFound,
            format!("`{}` is no tool for an agent of its own.", call.tool),
            "tools/list names those that are.",
        ));
    }
    Ok(())
}

/// A program's name, fit for a line.
fn plain(name: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || " .-_/".contains(*c);
    let name: String = name.chars().filter(is_plain).take(MAX_NAME).collect();
    let name = name.trim();
    if name.is_empty() { "an agent".to_owned() } else { name.to_owned() }
}
