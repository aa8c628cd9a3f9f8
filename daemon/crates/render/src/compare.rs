//! Compares a place before and after a change by what is visible, regardless of the edits made.

use rustc_hash::FxHashMap;
use vector_place::Node;

use super::solid::{ChangeMark, Solid, SolidSet};

/// Marks solids that were added or removed, or that look different. Both sets must come from the
/// same scene.
pub(super) fn mark_changes(before: &mut SolidSet, after: &mut SolidSet) {
    let mut known: FxHashMap<Node, usize> =
        before.all.iter().zip(0..).map(|(solid, at)| (solid.node, at)).collect();
    for solid in &mut after.all {
        match known.remove(&solid.node) {
            None => solid.mark = ChangeMark::Added,
            Some(at) if has_same_look(&before.all[at], solid) => {}
            Some(at) => {
                solid.mark = ChangeMark::Changed;
                before.all[at].mark = ChangeMark::Changed;
            }
        }
    }
    for at in known.into_values() {
        before.all[at].mark = ChangeMark::Removed;
    }
}

fn has_same_look(one: &Solid, other: &Solid) -> bool {
    Solid { mark: other.mark, ..*one } == *other
}
