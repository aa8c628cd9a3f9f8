//! Workflows: one task in one place, as a reading of the ledger.
//!
//! Three pure functions: [`decide`] turns an input into entries, [`State::apply`] reads an entry, and
//! [`Workflow::wants`] names the work that is due. Entries are acted on only once they are durable;
//! the shell does the work and drops whatever is no longer wanted. Scenes are the shell's caches and
//! not part of the state.

mod agent;
mod chain;
mod decide;
mod dependencies;
mod endings;
mod events;
mod guards;
mod prompt_status;
mod read_lines;
mod summary;
mod supersession;
mod talk;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use scene_schemas::Command;
use scene_schemas::entry::{
    AttachmentSnapshot, Entry, Finish, Guards, InteractionMode, Place, Record, Replay, Seq, Step,
    TaskContext,
};
use scene_schemas::proposal::{
    Ack, ImplicitTarget, ImplicitTargetReason, Mode, Proposal, WarningKind,
};
use serde_json::{Value as Json, json};

use crate::policy;
use crate::prompt::{self, CallOutcome, UNMERGED, attachment_text};

pub use self::decide::{AGENT, CALLS, WorkflowInput, decide};
pub use self::events::{brief_json, events_of};
pub use self::guards::check_call;
pub use self::talk::{ModelConversation, ModelTrouble};

use self::talk::TurnSource;

/// Everything that was read from the ledger so far.
#[derive(Debug, Default)]
pub struct LedgerState {
    workflows: BTreeMap<Seq, Workflow>,
}

/// A task in a place.
#[derive(Debug)]
pub struct Workflow {
    pub place: Place,
    /// What the person asked for.
    pub goal: String,
    /// Who calls the tools.
    pub driver: String,
    /// Which proposals go without a person's yes.
    pub mode: Mode,
    /// What the person attached to it.
    pub attached: Vec<AttachmentSnapshot>,
    /// How far the model may go.
    pub stance: InteractionMode,
    /// The task before it in the same conversation.
    pub follows: Option<Seq>,
    /// What a model is held to; none where no model calls the tools.
    pub guards: Option<Guards>,
    /// Whether it is a daemon's.
    pub is_served: bool,
    /// The scripts that the model is told of at the beginning.
    pub context: Option<TaskContext>,
    pub plan: Vec<Step>,
    pub finished: Option<Finish>,
    /// The entry that says that its client has disconnected, where it has.
    pub disconnected: Option<Seq>,
    /// Whether the conversation ends with it.
    pub is_cleared: bool,
    /// Whether its texts were erased.
    pub is_erased: bool,
    /// The model's last word, where it said one when it ended.
    pub summary: Option<String>,
    calls: BTreeMap<Seq, WorkflowCall>,
    /// Those of the calls that are to be planned.
    open: BTreeSet<Seq>,
    /// The calls by what whoever made them calls them.
    names: HashMap<String, Seq>,
    proposals: BTreeMap<Seq, PendingProposal>,
    /// Who said what, and how it stands with the model.
    talk: ModelConversation,
}

#[derive(Debug)]
struct WorkflowCall {
    tool: String,
    args: Json,
    id: Option<String>,
    /// Why it cannot run.
    flaw: Option<String>,
    /// What of the model's message goes back as it came.
    replay: Option<Box<Replay>>,
    status: CallStatus,
}

#[derive(Debug)]
enum CallStatus {
    Open,
    Answered(Json),
    Refused(String),
    /// It is a question, which waits for the person's answer; the answers that it offers.
    Questioned(Vec<String>),
    Proposed(Seq, Json),
}

/// A proposal and what became of it.
#[derive(Debug)]
pub struct PendingProposal {
    pub proposal: Proposal,
    /// The call that it answers.
    pub call: Seq,
    /// What became of it.
    pub status: PendingStatus,
}

/// What became of a proposal.
#[derive(Debug, Clone, PartialEq)]
pub enum PendingStatus {
    Waiting,
    Approved,
    /// The target is about to replace the file; what it will say.
    Applying(Box<Ack>),
    /// The target did it.
    Applied(Box<Ack>),
    /// The target did it, and a person has undone it in Studio.
    Undone(Box<Ack>),
    /// A person said no.
    Rejected(Option<String>),
    /// It lost its base or its run.
    Withdrawn(String),
    /// The target did not do it.
    Failed(String),
}

