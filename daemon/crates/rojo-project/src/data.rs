//! Conversion of data files: JSON, TOML and YAML become module source, and a CSV table becomes the
//! JSON of a localization table.
//!
//! The output matches Rojo's byte for byte, so that it does not differ from what Rojo built.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use vector_text_edit::json::read_json;
use yaml_rust2::parser::{Event, Parser};
use yaml_rust2::{Yaml, YamlLoader};

/// The maximum nesting depth of YAML.
const MAX_DEPTH: usize = 128;

/// The maximum number of YAML values after aliases are expanded. Without a limit, a short file
/// could expand to billions of values.
const MAX_VALUES: usize = 1_000_000;

/// Returns the text of a script or text file.
pub(super) fn script_text(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|_| "it is not UTF-8; save it so".to_owned())
}

/// Returns the source of a module that returns the data of a JSON file.
pub(super) fn json_module(bytes: &[u8]) -> Result<String, String> {
    let value = read_json(bytes)?;
    Ok(write_module(|text| write_json(&value, 0, text)))
}

/// Returns the source of a module that returns the data of a TOML file.
pub(super) fn toml_module(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| format!("it is not TOML: {}", error.message()))?;
    Ok(write_module(|text| write_toml(&toml::Value::Table(table), 0, text)))
}

/// Returns the source of a module that returns the data of a YAML file.
pub(super) fn yaml_module(bytes: &[u8]) -> Result<String, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    check_yaml(text)?;
    let mut documents =
        YamlLoader::load_from_str(text).map_err(|error| format!("it is not YAML: {error}"))?;
    let document = documents.pop().ok_or("it has no document")?;
    if !documents.is_empty() {
        return Err("it has several documents, and Rojo takes one".to_owned());
    }
    let mut result = Ok(());
    let text = write_module(|text| result = write_yaml(&document, 0, text));
    result.map(|()| text)
}

