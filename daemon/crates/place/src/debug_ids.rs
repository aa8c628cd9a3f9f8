//! Bidirectional map between instances and Studio's debug ids.
//!
//! Nearly every debug id is a pair of numbers such as `0_12345` and is packed into one integer. All
//! others are kept as text.

use std::borrow::Cow;
use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHasher;

use super::interner::TextInterner;

/// Flag in the key of an id kept as text; the low bits are the number of the text.
const TEXT: u64 = 1 << 63;
/// The key of an instance without an id.
const NOBODY: u64 = u64::MAX;
/// Longer numbers are kept as text.
const MAX_DIGITS: usize = 9;

#[derive(Debug, Clone, Default)]
pub(super) struct DebugIds {
    keys: Vec<u64>,
    nodes: HashTable<u32>,
    others: TextInterner,
}

fn hash(key: u64) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(key)
}

/// Parses a number; None if formatting it again would not give the same digits.
fn parse_canonical(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > MAX_DIGITS || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then_some(number * 10 + u64::from(digit))
    })
}

/// Returns the key of an id that is a pair of numbers.
fn pair_key(id: &str) -> Option<u64> {
    let id = id.as_bytes();
    let middle = id.iter().position(|byte| *byte == b'_')?;
    Some(parse_canonical(&id[..middle])? << 32 | parse_canonical(&id[middle + 1..])?)
}

impl DebugIds {
    /// Reserves room for more instances.
    pub(super) fn reserve(&mut self, instances: usize) {
        let Self { keys, nodes, .. } = self;
        keys.reserve(instances + 1);
        nodes.reserve(instances, |node| hash(key_of(keys, *node)));
    }

    /// Assigns an id to an instance; returns false if another instance has it.
    pub(super) fn assign(&mut self, node: u32, id: &str) -> bool {
        let key = pair_key(id).unwrap_or_else(|| TEXT | u64::from(self.others.intern(id)));
        let Self { keys, nodes, .. } = self;
        let is_it = |node: &u32| key_of(keys, *node) == key;
        match nodes.entry(hash(key), is_it, |node| hash(key_of(keys, *node))) {
            Entry::Occupied(_) => return false,
            Entry::Vacant(place) => place.insert(node),
        };
        let at = node as usize;
        if keys.len() <= at {
            keys.resize(at, NOBODY);
            keys.push(key);
        } else {
            keys[at] = key;
        }
        true
    }

    /// Returns the instance with an id.
    pub(super) fn node(&self, id: &str) -> Option<u32> {
        let text = || Some(TEXT | u64::from(self.others.find(id)?));
        let key = pair_key(id).or_else(text)?;
        self.nodes.find(hash(key), |node| key_of(&self.keys, *node) == key).copied()
    }

    /// Returns the id of an instance.
    pub(super) fn get(&self, node: u32) -> Option<Cow<'_, str>> {
        match key_of(&self.keys, node) {
            NOBODY => None,
            key if key & TEXT != 0 => Some(Cow::Borrowed(self.others.get(key as u32))),
            key => Some(Cow::Owned(format!("{}_{}", key >> 32, key as u32))),
        }
    }
}

fn key_of(keys: &[u64], node: u32) -> u64 {
    keys.get(node as usize).copied().unwrap_or(NOBODY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_ids_round_trip_unchanged() {
        let written = [
            "0_1",
            "0_12345",
            "12_0",
            "999999999_999999999",
            "0_01",
            "00_1",
            "+0_1",
            "0_",
            "_1",
            "0_1_",
            "0__1",
            "0_4294967296",
            "4294967296_0",
            "0_٣",
            "plain",
            "0_1 ",
        ];
        let mut ids = DebugIds::default();
        for (node, id) in (3..).zip(written) {
            assert_eq!(ids.node(id), None, "{id}");
            assert!(ids.assign(node, id), "{id}");
            assert!(!ids.assign(99, id), "{id}");
        }
        for (node, id) in (3..).zip(written) {
            assert_eq!(ids.get(node).as_deref(), Some(id));
            assert_eq!(ids.node(id), Some(node), "{id}");
        }
        assert_eq!([ids.get(0), ids.get(2), ids.get(99)], [None, None, None]);
        assert_eq!(ids.node("0_2"), None);
        // Assign out of order, after reserving room for many.
        ids.reserve(10_000);
        assert!(ids.assign(40, "0_40") && ids.assign(30, "0_30"));
        assert_eq!(
            [ids.node("0_40"), ids.node("0_30"), ids.node("0_1")],
            [Some(40), Some(30), Some(3)]
        );
    }
}
