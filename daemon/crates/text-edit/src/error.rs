//! Why an edit is refused, in sentences that say what, where and what to do next.
//!
//! The reader is a language model or a person, and both count lines as they are shown to them:
//! positions are repeated as they were sent (from 0), lines of a text are numbered from 1.

use scene_schemas::text::Position;
use thiserror::Error;

use super::nearest_text::NearestText;
use super::{MAX_CHANGED_LINES, MAX_EDITS, MAX_INSERTED};

/// A refused edit. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// A position names a line that the text does not have.
    #[error(
        "Position {}:{} is outside the text: lines are counted from 0 and it has {lines}, so the last one is {}. Read the script again and send positions that lie inside it.",
        .at.line, .at.character, .lines - 1
    )]
    NoSuchLine {
        /// The position as it was sent.
        at: Position,
        /// How many lines the text has; at least one.
        lines: usize,
    },
    /// A position lies behind the end of its line.
    #[error(
        "Position {}:{} is behind the end of line {}, which is {length} UTF-16 characters long (lines are counted from 0; the last one is {}). The end of that line is {}:{length}.",
        .at.line, .at.character, .at.line, .lines - 1, .at.line
    )]
    BehindLineEnd {
        /// The position as it was sent.
        at: Position,
        /// The length of that line in UTF-16 code units, without its line end.
        length: u32,
        /// How many lines the text has.
        lines: usize,
    },
    /// A position lies between the two halves of a character.
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
    /// Two edits touch the same characters.
    #[error(
        "Two edits overlap: one ends at {}:{} and the next starts at {}:{}. All positions count in the text before; merge the two edits into one.",
        .end.line, .end.character, .start.line, .start.character
    )]
    Overlap {
        /// Where the first of them ends.
        end: Position,
        /// Where the second one starts.
        start: Position,
    },
    /// More edits than one call may carry.
    #[error(
        "{count} edits are more than the {MAX_EDITS} that one call may carry. Use write_script for a rewrite, or make several calls."
    )]
    TooManyEdits {
        /// How many there are.
        count: usize,
    },
    /// More inserted text than one call may carry.
    #[error(
        "The edits insert {count} characters, and one call may insert {MAX_INSERTED}. Use write_script for a rewrite, or make several calls."
    )]
    TooMuchText {
        /// How many characters all edits insert together.
        count: usize,
    },
    /// There is nothing to replace.
    #[error(
        "There is no replacement in it. Give the exact lines to search, and what replaces them."
    )]
    NoReplacement,
    /// A search text is empty.
    #[error(
        "Replacement {number} has an empty search text. Give the exact lines at the place of the change."
    )]
    EmptySearch {
        /// Which replacement, from 1.
        number: usize,
    },
    /// A replacement puts back what it takes away.
    #[error(
        "Replacement {number} changes nothing: its search and its replacement are the same text. Leave it out, or correct the replacement."
    )]
    SameText {
        /// Which replacement, from 1.
        number: usize,
    },
    /// A search text does not occur.
    #[error("Replacement {number}: its search text does not occur in the script{}. {hint}", of_result(*.number))]
    NotFound {
        /// Which replacement, from 1.
        number: usize,
        /// What stands there instead, and what to do next.
        hint: NearestText,
    },
    /// A search text occurs more than once.
    #[error(
        "Replacement {number}: its search text starts at several lines of the script{}: {}. Add lines above or below to the search until it fits only one place, or set all to change every one.",
        of_result(*.number), join_numbers(.lines)
    )]
    FoundSeveral {
        /// Which replacement, from 1.
        number: usize,
        /// The lines, from 1, where it starts; the first ones when there are many.
        lines: Vec<usize>,
    },
    /// An exact replacement is too large to be read as one.
    #[error(
        "Replacement {number} changes {count} lines, and one replacement may change {MAX_CHANGED_LINES}. Split it into smaller ones, or use write_script for a rewrite."
    )]
    TooManyLines {
        /// Which replacement, from 1.
        number: usize,
        /// How many lines it changes.
        count: usize,
    },
    /// A replacement leaves code out.
    #[error(
        "Replacement {number} puts in `{line}`, a placeholder for omitted code. Send the code itself, or search only for the lines that change."
    )]
    Elision {
        /// Which replacement, from 1.
        number: usize,
        line: String,
    },
    /// A search text fits but for an indentation that cannot be carried over.
    #[error(
        "Replacement {number}: its search text fits at line {line} but for its indentation, which cannot be carried over to the replacement. Copy the lines of the script exactly."
    )]
    Indentation {
        /// Which replacement, from 1.
        number: usize,
        /// Where it fits, from 1.
        line: usize,
    },
    /// The replacements cancel out.
    #[error(
        "The replacements together change nothing: a later one puts back what an earlier one changed. Leave both out."
    )]
    ChangesNothing,
}

impl EditError {
    /// What stands there instead of what was searched for.
    pub fn nearest(&self) -> Option<&NearestText> {
        match self {
            Self::NotFound { hint, .. } => Some(hint),
            _ => None,
        }
    }
}

/// Later replacements see the result of the ones before, and so do their line numbers.
fn of_result(number: usize) -> &'static str {
    if number > 1 { " as the replacements before it leave it" } else { "" }
}

/// How many lines a refusal lists. The engine looks for one more, to know that there are more.
pub(super) const MAX_LISTED: usize = 12;

fn join_numbers(lines: &[usize]) -> String {
    let shown: Vec<_> = lines.iter().take(MAX_LISTED).map(ToString::to_string).collect();
    let more = if lines.len() > MAX_LISTED { " and more" } else { "" };
    format!("{}{more}", shown.join(", "))
}
