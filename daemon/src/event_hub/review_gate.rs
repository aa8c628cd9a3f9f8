//! What a session demands of reviews before an approval, and why reviews did not start, for those that
//! show or decide its proposals.

use std::collections::BTreeMap;
use std::sync::Arc;

use scene_schemas::entry::Seq;
use vector_core::workflow::Workflow;
use vector_engine::review_gate::{MissingReview, missing_review};

use super::{SessionSlot, lock_mutex};

/// Whether proposals need a review before they are approved (`review.required`).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ReviewDemand {
    #[default]
    Optional,
    Required,
    /// The settings cannot be read, for this reason. Nothing is approved until they can.
    Unknown(String),
}

/// What a session demands of reviews.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ReviewGate {
    pub demand: ReviewDemand,
    /// Why the required reviews of some proposals did not start.
    pub problems: BTreeMap<Seq, String>,
}

/// Why a proposal cannot be approved yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalObstacle {
    pub message: String,
    /// What to do next.
    pub hint: &'static str,
}

impl ApprovalObstacle {
    /// Returns the message with what to do next.
    pub fn text(&self) -> String {
        format!("{} {}", self.message, self.hint)
    }
}

impl ReviewGate {
    /// Returns why a pending proposal cannot be approved for want of a review; None if it can be.
    pub fn find_obstacle(&self, workflow: &Workflow, proposal: Seq) -> Option<ApprovalObstacle> {
        if self.demand == ReviewDemand::Optional {
            return None;
        }
        let missing = missing_review(workflow, proposal)?;
        if let ReviewDemand::Unknown(why) = &self.demand {
            let message =
                format!("It is not known whether proposal {proposal} needs a review: {why}");
            let hint = "Correct the settings, then approve it again.";
            return Some(ApprovalObstacle { message, hint });
        }
        let mut message = missing.describe(proposal);
        if missing == MissingReview::NotStarted
            && let Some(problem) = self.problems.get(&proposal)
        {
            message.push_str(&format!(" None was started: {problem}"));
        }
        Some(ApprovalObstacle { message, hint: missing.next_step() })
    }
}

impl SessionSlot {
    /// Sets what the session demands of reviews.
    pub fn set_review_gate(&self, gate: &ReviewGate) {
        let mut state = lock_mutex(&self.state);
        if *state.review_gate != *gate {
            state.review_gate = Arc::new(gate.clone());
        }
    }

    /// Returns what the session demands of reviews.
    pub fn review_gate(&self) -> Arc<ReviewGate> {
        Arc::clone(&lock_mutex(&self.state).review_gate)
    }
}
