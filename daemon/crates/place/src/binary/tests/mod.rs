//! Shared test helpers: the columns of a file.

mod column_hashes;
mod files;
mod hostile;
mod packing;
mod random_values;
mod values;

use std::collections::HashMap;

use random_draws::RandomDraws;
use rbx_types::{Ref, SharedString};

use super::cell::{ReadLinks, WriteLinks};
use super::column::{OpaqueReason, PropertyColumn};
use super::column_writer::ColumnWriter;
use super::container::{ChunkSpan, read_chunks, unpack_chunk};

/// A raw column of a file.
pub(super) struct Prop {
    pub(super) chunk: ChunkSpan,
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    pub(super) offset: usize,
    pub(super) rows: usize,
}

impl Prop {
    pub(super) fn read(&self) -> Result<PropertyColumn, OpaqueReason> {
        PropertyColumn::parse(self.bytes.clone(), self.offset, self.rows)
    }
}

fn number(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// Returns every column of a file.
pub(super) fn props(file: &[u8]) -> Vec<Prop> {
    let (mut counts, mut props) = (HashMap::new(), Vec::new());
    for chunk in read_chunks(file).unwrap() {
        let content = unpack_chunk(file, &chunk).unwrap();
        if chunk.name == *b"INST" {
            counts.insert(number(&content, 0), number(&content, 9 + number(&content, 4)));
        } else if chunk.name == *b"PROP" {
            let offset = 8 + number(&content, 4);
            let name = String::from_utf8_lossy(&content[8..offset]).into_owned();
            let rows = counts[&number(&content, 0)];
            props.push(Prop { chunk, name, bytes: content.into_owned(), offset, rows });
        }
    }
    props
}

/// The links of a file whose instances are numbered from 0.
#[derive(Default)]
pub(super) struct Table {
    pub(super) refs: Vec<Ref>,
    pub(super) shared: Vec<SharedString>,
}

impl ReadLinks for Table {
    fn instance_of(&self, referent: i32) -> Ref {
        let at = usize::try_from(referent).ok();
        at.and_then(|at| self.refs.get(at)).copied().unwrap_or(Ref::none())
    }

    fn shared_string(&self, index: u32) -> Option<&SharedString> {
        self.shared.get(index as usize)
    }
}

impl WriteLinks for Table {
    fn referent_of(&self, to: Ref) -> i32 {
        self.refs.iter().position(|known| *known == to).map_or(-1, |at| at as i32)
    }

    fn shared_index(&mut self, shared: &SharedString) -> u32 {
        let at = self.shared.iter().position(|known| known == shared);
        at.unwrap_or_else(|| {
            self.shared.push(shared.clone());
            self.shared.len() - 1
        }) as u32
    }
}

/// Returns the shared strings of a file.
pub(super) fn shared_strings(file: &[u8]) -> Vec<SharedString> {
    let all = read_chunks(file).unwrap();
    let Some(chunk) = all.iter().find(|chunk| chunk.name == *b"SSTR") else {
        return Vec::new();
    };
    let content = unpack_chunk(file, chunk).unwrap();
    let (mut at, mut found) = (8, Vec::new());
    for _ in 0..number(&content, 4) {
        let len = number(&content, at + 16);
        found.push(SharedString::new(content[at + 20..at + 20 + len].to_vec()));
        at += 20 + len;
    }
    found
}

pub(super) fn cell(column: &PropertyColumn, row: usize) -> Vec<u8> {
    let mut out = Vec::new();
    column.append_cell(row, &mut out);
    out
}

/// Asserts that rebuilding a column from its cells, and from random runs, gives its payload.
pub(super) fn assert_rewrites(column: &PropertyColumn, draws: &mut RandomDraws) {
    let hints = [0, column.row_count(), 2 * column.row_count() + 1];
    let mut one = ColumnWriter::new(column.type_byte(), hints[draws.below(3)]).unwrap();
    let mut buffer = Vec::new();
    for row in 0..column.row_count() {
        buffer.clear();
        column.append_cell(row, &mut buffer);
        assert!(one.push_row(&buffer));
    }
    assert!(one.finish() == column.payload(), "cells of type {:#x}", column.type_byte());

    let mut other = ColumnWriter::new(column.type_byte(), hints[draws.below(3)]).unwrap();
    let mut row = 0;
    while row < column.row_count() {
        let end = (row + draws.below(column.row_count() + 1)).min(column.row_count());
        assert!(other.push_rows(column, row..end));
        row = end;
        if row < column.row_count() {
            assert!(other.push_row(&cell(column, row)));
            row += 1;
        }
    }
    assert!(other.finish() == column.payload(), "runs of type {:#x}", column.type_byte());
}
