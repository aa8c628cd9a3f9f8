//! The question for a rule below a card: what to allow for the rest of the task, or which rule to
//! revoke.

use scene_schemas::api::{ActiveRule, OfferedRule};
use scene_schemas::entry::Seq;
use scene_schemas::rule::TaskRule;

use super::style::terminal_line;
use super::terminal::{Terminal, print_status};

/// The answer to the question for a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RuleAnswer {
    /// The user goes back to the card.
    Back,
    /// Approve the proposal, and add this rule.
    Add(TaskRule),
    Revoke(Seq),
}

/// Asks which of the offered rules to add, or which of the active ones to revoke.
pub(super) fn ask_rule(
    terminal: &Terminal,
    offered: &[OfferedRule],
    active: &[ActiveRule],
) -> anyhow::Result<RuleAnswer> {
    if offered.is_empty() {
        print_status(
            "No rule can cover this: it has a warning that you have to see, scripts fail with it, \
             or it is not pending.",
        );
    } else {
        print_status("Approve this, and without asking for the rest of this task:");
    }
    for (at, rule) in offered.iter().enumerate() {
        print_status(&format!("  {}  {}", at + 1, terminal_line(&rule.text)));
    }
    for (at, ActiveRule { text, approved, .. }) in active.iter().enumerate() {
        let text = terminal_line(text);
        print_status(&format!("  -{}  revoke: {text} ({approved} approved so far)", at + 1));
    }
    if offered.is_empty() && active.is_empty() {
        return Ok(RuleAnswer::Back);
    }
    let Some(answer) = terminal.ask_line("Number (Enter goes back):")? else {
        return Ok(RuleAnswer::Back);
    };
    let (is_active, number) = match answer.strip_prefix('-') {
        Some(number) => (true, number),
        None => (false, answer.as_str()),
    };
    let at = number.trim().parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let chosen = at.and_then(|at| {
        if is_active {
            active.get(at).map(|rule| RuleAnswer::Revoke(rule.seq))
        } else {
            offered.get(at).map(|offered| RuleAnswer::Add(offered.rule.clone()))
        }
    });
    if chosen.is_none() && !answer.is_empty() {
        print_status("There is no rule with this number.");
    }
    Ok(chosen.unwrap_or(RuleAnswer::Back))
}
