//! Differences between two scenes: added, removed and moved instances, properties, and script
//! texts.
//!
//! A stored property that equals its default is the same as one that is not stored. A reference is
//! the same if it points to the counterpart of the instance it pointed to. The order of siblings
//! and of tags is ignored, as are the differences listed in `canonical`. A `UniqueId` or
//! `HistoryId` differs only if both instances have one, because files of other tools have none.
//!
//! The work is linear in the size of the scenes; paths are built only for differences. This module
//! does not compute line differences of texts and knows nothing about presentation.

mod canonical;
mod pairing;

use std::borrow::Cow;

use rbx_dom_weak::{Ustr, UstrMap};
use rbx_types::{Attributes, Ref, Variant};
use rustc_hash::FxHashMap;
use scene_schemas::{InstancePath, Value};

use self::canonical::{CanonicalBytes, ReferenceKey};
use self::pairing::DiffSide;
pub(super) use self::pairing::{DefaultValues, SceneHashes, has_unique_ids, mix_hash};
use super::Scene;
use super::binary::FileComparison;
use super::change::referenced_instance;
use super::property_layout::HIDDEN;

const UNIQUE_ID: &str = "UniqueId";
const HISTORY_ID: &str = "HistoryId";

/// A difference. Paths are those of the later scene, except for removed instances.
#[derive(Debug, Clone, PartialEq)]
pub enum SceneDifference {
    /// A new instance, with its new descendants.
    Added {
        path: InstancePath,
        class: String,
        /// The number of new instances, including this one.
        count: usize,
    },
    /// A removed instance, with its removed descendants.
    Removed {
        /// The path in the earlier scene.
        path: InstancePath,
        class: String,
        /// The number of removed instances, including this one.
        count: usize,
    },
    /// An instance with another parent. Reported only if both scenes have its unique id.
    Moved {
        /// The path in the earlier scene.
        from: InstancePath,
        to: InstancePath,
        class: String,
    },
    Changed {
        path: InstancePath,
        class: String,
        /// The changed properties, sorted by name; never empty.
        properties: Vec<PropertyChange>,
    },
    /// A script whose text differs.
    Script { path: InstancePath, class: String, before: String, after: String },
}

#[derive(Debug, Clone, PartialEq)]
pub struct PropertyChange {
    /// The property, which can be `Name`; attributes begin with `@`.
    pub name: String,
    /// The earlier effective value; None if it has no value and no default.
    pub before: Option<Value>,
    pub after: Option<Value>,
}

/// Returns the differences from `a`, the earlier scene, to `b`, the later one, in tree order of
/// `b`. Removed instances are listed after the parent that they were removed from.
#[must_use]
pub fn diff_scenes(a: &Scene, b: &Scene) -> Vec<SceneDifference> {
    let mut found = Vec::new();
    visit_differences(a, b, &mut |difference| found.push(difference));
    found
}

/// Visits what [`diff_scenes`] returns, one by one: there may be as many as instances.
pub fn visit_differences(a: &Scene, b: &Scene, visit: &mut dyn FnMut(SceneDifference)) {
    if !a.is_same_file(b) {
        compare_sides(a, b, visit);
    }
}

fn compare_sides(a: &Scene, b: &Scene, visit: &mut dyn FnMut(SceneDifference)) {
    let mut sides = PairedSides::new(a, b);
    let mut changes = sides.find_changes(is_other_id);
    changes.retain(|change| !change.key.starts_with(HIDDEN));
    let mut changes = changes.chunk_by(|one, next| one.at == next.at).peekable();
    let mut report = DifferenceReport {
        gone: count_regions(&sides.a),
        new: count_regions(&sides.b),
        sides: &sides,
        visit,
    };
    for at in 0..sides.b.flat.len() {
        let changed = changes.next_if(|all| all[0].at == at);
        report.visit_instance(at, changed.unwrap_or_default());
    }
}

/// The pairing of instances between two scenes.
pub(super) struct Counterparts {
    /// For each instance of the first scene, its counterpart in the second, or
    /// [`NONE`](super::tree::NONE).
    pub(super) forward: Vec<u32>,
    pub(super) backward: Vec<u32>,
}

impl Counterparts {
    /// Returns the pairing of a scene with an equal one of the same file.
    fn of_same_file(scene: &Scene) -> Self {
        let all: Vec<u32> = (0..scene.tree.len()).collect();
        Self { forward: all.clone(), backward: all }
    }

    fn from_sides<'a>(first: &DiffSide<'a>, second: &DiffSide<'a>) -> Self {
        Self { forward: first.counterpart_nodes(second), backward: second.counterpart_nodes(first) }
    }
}

