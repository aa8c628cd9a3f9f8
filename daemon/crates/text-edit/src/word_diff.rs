//! Side-by-side rows of a hunk, and the words that differ in lines that replace each other.
//!
//! The result is for display only, and the work is bounded: if lines are too long or too many, they
//! are paired in order and no words are marked.

use std::ops::Range;

use scene_schemas::proposal::DiffLine;

use super::diff::{LineChange, line_changes};

/// The maximum number of words of a line that are compared.
const MAX_WORDS: usize = 256;
/// The maximum number of line pairs in a run that are compared.
const MAX_PAIRS: usize = 400;
/// The maximum number of word pairs that are compared in total.
const MAX_WORK: usize = 6_000_000;
/// The minimum percentage of bytes that two lines share if one replaces the other.
const MIN_LIKENESS_PERCENT: usize = 40;

/// A row of lines shown side by side. A context line is paired with itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinePair {
    /// The index of the line on the old side.
    pub old: Option<usize>,
    /// The index of the line on the new side.
    pub new: Option<usize>,
}

/// Compares the lines of hunks. One value is shared by all hunks that are displayed together.
#[derive(Debug)]
pub struct WordDiff {
    /// The remaining work budget.
    work_left: usize,
}

impl Default for WordDiff {
    fn default() -> Self {
        Self { work_left: MAX_WORK }
    }
}

impl WordDiff {
    /// Pairs the lines of a hunk. In a run of changes, the lines that are most alike are paired, in
    /// order.
    pub fn pair_lines(&mut self, lines: &[DiffLine]) -> Vec<LinePair> {
        let mut all = Vec::with_capacity(lines.len());
        let mut at = 0;
        while let Some(line) = lines.get(at) {
            if matches!(line, DiffLine::Context(_)) {
                all.push(LinePair { old: Some(at), new: Some(at) });
                at += 1;
                continue;
            }
            let run = |from: usize, wanted: fn(&DiffLine) -> bool| {
                from..from + lines[from..].iter().take_while(|line| wanted(line)).count()
            };
            let old = run(at, |line| matches!(line, DiffLine::Removed(_)));
            let new = run(old.end, |line| matches!(line, DiffLine::Added(_)));
            at = new.end;
            let (mut from, mut to) = (old.start, new.start);
            for (a, b) in self.best_pairs(&lines[old.clone()], &lines[new.clone()]) {
                let (a, b) = (old.start + a, new.start + b);
                pair_in_order(from..a, to..b, &mut all);
                all.push(LinePair { old: Some(a), new: Some(b) });
                (from, to) = (a + 1, b + 1);
            }
            pair_in_order(from..old.end, to..new.end, &mut all);
        }
        all
    }

    /// Finds the lines that replace each other, in order, with the greatest total likeness.
    fn best_pairs(&mut self, old: &[DiffLine], new: &[DiffLine]) -> Vec<(usize, usize)> {
        let size = old.len() * new.len();
        if old.len() == new.len() || size == 0 || size > MAX_PAIRS {
            return Vec::new();
        }
        let old: Vec<Vec<&str>> = old.iter().map(|it| sorted_words(line_text(it))).collect();
        let new: Vec<Vec<&str>> = new.iter().map(|it| sorted_words(line_text(it))).collect();
        let length = |lines: &[Vec<&str>]| lines.iter().map(Vec::len).sum::<usize>();
        let work = length(&old) * new.len() + length(&new) * old.len();
        let Some(left) = self.work_left.checked_sub(work) else {
            return Vec::new();
        };
        self.work_left = left;
        match_likeliest(&old, &new)
    }

    /// Returns the byte ranges of each line that differ from its counterpart; none if the lines are
    /// not alike.
    pub fn changed_ranges(
        &mut self,
        lines: &[DiffLine],
        pairs: &[LinePair],
    ) -> Vec<Vec<Range<usize>>> {
        let mut marks = vec![Vec::new(); lines.len()];
        for pair in pairs {
            let (Some(a), Some(b)) = (pair.old, pair.new) else {
                continue;
            };
            if a != b {
                (marks[a], marks[b]) = self.diff_words(line_text(&lines[a]), line_text(&lines[b]));
            }
        }
        marks
    }

