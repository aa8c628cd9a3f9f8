//! Refuses values that the file cannot hold when they are set, not when the file is written: by
//! then a user may have approved them.

use rbx_dom_weak::Ustr;
use rbx_types::{Variant, VariantType};
use scene_schemas::refusal::{Refusal, refuse};

use super::{Node, Scene};

impl Scene {
    /// Refuses a value that the file cannot hold beside the values of other instances of the class.
    pub(crate) fn check_storable(
        &mut self,
        node: Node,
        key: Ustr,
        value: &Variant,
    ) -> Result<(), Refusal> {
        let class = self.tree.class(node.0);
        let checked = (class, key, value.ty());
        // Whether a Content can be stored depends on more than its type, so it is not cached.
        let is_plain = value.ty() != VariantType::Content;
        if is_plain && self.last_storable == Some(checked) {
            return Ok(());
        }
        let is_known = is_plain && self.storable.contains(&checked);
        if !is_known && let Some(stored) = self.file.conflicting_kind(class, key, value) {
            return refuse!(
                "`{key}` of {} cannot be set to a {:?}: this file stores it as a {stored:?} for all \
                 instances of the class, as an older version of Studio did. Save the file once with \
                 Studio as it is today, and set it then.",
                self.class(node),
                value.ty()
            );
        }
        self.last_storable = Some(checked);
        self.storable.insert(checked);
        Ok(())
    }
}
