//! The state of the daemon, the plugin, the wire and the place.

use std::fmt::{self, Display, Formatter};

use super::{ModelCase, SeededMistake};

/// Adds a step: what happens, the proposal that it concerns from 1 (0 for none), and the next state.
pub(super) type AddStep<'a> = &'a mut dyn FnMut(StepEvent, usize, ModelState);

/// The indices of the proposals.
pub(super) const BOTH: [usize; 2] = [0, 1];

/// What happens in a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum StepEvent {
    Daemon(DaemonEvent),
    /// A step of the plugin, the wire or the user in Studio.
    Elsewhere(&'static str),
}

/// A step of the daemon. [`super::conformance`] performs each on the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum DaemonEvent {
    Start,
    Stop,
    /// A hello is answered. It begins a session where there is none.
    Hello,
    /// The session handles a hello that was answered before.
    HandleHello,
    Approve(usize),
    Reject(usize),
    /// A post arrives, with its answer if it is processed now.
    Receive(PluginPost, Option<bool>),
    Run(RunRound),
    /// The user ends the workflow of a place that was closed.
    Abandon,
}

/// One round of the loop that runs the workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum RunRound {
    HandOut,
    FailUnclear,
    Replan,
    /// Applies the waiting proposals to the overlay.
    Overlay,
    /// Nothing is left to do, and the work is published.
    Publish,
}

impl Display for StepEvent {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Elsewhere(text) => text,
            Self::Daemon(event) => match event {
                DaemonEvent::Start => "Vector starts",
                DaemonEvent::Stop => "Vector stops",
                DaemonEvent::Hello => "the daemon answers a hello",
                DaemonEvent::HandleHello => "the session handles the hello",
                DaemonEvent::Approve(_) => "the user approves",
                DaemonEvent::Reject(_) => "the user rejects",
                DaemonEvent::Receive(post, answer) => return write_receipt(f, *post, *answer),
                DaemonEvent::Run(RunRound::HandOut) => "the daemon hands out",
                DaemonEvent::Run(RunRound::FailUnclear) => "the daemon asks the user to look",
                DaemonEvent::Run(RunRound::Replan) => "the daemon replans",
                DaemonEvent::Run(RunRound::Overlay) => "the daemon overlays what waits",
                DaemonEvent::Run(RunRound::Publish) => "the daemon publishes its work",
                DaemonEvent::Abandon => "the user ends what a closed place left",
            },
        })
    }
}

