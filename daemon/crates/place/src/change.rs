//! Edits of a scene, each journalled so that it can be undone exactly.
//!
//! Commands are performed through these functions. They only refuse what would break the tree; all
//! other decisions belong to the planner.

mod edited_nodes;
mod journal;
mod storable;
mod touched_properties;

use std::borrow::Cow;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{Content, ContentType, Variant};
use rustc_hash::{FxHashMap, FxHashSet};
use scene_schemas::Value;
use scene_schemas::refusal::{Refusal, refuse};

pub use self::edited_nodes::EditedNodes;
pub(super) use self::journal::{EditJournal, NextValue};
pub use self::journal::{JournalMark, SceneState};
use self::journal::{JournalStep, ManyStored, PointerMap};
use super::codec::{CodecError, FileFormat};
use super::edits::{EditSlot, PropertyEdit, UNTOUCHED};
use super::property_layout::{self, HIDDEN};
use super::tree::ROOT;
use super::{Node, Scene, node_of, reference_to, reflection};

/// A subtree that is not part of a scene yet, such as a deleted one that is to be restored.
#[derive(Debug)]
pub struct DetachedSubtree(Scene);

impl DetachedSubtree {
    /// Decodes the output of [`Scene::encode_subtree`].
    ///
    /// # Errors
    /// The bytes are not a model with exactly one root.
    pub fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        let scene = Scene::decode(bytes)?;
        if scene.children(scene.root()).len() == 1 {
            Ok(Self(scene))
        } else {
            Err(CodecError::Read("a removed subtree has one root".to_owned()))
        }
    }
}

/// Properties that identify an instance to the engine, so no two instances may share a value.
pub(super) const UNIQUE: [&str; 2] = ["UniqueId", "HistoryId"];

impl Scene {
    /// Returns the current position in the journal, for [`Scene::rollback`].
    pub fn journal_mark(&self) -> JournalMark {
        JournalMark(self.journal.steps.len())
    }

    /// Returns the state of the scene, to know later whether it is the same.
    pub fn state(&self) -> SceneState {
        self.journal.state()
    }

    /// Returns the state that the scene had at the mark.
    pub fn state_at(&self, mark: JournalMark) -> SceneState {
        self.journal.state_at(mark.0)
    }

    /// Makes all states of this scene differ from those of the scene that it replaces.
    pub fn follow_states(&mut self, replaced: &Self) {
        self.journal.follow(&replaced.journal);
    }

    /// Undoes every edit since the mark.
    pub fn rollback(&mut self, mark: JournalMark) {
        while self.journal.steps.len() > mark.0
            && let Some(done) = self.journal.pop()
        {
            self.undo_step(done);
        }
    }

    /// Marks the last built file as saved and clears the journal, so edits so far cannot be undone.
    pub fn forget_history(&mut self) {
        self.journal.clear();
        self.saved_pieces = self.built_pieces.clone();
    }

    fn undo_step(&mut self, done: JournalStep) {
        match done {
            JournalStep::Stored { node, column, before } => {
                self.edits.put_slot(column, node, before);
                self.note_restored_value(node, column);
            }
            JournalStep::StoredMany(many) => {
                let ManyStored { column, nodes, before, pool_len } = *many;
                let slot_of = |at: usize| before.get(at).copied().unwrap_or(UNTOUCHED);
                self.edits.put_slots(column, &nodes, slot_of);
                self.edits.truncate_pool(pool_len);
            }
            JournalStep::Renamed { node, before } => self.tree.rename(node, &before),
            JournalStep::Inserted { node } => self.remove_inserted(node),
            JournalStep::Returned { node } => self.tree.unlink(node),
            JournalStep::Moved { node, parent, index } => {
                self.tree.unlink(node);
                self.tree.link(node, parent, Some(index as usize));
            }
            JournalStep::Deleted { node, parent, index } => {
                self.deleted.remove(&node);
                self.tree.link(node, parent, Some(index as usize));
            }
        }
    }

