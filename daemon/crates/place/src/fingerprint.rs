//! Fingerprints: what a plan relied on, as a hash that every target computes alike.
//!
//! Of a script's text: SHA-256 of its UTF-8 bytes. Of an instance: SHA-256 of the compact JSON
//! `{"class":…,"name":…,"props":{…}}` with sorted keys, where `props` holds just the properties
//! that the plan read or wrote, defaults filled in, in the strict printed form; a property that has
//! neither value nor default is null. Examples stand in `scene-schemas/vectors.json`.

use std::collections::BTreeMap;

use scene_schemas::{Fingerprint, Value};

use super::{Node, Scene, reflection};

impl Scene {
    /// The fingerprint of an instance over these properties (`Name` is always part of it).
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

    /// A hash over all that instances store, the order of siblings included: what tells one from
    /// another of the same name. Left out are defaults and unknown properties, which some files store
    /// for a whole class, references, whose numbers change from file to file, and unique ids.
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

    /// The fingerprint of a script's text; none for what is no script.
    pub fn text_fingerprint(&self, node: Node) -> Option<Fingerprint> {
        self.script_text(node).map(|text| Fingerprint::hash_bytes(text.as_bytes()))
    }
}
