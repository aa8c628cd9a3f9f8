//! Proposals that wait, as a list shows them: what each changes may be very long, and is not in it.

use scene_schemas::Fingerprint;
use scene_schemas::api::SessionId;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Class, Proposal};

/// How much a proposal changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeExtent {
    pub operations: usize,
    /// The lines that come and that go; none where it changes no text.
    pub lines: Option<(u32, u32)>,
}

impl ChangeExtent {
    /// That of a proposal.
    pub fn from_proposal(proposal: &Proposal) -> Self {
        let scripts = &proposal.preview.scripts;
        let lines = scripts.iter().map(|it| (it.added, it.removed));
        let lines = lines.reduce(|(added, removed), (a, r)| (added + a, removed + r));
        Self { operations: proposal.commands.len(), lines }
    }
}

/// A proposal that waits.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingSummary {
    pub seq: Seq,
    pub workflow: Seq,
    /// Its session: what waits elsewhere is not listed.
    pub session: SessionId,
    /// One line for the list.
    pub title: String,
    /// How much it can take away.
    pub class: Class,
    /// How often a person is warned of it.
    pub warnings: usize,
    /// What it is, and what it was planned on: a decision names both.
    pub patch_id: Fingerprint,
    pub base: Fingerprint,
    /// Those that are to be applied before it.
    pub after: Vec<Seq>,
    /// How much it changes.
    pub extent: ChangeExtent,
}

impl PendingSummary {
    /// A proposal by its workflow and its own name.
    pub fn from_proposal(workflow: Seq, seq: Seq, session: SessionId, it: &Proposal) -> Self {
        Self {
            seq,
            workflow,
            session,
            title: it.title.clone(),
            class: it.class,
            warnings: it.warnings.len(),
            patch_id: it.patch_id.clone(),
            base: it.base.clone(),
            after: it.after.clone(),
            extent: ChangeExtent::from_proposal(it),
        }
    }

    /// Whether it takes nothing away and nobody is warned of it.
    pub fn is_plain(&self) -> bool {
        self.class == Class::Additive && self.warnings == 0
    }
}
