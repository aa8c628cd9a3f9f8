//! Workflows: one task in one place, as state derived from the ledger.
//!
//! There are three pure functions: [`decide()`] turns an input into entries,
//! [`LedgerState::apply_record`] applies an entry to the state, and [`Workflow::wants`] returns the
//! next work. The shell acts on entries only after they are durable, and drops work that is no
//! longer wanted. Scenes are caches of the shell and not part of this state.

mod actions;
mod agent;
mod chain;
mod comments;
mod decide;
mod dependencies;
mod endings;
mod events;
mod guards;
mod outcome;
mod output_errors;
mod parts;
mod permission;
mod prompt_status;
mod read_lines;
mod reviews;
mod rules;
mod summary;
mod supersession;
mod talk;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use scene_schemas::entry::{
    Approver, AttachmentSnapshot, Entry, Finish, Guards, InteractionMode, Place, Record, Replay,
    Seq, Step, TaskContext,
};
use scene_schemas::permission::Permission;
use scene_schemas::proposal::{Ack, ImplicitTarget, ImplicitTargetReason, Mode, Proposal};
use scene_schemas::review::TaskRole;
use serde_json::Value as Json;

use crate::prompt::{self, UNMERGED, attachment_text};

pub use self::decide::{AGENT, CALLS, WorkflowInput, decide};
pub use self::events::{brief_json, events_of};
pub use self::guards::check_call;
pub use self::output_errors::OutputErrors;
pub use self::parts::{PartProgress, is_merge, refinement_request};
pub use self::reviews::{ProposalReview, ReviewProgress, ReviewState, check_reviewable};
pub use self::talk::{ModelConversation, ModelTrouble};

use self::comments::TaskComments;
use self::parts::TaskParts;
use self::permission::GrantedPermissions;
use self::reviews::TaskReviews;
use self::rules::TaskRules;

/// The state of all workflows, derived from the ledger.
#[derive(Debug, Default)]
pub struct LedgerState {
    workflows: BTreeMap<Seq, Workflow>,
}

/// A task in a place.
#[derive(Debug)]
pub struct Workflow {
    pub place: Place,
    pub goal: String,
    /// The driver, which calls the tools.
    pub driver: String,
    /// The mode, which determines the proposals approved automatically.
    pub mode: Mode,
    /// The attachments of the request.
    pub attached: Vec<AttachmentSnapshot>,
    /// The interaction mode, which limits the tools.
    pub interaction: InteractionMode,
    /// The previous task of the same conversation.
    pub follows: Option<Seq>,
    /// The guards for a model; None if no model calls the tools.
    pub guards: Option<Guards>,
    /// Whether a daemon runs the task.
    pub is_served: bool,
    pub role: TaskRole,
    /// The call of the agent that asked for the task.
    pub requested_by: Option<Seq>,
    /// The scripts that the model receives at the start.
    pub context: Option<TaskContext>,
    pub plan: Vec<Step>,
    pub finished: Option<Finish>,
    /// The entry of its client's disconnection.
    pub disconnected: Option<Seq>,
    /// Whether the conversation ends with this task.
    pub is_cleared: bool,
    /// Whether its texts were erased.
    pub is_erased: bool,
    /// The model's closing message.
    pub summary: Option<String>,
    calls: BTreeMap<Seq, WorkflowCall>,
    /// The calls that have to be planned.
    open: BTreeSet<Seq>,
    /// The calls by the ids that their callers gave them.
    names: HashMap<String, Seq>,
    proposals: BTreeMap<Seq, PendingProposal>,
    /// The comments on its proposals.
    comments: TaskComments,
    /// The reviews of its proposals.
    reviews: TaskReviews,
    /// The parts that other models do.
    parts: TaskParts,
    /// The rules that the user added.
    rules: TaskRules,
    /// Whether its calls may play the game in Studio.
    permissions: GrantedPermissions,
    /// The messages, and the state of the model.
    talk: ModelConversation,
}

#[derive(Debug)]
struct WorkflowCall {
    tool: String,
    args: Json,
    id: Option<String>,
    /// The reason the call cannot run.
    flaw: Option<String>,
    /// Provider data of the model's message that has to be sent back.
    replay: Option<Box<Replay>>,
    status: CallStatus,
}

#[derive(Debug)]
enum CallStatus {
    Open,
    Answered(Json),
    Refused(String),
    /// A question that waits for the user's answer, with the offered answers.
    Questioned(Vec<String>),
    /// It needs a permission that only a person can give.
    NeedsPermission(Permission),
    Proposed(Seq, Json),
}

