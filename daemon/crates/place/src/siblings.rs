//! An ordered, editable list of instances: the children of an instance, or those with one name.
//!
//! A short list is searched linearly. A long one leaves gaps where members were removed and counts
//! the taken slots in a Fenwick tree, so that tens of thousands can be added and removed one by
//! one.

use rustc_hash::FxHashMap;

use super::tree::NONE;

/// Lists up to this length are searched linearly.
const SHORT: usize = 16;

/// Distinct instances, in order.
#[derive(Debug, Clone)]
pub(super) enum SiblingList {
    Short(Vec<u32>),
    Long(Box<LongList>),
}

#[derive(Debug, Clone, Default)]
pub(super) struct LongList {
    /// The members, with [`NONE`] in unused slots.
    slots: Vec<u32>,
    slot_of: FxHashMap<u32, u32>,
    /// Fenwick tree over the taken slots; its first element is unused.
    sums: Vec<u32>,
}

impl Default for SiblingList {
    fn default() -> Self {
        Self::Short(Vec::new())
    }
}

impl FromIterator<u32> for SiblingList {
    fn from_iter<I: IntoIterator<Item = u32>>(members: I) -> Self {
        let members: Vec<u32> = members.into_iter().collect();
        if members.len() <= SHORT {
            return Self::Short(members);
        }
        Self::Long(Box::new(LongList::new(members)))
    }
}

impl SiblingList {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Short(members) => members.len(),
            Self::Long(long) => long.slot_of.len(),
        }
    }

    /// Returns the number of members before this one.
    pub(super) fn position(&self, member: u32) -> Option<usize> {
        match self {
            Self::Short(members) => members.iter().position(|it| *it == member),
            Self::Long(long) => {
                long.slot_of.get(&member).map(|slot| long.count_taken_before(*slot as usize))
            }
        }
    }

    pub(super) fn nth(&self, n: usize) -> Option<u32> {
        match self {
            Self::Short(members) => members.get(n).copied(),
            Self::Long(long) => long.nth(n),
        }
    }

    pub(super) fn iter(&self) -> SiblingIter<'_> {
        match self {
            Self::Short(members) => SiblingIter { slots: members.iter(), left: members.len() },
            Self::Long(long) => SiblingIter { slots: long.slots.iter(), left: long.slot_of.len() },
        }
    }

    pub(super) fn push(&mut self, member: u32) {
        match self {
            Self::Short(members) => {
                members.push(member);
                self.grow();
            }
            Self::Long(long) => long.push(member),
        }
    }

    /// Inserts a member at a position, or at the end if the list is shorter.
    pub(super) fn insert(&mut self, at: usize, member: u32) {
        if at >= self.len() {
            return self.push(member);
        }
        match self {
            Self::Short(members) => {
                members.insert(at, member);
                self.grow();
            }
            Self::Long(long) => {
                if let Some(next) = long.nth(at) {
                    long.insert_before(member, next);
                }
            }
        }
    }

    pub(super) fn remove(&mut self, member: u32) {
        match self {
            Self::Short(members) => members.retain(|it| *it != member),
            Self::Long(long) => long.remove(member),
        }
    }

    fn grow(&mut self) {
        if let Self::Short(members) = self
            && members.len() > SHORT
        {
            *self = Self::Long(Box::new(LongList::new(std::mem::take(members))));
        }
    }
}

impl LongList {
    fn new(slots: Vec<u32>) -> Self {
        let taken = || slots.iter().zip(0_u32..).filter(|(member, _)| **member != NONE);
        let slot_of = taken().map(|(member, slot)| (*member, slot)).collect();
        let mut sums = vec![0; slots.len() + 1];
        for (_, slot) in taken() {
            sums[slot as usize + 1] = 1;
        }
        for at in 1..sums.len() {
            let above = at + (at & at.wrapping_neg());
            if above < sums.len() {
                sums[above] += sums[at];
            }
        }
        Self { slots, slot_of, sums }
    }

