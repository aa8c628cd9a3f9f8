//! What each task sees: the place with the pending proposals of the task over it.
//!
//! The proposals of one task are in the overlay at a time. When the place changes, those of each task
//! are tried again; one that does not fit any more is replanned.

use scene_schemas::entry::Seq;
use vector_core::workflow::{PendingProposal, PendingStatus, Workflow};

use crate::{Engine, EngineError};

impl Engine {
    /// Rolls back the whole overlay.
    pub(crate) fn drop_overlay(&mut self) {
        self.planner.drop_overlay_from(0, &self.executor);
        if let Some(live) = self.target.driver_mut().live_mut() {
            live.remove_unsynced(&mut self.planner.scene);
        }
    }

    /// Marks the pending proposals of all tasks to be overlaid again, for example after a reported
    /// change.
    pub(crate) fn requeue_overlay(&mut self) {
        self.drop_overlay();
        let has_pending = |it: &Workflow| it.proposals().any(|(_, it)| self.should_overlay(it));
        let changed = self.active_workflows().filter(|(_, it)| has_pending(it));
        self.planner.changed_views = changed.map(|(seq, _)| seq).collect();
        self.queue_view();
    }

    /// Lays the pending proposals of a task over the scene instead of those of another task.
    pub(crate) fn show_view(&mut self, workflow: Seq) {
        if self.planner.view != Some(workflow) {
            self.planner.view = Some(workflow);
            self.requeue_view();
        }
    }

    /// Lays the pending proposals of the task whose view is shown over the scene again.
    pub(crate) fn requeue_view(&mut self) {
        self.planner.drop_overlay_from(0, &self.executor);
        self.queue_view();
    }

    /// Queues the pending proposals of the task whose view is shown.
    fn queue_view(&mut self) {
        let shown = self.planner.view.and_then(|it| self.workflow(it));
        let all = shown.into_iter().flat_map(Workflow::proposals);
        let pending = all.filter(|(_, it)| self.should_overlay(it)).map(|(seq, _)| seq);
        self.planner.pending_overlay = pending.collect();
    }

    /// Overlays the pending proposals of a proposal's task, if Studio need not be asked for that.
    pub(crate) fn lay_proposal(&mut self, proposal: Seq) -> Result<(), EngineError> {
        let found = self.find_proposal(proposal).filter(|(_, it)| self.should_overlay(it));
        if let Some((workflow, _)) = found {
            self.is_waiting_for_studio(Some(workflow))?;
        }
        Ok(())
    }

    /// Applies the queued proposals to the overlay. If one does not fit, it is replanned.
    /// If facts are missing, they are requested, and the proposals stay queued.
    pub(crate) fn rebuild_overlay(&mut self) -> Result<(), EngineError> {
        let mut proposals = std::mem::take(&mut self.planner.pending_overlay);
        proposals
            .retain(|seq| self.find_proposal(*seq).is_some_and(|(_, it)| self.should_overlay(it)));
        self.load_proposal_blobs(&proposals)?;
        let tried = self.planner.overlay.len();
        let done = self.planner.overlay_proposals(&proposals, &self.executor);
        let missing = self.planner.scene.take_missing();
        let unfit = proposals.get(self.planner.overlay.len() - tried).copied();
        if missing.is_empty() && done.is_ok() {
            return Ok(());
        }
        self.planner.drop_overlay_from(tried, &self.executor);
        self.planner.pending_overlay = proposals;
        if !missing.is_empty() {
            if let Some(live) = self.target.driver_mut().live_mut() {
                live.studio_mut().request_missing(missing);
            }
            return Ok(());
        }
        match (done, unfit) {
            (Err(refusal), Some(seq)) => {
                let reason = format!("{refusal} It is replanned for the current state.");
                self.replan_proposal(seq, reason)
            }
            (done, _) => Ok(done?),
        }
    }

    /// Whether a proposal belongs in the overlay. For files, approved proposals wait until all of a
    /// task are decided; Studio receives them at once.
    pub(crate) fn should_overlay(&self, pending: &PendingProposal) -> bool {
        match pending.status {
            PendingStatus::Waiting | PendingStatus::Drafted => true,
            PendingStatus::Approved => self.target.driver().live().is_none(),
            PendingStatus::Applying(_)
            | PendingStatus::Applied(_)
            | PendingStatus::Failed(_)
            | PendingStatus::Rejected(_)
            | PendingStatus::Undone(_)
            | PendingStatus::Withdrawn(_) => false,
        }
    }
}
