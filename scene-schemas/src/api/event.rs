//! The stream: what has happened, for everybody who shows it.
//!
//! Events are readings of the ledger, named by the position of their entry; a few are only of the
//! moment (text that is still coming, what is waited for), carry the position before them, and are
//! not said again to whoever was not there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FailureKind;
use super::session::SessionId;
use crate::entry::{Approver, Finish, Seq, Step};
use crate::proposal::{Class, Conflict, Mode};

/// An event where it stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventRecord {
    /// The position of its entry.
    pub seq: Seq,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The workflow that it belongs to.
    pub workflow: Seq,
    /// What happened.
    pub event: Event,
}

/// A piece of the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamPage {
    /// Where the next piece begins.
    pub cursor: Seq,
    /// What has happened, in order.
    pub events: Vec<EventRecord>,
}

/// What has happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A person asked for something; the workflow begins, or goes on.
    Asked {
        /// The session of its place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// What was asked for.
        text: String,
        /// Who calls the tools.
        driver: String,
        /// Which proposals go without a person's yes.
        mode: Mode,
        /// What was attached, in a person's words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attached: Vec<String>,
    },
    /// A person said something more while the work goes on.
    AskedMore {
        /// What they said.
        text: String,
        /// What was attached, in a person's words.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attached: Vec<String>,
    },
    /// The model begins to answer.
    AssistantStart {},
    /// More of its text, of the moment.
    AssistantUpdate {
        /// What came since the last one.
        text: String,
    },
    /// What it said, whole.
    AssistantFinal {
        /// What it said.
        text: String,
        /// Where it asks something: the answers that it offers, for a person to choose from.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<String>,
    },
    /// What is waited for, of the moment.
    Thinking {
        /// What.
        phase: ThinkingPhase,
    },
    /// A tool call was read out of what the model sent.
    ToolParsed {
        /// The call.
        call: Seq,
        /// The tool.
        tool: String,
        /// Its arguments, in short.
        brief: String,
    },
    /// Its arguments are those of the tool.
    ToolValid {
        /// The call.
        call: Seq,
    },
    /// It is planned.
    ToolStarted {
        /// The call.
        call: Seq,
    },
    /// It was answered.
    ToolResult {
        /// The call.
        call: Seq,
        /// The answer, in short.
        brief: String,
    },
    /// It was refused.
    ToolError {
        /// The call.
        call: Seq,
        /// Why.
        reason: String,
        /// The passages that somebody else has changed meanwhile, where it is that.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conflict: Option<Box<Conflict>>,
    },
    /// A call became a proposal, which waits for a decision.
    ProposalMapped {
        /// The call.
        call: Seq,
        /// The proposal.
        proposal: Seq,
        /// Its title.
        title: String,
        /// How much it can take away.
        class: Class,
        /// The proposal that it stands for: a part of it, a changed form, or the same planned again; or that it
        /// reverts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Seq>,
    },
    /// Something became of a proposal.
    ProposalChanged {
        /// Which.
        proposal: Seq,
        /// What it is now.
        status: ProposalStatus,
        /// Who said yes.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Approver>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Something of the place is asked for, because a tool needs it.
    ContextRequested {
        /// What, in a person's words.
        what: String,
    },
    /// What the model was sent; or, with no messages yet, the scripts that it will be told of.
    ContextStats {
        /// Messages.
        turns: u32,
        /// Bytes.
        bytes: u64,
        /// How many tokens the model can read, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// The scripts that Vector chose, each with why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scripts: Vec<String>,
        /// The best of those that were left out, each with why.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
    },
    /// The plan as it is now.
    Plan {
        /// All steps.
        steps: Vec<Step>,
        /// A remark.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<String>,
    },
    /// What the model used, since the last one.
    Usage {
        /// Tokens that it read.
        input: u64,
        /// Tokens that it wrote.
        output: u64,
        /// What it cost in US dollars, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    /// Older messages were summarised, so that the model can read on.
    ContextSummarised {
        /// How many.
        turns: u32,
    },
    /// Nothing has come for a while, of the moment.
    Stalled {
        /// For how long, in seconds.
        seconds: u32,
    },
    /// The model is asked again after a pause, of the moment.
    Retrying {
        /// Why.
        reason: String,
        /// How long the pause is, in seconds.
        seconds: u32,
    },
    /// Something went wrong.
    Error {
        /// What kind.
        code: FailureKind,
        /// What happened.
        message: String,
        /// Whether it can be tried again as it is.
        retryable: bool,
        /// What to do next.
        hint: String,
        /// The setting that mends it, where one does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setting: Option<Setting>,
    },
    /// The client that calls the tools has ended, or its connection broke; what it proposed still waits.
    ClientDisconnected {
        /// What the client calls itself.
        client: String,
    },
    /// The workflow is over.
    Done {
        /// How.
        outcome: Finish,
        /// The model's last word.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
}

/// What is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingPhase {
    /// The model.
    Model,
    /// The plan of a call.
    Planning,
    /// Something of the place.
    Reading,
    /// A person's decision.
    Decision,
    /// Studio, or the disk.
    Applying,
}

/// A setting by the name of its field.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// Which proposals go without a yes.
    Mode,
    /// Whether anything is applied.
    DryRun,
    /// Who answers.
    Model,
}

/// What a proposal is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalStatus {
    /// Nobody has decided.
    Waiting,
    /// Somebody said yes; it is to be done.
    Approved,
    /// It is done.
    Applied,
    /// A person said no.
    Rejected,
    /// It lost its base or its run.
    Withdrawn,
    /// It was not done.
    Failed,
    /// It was done, and a person has undone it in Studio.
    Undone,
}
