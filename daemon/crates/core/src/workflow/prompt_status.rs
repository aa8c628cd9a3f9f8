//! The current status at the end of the prompt.
//!
//! It contains what was selected, unsaved, pending and failing when the task began, the plan with
//! its progress, and known facts about the place with fingerprints, so that the model does not read
//! content again. It is short: a list of the newest facts, never the place.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use scene_schemas::command::Command;
use scene_schemas::entry::Seq;
use serde_json::Value as Json;

use super::chain::{CallStep, TaskChain};
use crate::prompt::one_line;
use crate::tools;

/// Maximum number of facts.
const FACTS: usize = 28;

/// Maximum bytes of a call's arguments.
const BRIEF: usize = 160;

struct KnownFact {
    /// The step that produced it.
    step: usize,
    text: String,
    /// Whether it remains true after other changes.
    is_lasting: bool,
}

/// Returns the status text; None if nothing is known yet.
pub(super) fn status_block(chain: &TaskChain<'_>) -> Option<String> {
    let last = chain.last_task()?;
    let mut text = String::new();
    if let Some(situation) = last.context.as_ref().and_then(|it| it.situation.as_ref()) {
        let _ = writeln!(text, "{situation}");
    }
    for (at, step) in last.plan.iter().enumerate() {
        let mark = if step.done { 'x' } else { ' ' };
        let _ = writeln!(text, "[{mark}] {}. {}", at + 1, step.text);
    }
    let after = chain.newest_summary().map_or(Seq(0), |(_, until, _)| until);
    let facts = newest_facts(chain, after);
    if !facts.is_empty() {
        text.push_str("Read and done so far (read again only what may have changed since):\n");
        for fact in &facts {
            let _ = writeln!(text, "- {fact}");
        }
    }
    (!text.is_empty()).then(|| format!("What holds now\n{text}"))
}

/// Returns the newest facts after an entry, oldest first.
pub(super) fn newest_facts(chain: &TaskChain<'_>, after: Seq) -> Vec<String> {
    let mut facts: BTreeMap<String, KnownFact> = BTreeMap::new();
    let task = chain.0.last().map_or(Seq(0), |(seq, _)| *seq);
    for step in chain.steps().filter(|step| step.seq > after) {
        if step.has_changed() {
            // Earlier lists and search results may be outdated.
            facts.retain(|_, fact| fact.is_lasting);
        }
        for (key, fact) in facts_of_step(&step) {
            // The user may have changed the place between two tasks.
            if fact.is_lasting || step.seq > task {
                facts.insert(key, fact);
            }
        }
    }
    let mut facts: Vec<KnownFact> = facts.into_values().collect();
    facts.sort_by_key(|fact| fact.step);
    let old = facts.len().saturating_sub(FACTS);
    facts.into_iter().skip(old).map(|fact| fact.text).collect()
}

/// Returns the facts of a step. The key is the subject, so that a newer fact replaces an older one.
fn facts_of_step(step: &CallStep<'_>) -> Vec<(String, KnownFact)> {
    let number = step.number;
    let fact = |text: String, lasts: bool| KnownFact { step: number, text, is_lasting: lasts };
    if let Some(answer) = step.answer() {
        if let (Some(path), Some(hash)) = (answer["path"].as_str(), answer["fingerprint"].as_str())
            && answer["text"].is_string()
        {
            let (from, to) = (&answer["startLine"], &answer["endLine"]);
            let lines = &answer["totalLines"];
            let short = hash.get(..12).unwrap_or(hash);
            let text =
                format!("{path}: lines {from} to {to} of {lines} read in step {number} ({short})");
            return vec![(path.to_owned(), fact(text, true))];
        }
        let reads = tools::find_tool(&step.call.tool).is_ok_and(tools::ToolSpec::is_read);
        if !reads || answer.get(super::guards::UNCHANGED).is_some() {
            return Vec::new();
        }
        let call = format!("{}({})", step.call.tool, brief_args(&step.call.args));
        let text = format!("{call}: answered in step {number}");
        return vec![(call, fact(text, false))];
    }
    let Some((seq, pending)) = step.proposal().filter(|_| step.is_applied()) else {
        return Vec::new();
    };
    let scripts = pending.proposal.commands.iter().filter_map(|command| match command {
        Command::EditScript { target, .. } => Some(target.path.to_string()),
        _ => None,
    });
    let mut facts: Vec<(String, KnownFact)> = scripts
        .map(|path| {
            let text = format!("{path}: changed by proposal {seq} in step {number}");
            (path, fact(text, true))
        })
        .collect();
    if facts.is_empty() {
        let title = one_line(&pending.proposal.title_with_path());
        facts.push((
            format!("proposal {seq}"),
            fact(format!("Done in step {number}: {title}"), true),
        ));
    }
    facts
}

/// Formats arguments in one line.
pub(super) fn brief_args(args: &Json) -> String {
    let text = match args {
        Json::Object(map) if map.len() == 1 => {
            map.values().next().map_or(String::new(), ToString::to_string)
        }
        Json::Object(map) if map.is_empty() => String::new(),
        args => args.to_string(),
    };
    let end = text.floor_char_boundary(BRIEF);
    if end < text.len() { format!("{}…", &text[..end]) } else { text }
}
