//! The calls of an external agent, and their outcomes.
//!
//! An agent is never prompted: it calls whenever it likes, also while earlier calls wait. It keeps
//! the answers itself, so a workflow with thousands of calls stays small here.

use std::collections::BTreeSet;

use scene_schemas::api::{AgentCallOutcome, AppliedChange};
use scene_schemas::entry::Seq;
use serde_json::Value as Json;

use super::{AGENT, CallStatus, PendingProposal, Workflow};
use crate::prompt::CallOutcome;
use crate::proposal::{self, BRIEF_PREVIEW};

/// The number of latest calls that keep their answers.
const KEPT: usize = 64;

impl Workflow {
    /// Returns the name of the calling agent; None if the driver is not an agent.
    pub fn agent_name(&self) -> Option<&str> {
        self.driver.strip_prefix(AGENT)
    }

    /// Returns the name of the agent, or else of the model, that makes the calls.
    pub fn author(&self) -> &str {
        self.agent_name().unwrap_or(&self.driver)
    }

    /// Whether all calls of the agent are settled. False if the driver is not an agent.
    pub fn is_idle(&self) -> bool {
        let is_pending = self.proposals.values().any(|it| it.status.is_pending());
        let is_asking = self.requested_permissions().next().is_some();
        self.agent_name().is_some() && !self.has_open_call() && !is_pending && !is_asking
    }

    /// Returns the agent if it has disconnected. Its proposals may still be pending.
    pub fn disconnected_agent(&self) -> Option<&str> {
        self.agent_name().filter(|_| self.disconnected.is_some())
    }

    /// Returns the call with this position, or the call of the proposal with this position.
    pub fn call_of(&self, seq: Seq) -> Option<Seq> {
        let of_proposal = || self.proposal(seq).map(|pending| pending.call);
        self.calls.contains_key(&seq).then_some(seq).or_else(of_proposal)
    }

    /// Returns the call by the id that its caller gave it.
    pub fn call_named(&self, id: &str) -> Option<Seq> {
        self.names.get(id).copied()
    }

    /// Returns the calls, newest first, with their arguments as far as they are kept.
    pub fn last_calls(&self) -> impl Iterator<Item = (Seq, &Json)> {
        self.calls.iter().rev().map(|(seq, call)| (*seq, &call.args))
    }

    /// Returns the calls that are not settled, oldest first.
    pub fn unsettled_calls(&self) -> Vec<Seq> {
        let pending = self.proposals.values().filter(|it| it.status.is_pending());
        let mut calls: BTreeSet<Seq> = pending.map(|it| it.call).collect();
        calls.extend(&self.open);
        calls.extend(self.requested_permissions());
        calls.into_iter().collect()
    }

    /// Returns the caller's id of the last call.
    pub fn last_name(&self) -> Option<&str> {
        self.calls.values().next_back()?.id.as_deref()
    }

    /// Returns the outcome of a call.
    pub fn outcome_of_call(&self, call: Seq) -> Option<AgentCallOutcome> {
        let call = self.calls.get(&call)?;
        let pending = match &call.status {
            CallStatus::Proposed(seq, _) => self.proposal(*seq).map(|pending| (*seq, pending)),
            _ => None,
        };
        if let CallStatus::NeedsPermission(permission) = &call.status {
            let question = permission.question();
            return Some(AgentCallOutcome::NeedsPermission { question });
        }
        Some(match (self.call_outcome(call), pending) {
            (None, None) => AgentCallOutcome::Working {},
            (None, Some((proposal, pending))) => AgentCallOutcome::Pending {
                proposal,
                status: pending.status.to_proposal_status(),
                title: pending.proposal.title.clone(),
                class: pending.proposal.class,
            },
            (Some(CallOutcome::Done(answer)), pending) => AgentCallOutcome::Done {
                answer,
                applied: pending.map(|(seq, it)| applied_change(seq, it)),
            },
            (Some(CallOutcome::Refused(reason)), pending) => {
                let (proposal, status) =
                    pending.map(|(seq, it)| (seq, it.status.to_proposal_status())).unzip();
                let comments = proposal.into_iter().flat_map(|seq| self.comments_on(seq));
                let comments = comments.map(|(comment, _)| comment.clone()).collect();
                AgentCallOutcome::Refused { reason, status, proposal, comments }
            }
        })
    }

    /// Drops the arguments and answer of an old call of an agent. A call with a proposal may be
    /// replanned and keeps its data.
    pub(super) fn forget_old_answer(&mut self) {
        if self.agent_name().is_none() {
            return;
        }
        let old = self.calls.values_mut().rev().nth(KEPT);
        let Some(call) = old else {
            return;
        };
        match &mut call.status {
            CallStatus::Answered(answer) => *answer = Json::Null,
            CallStatus::Refused(_) => {}
            CallStatus::Open
            | CallStatus::Proposed(..)
            | CallStatus::Questioned(_)
            | CallStatus::NeedsPermission(_) => return,
        }
        call.args = Json::Null;
    }
}

fn applied_change(proposal: Seq, pending: &PendingProposal) -> AppliedChange {
    let diff = proposal::preview_text(&pending.proposal.preview, BRIEF_PREVIEW);
    AppliedChange { proposal, diff }
}
