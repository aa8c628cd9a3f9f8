//! The review of what a lead has submitted, and the one correction that may follow from it.

use scene_schemas::entry::Seq;
use scene_schemas::review::TaskRole;
use vector_core::workflow::{
    PendingProposal, ProposalReview, ReviewState, Workflow, WorkflowInput, refinement_request,
};

use crate::{Engine, EngineError};

impl Engine {
    /// Returns the submitted results of leads that no model has reviewed: each with its first proposal.
    /// What a lead submits after it went back to work is not reviewed again.
    pub fn results_to_review(&self) -> Vec<(Seq, Seq)> {
        let leads = self.submitted_leads();
        // A review of a proposal that was planned again since has failed.
        let has_failed = |own: &Workflow, seq, it: &PendingProposal| {
            let failed = |it: &ProposalReview| matches!(it.state, ReviewState::Failed(_));
            !it.status.is_pending() && own.reviews_of(seq).iter().all(failed)
        };
        let unreviewed = leads.filter(|(_, own)| {
            own.proposals()
                .all(|(seq, it)| own.reviews_of(seq).is_empty() || has_failed(own, seq, it))
        });
        unreviewed.filter_map(|(lead, own)| Some((lead, own.first_waiting()?))).collect()
    }

    /// Lets the result of a lead be decided, by a person, the mode or a rule, although it is not reviewed.
    pub fn decide_without_review(&mut self, lead: Seq) {
        self.unreviewed_results.insert(lead);
    }

    /// Sends leads back to work, once, in whose result a reviewer found something of high severity.
    ///
    /// # Errors
    /// The ledger cannot be read or written.
    pub fn refine_results(&mut self) -> Result<(), EngineError> {
        let reviewed = self.submitted_leads().filter(|(_, own)| {
            own.running_reviews().next().is_none() && own.first_waiting().is_some()
        });
        let due = reviewed.filter_map(|(lead, own)| {
            let reviews = own.proposals().flat_map(|(seq, _)| own.reviews_of(seq));
            let findings = reviews.flat_map(|it| match &it.state {
                ReviewState::Reported(report) => report.findings.as_slice(),
                ReviewState::Running | ReviewState::Failed(_) => &[],
            });
            Some((lead, refinement_request(findings)?))
        });
        let due: Vec<(Seq, String)> = due.collect();
        for (lead, text) in due {
            self.handle_input(lead, WorkflowInput::Reopened { text })?;
        }
        Ok(())
    }

    /// Returns the leads that have submitted their result, for the first time, to a person.
    fn submitted_leads(&self) -> impl Iterator<Item = (Seq, &Workflow)> {
        self.active_workflows().filter(|(_, own)| {
            let is_lead = own.role == TaskRole::Lead {};
            is_lead && own.has_result() && own.reopenings().is_empty() && own.finished.is_none()
        })
    }
}
