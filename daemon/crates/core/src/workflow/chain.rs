//! The tasks of one conversation, and the prompt built from them.
//!
//! A task that continues a conversation names the previous task, so that its messages, reads and
//! decisions are known here.

use scene_schemas::entry::{AttachmentSnapshot, Finish, Seq};
use serde_json::Value as Json;

use super::parts::is_merge;
use super::talk::TurnSource;
use super::{CallStatus, LedgerState, PendingStatus, Workflow, WorkflowCall, prompt_status};
use crate::prompt::{ModelPrompt, PromptTurn};

/// The tasks of a conversation, oldest first.
pub(super) struct TaskChain<'a>(pub(super) Vec<(Seq, &'a Workflow)>);

impl LedgerState {
    /// Returns the conversation up to a task, as far as the ledger was read.
    pub(super) fn task_chain(&self, workflow: Seq) -> TaskChain<'_> {
        let mut chain = Vec::new();
        let mut next = Some(workflow);
        while let Some(seq) = next
            && let Some(workflow) = self.workflow(seq)
        {
            chain.push((seq, workflow));
            // A task may only follow an earlier one, which prevents cycles.
            next = workflow.follows.filter(|before| *before < seq);
        }
        chain.reverse();
        TaskChain(chain)
    }

    /// Returns the newest summary that replaces earlier turns in the prompt.
    pub fn newest_summary(&self, workflow: Seq) -> Option<Seq> {
        self.task_chain(workflow).newest_summary().map(|(seq, _, _)| seq)
    }

    /// Builds the prompt for the driver.
    pub fn build_prompt(&self, workflow: Seq) -> Option<ModelPrompt> {
        let chain = self.task_chain(workflow);
        let (_, last) = *chain.0.last()?;
        let summary = chain.newest_summary();
        let after = summary.map_or(Seq(0), |(_, until, _)| until);
        let mut prompt = ModelPrompt {
            earlier: summary.map(|(_, _, text)| text.to_owned()),
            ..ModelPrompt::default()
        };
        prompt.interaction = last.interaction;
        // The first task with turns that are sent.
        let is_sent = |(seq, workflow): &(Seq, &Workflow)| {
            *seq > after || !workflow.turns_after(after).is_empty()
        };
        let begins = chain.0.iter().position(is_sent).unwrap_or(chain.0.len() - 1);
        for (at, (_, workflow)) in chain.0.iter().enumerate() {
            if at == begins {
                prompt.goal.clone_from(&workflow.goal);
                prompt.attached.clone_from(&workflow.attached);
                prompt.scripts.clone_from(&workflow.context);
            } else if at > begins {
                let context =
                    workflow.prompt_context().map_or(String::new(), |text| format!("\n\n{text}"));
                prompt.turns.push(PromptTurn::Asked(format!("{}{context}", workflow.goal)));
                let images = workflow.attached.iter().filter_map(AttachmentSnapshot::image);
                prompt.turns.extend(images.cloned().map(PromptTurn::Image));
            }
            prompt.turns.extend(workflow.turns_after(after));
        }
        if last.guards.is_some() {
            let parts = [prompt_status::status_block(&chain), self.shared_work(workflow)];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            prompt.now = (!parts.is_empty()).then(|| parts.join("\n"));
        }
        Some(prompt)
    }
}