/// Pairs the instances of `a` with those of `b`.
pub(super) fn find_counterparts(a: &Scene, b: &Scene) -> Counterparts {
    if a.is_same_file(b) {
        return Counterparts::of_same_file(a);
    }
    let sides = PairedSides::new(a, b);
    Counterparts::from_sides(&sides.a, &sides.b)
}

/// A pairing, and for each instance of the first scene whether its whole subtree equals that of its
/// counterpart.
pub(super) struct ComparedCounterparts {
    pub(super) counterparts: Counterparts,
    pub(super) same: Vec<bool>,
}

/// Pairs the instances of `a` with those of `b`, and compares their subtrees.
pub(super) fn compare_counterparts(a: &Scene, b: &Scene) -> ComparedCounterparts {
    if a.is_same_file(b) {
        let same = vec![true; a.tree.len() as usize];
        return ComparedCounterparts { counterparts: Counterparts::of_same_file(a), same };
    }
    let PairedSides { a: first, b: second, .. } = PairedSides::new(a, b);
    let mut same = vec![false; a.tree.len() as usize];
    for at in 0..first.flat.len() {
        if let Some(other) = first.counterpart(at) {
            same[first.flat.node_at(at).0 as usize] = first.is_same_subtree(at, &second, other);
        }
    }
    ComparedCounterparts { counterparts: Counterparts::from_sides(&first, &second), same }
}

/// The properties in which instances of a later scene differ from their counterparts, by node;
/// hidden ones included.
pub(super) type ChangedKeys = FxHashMap<u32, Vec<Ustr>>;

/// Pairs the instances of `a` with those of `b`, and finds the properties that differ; None if that
/// would take a look at each value.
pub(super) fn compare_scenes(a: &Scene, b: &Scene) -> (Counterparts, Option<ChangedKeys>) {
    if a.is_same_file(b) {
        return (Counterparts::of_same_file(a), Some(ChangedKeys::default()));
    }
    let mut sides = PairedSides::new(a, b);
    let has_columns = [a, b].iter().all(|scene| scene.unedited_binary().is_some());
    let changed = has_columns.then(|| {
        let mut changed = ChangedKeys::default();
        for ChangedProperty { at, key } in sides.find_changes(|old, new| old != new) {
            changed.entry(sides.b.flat.node_at(at).0).or_default().push(key);
        }
        changed
    });
    (Counterparts::from_sides(&sides.a, &sides.b), changed)
}

/// Canonical bytes of property values: equal bytes mean equivalent values, and a default has no
/// bytes.
#[derive(Default)]
pub(super) struct CanonicalValues(DefaultValues);

impl CanonicalValues {
    /// Returns the canonical bytes of a stored property; `point` maps references to keys.
    pub(super) fn canonical_value(
        &mut self,
        scene: &Scene,
        node: u32,
        key: Ustr,
        point: ReferenceKey<'_>,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(value) = scene.variant_of(node, key) {
            let class = scene.tree.class_name(node).into();
            if !self.0.get(class, key).write_unless_default(&value, point, &mut bytes) {
                bytes.clear();
            }
        }
        bytes
    }
}

/// For each unpaired instance with a paired parent, returns the size of the connected region of
/// unpaired instances below it, including itself; 0 for all others.
fn count_regions(side: &DiffSide<'_>) -> Vec<u32> {
    let mut counts: Vec<u32> = vec![0; side.flat.len()];
    let mut tops: Vec<u32> = vec![0; side.flat.len()];
    for at in (0..side.flat.len()).filter(|at| side.counterpart(*at).is_none()) {
        let parent = side.flat.parent_of(at);
        tops[at] = if side.counterpart(parent).is_some() { at as u32 } else { tops[parent] };
        counts[tops[at] as usize] += 1;
    }
    counts
}

/// A property of a paired instance that differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ChangedProperty {
    /// The index of the instance in the later scene.
    at: usize,
    key: Ustr,
}

/// Two scenes whose instances are paired.
struct PairedSides<'a> {
    a: DiffSide<'a>,
    b: DiffSide<'a>,
    defaults: DefaultValues,
    scratch: (Vec<u8>, Vec<u8>),
}

impl<'a> PairedSides<'a> {
    fn new(a: &'a Scene, b: &'a Scene) -> Self {
        let (mut a, mut b) = (DiffSide::new(a), DiffSide::new(b));
        pairing::pair_sides(&mut a, &mut b);
        Self { a, b, defaults: DefaultValues::default(), scratch: (Vec::new(), Vec::new()) }
    }

