//! Writes property columns: determines which of them an edit affects, and builds their cells.
//!
//! A column keeps its type in the file as long as that type can hold all values. Files of older
//! versions of Studio store some properties in another type than reflection declares, such as
//! references where there are strings now. The column of a deprecated property is replaced by
//! columns of the current ones once a value is set or a new instance is added.

use std::collections::BTreeSet;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{Variant, VariantType};

use super::{BinaryOutput, GroupRows, prop_chunk};
use crate::binary::column::PropertyColumn;
use crate::binary::column_writer::ColumnWriter;
use crate::binary::layout::ty;
use crate::binary::{ClassGroup, cell};
use crate::codec::CodecError;
use crate::edits::{EditColumn, EditSlot, PropertyEdit, UNTOUCHED};
use crate::property_layout::{HIDDEN, ValueSource};
use crate::reflection;

/// A column to write.
struct ColumnPlan<'a> {
    key: Ustr,
    /// The name in the file.
    name: String,
    ty: u8,
    edits: Option<&'a EditColumn>,
    /// The source of the cells of unedited rows, which are copied unchanged.
    column: Option<&'a PropertyColumn>,
    /// The number in the file of the group that `column` belongs to.
    source_group: Option<u32>,
    /// The cell of an instance without a value.
    blank: Vec<u8>,
    /// Whether a null reference counts as no value if the type cannot hold references.
    skips_null: bool,
    /// The last written cell and its slot: consecutive instances often have the same value.
    last_cell: (EditSlot, Vec<u8>),
}

impl ColumnPlan<'_> {
    /// Returns the edit slot of an instance.
    fn slot_of(&self, node: u32) -> EditSlot {
        self.edits.map_or(UNTOUCHED, |edits| edits.slot(node))
    }
}

