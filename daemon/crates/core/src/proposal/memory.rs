//! Drafting of changes to the project's memory, a text that is not compiled.

use scene_schemas::proposal::{Class, ScriptDiff};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{Command, Fingerprint};

use super::perform::memory_of;
use super::{CONTEXT, ProposalDraft};

impl ProposalDraft<'_> {
    /// Returns the project's memory, including the drafted changes.
    ///
    /// # Errors
    /// The memory is not available.
    pub fn memory_text(&self) -> Result<&str, Refusal> {
        memory_of(self.scene)
    }

    /// Drafts a new text of the memory.
    ///
    /// # Errors
    /// The memory is not available, or the text is unchanged.
    pub fn edit_memory(&mut self, after: &str) -> Result<(), Refusal> {
        let before = memory_of(self.scene)?;
        if before == after {
            return refuse!("The memory already contains this.");
        }
        let (edits, expect) = (
            vector_text_edit::diff_lines(before, after),
            Fingerprint::hash_bytes(before.as_bytes()),
        );
        let target = self.scene.target(self.scene.root());
        self.set_title("Edit the project's memory");
        self.push_command(Command::EditMemory { target, edits, expect }).map(drop)
    }

    /// Checks that the draft can be applied as one unit. The memory of an open place is a file,
    /// which Studio and its undo do not cover.
    ///
    /// # Errors
    /// The draft changes both an open place and its memory.
    pub(super) fn check_memory_alone(&self) -> Result<(), Refusal> {
        let mut others = self.commands.iter().filter(|it| !it.is_memory());
        if self.scene.is_open_in_studio() && self.memory.is_some() && others.next().is_some() {
            return refuse!(
                "In a place that is open in Studio, the memory needs a proposal of its own, because \
                 Studio's undo does not revert it. Call edit_memory separately."
            );
        }
        Ok(())
    }

    /// Records the memory before the first command that changes it.
    pub(super) fn note_memory(&mut self, command: &Command, at: u32) {
        if command.is_memory() {
            let before = match self.memory.take() {
                Some((before, _)) => before,
                None => self.scene.memory().unwrap_or_default().to_owned(),
            };
            self.memory = Some((before, at));
        }
    }

    /// Returns the diff of the memory, under the path of the place.
    pub(super) fn judge_memory(&mut self) -> Option<ScriptDiff> {
        let (before, command) = self.memory.take()?;
        let after = self.scene.memory()?;
        if before == after {
            return None;
        }
        // Later tasks and their models read the memory, so a change is never additive.
        self.class =
            self.class.max(vector_text_edit::classify_change(&before, after)).max(Class::Modifying);
        let hunks = vector_text_edit::diff_hunks(&before, after, CONTEXT);
        let vector_text_edit::LineCounts { added, removed } =
            vector_text_edit::line_counts(&before, after);
        let path = self.scene.path(self.scene.root());
        Some(ScriptDiff { command, path, left_out: false, added, removed, hunks })
    }
}
