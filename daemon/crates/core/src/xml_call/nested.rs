//! Parser for lists and objects in nested tags: `<props><Name>Lamp</Name></props>`.
//!
//! A child is a member of an object by its name, or an item of a list by any name. The schema of a
//! child determines its type. Without a schema, JSON is read as JSON, and anything else as text.

use serde_json::{Map, Value as Json};

use super::tag::{TagStart, XmlTag, is_same_name, read_tag};
use super::typed::{self, RawArgument};

/// Maximum nesting depth of tags.
const MAX_DEPTH: usize = 16;

/// Tags whose member name is in an attribute: `<property name="Size">`.
const NAMED: [&str; 5] = ["entry", "field", "member", "prop", "property"];

const CDATA: &str = "<![CDATA[";

/// A tag with its content.
struct NestedElement<'a> {
    name: &'a str,
    inside: &'a str,
}

/// Whether a text consists of tags rather than JSON.
pub(super) fn is_nested(text: &str) -> bool {
    matches!(read_tag(text.trim()), TagStart::Tag(tag) if !tag.is_closing)
}

/// Reads tags as a list or as an object.
///
/// # Errors
/// The reason that the tags are invalid.
pub(super) fn read_nested(
    text: &str,
    schema: &Json,
    is_list: bool,
    depth: usize,
) -> Result<Json, String> {
    if depth >= MAX_DEPTH {
        return Err(format!("has tags that are nested more than {MAX_DEPTH} deep"));
    }
    let mut rest = text.trim();
    let (mut items, mut map) = (Vec::new(), Map::new());
    while !rest.is_empty() {
        let (element, behind) = read_element(rest)?;
        rest = behind.trim_start();
        if is_list {
            items.push(element_value(&element, &schema["items"], depth)?);
            continue;
        }
        let (name, inner) = find_member(schema, element.name);
        let new = element_value(&element, inner, depth)?;
        match map.get_mut(&name) {
            None => {
                map.insert(name, new);
            }
            Some(_) => return Err(format!("has `<{name}>` twice; write a list as JSON")),
        }
    }
    Ok(if is_list { Json::Array(items) } else { Json::Object(map) })
}

/// Returns the name of a member as spelled in the schema, and its schema.
fn find_member<'a>(schema: &'a Json, name: &str) -> (String, &'a Json) {
    let known = schema["properties"].as_object();
    let found = known.and_then(|known| known.iter().find(|(it, _)| is_same_name(it, name)));
    match found {
        Some((name, schema)) => (name.clone(), schema),
        None => (name.to_owned(), &Json::Null),
    }
}

/// Reads the element at the start of a text. Returns it with the rest of the text.
fn read_element(text: &str) -> Result<(NestedElement<'_>, &str), String> {
    let TagStart::Tag(tag) = read_tag(text) else {
        let shown: String = text.chars().take(40).collect();
        return Err(format!("has `{shown}` where a tag is expected"));
    };
    if tag.is_closing {
        return Err(format!("has `</{}>`, which closes nothing", tag.name));
    }
    let name = name_of(&tag);
    let behind = &text[tag.length..];
    if tag.is_empty {
        return Ok((NestedElement { name, inside: "" }, behind));
    }
    let (end, length) = end_of(behind, tag.name)
        .ok_or_else(|| format!("has `<{0}>` without `</{0}>`", tag.name))?;
    Ok((NestedElement { name, inside: &behind[..end] }, &behind[end + length..]))
}

fn name_of<'a>(tag: &XmlTag<'a>) -> &'a str {
    let is_named = NAMED.iter().any(|it| is_same_name(it, tag.name));
    let attribute = tag.attributes.iter().find(|(key, _)| matches!(*key, "name" | "key"));
    attribute.filter(|_| is_named).map_or(tag.name, |(_, name)| *name)
}

/// Returns the start and length of the end tag of a name. Nested tags of the same name are paired.
fn end_of(text: &str, name: &str) -> Option<(usize, usize)> {
    let (mut at, mut depth) = (0, 1);
    while let Some(found) = text[at..].find('<') {
        at += found;
        let rest = &text[at..];
        if rest.starts_with(CDATA) {
            at += rest.find("]]>")?;
            continue;
        }
        if let TagStart::Tag(tag) = read_tag(rest)
            && is_same_name(tag.name, name)
            && !tag.is_empty
        {
            depth = if tag.is_closing { depth - 1 } else { depth + 1 };
            if depth == 0 {
                return Some((at, tag.length));
            }
        }
        at += 1;
    }
    None
}

fn element_value(element: &NestedElement<'_>, schema: &Json, depth: usize) -> Result<Json, String> {
    let trimmed = element.inside.trim();
    let cdata = trimmed.strip_prefix(CDATA).and_then(|rest| rest.strip_suffix("]]>"));
    let raw = match cdata {
        Some(text) => RawArgument { text: text.to_owned(), is_exact: true },
        None => RawArgument { text: element.inside.to_owned(), is_exact: false },
    };
    let named = |why: String| format!("has `<{}>`, which {why}", element.name);
    if !schema.is_null() {
        return typed::value_at(&raw, schema, true, depth + 1).map_err(named);
    }
    if raw.is_exact {
        return Ok(Json::String(raw.text));
    }
    if is_nested(trimmed) {
        let is_list = is_list(trimmed);
        return read_nested(trimmed, &Json::Null, is_list, depth + 1).map_err(named);
    }
    Ok(typed::read_untyped(&raw))
}

/// Whether tags without a schema are the items of a list: only `<item>` is.
fn is_list(text: &str) -> bool {
    matches!(read_tag(text), TagStart::Tag(tag) if is_same_name(tag.name, "item"))
}
