//! Outcomes of calls and proposals, gathered from the entries after them. When entries are read
//! backwards, the first outcome found is the latest one.

use std::collections::{BTreeSet, HashMap, HashSet};

use scene_schemas::api::HistoryOutcome;
use scene_schemas::entry::{Entry, Record, Seq};
use scene_schemas::permission::PermissionAnswer;

/// The known outcomes of all calls and proposals that were read, without their contents. Grows with
/// the ledger, by less than a hundred bytes per call.
#[derive(Debug, Default)]
pub(super) struct OutcomeFacts {
    calls: HashMap<Seq, CallFact>,
    proposals: HashMap<Seq, HistoryOutcome>,
    /// The changed file of each applied proposal, as a hash of its name. None if it was applied in
    /// Studio.
    files: HashMap<Seq, Option<u64>>,
    /// For a proposal, those that were made from it or revert it.
    successors: HashMap<Seq, BTreeSet<Seq>>,
    finished_workflows: HashSet<Seq>,
}

#[derive(Debug, Clone, Copy)]
enum CallFact {
    Outcome(HistoryOutcome),
    Proposed(Seq),
}

/// The order in which entries are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadOrder {
    /// Each entry is newer than all entries read before.
    Forwards,
    /// Each entry is older than all entries read before, or was already read.
    Backwards,
}

impl OutcomeFacts {
    /// Records the outcomes that an entry determines.
    pub(super) fn read_record(&mut self, record: &Record, order: ReadOrder) {
        use HistoryOutcome as Now;
        match &record.entry {
            Entry::Answered { call, .. } => {
                self.note_call(*call, CallFact::Outcome(Now::Answered), order);
            }
            Entry::Refused { call, .. }
            | Entry::PermissionDecided { call, answer: PermissionAnswer::No } => {
                self.note_call(*call, CallFact::Outcome(Now::Refused), order);
            }
            Entry::Questioned { call, .. } | Entry::PermissionRequested { call, .. } => {
                self.note_call(*call, CallFact::Outcome(Now::Waiting), order);
            }
            Entry::Proposed { call, proposal, .. } => {
                self.note_call(*call, CallFact::Proposed(record.seq), order);
                for from in proposal.reverted_proposals() {
                    self.successors.entry(from).or_default().insert(record.seq);
                }
            }
            Entry::Approved { proposal, .. } => self.note_proposal(*proposal, Now::Approved, order),
            Entry::Applying { proposals, .. } => {
                for proposal in proposals {
                    self.note_proposal(*proposal, Now::Approved, order);
                }
            }
            Entry::Rejected { proposal, .. } => self.note_proposal(*proposal, Now::Rejected, order),
            Entry::Withdrawn { proposal, .. } => {
                self.note_proposal(*proposal, Now::Withdrawn, order);
            }
            Entry::Failed { proposal, .. } => self.note_proposal(*proposal, Now::Failed, order),
            Entry::Undone { proposal, .. } => self.note_proposal(*proposal, Now::Undone, order),
            Entry::Redone { proposal, .. } => self.note_proposal(*proposal, Now::Applied, order),
            Entry::Applied { proposal, ack } => {
                self.note_proposal(*proposal, Now::Applied, order);
                self.files.insert(*proposal, ack.file.as_deref().map(hash_name));
            }
            Entry::Finished { .. } => drop(self.finished_workflows.insert(record.workflow)),
            Entry::Started { .. }
            | Entry::Context { .. }
            | Entry::Asked { .. }
            | Entry::Requested { .. }
            | Entry::Replied { .. }
            | Entry::RequestFailed { .. }
            | Entry::Resumed {}
            | Entry::Cleared {}
            | Entry::Disconnected { .. }
            | Entry::Erased { .. }
            | Entry::Notified { .. }
            | Entry::Summarised { .. }
            | Entry::Said { .. }
            | Entry::Called { .. }
            | Entry::PermissionDecided {
                answer: PermissionAnswer::Once | PermissionAnswer::Task,
                ..
            }
            | Entry::RuleAdded { .. }
            | Entry::RuleRevoked { .. }
            | Entry::Uploading { .. }
            | Entry::Uploaded { .. }
            | Entry::AssetUploading { .. }
            | Entry::AssetUploadAccepted { .. }
            | Entry::AssetUploaded { .. }
            | Entry::UploadFailed { .. }
            | Entry::GenerationStarting { .. }
            | Entry::GenerationAccepted { .. }
            | Entry::GenerationRefining { .. }
            | Entry::Generated { .. }
            | Entry::GenerationFailed { .. }
            | Entry::CloudRunStarted { .. }
            | Entry::CloudRunAccepted { .. }
            | Entry::CloudRunFinished { .. }
            | Entry::Commented { .. }
            | Entry::CommentsAnswered { .. }
            | Entry::ReviewStarted { .. }
            | Entry::Reviewed { .. }
            | Entry::ReviewFailed { .. }
            | Entry::PartStarted { .. }
            | Entry::PartEnded { .. }
            | Entry::Submitted { .. }
            | Entry::Noted { .. }
            | Entry::Planned { .. } => {}
        }
    }

