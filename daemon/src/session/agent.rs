//! Calls of external agents in a session. Each connection has one workflow here, and each call is
//! answered when it is planned.
//!
//! Pending decisions are not waited for: the agent asks again when an event reports a change. An
//! agent decides nothing. It can only withdraw calls that are not decided.

use std::sync::Arc;
use std::time::{Duration, Instant};

use scene_schemas::api::{AgentCall, AgentCallOutcome, CallView, Failure, FailureKind};
use scene_schemas::entry::{Finish, Seq};
use scene_schemas::proposal::Mode;
use tokio::sync::oneshot;
use vector_core::prompt::ToolCall;
use vector_core::workflow::{Workflow, WorkflowInput};
use vector_engine::model_request;
use vector_engine::workflow_state;
use vector_engine::{EngineError, NextStep, ToolDriver};
use vector_ledger::LedgerError;
use vector_place::count_noun;

use super::{Reply, SessionActor, WorkflowAction, WorkflowSlot, engine_failure};
use crate::daemon::review_view;
use crate::event_hub::EventHub;
use crate::failure::failure;

/// A connection without open requests that has made no call for this long has ended.
const IDLE: Duration = Duration::from_mins(30);
/// The time within which a client of an earlier daemon may reconnect.
const RETURNS: Duration = Duration::from_mins(1);
const SECONDS_OF_A_DAY: usize = 24 * 60 * 60;
/// The number of withdrawn calls that are remembered in case they arrive later.
const CANCELLED: usize = 64;

pub(crate) struct CallRequest {
    pub(crate) call: AgentCall,
    /// The mode of the settings when the call came.
    pub(crate) mode: Mode,
    /// Receives the call once it is durable.
    pub(crate) noted: oneshot::Sender<CallView>,
    /// Receives the call once it is planned.
    pub(crate) reply: Reply<CallView>,
}

#[derive(Debug)]
pub(super) struct AgentConnection {
    /// The connection; None once it has ended.
    connection: Option<String>,
    last_call: Instant,
    /// Whether the agent has made no call since its workflow was resumed.
    is_restored: bool,
    /// The callers that wait until a call is planned.
    waiters: Vec<(Seq, Reply<CallView>)>,
}

impl AgentConnection {
    fn from_connection(connection: Option<String>) -> Self {
        Self { connection, last_call: Instant::now(), is_restored: false, waiters: Vec::new() }
    }

    /// Restores the agent of a workflow that was left `ago`. Its connection may come back.
    pub(super) fn from_workflow(workflow: &Workflow, ago: Duration) -> Option<Self> {
        workflow.agent_name()?;
        let is_away = workflow.disconnected.is_some() || ago >= IDLE;
        let name = workflow.last_name().filter(|_| !is_away);
        let connection = name.and_then(|name| name.split_once(':'));
        let connection = connection.map(|(connection, _)| connection.to_owned());
        Some(Self { is_restored: true, ..Self::from_connection(connection) })
    }

    pub(super) fn is_connected(&self) -> bool {
        self.connection.is_some()
    }
}

/// Returns the id of a call in the ledger.
pub(crate) fn call_name(connection: &str, id: &str) -> String {
    format!("{connection}:{id}")
}

impl SessionActor {
    /// Records a call, which is planned when its workflow is run.
    pub(super) fn start_agent_call(&mut self, calling: CallRequest) {
        let CallRequest { call, mode, noted, reply } = calling;
        let name = call_name(&call.connection, &call.id);
        // A caller that is gone was already told that no call was made. Withdrawn calls are not
        // made either.
        if reply.is_closed() {
            return;
        }
        if self.cancelled_calls.contains(&name) {
            let message = "The call was cancelled before it was made.";
            let _ = reply.send(Err(failure(FailureKind::Settled, message, "Call again.")));
            return;
        }
        let written = match self.find_earlier_call(&name) {
            Some(known) => Ok(known),
            None => self.record_call(&call, &name, mode),
        };
        let (workflow, seq) = match written {
            Ok(written) => written,
            Err(failure) => return drop(reply.send(Err(failure))),
        };
        let Some(view) = self.view_call(seq) else {
            return;
        };
        if noted.send(view).is_err() {
            let _ = self.cancel_call(workflow, seq);
        }
        self.add_waiter(workflow, seq, reply);
        // A call that only reads is already answered.
        self.answer_agents(workflow, None);
    }

