//! Ids in the file for instances that were not read from it. They are assigned when an instance is
//! first written and kept from then on.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::file::SourceFile;
use super::node_set::NodeSet;

/// Returns the next number. Wraps to 0 after 31 bits, the size of ids in a binary file.
pub(super) fn next_number(number: u32) -> u32 {
    number.wrapping_add(1) & i32::MAX as u32
}

/// Bidirectional map between new instances and their ids.
#[derive(Debug, Clone, Default)]
pub(super) struct NewIds {
    of: FxHashMap<u32, Arc<str>>,
    nodes: FxHashMap<Arc<str>, u32>,
    /// The previous holders of each id that was assigned again, oldest first.
    before: FxHashMap<Arc<str>, Vec<u32>>,
}

impl NewIds {
    pub(super) fn get(&self, node: u32) -> Option<&str> {
        self.of.get(&node).map(AsRef::as_ref)
    }

    pub(super) fn node(&self, id: &str) -> Option<u32> {
        self.nodes.get(id).copied()
    }

    pub(super) fn set(&mut self, node: u32, id: &str) {
        let id: Arc<str> = id.into();
        self.of.insert(node, Arc::clone(&id));
        if let Some(before) = self.nodes.insert(Arc::clone(&id), node) {
            self.before.entry(id).or_default().push(before);
        }
    }

    pub(super) fn remove(&mut self, node: u32) {
        let Some(id) = self.of.remove(&node) else {
            return;
        };
        let before = self.before.get_mut(&id);
        if self.nodes.get(&id) == Some(&node) {
            match before.and_then(Vec::pop) {
                Some(before) => self.nodes.insert(id, before),
                None => self.nodes.remove(&id),
            };
        } else if let Some(before) = before {
            before.retain(|it| *it != node);
        }
    }

    /// Assigns ids to the nodes that have none, in order. Uses numbers above all those in the file
    /// as long as there are any, and never an id that something in the file refers to.
    pub(super) fn assign_ids(&mut self, file: &SourceFile, nodes: &NodeSet) {
        let mut number = file.next_number();
        for node in nodes.iter() {
            if self.of.contains_key(&node) {
                continue;
            }
            let mut id = file.id_of_number(number);
            while self.nodes.contains_key(id.as_str()) || file.is_taken(&id) {
                number = next_number(number);
                id = file.id_of_number(number);
            }
            number = next_number(number);
            self.set(node, &id);
        }
    }
}
