//! The engine in a place that is open in Studio: what it asks, hands out, and hears.
//!
//! The place may change at any time. What is heard goes below what is on trial: that is taken back,
//! the mirror takes what was heard, and the trial is done again; what no longer fits is planned again.

use std::sync::Arc;

use scene_schemas::api::{Acted, Answer, ApplyOutcome, ScenePart, Wanted, WantedProperties};
use scene_schemas::command::AssetContents;
use scene_schemas::entry::{Entry, Seq};
use scene_schemas::proposal::{Ack, Proposal};
use scene_schemas::{Command, Fingerprint, InstanceId};

use super::{Driver, Engine, EngineError, Listener, Target, conversation};
use crate::core::Refusal;
use crate::core::refusal::refuse;
use crate::core::scene::{Missing, Scene, Torn};
use crate::core::tools::{self, Plan};
use crate::core::workflow::{Input, Status, Workflow, decide};
use crate::ledger::{Lease, Ledger};
use crate::targets::studio::{self, Prepared, Seen, Studio};

/// How often one call may ask something before it is refused.
const MAX_ROUNDS: usize = 64;
/// How many instances one question is about.
const MAX_ASKED: usize = 2_000;

/// What the call that is planned now has asked.
#[derive(Debug, Default)]
pub(super) struct Questions {
    call: Option<Seq>,
    rounds: usize,
    /// What its tool asks itself: the answer is the call's.
    own: Option<(u64, Seq)>,
    /// Whether ids of the ledger may be of another epoch than those of the place.
    is_other_epoch: bool,
    /// Proposals that were on trial, and need something told before they can be again.
    untried: Vec<Seq>,
}

impl Engine {
    /// Goes on with a workflow of an open place that another process, or another epoch, left behind.
    pub fn resume_open(
        ledger: &Arc<Ledger>,
        lease: Lease,
        opened: (Studio, Scene),
        driver: Driver,
        listener: Listener,
    ) -> Result<Engine, EngineError> {
        let state = conversation(ledger, Some(lease.workflow()))?;
        let (studio, scene) = opened;
        let opened = (Target::Open(studio), scene);
        let mut engine = Engine::resume(ledger, lease, state, opened, driver, listener);
        let waiting = |status: &Status| *status == Status::Waiting;
        let pending = engine.workflow().into_iter().flat_map(Workflow::proposals);
        let untried = pending.filter(|(_, it)| waiting(&it.status)).map(|(seq, _)| seq).collect();
        engine.questions.untried = untried;
        engine.questions.is_other_epoch = true;
        Ok(engine)
    }

    /// What it works with, for the next workflow; nothing is on trial any more.
    pub fn into_parts(mut self) -> (Target, Scene) {
        self.drop_trial();
        if let Target::Open(studio) = &mut self.target {
            studio.forget_questions();
        }
        (self.target, self.scene)
    }

    /// The plugin began anew: what was asked has to be asked again, and the place to be told.
    pub fn began_anew(&mut self) {
        self.drop_trial();
        self.retry_waiting();
        self.questions.own = None;
        self.questions.is_other_epoch = true;
        self.scene = Scene::open_place();
        if let Target::Open(studio) = &mut self.target {
            studio.forget_questions();
        }
    }

    /// The open place.
    pub fn studio(&self) -> Option<&Studio> {
        match &self.target {
            Target::Open(studio) => Some(studio),
            Target::File(_) => None,
        }
    }

    /// What is told for a call counts until the call is settled.
    pub(super) fn begin_questions(&mut self, call: Seq) {
        if self.questions.call != Some(call) {
            self.questions.call = Some(call);
            self.questions.rounds = 0;
            self.scene.forget_facts();
        }
        let mut meant = self.workflow().and_then(|workflow| workflow.meant(call));
        if self.questions.is_other_epoch
            && let Some(meant) = &mut meant
        {
            // In another epoch its id may be somebody else's; the path is left.
            meant.target.id = InstanceId(String::new());
        }
        self.scene.mean(meant);
    }

    /// The call is settled; where it is planned again, everything is asked anew.
    pub(super) fn end_questions(&mut self) {
        self.questions.call = None;
    }

    pub(super) fn is_waiting_for_studio(&mut self) -> bool {
        let Target::Open(studio) = &self.target else {
            return false;
        };
        // What stands on something that is being done can be tried when it is.
        if self.is_acting() || studio.is_asked() || !self.scene.is_whole() {
            return true;
        }
        if self.questions.untried.is_empty() {
            return false;
        }
        let untried = std::mem::take(&mut self.questions.untried);
        // What cannot be tried was asked about, or is planned again.
        let _ = self.try_again(untried);
        self.is_waiting_for_studio()
    }

