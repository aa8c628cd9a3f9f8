//! The engine's synchronisation with a place that is open in Studio: questions, proposals to apply,
//! and reported changes.
//!
//! The place may change at any time. A reported change goes below the overlay: the overlay is
//! rolled back, the mirror takes the change, and the overlay is applied again. Proposals that no
//! longer fit are replanned.

use std::collections::BTreeSet;

use scene_schemas::Refusal;
use scene_schemas::api::{ActionResult, ApplyOutcome, PluginAnswer, PluginQuery, ScenePart, Work};
use scene_schemas::command::AssetContents;
use scene_schemas::entry::{Entry, Seq, StudioPlace};
use scene_schemas::proposal::{Ack, Proposal};
use scene_schemas::refusal::refuse;
use scene_schemas::{Fingerprint, InstanceId};
use vector_core::tools::{self, Plan};
use vector_core::workflow::{PendingStatus, Workflow, WorkflowInput};
use vector_place::{OutOfSync, Scene};

use crate::planner::Planner;
use crate::target::LiveDriver;
use crate::target::studio::{self, AwaitedAnswer, ObservedState, PreparedActions, StudioTarget};
use crate::{Engine, EngineError, workflow_state};

impl Engine {
    /// Handles a restart of the plugin: empties the mirror, which Studio has to fill again, and
    /// drops all questions.
    pub fn reset_mirror(&mut self) {
        self.requeue_overlay();
        self.forget_questions();
        if let Some(studio) = self.studio_mut() {
            studio.reset_questions();
        }
        self.executor.begin_epoch();
        self.planner.invalidate_ids(self.executor.last_seq());
        self.planner.scene = Scene::empty_studio_place().into();
        if let Some(live) = self.target.driver_mut().live_mut() {
            live.reset_links();
        }
        self.read_memory();
    }

    /// Asks Studio something for a person's request. None if the place is not open in Studio.
    pub fn ask_studio_for_person(&mut self, wanted: PluginQuery) -> Option<AwaitedAnswer> {
        Some(self.studio_mut()?.request_for_person(wanted))
    }

    /// Withdraws the questions of requests whose answers nobody waits for any more.
    pub fn drop_abandoned_questions(&mut self) {
        if let Some(studio) = self.studio_mut() {
            studio.drop_abandoned();
        }
    }

    /// Drops all questions of plans to Studio: they are no longer needed, or will be asked again.
    pub fn forget_questions(&mut self) {
        self.planner.questions.own_question = None;
        self.planner.questions.call = None;
        if let Some(studio) = self.studio_mut() {
            studio.forget_questions();
        }
    }

    /// Returns the place as Studio reported it, without the overlay.
    pub fn mirror_scene(&mut self) -> &mut Scene {
        self.drop_overlay();
        self.planner.scene.scene_mut()
    }

    /// Replaces the description of the open place, for example after it was renamed or published.
    pub fn update_place(&mut self, place: StudioPlace) {
        if let Some(studio) = self.studio_mut() {
            studio.update_place(place);
        }
        self.read_memory();
    }

    pub fn studio(&self) -> Option<&StudioTarget> {
        self.target.driver().live().map(LiveDriver::studio)
    }

    pub(crate) fn studio_mut(&mut self) -> Option<&mut StudioTarget> {
        self.target.driver_mut().live_mut().map(LiveDriver::studio_mut)
    }

    /// Begins the questions of a call.
    pub(crate) fn begin_questions(&mut self, workflow: Seq, call: Seq) {
        let mut implicit_target = self.workflow(workflow).and_then(|it| it.implicit_target(call));
        if self.executor.task(workflow).is_some_and(|task| task.is_other_epoch)
            && let Some(implicit_target) = &mut implicit_target
        {
            // In another epoch the id may belong to another instance, so only the path is kept.
            implicit_target.target.id = InstanceId(String::new());
        }
        self.planner.begin_questions(call, implicit_target);
    }

    /// Whether this call has asked Studio something and is not settled.
    pub fn is_asking_for(&self, call: Seq) -> bool {
        self.planner.questions.call == Some(call)
    }

