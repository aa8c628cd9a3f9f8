//! Hunks for display, and the text that results when only some of them are applied.
//!
//! The lines of a hunk have no line ends, so a difference in the line end alone would show the same
//! line twice. Changed lines are therefore marked if their line end differs from the usual one,
//! which is that of the first line of the old text, or of the new text if the old one is empty:
//! - `␍` after a line that ends in CRLF in a text with LF, `␊` after one that ends in LF in a text
//!   with CRLF;
//! - `\ No newline at end of file`, as in Git, after a changed last line without a line end.

use std::ops::Range;

use scene_schemas::proposal::{DiffLine, Hunk};

use super::diff::{LineChange, line_changes};
use super::lines::{LineEnd, split_line_end, split_lines};

/// Returns the changes in order, each with up to `context` unchanged lines around it. Changes whose
/// context would touch or overlap form one hunk.
pub fn diff_hunks(before: &str, after: &str, context: usize) -> Vec<Hunk> {
    let (old, new) = (split_lines(before), split_lines(after));
    let usual = usual_line_end(&old, &new);
    group_changes(line_changes(&old, &new), context)
        .iter()
        .map(|group| build_hunk(&old, &new, group, context, usual))
        .collect()
}

/// Returns the text with only the chosen hunks applied. `keep[n]` decides about the nth hunk of
/// `diff_hunks(before, after, context)`; hunks beyond the end of `keep` are not applied.
pub fn pick_hunks(before: &str, after: &str, context: usize, keep: &[bool]) -> String {
    let (old, new) = (split_lines(before), split_lines(after));
    let mut text = String::with_capacity(before.len().max(after.len()));
    let mut done = 0;
    for (number, group) in group_changes(line_changes(&old, &new), context).into_iter().enumerate()
    {
        if !keep.get(number).copied().unwrap_or(false) {
            continue;
        }
        for change in group {
            text.extend(old[done..change.old.start].iter().copied());
            text.extend(new[change.new].iter().copied());
            done = change.old.end;
        }
    }
    text.extend(old[done..].iter().copied());
    text
}

fn group_changes(changes: Vec<LineChange>, context: usize) -> Vec<Vec<LineChange>> {
    let mut groups: Vec<Vec<LineChange>> = vec![];
    for change in changes {
        match groups.last_mut() {
            Some(group)
                if group.last().is_some_and(|last| {
                    change.old.start - last.old.end <= context.saturating_mul(2)
                }) =>
            {
                group.push(change);
            }
            _ => groups.push(vec![change]),
        }
    }
    groups
}

fn build_hunk(
    old: &[&str],
    new: &[&str],
    group: &[LineChange],
    context: usize,
    usual: LineEnd,
) -> Hunk {
    let (Some(first), Some(last)) = (group.first(), group.last()) else {
        return Hunk { old_start: 0, new_start: 0, lines: vec![] };
    };
    let lead = context.min(first.old.start);
    let end = last.old.end.saturating_add(context).min(old.len());
    let trail = end - last.old.end;
    let mut lines = vec![];
    let mut done = first.old.start - lead;
    let unchanged = |range: Range<usize>| {
        old[range].iter().map(|line| DiffLine::Context(split_line_end(line).0.to_owned()))
    };
    for change in group {
        lines.extend(unchanged(done..change.old.start));
        lines.extend(
            old[change.old.clone()].iter().map(|l| DiffLine::Removed(mark_line_end(l, usual))),
        );
        lines.extend(
            new[change.new.clone()].iter().map(|l| DiffLine::Added(mark_line_end(l, usual))),
        );
        done = change.old.end;
    }
    lines.extend(unchanged(done..end));
    let start = |from: usize, to: usize| if to > from { from as u32 + 1 } else { 0 };
    Hunk {
        old_start: start(first.old.start - lead, end),
        new_start: start(first.new.start - lead, last.new.end + trail),
        lines,
    }
}

/// The suffix of a changed line without a line end.
pub const NO_NEWLINE_MARK: &str = " \\ No newline at end of file";

fn usual_line_end(old: &[&str], new: &[&str]) -> LineEnd {
    let ends = old.iter().chain(new).map(|line| split_line_end(line).1);
    ends.into_iter().find(|end| *end != LineEnd::None).unwrap_or(LineEnd::Lf)
}

fn mark_line_end(line: &str, usual: LineEnd) -> String {
    let (content, end) = split_line_end(line);
    match end {
        LineEnd::None => format!("{content}{NO_NEWLINE_MARK}"),
        _ if end == usual => content.to_owned(),
        LineEnd::CrLf => format!("{content}␍"),
        LineEnd::Lf => format!("{content}␊"),
    }
}