    fn note_call(&mut self, call: Seq, fact: CallFact, order: ReadOrder) {
        match order {
            ReadOrder::Forwards => drop(self.calls.insert(call, fact)),
            ReadOrder::Backwards => drop(self.calls.entry(call).or_insert(fact)),
        }
    }

    fn note_proposal(&mut self, proposal: Seq, outcome: HistoryOutcome, order: ReadOrder) {
        match order {
            ReadOrder::Forwards => drop(self.proposals.insert(proposal, outcome)),
            ReadOrder::Backwards => drop(self.proposals.entry(proposal).or_insert(outcome)),
        }
    }

    pub(super) fn proposal_outcome(&self, proposal: Seq) -> HistoryOutcome {
        match self.proposals.get(&proposal) {
            None => HistoryOutcome::Waiting,
            Some(HistoryOutcome::Applied) if self.find_revert(proposal).is_some() => {
                HistoryOutcome::Reverted
            }
            Some(HistoryOutcome::Rejected) if self.is_partly_approved(proposal) => {
                HistoryOutcome::PartlyApproved
            }
            Some(outcome) => *outcome,
        }
    }

    /// Whether a part or an edited form of a proposal was accepted in its place.
    fn is_partly_approved(&self, proposal: Seq) -> bool {
        use HistoryOutcome as Now;
        let taken = |it: &Seq| {
            matches!(
                self.proposal_outcome(*it),
                Now::Approved | Now::Applied | Now::Undone | Now::Reverted | Now::PartlyApproved
            )
        };
        self.successors.get(&proposal).is_some_and(|later| later.iter().any(taken))
    }

    /// The outcome of a call in a workflow, and its proposal. The outcome is None if the workflow
    /// finished without one.
    pub(super) fn call_outcome(
        &self,
        call: Seq,
        workflow: Seq,
    ) -> (Option<HistoryOutcome>, Option<Seq>) {
        match self.calls.get(&call) {
            Some(CallFact::Outcome(outcome)) => (Some(*outcome), None),
            Some(CallFact::Proposed(proposal)) => {
                (Some(self.proposal_outcome(*proposal)), Some(*proposal))
            }
            None if self.finished_workflows.contains(&workflow) => (None, None),
            None => (Some(HistoryOutcome::Waiting), None),
        }
    }

    /// The proposal that reverted an applied one in the same file and is still in force.
    pub(super) fn find_revert(&self, proposal: Seq) -> Option<Seq> {
        let file = self.files.get(&proposal)?;
        let mut later = self.successors.get(&proposal)?.iter();
        later.find(|by| self.is_in_force(**by) && self.files.get(*by) == Some(file)).copied()
    }

    /// The proposal that would revert this one and is waiting for a decision or to be applied.
    pub(super) fn find_pending_revert(&self, proposal: Seq) -> Option<Seq> {
        let mut later = self.successors.get(&proposal)?.iter();
        let waits = |by: &&Seq| {
            matches!(
                self.proposal_outcome(**by),
                HistoryOutcome::Waiting | HistoryOutcome::Approved
            )
        };
        later.find(waits).copied()
    }

    /// Whether a proposal is applied and not reverted.
    fn is_in_force(&self, proposal: Seq) -> bool {
        let is_applied = self.proposals.get(&proposal) == Some(&HistoryOutcome::Applied);
        // A revert always comes after the proposal it reverts, so the recursion ends.
        is_applied && self.find_revert(proposal).is_none()
    }
}

fn hash_name(name: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