    /// Updates the text log and the pointer map after a rollback restored a value: both may have
    /// been queried while the other value was set.
    fn note_restored_value(&mut self, node: u32, column: u32) {
        let Some(key) = self.edits.key_of(column) else { return };
        self.texts.note_property(node, key);
        let class = self.tree.class(node);
        if let Some(pointers) = &mut self.journal.pointers
            && let PropertyEdit::Set(value) = self.edits.edit_of(class, key, node)
            && let Some(to) = referenced_instance(value)
        {
            pointers.entry(to).or_default().push((node, key));
        }
    }

    /// Removes an inserted instance and all instances with a higher number.
    pub(super) fn remove_inserted(&mut self, node: u32) {
        self.tree.unlink(node);
        for removed in node..self.tree.len() {
            self.note_removed_text(removed);
            self.edits.forget_node(self.tree.class(removed), removed);
            self.bases.remove(&removed);
            self.ids.remove(removed);
            self.renamed.remove(&removed);
            self.asset_previews.remove(&removed);
            if let Some(key) = self.created.remove(&removed) {
                self.created_by_id.remove(&key);
            }
        }
        self.tree.truncate(node);
    }

    /// Assigns ids to a new subtree and journals its insertion.
    pub(super) fn attach_subtree(&mut self, root: u32) {
        let nodes: Vec<u32> = self.tree.subtree(root).collect();
        for (node, k) in nodes.into_iter().zip(self.next_new_number()..) {
            self.created.insert(node, (self.scope, k));
            self.created_by_id.insert((self.scope, k), node);
        }
        self.planned_number = None;
        if let Some(mut pointers) = self.journal.pointers.take() {
            self.add_pointers(&mut pointers, root);
            self.journal.pointers = Some(pointers);
        }
        self.journal.push(JournalStep::Inserted { node: root });
    }

    /// Creates an instance as the last child of `parent`.
    pub fn create(&mut self, parent: Node, class: &str, name: &str) -> Node {
        let node = self.tree.add(class, name);
        self.tree.link(node, parent.0, None);
        self.attach_subtree(node);
        Node(node)
    }

    /// Copies an instance and its descendants, as the last child of `parent`. References between
    /// the copied instances are redirected to the copies.
    pub fn copy(&mut self, source: Node, parent: Node, name: &str) -> Node {
        let originals: Vec<u32> = self.tree.subtree(source.0).collect();
        let first = self.tree.len();
        let copies: FxHashMap<u32, u32> = originals.iter().copied().zip(first..).collect();
        for original in &originals {
            let class = self.tree.class_name(*original).to_owned();
            let called = self.tree.name_text(*original).to_owned();
            let copy = self.tree.add(&class, if *original == source.0 { name } else { &called });
            if let Some(base) = self.base_of(*original) {
                self.bases.insert(copy, base);
            }
            if self.asset_previews.contains(original) {
                self.asset_previews.insert(copy);
            }
            self.edits.copy_node(self.tree.class(copy), *original, copy);
            for property in UNIQUE {
                self.set_unjournaled(copy, ustr(property), None);
            }
            let above = self.tree.parent(*original).and_then(|above| copies.get(&above));
            self.tree.link(copy, above.copied().unwrap_or(parent.0), None);
        }
        for (original, copy) in originals.iter().zip(first..) {
            for (key, to) in self.references_from(*original) {
                if let Some(to) = copies.get(&to) {
                    let value = self.remapped_pointer(*original, key, *to);
                    self.set_unjournaled(copy, key, value);
                }
            }
        }
        self.attach_subtree(first);
        Node(first)
    }

    /// Returns the value of a reference property, redirected to another instance.
    fn remapped_pointer(&self, holder: u32, key: Ustr, to: u32) -> Option<Variant> {
        let to = reference_to(to);
        let is_content = matches!(self.variant_of(holder, key)?.as_ref(), Variant::Content(_));
        Some(if is_content { Content::from_referent(to).into() } else { to.into() })
    }

