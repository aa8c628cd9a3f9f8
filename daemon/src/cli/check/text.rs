//! Findings in the style of rustc: the message, the location, and the source line with carets
//! below.

use std::fmt::Write as _;

use console::measure_text_width;
use vector_luau::{FindingSeverity, LineIndex, SourceFinding};

use super::CheckReport;
use crate::cli::style::{PaintKind, TextStyle, terminal_line};

/// The maximum number of columns shown of a source line. A longer line is cut around the finding.
const SHOWN: usize = 160;

pub(super) fn render_report(report: &CheckReport<'_>, style: TextStyle) -> String {
    let mut text = String::new();
    if let Some((file, source, found)) = &report.settings {
        let lines = LineIndex::from_text(source);
        for it in found {
            render_finding(&mut text, &file.display().to_string(), it, &lines, style);
        }
    }
    for (script, found) in report.scripts.iter().zip(&report.findings) {
        if found.is_empty() {
            continue;
        }
        let lines = LineIndex::from_text(script.text.as_deref().unwrap_or_default());
        let place = script.file.clone().unwrap_or_else(|| script.path.to_string());
        for it in found {
            render_finding(&mut text, &place, it, &lines, style);
        }
    }
    text
}

fn render_finding(
    text: &mut String,
    place: &str,
    finding: &SourceFinding,
    lines: &LineIndex<'_>,
    style: TextStyle,
) {
    let paint = match finding.severity {
        FindingSeverity::Error => PaintKind::Removed,
        FindingSeverity::Warning => PaintKind::Changed,
        FindingSeverity::Note => PaintKind::Moved,
    };
    let (at, number) = (finding.at, finding.at.line.to_string());
    let gutter = " ".repeat(number.len());
    let head =
        style.paint(paint, format!("{}[{}]", finding.severity, terminal_line(&finding.code)));
    let message = style.paint(PaintKind::Bold, terminal_line(&finding.message));
    let bar = |sign: &str| style.paint(PaintKind::Dim, sign);
    let _ = writeln!(text, "{head}: {message}");
    let _ =
        writeln!(text, "{gutter}{} {}:{}:{}", bar("-->"), terminal_line(place), at.line, at.column);
    let line = lines.line_text(at.line);
    if !line.is_empty() {
        let end = if at.end_line == at.line { at.end_column } else { u32::MAX };
        let (code, indent, length) = clip_line(line, at.column as usize, end as usize);
        let _ = writeln!(text, "{gutter} {}", bar("|"));
        let _ = writeln!(text, "{number} {} {code}", bar("|"));
        let carets = style.paint(paint, "^".repeat(length));
        let _ = writeln!(text, "{gutter} {} {}{carets}", bar("|"), " ".repeat(indent));
    }
    for note in &finding.notes {
        let _ = writeln!(text, "{gutter} {} note: {}", bar("="), terminal_line(note));
    }
    text.push('\n');
}

/// Cuts a line around a finding. Returns the text, the columns before the finding, and its width.
fn clip_line(line: &str, column: usize, end: usize) -> (String, usize, usize) {
    let chars: Vec<char> = line.chars().collect();
    let column = column.clamp(1, chars.len() + 1);
    let end = end.clamp(column, chars.len() + 1);
    let from = if chars.len() <= SHOWN { 0 } else { column.saturating_sub(SHOWN / 4) };
    let to = (from + SHOWN).min(chars.len());
    let of = |from: usize, to: usize| {
        let piece: String = chars.get(from..to.max(from)).unwrap_or_default().iter().collect();
        terminal_line(&piece).into_owned()
    };
    let from = from.min(column - 1);
    let before = measure_text_width(&of(from, column - 1));
    let marked_width = measure_text_width(&of(column - 1, (end - 1).min(to)));
    let mark = if from > 0 { "…" } else { "" };
    let rest = if to < chars.len() { "…" } else { "" };
    (format!("{mark}{}{rest}", of(from, to)), before + mark.chars().count(), marked_width.max(1))
}

#[cfg(test)]
mod tests {
    use vector_luau::{SourceLinter, StackSize, inspect_source};

    use super::*;

    #[track_caller]
    fn check(source: &str, expected: &str) {
        let found = inspect_source(source, &SourceLinter::default_lints(), StackSize::Usual);
        let (mut text, lines) = (String::new(), LineIndex::from_text(source));
        for it in &found {
            render_finding(&mut text, "game.A", it, &lines, TextStyle::plain());
        }
        assert_eq!(text, expected, "\n{text}");
    }

    #[test]
    fn carets_mark_the_finding() {
        check(
            "\tlocal a = 1\n\tprint('部品', gone)\n",
            "error[undefined_variable]: `gone` is not defined\n --> game.A:2:14\n  |\n2 |     \
             print('部品', gone)\n  |                   ^^^^\n\n",
        );
    }

    #[test]
    fn long_lines_are_clipped_around_the_finding() {
        let line = format!("{}meant{}", "a".repeat(500), "b".repeat(500));
        let (code, indent, length) = clip_line(&line, 501, 506);
        let chars: Vec<char> = code.chars().collect();
        let shown: String = chars[indent..indent + length].iter().collect();
        assert_eq!((shown.as_str(), chars.len()), ("meant", SHOWN + 2));
        assert_eq!(clip_line("", 5, 9), (String::new(), 0, 1));
        assert_eq!(clip_line("\tx", 2, 3), ("    x".to_owned(), 4, 1));
        assert_eq!(clip_line("ab", u32::MAX as usize, 1), ("ab".to_owned(), 2, 1));
    }
}
