//! The encoding of instance tables as bytes.
//!
//! All numbers are differences from their predecessors, in as few bytes as they need: neighbours
//! have neighbouring numbers and names, so that a compressor finds long repeats. Values are encoded
//! as in a binary file.

use rbx_dom_weak::ustr;

use super::{ABSENT, InstanceTable, ListedInstance, TableColumn, is_plain};
use crate::binary::PlainValues;
use crate::interner::TextInterner;

/// The first bytes of a table.
const MAGIC: &[u8] = b"vector instances 1\n";

impl InstanceTable {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        for texts in [&self.names, &self.classes] {
            write_number(texts.len() as u32, &mut out);
            for id in 0..texts.len() as u32 {
                write_text(texts.get(id), &mut out);
            }
        }
        write_number(self.instances.len() as u32, &mut out);
        let fields: [fn(&ListedInstance) -> u32; 5] =
            [|it| it.number, |it| it.parent, |it| it.name, |it| it.class, |it| it.ordinal];
        for field in fields {
            write_differences(self.instances.iter().map(field), &mut out);
        }
        write_number(self.rows.len() as u32, &mut out);
        write_differences(self.rows.iter().copied(), &mut out);
        write_number(self.columns.len() as u32, &mut out);
        for column in &self.columns {
            write_text(&column.key, &mut out);
            let (ty, pool) = column.pool.encode();
            out.push(ty);
            write_number(column.pool.len() as u32, &mut out);
            write_number(pool.len() as u32, &mut out);
            out.extend_from_slice(&pool);
            // The absent value is 0.
            let cells = column.cells.iter().map(|cell| cell.wrapping_add(1));
            write_differences(cells, &mut out);
        }
        out
    }

    /// Decodes the output of [`InstanceTable::encode`]; None if the bytes are not that.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut rest = TableReader(bytes.strip_prefix(MAGIC)?);
        let (names, classes) = (rest.texts()?, rest.texts()?);
        let count = rest.count()?;
        let [numbers, parents, name, class, ordinals] = [
            rest.differences(count)?,
            rest.differences(count)?,
            rest.differences(count)?,
            rest.differences(count)?,
            rest.differences(count)?,
        ];
        let mut instances = Vec::with_capacity(count);
        for at in 0..count {
            let it = ListedInstance {
                number: numbers[at],
                parent: parents[at],
                name: name[at],
                class: class[at],
                ordinal: ordinals[at],
            };
            let is_sound = it.parent as usize <= at
                && (it.name as usize) < names.len()
                && (it.class as usize) < classes.len();
            instances.push(Some(it).filter(|_| is_sound)?);
        }
        let row_count = rest.count()?;
        let rows = rest.differences(row_count)?;
        if rows.iter().any(|at| *at as usize >= count) {
            return None;
        }
        let mut columns = Vec::new();
        for _ in 0..rest.count()? {
            let key = ustr(rest.text()?);
            let ty = rest.byte()?;
            let (pool_count, len) = (rest.count()?, rest.count()?);
            let pool = PlainValues::decode(ty, rest.take(len)?, pool_count, is_plain)?;
            let cells: Vec<u32> =
                rest.differences(row_count)?.into_iter().map(|cell| cell.wrapping_sub(1)).collect();
            let is_sound = |cell: &u32| *cell == ABSENT || (*cell as usize) < pool.len();
            if !cells.iter().all(is_sound) {
                return None;
            }
            columns.push(TableColumn { key, pool, cells });
        }
        rest.0.is_empty().then_some(Self { names, classes, instances, rows, columns })
    }
}

/// Writes a number, seven bits a byte, the lowest first.
fn write_number(mut number: u32, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    write_number(text.len() as u32, out);
    out.extend_from_slice(text.as_bytes());
}

/// Writes each number as the difference from the one before, with its sign in the last bit.
fn write_differences(numbers: impl Iterator<Item = u32>, out: &mut Vec<u8>) {
    let mut last = 0_u32;
    for number in numbers {
        let difference = number.wrapping_sub(last) as i32;
        last = number;
        write_number(((difference << 1) ^ (difference >> 31)) as u32, out);
    }
}

/// The unread rest of a table.
struct TableReader<'a>(&'a [u8]);

impl<'a> TableReader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self) -> Option<u32> {
        let mut number = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let byte = self.byte()?;
            number |= u32::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// Reads the count of items that take at least a byte each.
    fn count(&mut self) -> Option<usize> {
        let count = self.number()? as usize;
        (count <= self.0.len()).then_some(count)
    }

    fn text(&mut self) -> Option<&'a str> {
        let len = self.count()?;
        std::str::from_utf8(self.take(len)?).ok()
    }

    fn texts(&mut self) -> Option<TextInterner> {
        let mut texts = TextInterner::default();
        for id in 0..self.count()? {
            // Equal texts would get one number.
            if texts.intern(self.text()?) as usize != id {
                return None;
            }
        }
        Some(texts)
    }

    fn differences(&mut self, count: usize) -> Option<Vec<u32>> {
        let mut last = 0_u32;
        let next = |_| {
            let folded = self.number()?;
            last = last.wrapping_add((folded >> 1) ^ (folded & 1).wrapping_neg());
            Some(last)
        };
        (0..count).map(next).collect()
    }
}
