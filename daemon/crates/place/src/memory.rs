//! The project's memory, which stands beside the place: changed and taken back with it.

use super::Scene;
use super::change::JournalStep;

impl Scene {
    /// The project's memory, empty where there is none yet; none where it is not known here.
    pub fn memory(&self) -> Option<&str> {
        self.memory.as_deref()
    }

    /// Says what the memory is before anything is done.
    pub fn load_memory(&mut self, text: String) {
        self.memory = Some(text);
    }

    pub fn set_memory(&mut self, text: String) {
        let before = self.memory.replace(text);
        self.journal.steps.push(JournalStep::MemorySet(before));
    }
}
