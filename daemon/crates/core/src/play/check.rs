//! The check of a proposal: the game is played without the proposal and with it, and the errors are
//! compared.

use scene_schemas::proposal::{PlayCheck, PlayCheckResult, ScriptError};
use vector_place::count_noun;

use super::{MAX_PLAY_ERRORS, PlayError, PlayOutcome, PlayRequest};

/// How long a game is played for a check, in seconds of the game.
const SECONDS: f64 = 5.0;

/// Maximum number of errors that a check lists.
const MAX_ERRORS: usize = 5;

/// The error of a script that is stopped, as in Roblox.
const SCRIPT_TIMEOUT: &str = "Script timeout: exhausted allowed execution time";

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

/// An error without what an edit elsewhere changes: the line, and where the script is in the tree.
#[derive(Debug, PartialEq, Eq)]
struct ErrorKey<'a> {
    /// The name of the script.
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
    /// Whether the game was stopped for its time or memory although nothing was changed.
    pub fn was_stopped_before(&self) -> bool {
        self.before.stopped.is_some()
    }

    /// Compares the two games.
    pub fn compare(&self) -> PlayCheck {
        // The shorter of two games has fewer errors.
        if let Some(why) = &self.before.stopped {
            return unknown_check(why);
        }
        if self.before.errors.len() >= MAX_PLAY_ERRORS {
            return unknown_check("scripts fail in too many ways also without the change.");
        }
        let is_cut = self.after.stopped.is_some();
        // A game that takes too long stops whatever script runs then.
        let is_own = |error: &&PlayError| !(is_cut && error.message.contains(SCRIPT_TIMEOUT));
        let new = missing_from(self.after.errors.iter().filter(is_own), &self.before.errors);
        if !new.is_empty() {
            return failed(&new);
        }
        if let Some(why) = &self.after.stopped {
            return unknown_check(why);
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
            return unknown_check(&format!(
                "{place} {}{more}, which only Roblox itself has.",
                first.what
            ));
        }
        let gone = missing_from(self.before.errors.iter(), &self.after.errors).len();
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
pub fn unknown_check(why: &str) -> PlayCheck {
    PlayCheck {
        result: PlayCheckResult::Unknown,
        summary: format!("runs: not known: {why}"),
        errors: Vec::new(),
        more_errors: 0,
    }
}

/// Returns the check of a proposal for another that replaces it. `event` is what happened since the
/// game was played.
pub fn check_before(earlier: &PlayCheck, event: &str) -> PlayCheck {
    let result = match earlier.result {
        PlayCheckResult::Passed | PlayCheckResult::Unknown => PlayCheckResult::Unknown,
        PlayCheckResult::NewErrors => PlayCheckResult::NewErrors,
    };
    let summary = earlier.summary.split(" (before ").next().unwrap_or_default();
    let summary = format!("{summary} (before {event})");
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
fn missing_from<'a>(
    all: impl Iterator<Item = &'a PlayError>,
    known: &[PlayError],
) -> Vec<&'a PlayError> {
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
    all.filter(|error| is_new(error)).collect()
}

fn key_of(error: &PlayError) -> ErrorKey<'_> {
    let script = error.position.as_ref().map(|at| at.script.as_str());
    let place = error.position.as_ref().map(|at| format!("{}:{}:", at.script, at.line));
    let message = place.and_then(|place| error.message.strip_prefix(&place));
    ErrorKey {
        script: script.map(|path| path.rsplit('.').next().unwrap_or(path)),
        is_server: error.peer == "Server",
        message: stable_message(message.unwrap_or(&error.message)),
    }
}

/// Returns a message without what differs from game to game: the numbers of lines, which are between
/// two colons, addresses of tables, and fractions, which are mostly times.
pub fn stable_message(message: &str) -> String {
    let mut kept = String::with_capacity(message.len());
    let mut rest = message;
    while let Some(first) = rest.chars().next() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (number, after) = rest.split_at(digits);
        let fraction = after.strip_prefix('.').map_or(0, |after| {
            after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len()
        });
        let address = rest.strip_prefix("0x").map_or(0, |after| {
            after.len() - after.trim_start_matches(|c: char| c.is_ascii_hexdigit()).len()
        });
        let is_line = kept.ends_with(':') && after.starts_with(':');
        let length = if address > 0 {
            address + 2
        } else if digits > 0 && fraction > 0 {
            digits + 1 + fraction
        } else if digits > 0 && is_line {
            digits
        } else {
            let length = digits.max(first.len_utf8());
            kept.push_str(if digits > 0 { number } else { &rest[..length] });
            rest = &rest[length..];
            continue;
        };
        kept.push('#');
        rest = &rest[length..];
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
        twice.after.errors = vec![error("Workspace.Paint", 1, "no")];
        assert_eq!(twice.compare().result, PlayCheckResult::NewErrors);
    }

    #[test]
    fn check_of_a_replaced_proposal_is_nothing_green() {
        let passed = played(&[], &[]).compare();
        let carried = check_before(&passed, "it was revised");
        let carried = check_before(&carried, "the place changed");
        assert_eq!(carried.result, PlayCheckResult::Unknown);
        assert_eq!(carried.summary, "runs: no new errors (before the place changed)");
    }

    #[test]
    fn what_differs_from_game_to_game_is_not_compared() {
        let same = [
            ("A.B:12: no 7 in 12:30", "A.B:#: no 7 in 12:30"),
            ("12: x 3", "12: x 3"),
            ("A:1: table: 0x000001f3 after 0.25 s", "A:#: table: # after # s"),
            ("0x is 5. Ü", "0x is 5. Ü"),
        ];
        for (message, stable) in same {
            assert_eq!(stable_message(message), stable);
        }
    }

    #[test]
    fn error_of_a_script_in_a_renamed_folder_is_not_new() {
        let old = error("Workspace.Old.Shop", 14, "attempt to index nil with 'Price'");
        let moved = error("Workspace.New.Shop", 14, "attempt to index nil with 'Price'");
        assert_eq!(played(&[old], &[moved]).compare().result, PlayCheckResult::Passed);
    }

    #[test]
    fn game_that_takes_too_long_blames_no_script() {
        let stopped = || Some("The game took longer than 5 s.".to_owned());
        let cut = error("Workspace.Slow", 3, SCRIPT_TIMEOUT);
        let mut twice = played(&[], std::slice::from_ref(&cut));
        assert_eq!(twice.compare().result, PlayCheckResult::NewErrors, "an endless loop");
        twice.after.stopped = stopped();
        assert_eq!(twice.compare().result, PlayCheckResult::Unknown);
        let other = error("Workspace.Shop", 14, "attempt to index nil with 'Price'");
        twice.after.errors = vec![cut, other];
        assert_eq!(twice.compare().summary, "runs: 1 new error, Workspace.Shop:14");
        twice.before.stopped = stopped();
        assert_eq!(twice.compare().result, PlayCheckResult::Unknown);
    }
}
