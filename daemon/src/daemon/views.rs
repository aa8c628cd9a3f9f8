//! Views of workflows and proposals, read from the ledger, and common failures.

use scene_schemas::api::{
    ActiveRule, CommentView, Failure, FailureKind, FindingView, Hello, OfferedRule, PROTOCOL,
    PartView, ProposalCard, ProposalView, ReviewStatus, ReviewView, SessionId, WorkflowState,
    WorkflowView,
};
use scene_schemas::comment::Comment;
use scene_schemas::entry::{AttachmentSnapshot, Entry, Record, Seq};
use scene_schemas::proposal::ImplicitTarget;
use scene_schemas::review::ReviewFinding;
use scene_schemas::rule::TaskRule;
use vector_core::policy;
use vector_core::proposal::{ProposalUnit, cut_preview, list_units, sandbox_state};
use vector_core::rule;
use vector_core::workflow::{
    LedgerState, PartProgress, PendingProposal, PendingStatus, ProposalReview, ReviewState,
    Workflow,
};
use vector_engine::workflow_state;
use vector_ledger::{Ledger, LedgerError};

use super::{AWAY, CHECKPOINT};
use crate::event_hub::EventHub;
use crate::failure::failure;

pub(super) fn plugin_away() -> Failure {
    failure(
        FailureKind::NotFound,
        "Its place is not open in Studio, or its plugin has not connected since Vector started.",
        "Open the place in Studio, and check that the plugin is connected.",
    )
}

pub(super) fn not_found(seq: Seq) -> Failure {
    let message = format!("Entry {seq} does not exist or is of another kind.");
    failure(
        FailureKind::NotFound,
        message,
        "History on the page, or `vector log`, lists the entries.",
    )
}

pub(super) fn ledger_failure(error: &LedgerError) -> Failure {
    failure(FailureKind::Internal, error.to_string(), "Try again.")
}

pub(super) fn check_protocol(hello: &Hello) -> Result<(), Failure> {
    if hello.protocol == PROTOCOL {
        return Ok(());
    }
    let hint = if hello.protocol < PROTOCOL {
        "Update the plugin: `vector plugin install`, and restart Studio."
    } else {
        "Update Vector: the plugin is newer than the daemon."
    };
    Err(failure(
        FailureKind::Protocol,
        format!("The plugin speaks protocol {}, and Vector speaks {PROTOCOL}.", hello.protocol),
        hint,
    ))
}

pub(super) fn session_of(started: &Record) -> Option<SessionId> {
    match &started.entry {
        Entry::Started { place, .. } => Some(place.session_id()),
        _ => None,
    }
}

pub(super) fn is_checkpoint(started: &Record) -> bool {
    matches!(&started.entry, Entry::Started { driver, .. } if driver == CHECKPOINT)
}

pub(super) fn read_state(ledger: &Ledger, workflow: Seq) -> Result<LedgerState, Failure> {
    workflow_state::read_workflow(ledger, workflow).map_err(|error| ledger_failure(&error))
}

pub(super) fn read_workflow_view(
    ledger: &Ledger,
    event_hub: &EventHub,
    seq: Seq,
) -> Result<WorkflowView, Failure> {
    workflow_view(ledger, event_hub, seq, &read_state(ledger, seq)?)
}

