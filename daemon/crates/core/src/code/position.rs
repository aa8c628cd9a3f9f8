//! Positions in a text as editors count them (LSP): zero-based lines, and UTF-16 units within a
//! line.

use memchr::{memchr, memchr_iter, memrchr};
use vector_luau::index::ByteSpan;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct TextPosition {
    /// The line number, starting at 0.
    pub line: u32,
    /// UTF-16 units before it in its line.
    pub character: u32,
}

/// Converts byte offsets of a text to positions. It moves along the text, so offsets in ascending
/// order take one pass in total, whatever the line lengths.
#[derive(Debug)]
pub struct PositionTracker<'a> {
    text: &'a str,
    at: usize,
    position: TextPosition,
}

impl<'a> PositionTracker<'a> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, position: TextPosition { line: 0, character: 0 } }
    }

    /// Returns the position of a byte.
    pub fn position_of(&mut self, byte: u32) -> TextPosition {
        let byte = self.text.floor_char_boundary(byte as usize);
        if byte < self.at {
            *self = Self::new(self.text);
        }
        let between = &self.text.as_bytes()[self.at..byte];
        let lines = memchr_iter(b'\n', between).count() as u32;
        if lines > 0 {
            self.position = TextPosition { line: self.position.line + lines, character: 0 };
        }
        let from = memrchr(b'\n', between).map_or(self.at, |n| self.at + n + 1);
        let units: usize = self.text[from..byte].chars().map(char::len_utf16).sum();
        self.position.character += units as u32;
        self.at = byte;
        self.position
    }

    /// Returns the line of a byte, without its line end.
    pub fn line_at(&self, byte: u32) -> &'a str {
        let byte = self.text.floor_char_boundary(byte as usize);
        let start = memrchr(b'\n', &self.text.as_bytes()[..byte]).map_or(0, |n| n + 1);
        let rest = &self.text[start..];
        rest.lines().next().unwrap_or_default()
    }

    /// Returns the line of a byte, trimmed. For a line over `limit` bytes, returns that many bytes
    /// around the byte.
    pub fn excerpt(&self, byte: u32, limit: usize) -> String {
        let byte = self.text.floor_char_boundary(byte as usize);
        let from = self.text.floor_char_boundary(byte.saturating_sub(limit));
        let to = self.text.ceil_char_boundary(byte + limit);
        let start = memrchr(b'\n', &self.text.as_bytes()[from..byte]).map(|n| from + n + 1);
        let start = start.or((from == 0).then_some(0));
        let end = memchr(b'\n', &self.text.as_bytes()[byte..to]).map(|n| byte + n);
        let end = end.or((to == self.text.len()).then_some(to));
        if let (Some(start), Some(end)) = (start, end)
            && end - start <= limit
        {
            return self.text[start..end].trim().to_owned();
        }
        // A third of the excerpt comes before the byte.
        let near = self.text.ceil_char_boundary(byte - (byte - from).min(limit / 3));
        let (start, before) = match start {
            Some(start) if start >= near => (start, ""),
            _ => (near, "…"),
        };
        let cut = self.text.floor_char_boundary(start + limit);
        let (end, behind) = match end {
            Some(end) if end <= cut => (end, ""),
            _ => (cut, "…"),
        };
        format!("{before}{}{behind}", self.text[start..end].trim())
    }

    /// Returns the start and end position of a span.
    pub fn span_range(&mut self, span: ByteSpan) -> (TextPosition, TextPosition) {
        (self.position_of(span.start), self.position_of(span.end))
    }
}

/// Returns the byte of a position. A position after its line end is that end; None after the last
/// line.
pub fn byte_at(text: &str, position: TextPosition) -> Option<u32> {
    let start = match position.line.checked_sub(1) {
        None => 0,
        Some(before) => memchr_iter(b'\n', text.as_bytes()).nth(before as usize)? + 1,
    };
    let line = text[start..].lines().next().unwrap_or_default();
    let mut units = 0;
    for (at, c) in line.char_indices() {
        if units >= position.character {
            return Some((start + at) as u32);
        }
        units += c.len_utf16() as u32;
    }
    Some((start + line.len()) as u32)
}
