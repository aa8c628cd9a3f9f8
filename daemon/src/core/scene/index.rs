//! The index from a parent and a name to children: how a path is found without walking a parent's
//! hundred thousand children, and how siblings of one name are numbered.
//!
//! It is kept up to date by the scene's changes and knows nothing of properties.

use std::hash::{DefaultHasher, Hash, Hasher};

use rbx_types::Ref;
use rustc_hash::FxHashMap;

/// Groups of siblings of one name.
#[derive(Debug, Default)]
pub(super) struct Names {
    groups: FxHashMap<(Ref, u64), Group>,
}

/// A name's key. Two names below one parent that share all 64 bits would count as one name; at a
/// million names the odds are one in thirty million.
fn key(parent: Ref, name: &str) -> (Ref, u64) {
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    (parent, hasher.finish())
}

impl Names {
    /// A child became the last of its parent.
    pub(super) fn append(&mut self, parent: Ref, name: &str, child: Ref) {
        self.groups.entry(key(parent, name)).or_default().append(child);
    }

    /// A child left its parent or its name.
    pub(super) fn remove(&mut self, parent: Ref, name: &str, child: Ref) {
        let key = key(parent, name);
        let Some(group) = self.groups.get_mut(&key) else {
            return;
        };
        group.remove(child);
        if group.len() == 0 {
            self.groups.remove(&key);
        }
    }

    /// A child took a place among its siblings that may not be the last.
    pub(super) fn insert(&mut self, parent: Ref, name: &str, siblings: &[Ref], child: Ref) {
        let group = self.groups.entry(key(parent, name)).or_default();
        let Some(last) = group.last() else {
            group.append(child);
            return;
        };
        // Siblings are mostly changed from the first to the last, so the child mostly comes behind
        // those that have the name already. Finding that out walks the siblings behind it.
        let behind = siblings.iter().rev().find(|sibling| **sibling == child || **sibling == last);
        if behind.is_none_or(|sibling| *sibling == child) {
            group.append(child);
            return;
        }
        let next = siblings
            .iter()
            .skip_while(|sibling| **sibling != child)
            .find(|sibling| group.contains(**sibling));
        match next {
            Some(next) => group.insert_before(child, *next),
            None => group.append(child),
        }
    }

    /// How many children have that name.
    pub(super) fn count(&self, parent: Ref, name: &str) -> usize {
        self.groups.get(&key(parent, name)).map_or(0, Group::len)
    }

    /// The nth child of that name, from 0.
    pub(super) fn nth(&self, parent: Ref, name: &str, n: usize) -> Option<Ref> {
        self.groups.get(&key(parent, name))?.nth(n)
    }

    /// Which of its siblings of the same name a child is, from 1; none where it is the only one.
    pub(super) fn ordinal(&self, parent: Ref, name: &str, child: Ref) -> Option<u32> {
        let group = self.groups.get(&key(parent, name))?;
        if group.len() < 2 {
            return None;
        }
        group.position(child).map(|at| at as u32 + 1)
    }
}

/// Siblings of one name, in their order. A large group leaves gaps where members went and counts
/// them in a Fenwick tree, so that thousands of equal siblings can go one by one.
#[derive(Debug)]
enum Group {
    Small(Vec<Ref>),
    Large(Box<Large>),
}

/// Groups up to this size are searched member by member.
const SMALL: usize = 16;

#[derive(Debug)]
struct Large {
    slots: Vec<Option<Ref>>,
    slot_of: FxHashMap<Ref, usize>,
    /// Fenwick tree over the slots that are taken; its first element stands for nothing.
    sums: Vec<usize>,
}

impl Default for Group {
    fn default() -> Self {
        Self::Small(Vec::new())
    }
}

impl FromIterator<Option<Ref>> for Large {
    fn from_iter<I: IntoIterator<Item = Option<Ref>>>(slots: I) -> Self {
        let mut large = Self { slots: Vec::new(), slot_of: FxHashMap::default(), sums: vec![0] };
        for slot in slots {
            large.append(slot);
        }
        large
    }
}

impl Group {
    fn len(&self) -> usize {
        match self {
            Self::Small(members) => members.len(),
            Self::Large(large) => large.slot_of.len(),
        }
    }

    fn last(&self) -> Option<Ref> {
        self.nth(self.len().checked_sub(1)?)
    }

    fn contains(&self, child: Ref) -> bool {
        match self {
            Self::Small(members) => members.contains(&child),
            Self::Large(large) => large.slot_of.contains_key(&child),
        }
    }

