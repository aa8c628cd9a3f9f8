//! Positions, edits and conflicts in a script's text. Positions are those of the Language Server
//! Protocol.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A position between two characters of a text.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Line number, from 0. Lines end in LF or CRLF.
    pub line: u32,
    /// Offset in the line in UTF-16 code units, from 0.
    pub character: u32,
}

/// An edit that replaces the text between two positions. An empty range inserts; an empty text
/// deletes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextEdit {
    /// Start of the replaced range.
    pub start: Position,
    /// End of the replaced range, exclusive.
    pub end: Position,
    /// The replacement, inserted literally.
    pub text: String,
}

/// Lines of a text that two sides changed in different ways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TextConflict {
    /// The lines in the common ancestor.
    pub base: String,
    /// The lines on our side.
    pub ours: String,
    /// The lines on their side.
    pub theirs: String,
    /// Number of the first of these lines in the common ancestor, from 1.
    pub base_line: usize,
    /// Number of the first of these lines on our side, from 1.
    pub ours_line: usize,
    /// Number of the first of these lines on their side, from 1.
    pub theirs_line: usize,
}
