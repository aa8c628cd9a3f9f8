//! Pairs the instances of two scenes.
//!
//! Instances with equal unique ids are paired first, wherever they are. Then, below each pair,
//! siblings are paired by class and name. Among several such siblings, those with equal subtrees
//! come first, then the rest in order, so that adding or removing one of many equal names is a
//! single difference. What is left is paired if only the name differs. Sibling order is otherwise
//! ignored.

use std::borrow::Cow;
use std::collections::VecDeque;

use rbx_dom_weak::{AHashMap, Ustr, UstrMap, ustr};
use rbx_types::{Ref, UniqueId, Variant};

use super::super::Scene;
use super::super::flat_tree::FlatTree;
use super::super::node_of;
use super::super::property_layout::HIDDEN;
use super::super::reflection;
use super::canonical::{CanonicalBytes, ReferenceKey, is_blank};
use super::{UNIQUE_ID, is_id};

pub(super) const NONE: u32 = u32::MAX;

/// The hashes of the instances of a scene, in tree order. They are used only to choose pairs.
#[derive(Debug, Clone)]
pub(crate) struct SceneHashes {
    /// Hashes of whole subtrees, without the name of their root.
    contents: Vec<u64>,
    /// Hashes of whole subtrees, with the name of their root.
    subtrees: Vec<u64>,
}

impl SceneHashes {
    pub(crate) fn of_scene(scene: &Scene) -> Self {
        Self::new(&FlatTree::from_scene(scene, scene.root()))
    }

    pub(super) fn new(flat: &FlatTree<'_>) -> Self {
        let mut contents = ValueHasher::new(flat).hash_instances();
        let mut subtrees = vec![0; contents.len()];
        for at in (1..contents.len()).rev() {
            contents[at] = mix_hash(contents[at], b"");
            let subtree = mix_hash(contents[at], flat.name(at).as_bytes());
            subtrees[at] = subtree;
            let parent = flat.parent_of(at);
            contents[parent] = contents[parent].wrapping_add(subtree);
        }
        Self { contents, subtrees }
    }
}

/// Hashes the properties of instances.
struct ValueHasher<'a, 'b> {
    flat: &'b FlatTree<'a>,
    classes: Vec<Ustr>,
    numbers: Vec<u32>,
    defaults: DefaultValues,
    /// The references, by holder, property and target.
    references: Vec<(usize, Ustr, usize)>,
    scratch: Vec<u8>,
}

impl<'a, 'b> ValueHasher<'a, 'b> {
    fn new(flat: &'b FlatTree<'a>) -> Self {
        Self {
            flat,
            classes: flat.scene.class_names(),
            numbers: flat.numbers(),
            defaults: DefaultValues::default(),
            references: Vec::new(),
            scratch: Vec::new(),
        }
    }

    /// Hashes each instance without its name, children and ids. A reference is hashed by the
    /// content of the instance it points to, which distinguishes equal welds between different
    /// parts.
    fn hash_instances(mut self) -> Vec<u64> {
        let scene = self.flat.scene;
        let mut sums = vec![0_u64; scene.tree.len() as usize];
        if let Some(file) = scene.unedited_binary() {
            file.sum_values(&mut sums, &mut |node, key, value| self.hash_value(node, key, &value));
        } else {
            for at in 0..self.flat.len() {
                let node = self.flat.node_at(at);
                for (key, value) in scene.properties(node) {
                    let sum = &mut sums[node.0 as usize];
                    *sum = sum.wrapping_add(self.hash_value(node.0, key, &value));
                }
            }
        }
        let hash_of = |at: usize| {
            let class = self.classes[self.flat.class_at(at) as usize].precomputed_hash();
            class.wrapping_add(sums[self.flat.node_at(at).0 as usize])
        };
        let mut hashes: Vec<u64> = (0..self.flat.len()).map(hash_of).collect();
        let alone = hashes.clone();
        for (at, key, to) in self.references {
            let reference = mix_hash(key.precomputed_hash(), &alone[to].to_le_bytes());
            hashes[at] = hashes[at].wrapping_add(reference);
        }
        hashes
    }

    /// Returns what a property adds to the hash of its instance; 0 for a default.
    fn hash_value(&mut self, node: u32, key: Ustr, value: &Variant) -> u64 {
        if key.starts_with(HIDDEN) || is_id(key) {
            return 0;
        }
        if let Variant::Ref(to) = value {
            let ends = number_of(&self.numbers, node).zip(target_number(&self.numbers, *to));
            self.references.extend(ends.map(|(at, to)| (at, key, to)));
            return 0;
        }
        let class = self.classes[self.flat.scene.tree.class(node) as usize];
        let defaults = self.defaults.defaults_for(class);
        if !defaults.write_unless_default(key, value, &|_| 1, &mut self.scratch) {
            return 0;
        }
        mix_hash(key.precomputed_hash(), &self.scratch)
    }
}

fn number_of(numbers: &[u32], node: u32) -> Option<usize> {
    numbers.get(node as usize).filter(|at| **at != NONE).map(|at| *at as usize)
}

fn target_number(numbers: &[u32], to: Ref) -> Option<usize> {
    number_of(numbers, node_of(to)?)
}

