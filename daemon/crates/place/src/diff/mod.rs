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

use rbx_dom_weak::Ustr;
use rbx_types::{Attributes, Ref, Variant};
use scene_schemas::{InstancePath, Value};

use self::canonical::{CanonicalBytes, ReferenceKey};
use self::pairing::{DefaultValues, DiffSide, NONE};
use super::Scene;
use super::change::referenced_instance;
use super::flat_tree::FlatTree;

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
    let mut defaults = DefaultValues::default();
    let mut a = DiffSide::new(FlatTree::from_scene(a, a.root()), &mut defaults);
    let mut b = DiffSide::new(FlatTree::from_scene(b, b.root()), &mut defaults);
    pairing::pair_sides(&mut a, &mut b);
    let mut comparison = SceneComparison {
        gone: count_regions(&a),
        new: count_regions(&b),
        a,
        b,
        defaults,
        found: Vec::new(),
        scratch: (Vec::new(), Vec::new()),
    };
    for at in 0..comparison.b.flat.len() {
        comparison.visit_instance(at);
    }
    comparison.found
}

/// The pairing of instances between two scenes.
pub(super) struct Counterparts {
    /// For each instance of the first scene, its counterpart in the second, or [`NONE`].
    pub(super) forward: Vec<u32>,
    pub(super) backward: Vec<u32>,
    /// For each instance of the first scene, whether its whole subtree equals that of its
    /// counterpart.
    pub(super) same: Vec<bool>,
}

/// Pairs the instances of `a` with those of `b`.
pub(super) fn find_counterparts(a: &Scene, b: &Scene) -> Counterparts {
    let mut defaults = DefaultValues::default();
    let mut first = DiffSide::new(FlatTree::from_scene(a, a.root()), &mut defaults);
    let mut second = DiffSide::new(FlatTree::from_scene(b, b.root()), &mut defaults);
    pairing::pair_sides(&mut first, &mut second);
    let mut found = Counterparts {
        forward: vec![NONE; a.tree.len() as usize],
        backward: vec![NONE; b.tree.len() as usize],
        same: vec![false; a.tree.len() as usize],
    };
    for at in 0..first.flat.len() {
        if let Some(other) = first.counterpart(at) {
            let (node, twin) = (first.flat.node_at(at).0, second.flat.node_at(other).0);
            found.forward[node as usize] = twin;
            found.backward[twin as usize] = node;
            found.same[node as usize] = first.is_same_subtree(at, &second, other);
        }
    }
    found
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
            write_canonical(Some(&value), &mut bytes, point);
            let class = scene.tree.class_name(node).into();
            if self.0.defaults_for(class).is_default(key, &value, &bytes) {
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

struct SceneComparison<'a> {
    a: DiffSide<'a>,
    b: DiffSide<'a>,
    gone: Vec<u32>,
    new: Vec<u32>,
    defaults: DefaultValues,
    found: Vec<SceneDifference>,
    scratch: (Vec<u8>, Vec<u8>),
}

impl SceneComparison<'_> {
    /// Reports the differences at an instance of the later scene.
    fn visit_instance(&mut self, at: usize) {
        let Some(was) = self.b.counterpart(at) else {
            if self.new[at] > 0 {
                self.found.push(SceneDifference::Added {
                    path: path_of(&self.b, at),
                    class: class_name(&self.b, at),
                    count: self.new[at] as usize,
                });
            }
            return;
        };
        if at > 0 {
            let parent = self.b.flat.parent_of(at);
            if self.b.counterpart(parent) != Some(self.a.flat.parent_of(was)) {
                self.found.push(SceneDifference::Moved {
                    from: path_of(&self.a, was),
                    to: path_of(&self.b, at),
                    class: class_name(&self.b, at),
                });
            }
            self.compare_pair(was, at);
        }
        for child in self.a.flat.children_of(was) {
            if self.gone[child] > 0 {
                self.found.push(SceneDifference::Removed {
                    path: path_of(&self.a, child),
                    class: class_name(&self.a, child),
                    count: self.gone[child] as usize,
                });
            }
        }
    }

    fn compare_pair(&mut self, was: usize, is: usize) {
        let mut names = Vec::new();
        if self.a.flat.name(was) != self.b.flat.name(is) {
            names.push("Name".to_owned());
        }
        let (before, after) = (self.a.properties(was), self.b.properties(is));
        let class = self.b.class_of(is);
        for (key, old) in &before {
            let new = after.get(key);
            // Equal references in two scenes may mean different instances.
            let is_same = new == Some(old) && referenced_instance(old).is_none();
            if !is_same && self.is_different(class, *key, Some(old), new) {
                add_names(&mut names, *key, Some(old), new);
            }
        }
        for (key, new) in &after {
            if !before.contains_key(key) && self.is_different(class, *key, None, Some(new)) {
                add_names(&mut names, *key, None, Some(new));
            }
        }
        if names.is_empty() {
            return;
        }
        names.sort_unstable();
        self.report_changes(was, is, names);
    }

    fn report_changes(&mut self, was: usize, is: usize, mut names: Vec<String>) {
        let (old, new) = (self.a.flat.node_at(was), self.b.flat.node_at(is));
        let (a, b) = (self.a.flat.scene, self.b.flat.scene);
        let texts = names
            .iter()
            .any(|name| name == "Source")
            .then(|| a.script_text(old).zip(b.script_text(new)))
            .flatten();
        if texts.is_some() {
            names.retain(|name| name != "Source");
        }
        if !names.is_empty() {
            self.found.push(SceneDifference::Changed {
                path: b.path(new),
                class: class_name(&self.b, is),
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
            self.found.push(SceneDifference::Script {
                path: b.path(new),
                class: class_name(&self.b, is),
                before: before.into_owned(),
                after: after.into_owned(),
            });
        }
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
            (Some(_), Some(_)) if is_id(key) => {
                let nil =
                    |it: Option<&Variant>| matches!(it, Some(Variant::UniqueId(id)) if id.is_nil());
                scratch.0 != scratch.1 && !nil(old) && !nil(new)
            }
            (Some(_), Some(_)) => scratch.0 != scratch.1,
            _ if is_id(key) => false,
            (Some(it), None) => !defaults.defaults_for(class).is_default(key, it, &scratch.0),
            (None, Some(it)) => !defaults.defaults_for(class).is_default(key, it, &scratch.1),
            (None, None) => false,
        }
    }
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
