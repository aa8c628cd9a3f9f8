//! Model of the mishaps, and of the user's actions.

use super::state::ModelStatus::Waiting;
use super::state::StepEvent::{Daemon, Elsewhere};
use super::state::{
    AddStep, BOTH, DaemonEvent, LOADED, LateRequest, ModelState, PluginState, PollLine,
    PostRequest, PostSlot, STOPPED, WorkMemory, WorkStage,
};
use super::{ModelCase, ProposalKind};

impl ModelCase {
    fn add_late(s: &mut ModelState, late: LateRequest) {
        if let Some(free) = s.late.iter().position(Option::is_none) {
            s.late[free] = Some(late);
        }
    }

    fn leave_requests(s: &mut ModelState) {
        if s.plugin.line == PollLine::Hello {
            Self::add_late(s, LateRequest::Hello);
        }
        if let PostSlot::Asked(request) = s.plugin.slot {
            Self::add_late(s, LateRequest::Posted(request));
        }
    }

    pub(super) fn late_steps(&self, from: &ModelState, add: AddStep<'_>) {
        for at in BOTH {
            let mut s = *from;
            match s.late[at].take() {
                Some(LateRequest::Hello) if s.daemon.is_up => {
                    Self::accept_hello(&mut s);
                    add(Daemon(DaemonEvent::Hello), 0, s);
                }
                Some(LateRequest::Posted(mut request)) if s.daemon.is_up => {
                    let answer = self.handle_call(&mut s, &mut request);
                    if answer.is_none() {
                        s.late[at] = Some(LateRequest::Posted(request));
                    }
                    add(Daemon(DaemonEvent::Receive(request.post, answer)), 0, s);
                }
                _ => {}
            }
        }
    }

    pub(super) fn decision_steps(&self, from: &ModelState, add: AddStep<'_>) {
        if from.daemon.seat == 0 {
            return;
        }
        for p in BOTH.into_iter().filter(|p| from.ledger[*p] == Waiting) {
            let mut s = *from;
            self.reject(&mut s, p);
            add(Daemon(DaemonEvent::Reject(p)), p + 1, s);
            if p == 1 && self.is_built() && from.ledger[0] == Waiting {
                continue;
            }
            let mut s = *from;
            self.approve(&mut s, p);
            add(Daemon(DaemonEvent::Approve(p)), p + 1, s);
        }
    }

    pub(super) fn stop_step(mut s: ModelState, add: AddStep<'_>) {
        if s.daemon.is_up {
            s.daemon = STOPPED;
            let is_in = |late: &LateRequest| {
                matches!(late, LateRequest::Posted(PostRequest { is_in: true, .. }))
            };
            s.late = s.late.map(|late| late.filter(|late| !is_in(late)));
            if s.plugin.line == PollLine::Hello {
                s.plugin.line = PollLine::Poll;
            }
            add(Daemon(DaemonEvent::Stop), 0, s);
        }
    }

    pub(super) fn closing_steps(s: ModelState, add: AddStep<'_>) {
        let mut reloaded = s;
        Self::leave_requests(&mut reloaded);
        let mut gone = reloaded;
        // The recording that was left open is canceled, and the text that it wrote is reverted.
        if let Some((work, WorkStage::Written)) = s.plugin.doing
            && s.place.there[work.p]
        {
            reloaded.place.there[work.p] = false;
            reloaded.times[work.p] -= 1;
        }
        reloaded.plugin = PluginState { memory: s.plugin.memory, ..LOADED };
        add(Elsewhere("the plugin is loaded again"), 0, reloaded);
        gone.plugin = PluginState { is_gone: true, ..LOADED };
        add(Elsewhere("Studio is closed"), 0, gone);
    }

    pub(super) fn loss_steps(&self, s: ModelState, add: AddStep<'_>) {
        let mut lost = s;
        lost.plugin.line = PollLine::Poll;
        match s.plugin.line {
            PollLine::Hello => Self::add_late(&mut lost, LateRequest::Hello),
            PollLine::Poll | PollLine::Polled(..) => Self::finish_epoch(&mut lost),
            PollLine::Welcome(_) => {}
        }
        if lost != s {
            add(Elsewhere("a poll or hello is lost"), 0, lost);
        }
        let mut lost = s;
        let (PostSlot::Asked(request) | PostSlot::Answered(request, _)) = s.plugin.slot else {
            return;
        };
        if let PostSlot::Asked(request) = s.plugin.slot {
            Self::add_late(&mut lost, LateRequest::Posted(request));
        }
        if s.plugin.is_over {
            self.handle_answer(&mut lost, request.post, false);
        } else {
            lost.plugin.slot = PostSlot::Resting(PostRequest { is_in: false, ..request });
        }
        add(Elsewhere("a post is lost or late"), 0, lost);
    }

    pub(super) fn edit_steps(&self, from: ModelState, add: AddStep<'_>) {
        for p in BOTH {
            let mut s = from;
            s.plugin.is_dirty = true;
            let is_open = matches!(s.plugin.doing, Some((work, WorkStage::Written)) if work.p == p);
            if s.place.there[p] && !is_open {
                let mut undone = s;
                undone.place.there[p] = false;
                add(Elsewhere("the user undoes"), p + 1, undone);
            }
            if self.kinds[p] == ProposalKind::Write && !s.place.other[p] {
                (s.place.other[p], s.place.there[p]) = (true, false);
                add(Elsewhere("the user edits the script"), p + 1, s);
            }
        }
    }

    pub(super) fn restore_steps(from: &ModelState, add: AddStep<'_>) {
        for p in BOTH.into_iter().filter(|p| from.place.other[*p] && !from.plugin.is_gone) {
            let mut s = *from;
            s.place.other[p] = false;
            s.plugin.is_dirty = true;
            if !matches!(s.plugin.memory[p], WorkMemory::Done(_)) {
                // Nothing is left of a write that was not finished.
                s.times[p] = 0;
            }
            add(Elsewhere("the user takes the edit back"), p + 1, s);
        }
    }
}
