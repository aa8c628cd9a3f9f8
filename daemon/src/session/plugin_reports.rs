//! Reports of the plugin about its place: restarts, instances, undo and redo, and the outcomes of
//! proposals.

use scene_schemas::InstancePath;
use scene_schemas::api::{
    ApplyAck, ApplyReceipt, Failure, FailureKind, PluginQuery, ScenePart, SceneReceipt, SceneUpdate,
};
use scene_schemas::entry::{Seq, StudioPlace};
use vector_core::workflow::WorkflowInput;
use vector_engine::EngineError;
use vector_engine::studio::{AwaitedAnswer, parse_recording};

use super::orphaned;
use super::{SessionActor, engine_failure};
use crate::event_hub::AWAY;
use crate::failure::failure;

impl SessionActor {
    /// Handles the restart of the plugin. It has forgotten all questions, and sends the whole place
    /// again.
    pub(super) fn handle_hello(&mut self, place: StudioPlace) {
        if let Some(slot) = self.event_hub.slot(&self.session) {
            self.slot = slot;
        }
        self.engine.update_place(place);
        self.engine.reset_mirror();
        self.version = 0;
        // A ledger error shows up again when the engine runs.
        let _ = self.engine.fail_playtests();
    }

    /// Whether the place is open in Studio, and its plugin has been silent for too long.
    pub(super) fn is_studio_away(&self) -> bool {
        self.engine.studio().is_some() && self.slot.silence_duration() >= AWAY
    }

    /// Whether a report is of the current epoch. The session may have been restarted while the
    /// report was queued.
    pub(super) fn check_epoch(&self, epoch: u64) -> Result<(), Failure> {
        if epoch == self.slot.epoch() {
            return Ok(());
        }
        let message = format!("Session {} was restarted.", self.session);
        Err(failure(FailureKind::Stale, message, "Say hello again."))
    }

    pub(super) fn update_scene(&mut self, update: &SceneUpdate) -> Result<SceneReceipt, Failure> {
        self.check_epoch(update.epoch)?;
        if update.version < self.version {
            // A second copy of an earlier update, which arrived late.
            return Ok(SceneReceipt { instances: self.engine.scene().mirrored_count() });
        }
        for part in &update.parts {
            self.handle_undo(part).map_err(|error| engine_failure(&error))?;
            let result = self.engine.update_mirror(part).map_err(|error| engine_failure(&error))?;
            if let Err(torn) = result {
                // The mirror is invalid now.
                self.engine.reset_mirror();
                return Err(failure(
                    FailureKind::Stale,
                    format!("The report does not match the mirror: {torn}."),
                    "Send a complete snapshot.",
                ));
            }
        }
        self.version = update.version;
        if update.parts.iter().any(|part| matches!(part, ScenePart::End {})) {
            self.engine.detect_linked_project().map_err(|error| engine_failure(&error))?;
        }
        Ok(SceneReceipt { instances: self.engine.scene().mirrored_count() })
    }

    /// Records that the user has undone or redone a proposal whose workflow is finished. The engine
    /// handles those of active workflows.
    fn handle_undo(&mut self, part: &ScenePart) -> Result<(), EngineError> {
        let (ScenePart::Undone { recording, edited } | ScenePart::Redone { recording, edited }) =
            part
        else {
            return Ok(());
        };
        let Some(proposal) = parse_recording(recording) else {
            return Ok(());
        };
        let Some(record) = self.ledger.record_at(proposal)? else {
            return Ok(());
        };
        if self.engine.is_active(record.workflow) {
            return Ok(());
        }
        let again = matches!(part, ScenePart::Redone { .. });
        let left = self.engine.follow_undo(proposal, again, edited)?;
        let input = WorkflowInput::Undone { proposal, is_redone: again, left };
        let records =
            orphaned::append_inputs(&self.ledger, &self.event_hub, record.workflow, [input])?;
        self.engine.apply_past_records(&records);
        Ok(())
    }

    /// Asks Studio to show a script or an instance.
    pub(super) fn reveal(
        &mut self,
        path: &InstancePath,
        line: Option<u32>,
    ) -> Result<AwaitedAnswer, Failure> {
        let scene = self.engine.mirror_scene();
        let id = scene.resolve(path).map(|node| scene.id(node)).map_err(|refusal| {
            failure(FailureKind::NotFound, refusal.0, "It may not exist yet, or have been renamed.")
        })?;
        if self.is_studio_away() {
            let message = "Studio does not answer at the moment.";
            let hint = "Check that the place is open, and that Vector's plugin is connected.";
            return Err(failure(FailureKind::Settled, message, hint));
        }
        self.engine.ask_studio_for_person(PluginQuery::Reveal { id, line }).ok_or_else(|| {
            let message = "This place is not open in Studio.";
            failure(FailureKind::Settled, message, "Open its file in your editor instead.")
        })
    }

    pub(super) fn acknowledge(&mut self, seq: Seq, ack: ApplyAck) -> Result<ApplyReceipt, Failure> {
        self.check_epoch(ack.epoch)?;
        let is_news = self.engine.acknowledge(seq, &ack.patch_id, ack.outcome);
        is_news
            .map(|is_news| ApplyReceipt { is_new: is_news })
            .map_err(|error| engine_failure(&error))
    }
}
