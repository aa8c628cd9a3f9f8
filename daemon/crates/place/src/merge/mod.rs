//! Two places that come from one, made one again: what `theirs` changed is done to `ours`.
//!
//! Instances are known again as [`super::diff`] knows them. What just one side changed is taken;
//! properties, attributes, tags and the lines of scripts are merged each for themselves. Where both
//! sides changed the same in another way, `ours` stays, and a [`Conflict`] says so. The order of
//! siblings is that of the side that changed it; that of `ours`, and new ones last, where both did.

mod order;
mod properties;
mod references;
mod resolve;
mod structure;

use rbx_dom_weak::Ustr;
use rustc_hash::FxHashSet;
use scene_schemas::{InstancePath, Value};
use vector_text_edit::MergePart;

use self::references::PendingReference;
use self::resolve::ConflictNodes;
pub use self::resolve::{OpenMerge, check_choice, to_view};
use super::diff::{Counterparts, find_counterparts};
use super::node_set::NodeSet;
use super::tree::{NONE, ROOT};
use super::{Node, Scene};

/// What the two sides did that does not go together. Paths are those in `ours` where it has the
/// instance.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeConflict {
    /// Both gave a property another value.
    Property {
        path: InstancePath,
        class: String,
        /// The property; attributes begin with `@`.
        property: String,
        /// Its values in the base, in ours and in theirs; none where it has none.
        values: [Option<Value>; 3],
    },
    /// Both changed the same lines of a script.
    Script {
        path: InstancePath,
        class: String,
        /// The merged text, with both versions of these lines between conflict markers.
        text: String,
        /// The same in pieces.
        parts: Vec<MergePart>,
    },
    /// One side deleted an instance that the other changed, added or moved something to, or made a
    /// reference to.
    Deleted {
        /// The instance, as the side calls it that has it.
        path: InstancePath,
        class: String,
        /// Whether it was ours that deleted it.
        is_deleted_by_ours: bool,
    },
    /// Both gave an instance another parent, or each put one of two instances into the other.
    Moved {
        /// Where ours has it.
        path: InstancePath,
        class: String,
        /// Where theirs has it.
        theirs: InstancePath,
    },
}

/// The three places, and who is who.
struct SceneMerge<'a> {
    base: &'a Scene,
    theirs: &'a Scene,
    /// For each instance of one place, its counterpart in another.
    ours_of_base: Vec<u32>,
    base_of_ours: Vec<u32>,
    base_of_theirs: Vec<u32>,
    theirs_of_base: Vec<u32>,
    ours_of_theirs: Vec<u32>,
    conflicts: Vec<MergeConflict>,
    /// By conflict: the instances that it is about.
    nodes: Vec<ConflictNodes>,
    /// The instances of `theirs` that were added to `ours`.
    added: NodeSet,
    /// The instances of `ours` that have an id of theirs.
    with_new_ids: FxHashSet<u32>,
    /// The instances of `theirs` that it alone moved, into something that ours does not have.
    parentless: Vec<u32>,
    /// The references of `theirs` to what ours does not have.
    pending_references: Vec<PendingReference>,
}

/// Does to `ours` what `theirs` did to `base`; says what did not go together.
pub fn merge_scenes(base: &Scene, ours: &mut Scene, theirs: &Scene) -> Vec<MergeConflict> {
    run_merge(base, ours, theirs).conflicts
}

fn run_merge<'a>(base: &'a Scene, ours: &mut Scene, theirs: &'a Scene) -> SceneMerge<'a> {
    let (to_ours, to_theirs) = (find_counterparts(base, ours), find_counterparts(base, theirs));
    let between = find_counterparts(theirs, ours);
    let mut merge = SceneMerge {
        base,
        theirs,
        ours_of_theirs: ours_of_theirs(&to_ours, &to_theirs, &between, ours, theirs),
        ours_of_base: to_ours.forward,
        base_of_ours: to_ours.backward,
        theirs_of_base: to_theirs.forward,
        base_of_theirs: to_theirs.backward,
        conflicts: Vec::new(),
        nodes: Vec::new(),
        added: NodeSet::default(),
        with_new_ids: FxHashSet::default(),
        parentless: Vec::new(),
        pending_references: Vec::new(),
    };
    let reordered = merge.reordered_parents(ours);
    merge.add_instances(ours);
    merge.apply_moves(ours);
    merge.apply_properties(ours);
    merge.apply_deletions(ours);
    merge.reorder(ours, &reordered);
    merge.drop_shared_ids(ours);
    merge
}

/// The instances of ours that those of theirs are. What both sides added is the same where it is
/// equal, or where it is a script of the same name in the same place.
fn ours_of_theirs(
    to_ours: &Counterparts,
    to_theirs: &Counterparts,
    between: &Counterparts,
    ours: &Scene,
    theirs: &Scene,
) -> Vec<u32> {
    let mut found = vec![NONE; theirs.tree.len() as usize];
    for node in theirs.tree.subtree(ROOT) {
        let base = to_theirs.backward[node as usize];
        if base != NONE {
            found[node as usize] = to_ours.forward[base as usize];
            continue;
        }
        let other = between.forward[node as usize];
        let is_new = other != NONE && to_ours.backward[other as usize] == NONE;
        if !is_new {
            continue;
        }
        let parents = theirs.tree.parent(node).map(|it| found[it as usize]);
        let is_here = parents == ours.tree.parent(other);
        let is_script = theirs.is_script(Node(node))
            && theirs.tree.name_text(node) == ours.tree.name_text(other);
        if is_here && (is_script || between.same[node as usize]) {
            found[node as usize] = other;
        }
    }
    found
}

