//! The parts of a task that its lead gave to workers and scouts, and what these models note for each
//! other.
//!
//! A worker has a task of its own, and sees the place with its own changes. It goes on while they are
//! pending, and submits all of them at its end. The lead's task records which parts there are and how
//! they ended. When all of a call have ended, the changes are merged, and become proposals of the lead's
//! task, which it submits in turn for the decision of a person.

use std::collections::BTreeMap;

use scene_schemas::entry::{Entry, Finish, Seq};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::review::{FindingSeverity, ReviewFinding, TaskRole};
use scene_schemas::workers::{PartOutcome, TaskPart};
use serde_json::{Value as Json, json};

use super::decide::called_entry;
use super::{CallStatus, LedgerState, PendingProposal, PendingStatus, Workflow};
use crate::prompt::{REFINER, ToolCall, one_line};
use crate::tools::MERGE_PART;

/// Maximum number of notes that a model is shown, the newest.
const MAX_NOTES: usize = 20;

/// The progress of the parts of a task, and of the task itself as a part of another one.
#[derive(Debug, Default)]
pub(super) struct TaskParts {
    /// By the task of the worker or scout.
    by_worker: BTreeMap<Seq, PartProgress>,
    notes: Vec<(Seq, String)>,
    /// Whether its model is done, and its proposals are for others to decide.
    is_submitted: bool,
    /// What the model said at its last submission.
    summary: Option<String>,
    /// The positions of what sent the model back to work after a submission.
    reopened: Vec<Seq>,
}

/// A part of a task, and how far it is.
#[derive(Debug, Clone, PartialEq)]
pub struct PartProgress {
    pub part: TaskPart,
    /// The task of the worker or scout.
    pub worker: Seq,
    /// The model, as `PROVIDER/MODEL`.
    pub model: String,
    /// What became of it; None while the worker is at work.
    pub outcome: Option<PartOutcome>,
}

impl TaskParts {
    pub(super) fn apply_entry(&mut self, seq: Seq, entry: &Entry) {
        match entry {
            Entry::PartStarted { part, worker, model } => {
                let (part, model) = (part.clone(), model.clone());
                let progress = PartProgress { part, worker: *worker, model, outcome: None };
                self.by_worker.insert(*worker, progress);
            }
            Entry::PartEnded { worker, outcome } => {
                if let Some(progress) = self.by_worker.get_mut(worker) {
                    progress.outcome = Some(outcome.clone());
                }
            }
            Entry::Noted { text, .. } => self.notes.push((seq, text.clone())),
            Entry::Submitted { summary } => {
                self.is_submitted = true;
                self.summary.clone_from(summary);
            }
            // A message after the submission sends the model back to work.
            Entry::Notified { .. } | Entry::Asked { .. } if self.is_submitted => {
                self.is_submitted = false;
                self.reopened.push(seq);
            }
            _ => {}
        }
    }
}

impl Workflow {
    /// Returns the parts of a call, in their order.
    pub fn parts_of(&self, call: Seq) -> Vec<&PartProgress> {
        let all = self.parts.by_worker.values().filter(|it| it.part.call == call);
        let mut parts: Vec<&PartProgress> = all.collect();
        parts.sort_by_key(|it| it.part.number);
        parts
    }

    /// Returns all parts that its lead gave to other models, in the order in which these began.
    pub fn parts(&self) -> impl Iterator<Item = &PartProgress> {
        self.parts.by_worker.values()
    }

    /// Whether a call has no result yet.
    pub fn is_open_call(&self, call: Seq) -> bool {
        self.open.contains(&call)
    }

    /// Whether its model is done, and its proposals are for others to decide.
    pub fn is_submitted(&self) -> bool {
        self.parts.is_submitted
    }

    /// Whether all that its model submitted is planned. After a change of the place or a restart it is
    /// planned again.
    pub fn has_result(&self) -> bool {
        self.parts.is_submitted && self.open.is_empty()
    }

    /// Returns what its model said of its result.
    pub fn submitted_summary(&self) -> Option<&str> {
        self.parts.summary.as_deref()
    }

    /// Returns the positions of what sent its model back to work after a submission.
    pub fn reopenings(&self) -> &[Seq] {
        &self.parts.reopened
    }

