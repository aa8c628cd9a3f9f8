//! Conversion of an argument's text to the type in its schema.
//!
//! Text values are kept as they are, whatever they look like. Everything else is parsed as JSON and
//! refused if it does not fit.

use serde_json::Value as Json;

use super::nested;

/// An argument's text between its tags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RawArgument {
    pub(super) text: String,
    /// Whether the text was in CDATA and is taken literally.
    pub(super) is_exact: bool,
}

/// The kind of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValueKind {
    Text,
    Number,
    Integer,
    Boolean,
    List,
    Object,
    Null,
}

/// The permitted kinds of a value.
#[derive(Debug, Default)]
struct ValueKinds {
    kinds: Vec<ValueKind>,
    /// Whether the text has a specified format, so that surrounding white space is not part of it.
    is_formed: bool,
}

impl ValueKinds {
    fn contains(&self, kind: ValueKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// Whether only text is permitted, or the schema does not specify a kind.
    fn has_no_json(&self) -> bool {
        self.kinds.iter().all(|kind| matches!(kind, ValueKind::Text | ValueKind::Null))
    }
}

/// Reads an argument. An optional one may be null.
///
/// # Errors
/// Describes the mismatch with the schema.
pub(super) fn read_value(
    raw: &RawArgument,
    schema: &Json,
    is_needed: bool,
) -> Result<Json, String> {
    value_at(raw, schema, is_needed, 0)
}

/// Like [`read_value`], inside `depth` nested tags.
pub(super) fn value_at(
    raw: &RawArgument,
    schema: &Json,
    is_needed: bool,
    depth: usize,
) -> Result<Json, String> {
    let mut kinds = ValueKinds::default();
    collect_kinds(schema, &mut kinds, 0);
    if !is_needed && !kinds.kinds.is_empty() {
        kinds.kinds.push(ValueKind::Null);
    }
    let is_any = kinds.has_no_json();
    if kinds.contains(ValueKind::Text) && is_any {
        let text = text_argument(raw);
        return Ok(Json::String(if kinds.is_formed { text.trim().to_owned() } else { text }));
    }
    let (is_list, is_object) = (kinds.contains(ValueKind::List), kinds.contains(ValueKind::Object));
    // If text is permitted too, tags are part of the text.
    let is_tags = !kinds.contains(ValueKind::Text) && !raw.is_exact && nested::is_nested(&raw.text);
    if is_tags && (is_list || is_object) {
        return nested::read_nested(
            &raw.text,
            container_schema(schema, !is_object),
            !is_object,
            depth,
        );
    }
    let read = parse_json(raw);
    match read {
        Ok(read) => match match_kind(read, &kinds) {
            Ok(value) => Ok(value),
            Err(_) if kinds.contains(ValueKind::Text) => Ok(Json::String(text_argument(raw))),
            Err(other) if is_any => Ok(other),
            Err(other) => Err(format!("is {}, not {}", kind_name(&other), expected_kinds(&kinds))),
        },
        Err(_) if kinds.contains(ValueKind::Text) || is_any && !kinds.contains(ValueKind::Null) => {
            Ok(Json::String(text_argument(raw)))
        }
        Err(error) => Err(format!("is not {}: {error}", expected_kinds(&kinds))),
    }
}

/// Returns the schema that specifies the contents of a list or an object, among the alternatives.
fn container_schema(schema: &Json, is_list: bool) -> &Json {
    let keyword = if is_list { "items" } else { "properties" };
    let forms = ["anyOf", "oneOf", "allOf"].into_iter().filter_map(|key| schema[key].as_array());
    let found = forms.flatten().find(|form| form.get(keyword).is_some());
    found.filter(|_| schema.get(keyword).is_none()).unwrap_or(schema)
}

/// Reads a value without a schema: JSON if it parses, otherwise text.
pub(super) fn read_untyped(raw: &RawArgument) -> Json {
    parse_json(raw).unwrap_or_else(|_| Json::String(text_argument(raw).trim().to_owned()))
}

fn collect_kinds(schema: &Json, kinds: &mut ValueKinds, depth: usize) {
    for key in ["anyOf", "oneOf", "allOf"] {
        if depth < 8 {
            schema[key]
                .as_array()
                .into_iter()
                .flatten()
                .for_each(|it| collect_kinds(it, kinds, depth + 1));
        }
    }
    let constants = schema["enum"].as_array().into_iter().flatten().chain(schema.get("const"));
    for constant in constants {
        kinds.is_formed |= constant.is_string();
        kinds.kinds.push(match constant {
            Json::Null => ValueKind::Null,
            Json::Bool(_) => ValueKind::Boolean,
            Json::Number(_) => ValueKind::Number,
            Json::String(_) => ValueKind::Text,
            Json::Array(_) => ValueKind::List,
            Json::Object(_) => ValueKind::Object,
        });
    }
    kinds.is_formed |= schema.get("pattern").is_some() || schema.get("format").is_some();
    let names = match &schema["type"] {
        Json::Array(names) => names.iter().collect(),
        name => vec![name],
    };
    kinds.kinds.extend(names.into_iter().filter_map(Json::as_str).filter_map(|name| {
        Some(match name {
            "string" => ValueKind::Text,
            "number" => ValueKind::Number,
            "integer" => ValueKind::Integer,
            "boolean" => ValueKind::Boolean,
            "array" => ValueKind::List,
            "object" => ValueKind::Object,
            "null" => ValueKind::Null,
            _ => return None,
        })
    }));
}

/// Returns the value if its kind is permitted; otherwise the unchanged value as an error.
fn match_kind(value: Json, kinds: &ValueKinds) -> Result<Json, Json> {
    let fits = match &value {
        Json::Null => kinds.contains(ValueKind::Null),
        Json::Bool(_) => kinds.contains(ValueKind::Boolean),
        Json::Array(_) => kinds.contains(ValueKind::List),
        Json::Object(_) => kinds.contains(ValueKind::Object),
        Json::Number(number) => {
            let whole = number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() < 9e15);
            if kinds.contains(ValueKind::Integer)
                && number.is_f64()
                && let Some(whole) = whole
            {
                return Ok(Json::from(whole as i64));
            }
            kinds.contains(ValueKind::Number)
                || kinds.contains(ValueKind::Integer) && !number.is_f64()
        }
        // Quoted numbers and other JSON in strings are unwrapped, unless text is permitted.
        Json::String(quoted) if !kinds.contains(ValueKind::Text) => {
            let inner = serde_json::from_str(quoted).ok().filter(|it: &Json| !it.is_string());
            return match inner {
                Some(inner) => match_kind(inner, kinds).map_err(|_| value),
                None => Err(value),
            };
        }
        Json::String(_) => false,
    };
    if fits { Ok(value) } else { Err(value) }
}

