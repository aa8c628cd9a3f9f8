//! Model of the daemon: its decisions are those of `daemon/crates/engine/src/studio_sync.rs`, and
//! the epochs those of `daemon/src/session/plugin_reports.rs` and `daemon/src/server/long_poll.rs`.
//!
//! `conformance.rs` compares each step here with the engine.

use super::state::ModelStatus::{
    Applied, Applying, Approved, Failed, Rejected, Unclear, Waiting, Withdrawn,
};
use super::state::StepEvent::Daemon;
use super::state::{
    AddStep, BOTH, DaemonEvent, ModelState, ModelStatus, OverlayTrial, PlaceState, PluginPost,
    PostRequest, ReportedOutcome, RunRound, bit, visit_epochs,
};
use super::{ModelCase, ProposalKind, SeededMistake};

/// What the mirror shows of a proposal that Studio has received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ObservedEffect {
    Done,
    NotDone,
    Unclear,
}

fn requeue_trial(trial: OverlayTrial) -> OverlayTrial {
    if trial == OverlayTrial::On { OverlayTrial::Untried } else { trial }
}

impl ModelCase {
    pub(super) fn has_mistake(&self, mistake: SeededMistake) -> bool {
        self.mistake == Some(mistake)
    }

    /// Whether a proposal can be applied in a place.
    pub(super) fn fits(&self, place: PlaceState, p: usize) -> bool {
        let is_base = self.kinds[p] == ProposalKind::Create || !(place.there[p] || place.other[p]);
        is_base && (p == 0 || !self.is_built() || place.there[0])
    }

    /// Whether the second proposal refers to an instance that the first one creates.
    fn has_created_base(&self, p: usize) -> bool {
        p == 1 && self.is_built() && self.kinds[0] == ProposalKind::Create
    }

    /// Whether the daemon knows which instance the first proposal created. The ack names it.
    fn is_bound(s: &ModelState) -> bool {
        s.ledger[0] == Applied && s.daemon.mirror.is_some_and(|place| place.there[0])
    }

    /// Whether the daemon can perform a proposal on its mirror.
    fn fits_mirror(&self, s: &ModelState, place: PlaceState, p: usize) -> bool {
        let is_known = Self::is_bound(s) || s.daemon.trial[0] == OverlayTrial::On;
        self.fits(place, p) && (is_known || !self.has_created_base(p))
    }

    /// `observe_proposal`: created instances cannot be told from those of others.
    fn observe_effect(&self, s: &ModelState, place: PlaceState, p: usize) -> ObservedEffect {
        let is_known = !self.has_created_base(p) || Self::is_bound(s);
        if self.kinds[p] == ProposalKind::Create || !is_known || place.other[p] {
            ObservedEffect::Unclear
        } else if place.there[p] {
            ObservedEffect::Done
        } else {
            ObservedEffect::NotDone
        }
    }

    /// Whether a place has instances of the proposals.
    fn has_instances(&self, place: PlaceState) -> bool {
        let has_base = |p: usize| place.there[0] || !self.has_created_base(p);
        let is_there = |p: usize| self.kinds[p] == ProposalKind::Write || place.there[p];
        BOTH.into_iter().any(|p| has_base(p) && is_there(p))
    }

    /// `WorkflowInput::Moved`. Of the work that Studio has, only what it reports as not done is
    /// replanned.
    fn withdraw_stale(&self, s: &mut ModelState, stale: Option<usize>) {
        for p in BOTH {
            let is_safe = s.ledger[p] != Applying
                || stale == Some(p)
                || self.has_mistake(SeededMistake::ReplansDispatched);
            if matches!(s.ledger[p], Waiting | Approved | Applying) && is_safe {
                s.ledger[p] = Withdrawn;
            }
        }
        s.daemon.trial = [OverlayTrial::Off; 2];
    }

    /// `WorkflowInput::Replan`: withdraws a proposal and the one on top of it.
    fn replan(&self, s: &mut ModelState, gone: usize) {
        for p in BOTH {
            let is_on_top = gone == 0 && p == 1 && self.is_built();
            if (p == gone || is_on_top) && matches!(s.ledger[p], Waiting | Approved) {
                s.ledger[p] = Withdrawn;
            }
        }
        Self::requeue_waiting(s);
    }

    fn requeue_waiting(s: &mut ModelState) {
        let trial = |p: usize| {
            if s.ledger[p] == Waiting { OverlayTrial::Untried } else { OverlayTrial::Off }
        };
        s.daemon.trial = BOTH.map(trial);
    }

