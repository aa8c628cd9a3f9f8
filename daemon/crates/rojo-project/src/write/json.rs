//! Edits of hand-written JSON files: unchanged parts keep their bytes, including comments.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstRootNode};
use scene_schemas::refusal::{Refusal, refuse};
use serde_json::Value as Json;

use crate::jsonc;

/// A JSON file that is being edited.
pub(super) struct JsonDocument {
    root: CstRootNode,
    bom: &'static str,
}

impl JsonDocument {
    /// Parses a file. An empty file counts as an empty object.
    ///
    /// # Errors
    /// Fails if the file is not an object.
    pub(super) fn from_bytes(bytes: &[u8]) -> Result<Self, Refusal> {
        let text = String::from_utf8_lossy(bytes);
        let (bom, text) = match text.strip_prefix('\u{feff}') {
            Some(rest) => ("\u{feff}", rest),
            None => ("", &*text),
        };
        let empty = "{}\n";
        let text = if text.trim().is_empty() { empty } else { text };
        // The parser is recursive; this call limits the nesting depth first.
        if let Err(why) = jsonc::read_json(text.as_bytes()) {
            return refuse!("{why}");
        }
        match CstRootNode::parse(text, &ParseOptions::default()) {
            Ok(root) if root.object_value().is_some() => Ok(Self { root, bom }),
            Ok(_) => refuse!("it is not an object"),
            Err(why) => refuse!("it is not JSON: {why}"),
        }
    }

    pub(super) fn root_object(&self) -> CstObject {
        self.root.object_value_or_set()
    }

    /// Returns the text with all edits.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        format!("{}{}", self.bom, self.root).into_bytes()
    }
}

/// Returns the object under a key, and creates it if the key is missing.
///
/// # Errors
/// Fails if the value under the key is not an object.
pub(super) fn object_or_create(object: &CstObject, key: &str) -> Result<CstObject, Refusal> {
    match object.object_value_or_create(key) {
        Some(found) => Ok(found),
        None => refuse!("its `{key}` is not an object"),
    }
}

/// Sets or removes the value under a key.
pub(super) fn set_value(object: &CstObject, key: &str, value: Option<&Json>) {
    match (object.get(key), value) {
        (Some(there), Some(value)) => {
            let same = there.value().and_then(|node| node.to_serde_value());
            if same.as_ref() != Some(value) {
                there.set_value(to_input(value));
            }
        }
        (None, Some(value)) => add_field(object, key, to_input(value)),
        (Some(there), None) => there.remove(),
        (None, None) => {}
    }
}

/// Adds a field. An object on a single line stays on it if the value fits there too.
fn add_field(object: &CstObject, key: &str, value: CstInputValue) {
    let is_flat = !object.properties().is_empty() && !object.to_string().contains('\n');
    let added = object.append(key, value);
    // The crate escapes only quotes.
    if let Some(name) = added.name().and_then(|name| name.as_string_lit()) {
        name.set_raw_value(Json::from(key).to_string());
    }
    if !is_flat || added.to_string().contains('\n') {
        return;
    }
    let mut is_behind_space = false;
    for child in object.children() {
        let space = if is_behind_space { "" } else { " " }.to_owned();
        // The crate represents its own indentation as a string.
        let indent = child.as_string_lit().filter(|it| it.raw_value().trim().is_empty());
        if let Some(newline) = child.as_newline() {
            newline.remove();
        } else if let Some(there) = child.as_whitespace() {
            there.set_value(space);
            is_behind_space = true;
        } else if let Some(there) = indent {
            there.set_raw_value(space);
            is_behind_space = true;
        } else {
            is_behind_space = false;
        }
    }
}

/// Appends elements to the array under a key, and creates the array if the key is missing.
///
/// # Errors
/// Fails if the value under the key is not an array.
pub(super) fn append_values(
    object: &CstObject,
    key: &str,
    values: Vec<CstInputValue>,
) -> Result<(), Refusal> {
    if values.is_empty() {
        return Ok(());
    }
    match (object.get(key), object.array_value(key)) {
        (None, _) => add_field(object, key, CstInputValue::Array(values)),
        (Some(_), Some(array)) if !array.elements().is_empty() => {
            for value in values {
                array.append(value);
            }
        }
        (Some(there), Some(_)) => there.set_value(CstInputValue::Array(values)),
        (Some(_), None) => return refuse!("its `{key}` is not an array"),
    }
    Ok(())
}

