//! References to instances that the other side deleted. The deletion becomes a conflict for the
//! user, so that nothing a side has set is lost.
//!
//! References of theirs to an instance that ours lacks are deferred until that instance is
//! restored.

use rbx_dom_weak::Ustr;

use super::{SceneMerge, lookup};
use crate::Scene;
use crate::change::{is_shadowed, referenced_instance};
use crate::diff::CanonicalValues;
use crate::node_set::NodeSet;
use crate::tree::ROOT;

/// A reference of theirs to an instance that is not in ours.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingReference {
    /// The instance of ours that will get the reference.
    own: u32,
    /// The instance of theirs that has the reference.
    theirs: u32,
    key: Ustr,
}

impl SceneMerge<'_> {
    /// Returns the instances of theirs that ours deleted, and that theirs moved something into or
    /// newly refers to.
    pub(super) fn needed_by_theirs(&self) -> NodeSet {
        let theirs = self.theirs;
        let is_gone = |node: u32| {
            let base = lookup(&self.base_of_theirs, node);
            base.is_some() && lookup(&self.ours_of_theirs, node).is_none()
        };
        let mut missed: Vec<u32> =
            self.parentless.iter().filter_map(|it| theirs.tree.parent(*it)).collect();
        missed.retain(|parent| is_gone(*parent));
        if theirs.tree.subtree(ROOT).any(is_gone) {
            let mut canonical = CanonicalValues::default();
            for (to, holders) in theirs.pointer_map().into_iter().filter(|(to, _)| is_gone(*to)) {
                let is_new = |(holder, key): &(u32, Ustr)| {
                    theirs.variant_of(*holder, *key).as_deref().and_then(referenced_instance)
                        == Some(to)
                        && !is_shadowed(theirs.tree.class_name(*holder), *key)
                        && lookup(&self.base_of_theirs, *holder).is_none_or(|base| {
                            self.base_bytes(&mut canonical, base, *key)
                                != self.their_bytes(&mut canonical, *holder, *key)
                        })
                };
                if holders.iter().any(is_new) {
                    missed.push(to);
                }
            }
        }
        missed.into_iter().collect()
    }

    /// Returns the instances of ours that theirs deleted and that ours newly refers to.
    pub(super) fn needed_by_ours(&self, ours: &Scene) -> NodeSet {
        let is_gone = |node: u32| {
            let base = lookup(&self.base_of_ours, node);
            base.is_some_and(|base| lookup(&self.theirs_of_base, base).is_none())
        };
        if !ours.tree.subtree(ROOT).any(is_gone) {
            return NodeSet::default();
        }
        let mut canonical = CanonicalValues::default();
        let mut missed = Vec::new();
        for (to, holders) in ours.pointer_map().into_iter().filter(|(to, _)| is_gone(*to)) {
            let is_new = |(holder, key): &(u32, Ustr)| {
                ours.variant_of(*holder, *key).as_deref().and_then(referenced_instance) == Some(to)
                    && ours.tree.is_within(*holder, ROOT)
                    && !is_shadowed(ours.tree.class_name(*holder), *key)
                    && lookup(&self.base_of_ours, *holder).is_none_or(|base| {
                        self.base_bytes(&mut canonical, base, *key)
                            != self.our_bytes(&mut canonical, ours, *holder, *key)
                    })
            };
            if holders.iter().any(is_new) {
                missed.push(to);
            }
        }
        missed.into_iter().collect()
    }

    /// Whether a side's reference is empty only because that side deleted the referenced instance.
    /// This does not count as a change of the reference.
    pub(super) fn is_cleared_by_deletion(
        &self,
        base: u32,
        key: Ustr,
        side: (&Scene, u32),
        there: &[u32],
    ) -> bool {
        let target = |scene: &Scene, node| {
            scene.variant_of(node, key).as_deref().and_then(referenced_instance)
        };
        target(self.base, base).is_some_and(|to| lookup(there, to).is_none())
            && target(side.0, side.1).is_none()
    }

    /// Whether a reference of theirs points to an instance that is not in ours.
    pub(super) fn is_dangling(&self, theirs: u32, key: Ustr) -> bool {
        let value = self.theirs.variant_of(theirs, key);
        let to = value.as_deref().and_then(referenced_instance);
        to.is_some_and(|to| lookup(&self.ours_of_theirs, to).is_none())
    }

    /// Defers a reference of theirs until ours has the referenced instance.
    pub(super) fn defer_reference(&mut self, own: u32, theirs: u32, key: Ustr) {
        self.pending_references.push(PendingReference { own, theirs, key });
    }

    /// Applies the deferred references whose instances ours has by now.
    pub(super) fn apply_deferred(&mut self, ours: &mut Scene) {
        for it in std::mem::take(&mut self.pending_references) {
            if self.is_dangling(it.theirs, it.key) {
                self.pending_references.push(it);
            } else {
                self.copy_their_value(ours, it.own, it.theirs, it.key);
            }
        }
    }
}