/// Refuses YAML that would exhaust the loader, which is recursive and expands aliases.
fn check_yaml(text: &str) -> Result<(), String> {
    let mut parser = Parser::new_from_str(text);
    // The number of values below each anchor, and for each open collection its count so far and its
    // anchor.
    let mut anchored: FxHashMap<usize, usize> = FxHashMap::default();
    let mut open: Vec<(usize, usize)> = vec![(0, 0)];
    loop {
        let event = parser.next_token().map_err(|error| format!("it is not YAML: {error}"))?;
        let (values, anchor) = match event.0 {
            Event::StreamEnd => return Ok(()),
            Event::SequenceStart(anchor, _) | Event::MappingStart(anchor, _) => {
                open.push((1, anchor));
                if open.len() > MAX_DEPTH {
                    return Err(format!("its values are nested more than {MAX_DEPTH} deep"));
                }
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => open.pop().unwrap_or_default(),
            Event::Scalar(_, _, anchor, _) => (1, anchor),
            Event::Alias(anchor) => (anchored.get(&anchor).copied().unwrap_or(1), 0),
            _ => continue,
        };
        if anchor > 0 {
            anchored.insert(anchor, values);
        }
        if let Some((sum, _)) = open.last_mut() {
            *sum = sum.saturating_add(values);
            if *sum > MAX_VALUES {
                return Err(format!("it means more than {MAX_VALUES} values"));
            }
        }
    }
}

fn write_module(write: impl FnOnce(&mut String)) -> String {
    let mut text = "return ".to_owned();
    write(&mut text);
    text
}

fn write_json(value: &Json, indent: usize, text: &mut String) {
    match value {
        Json::Null => text.push_str("nil"),
        Json::Bool(value) => text.push_str(&value.to_string()),
        Json::Number(value) => write_number(value.as_f64().unwrap_or_default(), text),
        Json::String(value) => write_string(value, text),
        Json::Array(values) => {
            write_array(values, text, |value, text| {
                write_json(value, indent, text);
                Ok::<(), ()>(())
            })
            .unwrap_or_default();
        }
        Json::Object(fields) => {
            text.push_str("{\n");
            for (key, value) in fields {
                write_tabs(indent + 1, text);
                write_key(key, text);
                text.push_str(" = ");
                write_json(value, indent + 1, text);
                text.push_str(",\n");
            }
            write_tabs(indent, text);
            text.push('}');
        }
    }
}

fn write_toml(value: &toml::Value, indent: usize, text: &mut String) {
    match value {
        toml::Value::Datetime(value) => write_string(&value.to_string(), text),
        toml::Value::Boolean(value) => text.push_str(&value.to_string()),
        toml::Value::Float(value) => write_number(*value, text),
        toml::Value::Integer(value) => write_number(*value as f64, text),
        toml::Value::String(value) => write_string(value, text),
        toml::Value::Array(values) => {
            write_array(values, text, |value, text| {
                write_toml(value, indent, text);
                Ok::<(), ()>(())
            })
            .unwrap_or_default();
        }
        toml::Value::Table(fields) => {
            text.push_str("{\n");
            for (key, value) in fields {
                write_tabs(indent + 1, text);
                write_key(key, text);
                text.push_str(" = ");
                write_toml(value, indent + 1, text);
                text.push_str(",\n");
            }
            write_tabs(indent, text);
            text.push('}');
        }
    }
}

/// The largest integer that Luau represents exactly, by Rojo's definition.
const MAX_SAFE_INTEGER: i64 = 1 << 53;

fn write_yaml(value: &Yaml, indent: usize, text: &mut String) -> Result<(), String> {
    if indent > MAX_DEPTH {
        return Err(format!("its values are nested more than {MAX_DEPTH} deep"));
    }
    match value {
        Yaml::Null => text.push_str("nil"),
        Yaml::Boolean(value) => text.push_str(&value.to_string()),
        Yaml::Integer(value) if *value <= MAX_SAFE_INTEGER => write_number(*value as f64, text),
        Yaml::Integer(value) => {
            return Err(format!("Luau has no whole number as great as {value}"));
        }
        Yaml::Real(written) => match value.as_f64() {
            Some(value) => write_number(value, text),
            None => return Err(format!("the number {written} cannot be read")),
        },
        Yaml::String(value) => write_string(value, text),
        Yaml::Array(values) => {
            write_array(values, text, |value, text| write_yaml(value, indent, text))?;
        }
        Yaml::Hash(fields) => {
            text.push_str("{\n");
            for (key, value) in fields {
                write_tabs(indent + 1, text);
                match key {
                    Yaml::String(key) => write_key(key, text),
                    Yaml::Null => return Err("nil cannot be a key in Luau".to_owned()),
                    key => {
                        text.push('[');
                        write_yaml(key, indent + 1, text)?;
                        text.push(']');
                    }
                }
                text.push_str(" = ");
                write_yaml(value, indent + 1, text)?;
                text.push_str(",\n");
            }
            write_tabs(indent, text);
            text.push('}');
        }
        Yaml::Alias(_) => return Err("Rojo takes no aliases in YAML".to_owned()),
        Yaml::BadValue => return Err("it has a value that cannot be read".to_owned()),
    }
    Ok(())
}

fn write_array<T, E>(
    values: &[T],
    text: &mut String,
    mut write: impl FnMut(&T, &mut String) -> Result<(), E>,
) -> Result<(), E> {
    text.push('{');
    for (at, value) in values.iter().enumerate() {
        if at > 0 {
            text.push_str(", ");
        }
        write(value, text)?;
    }
    text.push('}');
    Ok(())
}

fn write_tabs(indent: usize, text: &mut String) {
    text.extend(std::iter::repeat_n('\t', indent));
}

fn write_number(value: f64, text: &mut String) {
    if value.is_nan() {
        text.push_str("0/0");
    } else if value.is_infinite() {
        text.push_str(if value > 0.0 { "math.huge" } else { "-math.huge" });
    } else {
        text.push_str(&value.to_string());
    }
}

fn write_string(value: &str, text: &mut String) {
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\r' => text.push_str("\\r"),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\\' => text.push_str("\\\\"),
            c => text.push(c),
        }
    }
    text.push('"');
}

fn write_key(key: &str, text: &mut String) {
    if is_identifier(key) {
        text.push_str(key);
    } else {
        text.push('[');
        write_string(key, text);
        text.push(']');
    }
}

const KEYWORDS: [&str; 21] = [
    "and", "break", "do", "else", "elseif", "end", "false", "for", "function", "if", "in", "local",
    "nil", "not", "or", "repeat", "return", "then", "true", "until", "while",
];

fn is_identifier(key: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    key.starts_with(is_letter)
        && key.chars().all(|c| is_letter(c) || c.is_ascii_digit())
        && !KEYWORDS.contains(&key)
}

/// A row of a localization table in Roblox's JSON format.
#[derive(Debug, Default, serde::Serialize)]
struct TranslationRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    example: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    values: BTreeMap<&'a str, &'a str>,
}

/// Returns the `Contents` of a `LocalizationTable` from a CSV file.
pub(super) fn translation_table(bytes: &[u8]) -> Result<String, String> {
    let wrong = |error: csv::Error| format!("it is not a table of comma-separated values: {error}");
    let mut reader = csv::Reader::from_reader(bytes);
    let headers = reader.headers().map_err(wrong)?.clone();
    let records = reader.into_records().collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let mut entries = Vec::new();
    for record in &records {
        let mut entry = TranslationRow::default();
        for (header, value) in headers.iter().zip(record) {
            match header {
                _ if header.is_empty() || value.is_empty() => {}
                "Key" => entry.key = Some(value),
                "Source" => entry.source = Some(value),
                "Context" => entry.context = Some(value),
                "Example" => entry.example = Some(value),
                _ => _ = entry.values.insert(header, value),
            }
        }
        if entry.key.is_some() || entry.source.is_some() {
            entries.push(entry);
        }
    }
    serde_json::to_string(&entries).map_err(|error| error.to_string())
}