impl<'a> BinaryOutput<'a> {
    pub(super) fn read_column(
        &self,
        group: &ClassGroup,
        prop: u32,
    ) -> Result<&'a PropertyColumn, CodecError> {
        let binary = self.binary;
        binary.column_at(prop).map_err(|why| {
            let name = &binary.props[prop as usize].name;
            CodecError::Write(format!(
                "the property `{name}` of {} is not understood ({why}), so no {} can come or go",
                group.name, group.name
            ))
        })
    }

    /// Returns the edits of a property; None if they affect no instance of the group.
    fn edits_of(&self, rows: &GroupRows<'_>, key: Ustr) -> Option<&'a EditColumn> {
        let class = self.class_number(rows.group)?;
        let column = self.changes.edits.column_of_key(class, key)?;
        let first = rows.group.first;
        let is_here = |node: u32| {
            (first..first + rows.group.rows).contains(&node) || rows.added.contains(node)
        };
        column.nodes().any(is_here).then_some(column)
    }

    fn class_number(&self, group: &ClassGroup) -> Option<u32> {
        self.changes.tree.class_names.find(&group.name)
    }

    pub(super) fn write_prop(
        &mut self,
        rows: &GroupRows<'_>,
        at: u32,
        prop: u32,
    ) -> Result<(), CodecError> {
        let (group, binary) = (rows.group, self.binary);
        let layout = binary.layout_of(group);
        let keys: Vec<Ustr> = layout.names_at(at).collect();
        let sources = keys.iter().filter_map(|key| layout.get(*key));
        let is_replaced = sources.clone().any(|source| source.migration.is_some());
        let edits: Vec<_> = keys.iter().map(|key| self.edits_of(rows, *key)).collect();
        let is_set = edits.iter().any(Option::is_some);
        let has_new = rows.added.iter().any(|node| !self.changes.bases.contains_key(&node));
        if rows.is_unchanged() && !is_set && !self.has_deleted_target(prop) {
            return Ok(());
        }
        let chunk = binary.props[prop as usize].chunk;
        let column = self.read_column(group, prop)?;
        let name = binary.props[prop as usize].name.clone();
        if is_replaced && (is_set || has_new) {
            // The properties that replaced it take its place.
            self.drop_chunk(chunk);
            for (key, edits) in keys.into_iter().zip(edits) {
                self.rewrite_column(rows, key, edits)?;
            }
            return Ok(());
        }
        let edits = edits.into_iter().flatten().next();
        let key = keys.first().copied().unwrap_or_else(|| ustr(&name));
        let source = if is_replaced { None } else { layout.get(key) };
        let ty = column.type_byte();
        let blank = self.blank_cell(group, key, source, ty, Some(column))?;
        let last = (UNTOUCHED, Vec::new());
        let (column, source_group) = (Some(column), Some(group.type_id));
        let plan = ColumnPlan {
            key,
            name,
            ty,
            edits,
            column,
            source_group,
            blank,
            skips_null: false,
            last_cell: last,
        };
        if (has_new || is_set) && self.is_default_unstorable(group, key, ty) {
            // Keep the type in the file only if no other type can hold all values.
            let known = self.known_column(rows, key, edits)?;
            if let Some((name, content)) = known {
                self.drop_chunk(chunk);
                return self.insert_prop(group, &name, &content);
            }
        }
        if let Some(content) = self.column_chunk(rows, plan)? {
            return self.replace_chunk(chunk, &content);
        }
        // The older type in the file cannot hold a value.
        self.drop_chunk(chunk);
        self.rewrite_column(rows, key, edits)
    }

    /// Whether a type cannot hold the default of a property. An empty text counts as no value in a
    /// type without texts, so every type can hold it.
    fn is_default_unstorable(&mut self, group: &ClassGroup, key: Ustr, ty: u8) -> bool {
        let Some(default) = reflection::default_of(&group.name, &key) else {
            return false;
        };
        let is_empty = matches!(default, Variant::String(text) if text.is_empty());
        !is_empty && !cell::write_cell(ty, default, self, &mut Vec::new())
    }

    /// Whether a column of references points to a deleted instance.
    fn has_deleted_target(&self, prop: u32) -> bool {
        let ty = self.binary.props[prop as usize].ty;
        let can_point = matches!(ty, Some(ty::REF | ty::CONTENT));
        if self.changes.removed.is_empty() || !can_point {
            return false;
        }
        let Ok(column) = self.binary.column_at(prop) else {
            return false;
        };
        (0..column.row_count()).any(|row| self.is_target_deleted(column, row))
    }

    fn is_target_deleted(&self, column: &PropertyColumn, row: usize) -> bool {
        self.binary
            .pointed_node(column, row)
            .is_some_and(|node| self.changes.removed.contains(&node))
    }

    /// Writes the properties that were set and that the file does not have for the class.
    pub(super) fn write_new_props(&mut self, rows: &GroupRows<'_>) -> Result<(), CodecError> {
        let layout = self.binary.layout_of(rows.group);
        let Some(class) = self.class_number(rows.group) else {
            return Ok(());
        };
        let columns = self.changes.edits.columns_of_class(class);
        let mut keys: Vec<Ustr> =
            columns.map(|it| it.key).filter(|key| layout.get(*key).is_none()).collect();
        keys.sort_unstable_by_key(Ustr::as_str);
        for key in keys {
            if let Some(edits) = self.edits_of(rows, key)
                && rows.nodes().any(|node| {
                    matches!(self.changes.edits.edit_in_column(edits, node), PropertyEdit::Set(_))
                })
            {
                self.rewrite_column(rows, key, Some(edits))?;
            }
        }
        Ok(())
    }

    /// Writes a column as current files have it. If the declared type cannot hold the values, uses
    /// the type of the values.
    fn rewrite_column(
        &mut self,
        rows: &GroupRows<'_>,
        key: Ustr,
        edits: Option<&'a EditColumn>,
    ) -> Result<(), CodecError> {
        let group = rows.group;
        let mut found = self.known_column(rows, key, edits)?;
        if found.is_none() {
            let known = reflection::stored_name(&group.name, &key).map(|(_, kind)| kind);
            let types: BTreeSet<u8> =
                self.value_kinds(rows, key, edits).into_iter().filter_map(cell::type_of).collect();
            let known = known.and_then(cell::type_of).map(|ty| (ty, true));
            // As a last resort, use the declared type and treat null references as no value.
            for (ty, skips_null) in types.into_iter().map(|ty| (ty, false)).chain(known) {
                found = self.typed_column(rows, key, edits, ty, skips_null)?;
                if found.is_some() {
                    break;
                }
            }
        }
        let (name, content) = found.ok_or_else(|| storage_error(&group.name, &key))?;
        self.insert_prop(group, &name, &content)
    }

    /// Builds a column in the declared type, with its name; None if that type cannot hold a value.
    /// If reflection does not know the property, uses the type of its values.
    fn known_column(
        &mut self,
        rows: &GroupRows<'_>,
        key: Ustr,
        edits: Option<&'a EditColumn>,
    ) -> Result<Option<(String, Vec<u8>)>, CodecError> {
        let known = reflection::stored_name(&rows.group.name, &key).map(|(_, kind)| kind);
        let kind = known.or_else(|| {
            self.value_kinds(rows, key, edits).into_iter().max_by_key(|kind| *kind as u32)
        });
        match kind.and_then(cell::type_of) {
            Some(ty) => self.typed_column(rows, key, edits, ty, false),
            None => Ok(None),
        }
    }

    fn typed_column(
        &mut self,
        rows: &GroupRows<'_>,
        key: Ustr,
        edits: Option<&'a EditColumn>,
        ty: u8,
        skips_null: bool,
    ) -> Result<Option<(String, Vec<u8>)>, CodecError> {
        let known = reflection::stored_name(&rows.group.name, &key);
        let name =
            known.map_or_else(|| key.trim_start_matches(HIDDEN), |(name, _)| name).to_owned();
        let blank = self.blank_cell(rows.group, key, None, ty, None)?;
        let last = (UNTOUCHED, Vec::new());
        let (column, source_group, of) = (None, None, name.clone());
        let plan = ColumnPlan {
            key,
            name: of,
            ty,
            edits,
            column,
            source_group,
            blank,
            skips_null,
            last_cell: last,
        };
        Ok(self.column_chunk(rows, plan)?.map(|content| (name, content)))
    }

    /// Returns the distinct types of the values that were set; if none was, the type of a stored
    /// value.
    fn value_kinds(
        &self,
        rows: &GroupRows<'_>,
        key: Ustr,
        edits: Option<&'a EditColumn>,
    ) -> Vec<VariantType> {
        let set = |node: u32| match self.changes.edits.edit_in_column(edits?, node) {
            PropertyEdit::Set(value) => Some(value.ty()),
            _ => None,
        };
        let mut kinds: Vec<VariantType> = Vec::new();
        for kind in rows.nodes().filter_map(set) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        if kinds.is_empty() {
            let stored = rows.nodes().find_map(|node| self.binary.value_of(node, key));
            kinds.extend(stored.map(|value| value.ty()));
        }
        kinds
    }

    /// Builds the chunk of a column; None if its type cannot hold a value.
    fn column_chunk(
        &mut self,
        rows: &GroupRows<'_>,
        mut plan: ColumnPlan<'a>,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        let payload = self.column_payload(rows, &mut plan)?;
        Ok(payload.map(|it| prop_chunk(rows.group.type_id, &plan.name, plan.ty, &it)))
    }

    /// Inserts a new property among those of its class, in order of names.
    pub(super) fn insert_prop(
        &mut self,
        group: &ClassGroup,
        name: &str,
        content: &[u8],
    ) -> Result<(), CodecError> {
        let props = group.props.iter().chain(&group.names);
        let mut props: Vec<_> = props.map(|at| &self.binary.props[*at as usize]).collect();
        props.sort_unstable_by_key(|prop| prop.chunk);
        let next = props.iter().find(|prop| prop.name.as_str() > name).map(|prop| prop.chunk);
        let last = props.last().map(|prop| prop.chunk + 1);
        let before = next.or(last).unwrap_or_else(|| self.parents_chunk());
        self.insert_chunk(before, *b"PROP", content)
    }

    /// Returns the cell of an instance without a value.
    fn blank_cell(
        &mut self,
        group: &ClassGroup,
        key: Ustr,
        source: Option<&ValueSource>,
        ty: u8,
        column: Option<&PropertyColumn>,
    ) -> Result<Vec<u8>, CodecError> {
        let mut cell = Vec::new();
        if let Some(default) = reflection::default_of(&group.name, &key)
            && cell::write_cell(ty, default, self, &mut cell)
        {
            return Ok(cell);
        }
        let stored = || {
            let mut cell = Vec::new();
            let column = column.filter(|column| column.row_count() > 0)?;
            column.append_cell(0, &mut cell);
            cell::read_cell(ty, &cell, self.binary).map(|value| value.ty())
        };
        let known = reflection::stored_name(&group.name, &key).map(|(_, kind)| kind);
        let wanted = source.and_then(|source| source.want);
        let kinds = [known, wanted, stored(), cell::kind_of(ty)];
        for kind in kinds.into_iter().flatten() {
            cell.clear();
            if let Some(blank) = cell::blank_value(kind)
                && cell::write_cell(ty, &blank, self, &mut cell)
            {
                return Ok(cell);
            }
        }
        Err(storage_error(&group.name, &key))
    }

    /// Builds the cells of a column; None if its type cannot hold a value.
    fn column_payload(
        &mut self,
        rows: &GroupRows<'_>,
        plan: &mut ColumnPlan<'a>,
    ) -> Result<Option<Vec<u8>>, CodecError> {
        let name = plan.name.clone();
        let no_cell = || storage_error(&rows.group.name, &name);
        let mut writer = ColumnWriter::new(plan.ty, rows.len()).ok_or_else(no_cell)?;
        let group = rows.group;
        let mut run = 0..0_usize;
        for row in &rows.kept {
            let node = group.first + row;
            let at = *row as usize;
            let is_kept = plan.slot_of(node) == UNTOUCHED
                && plan.column.is_some_and(|column| !self.is_link_to_deleted(column, at));
            if is_kept && run.end == at && !run.is_empty() {
                run.end = at + 1;
                continue;
            }
            if let Some(column) = plan.column
                && !writer.push_rows(column, std::mem::replace(&mut run, 0..0))
            {
                return Err(no_cell());
            }
            if is_kept {
                run = at..at + 1;
                continue;
            }
            if !self.push_cell(plan, node, &mut writer)? {
                return Ok(None);
            }
        }
        if let Some(column) = plan.column
            && !writer.push_rows(column, run)
        {
            return Err(no_cell());
        }
        for node in rows.added.iter() {
            if !self.push_cell(plan, node, &mut writer)? {
                return Ok(None);
            }
        }
        Ok(Some(writer.finish()))
    }

    fn is_link_to_deleted(&self, column: &PropertyColumn, row: usize) -> bool {
        !self.changes.removed.is_empty() && self.is_target_deleted(column, row)
    }

    /// Appends the cell of one instance; returns false if the type cannot hold its value.
    fn push_cell(
        &mut self,
        plan: &mut ColumnPlan<'a>,
        node: u32,
        writer: &mut ColumnWriter,
    ) -> Result<bool, CodecError> {
        let slot = plan.slot_of(node);
        if slot == UNTOUCHED || slot != plan.last_cell.0 {
            let mut cell = std::mem::take(&mut plan.last_cell.1);
            cell.clear();
            match self.changes.edits.edit_of_slot(slot) {
                PropertyEdit::Removed => cell.extend_from_slice(&plan.blank),
                PropertyEdit::Set(value) => {
                    if !self.value_cell(plan, value, &mut cell) {
                        return Ok(false);
                    }
                }
                PropertyEdit::None => {
                    if !self.stored_cell(plan, node, &mut cell) {
                        return Ok(false);
                    }
                }
            }
            plan.last_cell = (slot, cell);
        }
        if !writer.push_row(&plan.last_cell.1) {
            let class = self.changes.tree.class_name(node);
            return Err(storage_error(class, &plan.name));
        }
        Ok(true)
    }

    /// Writes the cell of a value; returns false if the type cannot hold it.
    fn value_cell(&mut self, plan: &ColumnPlan<'a>, value: &Variant, out: &mut Vec<u8>) -> bool {
        if cell::write_cell(plan.ty, value, self, out) {
            return true;
        }
        let is_skipped = plan.skips_null && matches!(value, Variant::Ref(to) if to.is_none());
        if is_skipped {
            out.extend_from_slice(&plan.blank);
        }
        is_skipped
    }

    /// Writes the cell of an unedited instance, or of a copy of one; returns false if the type
    /// cannot hold its stored value.
    fn stored_cell(&mut self, plan: &ColumnPlan<'a>, node: u32, out: &mut Vec<u8>) -> bool {
        let read = if node < self.changes.tree.read_len() {
            Some(node)
        } else {
            self.changes.bases.get(&node).copied()
        };
        let Some((node, group)) = read.and_then(|node| Some((node, self.binary.group_of(node)?)))
        else {
            out.extend_from_slice(&plan.blank);
            return true;
        };
        if let Some(column) = plan.column {
            let row = (node - group.first) as usize;
            if plan.source_group == Some(group.type_id) && !self.is_link_to_deleted(column, row) {
                column.append_cell(row, out);
                return true;
            }
        }
        let Some(source) = self.binary.layout_of(group).get(plan.key) else {
            out.extend_from_slice(&plan.blank);
            return true;
        };
        let is_replaced = source.migration.is_some();
        match self.binary.value_of(node, plan.key) {
            Some(value) => self.value_cell(plan, &value, out),
            // The value stored for the deprecated property could not be translated.
            None if is_replaced => {
                out.extend_from_slice(&plan.blank);
                true
            }
            None => false,
        }
    }
}

fn storage_error(class: &str, property: &str) -> CodecError {
    let property = property.trim_start_matches(HIDDEN);
    CodecError::Write(format!(
        "a binary file has one type for `{property}` of all {class} instances, and none can hold all \
         of their values"
    ))
}
