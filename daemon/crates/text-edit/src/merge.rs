//! Three-way merge of two changes of one text (`diff3`).
//!
//! If both sides changed the same or adjacent lines, the result is a conflict with all three
//! versions. If both made the same change, there is no conflict.
//!
//! A diff alone does not determine where a run of lines was inserted or deleted: where lines
//! repeat, the run can be in several places and give the same text. So every run is moved to a
//! canonical place before the merge (`slide`). Two runs that can slide into each other and share a
//! line count as adjacent, because both sides may have made the same change there.

use std::cell::OnceCell;
use std::ops::Range;

use rustc_hash::FxHashSet;
pub use scene_schemas::TextConflict as Conflict;

use super::diff::line_changes;
use super::lines::split_lines;
use super::slide::{SlidingChange, slide_changes};

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeResult {
    /// The text with both changes.
    Text(String),
    /// The conflicts, in order.
    Conflicts(Vec<Conflict>),
}

/// A part of a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergePart {
    /// Lines without a conflict.
    Text(String),
    Conflict(Conflict),
}

/// Applies to `ours` the changes between `base` and `theirs`.
pub fn merge_texts(base: &str, ours: &str, theirs: &str) -> MergeResult {
    let (mut text, mut conflicts) = (String::new(), Vec::new());
    for part in merge_parts(base, ours, theirs) {
        match part {
            MergePart::Text(lines) => text.push_str(&lines),
            MergePart::Conflict(conflict) => conflicts.push(conflict),
        }
    }
    if conflicts.is_empty() { MergeResult::Text(text) } else { MergeResult::Conflicts(conflicts) }
}

/// Formats a merge as one text, with both versions of each conflict between conflict markers.
pub fn format_conflicts(parts: &[MergePart]) -> String {
    let mut text = String::new();
    for part in parts {
        let Conflict { ours, theirs, .. } = match part {
            MergePart::Text(lines) => {
                text.push_str(lines);
                continue;
            }
            MergePart::Conflict(conflict) => conflict,
        };
        let versions = [("<<<<<<< ours", ours), ("=======", theirs)];
        for (marker, lines) in versions {
            text.extend([marker, "\n", lines.as_str()]);
            if !lines.is_empty() && !lines.ends_with('\n') {
                text.push('\n');
            }
        }
        text.push_str(">>>>>>> theirs\n");
    }
    text
}

/// Applies to `ours` the changes between `base` and `theirs`, and returns the parts of the result,
/// in order.
pub fn merge_parts(base: &str, ours: &str, theirs: &str) -> Vec<MergePart> {
    let (base, ours, theirs) = (split_lines(base), split_lines(ours), split_lines(theirs));
    let our_changes = slide_changes(&base, &ours, line_changes(&base, &ours));
    let their_changes = slide_changes(&base, &theirs, line_changes(&base, &theirs));
    let (mut one, mut other) = (MergeSide::new(&our_changes), MergeSide::new(&their_changes));
    link_changes(&mut one, &ours, &mut other, &theirs, &base);
    let (mut text, mut parts, mut done) = (String::new(), Vec::new(), 0);
    while let Some(start) = one.next_start().into_iter().chain(other.next_start()).min() {
        // Adjacent changes, of either side, form one region.
        let (our_first, their_first) = (one.at, other.at);
        let mut end = start;
        while one.take_touching(&mut end) || other.take_touching(&mut end) {}
        let our_lines = one.side_lines(our_first, start, end);
        let their_lines = other.side_lines(their_first, start, end);
        text.extend(base[done..start].iter().copied());
        done = end;
        let (our_text, their_text) = (&ours[our_lines.clone()], &theirs[their_lines.clone()]);
        if one.at == our_first {
            text.extend(their_text.iter().copied());
        } else if other.at == their_first || our_text == their_text {
            text.extend(our_text.iter().copied());
        } else {
            if !text.is_empty() {
                parts.push(MergePart::Text(std::mem::take(&mut text)));
            }
            parts.push(MergePart::Conflict(Conflict {
                base: base[start..end].concat(),
                ours: our_text.concat(),
                theirs: their_text.concat(),
                base_line: start + 1,
                ours_line: our_lines.start + 1,
                theirs_line: their_lines.start + 1,
            }));
        }
    }
    text.extend(base[done..].iter().copied());
    if !text.is_empty() {
        parts.push(MergePart::Text(text));
    }
    parts
}

