//! Sets of keys that are built once and then only compared. A sorted list takes a fraction of a hash
//! table's memory, and most footprints have a few keys.

use super::Key;

/// A set of keys. It has to be sealed after keys were added, before it is compared.
#[derive(Debug, Clone, Default)]
pub(super) struct KeySet {
    keys: Vec<Key>,
}

impl KeySet {
    pub(super) fn add(&mut self, key: Key) {
        self.keys.push(key);
    }

    pub(super) fn seal(&mut self) {
        self.keys.sort_unstable();
        self.keys.dedup();
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Returns the keys in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = Key> {
        self.keys.iter().copied()
    }

    pub(super) fn contains(&self, key: Key) -> bool {
        debug_assert!(self.keys.is_sorted());
        self.keys.binary_search(&key).is_ok()
    }

    pub(super) fn intersects(&self, other: &Self) -> bool {
        let is_shorter = self.keys.len() <= other.keys.len();
        let (few, many) = if is_shorter { (self, other) } else { (other, self) };
        few.keys.iter().any(|key| many.contains(*key))
    }
}