    /// Prepares the place for planning: dispatches approved proposals, and overlays the pending ones
    /// of a task, by default of the one that was planned last. If the place has changed, those of
    /// other tasks are tried before. Returns true if Studio has to apply or answer something first.
    pub(crate) fn is_waiting_for_studio(&mut self, view: Option<Seq>) -> Result<bool, EngineError> {
        let view = view.or(self.planner.view);
        loop {
            if let Some(studio) = self.studio() {
                // Proposals that depend on one that is being applied are tried when that is done.
                let is_busy = self.is_applying() || studio.has_open_question();
                if is_busy || !self.planner.scene.is_tree_complete() {
                    return Ok(true);
                }
                if let Some(seq) = self.executor.first_approved() {
                    self.dispatch_proposal(seq)?;
                    continue;
                }
                if !self.lay_unsynced()? {
                    return Ok(true);
                }
            }
            let mut changed = self.planner.changed_views.iter().copied();
            let Some(next) = changed.find(|it| Some(*it) != view).or(view) else {
                return Ok(false);
            };
            self.show_view(next);
            if !self.planner.pending_overlay.is_empty() {
                self.rebuild_overlay()?;
                continue;
            }
            self.planner.changed_views.remove(&next);
            if Some(next) == view {
                return Ok(false);
            }
        }
    }

