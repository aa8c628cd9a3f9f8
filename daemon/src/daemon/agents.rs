//! Calls of agents: selects the session for a call, and returns the outcomes and the log of calls.

use std::time::Duration;

use scene_schemas::api::{
    AgentCall, AgentCallOutcome, AgentLog, CallView, CancelCall, CommentReplies, Failure,
    FailureKind, LoggedCall, MAX_WAIT, ScriptPage, SessionId, StartedProposal, StartedTask,
};
use scene_schemas::entry::{Entry, Record, Seq};
use serde_json::Value as Json;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};
use vector_core::tools;
use vector_core::workflow::{self, AGENT, Workflow};
use vector_engine::REQUEST_REVIEW;
use vector_ledger::LedgerError;

use super::views::{ledger_failure, not_found, session_of, workflow_view};
use super::{DaemonActor, DaemonHandle, LISTED, daemon_closed};
use crate::failure::failure;
use crate::session::{
    Answer, Reply, SessionHandle, SessionMessage, WorkflowAction, call_name, call_not_found,
    workflow_call_view,
};

/// The number of records among which the first call of a workflow must be.
const FIRST: usize = 4;
/// The maximum number of calls in the log.
const LOGGED: usize = 100;
/// Longer answers are left out of the log, in bytes.
const LONG: usize = 400;
/// The maximum length of connection and call ids and of client names.
const MAX_NAME: usize = 64;

impl DaemonActor {
    /// Checks a call and passes it to its session. A call that was made before is answered from the
    /// ledger.
    fn start_call(
        &mut self,
        mut call: AgentCall,
        noted: oneshot::Sender<CallView>,
        reply: Reply<CallView>,
    ) {
        let earlier = check_call(&call)
            .and_then(|()| if call.again { self.find_earlier_call(&call) } else { Ok(None) });
        let session = match earlier {
            Ok(None) => self.resolve_session(call.session.as_ref()),
            Ok(Some(view)) => return drop(reply.send(Ok(view))),
            Err(failure) => Err(failure),
        };
        match session {
            Ok(session) => {
                call.client = clean_client_name(&call.client);
                session.call_tool(call, noted, reply);
            }
            Err(failure) => drop(reply.send(Err(failure))),
        }
    }

    /// Finds a call that was sent before. Its place may be closed by now, and its workflow
    /// finished.
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

    /// Returns the named session, or the only open one.
    fn resolve_session(&self, named: Option<&SessionId>) -> Result<SessionHandle, Failure> {
        let sessions = self.sessions.list();
        if let Some((_, session)) = sessions.iter().find(|(id, _)| Some(id) == named) {
            return Ok(session.handle.clone());
        }
        let open: Vec<String> = sessions
            .iter()
            .map(|(id, session)| format!("{id} ({})", session.to_open_place().name))
            .collect();
        let (message, hint) = match (named, &sessions[..]) {
            (None, [(_, only)]) => return Ok(only.handle.clone()),
            (_, []) => (
                "No place is open.".to_owned(),
                "Open one in Studio with Vector's plugin, or start Vector with --place FILE or --project \
                 DIR."
                    .to_owned(),
            ),
            (Some(named), _) => (
                format!("No place is open as session {named}."),
                format!("Open are: {}.", open.join(", ")),
            ),
            (None, _) => (
                "Several places are open, and the call does not specify one.".to_owned(),
                format!("Call again with `session`, one of: {}.", open.join(", ")),
            ),
        };
        Err(failure(FailureKind::NotFound, message, hint))
    }

    /// Returns the open session of a call, by its number or its proposal's; None if its place is
    /// closed.
    fn session_of_call(&self, seq: Seq) -> Result<Option<SessionHandle>, Failure> {
        let record = self.ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
        let workflow = record.ok_or_else(|| call_not_found(seq))?.workflow;
        let started = self.ledger.record_at(workflow).map_err(|error| ledger_failure(&error))?;
        let session = started.as_ref().and_then(session_of);
        Ok(session.and_then(|id| self.sessions.get(&id)).map(|session| session.handle))
    }

    /// Returns a call as the ledger records it.
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

    /// Returns a task that a call of an agent began.
    fn started_task(&mut self, task: Seq) -> Result<StartedTask, Failure> {
        let state = self
            .workflow_cache
            .current_state(&self.ledger, task)
            .map_err(|error| ledger_failure(&error))?;
        let view = workflow_view(&self.ledger, &self.event_hub, task, state)?;
        let own = state.workflow(task).ok_or_else(|| not_found(task))?;
        let said = own.messages().last().unwrap_or_default();
        let trouble = own.conversation().trouble().map(|it| format!("{} {}", it.message, it.hint));
        let proposals = own.proposals().map(|(seq, it)| StartedProposal {
            seq,
            title: it.proposal.title.clone(),
            status: it.status.to_proposal_status(),
        });
        Ok(StartedTask {
            task,
            model: view.driver,
            state: view.state,
            outcome: view.outcome,
            text: trouble.unwrap_or_else(|| said.to_owned()),
            proposals: proposals.collect(),
            parts: view.parts,
        })
    }