/// A proposal and its status.
#[derive(Debug)]
pub struct PendingProposal {
    pub proposal: Proposal,
    /// The call that produced it.
    pub call: Seq,
    pub status: PendingStatus,
}

/// The status of a proposal.
#[derive(Debug, Clone, PartialEq)]
pub enum PendingStatus {
    Waiting,
    /// It is the change of a worker, which becomes a part of its lead's result.
    Drafted,
    Approved,
    /// The target is about to replace the file; the acknowledgement to record.
    Applying(Box<Ack>),
    /// The target has applied it.
    Applied(Box<Ack>),
    /// The target has applied it, and the user undid it in Studio.
    Undone(Box<Ack>),
    /// The user rejected it, possibly with a reason.
    Rejected(Option<String>),
    /// It lost its base or its task, with the reason.
    Withdrawn(String),
    /// The target failed to apply it, with the reason.
    Failed(String),
}

impl PendingStatus {
    /// Whether the proposal may still change the place.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Waiting | Self::Drafted | Self::Approved | Self::Applying(_))
    }
}

/// The next work of a workflow.
#[derive(Debug, Clone, PartialEq)]
pub enum WantedWork {
    Plan {
        call: Seq,
        tool: String,
        args: Json,
    },
    /// Approve one of these proposals, all of which the mode or a rule allows. If none can be, the
    /// first waiting one is to be decided.
    ApproveUnasked(Vec<(Seq, Approver)>),
    /// Ask the user to decide on a proposal.
    Ask(Seq),
    /// The target has to perform these proposals in order, in one write.
    Apply(Vec<Seq>),
    /// Wait for the user's answer to a question.
    Answer(Seq),
    /// Wait for the user to resume after a failure.
    GoAhead,
    /// Merge the submitted proposals with those of other workers.
    Merge,
    /// End the task, all of whose submitted proposals are decided.
    Close,
    /// Request the driver's next message.
    Reply,
}

impl LedgerState {
    /// Returns the workflow with this position.
    pub fn workflow(&self, workflow: Seq) -> Option<&Workflow> {
        self.workflows.get(&workflow)
    }

    /// Returns all workflows, oldest first.
    pub fn workflows(&self) -> impl Iterator<Item = (Seq, &Workflow)> {
        self.workflows.iter().map(|(seq, workflow)| (*seq, workflow))
    }

    pub fn apply_record(&mut self, record: &Record) {
        if let Entry::Started {
            place,
            goal,
            driver,
            mode,
            attached,
            interaction,
            follows,
            guards,
            served,
            role,
            requested_by,
        } = &record.entry
        {
            // A task that follows a plan-only task carries out its plan.
            let before = follows.and_then(|before| self.workflow(before));
            let goes_on = |it: &&Workflow| {
                it.interaction == InteractionMode::Plan && *interaction == InteractionMode::Act
            };
            let plan = before.filter(goes_on).map_or(Vec::new(), |it| it.plan.clone());
            let workflow = Workflow {
                place: place.clone(),
                goal: goal.clone(),
                driver: driver.clone(),
                mode: *mode,
                attached: attached.clone(),
                interaction: *interaction,
                follows: *follows,
                guards: guards.clone(),
                is_served: *served,
                role: *role,
                requested_by: *requested_by,
                context: None,
                plan,
                finished: None,
                disconnected: None,
                is_cleared: false,
                is_erased: false,
                summary: None,
                calls: BTreeMap::new(),
                open: BTreeSet::new(),
                names: HashMap::new(),
                proposals: BTreeMap::new(),
                comments: TaskComments::default(),
                reviews: TaskReviews::default(),
                parts: TaskParts::default(),
                rules: TaskRules::default(),
                permissions: GrantedPermissions::default(),
                talk: ModelConversation::default(),
            };
            self.workflows.insert(record.workflow, workflow);
        } else if let Some(workflow) = self.workflows.get_mut(&record.workflow) {
            workflow.apply_entry(record.seq, &record.entry);
        }
    }
}

impl Workflow {
    /// Returns the context sent with the goal: the attachments, and the scripts that may matter.
    fn prompt_context(&self) -> Option<String> {
        let parts =
            [attachment_text(&self.attached), self.context.as_ref().map(prompt::script_context)];
        let parts: Vec<_> = parts.into_iter().flatten().filter(|it| !it.is_empty()).collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    }

    /// Returns the proposals, oldest first.
    pub fn proposals(&self) -> impl Iterator<Item = (Seq, &PendingProposal)> {
        self.proposals.iter().map(|(seq, pending)| (*seq, pending))
    }

