//! A model checker for exactly-once application: the daemon, the plugin and the wire between them
//! handle two approved proposals, with every order of events and a bounded number of mishaps.
//!
//! The model follows the code that `model/daemon.rs` and `model/plugin.rs` name, and fails when that
//! code decides differently: `model/conformance.rs` performs the steps of the modeled daemon on the
//! engine, and `model/plugin_cases.rs` gives the modeled and the real plugin the same repeated work.
//!
//! One append to the ledger is one step, so Vector may stop between any two; whatever yields in the
//! plugin is a step, so it may be reloaded there. Mishaps: Vector stops; the plugin is reloaded;
//! Studio is closed (its place, when opened again, is another session); a poll, a post or an answer
//! is lost or late. A late request may still arrive after its repetition, which is how requests are
//! duplicated. The user may also edit a script, or undo. The user approves or rejects at any time,
//! a dependent proposal only after its base, and may undo edits.
//!
//! Invariants of every state: an effect has happened at most once; nothing is `applied` that was
//! not done; nothing that was done is replanned, or failed without a notice to look for it. And
//! from every state, all approved proposals can still be settled without another mishap.
//!
//! Not modeled: planning and replanned proposals; queries (`Query`); several actions in one
//! proposal; playtests; how the ledger records an undo by the user; the event stream; when Studio
//! reports changes; and the details of the mirror: a snapshot is two posts, and each contains the
//! whole place.

mod conformance;
mod daemon;
mod engine;
mod explore;
mod mishaps;
mod plugin;
mod plugin_cases;
mod state;

use self::ProposalKind::{Create, Write};
use self::explore::{Explore, ModelStep, explore};
use self::state::ModelStatus::{Applied, Applying, Approved, Failed, Unclear, Waiting, Withdrawn};
use self::state::{
    BOTH, DaemonState, LOADED, ModelState, ModelStatus, OverlayTrial, PlaceState, PluginState,
    PollLine, ReportedOutcome, STOPPED, StepEvent, WorkMemory,
};

/// A bug in the protocol, which the checker must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SeededMistake {
    /// A poll removes work, instead of offering it until it is answered.
    Pops,
    /// The plugin does not remember what it has done; this also covers a plugin that cannot store
    /// it.
    Forgets,
    /// An acknowledgement counts in any epoch.
    AnyEpoch,
    /// The epoch of a call is checked when it arrives, and not when it is processed.
    EpochAtTheDoor,
    /// A replan includes proposals that Studio is applying or has applied.
    ReplansDispatched,
    /// A failed acknowledgement counts as answered in the epoch that has begun meanwhile.
    AnsweredInTheNext,
    /// The plugin records only the end of its work, and not the beginning.
    NotesOnlyTheEnd,
    /// A write that the user immediately types over is reported as not done.
    TypedOver,
    /// After a snapshot has begun, Vector does not request another, even if the first never ends.
    AsksOnce,
    /// A proposal whose effect the mirror shows after a restart counts as applied.
    BelievesTheMirror,
    /// Approved proposals of a place that is never opened again are not settled.
    ForgetsTheClosed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProposalKind {
    /// Fits only if what it changes is as it was planned on.
    Write,
    /// Fits any number of times.
    Create,
}

/// How the second proposal relates to the first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProposalRelation {
    /// It is planned on top of the first.
    Built,
    /// It touches nothing that the first does, and the user decides in any order.
    Beside,
}

/// A scenario: two proposals, and what can go wrong.
struct ModelCase {
    kinds: [ProposalKind; 2],
    relation: ProposalRelation,
    /// Whether what the plugin reports contains a write that is not finished, and that is reverted
    /// if the plugin is loaded again.
    reads_unfinished: bool,
    /// The initial status of the proposals.
    ledger: [ModelStatus; 2],
    /// Whether the plugin was just loaded. Otherwise it is connected and idle.
    is_new: bool,
    mishaps: u8,
    mistake: Option<SeededMistake>,
}

impl ModelCase {
    fn is_built(&self) -> bool {
        self.relation == ProposalRelation::Built
    }

    /// Whether the proposals change only texts of scripts.
    fn is_of_texts(&self) -> bool {
        self.kinds == [Write, Write]
    }

