//! Tags in a text that is hardly XML: one at a time, with its attributes.

/// A tag at the front of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct XmlTag<'a> {
    /// Its name, as it is written.
    pub(super) name: &'a str,
    /// A closing tag, `</name>`.
    pub(super) is_closing: bool,
    /// An empty tag, `<name/>`.
    pub(super) is_empty: bool,
    /// Its attributes, values without their quotes.
    pub(super) attributes: Vec<(&'a str, &'a str)>,
    /// How many bytes it takes.
    pub(super) length: usize,
}

/// What stands at a `<`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TagStart<'a> {
    Tag(XmlTag<'a>),
    /// A tag that the end of the text cuts off: what is there of its name, and whether that is all of
    /// it.
    Cut(&'a str, bool),
    Text,
}

/// How long a tag may be: what is longer is no tag of a call.
const MAX: usize = 64 << 10;

/// Reads what stands at the front of a text.
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

/// An attribute at the front, and how many bytes it takes; none inside where the end cuts it off.
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

/// Two spellings of one name: case, `_` and `-` do not count.
pub(super) fn is_same_name(a: &str, b: &str) -> bool {
    fn significant_letters(text: &str) -> impl Iterator<Item = u8> + '_ {
        let kept = text.bytes().filter(|byte| !matches!(byte, b'_' | b'-'));
        kept.map(|byte| byte.to_ascii_lowercase())
    }
    significant_letters(a).eq(significant_letters(b))
}
