//! Edits of a JSON text: finds the place of an edit, and changes the tree there.

use std::fmt::{self, Display, Formatter};

use jsonc_parser::common::Ranged;

use super::read::{parse_json, parse_with_ranges};
use super::style::{ContainerPlace, JsonInput, JsonLayout, JsonStyle};
use super::tree::{JsonContainer, JsonNode};

const NOT_OBJECT: &str = "it is not an object";

/// A JSON text that is being edited. What no edit touches keeps its bytes.
#[derive(Debug)]
pub struct JsonDocument {
    /// The text before the value.
    head: String,
    root: Option<JsonNode>,
    tail: String,
    style: JsonStyle,
}

impl JsonDocument {
    /// Parses a text. It may have no value yet, and it may begin with a byte order mark.
    ///
    /// # Errors
    /// Returns the fault as the end of a sentence.
    pub fn parse(text: &str, layout: JsonLayout) -> Result<Self, String> {
        let mark = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let (mark, body) = text.split_at(mark);
        let root = parse_with_ranges(body)?;
        let range = root.as_ref().map_or(body.len()..body.len(), |root| root.start()..root.end());
        let root = root.map(|root| JsonNode::new(body, &root));
        Ok(Self {
            head: format!("{mark}{}", &body[..range.start]),
            style: JsonStyle::new(body, root.as_ref(), layout),
            root,
            tail: body[range.end..].to_owned(),
        })
    }

    /// Creates a text with an object. It ends in a line end.
    pub fn with_fields(fields: &[(String, JsonInput)], layout: JsonLayout) -> Self {
        let style = JsonStyle::new("", None, layout);
        let (mut root, place) = (JsonContainer::default(), ContainerPlace::of_root(""));
        for (key, value) in fields {
            style.append(&mut root, &place, Some(key), value);
        }
        let (head, tail) = (String::new(), style.newline.to_owned());
        Self { head, root: Some(JsonNode::Object(root)), tail, style }
    }

    pub fn has_value(&self) -> bool {
        self.root.is_some()
    }

    /// Returns the object that is the whole value, and creates it if there is none.
    ///
    /// # Errors
    /// Fails if the value is not an object.
    pub fn root_object(&mut self) -> Result<JsonObject<'_>, String> {
        let newline = self.style.newline;
        let root = self.root.get_or_insert_with(|| {
            if !self.head.trim_start_matches('\u{feff}').is_empty() && !self.head.ends_with('\n') {
                self.head.push_str(newline);
            }
            newline.clone_into(&mut self.tail);
            JsonNode::Object(JsonContainer::default())
        });
        let place = ContainerPlace::of_root(&self.head);
        match root {
            JsonNode::Object(container) => Ok(JsonObject { container, style: &self.style, place }),
            JsonNode::Array(_) | JsonNode::Scalar(_) => Err(NOT_OBJECT.to_owned()),
        }
    }

    /// Sets the value at a path of keys, and creates missing objects.
    ///
    /// # Errors
    /// Fails if a value on the path is not an object.
    pub fn set_path(&mut self, path: &[&str], value: &JsonInput) -> Result<(), String> {
        let mut object = self.root_object()?;
        for (depth, key) in path.iter().enumerate() {
            let rest = &path[depth + 1..];
            if rest.is_empty() || !object.has_key(key) {
                object.set(key, &value.wrap_in_keys(rest));
                break;
            }
            object = object.into_object(key).ok_or_else(|| not_object(key))?;
        }
        Ok(())
    }

    /// Removes the value at a path of keys, if there is one.
    ///
    /// # Errors
    /// Fails like [`JsonDocument::set_path`].
    pub fn remove_path(&mut self, path: &[&str]) -> Result<(), String> {
        let (Some((last, above)), Some(_)) = (path.split_last(), &self.root) else {
            return Ok(());
        };
        let mut object = self.root_object()?;
        for key in above {
            if !object.has_key(key) {
                return Ok(());
            }
            object = object.into_object(key).ok_or_else(|| not_object(key))?;
        }
        object.remove(last);
        Ok(())
    }
}

impl Display for JsonDocument {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.head)?;
        if let Some(root) = &self.root {
            write!(out, "{root}")?;
        }
        out.write_str(&self.tail)
    }
}