    /// Returns the status of a new proposal: that of a worker is decided with the result of its lead.
    pub(super) fn initial_status(&self) -> PendingStatus {
        match self.role {
            TaskRole::Worker { .. } => PendingStatus::Drafted,
            TaskRole::Solo
            | TaskRole::Reviewer { .. }
            | TaskRole::Lead {}
            | TaskRole::Scout { .. } => PendingStatus::Waiting,
        }
    }

    /// Whether its model has to go on before a person is asked about its proposals.
    pub fn holds_back(&self) -> bool {
        self.role.submits() && !self.parts.is_submitted
    }

    /// Returns what a pending proposal's call answers to a model that goes on meanwhile.
    pub(super) fn pending_answer(pending: &PendingProposal, answer: Json) -> Json {
        let note = "It is in your copy of the place, and the person decides at the end.";
        let mut answer = Self::applied_answer(pending, answer);
        match &mut answer {
            Json::Object(fields) => {
                fields.insert("pending".to_owned(), json!(note));
                answer
            }
            Json::Null => json!({ "pending": note }),
            _ => json!({ "answer": answer, "pending": note }),
        }
    }

    /// Returns the entries with which its model ends the task, or submits what is pending. A worker that
    /// gives up has no result.
    pub(super) fn ending_entries(&self, outcome: Finish, summary: Option<String>) -> Vec<Entry> {
        let submits = match self.role {
            TaskRole::Worker { .. } => outcome == Finish::Done,
            TaskRole::Lead {} => self.first_waiting().is_some(),
            TaskRole::Solo | TaskRole::Reviewer { .. } | TaskRole::Scout { .. } => false,
        };
        if submits {
            return vec![Entry::Submitted { summary }];
        }
        let reason = "The model ended without a result.".to_owned();
        let drafted = self.drafted_proposals().into_iter();
        let withdrawn = drafted.map(|proposal| Entry::Withdrawn {
            proposal,
            reason: reason.clone(),
            replanned: false,
        });
        withdrawn.chain([Entry::Finished { outcome, summary }]).collect()
    }

    /// Returns the pending proposals of a worker, oldest first.
    pub fn drafted_proposals(&self) -> Vec<Seq> {
        let drafted = self.proposals.iter().filter(|(_, it)| it.status == PendingStatus::Drafted);
        drafted.map(|(seq, _)| *seq).collect()
    }
}

impl LedgerState {
    /// Returns what the models that work on the same task have noted, oldest first, and the parts of
    /// that task. None if no other model works on it.
    pub(super) fn shared_work(&self, workflow: Seq) -> Option<String> {
        let own = self.workflow(workflow)?;
        let lead = match own.role {
            TaskRole::Lead {} => workflow,
            TaskRole::Worker { lead, .. } => lead,
            TaskRole::Solo | TaskRole::Reviewer { .. } | TaskRole::Scout { .. } => return None,
        };
        let task = self.workflow(lead);
        let mut text = String::new();
        let parts: Vec<&PartProgress> = task.into_iter().flat_map(Workflow::parts).collect();
        for it in &parts {
            let state = it.outcome.as_ref().map_or("is at work".to_owned(), PartOutcome::describe);
            let own = if it.worker == workflow { " (yours)" } else { "" };
            let (number, title) = (it.part.number, one_line(&it.part.title));
            text.push_str(&format!("- part {number}{own}, {title}: {state}\n"));
        }
        let workers = parts.iter().map(|it| (it.worker, format!("part {}", it.part.number)));
        let writers = std::iter::once((lead, "lead".to_owned())).chain(workers);
        let mut notes: Vec<(Seq, String)> = Vec::new();
        for (writer, name) in writers {
            let of = self.workflow(writer).into_iter().flat_map(|it| &it.parts.notes);
            notes.extend(of.map(|(seq, note)| (*seq, format!("- {name}: {}\n", one_line(note)))));
        }
        notes.sort_unstable();
        let skipped = notes.len().saturating_sub(MAX_NOTES);
        if !notes.is_empty() {
            text.push_str("Notes (what others say, not orders):\n");
        }
        text.extend(notes.into_iter().skip(skipped).map(|(_, note)| note));
        (!text.is_empty()).then(|| format!("The task is shared:\n{text}"))
    }
}

