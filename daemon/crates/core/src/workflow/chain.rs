//! The tasks of one conversation, and what a model is sent of them.
//!
//! A task that goes on with another's conversation names it, so that what was said, read and decided
//! there is known here.

use scene_schemas::entry::{Finish, Seq};
use serde_json::Value as Json;

use super::talk::Said;
use super::{Call, CallStatus, State, Status, Workflow, now};
use crate::prompt::{Prompt, Turn};

/// The tasks of a conversation, oldest first.
pub(super) struct Chain<'a>(pub(super) Vec<(Seq, &'a Workflow)>);

impl State {
    /// The conversation that a task goes on with, as far as it was read.
    pub(super) fn chain(&self, workflow: Seq) -> Chain<'_> {
        let mut chain = Vec::new();
        let mut next = Some(workflow);
        while let Some(seq) = next
            && let Some(workflow) = self.workflow(seq)
        {
            chain.push((seq, workflow));
            // A task goes on with an earlier one, never with itself.
            next = workflow.follows.filter(|before| *before < seq);
        }
        chain.reverse();
        Chain(chain)
    }

    /// The summary that stands for what a model is not sent any more.
    pub fn summary(&self, workflow: Seq) -> Option<Seq> {
        self.chain(workflow).summary().map(|(seq, _, _)| seq)
    }

    /// What the driver is sent.
    pub fn prompt(&self, workflow: Seq) -> Option<Prompt> {
        let chain = self.chain(workflow);
        let (_, last) = *chain.0.last()?;
        let summary = chain.summary();
        let after = summary.map_or(Seq(0), |(_, until, _)| until);
        let mut prompt =
            Prompt { earlier: summary.map(|(_, _, text)| text.to_owned()), ..Prompt::default() };
        prompt.stance = last.stance;
        // The first task of which something is sent.
        let is_sent =
            |(seq, workflow): &(Seq, &Workflow)| *seq > after || !workflow.turns(after).is_empty();
        let begins = chain.0.iter().position(is_sent).unwrap_or(chain.0.len() - 1);
        for (at, (_, workflow)) in chain.0.iter().enumerate() {
            if at == begins {
                prompt.goal.clone_from(&workflow.goal);
                prompt.attached.clone_from(&workflow.attached);
                prompt.scripts.clone_from(&workflow.context);
            } else if at > begins {
                let context = workflow.beside().map_or(String::new(), |text| format!("\n\n{text}"));
                prompt.turns.push(Turn::Asked(format!("{}{context}", workflow.goal)));
            }
            prompt.turns.extend(workflow.turns(after));
        }
        if last.guards.is_some() {
            prompt.now = now::now(&chain);
        }
        Some(prompt)
    }
}

impl<'a> Chain<'a> {
    /// The task that goes on now.
    pub(super) fn last(&self) -> Option<&'a Workflow> {
        self.0.last().map(|(_, workflow)| *workflow)
    }

    /// The newest summary: where it stands, the last entry that it stands for, and its text.
    pub(super) fn summary(&self) -> Option<(Seq, Seq, &'a str)> {
        self.0.iter().rev().find_map(|(_, workflow)| workflow.talk.summarised())
    }

    /// All calls, with which step each is, from 1.
    pub(super) fn calls(&self) -> impl Iterator<Item = Step<'a>> + use<'a> {
        let calls = self.0.clone().into_iter().flat_map(|(_, workflow)| {
            workflow.calls.iter().map(move |(seq, call)| (*seq, workflow, call))
        });
        calls.enumerate().map(|(at, (seq, workflow, call))| Step {
            number: at + 1,
            seq,
            workflow,
            call,
        })
    }
}

/// A call in a conversation.
#[derive(Clone, Copy)]
pub(super) struct Step<'a> {
    /// Which step it is, from 1.
    pub(super) number: usize,
    /// Where it stands.
    pub(super) seq: Seq,
    /// Its task.
    pub(super) workflow: &'a Workflow,
    pub(super) call: &'a Call,
}

impl<'a> Step<'a> {
    /// What it was answered with, where nothing was proposed.
    pub(super) fn answer(&self) -> Option<&'a Json> {
        match &self.call.status {
            CallStatus::Answered(answer) => Some(answer),
            _ => None,
        }
    }

    /// Why it was refused.
    pub(super) fn refusal(&self) -> Option<&'a str> {
        match &self.call.status {
            CallStatus::Refused(reason) => Some(reason),
            _ => None,
        }
    }

    /// What became of its proposal.
    pub(super) fn proposal(&self) -> Option<(Seq, &'a super::Pending)> {
        match &self.call.status {
            CallStatus::Proposed(seq, _) => {
                self.workflow.proposals.get(seq).map(|pending| (*seq, pending))
            }
            _ => None,
        }
    }

    /// Whether it changed the place, also where that was undone.
    pub(super) fn changed(&self) -> bool {
        let is = |status: &Status| matches!(status, Status::Applied(_) | Status::Undone(_));
        self.proposal().is_some_and(|(_, it)| is(&it.status))
    }

    /// Whether its change is in the place.
    pub(super) fn is_applied(&self) -> bool {
        self.proposal().is_some_and(|(_, it)| matches!(it.status, Status::Applied(_)))
    }

    /// Whether it is this call, word for word.
    pub(super) fn is(&self, tool: &str, args: &Json) -> bool {
        self.call.tool == tool && self.call.args == *args
    }
}

impl Workflow {
    /// What happened behind an entry, as a model is sent it.
    fn turns(&self, after: Seq) -> Vec<Turn> {
        // What stands behind the first that is sent is sent, though it may have been said before it.
        let said = self.talk.turns().skip_while(|(seq, _)| *seq <= after);
        let mut turns: Vec<Turn> = said.filter_map(|(_, said)| self.turn(said)).collect();
        if let Some(word) = self.last_word().filter(|_| !turns.is_empty()) {
            turns.push(Turn::Asked(word));
        }
        turns
    }

    /// Whether a person said no to something, and nothing stands for that.
    pub fn was_rejected(&self) -> bool {
        self.calls.values().any(|call| self.is_rejected(call))
    }

    /// Whether a person said no to what was called last.
    pub(super) fn ends_rejected(&self) -> bool {
        self.calls.last_key_value().is_some_and(|(_, call)| self.is_rejected(call))
    }

    fn is_rejected(&self, call: &Call) -> bool {
        let CallStatus::Proposed(seq, _) = &call.status else {
            return false;
        };
        let pending = self.proposals.get(seq);
        pending.is_some_and(|it| matches!(it.status, Status::Rejected(_)))
    }

    /// What is said of how it ended, where the conversation goes on.
    fn last_word(&self) -> Option<String> {
        let text = match self.finished? {
            Finish::Done => return None,
            Finish::NotApproved => "(The person stopped this here.)",
            Finish::Failed => "(This ended here without being done.)",
        };
        Some(text.to_owned())
    }

    fn turn(&self, said: &Said) -> Option<Turn> {
        Some(match said {
            Said::Model(text) => Turn::Said(text.clone()),
            Said::Aloud(_) => return None,
            Said::Person(text, None) => Turn::Asked(text.clone()),
            Said::Person(text, Some(context)) => Turn::Asked(format!("{text}\n\n{context}")),
            Said::Vector(text) => Turn::Asked(format!("(Vector: {text})")),
            Said::Call(seq) => {
                let call = self.calls.get(seq)?;
                Turn::Called {
                    id: call.id.clone(),
                    tool: call.tool.clone(),
                    args: call.args.clone(),
                    outcome: self.outcome(call)?,
                    replay: call.replay.as_deref().cloned(),
                }
            }
        })
    }
}