    fn reset_mirror(s: &mut ModelState) {
        Self::requeue_waiting(s);
        (s.daemon.mirror, s.daemon.is_telling) = (None, false);
    }

    fn retry_overlay(&self, s: &mut ModelState, mut place: PlaceState) -> RunRound {
        for p in BOTH {
            match s.daemon.trial[p] {
                OverlayTrial::On => place.there[p] = true,
                OverlayTrial::Untried if s.ledger[p] != Waiting => {
                    s.daemon.trial[p] = OverlayTrial::Off;
                }
                OverlayTrial::Untried if !self.fits_mirror(s, place, p) => {
                    self.replan(s, p);
                    return RunRound::Replan;
                }
                OverlayTrial::Untried => {
                    s.daemon.trial[p] = OverlayTrial::On;
                    place.there[p] = true;
                }
                OverlayTrial::Off => {}
            }
        }
        RunRound::Overlay
    }

    fn hand_out(s: &mut ModelState, p: usize) {
        s.ledger[p] = Applying;
        s.daemon.work[p] = s.daemon.next;
        s.daemon.next += 1;
    }

    fn dispatch(&self, s: &mut ModelState, place: PlaceState, p: usize) -> RunRound {
        s.daemon.trial = s.daemon.trial.map(requeue_trial);
        let was_sent = s.ledger[p] == Applying;
        let seen = self.observe_effect(s, place, p);
        // The effect may be that of a write that is not finished; the plugin remembers that.
        let is_shown = was_sent && seen == ObservedEffect::Done;
        if is_shown && self.has_mistake(SeededMistake::BelievesTheMirror) {
            s.ledger[p] = Applied;
            return RunRound::Overlay;
        }
        if is_shown || self.fits_mirror(s, place, p) {
            Self::hand_out(s, p);
            return RunRound::HandOut;
        }
        if was_sent && seen == ObservedEffect::Unclear {
            s.ledger[p] = Unclear;
            return RunRound::FailUnclear;
        }
        self.withdraw_stale(s, Some(p));
        RunRound::Replan
    }

    /// One round of `Engine::run`. Publishing is the last.
    pub(super) fn run_round(&self, s: &mut ModelState) -> RunRound {
        if let Some(place) = s.daemon.mirror {
            let is_waiting = BOTH.iter().any(|p| s.ledger[*p] == Applying && s.daemon.work[*p] > 0);
            let due = BOTH.into_iter().find(|p| matches!(s.ledger[*p], Approved | Applying));
            if let Some(p) = due.filter(|_| !is_waiting) {
                return self.dispatch(s, place, p);
            }
            if s.daemon.trial.contains(&OverlayTrial::Untried) && !is_waiting {
                return self.retry_overlay(s, place);
            }
        }
        let fresh = |number: u8| if s.daemon.popped & bit(number) == 0 { number } else { 0 };
        s.daemon.board = s.daemon.work.map(fresh);
        let is_told = s.daemon.is_telling && self.has_mistake(SeededMistake::AsksOnce);
        s.daemon.need = s.daemon.mirror.is_none() && !is_told;
        s.daemon.is_busy = false;
        RunRound::Publish
    }

    pub(super) fn accept_hello(s: &mut ModelState) -> u8 {
        let mut epoch = 0;
        visit_epochs(s, |it| epoch = epoch.max(*it));
        epoch += 1;
        let is_known = s.daemon.seat > 0;
        (s.daemon.seat, s.daemon.board, s.daemon.need) = (epoch, [0; 2], false);
        if is_known {
            s.daemon.is_greeted = true;
        } else {
            Self::requeue_waiting(s);
            s.daemon.is_busy = true;
        }
        epoch
    }

    /// Handles the arrival of a call, and later its processing. Returns the answer when it is
    /// known.
    pub(super) fn handle_call(
        &self,
        s: &mut ModelState,
        request: &mut PostRequest,
    ) -> Option<bool> {
        let is_ack = matches!(request.post, PluginPost::Ack(..));
        let is_now = request.epoch == s.daemon.seat
            || (is_ack && s.daemon.seat > 0 && self.has_mistake(SeededMistake::AnyEpoch));
        let is_open = self.has_mistake(SeededMistake::EpochAtTheDoor);
        if is_open && !request.is_in {
            request.is_in = is_now;
            return (!is_now).then_some(false);
        }
        if !is_open && !is_now {
            return Some(false);
        }
        s.daemon.is_busy = true;
        Some(match request.post {
            PluginPost::Ack(p, outcome) => {
                self.handle_ack(s, p, outcome);
                true
            }
            part => self.update_mirror(s, part),
        })
    }

