//! The project's memory. It is stored beside the place, but changed and rolled back with it.

use super::Scene;
use super::change::JournalStep;

impl Scene {
    /// Returns the project's memory: empty if there is none yet, None if it is not known.
    pub fn memory(&self) -> Option<&str> {
        self.memory.as_deref()
    }

    /// Sets the initial memory, without journalling it.
    pub fn load_memory(&mut self, text: String) {
        self.memory = Some(text);
    }

    pub fn set_memory(&mut self, text: String) {
        let before = self.memory.replace(text);
        self.journal.steps.push(JournalStep::MemorySet(before));
    }
}