pub(super) fn workflow_view(
    ledger: &Ledger,
    event_hub: &EventHub,
    seq: Seq,
    state: &LedgerState,
) -> Result<WorkflowView, Failure> {
    let workflow = state.workflow(seq).ok_or_else(|| not_found(seq))?;
    let is_waiting = workflow.first_waiting().is_some() && !workflow.holds_back();
    let is_asking =
        workflow.open_question().is_some() || workflow.requested_permissions().next().is_some();
    let session = local_session(ledger, seq, workflow);
    let slot = session.as_ref().map(|session| event_hub.slot(session));
    let state = match (workflow.finished, slot) {
        (Some(_), _) => WorkflowState::Finished,
        (None, Some(None)) => WorkflowState::Away,
        (None, Some(Some(slot))) if slot.silence_duration() > AWAY => WorkflowState::Away,
        (None, Some(Some(slot))) if slot.is_stopped(seq) => WorkflowState::Stopped,
        (None, _) if workflow.conversation().trouble().is_some() => WorkflowState::Stopped,
        (None, _) if is_waiting && workflow.disconnected.is_some() => WorkflowState::Disconnected,
        (None, _) if is_waiting || is_asking => WorkflowState::Waiting,
        (None, _) if workflow.is_idle() => WorkflowState::Idle,
        (None, _) => WorkflowState::Working,
    };
    Ok(WorkflowView {
        seq,
        cursor: EventHub::cursor_before(seq),
        session,
        goal: workflow.goal.clone(),
        attached: workflow.attached.iter().map(AttachmentSnapshot::describe).collect(),
        driver: workflow.driver.clone(),
        mode: workflow.mode,
        state,
        outcome: workflow.finished,
        plan: workflow.plan.clone(),
        proposals: workflow.proposals().map(|(seq, _)| seq).collect(),
        rules: active_rules(workflow),
        spending: Vec::new(),
        role: workflow.role,
        parts: workflow.parts().map(part_view).collect(),
    })
}

fn part_view(progress: &PartProgress) -> PartView {
    let PartProgress { part, worker, model, outcome } = progress;
    PartView {
        number: part.number,
        title: part.title.clone(),
        worker: *worker,
        model: model.clone(),
        outcome: outcome.clone(),
    }
}

/// Whether a workflow in files runs in another process or was left by one. This daemon must not act
/// on it. A place open in Studio belongs to this daemon alone.
pub(super) fn is_elsewhere(ledger: &Ledger, seq: Seq, workflow: &Workflow) -> bool {
    !workflow.is_over() && workflow.place.studio_place().is_none() && !ledger.has_lease(seq)
}

/// Returns the session of a workflow; None if it runs elsewhere.
pub(super) fn local_session(ledger: &Ledger, seq: Seq, workflow: &Workflow) -> Option<SessionId> {
    (!is_elsewhere(ledger, seq, workflow)).then(|| workflow.place.session_id())
}

pub(super) fn workflow_elsewhere(workflow: Seq) -> Failure {
    failure(
        FailureKind::Settled,
        format!("Workflow {workflow} is running in another process, or was abandoned by one."),
        "Decide where it was requested. If that process has ended, the workflow is settled when its \
         file is next opened.",
    )
}

pub(super) fn proposal_view(
    ledger: &Ledger,
    workflow: &Workflow,
    name: Seq,
    seq: Seq,
) -> Option<ProposalView> {
    let pending = workflow.proposal(seq)?;
    Some(ProposalView {
        seq,
        workflow: name,
        session: local_session(ledger, name, workflow),
        status: pending.status.to_proposal_status(),
        reason: workflow.status_reason(seq),
        successor: workflow.successor_of(seq),
        disconnected: workflow.disconnected_agent().map(str::to_owned),
        needs_twice: policy::needs_second_confirmation(&pending.proposal),
        has_geometry: vector_render::has_geometry(&pending.proposal.preview),
        touched_by: Vec::new(),
        rules: offered_rules(pending),
        comments: workflow.comments_on(seq).map(|(it, reply)| comment_view(it, reply)).collect(),
        reviews: workflow.reviews_of_change(seq).map(review_view).collect(),
        unreviewed: None,
        revision: workflow.revision_of(seq),
        revises: workflow.commented_version_of(seq),
        is_covered: workflow.is_covered(seq),
        allowed_by: workflow.approving_rule(seq).map(TaskRule::describe),
        proposal: pending.proposal.clone(),
    })
}

