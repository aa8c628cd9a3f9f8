//! Minimal LZ4 reader that returns the start of a block, or its unpacked length, without unpacking
//! it all.
//!
//! Whole blocks are unpacked by `lz4_flex`, which is several times as fast.

use std::ops::Range;

/// The minimum length of a match.
pub(super) const MIN_MATCH: usize = 4;

/// Literal bytes, followed by a match: a repetition of earlier output.
struct Lz4Sequence<'a> {
    literals: &'a [u8],
    /// Distance from the current end back to the match; 0 in the last sequence, which has none.
    offset: usize,
    match_len: usize,
    /// The number of bytes of the block after the literals.
    behind_literals: usize,
}

/// Reads the next sequence of a block; None if it is malformed.
fn next_sequence<'a>(rest: &mut &'a [u8]) -> Option<Lz4Sequence<'a>> {
    let (token, behind) = rest.split_first()?;
    *rest = behind;
    let literals = read_length(usize::from(token >> 4), rest)?;
    let (literals, behind) = rest.split_at_checked(literals)?;
    *rest = behind;
    let behind_literals = rest.len();
    if rest.is_empty() {
        return Some(Lz4Sequence { literals, offset: 0, match_len: 0, behind_literals });
    }
    let (back, behind) = rest.split_first_chunk::<2>()?;
    *rest = behind;
    let back = usize::from(u16::from_le_bytes(*back));
    let repeat = read_length(usize::from(token & 15), rest)? + MIN_MATCH;
    let (offset, match_len) = (back, repeat);
    (back > 0).then_some(Lz4Sequence { literals, offset, match_len, behind_literals })
}

/// Reads a length. The token holds up to 15, and each byte of 255 is followed by another one.
fn read_length(in_token: usize, rest: &mut &[u8]) -> Option<usize> {
    let mut length = in_token;
    if in_token < 15 {
        return Some(length);
    }
    loop {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        length += usize::from(*byte);
        if *byte < 255 {
            return Some(length);
        }
    }
}

/// The position of a sequence in its block and in the content.
#[derive(Debug, Clone)]
pub(super) struct SequenceSpan {
    /// The range of the block.
    pub(super) packed: Range<usize>,
    /// Where the literals begin in the block.
    pub(super) literals: usize,
    literal_len: usize,
    /// The range of the content: the literals, then the match.
    pub(super) content: Range<usize>,
    /// Distance from the match back to what it repeats; 0 in the last sequence, which has none.
    pub(super) offset: usize,
}

impl SequenceSpan {
    /// Returns where the match begins in the content.
    pub(super) fn match_start(&self) -> usize {
        self.content.start + self.literal_len
    }

    pub(super) fn match_len(&self) -> usize {
        self.content.len() - self.literal_len
    }
}

/// Finds the sequence that begins at a position of a block and of its content; None if it is
/// malformed.
pub(super) fn next_span(block: &[u8], packed: usize, content: usize) -> Option<SequenceSpan> {
    let mut rest = block.get(packed..)?;
    let sequence = next_sequence(&mut rest)?;
    let Lz4Sequence { offset, match_len, behind_literals, .. } = sequence;
    let literal_len = sequence.literals.len();
    Some(SequenceSpan {
        packed: packed..block.len() - rest.len(),
        literals: block.len() - behind_literals - literal_len,
        literal_len,
        content: content..content + literal_len + match_len,
        offset,
    })
}

/// Returns the unpacked length of a block; None if it is malformed.
pub(super) fn unpacked_len(mut block: &[u8]) -> Option<usize> {
    let mut total = 0_usize;
    loop {
        let sequence = next_sequence(&mut block)?;
        total += sequence.literals.len();
        if sequence.offset == 0 {
            return Some(total);
        }
        if sequence.offset > total {
            return None;
        }
        total += sequence.match_len;
    }
}

/// Unpacks the first `n` bytes of a block, or all of it if it has fewer. The rest is not read. `n`
/// bytes are allocated at once, so the caller must know that the block can have as many.
pub(super) fn unpack_front(mut block: &[u8], n: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(n);
    while out.len() < n {
        let Lz4Sequence { literals, offset: back, match_len: repeat, .. } =
            next_sequence(&mut block)?;
        out.extend_from_slice(&literals[..literals.len().min(n - out.len())]);
        if back == 0 || out.len() == n {
            break;
        }
        let start = out.len().checked_sub(back)?;
        let mut left = repeat.min(n - out.len());
        // The match may overlap its own output; each round doubles the available bytes.
        while left > 0 {
            let step = left.min(out.len() - start);
            out.extend_from_within(start..start + step);
            left -= step;
        }
    }
    Some(out)
}
