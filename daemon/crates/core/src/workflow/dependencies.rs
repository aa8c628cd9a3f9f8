//! Dependencies between proposals.
//!
//! A proposal is planned on top of those of its workflow that were pending at that time. Those that
//! it touches are decided first. If one of them is gone, the proposal is planned again.

use std::collections::BTreeSet;

use scene_schemas::entry::{Entry, Seq};

use super::{LedgerState, PendingProposal, PendingStatus, Workflow};

impl LedgerState {
    /// Returns a proposal and its workflow.
    pub fn find_proposal(&self, proposal: Seq) -> Option<(Seq, &PendingProposal)> {
        // It is mostly in the last one that began before it.
        let mut workflows = self.workflows.range(..=proposal).rev();
        workflows.find_map(|(seq, workflow)| Some((*seq, workflow.proposal(proposal)?)))
    }

    /// Returns the proposal that has to be decided before another one: the first waiting one that
    /// it was planned on top of.
    pub fn decided_before(&self, proposal: Seq) -> Option<Seq> {
        let (_, pending) = self.find_proposal(proposal)?;
        let waits = |seq: &Seq| {
            self.find_proposal(*seq)
                .is_some_and(|(_, below)| below.status == PendingStatus::Waiting)
        };
        pending.proposal.after.iter().copied().filter(waits).min()
    }

    /// Drops all workflows except these and the earlier tasks of their conversations.
    pub fn retain_workflows(&mut self, workflows: impl Iterator<Item = Seq>) {
        let chains = workflows.flat_map(|it| self.task_chain(it).0).map(|(seq, _)| seq);
        let kept: BTreeSet<Seq> = chains.collect();
        self.workflows.retain(|seq, _| kept.contains(seq));
    }
}

impl Workflow {
    /// Whether the task has ended and no approved proposal is left to apply.
    pub fn is_over(&self) -> bool {
        self.finished.is_some() && self.approved_proposals().next().is_none()
    }
}

/// Withdraws the open proposals that depend on one that is gone, to plan them again. Proposals that
/// were sent to the target are kept: everything they depend on was settled before.
pub(super) fn withdraw_later(workflow: &Workflow, gone: Seq) -> Vec<Entry> {
    let later = workflow
        .proposals()
        .filter(|(_, later)| is_open(later) && later.proposal.after.contains(&gone));
    let withdrawn = later.map(|(proposal, _)| Entry::Withdrawn {
        proposal,
        reason: format!("It was based on proposal {gone}, and is replanned without it."),
        replanned: true,
    });
    withdrawn.collect()
}

/// Withdraws an open proposal to plan it again, and those of its task that depend on it.
pub(super) fn withdraw_for_replan(
    workflow: &Workflow,
    proposal: Seq,
    reason: String,
) -> Vec<Entry> {
    if !workflow.proposal(proposal).is_some_and(is_open) {
        return Vec::new();
    }
    let first = Entry::Withdrawn { proposal, reason, replanned: true };
    std::iter::once(first).chain(withdraw_later(workflow, proposal)).collect()
}

/// Whether a proposal waits, or was not sent to the target.
fn is_open(pending: &PendingProposal) -> bool {
    matches!(
        pending.status,
        PendingStatus::Waiting | PendingStatus::Drafted | PendingStatus::Approved
    )
}

/// Withdraws all proposals that wait or were not applied, to plan them again, because the place has
/// changed.
pub(super) fn mark_stale(workflow: &Workflow, reason: &str, not_done: &[Seq]) -> Vec<Entry> {
    let pending = workflow.proposals.iter().filter(|(seq, it)| match it.status {
        PendingStatus::Applying(_) => not_done.contains(seq),
        ref status => status.is_pending(),
    });
    let withdrawn = pending.map(|(seq, _)| Entry::Withdrawn {
        proposal: *seq,
        reason: reason.to_owned(),
        replanned: true,
    });
    withdrawn.collect()
}