/// Parses JSON. Accepts a code fence around it, other languages' spellings of `true`, `false` and
/// `null`, and entities if it does not parse literally.
fn parse_json(raw: &RawArgument) -> Result<Json, String> {
    let text = strip_fence(raw.text.trim());
    let lower = text.to_ascii_lowercase();
    match lower.as_str() {
        "true" => return Ok(Json::Bool(true)),
        "false" => return Ok(Json::Bool(false)),
        "null" | "none" | "nil" => return Ok(Json::Null),
        "" => return Err("it is empty. Leave the argument out, or give it a value".to_owned()),
        _ => {}
    }
    serde_json::from_str(text).or_else(|error| {
        let decoded =
            unescape_text(text).filter(|_| !raw.is_exact).or_else(|| decode_entities(text));
        decoded.and_then(|it| serde_json::from_str(&it).ok()).ok_or_else(|| error.to_string())
    })
}

/// Returns the content of a code fence that is the whole text.
fn strip_fence(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((language, inner)) if language.trim().chars().all(char::is_alphanumeric) => {
            inner.trim()
        }
        _ => text,
    }
}

/// Returns the text of an argument: without the line ends next to its tags if it is on separate
/// lines, and with entities decoded if the whole text is escaped.
fn text_argument(raw: &RawArgument) -> String {
    if raw.is_exact {
        return raw.text.clone();
    }
    let text = trim_block(&raw.text);
    unescape_text(text).unwrap_or_else(|| text.to_owned())
}

fn trim_block(text: &str) -> &str {
    let (inner, end) = match (text.strip_prefix("\r\n"), text.strip_prefix('\n')) {
        (Some(inner), _) => (inner, "\r\n"),
        (None, Some(inner)) => (inner, "\n"),
        (None, None) => return text,
    };
    match inner.rfind('\n') {
        Some(last) if inner[last + 1..].trim().is_empty() => {
            inner[..=last].strip_suffix(end).unwrap_or(&inner[..last])
        }
        None if inner.trim().is_empty() => "",
        _ => inner,
    }
}

/// Decodes the entities of a text that is escaped as XML: it has entities outside quotes too, and
/// no characters that would have been escaped. A script with rich text has entities only in its
/// strings and is kept.
pub(super) fn unescape_text(text: &str) -> Option<String> {
    if text.contains('<') || !text.contains('&') {
        return None;
    }
    let decoded = decode_entities(text)?;
    let is_outside = text.lines().any(|line| {
        let mut quote = None;
        let mut characters = line.char_indices();
        characters.any(|(at, c)| {
            match (quote, c) {
                (Some(open), _) if open == c => quote = None,
                (None, '"' | '\'' | '`') if line[at + 1..].contains(c) => quote = Some(c),
                (None, '&') => return true,
                _ => {}
            }
            false
        })
    });
    is_outside.then_some(decoded)
}

/// Decodes the entities of a text; None if an `&` does not start an entity.
pub(super) fn decode_entities(text: &str) -> Option<String> {
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('&') {
        let end = behind.bytes().take(10).position(|byte| byte == b';')?;
        decoded.push_str(before);
        decoded.push(decode_entity(&behind[..end])?);
        rest = &behind[end + 1..];
    }
    decoded.push_str(rest);
    Some(decoded)
}

fn decode_entity(name: &str) -> Option<char> {
    let code = match name {
        "lt" => return Some('<'),
        "gt" => return Some('>'),
        "amp" => return Some('&'),
        "quot" => return Some('"'),
        "apos" => return Some('\''),
        _ => name.strip_prefix('#')?,
    };
    let number = match code.strip_prefix(['x', 'X']) {
        Some(hex) => u32::from_str_radix(hex, 16).ok()?,
        None => code.parse().ok()?,
    };
    char::from_u32(number).filter(|c| *c != '\0')
}

fn kind_name(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "true or false",
        Json::Number(_) => "a number",
        Json::String(_) => "a text",
        Json::Array(_) => "a list",
        Json::Object(_) => "an object",
    }
}

fn expected_kinds(kinds: &ValueKinds) -> String {
    let mut names: Vec<&str> = vec![];
    for kind in &kinds.kinds {
        let name = match kind {
            ValueKind::Integer => "a whole number",
            ValueKind::Number => "a number",
            ValueKind::Boolean => "true or false",
            ValueKind::List => "a JSON list",
            ValueKind::Object => "a JSON object",
            ValueKind::Null if kinds.has_no_json() => "null",
            ValueKind::Null | ValueKind::Text => continue,
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(" or ")
}