    fn add_waiter(&mut self, workflow: Seq, call: Seq, reply: Reply<CallView>) {
        let job = self.workflow_slots.entry(workflow).or_default();
        job.is_stopped = false;
        let agent = job.agent.get_or_insert_with(|| AgentConnection::from_connection(None));
        (agent.last_call, agent.is_restored) = (Instant::now(), false);
        agent.waiters.push((call, reply));
    }

    /// Finds a call that was made before, whose answer was lost.
    fn find_earlier_call(&self, name: &str) -> Option<(Seq, Seq)> {
        // Models choose the ids of their calls themselves, so only agents' calls are compared.
        let mut of_agents =
            self.engine.active_workflows().filter(|(_, it)| it.agent_name().is_some());
        of_agents.find_map(|(seq, workflow)| Some((seq, workflow.call_named(name)?)))
    }

    fn record_call(
        &mut self,
        call: &AgentCall,
        name: &str,
        mode: Mode,
    ) -> Result<(Seq, Seq), Failure> {
        let workflow = self.workflow_for_call(call, mode)?;
        let id = Some(name.to_owned());
        let written = ToolCall { id, ..ToolCall::new(call.tool.clone(), call.args.clone()) };
        let read = self
            .engine
            .answer_immediately(workflow, &written)
            .map_err(|error| engine_failure(&error))?;
        if let Some(seq) = read {
            return Ok((workflow, seq));
        }
        let records = self.engine.handle_input(workflow, WorkflowInput::Called(vec![written]));
        let records = records.map_err(|error| engine_failure(&error))?;
        let seq = records.first().map(|record| record.seq);
        seq.map(|seq| (workflow, seq)).ok_or_else(|| {
            failure(FailureKind::Internal, "The call could not be recorded.", "Call again.")
        })
    }

    /// Returns the workflow of a connection. A new one begins if the user has changed the mode
    /// since.
    fn workflow_for_call(&mut self, call: &AgentCall, mode: Mode) -> Result<Seq, Failure> {
        let is_its = |(_, job): &(&Seq, &mut WorkflowSlot)| {
            let connection = job.agent.as_ref().and_then(|agent| agent.connection.as_ref());
            connection == Some(&call.connection)
        };
        if let Some((seq, job)) = self.workflow_slots.iter_mut().find(is_its) {
            let seq = *seq;
            if self.engine.workflow(seq).is_some_and(|workflow| workflow.mode == mode) {
                return Ok(seq);
            }
            // The callers that wait there are answered, and then the workflow ends.
            if let Some(agent) = &mut job.agent {
                agent.connection = None;
            }
        }
        let driver = ToolDriver::Agent { name: call.client.clone() };
        let goal = format!("{} (MCP)", call.client);
        self.engine.read_memory();
        let started = self
            .engine
            .begin_workflow(goal.as_str(), driver, mode)
            .map_err(|error| engine_failure(&error))?;
        let agent = Some(AgentConnection::from_connection(Some(call.connection.clone())));
        self.workflow_slots.insert(started, WorkflowSlot { agent, ..WorkflowSlot::default() });
        Ok(started)
    }

    /// Returns a call by its number or its proposal's; None if its workflow is not active here.
    fn view_call(&self, seq: Seq) -> Option<CallView> {
        let mut at_work = self.engine.active_workflows();
        let view = at_work.find_map(|(name, workflow)| workflow_call_view(workflow, name, seq))?;
        // What a person does in other places is not told.
        let is_here = |seq: &Seq| self.engine.find_proposal(*seq).is_some();
        let viewed = self.event_hub.viewed_proposal().filter(is_here);
        Some(CallView { viewed, ..view })
    }

    /// Returns the outcome of a call, also if its workflow has ended.
    pub(super) fn call_status(&self, seq: Seq) -> Result<CallView, Failure> {
        if let Some(view) = self.view_call(seq) {
            return Ok(view);
        }
        let recorded = || {
            let workflow = self.ledger.record_at(seq)?.map(|record| record.workflow);
            let Some(workflow) = workflow else { return Ok(None) };
            let state = workflow_state::read_workflow(&self.ledger, workflow)?;
            Ok(state.workflow(workflow).and_then(|it| workflow_call_view(it, workflow, seq)))
        };
        let recorded: Result<Option<CallView>, LedgerError> = recorded();
        recorded.map_err(|error| engine_failure(&error.into()))?.ok_or_else(|| call_not_found(seq))
    }

