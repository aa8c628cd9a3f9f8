//! What differs from the file that was read, as the writers of both formats ask for it.

use rustc_hash::{FxHashMap, FxHashSet};

use super::edits::EditTable;
use super::node_set::NodeSet;
use super::tree::{InstanceTree, ROOT};

/// What differs from the file that was read.
#[derive(Debug)]
pub(super) struct SceneChanges<'a> {
    pub(super) tree: &'a InstanceTree,
    pub(super) edits: &'a EditTable,
    /// For a copy, the instance that was read and whose values it has where nothing was set.
    pub(super) bases: &'a FxHashMap<u32, u32>,
    /// The instances that may have another name than the file says.
    pub(super) renamed: &'a FxHashSet<u32>,
    /// The instances that were read and are deleted.
    pub(super) removed: FxHashSet<u32>,
    /// The instances that were not read.
    pub(super) added: NodeSet,
}

impl<'a> SceneChanges<'a> {
    /// `deleted` are the topmost of the deleted instances.
    pub(super) fn new(
        tree: &'a InstanceTree,
        edits: &'a EditTable,
        bases: &'a FxHashMap<u32, u32>,
        renamed: &'a FxHashSet<u32>,
        deleted: &FxHashSet<u32>,
    ) -> Self {
        // Those that stand below a deleted one are no more linked to `game` than it is.
        let below = deleted.iter().flat_map(|node| tree.subtree(*node));
        let (removed, lost): (FxHashSet<u32>, FxHashSet<u32>) =
            below.partition(|node| *node < tree.read_len());
        let added = (tree.read_len()..tree.len())
            .filter(|node| tree.parent(*node).is_some() && !lost.contains(node))
            .collect();
        Self { tree, edits, bases, renamed, removed, added }
    }

    /// Whether instances came, went, or stand elsewhere.
    pub(super) fn has_moves(&self) -> bool {
        !self.removed.is_empty()
            || !self.added.is_empty()
            || self.tree.changed_parents().next().is_some()
    }

    /// Whether an instance is part of what is written.
    pub(super) fn is_written(&self, node: u32) -> bool {
        self.tree.is_within(node, ROOT)
    }
}
