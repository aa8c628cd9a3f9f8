//! What the proposals of a merge write, by the instances of the merged scene.
//!
//! While an overlay is merged, the known writes are those of earlier overlays only: within its own
//! overlay a proposal was planned on top of the others, so that nothing there can conflict.

use std::borrow::Cow;
use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;
use scene_schemas::Value;
use vector_place::Node;
use vector_place::reflection::property_group;

use super::texts::EarlierText;

/// The command that wrote something: indices of its overlay, its proposal there and itself there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WriteOrigin {
    pub(super) overlay: u32,
    pub(super) proposal: u32,
    pub(super) command: u32,
}

/// A text that commands edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum TextKey {
    Script(Node),
    Memory,
}

/// A value that was written.
#[derive(Debug, Clone)]
pub(super) struct WrittenValue<'a> {
    pub(super) value: Cow<'a, Option<Value>>,
    /// The instance that it refers to. Its id is not compared: `new:0` of two proposals are two
    /// instances.
    pub(super) refers_to: Option<Node>,
}

impl WrittenValue<'_> {
    pub(super) fn is_same(&self, other: Option<&Value>, refers_to: Option<Node>) -> bool {
        match (self.refers_to, refers_to) {
            (None, None) => self.value.as_ref().as_ref() == other,
            (one, other) => one == other,
        }
    }
}

/// A write to the properties of one group of an instance.
#[derive(Debug)]
pub(super) struct CellWrite<'a> {
    pub(super) by: WriteOrigin,
    pub(super) property: &'a str,
    pub(super) group: &'a str,
    pub(super) value: WrittenValue<'a>,
    /// Whether several properties of the group were written, so that nothing equals the write.
    pub(super) is_mixed: bool,
}

/// A new position of an instance in the tree.
#[derive(Debug, Clone, Copy)]
pub(super) struct ParentWrite {
    pub(super) by: WriteOrigin,
    pub(super) parent: Node,
    pub(super) index: Option<u32>,
}

/// An instance that got a name, a parent or both.
#[derive(Debug, Clone)]
pub(super) struct AddedName {
    pub(super) by: WriteOrigin,
    pub(super) node: Node,
    pub(super) parent: Node,
    pub(super) name: String,
}

/// An instance with a property that was set to refer to another one.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReferenceWrite<'a> {
    pub(super) by: WriteOrigin,
    pub(super) holder: Node,
    pub(super) property: &'a str,
    pub(super) to: Node,
}

/// An instance, and the command that wrote to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct NodeWrite {
    pub(super) by: WriteOrigin,
    pub(super) node: Node,
}

/// The writes of one proposal, in order.
#[derive(Debug, Default)]
pub(super) struct ProposalWrites<'a> {
    pub(super) cells: Vec<(Node, CellWrite<'a>)>,
    pub(super) parents: Vec<(Node, ParentWrite)>,
    pub(super) names: Vec<AddedName>,
    pub(super) references: Vec<ReferenceWrite<'a>>,
    /// The roots of deleted subtrees.
    pub(super) deleted: Vec<NodeWrite>,
    /// The instances whose children were added to, moved or deleted.
    pub(super) restructured: Vec<NodeWrite>,
    /// The instances that were written to, other than by deletions of their children.
    pub(super) touched: Vec<NodeWrite>,
}

/// The numbers of an instance's cells.
#[derive(Debug)]
struct NodeCells {
    first: usize,
    others: Vec<usize>,
}

impl NodeCells {
    fn iter(&self) -> impl Iterator<Item = usize> {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }
}

