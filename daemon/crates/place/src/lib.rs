//! Roblox places and models: a tree of instances with typed properties, read from `.rbxl`,
//! `.rbxlx`, `.rbxm` and `.rbxmx` files or mirrored from Studio.
//!
//! Callers address instances by [`Node`]. Every change is journalled, and [`Scene::rollback`]
//! reverts to a [`JournalMark`]. This crate must not know about tools, proposals, models or paths
//! on disk: it takes bytes, returns bytes, and performs whatever its caller requests. Nor must it
//! know what a planner keeps beside a scene: the project's memory, formatting settings, the code
//! index, and the instance that a call without a path refers to.

mod asset_model;
mod asset_preview;
mod attribute_access;
mod attributes;
mod binary;
mod bytes;
mod change;
mod codec;
mod content_uses;
mod convert;
mod debug_ids;
pub mod diff;
mod edits;
mod file;
mod fingerprint;
mod flat_tree;
mod fork;
mod ids;
mod instance_table;
mod interner;
pub mod merge;
mod mirror;
mod node_set;
mod planned_ids;
mod property_layout;
pub mod range;
mod raw_values;
mod read;
mod readable_value;
pub mod reflection;
mod scene_builder;
mod scene_changes;
mod script_texts;
pub mod selector;
mod siblings;
mod splice;
mod studio_facts;
mod tree;
mod variants;
mod xml;

use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{Ref, Variant, VariantType};
use rustc_hash::{FxHashMap, FxHashSet};
use scene_schemas::entry::Seq;
use scene_schemas::refusal::{Refusal, did_you_mean, refuse};
use scene_schemas::{InstanceId, InstancePath, Target, Value};

use self::binary::BinaryFile;
use self::change::EditJournal;
use self::diff::{SceneHashes, has_unique_ids};
use self::edits::{EditTable, PropertyEdit};
use self::file::SourceFile;
use self::ids::NewIds;
use self::property_layout::HIDDEN;
use self::scene_changes::SceneChanges;
use self::script_texts::TextChanges;
use self::splice::PieceList;
use self::tree::{InstanceTree, ROOT};

pub use self::asset_model::{AssetChoice, AssetModel};
pub use self::change::{DetachedSubtree, EditedNodes, JournalMark, SceneState};
pub use self::codec::{CodecError, FileFormat, READERS};
pub use self::content_uses::{ContentUse, ContentUses, MAX_CONTENT_USES};
pub use self::instance_table::{InstanceTable, SetGroup, SetGroups, default_value};
pub use self::mirror::{MissingFacts, OutOfSync};
pub use self::read::{PropertyOwner, read_property, read_props};
pub use self::readable_value::{MAX_READABLE_VALUES, ReadableContent, ReadableValue};
pub use self::scene_builder::{reference_of, referent_number, stored_form};
pub use self::splice::BytePatch;
pub use self::studio_facts::StudioSelection;
pub use self::variants::{StoredVariant, variant_value};

/// Handle to an instance of a scene. It stays valid while the instance is part of the scene.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Node(u32);

/// Returns the reference that points to a node; [`node_of`] is the inverse.
fn reference_to(node: u32) -> Ref {
    Ref::some(u128::from(node) + 1)
}

/// Returns the node that a reference points to; None for a null reference.
fn node_of(to: Ref) -> Option<u32> {
    let mut number = RefNumber(0);
    to.hash(&mut number);
    u32::try_from(number.0.checked_sub(1)?).ok()
}

/// Hasher that captures the number in a [`Ref`], which exposes it only through `Hash`.
struct RefNumber(u128);

impl Hasher for RefNumber {
    fn finish(&self) -> u64 {
        self.0 as u64
    }

    fn write(&mut self, _: &[u8]) {}

    fn write_u128(&mut self, number: u128) {
        self.0 = number;
    }
}

/// The number of instances at a change count of the tree.
#[derive(Debug, Clone, Copy)]
struct InstanceCount {
    change_count: u64,
    instances: u32,
}

