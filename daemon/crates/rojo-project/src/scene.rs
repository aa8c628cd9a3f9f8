//! Conversion of a tree to a scene: the equivalent of what `rojo build` would write, and the base
//! for planning.

use rbx_types::Variant;
use vector_place::{FileFormat, Node, Scene, reference_of};

use super::build_tree::renumber_reference;
use super::tree::ProjectTree;

/// The classes on which Rojo sets `NeedsPivotMigration`. Without it, the engine would recompute
/// their pivots.
const PIVOT_CLASSES: [&str; 8] =
    ["Model", "Actor", "Tool", "HopperBin", "Flag", "WorldModel", "Workspace", "Status"];

impl ProjectTree {
    /// Whether the project is a place; otherwise its root is the root of a model.
    pub fn is_place(&self) -> bool {
        self.instances.first().is_some_and(|root| root.class == "DataModel")
    }

    /// Returns the project as a scene, and the node of each instance. The id of an instance is
    /// `ref:` followed by its key; the id of a place's root is `game`.
    pub fn to_scene(&self) -> (Scene, Vec<Node>) {
        let mut scene = Scene::empty(FileFormat::Xml);
        let mut nodes = Vec::with_capacity(self.instances.len());
        for instance in &self.instances {
            let parent = instance.parent.map_or(scene.root(), |parent| nodes[parent as usize]);
            let node = if self.is_place() && instance.parent.is_none() {
                scene.root()
            } else {
                scene.add_known_instance(parent, &instance.class, &instance.name, &instance.key)
            };
            nodes.push(node);
        }
        for (instance, node) in self.instances.iter().zip(&nodes) {
            if *node == scene.root() {
                continue;
            }
            for (name, value) in &instance.properties {
                let mut value = value.clone();
                renumber_reference(&mut value, |to| {
                    nodes.get(to as usize).copied().map(reference_of)
                });
                scene.set_known_property(*node, name, value);
            }
            let is_pivoted = PIVOT_CLASSES.contains(&instance.class.as_str());
            if is_pivoted && !instance.properties.contains_key("NeedsPivotMigration") {
                scene.set_known_property(*node, "NeedsPivotMigration", Variant::Bool(false));
            }
        }
        (scene, nodes)
    }
}
