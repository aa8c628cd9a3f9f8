//! The prompt below a card and its answers: yes, no, all, split, edit, quit.
//!
//! It only turns answers into inputs, which the workflow interprets. A proposal that results from a
//! selection is approved by its own card, never by the card of the original proposal.

use std::collections::BTreeSet;
use std::ops::Range;

use scene_schemas::Command;
use scene_schemas::entry::{Approver, Seq};
use scene_schemas::proposal::{Proposal, Row};
use vector_core::policy::needs_second_confirmation;
use vector_core::proposal::{
    ProposalDraft, ProposalUnit, draft_part, draft_with_scripts, list_units,
};
use vector_core::workflow::{CALLS, WorkflowInput};
use vector_engine::{EngineError, WorkflowRun};
use vector_providers::model_choice::OFFLINE;

use super::comment_prompt::write_comments;
use super::edit::ReviewState;
use super::edit_prompt::{OwnProposal, edit_proposal};
use super::keep_prompt::{KEEP_HELP, KeptScripts, choose_scripts, keep_key};
use super::review_requirement::NO_REVIEWER;
use super::rule_prompt::{RuleAnswer, ask_rule};
use super::style::{PaintKind, TextStyle, terminal_line};
use super::terminal::{Terminal, print_status};
use super::{card, hunks};
use crate::daemon::{active_rules, offered_rules};

/// Whether the run continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PromptFlow {
    Continue,
    Quit,
}

const KEYS: &str = "[y]es [n]o [a]ll [r]ule [c]omment [s]plit [e]dit [q]uit";

const HELP: &str = "  y  apply this proposal
  n  reject it; the model receives your reason
  a  apply this one and all later ones in this run
  r  apply this one, and allow more of the same in this task without asking
  c  comment on its lines in your editor, and ask the model for a new version
  s  split it: choose the operations and script changes to apply
  e  edit it in your editor ($VISUAL or $EDITOR), then decide on the result
  v  view the whole card
  q  quit: nothing else is applied in this run";

/// Asks about a proposal until it is decided.
pub(super) fn ask_decision(
    run: &mut WorkflowRun,
    seq: Seq,
    terminal: &Terminal,
    session: &mut ReviewState,
) -> anyhow::Result<PromptFlow> {
    let Some(proposal) = find_proposal(run, seq) else {
        return Ok(PromptFlow::Continue);
    };
    if session.approve_all_as.is_some()
        && run.missing_review(seq).is_none()
        && confirm_twice(seq, terminal)?
    {
        run.approve(seq, Approver::Person, true)?;
        return Ok(PromptFlow::Continue);
    }
    let style = terminal.style();
    let whole = card::render_full_card(seq, &proposal, style);
    let view =
        if whole == card::render_card(seq, &proposal, style) { "" } else { "[v]iew all of it " };
    loop {
        let keep = keep_key(&proposal);
        let question = format!("Apply proposal {seq}? {KEYS} {keep}{view}[?]");
        let Some(answer) = terminal.ask_line(&question)? else {
            return Ok(PromptFlow::Quit);
        };
        let done = match answer.to_lowercase().as_str() {
            "y" | "yes" => approve_proposal(run, seq, &proposal, Approver::Person, terminal)?,
            "n" | "no" => reject_proposal(run, seq, terminal)?,
            "a" | "all" => {
                let done = approve_proposal(run, seq, &proposal, Approver::PersonForAll, terminal)?;
                if done {
                    session.approve_all_as = Some(Approver::PersonForAll);
                }
                done
            }
            "c" | "comment" => comment_on(run, seq, &proposal)?,
            "r" | "rule" => change_rules(run, seq, terminal)?,
            "s" | "split" => apply_pieces(run, seq, &proposal, terminal, session)?,
            "e" | "edit" => {
                let mut edited = OwnProposal { run, seq, proposal: &proposal };
                edit_proposal(&mut edited, terminal)?.is_some()
            }
            "i" | "insert" if !keep.is_empty() => keep_scripts(run, seq, &proposal, terminal)?,
            "v" | "view" => {
                terminal.show(&whole);
                false
            }
            "q" | "quit" => return Ok(PromptFlow::Quit),
            _ if !keep.is_empty() => {
                print_status(&format!("{HELP}\n{KEEP_HELP}"));
                false
            }
            _ => {
                print_status(HELP);
                false
            }
        };
        if done {
            return Ok(PromptFlow::Continue);
        }
    }
}

fn find_proposal(run: &WorkflowRun, seq: Seq) -> Option<Proposal> {
    let pending = run.workflow()?.proposal(seq)?;
    Some(pending.proposal.clone())
}

