//! The table of shared strings: large contents that properties refer to by a key.

use std::borrow::Cow;
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rbx_types::SharedString;

use super::lexer::{self, MarkupKind, MarkupLexer};
use super::text;

/// An entry of the table. Ranges are relative to the start of the given content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SharedEntry<'a> {
    /// The key that properties use.
    pub(super) key: Cow<'a, str>,
    pub(super) whole: Range<usize>,
    /// Range of its base64 text.
    pub(super) text: Range<usize>,
}

/// Returns the entries in the content of a `<SharedStrings>`, up to the first error.
pub(super) fn read_shared(content: &[u8]) -> impl Iterator<Item = SharedEntry<'_>> {
    let mut lexer = MarkupLexer::new(content);
    std::iter::from_fn(move || {
        while let Ok(Some(markup)) = lexer.next() {
            let MarkupKind::Open { name, attributes, is_empty } = markup.kind else {
                continue;
            };
            let close =
                if is_empty { markup.end..markup.end } else { lexer.skip_element(name).ok()? };
            let attributes = &content[attributes];
            if let Some(key) = lexer::attribute_range(attributes, b"md5") {
                let key = text::attribute_value(&attributes[key]);
                let whole = markup.start..close.end;
                return Some(SharedEntry { key, whole, text: markup.end..close.start });
            }
        }
        None
    })
}

/// Decodes the text of an entry; None if it is not base64.
pub(super) fn decode_shared(text: &[u8]) -> Option<Vec<u8>> {
    if memchr::memchr2(b'<', b'&', text).is_none() {
        return decode_base64(text);
    }
    decode_base64(text::decode_text(text).as_bytes())
}

/// Decodes base64, ignoring whitespace.
fn decode_base64(text: &[u8]) -> Option<Vec<u8>> {
    let is_space = |byte: &u8| byte.is_ascii_whitespace() || *byte == 0x0b;
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !is_space(byte)).collect();
    STANDARD.decode(digits).ok()
}

/// Returns the key that rbx_xml gives to a content.
pub(super) fn key_of(shared: &SharedString) -> String {
    STANDARD.encode(&shared.hash().as_bytes()[..16])
}

/// Formats an entry of the table.
pub(super) fn encode_entry(key: &str, data: &[u8]) -> Vec<u8> {
    let mut out = b"<SharedString md5=\"".to_vec();
    text::escape_attribute(key, &mut out);
    out.extend_from_slice(b"\">");
    out.extend_from_slice(STANDARD.encode(data).as_bytes());
    out.extend_from_slice(b"</SharedString>");
    out
}
