//! Decision on an input: the entries that it produces, or the reason that it is refused.

use scene_schemas::Fingerprint;
use scene_schemas::api::FailureKind;
use scene_schemas::comment::Comment;
use scene_schemas::entry::{
    Approver, AttachmentSnapshot, Entry, Finish, Guards, InteractionMode, ModelRequestRecord,
    Phase, Place, Seq,
};
use scene_schemas::permission::{Permission, PermissionAnswer};
use scene_schemas::proposal::{Ack, Mode, Proposal};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::review::{ReviewReport, TaskRole};
use scene_schemas::rule::TaskRule;
use scene_schemas::workers::{PartOutcome, TaskPart};
use serde_json::Value as Json;

use super::actions::handle_action;
use super::comments::{answer_comments, comment_on_proposal, replies_in_message};
use super::dependencies::{mark_stale, withdraw_for_replan, withdraw_later};
use super::endings::{cancel_call, disconnect_agent, expire_pending, finish_workflow};
use super::parts::{close_task, end_part, is_merge, join_parts, reopen_task, start_part};
use super::reviews::{end_review, start_review};
use super::rules::revoke_rule;
use super::{
    CallStatus, LedgerState, ModelTrouble, PendingProposal, PendingStatus, Workflow, guards,
    summary,
};
use crate::play::check_before;
use crate::policy;
use crate::prompt::{MessageCost, ModelMessage, ToolCall};
use crate::tools::{Plan, unknown_tool};

/// The driver of a list of calls that the user wrote.
pub const CALLS: &str = "calls";

/// The prefix of an external agent's driver, before its name.
pub const AGENT: &str = "mcp/";

/// An input from the shell.
#[derive(Debug, Clone, PartialEq)]
pub enum WorkflowInput {
    /// The user starts a task in a place.
    Start {
        place: Place,
        goal: String,
        /// The driver, which calls the tools.
        driver: String,
        /// The mode, which determines the proposals approved automatically.
        mode: Mode,
        attached: Vec<AttachmentSnapshot>,
        /// The interaction mode, which limits the tools.
        interaction: InteractionMode,
        /// The previous task of the same conversation.
        follows: Option<Seq>,
        /// The guards for a model.
        guards: Option<Guards>,
        role: TaskRole,
    },
    /// The user sends a further message, or answers a question.
    Asked { text: String, attached: Vec<AttachmentSnapshot> },
    /// A request to the model is about to be sent.
    Requested(Box<ModelRequestRecord>),
    /// The driver replied with a complete message.
    Replied(ModelMessage),
    /// The model could not be reached, or did not reply.
    Unanswered(ModelTrouble),
    /// The cost of a reply that could not be used.
    Paid(MessageCost),
    /// The user resumes the task.
    Resume,
    /// The prompt has become too long: all but the last `keep` steps are summarized.
    Summarise { keep: usize },
    /// Calls that the user wrote. All of them are performed.
    Called(Vec<ToolCall>),
    /// A read-only call together with its result.
    Read {
        call: ToolCall,
        /// The answer, or the reason it was refused.
        answer: Result<Json, Refusal>,
    },
    /// The result of planning a call.
    Planned {
        call: Seq,
        result: Result<Plan, Refusal>,
        /// The pending proposals that the planned one depends on.
        after: Vec<Seq>,
    },
    /// An authorized approval of a proposal.
    Approve {
        proposal: Seq,
        patch_id: Fingerprint,
        by: Approver,
        /// Whether the user confirmed it a second time.
        is_confirmed_twice: bool,
        /// What the user allows for the rest of the task.
        adds: Option<TaskRule>,
    },
    /// The user comments on a proposal, and wants a new version.
    Comment { proposal: Seq, comments: Vec<Comment> },
    /// An agent says what it did about the comments on a proposal, one reply for each, in order.
    Reply { proposal: Seq, replies: Vec<String> },
    /// A model starts to review a proposal, in a task of its own.
    /// `with` are further proposals of the task that it reviews with it.
    ReviewStarted { proposal: Seq, with: Vec<Seq>, reviewer: Seq, model: String },
    /// A review has ended, with a report or without one.
    ReviewEnded { proposal: Seq, reviewer: Seq, outcome: Result<ReviewReport, Refusal> },
    /// Another model starts to do a part of the task, in a task of its own.
    PartStarted { part: TaskPart, worker: Seq, model: String },
    /// A part of the task has ended.
    PartEnded { worker: Seq, outcome: PartOutcome },
    /// All parts of a call have ended: its answer, and the calls that join the changes.
    PartsJoined { call: Seq, answer: Json, merges: Vec<ToolCall> },
    /// A model that has submitted goes back to work, with a notice of the reason.
    Reopened { text: String },
    /// All that was submitted is decided.
    Closed,
    /// The user revokes a rule of the task.
    RevokeRule { rule: Seq },
    /// The user gives the permission that a call needs, or refuses it.
    Permit { call: Seq, answer: PermissionAnswer },
    /// The user rejects a proposal.
    Reject { proposal: Seq, reason: Option<String> },
    /// The user selected a part of a proposal, or edited it.
    Revise {
        proposal: Seq,
        /// The proposal that replaces it, with the pending proposals that it depends on.
        by: Box<Proposal>,
    },
    /// The target is about to replace the file.
    Applying {
        proposals: Vec<Seq>,
        file: String,
        before: Option<Fingerprint>,
        /// The acknowledgements to record when it is done.
        acks: Vec<Ack>,
    },
    /// The target has applied the proposals.
    Applied(Vec<Seq>),
    /// The target failed to apply the proposals.
    Failed { proposals: Vec<Seq>, reason: String },
    /// Studio has applied a proposal, and reports the ids of the instances it created.
    Acted { proposal: Seq, ack: Box<Ack> },
    /// The user undid or redid an applied proposal in Studio.
    Undone {
        proposal: Seq,
        /// Whether it was redone.
        is_redone: bool,
        /// The changes in files and scripts that could not follow, with the reason.
        left: Option<String>,
    },
    /// The place has changed, so pending proposals are planned again.
    Moved {
        reason: String,
        /// Proposals that the target received and surely has not applied. Other proposals sent to
        /// the target are kept.
        not_done: Vec<Seq>,
    },
    /// A proposal does not fit the place any more, and is planned again.
    Replan { proposal: Seq, reason: String },
    /// The caller cancelled a call.
    Cancelled { call: Seq },
    /// The client that calls the tools has ended, or its connection broke.
    Disconnected,
    /// The time limit for deciding on the proposals of a disconnected client has expired.
    Expired {
        /// The time limit, as text.
        after: String,
    },
    /// The task ends, even if calls are still pending.
    Finish { outcome: Finish },
}

