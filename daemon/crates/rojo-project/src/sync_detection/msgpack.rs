//! A MessagePack decoder, limited to what Rojo's server information needs.
//!
//! Binary data and extensions are skipped. The format is defined in spec.md of
//! github.com/msgpack/msgpack.

use serde_json::{Map, Value as Json};

/// The maximum nesting depth; Rojo's response is two levels deep.
const MAX_DEPTH: usize = 8;

/// Decodes the value at the start of the bytes; None if they are not valid.
pub(super) fn read_value(bytes: &[u8]) -> Option<Json> {
    MsgpackReader(bytes).read_any(0)
}

struct MsgpackReader<'a>(&'a [u8]);

impl<'a> MsgpackReader<'a> {
    fn take_bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads a big-endian number of `length` bytes.
    fn read_number(&mut self, length: usize) -> Option<u64> {
        Some(self.take_bytes(length)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn read_length(&mut self, bytes: usize) -> Option<usize> {
        self.read_number(bytes)?.try_into().ok()
    }

    fn read_signed(&mut self, length: usize) -> Option<Json> {
        let shift = 64 - 8 * length as u32;
        Some(((self.read_number(length)? << shift) as i64 >> shift).into())
    }

    fn read_any(&mut self, depth: usize) -> Option<Json> {
        if depth > MAX_DEPTH {
            return None;
        }
        let kind = *self.take_bytes(1)?.first()?;
        Some(match kind {
            0x00..=0x7f => kind.into(),
            0xe0..=0xff => (kind as i8).into(),
            0x80..=0x8f => self.read_map(usize::from(kind & 0x0f), depth)?,
            0x90..=0x9f => self.read_array(usize::from(kind & 0x0f), depth)?,
            0xa0..=0xbf => self.read_text(usize::from(kind & 0x1f))?,
            0xc2 => false.into(),
            0xc3 => true.into(),
            0xca => f32::from_bits(self.read_number(4)? as u32).into(),
            0xcb => f64::from_bits(self.read_number(8)?).into(),
            0xcc..=0xcf => self.read_number(1 << (kind - 0xcc))?.into(),
            0xd0..=0xd3 => self.read_signed(1 << (kind - 0xd0))?,
            0xd9..=0xdb => {
                let length = self.read_length(1 << (kind - 0xd9))?;
                self.read_text(length)?
            }
            0xdc | 0xdd => {
                let length = self.read_length(2 << (kind - 0xdc))?;
                self.read_array(length, depth)?
            }
            0xde | 0xdf => {
                let length = self.read_length(2 << (kind - 0xde))?;
                self.read_map(length, depth)?
            }
            0xc4..=0xc6 => {
                let length = self.read_length(1 << (kind - 0xc4))?;
                self.skip_bytes(length)?
            }
            0xc7..=0xc9 => {
                let length = self.read_length(1 << (kind - 0xc7))?;
                self.skip_bytes(length.checked_add(1)?)?
            }
            0xd4..=0xd8 => self.skip_bytes((1 << (kind - 0xd4)) + 1)?,
            0xc0 => Json::Null,
            0xc1 => return None,
        })
    }

    fn skip_bytes(&mut self, length: usize) -> Option<Json> {
        self.take_bytes(length).map(|_| Json::Null)
    }

    fn read_text(&mut self, length: usize) -> Option<Json> {
        Some(std::str::from_utf8(self.take_bytes(length)?).ok()?.into())
    }

    fn read_array(&mut self, length: usize, depth: usize) -> Option<Json> {
        let values: Option<Vec<Json>> = (0..length).map(|_| self.read_any(depth + 1)).collect();
        values.map(Json::Array)
    }

    fn read_map(&mut self, length: usize, depth: usize) -> Option<Json> {
        let mut fields = Map::new();
        for _ in 0..length {
            let (key, value) = (self.read_any(depth + 1)?, self.read_any(depth + 1)?);
            if let Json::String(key) = key {
                fields.insert(key, value);
            }
        }
        Some(Json::Object(fields))
    }
}
