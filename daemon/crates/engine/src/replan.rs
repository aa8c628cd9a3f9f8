//! Plans a call again when its proposal is gone.
//!
//! The user's revision of the old proposal is kept, and the new plan must target the same instances
//! as the old one.

use std::collections::BTreeSet;

use scene_schemas::entry::Seq;
use scene_schemas::proposal::{PlanRead, PlayCheck, Proposal};
use scene_schemas::{Command, Fingerprint, Refusal};
use vector_core::planning_scene::PlanningMark;
use vector_core::proposal::{
    MovedInstance, ProposalDraft, check_targets, draft_part, keep_same_scripts, moved_instances,
    rematch_selection,
};
use vector_core::tools::Plan;
use vector_core::workflow::Workflow;

use crate::planner::Planner;
use crate::required_blobs;

pub(crate) struct PreviousPlan {
    proposal: Proposal,
    /// The proposal that the user revised to get this one.
    original: Option<(Seq, Proposal)>,
    /// Whether its instance ids are still valid.
    has_ids: bool,
    moved: Vec<MovedInstance>,
}

impl PreviousPlan {
    /// Returns what came of playing the game with it.
    pub(crate) fn check(&self) -> Option<&PlayCheck> {
        self.proposal.runs.as_ref()
    }

    /// Returns the blobs that its commands need.
    pub(crate) fn required_blobs(&self) -> Vec<Fingerprint> {
        let original = self.original.iter().map(|(_, proposal)| proposal);
        let all = std::iter::once(&self.proposal).chain(original);
        all.flat_map(|proposal| required_blobs(&proposal.commands)).collect()
    }
}

/// Returns what a plan and a part of it read: the part depends on what was planned with it.
pub(crate) fn join_reads(whole: &[PlanRead], part: &[PlanRead]) -> Vec<PlanRead> {
    let all: BTreeSet<&PlanRead> = whole.iter().chain(part).collect();
    all.into_iter().cloned().collect()
}

impl Planner {
    /// Lets a call that is planned again insert the assets of its previous plan, and no newer ones.
    pub(crate) fn reuse_assets(&mut self, call: Seq, earlier: &PreviousPlan) {
        for command in &earlier.proposal.commands {
            if let Command::Insert { asset, blob: Some(blob), contents, .. } = command {
                // An asset that is lost is downloaded again.
                let findings = contents.findings.as_ref();
                let _ = self.scene.reuse_asset(call, *asset, blob, &self.blobs, findings);
            }
        }
    }

    /// Returns the previous plan of a call. It must be taken from the scene before the call is
    /// planned again.
    pub(crate) fn previous_plan(&self, workflow: &Workflow, call: Seq) -> Option<PreviousPlan> {
        let seq = workflow.proposed_for(call)?;
        let proposal = workflow.proposal(seq)?.proposal.clone();
        let has_ids = seq > self.ids_valid_after;
        let elsewhere = if has_ids { moved_instances(&self.scene, &proposal) } else { Vec::new() };
        let whole = workflow.revision_source(seq);
        let whole = whole.and_then(|it| Some((it, workflow.proposal(it)?.proposal.clone())));
        Some(PreviousPlan { proposal, original: whole, has_ids, moved: elsewhere })
    }

    /// Applies the user's earlier revision to the new plan, and checks that the plan targets the
    /// same instances.
    pub(crate) fn restore_choices(
        &mut self,
        earlier: &PreviousPlan,
        call: Seq,
        base: &Fingerprint,
        mark: PlanningMark,
        plan: Plan,
    ) -> Result<Plan, Refusal> {
        let Plan::Propose(mut now, answer) = plan else {
            return Ok(plan);
        };
        if let Some((from, whole)) = &earlier.original
            && keep_same_scripts(&earlier.proposal, &mut now)
        {
            let all = [whole, &earlier.proposal, &*now];
            let taken = rematch_selection(all, earlier.has_ids, &self.scene, &self.blobs)?;
            self.scene.rollback(mark);
            self.scene.begin_scope(call);
            let mut draft = ProposalDraft::new(&mut self.scene, &self.blobs);
            draft_part(&mut draft, &now, &taken)?;
            let chosen = draft.finish(base)?;
            let (from, implicit_target) = (Some(*from), now.implicit_target.take());
            let reads = join_reads(&now.reads, &chosen.reads);
            *now = Proposal { from, implicit_target, reads, ..chosen };
        }
        check_targets(&earlier.moved, &earlier.proposal, &now)?;
        Ok(Plan::Propose(now, answer))
    }
}
