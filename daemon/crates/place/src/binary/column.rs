//! A column: one property of all instances of a class, row by row, without interpreting the values.
//!
//! A row's **cell** is a byte string that does not depend on other rows, so it can be moved to
//! another row, or to another file with the same references. Cells are bytes and not values, so
//! that data that no value can express (a NaN payload, an unknown font weight) survives.

use std::ops::Range;

use super::layout::{self, ContentKind, FieldLayout, VariableItem, ty};
use crate::bytes::{COMPARED, common_prefix};

/// The reason why a column cannot be split into cells. Such a column is kept unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum OpaqueReason {
    /// The chunk ends before its type byte.
    #[error("it does not say what type its values have")]
    NoType,
    /// The type byte is not known.
    #[error("its values have the type 0x{0:02X}, which is not known")]
    Unknown(u8),
    /// The payload has more or fewer bytes than the rows need.
    #[error("its values (type 0x{0:02X}) are not laid out as that type is")]
    Malformed(u8),
    /// The column refers to instances that are not in the file.
    #[error("it refers to instances outside of the file")]
    External,
}

/// How many rows are compared at first to find equal ones: mostly the next one differs.
const FIRST_COMPARED: usize = 1;

/// One property of all instances of a class.
#[derive(Debug, Clone)]
pub(super) struct PropertyColumn {
    bytes: Vec<u8>,
    ty: u8,
    rows: usize,
    pub(super) parts: Vec<FieldPart>,
}

/// A field and the range of its bytes.
#[derive(Debug, Clone)]
pub(super) struct FieldPart {
    field: FieldLayout,
    span: Range<usize>,
    /// For each row, the start of its item or its reference; in a Content field either, depending on
    /// the row's kind.
    table: Vec<u32>,
}

impl PropertyColumn {
    /// Splits a column into fields. `bytes` is the unpacked chunk, and `offset` the position of the
    /// type byte, after class and name.
    ///
    /// # Errors
    /// The bytes are not that many rows of a known type.
    pub(super) fn parse(bytes: Vec<u8>, offset: usize, rows: usize) -> Result<Self, OpaqueReason> {
        let ty = *bytes.get(offset).ok_or(OpaqueReason::NoType)?;
        let fields = layout::fields_of(ty).ok_or(OpaqueReason::Unknown(ty))?;
        let malformed = OpaqueReason::Malformed(ty);
        // Tables hold positions in 32 bits; a chunk is never larger.
        u32::try_from(bytes.len()).map_err(|_| malformed)?;
        let (mut at, mut parts) = (offset + 1, Vec::with_capacity(fields.len()));
        for field in fields {
            let part = match field {
                FieldLayout::Content => read_content(&bytes, at, rows, malformed)?,
                field => read_part(*field, &bytes, at, rows).ok_or(malformed)?,
            };
            at = part.span.end;
            parts.push(part);
        }
        if at == bytes.len() { Ok(Self { bytes, ty, rows, parts }) } else { Err(malformed) }
    }

    pub(super) fn type_byte(&self) -> u8 {
        self.ty
    }

    pub(super) fn row_count(&self) -> usize {
        self.rows
    }

    /// Returns the bytes after the type byte.
    #[cfg(test)]
    pub(super) fn payload(&self) -> &[u8] {
        self.parts.first().map_or(&[], |part| &self.bytes[part.span.start..])
    }

    /// Appends the cell of a row; appends nothing if there is no such row.
    pub(super) fn append_cell(&self, row: usize, out: &mut Vec<u8>) {
        if row < self.rows {
            for part in &self.parts {
                part.append_cell(&self.bytes, self.rows, row, out);
            }
        }
    }

    /// Returns the text of a row; None if the column does not hold strings.
    pub(super) fn text_at(&self, row: usize) -> Option<&[u8]> {
        let part = self.parts.first().filter(|_| self.ty == ty::STRING)?;
        let start = *part.table.get(row)? as usize;
        self.bytes.get(start + 4..part.item_start(row + 1))
    }

    /// Returns the referent in a row; None if the column does not hold references.
    pub(super) fn reference_at(&self, row: usize) -> Option<i32> {
        let part = self.parts.first().filter(|_| self.ty == ty::REF)?;
        part.table.get(row).map(|to| *to as i32)
    }

