//! A naive model of a place: maps of instances, on which edits are performed one after the other.
//!
//! It knows neither commands nor paths. Instances have keys, and a text is a list of numbers, one for
//! each line that edits change.

use std::collections::BTreeMap;

use scene_schemas::Value;
use vector_place::{Node, Scene};

/// An instance: one of the base, or one that an overlay creates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Key {
    Base(usize),
    New { overlay: usize, number: usize },
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ModelValue {
    Quarters(u8),
    Flag(bool),
    Instance(Key),
}

#[derive(Debug, Clone)]
pub(super) struct ModelNode {
    pub(super) class: &'static str,
    pub(super) name: String,
    pub(super) parent: Option<Key>,
    pub(super) children: Vec<Key>,
    pub(super) props: BTreeMap<&'static str, ModelValue>,
    /// The numbers in the text of a script.
    pub(super) lines: Vec<usize>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) nodes: BTreeMap<Key, ModelNode>,
    pub(super) memory: Vec<usize>,
}

/// The number of lines of each text that edits change.
pub(super) const LINES: usize = 4;

/// A change that a worker makes.
#[derive(Debug, Clone)]
pub(super) enum Edit {
    Create {
        key: Key,
        parent: Key,
        class: &'static str,
        name: String,
    },
    /// The copy's instances have the keys from `key` on.
    Clone {
        key: Key,
        source: Key,
        parent: Key,
        name: String,
    },
    Set {
        target: Key,
        property: &'static str,
        value: ModelValue,
    },
    Rename {
        target: Key,
        name: String,
    },
    Move {
        target: Key,
        parent: Key,
    },
    Delete {
        target: Key,
    },
    WriteLine {
        target: Key,
        line: usize,
        number: usize,
    },
    Remember {
        line: usize,
        number: usize,
    },
}

pub(super) fn script_text(numbers: &[usize]) -> String {
    let line = |(at, number): (usize, &usize)| {
        format!("local v{at} = {number}\n-- after {at}\n-- before {}\n", at + 1)
    };
    numbers.iter().enumerate().map(line).collect()
}

pub(super) fn memory_text(numbers: &[usize]) -> String {
    let line = |(at, number): (usize, &usize)| {
        format!("Rule {at}: {number}.\nAfter {at}.\nBefore {}.\n", at + 1)
    };
    numbers.iter().enumerate().map(line).collect()
}

impl Model {
    pub(super) fn add(&mut self, key: Key, class: &'static str, name: &str, parent: Option<Key>) {
        let lines = if class == "Script" { vec![0; LINES] } else { Vec::new() };
        let (name, children, props) = (name.to_owned(), Vec::new(), BTreeMap::new());
        let node = ModelNode { class, name, parent, children, props, lines };
        self.nodes.insert(key, node);
        if let Some(above) = parent.and_then(|parent| self.nodes.get_mut(&parent)) {
            above.children.push(key);
        }
    }

    /// All instances from one on, depth first.
    pub(super) fn subtree(&self, root: Key) -> Vec<Key> {
        let below = |child: &Key| self.subtree(*child);
        let children = self.nodes.get(&root).map_or(&[][..], |node| &node.children);
        std::iter::once(root).chain(children.iter().flat_map(below)).collect()
    }

    pub(super) fn is_within(&self, key: Key, above: Key) -> bool {
        let mut at = Some(key);
        while let Some(key) = at {
            if key == above {
                return true;
            }
            at = self.nodes[&key].parent;
        }
        false
    }

    /// Performs an edit. What is to be deleted may be gone already.
    pub(super) fn perform(&mut self, edit: &Edit) {
        match edit {
            Edit::Create { key, parent, class, name } => {
                self.add(*key, class, name, Some(*parent));
            }
            Edit::Clone { key, source, parent, name } => self.copy(*key, *source, *parent, name),
            Edit::Set { target, property, value } => {
                self.node(*target).props.insert(*property, *value);
            }
            Edit::Rename { target, name } => self.node(*target).name.clone_from(name),
            Edit::Move { target, parent } => {
                assert!(!self.is_within(*parent, *target), "{edit:?} is a circle");
                self.detach(*target);
                self.node(*target).parent = Some(*parent);
                self.node(*parent).children.push(*target);
            }
            Edit::Delete { target } => {
                if self.nodes.contains_key(target) {
                    self.detach(*target);
                    for key in self.subtree(*target) {
                        self.nodes.remove(&key);
                    }
                }
            }
            Edit::WriteLine { target, line, number } => self.node(*target).lines[*line] = *number,
            Edit::Remember { line, number } => self.memory[*line] = *number,
        }
    }

