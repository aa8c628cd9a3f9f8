//! Which of many proposals write what another one reads.
//!
//! The index holds the writers, so that a reader looks up its own keys instead of being compared
//! with each writer. It must not know who made the proposals.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use scene_schemas::proposal::Proposal;

use super::{Footprint, Key, ReadKey, ReadSubject};

/// Writers by what they write. A writer is known by its number in the order of adding.
///
/// A command over many instances is found by the instances that were added for it
/// ([`Footprint::add_members`]), and not by its properties alone.
#[derive(Debug, Default)]
pub(crate) struct FootprintIndex {
    writers: Vec<Footprint>,
    parts: FxHashMap<Key, Vec<usize>>,
    trees: FxHashMap<Key, Vec<usize>>,
    orders: FxHashMap<Key, Vec<usize>>,
}

impl FootprintIndex {
    /// Adds a writer. Returns its number, from 0.
    pub(crate) fn add(&mut self, writer: Footprint) -> usize {
        let number = self.writers.len();
        let maps = [&mut self.parts, &mut self.trees, &mut self.orders];
        let written = [&writer.writes, &writer.written_trees, &writer.written_orders];
        for (map, keys) in maps.into_iter().zip(written) {
            for key in keys {
                map.entry(*key).or_default().push(number);
            }
        }
        self.writers.push(writer);
        number
    }

    /// Returns the first writer that touches a footprint.
    pub(crate) fn first_touching(&self, footprint: &Footprint) -> Option<usize> {
        self.writers.iter().position(|writer| writer.touches(footprint))
    }

    /// Returns the writers that write what a proposal reads, each with what was read. Both are in
    /// order.
    pub(crate) fn find_read(
        &self,
        reader: &Footprint,
        proposal: &Proposal,
    ) -> BTreeMap<usize, Vec<ReadSubject>> {
        let mut found: BTreeMap<usize, Vec<ReadKey>> = BTreeMap::new();
        let mut note = |writer: usize, key: ReadKey| found.entry(writer).or_default().push(key);
        let mut look_up = |map: &FxHashMap<Key, Vec<usize>>, key: Key, read: ReadKey| {
            map.get(&key).into_iter().flatten().for_each(|writer| note(*writer, read));
        };
        for key in &reader.reads {
            look_up(&self.parts, *key, ReadKey::Part(*key));
        }
        for key in &reader.read_trees {
            look_up(&self.trees, *key, ReadKey::Tree(*key));
        }
        for key in &reader.read_orders {
            look_up(&self.orders, *key, ReadKey::ChildOrder(*key));
        }
        if reader.reads_place || !reader.selectors.is_empty() {
            for (number, writer) in self.writers.iter().enumerate() {
                if reader.reads_place && !writer.writes.is_empty() {
                    note(number, ReadKey::Place);
                }
                for (at, selector) in reader.selectors.iter().enumerate() {
                    if writer.concerns(selector) {
                        note(number, ReadKey::Selector(at));
                    }
                }
            }
        }
        if found.is_empty() {
            return BTreeMap::new();
        }
        let subjects = Footprint::read_subjects(proposal);
        let named = |keys: Vec<ReadKey>| {
            let mut named: Vec<ReadSubject> =
                keys.iter().filter_map(|key| subjects.get(key).cloned()).collect();
            named.sort_unstable();
            named.dedup();
            named
        };
        found.into_iter().map(|(writer, keys)| (writer, named(keys))).collect()
    }
}