fn write_receipt(f: &mut Formatter<'_>, post: PluginPost, answer: Option<bool>) -> fmt::Result {
    let verb = match answer {
        Some(true) => "accepts",
        Some(false) => "refuses",
        None => "queues",
    };
    write!(f, "the daemon {verb} {post:?}")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ModelStatus {
    Waiting,
    Approved,
    Applying,
    Applied,
    Rejected,
    /// Withdrawn, and replanned unless its workflow ends.
    Withdrawn,
    /// Failed, and nothing of it was done.
    Failed,
    /// Failed, and the notice asks the user to look whether it was done.
    Unclear,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PlaceState {
    /// Whether the effect of each proposal is present.
    pub(super) there: [bool; 2],
    /// Whether each script has a text that is neither the old nor the new one.
    pub(super) other: [bool; 2],
}

pub(super) const NO_EFFECT: PlaceState = PlaceState { there: [false; 2], other: [false; 2] };

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum ReportedOutcome {
    Applied,
    Stale,
    Refused,
    Diverged,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PluginPost {
    Begin,
    End(PlaceState),
    Update(PlaceState),
    Ack(usize, ReportedOutcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PostRequest {
    pub(super) post: PluginPost,
    pub(super) epoch: u8,
    /// Whether it has arrived with the current epoch.
    pub(super) is_in: bool,
}

/// The plugin's request slot for posts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PostSlot {
    Free,
    Asked(PostRequest),
    Answered(PostRequest, bool),
    /// Failed, and is sent again after a pause.
    Resting(PostRequest),
}

/// The plugin's other request: a hello after its epoch has ended, otherwise always one poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum PollLine {
    Poll,
    Hello,
    Welcome(u8),
    Polled([u8; 2], bool),
}

/// A request that the plugin no longer waits for, and that may still arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum LateRequest {
    Hello,
    Posted(PostRequest),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum WorkStage {
    /// The base was checked, and Studio's editor has been called.
    Begun,
    /// The text is written, but not yet reported.
    Written,
    Done(ReportedOutcome),
    Flushing(ReportedOutcome),
    Acking,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct WorkItem {
    pub(super) p: usize,
    pub(super) number: u8,
    pub(super) epoch: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum WorkMemory {
    Nothing,
    Begun,
    Done(ReportedOutcome),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SnapshotStage {
    Not,
    Wanted,
    Begun(PlaceState),
    Ends(PlaceState),
}

#[expect(clippy::struct_excessive_bools, reason = "the code has these flags, each for itself")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct PluginState {
    pub(super) epoch: u8,
    pub(super) is_ended: bool,
    pub(super) line: PollLine,
    pub(super) slot: PostSlot,
    /// Whether the request in the slot is of an earlier generation.
    pub(super) is_over: bool,
    pub(super) doing: Option<(WorkItem, WorkStage)>,
    pub(super) queue: [Option<WorkItem>; 2],
    /// A bit set of work numbers.
    pub(super) at_hand: u8,
    pub(super) answered: u8,
    pub(super) is_dirty: bool,
    pub(super) is_broken: bool,
    pub(super) snapshot: SnapshotStage,
    pub(super) memory: [WorkMemory; 2],
    pub(super) is_gone: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum OverlayTrial {
    Off,
    On,
    Untried,
}

/// The state that the daemon loses when it stops. 0 means no work number and no epoch.
#[expect(clippy::struct_excessive_bools, reason = "the code has these flags, each for itself")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct DaemonState {
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
    pub(super) mirror: Option<PlaceState>,
    pub(super) is_telling: bool,
    pub(super) trial: [OverlayTrial; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ModelState {
    pub(super) ledger: [ModelStatus; 2],
    pub(super) daemon: DaemonState,
    pub(super) plugin: PluginState,
    pub(super) late: [Option<LateRequest>; 2],
    pub(super) place: PlaceState,
    /// How often Studio applied each proposal.
    pub(super) times: [u8; 2],
    pub(super) mishaps: u8,
}

pub(super) const STOPPED: DaemonState = DaemonState {
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
    trial: [OverlayTrial::Off; 2],
};

pub(super) const LOADED: PluginState = PluginState {
    epoch: 0,
    is_ended: true,
    line: PollLine::Poll,
    slot: PostSlot::Free,
    is_over: false,
    doing: None,
    queue: [None; 2],
    at_hand: 0,
    answered: 0,
    is_dirty: false,
    is_broken: false,
    snapshot: SnapshotStage::Not,
    memory: [WorkMemory::Nothing; 2],
    is_gone: false,
};

pub(super) fn bit(number: u8) -> u8 {
    1 << number
}

/// Visits every epoch in a state.
pub(super) fn visit_epochs(s: &mut ModelState, mut see: impl FnMut(&mut u8)) {
    see(&mut s.daemon.seat);
    see(&mut s.plugin.epoch);
    if let PollLine::Welcome(epoch) = &mut s.plugin.line {
        see(epoch);
    }
    match &mut s.plugin.slot {
        PostSlot::Asked(request) | PostSlot::Answered(request, _) | PostSlot::Resting(request) => {
            see(&mut request.epoch);
        }
        PostSlot::Free => {}
    }
    for late in &mut s.late {
        if let Some(LateRequest::Posted(request)) = late {
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

impl ModelCase {
    /// Normalizes a state: only the order of epochs matters, and what can never count again is
    /// dropped.
    pub(super) fn normalize(&self, mut s: ModelState) -> ModelState {
        let seat = s.daemon.seat;
        let is_looked_at = !self.has_mistake(SeededMistake::AnyEpoch)
            && !self.has_mistake(SeededMistake::EpochAtTheDoor);
        for at in BOTH {
            match s.late[at] {
                Some(LateRequest::Posted(request)) if is_looked_at && request.epoch != seat => {
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
            if let PollLine::Polled([a, b], _) = s.plugin.line {
                live |= bit(a) | bit(b);
            }
            s.plugin.answered &= live;
        }
        let mut known: u32 = 1;
        visit_epochs(&mut s, |epoch| known |= 1 << *epoch);
        if known & (known + 1) != 0 {
            visit_epochs(&mut s, |epoch| {
                *epoch = (known & ((1 << *epoch) - 1)).count_ones() as u8;
            });
        }
        s
    }
}