/// Extends changes of the two sides that can slide into each other and share a line, so that they
/// become one region. Changes that are the same on both sides stay as they are.
fn link_changes(
    one: &mut MergeSide<'_>,
    ours: &[&str],
    other: &mut MergeSide<'_>,
    theirs: &[&str],
    base: &[&str],
) {
    let our_lines: Vec<ChangedLines<'_>> = one.changed_lines(base, ours);
    let their_lines: Vec<ChangedLines<'_>> = other.changed_lines(base, theirs);
    let mut first = 0;
    for (at, change) in one.changes.iter().enumerate() {
        while other.changes.get(first).is_some_and(|it| it.old.end < change.highest_start) {
            first += 1;
        }
        for (there, their_change) in other.changes.iter().enumerate().skip(first) {
            if their_change.highest_start > change.old.end {
                break;
            }
            let is_same = change.old == their_change.old
                && ours[change.new.clone()] == theirs[their_change.new.clone()];
            if is_same || !our_lines[at].has_common_line(&their_lines[there]) {
                continue;
            }
            let (our_end, their_end) = (&mut one.ends[at], &mut other.ends[there]);
            *our_end = (*our_end).max(their_change.old.start);
            *their_end = (*their_end).max(change.old.start);
        }
    }
}

/// The lines that a change deletes and inserts.
struct ChangedLines<'c> {
    deleted: &'c [&'c str],
    inserted: &'c [&'c str],
    sets: OnceCell<[FxHashSet<&'c str>; 2]>,
}

impl ChangedLines<'_> {
    /// Whether both changes delete, or both insert, the same line.
    fn has_common_line(&self, other: &Self) -> bool {
        let is_smaller =
            self.deleted.len() + self.inserted.len() <= other.deleted.len() + other.inserted.len();
        let (few, many) = if is_smaller { (self, other) } else { (other, self) };
        let [deleted, inserted] = many
            .sets
            .get_or_init(|| [many.deleted, many.inserted].map(|it| it.iter().copied().collect()));
        few.deleted.iter().any(|line| deleted.contains(line))
            || few.inserted.iter().any(|line| inserted.contains(line))
    }
}

/// The changes of one side. Those before `at` are done.
struct MergeSide<'c> {
    changes: &'c [SlidingChange],
    /// For each change, the line of the base up to which it extends.
    ends: Vec<usize>,
    at: usize,
}

impl<'c> MergeSide<'c> {
    fn new(changes: &'c [SlidingChange]) -> Self {
        Self { changes, ends: changes.iter().map(|change| change.old.end).collect(), at: 0 }
    }

