//! What a draft notes of the place that its plan relies on besides what its commands address.

use std::collections::BTreeSet;

use scene_schemas::Value;
use scene_schemas::proposal::PlanRead;
use scene_schemas::value::Content;
use vector_place::Node;

use super::ProposalDraft;

/// The number of reads that a proposal lists. Beyond, it relies on the whole place.
const MAX_READS: usize = 256;

impl ProposalDraft<'_> {
    /// Notes that the plan relies on something that its commands do not address.
    pub fn note_read(&mut self, read: PlanRead) {
        let all = PlanRead::Place {};
        if self.reads.contains(&all) {
            return;
        }
        self.reads.insert(read);
        if self.reads.len() > MAX_READS || self.reads.contains(&all) {
            self.reads = BTreeSet::from([all]);
        }
    }

    /// Notes that the plan relies on the text of a script, which it does not change.
    pub fn note_text(&mut self, node: Node) {
        self.note_properties(node, ["Source"]);
    }

    /// Notes that the plan relies on the values of properties that its commands do not set.
    pub(super) fn note_properties<'p>(
        &mut self,
        node: Node,
        properties: impl IntoIterator<Item = &'p str>,
    ) {
        let path = self.scene.path(node);
        for property in properties {
            let (path, property) = (path.clone(), property.to_owned());
            self.note_read(PlanRead::Property { path, property });
        }
    }

    /// Notes that the plan relies on the instances that properties refer to: the fingerprint of a
    /// reference covers the path of its instance.
    pub(super) fn note_referred<'p>(
        &mut self,
        node: Node,
        properties: impl Iterator<Item = &'p str>,
    ) {
        for property in properties {
            if let Some(Value::Ref(Some(to)) | Value::Content(Content::Object(Some(to)))) =
                self.scene.value(node, property)
            {
                self.note_read(PlanRead::Instance { path: to.path });
            }
        }
    }
}
