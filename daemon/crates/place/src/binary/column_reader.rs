//! Reads one property of many instances of a class.

use std::ops::Range;

use rbx_dom_weak::Ustr;
use rbx_types::Variant;

use super::column::PropertyColumn;
use super::{BinaryFile, cell};
use crate::property_layout::ValueSource;

/// Reads one property of the instances of a class that the file stores together.
pub(crate) struct ColumnReader<'a> {
    file: &'a BinaryFile,
    nodes: Range<u32>,
    /// None if the file does not have the property for them.
    column: Option<(&'a ValueSource, &'a PropertyColumn)>,
    /// Buffer for a cell, reused between calls.
    cell: Vec<u8>,
}

impl ColumnReader<'_> {
    /// Whether an instance is one of those that are read.
    pub(crate) fn covers(&self, node: u32) -> bool {
        self.nodes.contains(&node)
    }

    /// Returns the value of one of the instances.
    pub(crate) fn read(&mut self, node: u32) -> Option<Variant> {
        let (source, column) = self.column?;
        self.cell.clear();
        column.append_cell((node - self.nodes.start) as usize, &mut self.cell);
        source.convert_value(cell::read_cell(column.type_byte(), &self.cell, self.file)?)
    }
}

impl BinaryFile {
    /// Returns a reader of one property of the instances that the file stores together with this
    /// one; None if the file has no such instance.
    pub(crate) fn column_reader(&self, node: u32, key: Ustr) -> Option<ColumnReader<'_>> {
        let group = self.group_of(node)?;
        let source = self.layout_of(group).get(key);
        let column = source.and_then(|source| {
            let prop = *group.props.get(source.at as usize)?;
            Some((source, self.column_at(prop).ok()?))
        });
        let nodes = group.first..group.first + group.rows;
        Some(ColumnReader { file: self, nodes, column, cell: Vec::new() })
    }
}
