//! Descriptions of the nearest existing text after a failed search, so that a model can correct its
//! call without reading the whole script again.
//!
//! The module only describes. No edit is ever based on its results.

use std::fmt;
use std::hash::Hasher;

use serde::Serialize;

use super::classify::{is_significant, split_words};
use super::lines::{NumberedLines, prefix_lengths};
use super::whitespace::remove_whitespace as squeezed;

/// The maximum number of lines of a text that are searched.
const MAX_LINES: usize = 50_000;
/// The maximum size of the searched text in bytes. The largest script in Studio has less than a
/// fifth of it.
const MAX_TEXT_BYTES: usize = 1 << 20;
const MAX_COMPARED_CHARS: usize = 300;
/// The maximum length in bytes of lines that are compared word by word to find what differs.
const MAX_DIFFED_BYTES: usize = 10_000;
/// The maximum number of lines of a search text that are compared.
const MAX_SEARCH_LINES: usize = 200;
/// The maximum number of characters of a line that are shown.
const MAX_SHOWN_CHARS: usize = 160;
/// The minimum likeness for a line to be helpful.
const MIN_LIKENESS: f64 = 0.4;
/// The weight of a common start and end of two lines.
const ENDS_WEIGHT: f64 = 0.25;
const READ_AGAIN: &str = "Read the script again and copy the lines exactly.";

/// The nearest existing text after a failed search. Displays as one or two sentences.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct NearestText {
    /// The number of the line that differs, from 1; None if there is no such line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The text of that line; at most 160 characters.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// A short description of the difference; empty if there is none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub differs: String,
    #[serde(skip)]
    sentence: String,
}

impl fmt::Display for NearestText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl NearestText {
    pub(super) fn without_line(sentence: String) -> Self {
        Self { sentence, ..Self::default() }
    }

    fn at_line(line: usize, text: &str, differs: String, sentence: String) -> Self {
        Self { line: Some(line), text: shorten_line(text), differs, sentence }
    }
}

/// Finds the nearest existing lines and describes how they differ. Both texts use LF only.
pub(super) fn find_nearest(text: &str, search: &str) -> NearestText {
    let mut room = MAX_TEXT_BYTES;
    let is_near = |line: &&str| {
        room = room.saturating_sub(line.len());
        room > 0
    };
    let lines: Vec<&str> = text.split('\n').take(MAX_LINES).take_while(is_near).collect();
    let wanted = search.split('\n').skip_while(|line| line.trim().is_empty());
    let wanted: Vec<&str> = wanted.take(MAX_SEARCH_LINES).collect();
    let Some(first) = wanted.first() else {
        return NearestText::without_line(format!("It is only white space. {READ_AGAIN}"));
    };
    let Some((at, agreeing)) = find_best_run(&lines, &wanted) else {
        return match find_most_alike(&lines, first) {
            Some(at) => {
                let differs = describe_token_difference(lines[at], first).unwrap_or_default();
                let sentence = format!(
                    "The nearest line is {}: `{}`{differs}. {READ_AGAIN}",
                    at + 1,
                    shorten_line(lines[at])
                );
                NearestText::at_line(at + 1, lines[at], differs, sentence)
            }
            None => NearestText::without_line(format!(
                "No line is like its first one, `{}`. {READ_AGAIN}",
                shorten_line(first)
            )),
        };
    };
    if let Some(other) = wanted.get(agreeing) {
        return describe_break(&lines, at, agreeing, other);
    }
    let run = format!("lines {} to {}", at + 1, at + agreeing);
    let differing =
        (0..agreeing).find(|&n| !is_line_match(lines[at + n], wanted[n], n, agreeing - 1));
    let Some(n) = differing else {
        return NearestText::without_line(format!(
            "Only the blank lines that it starts with differ from {run}. {READ_AGAIN}"
        ));
    };
    let line = lines[at + n];
    let differs = describe_difference(line, wanted[n]).to_owned();
    let sentence = format!(
        "It differs only in white space from {run}: line {} is `{}`{differs}. {READ_AGAIN}",
        at + n + 1,
        shorten_line(line),
    );
    NearestText::at_line(at + n + 1, line, differs, sentence)
}

