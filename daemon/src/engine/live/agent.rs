//! The calls of agents of their own in a session: each connection has one workflow here, and each call
//! is answered when it is planned.
//!
//! What a person has still to decide upon is not waited for here; whoever wants to know asks again when
//! something has happened. An agent decides nothing: it can only take back what nobody has decided upon.

use std::time::{Duration, Instant};

use scene_schemas::api::{AgentCall, Became, CallView, Failure, FailureKind};
use scene_schemas::entry::{Finish, Seq};
use scene_schemas::proposal::Mode;
use tokio::sync::oneshot;

use super::{Job, Live, wrong};
use crate::core::prompt::Call;
use crate::core::tools;
use crate::core::workflow::{Input, Workflow};
use crate::engine::{Driver, Due, EngineError, settled};
use crate::ledger::LedgerError;
use crate::server::{Reply, failed};

/// A connection that has called nothing for this long is over.
const IDLE: Duration = Duration::from_mins(30);

/// A call that an agent makes.
pub(in crate::engine) struct Calling {
    pub(in crate::engine) call: AgentCall,
    pub(in crate::engine) mode: Mode,
    /// Told the call's number as soon as that is durable.
    pub(in crate::engine) noted: oneshot::Sender<Seq>,
    /// Told when it is planned.
    pub(in crate::engine) reply: Reply<CallView>,
}

/// The agent of a workflow.
#[derive(Debug)]
pub(super) struct Agent {
    /// Its connection; none where that has ended.
    connection: Option<String>,
    called: Instant,
    /// Those who wait until a call is planned.
    waiting: Vec<(Seq, Reply<CallView>)>,
}

impl Agent {
    fn of(connection: Option<String>) -> Self {
        Self { connection, called: Instant::now(), waiting: Vec::new() }
    }

    /// The agent of a workflow that was left: its connection may come back.
    pub(super) fn left(workflow: &Workflow) -> Option<Self> {
        workflow.agent()?;
        let connection = workflow.last_name().and_then(|name| name.split_once(':'));
        Some(Self::of(connection.map(|(connection, _)| connection.to_owned())))
    }
}

/// What a call is called in the ledger.
fn name(call: &AgentCall) -> String {
    format!("{}:{}", call.connection, call.id)
}

impl Live {
    /// Writes a call down, to be planned when its workflow has its turn.
    pub(super) fn agent_calls(&mut self, calling: Calling) {
        let Calling { call, mode, noted, reply } = calling;
        // Whoever has gone by now was told that nothing was called.
        if reply.is_closed() {
            return;
        }
        if let Some((workflow, known)) = self.called_before(&call) {
            let _ = noted.send(known);
            self.wait_for(workflow, known, reply);
            return;
        }
        match self.write_down(&call, mode) {
            Ok((workflow, seq)) => {
                if noted.send(seq).is_err() {
                    let _ = self.cancel_call(workflow, seq);
                }
                self.wait_for(workflow, seq, reply);
                // What only reads is answered by now.
                self.answer_agents(workflow, None);
            }
            Err(failure) => drop(reply.send(Err(failure))),
        }
    }

    fn wait_for(&mut self, workflow: Seq, call: Seq, reply: Reply<CallView>) {
        let job = self.jobs.entry(workflow).or_default();
        job.stopped = false;
        let agent = job.agent.get_or_insert_with(|| Agent::of(None));
        agent.called = Instant::now();
        agent.waiting.push((call, reply));
    }

    /// The same call, where its answer was lost.
    fn called_before(&self, call: &AgentCall) -> Option<(Seq, Seq)> {
        let name = name(call);
        // What a model calls its calls is its own business.
        let mut of_agents = self.engine.at_work().filter(|(_, it)| it.agent().is_some());
        of_agents.find_map(|(seq, workflow)| Some((seq, workflow.call_named(&name)?)))
    }

    fn write_down(&mut self, call: &AgentCall, mode: Mode) -> Result<(Seq, Seq), Failure> {
        let workflow = self.workflow_of(call, mode)?;
        self.engine.turn_to(workflow);
        let id = Some(name(call));
        let written = Call { id, ..Call::new(call.tool.clone(), call.args.clone()) };
        let read = self.engine.answer_at_once(&written).map_err(|error| wrong(&error))?;
        if let Some(seq) = read {
            return Ok((workflow, seq));
        }
        let records = self.engine.input(Input::Called(vec![written]));
        let records = records.map_err(|error| wrong(&error))?;
        let seq = records.first().map(|record| record.seq);
        seq.map(|seq| (workflow, seq)).ok_or_else(|| {
            failed(FailureKind::Internal, "The call could not be written down.", "Call again.")
        })
    }

    /// The workflow of a connection. Where a person has chosen another mode since it began, a new one
    /// does.
    fn workflow_of(&mut self, call: &AgentCall, mode: Mode) -> Result<Seq, Failure> {
        let is_its = |(_, job): &(&Seq, &mut Job)| {
            let connection = job.agent.as_ref().and_then(|agent| agent.connection.as_ref());
            connection == Some(&call.connection)
        };
        if let Some((seq, job)) = self.jobs.iter_mut().find(is_its) {
            let seq = *seq;
            self.engine.turn_to(seq);
            if self.engine.workflow().is_some_and(|workflow| workflow.mode == mode) {
                return Ok(seq);
            }
            // Who waits there is answered, and then it is over.
            if let Some(agent) = &mut job.agent {
                agent.connection = None;
            }
        }
        let driver = Driver::Agent { name: call.client.clone() };
        let goal = format!("What {} calls", call.client);
        self.engine.read_memory();
        let begun =
            self.engine.begin(goal.as_str(), driver, mode).map_err(|error| wrong(&error))?;
        let agent = Some(Agent::of(Some(call.connection.clone())));
        self.jobs.insert(begun, Job { agent, ..Job::default() });
        Ok(begun)
    }

