//! Reads one property, and the ordinals, of many instances that mostly follow each other in the
//! file, without finding their class and column again for each.

use std::borrow::Cow;

use rbx_dom_weak::Ustr;
use rbx_types::Variant;
use rustc_hash::FxHashMap;

use crate::Scene;
use crate::binary::ColumnReader;
use crate::edits::{EditColumn, PropertyEdit};
use crate::tree::{InstanceTree, NONE};

/// Reads one property of many instances.
pub(super) struct PropertyReader<'a> {
    scene: &'a Scene,
    key: Ustr,
    /// The class of the last instance, and the edits of the property in it.
    class: u32,
    edits: Option<&'a EditColumn>,
    column: Option<ColumnReader<'a>>,
}

impl<'a> PropertyReader<'a> {
    pub(super) fn new(scene: &'a Scene, key: Ustr) -> Self {
        Self { scene, key, class: NONE, edits: None, column: None }
    }

    /// Returns the stored value of an instance; None if it has none.
    pub(super) fn read(&mut self, node: u32) -> Option<Cow<'a, Variant>> {
        let Some(file) = self.scene.file.binary().filter(|_| node < self.scene.tree.read_len())
        else {
            return self.scene.variant_of(node, self.key);
        };
        let class = self.scene.tree.class(node);
        if class != self.class {
            self.class = class;
            self.edits = self.scene.edits.column_of_key(class, self.key);
        }
        let edit = self.edits.map(|column| self.scene.edits.edit_in_column(column, node));
        match edit.unwrap_or(PropertyEdit::None) {
            PropertyEdit::Set(value) => return Some(Cow::Borrowed(value)),
            PropertyEdit::Removed => return None,
            PropertyEdit::None => {}
        }
        if !self.column.as_ref().is_some_and(|column| column.covers(node)) {
            self.column = file.column_reader(node, self.key);
        }
        self.column.as_mut()?.read(node).map(Cow::Owned)
    }
}

/// The ordinals of instances among their siblings of the same name.
pub(super) struct SiblingOrdinals<'a> {
    tree: &'a InstanceTree,
    /// For each node, its ordinal from 1, 0 for the only one of a name, or [`NONE`] if unknown.
    known: Vec<u32>,
    /// For each name of the children of one parent, their number and how many of them were seen.
    names: FxHashMap<u32, [u32; 2]>,
}

impl<'a> SiblingOrdinals<'a> {
    pub(super) fn new(scene: &'a Scene) -> Self {
        let known = vec![NONE; scene.tree.len() as usize];
        Self { tree: &scene.tree, known, names: FxHashMap::default() }
    }

    /// Returns the ordinal of an instance from 1; 0 if it is the only one of its name.
    pub(super) fn ordinal(&mut self, node: u32) -> u32 {
        if self.known.get(node as usize) == Some(&NONE)
            && let Some(parent) = self.tree.parent(node)
        {
            self.number_children(parent);
        }
        self.known.get(node as usize).copied().filter(|ordinal| *ordinal != NONE).unwrap_or(0)
    }

    fn number_children(&mut self, parent: u32) {
        self.names.clear();
        for child in self.tree.children(parent) {
            self.names.entry(self.tree.name(child)).or_default()[0] += 1;
        }
        for child in self.tree.children(parent) {
            let [count, seen] = self.names.entry(self.tree.name(child)).or_default();
            *seen += 1;
            self.known[child as usize] = if *count > 1 { *seen } else { 0 };
        }
    }
}
