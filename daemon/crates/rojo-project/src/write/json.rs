//! JSON files of a project: how they are opened, and how a new one is written.

use scene_schemas::refusal::{Refusal, refuse};
use vector_text_edit::json::{JsonDocument, JsonInput, JsonLayout, JsonObject};

/// Opens a file for edits. An empty file counts as an empty object.
///
/// # Errors
/// Fails if the file is not an object.
pub(super) fn open_document(bytes: &[u8]) -> Result<JsonDocument, Refusal> {
    let Ok(text) = std::str::from_utf8(bytes) else { return refuse!("it is not UTF-8") };
    let (mark, body) = text.split_at(if text.starts_with('\u{feff}') { 3 } else { 0 });
    let is_empty = body.trim().is_empty();
    let text = if is_empty { mark } else { text };
    let mut document = JsonDocument::parse(text, JsonLayout::Compact).map_err(Refusal)?;
    if !is_empty && !document.has_value() {
        return refuse!("it has no value");
    }
    document.root_object().map_err(Refusal)?;
    Ok(document)
}

/// Appends elements to the array under a key, and creates the array if the key is missing.
///
/// # Errors
/// Fails if the value under the key is not an array.
pub(super) fn append_values(
    object: &mut JsonObject<'_>,
    key: &str,
    values: Vec<JsonInput>,
) -> Result<(), Refusal> {
    if values.is_empty() {
        return Ok(());
    }
    if !object.has_key(key) {
        object.set(key, &JsonInput::Array(values));
        return Ok(());
    }
    let Some(mut array) = object.reborrow().into_array(key) else {
        return refuse!("its `{key}` is not an array");
    };
    for value in &values {
        array.push(value);
    }
    Ok(())
}

/// Returns the first of two keys that an object has.
pub(super) fn find_key<'a>(object: &JsonObject<'_>, keys: [&'a str; 2]) -> Option<&'a str> {
    keys.into_iter().find(|key| object.has_key(key))
}

/// Returns the bytes of a new file with these fields.
pub(super) fn format_file(fields: &[(String, JsonInput)]) -> Vec<u8> {
    JsonDocument::with_fields(fields, JsonLayout::Compact).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn new_file_is_indented_by_two_spaces() {
        let fields = vec![("properties".to_owned(), JsonInput::from(&json!({ "A": true })))];
        let text = String::from_utf8(format_file(&fields)).unwrap();
        assert_eq!(text, "{\n  \"properties\": {\n    \"A\": true\n  }\n}\n");
    }

    #[test]
    fn empty_file_counts_as_an_empty_object() {
        for (text, expected) in [("", "{}\n"), ("\u{feff} \r\n", "\u{feff}{}\n"), ("{ }", "{ }")] {
            assert_eq!(open_document(text.as_bytes()).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn non_object_json_is_refused() {
        for text in ["[]", "{", "1", "// none", &"[".repeat(100_000)] {
            assert!(open_document(text.as_bytes()).is_err(), "{text:.20}");
        }
        assert!(open_document(b"\xff").unwrap_err().0.contains("UTF-8"));
    }
}
