//! Pending proposals, with all their changes or as a summary for lists.

use std::iter::successors;
use std::ops::Range;
use std::sync::Arc;

use scene_schemas::api::{
    DecisionRequest, DecisionResponse, Failure, ProposalCard, ProposalView, Proposals,
    ProposedScript, ReviewQuote, TouchingProposal, WorkflowStarted,
};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Row;
use vector_core::proposal::Footprint;
use vector_core::workflow::{PendingProposal, PendingStatus, Workflow};
use vector_engine::read_member_rows;
use vector_ledger::Ledger;

use super::views::{
    is_elsewhere, ledger_failure, not_found, proposal_card, proposal_view, unreviewed_text,
};
use super::{DaemonActor, DaemonHandle, PendingSummary};
use crate::session::{Answer, SessionMessage, engine_failure};

/// The maximum number of replaced proposals that are returned.
const REPLACED: usize = 16;

/// How many proposals wait.
#[derive(Debug, Clone, Copy)]
pub struct PendingCount {
    pub count: usize,
    /// The newest of them that replaces none; 0 if there is none.
    pub newest: Seq,
}

impl DaemonActor {
    fn list_proposals(&mut self) -> Result<Proposals, Failure> {
        let event_hub = Arc::clone(&self.event_hub);
        let view =
            |ledger: &Ledger, workflow: &Workflow, name, (seq, _): (Seq, &PendingProposal)| {
                let unreviewed = unreviewed_text(&event_hub, workflow, seq);
                let view = proposal_view(ledger, workflow, name, seq)?;
                Some(ProposalView { unreviewed, ..view })
            };
        let mut proposals = self.collect_pending(view)?;
        proposals.sort_unstable_by_key(|it| it.seq);
        Ok(Proposals { proposals })
    }

    /// Lists summaries of the pending proposals, without their changes.
    fn list_pending(&mut self) -> Result<Vec<PendingSummary>, Failure> {
        let event_hub = Arc::clone(&self.event_hub);
        let of = |_: &Ledger, workflow: &Workflow, name, (seq, it): (Seq, &PendingProposal)| {
            let session = workflow.place.session_id();
            let summary = PendingSummary::from_proposal(name, seq, session, &it.proposal);
            let needs_review = unreviewed_text(&event_hub, workflow, seq).is_some();
            Some(PendingSummary { needs_review, ..summary })
        };
        let mut waiting = self.collect_pending(of)?;
        waiting.sort_unstable_by_key(|it| it.seq);
        Ok(waiting)
    }

    fn count_pending(&mut self) -> Result<PendingCount, Failure> {
        let of = |_: &Ledger, _: &Workflow, _, (seq, it): (Seq, &PendingProposal)| {
            Some((seq, it.proposal.replaces.is_none()))
        };
        let waiting = self.collect_pending(of)?;
        let new = waiting.iter().filter(|(_, is_new)| *is_new);
        let newest = new.map(|(seq, _)| *seq).max().unwrap_or(Seq(0));
        Ok(PendingCount { count: waiting.len(), newest })
    }

    fn collect_pending<T>(
        &mut self,
        of: impl Fn(&Ledger, &Workflow, Seq, (Seq, &PendingProposal)) -> Option<T>,
    ) -> Result<Vec<T>, Failure> {
        let mut found = Vec::new();
        let unfinished = self.workflow_cache.unfinished_workflows(&self.ledger);
        for seq in unfinished.map_err(|error| ledger_failure(&error))? {
            let Some(workflow) = self.workflow_cache.known_workflow(seq) else {
                continue;
            };
            // A proposal of another process is decided in that process.
            if is_elsewhere(&self.ledger, seq, workflow) {
                continue;
            }
            let waiting =
                workflow.proposals().filter(|(_, it)| it.status == PendingStatus::Waiting);
            found.extend(waiting.filter_map(|it| of(&self.ledger, workflow, seq, it)));
        }
        Ok(found)
    }

    fn view_proposal(&mut self, seq: Seq) -> Result<ProposalView, Failure> {
        let event_hub = Arc::clone(&self.event_hub);
        let view = |ledger: &Ledger, workflow: &Workflow, name| {
            let unreviewed = unreviewed_text(&event_hub, workflow, seq);
            Some(ProposalView { unreviewed, ..proposal_view(ledger, workflow, name, seq)? })
        };
        let mut view = self.with_workflow(seq, view)?.ok_or_else(|| not_found(seq))?;
        view.touched_by = self.find_touching(seq)?;
        Ok(view)
    }

    fn view_card(&mut self, seq: Seq, lines: usize) -> Result<ProposalCard, Failure> {
        let event_hub = Arc::clone(&self.event_hub);
        let view = |_: &Ledger, workflow: &Workflow, _| {
            let unreviewed = unreviewed_text(&event_hub, workflow, seq);
            Some(ProposalCard { unreviewed, ..proposal_card(workflow, seq, lines)? })
        };
        let mut card = self.with_workflow(seq, view)?.ok_or_else(|| not_found(seq))?;
        card.notes.extend(TouchingProposal::describe_all(&self.find_touching(seq)?));
        Ok(card)
    }

