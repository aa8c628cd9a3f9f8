//! The properties touched since a journal mark, for callers that write changes to several files.

use std::collections::{BTreeMap, BTreeSet};

use super::{JournalMark, JournalStep};
use crate::{Node, Scene};

impl Scene {
    /// Returns the stored properties that were set since a mark and not rolled back, by instance.
    pub fn touched_since(&self, since: JournalMark) -> BTreeMap<Node, BTreeSet<&'static str>> {
        let mut touched: BTreeMap<Node, BTreeSet<&'static str>> = BTreeMap::new();
        for done in self.journal.steps.iter().skip(since.0) {
            if let JournalStep::Stored { node, column, .. } = done
                && let Some(key) = self.edits.key_of(*column)
            {
                touched.entry(Node(*node)).or_default().insert(key.as_str());
            }
        }
        touched
    }
}