    pub fn proposal(&self, proposal: Seq) -> Option<&PendingProposal> {
        self.proposals.get(&proposal)
    }

    /// Returns the tool and arguments of a call.
    pub fn call(&self, call: Seq) -> Option<(&str, &Json)> {
        self.calls.get(&call).map(|call| (call.tool.as_str(), &call.args))
    }

    /// Returns the implicit target of a call without a path, if it is known without a query: the
    /// target at the previous planning, or else the one instance attached by the user.
    pub fn implicit_target(&self, call: Seq) -> Option<ImplicitTarget> {
        let mut planned = self.proposals.values().rev().filter(|pending| pending.call == call);
        planned
            .find_map(|pending| pending.proposal.implicit_target.clone())
            .or_else(|| self.pointed_at())
    }

    fn pointed_at(&self) -> Option<ImplicitTarget> {
        let mut instances = self.attached.iter().filter_map(|attached| match attached {
            AttachmentSnapshot::Instance { target, .. } => Some(target),
            _ => None,
        });
        let target = instances.next()?.clone();
        instances
            .next()
            .is_none()
            .then_some(ImplicitTarget { target, by: ImplicitTargetReason::Attached })
    }

    /// Returns the refused calls with their reasons.
    pub fn refusals(&self) -> impl Iterator<Item = (Seq, &str)> {
        self.calls.iter().filter_map(|(seq, call)| match &call.status {
            CallStatus::Refused(reason) => Some((*seq, reason.as_str())),
            _ => None,
        })
    }

    /// Returns the answers of calls that changed nothing, in order.
    pub fn answers(&self) -> impl Iterator<Item = (&str, &Json)> {
        self.calls.values().filter_map(|call| match &call.status {
            CallStatus::Answered(answer) if !answer.is_null() => Some((call.tool.as_str(), answer)),
            _ => None,
        })
    }

    /// Returns the conversation with the model.
    pub fn conversation(&self) -> &ModelConversation {
        &self.talk
    }

    /// Returns the call of the question that waits for the user's answer.
    pub fn open_question(&self) -> Option<Seq> {
        let is_open = |call: &WorkflowCall| matches!(call.status, CallStatus::Questioned(_));
        self.calls.iter().find(|(_, call)| is_open(call)).map(|(seq, _)| *seq)
    }

    /// Returns the offered answers of an open question.
    pub fn offered_answers(&self, call: Seq) -> Option<&[String]> {
        match &self.calls.get(&call)?.status {
            CallStatus::Questioned(answers) => Some(answers),
            _ => None,
        }
    }

    /// Whether the user has answered a question of the model in this task.
    fn has_answered_question(&self) -> bool {
        let is_answered = |call: &WorkflowCall| matches!(call.status, CallStatus::Answered(_));
        self.calls.values().any(|call| call.tool == "ask_clarification" && is_answered(call))
    }

    /// Returns the reason that a call cannot run, whatever its tool.
    pub fn call_flaw(&self, call: Seq) -> Option<&str> {
        self.calls.get(&call)?.flaw.as_deref()
    }

    /// Returns the number of calls.
    pub fn call_count(&self) -> usize {
        self.calls.len()
    }

    /// Returns the number of a call among all calls, starting at 1.
    pub fn call_number(&self, call: Seq) -> usize {
        self.calls.range(..=call).count()
    }

