//! Tags in a text that is hardly XML: one at a time, with its attributes.

/// A tag at the front of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Tag<'a> {
    /// Its name, as it is written.
    pub(super) name: &'a str,
    /// `</name>`.
    pub(super) is_closing: bool,
    /// `<name/>`.
    pub(super) is_empty: bool,
    /// Its attributes, values without their quotes.
    pub(super) attributes: Vec<(&'a str, &'a str)>,
    /// How many bytes it takes.
    pub(super) length: usize,
}

/// What stands at a `<`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Front<'a> {
    /// A whole tag.
    Tag(Tag<'a>),
    /// A tag that the end of the text cuts off: what is there of its name, and whether that is all of
    /// it.
    Cut(&'a str, bool),
    /// Something else.
    Text,
}

/// How long a tag may be: what is longer is no tag of a call.
const MAX: usize = 64 << 10;

/// Reads what stands at the front of a text.
pub(super) fn front(text: &str) -> Front<'_> {
    let Some(rest) = text.strip_prefix('<') else {
        return Front::Text;
    };
    let (is_closing, rest) = match rest.strip_prefix('/') {
        Some(rest) => (true, rest),
        None => (false, rest),
    };
    let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
    if name.is_empty() && rest.is_empty() {
        return Front::Cut(name, false);
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return Front::Text;
    }
    let mut at = text.len() - rest.len() + name.len();
    if at == text.len() {
        return Front::Cut(name, false);
    }
    let mut attributes = vec![];
    loop {
        let rest = text[at..].trim_start();
        at = text.len() - rest.len();
        if let Some(length) =
            [">", "/>"].iter().find(|end| rest.starts_with(**end)).map(|it| it.len())
        {
            let (is_empty, length) = (length == 2, at + length);
            return Front::Tag(Tag { name, is_closing, is_empty, attributes, length });
        }
        if rest.is_empty() || rest == "/" {
            return Front::Cut(name, true);
        }
        if at > MAX {
            return Front::Text;
        }
        match attribute(rest) {
            Some(Some((pair, length))) => {
                attributes.push(pair);
                at += length;
            }
            Some(None) => return Front::Cut(name, true),
            None => return Front::Text,
        }
    }
}

type Pair<'a> = (&'a str, &'a str);

/// An attribute at the front, and how many bytes it takes; none inside where the end cuts it off.
#[expect(clippy::option_option, reason = "no attribute, or one that is cut off")]
fn attribute(text: &str) -> Option<Option<(Pair<'_>, usize)>> {
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

/// Two spellings of one name: case, `_` and `-` do not count.
pub(super) fn same(a: &str, b: &str) -> bool {
    fn letters(text: &str) -> impl Iterator<Item = u8> + '_ {
        let kept = text.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        kept.map(|byte| byte.to_ascii_lowercase())
    }
    letters(a).eq(letters(b))
}
