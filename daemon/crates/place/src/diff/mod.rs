//! What differs between two scenes, in the words of a place: instances that came, went or moved,
//! properties, and scripts' texts.
//!
//! A stored property that equals its default is the same as one that is not stored; a reference is
//! the same where it points to the counterpart of what it pointed to. The order of siblings and of
//! tags makes no difference, nor does what [`bytes`] says of values. A `UniqueId` or `HistoryId` is a
//! difference only where both instances have one: files of other tools have none.
//!
//! The work grows with the size of the scenes; paths are made only for what differs. Which lines of
//! a text differ, and how any of it is shown, is not known here.

mod bytes;
mod pair;

use rbx_dom_weak::Ustr;
use rbx_types::{Attributes, Ref, Variant};
use scene_schemas::{InstancePath, Value};

use self::bytes::{Bytes, Point};
use self::pair::{Defaults, NONE, Side};
use super::Scene;
use super::change::pointed;
use super::flat::Flat;

const UNIQUE_ID: &str = "UniqueId";
const HISTORY_ID: &str = "HistoryId";

/// One difference. Paths are those of the later scene, except where an instance is gone.
#[derive(Debug, Clone, PartialEq)]
pub enum Difference {
    /// An instance is new, with all that is new below it.
    Added {
        /// Where it is.
        path: InstancePath,
        /// Its class.
        class: String,
        /// How many instances that are, itself included.
        count: usize,
    },
    /// An instance is gone, with all below it that is gone.
    Removed {
        /// Where it was, in the earlier scene.
        path: InstancePath,
        /// Its class.
        class: String,
        /// How many instances that are, itself included.
        count: usize,
    },
    /// An instance has another parent. Only told where both scenes have its unique id.
    Moved {
        /// Where it was, in the earlier scene.
        from: InstancePath,
        /// Where it is.
        to: InstancePath,
        /// Its class.
        class: String,
    },
    /// Properties differ.
    Changed {
        /// Where it is.
        path: InstancePath,
        /// Its class.
        class: String,
        /// What differs, sorted by name; never empty.
        properties: Vec<PropertyChange>,
    },
    /// A script's text differs.
    Script {
        /// Where it is.
        path: InstancePath,
        /// Its class.
        class: String,
        /// The earlier text.
        before: String,
        /// The later text.
        after: String,
    },
}

/// A property that differs.
#[derive(Debug, Clone, PartialEq)]
pub struct PropertyChange {
    /// The property, `Name` too; attributes begin with `@`.
    pub name: String,
    /// What it was, its default included; none where it has neither.
    pub before: Option<Value>,
    /// What it is.
    pub after: Option<Value>,
}

/// What differs from `a`, the earlier scene, to `b`, the later one: in the order of the later tree,
/// what is gone in the place of the parent that it is gone from.
#[must_use]
pub fn diff(a: &Scene, b: &Scene) -> Vec<Difference> {
    let mut defaults = Defaults::default();
    let mut a = Side::new(Flat::of(a, a.root()), &mut defaults);
    let mut b = Side::new(Flat::of(b, b.root()), &mut defaults);
    pair::pair(&mut a, &mut b);
    let mut comparison = Comparison {
        gone: count_regions(&a),
        new: count_regions(&b),
        a,
        b,
        defaults,
        found: Vec::new(),
        scratch: (Vec::new(), Vec::new()),
    };
    for at in 0..comparison.b.flat.len() {
        comparison.visit(at);
    }
    comparison.found
}

/// Which instance of one scene is which of another.
pub(super) struct Counterparts {
    /// For each instance of the first scene, that of the second; [`NONE`] where there is none.
    pub(super) there: Vec<u32>,
    /// The other way.
    pub(super) back: Vec<u32>,
    /// Whether an instance of the first scene has a counterpart that is the same, with all below.
    pub(super) same: Vec<bool>,
}

/// Which instance of `a` is which of `b`.
pub(super) fn counterparts(a: &Scene, b: &Scene) -> Counterparts {
    let mut defaults = Defaults::default();
    let mut first = Side::new(Flat::of(a, a.root()), &mut defaults);
    let mut second = Side::new(Flat::of(b, b.root()), &mut defaults);
    pair::pair(&mut first, &mut second);
    let mut found = Counterparts {
        there: vec![NONE; a.tree.len() as usize],
        back: vec![NONE; b.tree.len() as usize],
        same: vec![false; a.tree.len() as usize],
    };
    for at in 0..first.flat.len() {
        if let Some(other) = first.pair(at) {
            let (node, twin) = (first.flat.node(at).0, second.flat.node(other).0);
            found.there[node as usize] = twin;
            found.back[twin as usize] = node;
            found.same[node as usize] = first.is_same(at, &second, other);
        }
    }
    found
}

/// Values of properties as bytes: equal bytes where they say the same, none for the default.
#[derive(Default)]
pub(super) struct Canonical(Defaults);

impl Canonical {
    /// The bytes of what an instance stores; `point` says what a reference counts as.
    pub(super) fn value(
        &mut self,
        scene: &Scene,
        node: u32,
        key: Ustr,
        point: Point<'_>,
    ) -> Vec<u8> {
        let mut bytes = Vec::new();
        if let Some(value) = scene.variant(node, key) {
            write(Some(&value), &mut bytes, point);
            let class = scene.tree.class_name(node).into();
            if self.0.of(class).means(key, &value, &bytes) {
                bytes.clear();
            }
        }
        bytes
    }
}