    /// Returns the byte ranges by which two texts differ, in whole words. Both lists are empty if
    /// the texts have little in common or too many words.
    pub fn diff_words(&mut self, old: &str, new: &str) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let none = (Vec::new(), Vec::new());
        let (Some(a), Some(b)) = (split_words(old), split_words(new)) else {
            return none;
        };
        let Some(left) = self.work_left.checked_sub(a.len() * b.len()) else {
            return none;
        };
        self.work_left = left;
        let changes = line_changes(&a, &b);
        let (removed, added) = (
            merge_ranges(old, &a, changes.iter().map(|it: &LineChange| it.old.clone())),
            merge_ranges(new, &b, changes.iter().map(|it| it.new.clone())),
        );
        let length = |marks: &[Range<usize>]| marks.iter().map(Range::len).sum::<usize>();
        let shared = (old.len() - length(&removed)) + (new.len() - length(&added));
        if shared * 100 < MIN_LIKENESS_PERCENT * (old.len() + new.len()) {
            none
        } else {
            (removed, added)
        }
    }
}

/// Pairs lines in order.
fn pair_in_order(old: Range<usize>, new: Range<usize>, all: &mut Vec<LinePair>) {
    for at in 0..old.len().max(new.len()) {
        let nth = |range: &Range<usize>| Some(range.start + at).filter(|it| *it < range.end);
        all.push(LinePair { old: nth(&old), new: nth(&new) });
    }
}

fn line_text(line: &DiffLine) -> &str {
    match line {
        DiffLine::Context(text) | DiffLine::Added(text) | DiffLine::Removed(text) => text,
    }
}

/// Returns the kind of word that a character belongs to.
fn word_kind(c: char) -> u8 {
    match c {
        c if c.is_alphanumeric() || c == '_' => 0,
        c if c.is_whitespace() => 1,
        _ => 2,
    }
}

/// Splits a text into identifiers and numbers, white space, and single symbols. None if there are
/// too many.
fn split_words(text: &str) -> Option<Vec<&str>> {
    let mut words = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        if words.len() == MAX_WORDS {
            return None;
        }
        let end = match word_kind(first) {
            2 => first.len_utf8(),
            own => rest.find(|c| word_kind(c) != own).unwrap_or(rest.len()),
        };
        let (word, behind) = rest.split_at(end);
        words.push(word);
        rest = behind;
    }
    Some(words)
}

/// Returns the visible words of a line, sorted.
fn sorted_words(line: &str) -> Vec<&str> {
    let mut words = split_words(line).unwrap_or_default();
    words.retain(|word| !word.trim().is_empty());
    words.sort_unstable();
    words
}

/// Returns the percentage of bytes that two lines share, by their words in any order.
fn word_likeness(old: &[&str], new: &[&str]) -> usize {
    let length = |words: &[&str]| words.iter().map(|word| word.len()).sum::<usize>();
    let (mut a, mut b, mut shared) = (0, 0, 0);
    while let (Some(x), Some(y)) = (old.get(a), new.get(b)) {
        if x == y {
            shared += 2 * x.len();
        }
        a += usize::from(x <= y);
        b += usize::from(x >= y);
    }
    shared * 100 / (length(old) + length(new)).max(1)
}

/// Finds the pairs, in order, with the greatest total likeness.
fn match_likeliest(old: &[Vec<&str>], new: &[Vec<&str>]) -> Vec<(usize, usize)> {
    let width = new.len() + 1;
    // For each pair of positions, the greatest likeness of the rest.
    let mut most = vec![0; (old.len() + 1) * width];
    let mut is_pair = vec![false; most.len()];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            let likeness = word_likeness(&old[a], &new[b]);
            let paired = if likeness < MIN_LIKENESS_PERCENT {
                0
            } else {
                likeness + most[(a + 1) * width + b + 1]
            };
            let skipped = most[(a + 1) * width + b].max(most[a * width + b + 1]);
            most[a * width + b] = paired.max(skipped);
            is_pair[a * width + b] = paired > skipped;
        }
    }
    let (mut a, mut b, mut pairs) = (0, 0, Vec::new());
    while a < old.len() && b < new.len() {
        if is_pair[a * width + b] {
            pairs.push((a, b));
            (a, b) = (a + 1, b + 1);
        } else if most[(a + 1) * width + b] >= most[a * width + b + 1] {
            a += 1;
        } else {
            b += 1;
        }
    }
    pairs
}

