//! A model's answer, independent of the wire format: the contract between the wire formats and the
//! agent loop.
//!
//! An answer arrives in parts, and the last part says how it ended. Calls are the last parts before
//! that end. No call is emitted before the terminal event was read, so a stream that breaks off
//! runs nothing. [`ModelAnswer::runnable_calls`] returns the calls of an answer that may run.

use std::time::Duration;

use serde_json::Value as Json;

/// A part of an answer, in the order of emission.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerPart {
    /// More text of the message.
    Text(String),
    /// More of the reasoning, for display to the user.
    Reasoning(String),
    /// A call. All calls are emitted after the terminal event was read, just before `End`. Calls of
    /// a truncated answer are emitted too, but may not run.
    Call(CalledTool),
    /// The token usage. Emitted at most once, just before the calls.
    Usage(TokenUsage),
    /// The end of the answer. Always the last part, and always present.
    End(AnswerEnd),
}

/// A call made by the model.
#[derive(Debug, Clone, PartialEq)]
pub struct CalledTool {
    /// The id that the wire gave it. Some wires give none, and some give two calls the same id.
    pub id: Option<String>,
    /// The tool name; empty if the wire left it out.
    pub name: String,
    /// The arguments. Missing arguments are an empty object; malformed ones never are.
    pub args: Result<Json, MalformedArguments>,
    /// Whether the call carries a signature that has to be replayed.
    pub is_signed: bool,
}

/// Call arguments that are not JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are not JSON: {why}")]
pub struct MalformedArguments {
    /// The text that the model wrote.
    pub text: String,
    /// The parse error and its position.
    pub why: String,
}

/// Token usage of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// Input tokens as the wire counts them, which may include or exclude cached ones.
    pub input: u64,
    /// Output tokens as the wire counts them, which may include or exclude reasoning.
    pub output: u64,
    /// All prompt tokens, including those read from or written to a cache.
    pub prompt: u64,
    /// All generated tokens, including reasoning.
    pub generated: u64,
    /// The part of the prompt that was read from a cache.
    pub cache_read: u64,
    /// The part of the prompt that was written to a cache.
    pub cache_write: u64,
    /// The part of the generated tokens that is reasoning.
    pub reasoning: u64,
}

/// The way an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerOutcome {
    Ok,
    /// The answer broke off before its terminal event.
    Incomplete,
    /// The token limit cut a call. The same request would end the same way.
    Truncated,
    /// The provider's safety filter or the model refused, as the stop reason says.
    Refused,
    /// The answer is whole but has no message.
    Empty,
    /// The model generated something that its own provider could not parse.
    ModelError,
    /// The provider reported an error after the answer had begun.
    ErrorInBody,
    /// The provider rejected the request, or could not serve it.
    HttpError,
    /// The body cannot be parsed in this wire format.
    Error,
}

impl AnswerOutcome {
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Incomplete => "incomplete",
            Self::Truncated => "truncated",
            Self::Refused => "refused",
            Self::Empty => "empty",
            Self::ModelError => "model_error",
            Self::ErrorInBody => "error_in_body",
            Self::HttpError => "http_error",
            Self::Error => "error",
        }
    }
}

/// The details of a failed answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderFailure {
    /// The HTTP status; None if the status was not an error.
    pub status: Option<u16>,
    /// The provider's name for the kind of error, for example `overloaded_error`.
    pub kind: Option<String>,
    /// A sentence; the provider's own if it sent one.
    pub message: String,
    /// Whether the same request may succeed later.
    pub is_retryable: bool,
    /// The delay that the provider asks for.
    pub retry_after: Option<Duration>,
    /// Whether the request is too long for the model.
    pub is_context_overflow: bool,
    /// Whether the paid or free quota is used up.
    pub is_quota_exhausted: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct AnswerEnd {
    pub outcome: AnswerOutcome,
    /// The stop reason in the wire's terms: `end_turn`, `tool_calls`, `STOP`.
    pub stop_reason: Option<String>,
    /// Whether the token limit ended the answer.
    pub is_limited: bool,
    /// The model's refusal, for wires that report it separately from the text.
    pub refusal: Option<String>,
    /// None for [`AnswerOutcome::Ok`].
    pub failure: Option<ProviderFailure>,
    /// Data that the next request has to repeat unchanged, if any. For wires with blocks, parts or
    /// items, this is the list of all of them in order, including calls. For Chat Completions, it
    /// is an object with the fields that the assistant's message needs. Opaque to everything except
    /// its own wire.
    pub replay: Option<Json>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<CalledTool>,
    /// None if the provider did not report it.
    pub usage: Option<TokenUsage>,
    pub end: AnswerEnd,
}

impl ModelAnswer {
    /// Joins parts to an answer. Parts without an end are an answer that broke off.
    pub fn from_parts(parts: impl IntoIterator<Item = AnswerPart>) -> Self {
        let mut answer = Self {
            text: String::new(),
            reasoning: String::new(),
            calls: Vec::new(),
            usage: None,
            end: AnswerEnd {
                outcome: AnswerOutcome::Incomplete,
                stop_reason: None,
                is_limited: false,
                refusal: None,
                failure: None,
                replay: None,
            },
        };
        for part in parts {
            match part {
                AnswerPart::Text(text) => answer.text.push_str(&text),
                AnswerPart::Reasoning(text) => answer.reasoning.push_str(&text),
                AnswerPart::Call(call) => answer.calls.push(call),
                AnswerPart::Usage(usage) => answer.usage = Some(usage),
                AnswerPart::End(end) => answer.end = end,
            }
        }
        answer
    }

    /// Returns the calls that may run. Empty if the answer did not end properly.
    pub fn runnable_calls(&self) -> &[CalledTool] {
        if self.end.outcome == AnswerOutcome::Ok { &self.calls } else { &[] }
    }

    /// Whether the model or its provider declined.
    pub fn is_declined(&self) -> bool {
        self.end.outcome == AnswerOutcome::Refused || self.end.refusal.is_some()
    }

    /// Whether the answer has no text, no calls and no refusal.
    pub fn is_silent(&self) -> bool {
        self.text.trim().is_empty() && self.calls.is_empty() && self.end.refusal.is_none()
    }
}