/// Decides on an input to a workflow.
///
/// # Errors
/// The input does not fit the current state. No entry is produced.
pub fn decide(
    state: &LedgerState,
    workflow: Seq,
    input: WorkflowInput,
) -> Result<Vec<Entry>, Refusal> {
    if let Some(started) = start_entry(&input) {
        return Ok(vec![started]);
    }
    let name = workflow;
    let Some(workflow) = state.workflow(name) else {
        return refuse!("There is no workflow {name}.");
    };
    match input {
        WorkflowInput::Start { .. } => Ok(Vec::new()),
        WorkflowInput::Called(calls) => Ok(calls.into_iter().map(called_entry).collect()),
        WorkflowInput::Read { call, answer } => Ok(answer_entries(call, answer)),
        WorkflowInput::Planned { call, result, after } => {
            let result = result.and_then(|plan| guards::check_plan(state, name, call, plan));
            let mut entries = handle_plan(workflow, call, result, after)?;
            if entries.iter().any(|entry| matches!(entry, Entry::Refused { .. })) {
                entries.extend(guards::after_refusal(state, name, call));
            }
            Ok(entries)
        }
        WorkflowInput::Approve { proposal, patch_id, by, is_confirmed_twice: twice, adds } => {
            let mut entries = approve_proposal(workflow, proposal, patch_id, by, twice)?;
            let added = adds.map(|rule| Entry::RuleAdded { rule, proposal: Some(proposal) });
            entries.extend(added);
            match state.decided_before(proposal) {
                None => Ok(entries),
                Some(first) => refuse!(
                    "Proposal {proposal} was planned on top of proposal {first}, which is pending. \
                     Approve or reject proposal {first} first."
                ),
            }
        }
        WorkflowInput::Reject { proposal, reason } => {
            find_pending(workflow, proposal)?;
            let mut entries = vec![Entry::Rejected { proposal, reason }];
            entries.extend(withdraw_later(workflow, proposal));
            Ok(entries)
        }
        WorkflowInput::Permit { call, answer } => permit_call(workflow, call, answer),
        WorkflowInput::RevokeRule { rule } => revoke_rule(workflow, rule),
        WorkflowInput::Comment { proposal, comments } => {
            comment_on_proposal(workflow, proposal, comments)
        }
        WorkflowInput::Reply { proposal, replies } => answer_comments(workflow, proposal, replies),
        WorkflowInput::ReviewStarted { proposal, with, reviewer, model } => {
            start_review(workflow, proposal, &with, reviewer, &model)
        }
        WorkflowInput::ReviewEnded { proposal, reviewer, outcome } => {
            Ok(end_review(workflow, proposal, reviewer, outcome))
        }
        WorkflowInput::PartStarted { part, worker, model } => {
            Ok(start_part(workflow, part, worker, model))
        }
        WorkflowInput::PartEnded { worker, outcome } => Ok(end_part(workflow, worker, outcome)),
        WorkflowInput::PartsJoined { call, answer, merges } => {
            join_parts(workflow, call, answer, merges)
        }
        WorkflowInput::Reopened { text } => Ok(reopen_task(workflow, text)),
        WorkflowInput::Closed => Ok(close_task(workflow)),
        WorkflowInput::Revise { proposal, by } => revise_proposal(workflow, proposal, by),
        WorkflowInput::Applying { proposals, file, before, acks } => {
            Ok(vec![Entry::Applying { proposals, file, before, acks }])
        }
        WorkflowInput::Applied(proposals) => Ok(applied_entries(workflow, &proposals)),
        WorkflowInput::Acted { proposal, ack } => match workflow.proposals.get(&proposal) {
            Some(PendingProposal { status: PendingStatus::Applying(_), .. }) => {
                Ok(vec![Entry::Applied { proposal, ack }])
            }
            _ => Ok(Vec::new()),
        },
        WorkflowInput::Undone { proposal, is_redone: again, left } => {
            Ok(undo_entries(workflow, proposal, again, left))
        }
        WorkflowInput::Failed { proposals, reason } => {
            let failed = |proposal| Entry::Failed { proposal, reason: reason.clone() };
            Ok(proposals.into_iter().map(failed).collect())
        }
        WorkflowInput::Moved { reason, not_done } => Ok(mark_stale(workflow, &reason, &not_done)),
        WorkflowInput::Replan { proposal, reason } => {
            Ok(withdraw_for_replan(workflow, proposal, reason))
        }
        WorkflowInput::Cancelled { call } => Ok(cancel_call(workflow, call)),
        WorkflowInput::Disconnected => Ok(disconnect_agent(workflow)),
        WorkflowInput::Expired { after } => Ok(expire_pending(workflow, &after)),
        WorkflowInput::Finish { outcome } => Ok(finish_workflow(workflow, outcome)),
        input => decide_talk(state, name, workflow, input),
    }
}