/// Converts runs of words to byte ranges. Runs separated only by white space are merged.
fn merge_ranges(
    text: &str,
    words: &[&str],
    runs: impl Iterator<Item = Range<usize>>,
) -> Vec<Range<usize>> {
    let mut ends = Vec::with_capacity(words.len() + 1);
    ends.push(0);
    ends.extend(words.iter().scan(0, |end, word| {
        *end += word.len();
        Some(*end)
    }));
    let mut marks: Vec<Range<usize>> = Vec::new();
    for run in runs.filter(|run| !run.is_empty()) {
        let (start, end) = (ends[run.start], ends[run.end]);
        match marks.last_mut() {
            Some(last) if text[last.end..start].trim().is_empty() => last.end = end,
            _ => marks.push(start..end),
        }
    }
    marks
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use random_draws::check_seeds;

    use super::super::random_text::random_text;
    use super::*;

    fn lines(text: &str) -> Vec<DiffLine> {
        let line = |line: &str| match line.split_at(1) {
            ("-", text) => DiffLine::Removed(text.to_owned()),
            ("+", text) => DiffLine::Added(text.to_owned()),
            (_, text) => DiffLine::Context(text.to_owned()),
        };
        text.lines().map(line).collect()
    }

    /// Checks the rows, as `0|1`, and the lines, with their marks in brackets.
    #[track_caller]
    fn check(text: &str, rows: &str, marks: &[&str]) {
        let lines = lines(text);
        let mut words = WordDiff::default();
        let beside = words.pair_lines(&lines);
        let side = |at: Option<usize>| at.map(|at| at.to_string()).unwrap_or_default();
        let shown: Vec<String> =
            beside.iter().map(|it| format!("{}|{}", side(it.old), side(it.new))).collect();
        assert_eq!(shown.join(" "), rows);
        let shown: Vec<String> = words
            .changed_ranges(&lines, &beside)
            .iter()
            .zip(&lines)
            .filter(|(marks, _)| !marks.is_empty())
            .map(|(marks, line)| {
                let mut shown = super::line_text(line).to_owned();
                for mark in marks.iter().rev() {
                    shown.insert(mark.end, ']');
                    shown.insert(mark.start, '[');
                }
                shown
            })
            .collect();
        assert_eq!(shown, marks);
    }

    #[test]
    fn differing_words_are_marked() {
        check(
            " a\n-local x = 10\n+local x = 12 + y\n b",
            "0|0 1|2 3|3",
            &["local x = [10]", "local x = [12 + y]"],
        );
        check("-f(a, b)\n+f(a)", "0|1", &["f(a[, b])"]);
        check(
            "-local größe = 1\n+local größer = 1",
            "0|1",
            &["local [größe] = 1", "local [größer] = 1"],
        );
    }

    #[test]
    fn lines_with_nothing_in_common_have_no_marks() {
        check("-alpha beta\n+gamma(1, 2)", "0|1", &[]);
    }

    #[test]
    fn changed_line_is_paired_with_its_new_version() {
        check(
            "-local speed = 10\n+-- how fast\n+-- it is\n+local speed = 20",
            "|1 |2 0|3",
            &["local speed = [10]", "local speed = [20]"],
        );
        check("-a\n-b", "0| 1|", &[]);
        check("+a\n+b\n c", "|0 |1 2|2", &[]);
    }

    #[test]
    fn every_line_is_listed_exactly_once() {
        check_seeds(0..2_000, |draws| {
            let mut lines = Vec::new();
            for _ in 0..draws.below(12) {
                let text = random_text(draws, 1).replace('\n', "");
                lines.push(match draws.below(3) {
                    0 => DiffLine::Context(text),
                    1 => DiffLine::Added(text),
                    _ => DiffLine::Removed(text),
                });
            }
            let mut words = WordDiff::default();
            let beside = words.pair_lines(&lines);
            let on = |wanted: fn(&LinePair) -> Option<usize>| {
                beside.iter().filter_map(wanted).collect::<Vec<_>>()
            };
            let all = |side: fn(&DiffLine) -> bool| {
                (0..lines.len()).filter(|at| side(&lines[*at])).collect::<Vec<_>>()
            };
            let old = all(|line| !matches!(line, DiffLine::Added(_)));
            let new = all(|line| !matches!(line, DiffLine::Removed(_)));
            assert_eq!((on(|it| it.old), on(|it| it.new)), (old, new));
            for (marks, line) in words.changed_ranges(&lines, &beside).iter().zip(&lines) {
                assert!(marks.iter().all(|mark| line_text(line).get(mark.clone()).is_some()));
            }
        });
    }

    /// Detects quadratic growth.
    #[test]
    fn long_and_many_lines_are_compared_in_limited_time() {
        let many = |sign: &str| {
            let lines = (0..20_000).map(|n| format!("{sign}a{n} b c d e f g\n"));
            lines.collect::<Vec<_>>().concat()
        };
        let text = [many("-"), many("+"), "+one\n".to_owned()].concat();
        let long = format!("-{0}\n+{0}c\n", "a b ".repeat(250_000));
        let begun = Instant::now();
        for text in [text, long, "-a x\n+b x\n+c x\n c\n".repeat(20_000)] {
            let lines = lines(&text);
            let mut words = WordDiff::default();
            let beside = words.pair_lines(&lines);
            assert_eq!(words.changed_ranges(&lines, &beside).len(), lines.len());
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{:?}", begun.elapsed());
    }
}
