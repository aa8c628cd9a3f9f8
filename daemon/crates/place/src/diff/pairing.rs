//! Pairs the instances of two scenes.
//!
//! Instances with equal unique ids are paired first, wherever they are. Then, below each pair,
//! siblings are paired by class and name. Among several such siblings, those with equal subtrees
//! come first, then the rest in order, so that adding or removing one of many equal names is a
//! single difference. What is left is paired if only the name differs. Sibling order is otherwise
//! ignored.

use std::collections::VecDeque;

use rbx_dom_weak::{AHashMap, Ustr, UstrMap, ustr};
use rbx_types::{Ref, UniqueId, Variant};

use super::super::flat_tree::FlatTree;
use super::super::node_of;
use super::super::reflection;
use super::canonical::{CanonicalBytes, is_blank};
use super::{HISTORY_ID, UNIQUE_ID};

pub(super) const NONE: u32 = u32::MAX;

/// One of the two scenes, with the data needed to find an instance's counterpart.
pub(super) struct DiffSide<'a> {
    pub(super) flat: FlatTree<'a>,
    /// The class names, by class number of the scene.
    classes: Vec<Ustr>,
    /// For each node of the scene, its index in `flat`.
    numbers: Vec<u32>,
    /// Hashes of whole subtrees, without the name of their root.
    contents: Vec<u64>,
    /// Hashes of whole subtrees, with the name of their root.
    subtrees: Vec<u64>,
    /// For each instance, its index in the other scene.
    pub(super) pairs: Vec<u32>,
}

impl<'a> DiffSide<'a> {
    pub(super) fn new(flat: FlatTree<'a>, defaults: &mut DefaultValues) -> Self {
        let mut numbers = vec![NONE; flat.scene.tree.len() as usize];
        for at in 0..flat.len() {
            numbers[flat.node_at(at).0 as usize] = at as u32;
        }
        let mut side = Self {
            pairs: vec![NONE; flat.len()],
            contents: Vec::new(),
            subtrees: Vec::new(),
            classes: flat.scene.class_names(),
            numbers,
            flat,
        };
        side.hash_subtrees(defaults);
        side
    }

    /// Returns the index of the instance that a reference points to; None if it is not in the
    /// scene.
    pub(super) fn number_of(&self, to: Ref) -> Option<usize> {
        let at = self.numbers.get(node_of(to)? as usize)?;
        (*at != NONE).then_some(*at as usize)
    }

    /// Hashes each instance without its name, children and ids. A reference is hashed by the
    /// content of the instance it points to, which distinguishes equal welds between different
    /// parts.
    fn hash_instances(&self, defaults: &mut DefaultValues) -> Vec<u64> {
        let (mut references, mut scratch) = (Vec::new(), Vec::new());
        let mut hashes = Vec::with_capacity(self.flat.len());
        for at in 0..self.flat.len() {
            let class = self.class_of(at);
            let defaults = defaults.defaults_for(class);
            let mut sum = class.precomputed_hash();
            for (key, variant) in self.flat.scene.properties(self.flat.node_at(at)) {
                if let Variant::Ref(to) = variant {
                    references.extend(self.number_of(to).map(|to| (at, key, to)));
                } else if !is_id(key) && !defaults.is_equal(key, &variant) {
                    scratch.clear();
                    let (out, point) = (&mut scratch, &|_| 1);
                    CanonicalBytes { out, point }.put_variant(&variant);
                    if !defaults.is_default(key, &variant, &scratch) {
                        sum = sum.wrapping_add(mix_hash(key.precomputed_hash(), &scratch));
                    }
                }
            }
            hashes.push(sum);
        }
        let alone = hashes.clone();
        for (at, key, to) in references {
            let reference = mix_hash(key.precomputed_hash(), &alone[to].to_le_bytes());
            hashes[at] = hashes[at].wrapping_add(reference);
        }
        hashes
    }

