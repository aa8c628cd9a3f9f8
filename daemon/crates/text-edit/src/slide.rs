//! A canonical place for every change: where lines repeat, a diff can place a run of inserted or
//! deleted lines in several ways that give the same text.
//!
//! Inserting `end, f` above an `end` is the same as inserting `f, end` below it. Each run is moved
//! down as far as possible, as in Git, so that two diffs with the same change have it in the same
//! place. Only pure insertions and deletions slide. The place of a replacement is fixed by the
//! differences.

use std::ops::Range;

use super::diff::LineChange;

/// A change at its lowest place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SlidingChange {
    /// The lines of the old text, from 0.
    pub(super) old: Range<usize>,
    /// The lines of the new text, from 0.
    pub(super) new: Range<usize>,
    /// The line of the old text at which the change begins in its highest place.
    pub(super) highest_start: usize,
}

/// Moves each change to its lowest place. Changes that meet are merged.
pub(super) fn slide_changes(
    old: &[&str],
    new: &[&str],
    changes: Vec<LineChange>,
) -> Vec<SlidingChange> {
    // The last element is next to the change that is being placed.
    let mut settled: Vec<LineChange> = Vec::with_capacity(changes.len());
    for mut change in changes.into_iter().rev() {
        loop {
            let limit = settled.last().map_or(old.len(), |next| next.old.start);
            slide_down(old, new, &mut change, limit);
            if change.old.end < limit {
                break;
            }
            let Some(next) = settled.pop() else { break };
            change = LineChange {
                old: change.old.start..next.old.end,
                new: change.new.start..next.new.end,
            };
            trim_change(old, new, &mut change);
        }
        if !change.old.is_empty() || !change.new.is_empty() {
            settled.push(change);
        }
    }
    settled.reverse();
    let mut above = 0;
    let with_reach = |change: LineChange| {
        let reach = change.old.start - max_upward_slide(old, new, &change, above);
        above = change.old.end;
        SlidingChange { old: change.old, new: change.new, highest_start: reach }
    };
    settled.into_iter().map(with_reach).collect()
}

/// Moves an insertion or a deletion down, at most to the next change.
fn slide_down(old: &[&str], new: &[&str], change: &mut LineChange, limit: usize) {
    // Moving down one line is possible if the first line of the run equals the line below it.
    let can_move = |change: &LineChange| {
        if change.old.is_empty() {
            new[change.new.start] == old[change.old.end]
        } else {
            change.new.is_empty() && old[change.old.start] == old[change.old.end]
        }
    };
    while change.old.end < limit && can_move(change) {
        for range in [&mut change.old, &mut change.new] {
            *range = range.start + 1..range.end + 1;
        }
    }
}

/// Returns how many lines an insertion or a deletion can move up, at most to the change above.
fn max_upward_slide(old: &[&str], new: &[&str], change: &LineChange, above: usize) -> usize {
    let (lines, run) = match (change.old.is_empty(), change.new.is_empty()) {
        (true, false) => (new, &change.new),
        (false, true) => (old, &change.old),
        _ => return 0,
    };
    let steps = 1..=change.old.start - above;
    steps.take_while(|step| lines[run.start - step] == lines[run.end - step]).count()
}

/// Removes the lines that both texts share at the ends of a change.
fn trim_change(old: &[&str], new: &[&str], change: &mut LineChange) {
    let (a, b) = (&old[change.old.clone()], &new[change.new.clone()]);
    let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[head..], &b[head..]);
    let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    for range in [&mut change.old, &mut change.new] {
        *range = range.start + head..range.end - tail;
    }
}
