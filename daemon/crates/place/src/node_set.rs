//! A set of node numbers, iterable in order and searchable by binary search.
//!
//! It is sorted by construction, and only this type may binary search nodes. It knows nothing about
//! trees, whose order need not be ascending.

/// Node numbers, distinct and ascending.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NodeSet(Vec<u32>);

impl NodeSet {
    /// Adds an instance. Cheap if its number is above all others.
    pub(super) fn insert(&mut self, node: u32) {
        if self.0.last().is_none_or(|last| *last < node) {
            self.0.push(node);
        } else if let Err(at) = self.0.binary_search(&node) {
            self.0.insert(at, node);
        }
    }

    pub(super) fn contains(&self, node: u32) -> bool {
        self.0.binary_search(&node).is_ok()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + Clone {
        self.0.iter().copied()
    }
}

impl FromIterator<u32> for NodeSet {
    fn from_iter<T: IntoIterator<Item = u32>>(nodes: T) -> Self {
        let mut nodes: Vec<u32> = nodes.into_iter().collect();
        nodes.sort_unstable();
        nodes.dedup();
        Self(nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::NodeSet;

    #[test]
    fn set_is_sorted_in_any_insertion_order() {
        let order = [5, 1, 9, 1, 7, 5, 0];
        let mut inserted = NodeSet::default();
        for node in order {
            inserted.insert(node);
        }
        let collected: NodeSet = order.into_iter().collect();
        assert_eq!(inserted, collected);
        assert_eq!(inserted.iter().collect::<Vec<_>>(), [0, 1, 5, 7, 9]);
        assert_eq!(inserted.len(), 5);
        let found: Vec<u32> = (0..11).filter(|node| inserted.contains(*node)).collect();
        assert_eq!(found, [0, 1, 5, 7, 9]);
    }
}