    /// Whether no proposal is open and no work is left.
    fn is_over(s: &ModelState) -> bool {
        let is_open = |status: &ModelStatus| matches!(status, Waiting | Approved | Applying);
        let is_idle = s.plugin.doing.is_none() && s.plugin.queue == [None; 2];
        let is_offered = matches!(s.plugin.line, PollLine::Polled([a, b], _) if a + b > 0);
        let is_handed_out = s.daemon.work != [0; 2] || s.daemon.board != [0; 2];
        !s.ledger.iter().any(is_open) && is_idle && !is_offered && !is_handed_out
    }
}

impl Explore for ModelCase {
    type State = ModelState;
    type Event = StepEvent;

    fn initial_state(&self) -> ModelState {
        let there = self.ledger.map(|status| status == Applied);
        let place = PlaceState { there, other: [false; 2] };
        let done = |is_there| {
            if is_there { WorkMemory::Done(ReportedOutcome::Applied) } else { WorkMemory::Nothing }
        };
        let memory = there.map(done);
        let (mirror, is_busy) = (Some(place), self.ledger.contains(&Approved));
        let overlay = |status| if status == Waiting { OverlayTrial::On } else { OverlayTrial::Off };
        let trial = self.ledger.map(overlay);
        let epoch = u8::from(!self.is_new);
        ModelState {
            ledger: self.ledger,
            daemon: DaemonState { is_up: true, seat: 1, mirror, is_busy, trial, ..STOPPED },
            plugin: PluginState { epoch, is_ended: self.is_new, memory, ..LOADED },
            late: [None; 2],
            place,
            times: there.map(u8::from),
            mishaps: self.mishaps,
        }
    }

    /// While the session works, only steps that it can notice are added: the order of the others
    /// relative to its work makes no difference.
    fn list_steps(&self, from: &ModelState) -> Vec<ModelStep<Self>> {
        let mut steps = Vec::with_capacity(16);
        if Self::is_over(from) {
            return steps;
        }
        let is_busy = from.daemon.is_busy || from.daemon.is_greeted;
        let mut add = |event, of, to| {
            steps.push(ModelStep { event, of, is_mishap: false, to: self.normalize(to) });
        };
        self.daemon_steps(from, &mut add);
        if !from.plugin.is_gone {
            self.line_steps(from, &mut add);
            if !is_busy {
                self.slot_steps(from, &mut add);
                self.work_steps(from, &mut add);
            }
        }
        let mut add = |event, of, to| {
            steps.push(ModelStep { event, of, is_mishap: true, to: self.normalize(to) });
        };
        let s = ModelState { mishaps: from.mishaps.saturating_sub(1), ..*from };
        if from.mishaps > 0 {
            Self::stop_step(s, &mut add);
        }
        if is_busy {
            return steps;
        }
        self.decision_steps(from, &mut add);
        Self::restore_steps(from, &mut add);
        self.late_steps(from, &mut add);
        if from.mishaps > 0 && !s.plugin.is_gone {
            Self::closing_steps(s, &mut add);
            self.loss_steps(s, &mut add);
            self.edit_steps(s, &mut add);
        }
        steps
    }

    fn find_violation(&self, s: &ModelState) -> Option<&'static str> {
        BOTH.into_iter().find_map(|p| match (s.times[p], s.ledger[p]) {
            (2.., _) => Some(TWICE),
            (0, Applied) => Some(NEVER_DONE),
            (1, Withdrawn) => Some(REPLANNED),
            (1, Failed) => Some(NOT_FAILED),
            (1, Waiting | Approved) => Some("it was done before that was written down"),
            _ => None,
        })
    }

    fn is_settled(&self, s: &ModelState) -> bool {
        !s.ledger.iter().any(|status| matches!(status, Approved | Applying))
    }
}

/// Both are pending; the second is planned on top of the first.
const CASE: ModelCase = ModelCase {
    kinds: [Create, Create],
    relation: ProposalRelation::Built,
    reads_unfinished: false,
    ledger: [Waiting, Waiting],
    is_new: false,
    mishaps: 2,
    mistake: None,
};
const MIXED: ModelCase = ModelCase { kinds: [Write, Create], mishaps: 1, ..CASE };
/// They are decided in any order.
const FREE: ModelCase =
    ModelCase { kinds: [Write, Write], relation: ProposalRelation::Beside, mishaps: 1, ..CASE };