impl PendingStatus {
    /// Whether the proposal may still change the place.
    pub fn is_pending(&self) -> bool {
        matches!(self, Self::Waiting | Self::Approved | Self::Applying(_))
    }
}

/// Work that is due.
#[derive(Debug, Clone, PartialEq)]
pub enum WantedWork {
    /// A call is to be planned.
    Plan { call: Seq, tool: String, args: Json },
    /// The mode that a person chose approves a proposal.
    ApproveByMode(Seq),
    /// A person is to decide.
    Ask(Seq),
    /// The target is to perform these, in this order, in one write.
    Apply(Vec<Seq>),
    /// A person is to answer a question.
    Answer(Seq),
    /// A person is to say that it goes on, after something went wrong.
    GoAhead,
    /// The driver is to say what comes next.
    Reply,
}

impl LedgerState {
    /// The workflow of that name.
    pub fn workflow(&self, workflow: Seq) -> Option<&Workflow> {
        self.workflows.get(&workflow)
    }

    /// All workflows, oldest first.
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
            stance,
            follows,
            guards,
            served,
        } = &record.entry
        {
            // What was planned is carried out by the task behind it.
            let before = follows.and_then(|before| self.workflow(before));
            let goes_on = |it: &&Workflow| {
                it.stance == InteractionMode::Plan && *stance == InteractionMode::Act
            };
            let plan = before.filter(goes_on).map_or(Vec::new(), |it| it.plan.clone());
            let workflow = Workflow {
                place: place.clone(),
                goal: goal.clone(),
                driver: driver.clone(),
                mode: *mode,
                attached: attached.clone(),
                stance: *stance,
                follows: *follows,
                guards: guards.clone(),
                is_served: *served,
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
                talk: ModelConversation::default(),
            };
            self.workflows.insert(record.workflow, workflow);
        } else if let Some(workflow) = self.workflows.get_mut(&record.workflow) {
            workflow.apply_entry(record.seq, &record.entry);
        }
    }
}

impl Workflow {
    /// What stands beside the goal: what the person attached, and the scripts that may matter.
    fn prompt_context(&self) -> Option<String> {
        let parts =
            [attachment_text(&self.attached), self.context.as_ref().map(prompt::script_context)];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        (!parts.is_empty()).then(|| parts.join("\n"))
    }

    /// The proposals, oldest first.
    pub fn proposals(&self) -> impl Iterator<Item = (Seq, &PendingProposal)> {
        self.proposals.iter().map(|(seq, pending)| (*seq, pending))
    }

    pub fn proposal(&self, proposal: Seq) -> Option<&PendingProposal> {
        self.proposals.get(&proposal)
    }

    /// The tool and arguments of a call.
    pub fn call(&self, call: Seq) -> Option<(&str, &Json)> {
        self.calls.get(&call).map(|call| (call.tool.as_str(), &call.args))
    }

