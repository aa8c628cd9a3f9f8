//! A scene that somebody builds, rather than reads from a file: instances that are known from the
//! start, with ids of the builder's own, and their properties.
//!
//! Nothing here is journalled: there is no time before it to go back to.

use std::borrow::Cow;

use rbx_dom_weak::ustr;
use rbx_types::{Color3, Color3uint8, Ref, Variant, VariantType};

use super::property_layout::convert_variant;
use super::reflection::{self, StoredNameKind};
use super::{Node, Scene, node_of, reference_to};

/// A property that was written under some name, as scenes and files have it: the names that stand for
/// it now, each with the value. Nothing where no file keeps it.
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

/// The number in a reference; none in one to nothing.
pub fn referent_number(to: Ref) -> Option<u32> {
    node_of(to)
}

/// How a value refers to an instance of its scene.
pub fn reference_of(node: Node) -> Ref {
    reference_to(node.0)
}

impl Scene {
    /// Adds an instance, as the last child of `parent`, that is known under an id: `ref:` and this.
    pub fn add_known_instance(&mut self, parent: Node, class: &str, name: &str, id: &str) -> Node {
        let node = self.tree.add(class, name);
        self.tree.link(node, parent.0, None);
        self.ids.set(node, id);
        Node(node)
    }

    /// Says what value an instance has under a name that [`stored_form`] gives.
    pub fn set_known_property(&mut self, node: Node, name: &str, value: Variant) {
        self.set_unjournaled(node.0, ustr(name), Some(value));
    }

    /// The properties that a file has for an instance, attributes, tags and a script's text among them.
    pub fn stored_variants(&self, node: Node) -> Vec<(String, Variant)> {
        let stored = self.properties(node).into_iter();
        stored.map(|(name, value)| (name.as_str().to_owned(), value)).collect()
    }

    pub fn stored_variant(&self, node: Node, property: &str) -> Option<Variant> {
        self.variant_of(node.0, ustr(property)).map(Cow::into_owned)
    }

    /// The instance that a value of this scene refers to.
    pub fn referenced_node(&self, to: Ref) -> Option<Node> {
        node_of(to).filter(|node| self.tree.contains(*node)).map(Node)
    }
}