/// A place or model: the file it was read from, its tree, and all edits since.
#[derive(Debug)]
pub struct Scene {
    file: SourceFile,
    tree: InstanceTree,
    edits: EditTable,
    /// For each copy, the instance of the file whose values apply where nothing was set.
    bases: FxHashMap<u32, u32>,
    /// The roots of the deleted subtrees.
    deleted: FxHashSet<u32>,
    /// The instances whose name may differ from the file.
    renamed: FxHashSet<u32>,
    /// The instances of asset previews, whose properties are unknown.
    asset_previews: FxHashSet<u32>,
    ids: NewIds,
    created: FxHashMap<u32, (Seq, u32)>,
    created_by_id: BTreeMap<(Seq, u32), u32>,
    /// The proposal that `new:K` ids without a proposal number belong to.
    scope: Seq,
    /// The number for the next created instance, if it is not the next in sequence.
    planned_number: Option<u32>,
    journal: EditJournal,
    /// The property that was set last, because comparing names is cheaper than interning.
    last_key: Ustr,
    /// The class, property and value type that [`Scene::set_property`] last found storable.
    last_storable: Option<(u32, Ustr, VariantType)>,
    /// All class, property and value type triples found storable so far.
    storable: FxHashSet<(u32, Ustr, VariantType)>,
    /// Per class number, whether the class is a script class; None if not computed yet.
    scripts: RefCell<Vec<Option<bool>>>,
    /// The file as last saved and as last built, as pieces of the file that was read.
    saved_pieces: PieceList,
    built_pieces: PieceList,
    /// The number of instances when they were last counted.
    counted: Cell<Option<InstanceCount>>,
    /// The scripts whose text may have changed.
    texts: TextChanges,
    /// The hashes of the instances as they were read.
    hashes: OnceCell<SceneHashes>,
}

impl Scene {
    /// Reads a place or model.
    ///
    /// # Errors
    /// The bytes are not a place or model, or use a feature that the reader does not support.
    pub fn decode(bytes: &[u8]) -> Result<Self, CodecError> {
        Self::open(bytes.into())
    }

    /// Opens a place or model. Reads the tree now and everything else on demand.
    ///
    /// # Errors
    /// The bytes are not a place or model, or use a feature that the reader does not support.
    pub fn open(bytes: Arc<[u8]>) -> Result<Self, CodecError> {
        SourceFile::open(bytes).map(|(file, tree)| Self::new(file, tree))
    }

    pub fn empty(format: FileFormat) -> Self {
        let (file, tree) = SourceFile::empty(format);
        Self::new(file, tree)
    }

    fn new(file: SourceFile, tree: InstanceTree) -> Self {
        let saved_pieces = PieceList::whole_file(file.bytes().len());
        Self {
            file,
            tree,
            edits: EditTable::default(),
            bases: FxHashMap::default(),
            deleted: FxHashSet::default(),
            renamed: FxHashSet::default(),
            asset_previews: FxHashSet::default(),
            ids: NewIds::default(),
            created: FxHashMap::default(),
            created_by_id: BTreeMap::new(),
            scope: Seq(0),
            planned_number: None,
            journal: EditJournal::default(),
            last_key: ustr(""),
            last_storable: None,
            storable: FxHashSet::default(),
            scripts: RefCell::default(),
            built_pieces: saved_pieces.clone(),
            saved_pieces,
            counted: Cell::default(),
            texts: TextChanges::default(),
            hashes: OnceCell::new(),
        }
    }

    /// Rebuilds the file in its original format; [`Scene::byte_runs`] returns its bytes.
    ///
    /// # Errors
    /// The format cannot hold a value that was set.
    pub fn rebuild_file(&mut self) -> Result<(), CodecError> {
        let Self { tree, edits, bases, renamed, deleted, .. } = self;
        let changes = SceneChanges::new(tree, edits, bases, renamed, deleted);
        self.ids.assign_ids(&self.file, &changes.added);
        self.built_pieces = self.file.write(&changes, &self.ids)?;
        Ok(())
    }

    /// Returns the bytes of the last built file, run by run.
    pub fn byte_runs(&self) -> impl Iterator<Item = &[u8]> {
        self.built_pieces.byte_runs(self.file.bytes())
    }

