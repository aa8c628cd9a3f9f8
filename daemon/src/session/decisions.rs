//! Decisions of the user on proposals, and actions on workflows.

use std::collections::{BTreeSet, HashMap};

use scene_schemas::api::{
    CommentReplies, Decision, DecisionRequest, DecisionResponse, Failure, FailureKind, HandEdit,
    PermissionDecision, ProposalPart, ProposalStatus, RevokeRule,
};
use scene_schemas::entry::{Approver, Finish, Seq};
use scene_schemas::proposal::Proposal;
use vector_core::proposal::{
    ProposalUnit, draft_by_hand, draft_part, draft_with_scripts, list_units, select_members,
};
use vector_core::workflow::{PendingStatus, Workflow, WorkflowInput};
use vector_engine::{Engine, EngineError};

use super::{SessionActor, SessionMessage, WorkflowAction, engine_failure};
use crate::failure::failure;

/// A proposal with more operations than this is not applied on the thread of a request.
const MAX_AT_ONCE: usize = 1_000;

impl SessionActor {
    /// Decides on the thread of a request; None if that may take long.
    pub(super) fn decide_shortly(
        &mut self,
        seq: Seq,
        decide: &DecisionRequest,
    ) -> Option<Result<DecisionResponse, Failure>> {
        // The session may have been closed since its handle was found.
        if self.slot.is_closed() || !self.is_short(seq, &decide.decision) {
            return None;
        }
        let decided = self.decide_proposal(seq, decide);
        if self.engine.is_applying() {
            self.run_workflows();
        } else {
            // The rest is done on the session's thread.
            let _ = self.message_sender.send(SessionMessage::RunWorkflows);
        }
        Some(decided)
    }

    /// Whether a decision is quick enough for the thread of a request.
    fn is_short(&self, seq: Seq, decision: &Decision) -> bool {
        let pending = self.engine.find_proposal(seq);
        let is_small = pending.is_some_and(|(_, it)| it.proposal.operation_count() <= MAX_AT_ONCE);
        // A changed file is read first.
        is_small && !is_revision(decision) && self.engine.is_file_unchanged()
    }

    pub(super) fn decide_proposal(
        &mut self,
        seq: Seq,
        decide: &DecisionRequest,
    ) -> Result<DecisionResponse, Failure> {
        let Some((workflow, pending)) = self.engine.find_proposal(seq) else {
            let message = format!("Proposal {seq} is not pending in this place.");
            return Err(failure(
                FailureKind::Settled,
                message,
                "Check its outcome in the history.",
            ));
        };
        if pending.proposal.patch_id != decide.patch_id || pending.proposal.base != decide.base {
            return Err(failure(
                FailureKind::Stale,
                format!("Proposal {seq} has changed since it was shown."),
                "Review it again, then decide.",
            ));
        }
        let result = match &decide.decision {
            Decision::Approve { twice, rule } => {
                self.check_approvable(seq)?;
                let (by, rule) = (Approver::Person, rule.clone());
                self.engine.approve_with_rule(seq, by, *twice, rule).map(|()| seq)
            }
            Decision::Reject { reason } => {
                let reason = reason.clone();
                self.engine
                    .handle_input(workflow, WorkflowInput::Reject { proposal: seq, reason })
                    .map(|_| seq)
            }
            Decision::RequestChanges { comments } => {
                let comments = comments.clone();
                self.engine
                    .handle_input(workflow, WorkflowInput::Comment { proposal: seq, comments })
                    .map(|_| seq)
            }
            Decision::Take { parts } => {
                let proposal = pending.proposal.clone();
                let taken = accepted_units(&proposal, parts);
                self.draft_units(seq, &proposal, &taken)
            }
            Decision::LeaveOut { parts } => {
                let proposal = pending.proposal.clone();
                let taken = remaining_units(&proposal, parts)?;
                self.draft_units(seq, &proposal, &taken)
            }
            Decision::Keep { scripts, sandbox } => {
                let proposal = pending.proposal.clone();
                self.draft_kept_scripts(seq, &proposal, scripts, *sandbox)
            }
            Decision::Edit { edits } => {
                let proposal = pending.proposal.clone();
                self.draft_edits(seq, &proposal, edits)
            }
        };
        let proposal_seq = result.map_err(|error| engine_failure(&error))?;
        let status = self
            .engine
            .find_proposal(proposal_seq)
            .map(|(_, pending)| pending.status.to_proposal_status());
        let status = status.unwrap_or(ProposalStatus::Withdrawn);
        Ok(DecisionResponse { proposal: proposal_seq, status })
    }