    /// Returns the stored properties that differ in meaning, hidden ones included, sorted. The
    /// caller says when two ids differ.
    fn find_changes(&mut self, is_other_id: IdComparison) -> Vec<ChangedProperty> {
        let (old, new) = (self.a.flat.scene, self.b.flat.scene);
        let mut changes = Vec::new();
        if let Some((before, after)) = old.unedited_binary().zip(new.unedited_binary()) {
            let counterparts = self.a.counterpart_nodes(&self.b);
            FileComparison::new(before, after, &counterparts).visit(&mut |was, key, is| {
                let Some(at) = self.b.index_of(is).filter(|at| *at > 0) else {
                    return false;
                };
                let (was, is) = (old.variant_of(was, key), new.variant_of(is, key));
                let (was, is, class) = (was.as_deref(), is.as_deref(), self.b.class_of(at));
                let is_different = if is_id(key) {
                    is_other_id(was, is)
                } else {
                    self.is_different(class, key, was, is)
                };
                if is_different {
                    changes.push(ChangedProperty { at, key });
                }
                is_different
            });
            changes.sort_unstable_by_key(|change| (change.at, change.key.as_str()));
            changes.dedup();
            return changes;
        }
        for at in 1..self.b.flat.len() {
            if let Some(was) = self.b.counterpart(at) {
                changes.extend(self.find_pair_changes(was, at, is_other_id));
            }
        }
        changes
    }

    /// Returns the properties of a pair that differ in meaning, sorted.
    fn find_pair_changes(
        &mut self,
        was: usize,
        at: usize,
        is_other_id: IdComparison,
    ) -> Vec<ChangedProperty> {
        let (a, b) = (&self.a.flat, &self.b.flat);
        let old: UstrMap<_> = a.scene.stored_values(a.node_at(was)).into_iter().collect();
        let new: UstrMap<_> = b.scene.stored_values(b.node_at(at)).into_iter().collect();
        let class = self.b.class_of(at);
        let only_new = new.keys().filter(|key| !old.contains_key(*key));
        let mut changes = Vec::new();
        for key in old.keys().chain(only_new) {
            let (before, after) = (old.get(key), new.get(key));
            let is_different = if is_id(*key) {
                is_other_id(before, after)
            } else {
                // Equal references in two scenes may mean different instances.
                let is_same = before == after && before.and_then(referenced_instance).is_none();
                !is_same && self.is_different(class, *key, before, after)
            };
            if is_different {
                changes.push(ChangedProperty { at, key: *key });
            }
        }
        changes.sort_unstable_by_key(|change| change.key.as_str());
        changes
    }

    /// Whether two stored values of a property differ in meaning. At least one of them must be
    /// present.
    fn is_different(
        &mut self,
        class: Ustr,
        key: Ustr,
        old: Option<&Variant>,
        new: Option<&Variant>,
    ) -> bool {
        let Self { a, b, defaults, scratch, .. } = self;
        // Map a reference in the earlier scene to its counterpart, or to a key that matches none.
        let old_point = |to: Ref| {
            a.number_of(to).map_or(0, |at| {
                a.counterpart(at).map_or(1 << 63 | at as u64, |other| other as u64 + 1)
            })
        };
        let new_point = |to: Ref| b.number_of(to).map_or(0, |at| at as u64 + 1);
        write_canonical(old, &mut scratch.0, &old_point);
        write_canonical(new, &mut scratch.1, &new_point);
        match (old, new) {
            (Some(_), Some(_)) => scratch.0 != scratch.1,
            (Some(it), None) => !defaults.get(class, key).is_default(it, &scratch.0),
            (None, Some(it)) => !defaults.get(class, key).is_default(it, &scratch.1),
            (None, None) => false,
        }
    }
}

/// Lists the differences of two scenes.
struct DifferenceReport<'a, 'b> {
    sides: &'b PairedSides<'a>,
    gone: Vec<u32>,
    new: Vec<u32>,
    visit: &'b mut dyn FnMut(SceneDifference),
}

impl DifferenceReport<'_, '_> {
    /// Reports the differences at an instance of the later scene, whose changed properties are
    /// given.
    fn visit_instance(&mut self, at: usize, changed: &[ChangedProperty]) {
        let PairedSides { a, b, .. } = self.sides;
        let Some(was) = b.counterpart(at) else {
            if self.new[at] > 0 {
                (self.visit)(SceneDifference::Added {
                    path: path_of(b, at),
                    class: class_name(b, at),
                    count: self.new[at] as usize,
                });
            }
            return;
        };
        if at > 0 {
            let parent = b.flat.parent_of(at);
            if b.counterpart(parent) != Some(a.flat.parent_of(was)) {
                (self.visit)(SceneDifference::Moved {
                    from: path_of(a, was),
                    to: path_of(b, at),
                    class: class_name(b, at),
                });
            }
            self.compare_pair(was, at, changed);
        }
        for child in a.flat.children_of(was) {
            if self.gone[child] > 0 {
                (self.visit)(SceneDifference::Removed {
                    path: path_of(a, child),
                    class: class_name(a, child),
                    count: self.gone[child] as usize,
                });
            }
        }
    }

