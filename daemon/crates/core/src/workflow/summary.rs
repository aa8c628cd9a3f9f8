//! Summary of a conversation, which replaces the turns that no longer fit the prompt.
//!
//! It is built from the ledger alone, without a model. So it costs nothing, loses no decision, and
//! is deterministic. The most important content comes first: requests, accepted and rejected
//! changes, known facts and obstacles, then messages.

use std::fmt::Write as _;

use scene_schemas::entry::{Entry, Seq};

use super::chain::{CallStep, TaskChain};
use super::talk::TurnSource;
use super::{PendingStatus, prompt_status};

/// Maximum bytes of a summary, about 1,200 tokens. Summaries of long conversations come close to
/// it.
const LONGEST: usize = 3_800;

/// Maximum bytes of a line.
const LINE: usize = 240;

/// Returns the summary entry of all but the last `keep` steps, or of all earlier tasks if `keep` is
/// 0. None if there is nothing to summarize.
pub(super) fn summarize(chain: &TaskChain<'_>, keep: usize) -> Option<Entry> {
    let steps: Vec<CallStep<'_>> = chain.steps().collect();
    let (task, _) = *chain.0.last()?;
    // The index of the first step that is kept.
    let first_kept = match keep {
        0 => steps.partition_point(|step| step.seq < task),
        keep => steps.len().checked_sub(keep)?,
    };
    let until = match steps.get(first_kept) {
        Some(step) if keep > 0 => Seq(step.seq.0.checked_sub(1)?),
        _ => Seq(task.0.checked_sub(1)?),
    };
    let before = chain.newest_summary().map_or(Seq(0), |(_, until, _)| until);
    let gone = |seq: Seq| seq > before && seq <= until;
    let turns = chain.0.iter().flat_map(|(_, workflow)| workflow.talk.turns());
    let turns = turns.filter(|(seq, _)| gone(*seq)).count();
    if turns == 0 {
        return None;
    }
    let text = summary_text(chain, &steps[..first_kept], until);
    Some(Entry::Summarised { text, until, turns: turns as u32 })
}

fn summary_text(chain: &TaskChain<'_>, steps: &[CallStep<'_>], until: Seq) -> String {
    let mut text = format!(
        "(Vector: the messages of steps 1 to {} are no longer sent. This summary replaces them.)\n",
        steps.len()
    );
    let goals = chain.0.iter().filter(|(seq, _)| *seq <= until).map(|(_, it)| it.goal.as_str());
    let more = person_words(chain, until, |source| match source {
        TurnSource::Person(text, _) => Some(text.as_str()),
        _ => None,
    });
    add_section(&mut text, "The person asked", goals.chain(more).map(first_line));
    add_section(&mut text, "Accepted and done", steps.iter().filter_map(accepted_line));
    add_section(&mut text, "Rejected or undone", steps.iter().filter_map(rejected_line));
    let refused = steps.iter().rev().filter_map(refused_line).take(4);
    add_section(&mut text, "Refused recently and unresolved", refused);
    let facts = prompt_status::newest_facts(chain, Seq(0)).into_iter();
    add_section(&mut text, "Read and done (read again what you rely on)", facts);
    let messages = person_words(chain, until, |source| match source {
        TurnSource::Model(text) | TurnSource::Aloud(text) => Some(text.as_str()),
        _ => None,
    });
    let messages: Vec<&str> = messages.collect();
    add_section(&mut text, "You said", messages.into_iter().rev().map(first_line));
    let looked = steps.iter().filter(|step| step.answer().is_some());
    add_section(&mut text, "You called", looked.map(call_line));
    text
}

fn person_words<'a>(
    chain: &TaskChain<'a>,
    until: Seq,
    pick: impl Fn(&'a TurnSource) -> Option<&'a str> + Copy,
) -> impl Iterator<Item = &'a str> {
    let all = chain.0.clone().into_iter().flat_map(|(_, workflow)| workflow.talk.turns());
    all.filter(move |(seq, _)| *seq <= until).filter_map(move |(_, source)| pick(source))
}

/// Adds a titled list of lines, as many as fit.
fn add_section(text: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut is_first = true;
    for line in lines {
        let head = if is_first { title.len() + 2 } else { 0 };
        if text.len() + head + line.len() + 3 > LONGEST {
            return;
        }
        if is_first {
            let _ = writeln!(text, "{title}:");
            is_first = false;
        }
        let _ = writeln!(text, "- {line}");
    }
}

fn first_line(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.floor_char_boundary(LINE);
    if end < text.len() { format!("{}…", &text[..end]) } else { text }
}

fn accepted_line(step: &CallStep<'_>) -> Option<String> {
    let (seq, pending) = step.proposal().filter(|_| step.is_applied())?;
    let proposal = &pending.proposal;
    let changed = if proposal.from.is_some() { ", changed by the person" } else { "" };
    Some(first_line(&format!(
        "step {}, proposal {seq}{changed}: {}",
        step.number,
        proposal.title_with_path()
    )))
}

fn rejected_line(step: &CallStep<'_>) -> Option<String> {
    let (seq, pending) = step.proposal()?;
    let what = match &pending.status {
        PendingStatus::Rejected(Some(reason)) => format!("rejected: {reason}"),
        PendingStatus::Rejected(None) => "rejected".to_owned(),
        PendingStatus::Undone(_) => "undone by the person".to_owned(),
        PendingStatus::Failed(reason) => format!("failed: {reason}"),
        _ => return None,
    };
    let title = pending.proposal.title_with_path();
    Some(first_line(&format!("step {}, proposal {seq} ({title}): {what}", step.number)))
}

fn refused_line(step: &CallStep<'_>) -> Option<String> {
    let reason = step.refusal()?;
    Some(first_line(&format!("step {}, {}: {reason}", step.number, step.call.tool)))
}

fn call_line(step: &CallStep<'_>) -> String {
    first_line(&format!(
        "step {}: {}({})",
        step.number,
        step.call.tool,
        prompt_status::brief_args(&step.call.args)
    ))
}
