//! Builds a scene from known instances instead of a file: instances with caller-chosen ids, and
//! their properties.
//!
//! Nothing here is journalled, because there is no earlier state to roll back to.

use std::borrow::Cow;

use rbx_dom_weak::ustr;
use rbx_types::{Color3, Color3uint8, Ref, Variant, VariantType};

use super::property_layout::convert_variant;
use super::reflection::{self, StoredNameKind};
use super::{Node, Scene, node_of, reference_to};

/// Converts a property, under any of its names, to the form that files store: the current names,
/// each with the value. Empty if files do not store the property.
pub fn stored_form(class: &str, name: &str, value: Variant) -> Vec<(String, Variant)> {
    match reflection::classify_name(class, name) {
        StoredNameKind::Shown(name, ty) => {
            let is_in_bytes =
                matches!(reflection::stored_name(class, name), Some((_, VariantType::Color3uint8)));
            let value = match convert_variant(value, ty) {
                Variant::Color3(colour) if is_in_bytes => {
                    Color3::from(Color3uint8::from(colour)).into()
                }
                value => value,
            };
            vec![(name.to_owned(), value)]
        }
        StoredNameKind::Unknown => vec![(name.to_owned(), value)],
        StoredNameKind::Hidden => Vec::new(),
        StoredNameKind::Replaced(ty, migration) => {
            let names = migration.new_property_names().iter();
            match migration.perform(&convert_variant(value, ty)) {
                Ok(value) => names.map(|name| ((*name).to_owned(), value.clone())).collect(),
                Err(_) => Vec::new(),
            }
        }
    }
}

/// Returns the node number in a reference; None for a null reference.
pub fn referent_number(to: Ref) -> Option<u32> {
    node_of(to)
}

/// Returns the reference that points to a node of the scene.
pub fn reference_of(node: Node) -> Ref {
    reference_to(node.0)
}

impl Scene {
    /// Adds an instance with the id `ref:` followed by `id`, as the last child of `parent`.
    pub fn add_known_instance(&mut self, parent: Node, class: &str, name: &str, id: &str) -> Node {
        let node = self.tree.add(class, name);
        self.tree.link(node, parent.0, None);
        self.ids.set(node, id);
        Node(node)
    }

    /// Sets a property under a name returned by [`stored_form`].
    pub fn set_known_property(&mut self, node: Node, name: &str, value: Variant) {
        self.set_unjournaled(node.0, ustr(name), Some(value));
    }

    /// Returns all stored properties of an instance, including attributes, tags and a script's
    /// text.
    pub fn stored_variants(&self, node: Node) -> Vec<(String, Variant)> {
        let stored = self.properties(node).into_iter();
        stored.map(|(name, value)| (name.as_str().to_owned(), value)).collect()
    }

    pub fn stored_variant(&self, node: Node, property: &str) -> Option<Variant> {
        self.variant_of(node.0, ustr(property)).map(Cow::into_owned)
    }

    /// Returns the instance that a reference in this scene points to.
    pub fn referenced_node(&self, to: Ref) -> Option<Node> {
        node_of(to).filter(|node| self.tree.contains(*node)).map(Node)
    }
}
