//! The rules of a task: which hold, and which proposals they approved.

use std::collections::BTreeMap;

use scene_schemas::entry::{Approver, Entry, Seq};
use scene_schemas::proposal::Proposal;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::rule::TaskRule;

use super::{PendingStatus, Workflow};
use crate::{policy, rule};

/// The rules that a user added to a task.
#[derive(Debug, Default)]
pub(super) struct TaskRules {
    added: BTreeMap<Seq, AddedRule>,
    /// The rule that approved a proposal.
    approved: BTreeMap<Seq, Seq>,
}

#[derive(Debug)]
struct AddedRule {
    rule: TaskRule,
    is_revoked: bool,
}

impl TaskRules {
    pub(super) fn add(&mut self, seq: Seq, rule: TaskRule) {
        self.added.insert(seq, AddedRule { rule, is_revoked: false });
    }

    pub(super) fn revoke(&mut self, seq: Seq) {
        if let Some(rule) = self.added.get_mut(&seq) {
            rule.is_revoked = true;
        }
    }

    pub(super) fn note_approval(&mut self, proposal: Seq, rule: Option<Seq>) {
        if let Some(rule) = rule {
            self.approved.insert(proposal, rule);
        }
    }

    fn holding(&self) -> impl Iterator<Item = (Seq, &TaskRule)> {
        let holding = self.added.iter().filter(|(_, it)| !it.is_revoked);
        holding.map(|(seq, it)| (*seq, &it.rule))
    }
}

impl Workflow {
    /// Returns what approves a proposal without asking. None if the user has to decide.
    pub(super) fn unasked_approver(&self, proposal: &Proposal) -> Option<Approver> {
        // The user decides on what they made of a proposal, even if nothing holds it back any more.
        if self.is_revision(proposal) {
            return None;
        }
        if policy::can_auto_approve(self.mode, proposal) {
            return Some(Approver::Mode);
        }
        self.rule_for(proposal).map(|_| Approver::Rule)
    }

    /// Whether a proposal is a part of another one, or was changed by hand.
    fn is_revision(&self, proposal: &Proposal) -> bool {
        let before = proposal.from.and_then(|it| self.proposal(it));
        // A proposal that is reverted was applied.
        before.is_some_and(|it| matches!(it.status, PendingStatus::Rejected(_)))
    }

    /// Whether a proposal is pending, and the mode or a rule approves it as soon as it can be.
    pub fn is_covered(&self, proposal: Seq) -> bool {
        self.proposal(proposal).is_some_and(|it| {
            it.status == PendingStatus::Waiting && self.unasked_approver(&it.proposal).is_some()
        })
    }

    /// Returns the oldest rule that allows a proposal.
    pub(super) fn rule_for(&self, proposal: &Proposal) -> Option<Seq> {
        self.rules.holding().find(|(_, it)| rule::allows(it, proposal)).map(|(seq, _)| seq)
    }

    /// Returns the rules that hold, oldest first, each with the number of proposals that it approved.
    pub fn active_rules(&self) -> impl Iterator<Item = (Seq, &TaskRule, usize)> {
        let count = |seq: Seq| self.rules.approved.values().filter(|it| **it == seq).count();
        let holding = self.rules.holding().filter(|_| self.finished.is_none());
        holding.map(move |(seq, rule)| (seq, rule, count(seq)))
    }

    /// Returns the rule that approved a proposal.
    pub fn approving_rule(&self, proposal: Seq) -> Option<&TaskRule> {
        let seq = self.rules.approved.get(&proposal)?;
        self.rules.added.get(seq).map(|it| &it.rule)
    }
}

pub(super) fn revoke_rule(workflow: &Workflow, rule: Seq) -> Result<Vec<Entry>, Refusal> {
    if workflow.finished.is_some() {
        return refuse!("The task has ended, and its rules with it.");
    }
    if !workflow.rules.holding().any(|(seq, _)| seq == rule) {
        return refuse!("There is no rule {rule} in this task; it may be revoked already.");
    }
    Ok(vec![Entry::RuleRevoked { rule }])
}