/// Returns the entry that starts a workflow, if the input is that.
fn start_entry(input: &WorkflowInput) -> Option<Entry> {
    let WorkflowInput::Start {
        place,
        goal,
        driver,
        mode,
        attached,
        interaction,
        follows,
        guards,
        role,
    } = input
    else {
        return None;
    };
    Some(Entry::Started {
        place: place.clone(),
        goal: goal.clone(),
        driver: driver.clone(),
        mode: *mode,
        attached: attached.clone(),
        interaction: *interaction,
        follows: *follows,
        guards: guards.clone(),
        served: false,
        role: *role,
        requested_by: None,
    })
}

/// Decides on an input that belongs to the conversation with a model.
fn decide_talk(
    state: &LedgerState,
    name: Seq,
    workflow: &Workflow,
    input: WorkflowInput,
) -> Result<Vec<Entry>, Refusal> {
    match input {
        WorkflowInput::Asked { text, attached } => user_request(workflow, text, attached),
        WorkflowInput::Requested(request) => Ok(vec![Entry::Requested { request }]),
        WorkflowInput::Replied(message) => Ok(handle_message(workflow, message)),
        WorkflowInput::Unanswered(trouble) => Ok(vec![trouble_entry(trouble)]),
        WorkflowInput::Paid(MessageCost { model, tokens, dollars, .. }) => {
            Ok(vec![Entry::Replied { model, tokens, cost: dollars, replay: None }])
        }
        WorkflowInput::Resume => {
            Ok(workflow.talk.trouble().map(|_| Entry::Resumed {}).into_iter().collect())
        }
        WorkflowInput::Summarise { keep } => {
            Ok(summary::summarize(&state.task_chain(name), keep).into_iter().collect())
        }
        _ => Ok(Vec::new()),
    }
}

