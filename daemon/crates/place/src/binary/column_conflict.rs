//! Detects values that a column cannot hold. A column has a single type, and a file of an older
//! version of Studio may use another type for a property than reflection declares.

use rbx_dom_weak::Ustr;
use rbx_types::{Ref, SharedString, Variant, VariantType};

use super::{BinaryFile, cell};
use crate::reflection;

impl BinaryFile {
    /// Returns the type that the file stores for a property of a class, if `value` cannot be stored
    /// in the same column.
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
            // The column is rewritten in the declared type, if that can hold all other values.
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

/// Links for type checks, where the referenced numbers do not matter.
struct TypeOnlyLinks;

impl cell::WriteLinks for TypeOnlyLinks {
    fn referent_of(&self, _: Ref) -> i32 {
        -1
    }

    fn shared_index(&mut self, _: &SharedString) -> u32 {
        0
    }
}
