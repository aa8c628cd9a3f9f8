//! Comments of a person on a proposal, and what the model says it did about them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::InstancePath;

/// A comment of a person on a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comment {
    /// What it is about.
    pub on: CommentSubject,
    /// The comment itself.
    pub text: String,
}

/// What a comment is about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum CommentSubject {
    /// The proposal as a whole.
    Proposal {},
    /// A line of a script.
    Line {
        /// The script. The path of the place itself means its memory.
        path: InstancePath,
        /// Whether the line is one of the text before or after the change.
        side: CommentSide,
        /// The line, from 1.
        line: u32,
        /// The text of the line. Ignored in a request.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        quote: String,
    },
    /// A change to an instance.
    Instance {
        /// The instance, as the preview names it.
        path: InstancePath,
        /// The property. None for the instance as a whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        property: Option<String>,
    },
}

/// The text that a line belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CommentSide {
    /// The text before the change.
    Before,
    /// The text after the change.
    After,
}

/// What the model says it did about a comment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommentReply {
    /// The number of the comment, from 1.
    pub comment: u32,
    /// The reply.
    pub text: String,
}

impl CommentSubject {
    /// Returns what the comment is about, for display.
    pub fn describe(&self) -> String {
        match self {
            Self::Proposal {} => "the whole proposal".to_owned(),
            Self::Line { path, side, line, .. } => {
                let before = match side {
                    CommentSide::Before => ", before the change",
                    CommentSide::After => "",
                };
                if path.segments.is_empty() {
                    format!("line {line} of the memory{before}")
                } else {
                    format!("line {line} of {path}{before}")
                }
            }
            Self::Instance { path, property: Some(property) } => format!("{property} of {path}"),
            Self::Instance { path, property: None } => path.to_string(),
        }
    }

    /// Returns the text of the line that it is about. Empty if it is about something else.
    pub fn quote(&self) -> &str {
        match self {
            Self::Line { quote, .. } => quote,
            Self::Proposal {} | Self::Instance { .. } => "",
        }
    }
}
