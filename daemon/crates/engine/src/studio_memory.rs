//! The memory of an open place: a file of Vector's own, of which Studio knows nothing.
//!
//! What is proposed for it goes through the same gate, and is written here instead of being handed out.
//! A proposal is of the memory alone or of the place alone, so each is whole or not at all.

use std::path::PathBuf;

use scene_schemas::entry::Seq;
use scene_schemas::proposal::Ack;
use scene_schemas::{Command, Fingerprint};
use vector_core::workflow::{PendingStatus, WorkflowInput};

use crate::studio::{self, StudioTarget};
use crate::{Engine, EngineError, Target};

impl Engine {
    /// Whether a proposal in an open place changes the memory.
    pub(super) fn is_memory_change(&self, seq: Seq) -> bool {
        let commands = self.find_proposal(seq).map_or(&[][..], |(_, it)| &it.proposal.commands);
        commands.iter().any(Command::is_memory)
    }

    /// Whether Studio alone does what a proposal in an open place says.
    pub(super) fn is_studio_only(&self, seq: Seq) -> bool {
        let is_in_files =
            self.find_proposal(seq).is_some_and(|(_, it)| it.proposal.files.is_some());
        !is_in_files && !self.is_memory_change(seq)
    }

    /// Reads the memory of the place or project, into which a person may have written. What waits
    /// is tried again on what it says.
    pub fn read_memory(&mut self) {
        // A file that is no text is not edited, and whoever tries is told.
        let text = match &mut self.target {
            Target::File(file) => file.read_memory(),
            Target::Project(project) => project.read_memory(),
            Target::Open(studio) => studio::read_memory(studio.memory_file()).ok(),
        };
        if let Some(text) = text {
            self.requeue_overlay();
            self.scene.load_memory(text);
        }
    }

    fn memory_file(&self) -> Option<PathBuf> {
        self.studio().map(StudioTarget::memory_file)
    }

    /// Writes what an approved proposal makes of the memory. Killed in between, this is done again, and
    /// finds what was written.
    pub(super) fn write_memory(&mut self, seq: Seq) -> Result<(), EngineError> {
        self.read_memory();
        let Some((file, (_, pending))) = self.memory_file().zip(self.find_proposal(seq)) else {
            return Ok(());
        };
        let (call, proposal) = (pending.call, pending.proposal.clone());
        let predicted = match &pending.status {
            PendingStatus::Applying(predicted) => Some(predicted.clone()),
            _ => None,
        };
        if let Some(ack) = predicted.as_ref().filter(|ack| self.is_memory_written(ack)) {
            let ack = ack.clone();
            return self.handle_input(WorkflowInput::Acted { proposal: seq, ack }).map(drop);
        }
        let mark = self.scene.journal_mark();
        let prepared = studio::prepare_actions(&mut self.scene, call, &proposal, &self.blobs);
        let text = self.scene.memory().unwrap_or_default().to_owned();
        self.scene.rollback(mark);
        let ack = match prepared {
            Ok(prepared) => prepared.ack,
            Err(refusal) => {
                let reason = format!("{refusal} It is planned again on what is there now.");
                let not_done = predicted.map(|_| seq).into_iter().collect();
                return self.handle_input(WorkflowInput::Moved { reason, not_done }).map(drop);
            }
        };
        let name = file.display().to_string();
        if predicted.is_none() {
            let (file, acks) = (name.clone(), vec![ack.clone()]);
            self.handle_input(WorkflowInput::Applying {
                proposals: vec![seq],
                file,
                before: None,
                acks,
            })?;
        }
        if let Err(why) = studio::write_memory(file, &text) {
            let reason = format!("{name} was not written and is as it was: {why}.");
            return self
                .handle_input(WorkflowInput::Failed { proposals: vec![seq], reason })
                .map(drop);
        }
        self.handle_input(WorkflowInput::Acted { proposal: seq, ack: Box::new(ack) })?;
        self.read_memory();
        Ok(())
    }

    /// Whether the memory is as a proposal was to leave it.
    fn is_memory_written(&self, ack: &Ack) -> bool {
        let now = self.scene.memory().map(|text| Fingerprint::hash_bytes(text.as_bytes()));
        now.is_some() && ack.outcomes.last().is_some_and(|left| left.fingerprint == now)
    }
}