    fn append(&mut self, child: Ref) {
        match self {
            Self::Small(members) => {
                members.push(child);
                self.grow();
            }
            Self::Large(large) => large.append(Some(child)),
        }
    }

    fn insert_before(&mut self, child: Ref, next: Ref) {
        match self {
            Self::Small(members) => {
                let at = members.iter().position(|member| *member == next);
                members.insert(at.unwrap_or(members.len()), child);
                self.grow();
            }
            Self::Large(large) => large.insert_before(child, next),
        }
    }

    fn grow(&mut self) {
        if let Self::Small(members) = self
            && members.len() > SMALL
        {
            *self = Self::Large(Box::new(members.drain(..).map(Some).collect()));
        }
    }

    fn remove(&mut self, child: Ref) {
        match self {
            Self::Small(members) => members.retain(|member| *member != child),
            Self::Large(large) => large.remove(child),
        }
    }

    fn position(&self, child: Ref) -> Option<usize> {
        match self {
            Self::Small(members) => members.iter().position(|member| *member == child),
            Self::Large(large) => large.slot_of.get(&child).map(|slot| large.taken_before(*slot)),
        }
    }

    fn nth(&self, n: usize) -> Option<Ref> {
        match self {
            Self::Small(members) => members.get(n).copied(),
            Self::Large(large) => large.nth(n),
        }
    }
}

impl Large {
    fn append(&mut self, child: Option<Ref>) {
        let slot = self.slots.len();
        self.slots.push(child);
        if let Some(child) = child {
            self.slot_of.insert(child, slot);
        }
        let at = slot + 1;
        let lowest = at & at.wrapping_neg();
        let before = self.taken_before(slot) - self.taken_before(at - lowest);
        self.sums.push(before + usize::from(child.is_some()));
    }

    /// Takes a gap in front of a member, such as a deletion that is taken back left there. Where
    /// there is none, makes as many as there are members: thousands may come back one by one.
    fn insert_before(&mut self, child: Ref, next: Ref) {
        let Some(at) = self.slot_of.get(&next).copied() else {
            self.append(Some(child));
            return;
        };
        let gap = at.checked_sub(1).filter(|gap| self.slots[*gap].is_none());
        let Some(gap) = gap else {
            let gaps = self.slot_of.len();
            let (front, back) = self.slots.split_at(at);
            let taken = |slots: &[Option<Ref>]| -> Vec<_> {
                slots.iter().copied().flatten().map(Some).collect()
            };
            let gaps = std::iter::repeat_n(None, gaps).chain([Some(child)]);
            *self = taken(front).into_iter().chain(gaps).chain(taken(back)).collect();
            return;
        };
        self.slots[gap] = Some(child);
        self.slot_of.insert(child, gap);
        let mut at = gap + 1;
        while at < self.sums.len() {
            self.sums[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    fn remove(&mut self, child: Ref) {
        let Some(slot) = self.slot_of.remove(&child) else {
            return;
        };
        self.slots[slot] = None;
        let mut at = slot + 1;
        while at < self.sums.len() {
            self.sums[at] -= 1;
            at += at & at.wrapping_neg();
        }
    }

    /// How many of the slots before this one are taken.
    fn taken_before(&self, slot: usize) -> usize {
        let (mut at, mut sum) = (slot, 0);
        while at > 0 {
            sum += self.sums[at];
            at -= at & at.wrapping_neg();
        }
        sum
    }

    fn nth(&self, n: usize) -> Option<Ref> {
        let (mut at, mut left) = (0, n);
        let mut step = self.sums.len().next_power_of_two();
        while step > 0 {
            if let Some(sum) = self.sums.get(at + step)
                && *sum <= left
            {
                at += step;
                left -= sum;
            }
            step /= 2;
        }
        self.slots.get(at).copied().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_counts_as_a_list_does() {
        let (mut group, mut list) = (Group::default(), Vec::new());
        for round in 0..200_usize {
            let child = Ref::new();
            group.append(child);
            list.push(child);
            if round % 4 == 1 {
                let at = round * 5 % list.len();
                let child = Ref::new();
                group.insert_before(child, list[at]);
                list.insert(at, child);
            }
            if round % 3 == 2 {
                let gone = list.remove(round * 7 % list.len());
                group.remove(gone);
            }
            assert_eq!(group.len(), list.len());
            for (n, member) in list.iter().enumerate() {
                assert_eq!(group.position(*member), Some(n));
                assert_eq!(group.nth(n), Some(*member));
                assert!(group.contains(*member));
            }
            assert_eq!(group.last(), list.last().copied());
            assert_eq!(group.nth(list.len()), None);
        }
    }
}
