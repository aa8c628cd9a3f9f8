//! Which instances edits affected.

use rustc_hash::FxHashSet;

use super::journal::{JournalMark, JournalStep};
use crate::{Node, Scene};

/// The instances that edits affected, with the parents that they had and have.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct EditedNodes {
    nodes: FxHashSet<u32>,
    /// The first instance that was inserted. All from it on count as edited: a rollback removes
    /// them, and their numbers are given again.
    first_inserted: Option<u32>,
}

impl EditedNodes {
    pub fn contains(&self, node: Node) -> bool {
        self.first_inserted.is_some_and(|first| node.0 >= first) || self.nodes.contains(&node.0)
    }

    /// Adds the instances of other edits.
    pub fn merge(&mut self, other: Self) {
        self.nodes.extend(other.nodes);
        self.first_inserted = match (self.first_inserted, other.first_inserted) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

impl Scene {
    /// Returns the instances that the edits since the mark affected. Of a subtree that was moved,
    /// deleted or restored this is the root alone.
    pub fn edited_since(&self, mark: JournalMark) -> EditedNodes {
        let mut edited = EditedNodes::default();
        for step in self.journal.steps.get(mark.0..).unwrap_or_default() {
            match step {
                JournalStep::StoredMany(many) => edited.nodes.extend(&many.nodes),
                JournalStep::Stored { node, .. }
                | JournalStep::Renamed { node, .. }
                | JournalStep::Returned { node } => drop(edited.nodes.insert(*node)),
                JournalStep::Moved { node, parent, .. }
                | JournalStep::Deleted { node, parent, .. } => {
                    edited.nodes.extend([*node, *parent]);
                }
                JournalStep::Inserted { node } => {
                    let first = edited.first_inserted.unwrap_or(*node).min(*node);
                    edited.first_inserted = Some(first);
                    edited.nodes.insert(*node);
                }
            }
        }
        let parents: Vec<u32> =
            edited.nodes.iter().filter_map(|node| self.tree.parent(*node)).collect();
        edited.nodes.extend(parents);
        edited
    }
}
