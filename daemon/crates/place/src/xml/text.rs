//! Texts of string elements: decoding, encoding, and replacement that keeps the bytes of unchanged
//! lines.
//!
//! Decoding gives what rbx_xml reads, down to the whitespace that it drops: blank text outside
//! CDATA sections counts only after a section that is not blank. Where rbx_xml refuses a file
//! because of an invalid reference, the raw characters are used.

use std::borrow::Cow;

use memchr::{memchr, memchr3, memmem};

use super::lexer::{CDATA, CDATA_END, MarkupKind, MarkupLexer, is_space};

mod replace;

pub(super) use self::replace::replace_text;

/// The encoding of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextStyle {
    CData,
    /// With entities such as `&lt;`.
    Escaped,
}

/// Whether text in an XML file can contain a character. Escaping does not help with the others.
pub(super) fn is_allowed_char(c: char) -> bool {
    !matches!(c, '\0'..='\x08' | '\x0b' | '\x0c' | '\x0e'..='\x1f' | '\u{fffe}' | '\u{ffff}')
}

/// Checks that a text can be written and read again unchanged.
///
/// # Errors
/// A sentence that says why it cannot.
pub(crate) fn check_text(text: &str) -> Result<(), String> {
    if let Some(c) = text.chars().find(|c| !is_allowed_char(*c)) {
        return Err(format!(
            "The text has the character U+{:04X}, which an XML file cannot hold; leave it out.",
            c as u32
        ));
    }
    if text.contains('\r') && is_blank(text.as_bytes()) {
        return Err("The text has nothing but whitespace and a carriage return, which readers of \
                    XML drop."
            .to_owned());
    }
    Ok(())
}

fn is_blank(text: &[u8]) -> bool {
    text.iter().all(|byte| is_space(*byte))
}

/// Returns the style of a string element: CDATA if it has at least one section.
pub(super) fn style_of(inside: &[u8]) -> TextStyle {
    if memmem::find(inside, CDATA).is_some() { TextStyle::CData } else { TextStyle::Escaped }
}

/// Decodes the text of a string element.
pub(super) fn decode_text(inside: &[u8]) -> Cow<'_, str> {
    if memchr3(b'<', b'&', b'\r', inside).is_none() {
        return if is_blank(inside) { Cow::Borrowed("") } else { String::from_utf8_lossy(inside) };
    }
    let literal = inside.strip_prefix(CDATA).and_then(|rest| rest.strip_suffix(CDATA_END));
    if let Some(literal) = literal
        && memchr(b'\r', literal).is_none()
        && memmem::find(inside, CDATA_END) == Some(inside.len() - CDATA_END.len())
    {
        return String::from_utf8_lossy(literal);
    }
    Cow::Owned(TextDecoder::run(inside, None).text)
}

/// An offset in raw text at which a line of the decoded text begins, or the text ends.
#[derive(Debug, Clone, Copy)]
struct LinePoint {
    raw: usize,
    decoded: usize,
    is_literal: bool,
}

/// Decodes a text from pieces of raw text.
struct TextDecoder<'p> {
    text: String,
    /// Start of the stretch of `text` that is dropped if it stays blank.
    stretch: usize,
    is_blank: bool,
    points: Option<&'p mut Vec<LinePoint>>,
}

impl<'p> TextDecoder<'p> {
    fn run(inside: &[u8], points: Option<&'p mut Vec<LinePoint>>) -> Self {
        let text = String::with_capacity(inside.len());
        let mut decoder = Self { text, stretch: 0, is_blank: true, points };
        let (mut lexer, mut from) = (MarkupLexer::new(inside), 0);
        decoder.add_point(0, false);
        while let Ok(Some(markup)) = lexer.next() {
            decoder.push_escaped(inside, from, markup.start);
            from = markup.end;
            match markup.kind {
                MarkupKind::Literal(range) => {
                    decoder.end_stretch();
                    decoder.add_point(range.start, true);
                    decoder.push_lines(inside, range.start, range.end, true);
                    decoder.add_point(range.end, true);
                    decoder.stretch = decoder.text.len();
                    decoder.add_point(markup.end, false);
                }
                MarkupKind::Comment => {}
                MarkupKind::Open { .. } | MarkupKind::Close { .. } | MarkupKind::Instruction => {
                    decoder.end_stretch();
                }
            }
        }
        decoder.push_escaped(inside, from, inside.len());
        decoder.end_stretch();
        decoder.add_point(inside.len(), false);
        decoder
    }

    fn end_stretch(&mut self) {
        if self.is_blank {
            self.text.truncate(self.stretch);
        }
        (self.is_blank, self.stretch) = (true, self.text.len());
    }

    fn add_point(&mut self, raw: usize, is_literal: bool) {
        if let Some(points) = &mut self.points {
            points.push(LinePoint { raw, decoded: self.text.len(), is_literal });
        }
    }

    fn push_piece(&mut self, piece: &[u8]) {
        self.is_blank &= is_blank(piece);
        self.text.push_str(&String::from_utf8_lossy(piece));
    }

    /// Appends text without references. Every line ending becomes a line feed.
    fn push_lines(&mut self, raw: &[u8], mut from: usize, end: usize, is_literal: bool) {
        while let Some(length) = memchr::memchr2(b'\n', b'\r', &raw[from..end]) {
            let stop = from + length;
            self.push_piece(&raw[from..stop]);
            self.text.push('\n');
            let is_pair = raw[stop] == b'\r' && stop + 1 < end && raw[stop + 1] == b'\n';
            from = stop + 1 + usize::from(is_pair);
            self.add_point(from, is_literal);
        }
        self.push_piece(&raw[from..end]);
    }

