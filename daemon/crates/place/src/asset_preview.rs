//! What assets bring on trial: instances of which the class, the name and the scripts are known, and
//! nothing else until they are inserted.

use rbx_dom_weak::ustr;
use rbx_types::Variant;
use scene_schemas::command::AssetContents;

use super::{Node, Scene};

impl Scene {
    /// Makes a part of what an asset holds that has one root, as the last child of `parent`.
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
            // Places of the list count from 1, and 0 is nobody.
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

    /// Whether an instance comes with an asset that is not inserted yet, so that nobody has seen its
    /// properties.
    pub fn is_asset_preview(&self, node: Node) -> bool {
        self.asset_previews.contains(&node.0)
    }
}
