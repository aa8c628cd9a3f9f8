//! Which instance of one scene is which of the other.
//!
//! Equal unique ids first, wherever the instances are. Then, below each pair, by class and name; of
//! several such siblings those whose subtrees are equal, then in order, so that one more or less
//! among many of a name is one difference and not a row of them. What is left is paired where only
//! the name differs. The order of siblings counts for nothing else.

use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};

use rbx_dom_weak::{AHashMap, Ustr, UstrMap, ustr};
use rbx_types::{Ref, UniqueId, Variant};

use super::super::flat::Flat;
use super::super::reflection;
use super::bytes::{Bytes, is_blank};
use super::{HISTORY_ID, UNIQUE_ID};

/// Nobody's number.
pub(super) const NONE: u32 = u32::MAX;

/// One of the two scenes, with what is needed to find an instance's counterpart.
pub(super) struct Side<'a> {
    pub(super) flat: Flat<'a>,
    numbers: AHashMap<Ref, u32>,
    /// Hashes of whole subtrees, without the name of the topmost.
    contents: Vec<u64>,
    /// For each instance, its number in the other scene.
    pub(super) pairs: Vec<u32>,
}

impl<'a> Side<'a> {
    pub(super) fn new(flat: Flat<'a>, defaults: &mut Defaults) -> Self {
        let numbers = flat
            .instances
            .iter()
            .zip(0..)
            .map(|(instance, at)| (instance.referent(), at))
            .collect();
        let mut side = Self {
            pairs: vec![NONE; flat.len()],
            contents: Vec::new(),
            numbers,
            flat,
        };
        let mut scratch = Vec::new();
        let alone: Vec<u64> = (0..side.flat.len())
            .map(|at| side.hash(at, defaults, &mut scratch))
            .collect();
        side.contents = side.hash_subtrees(alone);
        side
    }

    /// The number of the instance that a reference points to; none for one that is not in the scene.
    pub(super) fn number(&self, to: Ref) -> Option<usize> {
        self.numbers.get(&to).map(|at| *at as usize)
    }

    /// A hash of an instance without its name, children, ids and references.
    fn hash(&self, at: usize, defaults: &mut Defaults, scratch: &mut Vec<u8>) -> u64 {
        let instance = self.flat.instances[at];
        let mut sum = 0_u64;
        for (key, variant) in &instance.properties {
            if is_id(*key) || matches!(variant, Variant::Ref(_)) {
                continue;
            }
            scratch.clear();
            let (out, point) = (&mut *scratch, &|_| 1);
            Bytes { out, point }.variant(variant);
            if !defaults.is_default(instance.class, *key, variant, scratch) {
                sum = sum.wrapping_add(mix((key.as_str(), &*scratch)));
            }
        }
        mix((instance.class.as_str(), sum))
    }

    /// Hashes of subtrees from hashes of instances. A reference counts as the instance that it
    /// points to, as such: equal welds between different parts are told apart.
    fn hash_subtrees(&self, alone: Vec<u64>) -> Vec<u64> {
        let mut sums = alone.clone();
        for (at, instance) in self.flat.instances.iter().enumerate() {
            for (key, variant) in &instance.properties {
                if let Variant::Ref(to) = variant
                    && let Some(to) = self.number(*to)
                {
                    sums[at] = sums[at].wrapping_add(mix((key.as_str(), alone[to])));
                }
            }
        }
        for at in (1..sums.len()).rev() {
            sums[at] = mix(sums[at]);
            let parent = self.flat.parent(at);
            sums[parent] = sums[parent].wrapping_add(named(sums[at], self.name(at)));
        }
        sums
    }

    fn name(&self, at: usize) -> &'a str {
        &self.flat.instances[at].name
    }

    fn class(&self, at: usize) -> Ustr {
        self.flat.instances[at].class
    }

    fn subtree(&self, at: usize) -> u64 {
        named(self.contents[at], self.name(at))
    }

    pub(super) fn pair(&self, at: usize) -> Option<usize> {
        let other = self.pairs[at];
        (other != NONE).then_some(other as usize)
    }

    /// The children of an instance that have no counterpart yet.
    fn single(&self, at: usize) -> Vec<usize> {
        let children = self.flat.children(at);
        children.filter(|at| self.pair(*at).is_none()).collect()
    }
}

fn mix(it: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    it.hash(&mut hasher);
    hasher.finish()
}

