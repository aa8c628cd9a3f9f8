//! Edits an LZ4 block without packing it again: all sequences that an edit does not touch are kept.
//!
//! A match refers to earlier output by its distance. So a sequence stays as it is unless an edit
//! lies in it, or between it and what it repeats. The others are split, get another distance, or
//! become literals. The result is a little longer than a block that was packed as a whole, but most of
//! its bytes are those of the block before.

use std::ops::Range;

use super::content_edits::ContentEdit;
use super::lz4::{MIN_MATCH, SequenceSpan, next_span};
use crate::splice::PieceList;

/// The greatest distance of a match.
const MAX_OFFSET: usize = 65_535;
/// The last bytes of a block are literals.
const LAST_LITERALS: usize = 5;
/// No match begins in the last bytes of a block.
const NO_MATCH_FROM_END: usize = 12;

/// Returns the block of the edited content, as pieces of the file in which `block` lies at
/// `position`. `content` is what the block unpacks to. The edits are in order and do not touch each
/// other. None if the block is malformed.
pub(super) fn edit_block(
    block: &[u8],
    position: usize,
    content: &[u8],
    edits: &[ContentEdit],
) -> Option<PieceList> {
    let (segments, new_len) = list_segments(content.len(), edits);
    let mut writer = BlockWriter {
        position,
        content,
        kept: segments.iter().filter_map(Segment::as_kept).collect(),
        new_len,
        waiting: Vec::new(),
        waiting_len: 0,
        pieces: PieceList::default(),
    };
    let mut span = next_span(block, 0, 0)?;
    for (at, segment) in segments.iter().enumerate() {
        let is_last = at + 1 == segments.len();
        match segment {
            Segment::New(bytes) => writer.add_literals(LiteralRun::New((*bytes).to_vec())),
            Segment::Kept(kept) => {
                while span.content.end <= kept.old.start && span.offset != 0 {
                    span = next_span(block, span.packed.end, span.content.end)?;
                }
                loop {
                    if span.content.end > content.len() || span.offset > span.match_start() {
                        return None;
                    }
                    if is_last && writer.can_keep_rest(&span, kept) {
                        writer.keep(span.packed.start..block.len());
                        return Some(writer.pieces);
                    }
                    writer.add_sequence(&span, kept);
                    if span.content.end >= kept.old.end || span.offset == 0 {
                        break;
                    }
                    span = next_span(block, span.packed.end, span.content.end)?;
                }
            }
        }
    }
    writer.end_block();
    Some(writer.pieces)
}

/// A part of the edited content.
enum Segment<'a> {
    Kept(KeptRange),
    New(&'a [u8]),
}

impl Segment<'_> {
    fn as_kept(&self) -> Option<&KeptRange> {
        match self {
            Self::Kept(kept) => Some(kept),
            Self::New(_) => None,
        }
    }
}

/// A range of the old content, and where it begins in the new one.
struct KeptRange {
    old: Range<usize>,
    new_start: usize,
}

impl KeptRange {
    /// Returns where a byte of the range lies in the new content.
    fn place(&self, old: usize) -> usize {
        self.new_start + (old - self.old.start)
    }
}

/// Returns the parts of the edited content, in order, and its length.
fn list_segments(len: usize, edits: &[ContentEdit]) -> (Vec<Segment<'_>>, usize) {
    let (mut segments, mut old, mut new) = (Vec::new(), 0, 0);
    let ends = edits.iter().map(|edit| (edit.range.clone(), edit.bytes.as_slice()));
    for (removed, bytes) in ends.chain([(len..len, &[][..])]) {
        if old < removed.start {
            segments.push(Segment::Kept(KeptRange { old: old..removed.start, new_start: new }));
        }
        if !bytes.is_empty() {
            segments.push(Segment::New(bytes));
        }
        new += removed.start - old + bytes.len();
        old = removed.end;
    }
    (segments, new)
}

/// Literal bytes that wait for the match after them.
enum LiteralRun {
    /// A range of the file.
    Kept(Range<usize>),
    New(Vec<u8>),
}

struct BlockWriter<'a> {
    position: usize,
    content: &'a [u8],
    /// The kept ranges, in order.
    kept: Vec<&'a KeptRange>,
    new_len: usize,
    waiting: Vec<LiteralRun>,
    waiting_len: usize,
    pieces: PieceList,
}