    fn push(&mut self, member: u32) {
        let slot = self.slots.len();
        self.slots.push(member);
        self.slot_of.insert(member, slot as u32);
        // The new element covers the slots above the last power of two below it.
        let at = slot + 1;
        let (mut sum, mut below) = (1, slot);
        let floor = at - (at & at.wrapping_neg());
        while below > floor {
            sum += self.sums[below];
            below -= below & below.wrapping_neg();
        }
        self.sums.push(sum);
    }

    fn insert_before(&mut self, member: u32, next: u32) {
        let Some(at) = self.slot_of.get(&next).map(|slot| *slot as usize) else {
            return self.push(member);
        };
        let Some(gap) = at.checked_sub(1).filter(|gap| self.slots[*gap] == NONE) else {
            // Leave one gap before each member, and one per member at the insertion point.
            let spread = |slots: &[u32]| -> Vec<u32> {
                slots.iter().filter(|it| **it != NONE).flat_map(|it| [NONE, *it]).collect()
            };
            let (mut slots, back) = (spread(&self.slots[..at]), spread(&self.slots[at..]));
            slots.extend(std::iter::repeat_n(NONE, self.slot_of.len()));
            slots.push(member);
            slots.extend(back);
            *self = Self::new(slots);
            return;
        };
        self.slots[gap] = member;
        self.slot_of.insert(member, gap as u32);
        let mut at = gap + 1;
        while at < self.sums.len() {
            self.sums[at] += 1;
            at += at & at.wrapping_neg();
        }
    }

    fn remove(&mut self, member: u32) {
        let Some(slot) = self.slot_of.remove(&member) else {
            return;
        };
        self.slots[slot as usize] = NONE;
        let mut at = slot as usize + 1;
        while at < self.sums.len() {
            self.sums[at] -= 1;
            at += at & at.wrapping_neg();
        }
    }

    /// Returns how many of the slots before this one are taken.
    fn count_taken_before(&self, slot: usize) -> usize {
        let (mut at, mut sum) = (slot, 0);
        while at > 0 {
            sum += self.sums[at];
            at -= at & at.wrapping_neg();
        }
        sum as usize
    }

    fn nth(&self, n: usize) -> Option<u32> {
        let (mut at, mut left) = (0, n as u32);
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
        self.slots.get(at).copied().filter(|member| *member != NONE)
    }
}

/// Iterates over the members in order.
#[derive(Debug, Clone)]
pub(super) struct SiblingIter<'a> {
    slots: std::slice::Iter<'a, u32>,
    left: usize,
}

impl<'a> SiblingIter<'a> {
    /// Iterates over a list without gaps.
    pub(super) fn from_slice(members: &'a [u32]) -> Self {
        Self { slots: members.iter(), left: members.len() }
    }
}

impl Iterator for SiblingIter<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        let member = self.slots.find(|member| **member != NONE)?;
        self.left -= 1;
        Some(*member)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl DoubleEndedIterator for SiblingIter<'_> {
    fn next_back(&mut self) -> Option<u32> {
        let member = self.slots.rfind(|member| **member != NONE)?;
        self.left -= 1;
        Some(*member)
    }
}

impl ExactSizeIterator for SiblingIter<'_> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sibling_list_behaves_like_a_vec() {
        let (mut siblings, mut list) = (SiblingList::default(), Vec::new());
        for round in 0..300_usize {
            let new = 2 * round as u32;
            siblings.push(new);
            list.push(new);
            if round % 4 == 1 {
                let at = round * 5 % list.len();
                siblings.insert(at, new + 1);
                list.insert(at, new + 1);
            }
            if round % 3 == 2 {
                siblings.remove(list.remove(round * 7 % list.len()));
            }
            assert_eq!(siblings.len(), list.len());
            assert_eq!(siblings.iter().collect::<Vec<_>>(), list);
            assert_eq!(siblings.iter().rev().count(), siblings.iter().len());
            for (n, member) in list.iter().enumerate() {
                assert_eq!(siblings.position(*member), Some(n));
                assert_eq!(siblings.nth(n), Some(*member));
            }
            assert_eq!(siblings.nth(list.len()), None);
            let again: SiblingList = list.iter().copied().collect();
            assert_eq!(again.nth(list.len() / 2), Some(list[list.len() / 2]));
        }
    }
}
