//! A model checker for exactly-once application: the daemon, the plugin and the wire between them
//! handle two approved proposals, with every order of events and a bounded number of mishaps.
//!
//! The model follows the code that `model/daemon.rs` and `model/plugin.rs` name. One append to the
//! ledger is one step, so Vector may stop between any two; whatever yields in the plugin is a step,
//! so it may be reloaded there. Mishaps: Vector stops; the plugin is reloaded; Studio is closed
//! (its place, when opened again, is another session); a poll, a post or an answer is lost or late.
//! A late request may still arrive after its repetition, which is how requests are duplicated. The
//! user may also edit a script, or undo. The user approves at any time, a dependent proposal only
//! after its base, and may undo edits.
//!
//! Invariants of every state: an effect has happened at most once; nothing is `applied` that was
//! not done; nothing that was done is replanned, or failed without a notice to look for it. And
//! from every state, all approved proposals can still be settled without another mishap.
//!
//! Not modeled: planning and replanned proposals; questions (`Tell`); several actions in one
//! proposal; playtests; how the ledger records an undo by the user; the event stream; when Studio
//! reports changes; and the details of the mirror: a snapshot is two posts, and each contains the
//! whole place.

mod daemon;
mod explore;
mod mishaps;
mod plugin;
mod state;

use self::Kind::{Create, Write};
use self::explore::{Explore, Step, explore};
use self::state::Status::{Again, Applied, Applying, Approved, Failed, Look, Waiting};
use self::state::{
    BOTH, Daemon, LOADED, Line, Memory, Outcome, Place, Plugin, STOPPED, State, Status,
};

/// A bug in the protocol, which the checker must find.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
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
    PlansAgainWhatIsHandedOut,
    /// A failed acknowledgement counts as answered in the epoch that has begun meanwhile.
    AnsweredInTheNext,
    /// The plugin records only the end of its work, and not the beginning.
    NotesOnlyTheEnd,
    /// A write that the user immediately types over is reported as not done.
    TypedOver,
    /// After a snapshot has begun, Vector does not request another, even if the first never ends.
    AsksOnce,
    /// Approved proposals of a place that is never opened again are not settled.
    ForgetsTheClosed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Fits only if its script has the text that it was planned on.
    Write,
    /// Fits any number of times.
    Create,
}

/// A scenario: two proposals, and what can go wrong.
struct Case {
    kinds: [Kind; 2],
    /// Whether the second is planned on top of the first.
    is_built: bool,
    /// The initial status of the proposals.
    ledger: [Status; 2],
    /// Whether the plugin was just loaded. Otherwise it is connected and idle.
    is_new: bool,
    mishaps: u8,
    mistake: Option<Mistake>,
}

impl Case {
    /// Whether no proposal is open and no work is left.
    fn is_over(s: &State) -> bool {
        let is_open = |status: &Status| matches!(status, Waiting | Approved | Applying);
        let is_idle = s.plugin.doing.is_none() && s.plugin.queue == [None; 2];
        let is_offered = matches!(s.plugin.line, Line::Polled([a, b], _) if a + b > 0);
        let is_handed_out = s.daemon.work != [0; 2] || s.daemon.board != [0; 2];
        !s.ledger.iter().any(is_open) && is_idle && !is_offered && !is_handed_out
    }
}

impl Explore for Case {
    type State = State;

    fn start(&self) -> State {
        let there = self.ledger.map(|status| status == Applied);
        let place = Place { there, other: [false; 2] };
        let done =
            |is_there| if is_there { Memory::Done(Outcome::Applied) } else { Memory::Nothing };
        let memory = there.map(done);
        let (mirror, is_busy) = (Some(place), self.ledger.contains(&Approved));
        let epoch = u8::from(!self.is_new);
        State {
            ledger: self.ledger,
            daemon: Daemon { is_up: true, seat: 1, mirror, is_busy, ..STOPPED },
            plugin: Plugin { epoch, is_ended: self.is_new, memory, ..LOADED },
            late: [None; 2],
            place,
            times: there.map(u8::from),
            mishaps: self.mishaps,
        }
    }

