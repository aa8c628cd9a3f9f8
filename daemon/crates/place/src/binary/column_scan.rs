//! Whole columns at a time: what the values of each instance add up to, and which values of two
//! files may differ.
//!
//! Reading a file value by value decodes the same value for each of many instances. Here equal
//! neighbouring cells are found as bytes and decoded once, and columns that two files share are not
//! decoded at all. This module does not know what values mean: the caller hashes and compares them.

use rbx_dom_weak::Ustr;
use rbx_types::Variant;
use rustc_hash::FxHashMap;

use super::column::PropertyColumn;
use super::layout::ty;
use super::{BinaryFile, ClassGroup, PropChunk, cell};
use crate::property_layout::ValueSource;
use crate::tree::NONE;

/// A cell of more bytes is not remembered: hashing it costs as much as decoding it.
const MAX_KNOWN_CELL: usize = 64;
/// How many cells of a column are remembered.
const MAX_KNOWN: usize = 512;

/// A property of a class, and where a file stores it.
pub(super) struct UsedColumn<'a> {
    pub(super) source: &'a ValueSource,
    chunk: &'a PropChunk,
    column: ReadColumn<'a>,
}

/// A column that the file keeps, or one that was read for a single use.
enum ReadColumn<'a> {
    Kept(&'a PropertyColumn),
    Read(Box<PropertyColumn>),
}

impl UsedColumn<'_> {
    pub(super) fn column(&self) -> &PropertyColumn {
        match &self.column {
            ReadColumn::Kept(column) => column,
            ReadColumn::Read(column) => column,
        }
    }

    /// Whether a value depends on more than its cell.
    fn is_reference(&self) -> bool {
        matches!(self.column().type_byte(), ty::REF | ty::CONTENT)
    }

    /// Returns how many rows from `row` on have the same value as that row.
    fn equal_rows(&self, row: usize) -> usize {
        if self.is_reference() { 1 } else { self.column().equal_rows(row) }
    }
}

/// Hashes the values of whole columns.
pub(crate) trait ColumnHasher {
    /// What the values of one property of a class have in common.
    type Column;

    /// Returns None if the property is not to be hashed.
    fn column(&self, class: u32, key: Ustr) -> Option<Self::Column>;

    /// Hashes the value of an instance; 0 adds nothing.
    fn hash(&mut self, column: &Self::Column, node: u32, value: &Variant) -> u64;
}

/// The hashes of the cells of a column that were met already.
#[derive(Default)]
struct KnownCells {
    hashes: FxHashMap<Vec<u8>, u64>,
    looked_up: usize,
    found: usize,
}

impl KnownCells {
    /// Whether another look is worth it: not if nearly every cell is a new one.
    fn is_useful(&self) -> bool {
        self.looked_up < 2 * MAX_KNOWN || self.found > self.looked_up / 8
    }

    fn find(&mut self, cell: &[u8]) -> Option<u64> {
        let found = self.hashes.get(cell).copied();
        self.looked_up += 1;
        self.found += usize::from(found.is_some());
        found
    }

    fn insert(&mut self, cell: &[u8], hash: u64) {
        if self.hashes.len() < MAX_KNOWN {
            self.hashes.insert(cell.to_vec(), hash);
        }
    }
}

impl BinaryFile {
    /// Adds to the sum of each instance the hash of each of its readable properties, hidden ones
    /// included. Of equal neighbouring values only the first is hashed; each one if the values
    /// refer to others.
    pub(crate) fn sum_values<H: ColumnHasher>(&self, sums: &mut [u64], hasher: &mut H) {
        for group in &self.groups {
            for key in self.layout_of(group).names() {
                if let Some(column) = hasher.column(group.class, *key)
                    && let Some(used) = self.use_column(group, *key)
                {
                    self.sum_column(group, &used, sums, &mut |node, value| {
                        hasher.hash(&column, node, value)
                    });
                }
            }
        }
    }

    fn sum_column(
        &self,
        group: &ClassGroup,
        used: &UsedColumn<'_>,
        sums: &mut [u64],
        hash: &mut impl FnMut(u32, &Variant) -> u64,
    ) {
        let column = used.column();
        let (mut known, mut row, mut cell) = (KnownCells::default(), 0, Vec::new());
        while row < column.row_count() {
            cell.clear();
            column.append_cell(row, &mut cell);
            let node = group.first + row as u32;
            let is_known_later =
                cell.len() <= MAX_KNOWN_CELL && !used.is_reference() && known.is_useful();
            let found = if is_known_later { known.find(&cell) } else { None };
            let sum = found.unwrap_or_else(|| {
                let value = cell::read_cell(column.type_byte(), &cell, self);
                let value = value.and_then(|value| used.source.convert_value(value));
                value.map_or(0, |value| hash(node, &value))
            });
            if found.is_none() && is_known_later {
                known.insert(&cell, sum);
            }
            let run = used.equal_rows(row);
            if sum != 0 {
                let nodes = node as usize..node as usize + run;
                sums[nodes].iter_mut().for_each(|all| *all = all.wrapping_add(sum));
            }
            row += run;
        }
    }

