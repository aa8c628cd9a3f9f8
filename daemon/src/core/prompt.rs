//! What a model is sent, and what it answers, in no provider's words.
//!
//! A prompt is a reading of the ledger. How a wire spells it is the providers' business.

use serde_json::Value as Json;

/// The rules that every model is given.
pub const RULES: &str = "\
You work on a Roblox place through tools. You never change anything yourself: each change becomes a \
proposal that a person sees and decides upon, and you are told what became of it. Call one tool per \
message. Read before you edit. Paths look like game.Workspace[\"My.Part\"].Wall[2]. When the task is \
done, call complete.";

/// Everything that a provider is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// The rules of the house.
    pub rules: String,
    /// What the person asked for.
    pub goal: String,
    /// What happened since, oldest first.
    pub turns: Vec<Turn>,
}

/// One thing that happened in the conversation.
#[derive(Debug, Clone, PartialEq)]
pub enum Turn {
    /// The model said something.
    Said(String),
    /// The model called a tool, and this came of it.
    Called {
        /// The tool.
        tool: String,
        /// Its arguments.
        args: Json,
        /// What the model is told.
        outcome: Outcome,
    },
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It was answered, or proposed and applied.
    Done(Json),
    /// It was refused, rejected or it failed: why, and what to do next.
    Refused(String),
}

/// A whole message of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Message {
    /// What it says.
    pub text: Option<String>,
    /// The tools that it calls. Only the first is taken.
    pub calls: Vec<Call>,
    /// Whether it says that it cannot do what was asked for.
    pub declined: bool,
}

/// A tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    /// The tool.
    pub tool: String,
    /// Its arguments.
    pub args: Json,
}