    /// Whether Studio has a proposal that it has not acknowledged.
    pub fn is_applying(&self) -> bool {
        let work = self.studio().map_or(&[][..], StudioTarget::work).iter();
        let mut handed_out = work.filter_map(|work| match work {
            Work::Apply { apply } => Some(apply.proposal),
            Work::Query { .. } | Work::Playtest { .. } | Work::EndPlaytest { .. } => None,
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
        let call = self.planner.questions.call;
        let of_call = call.and_then(|call| {
            self.active_workflows().find(|(_, workflow)| is_its(workflow, call)).map(|(seq, _)| seq)
        });
        let first =
            || self.executor.first_approved().or(self.planner.pending_overlay.first().copied());
        of_call.or_else(|| Some(self.find_proposal(first()?)?.0))
    }

    /// Asks Studio for the facts that a plan needs. Returns false if it needs none, or has asked
    /// too often.
    pub(crate) fn ask_studio(&mut self, call: Seq, result: &Result<Plan, Refusal>) -> bool {
        let missing = self.planner.scene.take_missing();
        let Some(live) = self.target.driver_mut().live_mut() else {
            return false;
        };
        if let Ok(Plan::Fetch(wanted)) = result {
            let number = live.studio_mut().request(wanted.clone());
            self.planner.questions.own_question = Some((number, call));
            return true;
        }
        if missing.is_empty() || !self.planner.count_question() {
            return false;
        }
        live.studio_mut().request_missing(missing);
        true
    }

    /// Checks that a draft met no unknown facts.
    ///
    /// # Errors
    /// Some facts are unknown. They are requested now.
    pub(crate) fn check_all_known(&mut self) -> Result<(), Refusal> {
        let missing = self.planner.scene.take_missing();
        match self.target.driver_mut().live_mut() {
            Some(live) if !missing.is_empty() => {
                live.studio_mut().request_missing(missing);
                refuse!("The place is being read for this; try again in a moment.")
            }
            _ => Ok(()),
        }
    }

    /// Lays over the mirror what is written to files and not shown in Studio. Returns false if
    /// Studio has to be asked something first.
    fn lay_unsynced(&mut self) -> Result<bool, EngineError> {
        self.detect_linked_project()?;
        let Some(live) = self.target.driver_mut().live_mut() else {
            return Ok(true);
        };
        match live.lay_unsynced(&mut self.planner) {
            Ok(()) => Ok(true),
            Err(missing) => {
                live.studio_mut().request_missing(missing);
                Ok(false)
            }
        }
    }

    /// Approves a proposal. If nothing else is queued, its actions are prepared as well, so that
    /// both entries become durable in one sync before Studio receives it.
    pub(crate) fn approve_in_studio(
        &mut self,
        workflow: Seq,
        seq: Seq,
        yes: WorkflowInput,
    ) -> Result<(), EngineError> {
        let mut entries = self.executor.decide(workflow, yes)?;
        let is_free = self.executor.first_approved().is_none() && self.is_studio_only(seq);
        let prepared = if is_free { self.prepare_apply(seq)? } else { None };
        let session = self.studio().map(|studio| studio.studio_place().session.to_string());
        let Some((approved, prepared)) = prepared.filter(|_| !entries.is_empty()) else {
            return self.append_entries(workflow, entries, Vec::new()).map(drop);
        };
        let (file, acks) = (session.unwrap_or_default(), vec![prepared.ack]);
        entries.push(Entry::Applying { proposals: vec![seq], file, before: None, acks });
        self.append_entries(workflow, entries, Vec::new())?;
        if let Some(studio) = self.studio_mut() {
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
        let mark = self.planner.scene.journal_mark();
        let Planner { scene, blobs, .. } = &mut self.planner;
        let prepared = studio::prepare_actions(scene, call, &proposal, blobs);
        scene.rollback(mark);
        let is_known =
            self.planner.scene.take_missing().is_empty() && self.planner.scene.is_tree_complete();
        Ok(prepared.ok().filter(|_| is_known).map(|prepared| (proposal, prepared)))
    }

    /// Sends an approved proposal to Studio.
    fn dispatch_proposal(&mut self, seq: Seq) -> Result<(), EngineError> {
        if self.is_memory_change(seq) {
            return self.write_memory(seq);
        }
        self.drop_overlay();
        self.load_proposal_blobs(&[seq])?;
        let Some((_, pending)) = self.executor.state().find_proposal(seq) else {
            return Ok(());
        };
        let (call, is_new) = (pending.call, pending.status == PendingStatus::Approved);
        let seen = match &pending.status {
            PendingStatus::Applying(predicted) => {
                studio::observe_proposal(&self.planner.scene, &pending.proposal, predicted)
            }
            _ => ObservedState::NotDone,
        };
        // Nothing is concluded from facts that are not known yet.
        let missing = self.planner.scene.take_missing();
        if !missing.is_empty() {
            if let Some(live) = self.target.driver_mut().live_mut() {
                live.studio_mut().request_missing(missing);
            }
            return Ok(());
        }
        if let (PendingStatus::Applying(predicted), true) =
            (&pending.status, pending.proposal.files.is_some())
        {
            let predicted = predicted.clone();
            if !self.has_finished_files(seq, &predicted, seen)? {
                return Ok(());
            }
        }
        let Some((_, pending)) = self.executor.state().find_proposal(seq) else {
            return Ok(());
        };
        let mark = self.planner.scene.journal_mark();
        let Planner { scene, blobs, .. } = &mut self.planner;
        let prepared = studio::prepare_actions(scene, call, &pending.proposal, blobs);
        scene.rollback(mark);
        let missing = scene.take_missing();
        let Some(live) = self.target.driver_mut().live_mut() else {
            return Ok(());
        };
        if !missing.is_empty() {
            live.studio_mut().request_missing(missing);
            return Ok(());
        }
        let predicted = match &pending.status {
            PendingStatus::Applying(predicted) => Some(predicted.clone()),
            _ => None,
        };
        let approved = pending.proposal.clone();
        let prepared = match prepared {
            Ok(prepared) => prepared,
            Err(refusal) => {
                return match (seen, predicted) {
                    // It may be the effect of a write that Studio has not finished. The plugin
                    // remembers whether it applied the proposal.
                    (ObservedState::Done | ObservedState::Partial, Some(predicted)) => {
                        self.dispatch_again(seq, call, &approved, &predicted, seen)
                    }
                    (ObservedState::Unclear, _) => self.fail_unclear(seq, &refusal),
                    // If an earlier process had sent it to Studio, it was not applied.
                    (_, predicted) => self.handle_stale(seq, &refusal.0, predicted.as_deref()),
                };
            }
        };
        if is_new && !self.begin_applying(seq, call, &approved, prepared.ack)? {
            return Ok(());
        }
        if prepared.actions.is_empty() {
            return self.complete_in_files(seq, call, &approved);
        }
        if let Some(studio) = self.studio_mut() {
            studio.queue_apply(seq, &approved, prepared.actions);
        }
        Ok(())
    }

    /// Sends a proposal to Studio again whose effect the mirror shows, at least in part.
    fn dispatch_again(
        &mut self,
        seq: Seq,
        call: Seq,
        approved: &Proposal,
        predicted: &Ack,
        seen: ObservedState,
    ) -> Result<(), EngineError> {
        let Planner { scene, blobs, .. } = &mut self.planner;
        let mark = scene.journal_mark();
        let actions = studio::repeat_actions(scene, call, approved, predicted, blobs);
        scene.rollback(mark);
        match actions {
            Ok(actions) => {
                if let Some(studio) = self.studio_mut() {
                    studio.queue_apply(seq, approved, actions);
                    if seen == ObservedState::Partial {
                        studio.mark_partly_shown(seq);
                    }
                }
                Ok(())
            }
            Err(refusal) => self.fail_unclear(seq, &refusal),
        }
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
        let file = self.studio().map(|studio| studio.studio_place().session.to_string());
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
            "Vector was stopped while Studio applied this. Check whether the change was applied, \
             and request it again if not.{files} ({refusal})"
        );
        self.fail_proposal(seq, reason)
    }

    /// Handles Studio's result for a proposal, or a part of it. Returns false if the result was known
    /// already.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn acknowledge(
        &mut self,
        seq: Seq,
        patch_id: &Fingerprint,
        outcome: ApplyOutcome,
    ) -> Result<bool, EngineError> {
        let mut was_partly_shown = false;
        let outcome = match outcome {
            ApplyOutcome::Applied { results, version, from, more } => {
                let joined = match self.studio_mut() {
                    Some(studio) => studio.join_results(seq, results, from, more),
                    None => Some(results),
                };
                let Some(results) = joined else {
                    return Ok(true);
                };
                ApplyOutcome::Applied { results, version, from: 0, more: false }
            }
            outcome => outcome,
        };
        if let Some(studio) = self.studio_mut() {
            studio.remove_acknowledged(seq, patch_id);
            was_partly_shown = studio.take_partly_shown(seq);
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
            ApplyOutcome::Applied { results: acted, .. } => {
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
            // The plugin may have forgotten that it applied a part of it.
            ApplyOutcome::Stale { reason } if was_partly_shown => {
                self.fail_unclear(seq, &Refusal(reason))?;
            }
            ApplyOutcome::Stale { reason } => self.handle_stale(seq, &reason, Some(&predicted))?,
            ApplyOutcome::NotPermitted { reason } => {
                self.unpermitted_calls.insert(call);
                let input = match self.revert_files(&predicted)? {
                    Ok(files) => WorkflowInput::Moved {
                        reason: format!("{reason}{files}"),
                        not_done: vec![seq],
                    },
                    Err(files) => WorkflowInput::Failed {
                        proposals: vec![seq],
                        reason: format!("{reason}{files}"),
                    },
                };
                self.handle_for_proposal(seq, input)?;
            }
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
        let pending = self.executor.state().find_proposal(seq);
        let seen = pending
            .map(|(_, it)| studio::observe_proposal(&self.planner.scene, &it.proposal, predicted));
        self.planner.scene.take_missing().is_empty() && seen == Some(ObservedState::Done)
    }

    fn record_created_ids(&mut self, call: Seq, proposal: &Proposal, acted: &[ActionResult]) {
        if let Some(studio) = self.studio_mut() {
            studio.created_ids_mut().record_results(call, proposal, acted);
        }
        for result in acted {
            self.bind_created_ids(&result.ids);
        }
    }

    /// Binds the instances that applied proposals created in the mirror, which was filled again or
    /// belongs to another process. Those that pending proposals depend on are in the ledger.
    pub(crate) fn restore_created_ids(&mut self) -> Result<(), EngineError> {
        if self.studio().is_none() {
            return Ok(());
        }
        let all = self.executor.all_proposals().into_iter();
        let pending = all.filter(|(_, it)| it.status.is_pending());
        let below: BTreeSet<Seq> =
            pending.flat_map(|(_, it)| it.proposal.after.iter().copied()).collect();
        for seq in below {
            let Some(record) = self.executor.ledger().record_at(seq)? else {
                continue;
            };
            let state = workflow_state::read_workflow(self.executor.ledger(), record.workflow)?;
            if let Some((_, created)) = state.find_proposal(seq)
                && let PendingStatus::Applied(ack) | PendingStatus::Undone(ack) = &created.status
                && let Some(studio) = self.studio_mut()
            {
                studio.created_ids_mut().record_ack(created.call, &created.proposal, ack);
            }
        }
        if let Some(live) = self.target.driver().live() {
            live.studio().created_ids().bind_all(self.planner.scene.scene_mut());
        }
        Ok(())
    }

    /// Binds instances in the mirror that proposals created.
    fn bind_created_ids(&mut self, ids: &[InstanceId]) {
        if let Some(live) = self.target.driver().live() {
            let scene = self.planner.scene.scene_mut();
            for id in ids {
                live.studio().created_ids().bind_instance(scene, id);
            }
        }
    }

    /// Undoes or redoes a proposal's file changes when the user undoes or redoes the proposal in
    /// Studio. Returns what did not follow: files, and the scripts that were edited since.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn follow_undo(
        &mut self,
        proposal: Seq,
        again: bool,
        edited: &[String],
    ) -> Result<Option<String>, EngineError> {
        let files = self.undo_files(proposal, again)?;
        let sentences: Vec<String> =
            files.into_iter().chain(edited_sentence(edited, again)).collect();
        Ok((!sentences.is_empty()).then(|| sentences.join(" ")))
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
        if let ScenePart::Undone { recording, edited } | ScenePart::Redone { recording, edited } =
            part
        {
            let again = matches!(part, ScenePart::Redone { .. });
            if let Some(proposal) = studio::parse_recording(recording)
                && let Some((workflow, _)) = self.find_proposal(proposal)
            {
                let left = self.follow_undo(proposal, again, edited)?;
                let undone = WorkflowInput::Undone { proposal, is_redone: again, left };
                self.handle_input(workflow, undone)?;
                self.retract_settled();
            }
            return Ok(Ok(()));
        }
        self.drop_overlay();
        let updated = self.planner.scene.scene_mut().update_mirror(part);
        if let ScenePart::Added { id, .. } = part {
            self.bind_created_ids(std::slice::from_ref(id));
        }
        if matches!(part, ScenePart::End {}) && updated.is_ok() {
            self.restore_created_ids()?;
        }
        Ok(updated)
    }

    fn handle_answer(&mut self, number: u64, answer: &PluginAnswer) -> Result<(), EngineError> {
        let played = self.studio_mut().and_then(|studio| studio.take_playtest(number));
        if let Some(call) = played {
            return self.record_playtest(call, answer);
        }
        if self.studio_mut().is_some_and(|studio| studio.answer_request(number, answer)) {
            return Ok(());
        }
        let asker = self.asking_workflow();
        let wanted = self.studio_mut().and_then(|studio| studio.take_answer(number));
        let Some(wanted) = wanted else {
            return Ok(());
        };
        if let Some((own, call)) = self.planner.questions.own_question
            && own == number
        {
            self.planner.questions.own_question = None;
            self.planner.end_questions();
            let result = tools::describe_answer(&self.planner.scene, answer).map(Plan::Answer);
            let planned = WorkflowInput::Planned { call, result, after: Vec::new() };
            return match asker {
                Some(workflow) => self.handle_input(workflow, planned).map(drop),
                None => Ok(()),
            };
        }
        self.drop_overlay();
        match (wanted, answer) {
            (PluginQuery::Properties { of }, PluginAnswer::Properties { known }) => {
                self.planner.scene.scene_mut().set_known_properties(known, &of);
            }
            (PluginQuery::Properties { of }, _) => {
                self.planner.scene.scene_mut().set_known_properties(&[], &of);
            }
            (PluginQuery::Sources { ids }, PluginAnswer::Sources { scripts }) => {
                self.planner.scene.scene_mut().set_known_sources(scripts);
                self.planner.scene.scene_mut().mark_sources_unavailable(&ids);
            }
            (PluginQuery::Sources { ids }, _) => {
                self.planner.scene.scene_mut().mark_sources_unavailable(&ids);
            }
            (PluginQuery::Selection {}, PluginAnswer::Selection { ids, count }) => {
                self.planner.scene.scene_mut().set_selection(ids, *count);
            }
            (PluginQuery::Selection {}, _) => self.planner.scene.scene_mut().set_selection(&[], 0),
            (PluginQuery::Asset { asset }, answer) => {
                self.planner.scene.scene_mut().set_asset_contents(asset, asset_contents(answer));
            }
            _ => {}
        }
        Ok(())
    }

    /// Removes queued proposals that are not being applied any more.
    fn retract_settled(&mut self) {
        let state = self.executor.state();
        let is_due = |seq: Seq| {
            let status = state.find_proposal(seq).map(|(_, it)| &it.status);
            matches!(status, Some(PendingStatus::Applying(_)))
        };
        if let Some(live) = self.target.driver_mut().live_mut() {
            live.studio_mut().retain_proposals(is_due);
        }
    }
}

/// Returns the contents of an asset, or the reason they are unknown.
fn asset_contents(answer: &PluginAnswer) -> Result<AssetContents, String> {
    match answer {
        // The plugin finds nothing: a scan that it claims to have made does not count.
        PluginAnswer::Asset { contents: holds } => {
            Ok(AssetContents { findings: None, ..holds.clone() })
        }
        PluginAnswer::Failed { reason } => Err(reason.clone()),
        _ => Err("Studio's answer does not match the request. Request it again.".to_owned()),
    }
}

/// Tells which scripts kept the text that was typed into them, when the user undid or redid a
/// proposal in Studio.
fn edited_sentence(edited: &[String], again: bool) -> Option<String> {
    let [first, rest @ ..] = edited else {
        return None;
    };
    let others = match rest.len() {
        0 => String::new(),
        1 => format!(" and {}", rest[0]),
        more => format!(" and {more} other scripts"),
    };
    let done = if again { "reapplied" } else { "reverted" };
    Some(format!(
        "The text of {first}{others} was not {done}, because it was edited since. Change it by hand, \
         or undo the later edits first."
    ))
}
