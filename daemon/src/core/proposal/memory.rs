//! Changes of the project's memory: a text that no compiler judges.

use scene_schemas::proposal::ScriptDiff;
use scene_schemas::{Command, Fingerprint};

use super::perform::memory_of;
use super::{CONTEXT, Draft};
use crate::core::edit;
use crate::core::refusal::{Refusal, refuse};

impl Draft<'_> {
    /// The project's memory with all that was drafted so far.
    ///
    /// # Errors
    /// It is not known here.
    pub fn memory(&self) -> Result<&str, Refusal> {
        memory_of(self.scene)
    }

    /// Drafts another text of the memory.
    ///
    /// # Errors
    /// It is not known here, or this is what it is.
    pub fn edit_memory(&mut self, after: &str) -> Result<(), Refusal> {
        let before = memory_of(self.scene)?;
        if before == after {
            return refuse!("The memory says so already.");
        }
        let (edits, expect) = (edit::whole(before, after), Fingerprint::of(before.as_bytes()));
        let target = self.scene.target(self.scene.root());
        self.title("Edit the project's memory");
        self.push(Command::EditMemory { target, edits, expect }).map(drop)
    }

    /// Keeps what the memory was before the first command that changes it.
    pub(super) fn note_memory(&mut self, command: &Command, at: u32) {
        if matches!(command, Command::EditMemory { .. }) {
            let before = match self.memory.take() {
                Some((before, _)) => before,
                None => self.scene.memory().unwrap_or_default().to_owned(),
            };
            self.memory = Some((before, at));
        }
    }

    /// Describes the change of the memory. It has the path of the place.
    pub(super) fn judge_memory(&mut self) -> Option<ScriptDiff> {
        let (before, command) = self.memory.take()?;
        let after = self.scene.memory()?;
        if before == after {
            return None;
        }
        self.class = self.class.max(edit::change_class(&before, after));
        let hunks = edit::hunks(&before, after, CONTEXT);
        let edit::LineCounts { added, removed } = edit::line_counts(&before, after);
        let path = self.scene.path(self.scene.root());
        Some(ScriptDiff { command, path, added, removed, hunks })
    }
}