    /// Whether Studio was given a proposal that it has not acknowledged.
    pub(super) fn is_acting(&self) -> bool {
        let Some(studio) = self.studio() else {
            return false;
        };
        let applying = |status: &Status| matches!(status, Status::Applying(_));
        let mut pending = self.workflow().into_iter().flat_map(Workflow::proposals);
        pending.any(|(seq, it)| applying(&it.status) && studio.is_handed_out(seq))
    }

    /// Asks Studio for what a plan needs; false where it needs nothing.
    pub(super) fn asks_studio(&mut self, call: Seq, result: &Result<Plan, Refusal>) -> bool {
        let missing = self.scene.take_missing();
        let Target::Open(studio) = &mut self.target else {
            return false;
        };
        if let Ok(Plan::Fetch(wanted)) = result {
            let number = studio.ask(wanted.clone());
            self.questions.own = Some((number, call));
            return true;
        }
        self.questions.rounds += 1;
        if missing.is_empty() || self.questions.rounds > MAX_ROUNDS {
            return false;
        }
        ask(studio, missing);
        true
    }

    /// Whether everything was known that a draft has asked.
    ///
    /// # Errors
    /// Something was not; it is asked for now.
    pub(super) fn all_known(&mut self) -> Result<(), Refusal> {
        let missing = self.scene.take_missing();
        match &mut self.target {
            Target::Open(studio) if !missing.is_empty() => {
                ask(studio, missing);
                refuse!("The place is being read for this; say it again in a moment.")
            }
            _ => Ok(()),
        }
    }

    /// A yes, and what it becomes in Studio where nothing else is on its way: both are durable at
    /// once, so that Studio is told after one sync.
    pub(super) fn approve_open(&mut self, seq: Seq, yes: Input) -> Result<(), EngineError> {
        let mut entries = decide(&self.state, self.workflow, yes)?;
        let workflow = self.state.workflow(self.workflow);
        let is_free = workflow.is_some_and(|it| it.is_settled_but(seq));
        let prepared = if is_free { self.prepare(seq)? } else { None };
        let session = self.studio().map(|studio| studio.place().session.to_string());
        let Some((approved, prepared)) = prepared.filter(|_| !entries.is_empty()) else {
            return self.append(entries, Vec::new()).map(drop);
        };
        let (file, acks) = (session.unwrap_or_default(), vec![prepared.ack]);
        entries.push(Entry::Applying { proposals: vec![seq], file, before: None, acks });
        self.append(entries, Vec::new())?;
        if let Target::Open(studio) = &mut self.target {
            studio.hand_out(seq, &approved, prepared.actions);
        }
        Ok(())
    }

    /// What a proposal becomes in Studio; none where that is not known, or it does not fit.
    fn prepare(&mut self, seq: Seq) -> Result<Option<(Proposal, Prepared)>, EngineError> {
        self.drop_trial();
        self.load_blobs(&[seq])?;
        let pending = self.state.workflow(self.workflow).and_then(|it| it.proposal(seq));
        let Some((call, proposal)) = pending.map(|it| (it.call, it.proposal.clone())) else {
            return Ok(None);
        };
        let mark = self.scene.mark();
        let prepared = studio::prepare(&mut self.scene, call, &proposal, &self.blobs);
        self.scene.rollback(mark);
        let is_known = self.scene.take_missing().is_empty() && self.scene.is_whole();
        Ok(prepared.ok().filter(|_| is_known).map(|prepared| (proposal, prepared)))
    }

