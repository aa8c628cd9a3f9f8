//! Access to the attributes and tags of an instance. Each set is stored as a single value.

use std::borrow::Cow;

use rbx_dom_weak::ustr;
use rbx_types::{Attributes, Variant};
use scene_schemas::Value;

use super::{Node, Scene};

impl Scene {
    pub(super) fn attributes(&self, node: Node) -> Option<Attributes> {
        match self.variant_of(node.0, ustr("Attributes")).map(Cow::into_owned) {
            Some(Variant::Attributes(all)) => Some(all),
            _ => None,
        }
    }

    /// Returns the names of the instance's attributes, sorted.
    pub fn attribute_names(&self, node: Node) -> Vec<String> {
        self.attributes(node).into_iter().flatten().map(|(name, _)| name).collect()
    }

    pub fn attribute(&self, node: Node, key: &str) -> Option<Value> {
        let all = self.attributes(node)?;
        all.get(key).map(|variant| self.to_value("", "", variant))
    }

    pub fn tags(&self, node: Node) -> Vec<String> {
        match self.variant_of(node.0, ustr("Tags")).as_deref() {
            Some(Variant::Tags(tags)) => tags.iter().map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }
}
