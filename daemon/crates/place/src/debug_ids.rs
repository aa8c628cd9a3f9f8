//! What Studio calls its instances, both ways.
//!
//! Nearly every debug id is two numbers, as `0_12345`, and is kept as such. Any other keeps its text.

use std::borrow::Cow;
use std::hash::{BuildHasher, BuildHasherDefault};

use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use rustc_hash::FxHasher;

use super::interner::TextInterner;

/// Stands in the key of an id that is not two numbers, beside the number of its text.
const TEXT: u64 = 1 << 63;
/// The key of what has no id.
const NOBODY: u64 = u64::MAX;
/// Numbers with more digits are kept as texts.
const MAX_DIGITS: usize = 9;

/// Debug ids by instance, and instances by debug id.
#[derive(Debug, Default)]
pub(super) struct DebugIds {
    keys: Vec<u64>,
    nodes: HashTable<u32>,
    others: TextInterner,
}

fn hash(key: u64) -> u64 {
    BuildHasherDefault::<FxHasher>::default().hash_one(key)
}

/// A number, where it is written as it would be written again.
fn parse_canonical(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() || digits.len() > MAX_DIGITS || (digits.len() > 1 && digits[0] == b'0') {
        return None;
    }
    digits.iter().try_fold(0, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10).then_some(number * 10 + u64::from(digit))
    })
}

/// The key of an id of two numbers.
fn pair_key(id: &str) -> Option<u64> {
    let id = id.as_bytes();
    let middle = id.iter().position(|byte| *byte == b'_')?;
    Some(parse_canonical(&id[..middle])? << 32 | parse_canonical(&id[middle + 1..])?)
}

impl DebugIds {
    /// Makes room for more instances.
    pub(super) fn reserve(&mut self, instances: usize) {
        let Self { keys, nodes, .. } = self;
        keys.reserve(instances + 1);
        nodes.reserve(instances, |node| hash(key_of(keys, *node)));
    }

    /// Gives an instance an id; false where another has it.
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

    /// The instance of an id.
    pub(super) fn node(&self, id: &str) -> Option<u32> {
        let text = || Some(TEXT | u64::from(self.others.find(id)?));
        let key = pair_key(id).or_else(text)?;
        self.nodes.find(hash(key), |node| key_of(&self.keys, *node) == key).copied()
    }

    /// The id of an instance.
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
    fn an_id_is_read_as_it_was_written() {
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
        // Out of order, and after room was made for many.
        ids.reserve(10_000);
        assert!(ids.assign(40, "0_40") && ids.assign(30, "0_30"));
        assert_eq!(
            [ids.node("0_40"), ids.node("0_30"), ids.node("0_1")],
            [Some(40), Some(30), Some(3)]
        );
    }
}