    fn changed_lines<'t>(&self, base: &'t [&'t str], text: &'t [&'t str]) -> Vec<ChangedLines<'t>> {
        let lines = |change: &SlidingChange| ChangedLines {
            deleted: &base[change.old.clone()],
            inserted: &text[change.new.clone()],
            sets: OnceCell::new(),
        };
        self.changes.iter().map(lines).collect()
    }

    /// Returns the line of the base at which the next change begins.
    fn next_start(&self) -> Option<usize> {
        Some(self.changes.get(self.at)?.old.start)
    }

    /// Adds the next change to the region that ends at `end`, if it is adjacent.
    fn take_touching(&mut self, end: &mut usize) -> bool {
        if self.next_start().is_none_or(|start| start > *end) {
            return false;
        }
        *end = (*end).max(self.ends[self.at]);
        self.at += 1;
        true
    }

    /// Returns the lines of this side that correspond to a region of the base. `first` is the first
    /// change that may be part of the region.
    fn side_lines(&self, first: usize, start: usize, end: usize) -> Range<usize> {
        let before = first.checked_sub(1).and_then(|before| self.changes.get(before));
        let (old, new) = before.map_or((0, 0), |change| (change.old.end, change.new.end));
        let from = new + start - old;
        let last = self.changes[first..self.at].last();
        let (old, new) = last.map_or((old, new), |change| (change.old.end, change.new.end));
        from..new + end - old
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use random_draws::check_seeds;
    use similar::{Algorithm, MergeRegion, MergeResolution, TextMerge};

    use super::*;

    #[test]
    fn two_changes_are_merged_or_conflict() {
        let merged = |ours, theirs| merge_texts("a\nb\nc\nd\n", ours, theirs);
        assert_eq!(
            merged("A\nb\nc\nd\n", "a\nb\nc\nD\n"),
            MergeResult::Text("A\nb\nc\nD\n".into())
        );
        assert_eq!(merged("b\nc\nd\n", "b\nc\nd\n"), MergeResult::Text("b\nc\nd\n".into()));
        let MergeResult::Conflicts(conflicts) = merged("x\na\nB\nc\nd\n", "a\nb2\nc\n") else {
            panic!("one is expected");
        };
        let [conflict] = &conflicts[..] else { panic!("one is expected") };
        assert_eq!((&*conflict.base, &*conflict.ours, &*conflict.theirs), ("b\n", "B\n", "b2\n"));
        assert_eq!((conflict.base_line, conflict.ours_line, conflict.theirs_line), (2, 3, 2));
    }

    #[test]
    fn merge_agrees_with_a_reference_implementation() {
        let texts = Cell::new(0);
        check_seeds(0..5_000, |draws| {
            // Lines do not repeat: for equal lines, a change has several correct results.
            let base: Vec<String> = (0..draws.below(12)).map(|n| format!("{n}\n")).collect();
            let base = base.concat();
            let mut number = 0;
            let mut change = || {
                let mut lines: Vec<String> =
                    base.split_inclusive('\n').map(str::to_owned).collect();
                for _ in 0..draws.below(3) {
                    let at = draws.below(lines.len() + 1);
                    let end = (at + draws.below(3)).min(lines.len());
                    number += draws.below(2);
                    lines.splice(at..end, [format!("x{number}\n")]);
                }
                lines.concat()
            };
            let (ours, theirs) = (change(), change());
            let mut config = TextMerge::configure();
            let other =
                config.algorithm(Algorithm::Histogram).merge_lines(&*base, &*ours, &*theirs);
            match merge_texts(&base, &ours, &theirs) {
                MergeResult::Conflicts(conflicts) => {
                    assert_eq!(conflicts.len(), other.conflict_count());
                    for (one, other) in conflicts.iter().zip(other.conflicts()) {
                        assert_eq!(one.base_line, other.base_range().start + 1);
                        assert_eq!(one.ours_line, other.ours_range().start + 1);
                        assert_eq!(one.theirs_line, other.theirs_range().start + 1);
                    }
                }
                MergeResult::Text(text) => {
                    texts.set(texts.get() + 1);
                    let lines = |region: &MergeRegion| -> String {
                        match region.resolution() {
                            MergeResolution::Theirs => region
                                .theirs_range()
                                .filter_map(|at| other.theirs_line(at))
                                .collect(),
                            _ => region.ours_range().filter_map(|at| other.ours_line(at)).collect(),
                        }
                    };
                    assert_eq!(other.conflict_count(), 0);
                    assert_eq!(text, other.regions().iter().map(lines).collect::<String>());
                }
            }
        });
        assert!(texts.get() > 1_000);
    }
}
