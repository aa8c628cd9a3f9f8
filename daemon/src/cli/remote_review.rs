//! Review of the daemon's cards in a terminal: shows them, asks, and sends the decision to the
//! daemon, like the widget in Studio. Only the daemon knows what a decision means.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use scene_schemas::Command;
use scene_schemas::api::{
    Decision, DecisionRequest, DecisionResponse, MemberRows, ProposalPart, ProposalStatus,
    ProposalView, ProposedScript, ReviewStatus, RevokeRule, RouteId, WorkflowView,
};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use vector_core::proposal::ProposalUnit;

use super::card;
use super::card_links::CardLinks;
use super::comment_prompt::write_comments;
use super::daemon_client::{DaemonClient, RouteRequest};
use super::decision_prompt::{ChosenPieces, PieceChoice, ask_reject_reason, confirm_twice};
use super::edit_prompt::{Edited, EditedProposal, Replacement, edit_proposal};
use super::keep_prompt::{KEEP_HELP, KeptScripts, choose_scripts, keep_key};
use super::model_review::{REVIEW_HELP, ask_review, render_review, show_quote};
use super::rule_prompt::{RuleAnswer, ask_rule};
use super::terminal::{Terminal, print_status};

/// The settings of a review.
#[derive(Debug, Clone, Copy)]
pub(super) struct RemoteReview<'a> {
    pub(super) daemon: &'a DaemonClient,
    pub(super) terminal: &'a Terminal,
    pub(super) yes: bool,
    /// Also approves cards that need a second confirmation.
    pub(super) force: bool,
}

/// Additional keys of a prompt.
#[derive(Debug, Clone, Copy)]
pub(super) struct ExtraKeys {
    /// The keys, as shown in the prompt.
    pub(super) prompt: &'static str,
    /// The help for the keys, one per line.
    pub(super) help: &'static str,
}

/// The outcome of a card.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CardOutcome {
    /// Decided here. Contains the daemon's response.
    Decided(DecisionResponse),
    /// Decided elsewhere, or no longer there.
    Elsewhere,
    Left,
    /// The user wants to see no more cards.
    Quit,
}

const HELP: &str = "  y  apply this proposal
  n  reject it; the requester receives your reason
  r  apply this one, and allow more of the same in this task without asking
  c  comment on its lines in your editor, and ask the requester for a new version
  s  split it: choose the operations and script changes to apply
  e  edit it in your editor ($VISUAL or $EDITOR), then decide on the result
  v  view the whole card";

