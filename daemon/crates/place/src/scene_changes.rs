//! The differences from the file that was read, as the writers of both formats need them.

use rustc_hash::{FxHashMap, FxHashSet};

use super::edits::EditTable;
use super::node_set::NodeSet;
use super::tree::{InstanceTree, ROOT};

#[derive(Debug)]
pub(super) struct SceneChanges<'a> {
    pub(super) tree: &'a InstanceTree,
    pub(super) edits: &'a EditTable,
    /// For each copy, the instance of the file whose values apply where nothing was set.
    pub(super) bases: &'a FxHashMap<u32, u32>,
    /// The instances whose name may differ from the file.
    pub(super) renamed: &'a FxHashSet<u32>,
    /// The deleted instances of the file.
    pub(super) removed: FxHashSet<u32>,
    /// The instances that are not in the file.
    pub(super) added: NodeSet,
}

impl<'a> SceneChanges<'a> {
    /// `deleted` holds the roots of the deleted subtrees.
    pub(super) fn new(
        tree: &'a InstanceTree,
        edits: &'a EditTable,
        bases: &'a FxHashMap<u32, u32>,
        renamed: &'a FxHashSet<u32>,
        deleted: &FxHashSet<u32>,
    ) -> Self {
        // Descendants of a deleted instance still have a parent, so walk the subtrees to find them.
        let below = deleted.iter().flat_map(|node| tree.subtree(*node));
        let (removed, lost): (FxHashSet<u32>, FxHashSet<u32>) =
            below.partition(|node| *node < tree.read_len());
        let added = (tree.read_len()..tree.len())
            .filter(|node| tree.parent(*node).is_some() && !lost.contains(node))
            .collect();
        Self { tree, edits, bases, renamed, removed, added }
    }

    /// Whether instances were added, removed or moved.
    pub(super) fn has_moves(&self) -> bool {
        !self.removed.is_empty()
            || !self.added.is_empty()
            || self.tree.changed_parents().next().is_some()
    }

    /// Whether an instance is part of the output.
    pub(super) fn is_written(&self, node: u32) -> bool {
        self.tree.is_within(node, ROOT)
    }
}
