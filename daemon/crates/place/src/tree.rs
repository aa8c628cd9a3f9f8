//! The instance tree: parents, children, classes and names, in arrays indexed by node number.
//!
//! The tree that was read is never modified; changes overlay it. Opening a file therefore costs a
//! few arrays and no allocation per instance. This module knows nothing about properties or files.

use std::cell::RefCell;

use rustc_hash::FxHashMap;

use super::interner::TextInterner;
use super::siblings::{SiblingIter, SiblingList};

pub(super) const NONE: u32 = u32::MAX;
pub(super) const ROOT: u32 = 0;

/// Below this number of children, lookups by name scan the children instead of an index.
const FEW: usize = 8;

/// Instances by node number. 0 is `game`, and the instances of the file come first.
#[derive(Debug, Clone, Default)]
pub(super) struct InstanceTree {
    parents: Vec<u32>,
    classes: Vec<u32>,
    names: Vec<u32>,
    /// For each instance of the file, the start of its children in `children`, plus one end entry.
    first: Vec<u32>,
    children: Vec<u32>,
    /// The children of each parent whose child list differs, or may differ, from the file.
    changed: FxHashMap<u32, SiblingList>,
    pub(super) class_names: TextInterner,
    pub(super) name_texts: TextInterner,
    named: RefCell<FxHashMap<u32, FxHashMap<u32, SiblingList>>>,
    /// Counts moves and renames.
    turns: u64,
}

/// A tree under construction: first all its instances, then their parents.
#[derive(Debug, Clone)]
pub(super) struct TreeBuilder {
    tree: InstanceTree,
    /// Pairs of child and parent, siblings in order.
    pairs: Vec<(u32, u32)>,
}

impl TreeBuilder {
    /// Creates a tree that holds only `game`, with room for the number of instances in the file.
    pub(super) fn new(instances: usize) -> Self {
        let mut tree = InstanceTree::default();
        tree.parents.reserve(instances + 1);
        tree.classes.reserve(instances + 1);
        tree.names.reserve(instances + 1);
        let mut builder = Self { tree, pairs: Vec::new() };
        let (class, name) = (builder.class_number("DataModel"), builder.name("DataModel"));
        builder.add(class, name);
        builder
    }

    pub(super) fn class_number(&mut self, name: &str) -> u32 {
        self.tree.class_names.intern(name)
    }

    pub(super) fn name(&mut self, name: &str) -> u32 {
        self.tree.name_texts.intern(name)
    }

    /// Adds an instance and returns its number.
    pub(super) fn add(&mut self, class: u32, name: u32) -> u32 {
        let number = self.tree.parents.len() as u32;
        self.tree.parents.push(NONE);
        self.tree.classes.push(class);
        self.tree.names.push(name);
        number
    }

    pub(super) fn rename(&mut self, node: u32, name: u32) {
        if let Some(slot) = self.tree.names.get_mut(node as usize) {
            *slot = name;
        }
    }

    /// Reserves room for the number of parent links in the file.
    pub(super) fn reserve_links(&mut self, links: usize) {
        self.pairs.reserve_exact(links);
    }

    pub(super) fn link(&mut self, child: u32, parent: u32) {
        self.pairs.push((child, parent));
    }

    /// Adds an instance as the last child of an existing one. Used with [`Self::finish_hung`].
    pub(super) fn append_child(&mut self, class: u32, name: u32, parent: u32) -> u32 {
        let number = self.add(class, name);
        self.tree.parents[number as usize] = parent;
        number
    }

    /// Returns the tree, if every instance was added with [`Self::append_child`] and none with
    /// [`Self::link`]. Skips the checks of [`Self::finish`].
    pub(super) fn finish_hung(self) -> InstanceTree {
        let mut tree = self.tree;
        let parents = std::mem::take(&mut tree.parents);
        let links = (0..).zip(&parents).skip(1).map(|(child, parent)| (child, *parent));
        tree.set_links(parents.len(), links);
        tree.parents = parents;
        tree
    }

    /// Returns the tree; None if an instance has two parents. Instances not connected to `game` get
    /// no parent and are not part of the place.
    pub(super) fn finish(self) -> Option<InstanceTree> {
        let Self { mut tree, pairs } = self;
        let len = tree.parents.len();
        for (child, parent) in &pairs {
            let slot = tree.parents.get_mut(*child as usize)?;
            if *slot != NONE || *child == ROOT || *parent as usize >= len {
                return None;
            }
            *slot = *parent;
        }
        tree.set_links(len, pairs.iter().copied());
        tree.drop_what_hangs_loose();
        Some(tree)
    }
}