    fn handle_ack(&self, s: &mut ModelState, p: usize, outcome: ReportedOutcome) {
        s.daemon.work[p] = 0;
        if s.ledger[p] != Applying {
            return;
        }
        let mirror = s.daemon.mirror;
        match outcome {
            ReportedOutcome::Applied => s.ledger[p] = Applied,
            // The plugin may have forgotten that it applied this.
            ReportedOutcome::Stale
                if mirror.is_some_and(|place| {
                    self.observe_effect(s, place, p) == ObservedEffect::Done
                }) =>
            {
                s.ledger[p] = Applied;
            }
            ReportedOutcome::Stale => self.withdraw_stale(s, Some(p)),
            ReportedOutcome::Refused => s.ledger[p] = Failed,
            ReportedOutcome::Diverged => s.ledger[p] = Unclear,
        }
        Self::requeue_waiting(s);
    }

    fn update_mirror(&self, s: &mut ModelState, part: PluginPost) -> bool {
        s.daemon.trial = s.daemon.trial.map(requeue_trial);
        match part {
            PluginPost::Begin => s.daemon.is_telling = true,
            PluginPost::End(_) if !s.daemon.is_telling => {
                Self::reset_mirror(s);
                return false;
            }
            PluginPost::End(place) => {
                (s.daemon.mirror, s.daemon.is_telling) = (Some(place), false);
            }
            PluginPost::Update(place) if s.daemon.mirror.is_some() => {
                s.daemon.mirror = Some(place);
            }
            // New texts of unknown scripts are ignored. An instance below an unknown one does not
            // fit.
            PluginPost::Update(place) if self.is_of_texts() || !self.has_instances(place) => {}
            PluginPost::Update(_) => {
                Self::reset_mirror(s);
                return false;
            }
            PluginPost::Ack(..) => {}
        }
        true
    }

    /// The user approves a proposal. If Studio is free, it is handed out in the same append.
    pub(super) fn approve(&self, s: &mut ModelState, p: usize) {
        let is_free = !s.ledger.iter().any(|status| matches!(status, Approved | Applying));
        s.ledger[p] = Approved;
        s.daemon.is_busy = true;
        if is_free {
            s.daemon.trial = s.daemon.trial.map(requeue_trial);
            if s.daemon.mirror.is_some_and(|place| self.fits_mirror(s, place, p)) {
                Self::hand_out(s, p);
            }
        }
    }

    /// The user rejects a proposal, and the undecided one on top of it is replanned.
    pub(super) fn reject(&self, s: &mut ModelState, p: usize) {
        s.ledger[p] = Rejected;
        s.daemon.is_busy = true;
        if p == 0 && self.is_built() && matches!(s.ledger[1], Waiting | Approved) {
            s.ledger[1] = Withdrawn;
        }
        let trial = |it: usize| match s.ledger[it] {
            Waiting if p < it => requeue_trial(s.daemon.trial[it]),
            Waiting => s.daemon.trial[it],
            _ => OverlayTrial::Off,
        };
        s.daemon.trial = BOTH.map(trial);
    }

    pub(super) fn daemon_steps(&self, from: &ModelState, add: AddStep<'_>) {
        let mut s = *from;
        if !s.daemon.is_up {
            s.daemon.is_up = true;
            return add(Daemon(DaemonEvent::Start), 0, s);
        }
        if s.daemon.is_busy {
            let round = self.run_round(&mut s);
            return add(Daemon(DaemonEvent::Run(round)), 0, s);
        }
        if s.daemon.is_greeted {
            Self::reset_mirror(&mut s);
            (s.daemon.is_greeted, s.daemon.is_busy) = (false, true);
            return add(Daemon(DaemonEvent::HandleHello), 0, s);
        }
        let is_open = |status: ModelStatus| matches!(status, Approved | Applying);
        let is_left = s.plugin.is_gone && s.ledger.iter().any(|status| is_open(*status));
        if is_left && !self.has_mistake(SeededMistake::ForgetsTheClosed) {
            s.ledger = s.ledger.map(|status| match status {
                Approved | Applying => Unclear,
                Waiting => Withdrawn,
                settled => settled,
            });
            (s.daemon.work, s.daemon.trial) = ([0; 2], [OverlayTrial::Off; 2]);
            add(Daemon(DaemonEvent::Abandon), 0, s);
        }
    }
}
