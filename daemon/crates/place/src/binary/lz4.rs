//! As much of LZ4 as it takes to see the front of a block, or how long it is, without unpacking it.
//!
//! A whole block is unpacked by `lz4_flex`, which is several times as fast.

/// The shortest repetition that a sequence can ask for.
const MIN_MATCH: usize = 4;

/// Bytes that stand for themselves, and then a repetition of what came before.
struct Lz4Sequence<'a> {
    literals: &'a [u8],
    /// How far back the repetition begins; 0 in the last sequence, which has none.
    offset: usize,
    match_len: usize,
}

/// Takes the next sequence off a block; none where it is malformed.
fn next_sequence<'a>(rest: &mut &'a [u8]) -> Option<Lz4Sequence<'a>> {
    let (token, behind) = rest.split_first()?;
    *rest = behind;
    let literals = read_length(usize::from(token >> 4), rest)?;
    let (literals, behind) = rest.split_at_checked(literals)?;
    *rest = behind;
    if rest.is_empty() {
        return Some(Lz4Sequence { literals, offset: 0, match_len: 0 });
    }
    let (back, behind) = rest.split_first_chunk::<2>()?;
    *rest = behind;
    let back = usize::from(u16::from_le_bytes(*back));
    let repeat = read_length(usize::from(token & 15), rest)? + MIN_MATCH;
    (back > 0).then_some(Lz4Sequence { literals, offset: back, match_len: repeat })
}

/// A length, of which the token has up to 15; bytes of 255 say that it goes on.
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

/// How many bytes a block unpacks to; none where it is malformed.
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

/// The first `n` bytes that a block unpacks to, or all where it has fewer. What comes behind them
/// is not looked at. `n` is believed, so the caller must know that the block can have as many.
pub(super) fn unpack_front(mut block: &[u8], n: usize) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(n);
    while out.len() < n {
        let Lz4Sequence { literals, offset: back, match_len: repeat } = next_sequence(&mut block)?;
        out.extend_from_slice(&literals[..literals.len().min(n - out.len())]);
        if back == 0 || out.len() == n {
            break;
        }
        let start = out.len().checked_sub(back)?;
        let mut left = repeat.min(n - out.len());
        // The repetition may reach into what it adds; each round then doubles what there is.
        while left > 0 {
            let step = left.min(out.len() - start);
            out.extend_from_within(start..start + step);
            left -= step;
        }
    }
    Some(out)
}
