//! What others have worked out of a scene, kept beside it: whoever asks the same of the same scene again
//! need not work it out again, and where the scene goes, it goes too.
//!
//! What it is, and whether it still holds, is known by who put it there; [`Scene::turns`] and the
//! texts tell.

use std::any::Any;
use std::cell::RefCell;

use super::Scene;

/// What is kept, one of a type.
#[derive(Debug, Default)]
pub(super) struct DerivedCache(RefCell<Vec<Box<dyn Any + Send>>>);

/// How many instances there are, and at which of the tree's changes they were counted.
#[derive(Default)]
struct InstanceCount(Option<(u64, u32)>);

impl Scene {
    /// How many instances it has; of an open place, how many are mirrored. They are counted when the
    /// tree has changed.
    pub fn instance_count(&self) -> u32 {
        if self.is_open_in_studio() {
            return self.mirrored_count();
        }
        self.with_derived(|counted: &mut InstanceCount| match counted.0 {
            Some((turns, instances)) if turns == self.change_count() => instances,
            _ => {
                let instances = self.len() as u32;
                counted.0 = Some((self.change_count(), instances));
                instances
            }
        })
    }

    /// Works with what is kept of a type; the first time, with its default.
    pub fn with_derived<T: Any + Send + Default, R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // It is taken out meanwhile: the work may ask for something else that is kept.
        let at = self.derived.0.borrow().iter().position(|it| it.is::<T>());
        let taken = at.map(|at| self.derived.0.borrow_mut().swap_remove(at));
        let mut kept = taken.and_then(|it| it.downcast::<T>().ok()).unwrap_or_default();
        let result = work(&mut kept);
        self.derived.0.borrow_mut().push(kept);
        result
    }

    /// A number that is another one after each change of the tree: whoever came, went, moved or got
    /// another name. It tells nothing of properties.
    pub fn change_count(&self) -> u64 {
        self.tree.change_count()
    }
}
