//! Merges the order of siblings: that of the side that changed it.

use rustc_hash::FxHashSet;

use super::{SceneMerge, lookup};
use crate::tree::ROOT;
use crate::{Node, Scene};

impl SceneMerge<'_> {
    /// Returns the instances of theirs whose child order applies: new ones, and those whose
    /// children only theirs changed. Must be called before ours is modified.
    pub(super) fn reordered_parents(&self, ours: &Scene) -> Vec<u32> {
        let is_reordered = |parent: &u32| {
            let (base, own) =
                (lookup(&self.base_of_theirs, *parent), lookup(&self.ours_of_theirs, *parent));
            match (base, own) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some(base), Some(own)) => {
                    !self.has_same_children(base, self.theirs, *parent, &self.base_of_theirs)
                        && self.has_same_children(base, ours, own, &self.base_of_ours)
                }
            }
        };
        self.theirs.tree.subtree(ROOT).filter(is_reordered).collect()
    }

    /// Whether an instance has the same children as in the base, in the same order.
    fn has_same_children(&self, base: u32, scene: &Scene, node: u32, back: &[u32]) -> bool {
        let children = scene.tree.children(node).map(|child| lookup(back, child));
        children.eq(self.base.tree.children(base).map(Some))
    }

    /// Reorders the children of these instances of theirs as they are in theirs. Children that only
    /// ours has come last.
    pub(super) fn reorder(&self, ours: &mut Scene, parents: &[u32]) {
        for parent in parents {
            let Some(own) = lookup(&self.ours_of_theirs, *parent) else {
                continue;
            };
            let children = self.theirs.tree.children(*parent);
            let mut order: Vec<u32> = children
                .filter_map(|child| lookup(&self.ours_of_theirs, child))
                .filter(|child| ours.tree.parent(*child) == Some(own))
                .collect();
            let ordered: FxHashSet<u32> = order.iter().copied().collect();
            order.extend(ours.tree.children(own).filter(|child| !ordered.contains(child)));
            let settled = ours.tree.children(own).zip(&order).take_while(|(a, b)| a == *b).count();
            for child in &order[settled..] {
                // Moving a child within its parent makes it the last.
                let moved = ours.move_to(Node(*child), Node(own), None);
                debug_assert!(moved.is_ok(), "a child is not above its parent");
            }
        }
    }
}
