//! Pairs the instances of two scenes.
//!
//! Instances with equal unique ids are paired first, wherever they are. Then, below each pair,
//! siblings are paired by class and name. Among several such siblings, those with equal subtrees
//! come first, then the rest in order, so that adding or removing one of many equal names is a
//! single difference. What is left is paired if only the name differs. Sibling order is otherwise
//! ignored.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::VecDeque;

use rbx_dom_weak::{AHashMap, Ustr, UstrMap, UstrSet, ustr};
use rbx_types::{Ref, UniqueId, Variant};
use rustc_hash::FxHashSet;

use super::super::binary::ColumnHasher;
use super::super::flat_tree::FlatTree;
use super::super::node_of;
use super::super::property_layout::HIDDEN;
use super::super::reflection;
use super::super::{Node, Scene};
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
            file.sum_values(&mut sums, &mut self);
        } else {
            let mut defaults = DefaultValues::default();
            for at in 0..self.flat.len() {
                let node = self.flat.node_at(at);
                let class = self.classes[scene.tree.class(node.0) as usize];
                for (key, value) in scene.properties(node).iter().filter(|it| !is_id(it.0)) {
                    let hash = self.hash_value(node.0, *key, defaults.get(class, *key), value);
                    let sum = &mut sums[node.0 as usize];
                    *sum = sum.wrapping_add(hash);
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
    fn hash_value(
        &mut self,
        node: u32,
        key: Ustr,
        default: &StoredDefault,
        value: &Variant,
    ) -> u64 {
        if let Variant::Ref(to) = value {
            let ends = number_of(&self.numbers, node).zip(target_number(&self.numbers, *to));
            self.references.extend(ends.map(|(at, to)| (at, key, to)));
            return 0;
        }
        if !default.write_unless_default(value, &|_| 1, &mut self.scratch) {
            return 0;
        }
        mix_hash(key.precomputed_hash(), &self.scratch)
    }
}

/// A property of a class whose values are hashed.
struct HashedColumn {
    key: Ustr,
    default: StoredDefault,
}

impl ColumnHasher for ValueHasher<'_, '_> {
    type Column = HashedColumn;

    fn column(&self, class: u32, key: Ustr) -> Option<Self::Column> {
        let is_hashed = !key.starts_with(HIDDEN) && !is_id(key);
        let class = self.classes[class as usize];
        is_hashed.then(|| HashedColumn {
            key,
            default: StoredDefault::find(class.as_str(), key.as_str()),
        })
    }

    fn hash(&mut self, column: &HashedColumn, node: u32, value: &Variant) -> u64 {
        self.hash_value(node, column.key, &column.default, value)
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
    /// Computed when they are needed: to choose between siblings that could be paired in several
    /// ways.
    hashes: OnceCell<Cow<'a, SceneHashes>>,
    /// For each instance, its index in the other scene.
    pub(super) pairs: Vec<u32>,
}

impl<'a> DiffSide<'a> {
    pub(super) fn new(scene: &'a Scene) -> Self {
        let flat = FlatTree::from_scene(scene, scene.root());
        let known = scene.known_hashes().map(Cow::Borrowed);
        Self {
            pairs: vec![NONE; flat.len()],
            classes: flat.scene.class_names(),
            numbers: flat.numbers(),
            hashes: known.map_or_else(OnceCell::new, OnceCell::from),
            flat,
        }
    }

    fn hashes(&self) -> &SceneHashes {
        self.hashes.get_or_init(|| Cow::Owned(SceneHashes::new(&self.flat)))
    }

    pub(super) fn is_hashed(&self) -> bool {
        self.hashes.get().is_some()
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
        self.hashes().subtrees[at] == other.hashes().subtrees[there]
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

/// The defaults of stored properties, cached by class and property.
#[derive(Default)]
pub(crate) struct DefaultValues(UstrMap<UstrMap<StoredDefault>>);

impl DefaultValues {
    pub(crate) fn get(&mut self, class: Ustr, key: Ustr) -> &StoredDefault {
        let of_class = self.0.entry(class).or_default();
        of_class.entry(key).or_insert_with(|| StoredDefault::find(class.as_str(), key.as_str()))
    }
}

/// The default of a stored property and its canonical bytes; None if no default is known.
pub(crate) struct StoredDefault(Option<(&'static Variant, Vec<u8>)>);

impl StoredDefault {
    fn find(class: &str, key: &str) -> Self {
        Self(reflection::default_of(class, key).map(|default| {
            let mut bytes = Vec::new();
            CanonicalBytes { out: &mut bytes, point: &|_| 0 }.put_variant(default);
            (default, bytes)
        }))
    }

    /// Writes the canonical bytes of a value. Returns false, and leaves no bytes that mean anything,
    /// if it is equivalent to no stored value.
    pub(crate) fn write_unless_default(
        &self,
        value: &Variant,
        point: ReferenceKey<'_>,
        out: &mut Vec<u8>,
    ) -> bool {
        // A quick check that misses equivalent values.
        if self.0.as_ref().is_some_and(|(default, _)| *default == value) {
            return false;
        }
        out.clear();
        CanonicalBytes { out, point }.put_variant(value);
        !self.is_default(value, out)
    }

    /// Whether a stored value, also given as canonical bytes, is equivalent to no stored value.
    pub(super) fn is_default(&self, variant: &Variant, bytes: &[u8]) -> bool {
        match &self.0 {
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
        let ids = (1..side.flat.len())
            .filter_map(|at| Some((at, unique_id(scene, key, side.flat.node_at(at))?)));
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

fn unique_id(scene: &Scene, key: Ustr, node: Node) -> Option<UniqueId> {
    match scene.variant_of(node.0, key).as_deref() {
        Some(Variant::UniqueId(id)) if !id.is_nil() => Some(*id),
        _ => None,
    }
}

/// Whether most instances of a scene have a unique id, judged by a few of them.
pub(crate) fn has_unique_ids(scene: &Scene) -> bool {
    const SAMPLES: usize = 64;
    let key = ustr(UNIQUE_ID);
    let step = (scene.tree.len() as usize / SAMPLES).max(1);
    let (mut seen, mut with_id) = (0, 0);
    for node in (1..scene.tree.len()).step_by(step) {
        seen += 1;
        with_id += usize::from(unique_id(scene, key, Node(node)).is_some());
    }
    with_id > seen * 3 / 4
}

fn pair_children<'a>(a: &mut DiffSide<'a>, b: &mut DiffSide<'a>, at: usize, other: usize) {
    let (left, right) = (a.unpaired_children(at), b.unpaired_children(other));
    if left.is_empty() || right.is_empty() {
        return;
    }
    let is_hashed = a.is_hashed() && b.is_hashed();
    if !is_hashed && let Some(pairs) = pair_names(a, b, &left, &right) {
        for (at, other) in pairs {
            pair_instances(a, b, at, other);
        }
        return;
    }
    let same = left.iter().zip(&right).take_while(|(at, other)| {
        a.class_of(**at) == b.class_of(**other) && a.is_same_subtree(**at, b, **other)
    });
    let same = same.count();
    for (at, other) in left.iter().zip(&right).take(same) {
        pair_instances(a, b, *at, *other);
    }
    let (left, right) = (&left[same..], &right[same..]);
    pair_by(a, b, left, right, |side, at| {
        (side.class_of(at), side.name(at), side.hashes().subtrees[at])
    });
    pair_by(a, b, left, right, |side, at| (side.class_of(at), side.name(at), 0));
    pair_by(a, b, left, right, |side, at| (side.class_of(at), "", side.hashes().contents[at]));
}

/// Pairs siblings by class and name. Returns None if hashes could pair them otherwise: because
/// several have the same class and name, or because one may have been renamed.
fn pair_names(
    a: &DiffSide<'_>,
    b: &DiffSide<'_>,
    left: &[usize],
    right: &[usize],
) -> Option<Vec<(usize, usize)>> {
    let mut unpaired = AHashMap::new();
    for other in right {
        if unpaired.insert((b.class_of(*other), b.name(*other)), *other).is_some() {
            return None;
        }
    }
    let (mut pairs, mut seen, mut only_left) =
        (Vec::new(), FxHashSet::default(), UstrSet::default());
    for at in left {
        let key = (a.class_of(*at), a.name(*at));
        if !seen.insert(key) {
            return None;
        }
        match unpaired.remove(&key) {
            Some(other) => pairs.push((*at, other)),
            None => {
                only_left.insert(key.0);
            }
        }
    }
    unpaired.keys().all(|(class, _)| !only_left.contains(class)).then_some(pairs)
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
