//! Structural changes when the user chooses theirs: restores what ours deleted, and moves what ours
//! moved to its place in theirs. Every step leaves a valid tree, in any order of decisions.

use rbx_dom_weak::ustr;
use rustc_hash::FxHashMap;
use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};

use super::{SceneMerge, lookup};
use crate::tree::ROOT;
use crate::{Node, Scene};

impl SceneMerge<'_> {
    /// Restores an instance that ours deleted, as it is in theirs, with its descendants.
    pub(super) fn restore_deleted(
        &mut self,
        ours: &mut Scene,
        node: u32,
        path: &InstancePath,
    ) -> Result<(), Refusal> {
        let theirs = self.theirs;
        // An ancestor may have been deleted with it.
        let mut top = node;
        loop {
            let Some(parent) = theirs.tree.parent(top) else {
                return refuse!("{path} cannot be restored: it has no parent in ours.");
            };
            if lookup(&self.ours_of_theirs, parent).is_some() {
                break;
            }
            top = parent;
        }
        if lookup(&self.ours_of_theirs, top).is_some() {
            // Another conflict already restored it.
            return Ok(());
        }
        let mut restored = Vec::new();
        for it in &theirs.tree.subtree(top).collect::<Vec<u32>>() {
            // Instances that ours moved elsewhere stay there.
            if lookup(&self.ours_of_theirs, *it).is_some() {
                continue;
            }
            let parent = theirs.tree.parent(*it).and_then(|it| lookup(&self.ours_of_theirs, it));
            let Some(parent) = parent else { continue };
            let (class, name) = (theirs.tree.class_name(*it), theirs.tree.name_text(*it));
            self.ours_of_theirs[*it as usize] = ours.create(Node(parent), class, name).0;
            restored.push(*it);
        }
        // Copy the values last: references between the instances need all of them to exist.
        for it in restored {
            let own = self.ours_of_theirs[it as usize];
            for key in theirs.stored_keys(it) {
                self.copy_their_value(ours, own, it, key);
            }
        }
        self.apply_deferred(ours);
        let without_parent = std::mem::take(&mut self.parentless);
        let (with_parent, without_parent): (Vec<u32>, Vec<u32>) =
            without_parent.into_iter().partition(|it| {
                theirs.tree.parent(*it).is_some_and(|it| lookup(&self.ours_of_theirs, it).is_some())
            });
        self.parentless = without_parent;
        with_parent.into_iter().try_for_each(|it| self.move_instance(ours, it, path))
    }

    /// Moves an instance of ours to its parent in theirs. Restores that parent first if ours
    /// deleted it.
    pub(super) fn move_instance(
        &mut self,
        ours: &mut Scene,
        node: u32,
        path: &InstancePath,
    ) -> Result<(), Refusal> {
        let theirs = self.theirs;
        let mut above: Vec<u32> =
            std::iter::successors(theirs.tree.parent(node), |it| theirs.tree.parent(*it)).collect();
        if let Some(parent) = above.first()
            && lookup(&self.ours_of_theirs, *parent).is_none()
        {
            self.restore_deleted(ours, *parent, path)?;
        }
        let (own, parent) = (
            lookup(&self.ours_of_theirs, node),
            above.first().and_then(|it| lookup(&self.ours_of_theirs, *it)),
        );
        let Some((own, parent)) = own.zip(parent) else {
            return refuse!("{path} cannot be moved: its parent in theirs is not in ours.");
        };
        // First move instances that are above it in theirs but below it in ours, from the top down.
        above.reverse();
        for pair in above.windows(2) {
            let [into, it] = [pair[0], pair[1]].map(|it| lookup(&self.ours_of_theirs, it));
            if let Some((into, it)) = into.zip(it)
                && ours.is_within(Node(it), Node(own))
            {
                ours.move_to(Node(it), Node(into), None)?;
            }
        }
        if ours.tree.parent(own) == Some(parent) {
            return Ok(());
        }
        ours.move_to(Node(own), Node(parent), None)
    }

    /// Deletes an instance that theirs deleted. Descendants that theirs still has are first moved
    /// to their place in theirs, and references of ours to the deleted subtree take their values
    /// from theirs.
    pub(super) fn delete_as_theirs(&mut self, ours: &mut Scene, own: u32) -> Result<(), Refusal> {
        let theirs = self.theirs;
        let path = ours.path(Node(own));
        let is_retained = |node: &u32| {
            lookup(&self.ours_of_theirs, *node)
                .is_some_and(|it| ours.is_within(Node(it), Node(own)))
        };
        // Parents first, in the tree order of theirs.
        let retained: Vec<u32> = theirs.tree.subtree(ROOT).skip(1).filter(is_retained).collect();
        for node in retained {
            self.move_instance(ours, node, &path)?;
        }
        let holders = ours.references_into(Node(own));
        if !holders.is_empty() {
            let all = theirs.tree.subtree(ROOT);
            let of_ours: FxHashMap<u32, u32> =
                all.filter_map(|it| Some((lookup(&self.ours_of_theirs, it)?, it))).collect();
            for (holder, key, _) in holders {
                if let Some(node) = of_ours.get(&holder.0) {
                    self.copy_their_value(ours, holder.0, *node, ustr(&key));
                }
            }
        }
        ours.delete(Node(own));
        Ok(())
    }
}