/// Returns a proposal as a card shows it, with at most this many rows and lines.
pub(super) fn proposal_card(workflow: &Workflow, seq: Seq, lines: usize) -> Option<ProposalCard> {
    let pending = workflow.proposal(seq)?;
    let proposal = &pending.proposal;
    let units = list_units(proposal);
    let mut edited: Vec<u32> = units.iter().filter_map(edited_script).collect();
    edited.dedup();
    let cut = cut_preview(&proposal.preview, lines);
    let commented = workflow.commented_version_of(seq).unwrap_or(seq);
    let comments = workflow.comments_on(commented);
    let target = proposal.implicit_target.as_ref().map(ImplicitTarget::describe);
    Some(ProposalCard {
        seq,
        status: pending.status.to_proposal_status(),
        reason: workflow.status_reason(seq),
        needs_twice: policy::needs_second_confirmation(proposal),
        title: proposal.title.clone(),
        class: proposal.class,
        base: proposal.base.clone(),
        patch_id: proposal.patch_id.clone(),
        warnings: proposal.warnings.clone(),
        runs: proposal.runs.clone(),
        notes: target
            .into_iter()
            .chain(proposal.describe_author())
            .chain(proposal.describe_files())
            .collect(),
        rules: offered_rules(pending),
        after: proposal.after.clone(),
        is_small_step: policy::is_small_step(proposal),
        preview: cut.preview,
        more: cut.more,
        sandbox: sandbox_state(proposal),
        parts: u32::try_from(units.len()).unwrap_or(u32::MAX),
        edited,
        comments: comments.map(|(it, reply)| comment_view(it, reply)).collect(),
        reviews: workflow.reviews_of_change(seq).map(review_view).collect(),
        unreviewed: None,
    })
}

/// Returns why a proposal cannot be approved for want of a review, and what to do next; None if it can
/// be.
pub(super) fn unreviewed_text(
    event_hub: &EventHub,
    workflow: &Workflow,
    seq: Seq,
) -> Option<String> {
    let gate = event_hub.slot(&workflow.place.session_id())?.review_gate();
    gate.find_obstacle(workflow, seq).map(|it| it.text())
}

/// Returns a review of a proposal as clients show it.
pub(crate) fn review_view(review: &ProposalReview) -> ReviewView {
    let (state, summary, findings) = match &review.state {
        ReviewState::Running => (ReviewStatus::Running, "", &[][..]),
        ReviewState::Reported(report) => {
            (ReviewStatus::Done, report.summary.as_str(), report.findings.as_slice())
        }
        ReviewState::Failed(reason) => (ReviewStatus::Failed, reason.as_str(), &[][..]),
    };
    let view = |it: &ReviewFinding| FindingView { finding: it.clone(), about: it.on.describe() };
    ReviewView {
        reviewer: review.reviewer,
        model: review.model.clone(),
        state,
        summary: summary.to_owned(),
        findings: findings.iter().map(view).collect(),
    }
}

fn comment_view(comment: &Comment, reply: Option<&str>) -> CommentView {
    let about = comment.on.describe();
    CommentView { comment: comment.clone(), about, reply: reply.map(str::to_owned) }
}

/// Returns the rules that hold in a workflow, oldest first.
pub(crate) fn active_rules(workflow: &Workflow) -> Vec<ActiveRule> {
    let view = |(seq, rule, approved): (Seq, &TaskRule, usize)| {
        let approved = u32::try_from(approved).unwrap_or(u32::MAX);
        ActiveRule { seq, text: rule.describe(), approved }
    };
    workflow.active_rules().map(view).collect()
}

/// Returns the rules that are offered with a pending proposal.
pub(crate) fn offered_rules(pending: &PendingProposal) -> Vec<OfferedRule> {
    if pending.status != PendingStatus::Waiting {
        return Vec::new();
    }
    let offered = rule::offered_rules(&pending.proposal).into_iter();
    offered.map(|rule| OfferedRule { text: rule.describe(), rule }).collect()
}

fn edited_script(unit: &ProposalUnit) -> Option<u32> {
    match unit {
        ProposalUnit::Hunk { script, .. } => u32::try_from(*script).ok(),
        ProposalUnit::Command(_) | ProposalUnit::Member { .. } => None,
    }
}
