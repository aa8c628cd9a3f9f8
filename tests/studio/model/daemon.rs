//! Model of the daemon: `daemon/crates/engine/src/studio_sync.rs`, `daemon/src/session` and
//! `daemon/src/server/{dispatch,event_hub}.rs`.

use super::state::Status::{Again, Applied, Applying, Approved, Failed, Look, Waiting};
use super::state::{
    Add, BOTH, Outcome, P, Place, Post, Request, State, Status, Trial, bit, each_epoch,
};
use super::{Case, Kind, Mistake};

fn untried(trial: Trial) -> Trial {
    if trial == Trial::On { Trial::Untried } else { trial }
}

impl Case {
    pub(super) fn makes(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// Whether a proposal can be applied in a place.
    pub(super) fn fits(&self, place: Place, p: P) -> bool {
        let is_base = self.kinds[p] == Kind::Create || !(place.there[p] || place.other[p]);
        is_base && (p == 0 || !self.is_built || place.there[0])
    }

    /// `WorkflowInput::Moved`. Of the work that Studio has, only what it reports as not done is
    /// replanned.
    fn moved(&self, s: &mut State, stale: Option<P>) {
        for p in BOTH {
            let is_safe = s.ledger[p] != Applying
                || stale == Some(p)
                || self.makes(Mistake::PlansAgainWhatIsHandedOut);
            if matches!(s.ledger[p], Waiting | Approved | Applying) && is_safe {
                s.ledger[p] = Again;
            }
        }
        s.daemon.trial = [Trial::Off; 2];
    }

    fn retry_waiting(s: &mut State) {
        let trial = |p: P| if s.ledger[p] == Waiting { Trial::Untried } else { Trial::Off };
        s.daemon.trial = BOTH.map(trial);
    }

    fn began_anew(s: &mut State) {
        Self::retry_waiting(s);
        (s.daemon.mirror, s.daemon.is_telling) = (None, false);
    }

    fn try_again(&self, s: &mut State, mut place: Place) {
        for p in BOTH {
            match s.daemon.trial[p] {
                Trial::On => place.there[p] = true,
                Trial::Untried if s.ledger[p] != Waiting => s.daemon.trial[p] = Trial::Off,
                Trial::Untried if !self.fits(place, p) => return self.moved(s, None),
                Trial::Untried => {
                    s.daemon.trial[p] = Trial::On;
                    place.there[p] = true;
                }
                Trial::Off => {}
            }
        }
    }

    /// One round of `Engine::run`, and the post to the event hub when it is done.
    fn run(&self, s: &mut State) -> &'static str {
        if let Some(place) = s.daemon.mirror {
            let is_waiting = BOTH.iter().any(|p| s.ledger[*p] == Applying && s.daemon.work[*p] > 0);
            let due = BOTH.into_iter().find(|p| matches!(s.ledger[*p], Approved | Applying));
            if let Some(p) = due.filter(|_| !is_waiting) {
                s.daemon.trial = s.daemon.trial.map(untried);
                if self.fits(place, p) {
                    s.ledger[p] = Applying;
                    s.daemon.work[p] = s.daemon.next;
                    s.daemon.next += 1;
                    return "the daemon hands out";
                }
                if s.ledger[p] == Applying {
                    s.ledger[p] = Look;
                    return "the daemon cannot know, and says: look";
                }
                self.moved(s, None);
                return "the daemon plans again";
            }
            if s.daemon.trial.contains(&Trial::Untried) && !is_waiting {
                self.try_again(s, place);
                return "the daemon tries again what waits";
            }
        }
        let fresh = |number: u8| if s.daemon.popped & bit(number) == 0 { number } else { 0 };
        s.daemon.board = s.daemon.work.map(fresh);
        let is_told = s.daemon.is_telling && self.makes(Mistake::AsksOnce);
        s.daemon.need = s.daemon.mirror.is_none() && !is_told;
        s.daemon.is_busy = false;
        "the daemon posts"
    }

    pub(super) fn hello(s: &mut State) -> u8 {
        let mut epoch = 0;
        each_epoch(s, |it| epoch = epoch.max(*it));
        epoch += 1;
        let is_known = s.daemon.seat > 0;
        (s.daemon.seat, s.daemon.board, s.daemon.need) = (epoch, [0; 2], false);
        if is_known {
            s.daemon.is_greeted = true;
        } else {
            Self::retry_waiting(s);
            s.daemon.is_busy = true;
        }
        epoch
    }

    /// Handles the arrival of a call, and later its processing. Returns the answer when it is
    /// known.
    pub(super) fn called(&self, s: &mut State, request: &mut Request) -> Option<bool> {
        let is_ack = matches!(request.post, Post::Ack(..));
        let is_now = request.epoch == s.daemon.seat
            || (is_ack && s.daemon.seat > 0 && self.makes(Mistake::AnyEpoch));
        let is_open = self.makes(Mistake::EpochAtTheDoor);
        if is_open && !request.is_in {
            request.is_in = is_now;
            return (!is_now).then_some(false);
        }
        if !is_open && !is_now {
            return Some(false);
        }
        s.daemon.is_busy = true;
        Some(match request.post {
            Post::Ack(p, outcome) => {
                self.acknowledged(s, p, outcome);
                true
            }
            part => Self::heard(s, part),
        })
    }

    fn acknowledged(&self, s: &mut State, p: P, outcome: Outcome) {
        if s.ledger[p] != Applying {
            return;
        }
        s.daemon.work[p] = 0;
        match outcome {
            Outcome::Applied => s.ledger[p] = Applied,
            Outcome::Stale => self.moved(s, Some(p)),
            Outcome::Refused => s.ledger[p] = Failed,
            Outcome::Diverged => s.ledger[p] = Look,
        }
        Self::retry_waiting(s);
    }

    fn heard(s: &mut State, part: Post) -> bool {
        s.daemon.trial = s.daemon.trial.map(untried);
        match part {
            Post::Begin => s.daemon.is_telling = true,
            Post::End(_) if !s.daemon.is_telling => {
                Self::began_anew(s);
                return false;
            }
            Post::End(place) => (s.daemon.mirror, s.daemon.is_telling) = (Some(place), false),
            Post::Update(place) if s.daemon.mirror.is_some() => s.daemon.mirror = Some(place),
            Post::Update(_) | Post::Ack(..) => {}
        }
        true
    }

    pub(super) fn daemon_steps(&self, from: &State, add: Add<'_>) {
        let mut s = *from;
        if !s.daemon.is_up {
            s.daemon.is_up = true;
            return add("Vector starts", 0, s);
        }
        if s.daemon.is_busy {
            let what = self.run(&mut s);
            return add(what, 0, s);
        }
        if s.daemon.is_greeted {
            Self::began_anew(&mut s);
            (s.daemon.is_greeted, s.daemon.is_busy) = (false, true);
            return add("the session hears of the hello", 0, s);
        }
        let is_open = |status: Status| matches!(status, Approved | Applying);
        let is_left = s.plugin.is_gone && s.ledger.iter().any(|status| is_open(*status));
        if is_left && !self.makes(Mistake::ForgetsTheClosed) {
            s.ledger = s.ledger.map(|status| if is_open(status) { Look } else { status });
            s.daemon.work = [0; 2];
            add("a person ends what a closed place left", 0, s);
        }
    }
}
