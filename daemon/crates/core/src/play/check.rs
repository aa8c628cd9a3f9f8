//! The check of a proposal: the game is played without the proposal and with it, and the errors are
//! compared.

use scene_schemas::proposal::{PlayCheck, PlayCheckResult, ScriptError};
use vector_place::count_noun;

use super::{PlayError, PlayOutcome, PlayRequest};

/// How long a game is played for a check, in seconds of the game.
const SECONDS: f64 = 5.0;

/// Maximum number of errors that a check lists.
const MAX_ERRORS: usize = 5;

/// Maximum number of characters of a listed message.
const MAX_MESSAGE: usize = 300;

/// The two games of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct PlayedTwice {
    /// Without the proposal.
    pub before: PlayOutcome,
    /// With the proposal.
    pub after: PlayOutcome,
}

/// An error without what an edit elsewhere in its script changes: the line.
#[derive(Debug, PartialEq, Eq)]
struct ErrorKey<'a> {
    script: Option<&'a str>,
    is_server: bool,
    message: String,
}

impl PlayRequest {
    /// Returns the game that is played for checks. Physics needs all parts of the place, which are
    /// too many to ask Studio for.
    pub fn for_check(has_physics: bool) -> Self {
        Self { seconds: SECONDS, has_physics, ..Self::default() }
    }
}

impl PlayedTwice {
    /// Compares the two games.
    pub fn compare(&self) -> PlayCheck {
        let new = missing_from(&self.after.errors, &self.before.errors);
        if !new.is_empty() {
            return failed(&new);
        }
        if let Some(why) = self.after.stopped.as_ref().or(self.before.stopped.as_ref()) {
            return unknown(why);
        }
        if let Some(first) = self.after.missing.first() {
            let place = match &first.position {
                Some(at) => format!("{}:{} uses", at.script, at.line),
                None => "a script uses".to_owned(),
            };
            let more = match self.after.missing.len() - 1 {
                0 => String::new(),
                more => format!(" and {}", count_noun(more, "other", "others")),
            };
            return unknown(&format!(
                "{place} {}{more}, which only Roblox itself has.",
                first.what
            ));
        }
        let gone = missing_from(&self.before.errors, &self.after.errors).len();
        let kept = self.after.errors.len();
        let mut summary = "runs: no new errors".to_owned();
        if kept > 0 {
            summary.push_str(&format!(", {kept} as before"));
        }
        if gone > 0 {
            summary.push_str(&format!(", {gone} gone"));
        }
        PlayCheck { result: PlayCheckResult::Passed, summary, errors: Vec::new(), more_errors: 0 }
    }
}

/// Returns a check that found out nothing, with the reason.
pub fn unknown(why: &str) -> PlayCheck {
    PlayCheck {
        result: PlayCheckResult::Unknown,
        summary: format!("runs: not known: {why}"),
        errors: Vec::new(),
        more_errors: 0,
    }
}

/// Returns the check of a proposal for the one that replaces it, because the place has changed.
pub fn check_before(earlier: &PlayCheck) -> PlayCheck {
    const BEFORE: &str = " (before the place changed)";
    let result = match earlier.result {
        PlayCheckResult::Passed | PlayCheckResult::Unknown => PlayCheckResult::Unknown,
        PlayCheckResult::NewErrors => PlayCheckResult::NewErrors,
    };
    let summary = format!("{}{BEFORE}", earlier.summary.trim_end_matches(BEFORE));
    PlayCheck { result, summary, ..earlier.clone() }
}

fn failed(new: &[&PlayError]) -> PlayCheck {
    let count = count_noun(new.len(), "new error", "new errors");
    let first = new.iter().find_map(|error| error.position.as_ref());
    let place = first.map_or(String::new(), |at| format!(", {}:{}", at.script, at.line));
    PlayCheck {
        result: PlayCheckResult::NewErrors,
        summary: format!("runs: {count}{place}"),
        errors: new.iter().take(MAX_ERRORS).map(|error| listed(error)).collect(),
        more_errors: u32::try_from(new.len().saturating_sub(MAX_ERRORS)).unwrap_or(u32::MAX),
    }
}

fn listed(error: &PlayError) -> ScriptError {
    let mut message: String = error.message.chars().take(MAX_MESSAGE).collect();
    if message.len() < error.message.len() {
        message.push('…');
    }
    ScriptError { peer: error.peer.clone(), message }
}