    /// Sets a property of a new instance without journalling it: undoing the insertion removes it
    /// too.
    pub(super) fn set_unjournaled(&mut self, node: u32, key: Ustr, value: Option<Variant>) {
        if value.is_none() && self.variant_of(node, key).is_none() {
            return;
        }
        let column = self.edits.column_for(self.tree.class(node), key);
        self.edits.put_value(column, node, value);
        self.texts.note_property(node, key);
    }

    /// Restores a deleted subtree, at a position among the children of `parent` or at the end.
    /// References out of the subtree become empty, and ids that another instance has are dropped.
    pub fn restore_subtree(
        &mut self,
        subtree: DetachedSubtree,
        parent: Node,
        index: Option<u32>,
    ) -> Node {
        let from = subtree.0;
        let Some(root) = from.children(from.root()).next() else {
            return parent;
        };
        let node = self.copy_subtrees(&from, &[root.0]);
        self.copy_ids(&from, root.0, node);
        self.tree.link(node, parent.0, index.map(|index| index as usize));
        self.drop_taken_ids(node);
        self.attach_subtree(node);
        Node(node)
    }

    /// Copies subtrees of another scene, leaves their roots unlinked, and returns the first root.
    fn copy_subtrees(&mut self, from: &Self, roots: &[u32]) -> u32 {
        let nodes = roots.iter().flat_map(|root| from.tree.subtree(*root));
        self.copy_nodes(from, &nodes.collect::<Vec<_>>())
    }

    /// Copies instances of another scene, given depth first, and returns the first copy. Copies whose
    /// parent is not copied stay unlinked.
    pub(super) fn copy_nodes(&mut self, from: &Self, nodes: &[u32]) -> u32 {
        let first = self.tree.len();
        let is_to_xml = (from.format(), self.format()) == (FileFormat::Binary, FileFormat::Xml);
        let copies: FxHashMap<u32, u32> = nodes.iter().copied().zip(first..).collect();
        for node in nodes.iter().copied() {
            let copy = self.tree.add(from.tree.class_name(node), from.tree.name_text(node));
            if let Some(parent) = from.tree.parent(node).and_then(|it| copies.get(&it)) {
                self.tree.link(copy, *parent, None);
            }
            let class = from.tree.class_name(node);
            for key in from.stored_keys(node).into_iter().filter(|key| !is_shadowed(class, *key)) {
                if let Some(value) = from.variant_of(node, key) {
                    let mut value = remap_references(&value, &copies);
                    if is_to_xml {
                        value = property_layout::to_xml_value(class, key, value);
                    }
                    let column = self.edits.column_for(self.tree.class(copy), key);
                    self.edits.put_value(column, copy, Some(value));
                }
            }
        }
        first
    }

    /// Copies the ids in another scene's file to the new instances, which start at `first`. Skips ids
    /// that are in use here.
    fn copy_ids(&mut self, from: &Self, root: u32, first: u32) {
        if self.format() != from.format() {
            return;
        }
        let mut deleted_cache = FxHashMap::default();
        for (node, copy) in from.tree.subtree(root).zip(first..) {
            let id = from.file_id(node).map(Cow::into_owned);
            if let Some(id) = id.filter(|id| !self.is_id_in_use(id, &mut deleted_cache)) {
                self.ids.set(copy, &id);
            }
        }
    }

    /// Whether an id in the file belongs to an instance that is not deleted, or is a dangling
    /// reference.
    fn is_id_in_use(&self, id: &str, deleted_cache: &mut FxHashMap<u32, bool>) -> bool {
        match self.by_written_id(id) {
            Some(node) => !self.is_deleted(node, deleted_cache),
            None => self.file.is_taken(id),
        }
    }

