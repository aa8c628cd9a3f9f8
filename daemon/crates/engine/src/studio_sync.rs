//! The engine's synchronisation with a place that is open in Studio: questions, proposals to apply,
//! and reported changes.
//!
//! The place may change at any time. A reported change goes below the overlay: the overlay is
//! rolled back, the mirror takes the change, and the overlay is applied again. Proposals that no
//! longer fit are replanned.

use scene_schemas::Refusal;
use scene_schemas::api::{
    ActionResult, ApplyOutcome, PluginAnswer, PluginQuery, PropertyQuery, ScenePart, Work,
};
use scene_schemas::command::AssetContents;
use scene_schemas::entry::{Entry, Seq, StudioPlace};
use scene_schemas::proposal::{Ack, Proposal};
use scene_schemas::refusal::refuse;
use scene_schemas::{Fingerprint, InstanceId};
use vector_core::tools::{self, Plan};
use vector_core::workflow::{PendingProposal, PendingStatus, Workflow, WorkflowInput, decide};
use vector_place::{MissingFacts, OutOfSync, Scene};

use crate::studio::{self, ObservedState, PreparedActions, StudioTarget};
use crate::{Engine, EngineError, Target};

/// How often one call may ask questions before it is refused.
const MAX_ROUNDS: usize = 64;
/// How many instances one question may cover.
const MAX_INSTANCES: usize = 2_000;

/// The state of the questions to Studio.
#[derive(Debug, Default)]
pub(super) struct AskedQuestions {
    call: Option<Seq>,
    rounds: usize,
    /// The number of a question that a tool asks itself, and its call. The answer becomes the
    /// call's result.
    own_question: Option<(u64, Seq)>,
    /// Proposals that have to be overlaid again, once the facts that they need are known.
    pending_overlay: Vec<Seq>,
}

impl Engine {
    /// Handles a restart of the plugin: empties the mirror, which Studio has to fill again, and
    /// drops all questions.
    pub fn reset_mirror(&mut self) {
        self.requeue_overlay();
        self.forget_questions();
        self.tasks.values_mut().for_each(|task| task.is_other_epoch = true);
        self.invalidate_ids(self.last_seq);
        self.scene = Scene::empty_studio_place();
        self.linked_projects.reset_links();
        self.read_memory();
    }

    /// Drops all questions to Studio: they are no longer needed, or will be asked again.
    pub fn forget_questions(&mut self) {
        self.questions.own_question = None;
        self.questions.call = None;
        if let Target::Open(studio) = &mut self.target {
            studio.forget_questions();
        }
    }

    /// Returns the place as Studio reported it, without the overlay.
    pub fn mirror_scene(&mut self) -> &mut Scene {
        self.drop_overlay();
        &mut self.scene
    }

    /// Replaces the description of the open place, for example after it was renamed or published.
    pub fn update_place(&mut self, place: StudioPlace) {
        if let Target::Open(studio) = &mut self.target {
            studio.update_place(place);
        }
        self.read_memory();
    }

    pub fn studio(&self) -> Option<&StudioTarget> {
        match &self.target {
            Target::Open(studio) => Some(studio),
            Target::File(_) | Target::Project(_) => None,
        }
    }

    /// Begins the questions of a call. Facts that are fetched for a call are valid until it is
    /// settled.
    pub(super) fn begin_questions(&mut self, workflow: Seq, call: Seq) {
        if self.questions.call != Some(call) {
            self.questions.call = Some(call);
            self.questions.rounds = 0;
            self.scene.forget_facts();
        }
        let mut implicit_target = self.workflow(workflow).and_then(|it| it.implicit_target(call));
        if self.tasks.get(&workflow).is_some_and(|task| task.is_other_epoch)
            && let Some(implicit_target) = &mut implicit_target
        {
            // In another epoch the id may belong to another instance, so only the path is kept.
            implicit_target.target.id = InstanceId(String::new());
        }
        self.scene.set_implicit_target(implicit_target);
    }

    /// Whether this call has asked Studio something and is not settled.
    pub fn is_asking_for(&self, call: Seq) -> bool {
        self.questions.call == Some(call)
    }

    /// Whether any call has asked Studio something and is not settled.
    pub(super) fn is_asking(&self) -> bool {
        self.questions.call.is_some()
    }

    /// Marks the call as settled. If it is planned again, all its questions are asked again.
    pub(super) fn end_questions(&mut self) {
        self.questions.call = None;
    }