fn named(content: u64, name: &str) -> u64 {
    mix((content, name))
}

fn is_id(key: Ustr) -> bool {
    key.as_str() == UNIQUE_ID || key.as_str() == HISTORY_ID
}

/// The defaults of stored properties as bytes, looked up once.
#[derive(Default)]
pub(super) struct Defaults {
    known: UstrMap<UstrMap<Option<Vec<u8>>>>,
}

impl Defaults {
    /// Whether a stored value says the same as no stored value.
    pub(super) fn is_default(
        &mut self,
        class: Ustr,
        key: Ustr,
        variant: &Variant,
        bytes: &[u8],
    ) -> bool {
        let default = self
            .known
            .entry(class)
            .or_default()
            .entry(key)
            .or_insert_with(|| {
                let default = reflection::default_of(class.as_str(), key.as_str())?;
                let mut out = Vec::new();
                Bytes {
                    out: &mut out,
                    point: &|_| 0,
                }
                .variant(default);
                Some(out)
            });
        match default {
            Some(default) => *default == bytes,
            None => is_blank(variant, bytes),
        }
    }
}

/// Finds the counterparts.
pub(super) fn pair<'a>(a: &mut Side<'a>, b: &mut Side<'a>) {
    marry(a, b, 0, 0);
    pair_ids(a, b);
    for at in 0..a.flat.len() {
        if let Some(other) = a.pair(at) {
            pair_children(a, b, at, other);
        }
    }
}

fn marry(a: &mut Side<'_>, b: &mut Side<'_>, at: usize, other: usize) {
    a.pairs[at] = other as u32;
    b.pairs[other] = at as u32;
}

fn pair_ids(a: &mut Side<'_>, b: &mut Side<'_>) {
    let ids: AHashMap<UniqueId, usize> = (1..a.flat.len())
        .filter_map(|at| unique_id(a, at).map(|id| (id, at)))
        .collect();
    if ids.is_empty() {
        return;
    }
    for other in 1..b.flat.len() {
        if let Some(at) = unique_id(b, other).and_then(|id| ids.get(&id).copied())
            && a.pair(at).is_none()
            && a.class(at) == b.class(other)
        {
            marry(a, b, at, other);
        }
    }
}

fn unique_id(side: &Side<'_>, at: usize) -> Option<UniqueId> {
    match side.flat.instances[at].properties.get(&ustr(UNIQUE_ID)) {
        Some(Variant::UniqueId(id)) if !id.is_nil() => Some(*id),
        _ => None,
    }
}

fn pair_children<'a>(a: &mut Side<'a>, b: &mut Side<'a>, at: usize, other: usize) {
    let (left, right) = (a.single(at), b.single(other));
    let same = left.iter().zip(&right).take_while(|(at, other)| {
        a.class(**at) == b.class(**other) && a.subtree(**at) == b.subtree(**other)
    });
    let same = same.count();
    for (at, other) in left.iter().zip(&right).take(same) {
        marry(a, b, *at, *other);
    }
    let (left, right) = (&left[same..], &right[same..]);
    pair_by(a, b, left, right, |side, at| {
        (side.class(at), side.name(at), side.subtree(at))
    });
    pair_by(a, b, left, right, |side, at| {
        (side.class(at), side.name(at), 0)
    });
    pair_by(a, b, left, right, |side, at| {
        (side.class(at), "", side.contents[at])
    });
}

/// What has to be equal for two siblings to be a pair.
type Likeness<'a> = (Ustr, &'a str, u64);

/// Pairs those that are still single and alike, in order.
fn pair_by<'a>(
    a: &mut Side<'a>,
    b: &mut Side<'a>,
    left: &[usize],
    right: &[usize],
    likeness: impl Fn(&Side<'a>, usize) -> Likeness<'a>,
) {
    let mut waiting: AHashMap<Likeness<'a>, VecDeque<usize>> = AHashMap::new();
    for other in right.iter().filter(|other| b.pair(**other).is_none()) {
        waiting
            .entry(likeness(b, *other))
            .or_default()
            .push_back(*other);
    }
    if waiting.is_empty() {
        return;
    }
    for at in left {
        if a.pair(*at).is_some() {
            continue;
        }
        let found = waiting
            .get_mut(&likeness(a, *at))
            .and_then(VecDeque::pop_front);
        if let Some(other) = found {
            marry(a, b, *at, other);
        }
    }
}
