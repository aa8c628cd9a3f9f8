//! The report for each client, as text or as JSON.
//!
//! This module changes no files.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::change::{ChangeOutcome, FileChange};
use super::clients::McpClient;
use crate::cli::style::{PaintKind, TextStyle, terminal_line};
use crate::cli::terminal::{print_line, print_status, print_stdout, stdout_style};

/// The result for one client.
pub(super) struct ClientReport<'a> {
    pub(super) client: McpClient,
    pub(super) file: &'a Path,
    /// The outcome, or the reason nothing was done.
    pub(super) outcome: Result<ChangeOutcome, String>,
    /// The planned change. None if it was written.
    pub(super) diff: Option<String>,
}

impl ClientReport<'_> {
    pub(super) fn to_json(&self) -> Json {
        let file = self.file.display().to_string();
        let mut line = json!({ "client": self.client, "file": file, "outcome": "failed" });
        match &self.outcome {
            Ok(outcome) => line["outcome"] = json!(outcome),
            Err(why) => line["why"] = json!(why),
        }
        if let Some(diff) = &self.diff {
            line["diff"] = json!(diff);
        }
        line
    }

    /// Prints the report as text: a line, and the diff below.
    pub(super) fn show(&self) -> anyhow::Result<()> {
        let (client, file) = (self.client.name(), self.file.display().to_string());
        match &self.outcome {
            Err(why) => {
                print_status(&format!("error: {client}: {file}: {why}. The file was not changed."));
            }
            Ok(outcome) => {
                let phrase = outcome_phrase(*outcome, self.diff.is_some());
                print_line(&format!("{client}: {phrase} {}", terminal_line(&file)));
            }
        }
        print_stdout(&paint_diff(self.diff.as_deref().unwrap_or_default(), stdout_style()))
    }
}

/// The outcome as a phrase that the file name follows.
fn outcome_phrase(outcome: ChangeOutcome, is_dry: bool) -> String {
    let done = match outcome {
        ChangeOutcome::Added => "added to",
        ChangeOutcome::Updated => "updated in",
        ChangeOutcome::Replaced => "replaced another entry in",
        ChangeOutcome::Removed => "removed from",
        ChangeOutcome::Unchanged => return "already in".to_owned(),
        ChangeOutcome::Nothing => return "nothing to remove from".to_owned(),
        ChangeOutcome::Foreign => {
            return "kept an entry `vector` that setup did not write (--force removes it) in"
                .to_owned();
        }
    };
    if is_dry { format!("would be {done}") } else { done.to_owned() }
}

/// Formats a change as a unified diff.
pub(super) fn format_diff(
    file: &Path,
    before: Result<Option<&str>, String>,
    change: &FileChange,
) -> String {
    let before = before.ok().flatten();
    let name = |text: Option<&str>| match text {
        Some(_) => file.display().to_string(),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (before.unwrap_or_default(), change.text.as_deref().unwrap_or_default());
    similar::TextDiff::from_lines(old, new)
        .unified_diff()
        .header(&name(before), &name(change.text.as_deref()))
        .to_string()
}

fn paint_diff(diff: &str, style: TextStyle) -> String {
    let line = |line: &str| {
        let text = terminal_line(line);
        let text = match line.as_bytes().first() {
            Some(b'+') => style.paint(PaintKind::Added, text),
            Some(b'-') => style.paint(PaintKind::Removed, text),
            _ => text.into_owned(),
        };
        text + "\n"
    };
    diff.lines().map(line).collect()
}
