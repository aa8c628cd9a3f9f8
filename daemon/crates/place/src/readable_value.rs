//! What scripts can read of an asset besides its scripts: texts, numbers, flags and references, in
//! properties and attributes.

use std::collections::HashMap;

use rbx_types::{ContentType, Variant};

use super::{AssetModel, Node, StoredVariant};

/// Maximum number of values of one asset. Instances from the one that reaches it on are left out.
pub const MAX_READABLE_VALUES: usize = 400_000;

/// Properties that are known otherwise.
const OTHER_PROPERTIES: [&str; 4] = ["Source", "Name", "Attributes", "Tags"];

/// A property or attribute of an asset's instance.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadableValue {
    /// The index of the instance in the asset's contents.
    pub at: u32,
    /// The name of the property, or of the attribute after `@`.
    pub name: String,
    pub content: ReadableContent,
}

/// The content of a [`ReadableValue`].
#[derive(Debug, Clone, PartialEq)]
pub enum ReadableContent {
    Text(String),
    Number(f64),
    Flag(bool),
    /// An instance of the asset, by its index in the contents.
    Instance(u32),
}

impl AssetModel {
    /// Returns the values that scripts can read, in the order of the instances.
    pub fn readable_values(&self) -> Vec<ReadableValue> {
        let indices: HashMap<u32, u32> = self.nodes.iter().copied().zip(0..).collect();
        let mut values = Vec::new();
        for (at, node) in (0..).zip(&self.nodes) {
            if values.len() >= MAX_READABLE_VALUES {
                break;
            }
            let node = Node(*node);
            let mut add = |name: String, content| values.push(ReadableValue { at, name, content });
            for name in self.scene.stored_names(node) {
                if OTHER_PROPERTIES.contains(&name) {
                    continue;
                }
                let content = match self.scene.stored_property(node, name) {
                    Some(StoredVariant::Value(value)) => plain_content(&value),
                    Some(StoredVariant::Reference(Some(to))) => {
                        indices.get(&to.0).map(|at| ReadableContent::Instance(*at))
                    }
                    Some(StoredVariant::Reference(None)) | None => None,
                };
                if let Some(content) = content {
                    add(name.to_owned(), content);
                }
            }
            for (key, value) in self.scene.attributes(node).into_iter().flatten() {
                if let Some(content) = plain_content(&value) {
                    add(format!("@{key}"), content);
                }
            }
        }
        values
    }

    /// Returns the tags of an instance, by its index in the contents.
    pub fn tags(&self, at: u32) -> Vec<String> {
        self.nodes.get(at as usize).map(|node| self.scene.tags(Node(*node))).unwrap_or_default()
    }
}

fn plain_content(value: &Variant) -> Option<ReadableContent> {
    Some(match value {
        Variant::String(text) => ReadableContent::Text(text.clone()),
        Variant::ContentId(id) => ReadableContent::Text(id.as_str().to_owned()),
        Variant::Content(content) => match content.value() {
            ContentType::Uri(uri) => ReadableContent::Text(uri.clone()),
            _ => return None,
        },
        Variant::BinaryString(bytes) => {
            let text = std::str::from_utf8(bytes.as_ref()).ok()?;
            ReadableContent::Text(text.to_owned())
        }
        Variant::Bool(flag) => ReadableContent::Flag(*flag),
        Variant::Int32(number) => ReadableContent::Number(f64::from(*number)),
        Variant::Int64(number) => ReadableContent::Number(*number as f64),
        Variant::Float32(number) => ReadableContent::Number(f64::from(*number)),
        Variant::Float64(number) => ReadableContent::Number(*number),
        Variant::Enum(number) => ReadableContent::Number(f64::from(number.to_u32())),
        Variant::BrickColor(color) => ReadableContent::Number(f64::from(*color as u16)),
        _ => return None,
    })
}
