//! Immutable snapshot of a scene: the tree, names, classes and the texts of modules. Another thread
//! can read it while the scene changes.

use std::collections::HashMap;

use super::{Node, Scene};

/// The state of a scene at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SceneSnapshot {
    instances: Vec<SnapshotInstance>,
}

/// An instance of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotInstance {
    pub name: Box<str>,
    pub class: Box<str>,
    /// Number of the parent; None for the root.
    pub parent: Option<u32>,
    pub children: Vec<u32>,
    /// The script text, if the instance is a ModuleScript whose text is known.
    pub text: Option<Box<str>>,
    /// The path, set only if `text` is.
    pub path: Option<Box<str>>,
}

impl SceneSnapshot {
    /// Returns an instance by its number; the root is 0.
    pub fn get(&self, at: u32) -> Option<&SnapshotInstance> {
        self.instances.get(at as usize)
    }

    /// Returns the number of instances.
    pub fn len(&self) -> usize {
        self.instances.len()
    }

    /// Whether there are no instances. A snapshot of a scene always has the root.
    pub fn is_empty(&self) -> bool {
        self.instances.is_empty()
    }
}

impl Scene {
    /// Takes a snapshot of the whole scene. Also returns the numbers in it of the instances in
    /// `of`.
    pub fn take_snapshot(&self, of: &[Node]) -> (SceneSnapshot, Vec<u32>) {
        let mut numbers: HashMap<Node, u32> = HashMap::new();
        let mut snapshot = SceneSnapshot::default();
        for node in self.subtree(self.root()) {
            let number = snapshot.instances.len() as u32;
            numbers.insert(node, number);
            let parent = self.parent(node).and_then(|it| numbers.get(&it).copied());
            let is_module = self.class(node) == "ModuleScript";
            let text = if is_module { self.script_text(node) } else { None };
            let path = text.as_ref().map(|_| self.path(node).to_string().into());
            snapshot.instances.push(SnapshotInstance {
                name: self.name(node).into(),
                class: self.class(node).into(),
                parent,
                children: Vec::new(),
                text: text.map(|text| text.as_ref().into()),
                path,
            });
            if let Some(parent) = parent.and_then(|at| snapshot.instances.get_mut(at as usize)) {
                parent.children.push(number);
            }
        }
        let found = of.iter().filter_map(|node| numbers.get(node).copied()).collect();
        (snapshot, found)
    }
}