    /// Returns the referent that a row refers to, in a column of references or of Content.
    pub(super) fn target_at(&self, row: usize) -> Option<i32> {
        if self.ty == ty::REF {
            return self.reference_at(row);
        }
        let part = self.parts.first().filter(|part| part.field == FieldLayout::Content)?;
        let kinds = self.bytes.get(part.span.start..)?.get(..4 * self.rows)?;
        let kind = [0, 1, 2, 3].map(|plane| kinds.get(plane * self.rows + row).copied());
        let is_object = kind == ContentKind::Object.to_bytes().map(Some);
        part.table.get(row).filter(|_| is_object).map(|to| *to as i32)
    }

    /// Returns how many rows from `row` on have the same cell as that row, itself included.
    pub(super) fn equal_rows(&self, row: usize) -> usize {
        let rest = self.rows.saturating_sub(row + 1);
        let equal = |most, part: &FieldPart| part.equal_rows(&self.bytes, self.rows, row, most);
        // The first planes of a number are often the same in all rows, and the last ones in none.
        let mut most = rest.min(FIRST_COMPARED);
        loop {
            let run = self.parts.iter().fold(most, equal);
            if run < most || most == rest {
                return 1 + run;
            }
            most = rest.min(most * 64);
        }
    }

    /// Calls `visit` with each of `len` rows, counted from `row`, whose cell differs from that of
    /// the row at the same distance from `other_row` in a column of the same type. The order is
    /// that of the rows.
    pub(super) fn visit_different(
        &self,
        row: usize,
        other: &Self,
        other_row: usize,
        len: usize,
        visit: &mut dyn FnMut(usize),
    ) {
        let mut differs = vec![false; len];
        for (part, other_part) in self.parts.iter().zip(&other.parts) {
            let own = PartRows { part, bytes: &self.bytes, rows: self.rows, start: row };
            let other = PartRows {
                part: other_part,
                bytes: &other.bytes,
                rows: other.rows,
                start: other_row,
            };
            own.mark_different(&other, &mut differs);
        }
        differs.iter().enumerate().filter(|(_, differs)| **differs).for_each(|(at, _)| visit(at));
    }

    /// Visits the bytes of some rows, in the order in which a column of only these rows has them.
    /// For types without references. `runs` returns the rows, in order.
    pub(super) fn visit_rows<R: Iterator<Item = Range<usize>>>(
        &self,
        runs: &dyn Fn() -> R,
        visit: &mut dyn FnMut(&[u8]),
    ) {
        for part in &self.parts {
            let own = &self.bytes[part.span.clone()];
            match part.field {
                FieldLayout::Packed(width) => {
                    runs().for_each(|run| visit(&own[run.start * width..run.end * width]));
                }
                FieldLayout::Run(_) => runs().for_each(|run| {
                    visit(&self.bytes[part.item_start(run.start)..part.item_start(run.end)]);
                }),
                FieldLayout::Planes(width) => {
                    for plane in own.chunks_exact(self.rows).take(width) {
                        runs().for_each(|run| visit(&plane[run]));
                    }
                }
                FieldLayout::Marker(byte) => visit(&[byte]),
                FieldLayout::Refs | FieldLayout::Content => {}
            }
        }
    }

    /// Returns the data of a field for a run of rows, for a writer that copies it.
    pub(super) fn field_run(&self, part: usize, rows: Range<usize>) -> Option<FieldRun<'_>> {
        let part = self.parts.get(part).filter(|_| rows.end <= self.rows)?;
        let bytes = &self.bytes[part.span.clone()];
        Some(match part.field {
            FieldLayout::Packed(width) => {
                FieldRun::Bytes(&bytes[rows.start * width..rows.end * width])
            }
            FieldLayout::Run(_) => {
                FieldRun::Bytes(&self.bytes[part.item_start(rows.start)..part.item_start(rows.end)])
            }
            FieldLayout::Planes(width) => FieldRun::Planes(&bytes[..width * self.rows], self.rows),
            FieldLayout::Refs => FieldRun::Refs(&part.table[rows]),
            FieldLayout::Content => FieldRun::Cells,
            FieldLayout::Marker(_) => FieldRun::Bytes(&[]),
        })
    }
}

