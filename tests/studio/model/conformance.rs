//! Binds the modeled daemon to the engine: performs traces of the model on a real engine with a real
//! ledger, and compares the two after each step.
//!
//! A trace is a shortest path to a step of the daemon. The traces cover each distinct step: what
//! the daemon and the ledger have before it, what happens, and what they have afterwards. Compared
//! are the status of each proposal, which work Studio has, whether the engine waits for Studio,
//! whether it has the place, what it has overlaid, and which reports it refuses.
//!
//! Some steps of the model are one step of the engine: it publishes only after its last round, so
//! the rounds are compared there, or where Vector stops between two of them.

use std::collections::{HashMap, HashSet};

use vector_core::workflow::PendingStatus;

use super::engine::{RealDaemon, SharedLedger, WorkNumbers};
use super::explore::{Exploration, Explore, FastBuild, explore};
use super::state::ModelStatus::{Applied, Waiting};
use super::state::{
    BOTH, DaemonEvent, DaemonState, ModelState, ModelStatus, NO_EFFECT, OverlayTrial, PluginPost,
    ReportedOutcome, RunRound, StepEvent,
};
use super::{ALONE, CASE, FREE, LOADED_AGAIN, MIXED, ModelCase, ProposalKind, UNFINISHED};

/// A step of a trace.
#[derive(Clone, Copy)]
struct TraceStep {
    event: StepEvent,
    to: ModelState,
}

/// What distinguishes a step of the daemon from the others.
#[derive(PartialEq, Eq, Hash)]
struct StepKey {
    ledgers: [[ModelStatus; 2]; 2],
    daemons: [DaemonState; 2],
    event: DaemonEvent,
}

impl StepKey {
    /// `is_fine` also distinguishes what the mirror shows.
    fn new(from: &ModelState, event: DaemonEvent, to: &ModelState, is_fine: bool) -> Self {
        let event = match event {
            // What is reported is in the mirror afterwards, if it is accepted.
            DaemonEvent::Receive(PluginPost::End(_), answer) => {
                DaemonEvent::Receive(PluginPost::End(NO_EFFECT), answer)
            }
            DaemonEvent::Receive(PluginPost::Update(_), answer) => {
                DaemonEvent::Receive(PluginPost::Update(NO_EFFECT), answer)
            }
            event => event,
        };
        let mut daemons = [from.daemon, to.daemon];
        if matches!(event, DaemonEvent::Receive(PluginPost::End(_) | PluginPost::Update(_), _)) {
            daemons[0].mirror = daemons[0].mirror.map(|_| NO_EFFECT);
        }
        for daemon in &mut daemons {
            // Numbers of epochs and of work mean nothing by themselves.
            if !is_fine {
                (daemon.mirror, daemon.need) = (daemon.mirror.map(|_| NO_EFFECT), false);
            }
            daemon.seat = u8::from(daemon.seat > 0);
            daemon.work = daemon.work.map(|number| u8::from(number > 0));
            (daemon.next, daemon.board) = (0, [0; 2]);
        }
        Self { ledgers: [from.ledger, to.ledger], daemons, event }
    }
}

/// Returns a shortest trace for each distinct step of the daemon, except for steps that another of
/// these traces contains, shortest first.
fn select_traces(case: &ModelCase) -> Vec<Vec<TraceStep>> {
    let explored = explore(case);
    let is_fine = std::env::var_os("VECTOR_TRACES").is_some();
    let mut seen = HashSet::new();
    let mut chosen: Vec<(usize, TraceStep)> = Vec::new();
    for (at, from) in explored.states.iter().enumerate() {
        for step in case.list_steps(from) {
            let StepEvent::Daemon(event) = step.event else {
                continue;
            };
            if seen.insert(StepKey::new(from, event, &step.to, is_fine)) {
                chosen.push((at, TraceStep { event: step.event, to: step.to }));
            }
        }
    }
    let mut is_inside = vec![false; explored.states.len()];
    for (at, _) in &chosen {
        explored.find_path(*at).into_iter().for_each(|inside| is_inside[inside] = true);
    }
    let numbers: HashMap<ModelState, usize, FastBuild> =
        explored.states.iter().enumerate().map(|(at, state)| (*state, at)).collect();
    chosen.retain(|(at, step)| {
        let to = numbers[&step.to];
        let is_arrival = explored.arrival(to) == Some((*at, step.event));
        !(is_arrival && is_inside[to])
    });
    let complete = |(at, last)| complete_trace(case, &explored, at, last);
    let mut traces: Vec<Vec<TraceStep>> = chosen.into_iter().map(complete).collect();
    traces.sort_by_key(Vec::len);
    traces
}

