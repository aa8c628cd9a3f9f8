//! Stored properties as the rbx crates represent them, for code that runs on a copy of a place.

use std::borrow::Cow;

use rbx_types::Variant;

use super::{HIDDEN, Node, Scene, node_of};

/// A stored property of an instance.
#[derive(Debug)]
pub enum StoredVariant<'s> {
    Value(Cow<'s, Variant>),
    /// A reference to an instance; None if it refers to nothing.
    Reference(Option<Node>),
}

impl Scene {
    /// Returns the stored properties of an instance by their names in files, unsorted. `Attributes`
    /// and `Tags` are among them.
    pub fn stored_properties(
        &self,
        node: Node,
    ) -> impl Iterator<Item = (&'static str, StoredVariant<'_>)> {
        let keys = self.stored_keys(node.0).into_iter();
        keys.filter(|key| !key.starts_with(HIDDEN)).filter_map(move |key| {
            let value = self.variant_of(node.0, key)?;
            let Variant::Ref(to) = *value else {
                return Some((key.as_str(), StoredVariant::Value(value)));
            };
            let to = node_of(to).map(Node).filter(|node| self.is_live(*node));
            Some((key.as_str(), StoredVariant::Reference(to)))
        })
    }
}
