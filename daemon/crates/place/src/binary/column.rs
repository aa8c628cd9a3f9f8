//! One property of all instances of a class, row by row, without knowing what the values are.
//!
//! A row's **cell** is a string of bytes that depends on no other row, so a cell can be moved to
//! another row, or to another file of the same references. Cells are bytes and not values: what
//! no value can express (a payload of a NaN, an unknown weight of a font) survives.

use std::ops::Range;

use super::layout::{self, Field, Item, Kind, ty};

/// Why a column cannot be taken apart. It is then kept as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum Opaque {
    /// The chunk ends before its type.
    #[error("it does not say what type its values have")]
    NoType,
    /// The type is not known.
    #[error("its values have the type 0x{0:02X}, which is not known")]
    Unknown(u8),
    /// There are more or fewer bytes than so many rows have.
    #[error("its values (type 0x{0:02X}) are not laid out as that type is")]
    Malformed(u8),
    /// It refers to instances that are not in the file.
    #[error("it refers to instances outside of the file")]
    External,
}

/// One property of all instances of a class.
#[derive(Debug, Clone)]
pub(super) struct Column {
    bytes: Vec<u8>,
    ty: u8,
    rows: usize,
    pub(super) parts: Vec<Part>,
}

/// A field, and where its bytes are.
#[derive(Debug, Clone)]
pub(super) struct Part {
    field: Field,
    span: Range<usize>,
    /// Of each row: where its item begins; its reference; of content either, by its kind.
    table: Vec<u32>,
}

impl Column {
    /// Takes a column apart. `bytes` is the unpacked chunk, and `offset` is where the type stands,
    /// behind class and name.
    ///
    /// # Errors
    /// It is not of that many rows of a known type.
    pub(super) fn read(bytes: Vec<u8>, offset: usize, rows: usize) -> Result<Self, Opaque> {
        let ty = *bytes.get(offset).ok_or(Opaque::NoType)?;
        let fields = layout::fields(ty).ok_or(Opaque::Unknown(ty))?;
        let malformed = Opaque::Malformed(ty);
        // Tables hold positions in 32 bits; a chunk is never larger.
        u32::try_from(bytes.len()).map_err(|_| malformed)?;
        let (mut at, mut parts) = (offset + 1, Vec::with_capacity(fields.len()));
        for field in fields {
            let part = match field {
                Field::Content => read_content(&bytes, at, rows, malformed)?,
                field => read_part(*field, &bytes, at, rows).ok_or(malformed)?,
            };
            at = part.span.end;
            parts.push(part);
        }
        if at == bytes.len() { Ok(Self { bytes, ty, rows, parts }) } else { Err(malformed) }
    }

    /// The type's byte.
    pub(super) fn ty(&self) -> u8 {
        self.ty
    }

    /// How many rows it has.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The bytes behind the type.
    #[cfg(test)]
    pub(super) fn payload(&self) -> &[u8] {
        self.parts.first().map_or(&[], |part| &self.bytes[part.span.start..])
    }

    /// Appends a row's cell; nothing where there is no such row.
    pub(super) fn cell(&self, row: usize, out: &mut Vec<u8>) {
        if row < self.rows {
            for part in &self.parts {
                part.cell(&self.bytes, self.rows, row, out);
            }
        }
    }

    /// A row's text, of a column of texts.
    pub(super) fn text(&self, row: usize) -> Option<&[u8]> {
        let part = self.parts.first().filter(|_| self.ty == ty::STRING)?;
        let start = *part.table.get(row)? as usize;
        self.bytes.get(start + 4..part.start(row + 1))
    }

    /// The instance that a row refers to, of a column of references.
    pub(super) fn reference(&self, row: usize) -> Option<i32> {
        let part = self.parts.first().filter(|_| self.ty == ty::REF)?;
        part.table.get(row).map(|to| *to as i32)
    }

    /// The instance that a row points to, of a column of references or of contents.
    pub(super) fn target(&self, row: usize) -> Option<i32> {
        if self.ty == ty::REF {
            return self.reference(row);
        }
        let part = self.parts.first().filter(|part| part.field == Field::Content)?;
        let kinds = self.bytes.get(part.span.start..)?.get(..4 * self.rows)?;
        let kind = [0, 1, 2, 3].map(|plane| kinds.get(plane * self.rows + row).copied());
        let is_object = kind == Kind::Object.bytes().map(Some);
        part.table.get(row).filter(|_| is_object).map(|to| *to as i32)
    }

    /// What a field has of some rows, for a writer that copies them.
    pub(super) fn run(&self, part: usize, rows: Range<usize>) -> Option<Run<'_>> {
        let part = self.parts.get(part).filter(|_| rows.end <= self.rows)?;
        let bytes = &self.bytes[part.span.clone()];
        Some(match part.field {
            Field::Packed(width) => Run::Bytes(&bytes[rows.start * width..rows.end * width]),
            Field::Run(_) => Run::Bytes(&self.bytes[part.start(rows.start)..part.start(rows.end)]),
            Field::Planes(width) => Run::Planes(&bytes[..width * self.rows], self.rows),
            Field::Refs => Run::Refs(&part.table[rows]),
            Field::Content => Run::Cells,
            Field::Marker(_) => Run::Bytes(&[]),
        })
    }
}

