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
