//! Property edits since the file was read, by class, property and instance, as an overlay on the
//! file.
//!
//! Most edits give many instances the same value, so values are stored in a pool and each instance
//! holds an index into it. This module knows nothing about file content.

use rbx_dom_weak::Ustr;
use rbx_types::{Matrix3, Variant, VariantType, Vector3};
use rustc_hash::FxHashMap;

/// The edit of a property of an instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum PropertyEdit<'a> {
    /// Not edited: the value of the file applies.
    None,
    /// The stored value was removed.
    Removed,
    Set(&'a Variant),
}

/// The index of a value in the pool, or one of the two constants below.
pub(super) type EditSlot = u32;
/// The slot of a property that was not edited.
pub(super) const UNTOUCHED: EditSlot = u32::MAX;
const REMOVED: EditSlot = u32::MAX - 1;

/// The number of instances per page.
const PAGE: usize = 64;

/// The edits of one property of one class. Edits mostly affect runs of instances, so slots are
/// stored in pages of neighbouring node numbers.
#[derive(Debug, Clone)]
pub(super) struct EditColumn {
    pub(super) key: Ustr,
    pages: FxHashMap<u32, Box<[EditSlot; PAGE]>>,
    len: usize,
}

impl EditColumn {
    fn new(key: Ustr) -> Self {
        Self { key, pages: FxHashMap::default(), len: 0 }
    }

    /// Returns the edited instances, unordered.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> {
        self.pages.iter().flat_map(|(page, slots)| {
            let is_set = |(_, slot): &(u32, &EditSlot)| **slot != UNTOUCHED;
            (page * PAGE as u32..).zip(slots.iter()).filter(is_set).map(|(node, _)| node)
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the slot of an instance. Equal slots mean equal values.
    pub(super) fn slot(&self, node: u32) -> EditSlot {
        let page = self.pages.get(&(node / PAGE as u32));
        page.map_or(UNTOUCHED, |slots| slots[node as usize % PAGE])
    }

    pub(super) fn has_node(&self, node: u32) -> bool {
        self.slot(node) != UNTOUCHED
    }

    fn put_in_column(&mut self, node: u32, slot: EditSlot) -> EditSlot {
        let page = node / PAGE as u32;
        if slot == UNTOUCHED && !self.pages.contains_key(&page) {
            return UNTOUCHED;
        }
        let slots = self.pages.entry(page).or_insert_with(|| Box::new([UNTOUCHED; PAGE]));
        replace_slot(slots, &mut self.len, node, slot)
    }

    /// Puts the slots of several instances, and returns those before; none if all were untouched.
    fn put_slots(
        &mut self,
        nodes: &[u32],
        mut slot_of: impl FnMut(usize) -> EditSlot,
    ) -> Vec<EditSlot> {
        let mut before: Vec<EditSlot> = Vec::new();
        let mut done = 0;
        for run in nodes.chunk_by(|one, next| one / PAGE as u32 == next / PAGE as u32) {
            let page = run.first().map_or(0, |node| node / PAGE as u32);
            let slots = self.pages.entry(page).or_insert_with(|| Box::new([UNTOUCHED; PAGE]));
            for node in run {
                let old = replace_slot(slots, &mut self.len, *node, slot_of(done));
                if old != UNTOUCHED && before.is_empty() {
                    before = vec![UNTOUCHED; nodes.len()];
                }
                if let Some(kept) = before.get_mut(done) {
                    *kept = old;
                }
                done += 1;
            }
        }
        before
    }
}

/// Replaces a slot in a page, and counts it. Returns the one before.
fn replace_slot(
    page: &mut [EditSlot; PAGE],
    len: &mut usize,
    node: u32,
    slot: EditSlot,
) -> EditSlot {
    let before = std::mem::replace(&mut page[node as usize % PAGE], slot);
    *len += usize::from(slot != UNTOUCHED);
    *len -= usize::from(before != UNTOUCHED);
    before
}

#[derive(Debug, Clone, Default)]
pub(super) struct EditTable {
    columns: Vec<EditColumn>,
    by_key: FxHashMap<(u32, Ustr), u32>,
    by_class: FxHashMap<u32, Vec<u32>>,
    pool: Vec<Variant>,
}

impl EditTable {
    /// Returns the column of a property of a class; creates it if needed.
    pub(super) fn column_for(&mut self, class: u32, key: Ustr) -> u32 {
        let new = self.columns.len() as u32;
        let column = *self.by_key.entry((class, key)).or_insert(new);
        if column == new {
            self.columns.push(EditColumn::new(key));
            self.by_class.entry(class).or_default().push(new);
        }
        column
    }

    pub(super) fn key_of(&self, column: u32) -> Option<Ustr> {
        self.columns.get(column as usize).map(|column| column.key)
    }

    /// Whether no property of any instance was edited.
    pub(super) fn is_empty(&self) -> bool {
        self.columns.iter().all(EditColumn::is_empty)
    }

    /// Sets or removes the value of a property and returns the previous slot.
    pub(super) fn put_value(&mut self, column: u32, node: u32, value: Option<Variant>) -> EditSlot {
        let slot = self.slot_for(value);
        self.put_slot(column, node, slot)
    }

    /// Returns the slot of a value, or of none.
    pub(super) fn slot_for(&mut self, value: Option<Variant>) -> EditSlot {
        let Some(value) = value else {
            return REMOVED;
        };
        if !self.pool.last().is_some_and(|last| is_same(last, &value)) {
            self.pool.push(value);
        }
        self.pool.len() as u32 - 1
    }

    /// Puts the slots of several instances, and returns those before; none if all were untouched.
    pub(super) fn put_slots(
        &mut self,
        column: u32,
        nodes: &[u32],
        slot_of: impl FnMut(usize) -> EditSlot,
    ) -> Vec<EditSlot> {
        let column = self.columns.get_mut(column as usize);
        column.map_or_else(Vec::new, |column| column.put_slots(nodes, slot_of))
    }

    pub(super) fn pool_len(&self) -> usize {
        self.pool.len()
    }

    /// Drops the values that were added since the pool had this length. No edit may have them.
    pub(super) fn truncate_pool(&mut self, len: usize) {
        self.pool.truncate(len);
    }

    pub(super) fn put_slot(&mut self, column: u32, node: u32, slot: EditSlot) -> EditSlot {
        let column = self.columns.get_mut(column as usize);
        column.map_or(UNTOUCHED, |column| column.put_in_column(node, slot))
    }

    /// Removes all edits of an instance.
    pub(super) fn forget_node(&mut self, class: u32, node: u32) {
        for column in self.by_class.get(&class).into_iter().flatten() {
            if let Some(column) = self.columns.get_mut(*column as usize) {
                column.put_in_column(node, UNTOUCHED);
            }
        }
    }

    /// Copies all edits of an instance to another of the same class.
    pub(super) fn copy_node(&mut self, class: u32, from: u32, to: u32) {
        for column in self.by_class.get(&class).into_iter().flatten() {
            if let Some(column) = self.columns.get_mut(*column as usize) {
                column.put_in_column(to, column.slot(from));
            }
        }
    }

    /// Returns the edit of a property of an instance.
    pub(super) fn edit_of(&self, class: u32, key: Ustr, node: u32) -> PropertyEdit<'_> {
        self.edit_of_slot(self.slot_of(class, key, node))
    }

    /// Returns the slot of a property of an instance.
    pub(super) fn slot_of(&self, class: u32, key: Ustr, node: u32) -> EditSlot {
        let column = self.by_key.get(&(class, key)).and_then(|at| self.columns.get(*at as usize));
        column.map_or(UNTOUCHED, |column| column.slot(node))
    }

    /// Returns the edit of an instance in a column.
    pub(super) fn edit_in_column(&self, column: &EditColumn, node: u32) -> PropertyEdit<'_> {
        self.edit_of_slot(column.slot(node))
    }

