//! Exact search and replacement.
//!
//! Nothing is guessed: a search text matches exactly one place, or it is refused with a hint for
//! correcting it. Line ends may differ, because they are invisible: LF matches CRLF, and the
//! replacement gets the line ends of its place. If whole lines differ only in white space, the
//! replacement is indented like the existing lines, and the result needs a review. Both texts are
//! literal; there are no patterns.

use std::borrow::Cow;

use scene_schemas::text::TextEdit;

use super::elision::find_elision;
use super::error::MAX_LISTED;
use super::lines::{LineEnd, find_occurrences, line_end_at, line_number, normalize_to_lf};
use super::nearest_text::find_nearest;
use super::whitespace::{
    MAX_LOOSE_BYTES, collapse_whitespace, indentation_of, reindent_lines, strip_invisible,
};
use super::{EditError, MatchStage, diff_lines, line_counts};

/// The maximum number of lines that one replacement may change, unless it replaces all occurrences.
/// The larger of the removed and the added lines counts.
pub const MAX_CHANGED_LINES: usize = 120;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextReplacement {
    /// The exact text to find.
    pub search: String,
    /// The literal text to insert.
    pub replace: String,
    /// Whether to replace all occurrences; otherwise there must be exactly one.
    pub should_replace_all: bool,
}

/// The result of replacements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplaceResult {
    /// Sorted edits over the original text.
    pub edits: Vec<TextEdit>,
    /// The number of places that each replacement changed.
    pub counts: Vec<usize>,
    /// The level of tolerance that was needed. Anything but an exact match needs a review.
    pub stage: MatchStage,
}

/// Performs replacements in order, each on the result of the previous one; all or none.
pub fn apply_replacements(
    text: &str,
    replacements: &[TextReplacement],
) -> Result<ReplaceResult, EditError> {
    if replacements.is_empty() {
        return Err(EditError::NoReplacement);
    }
    let mut after = text.to_owned();
    let mut counts = Vec::with_capacity(replacements.len());
    let mut stage = MatchStage::Exact;
    for (index, replacement) in replacements.iter().enumerate() {
        let one = apply_replacement(&after, replacement, index + 1)?;
        after = one.text;
        counts.push(one.count);
        stage = stage.max(one.stage);
    }
    if after == text {
        return Err(EditError::ChangesNothing);
    }
    Ok(ReplaceResult { edits: diff_lines(text, &after), counts, stage })
}

struct FoundReplacement {
    text: String,
    count: usize,
    stage: MatchStage,
}

fn apply_replacement(
    text: &str,
    wanted: &TextReplacement,
    number: usize,
) -> Result<FoundReplacement, EditError> {
    let (search, replace) = (normalize_to_lf(&wanted.search), normalize_to_lf(&wanted.replace));
    if search.is_empty() {
        return Err(EditError::EmptySearch { number });
    }
    if search == replace {
        return Err(EditError::SameText { number });
    }
    if let Some(line) = find_elision(replace.lines(), &search) {
        return Err(EditError::Elision { number, line: line.trim().to_owned() });
    }
    if !wanted.should_replace_all {
        let counts = line_counts(&search, &replace);
        let count = counts.added.max(counts.removed) as usize;
        if count > MAX_CHANGED_LINES {
            return Err(EditError::TooManyLines { number, count });
        }
    }
    let plain = NormalizedText::from_text(text);
    let places = if wanted.should_replace_all {
        memchr::memmem::find_iter(plain.text.as_bytes(), &*search).collect()
    } else {
        match_starts(&plain.text, &search)
    };
    let exact = |count| {
        let text = plain.replace_at(text, &places, search.len(), &replace);
        Ok(FoundReplacement { text, count, stage: MatchStage::Exact })
    };
    match places.len() {
        0 if wanted.should_replace_all => {
            Err(EditError::NotFound { number, hint: find_nearest(&plain.text, &search) })
        }
        0 => {
            let LooseMatch { at, len, replace } =
                find_loose_match(&plain.text, &search, &replace, number)?;
            let text = plain.replace_at(text, &[at], len, &replace);
            Ok(FoundReplacement { text, count: 1, stage: MatchStage::Whitespace })
        }
        1 => exact(1),
        count if wanted.should_replace_all => exact(count),
        _ => {
            let mut lines: Vec<_> = places.iter().map(|&at| line_number(&plain.text, at)).collect();
            lines.dedup();
            Err(EditError::FoundSeveral { number, lines })
        }
    }
}

/// A place whose lines differ from a search text only in white space.
struct LooseMatch {
    at: usize,
    len: usize,
    replace: String,
}

