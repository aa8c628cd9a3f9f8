//! What a model answers, in no wire's words: the contract between the wires and the loop.
//!
//! An answer comes as parts while it is read, and ends with how it ended. Calls are the last parts
//! before the end: until the terminal event was read nobody is given one, so a stream that breaks
//! off runs nothing. What may run of a whole answer says `Answer::runnable`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value as Json;

/// A wire: how requests and answers are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireFormat {
    #[serde(rename = "anthropic_messages")]
    Anthropic,
    /// OpenAI's Chat Completions, which many others speak too.
    OpenaiChat,
    OpenaiResponses,
    Gemini,
    /// Converse of AWS Bedrock.
    #[serde(rename = "bedrock_converse")]
    Bedrock,
    #[serde(rename = "ollama_chat")]
    Ollama,
}

impl WireFormat {
    pub const ALL: [Self; 6] = [
        Self::Anthropic,
        Self::OpenaiChat,
        Self::OpenaiResponses,
        Self::Gemini,
        Self::Bedrock,
        Self::Ollama,
    ];

    /// Its name, as recorded responses have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic_messages",
            Self::OpenaiChat => "openai_chat",
            Self::OpenaiResponses => "openai_responses",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock_converse",
            Self::Ollama => "ollama_chat",
        }
    }
}

impl fmt::Display for WireFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for WireFormat {
    type Err = UnknownWireFormat;

    fn from_str(name: &str) -> Result<Self, UnknownWireFormat> {
        Self::ALL
            .into_iter()
            .find(|wire| wire.name() == name)
            .ok_or_else(|| UnknownWireFormat(name.to_owned()))
    }
}

/// A wire that there is not.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no wire {0:?}: it is one of {list}", list = WireFormat::ALL.map(WireFormat::name).join(", "))]
pub struct UnknownWireFormat(pub String);

/// A part of an answer, in the order in which it is told.
#[derive(Debug, Clone, PartialEq)]
pub enum AnswerPart {
    /// More of the text.
    Text(String),
    /// More of the reasoning, for a person to see.
    Reasoning(String),
    /// A call. All come after the terminal event was read, just before `End`; those of a truncated
    /// answer are told too, and may not run.
    Call(CalledTool),
    /// What it cost; once, just before the calls.
    Usage(TokenUsage),
    /// How it ended. Always the last part, and always there.
    End(AnswerEnd),
}

/// A call that the model made.
#[derive(Debug, Clone, PartialEq)]
pub struct CalledTool {
    /// Its id as the wire gave it. Not all do, and some give two calls the same.
    pub id: Option<String>,
    /// The tool; empty where the wire left it out.
    pub name: String,
    /// Its arguments. No arguments at all are an empty object, broken ones never are.
    pub args: Result<Json, MalformedArguments>,
    /// Whether it carries a signature that has to be replayed.
    pub is_signed: bool,
}

/// Arguments that are no JSON.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the arguments are not JSON: {why}")]
pub struct MalformedArguments {
    /// What the model wrote.
    pub text: String,
    /// What is wrong with it, and where.
    pub why: String,
}

/// What an answer cost, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TokenUsage {
    /// The input, as the wire counts it: without or with what a cache held.
    pub input: u64,
    /// The output, as the wire counts it: without or with the reasoning.
    pub output: u64,
    /// The whole prompt, with all that a cache held or took.
    pub prompt: u64,
    /// All that was generated, with the reasoning.
    pub generated: u64,
    /// Of the prompt: what was read from a cache.
    pub cache_read: u64,
    /// Of the prompt: what was written to a cache.
    pub cache_write: u64,
    /// Of what was generated: the reasoning.
    pub reasoning: u64,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnswerOutcome {
    Ok,
    /// It broke off before its terminal event.
    Incomplete,
    /// The token limit cut a call. Asking the same again would give the same.
    Truncated,
    /// The provider's safety or the model refused, by the way in which the answer ended.
    Refused,
    /// It is whole and there is no message in it.
    Empty,
    /// The model made something that its own provider could not read.
    ModelError,
    /// The provider reported an error after it had begun to answer.
    ErrorInBody,
    /// The provider refused the request, or could not serve it.
    HttpError,
    /// What came cannot be read as this wire.
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

/// What went wrong, and what can be done about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ProviderFailure {
    /// The HTTP status, where it is an error.
    pub status: Option<u16>,
    /// The provider's own word for the kind of error: `overloaded_error`.
    pub kind: Option<String>,
    /// A sentence, the provider's own where there is one.
    pub message: String,
    /// Whether the same request may well succeed later.
    pub is_retryable: bool,
    /// How long the provider asks to wait.
    pub retry_after: Option<Duration>,
    /// Whether the request has to become shorter.
    pub is_context_overflow: bool,
    /// Whether what was paid for, or is given freely, is used up.
    pub is_quota_exhausted: bool,
}

/// The end of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerEnd {
    pub outcome: AnswerOutcome,
    /// The reason in the wire's own word: `end_turn`, `tool_calls`, `STOP`.
    pub stop_reason: Option<String>,
    /// Whether the token limit ended it.
    pub is_limited: bool,
    /// What the model says instead of doing it, where the wire tells that apart from text.
    pub refusal: Option<String>,
    /// What went wrong; none for `Outcome::Ok`.
    pub failure: Option<ProviderFailure>,
    /// What has to go back as it came with the next request, if anything does: for wires with
    /// blocks, parts or items a list of all of them in their order, calls included; for Chat
    /// Completions an object with the members that the assistant's message has to have. Opaque to
    /// everybody but its own wire.
    pub replay: Option<Json>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ModelAnswer {
    pub text: String,
    pub reasoning: String,
    pub calls: Vec<CalledTool>,
    /// What it cost, where that was said.
    pub usage: Option<TokenUsage>,
    pub end: AnswerEnd,
}

impl ModelAnswer {
    /// Puts the parts together. Parts without an end are an answer that broke off.
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

    /// The calls that may run: those of an answer that is whole.
    pub fn runnable_calls(&self) -> &[CalledTool] {
        if self.end.outcome == AnswerOutcome::Ok { &self.calls } else { &[] }
    }

    /// Whether the model or its provider declined.
    pub fn is_declined(&self) -> bool {
        self.end.outcome == AnswerOutcome::Refused || self.end.refusal.is_some()
    }

    /// Whether it is whole and says nothing.
    pub fn is_silent(&self) -> bool {
        self.text.trim().is_empty() && self.calls.is_empty() && self.end.refusal.is_none()
    }
}