pub(super) fn called_entry(call: ToolCall) -> Entry {
    let ToolCall { tool, args, id, flaw } = call;
    Entry::Called { tool, args, id, flaw }
}

fn user_request(
    workflow: &Workflow,
    text: String,
    attached: Vec<AttachmentSnapshot>,
) -> Result<Vec<Entry>, Refusal> {
    if workflow.finished.is_some() {
        return refuse!("The task has ended; the next message starts a new one.");
    }
    if text.trim().is_empty() {
        return refuse!("The message is empty.");
    }
    // A message instead of an answer permits nothing: it may answer something else.
    let answer = PermissionAnswer::No;
    let refused = workflow.requested_permissions();
    let refused = refused.map(|call| Entry::PermissionDecided { call, answer });
    Ok(refused.chain([Entry::Asked { text, attached }]).collect())
}

fn permit_call(
    workflow: &Workflow,
    call: Seq,
    answer: PermissionAnswer,
) -> Result<Vec<Entry>, Refusal> {
    if workflow.finished.is_some() {
        return refuse!("The task has ended; nothing is asked any more.");
    }
    let Some(permission) = workflow.requested_permission(call) else {
        return refuse!("Call {call} does not wait for a permission; it may be answered already.");
    };
    if !permission.answers().contains(&answer) {
        return refuse!("This is permitted once at a time. Answer with `once` or `no`.");
    }
    Ok(vec![Entry::PermissionDecided { call, answer }])
}

fn trouble_entry(trouble: ModelTrouble) -> Entry {
    let ModelTrouble { code, message, is_retryable: retryable, hint, setting } = trouble;
    Entry::RequestFailed { code, message, retryable, hint, setting }
}

/// Maximum number of consecutive messages without a call and without an end.
const VAIN: u32 = 3;

/// Handles a message. Only its first call counts; the others are refused by name.
fn handle_message(workflow: &Workflow, message: ModelMessage) -> Vec<Entry> {
    let mut entries = Vec::new();
    if let Some(MessageCost { model, tokens, dollars, replay }) = message.cost {
        entries.push(Entry::Replied { model, tokens, cost: dollars, replay });
    }
    // A queued message of the user still needs a reply.
    let is_last = message.calls.is_empty() && !message.is_declined && !workflow.talk.has_queued();
    // A model that stops while work is missing is reminded once.
    let flaw = message.flaw.or_else(|| {
        let missing = guards::missing_work(workflow)
            .filter(|_| is_last && workflow.talk.idle_messages() == 0)?;
        Some(missing.0)
    });
    let ends = message.calls.is_empty() && flaw.is_none() && !workflow.talk.has_queued();
    if let Some(text) = message.text {
        entries.extend(replies_in_message(workflow, &text));
        let phase = if ends { Phase::Final } else { Phase::Update };
        entries.push(Entry::Said { text, phase, answers: Vec::new() });
    }
    let is_vain = message.calls.is_empty();
    let mut calls = message.calls.into_iter();
    entries.extend(calls.next().map(|call| called_entry(without_merge(call))));
    let ignored: Vec<String> = calls.map(|call| call.tool).collect();
    if !ignored.is_empty() {
        let text = format!(
            "Only the first tool call of a message is run. Not run: {}.",
            ignored.join(", ")
        );
        entries.push(Entry::Notified { text });
    }
    if let Some(flaw) = flaw {
        entries.push(if is_vain && workflow.talk.idle_messages() + 1 >= VAIN {
            trouble_entry(ModelTrouble {
                code: FailureKind::Provider,
                message: format!(
                    "{VAIN} answers of the model in a row could not be used. The last: {flaw}"
                ),
                is_retryable: true,
                hint: "Try again, rephrase the request, or choose another model.".to_owned(),
                setting: None,
            })
        } else {
            Entry::Notified { text: flaw }
        });
    }
    if ends {
        let outcome = match message.is_declined {
            true if workflow.is_last_rejected() => Finish::NotApproved,
            true => Finish::Failed,
            false => Finish::Done,
        };
        entries.extend(workflow.ending_entries(outcome, None));
    }
    entries
}

