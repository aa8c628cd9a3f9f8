//! Which of many proposals write what another one reads, or touch it.
//!
//! An index holds the others, so that a proposal looks up its own keys instead of being compared
//! with each of them. It must not know who made the proposals.

use std::collections::BTreeMap;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use scene_schemas::proposal::Proposal;

use super::key_set::KeySet;
use super::{Footprint, Key, ReadKey, ReadSubject};

/// Writers by what they write. A writer is known by its number in the order of adding.
///
/// A command over many instances is found by the instances that were added for it
/// ([`Footprint::add_members`]), and not by its properties alone.
#[derive(Debug, Default)]
pub(crate) struct FootprintIndex {
    writers: Vec<Footprint>,
    parts: KeyMap,
    trees: KeyMap,
    orders: KeyMap,
}

/// Proposals by the keys of what they read or write.
type KeyMap = FxHashMap<Key, KeyOwners>;

/// The numbers of the proposals with a key: most often one.
#[derive(Debug)]
struct KeyOwners {
    first: usize,
    others: Vec<usize>,
}

impl FootprintIndex {
    /// Adds a writer. Returns its number, from 0.
    pub(crate) fn add(&mut self, writer: Footprint) -> usize {
        let number = self.writers.len();
        add_keys(&mut self.parts, &writer.writes, number);
        add_keys(&mut self.trees, &writer.written_trees, number);
        add_keys(&mut self.orders, &writer.written_orders, number);
        self.writers.push(writer);
        number
    }

    /// Returns the first writer that touches a footprint. Compares it with each.
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
        let mut look_up = |map: &KeyMap, key: Key, read: ReadKey| {
            if let Some(owners) = map.get(&key) {
                note(owners.first, read);
                owners.others.iter().for_each(|writer| note(*writer, read));
            }
        };
        for key in reader.reads.iter() {
            look_up(&self.parts, key, ReadKey::Part(key));
        }
        for key in reader.read_trees.iter() {
            look_up(&self.trees, key, ReadKey::Tree(key));
        }
        for key in reader.read_orders.iter() {
            look_up(&self.orders, key, ReadKey::ChildOrder(key));
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

/// Footprints by what they read and write, to find those that touch another one.
#[derive(Debug, Default)]
pub(crate) struct TouchIndex {
    written: FootprintIndex,
    read_parts: KeyMap,
    read_trees: KeyMap,
    read_orders: KeyMap,
    /// Those that are not found by keys alone.
    broad: Vec<usize>,
}

impl TouchIndex {
    pub(crate) fn add(&mut self, footprint: Footprint) {
        let number = self.written.writers.len();
        add_keys(&mut self.read_parts, &footprint.reads, number);
        add_keys(&mut self.read_trees, &footprint.read_trees, number);
        add_keys(&mut self.read_orders, &footprint.read_orders, number);
        if footprint.is_broad() {
            self.broad.push(number);
        }
        self.written.add(footprint);
    }

    /// Returns the number of the first footprint that touches another one, in the order of adding.
    pub(crate) fn first_touching(&self, footprint: &Footprint) -> Option<usize> {
        if footprint.is_broad() {
            return self.written.first_touching(footprint);
        }
        let first = |map: &KeyMap, keys: &KeySet| {
            keys.iter().filter_map(|key| Some(map.get(&key)?.first)).min()
        };
        let touches = |number: &usize| self.written.writers[*number].touches(footprint);
        let found = [
            first(&self.written.parts, &footprint.reads),
            first(&self.written.parts, &footprint.writes),
            first(&self.written.trees, &footprint.read_trees),
            first(&self.written.orders, &footprint.read_orders),
            first(&self.read_parts, &footprint.writes),
            first(&self.read_trees, &footprint.written_trees),
            first(&self.read_orders, &footprint.written_orders),
            self.broad.iter().copied().find(touches),
        ];
        found.into_iter().flatten().min()
    }
}

impl Footprint {
    /// Whether it can touch another footprint with which it shares no key.
    fn is_broad(&self) -> bool {
        self.reads_place || !self.selectors.is_empty() || !self.broad_properties.is_empty()
    }
}

fn add_keys(map: &mut KeyMap, keys: &KeySet, number: usize) {
    for key in keys.iter() {
        match map.entry(key) {
            Entry::Vacant(new) => drop(new.insert(KeyOwners { first: number, others: Vec::new() })),
            Entry::Occupied(known) => known.into_mut().others.push(number),
        }
    }
}

#[cfg(test)]
mod tests {
    use random_draws::{RandomDraws, check_seeds};
    use scene_schemas::command::Props;
    use scene_schemas::proposal::PlanRead;
    use scene_schemas::{Command, Fingerprint, InstanceId, InstancePath, Target};

    use super::*;

    fn random_path(draws: &mut RandomDraws) -> InstancePath {
        let length = 1 + draws.below(3);
        let step = |path: InstancePath, _| path.child(draws.pick(&["A", "B", "C"]), None);
        (0..length).fold(InstancePath::root(), step)
    }

    fn random_footprint(draws: &mut RandomDraws) -> Footprint {
        let mut footprint = Footprint::default();
        for _ in 0..draws.below(3) {
            let [target, parent] = [(), ()]
                .map(|()| Target { id: InstanceId(String::new()), path: random_path(draws) });
            let props = Props::from([(draws.pick(&["Size", "Color"]).to_owned(), None)]);
            footprint.add_command(&match draws.below(6) {
                0 => Command::Delete { target, count: 1, expect: None },
                1 => Command::Move { target, parent, index: Some(1), expect: None },
                2 => {
                    let table = Fingerprint(String::new());
                    Command::SetMany { target, count: 1, table, props, restores: false }
                }
                _ => Command::Set { target, props, expect: None },
            });
        }
        for _ in 0..draws.below(3) {
            let path = random_path(draws);
            footprint.add_read(&match draws.below(8) {
                0 => PlanRead::Place {},
                1 => PlanRead::Selector { selector: "Part[Size]".to_owned() },
                2..5 => PlanRead::Instance { path },
                _ => PlanRead::Property { path, property: "Size".to_owned() },
            });
        }
        footprint.sealed()
    }

    #[test]
    fn indexed_footprints_are_those_that_touch() {
        check_seeds(0..500, |draws| {
            let all: Vec<Footprint> =
                (0..=draws.below(5)).map(|_| random_footprint(draws)).collect();
            let own = random_footprint(draws);
            let mut index = TouchIndex::default();
            for it in &all {
                index.add(it.clone());
            }
            let expected = all.iter().position(|it| it.touches(&own));
            assert_eq!(index.first_touching(&own), expected, "{own:#?} {all:#?}");
        });
    }
}