    fn compare_pair(&mut self, was: usize, is: usize, changed: &[ChangedProperty]) {
        let PairedSides { a, b, .. } = self.sides;
        let mut names = Vec::new();
        if a.flat.name(was) != b.flat.name(is) {
            names.push("Name".to_owned());
        }
        for ChangedProperty { key, .. } in changed {
            let value = |side: &DiffSide<'_>, at| {
                side.flat.scene.variant_of(side.flat.node_at(at).0, *key).map(Cow::into_owned)
            };
            add_names(&mut names, *key, value(a, was).as_ref(), value(b, is).as_ref());
        }
        if !names.is_empty() {
            names.sort_unstable();
            self.report_changes(was, is, names);
        }
    }

    fn report_changes(&mut self, was: usize, is: usize, mut names: Vec<String>) {
        let sides = self.sides;
        let (old, new) = (sides.a.flat.node_at(was), sides.b.flat.node_at(is));
        let (a, b) = (sides.a.flat.scene, sides.b.flat.scene);
        let texts = names
            .iter()
            .any(|name| name == "Source")
            .then(|| a.script_text(old).zip(b.script_text(new)))
            .flatten();
        if texts.is_some() {
            names.retain(|name| name != "Source");
        }
        if !names.is_empty() {
            (self.visit)(SceneDifference::Changed {
                path: b.path(new),
                class: class_name(&sides.b, is),
                properties: names
                    .into_iter()
                    .map(|name| PropertyChange {
                        before: a.value(old, &name),
                        after: b.value(new, &name),
                        name,
                    })
                    .collect(),
            });
        }
        if let Some((before, after)) = texts {
            (self.visit)(SceneDifference::Script {
                path: b.path(new),
                class: class_name(&sides.b, is),
                before: before.into_owned(),
                after: after.into_owned(),
            });
        }
    }
}

/// Whether two ids differ.
type IdComparison = fn(Option<&Variant>, Option<&Variant>) -> bool;

/// Whether both instances have an id, and not the same.
fn is_other_id(old: Option<&Variant>, new: Option<&Variant>) -> bool {
    let is_nil = |id: &Variant| matches!(id, Variant::UniqueId(id) if id.is_nil());
    old.zip(new).is_some_and(|(old, new)| old != new && !is_nil(old) && !is_nil(new))
}

pub(super) fn is_id(key: Ustr) -> bool {
    matches!(key.as_str(), UNIQUE_ID | HISTORY_ID)
}

fn write_canonical(variant: Option<&Variant>, out: &mut Vec<u8>, point: ReferenceKey<'_>) {
    out.clear();
    if let Some(variant) = variant {
        CanonicalBytes { out, point }.put_variant(variant);
    }
}

/// Adds the names under which a changed property is reported: attributes one by one.
fn add_names(names: &mut Vec<String>, key: Ustr, old: Option<&Variant>, new: Option<&Variant>) {
    let attributes = |it: Option<&Variant>| match it {
        Some(Variant::Attributes(all)) => Some(all.clone()),
        Some(_) => None,
        None => Some(Attributes::new()),
    };
    let (Some(old), Some(new)) = (attributes(old), attributes(new)) else {
        names.push(key.to_string());
        return;
    };
    if key.as_str() != "Attributes" {
        names.push(key.to_string());
        return;
    }
    let differs = |name: &str| {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        write_canonical(old.get(name), &mut before, &|_| 0);
        write_canonical(new.get(name), &mut after, &|_| 0);
        before != after
    };
    let changed = old.iter().filter(|(name, _)| differs(name));
    let added = new.iter().filter(|(name, _)| old.get(name.as_str()).is_none());
    names.extend(changed.chain(added).map(|(name, _)| format!("@{name}")));
}

fn path_of(side: &DiffSide<'_>, at: usize) -> InstancePath {
    side.flat.scene.path(side.flat.node_at(at))
}

fn class_name(side: &DiffSide<'_>, at: usize) -> String {
    side.class_of(at).to_string()
}

#[cfg(test)]
mod tests;
