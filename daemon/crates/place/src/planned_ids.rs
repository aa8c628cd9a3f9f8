//! What a proposal calls what it creates: `new:K`, in the order in which it does.

use scene_schemas::entry::Seq;

use super::Scene;

impl Scene {
    /// From now on `new:K` means what this proposal creates.
    pub fn begin_scope(&mut self, scope: Seq) {
        self.scope = scope;
        self.planned_number = None;
    }

    /// What is created next is called `new:K`, and not as it would be in its turn: what was created
    /// before it is somewhere else.
    pub fn set_next_number(&mut self, k: u32) {
        self.planned_number = Some(k);
    }

    /// The number that the next created instance of this proposal gets.
    pub fn next_new_number(&self) -> u32 {
        if let Some(k) = self.planned_number {
            return k;
        }
        let of_scope = (self.scope, 0)..=(self.scope, u32::MAX);
        self.created_by_id.range(of_scope).next_back().map_or(0, |((_, k), _)| k + 1)
    }
}
