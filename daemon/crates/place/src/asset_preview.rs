//! Asset previews: instances of an asset that is not inserted yet. Only their classes, names and
//! scripts are known until the asset is inserted.

use rbx_dom_weak::ustr;
use rbx_types::Variant;
use scene_schemas::command::AssetContents;

use super::{Node, Scene};

impl Scene {
    /// Creates the preview of one subtree of an asset's contents, as the last child of `parent`.
    pub fn insert_asset_preview(
        &mut self,
        parent: Node,
        holds: &AssetContents,
        part: std::ops::Range<usize>,
    ) -> Node {
        let (first, start) = (self.tree.len(), part.start as u32);
        for at in part.clone() {
            let node = self.tree.add(holds.class_of(at), &holds.names[at]);
            self.asset_previews.insert(node);
            // Parents are numbered from 1; 0 means no parent.
            let above = match holds.parents[at] {
                0 => parent.0,
                above => first + above - 1 - start,
            };
            self.tree.link(node, above, None);
        }
        for script in &holds.scripts {
            let at = script.at as usize - 1;
            if part.contains(&at) {
                let text = Variant::String(script.text.clone());
                self.set_unjournaled(first + at as u32 - start, ustr("Source"), Some(text));
            }
        }
        self.attach_subtree(first);
        Node(first)
    }

    /// Whether an instance belongs to an asset that is not inserted yet, so its properties are
    /// unknown.
    pub fn is_asset_preview(&self, node: Node) -> bool {
        self.asset_previews.contains(&node.0)
    }
}