/// Returns the shortest trace to a state and one more step, until the daemon is idle.
fn complete_trace(
    case: &ModelCase,
    explored: &Exploration<ModelCase>,
    at: usize,
    last: TraceStep,
) -> Vec<TraceStep> {
    let step = |at: usize| {
        let event = explored.arrival(at)?.1;
        Some(TraceStep { event, to: explored.states[at] })
    };
    let mut trace: Vec<TraceStep> = explored.find_path(at).into_iter().filter_map(step).collect();
    trace.push(last);
    let mut to = last.to;
    while to.daemon.is_up && to.daemon.is_busy {
        let round = case.run_round(&mut to);
        trace.push(TraceStep { event: StepEvent::Daemon(DaemonEvent::Run(round)), to });
    }
    trace
}

/// A trace that is performed on the engine.
struct TraceReplay<'a> {
    case: &'a ModelCase,
    real: RealDaemon<'a>,
    /// The state of the model.
    now: ModelState,
    /// The engine's number for each number of the model, of one life of the daemon.
    numbers: HashMap<u8, u64>,
    /// The number of performed steps.
    steps: usize,
}

impl<'a> TraceReplay<'a> {
    fn new(case: &'a ModelCase, shared: &mut SharedLedger) -> Self {
        let real = RealDaemon::new(case, shared);
        Self { case, real, now: case.initial_state(), numbers: HashMap::new(), steps: 0 }
    }

    fn perform_all(&mut self, trace: &[TraceStep]) -> Result<(), String> {
        self.compare()?;
        for step in trace {
            self.steps += 1;
            let before = std::mem::replace(&mut self.now, step.to);
            if let StepEvent::Daemon(event) = step.event {
                self.perform(&before, event)?;
                if event == DaemonEvent::Abandon {
                    // The workflow has ended, and the engine does not serve it any more.
                    return Ok(());
                }
            }
        }
        if self.now.daemon.seat > 0 && !self.now.daemon.is_greeted && self.real.is_served() {
            self.check_undo()?;
        }
        Ok(())
    }

    fn perform(&mut self, before: &ModelState, event: DaemonEvent) -> Result<(), String> {
        match event {
            DaemonEvent::Stop => {
                if before.daemon.is_busy {
                    self.real.run_until(self.now.ledger);
                } else {
                    self.real.stop();
                }
                self.numbers.clear();
                return self.compare_statuses();
            }
            DaemonEvent::Hello if before.daemon.seat == 0 => self.real.begin_session(),
            DaemonEvent::HandleHello => self.real.handle_hello(),
            DaemonEvent::Approve(p) => {
                let approved = self.real.approve(p);
                approved.map_err(|error| format!("it refuses the approval: {error}"))?;
            }
            DaemonEvent::Reject(p) => self.real.reject(p),
            // The call was of another epoch, so it does not reach the engine.
            DaemonEvent::Receive(..) if !self.now.daemon.is_busy => {}
            DaemonEvent::Receive(PluginPost::Ack(p, outcome), _) => {
                self.real.acknowledge(p, outcome);
            }
            DaemonEvent::Receive(post, answer) => {
                let is_accepted = self.real.report(post);
                if Some(is_accepted) != answer {
                    return Err(format!("it answers {is_accepted} to {post:?}"));
                }
            }
            DaemonEvent::Run(RunRound::Publish) => {
                self.real.run_all();
                return self.compare();
            }
            // The session handles a hello later, and the rounds are performed with the last one.
            DaemonEvent::Start
            | DaemonEvent::Hello
            | DaemonEvent::Run(
                RunRound::HandOut | RunRound::FailUnclear | RunRound::Replan | RunRound::Overlay,
            ) => {}
            DaemonEvent::Abandon => {
                self.real.abandon();
                return self.compare_statuses();
            }
        }
        Ok(())
    }

    fn compare_statuses(&self) -> Result<(), String> {
        let (modeled, real) = (self.now.ledger, self.real.statuses());
        if modeled == real {
            return Ok(());
        }
        Err(format!("the proposals are {real:?}, not {modeled:?}"))
    }

    /// Compares an idle engine with the model.
    fn compare(&mut self) -> Result<(), String> {
        self.compare_statuses()?;
        let modeled = self.now.daemon;
        if self.real.has_mirror() != modeled.mirror.is_some() {
            return Err(format!("it has the place: {}", self.real.has_mirror()));
        }
        let real: WorkNumbers = self.real.work_numbers();
        for p in BOTH {
            let is_same = match (real[p], modeled.work[p]) {
                (None, 0) => true,
                (None, _) | (Some(_), 0) => false,
                (Some(real), modeled) => *self.numbers.entry(modeled).or_insert(real) == real,
            };
            if !is_same {
                return Err(format!("the work is {real:?}, not {:?}", modeled.work));
            }
        }
        if let Some(id) = self.real.unknown_id() {
            return Err(format!("the work names {id}, which Studio does not know"));
        }
        let is_applying = BOTH
            .iter()
            .any(|p| self.now.ledger[*p] == ModelStatus::Applying && modeled.work[*p] > 0);
        if self.real.is_applying() != is_applying {
            return Err(format!("it waits for Studio: {}", self.real.is_applying()));
        }
        self.compare_overlay()
    }

