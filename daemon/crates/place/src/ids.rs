//! What the file calls instances that were not read: given when they are first written, and kept from
//! then on.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::file::SourceFile;
use super::node_set::NodeSet;

/// The number behind one. A binary file has 31 bits for it, and begins anew behind the last.
pub(super) fn next_number(number: u32) -> u32 {
    number.wrapping_add(1) & i32::MAX as u32
}

/// Ids of instances that were not read, both ways.
#[derive(Debug, Default)]
pub(super) struct NewIds {
    of: FxHashMap<u32, Arc<str>>,
    nodes: FxHashMap<Arc<str>, u32>,
    /// Who had an id before the one that has it now, oldest first.
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

    /// Gives an id to those that have none, in their order: numbers above all that the file has, as
    /// long as there are some, and never one that something in the file points to.
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
