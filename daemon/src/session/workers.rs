//! The tasks of workers and scouts, which the engine begins for a lead, and the review of their result.

use std::collections::btree_map::Entry;

use scene_schemas::entry::Seq;

use super::{SessionActor, SessionMessage, WorkflowSlot};

/// The session's state of a task that several models share.
#[derive(Debug, Default)]
pub(super) struct SharedSlot {
    /// Whether a review of its result was asked for, if it is the task of a lead.
    is_review_tried: bool,
    /// Whether the end of its time is waited for, if it is the task of a worker or scout.
    is_timed: bool,
}

impl SessionActor {
    /// Gives tasks that the engine began their slots, ends those whose results nobody waits for, and
    /// has the result of a lead reviewed once.
    pub(super) fn settle_workers(&mut self) {
        // Ledger errors show up again when the engine runs.
        let _ = self.engine.settle_parts();
        for workflow in self.engine.task_order() {
            if let Entry::Vacant(new) = self.workflow_slots.entry(workflow) {
                new.insert(WorkflowSlot::default());
            }
            self.watch_time(workflow);
        }
        for (lead, proposal) in self.engine.results_to_review() {
            self.review_result(lead, proposal);
        }
        let _ = self.engine.refine_results();
    }

    /// Has the session look at a worker or scout again when its time is over.
    fn watch_time(&mut self, workflow: Seq) {
        let Some(slot) = self.workflow_slots.get_mut(&workflow).filter(|it| !it.shared.is_timed)
        else {
            return;
        };
        let Some((models, left)) = self.engine.part_deadline(workflow) else { return };
        slot.shared.is_timed = true;
        let message_sender = self.message_sender.clone();
        models.spawn(async move {
            tokio::time::sleep(left).await;
            // A session that has ended receives nothing.
            let _ = message_sender.send(SessionMessage::RunWorkflows);
        });
    }

    /// Has the result of a lead reviewed. One that cannot be reviewed is decided without that.
    fn review_result(&mut self, lead: Seq, proposal: Seq) {
        let is_tried = self
            .workflow_slots
            .get_mut(&lead)
            .is_none_or(|slot| std::mem::replace(&mut slot.shared.is_review_tried, true));
        if is_tried {
            return;
        }
        let model = self.engine.workflow(lead).map(|it| it.driver.clone());
        // The refusal is told when a person asks for the review.
        if self.start_review(proposal, model.as_deref()).is_err() {
            self.engine.decide_without_review(lead);
        }
    }
}
