//! Three-way merge of places: applies the changes from `base` to `theirs` to `ours`.
//!
//! Instances are paired as in [`super::diff`]. A change that only one side made is taken.
//! Properties, attributes, tags and the lines of scripts are merged individually. If both sides
//! changed the same thing differently, `ours` is kept and a [`MergeConflict`] reports it. Sibling
//! order is taken from the side that changed it; if both did, from `ours`, with new instances last.

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
use super::diff::{
    ChangedKeys, ComparedCounterparts, Counterparts, compare_counterparts, compare_scenes,
    find_counterparts,
};
use super::node_set::NodeSet;
use super::tree::{NONE, ROOT};
use super::{Node, Scene};

/// Incompatible changes of the two sides. Paths are those in `ours` if it has the instance.
#[derive(Debug, Clone, PartialEq)]
pub enum MergeConflict {
    /// Both sides gave a property different values.
    Property {
        path: InstancePath,
        class: String,
        /// The property; attributes begin with `@`.
        property: String,
        /// The values in base, ours and theirs; None if there is no value.
        values: [Option<Value>; 3],
    },
    /// Both sides changed the same lines of a script.
    Script {
        path: InstancePath,
        class: String,
        /// The merged text, with both versions of these lines between conflict markers.
        text: String,
        /// The merged text in parts.
        parts: Vec<MergePart>,
    },
    /// One side deleted an instance that the other changed, added or moved something into, or made
    /// a reference to.
    Deleted {
        /// The path in the side that has the instance.
        path: InstancePath,
        class: String,
        is_deleted_by_ours: bool,
    },
    /// Both sides moved an instance to different parents, or each moved one of two instances into
    /// the other.
    Moved {
        /// The path in ours.
        path: InstancePath,
        class: String,
        /// The path in theirs.
        theirs: InstancePath,
    },
}

/// The state of a merge: the three places and the pairing of their instances.
struct SceneMerge<'a> {
    base: &'a Scene,
    theirs: &'a Scene,
    /// For each instance of one place, its counterpart in another, or [`NONE`].
    ours_of_base: Vec<u32>,
    base_of_ours: Vec<u32>,
    base_of_theirs: Vec<u32>,
    theirs_of_base: Vec<u32>,
    ours_of_theirs: Vec<u32>,
    /// The properties that theirs may have changed, by instance of theirs; None if every property
    /// has to be compared.
    changed_by_theirs: Option<ChangedKeys>,
    conflicts: Vec<MergeConflict>,
    /// The instances of each conflict, parallel to `conflicts`.
    nodes: Vec<ConflictNodes>,
    /// The instances of `theirs` that were added to `ours`.
    added: NodeSet,
    /// The instances of `ours` that got an id from `theirs`.
    with_new_ids: FxHashSet<u32>,
    /// The instances that only `theirs` moved, whose new parent is not in `ours`.
    parentless: Vec<u32>,
    /// The references of `theirs` to instances that are not in `ours`.
    pending_references: Vec<PendingReference>,
}

/// Applies the changes from `base` to `theirs` to `ours`, and returns the conflicts.
pub fn merge_scenes(base: &Scene, ours: &mut Scene, theirs: &Scene) -> Vec<MergeConflict> {
    run_merge(base, ours, theirs).conflicts
}

fn run_merge<'a>(base: &'a Scene, ours: &mut Scene, theirs: &'a Scene) -> SceneMerge<'a> {
    let to_ours = find_counterparts(base, ours);
    let (to_theirs, changed_by_theirs) = compare_scenes(base, theirs);
    let between = may_share_new(&to_ours, &to_theirs).then(|| compare_counterparts(theirs, ours));
    let mut merge = SceneMerge {
        base,
        theirs,
        ours_of_theirs: ours_of_theirs(&to_ours, &to_theirs, between.as_ref(), ours, theirs),
        changed_by_theirs,
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

/// Whether both sides have instances that the base does not have.
fn may_share_new(to_ours: &Counterparts, to_theirs: &Counterparts) -> bool {
    [to_ours, to_theirs].iter().all(|side| side.backward.contains(&NONE))
}

/// Returns the counterpart in ours of each instance of theirs. Instances that both sides added are
/// paired if they are equal, or if they are scripts with the same name and parent.
fn ours_of_theirs(
    to_ours: &Counterparts,
    to_theirs: &Counterparts,
    between: Option<&ComparedCounterparts>,
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
        let Some(between) = between else {
            continue;
        };
        let other = between.counterparts.forward[node as usize];
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
    /// Creates the instances that theirs added.
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
                // Report only the root of a connected group.
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

    /// Applies the moves that theirs made.
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
            let is_unmoved = !self.is_moved(base, ours, &self.base_of_ours, own);
            if is_unmoved && parent.is_none() {
                // The conflict is reported for the parent, which ours deleted.
                self.parentless.push(node);
                continue;
            }
            let moved = parent
                .filter(|_| is_unmoved)
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

    /// Deletes the instances that theirs deleted, if ours did not change them.
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
                // It is deleted with its parent, unless ours moved it out.
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

    /// Whether a subtree of ours has anything that is new, changed or moved compared to the base,
    /// or that is referenced elsewhere. Instances that theirs still has count too.
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

/// Returns the distinct keys of several instances, sorted.
fn union_keys<'a>(keys: impl IntoIterator<Item = &'a Vec<Ustr>>) -> Vec<Ustr> {
    let mut all: Vec<Ustr> = keys.into_iter().flatten().copied().collect();
    all.sort_unstable_by_key(Ustr::as_str);
    all.dedup();
    all
}

#[cfg(test)]
mod tests;
