//! The gate before an approval where `review.required` is on: a model must have reviewed the very change
//! that is approved. It starts no review and decides nothing else.

use scene_schemas::Refusal;
use scene_schemas::entry::Seq;
use scene_schemas::review::{FindingSeverity, TaskRole};
use vector_core::workflow::{CALLS, PendingStatus, ReviewProgress, Workflow};

use crate::{Engine, RESTORE, REVERT};

/// What a proposal lacks that can be approved only after a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MissingReview {
    /// No review of it was started.
    NotStarted,
    Running {
        /// The model, as `PROVIDER/MODEL`.
        model: String,
    },
    /// The last review ended without a report.
    Failed { model: String, reason: String },
}

/// Where a person asks for a review.
pub const ASK_FOR_REVIEW: &str = "Have a model review it: on its page, with Review in the widget, or \
with `m` in `vector review`.";

impl MissingReview {
    /// Returns why a proposal cannot be approved yet, for people, without what to do next.
    pub fn describe(&self, proposal: Seq) -> String {
        let needs = "can be approved only after a review by a model (`review.required`)";
        match self {
            Self::NotStarted => format!("Proposal {proposal} {needs}."),
            Self::Running { model } => {
                format!("Proposal {proposal} {needs}, and {model} is reviewing it.")
            }
            Self::Failed { model, reason } => {
                format!("Proposal {proposal} {needs}, and {model} did not review it: {reason}")
            }
        }
    }

    /// Returns what to do next.
    pub fn next_step(&self) -> &'static str {
        match self {
            Self::NotStarted | Self::Failed { .. } => ASK_FOR_REVIEW,
            Self::Running { .. } => "Approve it when the review is done.",
        }
    }
}

/// Returns what a pending proposal lacks where a review is required; None if it can be approved. What
/// only reverts or restores needs no review, so that the way back is always open.
pub fn missing_review(workflow: &Workflow, proposal: Seq) -> Option<MissingReview> {
    let pending = workflow.proposal(proposal)?;
    if pending.status != PendingStatus::Waiting || only_goes_back(workflow, proposal) {
        return None;
    }
    match workflow.review_progress(proposal) {
        ReviewProgress::Reported(_) => None,
        ReviewProgress::NotStarted => Some(MissingReview::NotStarted),
        ReviewProgress::Running(review) => {
            Some(MissingReview::Running { model: review.model.clone() })
        }
        ReviewProgress::Failed { review, reason } => {
            let (model, reason) = (review.model.clone(), reason.to_owned());
            Some(MissingReview::Failed { model, reason })
        }
    }
}

/// Whether a proposal only takes back what was applied: a revert, a restored checkpoint, or a part of
/// one. A version of it that somebody changed by hand may do something else.
fn only_goes_back(workflow: &Workflow, proposal: Seq) -> bool {
    let Some(pending) = workflow.proposal(proposal) else {
        return false;
    };
    let is_way_back = workflow.driver == CALLS
        && workflow.call(pending.call).is_some_and(|(tool, _)| matches!(tool, REVERT | RESTORE));
    let whole = pending.proposal.from.and_then(|it| workflow.proposal(it));
    let adds_nothing = whole.is_none_or(|whole| {
        let mut commands = pending.proposal.commands.iter();
        commands.all(|command| whole.proposal.commands.contains(command))
    });
    let whole_goes_back = match pending.proposal.from {
        Some(whole) if workflow.proposal(whole).is_some() => only_goes_back(workflow, whole),
        Some(_) | None => true,
    };
    is_way_back && adds_nothing && whole_goes_back
}

impl Engine {
    /// Sets whether a proposal is approved only after a review by a model.
    pub fn set_review_required(&mut self, is_required: bool) {
        self.is_review_required = is_required;
    }

    /// Returns the review that a proposal lacks; None if it can be approved without one.
    pub fn find_missing_review(&self, proposal: Seq) -> Option<MissingReview> {
        let (task, _) = self.find_proposal(proposal).filter(|_| self.is_review_required)?;
        missing_review(self.workflow(task)?, proposal)
    }

    /// Checks that a proposal was reviewed, if that is required.
    ///
    /// # Errors
    /// It was not. The text says why, and what to do next.
    pub(crate) fn check_reviewed(&self, proposal: Seq) -> Result<(), Refusal> {
        match self.find_missing_review(proposal) {
            Some(missing) => {
                Err(Refusal(format!("{} {}", missing.describe(proposal), missing.next_step())))
            }
            None => Ok(()),
        }
    }

    /// Whether the mode or a rule may approve a proposal: where a review is required, and in the result
    /// of a lead, after one that found nothing of high severity. With such a finding, a person decides.
    pub(crate) fn is_review_passed(&self, proposal: Seq) -> bool {
        let Some((name, _)) = self.find_proposal(proposal) else { return false };
        let Some(task) = self.workflow(name) else { return false };
        let is_result = task.role == TaskRole::Lead {};
        if !self.is_review_required && !is_result {
            return true;
        }
        let progress = task.review_progress(proposal);
        if let ReviewProgress::Reported(report) = &progress {
            return report.findings.iter().all(|it| it.severity != FindingSeverity::High);
        }
        if self.is_review_required && missing_review(task, proposal).is_some() {
            return false;
        }
        match progress {
            // What a lead corrects is not reviewed again.
            ReviewProgress::NotStarted => {
                !is_result
                    || !task.reopenings().is_empty()
                    || self.unreviewed_results.contains(&name)
            }
            ReviewProgress::Running(_) => !is_result,
            ReviewProgress::Reported(_) | ReviewProgress::Failed { .. } => true,
        }
    }

    /// Returns the pending proposals that need a review and of which none was started, oldest first.
    pub fn proposals_to_review(&self) -> Vec<Seq> {
        let mut found: Vec<Seq> = self
            .active_workflows()
            .flat_map(|(_, task)| task.proposals().map(move |(seq, _)| (task, seq)))
            .filter(|(task, seq)| missing_review(task, *seq) == Some(MissingReview::NotStarted))
            .map(|(_, seq)| seq)
            .collect();
        found.sort_unstable();
        found
    }
}
