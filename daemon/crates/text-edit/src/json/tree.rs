//! A JSON text as a tree that keeps all of its bytes: comments and white space are stored with the
//! items that they surround.
//!
//! It does not know how new values are laid out.

use std::fmt::{self, Display, Formatter};

use jsonc_parser::ast::Value;
use jsonc_parser::common::{Range, Ranged};

/// A value with its text.
#[derive(Debug)]
pub(super) enum JsonNode {
    Scalar(String),
    Object(JsonContainer),
    Array(JsonContainer),
}

/// The text between the brackets of an object or array.
#[derive(Debug, Default)]
pub(super) struct JsonContainer {
    pub(super) items: Vec<JsonItem>,
    /// The text between the last item and the closing bracket.
    pub(super) tail: String,
}

/// An element, or a property with its key.
#[derive(Debug)]
pub(super) struct JsonItem {
    /// The text since the previous item.
    pub(super) before: String,
    pub(super) key: Option<JsonKey>,
    pub(super) value: JsonNode,
    /// The text between the value and its comma.
    pub(super) after: String,
    pub(super) has_comma: bool,
    /// The comments that follow on the same line.
    pub(super) trail: String,
}

#[derive(Debug)]
pub(super) struct JsonKey {
    pub(super) name: String,
    /// The key as it is written.
    pub(super) raw: String,
    /// The text between the key and the value.
    pub(super) colon: String,
}

impl JsonNode {
    pub(super) fn new(text: &str, value: &Value<'_>) -> Self {
        let range = value.range();
        match value {
            Value::Object(object) => {
                let parts = object.properties.iter().map(|property| {
                    let (key, value) = (property.name.range(), property.value.range());
                    let key = JsonKey {
                        name: property.name.as_str().to_owned(),
                        raw: text[key.start..key.end].to_owned(),
                        colon: text[key.end..value.start].to_owned(),
                    };
                    SourcePart { range: property.range, key: Some(key), value: &property.value }
                });
                Self::Object(JsonContainer::new(text, range, parts.collect()))
            }
            Value::Array(array) => {
                let parts = array.elements.iter();
                let parts =
                    parts.map(|value| SourcePart { range: value.range(), key: None, value });
                Self::Array(JsonContainer::new(text, range, parts.collect()))
            }
            _ => Self::Scalar(text[range.start..range.end].to_owned()),
        }
    }

    pub(super) fn has_line_break(&self) -> bool {
        match self {
            Self::Scalar(_) => false,
            Self::Object(container) | Self::Array(container) => {
                !container.is_flat() || container.items.iter().any(|it| it.value.has_line_break())
            }
        }
    }
}

impl Display for JsonNode {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Scalar(text) => out.write_str(text),
            Self::Object(container) => write!(out, "{{{container}}}"),
            Self::Array(container) => write!(out, "[{container}]"),
        }
    }
}

/// An item of a parsed text.
struct SourcePart<'a> {
    range: Range,
    key: Option<JsonKey>,
    value: &'a Value<'a>,
}

impl JsonContainer {
    fn new(text: &str, range: Range, parts: Vec<SourcePart<'_>>) -> Self {
        let (mut at, close) = (range.start + 1, range.end - 1);
        let ends: Vec<usize> =
            parts.iter().skip(1).map(|part| part.range.start).chain([close]).collect();
        let items = parts.into_iter().zip(ends).map(|(part, end)| {
            let before = text[at..part.range.start].to_owned();
            let rest = &text[part.range.end..end];
            let comma = skip_comments(rest).filter(|comma| rest[*comma..].starts_with(','));
            let (after, rest) = match comma {
                Some(comma) => (&rest[..comma], &rest[comma + 1..]),
                None => ("", rest),
            };
            let trail = comments_on_line(rest);
            at = end - rest.len() + trail.len();
            JsonItem {
                before,
                key: part.key,
                value: JsonNode::new(text, part.value),
                after: after.to_owned(),
                has_comma: comma.is_some(),
                trail: trail.to_owned(),
            }
        });
        let items = items.collect();
        Self { items, tail: text[at..close].to_owned() }
    }

    /// Finds the property with a key. Among duplicates the last one counts, as for readers of JSON.
    pub(super) fn find(&self, key: &str) -> Option<usize> {
        let is_it = |item: &JsonItem| item.key.as_ref().is_some_and(|it| it.name == key);
        self.items.iter().rposition(is_it)
    }