    /// Returns the pending proposals of other workflows in the same place that touch this one. Empty
    /// if it is not pending.
    fn find_touching(&mut self, seq: Seq) -> Result<Vec<TouchingProposal>, Failure> {
        let own = self.with_workflow(seq, |_, workflow, name| {
            let pending = workflow.proposal(seq)?;
            let footprint = || Footprint::new(&pending.proposal);
            let is_waiting = pending.status == PendingStatus::Waiting;
            is_waiting.then(|| (name, workflow.place.session_id(), footprint()))
        })?;
        let Some((own, place, footprint)) = own else {
            return Ok(Vec::new());
        };
        self.collect_pending(|_, workflow, name, (seq, it)| {
            let is_elsewhere = name == own || workflow.place.session_id() != place;
            (!is_elsewhere && Footprint::new(&it.proposal).touches(&footprint)).then(|| {
                let (author, title) = (workflow.author().to_owned(), it.proposal.title.clone());
                TouchingProposal { seq, author, title }
            })
        })
    }

    /// Returns the proposals that this one replaced when it was replanned, newest first.
    fn replaced_proposals(&mut self, seq: Seq) -> Result<Vec<Seq>, Failure> {
        self.with_workflow(seq, |_, workflow, _| {
            let before = |seq: &Seq| workflow.proposal(*seq)?.proposal.replaces;
            successors(before(&seq), before).take(REPLACED).collect()
        })
    }

    /// Reads preview rows of a command over many instances.
    fn member_rows(
        &mut self,
        seq: Seq,
        command: u32,
        members: Range<u32>,
    ) -> Result<Vec<Row>, Failure> {
        let read = |ledger: &Ledger, workflow: &Workflow, _| {
            let proposal = &workflow.proposal(seq)?.proposal;
            Some(read_member_rows(ledger, proposal, command, members))
        };
        let rows = self.with_workflow(seq, read)?.ok_or_else(|| not_found(seq))?;
        rows.map_err(|error| engine_failure(&error))
    }

    /// Reads the workflow of a proposal.
    fn with_workflow<T>(
        &mut self,
        seq: Seq,
        look: impl FnOnce(&Ledger, &Workflow, Seq) -> T,
    ) -> Result<T, Failure> {
        let record = self.ledger.record_at(seq).map_err(|error| ledger_failure(&error))?;
        let workflow = record.ok_or_else(|| not_found(seq))?.workflow;
        let read = self.workflow_cache.current_state(&self.ledger, workflow);
        let found = read.map_err(|error| ledger_failure(&error))?.workflow(workflow);
        Ok(look(&self.ledger, found.ok_or_else(|| not_found(seq))?, workflow))
    }
}

impl DaemonHandle {
    /// Records that a person has opened a proposal. Agents that wait for it are told.
    pub fn note_viewed(&self, proposal: Seq) {
        self.state.event_hub.note_viewed(proposal);
    }

    pub fn list_proposals(&self) -> Answer<Proposals> {
        self.run(DaemonActor::list_proposals)
    }

    /// Returns the number of pending proposals.
    pub fn count_pending(&self) -> Answer<PendingCount> {
        self.run(DaemonActor::count_pending)
    }

    /// Lists the pending proposals without their changes.
    pub fn list_pending(&self) -> Answer<Vec<PendingSummary>> {
        self.run(DaemonActor::list_pending)
    }

    pub fn proposal(&self, proposal: Seq) -> Answer<ProposalView> {
        self.run(move |daemon| daemon.view_proposal(proposal))
    }

    /// Returns a proposal as a card shows it, with at most this many rows and lines.
    pub fn proposal_card(&self, proposal: Seq, lines: usize) -> Answer<ProposalCard> {
        self.run(move |daemon| daemon.view_card(proposal, lines))
    }

    /// Returns preview rows of a command over many instances, by their positions in its table.
    pub fn member_rows(
        &self,
        proposal: Seq,
        command: u32,
        members: Range<u32>,
    ) -> Answer<Vec<Row>> {
        self.run(move |daemon| daemon.member_rows(proposal, command, members))
    }

    /// Returns the proposals that a proposal replaced when it was replanned, newest first.
    pub fn replaced_proposals(&self, proposal: Seq) -> Answer<Vec<Seq>> {
        self.run(move |daemon| daemon.replaced_proposals(proposal))
    }

    /// Returns the resulting text of a script of a pending proposal.
    pub fn proposed_script(&self, proposal: Seq, script: usize) -> Answer<ProposedScript> {
        self.forward(
            move |daemon| daemon.session_of_entry(proposal),
            move |reply| SessionMessage::ProposedScript(proposal, script, reply),
        )
    }

    /// Begins the review of a pending proposal by a model.
    ///
    /// # Errors
    /// It is not pending, its place is not open, or no model can review it.
    pub async fn review(&self, proposal: Seq) -> Result<WorkflowStarted, Failure> {
        let session = self.run(move |daemon| daemon.session_of_entry(proposal)).await?;
        session.review(proposal).await
    }

    /// Returns what a review of a pending proposal by a model would cost, or why there is none.
    ///
    /// # Errors
    /// Its place is not open.
    pub async fn quote_review(&self, proposal: Seq) -> Result<ReviewQuote, Failure> {
        let session = self.run(move |daemon| daemon.session_of_entry(proposal)).await?;
        session.quote_review(proposal).await
    }

    /// Decides a proposal, in its session.
    ///
    /// # Errors
    /// The proposal does not exist, or its place is not open.
    pub async fn decide(
        &self,
        proposal: Seq,
        decision: DecisionRequest,
    ) -> Result<DecisionResponse, Failure> {
        // The event hub knows the sessions of recent proposals, which saves a task on the daemon's
        // thread.
        let recent = self.state.event_hub.session_of_proposal(proposal);
        if let Some(session) = recent.and_then(|id| self.state.sessions.handle(&id)) {
            return session.decide(proposal, decision).await;
        }
        self.forward(
            move |daemon| daemon.session_of_entry(proposal),
            move |reply| SessionMessage::Decide(proposal, decision, reply),
        )
        .await
    }
}