    /// Returns the unsettled calls and the latest calls of agents.
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

impl DaemonHandle {
    /// Calls a tool for an agent, and waits until the call is planned or its time is up. A call
    /// that could not be recorded in time is not made.
    ///
    /// # Errors
    /// The call was not made.
    pub async fn call_tool(&self, call: AgentCall) -> Result<CallView, Failure> {
        let until = Instant::now() + Duration::from_secs(call.hold.min(MAX_WAIT));
        let (noted, mut recorded) = oneshot::channel();
        let answer =
            self.run_with_reply(move |daemon, reply| daemon.start_call(call, noted, reply));
        if let Ok(answer) = timeout_at(until, answer).await {
            return self.add_started_task(answer?).await;
        }
        // From here on the call can no longer be recorded.
        recorded.close();
        recorded.try_recv().map_err(|_| {
            failure(
                FailureKind::Settled,
                "The place is busy; the call was not started.",
                "Call again in a moment.",
            )
        })
    }

    /// Returns a call by its number or its proposal's.
    ///
    /// # Errors
    /// The call does not exist.
    pub async fn call_status(&self, seq: Seq) -> Result<CallView, Failure> {
        let status = self.run_with_reply(move |daemon, reply| match daemon.session_of_call(seq) {
            // The session of an open place knows more than the ledger.
            Ok(Some(session)) => drop(session.send(SessionMessage::CallStatus(seq, reply))),
            Ok(None) => drop(reply.send(daemon.recorded_call(seq))),
            Err(failure) => drop(reply.send(Err(failure))),
        });
        let view = match status.await {
            // The session has ended meanwhile.
            Err(failure) if failure == daemon_closed() => {
                self.run(move |daemon| daemon.recorded_call(seq)).await
            }
            status => status,
        };
        self.add_started_task(view?).await
    }

    /// Adds to a call the task that it began, if it did.
    async fn add_started_task(&self, view: CallView) -> Result<CallView, Failure> {
        let AgentCallOutcome::Done { answer, .. } = &view.outcome else { return Ok(view) };
        let Some(task) = answer.get("task").and_then(Json::as_u64).map(Seq) else {
            return Ok(view);
        };
        if view.tool != tools::START_TASK {
            return Ok(view);
        }
        let started = self.run(move |daemon| daemon.started_task(task)).await?;
        Ok(CallView { started: Some(started), ..view })
    }

    /// Records what an agent did about the comments on the proposal of a call. Returns the call.
    ///
    /// # Errors
    /// The proposal has no comments, or its place is not open.
    pub async fn reply_to_comments(
        &self,
        seq: Seq,
        replies: CommentReplies,
    ) -> Result<CallView, Failure> {
        let view = self.call_status(seq).await?;
        let AgentCallOutcome::Refused { proposal: Some(proposal), .. } = view.outcome else {
            return Err(failure(
                FailureKind::Settled,
                format!("Call {} has no comments to reply to.", view.call),
                "Reply to the call whose proposal was commented on.",
            ));
        };
        let reply = WorkflowAction::Reply(proposal, replies);
        self.act_on_workflow(view.workflow, reply).await?;
        self.call_status(seq).await
    }

    /// Cancels a call for the agent that made it. All sessions are notified, after the calls that
    /// were sent before; the one that has the call cancels it.
    pub fn cancel_call(&self, call: &CancelCall) {
        let name = call_name(&call.connection, &call.id);
        self.send(move |daemon| {
            daemon.sessions.send_to_all(|| SessionMessage::CancelCall(name.clone()));
        });
    }

    /// Ends an agent's connection, after the calls that were sent before.
    pub fn end_connection(&self, connection: &str) {
        let name = connection.to_owned();
        self.send(move |daemon| {
            daemon.sessions.send_to_all(|| SessionMessage::EndConnection(name.clone()));
        });
    }

    pub fn read_agent_log(&self) -> Answer<AgentLog> {
        self.run(DaemonActor::read_agent_log)
    }

    /// Lists a page of the scripts of a place.
    pub fn list_scripts(&self, session: SessionId, cursor: Option<String>) -> Answer<ScriptPage> {
        self.forward(
            move |daemon| daemon.resolve_session(Some(&session)),
            |reply| SessionMessage::Scripts(cursor, reply),
        )
    }
}

/// Returns the agent of a workflow, from its first record.
fn agent_of(started: &Record) -> Option<&str> {
    match &started.entry {
        Entry::Started { driver, .. } => driver.strip_prefix(AGENT),
        _ => None,
    }
}

/// Returns a call as a row of the log.
fn log_row(
    workflow: &Workflow,
    name: Seq,
    seq: Seq,
    args: Option<&Json>,
    client: &str,
) -> Option<LoggedCall> {
    let mut view = workflow_call_view(workflow, name, seq)?;
    if let AgentCallOutcome::Done { answer, .. } = &mut view.outcome
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
            "The IDs of connections and calls have 1 to 64 letters, digits and dashes.",
            "Use such IDs.",
        ));
    }
    let why = match tools::find_tool(&call.tool) {
        Ok(tool) if tool.is_for_agents() => return Ok(()),
        // An argument of proposal_status, which the MCP server makes a call of.
        Err(_) if call.tool == REQUEST_REVIEW => return Ok(()),
        Ok(_) => format!("`{}` is not a tool for MCP clients.", call.tool),
        Err(_) => tools::unknown_tool(&call.tool, &tools::OF_THE_SERVER),
    };
    Err(failure(FailureKind::NotFound, why, "tools/list lists all tools."))
}

/// Removes characters from a client's name that do not fit on a line.
fn clean_client_name(name: &str) -> String {
    let is_plain = |c: &char| c.is_ascii_alphanumeric() || " .-_/".contains(*c);
    let name: String = name.chars().filter(is_plain).take(MAX_NAME).collect();
    let name = name.trim();
    if name.is_empty() { "an agent".to_owned() } else { name.to_owned() }
}
