//! The lines of a text, in bytes and in the positions of the Language Server Protocol.
//!
//! A line ends in LF or CRLF; a CR without LF is an ordinary character. The text after the last
//! line end is a line too, even if it is empty.

use std::borrow::Cow;

use rustc_hash::FxHashMap;
use scene_schemas::text::Position;

use super::EditError;

/// The end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineEnd {
    Lf,
    CrLf,
    /// The last line of a text has no end.
    None,
}

impl LineEnd {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Lf => "\n",
            Self::CrLf => "\r\n",
            Self::None => "",
        }
    }
}

/// Splits a line into its content and its end.
pub(super) fn split_line_end(line: &str) -> (&str, LineEnd) {
    if let Some(content) = line.strip_suffix("\r\n") {
        (content, LineEnd::CrLf)
    } else if let Some(content) = line.strip_suffix('\n') {
        (content, LineEnd::Lf)
    } else {
        (line, LineEnd::None)
    }
}

/// Splits a text into lines with their ends, for a diff. An empty text has no lines, and no empty
/// line follows a final line end.
pub(super) fn split_lines(text: &str) -> Vec<&str> {
    let mut start = 0;
    let mut lines: Vec<&str> = memchr::memchr_iter(b'\n', text.as_bytes())
        .map(|end| &text[std::mem::replace(&mut start, end + 1)..=end])
        .collect();
    if start < text.len() {
        lines.push(&text[start..]);
    }
    lines
}

/// Replaces CRLF by LF.
pub(super) fn normalize_to_lf(text: &str) -> Cow<'_, str> {
    match memchr::memchr(b'\r', text.as_bytes()) {
        Some(_) => Cow::Owned(text.replace("\r\n", "\n")),
        None => Cow::Borrowed(text),
    }
}

/// Adapts the line ends of `text` to those of `like`: to CRLF if `like` has only CRLF and the text
/// has only LF, and to LF in the opposite case.
pub fn match_line_ends<'a>(like: &str, text: &'a str) -> Cow<'a, str> {
    let crlf = like.matches("\r\n").count();
    let lf = like.matches('\n').count() - crlf;
    if lf == 0 && crlf > 0 && !text.contains("\r\n") {
        Cow::Owned(text.replace('\n', "\r\n"))
    } else if crlf == 0 && lf > 0 && text.contains("\r\n") {
        normalize_to_lf(text)
    } else {
        Cow::Borrowed(text)
    }
}

/// Returns the number, from 1, of the line that contains a byte.
pub(super) fn line_number(text: &str, offset: usize) -> usize {
    1 + text.as_bytes().iter().take(offset).filter(|&&byte| byte == b'\n').count()
}

/// An index from lines to byte offsets.
pub(super) struct LineIndex<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> LineIndex<'a> {
    pub(super) fn from_text(text: &'a str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1);
        Self { text, starts: std::iter::once(0).chain(ends).collect() }
    }

    /// Returns the byte offset of a position, which must be inside the text and between two
    /// characters.
    pub(super) fn byte_offset(&self, at: Position) -> Result<usize, EditError> {
        let lines = self.starts.len();
        let index = at.line as usize;
        let Some(&start) = self.starts.get(index) else {
            return Err(EditError::NoSuchLine { at, lines });
        };
        let end = self.starts.get(index + 1).copied().unwrap_or(self.text.len());
        let (content, _) = split_line_end(&self.text[start..end]);
        let mut units = 0;
        for (byte, character) in content.char_indices() {
            if units == at.character {
                return Ok(start + byte);
            }
            if units > at.character {
                return Err(EditError::InsideCharacter { at });
            }
            units += character.len_utf16() as u32;
        }
        match at.character.cmp(&units) {
            std::cmp::Ordering::Equal => Ok(start + content.len()),
            std::cmp::Ordering::Less => Err(EditError::InsideCharacter { at }),
            std::cmp::Ordering::Greater => {
                Err(EditError::BehindLineEnd { at, length: units, lines })
            }
        }
    }
}

/// Returns the position before the line at an index, or the end of the text if there is no such
/// line.
pub(super) fn line_start_position(lines: &[&str], index: usize) -> Position {
    match lines.last() {
        Some(last) if index >= lines.len() && split_line_end(last).1 == LineEnd::None => {
            Position { line: lines.len() as u32 - 1, character: last.encode_utf16().count() as u32 }
        }
        _ => Position { line: index.min(lines.len()) as u32, character: 0 },
    }
}

/// Returns the positions at which a run of lines occurs, including overlapping ones. Linear
/// (Knuth-Morris-Pratt), so that a text of a thousand blank lines is handled too.
pub(super) fn find_occurrences<T: AsRef<str>, W: AsRef<str>>(
    text: &[T],
    wanted: &[W],
) -> Vec<usize> {
    if wanted.is_empty() || wanted.len() > text.len() {
        return Vec::new();
    }
    // For each line of the run, how many lines remain matched after a mismatch behind it.
    let mut borders = vec![0; wanted.len()];
    let mut matched = 0;
    for at in 1..wanted.len() {
        while matched > 0 && wanted[at].as_ref() != wanted[matched].as_ref() {
            matched = borders[matched - 1];
        }
        matched += usize::from(wanted[at].as_ref() == wanted[matched].as_ref());
        borders[at] = matched;
    }
    let (mut found, mut matched) = (Vec::new(), 0);
    for (at, line) in text.iter().enumerate() {
        while matched > 0 && line.as_ref() != wanted[matched].as_ref() {
            matched = borders[matched - 1];
        }
        matched += usize::from(line.as_ref() == wanted[matched].as_ref());
        if matched == wanted.len() {
            found.push(at + 1 - matched);
            matched = borders[matched - 1];
        }
    }
    found
}