/// Describes a match that breaks off after its first lines.
fn describe_break(lines: &[&str], at: usize, agreeing: usize, other: &str) -> NearestText {
    let from = if agreeing == 1 {
        format!("Line {} agrees with its first line", at + 1)
    } else {
        format!("Lines {} to {} agree with its first lines", at + 1, at + agreeing)
    };
    let Some(line) = lines.get(at + agreeing) else {
        let sentence = format!(
            "{from}, but then the script ended there where it has `{}`. {READ_AGAIN}",
            shorten_line(other)
        );
        return NearestText::without_line(sentence);
    };
    let number = at + agreeing + 1;
    let differs = describe_token_difference(line, other).unwrap_or_default();
    let sentence = format!(
        "{from}, but then line {number} is `{}` where it has `{}`{differs}. {READ_AGAIN}",
        shorten_line(line),
        shorten_line(other)
    );
    NearestText::at_line(number, line, differs, sentence)
}

/// Describes the word or symbol that differs; None if not exactly one does.
fn describe_token_difference(line: &str, wanted: &str) -> Option<String> {
    if line.len().max(wanted.len()) > MAX_DIFFED_BYTES {
        return None;
    }
    let (there, here) = (split_words(line.trim()), split_words(wanted.trim()));
    let mut differing = there.iter().zip(&here).filter(|(there, here)| there != here);
    let (there_word, here_word) = differing.next()?;
    let is_one = there.len() == here.len() && differing.next().is_none();
    is_one.then(|| {
        format!(
            ", with `{}` where the search has `{}`",
            shorten_line(there_word),
            shorten_line(here_word)
        )
    })
}

/// Whether line `n` of a search text matches a line. A search text may start and end inside a line,
/// so the first line and line `last` match partially.
fn is_line_match(line: &str, wanted: &str, n: usize, last: usize) -> bool {
    match (n == 0, n == last) {
        (true, true) => line.contains(wanted),
        (true, false) => line.ends_with(wanted),
        (false, true) => line.starts_with(wanted),
        (false, false) => line == wanted,
    }
}

/// Finds the first position with the longest match apart from white space. Returns it with the
/// number of matching lines.
fn find_best_run(lines: &[&str], wanted: &[&str]) -> Option<(usize, usize)> {
    let wanted: Vec<String> = wanted.iter().map(|line| squeezed(line)).collect();
    let lines: Vec<String> = lines.iter().map(|line| squeezed(line)).collect();
    let last = wanted.len() - 1;
    let first_significant = wanted.iter().position(|line| is_significant(line));
    // The lines between the first and the last one are whole lines.
    let index = NumberedLines::from_lines(&lines);
    let middle = wanted.get(1..last).unwrap_or_default();
    let middle: Vec<u32> = middle.iter().map_while(|line| index.number_of(line)).collect();
    let agreeing = prefix_lengths(&index.numbers, &middle);
    let mut best: Option<(usize, usize)> = None;
    for (at, line) in lines.iter().enumerate() {
        if !is_line_match(line, &wanted[0], 0, last) {
            continue;
        }
        let mut run = 1 + agreeing.get(at + 1).copied().unwrap_or(0);
        let behind = lines.get(at + run).filter(|_| run == last);
        run +=
            usize::from(behind.is_some_and(|line| is_line_match(line, &wanted[last], last, last)));
        // A matching `end` alone says nothing about the intended position.
        let is_helpful =
            run == wanted.len() || first_significant.is_some_and(|speaking| speaking < run);
        if is_helpful && best.is_none_or(|(_, most)| run > most) {
            best = Some((at, run));
        }
    }
    best
}

/// Finds the line that shares the most words with another one, if it shares enough.
fn find_most_alike(lines: &[&str], wanted: &str) -> Option<usize> {
    let (mut words, mut line) = (Vec::new(), Vec::new());
    word_hashes(wanted, &mut words);
    words.sort_unstable();
    words.dedup();
    let likeness =
        |shared: usize, count: usize| 2.0 * shared as f64 / (count + words.len()).max(1) as f64;
    // For each word, the last line that contained it, so that no line counts a word twice.
    let mut seen = vec![usize::MAX; words.len()];
    let mut best = (MIN_LIKENESS, None);
    for (at, text) in lines.iter().enumerate() {
        word_hashes(text, &mut line);
        let mut shared = 0;
        for word in line.iter().filter_map(|word| words.binary_search(word).ok()) {
            shared += usize::from(seen[word] != at);
            seen[word] = at;
        }
        let mut likeness = likeness(shared, line.len());
        if likeness <= MIN_LIKENESS || likeness + ENDS_WEIGHT <= best.0 || !is_significant(text) {
            continue;
        }
        likeness += ENDS_WEIGHT * ends_likeness(text.trim(), wanted.trim());
        if likeness > best.0 {
            best = (likeness, Some(at));
        }
    }
    best.1
}