/// What a field has of some rows.
pub(super) enum Run<'a> {
    /// Their bytes.
    Bytes(&'a [u8]),
    /// The planes of all rows, and how many rows that are.
    Planes(&'a [u8], usize),
    /// Their references.
    Refs(&'a [u32]),
    /// They do not stand together.
    Cells,
}

impl Part {
    /// Where a row's item begins; where the field ends, for the row behind the last.
    fn start(&self, row: usize) -> usize {
        self.table.get(row).map_or(self.span.end, |start| *start as usize)
    }

    fn cell(&self, bytes: &[u8], rows: usize, row: usize, out: &mut Vec<u8>) {
        let own = &bytes[self.span.clone()];
        match self.field {
            Field::Packed(width) => out.extend_from_slice(&own[row * width..][..width]),
            Field::Planes(width) => gather(own, width, rows, row, out),
            Field::Run(_) => out.extend_from_slice(&bytes[self.start(row)..self.start(row + 1)]),
            Field::Refs => out.extend_from_slice(&self.table[row].to_le_bytes()),
            Field::Content => self.content_cell(bytes, row, out),
            Field::Marker(_) => {}
        }
    }

    fn content_cell(&self, bytes: &[u8], row: usize, out: &mut Vec<u8>) {
        let kinds = &bytes[self.span.start..][..4 * self.table.len()];
        let start = out.len();
        gather(kinds, 4, self.table.len(), row, out);
        let kind = out[start..].first_chunk().and_then(|kind| Kind::of(*kind));
        match kind {
            Some(Kind::Uri) => {
                let uri = &bytes[self.start(row)..];
                let len = Item::Text.len(uri).unwrap_or(0);
                out.extend_from_slice(&uri[..len]);
            }
            Some(Kind::Object) => out.extend_from_slice(&self.table[row].to_le_bytes()),
            Some(Kind::None) | None => {}
        }
    }
}

/// Appends a row's byte of every plane.
fn gather(planes: &[u8], width: usize, rows: usize, row: usize, out: &mut Vec<u8>) {
    // No type has more than 16 planes in a field.
    let mut cell = [0; 16];
    for (plane, byte) in cell.iter_mut().enumerate().take(width) {
        *byte = planes[plane * rows + row];
    }
    out.extend_from_slice(&cell[..width]);
}

fn read_part(field: Field, bytes: &[u8], at: usize, rows: usize) -> Option<Part> {
    let rest = bytes.get(at..)?;
    let (len, table) = match field {
        Field::Packed(width) | Field::Planes(width) => (rows.checked_mul(width)?, Vec::new()),
        Field::Refs => {
            let len = rows.checked_mul(4)?;
            (len, layout::read_refs(rest.get(..len)?, rows))
        }
        Field::Run(item) => read_run(item, bytes, at, rows)?,
        Field::Marker(byte) => (usize::from(*rest.first()? == byte), Vec::new()),
        Field::Content => return None,
    };
    let is_missing = matches!(field, Field::Marker(_)) && len == 0;
    (len <= rest.len() && !is_missing).then(|| Part { field, span: at..at + len, table })
}

/// Finds where each item begins, and how long all are together.
fn read_run(item: Item, bytes: &[u8], at: usize, rows: usize) -> Option<(usize, Vec<u32>)> {
    if rows > (bytes.len() - at) / item.least() {
        return None;
    }
    let (mut end, mut starts) = (at, Vec::with_capacity(rows));
    for _ in 0..rows {
        starts.push(end as u32);
        end += item.len(&bytes[end..])?;
    }
    Some((end - at, starts))
}

/// Content is the kinds of all rows, then the texts, the instances, and those outside of the file,
/// each with its count.
fn read_content(bytes: &[u8], at: usize, rows: usize, malformed: Opaque) -> Result<Part, Opaque> {
    let found = find_content(bytes, at, rows).ok_or(malformed)?;
    if found.has_externals {
        return Err(Opaque::External);
    }
    let kinds = &bytes[at..at + 4 * rows];
    let (mut uris, mut objects) = (found.uris.into_iter(), found.objects.into_iter());
    let (mut table, mut cell) = (Vec::with_capacity(rows), Vec::with_capacity(4));
    for row in 0..rows {
        cell.clear();
        gather(kinds, 4, rows, row, &mut cell);
        let kind = cell.first_chunk().and_then(|kind| Kind::of(*kind)).ok_or(malformed)?;
        table.push(match kind {
            Kind::None => 0,
            Kind::Uri => uris.next().ok_or(malformed)?,
            Kind::Object => objects.next().ok_or(malformed)?,
        });
    }
    if uris.next().is_some() || objects.next().is_some() {
        return Err(malformed);
    }
    Ok(Part { field: Field::Content, span: at..found.end, table })
}

struct Found {
    uris: Vec<u32>,
    objects: Vec<u32>,
    has_externals: bool,
    end: usize,
}

fn find_content(bytes: &[u8], at: usize, rows: usize) -> Option<Found> {
    let counted = |at: usize| layout::count(bytes.get(at..)?).map(|count| (count, at + 4));
    let (count, start) = counted(at.checked_add(rows.checked_mul(4)?)?)?;
    let (len, uris) = read_run(Item::Text, bytes, start, count)?;
    let (count, start) = counted(start + len)?;
    let end = start.checked_add(count.checked_mul(4)?)?;
    let objects = layout::read_refs(bytes.get(start..end)?, count);
    let (count, start) = counted(end)?;
    let end = start.checked_add(count.checked_mul(4)?)?;
    (end <= bytes.len()).then_some(Found { uris, objects, has_externals: count > 0, end })
}
