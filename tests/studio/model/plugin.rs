//! Model of the plugin: `plugin/src/{Session,Client,Apply,Memory,Mirror,Editor}.luau`.

use super::state::{
    Add, Line, Memory, Outcome, P, Post, Request, Slot, Snapshot, Stage, State, Work, bit,
};
use super::{Case, Kind, Mistake};

impl Case {
    pub(super) fn finish_epoch(s: &mut State) {
        (s.plugin.is_ended, s.plugin.is_over) = (true, s.plugin.slot != Slot::Free);
    }

    fn begin_epoch(s: &mut State, epoch: u8) {
        let plugin = &mut s.plugin;
        (plugin.epoch, plugin.is_ended, plugin.line) = (epoch, false, Line::Poll);
        (plugin.at_hand, plugin.answered, plugin.queue) = (0, 0, [None; 2]);
        plugin.is_over = plugin.slot != Slot::Free;
    }

    pub(super) fn line_steps(&self, from: &State, add: Add<'_>) {
        let mut s = *from;
        let is_up = s.daemon.is_up;
        match s.plugin.line {
            Line::Poll if !is_up && !s.plugin.is_ended => {
                Self::finish_epoch(&mut s);
                add("the poll finds nobody", 0, s);
            }
            Line::Poll if is_up && s.plugin.is_ended => {
                s.plugin.line = Line::Hello;
                add("the plugin says hello", 0, s);
            }
            Line::Poll if is_up => self.polled(s, add),
            Line::Hello if is_up => {
                s.plugin.line = Line::Welcome(Self::hello(&mut s));
                add("the daemon welcomes", 0, s);
            }
            Line::Welcome(epoch) => {
                Self::begin_epoch(&mut s, epoch);
                add("the plugin begins an epoch", 0, s);
            }
            Line::Polled(numbers, need) => {
                self.take(&mut s, numbers, need);
                add("the plugin takes what the poll brings", 0, s);
            }
            Line::Poll | Line::Hello => {}
        }
    }

    /// Answers that change nothing are omitted.
    fn polled(&self, mut s: State, add: Add<'_>) {
        if s.daemon.seat != s.plugin.epoch {
            Self::finish_epoch(&mut s);
            return add("the poll is of another epoch", 0, s);
        }
        let known = s.plugin.at_hand | s.plugin.answered;
        let fresh = |number: u8| if known & bit(number) == 0 { number } else { 0 };
        let numbers = s.daemon.board.map(fresh);
        let need = s.daemon.need && s.plugin.snapshot == Snapshot::Not;
        if numbers != [0; 2] || need {
            s.plugin.line = Line::Polled(numbers, need);
            if self.makes(Mistake::Pops) {
                s.daemon.popped |= numbers.iter().fold(0, |bits, number| bits | bit(*number));
                s.daemon.board = [0; 2];
            }
            add("the poll is answered", 0, s);
        }
    }

    fn take(&self, s: &mut State, numbers: [u8; 2], need: bool) {
        s.plugin.line = Line::Poll;
        if need && s.plugin.snapshot == Snapshot::Not {
            s.plugin.snapshot = Snapshot::Wanted;
            Self::begin_snapshot(s);
        }
        for (p, number) in numbers.into_iter().enumerate().filter(|(_, number)| *number > 0) {
            if (s.plugin.at_hand | s.plugin.answered) & bit(number) == 0 {
                s.plugin.at_hand |= bit(number);
                let free = usize::from(s.plugin.queue[0].is_some());
                s.plugin.queue[free] = Some(Work { p, number, epoch: s.plugin.epoch });
            }
        }
        self.work_off(s);
    }

    /// Starts the next piece of work if the plugin is idle.
    fn work_off(&self, s: &mut State) {
        if s.plugin.doing.is_some() {
            return;
        }
        if let Some(work) = s.plugin.queue[0].take() {
            s.plugin.queue.swap(0, 1);
            let stage = self.perform(s, work.p);
            s.plugin.doing = Some((work, stage));
        }
    }

