//! Terminal styling, and escaping of untrusted text.
//!
//! Names, sources and titles come from places and models. All of it passes through
//! [`terminal_line`] before it is printed: an escape sequence in a script must not move the cursor
//! in the terminal of the user who reads its card. This module must not know what is printed.

use std::borrow::Cow;
use std::fmt::Display;

use console::{Term, measure_text_width};
use vector_core::safe_line::safe_line;

/// The width if the output is not a terminal.
const WIDTH: usize = 100;

/// Tabs are replaced by spaces, so that the width of a line is known.
const TAB: &str = "    ";

#[derive(Debug, Clone, Copy)]
pub(super) struct TextStyle {
    /// Whether to use colors.
    pub(super) colour: bool,
    /// The width of a line, in columns.
    pub(super) width: usize,
}

/// The role of a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PaintKind {
    Dim,
    Bold,
    Added,
    Removed,
    Changed,
    Moved,
}

impl TextStyle {
    /// The style for output that is not on a terminal.
    pub(super) fn plain() -> Self {
        Self { colour: false, width: WIDTH }
    }

    /// The style for a stream. `colour` is console's decision on colors.
    pub(super) fn for_term(term: &Term, colour: bool) -> Self {
        let width = term
            .size_checked()
            .map_or(WIDTH, |(_, columns)| usize::from(columns).clamp(40, 2 * WIDTH));
        Self { colour, width }
    }

    pub(super) fn paint(self, paint: PaintKind, text: impl Display) -> String {
        let style = console::Style::new().force_styling(self.colour);
        let style = match paint {
            PaintKind::Dim => style.dim(),
            PaintKind::Bold => style.bold(),
            PaintKind::Added => style.green(),
            PaintKind::Removed => style.red(),
            PaintKind::Changed => style.yellow(),
            PaintKind::Moved => style.cyan(),
        };
        style.apply_to(text).to_string()
    }
}

/// Returns a single line without control characters, and without characters that reorder or hide
/// text.
pub(super) fn terminal_line(text: &str) -> Cow<'_, str> {
    let shown = safe_line(text);
    if shown.contains('\t') { Cow::Owned(shown.replace('\t', TAB)) } else { shown }
}

/// Like [`terminal_line`], for a text of several lines.
pub(super) fn safe_lines(text: &str) -> String {
    let lines: Vec<Cow<'_, str>> = text.lines().map(terminal_line).collect();
    lines.join("\n")
}

/// A name for the tree, quoted if it is empty or has spaces at its ends.
pub(super) fn tree_name(text: &str) -> Cow<'_, str> {
    if text.trim() == text && !text.is_empty() {
        terminal_line(text)
    } else {
        Cow::Owned(format!("\"{}\"", terminal_line(text)))
    }
}

/// Wraps an escaped text between words into lines of at most `width` columns.
pub(super) fn wrap_words(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut used = 0;
    for word in text.split(' ') {
        let wide = measure_text_width(word);
        if used > 0 && used + 1 + wide > width {
            lines.push(String::new());
            used = 0;
        } else if used > 0 {
            if let Some(line) = lines.last_mut() {
                line.push(' ');
            }
            used += 1;
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(word);
        }
        used += wide;
    }
    lines
}

/// Breaks an escaped text anywhere into pieces of at most `width` columns. Returns at least one
/// piece.
pub(super) fn fold_columns(text: &str, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut pieces = vec![String::new()];
    let mut used = 0;
    for c in text.chars() {
        let wide = measure_text_width(c.encode_utf8(&mut [0; 4]));
        if used + wide > width {
            pieces.push(String::new());
            used = 0;
        }
        if let Some(piece) = pieces.last_mut() {
            piece.push(c);
        }
        used += wide;
    }
    pieces
}

/// "1 part", "3 parts".
pub(super) fn count_noun(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_shown_as_symbols() {
        assert_eq!(terminal_line("a\x1b[31mb\x07"), "a␛[31mb␇");
        assert_eq!(terminal_line("tab\there\r"), "tab    here␍");
        assert_eq!(safe_lines("a\nb\x1b"), "a\nb␛");
        assert_eq!(tree_name(" x"), "\" x\"");
    }

    #[test]
    fn lines_are_wrapped_by_column_width() {
        assert_eq!(wrap_words("one two three", 8), ["one two", "three"]);
        assert_eq!(fold_columns("部品部品", 4), ["部品", "部品"]);
        assert_eq!(fold_columns("", 4), [""]);
    }
}
