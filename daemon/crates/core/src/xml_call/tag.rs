//! Lenient parser for one tag with its attributes, in a text that is not well-formed XML.

/// A tag at the start of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct XmlTag<'a> {
    /// The name as written.
    pub(super) name: &'a str,
    /// Whether this is a closing tag, `</name>`.
    pub(super) is_closing: bool,
    /// Whether this is an empty tag, `<name/>`.
    pub(super) is_empty: bool,
    /// The attributes, with values without quotes.
    pub(super) attributes: Vec<(&'a str, &'a str)>,
    /// The length of the tag in bytes.
    pub(super) length: usize,
}

/// The text at a `<`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TagStart<'a> {
    Tag(XmlTag<'a>),
    /// A tag cut off by the end of the text: the available part of its name, and whether the name
    /// is complete.
    Cut(&'a str, bool),
    Text,
}

/// Maximum bytes of a tag of a call.
const MAX: usize = 64 << 10;

/// Reads the tag at the start of a text.
pub(super) fn read_tag(text: &str) -> TagStart<'_> {
    let Some(rest) = text.strip_prefix('<') else {
        return TagStart::Text;
    };
    let (is_closing, rest) = match rest.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
    if name.is_empty() && rest.is_empty() {
        return TagStart::Cut(name, false);
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return TagStart::Text;
    }
    let mut at = text.len() - rest.len() + name.len();
    if at == text.len() {
        return TagStart::Cut(name, false);
    }
    let mut attributes = vec![];
    loop {
        let rest = text[at..].trim_start();
        at = text.len() - rest.len();
        if let Some(length) =
            [">", "/>"].iter().find(|end| rest.starts_with(**end)).map(|it| it.len())
        {
            let (is_empty, length) = (length == 2, at + length);
            return TagStart::Tag(XmlTag { name, is_closing, is_empty, attributes, length });
        }
        if rest.is_empty() || rest == "/" {
            return TagStart::Cut(name, true);
        }
        if at > MAX {
            return TagStart::Text;
        }
        match read_attribute(rest) {
            Some(Some((pair, length))) => {
                attributes.push(pair);
                at += length;
            }
            Some(None) => return TagStart::Cut(name, true),
            None => return TagStart::Text,
        }
    }
}

type AttributePair<'a> = (&'a str, &'a str);

/// Reads the attribute at the start, and its length in bytes. `Some(None)` if the end of the text
/// cuts it off.
#[expect(clippy::option_option, reason = "no attribute, or one that is cut off")]
fn read_attribute(text: &str) -> Option<Option<(AttributePair<'_>, usize)>> {
    let name = &text[..text.find(|c| !is_name(c)).unwrap_or(text.len())];
    if name.is_empty() {
        return None;
    }
    let rest = text[name.len()..].trim_start();
    if rest.is_empty() {
        return Some(None);
    }
    let rest = rest.strip_prefix('=')?.trim_start();
    let Some(quote) = rest.chars().next() else {
        return Some(None);
    };
    if !matches!(quote, '"' | '\'') {
        return None;
    }
    let Some(end) = rest[1..].find(quote) else {
        return Some(None);
    };
    let value = &rest[1..=end];
    Some(Some(((name, value), text.len() - rest.len() + end + 2)))
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | ':')
}

/// Whether two names are equal, ignoring case, `_` and `-`.
pub(super) fn is_same_name(a: &str, b: &str) -> bool {
    fn significant_letters(text: &str) -> impl Iterator<Item = u8> + '_ {
        let kept = text.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        kept.map(|byte| byte.to_ascii_lowercase())
    }
    significant_letters(a).eq(significant_letters(b))
}