    fn apply_entry(&mut self, seq: Seq, entry: &Entry) {
        match entry {
            Entry::PartStarted { .. }
            | Entry::PartEnded { .. }
            | Entry::Submitted { .. }
            | Entry::Noted { .. } => self.parts.apply_entry(seq, entry),
            Entry::Started { .. } => {}
            Entry::Context { context } => self.context = Some(context.as_ref().clone()),
            Entry::Cleared {} => self.is_cleared = true,
            Entry::Disconnected { .. } => self.disconnected = Some(seq),
            Entry::Erased { .. } => (self.is_cleared, self.is_erased) = (true, true),
            // The call of a message tool is still open when its text is recorded.
            Entry::Said { text, .. } if self.has_open_call() => self.talk.add_message(seq, text),
            Entry::Notified { .. } => {
                self.parts.apply_entry(seq, entry);
                self.talk.apply_entry(seq, entry);
            }
            Entry::Said { .. }
            | Entry::Requested { .. }
            | Entry::Replied { .. }
            | Entry::RequestFailed { .. }
            | Entry::Resumed {}
            | Entry::Summarised { .. } => self.talk.apply_entry(seq, entry),
            Entry::Asked { text, attached } => self.apply_message(seq, entry, text, attached),
            Entry::Called { tool, args, id, flaw } => {
                let call = WorkflowCall {
                    tool: tool.clone(),
                    args: args.clone(),
                    id: id.clone(),
                    flaw: flaw.clone(),
                    replay: self.talk.take_replay(),
                    status: CallStatus::Open,
                };
                self.names.extend(id.clone().map(|id| (id, seq)));
                self.calls.insert(seq, call);
                self.open.insert(seq);
                self.talk.apply_entry(seq, entry);
                self.forget_old_answer();
            }
            Entry::Questioned { call, answers, .. } => {
                self.settle_call(*call, CallStatus::Questioned(answers.clone()));
                self.talk.apply_entry(seq, entry);
            }
            Entry::PermissionRequested { call, permission } => {
                self.settle_call(*call, CallStatus::NeedsPermission(permission.clone()));
            }
            Entry::PermissionDecided { call, answer } => self.apply_permission(*call, *answer),
            Entry::RuleAdded { rule, .. } => self.rules.add(seq, rule.clone()),
            Entry::RuleRevoked { rule } => self.rules.revoke(*rule),
            Entry::Commented { proposal, comments } => self.comments.add(seq, *proposal, comments),
            Entry::CommentsAnswered { proposal, replies } => {
                self.comments.add_replies(*proposal, replies);
            }
            Entry::ReviewStarted { proposal, reviewer, model } => {
                self.reviews.add(*proposal, *reviewer, model);
            }
            Entry::Reviewed { proposal, reviewer, report } => {
                let state = ReviewState::Reported(report.as_ref().clone());
                self.reviews.end(*proposal, *reviewer, state);
            }
            Entry::ReviewFailed { proposal, reviewer, reason } => {
                self.reviews.end(*proposal, *reviewer, ReviewState::Failed(reason.clone()));
            }
            Entry::Answered { call, answer } => {
                self.settle_call(*call, CallStatus::Answered(answer.clone()));
            }
            Entry::Refused { call, reason, conflict } => {
                let message = match conflict {
                    Some(conflict) => {
                        let passages = serde_json::to_string(&conflict.passages);
                        let passages = passages.unwrap_or_default();
                        format!("{reason}\n{UNMERGED}{passages}")
                    }
                    None => reason.clone(),
                };
                self.settle_call(*call, CallStatus::Refused(message));
            }
            Entry::Planned { steps, .. } => self.plan.clone_from(steps),
            Entry::Proposed { call, answer, proposal } => {
                let answer = answer.clone().unwrap_or(Json::Null);
                self.settle_call(*call, CallStatus::Proposed(seq, answer));
                self.note_revision(seq, *call, proposal);
                let proposal = proposal.as_ref().clone();
                let pending =
                    PendingProposal { proposal, call: *call, status: self.initial_status() };
                self.proposals.insert(seq, pending);
            }
            Entry::Finished { outcome, summary } => {
                self.finished = Some(*outcome);
                self.summary.clone_from(summary);
            }
            entry => self.read_proposals(entry),
        }
    }

    /// Applies a message of the user: the answer to an open question, or a further request.
    fn apply_message(
        &mut self,
        seq: Seq,
        entry: &Entry,
        text: &str,
        attached: &[AttachmentSnapshot],
    ) {
        let Some(call) = self.open_question() else {
            self.parts.apply_entry(seq, entry);
            self.talk.apply_entry(seq, entry);
            return;
        };
        let context = attachment_text(attached).map_or(String::new(), |it| format!("\n\n{it}"));
        self.settle_call(call, CallStatus::Answered(format!("{text}{context}").into()));
        self.talk.add_images(seq, attached);
        self.talk.resume(seq);
    }

    /// Updates the status of proposals.
    fn read_proposals(&mut self, entry: &Entry) {
        match entry {
            Entry::Approved { proposal, rule, .. } => {
                self.set_status(*proposal, PendingStatus::Approved);
                self.rules.note_approval(*proposal, *rule);
            }
            Entry::Rejected { proposal, reason } => {
                self.set_status(*proposal, PendingStatus::Rejected(reason.clone()));
            }
            Entry::Withdrawn { proposal, reason, replanned: again } => {
                self.set_status(*proposal, PendingStatus::Withdrawn(reason.clone()));
                if *again && let Some(pending) = self.proposals.get(proposal) {
                    let call = pending.call;
                    self.settle_call(call, CallStatus::Open);
                }
            }
            Entry::Applying { proposals, acks, .. } => {
                for (proposal, ack) in proposals.iter().zip(acks) {
                    self.set_status(*proposal, PendingStatus::Applying(Box::new(ack.clone())));
                }
            }
            Entry::Applied { proposal, ack } => {
                self.set_status(*proposal, PendingStatus::Applied(ack.clone()));
            }
            Entry::Undone { proposal, .. } | Entry::Redone { proposal, .. } => {
                self.note_undo(*proposal, matches!(entry, Entry::Redone { .. }));
            }
            Entry::Failed { proposal, reason } => {
                self.set_status(*proposal, PendingStatus::Failed(reason.clone()));
            }
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
            | Entry::Questioned { .. }
            | Entry::PermissionRequested { .. }
            | Entry::PermissionDecided { .. }
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
            | Entry::Answered { .. }
            | Entry::Refused { .. }
            | Entry::Planned { .. }
            | Entry::Proposed { .. }
            | Entry::Finished { .. } => {}
        }
    }