    /// Whether an instance or one of its ancestors is deleted. Caches the result for each ancestor,
    /// so that a deep tree is not climbed once per instance.
    fn is_deleted(&self, node: u32, known: &mut FxHashMap<u32, bool>) -> bool {
        let (mut at, mut line) = (node, Vec::new());
        let is_gone = loop {
            if let Some(is_gone) = known.get(&at) {
                break *is_gone;
            }
            line.push(at);
            match self.tree.parent(at) {
                _ if self.deleted.contains(&at) => break true,
                Some(parent) => at = parent,
                None => break false,
            }
        };
        known.extend(line.into_iter().map(|node| (node, is_gone)));
        is_gone
    }

    /// Converts the place to another format.
    ///
    /// # Errors
    /// The format cannot hold a value of the place.
    pub fn convert_to(&self, format: FileFormat) -> Result<Self, CodecError> {
        let mut converted = Self::empty(format);
        let roots: Vec<u32> = self.tree.children(ROOT).collect();
        converted.copy_subtrees(self, &roots);
        let root_of = |node: u32| converted.tree.parent(node).is_none();
        let new: Vec<u32> = (1..converted.tree.len()).filter(|node| root_of(*node)).collect();
        for node in new {
            converted.tree.link(node, ROOT, None);
        }
        Self::open(converted.encode()?.into())
    }

    /// Removes unique ids from the new instances that live instances have. Deleted ones may keep
    /// theirs.
    fn drop_taken_ids(&mut self, root: u32) {
        let key = ustr(UNIQUE[0]);
        let id_of = |scene: &Self, node: u32| match scene.variant_of(node, key).as_deref() {
            Some(Variant::UniqueId(id)) if !id.is_nil() => Some(*id),
            _ => None,
        };
        let new: FxHashSet<u32> = self.tree.subtree(root).collect();
        let ids: Vec<_> =
            new.iter().filter_map(|node| Some((*node, id_of(self, *node)?))).collect();
        if ids.is_empty() {
            return;
        }
        let others = self.tree.subtree(ROOT).filter(|node| !new.contains(node));
        let taken: FxHashSet<_> = others.filter_map(|node| id_of(self, node)).collect();
        for (node, id) in ids {
            if taken.contains(&id) {
                self.set_unjournaled(node, key, None);
            }
        }
    }

    pub fn rename(&mut self, node: Node, name: &str) {
        let before = self.tree.name_text(node.0).to_owned();
        self.tree.rename(node.0, name);
        self.renamed.insert(node.0);
        self.journal.push(JournalStep::Renamed { node: node.0, before });
    }

    /// Sets a stored property, an attribute (`@Key`) or the name. None resets it to its default.
    ///
    /// # Errors
    /// The value cannot be stored under that property.
    pub fn set_property(
        &mut self,
        node: Node,
        property: &str,
        value: Option<&Value>,
    ) -> Result<(), Refusal> {
        if property == "Name" {
            let Some(Value::String(name)) = value else {
                return refuse!("`Name` is a string.");
            };
            self.check_text(name)?;
            self.rename(node, name);
            return Ok(());
        }
        if let Some(key) = property.strip_prefix('@') {
            let value = value.map(|value| self.to_variant("", "", value)).transpose()?;
            let stored = self.variant_of(node.0, ustr("Attributes"));
            if stored.is_some_and(|stored| !matches!(*stored, Variant::Attributes(_))) {
                return refuse!(
                    "The attributes of {} are stored in a way that is not understood, so none can be \
                     set without losing them. Set them in Studio.",
                    self.path(node)
                );
            }
            let mut all = self.attributes(node).unwrap_or_default();
            match value {
                Some(value) => all.insert(key.to_owned(), value),
                None => all.remove(key),
            };
            self.store_value(node, ustr("Attributes"), Some(Variant::Attributes(all)));
            return Ok(());
        }
        let class = self.class(node);
        let value = value.map(|value| self.to_variant(class, property, value)).transpose()?;
        let key = self.intern_key(property);
        if let Some(value) = &value {
            self.check_storable(node, key, value)?;
        }
        self.store_value(node, key, value);
        Ok(())
    }