    /// Hands an approved proposal to Studio, the first that is not.
    pub(super) fn hand_out(&mut self, proposals: &[Seq]) -> Result<(), EngineError> {
        self.drop_trial();
        let Some(seq) = proposals.first().copied() else {
            return Ok(());
        };
        self.load_blobs(&[seq])?;
        let Some(pending) = self.state.workflow(self.workflow).and_then(|it| it.proposal(seq))
        else {
            return Ok(());
        };
        let (call, is_new) = (pending.call, pending.status == Status::Approved);
        let seen = match &pending.status {
            Status::Applying(predicted) => studio::seen(&self.scene, &pending.proposal, predicted),
            _ => Seen::NotDone,
        };
        let mark = self.scene.mark();
        let prepared = studio::prepare(&mut self.scene, call, &pending.proposal, &self.blobs);
        self.scene.rollback(mark);
        let missing = self.scene.take_missing();
        let Target::Open(studio) = &mut self.target else {
            return Ok(());
        };
        if !missing.is_empty() {
            ask(studio, missing);
            return Ok(());
        }
        if seen == Seen::Done
            && let Status::Applying(predicted) = &pending.status
        {
            let ack = predicted.clone();
            return self.input(Input::Acted { proposal: seq, ack }).map(drop);
        }
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) if seen == Seen::Unclear => return self.settle_unknown(seq, &refusal),
            Err(refusal) => {
                let reason = format!("{refusal} It is planned again on what is there now.");
                // What was given to Studio before this process is not there, as was seen.
                let not_done = if is_new { Vec::new() } else { vec![seq] };
                return self.input(Input::Moved { reason, not_done }).map(drop);
            }
        };
        let (approved, actions) = (pending.proposal.clone(), prepared.actions);
        if is_new {
            let file = studio.place().session.to_string();
            let acks = vec![prepared.ack];
            self.input(Input::Applying { proposals: vec![seq], file, before: None, acks })?;
        }
        if let Target::Open(studio) = &mut self.target {
            studio.hand_out(seq, &approved, actions);
        }
        Ok(())
    }

    /// A proposal that was handed out by a process that stopped, of which some may have been done.
    fn settle_unknown(&mut self, seq: Seq, refusal: &Refusal) -> Result<(), EngineError> {
        let reason = format!(
            "Vector was stopped while Studio did this. Look whether it is there, and ask for it again \
             where it is not. ({refusal})"
        );
        self.input(Input::Failed { proposals: vec![seq], reason }).map(drop)
    }

    /// Takes what Studio says became of a proposal; false where that was known.
    ///
    /// # Errors
    /// The ledger cannot be used.
    pub fn acknowledged(
        &mut self,
        seq: Seq,
        patch_id: &Fingerprint,
        outcome: ApplyOutcome,
    ) -> Result<bool, EngineError> {
        if let Target::Open(studio) = &mut self.target {
            studio.acknowledged(seq, patch_id);
        }
        let Some(pending) = self.state.workflow(self.workflow).and_then(|it| it.proposal(seq))
        else {
            return Ok(false);
        };
        let Status::Applying(predicted) = &pending.status else {
            return Ok(false);
        };
        if pending.proposal.patch_id != *patch_id {
            return Ok(false);
        }
        let (call, predicted) = (pending.call, predicted.as_ref().clone());
        let commands = pending.proposal.commands.clone();
        match outcome {
            ApplyOutcome::Applied { acted, .. } => {
                let ack = studio::settled(predicted, call, &commands, &acted);
                self.input(Input::Acted { proposal: seq, ack: Box::new(ack) })?;
                self.name_made(call, &commands, &acted);
            }
            ApplyOutcome::Stale { .. } if self.is_there(seq, &predicted) => {
                self.input(Input::Acted { proposal: seq, ack: Box::new(predicted) })?;
            }
            ApplyOutcome::Stale { reason } => {
                let reason = format!("{reason} It is planned again on what is there now.");
                self.input(Input::Moved { reason, not_done: vec![seq] })?;
            }
            ApplyOutcome::Refused { reason } | ApplyOutcome::Diverged { reason } => {
                self.input(Input::Failed { proposals: vec![seq], reason })?;
            }
        }
        self.retry_waiting();
        Ok(true)
    }

    /// Whether the place is as a proposal would have left it, which a plugin may have forgotten.
    fn is_there(&mut self, seq: Seq, predicted: &Ack) -> bool {
        let pending = self.state.workflow(self.workflow).and_then(|it| it.proposal(seq));
        let seen = pending.map(|it| studio::seen(&self.scene, &it.proposal, predicted));
        self.scene.take_missing().is_empty() && seen == Some(Seen::Done)
    }

    fn name_made(&mut self, call: Seq, commands: &[Command], acted: &[Acted]) {
        for (id, real) in studio::made(call, commands, acted) {
            let k = id.0.strip_prefix(&format!("new:{call}.")).and_then(|k| k.parse().ok());
            if let Some(k) = k {
                self.scene.known_as(call, k, &real);
            }
        }
    }

    /// What waits is put on trial again, once what it stands on is heard of.
    fn retry_waiting(&mut self) {
        self.drop_trial();
        let workflow = self.state.workflow(self.workflow).into_iter();
        let waiting = workflow.flat_map(Workflow::proposals);
        let waiting = waiting.filter(|(_, it)| it.status == Status::Waiting);
        self.questions.untried = waiting.map(|(seq, _)| seq).collect();
    }

    /// Takes what is said of the place.
    ///
    /// # Errors
    /// It does not fit; the place has to be told once more.
    pub fn hear(&mut self, part: &ScenePart) -> Result<Result<(), Torn>, EngineError> {
        if let ScenePart::Answered { work, answer } = part {
            return self.answered(*work, answer).map(Ok);
        }
        if let ScenePart::Undone { recording } | ScenePart::Redone { recording } = part {
            let again = matches!(part, ScenePart::Redone { .. });
            if let Some(proposal) = studio::recorded(recording) {
                self.input(Input::Undone { proposal, again })?;
                self.take_back_settled();
            }
            return Ok(Ok(()));
        }
        if !self.trial.is_empty() {
            let trial: Vec<Seq> = self.trial.iter().map(|(seq, _)| *seq).collect();
            self.drop_trial();
            self.questions.untried.splice(0..0, trial);
        }
        Ok(self.scene.hear(part))
    }

    fn answered(&mut self, number: u64, answer: &Answer) -> Result<(), EngineError> {
        let Target::Open(studio) = &mut self.target else {
            return Ok(());
        };
        let Some(wanted) = studio.answered(number) else {
            return Ok(());
        };
        if let Some((own, call)) = self.questions.own
            && own == number
        {
            self.questions.own = None;
            self.end_questions();
            let result = tools::told(&self.scene, answer).map(Plan::Answer);
            let after = self.trial.iter().map(|(seq, _)| *seq).collect();
            return self.input(Input::Planned { call, result, after }).map(drop);
        }
        let trial: Vec<Seq> = self.trial.iter().map(|(seq, _)| *seq).collect();
        self.drop_trial();
        self.questions.untried.splice(0..0, trial);
        match (wanted, answer) {
            (Wanted::Properties { of }, Answer::Properties { known }) => {
                self.scene.know(known, &of);
            }
            (Wanted::Properties { of }, _) => self.scene.know(&[], &of),
            (Wanted::Sources { ids }, Answer::Sources { scripts }) => {
                self.scene.know_sources(scripts);
                self.scene.know_no_sources(&ids);
            }
            (Wanted::Sources { ids }, _) => self.scene.know_no_sources(&ids),
            (Wanted::Selection {}, Answer::Selection { ids, count }) => {
                self.scene.know_selection(ids, *count);
            }
            (Wanted::Selection {}, _) => self.scene.know_selection(&[], 0),
            (Wanted::Asset { asset }, answer) => self.scene.know_asset(asset, holds(answer)),
            _ => {}
        }
        Ok(())
    }

    /// Offers nothing any more that is settled.
    fn take_back_settled(&mut self) {
        let workflow = self.state.workflow(self.workflow);
        let is_due = |seq: Seq| {
            let pending = workflow.and_then(|it| it.proposal(seq));
            pending.is_some_and(|it| matches!(it.status, Status::Applying(_)))
        };
        if let Target::Open(studio) = &mut self.target {
            studio.keep(is_due);
        }
    }

    /// Puts proposals on trial once more. What does not fit is planned again; what needs something
    /// told is tried later.
    fn try_again(&mut self, proposals: Vec<Seq>) -> Result<(), EngineError> {
        let is_waiting = |engine: &Self, seq: Seq| {
            let pending = engine.workflow().and_then(|workflow| workflow.proposal(seq));
            pending.is_some_and(|it| it.status == Status::Waiting)
        };
        let proposals: Vec<Seq> =
            proposals.into_iter().filter(|seq| is_waiting(self, *seq)).collect();
        let done = self.redo(&proposals);
        let missing = self.scene.take_missing();
        if !missing.is_empty() {
            self.drop_trial();
            self.questions.untried = proposals;
            if let Target::Open(studio) = &mut self.target {
                ask(studio, missing);
            }
            return Ok(());
        }
        if let Err(EngineError::Refused(refusal)) = done {
            self.drop_trial();
            let reason = format!("{refusal} It is planned again on what is there now.");
            self.input(Input::Moved { reason, not_done: Vec::new() })?;
        }
        Ok(())
    }
}

/// What an asset holds, or why that cannot be told.
fn holds(answer: &Answer) -> Result<AssetContents, String> {
    match answer {
        Answer::Asset { holds } => Ok(holds.clone()),
        Answer::Failed { reason } => Err(reason.clone()),
        _ => Err("Studio answered something else than was asked. Ask for it again.".to_owned()),
    }
}

/// Asks for what is missing, in pieces.
fn ask(studio: &mut Studio, missing: Missing) {
    for of in missing.properties.chunks(MAX_ASKED) {
        let of: Vec<WantedProperties> = of.to_vec();
        studio.ask(Wanted::Properties { of });
    }
    for ids in missing.sources.chunks(MAX_ASKED) {
        studio.ask(Wanted::Sources { ids: ids.to_vec() });
    }
    if missing.selection {
        studio.ask(Wanted::Selection {});
    }
    for asset in missing.assets {
        studio.ask(Wanted::Asset { asset });
    }
}
