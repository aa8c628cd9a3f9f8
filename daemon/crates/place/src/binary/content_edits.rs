//! The edits that turn the content of a chunk into other content.
//!
//! Adding an instance to a class inserts a few bytes at many places of each of its columns, and the
//! rest stays. This module finds such edits by comparing bytes, and knows nothing about columns.

use std::ops::Range;

use crate::bytes::common_prefix;
use crate::splice::PieceList;

/// An edit of the content of a chunk: the bytes in `range` are replaced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ContentEdit {
    /// A range of the content before all edits; empty if bytes are only inserted.
    pub(super) range: Range<usize>,
    pub(super) bytes: Vec<u8>,
}

/// More edits than this are not listed: packing the whole content is then cheaper.
const MAX_EDITS: usize = 512;
/// How far ahead the contents are compared to find where they agree again.
const MAX_SHIFT: usize = 256;
/// How many bytes must be equal for contents to agree again.
const MIN_EQUAL: usize = 24;

/// Returns the edits from one content to another, in order and not touching each other; None if
/// they are too many or too far apart to be found quickly.
pub(super) fn find_edits(before: &[u8], after: &[u8]) -> Option<Vec<ContentEdit>> {
    let (mut edits, mut old, mut new) = (Vec::new(), 0, 0);
    loop {
        let (rest_old, rest_new) = (&before[old..], &after[new..]);
        let equal = common_prefix(rest_old, rest_new);
        (old, new) = (old + equal, new + equal);
        let (rest_old, rest_new) = (&rest_old[equal..], &rest_new[equal..]);
        if rest_old.is_empty() && rest_new.is_empty() {
            return Some(edits);
        }
        if edits.len() == MAX_EDITS {
            return None;
        }
        let (removed, inserted) = find_agreement(rest_old, rest_new)?;
        let bytes = rest_new[..inserted].to_vec();
        edits.push(ContentEdit { range: old..old + removed, bytes });
        (old, new) = (old + removed, new + inserted);
    }
}

/// Returns how many bytes of each content precede the place where they agree again.
fn find_agreement(old: &[u8], new: &[u8]) -> Option<(usize, usize)> {
    let agrees = |removed: usize, inserted: usize| {
        let (Some(old), Some(new)) = (old.get(removed..), new.get(inserted..)) else {
            return false;
        };
        let most = old.len().min(new.len());
        let is_at_end = old.len() == new.len() && most < MIN_EQUAL;
        (is_at_end || most >= MIN_EQUAL) && old.iter().zip(new).take(MIN_EQUAL).all(|(a, b)| a == b)
    };
    // The usual cases first: the same number of bytes replaced, or bytes inserted or removed.
    for shift in 1..=MAX_SHIFT {
        for (removed, inserted) in [(shift, shift), (0, shift), (shift, 0)] {
            if agrees(removed, inserted) {
                return Some((removed, inserted));
            }
        }
    }
    // The ends may be too short to agree.
    (old.len() <= MAX_SHIFT && new.len() <= MAX_SHIFT).then_some((old.len(), new.len()))
}

/// Returns the edited content of `len` bytes at a position of a file, as pieces of the file.
pub(super) fn edit_stored(position: usize, len: usize, edits: &[ContentEdit]) -> PieceList {
    let (mut pieces, mut at) = (PieceList::default(), 0);
    for edit in edits {
        pieces.keep_range(position + at..position + edit.range.start);
        pieces.add_bytes(edit.bytes.clone());
        at = edit.range.end;
    }
    pieces.keep_range(position + at..position + len);
    pieces
}

#[cfg(test)]
pub(super) fn apply_edits(content: &[u8], edits: &[ContentEdit]) -> Vec<u8> {
    let (mut after, mut at) = (Vec::new(), 0);
    for edit in edits {
        after.extend_from_slice(&content[at..edit.range.start]);
        after.extend_from_slice(&edit.bytes);
        at = edit.range.end;
    }
    after.extend_from_slice(&content[at..]);
    after
}

#[cfg(test)]
mod tests {
    use random_draws::check_seeds;

    use super::*;

    #[test]
    fn found_edits_lead_to_the_other_content() {
        check_seeds(0..500, |draws| {
            let mut bytes = |most: usize| -> Vec<u8> {
                let (len, values) = (draws.below(most), 1 + draws.below(3));
                (0..len).map(|_| draws.below(values) as u8).collect()
            };
            let (before, inserted, behind) = (bytes(200), bytes(20), bytes(20));
            let after =
                [&before[..before.len() / 2], &inserted, &before[before.len() / 2..], &behind]
                    .concat();
            for (a, b) in [(&before, &after), (&after, &before), (&inserted, &behind)] {
                let edits = find_edits(a, b).unwrap();
                assert_eq!(apply_edits(a, &edits), *b);
            }
        });
    }

    #[test]
    fn contents_with_nothing_in_common_are_not_edited() {
        let content = |seed: usize| -> Vec<u8> {
            (0..9_000_usize).map(|n| (n.wrapping_mul(seed) >> 7) as u8).collect()
        };
        assert_eq!(find_edits(&content(1_234_567), &content(7_654_321)), None);
        assert_eq!(find_edits(&content(77), &content(77)), Some(Vec::new()));
    }
}
