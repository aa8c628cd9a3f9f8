//! The result of a check: a message, its state, and how to fix it.
//!
//! This module runs no checks and prints nothing.

use std::path::Path;

use serde_json::{Value as Json, json};

/// The state of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingState {
    Ok,
    /// Worth knowing, but not a problem.
    Note,
    Problem,
}

impl FindingState {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Note => "note",
            Self::Problem => "problem",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DoctorFinding {
    pub(super) name: String,
    pub(super) state: FindingState,
    pub(super) message: String,
    /// The command or action that fixes it.
    pub(super) fix: Option<String>,
}

impl DoctorFinding {
    fn new(name: &str, state: FindingState, message: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state, message: message.into(), fix: None }
    }

    pub(super) fn ok(name: &str, message: impl Into<String>) -> Self {
        Self::new(name, FindingState::Ok, message)
    }

    pub(super) fn note(name: &str, message: impl Into<String>) -> Self {
        Self::new(name, FindingState::Note, message)
    }

    pub(super) fn problem(name: &str, message: impl Into<String>) -> Self {
        Self::new(name, FindingState::Problem, message)
    }

    pub(super) fn with_fix(mut self, by: impl Into<String>) -> Self {
        self.fix = Some(by.into());
        self
    }

    /// The finding as JSON. `fix` is null if there is nothing to fix.
    pub(super) fn to_json(&self, group: &str) -> Json {
        json!({
            "group": group.to_lowercase(),
            "name": self.name,
            "state": self.state.name(),
            "says": self.message,
            "fix": self.fix,
        })
    }
}

/// Quotes a path for a shell.
pub(super) fn shell_quote(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/\\._-:+".contains(c);
    if text.chars().all(is_plain) {
        return text;
    }
    if cfg!(windows) { format!("\"{text}\"") } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
