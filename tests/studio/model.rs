//! Exactly once, explored: a model of what the daemon, the plugin and the wire between them do to two
//! approved proposals, with every order of events and a bounded number of mishaps.
//!
//! It follows the code, and `model/daemon.rs` and `model/plugin.rs` say which. One append to the
//! ledger is one step, so Vector may stop between any two; whatever yields in the plugin is a step, so
//! it may be loaded again there. Mishaps: Vector stops; the plugin is loaded again; Studio is closed
//! (its place, when opened again, is another session); a poll, a post or an answer is lost, or late:
//! what was sent may still arrive, behind what is sent again, which is how requests double; a person
//! edits a script, or undoes. Persons approve when they like, what stands on another after that one,
//! and take edits back.
//!
//! In every state an effect has happened at most once, nothing is `applied` that was not done, and
//! nothing that was done is planned again, or failed without a word to look whether it is there. And
//! from every state, without another mishap, what was approved can still be settled.
//!
//! Left out: planning, and what is planned again; questions (`Tell`); several actions in one proposal;
//! playtests; what a person's undo becomes in the ledger; the stream of events; when Studio tells
//! what changed; and how the mirror is told: a snapshot is two posts, and each says the whole place.

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

/// How the protocol can be got wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mistake {
    /// A poll takes work away, instead of having it offered until it is answered.
    Pops,
    /// The plugin does not know what it has done: also where it cannot write that down.
    Forgets,
    /// An acknowledgement counts in whatever epoch it was made.
    AnyEpoch,
    /// The epoch of a call is looked at when it comes in, and not when it is its turn.
    EpochAtTheDoor,
    /// What is planned again takes with it what Studio is doing or has done.
    PlansAgainWhatIsHandedOut,
    /// An acknowledgement that fails counts as answered in the epoch that has begun meanwhile.
    AnsweredInTheNext,
    /// The plugin writes down what it has done, and not that it has begun.
    NotesOnlyTheEnd,
    /// A write over which a person types at once is said not to have happened.
    TypedOver,
    /// Once a snapshot has begun, Vector does not ask for one, also where that one never ends.
    AsksOnce,
    /// Nobody settles what was approved for a place that is never opened again.
    ForgetsTheClosed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// It fits only where its script has the text that it was planned on.
    Write,
    /// It fits any number of times.
    Create,
}

/// A case: two proposals, and what can go wrong.
struct Case {
    kinds: [Kind; 2],
    /// The second stands on the first.
    is_built: bool,
    /// What has become of them so far.
    ledger: [Status; 2],
    /// The plugin was just loaded; otherwise it is known, and all is quiet.
    is_new: bool,
    mishaps: u8,
    mistake: Option<Mistake>,
}

impl Case {
    /// Nothing waits, and nobody has anything to do.
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

    /// While the session works, only what it can notice happens: the rest may as well be before it or
    /// behind it.
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

/// Both wait; the second stands on the first.
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
/// One has been done before, so that more can go wrong with the other.
const ALONE: Case = Case { kinds: [Create, Write], ledger: [Applied, Waiting], ..CASE };
const LOADED_AGAIN: Case = Case { kinds: [Create, Create], is_new: true, ..ALONE };

const TWICE: &str = "it was done twice";
const AGAIN: &str = "it was done, and is planned again";
const NOT_FAILED: &str = "it was done, and is said to have failed";
const NEVER: &str = "what was approved is never settled";

/// `VECTOR_MISHAPS` asks for more of them: three take minutes, with `--release`.
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
fn everything_happens_once() {
    nothing_is_wrong([CASE, MIXED, FREE, ALONE, LOADED_AGAIN]);
}

#[test]
fn each_mistake_is_found() {
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
