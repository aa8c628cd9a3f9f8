//! Positions and edits in a script's text, as the Language Server Protocol counts them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place between two characters of a text.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Line, from 0. Lines end in LF or CRLF.
    pub line: u32,
    /// UTF-16 code units from the start of the line, from 0.
    pub character: u32,
}

/// Replace the text between two positions. An empty range inserts; an empty text deletes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextEdit {
    /// First position that is replaced.
    pub start: Position,
    /// The position behind the last one that is replaced.
    pub end: Position,
    /// What stands there afterwards, literally.
    pub text: String,
}

/// Lines of a text that two sides changed in different ways.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TextConflict {
    /// The lines in the text that both come from.
    pub base: String,
    /// The lines in the one.
    pub ours: String,
    /// The lines in the other.
    pub theirs: String,
    /// Where they stand in the text that both come from, from 1.
    pub base_line: usize,
    /// Where they stand in the one.
    pub ours_line: usize,
    /// Where they stand in the other.
    pub theirs_line: usize,
}