/// Approves a proposal, with a second confirmation if it is needed. Returns false if the user
/// declines that.
fn approve_proposal(
    run: &mut WorkflowRun,
    seq: Seq,
    proposal: &Proposal,
    by: Approver,
    terminal: &Terminal,
) -> anyhow::Result<bool> {
    if run.missing_review(seq).is_some() {
        print_status(NO_REVIEWER);
        return Ok(false);
    }
    let twice = needs_second_confirmation(proposal);
    if twice && !confirm_twice(seq, terminal)? {
        return Ok(false);
    }
    run.approve(seq, by, twice)?;
    Ok(true)
}

/// Asks for changes with comments. Returns false if the proposal is still to be decided.
fn comment_on(run: &mut WorkflowRun, seq: Seq, proposal: &Proposal) -> anyhow::Result<bool> {
    let Some(written) = write_comments(proposal) else {
        return Ok(false);
    };
    let comments = written.comments.clone();
    let sent = show_refusal(run.handle_input(WorkflowInput::Comment { proposal: seq, comments }));
    if !matches!(sent, Ok(Some(_))) {
        written.keep();
    }
    Ok(sent?.is_some())
}

/// Approves a proposal together with a rule, or revokes a rule. Returns false if the proposal is still
/// to be decided.
fn change_rules(run: &mut WorkflowRun, seq: Seq, terminal: &Terminal) -> anyhow::Result<bool> {
    let Some(workflow) = run.workflow() else {
        return Ok(true);
    };
    let offered = workflow.proposal(seq).map(offered_rules).unwrap_or_default();
    let active = active_rules(workflow);
    match ask_rule(terminal, &offered, &active)? {
        RuleAnswer::Back => Ok(false),
        RuleAnswer::Add(_) if run.missing_review(seq).is_some() => {
            print_status(NO_REVIEWER);
            Ok(false)
        }
        RuleAnswer::Add(rule) => {
            run.approve_with_rule(seq, Approver::Person, rule)?;
            Ok(true)
        }
        RuleAnswer::Revoke(rule) => {
            show_refusal(run.handle_input(WorkflowInput::RevokeRule { rule }))?;
            Ok(false)
        }
    }
}

/// Asks which scripts of an asset to insert. Returns false if the proposal is still to be decided.
fn keep_scripts(
    run: &mut WorkflowRun,
    seq: Seq,
    proposal: &Proposal,
    terminal: &Terminal,
) -> anyhow::Result<bool> {
    let Some(KeptScripts { scripts, sandbox }) = choose_scripts(proposal, terminal)? else {
        return Ok(false);
    };
    let draft =
        |draft: &mut ProposalDraft<'_>| draft_with_scripts(draft, proposal, &scripts, sandbox);
    let revised = run.revise_proposal(seq, draft);
    Ok(show_refusal(revised)?.is_some())
}

/// Asks for the second confirmation that a warning requires. Only the whole word counts, so that a
/// repeated key does not confirm it.
pub(super) fn confirm_twice(seq: Seq, terminal: &Terminal) -> anyhow::Result<bool> {
    let text = format!(
        "Proposal {seq} has a warning marked !!. Type yes to apply it despite that, or press Enter to go back:"
    );
    let answer = terminal.ask_line(&text)?.unwrap_or_default().to_lowercase();
    let is_sure = answer == "yes";
    if !is_sure && answer.starts_with('y') {
        print_status("Not applied: type the whole word, yes.");
    }
    Ok(is_sure)
}

fn reject_proposal(run: &mut WorkflowRun, seq: Seq, terminal: &Terminal) -> anyhow::Result<bool> {
    let is_heard = run.workflow().is_some_and(|it| ![CALLS, OFFLINE].contains(&it.driver.as_str()));
    let reason = ask_reject_reason(terminal, is_heard)?;
    run.handle_input(WorkflowInput::Reject { proposal: seq, reason })?;
    Ok(true)
}

/// Asks for the reason of a rejection. Without a model, the reason is only recorded.
pub(super) fn ask_reject_reason(
    terminal: &Terminal,
    is_heard: bool,
) -> anyhow::Result<Option<String>> {
    let question =
        if is_heard { "Reason (optional; the model receives it):" } else { "Reason (optional):" };
    let reason = terminal.ask_line(question)?;
    Ok(reason.filter(|it| !it.is_empty()))
}