/// Formats hunks as a unified diff without file headers.
pub fn format_hunks(hunks: &[Hunk]) -> String {
    let mut text = String::new();
    for hunk in hunks {
        let count = |wanted: fn(&DiffLine) -> bool| hunk.lines.iter().filter(|l| wanted(l)).count();
        let old = count(|line| !matches!(line, DiffLine::Added(_)));
        let new = count(|line| !matches!(line, DiffLine::Removed(_)));
        let header = format!("@@ -{},{old} +{},{new} @@\n", hunk.old_start, hunk.new_start);
        text.push_str(&header);
        for line in &hunk.lines {
            let (mark, line) = match line {
                DiffLine::Context(line) => (' ', line),
                DiffLine::Added(line) => ('+', line),
                DiffLine::Removed(line) => ('-', line),
            };
            text.push(mark);
            match line.strip_suffix(NO_NEWLINE_MARK) {
                Some(line) => text.extend([line, "\n", NO_NEWLINE_MARK.trim_start(), "\n"]),
                None => text.extend([line, "\n"]),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use random_draws::check_seeds;

    use super::super::apply_edits;
    use super::super::diff::diff_lines;
    use super::super::random_text::random_text;
    use super::*;

    /// Formats hunks like a unified diff, with their two line numbers.
    fn shown(before: &str, after: &str, context: usize) -> String {
        let mut shown = vec![];
        for hunk in diff_hunks(before, after, context) {
            shown.push(format!("@{},{}", hunk.old_start, hunk.new_start));
            shown.extend(hunk.lines.into_iter().map(|line| match line {
                DiffLine::Context(line) => format!("| {line}"),
                DiffLine::Added(line) => format!("|+{line}"),
                DiffLine::Removed(line) => format!("|-{line}"),
            }));
        }
        shown.concat()
    }

    #[track_caller]
    fn check(before: &str, after: &str, expected: &str) {
        assert_eq!(shown(before, after, 1), expected);
    }

    #[test]
    fn hunks_show_changed_lines_with_context() {
        check("a\n", "a\n", "");
        check("a\nb\nc\nd\n", "a\nb\nC\nd\n", "@2,2| b|-c|+C| d");
        check("", "a\n", "@0,1|+a");
        check("a\n", "", "@1,0|-a");
        check("a\nb\n", "a\nb\nc\n", "@2,2| b|+c");
        check("1\n2\n3\n4\n5\n6\n", "x\n2\n3\n4\n5\ny\n", "@1,1|-1|+x| 2@5,5| 5|-6|+y");
        check("1\n2\n3\n4\n", "x\n2\n3\ny\n", "@1,1|-1|+x| 2| 3|-4|+y");
    }

    #[test]
    fn hunks_show_differing_line_ends() {
        check("a\nb\n", "a\nb", "@1,1| a|-b|+b \\ No newline at end of file");
        check("a\nb\n", "a\r\nb\n", "@1,1|-a|+a␍| b");
        check("a\r\nb\r\n", "a\nb\r\n", "@1,1|-a|+a␊| b");
        check("a\r\nb\r\n", "a\r\nc\r\n", "@1,1| a|-b|+c");
    }

    #[test]
    fn only_the_chosen_hunks_are_applied() {
        let (before, after) = ("1\n2\n3\n4\n5\n6", "x\n2\n3\n4\n5\n6\n");
        let pick = |keep: &[bool]| pick_hunks(before, after, 1, keep);
        assert_eq!(pick(&[true, true]), after);
        assert_eq!(pick(&[]), before);
        assert_eq!(pick(&[true]), "x\n2\n3\n4\n5\n6");
        assert_eq!(pick(&[false, true]), "1\n2\n3\n4\n5\n6\n");
    }

    #[test]
    fn random_hunk_selections_are_consistent() {
        check_seeds(0..3_000, |draws| {
            let (before, after) = (random_text(draws, 15), random_text(draws, 15));
            let context = draws.below(4);
            let count = diff_hunks(&before, &after, context).len();
            assert_eq!(pick_hunks(&before, &after, context, &vec![true; count]), after);
            assert_eq!(pick_hunks(&before, &after, context, &vec![false; count]), before);
            let keep: Vec<_> = (0..count).map(|_| draws.one_in(2)).collect();
            let part = pick_hunks(&before, &after, context, &keep);
            assert_eq!(apply_edits(&before, &diff_lines(&before, &part)).unwrap(), part);
        });
    }
}
