//! Model of the plugin: `plugin/src/{Session,Client,Work,Apply,Memory,Mirror,Outbox,Editor}.luau`.
//!
//! `plugin_cases.rs` compares what it does with repeated work with the plugin in the simulator.

use super::state::StepEvent::{Daemon, Elsewhere};
use super::state::{
    AddStep, DaemonEvent, ModelState, PlaceState, PluginPost, PollLine, PostRequest, PostSlot,
    ReportedOutcome, SnapshotStage, WorkItem, WorkMemory, WorkStage, bit,
};
use super::{ModelCase, ProposalKind, SeededMistake};

impl ModelCase {
    pub(super) fn finish_epoch(s: &mut ModelState) {
        (s.plugin.is_ended, s.plugin.is_over) = (true, s.plugin.slot != PostSlot::Free);
    }

    pub(super) fn begin_epoch(s: &mut ModelState, epoch: u8) {
        let plugin = &mut s.plugin;
        (plugin.epoch, plugin.is_ended, plugin.line) = (epoch, false, PollLine::Poll);
        (plugin.at_hand, plugin.answered, plugin.queue) = (0, 0, [None; 2]);
        plugin.is_over = plugin.slot != PostSlot::Free;
    }

    pub(super) fn line_steps(&self, from: &ModelState, add: AddStep<'_>) {
        let mut s = *from;
        let is_up = s.daemon.is_up;
        match s.plugin.line {
            PollLine::Poll if !is_up && !s.plugin.is_ended => {
                Self::finish_epoch(&mut s);
                add(Elsewhere("the poll finds no daemon"), 0, s);
            }
            PollLine::Poll if is_up && s.plugin.is_ended => {
                s.plugin.line = PollLine::Hello;
                add(Elsewhere("the plugin sends a hello"), 0, s);
            }
            PollLine::Poll if is_up => self.answer_poll(s, add),
            PollLine::Hello if is_up => {
                s.plugin.line = PollLine::Welcome(Self::accept_hello(&mut s));
                add(Daemon(DaemonEvent::Hello), 0, s);
            }
            PollLine::Welcome(epoch) => {
                Self::begin_epoch(&mut s, epoch);
                add(Elsewhere("the plugin begins an epoch"), 0, s);
            }
            PollLine::Polled(numbers, need) => {
                self.take_work(&mut s, numbers, need);
                add(Elsewhere("the plugin takes what the poll brings"), 0, s);
            }
            PollLine::Poll | PollLine::Hello => {}
        }
    }

    /// Answers that change nothing are omitted.
    fn answer_poll(&self, mut s: ModelState, add: AddStep<'_>) {
        if s.daemon.seat != s.plugin.epoch {
            Self::finish_epoch(&mut s);
            return add(Elsewhere("the poll is of another epoch"), 0, s);
        }
        let known = s.plugin.at_hand | s.plugin.answered;
        let fresh = |number: u8| if known & bit(number) == 0 { number } else { 0 };
        let numbers = s.daemon.board.map(fresh);
        let need = s.daemon.need && s.plugin.snapshot == SnapshotStage::Not;
        if numbers != [0; 2] || need {
            s.plugin.line = PollLine::Polled(numbers, need);
            if self.has_mistake(SeededMistake::Pops) {
                s.daemon.popped |= numbers.iter().fold(0, |bits, number| bits | bit(*number));
                s.daemon.board = [0; 2];
            }
            add(Elsewhere("the poll is answered"), 0, s);
        }
    }

    pub(super) fn take_work(&self, s: &mut ModelState, numbers: [u8; 2], need: bool) {
        s.plugin.line = PollLine::Poll;
        if need && s.plugin.snapshot == SnapshotStage::Not {
            s.plugin.snapshot = SnapshotStage::Wanted;
            self.begin_snapshot(s);
        }
        for (p, number) in numbers.into_iter().enumerate().filter(|(_, number)| *number > 0) {
            if (s.plugin.at_hand | s.plugin.answered) & bit(number) == 0 {
                s.plugin.at_hand |= bit(number);
                let free = usize::from(s.plugin.queue[0].is_some());
                s.plugin.queue[free] = Some(WorkItem { p, number, epoch: s.plugin.epoch });
            }
        }
        self.start_next_work(s);
    }

    /// Starts the next piece of work if the plugin is idle.
    fn start_next_work(&self, s: &mut ModelState) {
        if s.plugin.doing.is_some() {
            return;
        }
        if let Some(work) = s.plugin.queue[0].take() {
            s.plugin.queue.swap(0, 1);
            let stage = self.perform(s, work.p);
            s.plugin.doing = Some((work, stage));
        }
    }