impl BlockWriter<'_> {
    fn keep(&mut self, packed: Range<usize>) {
        self.pieces.keep_range(self.position + packed.start..self.position + packed.end);
    }

    fn add_literals(&mut self, run: LiteralRun) {
        self.waiting_len += match &run {
            LiteralRun::Kept(range) => range.len(),
            LiteralRun::New(bytes) => bytes.len(),
        };
        self.waiting.push(run);
    }

    /// Whether this sequence of the last range and all after it can be kept, because no match reaches
    /// back behind the start of the range.
    fn can_keep_rest(&self, span: &SequenceSpan, kept: &KeptRange) -> bool {
        self.waiting.is_empty()
            && span.content.start
                >= kept.old.start + if kept.old.start == 0 { 0 } else { MAX_OFFSET }
    }

    /// Adds the part of a sequence that lies in a kept range.
    fn add_sequence(&mut self, span: &SequenceSpan, kept: &KeptRange) {
        let is_whole = kept.old.start <= span.content.start && span.content.end <= kept.old.end;
        let is_same_distance =
            span.offset != 0 && span.match_start() - span.offset >= kept.old.start;
        let (start, len) = (kept.place(span.match_start().max(kept.old.start)), span.match_len());
        if is_whole && is_same_distance && self.waiting.is_empty() && self.match_room(start) >= len
        {
            self.keep(span.packed.clone());
            return;
        }
        let literals = span.content.start.max(kept.old.start)..span.match_start().min(kept.old.end);
        if !literals.is_empty() {
            let packed = self.position + span.literals + (literals.start - span.content.start);
            self.add_literals(LiteralRun::Kept(packed..packed + literals.len()));
        }
        let end = span.content.end.min(kept.old.end);
        let mut at = span.match_start().max(kept.old.start);
        while at < end {
            at += self.add_match(at..end, span.offset, kept);
        }
    }

    /// Adds the first part of a match, or of what is left of it, for which the distance is the same.
    /// Returns its length.
    fn add_match(&mut self, old: Range<usize>, offset: usize, kept: &KeptRange) -> usize {
        let source = old.start - offset;
        let found = self.kept_range_at(source);
        let new_start = kept.place(old.start);
        let (len, distance) = match found {
            Ok(range) => {
                let len = old.len().min(range.old.end - source);
                (len, new_start - range.place(source))
            }
            // What it repeats is gone, up to the next kept range.
            Err(next) => (old.len().min(next - source), 0),
        };
        let matched = len.min(self.match_room(new_start));
        if (1..=MAX_OFFSET).contains(&distance) && matched >= MIN_MATCH {
            self.end_sequence(distance, matched);
            return matched;
        }
        self.add_literals(LiteralRun::New(self.content[old.start..old.start + len].to_vec()));
        len
    }

    /// Returns the kept range with a byte of the old content, or where the next one begins.
    fn kept_range_at(&self, old: usize) -> Result<&KeptRange, usize> {
        let behind = self.kept.partition_point(|kept| kept.old.end <= old);
        match self.kept.get(behind) {
            Some(kept) if kept.old.start <= old => Ok(kept),
            Some(next) => Err(next.old.start),
            None => Err(self.content.len()),
        }
    }

    /// Returns how long a match may be that begins at a byte of the new content.
    fn match_room(&self, new_start: usize) -> usize {
        if new_start + NO_MATCH_FROM_END > self.new_len {
            return 0;
        }
        self.new_len - LAST_LITERALS - new_start
    }

    /// Writes the waiting literals, and the match after them.
    fn end_sequence(&mut self, offset: usize, match_len: usize) {
        let extra = match_len - MIN_MATCH;
        self.write_literals(extra);
        let mut tail = (offset as u16).to_le_bytes().to_vec();
        push_length(&mut tail, extra);
        self.pieces.add_bytes(tail);
    }

    /// Writes the waiting literals as the last sequence.
    fn end_block(&mut self) {
        self.write_literals(0);
    }

    fn write_literals(&mut self, match_extra: usize) {
        let nibble = |len: usize| len.min(15) as u8;
        let mut head = vec![nibble(self.waiting_len) << 4 | nibble(match_extra)];
        push_length(&mut head, self.waiting_len);
        self.pieces.add_bytes(head);
        for run in std::mem::take(&mut self.waiting) {
            match run {
                LiteralRun::Kept(range) => self.pieces.keep_range(range),
                LiteralRun::New(bytes) => self.pieces.add_bytes(bytes),
            }
        }
        self.waiting_len = 0;
    }
}

/// Appends the bytes of a length that does not fit into the token.
fn push_length(out: &mut Vec<u8>, len: usize) {
    if let Some(mut rest) = len.checked_sub(15) {
        while rest >= 255 {
            out.push(255);
            rest -= 255;
        }
        out.push(rest as u8);
    }
}

