//! Piece lists: a new file as runs of the original bytes and new bytes. An edit is written without
//! copying unchanged bytes, and a patch can restore the exact previous bytes.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::bytes::common_prefix;

/// A run of bytes of a new file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum FilePiece {
    /// A range of the file that was read.
    Original(Range<usize>),
    New(Vec<u8>),
}

impl FilePiece {
    fn len(&self) -> usize {
        match self {
            Self::Original(range) => range.len(),
            Self::New(bytes) => bytes.len(),
        }
    }
}

/// A file as a list of pieces of the file that was read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PieceList(Vec<FilePiece>);

impl PieceList {
    /// Returns the piece list of the unchanged file.
    pub(super) fn whole_file(len: usize) -> Self {
        Self(vec![FilePiece::Original(0..len)])
    }

    pub(super) fn keep_range(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(FilePiece::Original(last)) if last.end == range.start => last.end = range.end,
            _ => self.0.push(FilePiece::Original(range)),
        }
    }

    pub(super) fn add_bytes(&mut self, bytes: Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(FilePiece::New(last)) => last.extend_from_slice(&bytes),
            _ => self.0.push(FilePiece::New(bytes)),
        }
    }

    /// Appends all pieces of another list of the same original.
    pub(super) fn append(&mut self, other: Self) {
        for piece in other.0 {
            match piece {
                FilePiece::Original(range) => self.keep_range(range),
                FilePiece::New(bytes) => self.add_bytes(bytes),
            }
        }
    }

    /// Inserts bytes before an offset of the original file, if the byte at that offset is kept.
    pub(super) fn insert_at(&mut self, offset: usize, bytes: Vec<u8>) {
        let contains_offset = |piece: &FilePiece| matches!(piece, FilePiece::Original(range) if range.contains(&offset));
        let Some(at) = self.0.iter().position(contains_offset) else {
            return;
        };
        if let FilePiece::Original(range) = self.0[at].clone() {
            let split = [range.start..offset, offset..range.end].map(FilePiece::Original);
            let [front, back] = split;
            let pieces = [front, FilePiece::New(bytes), back];
            let is_something =
                |it: &FilePiece| !matches!(it, FilePiece::Original(range) if range.is_empty());
            self.0.splice(at..=at, pieces.into_iter().filter(is_something));
        }
    }

    /// Returns the bytes, run by run.
    pub(super) fn byte_runs<'a>(&'a self, read: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().map(|piece| match piece {
            FilePiece::Original(range) => read.get(range.clone()).unwrap_or_default(),
            FilePiece::New(bytes) => bytes,
        })
    }

    pub(super) fn len(&self) -> usize {
        self.0.iter().map(FilePiece::len).sum()
    }

    /// Returns the kept ranges of the original file with their offsets in this file, sorted by
    /// range and without overlaps.
    fn original_ranges(&self) -> Vec<(Range<usize>, usize)> {
        let (mut found, mut at) = (Vec::new(), 0);
        for piece in &self.0 {
            at += match piece {
                FilePiece::Original(range) => {
                    found.push((range.clone(), at));
                    range.len()
                }
                FilePiece::New(bytes) => bytes.len(),
            };
        }
        found.sort_unstable_by_key(|(range, _)| range.start);
        // `patch_from` binary searches the ranges by their ends, so a byte that is kept twice counts
        // once.
        let mut end = 0;
        found.retain_mut(|(range, position)| {
            let cut = end.max(range.start).min(range.end) - range.start;
            range.start += cut;
            *position += cut;
            end = end.max(range.end);
            range.start < range.end
        });
        found
    }

    /// Returns the patch that turns `other` into this file. Both must derive from the same
    /// original.
    pub(super) fn patch_from(&self, other: &Self, read: &[u8]) -> BytePatch {
        let (kept, mut patch) = (other.original_ranges(), BytePatch::default());
        for piece in &self.0 {
            match piece {
                FilePiece::New(bytes) => patch.0.add_bytes(bytes.clone()),
                FilePiece::Original(range) => {
                    let mut at = range.start;
                    let next = kept.partition_point(|(it, _)| it.end <= at);
                    for (it, position) in kept.iter().skip(next) {
                        if it.start >= range.end {
                            break;
                        }
                        let (start, end) = (it.start.max(at), it.end.min(range.end));
                        if start >= end {
                            continue;
                        }
                        patch.0.add_bytes(read.get(at..start).unwrap_or_default().to_vec());
                        patch.0.keep_range(position + start - it.start..position + end - it.start);
                        at = end;
                    }
                    patch.0.add_bytes(read.get(at..range.end).unwrap_or_default().to_vec());
                }
            }
        }
        patch.keep_added(other, read)
    }
}