    /// Withdraws a call by its id, also if it has not arrived yet.
    pub(super) fn cancel_named_call(&mut self, name: &str) {
        if let Some((workflow, call)) = self.find_earlier_call(name) {
            if let Err(error) = self.cancel_call(workflow, call) {
                self.stop_with_error(workflow, &error);
            }
            return;
        }
        self.cancelled_calls.push_back(name.to_owned());
        while self.cancelled_calls.len() > CANCELLED {
            self.cancelled_calls.pop_front();
        }
    }

    /// Withdraws a call unless it is decided.
    fn cancel_call(&mut self, workflow: Seq, call: Seq) -> Result<(), EngineError> {
        if self.engine.is_asking_for(call) {
            self.engine.forget_questions();
        }
        self.engine.end_fetch(call);
        if let Some(job) = self.workflow_slots.get_mut(&workflow) {
            job.active_request.take_if(|asking| asking.is_for(call));
        }
        // A task that the call began ends with it.
        if let Some(task) = self.requested_task(call) {
            // A task that cannot be cancelled has ended.
            let _ = self.act_on_workflow(task, WorkflowAction::Cancel, None);
        }
        self.engine.handle_input(workflow, WorkflowInput::Cancelled { call }).map(drop)
    }

    /// Ends a connection. Pending proposals can still be decided, and then the workflow ends.
    pub(super) fn end_connection(&mut self, connection: &str) {
        self.disconnect_agents(|agent, _| agent.connection.as_deref() == Some(connection));
    }

    /// Ends the connections of the selected agents, and records it.
    fn disconnect_agents(&mut self, is_gone: impl Fn(&AgentConnection, &EventHub) -> bool) {
        let event_hub = Arc::clone(&self.event_hub);
        let agents = self
            .workflow_slots
            .iter_mut()
            .filter_map(|(seq, job)| Some((*seq, job.agent.as_mut()?)));
        let gone = agents.filter(|(_, agent)| agent.is_connected() && is_gone(agent, &event_hub));
        let gone: Vec<Seq> = gone
            .map(|(seq, agent)| {
                agent.connection = None;
                seq
            })
            .collect();
        for workflow in gone {
            self.note_disconnected(workflow);
        }
    }

    /// Records that the client of a workflow has disconnected. A workflow without pending work ends
    /// by itself, which needs no entry.
    pub(super) fn note_disconnected(&mut self, workflow: Seq) {
        if self.engine.workflow(workflow).is_none_or(Workflow::is_idle) {
            return;
        }
        if let Err(error) = self.engine.handle_input(workflow, WorkflowInput::Disconnected) {
            self.stop_with_error(workflow, &error);
        }
    }

    /// Withdraws the proposals of disconnected clients that were not decided in time.
    pub(super) fn expire_disconnected(&mut self) {
        let Some(limit) = self.active_settings.pending_limit() else {
            return;
        };
        let now = model_request::unix_millis();
        let workflows: Vec<Seq> = self.workflow_slots.keys().copied().collect();
        for workflow in workflows {
            let at = self.engine.workflow(workflow).and_then(|it| it.disconnected);
            // A record that cannot be read now is read again in a minute.
            let record = at.and_then(|at| self.ledger.record_at(at).ok().flatten());
            let is_over = |at: u64| Duration::from_millis(now.saturating_sub(at)) >= limit;
            if record.is_none_or(|record| !is_over(record.at)) {
                continue;
            }
            let after = count_noun(limit.as_secs() as usize / SECONDS_OF_A_DAY, "day", "days");
            if let Err(error) = self.engine.handle_input(workflow, WorkflowInput::Expired { after })
            {
                self.stop_with_error(workflow, &error);
            }
        }
    }

