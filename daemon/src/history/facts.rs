//! What became of calls and proposals, gathered from the entries behind them: read backwards, the first
//! word on each is the last one.

use std::collections::{BTreeSet, HashMap, HashSet};

use scene_schemas::api::HistoryOutcome;
use scene_schemas::entry::{Entry, Record, Seq};

/// What is known of the calls and proposals of all that was read, without what they say. It grows with
/// the ledger, by less than a hundred bytes a call.
#[derive(Debug, Default)]
pub(super) struct OutcomeFacts {
    calls: HashMap<Seq, CallFact>,
    proposals: HashMap<Seq, HistoryOutcome>,
    /// The files that were changed, by a hash of their names; none in Studio.
    files: HashMap<Seq, Option<u64>>,
    /// By a proposal, those that were made from it or take it back.
    successors: HashMap<Seq, BTreeSet<Seq>>,
    finished_workflows: HashSet<Seq>,
}

#[derive(Debug, Clone, Copy)]
enum CallFact {
    Outcome(HistoryOutcome),
    Proposed(Seq),
}

/// In which order entries are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ReadOrder {
    /// Each is behind all that were read.
    Forwards,
    /// Each is before them, or was read already.
    Backwards,
}

impl OutcomeFacts {
    /// Reads what an entry says of others.
    pub(super) fn read_record(&mut self, record: &Record, order: ReadOrder) {
        use HistoryOutcome as Now;
        match &record.entry {
            Entry::Answered { call, .. } => {
                self.note_call(*call, CallFact::Outcome(Now::Answered), order);
            }
            Entry::Refused { call, .. } => {
                self.note_call(*call, CallFact::Outcome(Now::Refused), order);
            }
            Entry::Questioned { call, .. } => {
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
            | Entry::Unanswered { .. }
            | Entry::Resumed {}
            | Entry::Cleared {}
            | Entry::Disconnected { .. }
            | Entry::Erased {}
            | Entry::Told { .. }
            | Entry::Summarised { .. }
            | Entry::Said { .. }
            | Entry::Called { .. }
            | Entry::Planned { .. } => {}
        }
    }

    fn note_call(&mut self, call: Seq, is: CallFact, order: ReadOrder) {
        match order {
            ReadOrder::Forwards => drop(self.calls.insert(call, is)),
            ReadOrder::Backwards => drop(self.calls.entry(call).or_insert(is)),
        }
    }

    fn note_proposal(&mut self, proposal: Seq, is: HistoryOutcome, order: ReadOrder) {
        match order {
            ReadOrder::Forwards => drop(self.proposals.insert(proposal, is)),
            ReadOrder::Backwards => drop(self.proposals.entry(proposal).or_insert(is)),
        }
    }

    /// What became of a proposal.
    pub(super) fn proposal_outcome(&self, proposal: Seq) -> HistoryOutcome {
        match self.proposals.get(&proposal) {
            None => HistoryOutcome::Waiting,
            Some(HistoryOutcome::Applied) if self.find_revert(proposal).is_some() => {
                HistoryOutcome::Reverted
            }
            Some(HistoryOutcome::Rejected) if self.is_partly_accepted(proposal) => {
                HistoryOutcome::PartlyAccepted
            }
            Some(outcome) => *outcome,
        }
    }

    /// Whether a part or a changed form of a proposal was accepted in its place.
    fn is_partly_accepted(&self, proposal: Seq) -> bool {
        use HistoryOutcome as Now;
        let taken = |it: &Seq| {
            matches!(
                self.proposal_outcome(*it),
                Now::Approved | Now::Applied | Now::Undone | Now::Reverted | Now::PartlyAccepted
            )
        };
        self.successors.get(&proposal).is_some_and(|later| later.iter().any(taken))
    }

    /// What became of a call of a workflow, and its proposal; nothing where the workflow ended before.
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

    /// The proposal that has taken back one that was applied, whole and in the same file, and still has.
    pub(super) fn find_revert(&self, proposal: Seq) -> Option<Seq> {
        let file = self.files.get(&proposal)?;
        let mut later = self.successors.get(&proposal)?.iter();
        later.find(|by| self.is_in_force(**by) && self.files.get(*by) == Some(file)).copied()
    }

    /// The proposal that would take one back and waits for a decision.
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

    /// Whether a proposal is applied and not taken back.
    fn is_in_force(&self, proposal: Seq) -> bool {
        let is_applied = self.proposals.get(&proposal) == Some(&HistoryOutcome::Applied);
        // Whoever takes something back stands behind it, so this ends.
        is_applied && self.find_revert(proposal).is_none()
    }
}

fn hash_name(name: &str) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    name.hash(&mut hasher);
    hasher.finish()
}