    /// Whom a call means that leaves out its path, where that is known before the place is asked: what
    /// it meant when it was planned before, or else the one instance that the person attached.
    pub fn implicit_target(&self, call: Seq) -> Option<ImplicitTarget> {
        let mut planned = self.proposals.values().rev().filter(|pending| pending.call == call);
        planned.find_map(|pending| pending.proposal.meant.clone()).or_else(|| self.pointed_at())
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

    /// Why a call was refused, where it was.
    pub fn refusals(&self) -> impl Iterator<Item = (Seq, &str)> {
        self.calls.iter().filter_map(|(seq, call)| match &call.status {
            CallStatus::Refused(reason) => Some((*seq, reason.as_str())),
            _ => None,
        })
    }

    /// What calls were answered with that changed nothing, in order.
    pub fn answers(&self) -> impl Iterator<Item = &Json> {
        self.calls.values().filter_map(|call| match &call.status {
            CallStatus::Answered(answer) if !answer.is_null() => Some(answer),
            _ => None,
        })
    }

    /// What the model has said, in order.
    pub fn messages(&self) -> impl Iterator<Item = &str> + Clone {
        self.talk.turns().filter_map(|(_, said)| match said {
            TurnSource::Model(text) | TurnSource::Aloud(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// How it stands with the model.
    pub fn conversation(&self) -> &ModelConversation {
        &self.talk
    }

    /// The question that waits for the person's answer: the call, and what is asked.
    pub fn open_question(&self) -> Option<Seq> {
        let is_open = |call: &WorkflowCall| matches!(call.status, CallStatus::Questioned(_));
        self.calls.iter().find(|(_, call)| is_open(call)).map(|(seq, _)| *seq)
    }

    /// The answers that an open question offers.
    pub fn offered_answers(&self, call: Seq) -> Option<&[String]> {
        match &self.calls.get(&call)?.status {
            CallStatus::Questioned(answers) => Some(answers),
            _ => None,
        }
    }

    /// Whether the person has answered a question of the model in this task.
    fn has_answered_question(&self) -> bool {
        let is_answered = |call: &WorkflowCall| matches!(call.status, CallStatus::Answered(_));
        self.calls.values().any(|call| call.tool == "ask_clarification" && is_answered(call))
    }

    /// Why a call cannot run, whatever it means.
    pub fn call_flaw(&self, call: Seq) -> Option<&str> {
        self.calls.get(&call)?.flaw.as_deref()
    }

    /// How many calls there are.
    pub fn call_count(&self) -> usize {
        self.calls.len()
    }

    /// Which of the calls it is, from 1.
    pub fn call_number(&self, call: Seq) -> usize {
        self.calls.range(..=call).count()
    }

    fn apply_entry(&mut self, seq: Seq, entry: &Entry) {
        match entry {
            Entry::Started { .. } => {}
            Entry::Context { context } => self.context = Some(context.as_ref().clone()),
            Entry::Cleared {} => self.is_cleared = true,
            Entry::Disconnected { .. } => self.disconnected = Some(seq),
            Entry::Erased {} => (self.is_cleared, self.is_erased) = (true, true),
            // A call is open while what it says is written down.
            Entry::Said { text, .. } if self.has_open_call() => self.talk.add_message(seq, text),
            Entry::Said { .. }
            | Entry::Told { .. }
            | Entry::Requested { .. }
            | Entry::Replied { .. }
            | Entry::Unanswered { .. }
            | Entry::Resumed {}
            | Entry::Summarised { .. } => self.talk.apply_entry(seq, entry),
            Entry::Asked { text, attached } => match self.open_question() {
                Some(call) => {
                    let context =
                        attachment_text(attached).map_or(String::new(), |it| format!("\n\n{it}"));
                    self.settle_call(call, CallStatus::Answered(format!("{text}{context}").into()));
                    self.talk.resume(seq);
                }
                None => self.talk.apply_entry(seq, entry),
            },
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
            Entry::Answered { call, answer } => {
                self.settle_call(*call, CallStatus::Answered(answer.clone()));
            }
            Entry::Refused { call, reason, conflict } => {
                let told = match conflict {
                    Some(conflict) => {
                        let passages = serde_json::to_string(&conflict.passages);
                        let passages = passages.unwrap_or_default();
                        format!("{reason}\n{UNMERGED}{passages}")
                    }
                    None => reason.clone(),
                };
                self.settle_call(*call, CallStatus::Refused(told));
            }
            Entry::Planned { steps, .. } => self.plan.clone_from(steps),
            Entry::Proposed { call, answer, proposal } => {
                let answer = answer.clone().unwrap_or(Json::Null);
                self.settle_call(*call, CallStatus::Proposed(seq, answer));
                let proposal = proposal.as_ref().clone();
                let pending =
                    PendingProposal { proposal, call: *call, status: PendingStatus::Waiting };
                self.proposals.insert(seq, pending);
            }
            Entry::Finished { outcome, summary } => {
                self.finished = Some(*outcome);
                self.summary.clone_from(summary);
            }
            entry => self.read_proposals(entry),
        }
    }

    /// What became of proposals.
    fn read_proposals(&mut self, entry: &Entry) {
        match entry {
            Entry::Approved { proposal, .. } => self.set_status(*proposal, PendingStatus::Approved),
            Entry::Rejected { proposal, reason } => {
                self.set_status(*proposal, PendingStatus::Rejected(reason.clone()));
            }
            Entry::Withdrawn { proposal, reason, again } => {
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
            | Entry::Unanswered { .. }
            | Entry::Resumed {}
            | Entry::Cleared {}
            | Entry::Disconnected { .. }
            | Entry::Erased {}
            | Entry::Told { .. }
            | Entry::Summarised { .. }
            | Entry::Said { .. }
            | Entry::Called { .. }
            | Entry::Questioned { .. }
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

    /// The work that is due, most urgent first. Whoever does the first of it asks again.
    pub fn wants(&self) -> Option<WantedWork> {
        if self.finished.is_none() {
            let open = self.open.first().and_then(|seq| Some((*seq, self.calls.get(seq)?)));
            if let Some((call, WorkflowCall { tool, args, .. })) = open {
                let (tool, args) = (tool.clone(), args.clone());
                return Some(WantedWork::Plan { call, tool, args });
            }
            let waiting = self.proposals.iter().find(|(_, p)| p.status == PendingStatus::Waiting);
            // A file is written once for all that belongs together; Studio takes each change for itself, and
            // an agent's calls stand each for itself.
            let is_each = self.place.studio_place().is_some() || self.agent_name().is_some();
            let is_due = is_each && self.approved_proposals().next().is_some();
            if let Some((seq, pending)) = waiting.filter(|_| !is_due) {
                let by_mode = policy::can_auto_approve(self.mode, &pending.proposal);
                return Some(if by_mode {
                    WantedWork::ApproveByMode(*seq)
                } else {
                    WantedWork::Ask(*seq)
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
        } else if self.talk.trouble().is_some() {
            Some(WantedWork::GoAhead)
        } else {
            Some(WantedWork::Reply)
        }
    }

    /// The proposals that somebody said yes to and that are not done, oldest first.
    pub fn approved_proposals(&self) -> impl Iterator<Item = Seq> {
        let is_due = |status: &PendingStatus| {
            matches!(status, PendingStatus::Approved | PendingStatus::Applying(_))
        };
        self.proposals.iter().filter(move |(_, it)| is_due(&it.status)).map(|(seq, _)| *seq)
    }

    /// What the model is told of a call; nothing while it is not settled.
    fn call_outcome(&self, call: &WorkflowCall) -> Option<CallOutcome> {
        Some(match &call.status {
            CallStatus::Open | CallStatus::Questioned(_) => return None,
            CallStatus::Answered(answer) => CallOutcome::Done(answer.clone()),
            CallStatus::Refused(reason) => CallOutcome::Refused(reason.clone()),
            CallStatus::Proposed(seq, answer) => {
                let pending = self.proposals.get(seq)?;
                match &pending.status {
                    PendingStatus::Applied(_) => {
                        CallOutcome::Done(Self::applied_answer(pending, answer.clone()))
                    }
                    PendingStatus::Undone(_) => CallOutcome::Refused(
                        "It was done, and then the person has undone it in Studio.".to_owned(),
                    ),
                    PendingStatus::Rejected(reason) => CallOutcome::Refused(match reason {
                        Some(reason) => format!("The person said no: {reason}"),
                        None => "The person said no.".to_owned(),
                    }),
                    PendingStatus::Failed(reason) | PendingStatus::Withdrawn(reason) => {
                        CallOutcome::Refused(reason.clone())
                    }
                    PendingStatus::Waiting
                    | PendingStatus::Approved
                    | PendingStatus::Applying(_) => return None,
                }
            }
        })
    }

    /// The answer to a call whose proposal was applied, with what is suspicious now and was not before.
    fn applied_answer(pending: &PendingProposal, answer: Json) -> Json {
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

    /// The answer; where a person changed the proposal, only what is there now: the answer was about
    /// something else.
    fn changed_answer(pending: &PendingProposal, answer: Json) -> Json {
        if pending.proposal.from.is_some() {
            return json!({ "changedByPerson": {
                "note": "The person changed this proposal before it was applied.",
                "paths": pending.proposal.commands.iter().map(command_path).collect::<Vec<_>>(),
                "applied": pending.proposal.commands,
            } });
        }
        answer
    }
}

/// What a command makes or changes.
fn command_path(command: &Command) -> String {
    match command {
        Command::Create { parent, name, .. } => parent.path.child(name, None).to_string(),
        command => command.target().path.to_string(),
    }
}