impl RemoteReview<'_> {
    /// Fetches the current state of a proposal.
    pub(super) fn fetch_proposal(&self, proposal: Seq) -> anyhow::Result<ProposalView> {
        self.daemon.call(&RouteRequest::new(RouteId::Proposal).with_id(proposal))
    }

    /// Shows a card and asks until it is decided or left.
    pub(super) fn decide_card(
        &self,
        view: &ProposalView,
        keys: ExtraKeys,
    ) -> anyhow::Result<CardOutcome> {
        let (seq, proposal) = (view.seq, &view.proposal);
        let style = self.terminal.style();
        let cut = card::render_card(seq, proposal, style);
        let links =
            CardLinks::of_daemon(self.daemon, self.terminal, view.session.as_ref(), proposal);
        self.terminal.show(&links.add_to(cut.clone(), seq, proposal, style));
        if let Some(review) = view.reviews.last() {
            self.terminal.show(&render_review(review, style));
        }
        if view.status != ProposalStatus::Waiting {
            // The mode that the user chose has already approved it.
            return Ok(CardOutcome::Elsewhere);
        }
        let reviewed;
        let view = if self.yes && view.unreviewed.is_some() && !has_failed_review(view) {
            reviewed = ask_review(self.daemon, view, self.terminal)?;
            &reviewed
        } else {
            view
        };
        if let Some(text) = &view.unreviewed {
            print_status(&format!("note: {text}"));
        }
        if self.yes && (!view.needs_twice || self.force) {
            let done = self
                .send_decision(view, Decision::Approve { twice: view.needs_twice, rule: None })?;
            // Asking again would give the same result.
            return Ok(done.unwrap_or(CardOutcome::Left));
        }
        if self.terminal.can_ask() && view.reviews.is_empty() {
            show_quote(self.daemon, seq, self.terminal);
        }
        let whole = card::render_full_card(seq, proposal, style);
        let more = if whole == cut { "" } else { "[v]iew all of it " };
        loop {
            let keep = keep_key(proposal);
            let question = format!("Apply proposal {seq}? {} {keep}{more}[?]", keys.prompt);
            let Some(answer) = self.terminal.ask_line(&question)? else {
                return Ok(self.leave_pending(view));
            };
            let done = match answer.to_lowercase().as_str() {
                "y" | "yes" => self.approve_card(view)?,
                "n" | "no" => self.reject_card(view)?,
                "c" | "comment" => self.comment_on(view)?,
                "r" | "rule" => self.change_rules(view)?,
                "s" | "split" => self.split_card(view)?,
                "e" | "edit" => self.edit_card(view, keys)?,
                "i" | "insert" if !keep.is_empty() => self.keep_scripts(view, keys)?,
                "m" | "model" => self.review_by_model(view)?,
                "v" | "view" => {
                    self.terminal.show(&links.add_to(whole.clone(), seq, proposal, style));
                    None
                }
                "" | "k" | "skip" => Some(CardOutcome::Left),
                "q" | "quit" => Some(CardOutcome::Quit),
                _ => {
                    let keep = if keep.is_empty() { "" } else { KEEP_HELP };
                    let lines = [HELP, REVIEW_HELP, keep, keys.help]
                        .into_iter()
                        .filter(|it| !it.is_empty());
                    print_status(&lines.collect::<Vec<_>>().join("\n"));
                    None
                }
            };
            if let Some(done) = done {
                return Ok(done);
            }
        }
    }

    /// The outcome of a card without an answer.
    fn leave_pending(&self, view: &ProposalView) -> CardOutcome {
        if self.terminal.can_ask() {
            return CardOutcome::Quit;
        }
        if self.yes {
            print_status(&format!(
                "Proposal {} has a warning that needs a second confirmation. Read it, and run again \
                 with --force to approve it.",
                view.seq
            ));
        }
        CardOutcome::Left
    }

    fn approve_card(&self, view: &ProposalView) -> anyhow::Result<Option<CardOutcome>> {
        if view.needs_twice && !confirm_twice(view.seq, self.terminal)? {
            return Ok(None);
        }
        self.send_decision(view, Decision::Approve { twice: view.needs_twice, rule: None })
    }

    fn reject_card(&self, view: &ProposalView) -> anyhow::Result<Option<CardOutcome>> {
        let reason = ask_reject_reason(self.terminal, true)?;
        self.send_decision(view, Decision::Reject { reason })
    }

    /// Asks for changes with comments.
    fn comment_on(&self, view: &ProposalView) -> anyhow::Result<Option<CardOutcome>> {
        let Some(written) = write_comments(&view.proposal) else {
            return Ok(None);
        };
        let comments = written.comments.clone();
        let sent = self.send_decision(view, Decision::RequestChanges { comments });
        if !matches!(sent, Ok(Some(CardOutcome::Decided(_)))) {
            written.keep();
        }
        sent
    }

    /// Shows what a model finds in a card. If it was decided meanwhile, that is its outcome.
    fn review_by_model(&self, view: &ProposalView) -> anyhow::Result<Option<CardOutcome>> {
        let now = ask_review(self.daemon, view, self.terminal)?;
        if now.status == ProposalStatus::Waiting {
            return Ok(None);
        }
        let sentence = outcome_sentence(view.seq, now.status, now.reason.as_deref());
        print_status(&format!("note: This was decided elsewhere in the meantime. {sentence}"));
        Ok(Some(CardOutcome::Elsewhere))
    }

    /// Approves a card together with a rule, or revokes a rule of its task.
    fn change_rules(&self, view: &ProposalView) -> anyhow::Result<Option<CardOutcome>> {
        let task = RouteRequest::new(RouteId::Workflow).with_id(view.workflow);
        let task: WorkflowView = self.daemon.call(&task)?;
        match ask_rule(self.terminal, &view.rules, &task.rules)? {
            RuleAnswer::Back => Ok(None),
            RuleAnswer::Add(rule) => {
                self.send_decision(view, Decision::Approve { twice: false, rule: Some(rule) })
            }
            RuleAnswer::Revoke(rule) => {
                let request = RouteRequest::new(RouteId::RevokeRule).with_id(view.workflow);
                let revoke = RevokeRule { rule };
                match self.daemon.call::<WorkflowView>(&request.with_body(&revoke)) {
                    Ok(_) => print_status("The rule is revoked."),
                    Err(refused) => print_status(&format!("note: {refused:#}")),
                }
                Ok(None)
            }
        }
    }

    /// Asks about each piece of a proposal, and applies the chosen ones.
    fn split_card(&self, view: &ProposalView) -> anyhow::Result<Option<CardOutcome>> {
        let proposal = &view.proposal;
        let read_rows = |command: u32, members: Range<u32>| {
            let request = RouteRequest::new(RouteId::ProposalRows)
                .with_id(view.seq)
                .with_query("command", command)
                .with_query("from", members.start)
                .with_query("count", members.end - members.start);
            Ok(self.daemon.call::<MemberRows>(&request)?.rows)
        };
        let choice = PieceChoice { proposal, terminal: self.terminal, read_rows: &read_rows };
        let taken = match choice.choose()? {
            ChosenPieces::Back => return Ok(None),
            ChosenPieces::All => return self.approve_card(view),
            ChosenPieces::None => {
                print_status("Nothing was chosen, so the proposal is not applied.");
                return self.reject_card(view);
            }
            ChosenPieces::Some(taken) => taken,
        };
        let parts = to_parts(proposal, &taken);
        let chosen = self.send_decision(view, Decision::Take { parts })?;
        let Some(CardOutcome::Decided(chosen)) = chosen else {
            return Ok(chosen);
        };
        let chosen = self.fetch_proposal(chosen.proposal)?;
        self.terminal.show_card(chosen.seq, &chosen.proposal);
        // The user has just chosen each piece, so only a warning needs another confirmation. If the
        // user declines that, the new proposal stays pending like any other.
        Ok(Some(self.approve_card(&chosen)?.unwrap_or(CardOutcome::Left)))
    }

    /// Asks which scripts of an asset to insert, and asks about the result.
    fn keep_scripts(
        &self,
        view: &ProposalView,
        keys: ExtraKeys,
    ) -> anyhow::Result<Option<CardOutcome>> {
        let Some(KeptScripts { scripts, sandbox }) = choose_scripts(&view.proposal, self.terminal)?
        else {
            return Ok(None);
        };
        match self.send_decision(view, Decision::Keep { scripts, sandbox })? {
            Some(CardOutcome::Decided(kept)) => {
                self.decide_card(&self.fetch_proposal(kept.proposal)?, keys).map(Some)
            }
            outcome => Ok(outcome),
        }
    }

    /// Edits a card, and asks about the result.
    fn edit_card(
        &self,
        view: &ProposalView,
        keys: ExtraKeys,
    ) -> anyhow::Result<Option<CardOutcome>> {
        let mut edited = DaemonProposal { review: self, view, outcome: None };
        let new = edit_proposal(&mut edited, self.terminal)?;
        let Some(new) = new else {
            return Ok(edited.outcome);
        };
        self.decide_card(&self.fetch_proposal(new)?, keys).map(Some)
    }

    /// Sends a decision. None if the daemon refused it and the card is still pending.
    pub(super) fn send_decision(
        &self,
        view: &ProposalView,
        decision: Decision,
    ) -> anyhow::Result<Option<CardOutcome>> {
        let (patch_id, base) = (view.proposal.patch_id.clone(), view.proposal.base.clone());
        let decide = DecisionRequest { patch_id, base, decision };
        let request = RouteRequest::new(RouteId::Decide).with_id(view.seq).with_body(&decide);
        let refused = match self.daemon.call(&request) {
            Ok(decided) => return Ok(Some(CardOutcome::Decided(decided))),
            Err(refused) => refused,
        };
        let now = self.fetch_proposal(view.seq)?;
        if now.status == ProposalStatus::Waiting {
            print_status(&format!("note: {refused:#}"));
            return Ok(None);
        }
        let sentence = outcome_sentence(view.seq, now.status, now.reason.as_deref());
        print_status(&format!("note: This was decided elsewhere in the meantime. {sentence}"));
        Ok(Some(CardOutcome::Elsewhere))
    }
}