    fn send_post(s: &mut ModelState, post: PluginPost) {
        s.plugin.slot = PostSlot::Asked(PostRequest { post, epoch: s.plugin.epoch, is_in: false });
        s.plugin.is_over = false;
    }

    /// Handles the answer to a post.
    pub(super) fn handle_answer(&self, s: &mut ModelState, post: PluginPost, is_taken: bool) {
        (s.plugin.slot, s.plugin.is_over) = (PostSlot::Free, false);
        match (post, s.plugin.snapshot, s.plugin.doing) {
            (PluginPost::Begin, SnapshotStage::Begun(place), _) if is_taken => {
                s.plugin.snapshot = SnapshotStage::Ends(place);
            }
            (PluginPost::Begin | PluginPost::End(_), ..) => {
                s.plugin.snapshot = SnapshotStage::Not;
                if !is_taken {
                    Self::finish_epoch(s);
                }
            }
            (PluginPost::Update(_), _, doing) => {
                if !is_taken {
                    s.plugin.is_broken = true;
                    Self::finish_epoch(s);
                }
                if let Some((work, WorkStage::Flushing(outcome))) = doing {
                    let is_said = is_taken && work.epoch == s.plugin.epoch;
                    self.acknowledge(s, work, outcome, is_said);
                }
            }
            (PluginPost::Ack(..), _, Some((work, _))) => {
                if work.epoch == s.plugin.epoch
                    || self.has_mistake(SeededMistake::AnsweredInTheNext)
                {
                    s.plugin.answered |= bit(work.number);
                }
                self.drop_work(s, work);
            }
            (PluginPost::Ack(..), _, None) => {}
        }
    }

    fn acknowledge(
        &self,
        s: &mut ModelState,
        work: WorkItem,
        outcome: ReportedOutcome,
        is_said: bool,
    ) {
        if !is_said {
            return self.drop_work(s, work);
        }
        s.plugin.doing = Some((work, WorkStage::Acking));
        Self::send_post(s, PluginPost::Ack(work.p, outcome));
    }

    fn drop_work(&self, s: &mut ModelState, work: WorkItem) {
        s.plugin.doing = None;
        if work.epoch == s.plugin.epoch {
            s.plugin.at_hand &= !bit(work.number);
        }
        self.start_next_work(s);
    }

    pub(super) fn slot_steps(&self, from: &ModelState, add: AddStep<'_>) {
        let mut s = *from;
        match s.plugin.slot {
            PostSlot::Asked(mut request) if s.daemon.is_up => {
                let answer = self.handle_call(&mut s, &mut request);
                let answered = |is_taken| PostSlot::Answered(request, is_taken);
                s.plugin.slot = answer.map_or(PostSlot::Asked(request), answered);
                add(Daemon(DaemonEvent::Receive(request.post, answer)), 0, s);
            }
            PostSlot::Asked(request) => {
                s.plugin.slot = PostSlot::Resting(PostRequest { is_in: false, ..request });
                add(Elsewhere("a post finds no daemon"), 0, s);
            }
            PostSlot::Answered(request, is_taken) => {
                if !is_taken && !s.plugin.is_over {
                    Self::finish_epoch(&mut s);
                }
                self.handle_answer(&mut s, request.post, is_taken);
                add(Elsewhere("the plugin gets the answer to its post"), 0, s);
            }
            PostSlot::Resting(request) if s.plugin.is_over => {
                self.handle_answer(&mut s, request.post, false);
                add(Elsewhere("the plugin gives up its post"), 0, s);
            }
            PostSlot::Resting(request) if s.daemon.is_up => {
                s.plugin.slot = PostSlot::Asked(request);
                add(Elsewhere("the plugin posts again"), 0, s);
            }
            PostSlot::Free => self.mirror_steps(s, add),
            PostSlot::Resting(_) => {}
        }
    }

    /// Returns the place as it is reported.
    fn read_place(&self, s: &ModelState) -> PlaceState {
        let mut place = s.place;
        if let Some((work, WorkStage::Written)) = s.plugin.doing
            && !self.reads_unfinished
        {
            place.there[work.p] = false;
        }
        place
    }

    /// Reads the tree before anything is sent, and before the work of the same poll is done.
    fn begin_snapshot(&self, s: &mut ModelState) {
        if s.plugin.slot == PostSlot::Free {
            s.plugin.snapshot = SnapshotStage::Begun(self.read_place(s));
            (s.plugin.is_dirty, s.plugin.is_broken) = (false, false);
            Self::send_post(s, PluginPost::Begin);
        }
    }

