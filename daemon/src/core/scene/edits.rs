//! What was set since a file was read: values by class, property and instance, laid over the file.
//!
//! Most edits give many instances the same value, so values stand in a pool and an instance holds a
//! number. Nothing here knows what a file says.

use rbx_dom_weak::Ustr;
use rbx_types::Variant;
use rustc_hash::FxHashMap;

/// What was set for a property of an instance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Edit<'a> {
    /// Nothing: the file tells.
    None,
    /// It has no value of its own any more.
    Removed,
    /// A value.
    Set(&'a Variant),
}

/// The number of a value in the pool, or one of the two below.
pub(super) type Slot = u32;
const UNTOUCHED: Slot = u32::MAX;
const REMOVED: Slot = u32::MAX - 1;

/// A property of a class, for all instances for which it was set.
#[derive(Debug)]
pub(super) struct EditColumn {
    pub(super) key: Ustr,
    rows: FxHashMap<u32, Slot>,
}

impl EditColumn {
    /// The instances for which something was set, in no order.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> {
        self.rows.keys().copied()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of the value that was set; equal numbers are equal values.
    pub(super) fn slot(&self, node: u32) -> Slot {
        self.rows.get(&node).copied().unwrap_or(UNTOUCHED)
    }
}

#[derive(Debug, Default)]
pub(super) struct Edits {
    columns: Vec<EditColumn>,
    by_key: FxHashMap<(u32, Ustr), u32>,
    by_class: FxHashMap<u32, Vec<u32>>,
    pool: Vec<Variant>,
}

impl Edits {
    /// The column of a property of a class.
    pub(super) fn column(&mut self, class: u32, key: Ustr) -> u32 {
        let new = self.columns.len() as u32;
        let column = *self.by_key.entry((class, key)).or_insert(new);
        if column == new {
            self.columns.push(EditColumn { key, rows: FxHashMap::default() });
            self.by_class.entry(class).or_default().push(new);
        }
        column
    }

    /// Sets what stands for a property; says what stood there.
    pub(super) fn put(&mut self, column: u32, node: u32, value: Option<Variant>) -> Slot {
        let slot = match value {
            None => REMOVED,
            Some(value) => {
                if self.pool.last() != Some(&value) {
                    self.pool.push(value);
                }
                self.pool.len() as u32 - 1
            }
        };
        self.put_slot(column, node, slot)
    }

    pub(super) fn put_slot(&mut self, column: u32, node: u32, slot: Slot) -> Slot {
        let Some(column) = self.columns.get_mut(column as usize) else {
            return UNTOUCHED;
        };
        let before = match slot {
            UNTOUCHED => column.rows.remove(&node),
            slot => column.rows.insert(node, slot),
        };
        before.unwrap_or(UNTOUCHED)
    }

    /// Forgets all that was set for an instance.
    pub(super) fn forget(&mut self, class: u32, node: u32) {
        for column in self.by_class.get(&class).into_iter().flatten() {
            if let Some(column) = self.columns.get_mut(*column as usize) {
                column.rows.remove(&node);
            }
        }
    }

    /// Sets for one instance what was set for another of the same class.
    pub(super) fn copy(&mut self, class: u32, from: u32, to: u32) {
        for column in self.by_class.get(&class).into_iter().flatten() {
            if let Some(column) = self.columns.get_mut(*column as usize)
                && let Some(slot) = column.rows.get(&from).copied()
            {
                column.rows.insert(to, slot);
            }
        }
    }

    /// What was set for a property of an instance.
    pub(super) fn get(&self, class: u32, key: Ustr, node: u32) -> Edit<'_> {
        let column = self.by_key.get(&(class, key)).and_then(|at| self.columns.get(*at as usize));
        column.map_or(Edit::None, |column| self.of(column, node))
    }

    /// What was set in a column for an instance.
    pub(super) fn of(&self, column: &EditColumn, node: u32) -> Edit<'_> {
        self.value(column.slot(node))
    }

    /// The value of a number.
    pub(super) fn value(&self, slot: Slot) -> Edit<'_> {
        match slot {
            UNTOUCHED => Edit::None,
            REMOVED => Edit::Removed,
            slot => self.pool.get(slot as usize).map_or(Edit::None, Edit::Set),
        }
    }

    /// The instances for which something was set, in no order, some of them more than once.
    pub(super) fn nodes(&self) -> impl Iterator<Item = u32> {
        self.columns.iter().flat_map(EditColumn::nodes)
    }

    /// The columns of a class for which something was set.
    pub(super) fn of_class(&self, class: u32) -> impl Iterator<Item = &EditColumn> {
        let columns = self.by_class.get(&class).into_iter().flatten();
        columns.filter_map(|at| self.columns.get(*at as usize)).filter(|it| !it.is_empty())
    }
}
