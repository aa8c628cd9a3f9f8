//! Columns of values that refer to nothing else in a file.

use rbx_types::{Ref, SharedString, Variant};

use super::cell::{ReadLinks, WriteLinks, read_cell, type_of, write_cell};
use super::column::PropertyColumn;
use super::column_writer::ColumnWriter;

/// Stands for the instances and shared strings of a file that has none.
struct NoLinks;

impl ReadLinks for NoLinks {
    fn instance_of(&self, _: i32) -> Ref {
        Ref::none()
    }

    fn shared_string(&self, _: u32) -> Option<&SharedString> {
        None
    }
}

impl WriteLinks for NoLinks {
    fn referent_of(&self, _: Ref) -> i32 {
        -1
    }

    fn shared_index(&mut self, _: &SharedString) -> u32 {
        0
    }
}

/// Encodes values of one kind as a column. Returns its type byte, 0 if there are no values, and its
/// bytes.
pub(crate) fn encode(values: &[Variant]) -> (u8, Vec<u8>) {
    let ty = values.first().and_then(|value| type_of(value.ty()));
    let Some((ty, mut writer)) = ty.and_then(|ty| Some((ty, ColumnWriter::new(ty, values.len())?)))
    else {
        return (0, Vec::new());
    };
    let mut cell = Vec::new();
    for value in values {
        cell.clear();
        let is_written = write_cell(ty, value, &mut NoLinks, &mut cell) && writer.push_row(&cell);
        debug_assert!(is_written, "a value of another kind");
    }
    (ty, writer.finish())
}

/// Decodes a column of this many values; None if the bytes are not that.
pub(crate) fn decode(ty: u8, bytes: &[u8], count: usize) -> Option<Vec<Variant>> {
    if count == 0 {
        return bytes.is_empty().then(Vec::new);
    }
    let column = PropertyColumn::parse([&[ty], bytes].concat(), 0, count).ok()?;
    let mut cell = Vec::new();
    let value = |row| {
        cell.clear();
        column.append_cell(row, &mut cell);
        read_cell(ty, &cell, &NoLinks)
    };
    (0..count).map(value).collect()
}