/// Finds the only such place, and indents the replacement like it.
fn find_loose_match(
    text: &str,
    search: &str,
    replace: &str,
    number: usize,
) -> Result<LooseMatch, EditError> {
    let not_found = || EditError::NotFound { number, hint: find_nearest(text, search) };
    if text.len() > MAX_LOOSE_BYTES {
        return Err(not_found());
    }
    // A search text that ends at a line end needs a replacement that does too, or an empty one.
    let is_whole = search.ends_with('\n') && (replace.ends_with('\n') || replace.is_empty());
    if !is_whole && search.ends_with('\n') {
        return Err(not_found());
    }
    let lines_of = |text: &str| -> Vec<String> {
        let text = if is_whole { text.strip_suffix('\n').unwrap_or(text) } else { text };
        strip_invisible(text).split('\n').map(str::to_owned).collect()
    };
    let mut wanted = lines_of(search);
    let mut new = if replace.is_empty() && is_whole { Vec::new() } else { lines_of(replace) };
    let there: Vec<&str> = text.split_inclusive('\n').collect();
    let keys: Vec<_> = there.iter().map(|line| collapse_whitespace(line)).collect();
    let find = |wanted: &[String]| {
        let wanted: Vec<_> = wanted.iter().map(|line| collapse_whitespace(line)).collect();
        if wanted.iter().all(|line| line.is_empty()) {
            vec![]
        } else {
            find_occurrences(&keys, &wanted)
        }
    };
    let mut places = find(&wanted);
    if places.is_empty() {
        let (lead, tail) = strip_blank_edges(&mut wanted, &mut new);
        places = find(&wanted);
        // It is unknown which of the existing blank lines are meant.
        let is_blank = |at: Option<usize>| {
            at.and_then(|at| there.get(at)).is_some_and(|line| line.trim().is_empty())
        };
        if let [at] = places[..]
            && (lead > 0 && is_blank(at.checked_sub(1))
                || tail > 0 && is_blank(Some(at + wanted.len())))
        {
            places.clear();
        }
    }
    let [place] = places[..] else {
        if places.is_empty() {
            return Err(not_found());
        }
        let lines = places.iter().map(|place| place + 1).take(MAX_LISTED + 1).collect();
        return Err(EditError::FoundSeveral { number, lines });
    };
    let there = &there[place..place + wanted.len()];
    let first = wanted.iter().find(|line| !line.trim().is_empty()).map(String::as_str);
    let both = wanted.iter().zip(there).filter(|(line, _)| !line.trim().is_empty());
    let pairs = both.map(|(line, there)| (indentation_of(line), indentation_of(there))).collect();
    let new: Vec<&str> = new.iter().map(String::as_str).collect();
    let lines = reindent_lines(&new, pairs, first);
    let lines = lines.ok_or(EditError::Indentation { number, line: place + 1 })?;
    let mut replace = lines.join("\n");
    let len: usize = there.iter().map(|line| line.len()).sum();
    if !lines.is_empty() && there.last().is_some_and(|line| line.ends_with('\n')) {
        replace.push('\n');
    }
    let at = text.split_inclusive('\n').take(place).map(str::len).sum();
    Ok(LooseMatch { at, len, replace })
}

/// Removes the blank lines at both ends of a search text, and as many from its replacement. Returns
/// how many it removed at each end of the search text.
fn strip_blank_edges(search: &mut Vec<String>, replace: &mut Vec<String>) -> (usize, usize) {
    let is_blank = |line: &&String| line.trim().is_empty();
    let lead = search.iter().take_while(is_blank).count();
    let tail = search.iter().skip(lead).rev().take_while(is_blank).count();
    search.drain(..lead);
    search.truncate(search.len() - tail);
    let own_lead = replace.iter().take_while(is_blank).count().min(lead);
    replace.drain(..own_lead);
    let own_tail = replace.iter().rev().take_while(is_blank).count().min(tail);
    replace.truncate(replace.len() - own_tail);
    (lead, tail)
}

/// Returns the positions of a search text, including overlapping ones. Stops soon after the number
/// that a refusal lists.
fn match_starts(text: &str, search: &str) -> Vec<usize> {
    let step = search.chars().next().map_or(1, char::len_utf8);
    let mut places = vec![];
    let mut from = 0;
    let finder = memchr::memmem::Finder::new(search);
    while let Some(at) = text.as_bytes().get(from..).and_then(|rest| finder.find(rest)) {
        places.push(from + at);
        from += at + step;
        if places.len() > MAX_LISTED {
            break;
        }
    }
    places
}

/// A text with LF line ends only, and the mapping from its offsets to those of the original.
struct NormalizedText<'a> {
    text: Cow<'a, str>,
    /// The offsets in `text` of the LFs that replace a CRLF, in order.
    crlf_offsets: Vec<usize>,
}

impl<'a> NormalizedText<'a> {
    fn from_text(text: &'a str) -> Self {
        let ends = memchr::memmem::find_iter(text.as_bytes(), "\r\n");
        let crlf_offsets = ends.enumerate().map(|(before, at)| at - before).collect();
        Self { text: normalize_to_lf(text), crlf_offsets }
    }

    fn original_offset(&self, at: usize) -> usize {
        at + self.crlf_offsets.partition_point(|&lf| lf < at)
    }

