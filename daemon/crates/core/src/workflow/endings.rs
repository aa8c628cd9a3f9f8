//! Endings: a cancelled call, a disconnected client, a finished task.

use scene_schemas::entry::{Entry, Finish, Seq};

use super::decide::{find_pending, refused_entry};
use super::dependencies::withdraw_later;
use super::{CallStatus, PendingStatus, Workflow};

/// Refuses the call if it is still open, and withdraws its proposal if that is not decided yet.
/// Decided proposals are kept.
pub(super) fn cancel_call(workflow: &Workflow, call: Seq) -> Vec<Entry> {
    let reason = "The caller cancelled it before a decision.".to_owned();
    match workflow.calls.get(&call).map(|call| &call.status) {
        Some(CallStatus::Open | CallStatus::NeedsPermission(_)) => {
            vec![refused_entry(call, reason)]
        }
        Some(CallStatus::Proposed(proposal, _)) => {
            let proposal = *proposal;
            if find_pending(workflow, proposal).is_err() {
                return Vec::new();
            }
            let mut entries = vec![Entry::Withdrawn { proposal, reason, replanned: false }];
            entries.extend(withdraw_later(workflow, proposal));
            entries
        }
        _ => Vec::new(),
    }
}

/// Records that the agent disconnected. Its proposals can still be decided; the calls that waited
/// for a permission are refused.
pub(super) fn disconnect_agent(workflow: &Workflow) -> Vec<Entry> {
    let is_over = workflow.finished.is_some() || workflow.disconnected.is_some();
    let client = workflow.agent_name().filter(|_| !is_over);
    let Some(client) = client else {
        return Vec::new();
    };
    let reason = format!("{client} disconnected before it was permitted.");
    let disconnected = Entry::Disconnected { client: client.to_owned() };
    let refused = workflow.requested_permissions().map(|call| refused_entry(call, reason.clone()));
    std::iter::once(disconnected).chain(refused).collect()
}

pub(super) fn expire_pending(workflow: &Workflow, after: &str) -> Vec<Entry> {
    let Some(client) = workflow.disconnected_agent().filter(|_| workflow.finished.is_none()) else {
        return Vec::new();
    };
    let reason = format!("{client} disconnected, and no decision was made within {after}.");
    end_run(workflow, Finish::NotApproved, &reason)
}

pub(super) fn finish_workflow(workflow: &Workflow, outcome: Finish) -> Vec<Entry> {
    end_run(workflow, outcome, "The run ended before a decision was made.")
}

fn end_run(workflow: &Workflow, outcome: Finish, reason: &str) -> Vec<Entry> {
    let joined = workflow.role.assigned_part().filter(|_| outcome == Finish::Done);
    let joined = joined.map(|part| format!("It is in the result of task {}.", part.lead));
    let mut entries: Vec<Entry> = workflow
        .proposals
        .iter()
        .filter(|(_, it)| matches!(it.status, PendingStatus::Waiting | PendingStatus::Drafted))
        .map(|(seq, _)| Entry::Withdrawn {
            proposal: *seq,
            reason: joined.clone().unwrap_or_else(|| reason.to_owned()),
            replanned: false,
        })
        .collect();
    if workflow.finished.is_none() {
        entries.push(Entry::Finished { outcome, summary: None });
    }
    entries
}