/// A piece list with the offset of each piece, so that a range is found without walking the list.
struct PieceIndex<'a> {
    pieces: &'a [FilePiece],
    /// For each piece, its start in the file, and at the end the length of the file.
    starts: Vec<usize>,
}

impl<'a> PieceIndex<'a> {
    fn new(list: &'a PieceList) -> Self {
        let mut starts = vec![0];
        for piece in &list.0 {
            starts.push(starts.last().copied().unwrap_or(0) + piece.len());
        }
        Self { pieces: &list.0, starts }
    }

    fn file_len(&self) -> usize {
        self.starts.last().copied().unwrap_or(0)
    }

    /// Appends a range of the file to another piece list.
    fn copy_range(&self, part: Range<usize>, to: &mut PieceList) {
        let first = self.starts.partition_point(|start| *start <= part.start).saturating_sub(1);
        let pieces = self.pieces.iter().skip(first).zip(self.starts.iter().skip(first));
        for (piece, start) in pieces {
            if *start >= part.end {
                break;
            }
            let inside = |at: usize| at.clamp(*start, start + piece.len()) - start;
            let (from, end) = (inside(part.start), inside(part.end));
            match piece {
                FilePiece::Original(range) => to.keep_range(range.start + from..range.start + end),
                FilePiece::New(bytes) => {
                    to.add_bytes(bytes.get(from..end).unwrap_or_default().to_vec());
                }
            }
        }
    }

    /// Returns the bytes of a range of the file.
    fn bytes_in(&self, range: Range<usize>, read: &[u8]) -> Vec<u8> {
        let mut part = PieceList::default();
        self.copy_range(range, &mut part);
        part.byte_runs(read).collect::<Vec<_>>().concat()
    }
}

/// The bytes that are looked up at once to find runs.
const BLOCK: usize = 16;

/// The shortest run that is worth a piece of its own, which takes 17 bytes and splits the new bytes.
const LEAST_RUN: usize = 2 * BLOCK;

/// Longer stretches than this are not searched, so that a patch of many megabytes stays fast.
const MOST_SEARCHED: usize = 16 << 20;

/// Appends `bytes` to a patch. Runs that `there` has too, which begins at `offset` of the other file,
/// are kept.
fn keep_runs(bytes: &[u8], there: &[u8], offset: usize, patch: &mut PieceList) {
    let mut blocks = FxHashMap::default();
    if bytes.len() >= LEAST_RUN && bytes.len() + there.len() <= MOST_SEARCHED {
        for (number, block) in there.as_chunks::<BLOCK>().0.iter().enumerate() {
            blocks.entry(u128::from_le_bytes(*block)).or_insert(number * BLOCK);
        }
    }
    let (mut done, mut at) = (0, 0);
    while !blocks.is_empty()
        && let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>())
    {
        let Some(found) = blocks.get(&u128::from_le_bytes(*block)).copied() else {
            at += 1;
            continue;
        };
        let before = bytes[done..at].iter().rev().zip(there[..found].iter().rev());
        let back = before.take_while(|(one, other)| one == other).count();
        let run = back + common_prefix(&bytes[at..], &there[found..]);
        if run < LEAST_RUN {
            at += 1;
            continue;
        }
        patch.add_bytes(bytes[done..at - back].to_vec());
        let start = offset + found - back;
        patch.keep_range(start..start + run);
        done = at - back + run;
        at = done;
    }
    patch.add_bytes(bytes[done..].to_vec());
}

impl From<Vec<u8>> for PieceList {
    fn from(bytes: Vec<u8>) -> Self {
        let mut pieces = Self::default();
        pieces.add_bytes(bytes);
        pieces
    }
}

/// A patch that rebuilds one file from another.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BytePatch(PieceList);

const MAGIC: &[u8] = b"vector patch 1\n";