/// One is already applied, so that more can go wrong with the other.
const ALONE: ModelCase = ModelCase { kinds: [Create, Write], ledger: [Applied, Waiting], ..CASE };
const LOADED_AGAIN: ModelCase = ModelCase {
    kinds: [Create, Create],
    relation: ProposalRelation::Beside,
    is_new: true,
    ..ALONE
};

const TWICE: &str = "it was done twice";
const REPLANNED: &str = "it was done, and is replanned";
const NOT_FAILED: &str = "it was done, and is said to have failed";
const NEVER_DONE: &str = "it is said to be applied, and was never done";
const NEVER: &str = "what was approved is never settled";

/// `VECTOR_MISHAPS` raises their number: three take minutes, with `--release`.
fn check_cases(cases: [ModelCase; 5]) {
    let more = std::env::var("VECTOR_MISHAPS").ok().and_then(|count| count.parse().ok());
    let mut reached = [false; 4];
    for case in &cases.map(|case| ModelCase { mishaps: more.unwrap_or(case.mishaps), ..case }) {
        let explored = explore(case);
        let (states, steps) = (explored.states.len(), explored.steps);
        println!("{:?}, {} mishaps: {states} states, {steps} steps", case.kinds, case.mishaps);
        if let Some((why, trace)) = explored.violation {
            panic!("{why}:\n{trace}");
        }
        for (at, status) in [Applied, Withdrawn, Unclear, Applying].into_iter().enumerate() {
            reached[at] |= explored.states.iter().any(|s| s.ledger[1] == status);
        }
    }
    assert_eq!(reached, [true; 4], "the model moves");
}

#[test]
fn proposals_are_applied_exactly_once_despite_mishaps() {
    check_cases([CASE, MIXED, FREE, ALONE, LOADED_AGAIN]);
}

#[test]
fn explorer_finds_each_seeded_mistake() {
    let found = [
        (SeededMistake::Pops, 1, CASE, NEVER),
        (SeededMistake::Forgets, 1, CASE, TWICE),
        (SeededMistake::AnyEpoch, 2, ALONE, REPLANNED),
        (SeededMistake::EpochAtTheDoor, 2, ALONE, REPLANNED),
        (SeededMistake::ReplansDispatched, 2, FREE, REPLANNED),
        (SeededMistake::AnsweredInTheNext, 1, CASE, NEVER),
        (SeededMistake::NotesOnlyTheEnd, 2, MIXED, REPLANNED),
        (SeededMistake::TypedOver, 1, MIXED, NOT_FAILED),
        (SeededMistake::AsksOnce, 2, LOADED_AGAIN, NEVER),
        (SeededMistake::ForgetsTheClosed, 1, CASE, NEVER),
    ];
    for (mistake, mishaps, case, expected) in found {
        let explored = explore(&ModelCase { mishaps, mistake: Some(mistake), ..case });
        let (why, trace) = explored.violation.unwrap_or(("nothing", String::new()));
        println!("{mistake:?}, {} states: {why}\n{trace}", explored.states.len());
        assert_eq!(why, expected, "{mistake:?}");
    }
}

/// A script is written some time before its recording is finished. If Vector is restarted then, its
/// mirror shows the write; if the plugin is loaded again, the write is reverted.
const UNFINISHED: ModelCase = ModelCase { reads_unfinished: true, mishaps: 2, ..MIXED };

#[test]
fn unfinished_write_that_is_reported_counts_only_once_the_plugin_says_so() {
    let explored = explore(&UNFINISHED);
    if let Some((why, trace)) = explored.violation {
        panic!("{why}:\n{trace}");
    }
    let found =
        explore(&ModelCase { mistake: Some(SeededMistake::BelievesTheMirror), ..UNFINISHED });
    let (why, trace) = found.violation.expect("the mistake is found");
    println!("{trace}");
    assert_eq!(why, NEVER_DONE);
}
