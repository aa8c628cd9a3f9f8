//! A subtree laid out flat, in tree order: how whole-tree questions (selectors, differences) are
//! answered with loops over numbers, whatever the tree's depth.
//!
//! It is a picture of one moment. It knows nothing of what is asked.

use rbx_dom_weak::Instance;

use super::{Node, Scene};

/// A subtree in tree order; its root is number 0 and its own parent.
pub(super) struct Flat<'a> {
    pub(super) scene: &'a Scene,
    pub(super) instances: Vec<&'a Instance>,
    parents: Vec<u32>,
    /// Behind the last instance of each subtree.
    ends: Vec<u32>,
}

impl<'a> Flat<'a> {
    pub(super) fn of(scene: &'a Scene, root: Node) -> Self {
        let (mut instances, mut parents) = (Vec::new(), Vec::new());
        let mut stack = vec![(root.0, 0_u32)];
        while let Some((referent, parent)) = stack.pop() {
            let Some(instance) = scene.dom.get_by_ref(referent) else {
                continue;
            };
            let at = instances.len() as u32;
            instances.push(instance);
            parents.push(parent);
            let children =
                scene.order.get(&referent).map_or_else(|| instance.children(), Vec::as_slice);
            stack.extend(children.iter().rev().map(|child| (*child, at)));
        }
        let mut ends: Vec<u32> = (1..=instances.len() as u32).collect();
        for at in (1..ends.len()).rev() {
            let parent = parents[at] as usize;
            ends[parent] = ends[parent].max(ends[at]);
        }
        Self { scene, instances, parents, ends }
    }

    pub(super) fn len(&self) -> usize {
        self.instances.len()
    }

    pub(super) fn node(&self, at: usize) -> Node {
        Node(self.instances[at].referent())
    }

    pub(super) fn parent(&self, at: usize) -> usize {
        self.parents[at] as usize
    }

    /// The children of an instance, in order.
    pub(super) fn children(&self, at: usize) -> impl Iterator<Item = usize> {
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