    fn has_open_call(&self) -> bool {
        !self.open.is_empty()
    }

    fn settle_call(&mut self, call: Seq, status: CallStatus) {
        let Some(known) = self.calls.get_mut(&call) else {
            return;
        };
        if matches!(status, CallStatus::Open) {
            self.open.insert(call);
        } else {
            self.open.remove(&call);
        }
        known.status = status;
    }

    fn note_undo(&mut self, proposal: Seq, again: bool) {
        let Some(pending) = self.proposals.get_mut(&proposal) else {
            return;
        };
        if let PendingStatus::Applied(ack) | PendingStatus::Undone(ack) = &pending.status {
            let ack = ack.clone();
            pending.status =
                if again { PendingStatus::Applied(ack) } else { PendingStatus::Undone(ack) };
        }
    }

    fn set_status(&mut self, proposal: Seq, status: PendingStatus) {
        if let Some(pending) = self.proposals.get_mut(&proposal) {
            pending.status = status;
        }
    }

    /// Returns the most urgent work. After doing it, the caller asks again.
    pub fn wants(&self) -> Option<WantedWork> {
        if self.finished.is_none() {
            let open = self.open.first().and_then(|seq| Some((*seq, self.calls.get(seq)?)));
            if let Some((call, WorkflowCall { tool, args, .. })) = open {
                let (tool, args) = (tool.clone(), args.clone());
                return Some(WantedWork::Plan { call, tool, args });
            }
            let waiting = self.first_waiting().filter(|_| !self.holds_back());
            // A file is written once for all proposals of a task. Studio applies each change
            // separately, and the calls of an agent are independent.
            let is_each = self.place.studio_place().is_some() || self.agent_name().is_some();
            let is_due = is_each && self.approved_proposals().next().is_some();
            if let Some(first) = waiting.filter(|_| !is_due) {
                let waiting =
                    self.proposals.iter().filter(|(_, it)| it.status == PendingStatus::Waiting);
                let allowed: Vec<(Seq, Approver)> = waiting
                    .filter_map(|(seq, it)| Some((*seq, self.unasked_approver(&it.proposal)?)))
                    .collect();
                let is_reviewed = self.running_reviews().next().is_some();
                return Some(if allowed.is_empty() || is_reviewed {
                    WantedWork::Ask(first)
                } else {
                    WantedWork::ApproveUnasked(allowed)
                });
            }
        }
        let approved: Vec<Seq> = self.approved_proposals().collect();
        if !approved.is_empty() {
            return Some(WantedWork::Apply(approved));
        }
        if self.finished.is_some() {
            None
        } else if let Some(call) = self.open_question() {
            Some(WantedWork::Answer(call))
        } else if let Some(call) = self.requested_permissions().next() {
            Some(WantedWork::Answer(call))
        } else if self.talk.trouble().is_some() {
            Some(WantedWork::GoAhead)
        } else if self.is_submitted() {
            Some(match self.role {
                TaskRole::Worker { .. } => WantedWork::Merge,
                _ => WantedWork::Close,
            })
        } else {
            Some(WantedWork::Reply)
        }
    }

    /// Returns the oldest proposal that waits for a decision.
    pub fn first_waiting(&self) -> Option<Seq> {
        let waiting = self.proposals.iter().find(|(_, it)| it.status == PendingStatus::Waiting);
        waiting.map(|(seq, _)| *seq)
    }

    /// Returns the proposals that are approved and not applied yet, oldest first.
    pub fn approved_proposals(&self) -> impl Iterator<Item = Seq> {
        let is_due = |status: &PendingStatus| {
            matches!(status, PendingStatus::Approved | PendingStatus::Applying(_))
        };
        self.proposals.iter().filter(move |(_, it)| is_due(&it.status)).map(|(seq, _)| *seq)
    }
}
