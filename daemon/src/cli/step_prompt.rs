//! The prompt for the small steps of a task, which may be approved together.

use std::fmt::Write as _;

use scene_schemas::api::{Decision, DecisionResponse, ProposalView};
use scene_schemas::entry::Seq;

use super::card;
use super::card_links::CardLinks;
use super::remote_review::{CardOutcome, RemoteReview};
use super::style::{PaintKind, count_noun, fold_columns, terminal_line};
use super::terminal::print_status;
use crate::daemon::ChangeExtent;

const KEYS: &str = "[y]es, [o]ne by one, [v]iew them, s[k]ip, [q]uit, or numbers such as 1-3 5";

const HELP: &str = "  y  apply all of them
  1-3 5  apply only these, and ask about each of the others
  o  ask about each of them
  v  view their cards
  k  skip them: they stay pending
  q  quit: undecided proposals stay pending";

/// What the user decided about a group of steps.
#[derive(Debug, Default)]
pub(super) struct StepsOutcome {
    /// The daemon's responses to approvals.
    pub(super) decided: Vec<DecisionResponse>,
    /// The steps to ask about one by one.
    pub(super) singly: Vec<Seq>,
    /// The steps that stay pending.
    pub(super) skipped: Vec<Seq>,
    /// Whether the user wants to see no more cards.
    pub(super) is_over: bool,
}

impl RemoteReview<'_> {
    /// Lists the steps and asks until they are decided or left.
    pub(super) fn decide_steps(&self, steps: &[ProposalView]) -> anyhow::Result<StepsOutcome> {
        let terminal = self.terminal;
        terminal.show(&self.step_list(steps));
        let all = || steps.iter().map(|it| it.seq).collect();
        let question = format!("Apply these {} steps? {KEYS} [?]", steps.len());
        loop {
            let Some(answer) = terminal.ask_line(&question)? else {
                return Ok(StepsOutcome { skipped: all(), is_over: true, ..Default::default() });
            };
            match answer.to_lowercase().as_str() {
                "y" | "yes" => return self.approve_steps(steps, &vec![true; steps.len()]),
                "o" | "one" => return Ok(StepsOutcome { singly: all(), ..Default::default() }),
                "v" | "view" => {
                    for step in steps {
                        let (seq, proposal) = (step.seq, &step.proposal);
                        let whole = card::render_full_card(seq, proposal, terminal.style());
                        let session = step.session.as_ref();
                        let links = CardLinks::of_daemon(self.daemon, terminal, session, proposal);
                        terminal.show(&links.add_to(whole, seq, proposal, terminal.style()));
                    }
                }
                "" | "k" | "skip" => {
                    return Ok(StepsOutcome { skipped: all(), ..Default::default() });
                }
                "q" | "quit" => {
                    return Ok(StepsOutcome {
                        skipped: all(),
                        is_over: true,
                        ..Default::default()
                    });
                }
                "?" | "h" | "help" => print_status(HELP),
                numbers => match read_choice(numbers, steps) {
                    Ok(chosen) => return self.approve_steps(steps, &chosen),
                    Err(problem) => print_status(&problem),
                },
            }
        }
    }

    /// Renders the steps, one per line.
    fn step_list(&self, steps: &[ProposalView]) -> String {
        let style = self.terminal.style();
        let width = steps.len().to_string().len();
        let heading = format!("{} small steps of this task:", steps.len());
        let mut text = format!("{}\n", style.paint(PaintKind::Bold, heading));
        for (step, number) in steps.iter().zip(1..) {
            let proposal = &step.proposal;
            let extent = ChangeExtent::from_proposal(proposal);
            let mut size = count_noun(extent.operations, "operation");
            if let Some((added, removed)) = extent.lines {
                size = format!("{size}, +{added} -{removed}");
            }
            let size = format!("{} · {size}", card::class_name(proposal.class));
            let room = style.width.saturating_sub(width + size.len() + 6).max(20);
            let mut title = fold_columns(&terminal_line(&proposal.title_with_path()), room);
            let is_cut = title.len() > 1;
            let first = if title.is_empty() { String::new() } else { title.swap_remove(0) };
            let more = if is_cut { "…" } else { "" };
            let dim = style.paint(PaintKind::Dim, size);
            let _ = writeln!(text, "  {number:>width$}  {first}{more}  {dim}");
        }
        text
    }

    /// Approves the chosen steps, oldest first, until one is refused.
    fn approve_steps(
        &self,
        steps: &[ProposalView],
        chosen: &[bool],
    ) -> anyhow::Result<StepsOutcome> {
        let mut outcome = StepsOutcome::default();
        let mut is_refused = false;
        for (step, is_chosen) in steps.iter().zip(chosen) {
            if !is_chosen || is_refused {
                outcome.singly.push(step.seq);
                continue;
            }
            let approve = Decision::Approve { twice: false, rule: None };
            match self.send_decision(step, approve)? {
                Some(CardOutcome::Decided(decided)) => outcome.decided.push(decided),
                Some(CardOutcome::Elsewhere | CardOutcome::Left | CardOutcome::Quit) => {}
                None => {
                    outcome.singly.push(step.seq);
                    is_refused = true;
                }
            }
        }
        Ok(outcome)
    }
}

/// Reads numbers and ranges, such as `1-3 5`. A step can only be chosen with those that it depends
/// on.
fn read_choice(text: &str, steps: &[ProposalView]) -> Result<Vec<bool>, String> {
    let mut chosen = vec![false; steps.len()];
    for word in text.split([' ', ',']).filter(|it| !it.is_empty()) {
        let (first, last) = word.split_once('-').unwrap_or((word, word));
        let range = first.parse().ok().zip(last.parse().ok());
        let range = range.filter(|(first, last): &(usize, usize)| {
            1 <= *first && first <= last && *last <= steps.len()
        });
        let Some((first, last)) = range else {
            return Err(format!("There are the steps 1 to {}; `{word}` names none.", steps.len()));
        };
        chosen[first - 1..last].fill(true);
    }
    for (at, step) in steps.iter().enumerate().filter(|(at, _)| chosen[*at]) {
        let is_missing = |it: &usize| !chosen[*it] && step.proposal.after.contains(&steps[*it].seq);
        if let Some(needed) = (0..at).find(is_missing) {
            return Err(format!("Step {} depends on step {}.", at + 1, needed + 1));
        }
    }
    Ok(chosen)
}
