//! Places in a text as editors say them: zero-based lines, and characters of UTF-16 in a line (LSP).

use memchr::{memchr, memchr_iter, memrchr};
use vector_luau::index::ByteSpan;

/// A place in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
pub struct TextPosition {
    /// The line, from 0.
    pub line: u32,
    /// How many UTF-16 units stand before it in its line.
    pub character: u32,
}

/// The positions of bytes of a text. It goes along the text: bytes that are asked in order cost one
/// walk over it together, whatever the lengths of the lines.
#[derive(Debug)]
pub struct PositionTracker<'a> {
    text: &'a str,
    at: usize,
    position: TextPosition,
}

impl<'a> PositionTracker<'a> {
    /// At the beginning of a text.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, position: TextPosition { line: 0, character: 0 } }
    }

    /// The position of a byte.
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

    /// The line that a byte stands in, without its end.
    pub fn line_at(&self, byte: u32) -> &'a str {
        let byte = self.text.floor_char_boundary(byte as usize);
        let start = memrchr(b'\n', &self.text.as_bytes()[..byte]).map_or(0, |n| n + 1);
        let rest = &self.text[start..];
        rest.lines().next().unwrap_or_default()
    }

    /// The line that a byte stands in, without white space around it; of a line that is longer than so
    /// many bytes, that much of what stands around the byte.
    pub fn excerpt(&self, byte: u32, most: usize) -> String {
        let byte = self.text.floor_char_boundary(byte as usize);
        let from = self.text.floor_char_boundary(byte.saturating_sub(most));
        let to = self.text.ceil_char_boundary(byte + most);
        let start = memrchr(b'\n', &self.text.as_bytes()[from..byte]).map(|n| from + n + 1);
        let start = start.or((from == 0).then_some(0));
        let end = memchr(b'\n', &self.text.as_bytes()[byte..to]).map(|n| byte + n);
        let end = end.or((to == self.text.len()).then_some(to));
        if let (Some(start), Some(end)) = (start, end)
            && end - start <= most
        {
            return self.text[start..end].trim().to_owned();
        }
        // A third of it stands before the byte.
        let near = self.text.ceil_char_boundary(byte - (byte - from).min(most / 3));
        let (start, before) = match start {
            Some(start) if start >= near => (start, ""),
            _ => (near, "…"),
        };
        let cut = self.text.floor_char_boundary(start + most);
        let (end, behind) = match end {
            Some(end) if end <= cut => (end, ""),
            _ => (cut, "…"),
        };
        format!("{before}{}{behind}", self.text[start..end].trim())
    }

    /// The position where a span begins, and the one behind it.
    pub fn span_range(&mut self, span: ByteSpan) -> (TextPosition, TextPosition) {
        (self.position_of(span.start), self.position_of(span.end))
    }
}

/// The byte of a position; one behind the end of its line is that end. None behind the last line.
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
