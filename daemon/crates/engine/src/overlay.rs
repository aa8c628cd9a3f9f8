//! What is on trial: pending proposals that are done in the scene and nowhere else, so that the next
//! call is planned on top of them.

use scene_schemas::Command;
use scene_schemas::Refusal;
use scene_schemas::entry::{Entry, Record, Seq};
use vector_core::proposal::try_command;
use vector_core::workflow::PendingStatus;
use vector_place::JournalMark;

use crate::{Engine, EngineError, Target};

impl Engine {
    /// Takes back what is no longer pending, and all that stood on it.
    pub(super) fn drop_settled(&mut self) {
        let is_pending = |seq: Seq| {
            self.find_proposal(seq).is_some_and(|(_, pending)| pending.status.is_pending())
        };
        if let Some(at) = self.overlay.iter().position(|(seq, _)| !is_pending(*seq)) {
            self.drop_overlay_from(at);
        }
    }

    /// Keeps the texts that a proposal was planned on, for the case that it is planned again.
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

    /// Why a proposal cannot be changed now.
    pub(super) fn overlay_refusal(&self, proposal: Seq) -> Refusal {
        let waits = |status: &PendingStatus| *status == PendingStatus::Waiting;
        Refusal(if self.find_proposal(proposal).is_some_and(|(_, it)| waits(&it.status)) {
            "The place is being read or changed now; say it again in a moment.".to_owned()
        } else {
            format!("Proposal {proposal} is no longer pending.")
        })
    }

    /// What was just proposed stays done on trial; what was not goes back.
    pub(super) fn keep_overlay(&mut self, records: &[Record], mark: JournalMark) {
        let proposed = records.iter().find(|it| matches!(it.entry, Entry::Proposed { .. }));
        match proposed {
            Some(record) => self.overlay.push((record.seq, mark)),
            None => self.scene.rollback(mark),
        }
    }

    /// Does pending proposals on trial once more.
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

    /// Whether approved proposals are what they were: another file of the project was changed, or what
    /// they touch is as it was.
    pub(super) fn can_reapply(&mut self, proposals: &[Seq]) -> bool {
        let mark = self.scene.journal_mark();
        let fit = self.overlay_proposals(proposals).is_ok();
        self.overlay.clear();
        self.scene.rollback(mark);
        fit
    }

    /// Takes all back that is on trial.
    pub(super) fn drop_overlay(&mut self) {
        match self.target {
            // What is dropped here is about to be done: its texts need not be kept.
            Target::File(_) => {
                let dropped = std::mem::take(&mut self.overlay);
                if let Some((_, mark)) = dropped.first() {
                    self.scene.rollback(*mark);
                }
                self.queue_overlay(dropped.into_iter().map(|(seq, _)| seq));
            }
            // The place may change before they are tried again, in a person's hands.
            Target::Project(_) => self.drop_overlay_from(0),
            Target::Open(_) => {
                self.drop_overlay_from(0);
                self.remove_unsynced_overlay();
            }
        }
    }

    /// Takes back what is on trial, the last first, and keeps the texts that each was planned on. What
    /// still waits is tried again.
    pub(super) fn drop_overlay_from(&mut self, at: usize) {
        let dropped = self.overlay.split_off(at);
        for (seq, mark) in dropped.iter().rev() {
            self.scene.rollback(*mark);
            self.save_planned_texts(*seq);
        }
        self.queue_overlay(dropped.into_iter().map(|(seq, _)| seq));
    }
}