/// The lines of a text as numbers. Equal lines have the same number, and the positions of each line
/// are indexed.
pub(super) struct NumberedLines<'a> {
    pub(super) numbers: Vec<u32>,
    by_line: FxHashMap<&'a str, u32>,
    /// For each number, the index of its first entry in `places`; the last element is the length of
    /// `places`.
    starts: Vec<u32>,
    places: Vec<u32>,
}

impl<'a> NumberedLines<'a> {
    pub(super) fn from_lines<T: AsRef<str>>(lines: &'a [T]) -> Self {
        let mut by_line: FxHashMap<&str, u32> = FxHashMap::default();
        let mut counts: Vec<u32> = Vec::new();
        let mut number = |line: &'a T| {
            let number = *by_line.entry(line.as_ref()).or_insert(counts.len() as u32);
            match counts.get_mut(number as usize) {
                Some(count) => *count += 1,
                None => counts.push(1),
            }
            number
        };
        let numbers: Vec<u32> = lines.iter().map(&mut number).collect();
        let mut starts = vec![0; counts.len() + 1];
        for (number, count) in counts.iter().enumerate() {
            starts[number + 1] = starts[number] + count;
        }
        let mut places = vec![0; numbers.len()];
        let mut next = starts.clone();
        for (at, number) in (0..).zip(&numbers) {
            let slot = &mut next[*number as usize];
            places[*slot as usize] = at;
            *slot += 1;
        }
        Self { numbers, by_line, starts, places }
    }

    /// Returns the number of a line; None if the text does not contain it.
    pub(super) fn number_of(&self, line: &str) -> Option<u32> {
        self.by_line.get(line).copied()
    }

    /// Returns the positions of a line, in order.
    pub(super) fn positions_of(&self, number: u32) -> &[u32] {
        let bound = |at: usize| self.starts.get(at).map_or(0, |start| *start as usize);
        self.places.get(bound(number as usize)..bound(number as usize + 1)).unwrap_or_default()
    }

    /// Returns each position of the first wanted line, in order, with the number of wanted lines
    /// that match from there.
    pub(super) fn longest_prefixes(&self, wanted: &[Option<u32>]) -> Vec<(usize, usize)> {
        // A line that does not occur ends every match.
        let wanted: Vec<u32> = wanted.iter().map_while(|number| *number).collect();
        let Some(places) = wanted.first().map(|first| self.positions_of(*first)) else {
            return Vec::new();
        };
        let at = places.iter().map(|at| *at as usize);
        if places.len().saturating_mul(wanted.len()) <= self.numbers.len() {
            let count = |at: usize| {
                let there = self.numbers[at..].iter().zip(&wanted);
                there.take_while(|(a, b)| a == b).count()
            };
            return at.map(|at| (at, count(at))).collect();
        }
        let counts = prefix_lengths(&self.numbers, &wanted);
        at.map(|at| (at, counts[at])).collect()
    }
}

/// Returns for each position of a list how many of the wanted elements match from there. Linear:
/// matches among the wanted elements are not compared again (Z algorithm).
pub(super) fn prefix_lengths(list: &[u32], wanted: &[u32]) -> Vec<usize> {
    let own = extend_prefixes(wanted, wanted, &[]);
    extend_prefixes(list, wanted, &own)
}

/// Computes the match lengths. `own` holds those of the wanted elements among themselves; it is
/// empty while they are being computed.
fn extend_prefixes(list: &[u32], wanted: &[u32], own: &[usize]) -> Vec<usize> {
    let is_own = own.is_empty();
    let mut counts = vec![0; list.len()];
    // The bounds of the rightmost known match.
    let (mut from, mut to) = (0, 0);
    for at in usize::from(is_own)..list.len() {
        let known = if at < to {
            let known = if is_own { counts[at - from] } else { own[at - from] };
            known.min(to - at)
        } else {
            0
        };
        let rest = list[at + known..].iter().zip(wanted.get(known..).unwrap_or_default());
        let count = known + rest.take_while(|(a, b)| a == b).count();
        counts[at] = count;
        if at + count > to {
            (from, to) = (at, at + count);
        }
    }
    if let Some(first) = counts.first_mut().filter(|_| is_own) {
        *first = wanted.len();
    }
    counts
}

/// Returns the end of the line at a byte; for the last line, the end of the line above it.
pub(super) fn line_end_at(text: &str, at: usize) -> LineEnd {
    let to_end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
    match split_line_end(&text[..to_end]).1 {
        LineEnd::None => {
            let above = text[..at].rfind('\n').map_or(0, |end| end + 1);
            split_line_end(&text[..above]).1
        }
        end => end,
    }
}

#[cfg(test)]
mod tests {
    use random_draws::check_seeds;

    use super::*;

    #[test]
    fn longest_prefixes_match_a_simple_count() {
        check_seeds(0..3_000, |draws| {
            let (kinds, count) = (1 + draws.below(4), draws.below(40));
            let list: Vec<String> = (0..count).map(|_| draws.below(kinds).to_string()).collect();
            let wanted: Vec<String> =
                (0..=draws.below(9)).map(|_| draws.below(kinds + 1).to_string()).collect();
            let index = NumberedLines::from_lines(&list);
            let numbers: Vec<_> = wanted.iter().map(|line| index.number_of(line)).collect();
            let count =
                |at: usize| list[at..].iter().zip(&wanted).take_while(|(a, b)| a == b).count();
            let simple: Vec<_> =
                (0..list.len()).map(|at| (at, count(at))).filter(|(_, count)| *count > 0).collect();
            assert_eq!(index.longest_prefixes(&numbers), simple);
        });
    }
}
