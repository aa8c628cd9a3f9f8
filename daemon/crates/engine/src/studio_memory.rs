//! The memory of an open place: a file that Vector keeps, and that Studio does not know.
//!
//! Memory proposals need approval like all others, but are written here instead of being sent to
//! Studio. A proposal changes either the memory or the place, so each is applied whole or not at
//! all.

use std::path::PathBuf;

use scene_schemas::entry::Seq;
use scene_schemas::proposal::Ack;
use scene_schemas::{Command, Fingerprint};
use vector_core::workflow::{PendingStatus, WorkflowInput};

use crate::planner::Planner;
use crate::target::studio::{self, StudioTarget};
use crate::{Engine, EngineError};

impl Engine {
    /// Whether a proposal in an open place changes the memory.
    pub(crate) fn is_memory_change(&self, seq: Seq) -> bool {
        let commands = self.find_proposal(seq).map_or(&[][..], |(_, it)| &it.proposal.commands);
        commands.iter().any(Command::is_memory)
    }

    /// Whether Studio applies the whole proposal.
    pub(crate) fn is_studio_only(&self, seq: Seq) -> bool {
        let is_in_files =
            self.find_proposal(seq).is_some_and(|(_, it)| it.proposal.files.is_some());
        !is_in_files && !self.is_memory_change(seq)
    }

    /// Reads the memory of the place or project, which the user may have edited. Pending proposals
    /// are overlaid again on it.
    pub fn read_memory(&mut self) {
        // A memory that is not valid text is not loaded, so calls that edit it are refused.
        if let Some(text) = self.target.driver_mut().read_memory() {
            self.requeue_overlay();
            self.planner.scene.load_memory(text);
        }
    }

    fn memory_file(&self) -> Option<PathBuf> {
        self.studio().map(StudioTarget::memory_file)
    }

    /// Writes the memory as an approved proposal leaves it. If the process is killed midway, this
    /// runs again and finds the written file.
    pub(crate) fn write_memory(&mut self, seq: Seq) -> Result<(), EngineError> {
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
            let acted = WorkflowInput::Acted { proposal: seq, ack };
            return self.handle_for_proposal(seq, acted).map(drop);
        }
        let mark = self.planner.scene.journal_mark();
        let Planner { scene, blobs, .. } = &mut self.planner;
        let prepared = studio::prepare_actions(scene, call, &proposal, blobs);
        let text = scene.memory().unwrap_or_default().to_owned();
        scene.rollback(mark);
        let ack = match prepared {
            Ok(prepared) => prepared.ack,
            Err(refusal) => {
                let reason = format!("{refusal} It is replanned for the current state.");
                let not_done = predicted.map(|_| seq).into_iter().collect();
                let moved = WorkflowInput::Moved { reason, not_done };
                return self.handle_for_proposal(seq, moved).map(drop);
            }
        };
        let name = file.display().to_string();
        if predicted.is_none() {
            let (file, acks) = (name.clone(), vec![ack.clone()]);
            let applying =
                WorkflowInput::Applying { proposals: vec![seq], file, before: None, acks };
            self.handle_for_proposal(seq, applying)?;
        }
        if let Err(why) = studio::write_memory(file, &text) {
            let reason = format!("{name} was not written and is unchanged: {why}.");
            return self.fail_proposal(seq, reason);
        }
        let acted = WorkflowInput::Acted { proposal: seq, ack: Box::new(ack) };
        self.handle_for_proposal(seq, acted)?;
        self.read_memory();
        Ok(())
    }

    /// Whether the memory is as a proposal was to leave it.
    fn is_memory_written(&self, ack: &Ack) -> bool {
        let now = self.planner.scene.memory().map(|text| Fingerprint::hash_bytes(text.as_bytes()));
        now.is_some() && ack.outcomes.last().is_some_and(|left| left.fingerprint == now)
    }
}
