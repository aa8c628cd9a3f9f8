//! Pseudorandom texts and edits for tests, the same in every run.

use scene_schemas::text::{Position, TextEdit};

/// Builds an edit from its range and text.
pub(super) fn line_edit(line: u32, character: u32, to_line: u32, to: u32, text: &str) -> TextEdit {
    TextEdit {
        start: Position { line, character },
        end: Position { line: to_line, character: to },
        text: text.into(),
    }
}

pub(crate) struct SeededRandom(u64);

impl SeededRandom {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }

    /// Returns a few lines from a small alphabet, so that lines repeat and different line ends
    /// meet.
    pub(crate) fn random_text(&mut self, lines: usize) -> String {
        const PIECES: [&str; 12] =
            ["a", "b", "end", "\tx", "😀", "é", " ", "", "local a = 1", "\r", "foo()", "a"];
        let mut text = String::new();
        for _ in 0..self.below(lines + 1) {
            for _ in 0..self.below(3) {
                text.push_str(PIECES[self.below(PIECES.len())]);
            }
            text.push_str(["\n", "\n", "\n", "\r\n", ""][self.below(5)]);
        }
        text
    }
}

/// Returns edits that fit the text, in ascending or descending order.
pub(super) fn random_edits(random: &mut SeededRandom, text: &str) -> Vec<TextEdit> {
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
    let mut at = random.below(4);
    while at < places.len() {
        let end = (at + random.below(4)).min(places.len() - 1);
        edits.push(TextEdit { start: places[at], end: places[end], text: random.random_text(2) });
        at = end + 1 + random.below(6);
    }
    if random.below(2) == 0 {
        edits.reverse();
    }
    edits
}
