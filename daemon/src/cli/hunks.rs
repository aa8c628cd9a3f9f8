//! Renders the change of a script's text as numbered lines.
//!
//! Changed lines are wrapped, never cut at the edge of the terminal: what the user approves must
//! have been readable. This module does not know which script it is, or who decides.

use scene_schemas::proposal::{DiffLine, Hunk};
use vector_text_edit::NO_NEWLINE_MARK;

use super::style::{PaintKind, TextStyle, fold_columns, terminal_line};

/// A line that wraps to more rows than this is cut, unless the whole diff is requested.
const LONGEST: usize = 8;

/// The lines of all hunks, with a mark between hunks.
pub(super) fn hunk_lines(hunks: &[Hunk], style: TextStyle, whole: bool) -> Vec<String> {
    let digits = hunks.iter().map(last_number).max().unwrap_or(1);
    let digits = digits.to_string().len();
    let mut lines = Vec::new();
    for (at, hunk) in hunks.iter().enumerate() {
        if at > 0 {
            lines.push(style.paint(PaintKind::Dim, format!("{:>1$}", "⋯", 2 * digits + 1)));
        }
        push_hunk(hunk, style, digits, whole, &mut lines);
    }
    lines
}

fn last_number(hunk: &Hunk) -> u32 {
    hunk.old_start.max(hunk.new_start) + hunk.lines.len() as u32
}

fn push_hunk(hunk: &Hunk, style: TextStyle, digits: usize, whole: bool, lines: &mut Vec<String>) {
    let (mut old, mut new) = (hunk.old_start, hunk.new_start);
    let blank = String::new();
    for line in &hunk.lines {
        let (numbers, sign, text, paint) = match line {
            DiffLine::Context(text) => {
                ((old.to_string(), new.to_string()), ' ', text, PaintKind::Dim)
            }
            DiffLine::Added(text) => {
                ((blank.clone(), new.to_string()), '+', text, PaintKind::Added)
            }
            DiffLine::Removed(text) => {
                ((old.to_string(), blank.clone()), '-', text, PaintKind::Removed)
            }
        };
        old += u32::from(!matches!(line, DiffLine::Added(_)));
        new += u32::from(!matches!(line, DiffLine::Removed(_)));
        let (text, is_unended) = match text.strip_suffix(NO_NEWLINE_MARK) {
            Some(text) => (text, true),
            None => (text.as_str(), false),
        };
        let gutter = format!("{:>digits$} {:>digits$}", numbers.0, numbers.1);
        let text_width = style.width.saturating_sub(gutter.len() + 4).max(20);
        let mut pieces = fold_columns(&terminal_line(text), text_width);
        let all = pieces.len();
        if all > LONGEST && !whole {
            pieces.truncate(LONGEST);
            let rest = text.chars().count()
                - pieces
                    .iter()
                    .map(|it| it.chars().count())
                    .sum::<usize>()
                    .min(text.chars().count());
            pieces.push(format!("… {rest} more characters in this line"));
        }
        for (at, piece) in pieces.iter().enumerate() {
            let gutter = if at == 0 { gutter.clone() } else { " ".repeat(gutter.len()) };
            let gutter = style.paint(PaintKind::Dim, gutter);
            let text = style.paint(paint, format!("{sign} {piece}"));
            lines.push(format!("{gutter} {text}").trim_end().to_owned());
        }
        if is_unended {
            let mark = style.paint(PaintKind::Dim, NO_NEWLINE_MARK.trim_start());
            lines.push(format!("{:1$} {mark}", "", gutter.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hunk_lines_have_old_and_new_numbers() {
        let hunks = vector_text_edit::diff_hunks("a\nb\nc\nd\n", "a\nB\n\tc2\nc\nd\n", 1);
        assert_eq!(
            hunk_lines(&hunks, TextStyle::plain(), false).join("\n"),
            "\
1 1   a
2   - b
  2 + B
  3 +     c2
3 4   c"
        );
    }

    #[test]
    fn long_line_is_folded_then_cut_with_count() {
        let hunks = vector_text_edit::diff_hunks("", &"x".repeat(2000), 3);
        let shown = hunk_lines(&hunks, TextStyle::plain(), false);
        assert_eq!(shown.len(), 10, "{shown:#?}");
        assert!(shown[8].ends_with("more characters in this line"), "{shown:#?}");
        assert_eq!(shown[9], "    \\ No newline at end of file");
        assert!(hunk_lines(&hunks, TextStyle::plain(), true).len() > 20);
    }
}