impl InstanceTree {
    /// Stores the links of `len` instances, given as pairs of child and parent, siblings in order.
    fn set_links(&mut self, len: usize, links: impl Iterator<Item = (u32, u32)> + Clone) {
        // Counting sort, with counts offset by two: the entry after each parent is its write
        // cursor, which ends at the start of the next parent's children.
        let mut first = vec![0_u32; len + 2];
        let mut count = 0;
        for (_, parent) in links.clone() {
            first[parent as usize + 2] += 1;
            count += 1;
        }
        for at in 2..first.len() {
            first[at] += first[at - 1];
        }
        self.children = vec![0; count];
        for (child, parent) in links {
            let at = &mut first[parent as usize + 1];
            self.children[*at as usize] = child;
            *at += 1;
        }
        first.truncate(len + 1);
        self.first = first;
    }

    fn drop_what_hangs_loose(&mut self) {
        let linked = self.parents.iter().filter(|parent| **parent != NONE).count();
        let mut reached = vec![false; self.parents.len()];
        let (mut stack, mut count) = (vec![ROOT], 0);
        while let Some(node) = stack.pop() {
            reached[node as usize] = true;
            let children = self.children(node);
            count += children.len();
            stack.extend(children);
        }
        if count == linked {
            return;
        }
        for (parent, reached) in self.parents.iter_mut().zip(reached) {
            if !reached {
                *parent = NONE;
            }
        }
    }

    /// Returns the number of node numbers in use, including those of deleted instances.
    pub(super) fn len(&self) -> u32 {
        self.parents.len() as u32
    }

    pub(super) fn contains(&self, node: u32) -> bool {
        (node as usize) < self.parents.len()
    }

    /// Returns the number of instances that were read, including `game`.
    pub(super) fn read_len(&self) -> u32 {
        self.first.len().saturating_sub(1) as u32
    }

    pub(super) fn parent(&self, node: u32) -> Option<u32> {
        self.parents.get(node as usize).copied().filter(|parent| *parent != NONE)
    }

    pub(super) fn class(&self, node: u32) -> u32 {
        self.classes.get(node as usize).copied().unwrap_or(0)
    }

    pub(super) fn class_name(&self, node: u32) -> &str {
        self.class_names.get(self.class(node))
    }

    pub(super) fn name(&self, node: u32) -> u32 {
        self.names.get(node as usize).copied().unwrap_or(0)
    }

    pub(super) fn name_text(&self, node: u32) -> &str {
        self.name_texts.get(self.name(node))
    }

    /// Returns the children of an instance as read from the file.
    pub(super) fn read_children(&self, node: u32) -> &[u32] {
        let at = |n: usize| self.first.get(n).map(|at| *at as usize);
        let range = at(node as usize).zip(at(node as usize + 1));
        range.and_then(|(start, end)| self.children.get(start..end)).unwrap_or_default()
    }