fn not_object(key: &str) -> String {
    format!("its `{key}` is not an object")
}

/// An object of a document. Among properties with the same key the last one counts, as for readers.
#[derive(Debug)]
pub struct JsonObject<'a> {
    container: &'a mut JsonContainer,
    style: &'a JsonStyle,
    place: ContainerPlace,
}

impl<'a> JsonObject<'a> {
    pub fn reborrow(&mut self) -> JsonObject<'_> {
        let place = self.place.clone();
        JsonObject { container: self.container, style: self.style, place }
    }

    pub fn has_key(&self, key: &str) -> bool {
        self.container.find(key).is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.container.items.is_empty()
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.container.items.iter().filter_map(|item| Some(&*item.key.as_ref()?.name))
    }

    /// Returns the object under a key.
    pub fn into_object(self, key: &str) -> Option<JsonObject<'a>> {
        let at = self.container.find(key)?;
        object_at(self.container, at, self.style, &self.place)
    }

    /// Returns the object under a key, and creates it if the key is missing.
    ///
    /// # Errors
    /// Fails if the value under the key is not an object.
    pub fn into_object_or_create(mut self, key: &str) -> Result<JsonObject<'a>, String> {
        if !self.has_key(key) {
            self.set(key, &JsonInput::Object(Vec::new()));
        }
        self.into_object(key).ok_or_else(|| not_object(key))
    }

    /// Returns the array under a key.
    pub fn into_array(self, key: &str) -> Option<JsonArray<'a>> {
        let at = self.container.find(key)?;
        let place = self.style.place_of_item(self.container, at, &self.place);
        match &mut self.container.items.get_mut(at)?.value {
            JsonNode::Array(container) => Some(JsonArray { container, style: self.style, place }),
            JsonNode::Object(_) | JsonNode::Scalar(_) => None,
        }
    }

    /// Sets the value under a key. A value that is the same keeps its bytes.
    pub fn set(&mut self, key: &str, value: &JsonInput) {
        let Some(at) = self.container.find(key) else {
            return self.style.append(self.container, &self.place, Some(key), value);
        };
        let place = self.style.place_of_item(self.container, at, &self.place);
        let item = &mut self.container.items[at];
        if parse_json(&item.value.to_string()) != Ok(Some(value.to_json())) {
            self.style.replace(item, &place, value);
        }
    }

    /// Removes the property with a key, if there is one.
    pub fn remove(&mut self, key: &str) {
        if let Some(at) = self.container.find(key) {
            self.container.remove(at);
        }
    }

    /// Renames a key. Returns false if it is missing or has no quotes.
    pub fn rename_key(&mut self, key: &str, new: &str) -> bool {
        let at = self.container.find(key);
        let found = at.and_then(|at| self.container.items[at].key.as_mut());
        let Some(found) = found.filter(|found| found.raw.starts_with(['"', '\''])) else {
            return false;
        };
        found.raw = serde_json::Value::from(new).to_string();
        new.clone_into(&mut found.name);
        true
    }
}

/// An array of a document.
#[derive(Debug)]
pub struct JsonArray<'a> {
    container: &'a mut JsonContainer,
    style: &'a JsonStyle,
    place: ContainerPlace,
}

impl<'a> JsonArray<'a> {
    pub fn is_empty(&self) -> bool {
        self.container.items.is_empty()
    }

    /// Returns the element at a position, if it is an object.
    pub fn into_object(self, at: usize) -> Option<JsonObject<'a>> {
        object_at(self.container, at, self.style, &self.place)
    }

    pub fn push(&mut self, value: &JsonInput) {
        self.style.append(self.container, &self.place, None, value);
    }

    /// Removes the element at a position, if there is one.
    pub fn remove(&mut self, at: usize) {
        if at < self.container.items.len() {
            self.container.remove(at);
        }
    }
}

fn object_at<'a>(
    container: &'a mut JsonContainer,
    at: usize,
    style: &'a JsonStyle,
    place: &ContainerPlace,
) -> Option<JsonObject<'a>> {
    if at >= container.items.len() {
        return None;
    }
    let place = style.place_of_item(container, at, place);
    match &mut container.items[at].value {
        JsonNode::Object(container) => Some(JsonObject { container, style, place }),
        JsonNode::Array(_) | JsonNode::Scalar(_) => None,
    }
}