    fn push_escaped(&mut self, raw: &[u8], mut from: usize, end: usize) {
        while let Some(length) = memchr(b'&', &raw[from..end]) {
            let stop = from + length;
            self.push_lines(raw, from, stop, false);
            let (c, behind) = match read_reference(&raw[stop..end]) {
                Some((c, length)) => (c, stop + length),
                None => ('&', stop + 1),
            };
            self.push_piece(c.encode_utf8(&mut [0; 4]).as_bytes());
            from = behind;
        }
        self.push_lines(raw, from, end, false);
    }
}

/// Returns the character that a reference denotes, and the length of the reference.
fn read_reference(raw: &[u8]) -> Option<(char, usize)> {
    let end = raw.iter().take(64).position(|byte| *byte == b';')?;
    let c = match raw.get(1..end)? {
        b"lt" => '<',
        b"gt" => '>',
        b"amp" => '&',
        b"quot" => '"',
        b"apos" => '\'',
        [b'#', b'x', digits @ ..] => parse_char(digits, 16)?,
        [b'#', digits @ ..] => parse_char(digits, 10)?,
        _ => return None,
    };
    Some((c, end + 1))
}

fn parse_char(digits: &[u8], radix: u32) -> Option<char> {
    let digits = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'))?;
    let c = char::from_u32(u32::from_str_radix(digits, radix).ok()?)?;
    is_allowed_char(c).then_some(c)
}

/// Decodes the raw value of an attribute. All whitespace becomes spaces.
pub(super) fn attribute_value(raw: &[u8]) -> Cow<'_, str> {
    if !raw.iter().any(|byte| matches!(byte, b'&' | b'\t' | b'\n' | b'\r')) {
        return String::from_utf8_lossy(raw);
    }
    let (mut value, mut at) = (Vec::with_capacity(raw.len()), 0);
    while let Some(byte) = raw.get(at) {
        at += 1;
        match byte {
            b'&' => match read_reference(&raw[at - 1..]) {
                Some((c, length)) => {
                    value.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    at += length - 1;
                }
                None => value.push(b'&'),
            },
            b'\n' if at > 1 && raw[at - 2] == b'\r' => {}
            byte if is_space(*byte) => value.push(b' '),
            byte => value.push(*byte),
        }
    }
    Cow::Owned(String::from_utf8_lossy(&value).into_owned())
}

/// Encodes the content of a string element. Text that [`check_text`] refuses is not read back
/// unchanged.
pub(super) fn encode_text(text: &str, style: TextStyle, out: &mut Vec<u8>) {
    encode_lines(text, style, "\n", out);
}

/// Like [`encode_text`], with line feeds written as `newline`.
fn encode_lines(text: &str, style: TextStyle, newline: &str, out: &mut Vec<u8>) {
    let blank = !text.is_empty() && is_blank(text.as_bytes());
    // A carriage return must be escaped, and a CDATA section has no escapes.
    if !text.contains('\r') && (style == TextStyle::CData || blank) {
        out.extend_from_slice(CDATA);
        write_cdata(text, newline, out);
        out.extend_from_slice(CDATA_END);
    } else {
        write_escaped(text, newline, out);
    }
}

fn write_escaped(text: &str, newline: &str, out: &mut Vec<u8>) {
    for c in text.chars() {
        match c {
            '&' => out.extend_from_slice(b"&amp;"),
            '<' => out.extend_from_slice(b"&lt;"),
            '>' => out.extend_from_slice(b"&gt;"),
            '\r' => out.extend_from_slice(b"&#13;"),
            '\n' => out.extend_from_slice(newline.as_bytes()),
            c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

/// Writes text inside a CDATA section that is open and stays open. A carriage return must be
/// escaped outside of it. So must the text next to it, up to something that is not whitespace,
/// because readers drop a blank stretch.
fn write_cdata(text: &str, newline: &str, out: &mut Vec<u8>) {
    let mut from = 0;
    while let Some(found) = memchr(b'\r', &text.as_bytes()[from..]) {
        let mut start = from + found;
        let is_content = |c: char| !c.is_ascii() || !is_space(c as u8);
        let content = text[start..].char_indices().find(|(_, c)| is_content(*c));
        let mut end = content.map_or(text.len(), |(at, c)| start + at + c.len_utf8());
        if is_blank(&text.as_bytes()[end..]) {
            end = text.len();
        }
        if content.is_none() {
            start = text[from..start].rfind(is_content).map_or(start, |at| from + at);
        }
        write_section(&text[from..start], newline, out);
        out.extend_from_slice(CDATA_END);
        write_escaped(&text[start..end], newline, out);
        out.extend_from_slice(CDATA);
        from = end;
    }
    write_section(&text[from..], newline, out);
}

fn write_section(text: &str, newline: &str, out: &mut Vec<u8>) {
    let split = text.replace("]]>", "]]]]><![CDATA[>");
    if newline == "\n" {
        out.extend_from_slice(split.as_bytes());
    } else {
        out.extend_from_slice(split.replace('\n', newline).as_bytes());
    }
}

/// Escapes text for an attribute value in double quotes.
pub(super) fn escape_attribute(text: &str, out: &mut Vec<u8>) {
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"&quot;"),
            '\t' => out.extend_from_slice(b"&#9;"),
            '\n' => out.extend_from_slice(b"&#10;"),
            c => write_escaped(c.encode_utf8(&mut [0; 4]), "\n", out),
        }
    }
}
