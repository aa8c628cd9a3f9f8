//! Tokenizer for XML markup, over bytes that need not be UTF-8.
//!
//! It reads the contents of elements in place of quick-xml, which validates every text and stops at
//! the first byte that is not UTF-8; old places have such bytes in strings. Names are not
//! validated, and entities are left to [`super::text`].

use std::ops::Range;

use memchr::{memchr, memmem};

use super::MarkupError;

pub(super) const CDATA: &[u8] = b"<![CDATA[";
/// How many bytes are searched one by one before switching to `memchr`.
const BYTEWISE_LIMIT: usize = 8;

pub(super) const CDATA_END: &[u8] = b"]]>";

/// The kind of a piece of markup.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum MarkupKind {
    /// A start tag, or a whole element if `is_empty`.
    Open {
        name: Range<usize>,
        attributes: Range<usize>,
        is_empty: bool,
    },
    Close {
        name: Range<usize>,
    },
    /// A CDATA section, with the range of its text.
    Literal(Range<usize>),
    Comment,
    Instruction,
}

/// A piece of markup, from its `<` to after its `>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkupPiece {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) kind: MarkupKind,
}

/// The effect of a piece of markup on the open elements.
enum ElementStep {
    Opened(Range<usize>),
    Closed,
    Other,
}

/// Iterates over the markup in a byte slice.
#[derive(Debug)]
pub(super) struct MarkupLexer<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The names of the open elements, as start and length. Kept to reuse its allocation.
    open: Vec<(u32, u32)>,
}

impl<'a> MarkupLexer<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0, open: Vec::new() }
    }

    /// Returns the offset at which the search for the next piece starts.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    pub(super) fn set_position(&mut self, at: usize) {
        self.at = at;
    }

    /// Returns the next piece of markup; None if only text is left.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<MarkupPiece>, MarkupError> {
        let Some(start) = self.markup_start() else {
            self.at = self.bytes.len();
            return Ok(None);
        };
        let (end, kind) = self.read_piece(start)?;
        self.at = end;
        Ok(Some(MarkupPiece { start, end, kind }))
    }

    /// Returns the offset of the next `<`. It is nearly always close, and then setting up `memchr`
    /// costs more than a linear search.
    #[inline]
    fn markup_start(&self) -> Option<usize> {
        let rest = self.bytes.get(self.at..)?;
        let near = rest.iter().take(BYTEWISE_LIMIT).position(|byte| *byte == b'<');
        near.or_else(|| memchr(b'<', rest)).map(|n| self.at + n)
    }

    #[inline]
    fn read_piece(&self, start: usize) -> Result<(usize, MarkupKind), MarkupError> {
        match self.bytes.get(start + 1) {
            Some(b'/') => self.close_tag(start),
            Some(b'!') => self.read_declaration(start),
            Some(b'?') => Ok((self.end_after(start, 2, b"?>")?, MarkupKind::Instruction)),
            Some(byte) if is_space(*byte) || matches!(byte, b'<' | b'>' | b'=' | b'&') => {
                Err(MarkupError { offset: start, why: "a `<` begins no tag" })
            }
            Some(_) => self.open_tag(start),
            None => Err(truncated_error(start)),
        }
    }

    /// Returns the offset after the mark that ends the markup at `start`.
    fn end_after(&self, start: usize, skipped: usize, mark: &[u8]) -> Result<usize, MarkupError> {
        let from = start + skipped;
        let found = self.bytes.get(from..).and_then(|rest| memmem::find(rest, mark));
        found.map(|n| from + n + mark.len()).ok_or(truncated_error(start))
    }

    fn read_declaration(&self, start: usize) -> Result<(usize, MarkupKind), MarkupError> {
        let rest = &self.bytes[start..];
        if rest.starts_with(CDATA) {
            let end = self.end_after(start, CDATA.len(), CDATA_END)?;
            return Ok((end, MarkupKind::Literal(start + CDATA.len()..end - CDATA_END.len())));
        }
        if rest.starts_with(b"<!--") {
            return Ok((self.end_after(start, 4, b"-->")?, MarkupKind::Comment));
        }
        Err(MarkupError {
            offset: start,
            why: "a `<!` begins neither a comment nor a CDATA section",
        })
    }

    fn close_tag(&self, start: usize) -> Result<(usize, MarkupKind), MarkupError> {
        let from = start + 2;
        let rest = &self.bytes[from..];
        let length = rest.iter().position(|byte| matches!(byte, b'>' | b'<'));
        match length {
            Some(length) if rest[length] == b'>' => {
                let name = from..from + rest[..length].trim_ascii_end().len();
                Ok((from + length + 1, MarkupKind::Close { name }))
            }
            Some(_) => Err(MarkupError { offset: start, why: "an end tag has no `>`" }),
            None => Err(truncated_error(start)),
        }
    }

    #[inline]
    fn open_tag(&self, start: usize) -> Result<(usize, MarkupKind), MarkupError> {
        let name = self.read_name(start)?;
        let end = self.find_tag_end(start, name.end)?;
        let is_empty = self.bytes[end - 2] == b'/';
        let attributes = name.end..end - 1 - usize::from(is_empty);
        Ok((end, MarkupKind::Open { name, attributes, is_empty }))
    }

    /// Returns the range of the name in a start tag.
    #[inline]
    fn read_name(&self, start: usize) -> Result<Range<usize>, MarkupError> {
        let from = start + 1;
        let length = self.bytes[from..].iter().position(|byte| ENDS_NAME[usize::from(*byte)]);
        length.map(|length| from..from + length).ok_or(truncated_error(start))
    }

    /// Returns the offset after the `>` of a start tag, ignoring those in quotes.
    #[inline]
    fn find_tag_end(&self, start: usize, mut at: usize) -> Result<usize, MarkupError> {
        loop {
            match self.bytes.get(at) {
                Some(b'>') => return Ok(at + 1),
                Some(quote @ (b'"' | b'\'')) => {
                    let value = &self.bytes[at + 1..];
                    at += memchr(*quote, value).ok_or(truncated_error(start))? + 2;
                }
                Some(b'<') => {
                    return Err(MarkupError { offset: start, why: "a start tag has no `>`" });
                }
                Some(_) => at += 1,
                None => return Err(truncated_error(start)),
            }
        }
    }

    /// Skips to the end of the element that was just opened, and returns the range of its end tag.
    pub(super) fn skip_element(&mut self, name: Range<usize>) -> Result<Range<usize>, MarkupError> {
        let opened = name.start;
        self.open.clear();
        let mut innermost = name;
        while let Some(start) = self.markup_start() {
            match self.read_step(start, &innermost)? {
                ElementStep::Opened(name) => {
                    self.open.push((innermost.start as u32, innermost.len() as u32));
                    innermost = name;
                }
                ElementStep::Closed => match self.open.pop() {
                    Some((from, length)) => innermost = from as usize..(from + length) as usize,
                    None => return Ok(start..self.at),
                },
                ElementStep::Other => {}
            }
        }
        Err(MarkupError { offset: opened.saturating_sub(1), why: "an element is never closed" })
    }

    /// Skips the markup at `start`, within an element. Tries the plain forms first, which nearly
    /// every tag has.
    #[inline]
    fn read_step(
        &mut self,
        start: usize,
        innermost: &Range<usize>,
    ) -> Result<ElementStep, MarkupError> {
        if self.is_plain_end(start, innermost) {
            self.at = start + 3 + innermost.len();
            return Ok(ElementStep::Closed);
        }
        if let Some(name) = self.plain_start(start)? {
            self.at = name.end + 1;
            return Ok(ElementStep::Opened(name));
        }
        let (end, kind) = self.read_piece(start)?;
        self.at = end;
        match kind {
            MarkupKind::Open { name, is_empty: false, .. } => Ok(ElementStep::Opened(name)),
            MarkupKind::Close { name }
                if self.bytes[name.clone()] == self.bytes[innermost.clone()] =>
            {
                Ok(ElementStep::Closed)
            }
            MarkupKind::Close { .. } => Err(MarkupError {
                offset: start,
                why: "an end tag closes another element than the one that is open",
            }),
            _ => Ok(ElementStep::Other),
        }
    }

    /// Whether the markup is the end tag of `name` without whitespace, as nearly every end tag is.
    #[inline]
    fn is_plain_end(&self, start: usize, name: &Range<usize>) -> bool {
        let tag = &self.bytes[start + 1..];
        tag.len() > name.len() + 1
            && tag[0] == b'/'
            && tag[1..=name.len()] == self.bytes[name.clone()]
            && tag[name.len() + 1] == b'>'
    }

    /// Returns the name in a start tag without attributes; None for other markup.
    #[inline]
    fn plain_start(&self, start: usize) -> Result<Option<Range<usize>>, MarkupError> {
        if !self.bytes.get(start + 1).is_some_and(u8::is_ascii_alphabetic) {
            return Ok(None);
        }
        let name = self.read_name(start)?;
        Ok((self.bytes[name.end] == b'>').then_some(name))
    }

    /// Skips the content of the current element, and returns the start of its end tag.
    pub(super) fn skip_content(&mut self) -> Result<usize, MarkupError> {
        let from = self.at;
        while let Some(markup) = self.next()? {
            match markup.kind {
                MarkupKind::Open { name, is_empty: false, .. } => {
                    self.skip_element(name)?;
                }
                MarkupKind::Close { .. } => return Ok(markup.start),
                _ => {}
            }
        }
        Err(truncated_error(from))
    }
}

