//! Cache of values that callers computed from a scene. It is dropped with the scene.
//!
//! The caller that stores a value knows whether it is still valid, using [`Scene::change_count`]
//! and [`Scene::texts_changed_since`].

use std::any::Any;
use std::cell::RefCell;

use super::Scene;

/// The cached values, one per type.
#[derive(Debug, Default)]
pub(super) struct DerivedCache(RefCell<Vec<Box<dyn Any + Send>>>);

/// The change count of the tree when instances were last counted, and the number of instances.
#[derive(Default)]
struct InstanceCount(Option<(u64, u32)>);

impl Scene {
    /// Returns the number of instances; for a place open in Studio, of mirrored ones. Counts them
    /// only after the tree has changed.
    pub fn instance_count(&self) -> u32 {
        if self.is_open_in_studio() {
            return self.mirrored_count();
        }
        self.with_derived(|counted: &mut InstanceCount| match counted.0 {
            Some((counted_at, instances)) if counted_at == self.change_count() => instances,
            _ => {
                let instances = self.len() as u32;
                counted.0 = Some((self.change_count(), instances));
                instances
            }
        })
    }

    /// Calls `work` with the cached value of a type, or with its default the first time.
    pub fn with_derived<T: Any + Send + Default, R>(&self, work: impl FnOnce(&mut T) -> R) -> R {
        // Take the value out meanwhile: `work` may access another cached value.
        let at = self.derived.0.borrow().iter().position(|it| it.is::<T>());
        let taken = at.map(|at| self.derived.0.borrow_mut().swap_remove(at));
        let mut kept = taken.and_then(|it| it.downcast::<T>().ok()).unwrap_or_default();
        let result = work(&mut kept);
        self.derived.0.borrow_mut().push(kept);
        result
    }

    /// Returns a number that differs after every change of the tree: an instance was added,
    /// removed, moved or renamed. Property changes do not affect it.
    pub fn change_count(&self) -> u64 {
        self.tree.change_count()
    }
}
