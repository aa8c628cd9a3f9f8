//! Fingerprints: hashes of what a plan relied on, which every target computes identically.
//!
//! The fingerprint of a script's text is the SHA-256 of its UTF-8 bytes. The fingerprint of an
//! instance is the SHA-256 of the compact JSON `{"class":…,"name":…,"props":{…}}` with sorted keys.
//! `props` holds only the properties that the plan read or wrote, with defaults filled in, in the
//! strict printed form; a property without a value or default is null. See
//! `scene-schemas/vectors.json` for examples.

use std::collections::BTreeMap;

use scene_schemas::{Fingerprint, Value};

use super::{Node, Scene, reflection};

impl Scene {
    /// Returns the fingerprint of an instance over these properties. `Name` is always included.
    pub fn fingerprint<'a>(
        &self,
        node: Node,
        properties: impl IntoIterator<Item = &'a str>,
    ) -> Fingerprint {
        let props: BTreeMap<&str, String> = properties
            .into_iter()
            .filter(|name| *name != "Name")
            .map(|name| {
                let value = self.value(node, name);
                (name, value.map_or_else(|| "null".to_owned(), |value| value.to_canonical()))
            })
            .collect();
        let quote = |text: &str| serde_json::Value::from(text).to_string();
        let mut text = format!(
            "{{\"class\":{},\"name\":{},\"props\":{{",
            quote(self.class(node)),
            quote(self.name(node))
        );
        for (n, (name, value)) in props.iter().enumerate() {
            if n > 0 {
                text.push(',');
            }
            text.push_str(&quote(name));
            text.push(':');
            text.push_str(value);
        }
        text.push_str("}}");
        Fingerprint::hash_bytes(text.as_bytes())
    }

    /// Hashes all stored properties of the nodes, including their order, to distinguish instances
    /// of the same name. Excludes defaults and unknown properties, which some files store for a
    /// whole class; references, whose numbers differ between files; and unique ids.
    pub fn tree_fingerprint(&self, nodes: impl IntoIterator<Item = Node>) -> Fingerprint {
        let mut text = String::new();
        for node in nodes {
            let class = self.class(node);
            text.push_str(&format!("{class:?} {:?}", self.name(node)));
            for name in self.stored_names(node) {
                let default = reflection::default_of(class, name);
                let default = default.map(|it| self.to_value(class, name, it));
                let is_known = reflection::property_access(class, name).is_some();
                let stored = self.stored_value(node, name).filter(|_| is_known);
                match stored.map(|value| Self::round_trip_value(class, value)) {
                    value if value == default => {}
                    None | Some(Value::Ref(_) | Value::Content(_) | Value::UniqueId(_)) => {}
                    Some(value) => text.push_str(&format!(" {name}={}", value.to_canonical())),
                }
            }
            text.push('\n');
        }
        Fingerprint::hash_bytes(text.as_bytes())
    }

    /// Returns the fingerprint of a script's text; None if the instance is not a script.
    pub fn text_fingerprint(&self, node: Node) -> Option<Fingerprint> {
        self.script_text(node).map(|text| Fingerprint::hash_bytes(text.as_bytes()))
    }
}