    /// Replaces a proposal with some of its units.
    fn draft_units(
        &mut self,
        seq: Seq,
        proposal: &Proposal,
        taken: &[ProposalUnit],
    ) -> Result<Seq, EngineError> {
        self.engine.check_readable()?;
        self.engine.revise_proposal(seq, |draft| draft_part(draft, proposal, taken))
    }

    /// Replaces a proposal with one that inserts scripts of its assets, in a sandbox or not.
    fn draft_kept_scripts(
        &mut self,
        seq: Seq,
        proposal: &Proposal,
        scripts: &[u32],
        sandbox: bool,
    ) -> Result<Seq, EngineError> {
        self.engine.check_readable()?;
        self.engine
            .revise_proposal(seq, |draft| draft_with_scripts(draft, proposal, scripts, sandbox))
    }

    /// Replaces a proposal with one that a person changed by hand.
    fn draft_edits(
        &mut self,
        seq: Seq,
        proposal: &Proposal,
        edits: &[HandEdit],
    ) -> Result<Seq, EngineError> {
        self.engine.check_readable()?;
        self.engine.revise_proposal(seq, |draft| draft_by_hand(draft, proposal, edits))
    }

    fn check_approvable(&mut self, seq: Seq) -> Result<(), Failure> {
        if self.active_settings.is_dry_run() {
            return Err(failure(
                FailureKind::Settled,
                "Dry run is on: proposals are shown and never applied.",
                "Turn it off in the settings, then approve again.",
            ));
        }
        self.engine.check_readable().map_err(|refusal| engine_failure(&refusal.into()))?;
        self.check_reviewed(seq)?;
        let first = self.engine.blocking_proposal(seq);
        let Some((first, (_, below))) =
            first.and_then(|it| Some((it, self.engine.find_proposal(it)?)))
        else {
            return Ok(());
        };
        let title = &below.proposal.title;
        Err(failure(
            FailureKind::Settled,
            format!(
                "Proposal {seq} was planned on top of proposal {first}, which is pending: {title}."
            ),
            format!("Approve or reject proposal {first} first."),
        ))
    }

    pub(super) fn act_on_workflow(
        &mut self,
        workflow: Seq,
        verb: WorkflowAction,
        model: Option<&str>,
    ) -> Result<(), Failure> {
        let Some(job) = self.workflow_slots.get_mut(&workflow) else {
            let message = format!("Workflow {workflow} is no longer running.");
            return Err(failure(FailureKind::Settled, message, "Start a new request."));
        };
        match verb {
            // A cancelled workflow has to run until it has ended.
            WorkflowAction::Cancel | WorkflowAction::Retry | WorkflowAction::Resume => {
                job.is_stopped = false;
            }
            WorkflowAction::Clear
            | WorkflowAction::Permit(_)
            | WorkflowAction::Revoke(_)
            | WorkflowAction::Reply(..) => {}
        }
        match verb {
            WorkflowAction::Cancel => {
                if let Some(job) = self.workflow_slots.get_mut(&workflow) {
                    job.active_request = None;
                }
                let outcome = Finish::NotApproved;
                self.engine
                    .handle_input(workflow, WorkflowInput::Finish { outcome })
                    .map_err(|error| engine_failure(&error))?;
            }
            WorkflowAction::Clear => reject_all(&mut self.engine, workflow),
            WorkflowAction::Permit(PermissionDecision { call, answer }) => {
                self.engine
                    .handle_input(workflow, WorkflowInput::Permit { call, answer })
                    .map_err(|error| engine_failure(&error))?;
            }
            WorkflowAction::Revoke(RevokeRule { rule }) => {
                self.engine
                    .handle_input(workflow, WorkflowInput::RevokeRule { rule })
                    .map_err(|error| engine_failure(&error))?;
            }
            WorkflowAction::Reply(proposal, CommentReplies { replies }) => {
                self.engine
                    .handle_input(workflow, WorkflowInput::Reply { proposal, replies })
                    .map_err(|error| engine_failure(&error))?;
            }
            WorkflowAction::Retry | WorkflowAction::Resume if self.engine.has_trouble(workflow) => {
                // The user may have chosen another model since the failure.
                let driver = self.driver_of(model);
                let role = self.engine.workflow(workflow).map(|it| it.role).unwrap_or_default();
                self.engine.set_driver(workflow, driver.for_role(role));
                self.engine
                    .handle_input(workflow, WorkflowInput::Resume)
                    .map_err(|error| engine_failure(&error))?;
            }
            WorkflowAction::Retry | WorkflowAction::Resume => {}
        }
        Ok(())
    }
}