    fn send(s: &mut State, post: Post) {
        s.plugin.slot = Slot::Asked(Request { post, epoch: s.plugin.epoch, is_in: false });
        s.plugin.is_over = false;
    }

    /// Handles the answer to a post.
    pub(super) fn returned(&self, s: &mut State, post: Post, is_taken: bool) {
        (s.plugin.slot, s.plugin.is_over) = (Slot::Free, false);
        match (post, s.plugin.snapshot, s.plugin.doing) {
            (Post::Begin, Snapshot::Begun(place), _) if is_taken => {
                s.plugin.snapshot = Snapshot::Ends(place);
            }
            (Post::Begin | Post::End(_), ..) => {
                s.plugin.snapshot = Snapshot::Not;
                if !is_taken {
                    Self::finish_epoch(s);
                }
            }
            (Post::Update(_), _, doing) => {
                if !is_taken {
                    s.plugin.is_broken = true;
                    Self::finish_epoch(s);
                }
                if let Some((work, Stage::Flushing(outcome))) = doing {
                    let is_said = is_taken && work.epoch == s.plugin.epoch;
                    self.acknowledge(s, work, outcome, is_said);
                }
            }
            (Post::Ack(..), _, Some((work, _))) => {
                if work.epoch == s.plugin.epoch || self.makes(Mistake::AnsweredInTheNext) {
                    s.plugin.answered |= bit(work.number);
                }
                self.put_down(s, work);
            }
            (Post::Ack(..), _, None) => {}
        }
    }

    fn acknowledge(&self, s: &mut State, work: Work, outcome: Outcome, is_said: bool) {
        if !is_said {
            return self.put_down(s, work);
        }
        s.plugin.doing = Some((work, Stage::Acking));
        Self::send(s, Post::Ack(work.p, outcome));
    }

    fn put_down(&self, s: &mut State, work: Work) {
        s.plugin.doing = None;
        if work.epoch == s.plugin.epoch {
            s.plugin.at_hand &= !bit(work.number);
        }
        self.work_off(s);
    }

    pub(super) fn slot_steps(&self, from: &State, add: Add<'_>) {
        let mut s = *from;
        match s.plugin.slot {
            Slot::Asked(mut request) if s.daemon.is_up => {
                let what = if request.is_in { "a post is taken" } else { "a post comes in" };
                let answer = self.called(&mut s, &mut request);
                let answered = |is_taken| Slot::Answered(request, is_taken);
                s.plugin.slot = answer.map_or(Slot::Asked(request), answered);
                add(what, 0, s);
            }
            Slot::Asked(request) => {
                s.plugin.slot = Slot::Resting(Request { is_in: false, ..request });
                add("a post finds nobody", 0, s);
            }
            Slot::Answered(request, is_taken) => {
                if !is_taken && !s.plugin.is_over {
                    Self::finish_epoch(&mut s);
                }
                self.returned(&mut s, request.post, is_taken);
                add("the plugin has the answer to its post", 0, s);
            }
            Slot::Resting(request) if s.plugin.is_over => {
                self.returned(&mut s, request.post, false);
                add("the plugin gives its post up", 0, s);
            }
            Slot::Resting(request) if s.daemon.is_up => {
                s.plugin.slot = Slot::Asked(request);
                add("the plugin posts again", 0, s);
            }
            Slot::Free => Self::mirror_steps(s, add),
            Slot::Resting(_) => {}
        }
    }

    /// Reads the tree before anything is sent, and before the work of the same poll is done.
    fn begin_snapshot(s: &mut State) {
        if s.plugin.slot == Slot::Free {
            s.plugin.snapshot = Snapshot::Begun(s.place);
            (s.plugin.is_dirty, s.plugin.is_broken) = (false, false);
            Self::send(s, Post::Begin);
        }
    }