    /// What became of a call, by its number or its proposal's; none where it is not at work here.
    fn called(&self, seq: Seq) -> Option<CallView> {
        let mut at_work = self.engine.at_work();
        at_work.find_map(|(name, workflow)| view(workflow, name, seq))
    }

    /// What became of a call, also where its workflow is over.
    pub(super) fn agent_called(&self, seq: Seq) -> Result<CallView, Failure> {
        if let Some(view) = self.called(seq) {
            return Ok(view);
        }
        let recorded = || {
            let workflow = self.ledger.record(seq)?.map(|record| record.workflow);
            let Some(workflow) = workflow else { return Ok(None) };
            let state = settled::read(&self.ledger, workflow)?;
            Ok(state.workflow(workflow).and_then(|it| view(it, workflow, seq)))
        };
        let recorded: Result<Option<CallView>, LedgerError> = recorded();
        recorded.map_err(|error| wrong(&error.into()))?.ok_or_else(|| no_call(seq))
    }

    /// Takes a call back for whoever made it; what became of it.
    pub(super) fn agent_cancels(&mut self, seq: Seq) -> Result<CallView, Failure> {
        if let Some(view) = self.called(seq) {
            self.cancel_call(view.workflow, view.call).map_err(|error| wrong(&error))?;
        }
        self.agent_called(seq)
    }

    /// Takes a call back, where nobody has decided upon it.
    fn cancel_call(&mut self, workflow: Seq, call: Seq) -> Result<(), EngineError> {
        self.engine.turn_to(workflow);
        if self.engine.asks() == Some(workflow) {
            self.engine.forget_questions();
        }
        if let Some(job) = self.jobs.get_mut(&workflow) {
            job.asking = None;
        }
        self.engine.input(Input::Cancelled { call }).map(drop)
    }

    /// A connection has ended: what waits can still be decided upon, and then its workflow is over.
    pub(super) fn agent_ends(&mut self, connection: &str) {
        for agent in self.jobs.values_mut().filter_map(|job| job.agent.as_mut()) {
            if agent.connection.as_deref() == Some(connection) {
                agent.connection = None;
            }
        }
    }

    /// The same for connections that have been silent for long.
    pub(super) fn agents_are_idle(&mut self) {
        for agent in self.jobs.values_mut().filter_map(|job| job.agent.as_mut()) {
            if agent.called.elapsed() > IDLE {
                agent.connection = None;
            }
        }
    }

    /// Ends the workflow whose turn it is, where its agent will not call any more.
    pub(super) fn no_more_calls(&mut self, workflow: Seq) -> Result<Due, EngineError> {
        let agent = self.jobs.get(&workflow).and_then(|job| job.agent.as_ref());
        if agent.is_some_and(|agent| agent.connection.is_some() || !agent.waiting.is_empty()) {
            return Ok(Due::Call);
        }
        self.engine.input(Input::Finish { outcome: Finish::Done })?;
        self.engine.run()
    }

    /// Tells those who wait what became of their calls, as far as they are planned. Where the workflow
    /// cannot go on, the others are told so.
    pub(super) fn answer_agents(&mut self, workflow: Seq, trouble: Option<&str>) {
        let Some(agent) = self.jobs.get_mut(&workflow).and_then(|job| job.agent.as_mut()) else {
            return;
        };
        let waiting = std::mem::take(&mut agent.waiting);
        let mut left = Vec::new();
        for (call, reply) in waiting {
            match (self.called(call), trouble) {
                (Some(view), None) if matches!(view.became, Became::Working {}) => {
                    left.push((call, reply));
                }
                (Some(view), None) => {
                    let on_top_of = self.engine.undecided();
                    drop(reply.send(Ok(CallView { on_top_of, ..view })));
                }
                (Some(view), Some(_)) if !matches!(view.became, Became::Working {}) => {
                    drop(reply.send(Ok(view)));
                }
                (_, trouble) => {
                    let message = trouble.unwrap_or("The call is not at work any more.");
                    let hint = "Call again; where it stays, start Vector anew.";
                    let _ = reply.send(Err(failed(FailureKind::Internal, message, hint)));
                }
            }
        }
        if let Some(agent) = self.jobs.get_mut(&workflow).and_then(|job| job.agent.as_mut()) {
            agent.waiting = left;
        }
    }
}

/// What became of a call of a workflow, by its number or its proposal's.
pub(in crate::engine) fn view(workflow: &Workflow, name: Seq, seq: Seq) -> Option<CallView> {
    workflow.agent()?;
    let call = workflow.call_of(seq)?;
    Some(CallView {
        call,
        workflow: name,
        session: workflow.place.session(),
        tool: workflow.call(call)?.0.to_owned(),
        became: workflow.became(call)?,
        on_top_of: Vec::new(),
    })
}

fn no_call(seq: Seq) -> Failure {
    let message = format!("There is no call of an agent with the number {seq}.");
    failed(FailureKind::NotFound, message, "proposal_status without an id lists the last ones.")
}

/// Whether agents may call a tool of this name; one that there is not is refused when it is planned.
pub(in crate::engine) fn may_call(name: &str) -> bool {
    tools::find(name).map_or(true, tools::Tool::is_for_agents)
}
