//! Workers that make random edits, and the planning of these as proposals.

use std::collections::HashMap;

use random_draws::RandomDraws;
use scene_schemas::command::Props;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{PlanRead, Proposal};
use scene_schemas::{Fingerprint, Value};
use vector_core::overlay_merge::OverlayProposal;
use vector_core::proposal::{BlobStore, ProposalDraft, text_of};
use vector_place::Node;
use vector_text_edit::diff_lines;

use super::base::{Base, NAMES, OpenedBase};
use super::model::{Edit, Key, LINES, Model, ModelValue};

const CREATED: [&str; 4] = ["Part", "Folder", "Model", "ObjectValue"];

/// What a proposal reads besides what its edits address.
#[derive(Debug, Clone)]
pub(super) enum NotedRead {
    Property(Key, &'static str),
    Selector(&'static str),
    Place,
}

/// What a worker proposes at a time.
#[derive(Debug, Clone)]
pub(super) struct WishedProposal {
    pub(super) edits: Vec<Edit>,
    pub(super) reads: Vec<NotedRead>,
    pub(super) is_injected: bool,
}

/// A worker with its view of the base.
#[derive(Debug)]
pub(super) struct Worker {
    overlay: usize,
    view: Model,
    created: usize,
    pub(super) wishes: Vec<WishedProposal>,
}

#[derive(Debug)]
pub(super) struct PlannedProposal {
    pub(super) seq: Seq,
    pub(super) call: Seq,
    pub(super) edits: Vec<Edit>,
    pub(super) proposal: Proposal,
    pub(super) is_injected: bool,
}

impl PlannedProposal {
    pub(super) fn in_overlay(&self) -> OverlayProposal<'_> {
        OverlayProposal { seq: self.seq, call: self.call, proposal: &self.proposal }
    }
}

impl Worker {
    pub(super) fn new(overlay: usize, base: &Model) -> Self {
        Self { overlay, view: base.clone(), created: 0, wishes: Vec::new() }
    }

    /// Returns the key of the next new instance.
    pub(super) fn next_key(&self) -> Key {
        Key::New { overlay: self.overlay, number: self.created }
    }

    /// Makes an edit in the view. Returns none if it changes nothing.
    pub(super) fn make(&mut self, edit: Edit) -> Option<Edit> {
        let changes = match &edit {
            Edit::Set { target, property, value } => {
                self.view.nodes[target].props.get(property) != Some(value)
            }
            Edit::Rename { target, name } => self.view.nodes[target].name != *name,
            Edit::WriteLine { target, line, number } => {
                self.view.nodes[target].lines[*line] != *number
            }
            Edit::Remember { line, number } => self.view.memory[*line] != *number,
            Edit::Move { target, parent } => !self.view.is_within(*parent, *target),
            Edit::Create { .. } => {
                self.created += 1;
                true
            }
            Edit::Clone { source, parent, .. } => {
                // A copy into itself would grow without an end in the model.
                let is_outside = !self.view.is_within(*parent, *source);
                if is_outside {
                    self.created += self.view.subtree(*source).len();
                }
                is_outside
            }
            Edit::Delete { .. } => true,
        };
        changes.then(|| {
            self.view.perform(&edit);
            edit
        })
    }

    /// Makes some random edits below these roots, which remain as they are.
    pub(super) fn random_edits(
        &mut self,
        draws: &mut RandomDraws,
        roots: &[Key],
        has_memory: bool,
    ) -> Vec<Edit> {
        let mut edits = Vec::new();
        for _ in 0..=draws.below(3) {
            let edit = self.random_edit(draws, roots, has_memory);
            edits.extend(edit.and_then(|edit| self.make(edit)));
        }
        edits
    }

    fn random_edit(
        &self,
        draws: &mut RandomDraws,
        roots: &[Key],
        has_memory: bool,
    ) -> Option<Edit> {
        let parents: Vec<Key> = roots.iter().flat_map(|root| self.view.subtree(*root)).collect();
        let inside: Vec<Key> = parents.iter().copied().filter(|key| !roots.contains(key)).collect();
        let (parent, name, key) = (draws.pick(&parents), draws.pick(&NAMES), self.next_key());
        let name = name.to_owned();
        let kind = draws.below(if has_memory { 10 } else { 9 });
        if kind == 9 {
            return Some(Edit::Remember { line: draws.below(LINES), number: 1 + draws.below(2) });
        }
        if kind == 0 || inside.is_empty() {
            return Some(Edit::Create { key, parent, class: draws.pick(&CREATED), name });
        }
        let target = draws.pick(&inside);
        let class = self.view.nodes[&target].class;
        Some(match kind {
            1 => Edit::Clone { key, source: target, parent, name },
            2 => Edit::Rename { target, name },
            3 => Edit::Move { target, parent },
            4 => Edit::Delete { target },
            5 | 6 => {
                let scripts = inside.iter().filter(|key| self.view.nodes[*key].class == "Script");
                let scripts: Vec<Key> = scripts.copied().collect();
                if scripts.is_empty() {
                    return None;
                }
                let target = draws.pick(&scripts);
                let (line, number) = (draws.below(LINES), 1 + draws.below(2));
                Edit::WriteLine { target, line, number }
            }
            _ => {
                let quarters = ModelValue::Quarters(1 + draws.below(2) as u8);
                let (property, value) = match class {
                    "Part" if draws.below(2) == 0 => ("Anchored", ModelValue::Flag(true)),
                    "Part" => ("Transparency", quarters),
                    "ObjectValue" => ("Value", ModelValue::Instance(draws.pick(&inside))),
                    _ => ("@n", quarters),
                };
                Edit::Set { target, property, value }
            }
        })
    }