#[cfg(test)]
mod tests {
    use random_draws::{RandomDraws, check_seeds};

    use super::*;
    use crate::binary::content_edits::{apply_edits, find_edits};

    /// Bytes with repetitions of few periods.
    fn content(draws: &mut RandomDraws, most: usize) -> Vec<u8> {
        let mut content = Vec::new();
        for _ in 0..draws.below(12) {
            let (period, values, len) =
                (1 + draws.below(9), 1 + draws.below(4), draws.below(most / 8 + 2));
            let pattern: Vec<u8> = (0..period).map(|_| draws.below(values) as u8).collect();
            content.extend(pattern.iter().cycle().take(len));
            let more = draws.below(20);
            content.extend(draws.bytes(more));
        }
        content
    }

    /// Returns edits that do not touch each other.
    fn some_edits(draws: &mut RandomDraws, len: usize) -> Vec<ContentEdit> {
        let (mut edits, mut at) = (Vec::new(), 0);
        for _ in 0..draws.below(6) {
            let start = at + draws.below(len / 3 + 2);
            let removed = if draws.one_in(3) { draws.below(len / 4 + 2) } else { draws.below(9) };
            let inserted = draws.below(9);
            if start + removed > len || removed + inserted == 0 {
                break;
            }
            edits.push(ContentEdit { range: start..start + removed, bytes: draws.bytes(inserted) });
            at = start + removed + 1;
        }
        if draws.one_in(3) && at <= len {
            edits.push(ContentEdit { range: len..len, bytes: draws.bytes(2) });
        }
        edits
    }

    #[track_caller]
    fn check(content: &[u8], edits: &[ContentEdit]) -> PieceList {
        const BEFORE: &[u8] = b"before";
        let block = lz4_flex::block::compress(content);
        let file = [BEFORE, &block].concat();
        let pieces = edit_block(&block, BEFORE.len(), content, edits).unwrap();
        let edited = pieces.byte_runs(&file).collect::<Vec<_>>().concat();
        let wanted = apply_edits(content, edits);
        let unpacked = lz4_flex::block::decompress(&edited, wanted.len()).unwrap();
        assert!(unpacked == wanted, "{edits:?} of {content:?}");
        pieces
    }

    #[test]
    fn edited_blocks_unpack_to_the_edited_content() {
        check_seeds(0..2_000, |draws| {
            let most = [40, 400, 4_000, 900_000][draws.below(4)];
            let content = content(draws, most);
            let edits = some_edits(draws, content.len());
            check(&content, &edits);
        });
    }

    #[test]
    fn distances_beyond_the_greatest_become_literals() {
        let half: Vec<u8> = (0..65_500_usize).map(|n| ((n * n) >> 5) as u8).collect();
        let content = [half.as_slice(), &half].concat();
        let insert = |at: usize, len: usize| ContentEdit { range: at..at, bytes: vec![7; len] };
        for len in [1, 30, 40, 300] {
            check(&content, &[insert(65_000, len)]);
            check(&content, &[insert(10, len), insert(65_510, 2)]);
        }
    }

    #[test]
    fn little_of_a_block_changes_with_its_content() {
        let content: Vec<u8> = (0..200_000_usize).map(|n| ((n * n) >> 9) as u8).collect();
        let edits = [50_000, 100_000, 150_000]
            .map(|at| ContentEdit { range: at..at, bytes: vec![1, 2, 3, 4] });
        let pieces = check(&content, &edits);
        let new = pieces.patch_from(&PieceList::whole_file(0), &[]).to_bytes().len();
        assert!(new < 3_000, "{new} bytes");
    }

    #[test]
    fn found_edits_of_columns_are_short() {
        // A row is appended to each of four planes.
        let plane = |n: u8, rows: usize| (0..rows).map(move |row| (row as u8) & n);
        let column = |rows: usize| -> Vec<u8> { (0..4).flat_map(|n| plane(n, rows)).collect() };
        let (before, after) = (column(5_000), column(5_001));
        let edits = find_edits(&before, &after).unwrap();
        assert!(edits.len() <= 4, "{edits:?}");
        check(&before, &edits);
    }

    #[test]
    fn malformed_blocks_are_refused() {
        let insert = [ContentEdit { range: 3..3, bytes: vec![1] }];
        check_seeds(0..300, |draws| {
            let len = draws.below(40);
            let block = draws.bytes(len);
            // It must not panic, whatever the block claims.
            let _ = edit_block(&block, 0, &[0; 16], &insert);
        });
    }
}