/// For each instance without a counterpart whose parent has one, how many hang together there; 0 for
/// all others.
fn count_regions(side: &Side<'_>) -> Vec<u32> {
    let mut counts: Vec<u32> = vec![0; side.flat.len()];
    let mut tops: Vec<u32> = vec![0; side.flat.len()];
    for at in (0..side.flat.len()).filter(|at| side.pair(*at).is_none()) {
        let parent = side.flat.parent(at);
        tops[at] = if side.pair(parent).is_some() { at as u32 } else { tops[parent] };
        counts[tops[at] as usize] += 1;
    }
    counts
}

struct Comparison<'a> {
    a: Side<'a>,
    b: Side<'a>,
    gone: Vec<u32>,
    new: Vec<u32>,
    defaults: Defaults,
    found: Vec<Difference>,
    scratch: (Vec<u8>, Vec<u8>),
}

impl Comparison<'_> {
    /// Tells what there is to tell of an instance of the later scene.
    fn visit(&mut self, at: usize) {
        let Some(was) = self.b.pair(at) else {
            if self.new[at] > 0 {
                self.found.push(Difference::Added {
                    path: path(&self.b, at),
                    class: class(&self.b, at),
                    count: self.new[at] as usize,
                });
            }
            return;
        };
        if at > 0 {
            let parent = self.b.flat.parent(at);
            if self.b.pair(parent) != Some(self.a.flat.parent(was)) {
                self.found.push(Difference::Moved {
                    from: path(&self.a, was),
                    to: path(&self.b, at),
                    class: class(&self.b, at),
                });
            }
            self.compare(was, at);
        }
        for child in self.a.flat.children(was) {
            if self.gone[child] > 0 {
                self.found.push(Difference::Removed {
                    path: path(&self.a, child),
                    class: class(&self.a, child),
                    count: self.gone[child] as usize,
                });
            }
        }
    }

    fn compare(&mut self, was: usize, is: usize) {
        let mut names = Vec::new();
        if self.a.flat.name(was) != self.b.flat.name(is) {
            names.push("Name".to_owned());
        }
        let (before, after) = (self.a.properties(was), self.b.properties(is));
        let class = self.b.class(is);
        for (key, old) in &before {
            let new = after.get(key);
            // The same reference in two scenes may mean two instances.
            let is_same = new == Some(old) && pointed(old).is_none();
            if !is_same && self.differs(class, *key, Some(old), new) {
                add_names(&mut names, *key, Some(old), new);
            }
        }
        for (key, new) in &after {
            if !before.contains_key(key) && self.differs(class, *key, None, Some(new)) {
                add_names(&mut names, *key, None, Some(new));
            }
        }
        if names.is_empty() {
            return;
        }
        names.sort_unstable();
        self.tell(was, is, names);
    }

    fn tell(&mut self, was: usize, is: usize, mut names: Vec<String>) {
        let (old, new) = (self.a.flat.node(was), self.b.flat.node(is));
        let (a, b) = (self.a.flat.scene, self.b.flat.scene);
        let texts = names
            .iter()
            .any(|name| name == "Source")
            .then(|| a.source(old).zip(b.source(new)))
            .flatten();
        if texts.is_some() {
            names.retain(|name| name != "Source");
        }
        if !names.is_empty() {
            self.found.push(Difference::Changed {
                path: b.path(new),
                class: class(&self.b, is),
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
            self.found.push(Difference::Script {
                path: b.path(new),
                class: class(&self.b, is),
                before: before.into_owned(),
                after: after.into_owned(),
            });
        }
    }

    /// Whether two stored values of a property, at least one of which is there, mean something else.
    fn differs(
        &mut self,
        class: Ustr,
        key: Ustr,
        old: Option<&Variant>,
        new: Option<&Variant>,
    ) -> bool {
        let Self { a, b, defaults, scratch, .. } = self;
        // An instance of the earlier scene counts as its counterpart; without one, as nobody.
        let old_point = |to: Ref| {
            a.number(to)
                .map_or(0, |at| a.pair(at).map_or(1 << 63 | at as u64, |other| other as u64 + 1))
        };
        let new_point = |to: Ref| b.number(to).map_or(0, |at| at as u64 + 1);
        write(old, &mut scratch.0, &old_point);
        write(new, &mut scratch.1, &new_point);
        match (old, new) {
            (Some(_), Some(_)) if is_id(key) => {
                let nil =
                    |it: Option<&Variant>| matches!(it, Some(Variant::UniqueId(id)) if id.is_nil());
                scratch.0 != scratch.1 && !nil(old) && !nil(new)
            }
            (Some(_), Some(_)) => scratch.0 != scratch.1,
            _ if is_id(key) => false,
            (Some(it), None) => !defaults.of(class).means(key, it, &scratch.0),
            (None, Some(it)) => !defaults.of(class).means(key, it, &scratch.1),
            (None, None) => false,
        }
    }
}

pub(super) fn is_id(key: Ustr) -> bool {
    matches!(key.as_str(), UNIQUE_ID | HISTORY_ID)
}

fn write(variant: Option<&Variant>, out: &mut Vec<u8>, point: Point<'_>) {
    out.clear();
    if let Some(variant) = variant {
        Bytes { out, point }.variant(variant);
    }
}

/// The names under which a property that differs is told: attributes one by one.
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
        write(old.get(name), &mut before, &|_| 0);
        write(new.get(name), &mut after, &|_| 0);
        before != after
    };
    let gone = old.iter().filter(|(name, _)| differs(name));
    let came = new.iter().filter(|(name, _)| old.get(name.as_str()).is_none());
    names.extend(gone.chain(came).map(|(name, _)| format!("@{name}")));
}

fn path(side: &Side<'_>, at: usize) -> InstancePath {
    side.flat.scene.path(side.flat.node(at))
}

fn class(side: &Side<'_>, at: usize) -> String {
    side.class(at).to_string()
}

#[cfg(test)]
mod tests;