/// Whether a decision makes a new proposal of another one. It is planned, and a plan may read whole
/// scripts.
fn is_revision(decision: &Decision) -> bool {
    match decision {
        Decision::Take { .. }
        | Decision::LeaveOut { .. }
        | Decision::Keep { .. }
        | Decision::Edit { .. } => true,
        Decision::Approve { .. } | Decision::Reject { .. } | Decision::RequestChanges { .. } => {
            false
        }
    }
}

/// Rejects all pending proposals of a workflow.
fn reject_all(engine: &mut Engine, workflow: Seq) {
    let waiting = engine.workflow(workflow).into_iter().flat_map(Workflow::proposals);
    let waiting = waiting.filter(|(_, it)| it.status == PendingStatus::Waiting);
    let waiting: Vec<Seq> = waiting.map(|(seq, _)| seq).collect();
    for proposal in waiting {
        // A proposal that depended on a rejected one is already withdrawn.
        let reason = Some("The person rejected all pending proposals.".to_owned());
        let _ = engine.handle_input(workflow, WorkflowInput::Reject { proposal, reason });
    }
}

/// Returns the selected units of a proposal.
fn accepted_units(proposal: &Proposal, parts: &[ProposalPart]) -> Vec<ProposalUnit> {
    let named: HashMap<ProposalUnit, &[u32]> = parts.iter().map(unit_of_part).collect();
    let units = list_units(proposal).into_iter().filter_map(|unit| Some((unit, named.get(&unit)?)));
    units.flat_map(|(unit, except)| select_members(proposal, unit, except)).collect()
}

/// Returns the units of a proposal without those of some parts. A part that the proposal does not
/// have is refused: what it stands for would be kept.
fn remaining_units(
    proposal: &Proposal,
    parts: &[ProposalPart],
) -> Result<Vec<ProposalUnit>, Failure> {
    let mut named: HashMap<ProposalUnit, &[u32]> = parts.iter().map(unit_of_part).collect();
    let mut remaining = Vec::new();
    for unit in list_units(proposal) {
        match (named.remove(&unit), unit) {
            (None, _) => remaining.push(unit),
            (Some(except), ProposalUnit::Command(command)) => {
                let count = proposal.commands[command].member_count().unwrap_or(0);
                let kept: BTreeSet<u32> = except.iter().copied().collect();
                let kept = kept.into_iter().filter(|member| *member < count);
                remaining.extend(kept.map(|member| ProposalUnit::Member { command, member }));
            }
            (Some(_), ProposalUnit::Member { .. } | ProposalUnit::Hunk { .. }) => {}
        }
    }
    if let Some(unknown) = named.keys().next() {
        let part = match unknown {
            ProposalUnit::Command(command) | ProposalUnit::Member { command, .. } => {
                format!("command {command} as a part")
            }
            ProposalUnit::Hunk { script, hunk } => format!("hunk {hunk} of script {script}"),
        };
        return Err(failure(
            FailureKind::BadRequest,
            format!("The proposal does not have {part}."),
            "Indices count from 0. The hunks of an edited script are left out one by one.",
        ));
    }
    Ok(remaining)
}

/// Returns a part's unit, and the instances that do not belong to it.
fn unit_of_part(part: &ProposalPart) -> (ProposalUnit, &[u32]) {
    match part {
        ProposalPart::Command { command, except } => {
            (ProposalUnit::Command(*command as usize), except)
        }
        ProposalPart::Hunk { script, hunk } => {
            (ProposalUnit::Hunk { script: *script as usize, hunk: *hunk as usize }, &[])
        }
    }
}
