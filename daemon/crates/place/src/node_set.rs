//! A set of instances by their numbers, which can be walked in order and searched by halving.
//!
//! Nothing but this type searches instances so: it is sorted because there is no way to make it
//! otherwise. It knows nothing of trees, in whose order numbers need not ascend.

/// Instances, each once, by ascending numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct NodeSet(Vec<u32>);

impl NodeSet {
    /// Adds an instance. Quick where its number is above all others.
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
    fn it_is_sorted_however_it_was_filled() {
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
