//! MessagePack, as far as Rojo's answer about itself needs it.
//!
//! Bytes and extensions are passed over. The format is that of github.com/msgpack/msgpack, spec.md.

use serde_json::{Map, Value as Json};

/// How deep values may be nested; Rojo's answer is two deep.
const MAX_DEPTH: usize = 8;

/// The value that bytes begin with; none where they are no value.
pub(super) fn read(bytes: &[u8]) -> Option<Json> {
    Reader(bytes).value(0)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of that many bytes, the highest first.
    fn number(&mut self, length: usize) -> Option<u64> {
        Some(self.take(length)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn length(&mut self, bytes: usize) -> Option<usize> {
        self.number(bytes)?.try_into().ok()
    }

    fn signed(&mut self, length: usize) -> Option<Json> {
        let shift = 64 - 8 * length as u32;
        Some(((self.number(length)? << shift) as i64 >> shift).into())
    }

    fn value(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        let kind = *self.take(1)?.first()?;
        Some(match kind {
            0x00..=0x7f => kind.into(),
            0xe0..=0xff => (kind as i8).into(),
            0x80..=0x8f => self.map(usize::from(kind & 0x0f), depth)?,
            0x90..=0x9f => self.array(usize::from(kind & 0x0f), depth)?,
            0xa0..=0xbf => self.text(usize::from(kind & 0x1f))?,
            0xc2 => false.into(),
            0xc3 => true.into(),
            0xca => f32::from_bits(self.number(4)? as u32).into(),
            0xcb => f64::from_bits(self.number(8)?).into(),
            0xcc..=0xcf => self.number(1 << (kind - 0xcc))?.into(),
            0xd0..=0xd3 => self.signed(1 << (kind - 0xd0))?,
            0xd9..=0xdb => {
                let length = self.length(1 << (kind - 0xd9))?;
                self.text(length)?
            }
            0xdc | 0xdd => {
                let length = self.length(2 << (kind - 0xdc))?;
                self.array(length, depth)?
            }
            0xde | 0xdf => {
                let length = self.length(2 << (kind - 0xde))?;
                self.map(length, depth)?
            }
            0xc4..=0xc6 => {
                let length = self.length(1 << (kind - 0xc4))?;
                self.pass(length)?
            }
            0xc7..=0xc9 => {
                let length = self.length(1 << (kind - 0xc7))?;
                self.pass(length.checked_add(1)?)?
            }
            0xd4..=0xd8 => self.pass((1 << (kind - 0xd4)) + 1)?,
            0xc0 => Json::Null,
            0xc1 => return None,
        })
    }

    fn pass(&mut self, length: usize) -> Option<Json> {
        self.take(length).map(|_| Json::Null)
    }

    fn text(&mut self, length: usize) -> Option<Json> {
        Some(std::str::from_utf8(self.take(length)?).ok()?.into())
    }

    fn array(&mut self, length: usize, depth: usize) -> Option<Json> {
        let values: Option<Vec<Json>> = (0..length).map(|_| self.value(depth + 1)).collect();
        values.map(Json::Array)
    }

    fn map(&mut self, length: usize, depth: usize) -> Option<Json> {
        let mut fields = Map::new();
        for _ in 0..length {
            let (key, value) = (self.value(depth + 1)?, self.value(depth + 1)?);
            if let Json::String(key) = key {
                fields.insert(key, value);
            }
        }
        Some(Json::Object(fields))
    }
}