/// Only the engine joins the changes of workers.
fn without_merge(call: ToolCall) -> ToolCall {
    let flaw = is_merge(&call.tool).then(|| unknown_tool(&call.tool, &[]));
    ToolCall { flaw: call.flaw.or(flaw), ..call }
}

/// The position of the `Called` entry is not known yet; `Seq(0)` refers to the previous entry.
fn answer_entries(call: ToolCall, answer: Result<Json, Refusal>) -> Vec<Entry> {
    let before = Seq(0);
    let result = match answer {
        Ok(answer) => Entry::Answered { call: before, answer },
        Err(refusal) => refused_entry(before, refusal.0),
    };
    vec![called_entry(call), result]
}

pub(super) fn refused_entry(call: Seq, reason: String) -> Entry {
    Entry::Refused { call, reason, conflict: None }
}

fn handle_plan(
    workflow: &Workflow,
    call: Seq,
    result: Result<Plan, Refusal>,
    after: Vec<Seq>,
) -> Result<Vec<Entry>, Refusal> {
    let is_open =
        workflow.calls.get(&call).is_some_and(|call| matches!(call.status, CallStatus::Open));
    if !is_open {
        return refuse!("Call {call} is already settled.");
    }
    Ok(match result {
        Err(refusal) => vec![refused_entry(call, refusal.0)],
        Ok(Plan::Answer(answer)) => vec![Entry::Answered { call, answer }],
        // The shell performs the request and reports the answer later.
        Ok(Plan::Fetch(_) | Plan::Delegate(_)) => Vec::new(),
        Ok(Plan::Look(request)) => {
            let lacking = workflow.lacking_permission(call, &request);
            lacking.map(|it| request_permission(workflow, call, it)).into_iter().collect()
        }
        Ok(Plan::NeedsPermission(permission)) => {
            vec![request_permission(workflow, call, permission)]
        }
        Ok(Plan::Talk(talk)) => handle_action(workflow, call, talk),
        Ok(Plan::Conflict(refusal, conflict)) => {
            vec![Entry::Refused { call, reason: refusal.0, conflict: Some(conflict) }]
        }
        Ok(Plan::Propose(mut proposal, answer)) => {
            if let Some(reason) = previous_offer(workflow, &proposal) {
                return Ok(vec![refused_entry(call, reason)]);
            }
            proposal.after = after;
            proposal.replaces = workflow.proposed_for(call);
            let answer = Some(answer).filter(|answer| !answer.is_null());
            vec![Entry::Proposed { call, answer, proposal }]
        }
    })
}

/// Asks the person for a permission, unless nobody waits for what it permits.
fn request_permission(workflow: &Workflow, call: Seq, permission: Permission) -> Entry {
    if let Some(client) = workflow.disconnected_agent() {
        return refused_entry(call, format!("{client} disconnected before it was permitted."));
    }
    if workflow.role.assigned_part().is_some() {
        let why = "This needs a permission, and a worker asks nobody. Do without it, and say so in your \
                   last message.";
        return refused_entry(call, why.to_owned());
    }
    Entry::PermissionRequested { call, permission }
}

/// Refuses an identical proposal on an unchanged base.
fn previous_offer(workflow: &Workflow, proposal: &Proposal) -> Option<String> {
    let (seq, before) =
        workflow.proposals.iter().find(|(_, p)| p.proposal.patch_id == proposal.patch_id)?;
    match &before.status {
        PendingStatus::Rejected(reason) => {
            let why = reason.as_ref().map_or(String::new(), |reason| format!(": {reason}"));
            Some(format!(
                "This is the same as proposal {seq}, which the person rejected{why}. Propose \
                 something else, or ask what the person wants."
            ))
        }
        PendingStatus::Waiting => {
            Some(format!("This is the same as proposal {seq}, which is waiting for a decision."))
        }
        PendingStatus::Drafted => Some(format!("This is the same as proposal {seq}.")),
        _ => None,
    }
}

