//! Stored properties as the rbx crates represent them, read several at once, for callers that read
//! many properties and keep none.

use std::borrow::Cow;

use rbx_dom_weak::Ustr;
use rbx_types::Variant;

use super::edits::PropertyEdit;
use super::{Node, Scene};

impl Scene {
    pub fn raw_variant(&self, node: Node, key: Ustr) -> Option<Cow<'_, Variant>> {
        self.variant_of(node.0, key)
    }

    /// Returns several stored properties of an instance, in the order of `keys`. Parses an XML item
    /// only once for all of them.
    pub fn raw_variants<const N: usize>(
        &self,
        node: Node,
        keys: [Ustr; N],
    ) -> [Option<Variant>; N] {
        let mut found = match self.base_of(node.0) {
            Some(base) => self.file.values_of(base, keys),
            None => [const { None }; N],
        };
        for (found, key) in found.iter_mut().zip(keys) {
            match self.edit_of(node.0, key) {
                PropertyEdit::None => {}
                PropertyEdit::Removed => *found = None,
                PropertyEdit::Set(value) => *found = Some(value.clone()),
            }
        }
        found
    }
}