    fn hash_subtrees(&mut self, defaults: &mut DefaultValues) {
        self.contents = self.hash_instances(defaults);
        self.subtrees = vec![0; self.contents.len()];
        for at in (1..self.contents.len()).rev() {
            self.contents[at] = mix_hash(self.contents[at], b"");
            let subtree = mix_hash(self.contents[at], self.name(at).as_bytes());
            self.subtrees[at] = subtree;
            let parent = self.flat.parent_of(at);
            self.contents[parent] = self.contents[parent].wrapping_add(subtree);
        }
    }

    fn name(&self, at: usize) -> &'a str {
        self.flat.name(at)
    }

    pub(super) fn class_of(&self, at: usize) -> Ustr {
        self.classes[self.flat.class_at(at) as usize]
    }

    /// Returns the stored properties of an instance.
    pub(super) fn properties(&self, at: usize) -> UstrMap<Variant> {
        self.flat.scene.properties(self.flat.node_at(at)).into_iter().collect()
    }

    pub(super) fn counterpart(&self, at: usize) -> Option<usize> {
        let other = self.pairs[at];
        (other != NONE).then_some(other as usize)
    }

    /// Whether an instance and its subtree equal those of an instance of another scene.
    pub(super) fn is_same_subtree(&self, at: usize, other: &Self, there: usize) -> bool {
        self.subtrees[at] == other.subtrees[there]
    }

    /// Returns the children of an instance that have no counterpart yet.
    fn unpaired_children(&self, at: usize) -> Vec<usize> {
        let children = self.flat.children_of(at);
        children.filter(|at| self.counterpart(*at).is_none()).collect()
    }
}

/// A fast hash, used only to choose pairs: paired instances are compared in full.
fn mix_hash(seed: u64, bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mut hash = seed ^ bytes.len() as u64;
    let (chunks, rest) = bytes.as_chunks::<8>();
    for chunk in chunks {
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(*chunk)).wrapping_mul(FACTOR);
    }
    for byte in rest {
        hash = (hash.rotate_left(5) ^ u64::from(*byte)).wrapping_mul(FACTOR);
    }
    hash = (hash ^ (hash >> 32)).wrapping_mul(FACTOR);
    hash ^ (hash >> 29)
}

fn is_id(key: Ustr) -> bool {
    key.as_str() == UNIQUE_ID || key.as_str() == HISTORY_ID
}

/// The defaults of stored properties, cached by class.
#[derive(Default)]
pub(super) struct DefaultValues {
    classes: UstrMap<ClassDefaults>,
}

/// The defaults of one class; None for a property without a known default.
pub(super) struct ClassDefaults {
    class: Ustr,
    known: UstrMap<Option<(&'static Variant, Vec<u8>)>>,
}

impl DefaultValues {
    pub(super) fn defaults_for(&mut self, class: Ustr) -> &mut ClassDefaults {
        self.classes
            .entry(class)
            .or_insert_with(|| ClassDefaults { class, known: UstrMap::default() })
    }
}

impl ClassDefaults {
    fn get(&mut self, key: Ustr) -> Option<&(&'static Variant, Vec<u8>)> {
        let class = self.class;
        let known = self.known.entry(key).or_insert_with(|| {
            let default = reflection::default_of(class.as_str(), key.as_str())?;
            let mut bytes = Vec::new();
            let (out, point) = (&mut bytes, &|_| 0);
            CanonicalBytes { out, point }.put_variant(default);
            Some((default, bytes))
        });
        known.as_ref()
    }

    /// Whether a value equals the default as stored. A quick check that misses equivalent values.
    fn is_equal(&mut self, key: Ustr, variant: &Variant) -> bool {
        self.get(key).is_some_and(|default| default.0 == variant)
    }