/// The data of a field for a run of rows.
pub(super) enum FieldRun<'a> {
    Bytes(&'a [u8]),
    /// The planes of all rows of the column, and the number of its rows.
    Planes(&'a [u8], usize),
    Refs(&'a [u32]),
    /// The data is not contiguous and must be copied cell by cell.
    Cells,
}

impl FieldPart {
    /// Returns the start of a row's item; for the row after the last, the end of the field.
    fn item_start(&self, row: usize) -> usize {
        self.table.get(row).map_or(self.span.end, |start| *start as usize)
    }

    /// Returns how many of the `most` rows after `row` have the same bytes as that row.
    fn equal_rows(&self, bytes: &[u8], rows: usize, row: usize, most: usize) -> usize {
        let own = &bytes[self.span.clone()];
        match self.field {
            FieldLayout::Packed(width) => {
                let (here, next) = (row * width, (row + 1) * width);
                common_prefix(&own[here..here + most * width], &own[next..next + most * width])
                    / width
            }
            FieldLayout::Planes(width) => {
                // Mostly the next row is another, which the last planes tell first.
                let is_same = |plane: usize| own[plane * rows + row] == own[plane * rows + row + 1];
                if most == 0 || !(0..width).rev().all(is_same) {
                    return 0;
                }
                (0..width).fold(most, |most, plane| {
                    let at = plane * rows + row;
                    common_prefix(&own[at..at + most], &own[at + 1..=at + most])
                })
            }
            FieldLayout::Run(_) => {
                let item = |row| &bytes[self.item_start(row)..self.item_start(row + 1)];
                (row + 1..=row + most).take_while(|next| item(*next) == item(row)).count()
            }
            FieldLayout::Refs | FieldLayout::Content => 0,
            FieldLayout::Marker(_) => most,
        }
    }

    fn append_cell(&self, bytes: &[u8], rows: usize, row: usize, out: &mut Vec<u8>) {
        let own = &bytes[self.span.clone()];
        match self.field {
            FieldLayout::Packed(width) => out.extend_from_slice(&own[row * width..][..width]),
            FieldLayout::Planes(width) => gather_planes(own, width, rows, row, out),
            FieldLayout::Run(_) => {
                out.extend_from_slice(&bytes[self.item_start(row)..self.item_start(row + 1)]);
            }
            FieldLayout::Refs => out.extend_from_slice(&self.table[row].to_le_bytes()),
            FieldLayout::Content => self.content_cell(bytes, row, out),
            FieldLayout::Marker(_) => {}
        }
    }

    fn content_cell(&self, bytes: &[u8], row: usize, out: &mut Vec<u8>) {
        let kinds = &bytes[self.span.start..][..4 * self.table.len()];
        let start = out.len();
        gather_planes(kinds, 4, self.table.len(), row, out);
        let kind = out[start..].first_chunk().and_then(|kind| ContentKind::from_bytes(*kind));
        match kind {
            Some(ContentKind::Uri) => {
                let uri = &bytes[self.item_start(row)..];
                let len = VariableItem::Text.len(uri).unwrap_or(0);
                out.extend_from_slice(&uri[..len]);
            }
            Some(ContentKind::Object) => out.extend_from_slice(&self.table[row].to_le_bytes()),
            Some(ContentKind::None) | None => {}
        }
    }
}

/// A run of rows of a field.
struct PartRows<'a> {
    part: &'a FieldPart,
    bytes: &'a [u8],
    /// The number of rows of the whole column.
    rows: usize,
    start: usize,
}

impl PartRows<'_> {
    /// Marks the rows whose bytes differ from those of another run of the same field.
    fn mark_different(&self, other: &PartRows<'_>, differs: &mut [bool]) {
        let len = differs.len();
        match self.part.field {
            FieldLayout::Packed(width) => {
                let (own, theirs) = (self.packed(width, len), other.packed(width, len));
                visit_mismatches(own, theirs, &mut |at| differs[at / width] = true);
            }
            FieldLayout::Planes(width) => {
                for plane in 0..width {
                    let (own, theirs) = (self.plane(plane, len), other.plane(plane, len));
                    visit_mismatches(own, theirs, &mut |at| differs[at] = true);
                }
            }
            FieldLayout::Run(_) | FieldLayout::Refs | FieldLayout::Content => {
                let (mut cell, mut other_cell) = (Vec::new(), Vec::new());
                for (at, differs) in differs.iter_mut().enumerate().filter(|(_, it)| !**it) {
                    cell.clear();
                    other_cell.clear();
                    self.append_cell(at, &mut cell);
                    other.append_cell(at, &mut other_cell);
                    *differs = cell != other_cell;
                }
            }
            FieldLayout::Marker(_) => {}
        }
    }

    fn packed(&self, width: usize, len: usize) -> &[u8] {
        &self.bytes[self.part.span.start + self.start * width..][..len * width]
    }

    fn plane(&self, plane: usize, len: usize) -> &[u8] {
        &self.bytes[self.part.span.start + plane * self.rows + self.start..][..len]
    }

    fn append_cell(&self, at: usize, out: &mut Vec<u8>) {
        self.part.append_cell(self.bytes, self.rows, self.start + at, out);
    }
}