impl BytePatch {
    /// Applies the patch to a file; None if the patch does not fit it.
    pub fn apply(&self, file: &[u8]) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for piece in &self.0.0 {
            match piece {
                FilePiece::Original(range) => bytes.extend_from_slice(file.get(range.clone())?),
                FilePiece::New(new) => bytes.extend_from_slice(new),
            }
        }
        Some(bytes)
    }

    /// Keeps new bytes that the other file has at the same place, such as what an earlier edit had
    /// added there.
    fn keep_added(self, other: &PieceList, read: &[u8]) -> Self {
        let other = PieceIndex::new(other);
        let mut kept = Self::default();
        let mut pieces = self.0.0.into_iter().peekable();
        let mut at = 0;
        while let Some(piece) = pieces.next() {
            let bytes = match piece {
                FilePiece::Original(range) => {
                    at = range.end;
                    kept.0.keep_range(range);
                    continue;
                }
                FilePiece::New(bytes) => bytes,
            };
            let end = match pieces.peek() {
                Some(FilePiece::Original(next)) => next.start,
                _ => other.file_len(),
            };
            let there = if at < end { other.bytes_in(at..end, read) } else { Vec::new() };
            let front = common_prefix(&bytes, &there);
            let (rest, rest_there) = (&bytes[front..], &there[front..]);
            let pairs = rest.iter().rev().zip(rest_there.iter().rev());
            let back = pairs.take_while(|(a, b)| a == b).count();
            kept.0.keep_range(at..at + front);
            let middle = &rest[..rest.len() - back];
            keep_runs(middle, &rest_there[..rest_there.len() - back], at + front, &mut kept.0);
            kept.0.keep_range(end - back..end);
        }
        kept
    }

    /// Applies the patch to a piece list. The result is a piece list of the same original file.
    pub(super) fn apply_to_pieces(&self, file: &PieceList) -> PieceList {
        let file = PieceIndex::new(file);
        let mut pieces = PieceList::default();
        for piece in &self.0.0 {
            match piece {
                FilePiece::New(bytes) => pieces.add_bytes(bytes.clone()),
                FilePiece::Original(range) => file.copy_range(range.clone(), &mut pieces),
            }
        }
        pieces
    }

    /// Serializes the patch: a magic line, then for each piece a kind byte, followed by either two
    /// 64-bit numbers (start and end of a kept range) or one (length) and the new bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for piece in &self.0.0 {
            match piece {
                FilePiece::Original(range) => {
                    bytes.push(0);
                    bytes.extend_from_slice(&(range.start as u64).to_le_bytes());
                    bytes.extend_from_slice(&(range.end as u64).to_le_bytes());
                }
                FilePiece::New(new) => {
                    bytes.push(1);
                    bytes.extend_from_slice(&(new.len() as u64).to_le_bytes());
                    bytes.extend_from_slice(new);
                }
            }
        }
        bytes
    }

    /// Parses the output of [`BytePatch::to_bytes`]; None if the bytes are not a patch.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        fn read_number(rest: &mut &[u8]) -> Option<usize> {
            let (eight, behind) = rest.split_first_chunk::<8>()?;
            *rest = behind;
            usize::try_from(u64::from_le_bytes(*eight)).ok()
        }
        let (mut rest, mut pieces) = (bytes.strip_prefix(MAGIC)?, PieceList::default());
        while let Some((kind, behind)) = rest.split_first() {
            rest = behind;
            let first = read_number(&mut rest)?;
            if *kind == 0 {
                pieces.keep_range(first..read_number(&mut rest)?);
            } else {
                let (new, behind) = rest.split_at_checked(first)?;
                pieces.add_bytes(new.to_vec());
                rest = behind;
            }
        }
        Some(Self(pieces))
    }
}

#[cfg(test)]
mod tests {
    use random_draws::{RandomDraws, check_seeds};

    use super::*;

    fn pieces(list: &[FilePiece]) -> PieceList {
        let mut pieces = PieceList::default();
        for piece in list {
            match piece.clone() {
                FilePiece::Original(range) => pieces.keep_range(range),
                FilePiece::New(bytes) => pieces.add_bytes(bytes),
            }
        }
        pieces
    }