    /// Returns the patch that turns the last built file back into the saved file.
    pub fn reverse_patch(&self) -> BytePatch {
        self.saved_pieces.patch_from(&self.built_pieces, self.file.bytes())
    }

    /// Sets the built file to the saved file with these reverse patches applied. The caller's changes
    /// must revert everything that happened since those patches were recorded.
    pub fn apply_reverse_patches(&mut self, patches: &[BytePatch]) {
        self.built_pieces = patches
            .iter()
            .fold(self.saved_pieces.clone(), |pieces, patch| patch.apply_to_pieces(&pieces));
    }

    /// Builds the file in its original format and returns its bytes.
    ///
    /// # Errors
    /// The format cannot hold a value that was set.
    pub fn encode(&mut self) -> Result<Vec<u8>, CodecError> {
        self.rebuild_file()?;
        let mut bytes = Vec::with_capacity(self.built_pieces.len());
        self.byte_runs().for_each(|run| bytes.extend_from_slice(run));
        Ok(bytes)
    }

    /// Returns the format that the scene was read in.
    pub fn format(&self) -> FileFormat {
        self.file.format()
    }

    /// Returns user-readable descriptions of file content that is kept but cannot be shown.
    pub fn unsupported_items(&self) -> Vec<String> {
        self.file.unsupported_items()
    }

    /// Returns the reason why instances of a class cannot be created or deleted; None if they can.
    pub fn fixed_reason(&self, class: &str) -> Option<String> {
        self.file.fixed_reason(self.tree.class_names.find(class)?)
    }

    /// Whether the scene is a place. Otherwise it is a model, whose roots may be of any class.
    pub fn is_place(&self) -> bool {
        let root = self.root();
        (0..self.count_named(root, "Workspace"))
            .filter_map(|n| self.nth_named(root, "Workspace", n))
            .any(|node| self.class(node) == "Workspace")
    }

    /// Returns the number of instances. Counts them on every call.
    pub fn len(&self) -> usize {
        self.descendants(self.root()).count()
    }

    /// Returns the number of instances; for a place open in Studio, of mirrored ones. Counts them
    /// only after the tree has changed.
    pub fn instance_count(&self) -> u32 {
        if self.is_open_in_studio() {
            return self.mirrored_count();
        }
        let change_count = self.change_count();
        if let Some(counted) = self.counted.get().filter(|it| it.change_count == change_count) {
            return counted.instances;
        }
        let instances = self.len() as u32;
        self.counted.set(Some(InstanceCount { change_count, instances }));
        instances
    }

    /// Returns a number that differs after every change of the tree: an instance was added,
    /// removed, moved or renamed. Property changes do not affect it.
    pub fn change_count(&self) -> u64 {
        self.tree.change_count()
    }

    pub fn is_empty(&self) -> bool {
        self.children(self.root()).next().is_none()
    }

    pub fn root(&self) -> Node {
        Node(ROOT)
    }

    pub fn name(&self, node: Node) -> &str {
        if node == self.root() { "game" } else { self.tree.name_text(node.0) }
    }

    pub fn class(&self, node: Node) -> &str {
        self.tree.class_name(node.0)
    }

    /// Returns the parent of an instance; None for `game`.
    pub fn parent(&self, node: Node) -> Option<Node> {
        self.tree.parent(node.0).map(Node)
    }

    /// Returns the children of an instance, in order.
    pub fn children(
        &self,
        node: Node,
    ) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator {
        self.tree.children(node.0).map(Node)
    }

    /// Returns all descendants of an instance, depth first, in order.
    pub fn descendants(&self, node: Node) -> impl Iterator<Item = Node> {
        self.subtree(node).skip(1)
    }

    /// Returns an instance and all its descendants, depth first, in order.
    pub fn subtree(&self, node: Node) -> impl Iterator<Item = Node> {
        self.tree.subtree(node.0).map(Node)
    }

    /// Whether `node` is `ancestor` or one of its descendants.
    pub fn is_within(&self, node: Node, ancestor: Node) -> bool {
        self.tree.is_within(node.0, ancestor.0)
    }