/// Returns the errors of one list that the other does not have as often.
fn missing_from<'a>(all: &'a [PlayError], known: &[PlayError]) -> Vec<&'a PlayError> {
    let mut known: Vec<ErrorKey<'_>> = known.iter().map(key_of).collect();
    let mut is_new = |error: &&PlayError| {
        let key = key_of(error);
        match known.iter().position(|it| *it == key) {
            Some(index) => {
                known.swap_remove(index);
                false
            }
            None => true,
        }
    };
    all.iter().filter(|error| is_new(error)).collect()
}

fn key_of(error: &PlayError) -> ErrorKey<'_> {
    ErrorKey {
        script: error.position.as_ref().map(|at| at.script.as_str()),
        is_server: error.peer == "Server",
        message: without_lines(&error.message),
    }
}

/// Returns a message without the line numbers in it, which are between two colons.
fn without_lines(message: &str) -> String {
    let mut kept = String::with_capacity(message.len());
    let mut parts = message.split(':').peekable();
    while let Some(part) = parts.next() {
        let is_line = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        if !(is_line && !kept.is_empty() && parts.peek().is_some()) {
            kept.push_str(part);
            kept.push(':');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::super::{CodePosition, MissingMember};
    use super::*;

    fn error(script: &str, line: u32, message: &str) -> PlayError {
        PlayError {
            at: 0.0,
            peer: "Server".to_owned(),
            message: format!("{script}:{line}: {message}"),
            position: Some(CodePosition { script: script.to_owned(), line }),
            stack: Vec::new(),
            times: 1,
        }
    }

    fn played(before: &[PlayError], after: &[PlayError]) -> PlayedTwice {
        let of = |errors: &[PlayError]| PlayOutcome {
            errors: errors.to_vec(),
            ..PlayOutcome::default()
        };
        PlayedTwice { before: of(before), after: of(after) }
    }

    #[test]
    fn errors_of_the_place_itself_are_not_new_on_another_line() {
        let old = error("Workspace.Shop", 14, "attempt to index nil with 'Price'");
        let moved = error("Workspace.Shop", 20, "attempt to index nil with 'Price'");
        let check = played(&[old], &[moved]).compare();
        assert_eq!(check.result, PlayCheckResult::Passed);
        assert_eq!(check.summary, "runs: no new errors, 1 as before");
    }

    #[test]
    fn second_error_with_the_same_words_is_new() {
        let old = error("Workspace.Shop", 14, "attempt to index nil with 'Price'");
        let more = error("Workspace.Shop", 20, "attempt to index nil with 'Price'");
        let check = played(std::slice::from_ref(&old), &[old.clone(), more]).compare();
        assert_eq!(check.result, PlayCheckResult::NewErrors);
        assert_eq!(check.summary, "runs: 1 new error, Workspace.Shop:20");
        assert_eq!(check.errors.len(), 1);
    }

    #[test]
    fn errors_that_a_proposal_ends_are_counted() {
        let old = error("Workspace.Shop", 14, "attempt to index nil with 'Price'");
        let check = played(&[old], &[]).compare();
        assert_eq!(check.summary, "runs: no new errors, 1 gone");
        assert_eq!(played(&[], &[]).compare().summary, "runs: no new errors");
    }

    #[test]
    fn game_that_is_not_wholly_played_is_not_passed() {
        let mut twice = played(&[], &[]);
        twice.after.missing = vec![MissingMember {
            what: "AssetService:CreateEditableImage".to_owned(),
            position: Some(CodePosition { script: "Workspace.Paint".to_owned(), line: 3 }),
        }];
        let check = twice.compare();
        assert_eq!(check.result, PlayCheckResult::Unknown);
        assert_eq!(
            check.summary,
            "runs: not known: Workspace.Paint:3 uses AssetService:CreateEditableImage, which only \
             Roblox itself has."
        );
        twice.after.missing.clear();
        twice.before.stopped = Some("The game took too long.".to_owned());
        assert_eq!(twice.compare().result, PlayCheckResult::Unknown);
        twice.after.errors = vec![error("Workspace.Paint", 1, "no")];
        assert_eq!(twice.compare().result, PlayCheckResult::NewErrors);
    }

    #[test]
    fn check_of_a_replaced_proposal_is_nothing_green() {
        let passed = played(&[], &[]).compare();
        let carried = check_before(&check_before(&passed));
        assert_eq!(carried.result, PlayCheckResult::Unknown);
        assert_eq!(carried.summary, "runs: no new errors (before the place changed)");
    }

    #[test]
    fn numbers_that_are_no_lines_stay_in_a_message() {
        assert_eq!(without_lines("A.B:12: no 7 in 12:30"), "A.B: no 7 in 12:30:");
        assert_eq!(without_lines("12: x"), "12: x:");
    }
}
