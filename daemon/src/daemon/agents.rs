//! Agents of their own at the desk: which place a call is for, what became of calls, and what is on
//! record of them.

use scene_schemas::api::{
    AgentCall, AgentCallOutcome, AgentLog, CallView, CancelCall, Failure, FailureKind, LoggedCall,
    SessionId,
};
use scene_schemas::entry::{Entry, Record, Seq};
use scene_schemas::proposal::Mode;
use serde_json::Value as Json;
use tokio::sync::oneshot;
use vector_core::tools;
use vector_core::workflow::{self, AGENT, Workflow};
use vector_ledger::LedgerError;

use super::views::{ledger_failure, session_of};
use super::{DaemonActor, LISTED, SessionMessage};
use crate::server::{Reply, failure};
use crate::session::{CallRequest, call_name, call_not_found, workflow_call_view};

/// How many records a workflow may have before its first call.
const FIRST: usize = 4;
/// How many calls the record shows.
const LOGGED: usize = 100;
/// Longer answers are left out of the record, in bytes.
const LONG: usize = 400;
/// How long names of connections and calls are.
const MAX_NAME: usize = 64;

impl DaemonActor {
    /// Passes a call on to the session that it is for.
    pub(super) fn route_agent_call(
        &mut self,
        mut call: AgentCall,
        noted: oneshot::Sender<CallView>,
        reply: Reply<CallView>,
    ) {
        let checked = check_call(&call);
        if checked.is_ok() && call.again {
            match self.find_earlier_call(&call) {
                Ok(Some(view)) => {
                    let _ = noted.send(view.clone());
                    return drop(reply.send(Ok(view)));
                }
                Ok(None) => {}
                Err(failure) => return drop(reply.send(Err(failure))),
            }
        }
        let session = checked.and_then(|()| self.resolve_session(call.session.as_ref()));
        let session = match session {
            Ok(session) => session,
            Err(failure) => return drop(reply.send(Err(failure))),
        };
        call.client = clean_client_name(&call.client);
        let mode = self.current_mode();
        self.send_to_session(&session, |_| {
            SessionMessage::Call(Box::new(CallRequest { call, mode, noted, reply }))
        });
    }

    /// Which proposals go without a person's yes, of what begins now.
    pub(super) fn current_mode(&self) -> Mode {
        self.active_settings.mode()
    }

    /// A call that was sent before, where it was made: its place may be closed by now, and its workflow over.
    fn find_earlier_call(&mut self, call: &AgentCall) -> Result<Option<CallView>, Failure> {
        let name = call_name(&call.connection, &call.id);
        let start = format!("{}:", call.connection);
        for started in self.ledger.recent_starts(LISTED).map_err(|error| ledger_failure(&error))? {
            if agent_of(&started).is_none() {
                continue;
            }
            let first = self
                .ledger
                .first_records(started.seq, FIRST)
                .map_err(|error| ledger_failure(&error))?;
            let is_its = first.iter().any(|record| match &record.entry {
                Entry::Called { id: Some(id), .. } => id.starts_with(&start),
                _ => false,
            });
            if !is_its {
                continue;
            }
            let state = self.workflow_cache.current_state(&self.ledger, started.seq);
            let workflow = state.map_err(|error| ledger_failure(&error))?.workflow(started.seq);
            let made =
                workflow.and_then(|it| workflow_call_view(it, started.seq, it.call_named(&name)?));
            if made.is_some() {
                return Ok(made);
            }
        }
        Ok(None)
    }