    /// Whether an instance is part of the place, i.e. not deleted.
    pub fn is_live(&self, node: Node) -> bool {
        self.tree.contains(node.0) && self.is_within(node, self.root())
    }

    /// Returns the position of an instance among its siblings, from 0.
    pub fn index(&self, node: Node) -> u32 {
        self.tree.position(node.0).unwrap_or(0) as u32
    }

    fn edit_of(&self, node: u32, key: Ustr) -> PropertyEdit<'_> {
        self.edits.edit_of(self.tree.class(node), key, node)
    }

    /// Returns the instance of the file whose values apply where nothing was set.
    fn base_of(&self, node: u32) -> Option<u32> {
        if node < self.tree.read_len() { Some(node) } else { self.bases.get(&node).copied() }
    }

    /// Returns a stored property as the rbx crates represent it.
    fn variant_of(&self, node: u32, key: Ustr) -> Option<Cow<'_, Variant>> {
        match self.edit_of(node, key) {
            PropertyEdit::Set(value) => Some(Cow::Borrowed(value)),
            PropertyEdit::Removed => None,
            PropertyEdit::None => self.file.value_of(self.base_of(node)?, key).map(Cow::Owned),
        }
    }

    /// Returns the names of all stored properties of an instance, including hidden ones.
    fn stored_keys(&self, node: u32) -> Vec<Ustr> {
        let is_set = |key: Ustr| matches!(self.edit_of(node, key), PropertyEdit::Set(_));
        let class = self.tree.class_name(node);
        let read =
            self.base_of(node).map_or_else(Cow::default, |base| self.file.keys_of(base, class));
        let is_unedited = |key: &Ustr| matches!(self.edit_of(node, *key), PropertyEdit::None);
        let mut keys: Vec<Ustr> = read.iter().copied().filter(is_unedited).collect();
        let columns = self.edits.columns_of_class(self.tree.class(node));
        keys.extend(columns.map(|column| column.key).filter(|key| is_set(*key)));
        keys
    }

    /// Returns the binary file that holds all values of the scene; None if it is another source, or
    /// if values were set since.
    fn unedited_binary(&self) -> Option<&BinaryFile> {
        let is_as_read = self.edits.is_empty() && self.bases.is_empty();
        self.file.binary().filter(|_| is_as_read)
    }

    /// Whether nothing was changed since the file was read.
    fn is_as_read(&self) -> bool {
        !self.is_open_in_studio() && self.change_count() == 0 && self.edits.is_empty()
    }

    /// Whether two scenes are as they were read, from files with the same bytes.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.is_as_read() && other.is_as_read() && self.file.bytes() == other.file.bytes()
    }

    /// Hashes the instances of a scene that was just read, if comparing it with another will
    /// probably need that: it is then most of the work, and two scenes can be hashed at the same
    /// time. Instances with unique ids are paired without hashes.
    pub fn hash_instances(&self) {
        if self.is_as_read() && !has_unique_ids(self) {
            self.hashes.get_or_init(|| SceneHashes::of_scene(self));
        }
    }

    /// Returns what [`Scene::hash_instances`] computed, unless the scene was changed since.
    fn known_hashes(&self) -> Option<&SceneHashes> {
        self.hashes.get().filter(|_| self.is_as_read())
    }

    /// Returns the stored properties of an instance, as the rbx crates represent them, without
    /// hidden ones.
    fn properties(&self, node: Node) -> Vec<(Ustr, Variant)> {
        let mut all = self.stored_values(node);
        all.retain(|(key, _)| !key.starts_with(HIDDEN));
        all
    }

    /// Returns the stored properties of an instance, as the rbx crates represent them, including
    /// hidden ones of a binary file.
    fn stored_values(&self, node: Node) -> Vec<(Ustr, Variant)> {
        let mut all = Vec::new();
        if let Some(base) = self.base_of(node.0) {
            self.file.visit_values(base, self.class(node), &mut |key, value| {
                if self.edit_of(node.0, key) == PropertyEdit::None {
                    all.push((key, value));
                }
            });
        }
        for column in self.edits.columns_of_class(self.tree.class(node.0)) {
            if let PropertyEdit::Set(value) = self.edits.edit_in_column(column, node.0) {
                all.push((column.key, value.clone()));
            }
        }
        all
    }

    /// Returns the class names of the scene, indexed by class number.
    fn class_names(&self) -> Vec<Ustr> {
        (0..self.tree.class_names.len() as u32)
            .map(|id| ustr(self.tree.class_names.get(id)))
            .collect()
    }

    /// Returns the names of the stored properties, sorted. Attributes and tags are among them.
    pub fn stored_names(&self, node: Node) -> Vec<&'static str> {
        let keys = self.stored_keys(node.0).into_iter().map(|key| key.as_str());
        let mut names: Vec<_> = keys.filter(|name| !name.starts_with(HIDDEN)).collect();
        names.sort_unstable();
        names
    }

    /// Returns a stored property, an attribute (`@Key`) or `Name`; None if the file does not store
    /// it.
    pub fn stored_value(&self, node: Node, property: &str) -> Option<Value> {
        if property == "Name" {
            return Some(Value::String(self.tree.name_text(node.0).to_owned()));
        }
        if let Some(key) = property.strip_prefix('@') {
            return self.attribute(node, key);
        }
        let variant = self.variant_of(node.0, ustr(property))?;
        Some(self.to_value(self.class(node), property, &variant))
    }

    /// Returns the effective value of a property: the stored value or its default. Also resolves
    /// aliases, replaced properties and derived properties.
    pub fn value(&self, node: Node, property: &str) -> Option<Value> {
        if let Some(value) = self.stored_value(node, property) {
            return Some(value);
        }
        let class = self.class(node);
        match reflection::property_access(class, property)? {
            reflection::PropertyAccess::Stored(found) if found.name != property => {
                self.value(node, found.name)
            }
            reflection::PropertyAccess::Stored(found) => {
                let default = reflection::default_of(class, found.name)?;
                Some(self.to_value(class, found.name, default))
            }
            reflection::PropertyAccess::Migrated(migrated) => {
                self.value(node, migrated.to.first()?)
            }
            reflection::PropertyAccess::Derived(derived) => self.derive_value(node, derived),
        }
    }

    /// Returns the canonical path. Siblings of the same name are numbered.
    pub fn path(&self, node: Node) -> InstancePath {
        let mut segments = Vec::new();
        let mut at = node;
        while at != self.root() {
            let Some(parent) = self.parent(at) else { break };
            let index = self.tree.ordinal(at.0);
            segments.push(scene_schemas::path::Segment { name: self.name(at).to_owned(), index });
            at = parent;
        }
        segments.reverse();
        InstancePath { segments }
    }

    /// Returns the one instance that a path names, or a refusal that lists the candidates.
    pub fn resolve(&self, path: &InstancePath) -> Result<Node, Refusal> {
        let mut at = self.root();
        for segment in &path.segments {
            at = self.resolve_segment(at, segment, path)?;
        }
        Ok(at)
    }

    fn resolve_segment(
        &self,
        at: Node,
        segment: &scene_schemas::path::Segment,
        path: &InstancePath,
    ) -> Result<Node, Refusal> {
        let named = self.tree.count_named(at.0, &segment.name);
        let n = segment.index.unwrap_or(1) as usize;
        if n <= named && (named == 1 || segment.index.is_some()) {
            return self.nth_named(at, &segment.name, n - 1).ok_or_else(|| {
                Refusal(format!(
                    "There is no `{path}` any more; list_children shows what is there."
                ))
            });
        }
        let parent_path = self.path(at);
        if named == 0 {
            let near = did_you_mean(&segment.name, self.children(at).map(|child| self.name(child)));
            return refuse!(
                "There is no `{path}`: {parent_path} has no child named {:?}.{near} list_children shows \
                 what is there.",
                segment.name
            );
        }
        if segment.index.is_some() {
            return refuse!(
                "There is no `{path}`: {parent_path} has {} named {:?}, not {n}.",
                count_noun(named, "child", "children"),
                segment.name
            );
        }
        let list: Vec<_> = (0..named.min(8))
            .filter_map(|n| self.nth_named(at, &segment.name, n))
            .map(|node| format!("{} ({})", self.path(node), self.class(node)))
            .collect();
        let more = if named > 8 { ", …" } else { "" };
        refuse!("`{path}` fits {named} siblings; say which one: {}{more}.", list.join(", "))
    }

    /// Returns the number of children with a name.
    pub fn count_named(&self, parent: Node, name: &str) -> usize {
        self.tree.count_named(parent.0, name)
    }

    /// Returns the first child with a name.
    pub fn find_child(&self, parent: Node, name: &str) -> Option<Node> {
        self.nth_named(parent, name, 0)
    }

    /// Returns the nth child with a name, from 0.
    pub fn nth_named(&self, parent: Node, name: &str, n: usize) -> Option<Node> {
        self.tree.nth_named(parent.0, name, n).map(Node)
    }

    /// Returns the stable id of an instance.
    pub fn id(&self, node: Node) -> InstanceId {
        match self.created.get(&node.0) {
            Some((scope, k)) if *scope == self.scope => InstanceId::new_in_proposal(*k),
            Some((scope, k)) => InstanceId(format!("new:{scope}.{k}")),
            None => self.written_id(node),
        }
    }

    /// Returns the id of an instance in the last built file. An instance without a distinct id in
    /// the file is identified by its position in the file.
    pub fn written_id(&self, node: Node) -> InstanceId {
        if node == self.root() {
            return InstanceId("game".to_owned());
        }
        match self.file_id(node.0) {
            Some(id) if self.is_open_in_studio() => InstanceId(format!("{}{id}", mirror::PREFIX)),
            Some(id) => InstanceId(format!("ref:{id}")),
            None => match self.created.get(&node.0).filter(|_| self.is_open_in_studio()) {
                Some((scope, k)) => InstanceId(format!("new:{scope}.{k}")),
                None => InstanceId(format!("ref:#{}", node.0)),
            },
        }
    }

    /// Returns the instance with an id, even if it is deleted.
    pub fn by_id(&self, id: &InstanceId) -> Option<Node> {
        let text = id.0.as_str();
        if text == "game" {
            return Some(self.root());
        }
        let prefix = if self.is_open_in_studio() { mirror::PREFIX } else { "ref:" };
        if let Some(id) = text.strip_prefix(prefix) {
            return self.by_written_id(id).map(Node);
        }
        let local = text.strip_prefix("new:")?;
        let key = match local.split_once('.') {
            Some((scope, k)) => (Seq(scope.parse().ok()?), k.parse().ok()?),
            None => (self.scope, local.parse().ok()?),
        };
        self.created_by_id.get(&key).copied().map(Node)
    }

    fn by_written_id(&self, id: &str) -> Option<u32> {
        if let Some(place) = id.strip_prefix('#') {
            return place.parse().ok().filter(|node| *node < self.tree.read_len());
        }
        // Check new ids first: a deleted instance may have been restored under its old id.
        self.ids.node(id).or_else(|| self.file.node_of(id))
    }

    /// Returns the id of an instance in the file.
    fn file_id(&self, node: u32) -> Option<Cow<'_, str>> {
        self.ids.get(node).map(Cow::Borrowed).or_else(|| self.file.id_of(node))
    }

    /// Returns the target by which commands address an instance.
    pub fn target(&self, node: Node) -> Target {
        Target { id: self.id(node), path: self.path(node) }
    }

    /// Returns the instance that a command addresses. Its id and path must agree.
    pub fn locate(&self, target: &Target) -> Result<Node, Refusal> {
        let Some(node) = self.by_id(&target.id).filter(|node| self.is_live(*node)) else {
            return refuse!("{} is gone; ask for the change again.", target.path);
        };
        let path = self.path(node);
        if path != target.path {
            return refuse!(
                "{} is now {path}; ask for the change again so that you see what it touches.",
                target.path
            );
        }
        Ok(node)
    }

    /// Resolves a path to a target, whose id is the current one.
    pub fn target_by_path(&self, path: &InstancePath) -> Result<Target, Refusal> {
        self.resolve(path).map(|node| self.target(node))
    }
}

/// Formats a count with its noun: "1 child", "3 children".
pub fn count_noun(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

#[cfg(test)]
mod journal_tests;