/// The writes of the taken proposals of earlier overlays.
#[derive(Debug, Default)]
pub(super) struct EarlierWrites<'a> {
    cells: Vec<CellWrite<'a>>,
    /// The cells of an instance: few, one for each property group.
    cells_of: FxHashMap<Node, NodeCells>,
    parents: FxHashMap<Node, ParentWrite>,
    /// By parent and name.
    names: FxHashMap<Node, FxHashMap<String, Vec<AddedName>>>,
    /// By the instance that is referred to.
    references: FxHashMap<Node, Vec<ReferenceWrite<'a>>>,
    deleted: FxHashMap<Node, WriteOrigin>,
    /// The first write to the children of an instance.
    restructured: FxHashMap<Node, WriteOrigin>,
    /// The first write of each overlay to an instance.
    touched: FxHashMap<Node, Vec<WriteOrigin>>,
    pub(super) texts: FxHashMap<TextKey, EarlierText>,
    is_any: bool,
}

impl<'a> EarlierWrites<'a> {
    /// Whether no earlier overlay wrote anything.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_any
    }

    /// Adds the writes of a taken proposal. Those of one overlay are added when the whole overlay is
    /// merged, and in order.
    pub(super) fn add(&mut self, writes: ProposalWrites<'a>) {
        self.is_any = true;
        for (node, write) in writes.cells {
            let number = self.cells.len();
            let known = match self.cells_of.entry(node) {
                Entry::Vacant(new) => {
                    new.insert(NodeCells { first: number, others: Vec::new() });
                    None
                }
                Entry::Occupied(cells) => {
                    let cells = cells.into_mut();
                    let is_it = |at: &usize| self.cells[*at].group == write.group;
                    let known = cells.iter().find(is_it);
                    if known.is_none() {
                        cells.others.push(number);
                    }
                    known
                }
            };
            let Some(known) = known.map(|at| &mut self.cells[at]) else {
                self.cells.push(write);
                continue;
            };
            // A write of an earlier overlay remains: this one is equal.
            if known.by.overlay == write.by.overlay {
                let is_mixed = known.is_mixed || known.property != write.property;
                *known = CellWrite { is_mixed, ..write };
            }
        }
        for (node, write) in writes.parents {
            let known = self.parents.entry(node).or_insert(write);
            if known.by.overlay == write.by.overlay {
                *known = write;
            }
        }
        for write in writes.names {
            let by_name = self.names.entry(write.parent).or_default();
            match by_name.get_mut(&write.name) {
                Some(known) => known.push(write),
                None => drop(by_name.insert(write.name.clone(), vec![write])),
            }
        }
        for write in writes.references {
            self.references.entry(write.to).or_default().push(write);
        }
        for write in writes.deleted {
            self.deleted.insert(write.node, write.by);
        }
        for write in writes.restructured {
            self.restructured.entry(write.node).or_insert(write.by);
        }
        for NodeWrite { node, by } in writes.touched {
            let known = self.touched.entry(node).or_default();
            if known.last().is_none_or(|last| last.overlay != by.overlay) {
                known.push(by);
            }
        }
    }

    /// Returns the write to the group of a property.
    pub(super) fn cell(&self, node: Node, property: &str) -> Option<&CellWrite<'a>> {
        let group = property_group(property);
        self.cells_of.get(&node)?.iter().map(|at| &self.cells[at]).find(|it| it.group == group)
    }

    pub(super) fn parent(&self, node: Node) -> Option<ParentWrite> {
        self.parents.get(&node).copied()
    }

    /// Returns the instances that got a name below a parent.
    pub(super) fn named(&self, parent: Node, name: &str) -> &[AddedName] {
        self.names.get(&parent).and_then(|it| it.get(name)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn references_to(&self, node: Node) -> &[ReferenceWrite<'a>] {
        self.references.get(&node).map_or(&[], Vec::as_slice)
    }

    /// Returns the deletion of the subtree with this root.
    pub(super) fn deletion(&self, root: Node) -> Option<WriteOrigin> {
        self.deleted.get(&root).copied()
    }

    /// Returns the first change of which children an instance has, or of their order.
    pub(super) fn restructuring(&self, node: Node) -> Option<WriteOrigin> {
        self.restructured.get(&node).copied()
    }

    /// Returns the first write of each overlay to an instance.
    pub(super) fn writes_to(&self, node: Node) -> &[WriteOrigin] {
        self.touched.get(&node).map_or(&[], Vec::as_slice)
    }
}
