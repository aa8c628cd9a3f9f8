//! Applies approved proposals to the target, and records that they were applied.
//!
//! The place is written between two entries, `applying` and `applied`. If the second cannot be
//! appended, the place holds the change but the ledger does not say so. The engine remembers such
//! proposals; after a crash, the next process finds them by the hash in the `applying` entry.

use scene_schemas::entry::Seq;
use vector_core::workflow::{PendingStatus, Workflow, WorkflowInput};
use vector_files::place_file::PlaceError;

use crate::planner::Planner;
use crate::target::{ApplyContext, ApprovedProposal, PreparedChange, ReadyChange};
use crate::workflow_state::WorkflowCache;
use crate::{Engine, EngineError};

/// How many times in a row a run is replanned because another process changed the file first. When
/// several processes write at once, one of them succeeds each time, so this is also how many may
/// write at once.
const MAX_REBASES: usize = 50;

/// What applying has left to do.
#[derive(Debug, Default)]
pub(crate) struct ApplyProgress {
    /// Proposals that are in the place but that the ledger could not record as applied, by
    /// workflow.
    unrecorded: Vec<(Seq, Vec<Seq>)>,
    /// How often in a row another process changed the file.
    pub(crate) rebase_count: usize,
}

impl Engine {
    pub(crate) fn apply_proposals(
        &mut self,
        workflow: Seq,
        proposals: &[Seq],
    ) -> Result<(), EngineError> {
        if !self.applying.unrecorded.is_empty() {
            // Those are in the place already. Other approved proposals are applied by the next
            // call.
            return self.flush_unrecorded();
        }
        self.drop_overlay();
        self.reverted_runs = WorkflowCache::default();
        self.load_proposal_blobs(proposals)?;
        let may_rebase = self.applying.rebase_count < MAX_REBASES;
        let Some(state) = self.executor.workflow(workflow) else {
            return Ok(());
        };
        let Some(target) = self.target.driver_mut().direct_mut() else {
            return Ok(());
        };
        let approved: Vec<ApprovedProposal<'_>> = proposals
            .iter()
            .filter_map(|seq| state.proposal(*seq).map(|it| (*seq, it.call, &it.proposal)))
            .collect();
        let _alone = target.lock_files();
        let Planner { scene, blobs, .. } = &mut self.planner;
        let start = scene.journal_mark();
        let context = ApplyContext { scene, blobs, ledger: self.executor.ledger() };
        let PreparedChange { ready, refused } = match target.prepare(&approved, context) {
            Ok(prepared) => prepared,
            Err(EngineError::Place(PlaceError::Changed { .. })) if may_rebase => {
                return self.rebase_proposals(workflow, proposals);
            }
            Err(EngineError::Place(error)) => {
                return self.record_failure(workflow, proposals.to_vec(), error);
            }
            Err(error) => return Err(error),
        };
        let lock = self.executor.ledger().lock_applying().map_err(EngineError::from);
        let begun = lock.and_then(|lock| Ok((lock, self.begin_step(workflow, refused, ready)?)));
        let Some(target) = self.target.driver_mut().direct_mut() else {
            return Ok(());
        };
        let (_lock, seqs) = match begun {
            Ok((lock, Some(seqs))) => (lock, seqs),
            Ok((_, None)) => return Ok(()),
            Err(error) => {
                target.abandon();
                self.planner.scene.rollback(start);
                return Err(error);
            }
        };
        if let Err(error) = target.commit(&mut self.planner.scene) {
            self.planner.scene.rollback(start);
            return match error {
                PlaceError::Changed { .. } if may_rebase => self.rebase_proposals(workflow, &seqs),
                error => self.record_failure(workflow, seqs, error),
            };
        }
        self.applying.rebase_count = 0;
        self.applying.unrecorded.push((workflow, seqs));
        self.flush_unrecorded()
    }

    /// Records which of the prepared proposals are refused and which are applied next. Returns the
    /// latter, or None if there are none.
    fn begin_step(
        &mut self,
        workflow: Seq,
        refused: Vec<(Seq, String)>,
        ready: Option<ReadyChange>,
    ) -> Result<Option<Vec<Seq>>, EngineError> {
        for (seq, reason) in refused {
            self.handle_input(workflow, WorkflowInput::Failed { proposals: vec![seq], reason })?;
        }
        let Some(ReadyChange { acks, blobs }) = ready else {
            return Ok(None);
        };
        let (seqs, acks): (Vec<Seq>, Vec<_>) = acks.into_iter().unzip();
        let (file, before) = (self.place_name(), acks.first().and_then(|ack| ack.before.clone()));
        let applying = WorkflowInput::Applying { proposals: seqs.clone(), file, before, acks };
        self.handle_with_blobs(workflow, applying, blobs)?;
        Ok(Some(seqs))
    }

    /// Records the proposals that are in the place. If that fails, they stay queued for the next
    /// attempt: they must not be applied a second time.
    fn flush_unrecorded(&mut self) -> Result<(), EngineError> {
        let mut recorded = Ok(());
        while let Some((workflow, proposals)) = self.applying.unrecorded.first().cloned() {
            let applied = WorkflowInput::Applied(proposals.clone());
            recorded = match self.handle_input(workflow, applied) {
                Ok(_) => Ok(()),
                Err(EngineError::Ledger(source)) => {
                    let (place, source) = (self.place_name(), Box::new(source));
                    Err(EngineError::NotRecorded { place, proposals, source })
                }
                Err(error) => Err(error),
            };
            if recorded.is_err() {
                break;
            }
            self.applying.unrecorded.remove(0);
        }
        recorded
    }

    /// Returns the proposals of a workflow that are in the place, recorded or not.
    pub fn applied_in_place(&self, workflow: Seq) -> Vec<Seq> {
        let proposals = self.workflow(workflow).into_iter().flat_map(Workflow::proposals);
        let applied = proposals.filter(|(_, it)| matches!(it.status, PendingStatus::Applied(_)));
        let unrecorded = self.applying.unrecorded.iter().filter(|(of, _)| *of == workflow);
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
        self.target.driver().output_name()
    }

    pub(crate) fn record_failure(
        &mut self,
        workflow: Seq,
        proposals: Vec<Seq>,
        error: PlaceError,
    ) -> Result<(), EngineError> {
        self.applying.rebase_count = 0;
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