impl Workflow {
    /// Returns the messages of the model, in order.
    pub fn messages(&self) -> impl Iterator<Item = &str> + Clone {
        self.talk.turns().filter_map(|(_, source)| match source {
            TurnSource::Model(text) | TurnSource::Aloud(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns what the user asked for in this task: the goal, and later messages.
    pub fn requests(&self) -> Vec<&str> {
        let more = self.talk.turns().filter_map(|(_, source)| match source {
            TurnSource::Person(text, _) => Some(text.as_str()),
            _ => None,
        });
        std::iter::once(self.goal.as_str()).chain(more).collect()
    }
}

impl<'a> TaskChain<'a> {
    /// Returns the current task.
    pub(super) fn last_task(&self) -> Option<&'a Workflow> {
        self.0.last().map(|(_, workflow)| *workflow)
    }

    /// Returns the newest summary: its position, the last entry that it covers, and its text.
    pub(super) fn newest_summary(&self) -> Option<(Seq, Seq, &'a str)> {
        self.0.iter().rev().find_map(|(_, workflow)| workflow.talk.current_summary())
    }

    /// Returns all calls with their step numbers, starting at 1.
    pub(super) fn steps(&self) -> impl Iterator<Item = CallStep<'a>> + use<'a> {
        let calls = self.0.clone().into_iter().flat_map(|(_, workflow)| {
            let own = workflow.calls.iter().filter(|(_, call)| !is_merge(&call.tool));
            own.map(move |(seq, call)| (*seq, workflow, call))
        });
        calls.enumerate().map(|(at, (seq, workflow, call))| CallStep {
            number: at + 1,
            seq,
            workflow,
            call,
        })
    }
}

/// A call of a conversation.
#[derive(Clone, Copy)]
pub(super) struct CallStep<'a> {
    /// The step number, starting at 1.
    pub(super) number: usize,
    pub(super) seq: Seq,
    pub(super) workflow: &'a Workflow,
    pub(super) call: &'a WorkflowCall,
}

impl<'a> CallStep<'a> {
    /// Returns the answer of a call that proposed nothing.
    pub(super) fn answer(&self) -> Option<&'a Json> {
        match &self.call.status {
            CallStatus::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    pub(super) fn refusal(&self) -> Option<&'a str> {
        match &self.call.status {
            CallStatus::Refused(reason) => Some(reason),
            _ => None,
        }
    }

    /// Returns the proposal of the call.
    pub(super) fn proposal(&self) -> Option<(Seq, &'a super::PendingProposal)> {
        match &self.call.status {
            CallStatus::Proposed(seq, _) => {
                self.workflow.proposals.get(seq).map(|pending| (*seq, pending))
            }
            _ => None,
        }
    }

    /// Whether the call changed the place, even if the change was undone later.
    pub(super) fn has_changed(&self) -> bool {
        let is_undone = |it: &super::PendingProposal| matches!(it.status, PendingStatus::Undone(_));
        self.is_applied() || self.proposal().is_some_and(|(_, it)| is_undone(it))
    }

    /// Whether its model sees the change of the call in the place: it is applied, or the model goes on
    /// while it is pending.
    pub(super) fn is_applied(&self) -> bool {
        let goes_on = self.workflow.role.submits();
        self.proposal().is_some_and(|(_, it)| match it.status {
            PendingStatus::Applied(_) => true,
            PendingStatus::Waiting | PendingStatus::Drafted => goes_on,
            _ => false,
        })
    }

    /// Whether the tool and the arguments are exactly these.
    pub(super) fn is_call(&self, tool: &str, args: &Json) -> bool {
        self.call.tool == tool && self.call.args == *args
    }
}

impl Workflow {
    /// Returns the turns after an entry, as they are sent to the model.
    fn turns_after(&self, after: Seq) -> Vec<PromptTurn> {
        // Skip by position in the list, not by `seq`: a turn after the first sent one may have a
        // smaller number.
        let sources = self.talk.turns().skip_while(|(seq, _)| *seq <= after);
        let mut turns: Vec<PromptTurn> =
            sources.filter_map(|(_, said)| self.to_turn(said)).collect();
        if let Some(note) = self.ending_note().filter(|_| !turns.is_empty()) {
            turns.push(PromptTurn::Asked(note));
        }
        turns
    }

    /// Whether the user rejected a proposal that was not replaced.
    pub fn has_rejected_call(&self) -> bool {
        self.calls.values().any(|call| self.is_rejected(call))
    }

    /// Whether the user rejected the proposal of the last call.
    pub(super) fn is_last_rejected(&self) -> bool {
        self.calls.last_key_value().is_some_and(|(_, call)| self.is_rejected(call))
    }

    fn is_rejected(&self, call: &WorkflowCall) -> bool {
        let CallStatus::Proposed(seq, _) = &call.status else {
            return false;
        };
        let pending = self.proposals.get(seq);
        pending.is_some_and(|it| matches!(it.status, PendingStatus::Rejected(_)))
    }

    /// Returns a note on how the task ended, for a continued conversation.
    fn ending_note(&self) -> Option<String> {
        let text = match self.finished? {
            Finish::Done => return None,
            Finish::NotApproved => "(The person stopped the task here.)",
            Finish::Failed => "(The task ended here without being completed.)",
        };
        Some(text.to_owned())
    }

    fn to_turn(&self, source: &TurnSource) -> Option<PromptTurn> {
        Some(match source {
            TurnSource::Model(text) => PromptTurn::Said(text.clone()),
            TurnSource::Aloud(_) => return None,
            TurnSource::Image(image) => PromptTurn::Image(image.as_ref().clone()),
            TurnSource::Person(text, None) => PromptTurn::Asked(text.clone()),
            TurnSource::Person(text, Some(context)) => {
                PromptTurn::Asked(format!("{text}\n\n{context}"))
            }
            TurnSource::Vector(text) => PromptTurn::Asked(format!("(Vector: {text})")),
            TurnSource::Call(seq) => {
                let call = self.calls.get(seq)?;
                PromptTurn::Called {
                    id: call.id.clone(),
                    tool: call.tool.clone(),
                    args: call.args.clone(),
                    outcome: self.call_outcome(call)?,
                    replay: call.replay.as_deref().cloned(),
                }
            }
        })
    }
}
