//! Pending proposals as a list shows them, without their changes, which may be very long.

use std::collections::BTreeSet;

use scene_schemas::api::SessionId;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Class, Proposal};
use scene_schemas::{Fingerprint, InstancePath};
use vector_core::policy;

/// How much a proposal changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeExtent {
    pub operations: usize,
    /// The numbers of added and removed lines; None if no text changes.
    pub lines: Option<(u32, u32)>,
}

impl ChangeExtent {
    pub fn from_proposal(proposal: &Proposal) -> Self {
        let scripts = proposal.preview.changed_scripts();
        let lines = scripts.map(|it| (it.added, it.removed));
        let lines = lines.reduce(|(added, removed), (a, r)| (added + a, removed + r));
        Self { operations: proposal.operation_count(), lines }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct PendingSummary {
    pub seq: Seq,
    pub workflow: Seq,
    /// The session of its workflow. Proposals without a local session are not listed.
    pub session: SessionId,
    pub title: String,
    /// The instance that the whole proposal is about.
    pub subject: Option<InstancePath>,
    /// The most destructive effect of its changes.
    pub class: Class,
    /// The number of warnings.
    pub warnings: usize,
    /// Whether scripts fail with it that did not fail before.
    pub has_new_errors: bool,
    /// The identity of the proposal, and of the state that it was planned on. A decision names
    /// both.
    pub patch_id: Fingerprint,
    pub base: Fingerprint,
    /// The withdrawn proposal that was replanned as this one.
    pub replaces: Option<Seq>,
    /// The proposals that must be applied before it.
    pub after: Vec<Seq>,
    pub extent: ChangeExtent,
    /// Whether it is a small step, which may be decided together with others of its task.
    pub is_small_step: bool,
    /// Whether it can be approved only after a review that it does not have.
    pub needs_review: bool,
}

impl PendingSummary {
    pub fn from_proposal(workflow: Seq, seq: Seq, session: SessionId, it: &Proposal) -> Self {
        Self {
            seq,
            workflow,
            session,
            title: it.title.clone(),
            subject: it.subject().cloned(),
            class: it.class,
            warnings: it.warnings.len(),
            has_new_errors: it.has_new_errors(),
            patch_id: it.patch_id.clone(),
            base: it.base.clone(),
            replaces: it.replaces,
            after: it.after.clone(),
            extent: ChangeExtent::from_proposal(it),
            is_small_step: policy::is_small_step(it),
            needs_review: false,
        }
    }

    /// Whether it is only additive, has no warnings and no new errors, and can be approved now.
    pub fn is_plain(&self) -> bool {
        let is_quiet = self.warnings == 0 && !self.has_new_errors;
        self.class == Class::Additive && is_quiet && !self.needs_review
    }
}

/// Returns the proposals of `among` that `fits` selects and that depend on no pending proposal
/// outside this set. They can be approved together. Both lists are in the order of their numbers.
pub fn batch_approvable(
    waiting: &[PendingSummary],
    among: &[&PendingSummary],
    fits: impl Fn(&PendingSummary) -> bool,
) -> BTreeSet<Seq> {
    let mut taken = BTreeSet::new();
    for view in among {
        let waits = |seq: &Seq| waiting.binary_search_by_key(seq, |it| it.seq).is_ok();
        let is_ready = view.after.iter().all(|it| taken.contains(it) || !waits(it));
        if fits(view) && is_ready {
            taken.insert(view.seq);
        }
    }
    taken
}

/// Returns the small steps of one task that are approved together. A single step is decided like any
/// other proposal.
pub fn grouped_steps(waiting: &[PendingSummary], of_task: &[&PendingSummary]) -> BTreeSet<Seq> {
    let steps = batch_approvable(waiting, of_task, |it| it.is_small_step && !it.needs_review);
    if steps.len() > 1 { steps } else { BTreeSet::new() }
}
