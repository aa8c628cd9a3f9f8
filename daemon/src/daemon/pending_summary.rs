//! Pending proposals as a list shows them, without their changes, which may be very long.

use scene_schemas::api::SessionId;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Class, Proposal};
use scene_schemas::{Fingerprint, InstancePath};

/// The most operations, and the most changed lines, of a small step.
const STEP_OPERATIONS: usize = 20;
const STEP_LINES: u32 = 40;

/// How much a proposal changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeExtent {
    pub operations: usize,
    /// The numbers of added and removed lines; None if no text changes.
    pub lines: Option<(u32, u32)>,
}

impl ChangeExtent {
    pub fn from_proposal(proposal: &Proposal) -> Self {
        let scripts = &proposal.preview.scripts;
        let lines = scripts.iter().map(|it| (it.added, it.removed));
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
    /// The proposals that must be applied before it.
    pub after: Vec<Seq>,
    pub extent: ChangeExtent,
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
            after: it.after.clone(),
            extent: ChangeExtent::from_proposal(it),
        }
    }

    /// Whether it is only additive and has no warnings and no new errors.
    pub fn is_plain(&self) -> bool {
        self.class == Class::Additive && self.is_unremarkable()
    }

    /// Whether it is a small step, which may be decided together with others of its task: it deletes
    /// nothing, changes little, and has no warnings and no new errors. Large changes have a warning.
    pub fn is_small_step(&self) -> bool {
        let ChangeExtent { operations, lines } = self.extent;
        let lines = lines.map_or(0, |(added, removed)| added.saturating_add(removed));
        let is_small = operations <= STEP_OPERATIONS && lines <= STEP_LINES;
        is_small && self.class != Class::Destructive && self.is_unremarkable()
    }

    fn is_unremarkable(&self) -> bool {
        self.warnings == 0 && !self.has_new_errors
    }
}