    /// Whether the brackets are on the lines of the first and the last item.
    pub(super) fn is_flat(&self) -> bool {
        let ends = self.items.last().map(|last| [&last.after, &last.trail]);
        let first = self.items.first().map(|first| &first.before);
        let mut gaps = ends.into_iter().flatten().chain(first).chain([&self.tail]);
        gaps.all(|gap| !gap.contains('\n'))
    }

    /// Removes an item, with its comma and the line that it had to itself. Comments stay.
    pub(super) fn remove(&mut self, at: usize) {
        let item = self.items.remove(at);
        let next = match self.items.get_mut(at) {
            Some(next) => &mut next.before,
            None => &mut self.tail,
        };
        if item.has_comma {
            let line = next.split_once('\n').filter(|(line, _)| {
                own_line(&item.before).is_some() && item.trail.is_empty() && line.trim().is_empty()
            });
            let start = item.before.rfind('\n').map_or(0, |end| end + 1);
            let rest = format!("{}{next}", item.trail);
            *next = match line {
                Some((_, below)) => format!("{}{below}", &item.before[..start]),
                None if item.before.ends_with('\n') => format!("{}{rest}", item.before),
                None => format!("{}{}", item.before, rest.trim_start_matches([' ', '\t'])),
            };
            return;
        }
        let rest = format!("{}{}", item.trail, self.tail);
        let Some(last) = self.items.last_mut() else {
            let is_blank = item.before.trim().is_empty() && rest.trim().is_empty();
            self.tail = if is_blank { String::new() } else { join_gaps(&item.before, &rest) };
            return;
        };
        last.has_comma = false;
        let above = format!("{}{}{}", std::mem::take(&mut last.after), last.trail, item.before);
        let joined = join_gaps(&above, &rest);
        comments_on_line(&joined).clone_into(&mut last.trail);
        joined[last.trail.len()..].clone_into(&mut self.tail);
    }
}

impl Display for JsonContainer {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for item in &self.items {
            out.write_str(&item.before)?;
            if let Some(key) = &item.key {
                write!(out, "{}{}", key.raw, key.colon)?;
            }
            let comma = if item.has_comma { "," } else { "" };
            write!(out, "{}{}{comma}{}", item.value, item.after, item.trail)?;
        }
        out.write_str(&self.tail)
    }
}

/// Joins the texts around what was removed, without the white space before it. A line comment keeps
/// the end of its line.
fn join_gaps(before: &str, after: &str) -> String {
    let kept = before.trim_end();
    let is_open = ends_in_line_comment(kept)
        && !after.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    format!("{}{after}", if is_open { before } else { kept })
}

/// The text after the last line end, if it is only white space.
pub(super) fn own_line(gap: &str) -> Option<&str> {
    let (_, line) = gap.rsplit_once('\n')?;
    Some(line).filter(|line| line.trim().is_empty())
}

/// The comment at the beginning of a text.
fn leading_comment(text: &str) -> Option<&str> {
    if text.starts_with("//") {
        let line = text.split('\n').next()?;
        return Some(line.strip_suffix('\r').unwrap_or(line));
    }
    text.strip_prefix("/*")?.find("*/").map(|end| &text[..end + 4])
}

/// The position of the first byte that is neither white space nor part of a comment.
fn skip_comments(text: &str) -> Option<usize> {
    let mut rest = text.trim_start();
    while let Some(comment) = leading_comment(rest) {
        rest = rest[comment.len()..].trim_start();
    }
    (!rest.is_empty()).then(|| text.len() - rest.len())
}

/// The comments at the beginning of a text that end on its first line.
fn comments_on_line(text: &str) -> &str {
    let mut end = 0;
    loop {
        let rest = text[end..].trim_start_matches([' ', '\t']);
        match leading_comment(rest) {
            Some(comment) if !comment.contains('\n') => {
                end = text.len() - rest.len() + comment.len();
            }
            _ => return &text[..end],
        }
    }
}

/// Whether a text of white space and comments ends within a line comment.
fn ends_in_line_comment(text: &str) -> bool {
    let mut rest = text.trim_start();
    while let Some(comment) = leading_comment(rest) {
        if comment.starts_with("//") && comment.len() == rest.len() {
            return true;
        }
        rest = rest[comment.len()..].trim_start();
    }
    false
}
