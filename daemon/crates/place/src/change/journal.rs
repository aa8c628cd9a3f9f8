//! The journal of edits: how each is undone, and which state the scene is in.

use rbx_dom_weak::Ustr;
use rbx_types::Variant;
use rustc_hash::FxHashMap;

use crate::edits::EditSlot;

/// The edits since the last saved state, oldest first.
#[derive(Debug, Default)]
pub(crate) struct EditJournal {
    pub(super) steps: Vec<JournalStep>,
    /// The state of the scene after each step.
    states: Vec<SceneState>,
    /// The state before the first step.
    start: SceneState,
    /// The last state that was given out.
    last: SceneState,
    /// Reverse index of references, built on the first query; entries may be stale.
    pub(super) pointers: Option<PointerMap>,
}

/// A state of a scene, which is reached again when later edits are rolled back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct SceneState(u64);

/// For each instance, the (holder, property) pairs that refer to it.
pub(super) type PointerMap = FxHashMap<u32, Vec<(u32, Ustr)>>;

#[derive(Debug)]
pub(super) enum JournalStep {
    /// A property of one instance. `column` is the number of its column of edits.
    Stored {
        node: u32,
        column: u32,
        before: EditSlot,
    },
    /// The same property of many instances.
    StoredMany(Box<ManyStored>),
    Renamed {
        node: u32,
        before: String,
    },
    Inserted {
        node: u32,
    },
    Moved {
        node: u32,
        parent: u32,
        index: u32,
    },
    Deleted {
        node: u32,
        parent: u32,
        index: u32,
    },
    Returned {
        node: u32,
    },
}

/// One of many values to store.
pub(crate) enum NextValue {
    /// None to remove the stored value.
    New(Option<Variant>),
    /// The same as the one before.
    Same,
}

/// Edits of one property of many instances of a class.
#[derive(Debug)]
pub(super) struct ManyStored {
    pub(super) column: u32,
    pub(super) nodes: Vec<u32>,
    /// The slots before; empty if none of the instances had an edit.
    pub(super) before: Vec<EditSlot>,
    /// The number of different values in all edits before.
    pub(super) pool_len: usize,
}

/// A position in the edit journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct JournalMark(pub(super) usize);

impl EditJournal {
    pub(crate) fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    pub(super) fn push(&mut self, step: JournalStep) {
        self.last.0 += 1;
        self.states.push(self.last);
        self.steps.push(step);
    }

    pub(super) fn pop(&mut self) -> Option<JournalStep> {
        self.states.pop();
        self.steps.pop()
    }

    pub(super) fn clear(&mut self) {
        self.start = self.state();
        self.states.clear();
        self.steps.clear();
    }

    pub(super) fn state(&self) -> SceneState {
        self.state_at(self.states.len())
    }

    /// Returns the state after so many steps.
    pub(super) fn state_at(&self, steps: usize) -> SceneState {
        let last = steps.checked_sub(1).and_then(|at| self.states.get(at));
        last.copied().unwrap_or(self.start)
    }

    /// Makes all states differ from those of a journal that this one replaces.
    pub(super) fn follow(&mut self, replaced: &Self) {
        let past = replaced.last.0 + 1;
        let own = self.states.iter_mut().chain([&mut self.start, &mut self.last]);
        own.for_each(|state| state.0 += past);
    }

    /// Records a change that is not journalled.
    pub(crate) fn note_other_change(&mut self) {
        self.last.0 += 1;
        self.start = self.last;
        self.pointers = None;
    }

    /// Records that an instance was restored. Drops the pointer map, which does not cover it.
    pub(crate) fn note_restore(&mut self, node: u32) {
        self.push(JournalStep::Returned { node });
        self.pointers = None;
    }
}