    fn mirror_steps(&self, mut s: ModelState, add: AddStep<'_>) {
        match s.plugin.snapshot {
            SnapshotStage::Wanted => {
                self.begin_snapshot(&mut s);
                add(Elsewhere("the plugin begins a snapshot"), 0, s);
            }
            SnapshotStage::Ends(place) => {
                Self::send_post(&mut s, PluginPost::End(place));
                add(Elsewhere("the plugin ends a snapshot"), 0, s);
            }
            SnapshotStage::Not
                if s.plugin.is_dirty && !s.plugin.is_broken && s.plugin.epoch > 0 =>
            {
                s.plugin.is_dirty = false;
                let place = self.read_place(&s);
                Self::send_post(&mut s, PluginPost::Update(place));
                add(Elsewhere("the plugin reports a change"), 0, s);
            }
            SnapshotStage::Not | SnapshotStage::Begun(_) => {}
        }
    }

    fn remember(&self, s: &mut ModelState, p: usize, what: WorkMemory) {
        if !self.has_mistake(SeededMistake::Forgets) {
            s.plugin.memory[p] = what;
        }
    }

    fn apply_effect(s: &mut ModelState, p: usize) {
        s.place.there[p] = true;
        s.times[p] += 1;
        s.plugin.is_dirty = true;
    }

    /// `Apply.perform` up to the point where it yields.
    fn perform(&self, s: &mut ModelState, p: usize) -> WorkStage {
        match s.plugin.memory[p] {
            WorkMemory::Done(outcome) => return WorkStage::Done(outcome),
            // It was begun, and reverted when the plugin was loaded again, unless the user has
            // typed over it.
            WorkMemory::Begun if !self.fits(s.place, p) => {
                return WorkStage::Done(ReportedOutcome::Diverged);
            }
            WorkMemory::Begun | WorkMemory::Nothing => {}
        }
        if !self.fits(s.place, p) {
            return WorkStage::Done(ReportedOutcome::Stale);
        }
        if self.kinds[p] == ProposalKind::Create {
            Self::apply_effect(s, p);
            self.remember(s, p, WorkMemory::Done(ReportedOutcome::Applied));
            return WorkStage::Done(ReportedOutcome::Applied);
        }
        if !self.has_mistake(SeededMistake::NotesOnlyTheEnd) {
            self.remember(s, p, WorkMemory::Begun);
        }
        WorkStage::Begun
    }

    /// Continues after the editor's callback, or after the written text is read back.
    fn continue_write(&self, s: &mut ModelState, p: usize, stage: WorkStage) -> WorkStage {
        let outcome = match stage {
            WorkStage::Begun if self.fits(s.place, p) => {
                Self::apply_effect(s, p);
                return WorkStage::Written;
            }
            WorkStage::Begun => ReportedOutcome::Stale,
            _ if s.place.there[p] => ReportedOutcome::Applied,
            _ if self.has_mistake(SeededMistake::TypedOver) => ReportedOutcome::Refused,
            // The text is the old one again.
            _ if !s.place.other[p] => ReportedOutcome::Refused,
            _ => ReportedOutcome::Diverged,
        };
        s.plugin.is_dirty = true;
        let is_done = matches!(outcome, ReportedOutcome::Applied | ReportedOutcome::Diverged);
        self.remember(s, p, if is_done { WorkMemory::Done(outcome) } else { WorkMemory::Nothing });
        WorkStage::Done(outcome)
    }

    pub(super) fn work_steps(&self, from: &ModelState, add: AddStep<'_>) {
        let mut s = *from;
        let Some((work, stage)) = s.plugin.doing else {
            return;
        };
        let is_told = s.plugin.snapshot == SnapshotStage::Not && s.plugin.slot == PostSlot::Free;
        match stage {
            WorkStage::Begun | WorkStage::Written => {
                s.plugin.doing = Some((work, self.continue_write(&mut s, work.p, stage)));
                add(Elsewhere("Studio's editor comes back"), work.p + 1, s);
            }
            WorkStage::Done(_) if s.plugin.is_broken => {
                self.drop_work(&mut s, work);
                add(Elsewhere("the plugin cannot report what it did"), work.p + 1, s);
            }
            WorkStage::Done(outcome) if is_told && s.plugin.is_dirty => {
                s.plugin.is_dirty = false;
                s.plugin.doing = Some((work, WorkStage::Flushing(outcome)));
                let place = s.place;
                Self::send_post(&mut s, PluginPost::Update(place));
                add(Elsewhere("the plugin flushes"), work.p + 1, s);
            }
            WorkStage::Done(outcome) if is_told => {
                let is_said = work.epoch == s.plugin.epoch;
                self.acknowledge(&mut s, work, outcome, is_said);
                add(Elsewhere("the plugin acknowledges"), work.p + 1, s);
            }
            WorkStage::Done(_) | WorkStage::Flushing(_) | WorkStage::Acking => {}
        }
    }
}