    /// Visits the values of one property of all instances.
    pub(crate) fn visit_property(&self, key: Ustr, visit: &mut dyn FnMut(u32, Variant)) {
        for group in &self.groups {
            let Some(used) = self.use_column(group, key) else {
                continue;
            };
            let (column, mut cell) = (used.column(), Vec::new());
            for row in 0..group.rows {
                cell.clear();
                column.append_cell(row as usize, &mut cell);
                let value = cell::read_cell(column.type_byte(), &cell, self);
                if let Some(value) = value.and_then(|value| used.source.convert_value(value)) {
                    visit(group.first + row, value);
                }
            }
        }
    }

    /// Finds the column of a property; None if there is none that can be read. A column that is not
    /// loaded is not kept.
    pub(super) fn use_column<'a>(
        &'a self,
        group: &'a ClassGroup,
        key: Ustr,
    ) -> Option<UsedColumn<'a>> {
        let source = self.layout_of(group).get(key)?;
        let prop = *group.props.get(source.at as usize)?;
        let chunk = &self.props[prop as usize];
        let column = match chunk.column.get() {
            Some(kept) => ReadColumn::Kept(kept.as_ref().ok()?),
            None => ReadColumn::Read(Box::new(self.read_column(prop).ok()?)),
        };
        Some(UsedColumn { source, chunk, column })
    }

    fn chunk_of(&self, group: &ClassGroup, key: Ustr) -> Option<&PropChunk> {
        let source = self.layout_of(group).get(key)?;
        self.props.get(*group.props.get(source.at as usize)? as usize)
    }

    fn chunk_bytes(&self, prop: &PropChunk) -> &[u8] {
        &self.file[self.chunks[prop.chunk].at.clone()]
    }
}

/// Consecutive rows of a class whose counterparts in another file are consecutive as well.
#[derive(Debug, Clone, Copy)]
struct PairedRows {
    row: usize,
    other_row: usize,
    len: usize,
}

/// A class of one file and one of another, some of whose instances are counterparts.
struct GroupPair<'a> {
    own: &'a ClassGroup,
    other: &'a ClassGroup,
    runs: Vec<PairedRows>,
}

/// Finds the values that may differ between two files.
pub(crate) struct FileComparison<'a> {
    own: &'a BinaryFile,
    other: &'a BinaryFile,
    /// For each node of the own file, its counterpart in the other, or [`NONE`].
    counterparts: &'a [u32],
    has_same_shared: bool,
}

/// Returns whether a property of a node of the own file differs in meaning from that of a node of
/// the other file.
type IsDifferent<'a> = dyn FnMut(u32, Ustr, u32) -> bool + 'a;

impl<'a> FileComparison<'a> {
    pub(crate) fn new(own: &'a BinaryFile, other: &'a BinaryFile, counterparts: &'a [u32]) -> Self {
        let has_same_shared = own.shared_strings() == other.shared_strings();
        Self { own, other, counterparts, has_same_shared }
    }

    /// Calls `is_different` for the properties of counterparts, hidden ones included, but for those
    /// that are certainly the same, and for those whose values equal those of the pair before,
    /// which was not different.
    pub(crate) fn visit(&self, is_different: &mut IsDifferent<'_>) {
        for group in &self.own.groups {
            for pair in self.pair_rows(group) {
                let (own, other) = (self.own.layout_of(pair.own), self.other.layout_of(pair.other));
                let only_other = other.names().iter().filter(|key| own.get(**key).is_none());
                for key in own.names().iter().chain(only_other) {
                    self.visit_property(&pair, *key, is_different);
                }
            }
        }
    }

