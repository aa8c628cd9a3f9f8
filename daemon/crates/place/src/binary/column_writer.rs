//! Builds a column from single cells and from runs of rows of another column.
//!
//! An edit changes few of many rows, so runs are copied without splitting them into cells.

use std::ops::Range;

use super::column::{FieldRun, PropertyColumn};
use super::layout::{self, ContentKind, FieldLayout};

/// A column under construction.
#[derive(Debug)]
pub(super) struct ColumnWriter {
    ty: u8,
    rows: usize,
    parts: Vec<FieldWriter>,
    /// Buffer for a cell, reused between calls.
    cell: Vec<u8>,
}

#[derive(Debug)]
struct FieldWriter {
    field: FieldLayout,
    store: FieldStore,
}

#[derive(Debug)]
enum FieldStore {
    /// The bytes as they will be in the file.
    Bytes(Vec<u8>),
    Planes(PlaneBuffer),
    Refs(Vec<u32>),
    Content {
        kinds: PlaneBuffer,
        uris: Vec<u8>,
        uri_count: u32,
        objects: Vec<u32>,
    },
}

impl ColumnWriter {
    /// Creates a column of a type, without rows; None if the type is not known. Allocates room for
    /// the expected number of rows.
    pub(super) fn new(ty: u8, rows_hint: usize) -> Option<Self> {
        let part = |field: &FieldLayout| FieldWriter {
            field: *field,
            store: FieldStore::new(*field, rows_hint),
        };
        let parts = layout::fields_of(ty)?.iter().map(part).collect();
        Some(Self { ty, rows: 0, parts, cell: Vec::new() })
    }

    /// Appends a row. Returns `false`, and appends nothing, if the bytes are not a cell of this
    /// type.
    #[must_use]
    pub(super) fn push_row(&mut self, cell: &[u8]) -> bool {
        // Most types have one field, whose cells need to be checked only once.
        if let [part] = self.parts.as_mut_slice() {
            let is_cell = part.field.len_in(cell) == Some(cell.len());
            if is_cell {
                part.store.push(cell);
                self.rows += 1;
            }
            return is_cell;
        }
        if !self.is_valid_cell(cell) {
            return false;
        }
        let mut rest = cell;
        for part in &mut self.parts {
            let len = part.field.len_in(rest).unwrap_or(0);
            let (own, behind) = rest.split_at(len);
            part.store.push(own);
            rest = behind;
        }
        self.rows += 1;
        true
    }

    fn is_valid_cell(&self, cell: &[u8]) -> bool {
        let rest = self.parts.iter().try_fold(cell, |rest, part| {
            let len = part.field.len_in(rest)?;
            rest.get(len..)
        });
        rest.is_some_and(<[u8]>::is_empty)
    }

    /// Appends a run of rows of a column. Returns `false`, and appends nothing, if that column has
    /// another type or lacks these rows.
    #[must_use]
    pub(super) fn push_rows(&mut self, column: &PropertyColumn, rows: Range<usize>) -> bool {
        if column.type_byte() != self.ty || rows.start > rows.end || rows.end > column.row_count() {
            return false;
        }
        let mut cell = std::mem::take(&mut self.cell);
        for (n, part) in self.parts.iter_mut().enumerate() {
            match column.field_run(n, rows.clone()) {
                Some(FieldRun::Cells) => {
                    // Such a field is the only one of its type, so it gets the whole cell.
                    for row in rows.clone() {
                        cell.clear();
                        column.append_cell(row, &mut cell);
                        part.store.push(&cell);
                    }
                }
                Some(run) => part.store.push_run(run, rows.clone()),
                None => {}
            }
        }
        self.cell = cell;
        self.rows += rows.len();
        true
    }

    /// Returns the column as stored in a file, after the type byte.
    pub(super) fn finish(self) -> Vec<u8> {
        let mut out = Vec::new();
        for part in self.parts {
            let bytes = match part.field {
                FieldLayout::Marker(byte) => vec![byte],
                _ => part.store.finish(),
            };
            if out.is_empty() {
                out = bytes;
            } else {
                out.extend_from_slice(&bytes);
            }
        }
        out
    }
}

impl FieldStore {
    fn new(field: FieldLayout, rows: usize) -> Self {
        match field {
            FieldLayout::Packed(width) => Self::Bytes(Vec::with_capacity(width * rows)),
            FieldLayout::Run(item) => Self::Bytes(Vec::with_capacity(item.min_size() * rows)),
            FieldLayout::Planes(width) => Self::Planes(PlaneBuffer::new(width, rows)),
            FieldLayout::Refs => Self::Refs(Vec::with_capacity(rows)),
            FieldLayout::Content => Self::Content {
                kinds: PlaneBuffer::new(4, rows),
                uris: Vec::new(),
                uri_count: 0,
                objects: Vec::new(),
            },
            FieldLayout::Marker(_) => Self::Bytes(Vec::new()),
        }
    }

