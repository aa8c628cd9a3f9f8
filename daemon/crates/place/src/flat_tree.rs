//! A subtree as flat arrays in tree order. Whole-tree queries (selectors, diffs) become loops over
//! indices, whatever the depth of the tree.
//!
//! It is a snapshot of the tree, and knows nothing about the queries.

use super::tree::NONE;
use super::{Node, Scene};

/// A subtree in tree order; its root is number 0 and its own parent.
pub(super) struct FlatTree<'a> {
    pub(super) scene: &'a Scene,
    nodes: Vec<u32>,
    parents: Vec<u32>,
    /// For each subtree, the index after its last instance.
    ends: Vec<u32>,
}

impl<'a> FlatTree<'a> {
    pub(super) fn from_scene(scene: &'a Scene, root: Node) -> Self {
        let (mut nodes, mut parents) = (Vec::new(), Vec::new());
        let mut stack = vec![(root.0, 0_u32)];
        while let Some((node, parent)) = stack.pop() {
            let at = nodes.len() as u32;
            nodes.push(node);
            parents.push(parent);
            stack.extend(scene.tree.children(node).rev().map(|child| (child, at)));
        }
        let mut ends: Vec<u32> = (1..=nodes.len() as u32).collect();
        for at in (1..ends.len()).rev() {
            let parent = parents[at] as usize;
            ends[parent] = ends[parent].max(ends[at]);
        }
        Self { scene, nodes, parents, ends }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn node_at(&self, at: usize) -> Node {
        Node(self.nodes[at])
    }

    /// Returns for each node of the scene its index in this tree; [`NONE`] for those that are not in
    /// it.
    pub(super) fn numbers(&self) -> Vec<u32> {
        let mut numbers = vec![NONE; self.scene.tree.len() as usize];
        for (node, at) in self.nodes.iter().zip(0..) {
            numbers[*node as usize] = at;
        }
        numbers
    }

    /// Returns the class number of an instance, as numbered in its scene.
    pub(super) fn class_at(&self, at: usize) -> u32 {
        self.scene.tree.class(self.nodes[at])
    }

    pub(super) fn name(&self, at: usize) -> &'a str {
        self.scene.tree.name_text(self.nodes[at])
    }

    pub(super) fn parent_of(&self, at: usize) -> usize {
        self.parents[at] as usize
    }

    /// Returns the children of an instance, in order.
    pub(super) fn children_of(&self, at: usize) -> impl Iterator<Item = usize> {
        let end = self.ends.get(at).map_or(0, |end| *end as usize);
        let mut next = at + 1;
        std::iter::from_fn(move || {
            let child = next;
            (child < end).then(|| {
                next = self.ends[child] as usize;
                child
            })
        })
    }
}
