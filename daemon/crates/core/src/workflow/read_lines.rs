//! The script lines that a model has seen. It may only overwrite lines it has seen.
//!
//! Lines are identified by their text and not by their numbers, so edits above them do not matter,
//! and a line that another author changed since counts as unseen.

use std::collections::{HashMap, HashSet};

use scene_schemas::Command;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{DiffLine, Hunk, Proposal};
use scene_schemas::refusal::{Refusal, refuse};
use serde_json::Value as Json;

use super::Workflow;
use super::chain::TaskChain;
use crate::tools::{self, ToolSpec};

/// Search results truncate longer lines, so only this many bytes are compared.
const COMPARED: usize = 300;

/// The tool that reformats whole texts without replacing content.
const LAYS_OUT: &str = "format";

/// The lines in the prompt, by script path.
#[derive(Default)]
struct ReadLines {
    /// Scripts that a call read or wrote.
    scripts: HashSet<String>,
    lines: HashMap<String, HashSet<String>>,
}

/// Checks that every overwritten line was read.
///
/// # Errors
/// Names the script or the lines that have to be read first.
pub(super) fn check_read(
    chain: &TaskChain<'_>,
    own: &Workflow,
    proposal: &Proposal,
    tool: &str,
) -> Result<(), Refusal> {
    // Code reads the texts that it edits.
    if tools::find_tool(tool).is_ok_and(ToolSpec::runs_code) {
        return Ok(());
    }
    let reading = ReadLines::from_chain(chain, own);
    let edited = proposal.commands.iter().enumerate().filter_map(|(at, command)| match command {
        // Scripts created by this proposal are known, and empty edits overwrite nothing.
        Command::EditScript { target, edits, .. } if !edits.is_empty() => {
            (!target.id.0.starts_with("new:")).then(|| (at as u32, target.path.to_string()))
        }
        _ => None,
    });
    let edited: Vec<_> = edited.collect();
    let unread: Vec<&str> = edited
        .iter()
        .filter(|(_, path)| !reading.scripts.contains(path))
        .map(|(_, path)| path.as_str())
        .collect();
    if !unread.is_empty() {
        return refuse!(
            "{tool}: You have not read {}. Read it with read_script first, then edit its current text.",
            unread.join(", ")
        );
    }
    if tool == LAYS_OUT {
        return Ok(());
    }
    for diff in &proposal.preview.scripts {
        let path = diff.path.to_string();
        if !edited.iter().any(|(_, other)| *other == path) {
            continue;
        }
        if let Some((first, last)) = reading.first_unread(&path, &diff.hunks) {
            return refuse!(
                "{tool}: This overwrites lines {first} to {last} of {path}, which you have not \
                 read. Read them with read_script, then send the edit again."
            );
        }
    }
    Ok(())
}

impl ReadLines {
    fn from_chain(chain: &TaskChain<'_>, own: &Workflow) -> Self {
        let mut reading = Self::default();
        for script in own.context.iter().flat_map(|context| &context.scripts) {
            if let Some(text) = &script.text {
                reading.add_lines(&script.path.to_string(), text.lines());
            }
        }
        let sent_after = chain.newest_summary().map_or(Seq(0), |(_, until, _)| until);
        for step in chain.steps().filter(|step| step.seq > sent_after) {
            if let Some(answer) = step.answer() {
                reading.take_answer(answer);
            }
            let Some((_, pending)) = step.proposal().filter(|_| step.is_applied()) else {
                continue;
            };
            reading.take_written(&pending.proposal);
        }
        reading
    }

    /// Adds the lines that an answer shows: any object with a script's `path` and `text`, and the
    /// context lines around it, at any depth.
    fn take_answer(&mut self, answer: &Json) {
        match answer {
            Json::Object(object) => {
                if let (Some(path), Some(text)) = (answer["path"].as_str(), answer["text"].as_str())
                {
                    self.scripts.insert(path.to_owned());
                    let around = ["before", "after"].map(|side| answer[side].as_array());
                    let around = around.into_iter().flatten().flatten().filter_map(Json::as_str);
                    self.add_lines(path, text.lines().chain(around));
                }
                object.values().for_each(|value| self.take_answer(value));
            }
            Json::Array(list) => list.iter().for_each(|value| self.take_answer(value)),
            _ => {}
        }
    }

    /// Adds the lines that the model wrote itself.
    fn take_written(&mut self, proposal: &Proposal) {
        for command in &proposal.commands {
            let path = match command {
                Command::EditScript { target, .. } => target.path.to_string(),
                Command::Create { parent, name, .. } => parent.path.child(name, None).to_string(),
                _ => continue,
            };
            self.scripts.insert(path);
        }
        for diff in &proposal.preview.scripts {
            let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
            let added = lines.filter_map(|line| match line {
                DiffLine::Added(text) => Some(text.as_str()),
                DiffLine::Context(_) | DiffLine::Removed(_) => None,
            });
            self.add_lines(&diff.path.to_string(), added);
        }
    }

    fn add_lines<'a>(&mut self, path: &str, lines: impl Iterator<Item = &'a str>) {
        let known = self.lines.entry(path.to_owned()).or_default();
        known.extend(lines.map(|line| normalize_line(line).to_owned()));
    }

    /// Returns the first run of removed lines that were not read.
    fn first_unread(&self, path: &str, hunks: &[Hunk]) -> Option<(u32, u32)> {
        let known = self.lines.get(path);
        let is_known = |line: &str| {
            let line = normalize_line(line);
            line.is_empty() || known.is_some_and(|known| known.contains(line))
        };
        for hunk in hunks {
            let (mut number, mut run) = (hunk.old_start, None);
            for line in &hunk.lines {
                match line {
                    DiffLine::Removed(text) if !is_known(text) => {
                        run = Some((run.map_or(number, |(first, _)| first), number));
                    }
                    DiffLine::Removed(_) | DiffLine::Context(_) if run.is_some() => return run,
                    DiffLine::Removed(_) | DiffLine::Context(_) | DiffLine::Added(_) => {}
                }
                if !matches!(line, DiffLine::Added(_)) {
                    number += 1;
                }
            }
            if run.is_some() {
                return run;
            }
        }
        None
    }
}

/// Normalizes a line for comparison: strips markers and white space at its end, and truncates it
/// like search results.
fn normalize_line(line: &str) -> &str {
    let line = line.strip_suffix("\\ No newline at end of file").unwrap_or(line);
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '␍' | '␊'));
    &line[..line.floor_char_boundary(COMPARED)]
}