    /// Prepares the place for planning: dispatches approved proposals and overlays pending ones.
    /// Returns true if Studio has to apply or answer something first.
    pub(super) fn is_waiting_for_studio(&mut self) -> Result<bool, EngineError> {
        loop {
            let Target::Open(studio) = &self.target else {
                if self.questions.pending_overlay.is_empty() {
                    return Ok(false);
                }
                self.rebuild_overlay()?;
                continue;
            };
            // Proposals that depend on one that is being applied are tried when that is done.
            if self.is_applying() || studio.has_open_question() || !self.scene.is_tree_complete() {
                return Ok(true);
            }
            if let Some(seq) = self.first_approved() {
                self.dispatch_proposal(seq)?;
            } else if !self.overlay_unsynced()? {
                return Ok(true);
            } else if self.questions.pending_overlay.is_empty() {
                return Ok(false);
            } else {
                self.rebuild_overlay()?;
            }
        }
    }

    /// Whether Studio has a proposal that it has not acknowledged.
    pub fn is_applying(&self) -> bool {
        let work = self.studio().map_or(&[][..], StudioTarget::work).iter();
        let mut handed_out = work.filter_map(|work| match work {
            Work::Apply { apply } => Some(apply.proposal),
            Work::Tell { .. } => None,
        });
        let is_due = |seq| {
            let status = self.find_proposal(seq).map(|(_, pending)| &pending.status);
            matches!(status, Some(PendingStatus::Applying(_)))
        };
        handed_out.any(is_due)
    }

    /// Returns the workflow for which Studio is asked something, or will be.
    pub fn asking_workflow(&self) -> Option<Seq> {
        let is_its = |workflow: &Workflow, call| workflow.call(call).is_some();
        let call = self.questions.call;
        let of_call = call.and_then(|call| {
            self.active_workflows().find(|(_, workflow)| is_its(workflow, call)).map(|(seq, _)| seq)
        });
        let first = || self.first_approved().or(self.questions.pending_overlay.first().copied());
        of_call.or_else(|| Some(self.find_proposal(first()?)?.0))
    }

    /// Asks Studio for the facts that a plan needs. Returns false if it needs none, or has asked
    /// too often.
    pub(super) fn ask_studio(&mut self, call: Seq, result: &Result<Plan, Refusal>) -> bool {
        let missing = self.scene.take_missing();
        let Target::Open(studio) = &mut self.target else {
            return false;
        };
        if let Ok(Plan::Fetch(wanted)) = result {
            let number = studio.request(wanted.clone());
            self.questions.own_question = Some((number, call));
            return true;
        }
        self.questions.rounds += 1;
        if missing.is_empty() || self.questions.rounds > MAX_ROUNDS {
            return false;
        }
        request_missing(studio, missing);
        true
    }

    /// Checks that a draft met no unknown facts.
    ///
    /// # Errors
    /// Some facts are unknown. They are requested now.
    pub(super) fn check_all_known(&mut self) -> Result<(), Refusal> {
        let missing = self.scene.take_missing();
        match &mut self.target {
            Target::Open(studio) if !missing.is_empty() => {
                request_missing(studio, missing);
                refuse!("The place is being read for this; say it again in a moment.")
            }
            _ => Ok(()),
        }
    }

    /// Approves a proposal. If nothing else is queued, its actions are prepared as well, so that
    /// both entries become durable in one sync before Studio receives it.
    pub(super) fn approve_in_studio(
        &mut self,
        workflow: Seq,
        seq: Seq,
        yes: WorkflowInput,
    ) -> Result<(), EngineError> {
        let mut entries = decide(&self.state, workflow, yes)?;
        let is_free = self.first_approved().is_none() && self.is_studio_only(seq);
        let prepared = if is_free { self.prepare_apply(seq)? } else { None };
        let session = self.studio().map(|studio| studio.place().session.to_string());
        let Some((approved, prepared)) = prepared.filter(|_| !entries.is_empty()) else {
            return self.append_entries(workflow, entries, Vec::new()).map(drop);
        };
        let (file, acks) = (session.unwrap_or_default(), vec![prepared.ack]);
        entries.push(Entry::Applying { proposals: vec![seq], file, before: None, acks });
        self.append_entries(workflow, entries, Vec::new())?;
        if let Target::Open(studio) = &mut self.target {
            studio.queue_apply(seq, &approved, prepared.actions);
        }
        Ok(())
    }