    /// Proposes edits that were made, unless there are none.
    pub(super) fn propose(&mut self, edits: Vec<Edit>) {
        if !edits.is_empty() {
            self.wishes.push(WishedProposal { edits, reads: Vec::new(), is_injected: false });
        }
    }
}

/// Plans the proposals of a worker on the base, and removes them from the scene.
pub(super) fn plan_overlay(
    opened: &mut OpenedBase,
    base: &Base,
    worker: Worker,
) -> Vec<PlannedProposal> {
    let OpenedBase { scene, tops } = opened;
    let mut nodes: HashMap<Key, Node> = HashMap::new();
    for (top, node) in base.tops.iter().zip(tops) {
        nodes.extend(base.model.subtree(*top).into_iter().zip(scene.subtree(*node)));
    }
    let mark = scene.journal_mark();
    let blobs = BlobStore::new();
    let plan = |(number, wish): (usize, WishedProposal)| {
        let seq = Seq((1_000 * (worker.overlay + 1) + 2 * number) as u64);
        let call = Seq(seq.0 + 1);
        scene.begin_scope(call);
        let mut draft = ProposalDraft::new(scene, &blobs);
        for edit in &wish.edits {
            let before = draft.len();
            draft_edit(&mut draft, edit, &mut nodes);
            assert_eq!(draft.len(), before + 1, "{edit:?}");
        }
        for read in &wish.reads {
            note_read(&mut draft, read, &nodes);
        }
        let proposal = draft.finish(&Fingerprint::hash_bytes(b"base")).unwrap();
        let WishedProposal { edits, is_injected, .. } = wish;
        PlannedProposal { seq, call, edits, proposal, is_injected }
    };
    let planned = worker.wishes.into_iter().enumerate().map(plan).collect();
    scene.rollback(mark);
    planned
}

fn draft_edit(draft: &mut ProposalDraft<'_>, edit: &Edit, nodes: &mut HashMap<Key, Node>) {
    match edit {
        Edit::Create { key, parent, class, name } => {
            let node = draft.create_instance(nodes[parent], class, name, Props::new()).unwrap();
            nodes.insert(*key, node);
        }
        Edit::Clone { key, source, parent, name } => {
            let copy = draft.clone_instance(nodes[source], nodes[parent], name).unwrap();
            let Key::New { overlay, number } = *key else { panic!("a copy is new") };
            let copies = draft.scene().subtree(copy).zip(number..);
            nodes.extend(copies.map(|(node, number)| (Key::New { overlay, number }, node)));
        }
        Edit::Set { target, property, value } => {
            let value = match value {
                ModelValue::Quarters(quarters) => Value::Float32(f32::from(*quarters) / 4.0),
                ModelValue::Flag(flag) => Value::Bool(*flag),
                ModelValue::Instance(to) => Value::Ref(Some(draft.scene().target(nodes[to]))),
            };
            let props = Props::from([((*property).to_owned(), Some(value))]);
            assert!(draft.set_properties(nodes[target], props).unwrap());
        }
        Edit::Rename { target, name } => {
            let props = Props::from([("Name".to_owned(), Some(Value::String(name.clone())))]);
            assert!(draft.set_properties(nodes[target], props).unwrap());
        }
        Edit::Move { target, parent } => draft.move_to(nodes[target], nodes[parent]).unwrap(),
        Edit::Delete { target } => draft.delete_instance(nodes[target]).unwrap(),
        Edit::WriteLine { target, line, number } => {
            let path = draft.scene().path(nodes[target]);
            let before = text_of(draft.scene(), nodes[target], &path).unwrap().into_owned();
            let after = replace_number(&before, &format!("local v{line} = "), *number, "");
            draft.edit_script(nodes[target], diff_lines(&before, &after)).unwrap();
        }
        Edit::Remember { line, number } => {
            let before = draft.memory_text().unwrap().to_owned();
            let after = replace_number(&before, &format!("Rule {line}: "), *number, ".");
            draft.edit_memory(&after).unwrap();
        }
    }
}

/// Replaces the line that starts with some text by one with another number.
fn replace_number(text: &str, start: &str, number: usize, end: &str) -> String {
    let line = |line: &str| {
        if line.starts_with(start) {
            format!("{start}{number}{end}\n")
        } else {
            format!("{line}\n")
        }
    };
    text.lines().map(line).collect()
}

fn note_read(draft: &mut ProposalDraft<'_>, read: &NotedRead, nodes: &HashMap<Key, Node>) {
    draft.note_read(match read {
        NotedRead::Property(key, property) => {
            let path = draft.scene().path(nodes[key]);
            PlanRead::Property { path, property: (*property).to_owned() }
        }
        NotedRead::Selector(selector) => PlanRead::Selector { selector: (*selector).to_owned() },
        NotedRead::Place => PlanRead::Place {},
    });
}