    pub(super) fn children(&self, node: u32) -> SiblingIter<'_> {
        match self.changed.get(&node) {
            Some(siblings) => siblings.iter(),
            None => SiblingIter::from_slice(self.read_children(node)),
        }
    }

    /// Returns the instances of the file whose children differ from the file.
    pub(super) fn changed_parents(&self) -> impl Iterator<Item = u32> {
        let differs =
            |node: &u32| !self.children(*node).eq(self.read_children(*node).iter().copied());
        self.changed.keys().copied().filter(move |node| *node < self.read_len() && differs(node))
    }

    /// Returns the position of an instance among its siblings, from 0.
    pub(super) fn position(&self, node: u32) -> Option<usize> {
        let parent = self.parent(node)?;
        match self.changed.get(&parent) {
            Some(siblings) => siblings.position(node),
            None => self.read_children(parent).iter().position(|it| *it == node),
        }
    }

    fn siblings_mut(&mut self, parent: u32) -> &mut SiblingList {
        if !self.changed.contains_key(&parent) {
            let read = self.read_children(parent).iter().copied().collect();
            self.changed.insert(parent, read);
        }
        self.changed.entry(parent).or_default()
    }

    /// Adds an instance without a parent and returns its number.
    pub(super) fn add(&mut self, class: &str, name: &str) -> u32 {
        let (class, name) = (self.class_names.intern(class), self.name_texts.intern(name));
        self.parents.push(NONE);
        self.classes.push(class);
        self.names.push(name);
        self.len() - 1
    }

    /// Removes the instances from number `len` on. No remaining instance may link to them.
    pub(super) fn truncate(&mut self, len: u32) {
        for node in len..self.len() {
            self.changed.remove(&node);
            self.named.get_mut().remove(&node);
        }
        self.parents.truncate(len as usize);
        self.classes.truncate(len as usize);
        self.names.truncate(len as usize);
    }

    /// Returns a number that differs after every change of the tree, including changes that undo
    /// another.
    pub(super) fn change_count(&self) -> u64 {
        self.turns
    }

    /// Removes an instance from its parent.
    pub(super) fn unlink(&mut self, node: u32) {
        let Some(parent) = self.parent(node) else {
            return;
        };
        self.turns += 1;
        self.siblings_mut(parent).remove(node);
        let name = self.name(node);
        self.leave_group(parent, name, node);
        self.parents[node as usize] = NONE;
    }

    fn leave_group(&mut self, parent: u32, name: u32, node: u32) {
        if let Some(groups) = self.named.get_mut().get_mut(&parent)
            && let Some(group) = groups.get_mut(&name)
        {
            group.remove(node);
            if group.len() == 0 {
                groups.remove(&name);
            }
        }
    }

    /// Inserts a parentless instance into `parent`, at a position among its children or at the end.
    pub(super) fn link(&mut self, node: u32, parent: u32, at: Option<usize>) {
        self.turns += 1;
        let siblings = self.siblings_mut(parent);
        let len = siblings.len();
        siblings.insert(at.unwrap_or(len), node);
        self.parents[node as usize] = parent;
        let is_last = at.is_none_or(|at| at >= len);
        self.enter_group(parent, node, is_last);
    }

    /// Adds a child to the group of its name, if the children of its parent are indexed by name.
    fn enter_group(&mut self, parent: u32, node: u32, is_last: bool) {
        let name = self.name(node);
        let Some(mut groups) = self.named.get_mut().remove(&parent) else {
            return;
        };
        let group = groups.entry(name).or_default();
        if is_last || group.len() == 0 {
            group.push(node);
        } else {
            // Binary search, because the group is in sibling order.
            let siblings = self.siblings_mut(parent);
            let place = |node| siblings.position(node);
            let here = place(node);
            let (mut low, mut high) = (0, group.len());
            while low < high {
                let middle = usize::midpoint(low, high);
                if group.nth(middle).and_then(place) < here {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
            group.insert(low, node);
        }
        self.named.get_mut().insert(parent, groups);
    }

    pub(super) fn rename(&mut self, node: u32, name: &str) {
        self.turns += 1;
        let (before, name) = (self.name(node), self.name_texts.intern(name));
        let parent = self.parent(node);
        if let Some(parent) = parent {
            self.leave_group(parent, before, node);
        }
        self.names[node as usize] = name;
        if let Some(parent) = parent {
            self.enter_group(parent, node, false);
        }
    }

    /// Calls `ask` with the children of one name. `ask` must not call this function again.
    fn with_group<T>(&self, parent: u32, name: u32, visit: impl FnOnce(&SiblingList) -> T) -> T {
        let none = SiblingList::default();
        let children = self.children(parent);
        if children.len() < FEW {
            let group: SiblingList = children.filter(|child| self.name(*child) == name).collect();
            return visit(&group);
        }
        let mut named = self.named.borrow_mut();
        let groups = named.entry(parent).or_insert_with(|| {
            let mut groups: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
            for child in children {
                groups.entry(self.name(child)).or_default().push(child);
            }
            groups.into_iter().map(|(name, group)| (name, group.into_iter().collect())).collect()
        });
        visit(groups.get(&name).unwrap_or(&none))
    }

    /// Returns the number of children with a name.
    pub(super) fn count_named(&self, parent: u32, name: &str) -> usize {
        let Some(name) = self.name_texts.find(name) else {
            return 0;
        };
        self.with_group(parent, name, super::siblings::SiblingList::len)
    }

    /// Returns the nth child with a name, from 0.
    pub(super) fn nth_named(&self, parent: u32, name: &str, n: usize) -> Option<u32> {
        let name = self.name_texts.find(name)?;
        self.with_group(parent, name, |group| group.nth(n))
    }

    /// Returns the ordinal of an instance among siblings of the same name, from 1; None if it is
    /// unique.
    pub(super) fn ordinal(&self, node: u32) -> Option<u32> {
        let parent = self.parent(node)?;
        self.with_group(parent, self.name(node), |group| match group.len() {
            0 | 1 => None,
            _ => group.position(node).map(|at| at as u32 + 1),
        })
    }

    /// Returns an instance and all its descendants, depth first, in order.
    pub(super) fn subtree(&self, node: u32) -> SubtreeWalk<'_> {
        SubtreeWalk { tree: self, stack: vec![node] }
    }

    /// Whether `node` is `ancestor` or one of its descendants.
    pub(super) fn is_within(&self, node: u32, ancestor: u32) -> bool {
        std::iter::successors(Some(node), |at| self.parent(*at)).any(|at| at == ancestor)
    }

    /// Returns all descendants of an instance in order, children before their parents.
    pub(super) fn post_order(&self, root: u32) -> impl Iterator<Item = u32> {
        let mut stack = vec![self.children(root)];
        let mut path: Vec<u32> = Vec::new();
        std::iter::from_fn(move || {
            loop {
                if let Some(child) = stack.last_mut()?.next() {
                    path.push(child);
                    stack.push(self.children(child));
                } else {
                    stack.pop();
                    return path.pop();
                }
            }
        })
    }
}

/// Depth-first iterator over a subtree.
#[derive(Debug, Clone)]
pub(super) struct SubtreeWalk<'a> {
    tree: &'a InstanceTree,
    stack: Vec<u32>,
}

impl Iterator for SubtreeWalk<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let node = self.stack.pop()?;
        self.stack.extend(self.tree.children(node).rev());
        Some(node)
    }
}