    /// Returns the original text with `replace` at each of these places, adapted to the line ends
    /// there.
    fn replace_at(&self, original: &str, places: &[usize], len: usize, replace: &str) -> String {
        let mut result = String::with_capacity(original.len());
        let mut done = 0;
        for &at in places {
            let (start, end) = (self.original_offset(at), self.original_offset(at + len));
            result.push_str(&original[done..start]);
            match line_end_at(original, start) {
                LineEnd::CrLf => result.push_str(&replace.replace('\n', LineEnd::CrLf.as_str())),
                LineEnd::Lf | LineEnd::None => result.push_str(replace),
            }
            done = end;
        }
        result.push_str(&original[done..]);
        result
    }
}

#[cfg(test)]
mod tests {
    use random_draws::check_seeds;

    use super::super::apply_edits;
    use super::super::random_text::random_text;
    use super::*;

    fn once(search: &str, replace: &str) -> TextReplacement {
        TextReplacement {
            search: search.into(),
            replace: replace.into(),
            should_replace_all: false,
        }
    }

    fn every(search: &str, replace: &str) -> TextReplacement {
        TextReplacement { should_replace_all: true, ..once(search, replace) }
    }

    #[track_caller]
    fn check(text: &str, replacements: &[TextReplacement], after: &str) {
        let replaced = super::apply_replacements(text, replacements).unwrap();
        assert_eq!(apply_edits(text, &replaced.edits).unwrap(), after);
    }

    #[track_caller]
    fn refused(text: &str, replacements: &[TextReplacement], says: &str) {
        let error = super::apply_replacements(text, replacements).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }

    #[test]
    fn single_occurrence_is_replaced() {
        check("a\nb\nc\n", &[once("b", "x\ny")], "a\nx\ny\nc\n");
        check("a\nb", &[once("b", "$0 \\1")], "a\n$0 \\1");
        check("😀 a", &[once("😀", "é")], "é a");
        check("a\nb\nc", &[once("b\n", "")], "a\nc");
    }

    #[test]
    fn replacements_apply_in_order() {
        check("a\nb\n", &[once("a", "b2"), once("b2\nb", "c")], "c\n");
        let replaced =
            super::apply_replacements("a a\na\n", &[every("a", "b"), once("b\n", "!\n")]);
        assert!(matches!(replaced, Err(EditError::FoundSeveral { number: 2, .. })));
        let replaced = super::apply_replacements("a a\na\n", &[every("a", "b")]).unwrap();
        assert_eq!(replaced.counts, [3]);
    }

    #[test]
    fn replacements_take_local_line_ends() {
        check("a\r\nb\r\nc\r\n", &[once("a\nb", "x\ny\nz")], "x\r\ny\r\nz\r\nc\r\n");
        check("a\r\nb\nc", &[once("b\nc", "x\r\ny")], "a\r\nx\ny");
        check("a\r\nb", &[once("b", "x\ny")], "a\r\nx\r\ny");
        check("a\r\nb\r\n", &[once("\nb", "")], "a\r\n");
        check("a\nb\r\n", &[every("\n", ";\n")], "a;\nb;\r\n");
    }

    #[test]
    fn ambiguous_or_ineffective_replacements_are_refused() {
        refused("a\nb\na\n", &[once("a", "x")], "several lines of the script: 1, 3. Add lines");
        refused("aaa", &[once("aa", "b")], "several lines of the script: 1.");
        refused(&"a\n".repeat(30), &[once("a", "b")], "12 and more");
        refused("a", &[once("", "b")], "empty search");
        refused("a\r\nb", &[once("a\nb", "a\r\nb")], "changes nothing");
        refused("a", &[once("a", "b"), once("b", "a")], "together change nothing");
        refused("a", &[once("a", "b"), once("a", "c")], "as the replacements before it leave it");
        refused("a", &[every("b", "c")], "does not occur");
    }

    #[test]
    fn oversized_replacements_are_refused() {
        let lines = |count| "x\n".repeat(count);
        check("a\n", &[once("a\n", &lines(120))], &lines(120));
        refused("a\n", &[once("a\n", &lines(121))], "one replacement may change 120");
        check("a\n", &[every("a\n", &lines(121))], &lines(121));
    }

    #[test]
    fn random_replacements_agree_with_plain_string_replacement() {
        check_seeds(0..5_000, |draws| {
            let text = random_text(draws, 10);
            let (search, put) = (random_text(draws, 1), random_text(draws, 2));
            let wanted =
                TextReplacement { search, replace: put, should_replace_all: draws.one_in(2) };
            let Ok(replaced) = super::apply_replacements(&text, std::slice::from_ref(&wanted))
            else {
                return;
            };
            let after = apply_edits(&text, &replaced.edits).unwrap();
            let (search, put) = (normalize_to_lf(&wanted.search), normalize_to_lf(&wanted.replace));
            // A lone CR before an inserted LF reads as CRLF, so only texts without CR can be
            // compared.
            if text.contains('\r') || put.contains('\r') {
                return;
            }
            if replaced.stage == MatchStage::Exact {
                assert_eq!(after, text.replace(&*search, &put), "{text:?} {wanted:?}");
            } else {
                assert!(!text.contains(&*search), "{text:?} {wanted:?}");
            }
        });
    }
}
