//! Hashes what a file stores for one property of some instances of a class, column by column.
//!
//! The hash is that of the cells that a current file would have, in the type that reflection
//! declares. So it does not matter whether a value was edited since the file was read, which type an
//! older file has, or whether the file has a column of nothing but blank values. Columns in their
//! declared type are hashed as the file stores them, without taking them apart.

use std::ops::Range;

use rbx_dom_weak::Ustr;
use rbx_types::{Ref, SharedString, Variant};
use scene_schemas::FingerprintHasher;

use super::cell::{WriteLinks, blank_value, read_cell, type_of, write_cell};
use super::column::PropertyColumn;
use super::column_scan::UsedColumn;
use super::column_writer::ColumnWriter;
use super::layout::ty;
use super::{BinaryFile, ClassGroup};
use crate::edits::{EditColumn, EditTable, PropertyEdit};
use crate::reflection;

/// Instances of a class, as runs of rows that follow each other in the file.
pub(crate) struct ClassRows<'a> {
    groups: Vec<&'a ClassGroup>,
    /// The index of a group, and rows of it.
    runs: Vec<(usize, Range<usize>)>,
    len: usize,
}

impl<'a> ClassRows<'a> {
    /// Lists instances of one class. Skips those that are not in the file.
    pub(crate) fn new(file: &'a BinaryFile, nodes: &[u32]) -> Self {
        let mut rows = Self { groups: Vec::new(), runs: Vec::new(), len: 0 };
        for node in nodes {
            rows.add(file, *node);
        }
        rows
    }

    fn add(&mut self, file: &'a BinaryFile, node: u32) {
        if let Some((at, run)) = self.runs.last_mut()
            && let Some(group) = self.groups.get(*at)
            && node < group.first + group.rows
            && (node as usize).checked_sub(group.first as usize) == Some(run.end)
        {
            run.end += 1;
            self.len += 1;
            return;
        }
        let Some(group) = file.group_of(node) else {
            return;
        };
        let known = self.groups.iter().position(|known| std::ptr::eq(*known, group));
        let at = known.unwrap_or_else(|| {
            self.groups.push(group);
            self.groups.len() - 1
        });
        let row = (node - group.first) as usize;
        self.runs.push((at, row..row + 1));
        self.len += 1;
    }

    /// Returns the properties that the file has for the class, hidden ones included.
    pub(crate) fn keys(&self, file: &'a BinaryFile) -> impl Iterator<Item = Ustr> {
        self.groups.iter().flat_map(|group| file.layout_of(group).names().iter().copied())
    }
}

/// The cells of a property in current files.
struct ColumnForm {
    ty: u8,
    /// The cell of an instance without a value.
    blank: Vec<u8>,
}

impl ColumnForm {
    /// Returns the form of a property; None for one that no file can store, or that refers to other
    /// parts of the file by numbers.
    fn of_property(class: &str, key: &str) -> Option<Self> {
        let (_, kind) = reflection::stored_name(class, key)?;
        let ty = type_of(kind)?;
        if matches!(ty, ty::REF | ty::CONTENT | ty::UNIQUE_ID) {
            return None;
        }
        let default = reflection::default_of(class, key).cloned();
        let blank = [default, blank_value(kind)].into_iter().flatten().find_map(|value| {
            let mut cell = Vec::new();
            write_cell(ty, &value, &mut ContentLinks, &mut cell).then_some(cell)
        });
        blank.map(|blank| Self { ty, blank })
    }

    /// Whether the cells of a column are those of current files.
    fn is_form_of(&self, used: &UsedColumn<'_>) -> bool {
        // The cells of shared strings are numbers in a table of the file.
        used.source.migration.is_none()
            && used.column().type_byte() == self.ty
            && self.ty != ty::SHARED_STRING
    }

    /// Replaces `cell` by that of a value. One that current files cannot hold counts as none.
    fn put_value(&self, value: Option<&Variant>, cell: &mut Vec<u8>) {
        cell.clear();
        let is_written = value.is_some_and(|it| write_cell(self.ty, it, &mut ContentLinks, cell));
        if !is_written {
            self.put_blank(cell);
        }
    }

