//! What is on trial: pending proposals that are done in the scene and nowhere else, so that the next
//! call is planned on top of them.

use scene_schemas::Command;
use scene_schemas::entry::{Entry, Record, Seq};

use super::{Engine, EngineError, Target};
use crate::core::proposal::attempt;
use crate::core::scene::Mark;

impl Engine {
    /// Takes back what is no longer pending, and all that stood on it.
    pub(super) fn drop_what_is_gone(&mut self) {
        let Some(workflow) = self.state.workflow(self.workflow) else {
            return;
        };
        let is_pending =
            |seq: Seq| workflow.proposal(seq).is_some_and(|pending| pending.status.is_pending());
        if let Some(at) = self.trial.iter().position(|(seq, _)| !is_pending(*seq)) {
            self.drop_trial_from(at);
        }
    }

    /// Keeps the texts that a proposal was planned on, for the case that it is planned again.
    pub(super) fn remember(&mut self, proposal: Seq) {
        let Some(workflow) = self.state.workflow(self.workflow) else {
            return;
        };
        let Some(pending) = workflow.proposal(proposal) else {
            return;
        };
        for command in &pending.proposal.commands {
            let Command::EditScript { target, .. } = command else {
                continue;
            };
            if let Ok(node) = self.scene.locate(target)
                && let Some(text) = self.scene.source(node)
            {
                let texts = self.seen.entry(pending.call).or_default();
                texts.entry(target.path.clone()).or_insert_with(|| text.into_owned());
            }
        }
    }

    /// What was just proposed stays done on trial; what was not goes back.
    pub(super) fn keep_trial(&mut self, records: &[Record], mark: Mark) {
        let proposed = records.iter().find(|it| matches!(it.entry, Entry::Proposed { .. }));
        match proposed {
            Some(record) => self.trial.push((record.seq, mark)),
            None => self.scene.rollback(mark),
        }
    }

    /// Does pending proposals on trial once more.
    pub(super) fn redo(&mut self, proposals: &[Seq]) -> Result<(), EngineError> {
        for seq in proposals {
            let Some(workflow) = self.state.workflow(self.workflow) else {
                return Ok(());
            };
            let Some(pending) = workflow.proposal(*seq) else {
                continue;
            };
            let mark = self.scene.mark();
            self.scene.begin(pending.call);
            for command in &pending.proposal.commands {
                attempt(&mut self.scene, command, &self.blobs)?;
            }
            self.trial.push((*seq, mark));
        }
        Ok(())
    }

    /// Takes all back that is on trial.
    pub(super) fn drop_trial(&mut self) {
        match self.target {
            Target::File(_) => {
                if let Some((_, mark)) = self.trial.first() {
                    self.scene.rollback(*mark);
                    self.trial.clear();
                }
            }
            // The place may change before they are tried again, in a person's hands.
            Target::Open(_) => self.drop_trial_from(0),
        }
    }

    /// Takes back what is on trial, the last first, and keeps the texts that each was planned on.
    pub(super) fn drop_trial_from(&mut self, at: usize) {
        for (seq, mark) in self.trial.split_off(at).into_iter().rev() {
            self.scene.rollback(mark);
            self.remember(seq);
        }
    }
}