    #[test]
    fn patch_between_any_two_versions_applies() {
        use FilePiece::{New, Original};
        let read = b"abcdefghij";
        let new = |text: &str| New(text.as_bytes().to_vec());
        let files = [
            PieceList::whole_file(10),
            pieces(&[Original(0..3), new("XY"), Original(5..10)]),
            pieces(&[Original(6..9), new("-"), Original(0..4)]),
            pieces(&[new("nothing of it")]),
            pieces(&[]),
        ];
        let bytes = |file: &PieceList| file.byte_runs(read).collect::<Vec<_>>().concat();
        for a in &files {
            assert_eq!(bytes(a).len(), a.len());
            for b in &files {
                let patch = a.patch_from(b, read);
                assert_eq!(patch.apply(&bytes(b)).unwrap(), bytes(a));
                assert_eq!(bytes(&patch.apply_to_pieces(b)), bytes(a));
                assert_eq!(BytePatch::from_bytes(&patch.to_bytes()), Some(patch));
            }
        }
        assert_eq!(BytePatch::from_bytes(b"something else"), None);
        let patch = PieceList::whole_file(10).patch_from(&files[1], read);
        assert_eq!(patch.apply(b"short"), None);
        for end in 0..patch.to_bytes().len() {
            let _ = BytePatch::from_bytes(&patch.to_bytes()[..end]);
        }
    }

    #[test]
    fn patch_keeps_what_both_versions_added() {
        // Both replaced the same range, and differ in a few places of what they put there.
        let added = |marks: [u8; 3]| {
            let mut bytes: Vec<u8> =
                (0..30_000_u32).map(|n| (n * n % 251) as u8 ^ (n >> 7) as u8).collect();
            bytes[1_000] = marks[0];
            bytes.splice(9_000..9_000 + usize::from(marks[1]), []);
            bytes.insert(20_000, marks[2]);
            PieceList::from(bytes)
        };
        let bytes = |file: &PieceList| file.byte_runs(&[]).collect::<Vec<_>>().concat();
        let files = [[1, 2, 3], [7, 0, 3], [1, 9, 255]].map(added);
        for from in &files {
            for to in &files {
                let patch = to.patch_from(from, &[]);
                assert!(patch.apply(&bytes(from)).unwrap() == bytes(to));
                assert!(bytes(&patch.apply_to_pieces(from)) == bytes(to));
                assert!(patch.to_bytes().len() < 300, "{} bytes", patch.to_bytes().len());
            }
        }
    }

    #[test]
    fn patches_of_repeated_bytes_apply_to_reverted_files() {
        let read: Vec<u8> = b"abcabxyz".iter().copied().cycle().take(400).collect();
        let bytes = |file: &PieceList| file.byte_runs(&read).collect::<Vec<_>>().concat();
        check_seeds(0..60, |draws| {
            let mut files: Vec<PieceList> = (0..8).map(|_| some_file(draws, &read)).collect();
            for _ in 0..40 {
                let [from, to] = [draws.below(files.len()), draws.below(files.len())];
                let patch = files[to].patch_from(&files[from], &read);
                let reverted = patch.apply_to_pieces(&files[from]);
                assert_eq!(patch.apply(&bytes(&files[from])).unwrap(), bytes(&files[to]));
                assert_eq!(bytes(&reverted), bytes(&files[to]));
                // What a revert leaves is the base of the next edit.
                files[to] = reverted;
            }
        });
    }

    fn some_file(draws: &mut RandomDraws, read: &[u8]) -> PieceList {
        let mut file = PieceList::default();
        for _ in 0..=draws.below(5) {
            let start = draws.below(200);
            let range = start..start + draws.below(200);
            if draws.one_in(2) {
                file.keep_range(range);
            } else {
                file.add_bytes([&read[range], b"!"].concat());
            }
        }
        file
    }

    /// If a piece were found by walking the list, this would take minutes.
    #[test]
    fn patch_of_a_hundred_thousand_pieces_applies() {
        let read: Vec<u8> = (0..400_000_u32).map(|n| (n % 251) as u8).collect();
        let mut edited = PieceList::default();
        for start in (0..read.len()).step_by(8) {
            edited.keep_range(start..start + 5);
            edited.add_bytes(vec![255, read[start + 6], 254]);
        }
        let whole = PieceList::whole_file(read.len());
        let bytes = |file: &PieceList| file.byte_runs(&read).collect::<Vec<_>>().concat();
        for (from, to) in [(&whole, &edited), (&edited, &whole)] {
            let patch = to.patch_from(from, &read);
            assert!(patch.apply(&bytes(from)).unwrap() == bytes(to));
            assert!(bytes(&patch.apply_to_pieces(from)) == bytes(to));
        }
    }
}
