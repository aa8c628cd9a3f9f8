//! Ids of the instances that a proposal creates: `new:K`, numbered in order of creation.

use scene_schemas::entry::Seq;

use super::Scene;

impl Scene {
    /// Makes `new:K` ids refer to the instances created by this proposal from now on.
    pub fn begin_scope(&mut self, scope: Seq) {
        self.scope = scope;
        self.planned_number = None;
    }

    /// Sets the number of the next created instance. Needed if preceding instances of the proposal
    /// were created in another scene, so that counting would give another number.
    pub fn set_next_number(&mut self, k: u32) {
        self.planned_number = Some(k);
    }

    /// Returns the number that the next created instance of this proposal gets.
    pub fn next_new_number(&self) -> u32 {
        if let Some(k) = self.planned_number {
            return k;
        }
        let of_scope = (self.scope, 0)..=(self.scope, u32::MAX);
        self.created_by_id.range(of_scope).next_back().map_or(0, |((_, k), _)| k + 1)
    }
}