    /// While the session works, only steps that it can notice are added: the order of the others
    /// relative to its work makes no difference.
    fn steps(&self, from: &State) -> Vec<Step<State>> {
        let mut steps = Vec::with_capacity(16);
        if Self::is_over(from) {
            return steps;
        }
        let is_busy = from.daemon.is_busy || from.daemon.is_greeted;
        let mut add = |what, of, to| {
            steps.push(Step { what, of, is_mishap: false, to: self.normal(to) });
        };
        self.daemon_steps(from, &mut add);
        if !from.plugin.is_gone {
            self.line_steps(from, &mut add);
            if !is_busy {
                self.slot_steps(from, &mut add);
                self.work_steps(from, &mut add);
            }
        }
        let mut add = |what, of, to| {
            steps.push(Step { what, of, is_mishap: true, to: self.normal(to) });
        };
        let s = State { mishaps: from.mishaps.saturating_sub(1), ..*from };
        if from.mishaps > 0 {
            Self::stops(s, &mut add);
        }
        if is_busy {
            return steps;
        }
        self.approvals(from, &mut add);
        Self::second_thoughts(from, &mut add);
        self.late_steps(from, &mut add);
        if from.mishaps > 0 && !s.plugin.is_gone {
            Self::breaks(s, &mut add);
            self.losses(s, &mut add);
            self.edits(s, &mut add);
        }
        steps
    }

    fn wrong(&self, s: &State) -> Option<&'static str> {
        BOTH.into_iter().find_map(|p| match (s.times[p], s.ledger[p]) {
            (2.., _) => Some("it was done twice"),
            (0, Applied) => Some("it is said to be applied, and was never done"),
            (1, Again) => Some("it was done, and is planned again"),
            (1, Failed) => Some("it was done, and is said to have failed"),
            (1, Waiting | Approved) => Some("it was done before that was written down"),
            _ => None,
        })
    }

    fn is_settled(&self, s: &State) -> bool {
        !s.ledger.iter().any(|status| matches!(status, Approved | Applying))
    }
}

/// Both are pending; the second is planned on top of the first.
const CASE: Case = Case {
    kinds: [Create, Create],
    is_built: true,
    ledger: [Waiting, Waiting],
    is_new: false,
    mishaps: 2,
    mistake: None,
};
const MIXED: Case = Case { kinds: [Write, Create], mishaps: 1, ..CASE };
const FREE: Case = Case { kinds: [Write, Write], is_built: false, mishaps: 1, ..CASE };
/// One is already applied, so that more can go wrong with the other.
const ALONE: Case = Case { kinds: [Create, Write], ledger: [Applied, Waiting], ..CASE };
const LOADED_AGAIN: Case = Case { kinds: [Create, Create], is_new: true, ..ALONE };

const TWICE: &str = "it was done twice";
const AGAIN: &str = "it was done, and is planned again";
const NOT_FAILED: &str = "it was done, and is said to have failed";
const NEVER: &str = "what was approved is never settled";

/// `VECTOR_MISHAPS` raises their number: three take minutes, with `--release`.
fn nothing_is_wrong(cases: [Case; 5]) {
    let more = std::env::var("VECTOR_MISHAPS").ok().and_then(|count| count.parse().ok());
    let mut reached = [false; 4];
    for case in &cases.map(|case| Case { mishaps: more.unwrap_or(case.mishaps), ..case }) {
        let explored = explore(case);
        let (states, steps) = (explored.states.len(), explored.steps);
        println!("{:?}, {} mishaps: {states} states, {steps} steps", case.kinds, case.mishaps);
        if let Some((why, trace)) = explored.wrong {
            panic!("{why}:\n{trace}");
        }
        for (at, status) in [Applied, Again, Look, Applying].into_iter().enumerate() {
            reached[at] |= explored.states.iter().any(|s| s.ledger[1] == status);
        }
    }
    assert_eq!(reached, [true; 4], "the model moves");
}

#[test]
fn proposals_are_applied_exactly_once_despite_mishaps() {
    nothing_is_wrong([CASE, MIXED, FREE, ALONE, LOADED_AGAIN]);
}

#[test]
fn explorer_finds_each_seeded_mistake() {
    let found = [
        (Mistake::Pops, 1, CASE, NEVER),
        (Mistake::Forgets, 1, CASE, TWICE),
        (Mistake::AnyEpoch, 2, ALONE, AGAIN),
        (Mistake::EpochAtTheDoor, 2, ALONE, AGAIN),
        (Mistake::PlansAgainWhatIsHandedOut, 2, FREE, AGAIN),
        (Mistake::AnsweredInTheNext, 1, CASE, NEVER),
        (Mistake::NotesOnlyTheEnd, 1, MIXED, AGAIN),
        (Mistake::TypedOver, 1, MIXED, NOT_FAILED),
        (Mistake::AsksOnce, 2, LOADED_AGAIN, NEVER),
        (Mistake::ForgetsTheClosed, 1, CASE, NEVER),
    ];
    for (mistake, mishaps, case, expected) in found {
        let explored = explore(&Case { mishaps, mistake: Some(mistake), ..case });
        let (why, trace) = explored.wrong.unwrap_or(("nothing", String::new()));
        println!("{mistake:?}, {} states: {why}\n{trace}", explored.states.len());
        assert_eq!(why, expected, "{mistake:?}");
    }
}
