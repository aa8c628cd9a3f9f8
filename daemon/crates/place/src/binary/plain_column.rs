//! Columns of values that refer to nothing else in a file.

use rbx_types::{Ref, SharedString, Variant, VariantType};

use super::cell::{ReadLinks, WriteLinks, read_cell, type_of, write_cell};
use super::column::PropertyColumn;
use super::column_writer::ColumnWriter;
use super::layout::{self, FieldLayout};

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

/// Values of one kind, kept as cells: a value in memory takes several times as many bytes.
#[derive(Debug, Clone)]
pub(crate) struct PlainValues {
    /// The type of the cells; 0 while there are none.
    ty: u8,
    cells: Vec<u8>,
    size: CellSize,
}

#[derive(Debug, Clone)]
enum CellSize {
    /// All cells of the type have this size.
    Fixed(usize),
    /// The end of each cell.
    Ends(Vec<u32>),
}

impl PlainValues {
    pub(crate) fn new() -> Self {
        Self { ty: 0, cells: Vec::new(), size: CellSize::Ends(Vec::new()) }
    }

    fn of_type(ty: u8) -> Option<Self> {
        let width = |field: &FieldLayout| match field {
            FieldLayout::Packed(width) | FieldLayout::Planes(width) => Some(*width),
            FieldLayout::Marker(_) => Some(0),
            FieldLayout::Run(_) | FieldLayout::Refs | FieldLayout::Content => None,
        };
        let size: Option<usize> = layout::fields_of(ty)?.iter().map(width).sum();
        let size = size.map_or_else(|| CellSize::Ends(Vec::new()), CellSize::Fixed);
        Some(Self { ty, cells: Vec::new(), size })
    }

    /// Returns the number of values.
    pub(crate) fn len(&self) -> usize {
        match &self.size {
            CellSize::Fixed(size) => self.cells.len() / size.max(&1),
            CellSize::Ends(ends) => ends.len(),
        }
    }

    fn cell(&self, at: usize) -> Option<&[u8]> {
        match &self.size {
            CellSize::Fixed(size) => self.cells.get(at * size..(at + 1) * size),
            CellSize::Ends(ends) => {
                let start = at.checked_sub(1).map_or(Some(0), |at| ends.get(at).copied())?;
                self.cells.get(start as usize..*ends.get(at)? as usize)
            }
        }
    }

    /// Returns a value by its index.
    pub(crate) fn get(&self, at: usize) -> Option<Variant> {
        read_cell(self.ty, self.cell(at)?, &NoLinks)
    }

    /// Adds a value of the same kind as the others, unless the last one is the same. Returns its
    /// index.
    pub(crate) fn push(&mut self, value: &Variant) -> u32 {
        if self.ty == 0
            && let Some(new) = type_of(value.ty()).and_then(Self::of_type)
        {
            *self = new;
        }
        let (start, count) = (self.cells.len(), self.len());
        let is_written = write_cell(self.ty, value, &mut NoLinks, &mut self.cells);
        debug_assert!(is_written, "a value of another kind");
        let last = count.checked_sub(1).and_then(|at| self.cell(at));
        if last == Some(&self.cells[start..]) {
            self.cells.truncate(start);
            return count as u32 - 1;
        }
        if let CellSize::Ends(ends) = &mut self.size {
            ends.push(self.cells.len() as u32);
        }
        count as u32
    }

    /// Encodes the values as a column. Returns its type byte, 0 if there are no values, and its
    /// bytes.
    pub(crate) fn encode(&self) -> (u8, Vec<u8>) {
        let Some(mut writer) = ColumnWriter::new(self.ty, self.len()) else {
            return (0, Vec::new());
        };
        for cell in (0..self.len()).filter_map(|at| self.cell(at)) {
            let is_cell = writer.push_row(cell);
            debug_assert!(is_cell, "a cell of another type");
        }
        (self.ty, writer.finish())
    }

    /// Decodes a column of this many values; None if the bytes are not that, or its values could
    /// refer to something.
    pub(crate) fn decode(
        ty: u8,
        bytes: &[u8],
        count: usize,
        is_plain: fn(VariantType) -> bool,
    ) -> Option<Self> {
        if count == 0 {
            return bytes.is_empty().then(Self::new);
        }
        let column = PropertyColumn::parse([&[ty], bytes].concat(), 0, count).ok()?;
        let mut values = Self::of_type(ty)?;
        for row in 0..count {
            let start = values.cells.len();
            column.append_cell(row, &mut values.cells);
            read_cell(ty, &values.cells[start..], &NoLinks).filter(|it| is_plain(it.ty()))?;
            if let CellSize::Ends(ends) = &mut values.size {
                ends.push(values.cells.len() as u32);
            }
        }
        Some(values)
    }
}
