//! Applies approved proposals to the target, and records that they were applied.
//!
//! The place is written between two entries, `applying` and `applied`. If the second cannot be
//! appended, the place holds the change but the ledger does not say so. The engine remembers such
//! proposals; after a crash, the next process finds them by the hash in the `applying` entry.

use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use vector_core::workflow::{PendingStatus, Workflow, WorkflowInput};
use vector_files::place_file::PlaceError;

use crate::revert::find_restore_source;
use crate::{Engine, EngineError, MAX_MOVES};

impl Engine {
    pub(super) fn apply_proposals(
        &mut self,
        workflow: Seq,
        proposals: &[Seq],
    ) -> Result<(), EngineError> {
        if !self.unrecorded.is_empty() {
            // Those are in the place already. Other approved proposals are applied by the next
            // call.
            return self.flush_unrecorded();
        }
        self.drop_overlay();
        self.load_proposal_blobs(proposals)?;
        let Some(state) = self.state.workflow(workflow) else {
            return Ok(());
        };
        let approved: Vec<(Seq, Seq, &Proposal)> = proposals
            .iter()
            .filter_map(|seq| state.proposal(*seq).map(|it| (*seq, it.call, &it.proposal)))
            .collect();
        let back = find_restore_source(&self.ledger, &self.target, &approved, &mut self.blobs)?;
        let _alone = self.target.lock_files();
        let start = self.scene.journal_mark();
        let prepared = match self.target.prepare(&mut self.scene, &approved, &self.blobs, &back) {
            Ok(prepared) => prepared,
            Err(PlaceError::Changed { .. }) if self.rebase_count < MAX_MOVES => {
                return self.rebase_proposals(workflow, proposals);
            }
            Err(error) => return self.record_failure(workflow, proposals.to_vec(), error),
        };
        for (seq, reason) in prepared.refused {
            self.handle_input(workflow, WorkflowInput::Failed { proposals: vec![seq], reason })?;
        }
        let Some(mut ready) = prepared.ready else {
            return Ok(());
        };
        let (acks, blobs) = ready.take_acks();
        let (seqs, acks): (Vec<Seq>, Vec<_>) = acks.into_iter().unzip();
        let (file, before) =
            (self.target.output_name(), acks.first().and_then(|ack| ack.before.clone()));
        let applying = WorkflowInput::Applying { proposals: seqs.clone(), file, before, acks };
        if let Err(error) = self.handle_with_blobs(workflow, applying, blobs) {
            self.scene.rollback(start);
            return Err(error);
        }
        if let Err(error) = self.target.commit(ready, &mut self.scene) {
            self.scene.rollback(start);
            return match error {
                PlaceError::Changed { .. } if self.rebase_count < MAX_MOVES => {
                    self.rebase_proposals(workflow, &seqs)
                }
                error => self.record_failure(workflow, seqs, error),
            };
        }
        self.rebase_count = 0;
        self.unrecorded.push((workflow, seqs));
        self.flush_unrecorded()
    }

    /// Records the proposals that are in the place. If that fails, they stay queued for the next
    /// attempt: they must not be applied a second time.
    fn flush_unrecorded(&mut self) -> Result<(), EngineError> {
        let mut recorded = Ok(());
        while let Some((workflow, proposals)) = self.unrecorded.first().cloned() {
            let applied = WorkflowInput::Applied(proposals.clone());
            recorded = match self.handle_input(workflow, applied) {
                Ok(_) => Ok(()),
                Err(EngineError::Ledger(source)) => {
                    let (place, source) = (self.target.output_name(), Box::new(source));
                    Err(EngineError::NotRecorded { place, proposals, source })
                }
                Err(error) => Err(error),
            };
            if recorded.is_err() {
                break;
            }
            self.unrecorded.remove(0);
        }
        recorded
    }

    /// Returns the proposals of a workflow that are in the place, recorded or not.
    pub fn applied_in_place(&self, workflow: Seq) -> Vec<Seq> {
        let proposals = self.workflow(workflow).into_iter().flat_map(Workflow::proposals);
        let applied = proposals.filter(|(_, it)| matches!(it.status, PendingStatus::Applied(_)));
        let unrecorded = self.unrecorded.iter().filter(|(of, _)| *of == workflow);
        applied.map(|(seq, _)| seq).chain(unrecorded.flat_map(|(_, seqs)| seqs.clone())).collect()
    }

    /// Returns the proposals of a workflow that are approved but not yet in the place.
    pub fn approved_not_applied(&self, workflow: Seq) -> Vec<Seq> {
        let written = self.applied_in_place(workflow);
        let approved = self.workflow(workflow).into_iter().flat_map(Workflow::approved_proposals);
        approved.filter(|seq| !written.contains(seq)).collect()
    }

    /// Returns the name of the place as entries record it, for messages.
    pub fn place_name(&self) -> String {
        self.target.output_name()
    }

    pub(super) fn record_failure(
        &mut self,
        workflow: Seq,
        proposals: Vec<Seq>,
        error: PlaceError,
    ) -> Result<(), EngineError> {
        self.rebase_count = 0;
        // A transient error does not use up an approval: the proposals stay approved and are
        // applied later.
        if error.is_transient() {
            return Err(error.into());
        }
        // A partly applied step is restored first and then applied again, so it is not recorded as
        // failed.
        if !matches!(error, PlaceError::PartlyApplied { .. }) {
            self.handle_input(
                workflow,
                WorkflowInput::Failed { proposals, reason: error.to_string() },
            )?;
        }
        Err(error.into())
    }
}

/// Formats proposals for use in a sentence.
pub fn name_proposals(proposals: &[Seq]) -> String {
    match proposals {
        [one] => format!("proposal {one}"),
        many => {
            let numbers: Vec<String> = many.iter().map(ToString::to_string).collect();
            format!("proposals {}", numbers.join(", "))
        }
    }
}