/// The bytes that end the name in a start tag.
const ENDS_NAME: [bool; 256] = {
    let (mut table, ends) = ([false; 256], b"></ \t\n\r");
    let mut n = 0;
    while n < ends.len() {
        table[ends[n] as usize] = true;
        n += 1;
    }
    table
};

fn truncated_error(offset: usize) -> MarkupError {
    MarkupError { offset, why: "the file ends in the middle of what begins here" }
}

/// Whether XML treats the byte as whitespace.
pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns the range of the raw value of an attribute in a tag.
pub(super) fn attribute_range(attributes: &[u8], wanted: &[u8]) -> Option<Range<usize>> {
    // It is nearly always the first attribute.
    let plain = attributes.strip_prefix(b" ").and_then(|rest| rest.strip_prefix(wanted));
    if let Some(rest) = plain.and_then(|rest| rest.strip_prefix(b"=\"")) {
        let from = attributes.len() - rest.len();
        return memchr(b'"', rest).map(|length| from..from + length);
    }
    let mut at = 0;
    loop {
        at += attributes[at..].iter().position(|byte| !is_space(*byte))?;
        let rest = &attributes[at..];
        let key = rest.iter().position(|byte| *byte == b'=' || is_space(*byte))?;
        let equals = key + rest[key..].iter().position(|byte| !is_space(*byte))?;
        if rest[equals] != b'=' {
            return None;
        }
        let quote = equals + 1 + rest[equals + 1..].iter().position(|byte| !is_space(*byte))?;
        if !matches!(rest[quote], b'"' | b'\'') {
            return None;
        }
        let from = at + quote + 1;
        let length = memchr(rest[quote], &attributes[from..])?;
        if &rest[..key] == wanted {
            return Some(from..from + length);
        }
        at = from + length + 1;
    }
}