/// Calls `visit` with the position of each byte in which two slices of the same length differ.
fn visit_mismatches(a: &[u8], b: &[u8], visit: &mut dyn FnMut(usize)) {
    for (n, (a, b)) in a.chunks(COMPARED).zip(b.chunks(COMPARED)).enumerate() {
        if a != b {
            let bytes = a.iter().zip(b).enumerate().filter(|(_, (a, b))| a != b);
            bytes.for_each(|(at, _)| visit(n * COMPARED + at));
        }
    }
}

/// Appends the byte of a row from every plane.
fn gather_planes(planes: &[u8], width: usize, rows: usize, row: usize, out: &mut Vec<u8>) {
    // No type has more than 16 planes in a field.
    let mut cell = [0; 16];
    for (plane, byte) in cell.iter_mut().enumerate().take(width) {
        *byte = planes[plane * rows + row];
    }
    out.extend_from_slice(&cell[..width]);
}

fn read_part(field: FieldLayout, bytes: &[u8], at: usize, rows: usize) -> Option<FieldPart> {
    let rest = bytes.get(at..)?;
    let (len, table) = match field {
        FieldLayout::Packed(width) | FieldLayout::Planes(width) => {
            (rows.checked_mul(width)?, Vec::new())
        }
        FieldLayout::Refs => {
            let len = rows.checked_mul(4)?;
            (len, layout::read_refs(rest.get(..len)?, rows))
        }
        FieldLayout::Run(item) => read_run(item, bytes, at, rows)?,
        FieldLayout::Marker(byte) => (usize::from(*rest.first()? == byte), Vec::new()),
        FieldLayout::Content => return None,
    };
    let is_missing = matches!(field, FieldLayout::Marker(_)) && len == 0;
    (len <= rest.len() && !is_missing).then(|| FieldPart { field, span: at..at + len, table })
}

/// Finds the start of each item, and the total length of all items.
fn read_run(item: VariableItem, bytes: &[u8], at: usize, rows: usize) -> Option<(usize, Vec<u32>)> {
    if rows > (bytes.len() - at) / item.min_size() {
        return None;
    }
    let (mut end, mut starts) = (at, Vec::with_capacity(rows));
    for _ in 0..rows {
        starts.push(end as u32);
        end += item.len(&bytes[end..])?;
    }
    Some((end - at, starts))
}

/// Reads a Content field: the kinds of all rows, then the texts, the instances, and the external
/// instances, each with its count.
fn read_content(
    bytes: &[u8],
    at: usize,
    rows: usize,
    malformed: OpaqueReason,
) -> Result<FieldPart, OpaqueReason> {
    let found = find_content(bytes, at, rows).ok_or(malformed)?;
    if found.has_externals {
        return Err(OpaqueReason::External);
    }
    let kinds = &bytes[at..at + 4 * rows];
    let (mut uris, mut objects) = (found.uris.into_iter(), found.objects.into_iter());
    let (mut table, mut cell) = (Vec::with_capacity(rows), Vec::with_capacity(4));
    for row in 0..rows {
        cell.clear();
        gather_planes(kinds, 4, rows, row, &mut cell);
        let kind =
            cell.first_chunk().and_then(|kind| ContentKind::from_bytes(*kind)).ok_or(malformed)?;
        table.push(match kind {
            ContentKind::None => 0,
            ContentKind::Uri => uris.next().ok_or(malformed)?,
            ContentKind::Object => objects.next().ok_or(malformed)?,
        });
    }
    if uris.next().is_some() || objects.next().is_some() {
        return Err(malformed);
    }
    Ok(FieldPart { field: FieldLayout::Content, span: at..found.end, table })
}

struct FieldEnd {
    uris: Vec<u32>,
    objects: Vec<u32>,
    has_externals: bool,
    end: usize,
}

fn find_content(bytes: &[u8], at: usize, rows: usize) -> Option<FieldEnd> {
    let counted = |at: usize| layout::read_count(bytes.get(at..)?).map(|count| (count, at + 4));
    let (count, start) = counted(at.checked_add(rows.checked_mul(4)?)?)?;
    let (len, uris) = read_run(VariableItem::Text, bytes, start, count)?;
    let (count, start) = counted(start + len)?;
    let end = start.checked_add(count.checked_mul(4)?)?;
    let objects = layout::read_refs(bytes.get(start..end)?, count);
    let (count, start) = counted(end)?;
    let end = start.checked_add(count.checked_mul(4)?)?;
    (end <= bytes.len()).then_some(FieldEnd { uris, objects, has_externals: count > 0, end })
}
