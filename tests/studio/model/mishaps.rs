//! Model of the mishaps, and of the user's actions.

use super::state::Status::{Approved, Waiting};
use super::state::{Add, BOTH, LOADED, Late, Line, Plugin, Request, STOPPED, Slot, Stage, State};
use super::{Case, Kind};

impl Case {
    fn leave(s: &mut State, late: Late) {
        if let Some(free) = s.late.iter().position(Option::is_none) {
            s.late[free] = Some(late);
        }
    }

    fn left_behind(s: &mut State) {
        if s.plugin.line == Line::Hello {
            Self::leave(s, Late::Hello);
        }
        if let Slot::Asked(request) = s.plugin.slot {
            Self::leave(s, Late::Posted(request));
        }
    }

    pub(super) fn late_steps(&self, from: &State, add: Add<'_>) {
        for at in BOTH {
            let mut s = *from;
            match s.late[at].take() {
                Some(Late::Hello) if s.daemon.is_up => {
                    Self::hello(&mut s);
                    add("a late hello arrives", 0, s);
                }
                Some(Late::Posted(mut request)) if s.daemon.is_up => {
                    let what = if request.is_in { "a late post is taken" } else { "it comes in" };
                    if self.called(&mut s, &mut request).is_none() {
                        s.late[at] = Some(Late::Posted(request));
                    }
                    add(what, 0, s);
                }
                _ => {}
            }
        }
    }

    pub(super) fn approvals(&self, from: &State, add: Add<'_>) {
        let daemon = &from.daemon;
        if daemon.seat == 0 {
            return;
        }
        for p in BOTH.into_iter().filter(|p| from.ledger[*p] == Waiting) {
            if p == 1 && self.is_built && from.ledger[0] == Waiting {
                continue;
            }
            let mut s = *from;
            s.ledger[p] = Approved;
            s.daemon.is_busy = true;
            add("a person approves", p + 1, s);
        }
    }

    pub(super) fn stops(mut s: State, add: Add<'_>) {
        if s.daemon.is_up {
            s.daemon = STOPPED;
            let is_in = |late: &Late| matches!(late, Late::Posted(Request { is_in: true, .. }));
            s.late = s.late.map(|late| late.filter(|late| !is_in(late)));
            if s.plugin.line == Line::Hello {
                s.plugin.line = Line::Poll;
            }
            add("Vector stops", 0, s);
        }
    }

    pub(super) fn breaks(s: State, add: Add<'_>) {
        let mut reloaded = s;
        Self::left_behind(&mut reloaded);
        let mut gone = reloaded;
        reloaded.plugin = Plugin { memory: s.plugin.memory, ..LOADED };
        add("the plugin is loaded again", 0, reloaded);
        gone.plugin = Plugin { is_gone: true, ..LOADED };
        add("Studio is closed", 0, gone);
    }

    pub(super) fn losses(&self, s: State, add: Add<'_>) {
        let mut lost = s;
        lost.plugin.line = Line::Poll;
        match s.plugin.line {
            Line::Hello => Self::leave(&mut lost, Late::Hello),
            Line::Poll | Line::Polled(..) => Self::finish_epoch(&mut lost),
            Line::Welcome(_) => {}
        }
        if lost != s {
            add("a poll or hello is lost", 0, lost);
        }
        let mut lost = s;
        let (Slot::Asked(request) | Slot::Answered(request, _)) = s.plugin.slot else {
            return;
        };
        if let Slot::Asked(request) = s.plugin.slot {
            Self::leave(&mut lost, Late::Posted(request));
        }
        if s.plugin.is_over {
            self.returned(&mut lost, request.post, false);
        } else {
            lost.plugin.slot = Slot::Resting(Request { is_in: false, ..request });
        }
        add("a post is lost or late", 0, lost);
    }

    pub(super) fn edits(&self, from: State, add: Add<'_>) {
        for p in BOTH {
            let mut s = from;
            s.plugin.is_dirty = true;
            let is_open = matches!(s.plugin.doing, Some((work, Stage::Written)) if work.p == p);
            if s.place.there[p] && !is_open {
                let mut undone = s;
                undone.place.there[p] = false;
                add("a person undoes", p + 1, undone);
            }
            if self.kinds[p] == Kind::Write && !s.place.other[p] {
                (s.place.other[p], s.place.there[p]) = (true, false);
                add("a person edits the script", p + 1, s);
            }
        }
    }

    pub(super) fn second_thoughts(from: &State, add: Add<'_>) {
        for p in BOTH.into_iter().filter(|p| from.place.other[*p] && !from.plugin.is_gone) {
            let mut s = *from;
            s.place.other[p] = false;
            s.plugin.is_dirty = true;
            add("a person takes the edit back", p + 1, s);
        }
    }
}
