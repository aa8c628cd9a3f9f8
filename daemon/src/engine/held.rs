//! Whether the files of a project can hold what is proposed. A person is not asked about what they
//! cannot.

use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;

use super::revert::back;
use super::target::Back;
use super::{Engine, EngineError, Target};
use crate::core::Refusal;
use crate::core::tools::Plan;
use crate::targets::rojo::Project;

impl Engine {
    /// Refuses a change of a project that no file can hold.
    pub(super) fn held_by_files(
        &mut self,
        result: Result<Plan, Refusal>,
    ) -> Result<Result<Plan, Refusal>, EngineError> {
        let plan = match result {
            Ok(plan @ Plan::Propose(..)) => plan,
            other => return Ok(other),
        };
        if let Plan::Propose(proposal, _) = &plan
            && self.goes_back(proposal)?
        {
            return Ok(Ok(plan));
        }
        Ok(self.all_held().map(|()| plan))
    }

    /// Whether the files of a project can hold the scene.
    pub(super) fn all_held(&self) -> Result<(), Refusal> {
        match &self.target {
            Target::Project(project) => project.check(&self.scene),
            Target::File(_) | Target::Open(_) => Ok(()),
        }
    }

    /// Whether a proposal, with all that is pending, takes back steps whose files are as they left
    /// them: then the files become what they were, whatever that is.
    fn goes_back(&mut self, proposal: &Proposal) -> Result<bool, EngineError> {
        if !matches!(self.target, Target::Project(_)) || proposal.from.is_none() {
            return Ok(false);
        }
        let pending: Vec<Proposal> = self
            .trial
            .iter()
            .filter_map(|(seq, _)| self.proposal(*seq))
            .map(|(_, pending)| pending.proposal.clone())
            .collect();
        let all = pending.iter().chain([proposal]);
        let all: Vec<(Seq, Seq, &Proposal)> = all.map(|it| (Seq(0), Seq(0), it)).collect();
        let back = back(&self.ledger, &self.target, &all, &mut self.blobs)?;
        Ok(match back {
            Back::Project(steps) => Project::goes_back(&steps, &self.blobs),
            Back::Unknown | Back::File(_) => false,
        })
    }
}