    /// Whether a stored value, also given as canonical bytes, is equivalent to no stored value.
    pub(super) fn is_default(&mut self, key: Ustr, variant: &Variant, bytes: &[u8]) -> bool {
        match self.get(key) {
            // A column whose type cannot hold the default has the blank value of that type.
            Some((default, _)) if default.ty() != variant.ty() && is_blank(variant, bytes) => true,
            Some((_, default)) => default == bytes,
            None => is_blank(variant, bytes),
        }
    }
}

pub(super) fn pair_sides<'a>(a: &mut DiffSide<'a>, b: &mut DiffSide<'a>) {
    pair_instances(a, b, 0, 0);
    pair_ids(a, b);
    for at in 0..a.flat.len() {
        if let Some(other) = a.counterpart(at) {
            pair_children(a, b, at, other);
        }
    }
}

fn pair_instances(a: &mut DiffSide<'_>, b: &mut DiffSide<'_>, at: usize, other: usize) {
    a.pairs[at] = other as u32;
    b.pairs[other] = at as u32;
}

fn pair_ids(a: &mut DiffSide<'_>, b: &mut DiffSide<'_>) {
    let key = ustr(UNIQUE_ID);
    let ids: AHashMap<UniqueId, usize> =
        // Reversed, so that the first of several instances with the same id wins.
        (1..a.flat.len()).rev().filter_map(|at| unique_id(a, key, at).map(|id| (id, at))).collect();
    if ids.is_empty() {
        return;
    }
    for other in 1..b.flat.len() {
        if let Some(at) = unique_id(b, key, other).and_then(|id| ids.get(&id).copied())
            && a.counterpart(at).is_none()
            && a.class_of(at) == b.class_of(other)
        {
            pair_instances(a, b, at, other);
        }
    }
}

fn unique_id(side: &DiffSide<'_>, key: Ustr, at: usize) -> Option<UniqueId> {
    match side.flat.scene.variant_of(side.flat.node_at(at).0, key).as_deref() {
        Some(Variant::UniqueId(id)) if !id.is_nil() => Some(*id),
        _ => None,
    }
}

fn pair_children<'a>(a: &mut DiffSide<'a>, b: &mut DiffSide<'a>, at: usize, other: usize) {
    let (left, right) = (a.unpaired_children(at), b.unpaired_children(other));
    let same = left.iter().zip(&right).take_while(|(at, other)| {
        a.class_of(**at) == b.class_of(**other) && a.subtrees[**at] == b.subtrees[**other]
    });
    let same = same.count();
    for (at, other) in left.iter().zip(&right).take(same) {
        pair_instances(a, b, *at, *other);
    }
    let (left, right) = (&left[same..], &right[same..]);
    pair_by(a, b, left, right, |side, at| (side.class_of(at), side.name(at), side.subtrees[at]));
    pair_by(a, b, left, right, |side, at| (side.class_of(at), side.name(at), 0));
    pair_by(a, b, left, right, |side, at| (side.class_of(at), "", side.contents[at]));
}

/// The class, name and hash that must be equal for two siblings to be paired.
type SiblingKey<'a> = (Ustr, &'a str, u64);

/// Pairs unpaired siblings with equal keys, in order.
fn pair_by<'a>(
    a: &mut DiffSide<'a>,
    b: &mut DiffSide<'a>,
    left: &[usize],
    right: &[usize],
    likeness: impl Fn(&DiffSide<'a>, usize) -> SiblingKey<'a>,
) {
    let mut unpaired: AHashMap<SiblingKey<'a>, VecDeque<usize>> = AHashMap::new();
    for other in right.iter().filter(|other| b.counterpart(**other).is_none()) {
        unpaired.entry(likeness(b, *other)).or_default().push_back(*other);
    }
    if unpaired.is_empty() {
        return;
    }
    for at in left {
        if a.counterpart(*at).is_some() {
            continue;
        }
        let found = unpaired.get_mut(&likeness(a, *at)).and_then(VecDeque::pop_front);
        if let Some(other) = found {
            pair_instances(a, b, *at, other);
        }
    }
}