    /// Interns a property name. Keeps the last one, because edits tend to repeat it.
    fn intern_key(&mut self, property: &str) -> Ustr {
        if self.last_key.as_str() != property {
            self.last_key = ustr(property);
        }
        self.last_key
    }

    pub(super) fn store_value(&mut self, node: Node, key: Ustr, value: Option<Variant>) {
        if let Some(to) = value.as_ref().and_then(referenced_instance)
            && let Some(pointers) = &mut self.journal.pointers
        {
            pointers.entry(to).or_default().push((node.0, key));
        }
        let column = self.edits.column_for(self.tree.class(node.0), key);
        let before = self.edits.put_value(column, node.0, value);
        self.texts.note_property(node.0, key);
        self.journal.push(JournalStep::Stored { node: node.0, column, before });
    }

    /// Stores values of a property of instances of one class. `value_of` returns the value for a
    /// position in `nodes`, or that it is the one before. No value is a text or a reference.
    pub(super) fn store_values(
        &mut self,
        class: u32,
        key: Ustr,
        nodes: Vec<u32>,
        mut value_of: impl FnMut(usize) -> NextValue,
    ) {
        let column = self.edits.column_for(class, key);
        let pool_len = self.edits.pool_len();
        let mut slot = UNTOUCHED;
        let slots: Vec<EditSlot> = (0..nodes.len())
            .map(|at| {
                if let NextValue::New(value) = value_of(at) {
                    slot = self.edits.slot_for(value);
                }
                slot
            })
            .collect();
        let before = self.edits.put_slots(column, &nodes, |at| slots[at]);
        let many = ManyStored { column, nodes, before, pool_len };
        self.journal.push(JournalStep::StoredMany(Box::new(many)));
    }

    /// Moves an instance to another parent, or to another position among its siblings.
    ///
    /// # Errors
    /// `parent` is the instance itself or one of its descendants.
    pub fn move_to(&mut self, node: Node, parent: Node, index: Option<u32>) -> Result<(), Refusal> {
        if self.is_within(parent, node) {
            return refuse!(
                "{} cannot be moved into {}, which is a part of it.",
                self.path(node),
                self.path(parent)
            );
        }
        let Some(before) = self.tree.parent(node.0) else {
            return refuse!("`game` itself cannot be moved.");
        };
        let at = self.index(node);
        self.tree.unlink(node.0);
        self.tree.link(node.0, parent.0, index.map(|index| index as usize));
        self.journal.push(JournalStep::Moved { node: node.0, parent: before, index: at });
        Ok(())
    }

    /// Deletes an instance and its descendants. References to it become empty when the scene is
    /// written.
    pub fn delete(&mut self, node: Node) {
        let Some(parent) = self.tree.parent(node.0) else {
            return;
        };
        let index = self.index(node);
        self.tree.unlink(node.0);
        self.deleted.insert(node.0);
        self.journal.push(JournalStep::Deleted { node: node.0, parent, index });
    }

    /// Returns references into a subtree from outside it, as (holder, property, referenced
    /// instance).
    pub fn references_into(&mut self, root: Node) -> Vec<(Node, String, Node)> {
        let pointers = self.journal.pointers.take().unwrap_or_else(|| self.pointer_map());
        let (mut found, mut seen) = (Vec::new(), FxHashSet::default());
        for node in self.tree.subtree(root.0) {
            for (holder, property) in pointers.get(&node).into_iter().flatten() {
                let to =
                    self.variant_of(*holder, *property).as_deref().and_then(referenced_instance);
                let holder = Node(*holder);
                if to == Some(node)
                    && self.is_live(holder)
                    && !self.is_within(holder, root)
                    && seen.insert((holder, property, node))
                {
                    found.push((holder, property.to_string(), Node(node)));
                }
            }
        }
        self.journal.pointers = Some(pointers);
        found
    }

