//! What the proposals of several workflows in one place have to do with each other.
//!
//! A proposal is planned on top of those that were pending then, whoever asked for them. Those are
//! decided before it, and where one of them goes, it is planned again.

use std::collections::BTreeSet;

use scene_schemas::entry::{Entry, Seq};

use super::{LedgerState, PendingProposal, PendingStatus, Workflow};

impl LedgerState {
    /// A proposal, and whose it is.
    pub fn find_proposal(&self, proposal: Seq) -> Option<(Seq, &PendingProposal)> {
        let mut workflows = self.workflows.iter();
        workflows.find_map(|(seq, workflow)| Some((*seq, workflow.proposal(proposal)?)))
    }

    /// The proposal that is to be decided before another: the first that it was planned on top of and
    /// that waits.
    pub fn decided_before(&self, proposal: Seq) -> Option<Seq> {
        let (_, pending) = self.find_proposal(proposal)?;
        let waits = |seq: &Seq| {
            self.find_proposal(*seq)
                .is_some_and(|(_, below)| below.status == PendingStatus::Waiting)
        };
        pending.proposal.after.iter().copied().filter(waits).min()
    }

    /// Forgets all but these, and the tasks whose conversations they go on with.
    pub fn retain_workflows(&mut self, workflows: impl Iterator<Item = Seq>) {
        let chains = workflows.flat_map(|it| self.task_chain(it).0).map(|(seq, _)| seq);
        let kept: BTreeSet<Seq> = chains.collect();
        self.workflows.retain(|seq, _| kept.contains(seq));
    }
}

impl Workflow {
    /// Whether it has ended, and nothing that was approved is left to do.
    pub fn is_over(&self) -> bool {
        self.finished.is_some() && self.approved_proposals().next().is_none()
    }
}

/// What stood on a proposal that is gone is planned again. What the target was given stands: it was
/// given after everything that it stood on had been settled.
pub(super) fn withdraw_later(workflow: &Workflow, gone: Seq) -> Vec<Entry> {
    let stood = |later: &PendingProposal| {
        let is_open = matches!(later.status, PendingStatus::Waiting | PendingStatus::Approved);
        is_open && later.proposal.after.contains(&gone)
    };
    let later = workflow.proposals().filter(|(_, later)| stood(later));
    let withdrawn = later.map(|(proposal, _)| Entry::Withdrawn {
        proposal,
        reason: format!("It stood on proposal {gone}, and is planned again without it."),
        again: true,
    });
    withdrawn.collect()
}

/// The place is another one by now: what waits, and what was not done, is planned again.
pub(super) fn mark_stale(workflow: &Workflow, reason: &str, not_done: &[Seq]) -> Vec<Entry> {
    let pending = workflow.proposals.iter().filter(|(seq, it)| match it.status {
        PendingStatus::Applying(_) => not_done.contains(seq),
        ref status => status.is_pending(),
    });
    let withdrawn = pending.map(|(seq, _)| Entry::Withdrawn {
        proposal: *seq,
        reason: reason.to_owned(),
        again: true,
    });
    withdrawn.collect()
}
