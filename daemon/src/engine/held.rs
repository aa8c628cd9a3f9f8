//! Whether the files of a project can hold what is proposed, and whether it still is what was shown. A
//! person is not asked about what they cannot.

use std::collections::BTreeMap;

use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use scene_schemas::{Command, Fingerprint, Hashing};

use super::revert::back;
use super::target::Back;
use super::{Engine, EngineError, Target};
use crate::core::Refusal;
use crate::core::tools::Plan;
use crate::core::workflow::{Input, Status};
use crate::targets::rojo::Project;

impl Engine {
    /// Refuses a change of a project that no file can hold, and says of one in an open place what of it
    /// goes to files.
    pub(super) fn held_by_files(
        &mut self,
        call: Seq,
        result: Result<Plan, Refusal>,
    ) -> Result<Result<Plan, Refusal>, EngineError> {
        let plan = match result {
            Ok(Plan::Propose(proposal, answer)) if self.studio().is_some() => {
                let parted = self.part_files(call, *proposal);
                return Ok(parted.map(|it| Plan::Propose(Box::new(it), answer)));
            }
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

    /// The texts that proposals would take away with what they delete: a deletion itself expects no
    /// more than a class, a name and a number.
    pub(super) fn taken(&self, proposals: &[Seq]) -> BTreeMap<Seq, Fingerprint> {
        let mut taken = BTreeMap::new();
        for seq in proposals {
            let Some((_, pending)) = self.proposal(*seq) else {
                continue;
            };
            let mut hashing = Hashing::default();
            for command in &pending.proposal.commands {
                let Command::Delete { target, .. } = command else {
                    continue;
                };
                let Ok(root) = self.scene.resolve(&target.path) else {
                    continue;
                };
                for node in self.scene.subtree(root).filter(|node| self.scene.is_script(*node)) {
                    hashing.add(self.scene.path(node).to_string().as_bytes());
                    hashing.add(&[0]);
                    hashing.add(self.scene.source(node).unwrap_or_default().as_bytes());
                    hashing.add(&[0]);
                }
            }
            taken.insert(*seq, hashing.finish());
        }
        taken
    }

    /// Has those planned again that would take away something else than before.
    pub(super) fn withdraw_changed(
        &mut self,
        before: &BTreeMap<Seq, Fingerprint>,
    ) -> Result<(), EngineError> {
        let proposals: Vec<Seq> = before.keys().copied().collect();
        let now = self.taken(&proposals);
        let reason = "A script that this deletes was changed, and it is planned again.";
        for seq in proposals.into_iter().filter(|seq| before.get(seq) != now.get(seq)) {
            let Some((workflow, pending)) = self.proposal(seq) else {
                continue;
            };
            if matches!(pending.status, Status::Waiting | Status::Approved) {
                let moved = Input::Moved { reason: reason.to_owned(), not_done: Vec::new() };
                self.in_turn_of(workflow, |engine| engine.input(moved))?;
            }
        }
        Ok(())
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