    pub(super) fn pointer_map(&self) -> PointerMap {
        let mut pointers = PointerMap::default();
        for (holder, key, to) in self.file.references() {
            pointers.entry(to).or_default().push((holder, key));
        }
        let changed: FxHashSet<u32> =
            self.edits.nodes().chain(self.bases.keys().copied()).collect();
        let mut changed: Vec<u32> = changed.into_iter().collect();
        changed.sort_unstable();
        for node in changed {
            for (key, to) in self.references_from(node) {
                pointers.entry(to).or_default().push((node, key));
            }
        }
        pointers
    }

    fn add_pointers(&self, pointers: &mut PointerMap, root: u32) {
        for node in self.tree.subtree(root) {
            for (key, to) in self.references_from(node) {
                pointers.entry(to).or_default().push((node, key));
            }
        }
    }

    /// Returns the properties of an instance that refer to another, sorted by name.
    fn references_from(&self, node: u32) -> Vec<(Ustr, u32)> {
        let base = self.base_of(node);
        let mut keys = base.map_or_else(Vec::new, |base| self.file.reference_keys(base));
        keys.retain(|key| self.edit_of(node, *key) == PropertyEdit::None);
        let columns = self.edits.columns_of_class(self.tree.class(node));
        keys.extend(columns.map(|column| column.key).filter(
            |key| matches!(self.edit_of(node, *key), PropertyEdit::Set(value) if referenced_instance(value).is_some()),
        ));
        let reference =
            |key| Some((key, referenced_instance(self.variant_of(node, key)?.as_ref())?));
        let mut found: Vec<_> = keys.into_iter().filter_map(reference).collect();
        found.sort_unstable_by_key(|(key, _)| key.as_str());
        found
    }

    /// Returns references from a subtree to live instances outside it, as (position of the holder
    /// in the subtree walk, property, referenced instance).
    pub fn references_out_of(&self, root: Node) -> Vec<(usize, String, Node)> {
        let mut found = Vec::new();
        for (at, node) in self.tree.subtree(root.0).enumerate() {
            for (key, to) in self.references_from(node) {
                let to = Node(to);
                if self.is_live(to) && !self.is_within(to, root) {
                    found.push((at, key.to_string(), to));
                }
            }
        }
        found
    }

    /// Encodes a subtree, which may be deleted, as a model with one root in the scene's format.
    ///
    /// # Errors
    /// The format cannot hold a value of the subtree.
    pub fn encode_subtree(&self, root: Node) -> Result<Vec<u8>, CodecError> {
        let mut model = Self::empty(self.format());
        let node = model.copy_subtrees(self, &[root.0]);
        model.copy_ids(self, root.0, node);
        model.tree.link(node, ROOT, None);
        model.encode()
    }
}

/// Whether a hidden value is overridden by another value for the same property. If that other value
/// were removed later, the hidden one would take effect.
pub(super) fn is_shadowed(class: &str, key: Ustr) -> bool {
    key.strip_prefix(HIDDEN).is_some_and(|name| !reflection::script_names(class, name).is_empty())
}

/// Returns the instance that a value refers to.
pub(super) fn referenced_instance(value: &Variant) -> Option<u32> {
    match value {
        Variant::Ref(to) => node_of(*to),
        Variant::Content(content) => match content.value() {
            ContentType::Object(to) => node_of(*to),
            _ => None,
        },
        _ => None,
    }
}

/// Returns the value with its reference redirected to the copy, or cleared if there is none.
fn remap_references(value: &Variant, copies: &FxHashMap<u32, u32>) -> Variant {
    let Some(to) = referenced_instance(value) else {
        return value.clone();
    };
    let to = copies.get(&to).map(|copy| reference_to(*copy));
    match value {
        Variant::Content(_) => to.map_or_else(Content::none, Content::from_referent).into(),
        _ => to.unwrap_or_else(rbx_types::Ref::none).into(),
    }
}
