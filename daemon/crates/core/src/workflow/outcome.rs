//! What the model is told of its calls.

use scene_schemas::Command;
use scene_schemas::proposal::WarningKind;
use serde_json::{Value as Json, json};

use super::{CallStatus, PendingProposal, PendingStatus, Workflow, WorkflowCall};
use crate::prompt::CallOutcome;

impl Workflow {
    /// Returns the outcome of a call for the model; None if the call is not settled.
    pub(super) fn call_outcome(&self, call: &WorkflowCall) -> Option<CallOutcome> {
        Some(match &call.status {
            CallStatus::Open | CallStatus::Questioned(_) | CallStatus::NeedsPermission(_) => {
                return None;
            }
            CallStatus::Answered(answer) => CallOutcome::Done(answer.clone()),
            CallStatus::Refused(reason) => CallOutcome::Refused(reason.clone()),
            CallStatus::Proposed(seq, answer) => {
                let pending = self.proposals.get(seq)?;
                match &pending.status {
                    PendingStatus::Applied(_) => {
                        CallOutcome::Done(Self::applied_answer(pending, answer.clone()))
                    }
                    PendingStatus::Undone(_) => CallOutcome::Refused(
                        "It was applied, and the person then undid it in Studio.".to_owned(),
                    ),
                    PendingStatus::Rejected(_) if let Some(text) = self.comments_text(*seq) => {
                        CallOutcome::Refused(text)
                    }
                    PendingStatus::Rejected(reason) => CallOutcome::Refused(match reason {
                        Some(reason) => format!("The person rejected it: {reason}"),
                        None => "The person rejected it.".to_owned(),
                    }),
                    PendingStatus::Failed(reason) | PendingStatus::Withdrawn(reason) => {
                        CallOutcome::Refused(reason.clone())
                    }
                    PendingStatus::Waiting | PendingStatus::Drafted if self.role.submits() => {
                        CallOutcome::Done(Self::pending_answer(pending, answer.clone()))
                    }
                    PendingStatus::Waiting
                    | PendingStatus::Drafted
                    | PendingStatus::Approved
                    | PendingStatus::Applying(_) => return None,
                }
            }
        })
    }

    /// Returns the answer to a call whose proposal was applied, with the lints that it introduced.
    pub(super) fn applied_answer(pending: &PendingProposal, answer: Json) -> Json {
        let found = pending.proposal.warnings.iter().filter(|it| it.kind == WarningKind::Lint);
        let found: Vec<&str> = found.map(|it| it.text.as_str()).collect();
        let mut answer = Self::changed_answer(pending, answer);
        if found.is_empty() {
            return answer;
        }
        match &mut answer {
            Json::Object(_) => {
                answer["newFindings"] = json!(found);
                answer
            }
            Json::Null => json!({ "newFindings": found }),
            _ => json!({ "answer": answer, "newFindings": found }),
        }
    }

    /// Returns the answer. If the user edited the proposal, returns only the commands that were
    /// applied, because the answer describes the original proposal.
    fn changed_answer(pending: &PendingProposal, answer: Json) -> Json {
        if pending.proposal.from.is_some() {
            return json!({ "changedByPerson": {
                "note": "The person edited this proposal before it was applied.",
                "paths": pending.proposal.commands.iter().map(command_path).collect::<Vec<_>>(),
                "applied": pending.proposal.commands,
            } });
        }
        answer
    }
}

/// Returns the path of the instance that a command creates or changes.
fn command_path(command: &Command) -> String {
    match command {
        Command::Create { parent, name, .. } => parent.path.child(name, None).to_string(),
        command => command.target().path.to_string(),
    }
}
