//! What a check has found: one sentence, how bad it is, and how to fix it.

use std::path::Path;

use serde_json::{Value as Json, json};

/// How it stands with something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FindingState {
    /// It is in order.
    Ok,
    /// It is worth knowing.
    Note,
    /// It is not in order.
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
    /// What a person can do.
    pub(super) fix: Option<String>,
}

impl DoctorFinding {
    fn new(name: &str, state: FindingState, says: impl Into<String>) -> Self {
        Self { name: name.to_owned(), state, message: says.into(), fix: None }
    }

    /// Something is in order.
    pub(super) fn ok(name: &str, says: impl Into<String>) -> Self {
        Self::new(name, FindingState::Ok, says)
    }

    /// Something is worth knowing.
    pub(super) fn note(name: &str, says: impl Into<String>) -> Self {
        Self::new(name, FindingState::Note, says)
    }

    /// Something is not in order.
    pub(super) fn problem(name: &str, says: impl Into<String>) -> Self {
        Self::new(name, FindingState::Problem, says)
    }

    pub(super) fn with_fix(mut self, by: impl Into<String>) -> Self {
        self.fix = Some(by.into());
        self
    }

    /// For a program. `fix` is null where nothing needs fixing.
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

/// A path as a shell takes it.
pub(super) fn shell_quote(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/\\._-:+".contains(c);
    if text.chars().all(is_plain) {
        return text;
    }
    if cfg!(windows) { format!("\"{text}\"") } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