    /// Compares what the scene shows. Replanned proposals have the same effects, so nothing is
    /// known once there is one.
    fn compare_overlay(&self) -> Result<(), String> {
        let Some(mirror) = self.now.daemon.mirror else {
            return Ok(());
        };
        if self.now.ledger.contains(&ModelStatus::Withdrawn) {
            return Ok(());
        }
        for p in BOTH {
            let is_nested =
                p == 1 && self.case.is_built() && self.case.kinds[0] == ProposalKind::Create;
            let is_overlaid = self.now.daemon.trial[p] == OverlayTrial::On;
            let has_base = !is_nested || mirror.there[0] || is_overlaid;
            let is_shown = is_overlaid || (mirror.there[p] && has_base);
            if self.real.shows_effect(p) != is_shown {
                return Err(format!("its scene shows proposal {}: {}", p + 1, !is_shown));
            }
        }
        Ok(())
    }

    /// The model does not record an undo: whether Studio reports one changes nothing else.
    fn check_undo(&mut self) -> Result<(), String> {
        let before = (self.now.ledger, self.real.work_numbers());
        for p in BOTH {
            if before.0[p] == ModelStatus::Applied {
                self.real.report_undo(p, false);
                self.expect_status(p, "undone", |it| matches!(it, PendingStatus::Undone(_)))?;
                self.real.report_undo(p, true);
                self.expect_status(p, "redone", |it| matches!(it, PendingStatus::Applied(_)))?;
            }
        }
        self.real.run_all();
        if (self.real.statuses(), self.real.work_numbers()) != before {
            return Err("an undo and redo changes other proposals".to_owned());
        }
        for p in BOTH.into_iter().filter(|p| before.0[*p] == ModelStatus::Applying) {
            // What was undone was applied, so the acknowledgement brings nothing new.
            self.real.report_undo(p, false);
            self.expect_status(p, "undone", |it| matches!(it, PendingStatus::Undone(_)))?;
            if self.real.is_applying() || self.real.acknowledge(p, ReportedOutcome::Applied) {
                return Err("it waits for what was undone".to_owned());
            }
        }
        Ok(())
    }

    fn expect_status(
        &self,
        p: usize,
        what: &str,
        is_it: impl Fn(&PendingStatus) -> bool,
    ) -> Result<(), String> {
        let status = &self.real.real_statuses()[p];
        if is_it(status) { Ok(()) } else { Err(format!("it is not {what} but {status:?}")) }
    }
}

fn format_steps(trace: &[TraceStep]) -> String {
    let lines: Vec<String> = trace.iter().map(|step| format!("  {}", step.event)).collect();
    lines.join("\n")
}

/// Performs all traces of a case, and returns them. Panics with the shortest trace on which the
/// engine differs.
fn check_case(case: &ModelCase, shared: &mut SharedLedger) -> Vec<Vec<TraceStep>> {
    let traces = select_traces(case);
    println!("{:?}: {} traces", case.kinds, traces.len());
    for trace in &traces {
        let mut replay = TraceReplay::new(case, shared);
        replay.perform_all(trace).unwrap_or_else(|why| {
            let steps = format_steps(&trace[..replay.steps]);
            panic!(
                "{:?}: the engine differs from the model: {why}.\n{steps}\n  {:?}",
                case.kinds, replay.now
            );
        });
    }
    traces
}

/// `VECTOR_TRACES` set to any value takes more traces; that takes minutes.
#[test]
fn engine_does_what_the_modeled_daemon_does() {
    // The user types over what was applied only in the last one.
    let overwritten = ModelCase { ledger: [Applied, Waiting], mishaps: 2, ..FREE };
    let cases = [CASE, MIXED, FREE, ALONE, LOADED_AGAIN, UNFINISHED];
    let cases = cases.map(|it| ModelCase { mishaps: 1, ..it });
    let mut shared = SharedLedger::new();
    let mut traces = Vec::new();
    for case in cases.into_iter().chain([overwritten]) {
        traces.extend(check_case(&case, &mut shared));
    }
    let unclear = StepEvent::Daemon(DaemonEvent::Run(RunRound::FailUnclear));
    assert!(traces.iter().flatten().any(|step| step.event == unclear), "a write is overwritten");
}

#[test]
fn engine_refuses_only_a_proposal_on_top_of_a_pending_one() {
    let mut shared = SharedLedger::new();
    assert!(RealDaemon::new(&CASE, &mut shared).approve(1).is_err());
    assert!(RealDaemon::new(&FREE, &mut shared).approve(1).is_ok());
}
