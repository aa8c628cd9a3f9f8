//! The overlay: pending proposals applied to the scene but not to the target, so that the next call
//! is planned on top of them.

use scene_schemas::Command;
use scene_schemas::Refusal;
use scene_schemas::entry::{Entry, Record, Seq};
use vector_core::proposal::try_command;
use vector_core::workflow::PendingStatus;
use vector_place::JournalMark;

use crate::{Engine, EngineError, Target};

impl Engine {
    /// Rolls back proposals that are no longer pending, and everything on top of them.
    pub(super) fn drop_settled(&mut self) {
        let is_pending = |seq: Seq| {
            self.find_proposal(seq).is_some_and(|(_, pending)| pending.status.is_pending())
        };
        if let Some(at) = self.overlay.iter().position(|(seq, _)| !is_pending(*seq)) {
            self.drop_overlay_from(at);
        }
    }

    /// Keeps the texts that a proposal was planned on, in case it is replanned.
    pub(super) fn save_planned_texts(&mut self, proposal: Seq) {
        let Some((_, pending)) = self.state.find_proposal(proposal) else {
            return;
        };
        for command in &pending.proposal.commands {
            let Command::EditScript { target, .. } = command else {
                continue;
            };
            if let Ok(node) = self.scene.locate(target)
                && let Some(text) = self.scene.script_text(node)
            {
                let texts = self.planned_texts.entry(pending.call).or_default();
                texts.entry(target.path.clone()).or_insert_with(|| text.into_owned());
            }
        }
    }

    /// Returns the reason a proposal cannot be changed now.
    pub(super) fn overlay_refusal(&self, proposal: Seq) -> Refusal {
        let waits = |status: &PendingStatus| *status == PendingStatus::Waiting;
        Refusal(if self.find_proposal(proposal).is_some_and(|(_, it)| waits(&it.status)) {
            "The place is being read or changed now; say it again in a moment.".to_owned()
        } else {
            format!("Proposal {proposal} is no longer pending.")
        })
    }

    /// Keeps a newly proposed change in the overlay. If nothing was proposed, rolls back to `mark`.
    pub(super) fn keep_overlay(&mut self, records: &[Record], mark: JournalMark) {
        let proposed = records.iter().find(|it| matches!(it.entry, Entry::Proposed { .. }));
        match proposed {
            Some(record) => self.overlay.push((record.seq, mark)),
            None => self.scene.rollback(mark),
        }
    }

    /// Applies pending proposals to the overlay again.
    pub(super) fn overlay_proposals(&mut self, proposals: &[Seq]) -> Result<(), EngineError> {
        for seq in proposals {
            let Some((_, pending)) = self.state.find_proposal(*seq) else {
                continue;
            };
            let mark = self.scene.journal_mark();
            self.scene.begin_scope(pending.call);
            for command in &pending.proposal.commands {
                try_command(&mut self.scene, command, &self.blobs)?;
            }
            self.overlay.push((*seq, mark));
        }
        Ok(())
    }

    /// Whether approved proposals still apply to the current scene: the change was in another file
    /// of the project, or did not affect what they touch.
    pub(super) fn can_reapply(&mut self, proposals: &[Seq]) -> bool {
        let mark = self.scene.journal_mark();
        let fit = self.overlay_proposals(proposals).is_ok();
        self.overlay.clear();
        self.scene.rollback(mark);
        fit
    }

    /// Rolls back the whole overlay.
    pub(super) fn drop_overlay(&mut self) {
        match self.target {
            // The dropped proposals are about to be applied, so their texts need not be kept.
            Target::File(_) => {
                let dropped = std::mem::take(&mut self.overlay);
                if let Some((_, mark)) = dropped.first() {
                    self.scene.rollback(*mark);
                }
                self.queue_overlay(dropped.into_iter().map(|(seq, _)| seq));
            }
            // The user may change the place before the proposals are overlaid again.
            Target::Project(_) => self.drop_overlay_from(0),
            Target::Open(_) => {
                self.drop_overlay_from(0);
                self.remove_unsynced_overlay();
            }
        }
    }

    /// Rolls back the overlay from position `at`, last proposal first, and keeps the texts that
    /// each was planned on. All of them are queued to be overlaid again if they are still pending.
    pub(super) fn drop_overlay_from(&mut self, at: usize) {
        let dropped = self.overlay.split_off(at);
        for (seq, mark) in dropped.iter().rev() {
            self.scene.rollback(*mark);
            self.save_planned_texts(*seq);
        }
        self.queue_overlay(dropped.into_iter().map(|(seq, _)| seq));
    }
}
