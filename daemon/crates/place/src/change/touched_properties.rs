//! The properties touched since a journal mark, for callers that write changes to several files.

use std::collections::{BTreeMap, BTreeSet};

use super::{JournalMark, JournalStep};
use crate::{Node, Scene};

impl Scene {
    /// Returns the stored properties that were set since a mark and not rolled back, by instance.
    pub fn touched_since(&self, since: JournalMark) -> BTreeMap<Node, BTreeSet<&'static str>> {
        let mut touched: BTreeMap<Node, BTreeSet<&'static str>> = BTreeMap::new();
        for done in self.journal.steps.iter().skip(since.0) {
            let (column, nodes): (u32, &[u32]) = match done {
                JournalStep::Stored { node, column, .. } => (*column, std::slice::from_ref(node)),
                JournalStep::StoredMany(many) => (many.column, &many.nodes),
                JournalStep::Renamed { .. }
                | JournalStep::Inserted { .. }
                | JournalStep::Moved { .. }
                | JournalStep::Deleted { .. }
                | JournalStep::Returned { .. } => continue,
            };
            let Some(key) = self.edits.key_of(column) else { continue };
            for node in nodes {
                touched.entry(Node(*node)).or_default().insert(key.as_str());
            }
        }
        touched
    }
}
