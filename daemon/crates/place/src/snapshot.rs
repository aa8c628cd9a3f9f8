//! A still of a place: names, classes, the tree, and the texts of modules; for whoever looks at it on
//! another thread while the place goes on.

use std::collections::HashMap;

use super::{Node, Scene};

/// A place as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SceneSnapshot {
    instances: Vec<SnapshotInstance>,
}

/// An instance of a still.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInstance {
    pub name: Box<str>,
    pub class: Box<str>,
    /// Its parent; none for the root.
    pub parent: Option<u32>,
    pub children: Vec<u32>,
    /// Its text, where it is a ModuleScript whose text is known.
    pub text: Option<Box<str>>,
    /// Its path, where it has a text.
    pub path: Option<Box<str>>,
}

impl SceneSnapshot {
    /// An instance by its number; the root is 0.
    pub fn get(&self, at: u32) -> Option<&SnapshotInstance> {
        self.instances.get(at as usize)
    }

    /// How many instances there are.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Whether there is none, which no scene's still is.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }
}

impl Scene {
    /// A still of all of it, and the numbers in it of some instances.
    pub fn take_snapshot(&self, of: &[Node]) -> (SceneSnapshot, Vec<u32>) {
        let mut numbers: HashMap<Node, u32> = HashMap::new();
        let mut still = SceneSnapshot::default();
        for node in self.subtree(self.root()) {
            let number = still.instances.len() as u32;
            numbers.insert(node, number);
            let parent = self.parent(node).and_then(|it| numbers.get(&it).copied());
            let is_module = self.class(node) == "ModuleScript";
            let text = if is_module { self.script_text(node) } else { None };
            let path = text.as_ref().map(|_| self.path(node).to_string().into());
            still.instances.push(SnapshotInstance {
                name: self.name(node).into(),
                class: self.class(node).into(),
                parent,
                children: Vec::new(),
                text: text.map(|text| text.as_ref().into()),
                path,
            });
            if let Some(parent) = parent.and_then(|at| still.instances.get_mut(at as usize)) {
                parent.children.push(number);
            }
        }
        let found = of.iter().filter_map(|node| numbers.get(node).copied()).collect();
        (still, found)
    }
}