    /// Groups the instances of a class by the class of their counterparts in the other file.
    fn pair_rows(&self, own: &'a ClassGroup) -> Vec<GroupPair<'a>> {
        let mut pairs: Vec<GroupPair<'a>> = Vec::new();
        let mut last: Option<(usize, PairedRows)> = None;
        for row in 0..own.rows as usize {
            let node = own.first as usize + row;
            let other = self.counterparts.get(node).copied().filter(|other| *other != NONE);
            let Some((there, other)) = other.and_then(|it| Some((self.other.group_of(it)?, it)))
            else {
                continue;
            };
            let other_row = (other - there.first) as usize;
            if let Some((at, rows)) = &mut last
                && std::ptr::eq(pairs[*at].other, there)
                && (rows.row + rows.len, rows.other_row + rows.len) == (row, other_row)
            {
                rows.len += 1;
                continue;
            }
            if let Some((at, rows)) = last.take() {
                pairs[at].runs.push(rows);
            }
            let known = pairs.iter().position(|pair| std::ptr::eq(pair.other, there));
            let at = known.unwrap_or_else(|| {
                pairs.push(GroupPair { own, other: there, runs: Vec::new() });
                pairs.len() - 1
            });
            last = Some((at, PairedRows { row, other_row, len: 1 }));
        }
        if let Some((at, rows)) = last {
            pairs[at].runs.push(rows);
        }
        pairs
    }

    fn visit_property(&self, pair: &GroupPair<'a>, key: Ustr, is_different: &mut IsDifferent<'_>) {
        if self.is_same_chunk(pair, key) {
            return;
        }
        let own = self.own.use_column(pair.own, key);
        let other = self.other.use_column(pair.other, key);
        for rows in &pair.runs {
            let mut visit = |at: usize| {
                let node = pair.own.first as usize + rows.row + at;
                let twin = pair.other.first as usize + rows.other_row + at;
                is_different(node as u32, key, twin as u32)
            };
            match (&own, &other) {
                (Some(own), Some(other)) if self.is_stored_alike(own, other) => {
                    self.visit_cells(own, other, *rows, &mut visit);
                }
                (None, None) => {}
                (own, other) => visit_equal_runs(own.as_ref(), other.as_ref(), *rows, &mut visit),
            }
        }
    }

    /// Whether all instances of two classes are counterparts, in order, and both files have the
    /// same bytes for a property whose values do not depend on anything else.
    fn is_same_chunk(&self, pair: &GroupPair<'_>, key: Ustr) -> bool {
        let (own, other) = (pair.own, pair.other);
        let is_whole = own.rows == other.rows
            && matches!(*pair.runs, [PairedRows { row: 0, other_row: 0, len }] if len == own.rows as usize);
        let chunks = self.own.chunk_of(own, key).zip(self.other.chunk_of(other, key));
        is_whole
            && chunks.is_some_and(|(own, other)| {
                let is_independent = match own.ty {
                    Some(ty::REF | ty::CONTENT) | None => false,
                    Some(ty::SHARED_STRING) => self.has_same_shared,
                    Some(_) => true,
                };
                is_independent && self.own.chunk_bytes(own) == self.other.chunk_bytes(other)
            })
    }

    /// Whether equal cells of two columns mean equal values, but for references.
    fn is_stored_alike(&self, own: &UsedColumn<'_>, other: &UsedColumn<'_>) -> bool {
        let ty = own.column().type_byte();
        ty == other.column().type_byte()
            && own.chunk.name == other.chunk.name
            && (ty != ty::SHARED_STRING || self.has_same_shared)
    }

    fn visit_cells(
        &self,
        own: &UsedColumn<'_>,
        other: &UsedColumn<'_>,
        rows: PairedRows,
        visit: &mut dyn FnMut(usize) -> bool,
    ) {
        let (own, other, is_reference) = (own.column(), other.column(), own.is_reference());
        let targets = |at: usize| {
            let own = own.target_at(rows.row + at).and_then(|to| self.own.node_of(to));
            (own, other.target_at(rows.other_row + at).and_then(|to| self.other.node_of(to)))
        };
        if is_reference && own.type_byte() == ty::REF {
            for at in 0..rows.len {
                let is_same = match targets(at) {
                    (Some(own), Some(other)) => self.counterparts.get(own as usize) == Some(&other),
                    (None, None) => true,
                    _ => false,
                };
                if !is_same {
                    visit(at);
                }
            }
            return;
        }
        own.visit_different(rows.row, other, rows.other_row, rows.len, &mut |at| {
            visit(at);
        });
        if is_reference {
            (0..rows.len).filter(|at| targets(*at) != (None, None)).for_each(|at| {
                visit(at);
            });
        }
    }
}

/// Visits values that two files store differently, or that only one of them stores.
fn visit_equal_runs(
    own: Option<&UsedColumn<'_>>,
    other: Option<&UsedColumn<'_>>,
    rows: PairedRows,
    is_different: &mut dyn FnMut(usize) -> bool,
) {
    let mut at = 0;
    while at < rows.len {
        let own = own.map(|own| own.equal_rows(rows.row + at));
        let other = other.map(|other| other.equal_rows(rows.other_row + at));
        let run = own.into_iter().chain(other).fold(rows.len - at, usize::min);
        if is_different(at) {
            (at + 1..at + run).for_each(|at| {
                is_different(at);
            });
        }
        at += run;
    }
}