/// Prints a refusal and returns None. Other errors are returned.
pub(super) fn show_refusal<T>(outcome: Result<T, EngineError>) -> anyhow::Result<Option<T>> {
    match outcome {
        Ok(value) => Ok(Some(value)),
        Err(EngineError::Refused(refusal)) => {
            print_status(&refusal.0);
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// Asks about each piece of a proposal, and applies the chosen ones.
fn apply_pieces(
    run: &mut WorkflowRun,
    seq: Seq,
    proposal: &Proposal,
    terminal: &Terminal,
    session: &mut ReviewState,
) -> anyhow::Result<bool> {
    let read_rows = |command, members| Ok(run.member_rows(proposal, command, members)?);
    let choice = PieceChoice { proposal, terminal, read_rows: &read_rows };
    let taken = match choice.choose()? {
        ChosenPieces::Back => return Ok(false),
        ChosenPieces::All => {
            return approve_proposal(run, seq, proposal, Approver::Person, terminal);
        }
        ChosenPieces::None => {
            print_status("Nothing was chosen, so the proposal is not applied.");
            return reject_proposal(run, seq, terminal);
        }
        ChosenPieces::Some(taken) => taken,
    };
    let revised = run.revise_proposal(seq, |draft| draft_part(draft, proposal, &taken));
    let Some(new) = show_refusal(revised)? else {
        return Ok(false);
    };
    let Some(chosen) = self::find_proposal(run, new) else {
        return Ok(true);
    };
    terminal.show_card(new, &chosen);
    session.shown.insert(new);
    // The user has just chosen each piece, so only a warning needs another confirmation. If the
    // user declines that, the new proposal is asked about like any other.
    approve_proposal(run, new, &chosen, Approver::Person, terminal)?;
    Ok(true)
}

/// Number of instances of a command over many that are read at once.
const MEMBERS_READ: u32 = 100;

/// Reads the preview rows of some instances of a command over many.
pub(super) type ReadMemberRows<'a> = dyn Fn(u32, Range<u32>) -> anyhow::Result<Vec<Row>> + 'a;

/// The pieces that the user chose.
#[derive(Debug)]
pub(super) enum ChosenPieces {
    /// The user goes back to the card.
    Back,
    All,
    None,
    Some(Vec<ProposalUnit>),
}

/// The choice among the pieces of a proposal.
pub(super) struct PieceChoice<'a> {
    pub(super) proposal: &'a Proposal,
    pub(super) terminal: &'a Terminal,
    pub(super) read_rows: &'a ReadMemberRows<'a>,
}

/// The answer to a question about a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PieceAnswer {
    Yes,
    No,
    /// Each instance of a command over many.
    Each,
    AllOfTheRest,
    Done,
    Back,
}

impl PieceChoice<'_> {
    /// Asks about each piece.
    pub(super) fn choose(&self) -> anyhow::Result<ChosenPieces> {
        let pieces = list_units(self.proposal);
        if pieces.iter().map(|piece| self.member_count(*piece).unwrap_or(1)).sum::<u32>() < 2 {
            print_status("There is only one piece; answer y or n.");
            return Ok(ChosenPieces::Back);
        }
        let mut taken = Vec::new();
        let mut left_out: BTreeSet<String> = BTreeSet::new();
        let mut at = 0;
        while let Some(piece) = pieces.get(at) {
            self.terminal.show(&describe_piece(self.proposal, *piece, self.terminal.style()));
            let command = match piece {
                ProposalUnit::Command(command) => self.proposal.commands.get(*command),
                ProposalUnit::Member { .. } | ProposalUnit::Hunk { .. } => None,
            };
            if command.is_some_and(|it| required_ids(it).any(|id| left_out.contains(id))) {
                print_status("  left out, with what it depends on");
                left_out.extend(command.into_iter().flat_map(created_ids));
                at += 1;
                continue;
            }
            let question = format!("Take this ({} of {})?", at + 1, pieces.len());
            let members = self.member_count(*piece);
            match self.ask(&question, members.is_some())? {
                PieceAnswer::Yes => taken.push(*piece),
                PieceAnswer::No => left_out.extend(command.into_iter().flat_map(created_ids)),
                PieceAnswer::Each => match self.choose_members(*piece, members.unwrap_or(0))? {
                    Some(members) => taken.extend(members),
                    None => return Ok(ChosenPieces::Back),
                },
                PieceAnswer::AllOfTheRest => {
                    taken.extend(independent_pieces(self.proposal, &pieces[at..], &mut left_out));
                    break;
                }
                PieceAnswer::Done => break,
                PieceAnswer::Back => return Ok(ChosenPieces::Back),
            }
            at += 1;
        }
        Ok(if taken.is_empty() {
            ChosenPieces::None
        } else if taken == pieces {
            ChosenPieces::All
        } else {
            ChosenPieces::Some(taken)
        })
    }

    fn member_count(&self, piece: ProposalUnit) -> Option<u32> {
        match piece {
            ProposalUnit::Command(command) => {
                self.proposal.commands.get(command).and_then(Command::member_count)
            }
            ProposalUnit::Member { .. } | ProposalUnit::Hunk { .. } => None,
        }
    }

    /// Asks about each instance of a command over many. None if the user goes back.
    fn choose_members(
        &self,
        piece: ProposalUnit,
        count: u32,
    ) -> anyhow::Result<Option<Vec<ProposalUnit>>> {
        let ProposalUnit::Command(command) = piece else {
            return Ok(Some(vec![piece]));
        };
        let (mut taken, mut rows) = (Vec::new(), Vec::new());
        for member in 0..count {
            if member % MEMBERS_READ == 0 {
                rows = (self.read_rows)(command as u32, member..member + MEMBERS_READ)?;
            }
            let own = rows.iter().filter(|row| row.member == Some(member));
            let style = self.terminal.style();
            self.terminal.show(&card::row_lines(self.proposal, own, style));
            let question = format!("Take this ({} of {count} instances)?", member + 1);
            match self.ask(&question, false)? {
                PieceAnswer::Yes => taken.push(member),
                PieceAnswer::No | PieceAnswer::Each => {}
                PieceAnswer::AllOfTheRest => {
                    taken.extend(member..count);
                    break;
                }
                PieceAnswer::Done => break,
                PieceAnswer::Back => return Ok(None),
            }
        }
        if taken.len() == count as usize {
            return Ok(Some(vec![piece]));
        }
        let unit = |member| ProposalUnit::Member { command, member };
        Ok(Some(taken.into_iter().map(unit).collect()))
    }

    /// Asks about a piece until the answer is known. The end of the input means to go back.
    fn ask(&self, question: &str, has_members: bool) -> anyhow::Result<PieceAnswer> {
        let each = if has_members { "[o]ne by one " } else { "" };
        loop {
            let Some(answer) = self.terminal.ask_line(&format!(
                "{question} [y]es [n]o {each}[a]ll the rest [d]one, the rest not [b]ack"
            ))?
            else {
                return Ok(PieceAnswer::Back);
            };
            return Ok(match answer.to_lowercase().as_str() {
                "y" | "yes" => PieceAnswer::Yes,
                "n" | "no" => PieceAnswer::No,
                "o" | "one" if has_members => PieceAnswer::Each,
                "a" | "all" => PieceAnswer::AllOfTheRest,
                "d" | "done" => PieceAnswer::Done,
                "b" | "back" => PieceAnswer::Back,
                _ => {
                    let each = if has_members { "o asks about each instance, " } else { "" };
                    print_status(&format!(
                        "  y takes it, n leaves it, {each}a takes this and the rest, d leaves this and \
                         the rest, b goes back"
                    ));
                    continue;
                }
            });
        }
    }
}