/// One of the two scenes, with the data needed to find an instance's counterpart.
pub(super) struct DiffSide<'a> {
    pub(super) flat: FlatTree<'a>,
    /// The class names, by class number of the scene.
    classes: Vec<Ustr>,
    /// For each node of the scene, its index in `flat`.
    numbers: Vec<u32>,
    hashes: Cow<'a, SceneHashes>,
    /// For each instance, its index in the other scene.
    pub(super) pairs: Vec<u32>,
}

impl<'a> DiffSide<'a> {
    pub(super) fn new(flat: FlatTree<'a>, hashes: Cow<'a, SceneHashes>) -> Self {
        Self {
            pairs: vec![NONE; flat.len()],
            classes: flat.scene.class_names(),
            numbers: flat.numbers(),
            hashes,
            flat,
        }
    }

    /// Returns the index of the instance that a reference points to; None if it is not in the
    /// scene.
    pub(super) fn number_of(&self, to: Ref) -> Option<usize> {
        target_number(&self.numbers, to)
    }

    /// Returns the index of a node of the scene.
    pub(super) fn index_of(&self, node: u32) -> Option<usize> {
        number_of(&self.numbers, node)
    }

    /// Returns for each node of the scene its counterpart in the other, as a node; [`NONE`] for
    /// those without one.
    pub(super) fn counterpart_nodes(&self, other: &Self) -> Vec<u32> {
        let mut nodes = vec![NONE; self.flat.scene.tree.len() as usize];
        for at in 0..self.flat.len() {
            if let Some(twin) = self.counterpart(at) {
                nodes[self.flat.node_at(at).0 as usize] = other.flat.node_at(twin).0;
            }
        }
        nodes
    }

    fn name(&self, at: usize) -> &'a str {
        self.flat.name(at)
    }

    pub(super) fn class_of(&self, at: usize) -> Ustr {
        self.classes[self.flat.class_at(at) as usize]
    }

    pub(super) fn counterpart(&self, at: usize) -> Option<usize> {
        let other = self.pairs[at];
        (other != NONE).then_some(other as usize)
    }

    /// Whether an instance and its subtree equal those of an instance of another scene.
    pub(super) fn is_same_subtree(&self, at: usize, other: &Self, there: usize) -> bool {
        self.hashes.subtrees[at] == other.hashes.subtrees[there]
    }

    /// Returns the children of an instance that have no counterpart yet.
    fn unpaired_children(&self, at: usize) -> Vec<usize> {
        let children = self.flat.children_of(at);
        children.filter(|at| self.counterpart(*at).is_none()).collect()
    }
}

/// A fast hash of bytes. It is not secure: instances that are paired by it are compared in full.
pub(crate) fn mix_hash(seed: u64, bytes: &[u8]) -> u64 {
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

/// The defaults of stored properties, cached by class.
#[derive(Default)]
pub(crate) struct DefaultValues {
    classes: UstrMap<ClassDefaults>,
}

/// The defaults of one class; None for a property without a known default.
pub(crate) struct ClassDefaults {
    class: Ustr,
    known: UstrMap<Option<(&'static Variant, Vec<u8>)>>,
}

impl DefaultValues {
    pub(crate) fn defaults_for(&mut self, class: Ustr) -> &mut ClassDefaults {
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

    /// Replaces the bytes by the canonical ones of a value. Returns false, and leaves no bytes that
    /// mean anything, if it is equivalent to no stored value.
    pub(crate) fn write_unless_default(
        &mut self,
        key: Ustr,
        value: &Variant,
        point: ReferenceKey<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        if self.is_equal(key, value) {
            return false;
        }
        out.clear();
        CanonicalBytes { out, point }.put_variant(value);
        !self.is_default(key, value, out)
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
    let (own, others) = (unique_ids(a), unique_ids(b));
    // Reversed, so that the first of several instances with the same id wins.
    let ids: AHashMap<UniqueId, usize> = own.into_iter().rev().map(|(at, id)| (id, at)).collect();
    for (other, id) in others {
        if let Some(at) = ids.get(&id).copied()
            && a.counterpart(at).is_none()
            && a.class_of(at) == b.class_of(other)
        {
            pair_instances(a, b, at, other);
        }
    }
}

/// Returns the instances with a unique id, in tree order.
fn unique_ids(side: &DiffSide<'_>) -> Vec<(usize, UniqueId)> {
    let (key, scene) = (ustr(UNIQUE_ID), side.flat.scene);
    let Some(file) = scene.unedited_binary() else {
        let ids = (1..side.flat.len()).filter_map(|at| Some((at, unique_id(side, key, at)?)));
        return ids.collect();
    };
    let mut ids = Vec::new();
    file.visit_property(key, &mut |node, value| {
        if let Variant::UniqueId(id) = value
            && !id.is_nil()
        {
            ids.extend(side.index_of(node).map(|at| (at, id)));
        }
    });
    ids.sort_unstable_by_key(|(at, _)| *at);
    ids
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
        a.class_of(**at) == b.class_of(**other)
            && a.hashes.subtrees[**at] == b.hashes.subtrees[**other]
    });
    let same = same.count();
    for (at, other) in left.iter().zip(&right).take(same) {
        pair_instances(a, b, *at, *other);
    }
    let (left, right) = (&left[same..], &right[same..]);
    pair_by(a, b, left, right, |side, at| {
        (side.class_of(at), side.name(at), side.hashes.subtrees[at])
    });
    pair_by(a, b, left, right, |side, at| (side.class_of(at), side.name(at), 0));
    pair_by(a, b, left, right, |side, at| (side.class_of(at), "", side.hashes.contents[at]));
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