/// Removes an object that has become empty.
pub(super) fn remove_empty_object(object: &CstObject, key: &str) {
    if let Some(there) = object.get(key)
        && there.object_value().is_some_and(|it| it.properties().is_empty())
    {
        there.remove();
    }
}

/// Returns the first of two keys that an object has.
pub(super) fn find_key<'a>(object: &CstObject, keys: [&'a str; 2]) -> Option<&'a str> {
    keys.into_iter().find(|key| object.get(key).is_some())
}

/// Returns the elements of an array by position; None for those that are not objects.
pub(super) fn object_elements(object: &CstObject, key: &str) -> Vec<Option<CstObject>> {
    let array = object.array_value(key);
    let elements = array.into_iter().flat_map(|array| array.elements());
    elements.map(|element: CstNode| element.as_object()).collect()
}

/// Returns a string to be inserted. It is passed as a number, which the crate writes verbatim: in
/// strings, the crate escapes only quotes.
pub(super) fn string_input(value: &str) -> CstInputValue {
    CstInputValue::Number(Json::from(value).to_string())
}

/// Converts a value to be inserted.
pub(super) fn to_input(value: &Json) -> CstInputValue {
    match value {
        Json::Null => CstInputValue::Null,
        Json::Bool(value) => CstInputValue::Bool(*value),
        Json::Number(value) => CstInputValue::Number(value.to_string()),
        Json::String(value) => string_input(value),
        Json::Array(values) => CstInputValue::Array(values.iter().map(to_input).collect()),
        Json::Object(fields) => CstInputValue::Object(
            fields.iter().map(|(key, value)| (key.clone(), to_input(value))).collect(),
        ),
    }
}

pub(super) fn format_file(value: CstInputValue) -> Vec<u8> {
    let root = CstRootNode::parse("{}\n", &ParseOptions::default());
    let Ok(root) = root else { return Vec::new() };
    root.set_value(value);
    let mut bytes = root.to_string().into_bytes();
    if bytes.last() != Some(&b'\n') {
        bytes.push(b'\n');
    }
    bytes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn edited(text: &str, change: impl FnOnce(&CstObject)) -> String {
        let document = JsonDocument::from_bytes(text.as_bytes()).unwrap();
        change(&document.root_object());
        String::from_utf8(document.to_bytes()).unwrap()
    }

    #[test]
    fn unchanged_json_keeps_its_bytes() {
        let text = "{\n\t// why\n\t\"properties\": {\n\t\t\"Disabled\": true, // now\n\t\t\"X\": [1,2]\n\t},\n\t\"id\":\"a\"\n}\n";
        let set_disabled = |object: &CstObject| {
            set_value(
                &object_or_create(object, "properties").unwrap(),
                "Disabled",
                Some(&json!(false)),
            );
        };
        assert_eq!(edited(text, set_disabled), text.replace("true", "false"));
        let added = edited(text, |object| {
            set_value(
                &object_or_create(object, "properties").unwrap(),
                "Y",
                Some(&json!([1, 0.5])),
            );
        });
        assert_eq!(added, text.replace("[1,2]\n", "[1,2],\n\t\t\"Y\": [1, 0.5]\n"));
    }

    #[test]
    fn single_line_object_stays_on_one_line() {
        let flat = |text: &str| {
            edited(text, |object| {
                set_value(&object_or_create(object, "p").unwrap(), "b", Some(&json!([1, 2])));
            })
        };
        assert_eq!(flat("{ \"p\": { \"a\": 1 } }"), "{ \"p\": { \"a\": 1, \"b\": [1, 2] } }");
        assert_eq!(flat("{\"p\":{\"a\":1}}"), "{\"p\":{ \"a\":1, \"b\": [1, 2] }}");
    }

    #[test]
    fn texts_and_keys_are_escaped() {
        let text = edited("{}", |object| {
            set_value(object, "a\\b\n", Some(&json!("c:\\d\n\"\u{1}")));
        });
        let read: Json = serde_json::from_str(&text).unwrap();
        assert_eq!(read, json!({ "a\\b\n": "c:\\d\n\"\u{1}" }));
    }

    #[test]
    fn new_file_is_indented_by_two_spaces() {
        let text =
            String::from_utf8(format_file(to_input(&json!({ "properties": { "A": true } }))))
                .unwrap();
        assert_eq!(text, "{\n  \"properties\": {\n    \"A\": true\n  }\n}\n");
    }

    #[test]
    fn non_object_json_is_refused() {
        for text in ["[]", "{", "1", &"[".repeat(100_000)] {
            assert!(JsonDocument::from_bytes(text.as_bytes()).is_err(), "{text:.20}");
        }
    }
}
