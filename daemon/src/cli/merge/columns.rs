//! Renders a conflict in the terminal: base, ours and theirs side by side.
//!
//! This module decides nothing.

use std::fmt::Write as _;

use console::measure_text_width;

use crate::cli::style::{PaintKind, TextStyle, fold_columns, terminal_line};

/// Below this width, the versions are shown one below the other.
const MIN_WIDTH: usize = 72;
const TITLES: [&str; 3] = ["BASE", "OURS", "THEIRS"];
const PAINTS: [PaintKind; 3] = [PaintKind::Dim, PaintKind::Changed, PaintKind::Moved];

/// Renders three versions of the same lines, each below its title. `lines` are their first line
/// numbers.
pub(super) fn render_columns(
    versions: [&str; 3],
    lines: Option<[usize; 3]>,
    is_gone: [bool; 3],
    style: TextStyle,
) -> String {
    let titles: [String; 3] = std::array::from_fn(|at| match lines {
        Some(lines) => format!("{} line {}", TITLES[at], lines[at]),
        None => TITLES[at].to_owned(),
    });
    let absent: [&str; 3] = std::array::from_fn(|at| if is_gone[at] { "(none)" } else { "" });
    if style.width < MIN_WIDTH {
        return render_stacked(&titles, versions, absent, style);
    }
    let width = (style.width - 6) / 3;
    let base: Vec<&str> = versions[0].lines().collect();
    let cells: [Vec<(String, bool)>; 3] =
        std::array::from_fn(|at| fold_version(versions[at], absent[at], &base, width));
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let mut text = String::new();
    let mut row = |parts: [(String, Option<PaintKind>); 3]| {
        for (at, (part, paint)) in parts.into_iter().enumerate() {
            let padding_width = width.saturating_sub(measure_text_width(&part));
            let painted = paint.map_or_else(|| part.clone(), |paint| style.paint(paint, &part));
            let divider = if at < 2 { style.paint(PaintKind::Dim, " │ ") } else { String::new() };
            let padding = if at < 2 { " ".repeat(padding_width) } else { String::new() };
            let _ = write!(text, "{painted}{padding}{divider}");
        }
        text.push('\n');
    };
    row(titles.map(|title| (title, Some(PaintKind::Bold))));
    for line in 0..height {
        row(std::array::from_fn(|at| match cells[at].get(line) {
            Some((part, is_new)) => {
                let paint = if at == 0 || *is_new { Some(PAINTS[at]) } else { None };
                (part.clone(), paint)
            }
            None => (String::new(), None),
        }));
    }
    text
}

/// The wrapped lines of a version, each with whether it is missing from the base.
fn fold_version(version: &str, absent: &str, base: &[&str], width: usize) -> Vec<(String, bool)> {
    if version.is_empty() {
        return vec![(absent.to_owned(), false)];
    }
    let folded = version.lines().flat_map(|line| {
        let is_new = !base.contains(&line);
        fold_columns(&terminal_line(line), width).into_iter().map(move |part| (part, is_new))
    });
    folded.collect()
}

fn render_stacked(
    titles: &[String; 3],
    versions: [&str; 3],
    absent: [&str; 3],
    style: TextStyle,
) -> String {
    let mut text = String::new();
    for at in 0..3 {
        let _ = writeln!(text, "{}", style.paint(PaintKind::Bold, &titles[at]));
        let shown = if versions[at].is_empty() { absent[at] } else { versions[at] };
        for line in shown.lines() {
            for part in fold_columns(&terminal_line(line), style.width - 2) {
                let _ = writeln!(text, "  {}", style.paint(PAINTS[at], part));
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_shown_side_by_side() {
        let style = TextStyle { colour: false, width: 75 };
        let shown =
            render_columns(["a\n", "a\nb\n", ""], Some([2, 3, 4]), [false, false, true], style);
        let lines: Vec<&str> = shown.lines().map(str::trim_end).collect();
        assert_eq!(
            lines,
            [
                "BASE line 2             │ OURS line 3             │ THEIRS line 4",
                "a                       │ a                       │ (none)",
                "                        │ b                       │",
            ]
        );
    }

    #[test]
    fn narrow_terminal_stacks_the_versions() {
        let style = TextStyle { colour: false, width: 40 };
        let shown = render_columns(["1", "2\u{1b}", "3"], None, [false; 3], style);
        assert_eq!(shown, "BASE\n  1\nOURS\n  2␛\nTHEIRS\n  3\n");
    }
}
