//! What stands in the way of a value: a column has one type, and a file of an older version of Studio
//! may have another one for a property than reflection says.

use rbx_dom_weak::Ustr;
use rbx_types::{Ref, SharedString, Variant, VariantType};

use super::{BinaryFile, cell};
use crate::reflection;

impl BinaryFile {
    /// The type of what the file has for a property of a class, where a value cannot be stored beside
    /// that: a column has one type.
    pub(crate) fn conflicting_kind(
        &self,
        class: u32,
        key: Ustr,
        value: &Variant,
    ) -> Option<VariantType> {
        let holds = |ty: u8, value: &Variant| {
            cell::write_cell(ty, value, &mut TypeOnlyLinks, &mut Vec::new())
        };
        self.groups_of(class).find_map(|group| {
            let source = self.layout_of(group).get(key).filter(|it| it.migration.is_none())?;
            let ty = self.props[*group.props.get(source.at as usize)? as usize].ty?;
            if holds(ty, value) {
                return None;
            }
            // The column is written anew as reflection says, if all other values can be.
            let (_, kind) = reflection::stored_name(&group.name, &key)?;
            let known = cell::type_of(kind).filter(|known| holds(*known, value));
            let is_rival = |stored: &Variant| {
                let is_null = matches!(stored, Variant::Ref(to) if to.is_none());
                !is_null && known.is_none_or(|known| !holds(known, stored))
            };
            let nodes = group.first..group.first + group.rows;
            nodes.filter_map(|node| self.value_of(node, key)).find(is_rival).map(|it| it.ty())
        })
    }
}

/// For a question about types alone, where it does not matter what numbers refer to.
struct TypeOnlyLinks;

impl cell::WriteLinks for TypeOnlyLinks {
    fn referent_of(&self, _: Ref) -> i32 {
        -1
    }

    fn shared_index(&mut self, _: &SharedString) -> u32 {
        0
    }
}
