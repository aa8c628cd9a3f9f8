//! Bounds-checked reading of numbers and texts from the front of a byte slice.

use std::borrow::Cow;

/// The unread rest of a byte slice.
#[derive(Debug, Clone, Copy)]
pub(super) struct ByteReader<'a>(pub(super) &'a [u8]);

impl<'a> ByteReader<'a> {
    pub(super) fn take_bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(super) fn read_byte(&mut self) -> Option<u8> {
        self.take_bytes(1)?.first().copied()
    }

    pub(super) fn read_u32(&mut self) -> Option<u32> {
        let (four, rest) = self.0.split_first_chunk::<4>()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*four))
    }

    pub(super) fn read_text(&mut self) -> Option<&'a [u8]> {
        let len = self.read_u32()?;
        self.take_bytes(len as usize)
    }

    /// Reads instance numbers. Each is stored as the difference from its predecessor, and bytes are
    /// interleaved: the first bytes of all numbers come first, then the second bytes, and so on.
    pub(super) fn read_referents(
        &mut self,
        count: usize,
    ) -> Option<impl ExactSizeIterator<Item = i32> + use<'a>> {
        let mut planes = Self(self.take_bytes(count.checked_mul(4)?)?);
        let mut plane = || planes.take_bytes(count);
        let (first, second, third, fourth) = (plane()?, plane()?, plane()?, plane()?);
        let mut last = 0_i32;
        let bytes = first.iter().zip(second).zip(third).zip(fourth);
        Some(bytes.map(move |(((a, b), c), d)| {
            let folded = u32::from_be_bytes([*a, *b, *c, *d]);
            last = last.wrapping_add((folded >> 1) as i32 ^ -((folded & 1) as i32));
            last
        }))
    }
}

/// Decodes UTF-8, with `�` for invalid bytes. Most texts are valid, and `from_utf8` detects that
/// faster than `from_utf8_lossy`.
pub(super) fn lossy_text(text: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(text).map_or_else(|_| String::from_utf8_lossy(text), Cow::Borrowed)
}

/// Slices are compared in pieces of this many bytes, which takes a few instructions for equal ones.
pub(super) const COMPARED: usize = 64;

/// Returns how many bytes two slices have in common at their start.
pub(super) fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let pieces = a.chunks(COMPARED).zip(b.chunks(COMPARED));
    let same: usize = pieces.take_while(|(a, b)| a == b).map(|(a, _)| a.len()).sum();
    let rest = a[same..].iter().zip(&b[same..]);
    same + rest.take_while(|(a, b)| a == b).count()
}

pub(super) fn encode_referents(numbers: &[i32]) -> Vec<u8> {
    let (count, mut last) = (numbers.len(), 0_i32);
    let mut planes = vec![0; 4 * count];
    for (at, number) in numbers.iter().enumerate() {
        let difference = number.wrapping_sub(last);
        last = *number;
        let folded = difference.wrapping_shl(1) ^ (difference >> 31);
        for (plane, byte) in folded.to_be_bytes().into_iter().enumerate() {
            planes[plane * count + at] = byte;
        }
    }
    planes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn referents_round_trip() {
        for numbers in [vec![], vec![0, 1, 2, -1, 7, i32::MAX, i32::MIN, 0]] {
            let planes = encode_referents(&numbers);
            let mut bytes = ByteReader(&planes);
            assert_eq!(bytes.read_referents(numbers.len()).unwrap().collect::<Vec<_>>(), numbers);
            assert!(bytes.0.is_empty() && bytes.read_referents(1).is_none());
        }
    }
}
