//! Planning a call again whose proposal is gone: what a person had made of that stays so, and nothing else
//! is meant than what was.

use scene_schemas::Fingerprint;
use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use vector_core::proposal::{
    MovedInstance, ProposalDraft, check_targets, draft_part, moved_instances, rematch_selection,
};
use vector_core::tools::Plan;
use vector_place::JournalMark;

use crate::Engine;

/// What a call was planned as before.
pub(super) struct PreviousPlan {
    proposal: Proposal,
    /// The proposal that a person had made it from.
    original: Option<(Seq, Proposal)>,
    /// Whether its ids are what they were.
    has_ids: bool,
    moved: Vec<MovedInstance>,
}

impl Engine {
    /// What a call was planned as before, in the scene before it is planned again.
    pub(super) fn previous_plan(&self, call: Seq) -> Option<PreviousPlan> {
        let workflow = self.current_workflow()?;
        let seq = workflow.proposed_for(call)?;
        let proposal = workflow.proposal(seq)?.proposal.clone();
        let has_ids = seq > self.ids_valid_after;
        let elsewhere = if has_ids { moved_instances(&self.scene, &proposal) } else { Vec::new() };
        let whole = workflow.revision_source(seq);
        let whole = whole.and_then(|it| Some((it, workflow.proposal(it)?.proposal.clone())));
        Some(PreviousPlan { proposal, original: whole, has_ids, moved: elsewhere })
    }

    /// Makes of what a call is planned as now what a person had made of it before, and looks whether it
    /// is about the same instances.
    pub(super) fn restore_choices(
        &mut self,
        earlier: &PreviousPlan,
        call: Seq,
        base: &Fingerprint,
        mark: JournalMark,
        plan: Plan,
    ) -> Result<Plan, Refusal> {
        let Plan::Propose(mut now, answer) = plan else {
            return Ok(plan);
        };
        if let Some((from, whole)) = &earlier.original {
            let taken = rematch_selection(whole, &earlier.proposal, &now, earlier.has_ids)?;
            self.scene.rollback(mark);
            self.scene.begin_scope(call);
            let mut draft = ProposalDraft::new(&mut self.scene, &self.blobs);
            draft_part(&mut draft, &now, &taken)?;
            let chosen = draft.finish(base)?;
            let (from, meant) = (Some(*from), now.meant.take());
            *now = Proposal { from, meant, ..chosen };
        }
        check_targets(&earlier.moved, &earlier.proposal, &now)?;
        Ok(Plan::Propose(now, answer))
    }

    /// From here on ids may be others than in what was proposed up to an entry.
    pub(super) fn invalidate_ids(&mut self, after: Seq) {
        self.ids_valid_after = self.ids_valid_after.max(after);
    }
}
