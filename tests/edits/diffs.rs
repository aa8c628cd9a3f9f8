//! Unified diffs, written in the form of `diff -u`.

use random_draws::RandomDraws;
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::random_text::Text;

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// A space, `+` or `-`.
    pub(super) sign: char,
    pub(super) text: String,
    /// Whether it is the last line of its text and has no line end.
    pub(super) is_open: bool,
}

/// A hunk. `old` and `new` are its first line in each text, from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) old: usize,
    pub(super) new: usize,
    pub(super) lines: Vec<Line>,
}

impl Hunk {
    /// The lines of one text that it shows: the old ones without `+`, the new ones without `-`.
    pub(super) fn side(&self, without: char) -> Vec<&str> {
        let lines = self.lines.iter().filter(|line| line.sign != without);
        lines.map(|line| line.text.as_str()).collect()
    }

    /// The numbers of its old and new lines.
    pub(super) fn counts(&self) -> (usize, usize) {
        (self.side('+').len(), self.side('-').len())
    }

    /// The line number that a header states for a range. `first` is counted from 0. A range without
    /// lines states the line before it.
    fn said(first: usize, count: usize) -> usize {
        if count == 0 { first } else { first + 1 }
    }

    pub(super) fn header(&self) -> String {
        let (old, new) = self.counts();
        let range = |sign: char, first: usize, count: usize| match count {
            1 => format!("{sign}{}", Self::said(first, 1)),
            _ => format!("{sign}{},{count}", Self::said(first, count)),
        };
        format!("@@ {} {} @@", range('-', self.old, old), range('+', self.new, new))
    }

    pub(super) fn body(&self) -> String {
        let mut body = String::new();
        for line in &self.lines {
            body.push(line.sign);
            body.push_str(&line.text);
            body.push('\n');
            if line.is_open {
                body.push_str("\\ No newline at end of file\n");
            }
        }
        body
    }
}

/// The diff of two texts with `context` lines of context.
pub(super) fn hunks(old: &Text, new: &Text, context: usize, draws: &mut RandomDraws) -> Vec<Hunk> {
    let lines = |text: &Text, sign| -> Vec<Line> {
        let last = text.lines.len();
        let line = |(at, line): (usize, &String)| {
            let is_open = at + 1 == last && !text.is_ended;
            Line { sign, text: line.clone(), is_open }
        };
        text.lines.iter().enumerate().map(line).collect()
    };
    let (before, after) = (lines(old, '-'), lines(new, '+'));
    let key = |lines: &[Line]| -> Vec<(String, bool)> {
        lines.iter().map(|line| (line.text.clone(), line.is_open)).collect()
    };
    let by = draws.pick(&[Algorithm::Myers, Algorithm::Patience]);
    let ops = capture_diff_slices(by, &key(&before), &key(&after));
    // All lines of both texts in diff order, with their old and new positions.
    let mut all: Vec<(usize, usize, Line)> = Vec::new();
    for op in ops {
        let (gone, come) = (op.old_range(), op.new_range());
        if let DiffOp::Equal { .. } = op {
            for (at, to) in gone.zip(come) {
                all.push((at, to, Line { sign: ' ', ..before[at].clone() }));
            }
            continue;
        }
        let (start, end) = (come.start, gone.end);
        all.extend(gone.map(|at| (at, start, before[at].clone())));
        all.extend(come.map(|at| (end, at, after[at].clone())));
    }
    grouped(all, context)
}

fn grouped(all: Vec<(usize, usize, Line)>, context: usize) -> Vec<Hunk> {
    let changed: Vec<usize> = (0..all.len()).filter(|at| all[*at].2.sign != ' ').collect();
    let mut shown: Vec<std::ops::Range<usize>> = Vec::new();
    for at in changed {
        let range = at.saturating_sub(context)..(at + context + 1).min(all.len());
        match shown.last_mut() {
            Some(last) if range.start <= last.end => last.end = range.end,
            _ => shown.push(range),
        }
    }
    let hunk = |range: std::ops::Range<usize>| {
        let (old, new, _) = all[range.start];
        Hunk { old, new, lines: all[range].iter().map(|(_, _, line)| line.clone()).collect() }
    };
    shown.into_iter().map(hunk).collect()
}

/// The file names before the hunks.
pub(super) const NAMES: &str = "--- a/src/Main.luau\n+++ b/src/Main.luau\n";

/// The whole diff.
pub(super) fn written(hunks: &[Hunk]) -> String {
    let hunks = hunks.iter().map(|hunk| format!("{}\n{}", hunk.header(), hunk.body()));
    NAMES.to_owned() + &hunks.collect::<String>()
}

/// All positions of lines in a text, from 0.
pub(super) fn places(text: &Text, lines: &[&str]) -> Vec<usize> {
    let last = (text.lines.len() + 1).saturating_sub(lines.len());
    (0..last).filter(|at| stands(text, lines, *at)).collect()
}

/// Whether a text has these lines at a position.
pub(super) fn stands(text: &Text, lines: &[&str], at: usize) -> bool {
    text.lines.get(at..at + lines.len()).is_some_and(|there| there == lines)
}

/// The text with only some of the hunks applied.
pub(super) fn with_hunks(text: &Text, hunks: &[Hunk]) -> String {
    let mut lines = Vec::new();
    let mut is_ended = text.is_ended;
    let mut done = 0;
    for hunk in hunks {
        lines.extend_from_slice(&text.lines[done..hunk.old]);
        lines.extend(hunk.side('-').into_iter().map(str::to_owned));
        done = hunk.old + hunk.counts().0;
        let is_open = |sign| hunk.lines.iter().any(|line| line.sign != sign && line.is_open);
        if done == text.lines.len() {
            is_ended = !is_open('-');
        }
    }
    lines.extend_from_slice(&text.lines[done..]);
    Text { lines, is_ended }.with("\n")
}
