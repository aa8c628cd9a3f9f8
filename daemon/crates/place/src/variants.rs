//! Stored properties as the rbx crates represent them, for code that runs on a copy of a place.

use std::borrow::Cow;

use rbx_dom_weak::ustr;
use rbx_types::Variant;
use scene_schemas::Value;

use super::convert::to_value;
use super::{Node, Scene, node_of};

/// A stored property of an instance.
#[derive(Debug)]
pub enum StoredVariant<'s> {
    Value(Cow<'s, Variant>),
    /// A reference to an instance; None if it refers to nothing.
    Reference(Option<Node>),
}

impl Scene {
    /// Returns a stored property of an instance, `Attributes` or `Tags`. None if it is not stored.
    pub fn stored_property(&self, node: Node, name: &str) -> Option<StoredVariant<'_>> {
        let value = self.variant_of(node.0, ustr(name))?;
        let Variant::Ref(to) = *value else {
            return Some(StoredVariant::Value(value));
        };
        let to = node_of(to).map(Node).filter(|node| self.is_live(*node));
        Some(StoredVariant::Reference(to))
    }
}

/// Converts a variant, other than a reference, to the value of a property of a class.
pub fn variant_value(class: &str, property: &str, variant: &Variant) -> Value {
    to_value(class, property, variant, &|_| None)
}