    /// Prepares a proposal for Studio. None if facts are missing, or it does not fit.
    fn prepare_apply(
        &mut self,
        seq: Seq,
    ) -> Result<Option<(Proposal, PreparedActions)>, EngineError> {
        self.drop_overlay();
        self.load_proposal_blobs(&[seq])?;
        let pending = self.find_proposal(seq);
        let Some((call, proposal)) = pending.map(|(_, it)| (it.call, it.proposal.clone())) else {
            return Ok(None);
        };
        let mark = self.scene.journal_mark();
        let prepared = studio::prepare_actions(&mut self.scene, call, &proposal, &self.blobs);
        self.scene.rollback(mark);
        let is_known = self.scene.take_missing().is_empty() && self.scene.is_tree_complete();
        Ok(prepared.ok().filter(|_| is_known).map(|prepared| (proposal, prepared)))
    }

    /// Sends an approved proposal to Studio.
    fn dispatch_proposal(&mut self, seq: Seq) -> Result<(), EngineError> {
        if self.is_memory_change(seq) {
            return self.write_memory(seq);
        }
        self.drop_overlay();
        self.load_proposal_blobs(&[seq])?;
        let Some((_, pending)) = self.state.find_proposal(seq) else {
            return Ok(());
        };
        let (call, is_new) = (pending.call, pending.status == PendingStatus::Approved);
        let seen = match &pending.status {
            PendingStatus::Applying(predicted) => {
                studio::observe_proposal(&self.scene, &pending.proposal, predicted)
            }
            _ => ObservedState::NotDone,
        };
        if let (PendingStatus::Applying(predicted), true) =
            (&pending.status, pending.proposal.files.is_some())
        {
            let predicted = predicted.clone();
            if !self.has_finished_files(seq, &predicted, seen)? {
                return Ok(());
            }
        }
        let Some((_, pending)) = self.state.find_proposal(seq) else {
            return Ok(());
        };
        let mark = self.scene.journal_mark();
        let prepared =
            studio::prepare_actions(&mut self.scene, call, &pending.proposal, &self.blobs);
        self.scene.rollback(mark);
        let missing = self.scene.take_missing();
        let Target::Open(studio) = &mut self.target else {
            return Ok(());
        };
        if !missing.is_empty() {
            request_missing(studio, missing);
            return Ok(());
        }
        if seen == ObservedState::Done
            && let PendingStatus::Applying(predicted) = &pending.status
        {
            let (ack, approved) = (predicted.clone(), pending.proposal.clone());
            self.handle_for_proposal(seq, WorkflowInput::Acted { proposal: seq, ack })?;
            self.record_unsynced(call, &approved);
            return Ok(());
        }
        let predicted = match &pending.status {
            PendingStatus::Applying(predicted) => Some(predicted.clone()),
            _ => None,
        };
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) if seen == ObservedState::Unclear => {
                return self.fail_unclear(seq, &refusal);
            }
            // If an earlier process had sent it to Studio, it was observed above not to be applied.
            Err(refusal) => return self.handle_stale(seq, &refusal.0, predicted.as_deref()),
        };
        let approved = pending.proposal.clone();
        if is_new && !self.begin_applying(seq, call, &approved, prepared.ack)? {
            return Ok(());
        }
        if prepared.actions.is_empty() {
            return self.complete_in_files(seq, call, &approved);
        }
        if let Target::Open(studio) = &mut self.target {
            studio.queue_apply(seq, &approved, prepared.actions);
        }
        Ok(())
    }

    /// Records a proposal as being applied, and writes its file part. Returns false if that was not
    /// possible.
    fn begin_applying(
        &mut self,
        seq: Seq,
        call: Seq,
        approved: &Proposal,
        ack: Ack,
    ) -> Result<bool, EngineError> {
        let file = self.studio().map(|studio| studio.place().session.to_string());
        let file = file.unwrap_or_default();
        if approved.files.is_some() {
            return self.write_files(seq, call, approved, ack, file);
        }
        let acks = vec![ack];
        let applying = WorkflowInput::Applying { proposals: vec![seq], file, before: None, acks };
        self.handle_for_proposal(seq, applying)?;
        Ok(true)
    }

    /// Records a proposal as failed that a stopped process had sent to Studio and that may be
    /// partly applied.
    fn fail_unclear(&mut self, seq: Seq, refusal: &Refusal) -> Result<(), EngineError> {
        let files = if self.is_studio_only(seq) { "" } else { " Its files are written." };
        let reason = format!(
            "Vector was stopped while Studio did this. Look whether it is there, and ask for it again \
             where it is not.{files} ({refusal})"
        );
        self.fail_proposal(seq, reason)
    }

    /// Handles Studio's result for a proposal. Returns false if the result was known already.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn acknowledge(
        &mut self,
        seq: Seq,
        patch_id: &Fingerprint,
        outcome: ApplyOutcome,
    ) -> Result<bool, EngineError> {
        if let Target::Open(studio) = &mut self.target {
            studio.remove_acknowledged(seq, patch_id);
        }
        let Some((workflow, pending)) = self.find_proposal(seq) else {
            return Ok(false);
        };
        let PendingStatus::Applying(predicted) = &pending.status else {
            return Ok(false);
        };
        if pending.proposal.patch_id != *patch_id {
            return Ok(false);
        }
        let (call, predicted) = (pending.call, predicted.as_ref().clone());
        let proposal = pending.proposal.clone();
        match outcome {
            ApplyOutcome::Applied { acted, .. } => {
                let ack = studio::resolve_ack(predicted, call, &proposal, &acted);
                let input = WorkflowInput::Acted { proposal: seq, ack: Box::new(ack) };
                self.handle_input(workflow, input)?;
                self.record_created_ids(call, &proposal, &acted);
                self.record_unsynced(call, &proposal);
            }
            ApplyOutcome::Stale { .. } if self.is_already_applied(seq, &predicted) => {
                let acted = WorkflowInput::Acted { proposal: seq, ack: Box::new(predicted) };
                self.handle_input(workflow, acted)?;
                self.record_unsynced(call, &proposal);
            }
            ApplyOutcome::Stale { reason } => self.handle_stale(seq, &reason, Some(&predicted))?,
            ApplyOutcome::Refused { reason } | ApplyOutcome::Diverged { reason } => {
                let (Ok(files) | Err(files)) = self.revert_files(&predicted)?;
                let reason = format!("{reason}{files}");
                self.fail_proposal(seq, reason)?;
            }
        }
        self.requeue_overlay();
        Ok(true)
    }

    /// Whether the place is as the proposal would have left it. The plugin may have forgotten that
    /// it applied it.
    fn is_already_applied(&mut self, seq: Seq, predicted: &Ack) -> bool {
        let pending = self.state.find_proposal(seq);
        let seen =
            pending.map(|(_, it)| studio::observe_proposal(&self.scene, &it.proposal, predicted));
        self.scene.take_missing().is_empty() && seen == Some(ObservedState::Done)
    }

    fn record_created_ids(&mut self, call: Seq, proposal: &Proposal, acted: &[ActionResult]) {
        for (id, real) in studio::id_mapping(call, proposal, acted) {
            let k = id.0.strip_prefix(&format!("new:{call}.")).and_then(|k| k.parse().ok());
            if let Some(k) = k {
                self.scene.bind_created_id(call, k, &real);
            }
        }
    }

    /// Queues all pending proposals to be overlaid again, for example after a reported change.
    pub(super) fn requeue_overlay(&mut self) {
        self.drop_overlay();
        let waiting = self.all_proposals().into_iter().filter(|(_, it)| self.should_overlay(it));
        self.questions.pending_overlay = waiting.map(|(seq, _)| seq).collect();
    }

    /// Queues proposals that were in the overlay, ahead of those that are queued already.
    pub(super) fn queue_overlay(&mut self, proposals: impl Iterator<Item = Seq>) {
        self.questions.pending_overlay.splice(0..0, proposals);
    }

    /// Applies a change that Studio reported to the mirror.
    ///
    /// # Errors
    /// The inner error means that the change does not fit; the plugin has to send the whole place
    /// again.
    pub fn update_mirror(
        &mut self,
        part: &ScenePart,
    ) -> Result<Result<(), OutOfSync>, EngineError> {
        if let ScenePart::Answered { work, answer } = part {
            return self.handle_answer(*work, answer).map(Ok);
        }
        if let ScenePart::Undone { recording } | ScenePart::Redone { recording } = part {
            let again = matches!(part, ScenePart::Redone { .. });
            if let Some(proposal) = studio::parse_recording(recording)
                && let Some((workflow, _)) = self.find_proposal(proposal)
            {
                let left = self.undo_files(proposal, again)?;
                let undone = WorkflowInput::Undone { proposal, is_redone: again, left };
                self.handle_input(workflow, undone)?;
                self.retract_settled();
            }
            return Ok(Ok(()));
        }
        self.drop_overlay();
        Ok(self.scene.update_mirror(part))
    }

    fn handle_answer(&mut self, number: u64, answer: &PluginAnswer) -> Result<(), EngineError> {
        let asker = self.asking_workflow();
        let Target::Open(studio) = &mut self.target else {
            return Ok(());
        };
        let Some(wanted) = studio.take_answer(number) else {
            return Ok(());
        };
        if let Some((own, call)) = self.questions.own_question
            && own == number
        {
            self.questions.own_question = None;
            self.end_questions();
            let result = tools::describe_answer(&self.scene, answer).map(Plan::Answer);
            let after = self.overlay.iter().map(|(seq, _)| *seq).collect();
            let planned = WorkflowInput::Planned { call, result, after };
            return match asker {
                Some(workflow) => self.handle_input(workflow, planned).map(drop),
                None => Ok(()),
            };
        }
        self.drop_overlay();
        match (wanted, answer) {
            (PluginQuery::Properties { of }, PluginAnswer::Properties { known }) => {
                self.scene.set_known_properties(known, &of);
            }
            (PluginQuery::Properties { of }, _) => self.scene.set_known_properties(&[], &of),
            (PluginQuery::Sources { ids }, PluginAnswer::Sources { scripts }) => {
                self.scene.set_known_sources(scripts);
                self.scene.mark_sources_unavailable(&ids);
            }
            (PluginQuery::Sources { ids }, _) => self.scene.mark_sources_unavailable(&ids),
            (PluginQuery::Selection {}, PluginAnswer::Selection { ids, count }) => {
                self.scene.set_selection(ids, *count);
            }
            (PluginQuery::Selection {}, _) => self.scene.set_selection(&[], 0),
            (PluginQuery::Asset { asset }, answer) => {
                self.scene.set_asset_contents(asset, asset_contents(answer));
            }
            _ => {}
        }
        Ok(())
    }

    /// Removes queued proposals that are not being applied any more.
    fn retract_settled(&mut self) {
        let state = &self.state;
        let is_due = |seq: Seq| {
            let status = state.find_proposal(seq).map(|(_, it)| &it.status);
            matches!(status, Some(PendingStatus::Applying(_)))
        };
        if let Target::Open(studio) = &mut self.target {
            studio.retain_proposals(is_due);
        }
    }

    /// Applies the queued proposals to the overlay. If one does not fit, its workflow is replanned.
    /// If facts are missing, they are requested, and the proposals stay queued.
    fn rebuild_overlay(&mut self) -> Result<(), EngineError> {
        let mut proposals = std::mem::take(&mut self.questions.pending_overlay);
        proposals
            .retain(|seq| self.find_proposal(*seq).is_some_and(|(_, it)| self.should_overlay(it)));
        let tried = self.overlay.len();
        let done = self.overlay_proposals(&proposals);
        let missing = self.scene.take_missing();
        let unfit = proposals.get(self.overlay.len() - tried).copied();
        if missing.is_empty() && done.is_ok() {
            return Ok(());
        }
        self.drop_overlay_from(tried);
        self.questions.pending_overlay = proposals;
        if !missing.is_empty() {
            if let Target::Open(studio) = &mut self.target {
                request_missing(studio, missing);
            }
            return Ok(());
        }
        match (done, unfit.and_then(|seq| self.find_proposal(seq))) {
            (Err(EngineError::Refused(refusal)), Some((workflow, _))) => {
                let reason = format!("{refusal} It is planned again on what is there now.");
                let moved = WorkflowInput::Moved { reason, not_done: Vec::new() };
                self.handle_input(workflow, moved).map(drop)
            }
            (done, _) => done,
        }
    }

    /// Whether a proposal belongs in the overlay. For files, approved proposals wait until all of a
    /// task are decided; Studio receives them at once.
    fn should_overlay(&self, pending: &PendingProposal) -> bool {
        match pending.status {
            PendingStatus::Waiting => true,
            PendingStatus::Approved => !matches!(self.target, Target::Open(_)),
            _ => false,
        }
    }
}

/// Returns the contents of an asset, or the reason they are unknown.
fn asset_contents(answer: &PluginAnswer) -> Result<AssetContents, String> {
    match answer {
        PluginAnswer::Asset { holds } => Ok(holds.clone()),
        PluginAnswer::Failed { reason } => Err(reason.clone()),
        _ => Err("Studio answered something else than was asked. Ask for it again.".to_owned()),
    }
}

/// Requests missing facts, in chunks.
pub(super) fn request_missing(studio: &mut StudioTarget, missing: MissingFacts) {
    for of in missing.properties.chunks(MAX_INSTANCES) {
        let of: Vec<PropertyQuery> = of.to_vec();
        studio.request(PluginQuery::Properties { of });
    }
    for ids in missing.sources.chunks(MAX_INSTANCES) {
        studio.request(PluginQuery::Sources { ids: ids.to_vec() });
    }
    if missing.is_selection_missing {
        studio.request(PluginQuery::Selection {});
    }
    for asset in missing.assets {
        studio.request(PluginQuery::Asset { asset });
    }
}