/// The remaining pieces, without those that depend on a piece that was left out.
fn independent_pieces(
    proposal: &Proposal,
    pieces: &[ProposalUnit],
    left_out: &mut BTreeSet<String>,
) -> Vec<ProposalUnit> {
    let mut taken = Vec::new();
    for piece in pieces {
        if let ProposalUnit::Command(command) = piece
            && let Some(command) = proposal.commands.get(*command)
            && required_ids(command).any(|id| left_out.contains(id))
        {
            left_out.extend(created_ids(command));
        } else {
            taken.push(*piece);
        }
    }
    taken
}

/// The IDs that a command creates.
fn created_ids(command: &Command) -> Vec<String> {
    let (id, count) = match command {
        Command::Create { id, .. } => (id, 1),
        Command::Clone { id, count, .. } | Command::Restore { id, count, .. } => (id, *count),
        Command::Insert { id, contents, left_out, .. } => {
            (id, contents.remove_left_out(left_out).len() as u32)
        }
        _ => return Vec::new(),
    };
    let first: u32 = match id.0.strip_prefix("new:").and_then(|k| k.parse().ok()) {
        Some(first) => first,
        None => return Vec::new(),
    };
    (first..first.saturating_add(count)).map(|k| format!("new:{k}")).collect()
}

/// The IDs that a command requires.
fn required_ids(command: &Command) -> impl Iterator<Item = &str> {
    let parent = match command {
        Command::Move { parent, .. } | Command::Clone { parent, .. } => Some(parent.id.0.as_str()),
        _ => None,
    };
    std::iter::once(command.target().id.0.as_str()).chain(parent)
}

fn describe_piece(proposal: &Proposal, piece: ProposalUnit, style: TextStyle) -> String {
    match piece {
        ProposalUnit::Command(command) | ProposalUnit::Member { command, .. } => {
            card::command_rows(proposal, command, style)
        }
        ProposalUnit::Hunk { script, hunk } => {
            let Some(diff) = proposal.preview.scripts.get(script) else {
                return String::new();
            };
            let path = style.paint(PaintKind::Bold, terminal_line(&diff.path.to_string()));
            let one = diff.hunks.get(hunk..=hunk).unwrap_or_default();
            let lines = hunks::hunk_lines(one, style, true).join("\n");
            format!("{path}\n{lines}\n")
        }
    }
}