fn lookup(all: &[u32], node: u32) -> Option<u32> {
    all.get(node as usize).copied().filter(|other| *other != NONE)
}

impl SceneMerge<'_> {
    /// Makes what theirs added.
    fn add_instances(&mut self, ours: &mut Scene) {
        let theirs = self.theirs;
        let (mut added, mut lost) = (Vec::new(), FxHashSet::default());
        for node in theirs.tree.subtree(ROOT) {
            if lookup(&self.base_of_theirs, node).is_some()
                || lookup(&self.ours_of_theirs, node).is_some()
            {
                continue;
            }
            let Some(parent) = theirs.tree.parent(node) else {
                continue;
            };
            let Some(into) = lookup(&self.ours_of_theirs, parent) else {
                // Of what hangs together, the topmost speaks.
                if !lost.contains(&parent) {
                    self.note_deleted(theirs, node, true);
                }
                lost.insert(node);
                continue;
            };
            let (class, name) = (theirs.tree.class_name(node), theirs.tree.name_text(node));
            let new = ours.create(Node(into), class, name).0;
            self.ours_of_theirs[node as usize] = new;
            added.push(node);
        }
        self.added = added.into_iter().collect();
    }

    fn note_deleted(&mut self, scene: &Scene, node: u32, by_ours: bool) {
        let (path, class) = (scene.path(Node(node)), scene.class(Node(node)).to_owned());
        let (own, theirs) = if by_ours { (NONE, node) } else { (node, NONE) };
        self.nodes.push(ConflictNodes { own, theirs });
        self.conflicts.push(MergeConflict::Deleted { path, class, is_deleted_by_ours: by_ours });
    }

    /// Whether an instance has another parent than in the base.
    fn is_moved(&self, base: u32, scene: &Scene, back: &[u32], node: u32) -> bool {
        let parent = scene.tree.parent(node).and_then(|parent| lookup(back, parent));
        parent != self.base.tree.parent(base)
    }

    /// Moves what theirs moved.
    fn apply_moves(&mut self, ours: &mut Scene) {
        let theirs = self.theirs;
        for node in theirs.tree.subtree(ROOT).skip(1) {
            let base = lookup(&self.base_of_theirs, node);
            let Some((base, own)) = base.zip(lookup(&self.ours_of_theirs, node)) else {
                continue;
            };
            if !self.is_moved(base, theirs, &self.base_of_theirs, node) {
                continue;
            }
            let parent = theirs.tree.parent(node).and_then(|it| lookup(&self.ours_of_theirs, it));
            if parent == ours.tree.parent(own) {
                continue;
            }
            let stayed = !self.is_moved(base, ours, &self.base_of_ours, own);
            if stayed && parent.is_none() {
                // The conflict is about the parent, which ours deleted.
                self.parentless.push(node);
                continue;
            }
            let moved = parent
                .filter(|_| stayed)
                .is_some_and(|parent| ours.move_to(Node(own), Node(parent), None).is_ok());
            if !moved {
                self.nodes.push(ConflictNodes { own, theirs: node });
                self.conflicts.push(MergeConflict::Moved {
                    path: ours.path(Node(own)),
                    class: ours.class(Node(own)).to_owned(),
                    theirs: theirs.path(Node(node)),
                });
            }
        }
    }

    /// Deletes what theirs deleted, where ours left it as it was.
    fn apply_deletions(&mut self, ours: &mut Scene) {
        let base = self.base;
        let missed = self.needed_by_ours(ours);
        for node in base.tree.subtree(ROOT).skip(1) {
            let above = base.tree.parent(node).and_then(|it| lookup(&self.theirs_of_base, it));
            if lookup(&self.theirs_of_base, node).is_some() {
                continue;
            }
            let Some(own) = lookup(&self.ours_of_base, node) else {
                continue;
            };
            if above.is_none() {
                // It goes with what is above it, unless ours has moved it out.
                let parent = ours.tree.parent(own).and_then(|it| lookup(&self.base_of_ours, it));
                let is_out = parent.is_none_or(|it| lookup(&self.theirs_of_base, it).is_some());
                if is_out && self.is_moved(node, ours, &self.base_of_ours, own) {
                    self.note_deleted(ours, own, false);
                }
                continue;
            }
            if self.is_touched(ours, own, &missed) {
                self.note_deleted(ours, own, false);
            } else {
                ours.delete(Node(own));
            }
        }
    }

    /// Whether a subtree of ours has something that the base does not have, that is not as it was
    /// there, or that is missed elsewhere; what theirs put there counts too.
    fn is_touched(&self, ours: &Scene, root: u32, missed: &NodeSet) -> bool {
        ours.tree.subtree(root).any(|node| match lookup(&self.base_of_ours, node) {
            None => true,
            Some(base) => {
                missed.contains(node)
                    || lookup(&self.theirs_of_base, base).is_some()
                    || self.is_moved(base, ours, &self.base_of_ours, node)
                    || self.is_changed(ours, base, node)
            }
        })
    }
}

/// The keys that several instances have, each once.
fn union_keys<'a>(keys: impl IntoIterator<Item = &'a Vec<Ustr>>) -> Vec<Ustr> {
    let mut all: Vec<Ustr> = keys.into_iter().flatten().copied().collect();
    all.sort_unstable_by_key(Ustr::as_str);
    all.dedup();
    all
}

#[cfg(test)]
mod tests;