    fn node(&mut self, key: Key) -> &mut ModelNode {
        self.nodes.get_mut(&key).unwrap_or_else(|| panic!("{key:?} is gone"))
    }

    fn detach(&mut self, key: Key) {
        if let Some(parent) = self.nodes[&key].parent {
            self.node(parent).children.retain(|child| *child != key);
        }
    }

    fn copy(&mut self, first: Key, source: Key, parent: Key, name: &str) {
        let Key::New { overlay, number } = first else { panic!("a copy is new") };
        let from = self.subtree(source);
        let keys: BTreeMap<Key, Key> = from
            .iter()
            .enumerate()
            .map(|(at, key)| (*key, Key::New { overlay, number: number + at }))
            .collect();
        for old in &from {
            let mut node = self.nodes[old].clone();
            node.parent = node.parent.and_then(|above| keys.get(&above).copied());
            node.children = node.children.iter().map(|child| keys[child]).collect();
            for value in node.props.values_mut() {
                if let ModelValue::Instance(to) = value {
                    *to = keys.get(to).copied().unwrap_or(*to);
                }
            }
            self.nodes.insert(keys[old], node);
        }
        self.node(first).parent = Some(parent);
        name.clone_into(&mut self.node(first).name);
        self.node(parent).children.push(first);
    }

    /// One line for each instance below the roots, and the memory.
    pub(super) fn dump(&self, roots: &[Key]) -> Vec<String> {
        let order: Vec<Key> = roots.iter().flat_map(|root| self.subtree(*root)).collect();
        let number = |key: Key| order.iter().position(|it| *it == key);
        let line = |key: &Key| {
            let node = &self.nodes[key];
            let mut line =
                format!("{:?} {} {}", node.parent.and_then(number), node.class, node.name);
            for (property, value) in &node.props {
                match value {
                    ModelValue::Quarters(quarters) => {
                        line += &format!(" {property}={}", f32::from(*quarters) / 4.0);
                    }
                    ModelValue::Flag(flag) => line += &format!(" {property}={flag}"),
                    ModelValue::Instance(to) => {
                        if let Some(to) = number(*to) {
                            line += &format!(" {property}={to}");
                        }
                    }
                }
            }
            if node.class == "Script" {
                line += &format!(" {:?}", script_text(&node.lines));
            }
            line
        };
        order.iter().map(line).chain([memory_text(&self.memory)]).collect()
    }
}

/// The same lines for a scene.
pub(super) fn dump_scene(scene: &Scene, memory: &str, roots: &[Node]) -> Vec<String> {
    let order: Vec<Node> = roots.iter().flat_map(|root| scene.subtree(*root)).collect();
    let number = |node: Node| order.iter().position(|it| *it == node);
    let line = |node: &Node| {
        let (parent, class) = (scene.parent(*node).and_then(number), scene.class(*node));
        let mut line = format!("{parent:?} {class} {}", scene.name(*node));
        for property in ["@n", "Anchored", "Transparency", "Value"] {
            match scene.stored_value(*node, property) {
                None | Some(Value::Ref(None)) => {}
                Some(Value::Ref(Some(to))) => {
                    if let Some(to) = scene.by_id(&to.id).and_then(number) {
                        line += &format!(" {property}={to}");
                    }
                }
                Some(Value::Float32(it)) => line += &format!(" {property}={it}"),
                Some(Value::Float64(it)) => line += &format!(" {property}={it}"),
                Some(Value::Bool(it)) => line += &format!(" {property}={it}"),
                other => panic!("{property} is {other:?}"),
            }
        }
        if let Some(text) = scene.script_text(*node) {
            line += &format!(" {text:?}");
        }
        line
    };
    order.iter().map(line).chain([memory.to_owned()]).collect()
}
