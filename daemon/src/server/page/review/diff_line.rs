//! A line of a script's text: its highlighted pieces, and the words that differ.
//!
//! There may be thousands of lines, so each line is one element, with one more for each piece that
//! is not plain, and class names are single letters.

use std::ops::Range;

use maud::{Markup, html};
use vector_core::safe_line::safe_line;
use vector_luau::{HighlightKind, LinePieces};

/// The bytes of a line that are shown at once. The rest is collapsed and not highlighted.
const LONGEST: usize = 2_000;

/// Renders the text of a line.
pub(super) fn line_view(text: &str, pieces: &LinePieces, marks: &[Range<usize>]) -> Markup {
    let (front, behind) = text.split_at(cut_length(text));
    html! {
        @for (text, class) in split_segments(front, pieces, marks) {
            @match class {
                Some(class) => i class=(class) { (safe_line(text)) },
                None => (safe_line(text)),
            }
        }
        @if !behind.is_empty() {
            details.rest {
                summary { "… " (behind.chars().count()) " more characters" }
                (safe_line(behind))
            }
        }
    }
}

/// Returns the length at which a text is cut.
fn cut_length(text: &str) -> usize {
    if text.len() <= LONGEST { text.len() } else { text.floor_char_boundary(LONGEST) }
}

/// Splits a text into parts that look the same, each with its class.
fn split_segments<'a>(
    text: &'a str,
    pieces: &LinePieces,
    marks: &[Range<usize>],
) -> Vec<(&'a str, Option<&'static str>)> {
    let (mut segments, mut at) = (Vec::new(), 0);
    let (mut pieces, mut marks) = (pieces.iter().peekable(), marks.iter().peekable());
    while at < text.len() {
        while pieces.next_if(|(range, _)| range.end <= at).is_some() {}
        while marks.next_if(|mark| mark.end <= at).is_some() {}
        // The piece and the mark at this position, and where either changes.
        let edge = |range: &Range<usize>| if range.start > at { range.start } else { range.end };
        let piece = pieces.peek();
        let mark = marks.peek();
        let end = piece.map_or(text.len(), |(range, _)| edge(range));
        let end = mark.map_or(end, |mark| end.min(edge(mark))).min(text.len());
        let is_marked = mark.is_some_and(|mark| mark.start <= at);
        let piece = piece.filter(|(range, _)| range.start <= at).map(|(_, piece)| *piece);
        segments.push((&text[at..end], segment_class(piece, is_marked)));
        at = end;
    }
    segments
}

fn segment_class(piece: Option<HighlightKind>, is_marked: bool) -> Option<&'static str> {
    let Some(piece) = piece else {
        return is_marked.then_some("m");
    };
    let (plain, marked) = match piece {
        HighlightKind::Keyword => ("k", "k m"),
        HighlightKind::Text => ("s", "s m"),
        HighlightKind::Comment => ("c", "c m"),
        HighlightKind::Constant => ("n", "n m"),
        HighlightKind::Global => ("g", "g m"),
        HighlightKind::Type => ("t", "t m"),
        HighlightKind::Function => ("f", "f m"),
    };
    Some(if is_marked { marked } else { plain })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highlighted_pieces_and_changed_words_may_overlap() {
        let text = "local x = \"<b>\"";
        let pieces = vec![(0..5, HighlightKind::Keyword), (10..15, HighlightKind::Text)];
        assert_eq!(
            line_view(text, &pieces, &[6..8, 8..12]).into_string(),
            "<i class=\"k\">local</i> <i class=\"m\">x </i><i class=\"m\">= </i><i class=\"s m\">&quot;&lt;</i>\
             <i class=\"s\">b&gt;&quot;</i>"
        );
    }

    #[test]
    fn invisible_characters_are_escaped() {
        let shown = line_view("a\u{202e}\u{200b}<\x1b", &Vec::new(), &[]).into_string();
        assert_eq!(shown, "a\\u{202e}\\u{200b}&lt;␛");
    }

    #[test]
    fn rest_of_a_long_line_is_collapsed() {
        let text = format!("{}é{}", "x".repeat(LONGEST - 1), "y".repeat(50));
        let shown =
            line_view(&text, &vec![(0..LONGEST + 20, HighlightKind::Comment)], &[]).into_string();
        assert!(shown.contains("<summary>… 51 more characters</summary>éyy"), "{shown}");
    }
}