    /// Returns the edit that a slot denotes.
    pub(super) fn edit_of_slot(&self, slot: EditSlot) -> PropertyEdit<'_> {
        match slot {
            UNTOUCHED => PropertyEdit::None,
            REMOVED => PropertyEdit::Removed,
            slot => self.pool.get(slot as usize).map_or(PropertyEdit::None, PropertyEdit::Set),
        }
    }

    /// Returns the edited instances, unordered and with duplicates.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> {
        self.columns.iter().flat_map(EditColumn::nodes)
    }

    /// Returns the column of a property of a class; None if no instance has an edit in it.
    pub(super) fn column_of_key(&self, class: u32, key: Ustr) -> Option<&EditColumn> {
        let column = self.columns.get(*self.by_key.get(&(class, key))? as usize)?;
        (!column.is_empty()).then_some(column)
    }

    /// Returns the columns of a class that hold edits.
    pub(super) fn columns_of_class(&self, class: u32) -> impl Iterator<Item = &EditColumn> {
        let columns = self.by_class.get(&class).into_iter().flatten();
        columns.filter_map(|at| self.columns.get(*at as usize)).filter(|it| !it.is_empty())
    }
}

/// Whether two values are bitwise identical, if that is cheap to check; false otherwise. Zeros of
/// different sign are equal but not identical.
pub(super) fn is_same(one: &Variant, other: &Variant) -> bool {
    let bits = |numbers: [f32; 3]| numbers.map(f32::to_bits);
    let vector = |it: Vector3| bits([it.x, it.y, it.z]);
    let rotation = |it: &Matrix3| [vector(it.x), vector(it.y), vector(it.z)];
    match (one, other) {
        (Variant::Float32(one), Variant::Float32(other)) => one.to_bits() == other.to_bits(),
        (Variant::Float64(one), Variant::Float64(other)) => one.to_bits() == other.to_bits(),
        (Variant::Vector3(one), Variant::Vector3(other)) => vector(*one) == vector(*other),
        (Variant::Color3(one), Variant::Color3(other)) => {
            bits([one.r, one.g, one.b]) == bits([other.r, other.g, other.b])
        }
        (Variant::CFrame(one), Variant::CFrame(other)) => {
            vector(one.position) == vector(other.position)
                && rotation(&one.orientation) == rotation(&other.orientation)
        }
        _ => has_no_fractions(one) && one == other,
    }
}

fn has_no_fractions(value: &Variant) -> bool {
    matches!(
        value.ty(),
        VariantType::BinaryString
            | VariantType::Bool
            | VariantType::BrickColor
            | VariantType::Color3uint8
            | VariantType::Content
            | VariantType::ContentId
            | VariantType::Enum
            | VariantType::Font
            | VariantType::Int32
            | VariantType::Int64
            | VariantType::Ref
            | VariantType::SharedString
            | VariantType::String
            | VariantType::Tags
    )
}