/// Whether the last review of a proposal ended without a report.
fn has_failed_review(view: &ProposalView) -> bool {
    view.reviews.last().is_some_and(|it| it.state == ReviewStatus::Failed)
}

/// A card of the daemon that is edited.
struct DaemonProposal<'a> {
    review: &'a RemoteReview<'a>,
    view: &'a ProposalView,
    /// If it was decided elsewhere in the meantime: the outcome of the card.
    outcome: Option<CardOutcome>,
}

impl EditedProposal for DaemonProposal<'_> {
    fn proposal(&self) -> &Proposal {
        &self.view.proposal
    }

    fn read_script(&mut self, script: usize) -> anyhow::Result<Option<String>> {
        let request = RouteRequest::new(RouteId::ProposedScript);
        let request = request.with_id(self.view.seq).with_query("script", script as u32);
        match self.review.daemon.call::<ProposedScript>(&request) {
            Ok(script) => Ok(Some(script.text)),
            Err(refused) => {
                print_status(&format!("note: {refused:#}"));
                Ok(None)
            }
        }
    }

    fn read_call(&self) -> anyhow::Result<Option<String>> {
        Ok(None)
    }

    fn replace(&mut self, edited: Edited<'_>) -> anyhow::Result<Replacement> {
        let edits = match edited {
            Edited::Parts(edits) => edits,
            Edited::Call(_) => return Ok(Replacement::Refused),
        };
        let decided = self.review.send_decision(self.view, Decision::Edit { edits })?;
        Ok(match decided {
            Some(CardOutcome::Decided(decided)) => Replacement::By(decided.proposal),
            None => Replacement::Refused,
            outcome @ Some(CardOutcome::Elsewhere | CardOutcome::Left | CardOutcome::Quit) => {
                self.outcome = outcome;
                Replacement::Gone
            }
        })
    }
}

