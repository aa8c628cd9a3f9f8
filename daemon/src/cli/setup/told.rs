//! What a person, or a program, is told of each client.

use std::path::Path;

use serde_json::{Value as Json, json};

use super::change::{Change, Outcome};
use super::clients::Client;
use crate::cli::style::{Paint, Style, safe};
use crate::cli::terminal::{print, print_line, say, stdout_style};

/// How it went with one client.
pub(super) struct Told<'a> {
    /// The client.
    pub(super) client: Client,
    /// Its file.
    pub(super) file: &'a Path,
    /// What was done, or why nothing.
    pub(super) done: Result<Outcome, String>,
    /// What would be written; none where it was.
    pub(super) diff: Option<String>,
}

impl Told<'_> {
    /// For programs.
    pub(super) fn json(&self) -> Json {
        let file = self.file.display().to_string();
        let mut line = json!({ "client": self.client, "file": file, "outcome": "failed" });
        match &self.done {
            Ok(outcome) => line["outcome"] = json!(outcome),
            Err(why) => line["why"] = json!(why),
        }
        if let Some(diff) = &self.diff {
            line["diff"] = json!(diff);
        }
        line
    }

    /// For people: a line, and the diff below.
    pub(super) fn show(&self) -> anyhow::Result<()> {
        let (client, file) = (self.client.name(), self.file.display().to_string());
        match &self.done {
            Err(why) => say(&format!("error: {client}: {file}: {why}. Nothing was changed in it.")),
            Ok(outcome) => {
                let said = said(*outcome, self.diff.is_some());
                print_line(&format!("{client}: {said} {}", safe(&file)));
            }
        }
        print(&painted(self.diff.as_deref().unwrap_or_default(), stdout_style()))
    }
}

/// An outcome in words, before the name of the file.
fn said(outcome: Outcome, is_dry: bool) -> String {
    let done = match outcome {
        Outcome::Added => "added to",
        Outcome::Updated => "brought up to date in",
        Outcome::Replaced => "put in the place of another entry in",
        Outcome::Removed => "taken out of",
        Outcome::Unchanged => return "already in".to_owned(),
        Outcome::Nothing => return "nothing to take out of".to_owned(),
        Outcome::Foreign => {
            return "an entry `vector` that setup did not write (--force takes it out) stays in"
                .to_owned();
        }
    };
    if is_dry { format!("would be {done}") } else { done.to_owned() }
}

/// A change as a unified diff.
pub(super) fn diff(file: &Path, before: Result<Option<&str>, String>, change: &Change) -> String {
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

fn painted(diff: &str, style: Style) -> String {
    let line = |line: &str| {
        let text = safe(line);
        let text = match line.as_bytes().first() {
            Some(b'+') => style.paint(Paint::Added, text),
            Some(b'-') => style.paint(Paint::Removed, text),
            _ => text.into_owned(),
        };
        text + "\n"
    };
    diff.lines().map(line).collect()
}