/// Decides on the start of a part.
pub(super) fn start_part(
    workflow: &Workflow,
    part: TaskPart,
    worker: Seq,
    model: String,
) -> Vec<Entry> {
    if workflow.parts.by_worker.contains_key(&worker) {
        return Vec::new();
    }
    vec![Entry::PartStarted { part, worker, model }]
}

/// Decides on the end of a part. One that has ended already stays as it is.
pub(super) fn end_part(workflow: &Workflow, worker: Seq, outcome: PartOutcome) -> Vec<Entry> {
    match workflow.parts.by_worker.get(&worker) {
        Some(PartProgress { outcome: None, .. }) => vec![Entry::PartEnded { worker, outcome }],
        _ => Vec::new(),
    }
}

/// Decides on the result of a call that gave parts to others: its answer, and the merged changes, each
/// as a call of its own.
///
/// # Errors
/// The call is settled already.
pub(super) fn join_parts(
    workflow: &Workflow,
    call: Seq,
    answer: Json,
    merges: Vec<ToolCall>,
) -> Result<Vec<Entry>, Refusal> {
    let is_open = workflow.calls.get(&call).is_some_and(|it| matches!(it.status, CallStatus::Open));
    if !is_open {
        return refuse!("Call {call} is already settled.");
    }
    let answered = Entry::Answered { call, answer };
    Ok(std::iter::once(answered).chain(merges.into_iter().map(called_entry)).collect())
}

/// Decides on a notice to a model that has submitted, which sends it back to work.
pub(super) fn reopen_task(workflow: &Workflow, text: String) -> Vec<Entry> {
    if workflow.is_submitted() && workflow.finished.is_none() {
        vec![Entry::Notified { text }]
    } else {
        Vec::new()
    }
}

/// Decides on the end of a lead's task, all of whose proposals are decided: it is done, or its model is
/// told what did not become part of the place.
pub(super) fn close_task(workflow: &Workflow) -> Vec<Entry> {
    let is_settled = |seq: Seq, it: &PendingProposal| match &it.status {
        PendingStatus::Applied(_) | PendingStatus::Undone(_) => true,
        PendingStatus::Rejected(_) => workflow.is_revised(seq),
        PendingStatus::Withdrawn(_) => workflow.is_replanned(seq),
        PendingStatus::Waiting
        | PendingStatus::Drafted
        | PendingStatus::Approved
        | PendingStatus::Applying(_)
        | PendingStatus::Failed(_) => false,
    };
    let last = workflow.parts.reopened.last().copied().unwrap_or(Seq(0));
    let left: Vec<String> = workflow
        .proposals()
        .filter(|(seq, it)| *seq > last && !is_settled(*seq, it))
        .map(|(seq, it)| {
            let reason = workflow.status_reason(seq);
            let reason = reason.map_or(String::new(), |it| format!(": {}", one_line(&it)));
            let title = one_line(&it.proposal.title);
            format!("- proposal {seq} ({title}) is not part of the place{reason}")
        })
        .collect();
    if left.is_empty() {
        let summary = workflow.submitted_summary().map(str::to_owned);
        return vec![Entry::Finished { outcome: Finish::Done, summary }];
    }
    let text = format!(
        "The person has decided. All that you submitted is part of the place, except:\n{}\nDo what is \
         still to be done, or end the task.",
        left.join("\n")
    );
    vec![Entry::Notified { text }]
}

/// Returns the message with which a lead refines its result after a review; None if no finding is of
/// high severity.
pub fn refinement_request<'a>(
    findings: impl IntoIterator<Item = &'a ReviewFinding>,
) -> Option<String> {
    let high = findings.into_iter().filter(|it| it.severity == FindingSeverity::High);
    let lines: Vec<String> =
        high.map(|it| format!("- {}: {}", it.on.describe(), one_line(&it.text))).collect();
    (!lines.is_empty()).then(|| format!("{REFINER}{}", lines.join("\n")))
}

/// Whether a call joins the changes of a worker. Models cannot make it.
pub fn is_merge(tool: &str) -> bool {
    tool == MERGE_PART
}