    /// The session that is named, or the only one.
    pub(super) fn resolve_session(&self, named: Option<&SessionId>) -> Result<SessionId, Failure> {
        if let Some(named) = named
            && self.sessions.contains_key(named)
        {
            return Ok(named.clone());
        }
        let open: Vec<String> = {
            let mut open: Vec<_> = self.sessions.iter().collect();
            open.sort_by(|a, b| a.0.cmp(b.0));
            open.iter()
                .map(|(name, known)| format!("{name} ({})", known.to_open_place().name))
                .collect()
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
        Err(failure(FailureKind::NotFound, message, hint))
    }

    /// What became of a call, by its number or its proposal's. A place that is open knows.
    pub(super) fn send_call_status(&mut self, seq: Seq, reply: Reply<CallView>) {
        let session = || -> Result<Option<SessionId>, Failure> {
            let record = self.ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
            let workflow = record.ok_or_else(|| call_not_found(seq))?.workflow;
            let started =
                self.ledger.record_at(workflow).map_err(|error| ledger_failure(&error))?;
            let session = started.as_ref().and_then(session_of);
            Ok(session.filter(|session| self.sessions.contains_key(session)))
        };
        match session() {
            Ok(Some(session)) => {
                self.send_to_session(&session, |_| SessionMessage::CallStatus(seq, reply));
            }
            Ok(None) => drop(reply.send(self.recorded_call(seq))),
            Err(failure) => drop(reply.send(Err(failure))),
        }
    }

    /// The same of a call whose place is closed.
    fn recorded_call(&mut self, seq: Seq) -> Result<CallView, Failure> {
        let record = self.ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
        let workflow = record.ok_or_else(|| call_not_found(seq))?.workflow;
        let state = self
            .workflow_cache
            .current_state(&self.ledger, workflow)
            .map_err(|error| ledger_failure(&error))?;
        let found = state.workflow(workflow).and_then(|it| workflow_call_view(it, workflow, seq));
        found.ok_or_else(|| call_not_found(seq))
    }

    /// Whoever made a call takes it back; the session that has it does so.
    pub(super) fn cancel_agent_call(&self, call: &CancelCall) {
        let name = call_name(&call.connection, &call.id);
        self.broadcast_message(|| SessionMessage::CancelCall(name.clone()));
    }

    /// Says something to all sessions.
    pub(super) fn broadcast_message(&self, word: impl Fn() -> SessionMessage) {
        for session in self.sessions.values() {
            let _ = session.message_sender.send(word());
        }
    }

    /// What agents have called: all that is not settled, and the last calls.
    pub(super) fn read_agent_log(&mut self) -> Result<AgentLog, Failure> {
        let failed = |error: &LedgerError| ledger_failure(error);
        let unfinished = self.ledger.unfinished_starts().map_err(|error| failed(&error))?;
        let mut started = self.ledger.recent_starts(LISTED).map_err(|error| failed(&error))?;
        started.extend(unfinished);
        started.sort_unstable_by_key(|record| record.seq);
        started.dedup_by_key(|record| record.seq);
        let (mut calls, mut unsettled) = (Vec::new(), Vec::new());
        for record in started {
            let Some(client) = agent_of(&record) else {
                continue;
            };
            let state = self
                .workflow_cache
                .current_state(&self.ledger, record.seq)
                .map_err(|error| failed(&error))?;
            let Some(workflow) = state.workflow(record.seq) else {
                continue;
            };
            let line = |seq, args: Option<&Json>| log_row(workflow, record.seq, seq, args, client);
            let last = workflow.last_calls().take(LOGGED);
            calls.extend(last.filter_map(|(seq, args)| line(seq, Some(args))));
            unsettled
                .extend(workflow.unsettled_calls().into_iter().filter_map(|seq| line(seq, None)));
        }
        calls.sort_by_key(|call| call.view.call);
        let first = calls.len().saturating_sub(LOGGED);
        Ok(AgentLog { unsettled, calls: calls.split_off(first) })
    }
}

/// The agent of a workflow, by its beginning.
fn agent_of(started: &Record) -> Option<&str> {
    match &started.entry {
        Entry::Started { driver, .. } => driver.strip_prefix(AGENT),
        _ => None,
    }
}

/// A call, as the record shows it.
fn log_row(
    workflow: &Workflow,
    name: Seq,
    seq: Seq,
    args: Option<&Json>,
    client: &str,
) -> Option<LoggedCall> {
    let mut view = workflow_call_view(workflow, name, seq)?;
    if let AgentCallOutcome::Done { answer, .. } = &mut view.became
        && answer.to_string().len() > LONG
    {
        *answer = Json::Null;
    }
    let args = args.or_else(|| workflow.call(seq).map(|(_, args)| args));
    let brief = args.map(workflow::brief_json).unwrap_or_default();
    Some(LoggedCall {
        client: client.to_owned(),
        place: workflow.place.name(),
        brief,
        disconnected: workflow.disconnected.is_some(),
        view,
    })
}

fn check_call(call: &AgentCall) -> Result<(), Failure> {
    let is_name = |name: &str| {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !name.is_empty() && name.len() <= MAX_NAME && name.chars().all(is_plain)
    };
    if !is_name(&call.connection) || !is_name(&call.id) {
        return Err(failure(
            FailureKind::BadRequest,
            "A connection and a call are called by 1 to 64 letters, digits and dashes.",
            "Call them so.",
        ));
    }
    let why = match tools::find_tool(&call.tool) {
        Ok(tool) if tool.is_for_agents() => return Ok(()),
        Ok(_) => format!("`{}` is not a tool for MCP clients.", call.tool),
        Err(_) => tools::unknown_tool(&call.tool, &tools::OF_THE_SERVER),
    };
    Err(failure(FailureKind::NotFound, why, "tools/list lists all tools."))
}

/// A program's name, fit for a line.
fn clean_client_name(name: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || " .-_/".contains(*c);
    let name: String = name.chars().filter(is_plain).take(MAX_NAME).collect();
    let name = name.trim();
    if name.is_empty() { "an agent".to_owned() } else { name.to_owned() }
}