    fn put_blank(&self, cell: &mut Vec<u8>) {
        cell.clear();
        cell.extend_from_slice(&self.blank);
    }
}

/// Numbers shared strings by their content.
struct ContentLinks;

impl WriteLinks for ContentLinks {
    fn referent_of(&self, _: Ref) -> i32 {
        -1
    }

    fn shared_index(&mut self, shared: &SharedString) -> u32 {
        let hash = shared.hash();
        hash.as_bytes().first_chunk().map_or(0, |four| u32::from_le_bytes(*four))
    }
}

impl BinaryFile {
    /// Hashes the values of a property of instances of a class, in order, and its name. Hashes
    /// nothing if no instance has a value other than the default, or if the property refers to other
    /// instances. `edits` are those of the property since the file was read; None if there are none.
    pub(crate) fn hash_values(
        &self,
        class: &str,
        rows: &ClassRows<'_>,
        key: Ustr,
        edits: Option<(&EditTable, &EditColumn)>,
        hashing: &mut FingerprintHasher,
    ) {
        let Some(form) = ColumnForm::of_property(class, &key) else {
            return;
        };
        let columns: Vec<Option<UsedColumn<'_>>> =
            rows.groups.iter().map(|group| self.use_column(group, key)).collect();
        let runs = || rows.runs.iter().map(|(_, run)| run.clone());
        match (columns.as_slice(), edits) {
            ([Some(used)], None) if form.is_form_of(used) => {
                let column = used.column();
                if !runs().all(|run| has_only(column, run, &form.blank)) {
                    hash_text(&key, hashing);
                    column.visit_rows(&runs, &mut |bytes| hashing.update(bytes));
                }
            }
            (columns, edits) => {
                if let Some(bytes) = self.build_column(&form, rows, columns, edits) {
                    hash_text(&key, hashing);
                    hashing.update(&bytes);
                }
            }
        }
    }

    /// Builds the column that a current file would have for some instances; None if all their cells
    /// are blank.
    fn build_column(
        &self,
        form: &ColumnForm,
        rows: &ClassRows<'_>,
        columns: &[Option<UsedColumn<'_>>],
        edits: Option<(&EditTable, &EditColumn)>,
    ) -> Option<Vec<u8>> {
        let mut writer = ColumnWriter::new(form.ty, rows.len)?;
        let (mut cell, mut is_blank) = (Vec::new(), true);
        for (at, run) in &rows.runs {
            let used = columns[*at].as_ref();
            for row in run.clone() {
                let node = rows.groups[*at].first + row as u32;
                let edit = edits.map(|(edits, column)| edits.edit_in_column(column, node));
                match (edit.unwrap_or(PropertyEdit::None), used) {
                    (PropertyEdit::Set(value), _) => form.put_value(Some(value), &mut cell),
                    (PropertyEdit::Removed, _) | (PropertyEdit::None, None) => {
                        form.put_blank(&mut cell);
                    }
                    (PropertyEdit::None, Some(used)) => {
                        cell.clear();
                        used.column().append_cell(row, &mut cell);
                        if !form.is_form_of(used) {
                            let value = read_cell(used.column().type_byte(), &cell, self);
                            let value = value.and_then(|value| used.source.convert_value(value));
                            form.put_value(value.as_ref(), &mut cell);
                        }
                    }
                }
                is_blank &= cell == form.blank;
                let is_cell = writer.push_row(&cell);
                debug_assert!(is_cell, "a cell of another type");
            }
        }
        (!is_blank).then(|| writer.finish())
    }
}

/// Whether all rows of a run have the same cell.
fn has_only(column: &PropertyColumn, run: Range<usize>, cell: &[u8]) -> bool {
    let mut first = Vec::new();
    column.append_cell(run.start, &mut first);
    first == cell && column.equal_rows(run.start) >= run.len()
}

fn hash_text(text: &str, hashing: &mut FingerprintHasher) {
    hashing.update(&(text.len() as u64).to_le_bytes());
    hashing.update(text.as_bytes());
}
