//! The state of the daemon, the plugin, the wire and the place.

use super::{Case, Mistake};

/// Adds a step: a description, the proposal that it concerns, and the next state.
pub(super) type Add<'a> = &'a mut dyn FnMut(&'static str, usize, State);

pub(super) type P = usize;
pub(super) const BOTH: [P; 2] = [0, 1];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Status {
    Waiting,
    Approved,
    Applying,
    Applied,
    /// Withdrawn and replanned.
    Again,
    /// Failed, and nothing of it was done.
    Failed,
    /// Failed, and the notice asks the user to look whether it was done.
    Look,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Place {
    /// Whether the effect of each proposal is present.
    pub(super) there: [bool; 2],
    /// Whether each script has a text that is neither the old nor the new one.
    pub(super) other: [bool; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Outcome {
    Applied,
    Stale,
    Refused,
    Diverged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Post {
    Begin,
    End(Place),
    Update(Place),
    Ack(P, Outcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Request {
    pub(super) post: Post,
    pub(super) epoch: u8,
    /// Whether it has arrived with the current epoch.
    pub(super) is_in: bool,
}

/// The plugin's request slot for posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Slot {
    Free,
    Asked(Request),
    Answered(Request, bool),
    /// Failed, and is sent again after a pause.
    Resting(Request),
}

/// The plugin's other request: a hello after its epoch has ended, otherwise always one poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Line {
    Poll,
    Hello,
    Welcome(u8),
    Polled([u8; 2], bool),
}

/// A request that the plugin no longer waits for, and that may still arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Late {
    Hello,
    Posted(Request),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// The base was checked, and Studio's editor has been called.
    Begun,
    /// The text is written, but not yet reported.
    Written,
    Done(Outcome),
    Flushing(Outcome),
    Acking,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Work {
    pub(super) p: P,
    pub(super) number: u8,
    pub(super) epoch: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Memory {
    Nothing,
    Begun,
    Done(Outcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Snapshot {
    Not,
    Wanted,
    Begun(Place),
    Ends(Place),
}

#[expect(clippy::struct_excessive_bools, reason = "the code has these flags, each for itself")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Plugin {
    pub(super) epoch: u8,
    pub(super) is_ended: bool,
    pub(super) line: Line,
    pub(super) slot: Slot,
    /// Whether the request in the slot is of an earlier generation.
    pub(super) is_over: bool,
    pub(super) doing: Option<(Work, Stage)>,
    pub(super) queue: [Option<Work>; 2],
    /// A bit set of work numbers.
    pub(super) at_hand: u8,
    pub(super) answered: u8,
    pub(super) is_dirty: bool,
    pub(super) is_broken: bool,
    pub(super) snapshot: Snapshot,
    pub(super) memory: [Memory; 2],
    pub(super) is_gone: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Trial {
    Off,
    On,
    Untried,
}

/// The state that the daemon loses when it stops. 0 means no work number and no epoch.
#[expect(clippy::struct_excessive_bools, reason = "the code has these flags, each for itself")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Daemon {
    pub(super) is_up: bool,
    pub(super) seat: u8,
    /// Whether a hello was answered that the session has not processed.
    pub(super) is_greeted: bool,
    /// Whether the session works; it processes no message until it is done.
    pub(super) is_busy: bool,
    pub(super) work: [u8; 2],
    pub(super) next: u8,
    pub(super) board: [u8; 2],
    pub(super) popped: u8,
    pub(super) need: bool,
    pub(super) mirror: Option<Place>,
    pub(super) is_telling: bool,
    pub(super) trial: [Trial; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct State {
    pub(super) ledger: [Status; 2],
    pub(super) daemon: Daemon,
    pub(super) plugin: Plugin,
    pub(super) late: [Option<Late>; 2],
    pub(super) place: Place,
    /// How often Studio applied each proposal.
    pub(super) times: [u8; 2],
    pub(super) mishaps: u8,
}

pub(super) const STOPPED: Daemon = Daemon {
    is_up: false,
    seat: 0,
    is_greeted: false,
    is_busy: false,
    work: [0; 2],
    next: 1,
    board: [0; 2],
    popped: 0,
    need: false,
    mirror: None,
    is_telling: false,
    trial: [Trial::Off; 2],
};

pub(super) const LOADED: Plugin = Plugin {
    epoch: 0,
    is_ended: true,
    line: Line::Poll,
    slot: Slot::Free,
    is_over: false,
    doing: None,
    queue: [None; 2],
    at_hand: 0,
    answered: 0,
    is_dirty: false,
    is_broken: false,
    snapshot: Snapshot::Not,
    memory: [Memory::Nothing; 2],
    is_gone: false,
};

pub(super) fn bit(number: u8) -> u8 {
    1 << number
}

/// Visits every epoch in a state.
pub(super) fn each_epoch(s: &mut State, mut see: impl FnMut(&mut u8)) {
    see(&mut s.daemon.seat);
    see(&mut s.plugin.epoch);
    if let Line::Welcome(epoch) = &mut s.plugin.line {
        see(epoch);
    }
    match &mut s.plugin.slot {
        Slot::Asked(request) | Slot::Answered(request, _) | Slot::Resting(request) => {
            see(&mut request.epoch);
        }
        Slot::Free => {}
    }
    for late in &mut s.late {
        if let Some(Late::Posted(request)) = late {
            see(&mut request.epoch);
        }
    }
    for work in s.plugin.queue.iter_mut().flatten() {
        see(&mut work.epoch);
    }
    if let Some((work, _)) = &mut s.plugin.doing {
        see(&mut work.epoch);
    }
}

impl Case {
    /// Normalizes a state: only the order of epochs matters, and what can never count again is
    /// dropped.
    pub(super) fn normal(&self, mut s: State) -> State {
        let seat = s.daemon.seat;
        let is_looked_at = !self.makes(Mistake::AnyEpoch) && !self.makes(Mistake::EpochAtTheDoor);
        for at in BOTH {
            match s.late[at] {
                Some(Late::Posted(request)) if is_looked_at && request.epoch != seat => {
                    s.late[at] = None;
                }
                _ => {}
            }
        }
        if s.late[0].is_none() {
            s.late.swap(0, 1);
        }
        if seat > 0 && s.plugin.answered > 0 {
            let mut live = !(bit(s.daemon.next) - 1);
            for number in s.daemon.work.into_iter().chain(s.daemon.board) {
                live |= bit(number);
            }
            if let Line::Polled([a, b], _) = s.plugin.line {
                live |= bit(a) | bit(b);
            }
            s.plugin.answered &= live;
        }
        let mut known: u32 = 1;
        each_epoch(&mut s, |epoch| known |= 1 << *epoch);
        if known & (known + 1) != 0 {
            each_epoch(&mut s, |epoch| {
                *epoch = (known & ((1 << *epoch) - 1)).count_ones() as u8;
            });
        }
        s
    }
}
