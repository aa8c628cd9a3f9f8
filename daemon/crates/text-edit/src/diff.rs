//! Line differences between two texts: the base of whole-text edits, hunks and classes.
//!
//! A line includes its line end, so a lost final newline is a change. Work is bounded by the number
//! of lines and by counted steps (see [`compare`](super::compare)), never by a clock: the same two
//! texts always give the same result.

use std::ops::Range;

use scene_schemas::text::TextEdit;
use similar::DiffOp;

use super::compare::{compare_numbered, number_lines};
use super::lines::{line_start_position, split_lines};

/// The maximum number of lines that are compared: of both texts together, without the lines they
/// share at both ends. Above it, everything between the shared ends counts as one change.
const MAX_COMPARED: usize = 40_000;

/// A run of lines that another one replaces. One of the two may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LineChange {
    /// The lines of the old text, from 0.
    pub(super) old: Range<usize>,
    /// The lines of the new text, from 0.
    pub(super) new: Range<usize>,
}

/// The number of lines that a change adds and removes. A changed line counts as both.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LineCounts {
    pub added: u32,
    pub removed: u32,
}

/// Returns edits that turn `before` into `after`, byte for byte. They cover whole lines, and only
/// those that differ.
pub fn diff_lines(before: &str, after: &str) -> Vec<TextEdit> {
    let (old, new) = (split_lines(before), split_lines(after));
    line_changes(&old, &new)
        .into_iter()
        .map(|change| TextEdit {
            start: line_start_position(&old, change.old.start),
            end: line_start_position(&old, change.old.end),
            text: new[change.new].concat(),
        })
        .collect()
}

/// Counts the lines that differ.
pub fn line_counts(before: &str, after: &str) -> LineCounts {
    line_changes(&split_lines(before), &split_lines(after)).iter().fold(
        LineCounts::default(),
        |counts, change| LineCounts {
            added: counts.added + change.new.len() as u32,
            removed: counts.removed + change.old.len() as u32,
        },
    )
}

/// Returns the changes from one list of lines to another, in order. At least one shared line
/// separates two changes.
pub(super) fn line_changes(old: &[&str], new: &[&str]) -> Vec<LineChange> {
    let head = old.iter().zip(new).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[head..], &new[head..]);
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count();
    let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
    if old.is_empty() && new.is_empty() {
        return vec![];
    }
    if old.is_empty() || new.is_empty() || old.len() + new.len() > MAX_COMPARED {
        return vec![LineChange { old: head..head + old.len(), new: head..head + new.len() }];
    }
    let moved = |range: Range<usize>| range.start + head..range.end + head;
    let mut changes: Vec<LineChange> = vec![];
    let (old, new) = number_lines(old, new);
    for op in compare_numbered(&old, &new) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let (old, new) = (moved(op.old_range()), moved(op.new_range()));
        match changes.last_mut() {
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                last.old.end = old.end;
                last.new.end = new.end;
            }
            _ => changes.push(LineChange { old, new }),
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use random_draws::check_seeds;

    use super::super::apply_edits;
    use super::super::random_text::{line_edit, random_text};
    use super::*;

    fn check(before: &str, after: &str, edits: &[TextEdit]) {
        assert_eq!(diff_lines(before, after), edits);
        assert_eq!(apply_edits(before, edits).unwrap(), after);
    }

    #[test]
    fn edits_replace_whole_lines() {
        check("", "", &[]);
        check("a\n", "a\n", &[]);
        check("", "a\n", &[line_edit(0, 0, 0, 0, "a\n")]);
        check("a\nb\nc\n", "a\nc\n", &[line_edit(1, 0, 2, 0, "")]);
        check(
            "a\nb\nc\n",
            "a\nB\nc\nd",
            &[line_edit(1, 0, 2, 0, "B\n"), line_edit(3, 0, 3, 0, "d")],
        );
        check("a", "a\nb\n", &[line_edit(0, 0, 0, 1, "a\nb\n")]);
        check("a\n😀", "", &[line_edit(0, 0, 1, 2, "")]);
        check("a\r\nb\r\n", "a\nb\r\n", &[line_edit(0, 0, 1, 0, "a\n")]);
    }

    #[test]
    fn added_and_removed_lines_are_counted() {
        let counts = |before, after| {
            let counts = line_counts(before, after);
            (counts.added, counts.removed)
        };
        assert_eq!(counts("a\n", "a\n"), (0, 0));
        assert_eq!(counts("a\n", "a"), (1, 1));
        assert_eq!(counts("a\nb\n", "a\r\nb\n"), (1, 1));
        assert_eq!(counts("", "a\nb"), (2, 0));
    }

    #[test]
    fn diff_of_random_texts_turns_one_into_the_other() {
        check_seeds(0..5_000, |draws| {
            let (before, after) = (random_text(draws, 15), random_text(draws, 15));
            assert_eq!(apply_edits(&before, &diff_lines(&before, &after)).unwrap(), after);
        });
    }

    #[test]
    fn texts_too_large_to_compare_become_one_change() {
        let before = (0..MAX_COMPARED).fold(String::new(), |text, n| text + &format!("a{n}\n"));
        let after = before.replace("a2\n", "b\n").replace("a39000\n", "c\n");
        let edits = diff_lines(&before, &after);
        assert_eq!(edits.len(), 1);
        assert_eq!((edits[0].start.line, edits[0].end.line), (2, 39001));
        assert_eq!(apply_edits(&before, &edits).unwrap(), after);
    }
}