/// Returns the parts that stand for these units.
fn to_parts(proposal: &Proposal, taken: &[ProposalUnit]) -> Vec<ProposalPart> {
    let mut parts = Vec::new();
    let mut members: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for unit in taken {
        match *unit {
            ProposalUnit::Command(command) => {
                parts.push(ProposalPart::Command { command: command as u32, except: Vec::new() });
            }
            ProposalUnit::Member { command, member } => {
                members.entry(command).or_default().insert(member);
            }
            ProposalUnit::Hunk { script, hunk } => {
                parts.push(ProposalPart::Hunk { script: script as u32, hunk: hunk as u32 });
            }
        }
    }
    for (command, members) in members {
        let count = proposal.commands.get(command).and_then(Command::member_count).unwrap_or(0);
        let except = (0..count).filter(|member| !members.contains(member)).collect();
        parts.push(ProposalPart::Command { command: command as u32, except });
    }
    parts
}

/// Describes the outcome of a proposal in a sentence.
pub(super) fn outcome_sentence(
    proposal: Seq,
    status: ProposalStatus,
    reason: Option<&str>,
) -> String {
    let status = match status {
        ProposalStatus::Waiting => "is still pending",
        ProposalStatus::Approved => "was approved",
        ProposalStatus::Applied => "was applied",
        ProposalStatus::Failed => "was not applied",
        ProposalStatus::Rejected => "was rejected",
        ProposalStatus::Withdrawn => "was withdrawn",
        ProposalStatus::Undone => "was undone in Studio",
    };
    match reason {
        Some(reason) => format!("Proposal {proposal} {status}: {reason}"),
        None => format!("Proposal {proposal} {status}."),
    }
}