/// Returns the share, from 0 to 1, of the longer line that both lines have in common at their start
/// and end.
fn ends_likeness(one: &str, other: &str) -> f64 {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let start = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (rest, rest_other) = (one[start..].iter().rev(), other[start..].iter().rev());
    let end = rest.zip(rest_other).take_while(|(a, b)| a == b).count();
    (start + end) as f64 / one.len().max(other.len()).max(1) as f64
}

/// Computes the hashes of the words at the start of a line.
fn word_hashes(line: &str, hashes: &mut Vec<u64>) {
    let end = if line.len() <= MAX_COMPARED_CHARS {
        line.len()
    } else {
        line.char_indices().nth(MAX_COMPARED_CHARS).map_or(line.len(), |(end, _)| end)
    };
    let is_part = |c: char| !c.is_alphanumeric() && c != '_';
    let words = line[..end].split(is_part).filter(|word| !word.is_empty());
    hashes.clear();
    hashes.extend(words.map(|word| {
        let mut hasher = rustc_hash::FxHasher::default();
        if word.is_ascii() {
            word.bytes().for_each(|byte| hasher.write_u8(byte.to_ascii_lowercase()));
        } else {
            word.to_lowercase().bytes().for_each(|byte| hasher.write_u8(byte));
        }
        hasher.finish()
    }));
}

/// Describes the difference between two lines that match apart from white space.
fn describe_difference(line: &str, wanted: &str) -> &'static str {
    let indent = |line: &str| line[..line.len() - line.trim_start().len()].to_owned();
    let (there, here) = (indent(line), indent(wanted));
    if line.trim_start().starts_with(wanted.trim_start()) && there != here {
        return match (there.contains('\t'), here.contains('\t')) {
            (true, false) => ", indented with tabs where the search has spaces",
            (false, true) => ", indented with spaces where the search has tabs",
            _ => ", with another indentation than in the search",
        };
    }
    match (line.trim_end() == line, wanted.trim_end() == wanted) {
        (false, true) => ", with blanks at its end that the search does not have",
        (true, false) => ", without the blanks that the search has at its end",
        _ => ", with other blanks between the words than in the search",
    }
}

fn shorten_line(line: &str) -> String {
    match line.char_indices().nth(MAX_SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use random_draws::check_seeds;

    use super::super::random_text::random_text;
    use super::*;

    const SCRIPT: &str =
        "local Players = game:GetService('Players')\nif ready then\n\tstart()  \nend\n";

    #[track_caller]
    fn check(search: &str, says: &str) {
        let hint = find_nearest(SCRIPT, search).to_string();
        assert!(hint.contains(says), "{hint}");
    }

    #[test]
    fn white_space_differences_are_named() {
        check(
            "if ready then\n    start()  \n",
            "line 3 is `\tstart()  `, indented with tabs where",
        );
        check("if ready then\n\tstart()\nend", "with blanks at its end that the search does not");
        check(
            "if  ready then",
            "differs only in white space from lines 2 to 2: line 2 is `if ready",
        );
        check("  \n \n", "only white space");
        check("\n\nif ready then", "Only the blank lines that it starts with differ from lines 2");
        check("ready then\n  start(", "differs only in white space from lines 2 to 3: line 3 is");
    }

    #[test]
    fn first_differing_line_is_named() {
        check("if ready then\n\tstop()\nend", "Line 2 agrees with its first line, but then line 3");
        check(
            "\tstart()\nend\nfoo()",
            "Lines 3 to 4 agree with its first lines, but then line 5 is ``",
        );
    }

    #[test]
    fn nearest_line_is_named() {
        check("local players = game:GetService(\"Players\")", "nearest line is 1: `local Players");
        check("if rdy then", "with `ready` where the search has `rdy`");
        check("zzzzzz\nend", "No line is like its first one, `zzzzzz`");
    }

    #[test]
    fn random_searches_never_panic() {
        check_seeds(0..3_000, |draws| {
            find_nearest(&random_text(draws, 6), &random_text(draws, 3));
        });
    }
}
