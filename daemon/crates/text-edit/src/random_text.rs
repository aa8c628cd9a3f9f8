//! Random texts and edits for tests.

use random_draws::RandomDraws;
use scene_schemas::text::{Position, TextEdit};

/// Builds an edit from its range and text.
pub(super) fn line_edit(line: u32, character: u32, to_line: u32, to: u32, text: &str) -> TextEdit {
    TextEdit {
        start: Position { line, character },
        end: Position { line: to_line, character: to },
        text: text.into(),
    }
}

/// Returns a few lines from a small alphabet, so that lines repeat and different line ends meet.
pub(super) fn random_text(draws: &mut RandomDraws, lines: usize) -> String {
    const PIECES: [&str; 12] =
        ["a", "b", "end", "\tx", "😀", "é", " ", "", "local a = 1", "\r", "foo()", "a"];
    let mut text = String::new();
    for _ in 0..draws.below(lines + 1) {
        for _ in 0..draws.below(3) {
            text.push_str(draws.pick(&PIECES));
        }
        text.push_str(draws.pick(&["\n", "\n", "\n", "\r\n", ""]));
    }
    text
}

/// Returns edits that fit the text, in ascending or descending order.
pub(super) fn random_edits(draws: &mut RandomDraws, text: &str) -> Vec<TextEdit> {
    let mut places = vec![];
    for (line, content) in text.split('\n').enumerate() {
        let is_last = text.matches('\n').count() == line;
        let content = if is_last { content } else { content.strip_suffix('\r').unwrap_or(content) };
        let mut character = 0;
        places.push(Position { line: line as u32, character });
        for c in content.chars() {
            character += c.len_utf16() as u32;
            places.push(Position { line: line as u32, character });
        }
    }
    let mut edits = vec![];
    let mut at = draws.below(4);
    while at < places.len() {
        let end = (at + draws.below(4)).min(places.len() - 1);
        edits.push(TextEdit { start: places[at], end: places[end], text: random_text(draws, 2) });
        at = end + 1 + draws.below(6);
    }
    if draws.one_in(2) {
        edits.reverse();
    }
    edits
}