    /// Appends this field's part of a cell, which must have the right layout.
    fn push(&mut self, own: &[u8]) {
        match self {
            Self::Bytes(bytes) => bytes.extend_from_slice(own),
            Self::Planes(planes) => planes.push(own),
            Self::Refs(refs) => refs.extend(read_reference(own)),
            Self::Content { kinds, uris, uri_count, objects } => {
                let Some((kind, value)) = own.split_first_chunk() else { return };
                kinds.push(kind);
                match ContentKind::from_bytes(*kind) {
                    Some(ContentKind::Uri) => {
                        uris.extend_from_slice(value);
                        *uri_count += 1;
                    }
                    Some(ContentKind::Object) => objects.extend(read_reference(value)),
                    Some(ContentKind::None) | None => {}
                }
            }
        }
    }

    fn push_run(&mut self, run: FieldRun<'_>, rows: Range<usize>) {
        match (self, run) {
            (Self::Bytes(bytes), FieldRun::Bytes(run)) => bytes.extend_from_slice(run),
            (Self::Planes(planes), FieldRun::Planes(run, of)) => planes.push_rows(run, of, rows),
            (Self::Refs(refs), FieldRun::Refs(run)) => refs.extend_from_slice(run),
            // Both sides are built from the same fields.
            _ => debug_assert!(false, "a run of another field"),
        }
    }

    fn finish(self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Planes(planes) => planes.finish(),
            Self::Refs(refs) => {
                let mut out = Vec::with_capacity(4 * refs.len());
                layout::write_refs(&refs, &mut out);
                out
            }
            Self::Content { kinds, uris, uri_count, objects } => {
                let mut out = kinds.finish();
                out.extend_from_slice(&uri_count.to_le_bytes());
                out.extend_from_slice(&uris);
                out.extend_from_slice(&(objects.len() as u32).to_le_bytes());
                layout::write_refs(&objects, &mut out);
                // No external instances.
                out.extend_from_slice(&[0; 4]);
                out
            }
        }
    }
}

fn read_reference(bytes: &[u8]) -> Option<u32> {
    bytes.first_chunk().map(|four| u32::from_le_bytes(*four))
}

/// Growable planes. Each has spare room at its end until [`Self::finish`] compacts them.
#[derive(Debug)]
struct PlaneBuffer {
    width: usize,
    len: usize,
    row_capacity: usize,
    bytes: Vec<u8>,
}

impl PlaneBuffer {
    fn new(width: usize, row_capacity: usize) -> Self {
        Self { width, len: 0, row_capacity, bytes: vec![0; width * row_capacity] }
    }

    fn push(&mut self, cell: &[u8]) {
        self.reserve(1);
        for (plane, byte) in cell.iter().enumerate().take(self.width) {
            self.bytes[plane * self.row_capacity + self.len] = *byte;
        }
        self.len += 1;
    }

    /// Appends rows of planes that have `of` rows.
    fn push_rows(&mut self, planes: &[u8], of: usize, rows: Range<usize>) {
        if rows.is_empty() {
            return;
        }
        self.reserve(rows.len());
        let end = self.len + rows.len();
        for (to, from) in
            self.bytes.chunks_exact_mut(self.row_capacity).zip(planes.chunks_exact(of))
        {
            to[self.len..end].copy_from_slice(&from[rows.clone()]);
        }
        self.len = end;
    }

    fn reserve(&mut self, more: usize) {
        let need = self.len + more;
        if need <= self.row_capacity {
            return;
        }
        let mut grown = Self::new(self.width, need.max(2 * self.row_capacity).max(16));
        if self.len > 0 {
            let (len, room) = (self.len, self.row_capacity);
            for (to, from) in
                grown.bytes.chunks_exact_mut(grown.row_capacity).zip(self.bytes.chunks(room))
            {
                to[..len].copy_from_slice(&from[..len]);
            }
        }
        grown.len = self.len;
        *self = grown;
    }

    fn finish(mut self) -> Vec<u8> {
        if self.len < self.row_capacity {
            for plane in 1..self.width {
                let start = plane * self.row_capacity;
                self.bytes.copy_within(start..start + self.len, plane * self.len);
            }
            self.bytes.truncate(self.width * self.len);
        }
        self.bytes
    }
}