    /// Prepares for the end of the session: answers the waiting callers with the current state of
    /// their calls, and finishes idle workflows.
    pub(super) fn detach_agents(&mut self) {
        let workflows: Vec<Seq> = self
            .workflow_slots
            .iter()
            .filter(|(_, job)| job.agent.is_some())
            .map(|(seq, _)| *seq)
            .collect();
        for workflow in workflows {
            let agent = self.workflow_slots.get_mut(&workflow).and_then(|job| job.agent.as_mut());
            let waiting = agent.map(|agent| std::mem::take(&mut agent.waiters)).unwrap_or_default();
            for (call, reply) in waiting {
                if let Some(view) = self.view_call(call) {
                    let _ = reply.send(Ok(view));
                }
            }
            if self.engine.workflow(workflow).is_some_and(Workflow::is_idle) {
                // If this cannot be recorded, the workflow is idle when the place is opened again.
                let _ = self
                    .engine
                    .handle_input(workflow, WorkflowInput::Finish { outcome: Finish::Done });
            }
        }
    }

    /// Ends the connections that have been silent for too long.
    pub(super) fn disconnect_idle_agents(&mut self) {
        self.disconnect_agents(|agent, event_hub| {
            let limit = if agent.is_restored { RETURNS } else { IDLE };
            let is_there = agent
                .connection
                .as_deref()
                .is_some_and(|it| event_hub.connected_clients().is_connected(it));
            !is_there && agent.last_call.elapsed() > limit
        });
    }

    /// Finishes a workflow if its agent makes no more calls.
    pub(super) fn finish_agent_workflow(&mut self, workflow: Seq) -> Result<NextStep, EngineError> {
        let agent = self.workflow_slots.get(&workflow).and_then(|job| job.agent.as_ref());
        if agent.is_some_and(|agent| agent.connection.is_some() || !agent.waiters.is_empty()) {
            return Ok(NextStep::Call);
        }
        self.engine.handle_input(workflow, WorkflowInput::Finish { outcome: Finish::Done })?;
        self.engine.run(workflow)
    }

    /// Answers the callers whose calls are planned. If the workflow cannot continue, the other
    /// callers receive an error.
    pub(super) fn answer_agents(&mut self, workflow: Seq, trouble: Option<&str>) {
        let Some(agent) = self.workflow_slots.get_mut(&workflow).and_then(|job| job.agent.as_mut())
        else {
            return;
        };
        let waiting = std::mem::take(&mut agent.waiters);
        let mut left = Vec::new();
        for (call, reply) in waiting {
            match (self.view_call(call), trouble) {
                (Some(view), _) if !matches!(view.outcome, AgentCallOutcome::Working {}) => {
                    let on_top_of = self.engine.undecided_proposals(workflow);
                    let _ = reply.send(Ok(CallView { on_top_of, ..view }));
                }
                (Some(_), None) => left.push((call, reply)),
                (_, trouble) => {
                    // A call that was reported as an error must not be made later.
                    let is_off = self.cancel_call(workflow, call).is_ok();
                    let kind = if is_off { FailureKind::Internal } else { FailureKind::Lost };
                    let message = trouble.unwrap_or("The call is no longer running.");
                    let hint = "proposal_status lists the calls; if this persists, restart Vector.";
                    let _ = reply.send(Err(failure(kind, message, hint)));
                }
            }
        }
        if let Some(agent) =
            self.workflow_slots.get_mut(&workflow).and_then(|job| job.agent.as_mut())
        {
            agent.waiters = left;
        }
    }
}

/// Returns a call of a workflow, by its number or its proposal's.
pub(crate) fn workflow_call_view(workflow: &Workflow, name: Seq, seq: Seq) -> Option<CallView> {
    workflow.agent_name()?;
    let call = workflow.call_of(seq)?;
    Some(CallView {
        call,
        workflow: name,
        session: workflow.place.session_id(),
        tool: workflow.call(call)?.0.to_owned(),
        outcome: workflow.outcome_of_call(call)?,
        on_top_of: Vec::new(),
        viewed: None,
        reviews: workflow
            .proposed_for(call)
            .map(|it| workflow.reviews_of_change(it).map(review_view).collect())
            .unwrap_or_default(),
        started: None,
    })
}

pub(crate) fn call_not_found(seq: Seq) -> Failure {
    let message = format!("There is no agent call with the ID {seq}.");
    failure(FailureKind::NotFound, message, "proposal_status without an id lists the last calls.")
}
