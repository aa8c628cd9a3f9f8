//! Detection of inserted passages that already exist nearby, which is the most common mistake of an
//! edit written from memory.
//!
//! The module warns and never refuses. The user sees both places and decides.

use std::ops::Range;

use rustc_hash::FxHashMap;
use scene_schemas::text::TextEdit;

use super::classify::is_significant;
use super::whitespace::{MAX_LOOSE_BYTES, remove_whitespace};

/// The minimum number of non-blank lines of a passage.
const MIN_LINES: usize = 3;
/// The maximum distance of a passage from the edit, in lines.
const MAX_DISTANCE: usize = 200;

/// Returns one sentence for each inserted passage that already exists near its place and remains
/// there.
///
/// Lines are compared without white space, and blank lines are skipped. Lines that an edit touches
/// do not count as existing, because rewritten or moved lines are not duplicates. A passage without
/// significant lines (only `end` and the like) does not count either. Texts that are longer than
/// any script are not searched. `edits` must be sorted and fit `before`.
pub fn find_duplicates(before: &str, edits: &[TextEdit]) -> Vec<String> {
    if before.len() > MAX_LOOSE_BYTES {
        return Vec::new();
    }
    let untouched = UntouchedLines::from_edits(before, edits);
    edits.iter().flat_map(|edit| untouched.find_repeats(edit)).collect()
}

/// A line without white space, and its number from 1.
struct TrimmedLine {
    number: usize,
    content: String,
}

/// The non-blank lines that no edit touches.
struct UntouchedLines {
    lines: Vec<TrimmedLine>,
    /// The indices of lines by the hash of their content. The hash may collide, so the content is
    /// still compared.
    by_content: FxHashMap<u64, Vec<usize>>,
}

impl UntouchedLines {
    fn from_edits(before: &str, edits: &[TextEdit]) -> Self {
        let mut touched: Vec<Range<usize>> = edits.iter().map(touched_lines).collect();
        touched.sort_by_key(|range| range.start);
        let mut next = touched.into_iter().peekable();
        let mut lines = non_blank_lines(before);
        lines.retain(|line| {
            while next.next_if(|range| range.end <= line.number).is_some() {}
            next.peek().is_none_or(|range| !range.contains(&line.number))
        });
        let mut by_content: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
        for (at, line) in lines.iter().enumerate() {
            by_content.entry(hash_line(&line.content)).or_default().push(at);
        }
        Self { lines, by_content }
    }

    fn find_repeats(&self, edit: &TextEdit) -> Vec<String> {
        let inserted = non_blank_lines(&edit.text);
        let near = (edit.start.line as usize + 1).saturating_sub(MAX_DISTANCE)
            ..(edit.end.line as usize + 1).saturating_add(MAX_DISTANCE + 1);
        let mut found = vec![];
        let mut at = 0;
        while at < inserted.len() {
            let (place, length) = self.longest_match(&inserted[at..], &near);
            if length < MIN_LINES {
                at += 1;
                continue;
            }
            let passage = &inserted[at..at + length];
            if passage.iter().any(|line| is_significant(&line.content)) {
                found.push(format!(
                    "Lines {} to {} of the text inserted at line {} are already at lines {} to {} of the script.",
                    passage[0].number,
                    passage[length - 1].number,
                    edit.start.line + 1,
                    self.lines[place].number,
                    self.lines[place + length - 1].number
                ));
            }
            at += length;
        }
        found
    }

    /// Returns the start and length of the longest nearby match with the first of these lines.
    fn longest_match(&self, inserted: &[TrimmedLine], near: &Range<usize>) -> (usize, usize) {
        let places =
            inserted.first().and_then(|line| self.by_content.get(&hash_line(&line.content)));
        let places = places.map(Vec::as_slice).unwrap_or_default();
        let first = places.partition_point(|place| self.lines[*place].number < near.start);
        let mut best = (0, 0);
        for &place in &places[first..] {
            if self.lines[place].number >= near.end {
                break;
            }
            let pairs = self.lines[place..].iter().zip(inserted);
            let length = pairs
                .take_while(|(a, b)| near.contains(&a.number) && a.content == b.content)
                .count();
            if length > best.1 {
                best = (place, length);
            }
        }
        best
    }
}

fn hash_line(line: &str) -> u64 {
    std::hash::BuildHasher::hash_one(&rustc_hash::FxBuildHasher, line)
}

fn non_blank_lines(text: &str) -> Vec<TrimmedLine> {
    let lines = text.lines().enumerate();
    lines
        .map(|(n, line)| TrimmedLine { number: n + 1, content: remove_whitespace(line) })
        .filter(|line| !line.content.is_empty())
        .collect()
}

/// Returns the lines, from 1, from which an edit removes something.
fn touched_lines(edit: &TextEdit) -> Range<usize> {
    let start = edit.start.line as usize + 1;
    if edit.start == edit.end {
        return start..start;
    }
    let whole_lines = edit.end.character == 0;
    start..edit.end.line as usize + 1 + usize::from(!whole_lines)
}

#[cfg(test)]
mod tests {
    use random_draws::check_seeds;

    use super::super::random_text::{line_edit, random_edits, random_text};
    use super::*;

    const SCRIPT: &str =
        "local a = 1\nlocal b = 2\n\nlocal function foo()\n\treturn a + b\nend\nfoo()\n";

    #[track_caller]
    fn check(before: &str, edits: &[TextEdit], says: &[&str]) {
        assert_eq!(find_duplicates(before, edits), says);
    }

    #[test]
    fn inserted_copy_of_a_nearby_passage_is_warned() {
        check(
            SCRIPT,
            &[line_edit(7, 0, 7, 0, "print(1)\nlocal function foo()\n    return a+b\n\nend\n")],
            &[
                "Lines 2 to 5 of the text inserted at line 8 are already at lines 4 to 6 of the script.",
            ],
        );
        check(SCRIPT, &[line_edit(7, 0, 7, 0, "local a = 1\nlocal b = 2\n")], &[]);
    }

    #[test]
    fn copies_of_removed_or_distant_passages_are_ignored() {
        check(
            SCRIPT,
            &[line_edit(3, 0, 7, 0, "local function foo()\n\treturn a + b\nend\nbar()\n")],
            &[],
        );
        let moved = "local function foo()\n\treturn a + b\nend\n";
        check(SCRIPT, &[line_edit(0, 0, 0, 0, moved), line_edit(3, 0, 6, 0, "")], &[]);
        let far = format!("{SCRIPT}{}", "-- x\n".repeat(300));
        check(&far, &[line_edit(300, 0, 300, 0, moved)], &[]);
        check("end\nend\nend\n", &[line_edit(3, 0, 3, 0, "end\nend\nend\n")], &[]);
    }

    #[test]
    fn random_edits_never_panic() {
        check_seeds(0..3_000, |draws| {
            let text = random_text(draws, 12);
            find_duplicates(&text, &random_edits(draws, &text));
        });
    }
}
