//! The reasons why an edit is refused, as sentences that say what is wrong, where, and what to do
//! next.
//!
//! The reader is a language model or the user. Positions are repeated as they were sent (from 0),
//! and lines of a text are numbered from 1, because this is how each is shown to the reader.

use scene_schemas::text::Position;
use thiserror::Error;

use super::nearest_text::NearestText;
use super::{MAX_CHANGED_LINES, MAX_EDITS, MAX_INSERTED};

/// A refused edit. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    #[error(
        "Position {}:{} is outside the text: lines are counted from 0 and it has {lines}, so the last one is {}. Read the script again and send positions that lie inside it.",
        .at.line, .at.character, .lines - 1
    )]
    NoSuchLine {
        /// The position as it was sent.
        at: Position,
        /// The number of lines of the text, at least 1.
        lines: usize,
    },
    /// A position is after the end of its line.
    #[error(
        "Position {}:{} is behind the end of line {}, which is {length} UTF-16 characters long (lines are counted from 0; the last one is {}). The end of that line is {}:{length}.",
        .at.line, .at.character, .at.line, .lines - 1, .at.line
    )]
    BehindLineEnd {
        /// The position as it was sent.
        at: Position,
        /// The length of that line in UTF-16 code units, without its line end.
        length: u32,
        /// The number of lines of the text.
        lines: usize,
    },
    /// A position is between the two halves of a surrogate pair.
    #[error(
        "Position {}:{} cuts a character in two: it takes two UTF-16 units (an emoji, for example). Use {} or {} as the character.",
        .at.line, .at.character, .at.character - 1, .at.character + 1
    )]
    InsideCharacter {
        /// The position as it was sent.
        at: Position,
    },
    /// An edit ends before it starts.
    #[error(
        "The edit from {}:{} to {}:{} ends before it starts. Swap its start and its end.",
        .start.line, .start.character, .end.line, .end.character
    )]
    Reversed { start: Position, end: Position },
    /// Two edits cover the same characters.
    #[error(
        "Two edits overlap: one ends at {}:{} and the next starts at {}:{}. All positions count in the text before; merge the two edits into one.",
        .end.line, .end.character, .start.line, .start.character
    )]
    Overlap {
        /// The end of the first edit.
        end: Position,
        /// The start of the second edit.
        start: Position,
    },
    #[error(
        "{count} edits are more than the {MAX_EDITS} that one call may carry. Use write_script for a rewrite, or make several calls."
    )]
    TooManyEdits {
        /// The number of edits.
        count: usize,
    },
    #[error(
        "The edits insert {count} characters, and one call may insert {MAX_INSERTED}. Use write_script for a rewrite, or make several calls."
    )]
    TooMuchText {
        /// The number of characters that all edits insert.
        count: usize,
    },
    #[error(
        "There is no replacement in it. Give the exact lines to search, and what replaces them."
    )]
    NoReplacement,
    #[error(
        "Replacement {number} has an empty search text. Give the exact lines at the place of the change."
    )]
    EmptySearch {
        /// The number of the replacement, from 1.
        number: usize,
    },
    /// The search text and its replacement are equal.
    #[error(
        "Replacement {number} changes nothing: its search and its replacement are the same text. Leave it out, or correct the replacement."
    )]
    SameText {
        /// The number of the replacement, from 1.
        number: usize,
    },
    /// A search text does not occur.
    #[error("Replacement {number}: its search text does not occur in the script{}. {hint}", of_result(*.number))]
    NotFound {
        /// The number of the replacement, from 1.
        number: usize,
        /// The nearest text that exists, and what to do next.
        hint: NearestText,
    },
    /// A search text occurs more than once.
    #[error(
        "Replacement {number}: its search text starts at several lines of the script{}: {}. Add lines above or below to the search until it fits only one place, or set all to change every one.",
        of_result(*.number), join_numbers(.lines)
    )]
    FoundSeveral {
        /// The number of the replacement, from 1.
        number: usize,
        /// The lines, from 1, at which it starts; only the first ones if there are many.
        lines: Vec<usize>,
    },
    /// A replacement changes too many lines to be an exact replacement.
    #[error(
        "Replacement {number} changes {count} lines, and one replacement may change {MAX_CHANGED_LINES}. Split it into smaller ones, or use write_script for a rewrite."
    )]
    TooManyLines {
        /// The number of the replacement, from 1.
        number: usize,
        /// The number of lines it changes.
        count: usize,
    },
    /// A replacement contains a placeholder for omitted code.
    #[error(
        "Replacement {number} puts in `{line}`, a placeholder for omitted code. Send the code itself, or search only for the lines that change."
    )]
    Elision {
        /// The number of the replacement, from 1.
        number: usize,
        line: String,
    },
    /// A search text matches except for an indentation that cannot be applied to the replacement.
    #[error(
        "Replacement {number}: its search text fits at line {line} but for its indentation, which cannot be carried over to the replacement. Copy the lines of the script exactly."
    )]
    Indentation {
        /// The number of the replacement, from 1.
        number: usize,
        /// The line where it matches, from 1.
        line: usize,
    },
    /// The replacements cancel out.
    #[error(
        "The replacements together change nothing: a later one puts back what an earlier one changed. Leave both out."
    )]
    ChangesNothing,
}

impl EditError {
    /// Returns the nearest text that exists, if a search text was not found.
    pub fn nearest(&self) -> Option<&NearestText> {
        match self {
            Self::NotFound { hint, .. } => Some(hint),
            _ => None,
        }
    }
}

/// Later replacements and their line numbers refer to the result of the earlier ones.
fn of_result(number: usize) -> &'static str {
    if number > 1 { " as the replacements before it leave it" } else { "" }
}

/// The maximum number of lines that a refusal lists. The search collects one more, to know whether
/// there are more.
pub(super) const MAX_LISTED: usize = 12;

fn join_numbers(lines: &[usize]) -> String {
    let shown: Vec<_> = lines.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    let more = if lines.len() > MAX_LISTED { " and more" } else { "" };
    format!("{}{more}", shown.join(", "))
}