    fn mirror_steps(mut s: State, add: Add<'_>) {
        match s.plugin.snapshot {
            Snapshot::Wanted => {
                Self::begin_snapshot(&mut s);
                add("the plugin begins a snapshot", 0, s);
            }
            Snapshot::Ends(place) => {
                Self::send(&mut s, Post::End(place));
                add("the plugin ends a snapshot", 0, s);
            }
            Snapshot::Not if s.plugin.is_dirty && !s.plugin.is_broken && s.plugin.epoch > 0 => {
                s.plugin.is_dirty = false;
                let place = s.place;
                Self::send(&mut s, Post::Update(place));
                add("the plugin says what changed", 0, s);
            }
            Snapshot::Not | Snapshot::Begun(_) => {}
        }
    }

    fn remember(&self, s: &mut State, p: P, what: Memory) {
        if !self.makes(Mistake::Forgets) {
            s.plugin.memory[p] = what;
        }
    }

    fn effect(s: &mut State, p: P) {
        s.place.there[p] = true;
        s.times[p] += 1;
        s.plugin.is_dirty = true;
    }

    /// `Apply.perform` up to the point where it yields.
    fn perform(&self, s: &mut State, p: P) -> Stage {
        match s.plugin.memory[p] {
            Memory::Done(outcome) => return Stage::Done(outcome),
            Memory::Begun => return Stage::Done(Outcome::Diverged),
            Memory::Nothing => {}
        }
        if !self.fits(s.place, p) {
            return Stage::Done(Outcome::Stale);
        }
        if self.kinds[p] == Kind::Create {
            Self::effect(s, p);
            self.remember(s, p, Memory::Done(Outcome::Applied));
            return Stage::Done(Outcome::Applied);
        }
        if !self.makes(Mistake::NotesOnlyTheEnd) {
            self.remember(s, p, Memory::Begun);
        }
        Stage::Begun
    }

    /// Continues after the editor's callback, or after the written text is read back.
    fn written(&self, s: &mut State, p: P, stage: Stage) -> Stage {
        let outcome = match stage {
            Stage::Begun if self.fits(s.place, p) => {
                Self::effect(s, p);
                return Stage::Written;
            }
            Stage::Begun => Outcome::Stale,
            _ if s.place.there[p] => Outcome::Applied,
            _ if self.makes(Mistake::TypedOver) => Outcome::Refused,
            _ => Outcome::Diverged,
        };
        let is_done = matches!(outcome, Outcome::Applied | Outcome::Diverged);
        self.remember(s, p, if is_done { Memory::Done(outcome) } else { Memory::Nothing });
        Stage::Done(outcome)
    }

    pub(super) fn work_steps(&self, from: &State, add: Add<'_>) {
        let mut s = *from;
        let Some((work, stage)) = s.plugin.doing else {
            return;
        };
        let is_told = s.plugin.snapshot == Snapshot::Not && s.plugin.slot == Slot::Free;
        match stage {
            Stage::Begun | Stage::Written => {
                s.plugin.doing = Some((work, self.written(&mut s, work.p, stage)));
                add("Studio's editor comes back", work.p + 1, s);
            }
            Stage::Done(_) if s.plugin.is_broken => {
                self.put_down(&mut s, work);
                add("the plugin cannot say what it did", work.p + 1, s);
            }
            Stage::Done(outcome) if is_told && s.plugin.is_dirty => {
                s.plugin.is_dirty = false;
                s.plugin.doing = Some((work, Stage::Flushing(outcome)));
                let place = s.place;
                Self::send(&mut s, Post::Update(place));
                add("the plugin flushes", work.p + 1, s);
            }
            Stage::Done(outcome) if is_told => {
                let is_said = work.epoch == s.plugin.epoch;
                self.acknowledge(&mut s, work, outcome, is_said);
                add("the plugin acknowledges", work.p + 1, s);
            }
            Stage::Done(_) | Stage::Flushing(_) | Stage::Acking => {}
        }
    }
}
