//! Fingerprints: what a plan relied on, as a hash that every target computes alike.
//!
//! Of a script's text: SHA-256 of its UTF-8 bytes. Of an instance: SHA-256 of the compact JSON
//! `{"class":…,"name":…,"props":{…}}` with sorted keys, where `props` holds just the properties
//! that the plan read or wrote, defaults filled in, in the strict printed form; a property that has
//! neither value nor default is null. Examples stand in `scene-schemas/vectors.json`.

use std::collections::BTreeMap;

use scene_schemas::Fingerprint;

use super::{Node, Scene};

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
                (name, value.map_or_else(|| "null".to_owned(), |value| value.canonical()))
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
        Fingerprint::of(text.as_bytes())
    }

    /// The fingerprint of a script's text; none for what is no script.
    pub fn text_fingerprint(&self, node: Node) -> Option<Fingerprint> {
        self.source(node).map(|text| Fingerprint::of(text.as_bytes()))
    }
}