pub(super) fn find_pending(
    workflow: &Workflow,
    proposal: Seq,
) -> Result<&PendingProposal, Refusal> {
    let Some(pending) = workflow.proposals.get(&proposal) else {
        return refuse!("There is no proposal {proposal} in this workflow.");
    };
    match &pending.status {
        PendingStatus::Waiting => Ok(pending),
        PendingStatus::Drafted => refuse!(
            "Proposal {proposal} is the change of a worker. It is decided with the result of the task \
             that the worker works for."
        ),
        PendingStatus::Approved
        | PendingStatus::Applying(_)
        | PendingStatus::Applied(_)
        | PendingStatus::Undone(_) => {
            refuse!("Proposal {proposal} was already approved.")
        }
        PendingStatus::Rejected(_) => refuse!("Proposal {proposal} was already rejected."),
        PendingStatus::Withdrawn(reason) | PendingStatus::Failed(reason) => {
            refuse!("Proposal {proposal} can no longer be decided: {reason}")
        }
    }
}

fn approve_proposal(
    workflow: &Workflow,
    proposal: Seq,
    patch_id: Fingerprint,
    by: Approver,
    twice: bool,
) -> Result<Vec<Entry>, Refusal> {
    let pending = find_pending(workflow, proposal)?;
    if pending.proposal.patch_id != patch_id {
        return refuse!(
            "Proposal {proposal} differs from what was approved: its patch id is {}, not {}. \
             Review it again.",
            pending.proposal.patch_id.short_hex(),
            patch_id.short_hex()
        );
    }
    if by == Approver::Mode && !policy::can_auto_approve(workflow.mode, &pending.proposal) {
        return refuse!("The mode does not allow proposal {proposal} without a decision.");
    }
    let rule = (by == Approver::Rule).then(|| workflow.rule_for(&pending.proposal)).flatten();
    if by == Approver::Rule && rule.is_none() {
        return refuse!("No rule of the task allows proposal {proposal} without a decision.");
    }
    if policy::needs_second_confirmation(&pending.proposal) && !twice {
        return refuse!("Proposal {proposal} has a warning that needs a second confirmation.");
    }
    Ok(vec![Entry::Approved { proposal, patch_id, by, rule }])
}

fn revise_proposal(
    workflow: &Workflow,
    old: Seq,
    mut by: Box<Proposal>,
) -> Result<Vec<Entry>, Refusal> {
    let pending = find_pending(workflow, old)?;
    if by.patch_id == pending.proposal.patch_id {
        return refuse!("Nothing was changed in proposal {old}.");
    }
    by.from = Some(old);
    by.reverts.clear();
    by.implicit_target.clone_from(&pending.proposal.implicit_target);
    by.runs = pending.proposal.runs.as_ref().map(|it| check_before(it, "it was revised"));
    let mut answer = match workflow.calls.get(&pending.call).map(|call| &call.status) {
        Some(CallStatus::Proposed(_, answer)) if !answer.is_null() => Some(answer.clone()),
        _ => None,
    };
    if let Some(Json::Object(answer)) = &mut answer {
        answer.remove("runs");
    }
    let reason = Some("It was replaced by a part or an edited version of it.".to_owned());
    let mut entries = vec![Entry::Rejected { proposal: old, reason }];
    entries.extend(withdraw_later(workflow, old));
    entries.push(Entry::Proposed { call: pending.call, answer, proposal: by });
    Ok(entries)
}

/// Returns the `Applied` entries of proposals that were being applied.
fn applied_entries(workflow: &Workflow, proposals: &[Seq]) -> Vec<Entry> {
    proposals
        .iter()
        .filter_map(|proposal| match &workflow.proposals.get(proposal)?.status {
            PendingStatus::Applying(ack) => {
                Some(Entry::Applied { proposal: *proposal, ack: ack.clone() })
            }
            _ => None,
        })
        .collect()
}

/// Returns the entries for an undo or redo in Studio, if it changes the status of the proposal.
fn undo_entries(
    workflow: &Workflow,
    proposal: Seq,
    again: bool,
    remaining: Option<String>,
) -> Vec<Entry> {
    match workflow.proposals.get(&proposal).map(|pending| &pending.status) {
        Some(PendingStatus::Applied(_)) if !again => vec![Entry::Undone { proposal, remaining }],
        // The undo arrived before the plugin's acknowledgement. What was undone must have been
        // applied.
        Some(PendingStatus::Applying(ack)) if !again => {
            vec![
                Entry::Applied { proposal, ack: ack.clone() },
                Entry::Undone { proposal, remaining },
            ]
        }
        Some(PendingStatus::Undone(_)) if again => vec![Entry::Redone { proposal, remaining }],
        _ => Vec::new(),
    }
}
