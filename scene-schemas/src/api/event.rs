//! The event stream, from which every client shows what happens.
//!
//! Events are derived from the ledger and carry the position of their entry. A few are transient,
//! such as text that is still streaming or the current wait state. These carry the position of the
//! entry before them and are not repeated for clients that connect later.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FailureKind;
use super::session::SessionId;
use crate::entry::{Approver, Finish, Seq, Step};
use crate::path::InstancePath;
use crate::permission::PermissionAnswer;
use crate::proposal::{Class, Conflict, Mode};

/// An event with its position, time and workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EventRecord {
    /// The position of the event's ledger entry.
    pub seq: Seq,
    /// The time of the event, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The workflow that the event belongs to.
    pub workflow: Seq,
    /// The event itself.
    pub event: Event,
}

/// A page of the stream.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamPage {
    /// The cursor of the next page.
    pub cursor: Seq,
    /// The events, in order.
    pub events: Vec<EventRecord>,
}

/// An event in a workflow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A person made a request, and a workflow starts.
    Asked {
        /// The session of the place.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<SessionId>,
        /// The person's request.
        text: String,
        /// The driver that calls the tools.
        driver: String,
        /// Which proposals are approved without asking a person.
        mode: Mode,
        /// Descriptions of the attachments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attached: Vec<String>,
    },
    /// A person added to the request while the work was going on, or answered a question.
    AskedMore {
        /// The person's message.
        text: String,
        /// Descriptions of the attachments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attached: Vec<String>,
    },
    /// The model begins a message.
    AssistantStart {},
    /// More text of the message. Transient.
    AssistantUpdate {
        /// The text since the last update.
        text: String,
    },
    /// The complete message.
    AssistantFinal {
        /// The text of the message.
        text: String,
        /// If the message is a question: the suggested answers.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        answers: Vec<String>,
    },
    /// A call needs a permission, which only a person can give.
    PermissionRequested {
        /// The ledger position of the call.
        call: Seq,
        /// The question to the person.
        question: String,
        /// The possible answers, in the order in which they are offered.
        answers: Vec<OfferedPermission>,
        /// The generation whose model the person should see. None if there is nothing to see.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Seq>,
    },
    /// A person gave the permission that a call needs, or refused it.
    PermissionDecided {
        /// The ledger position of the call.
        call: Seq,
        /// What the person answered.
        answer: PermissionAnswer,
    },
    /// The workflow waits for something. Transient.
    Thinking {
        /// The kind of wait.
        phase: ThinkingPhase,
    },
    /// A tool call was parsed from the model's output.
    ToolParsed {
        /// The ledger position of the call.
        call: Seq,
        /// The name of the tool.
        tool: String,
        /// The arguments, shortened.
        brief: String,
    },
    /// The arguments of a call match the tool's schema.
    ToolValid {
        /// The ledger position of the call.
        call: Seq,
    },
    /// A call is being planned.
    ToolStarted {
        /// The ledger position of the call.
        call: Seq,
    },
    /// A call was answered.
    ToolResult {
        /// The ledger position of the call.
        call: Seq,
        /// The answer, shortened.
        brief: String,
    },
    /// A call was refused.
    ToolError {
        /// The ledger position of the call.
        call: Seq,
        /// The reason for the refusal.
        reason: String,
        /// The passages that others have changed since. None if the call was refused for another
        /// reason.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        conflict: Option<Box<Conflict>>,
    },
    /// A call led to a proposal, which waits for a decision.
    ProposalMapped {
        /// The ledger position of the call.
        call: Seq,
        /// The ledger position of the proposal.
        proposal: Seq,
        /// The proposal's title.
        title: String,
        /// The path of the instance that the whole proposal is about. None if there is none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        subject: Option<InstancePath>,
        /// How destructive the proposal is.
        class: Class,
        /// The proposal that this one replaces, as a part of it, an edited form or a replanned
        /// version, or that it reverts.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        from: Option<Seq>,
    },
    /// The status of a proposal changed.
    ProposalChanged {
        /// The ledger position of the proposal.
        proposal: Seq,
        /// The new status.
        status: ProposalStatus,
        /// The source of the approval.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<Approver>,
        /// The reason for the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A person asked for changes to a proposal, or the model replied to the comments.
    Commented {
        /// The ledger position of the proposal.
        proposal: Seq,
        /// Number of comments, or of replies.
        count: u32,
        /// Whether the model replied.
        is_reply: bool,
    },
    /// A review of a proposal by a model started or ended.
    Review {
        /// The ledger position of the proposal.
        proposal: Seq,
        /// What happened, as a sentence.
        text: String,
    },
    /// Something about the models that share the task: a part started or ended, or one of them noted
    /// something.
    Part {
        /// What happened, as a sentence.
        text: String,
    },
    /// A person allowed something for the rest of the task. The event's position identifies the rule.
    RuleAdded {
        /// What is allowed, as the end of a sentence.
        text: String,
    },
    /// A person revoked a rule of the task.
    RuleRevoked {
        /// The position of the event that added the rule.
        rule: Seq,
    },
    /// A tool needs data of the place, which was requested.
    ContextRequested {
        /// A description of the requested data.
        what: String,
    },
    /// The size of a request to the model. With zero messages, the scripts that the model will see.
    ContextStats {
        /// Number of messages.
        turns: u32,
        /// Size in bytes.
        bytes: u64,
        /// The model's context window, in tokens. None if it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limit: Option<u64>,
        /// The scripts that Vector chose, each with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        scripts: Vec<String>,
        /// The best of the scripts that were left out, each with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left: Vec<String>,
    },
    /// The current plan.
    Plan {
        /// All steps of the plan.
        steps: Vec<Step>,
        /// The model's notes on the plan.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        notes: Option<String>,
    },
    /// The model usage since the last such event.
    Usage {
        /// Number of input tokens.
        input: u64,
        /// Number of output tokens.
        output: u64,
        /// The cost in US dollars. None if it is not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cost: Option<f64>,
    },
    /// Older messages were summarised to fit the model's context window.
    ContextSummarised {
        /// Number of summarised messages.
        turns: u32,
    },
    /// The model has sent nothing for a while. Transient.
    Stalled {
        /// Duration of the silence, in seconds.
        seconds: u32,
    },
    /// The request to the model will be retried after a pause. Transient.
    Retrying {
        /// The reason for the retry.
        reason: String,
        /// Duration of the pause, in seconds.
        seconds: u32,
    },
    /// An error occurred.
    Error {
        /// The kind of failure.
        code: FailureKind,
        /// The failure, worded for a person.
        message: String,
        /// Whether the same request can be retried.
        retryable: bool,
        /// What the person can do about it.
        hint: String,
        /// The setting to change in order to fix this. None if no setting does.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        setting: Option<Setting>,
    },
    /// The client that calls the tools exited, or its connection broke. Its proposals still wait.
    ClientDisconnected {
        /// The client's name, as reported by the client.
        client: String,
    },
    /// The workflow finished.
    Done {
        /// How it ended.
        outcome: Finish,
        /// The model's closing message.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
    },
}

/// An answer to a question for a permission.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfferedPermission {
    /// The answer that it stands for.
    pub answer: PermissionAnswer,
    /// The answer as text, for a button.
    pub label: String,
}

/// What a workflow waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ThinkingPhase {
    /// The model's answer.
    Model,
    /// The plan of a call.
    Planning,
    /// Data of the place.
    Reading,
    /// A person's decision.
    Decision,
    /// The change being applied by Studio or written to disk.
    Applying,
    /// The game that is played, in Studio or on a copy.
    Playing,
    /// The results of other models that work on the same task.
    Workers,
}

/// A setting, by the name of its field in the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// Which proposals are approved without asking a person.
    Mode,
    /// Whether proposals are only shown and never applied.
    DryRun,
    /// The model, or other driver, that calls the tools.
    Model,
}

/// The status of a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ProposalStatus {
    /// The proposal waits for a decision.
    Waiting,
    /// The proposal was approved and is not applied yet.
    Approved,
    /// The proposal was applied.
    Applied,
    /// A person rejected the proposal.
    Rejected,
    /// The proposal was withdrawn, because its base changed or its workflow ended.
    Withdrawn,
    /// The proposal was not applied because of an error.
    Failed,
    /// The proposal was applied, and a person undid it in Studio.
    Undone,
}

impl ProposalStatus {
    /// Returns the name, for display.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Applied => "applied",
            Self::Rejected => "rejected",
            Self::Withdrawn => "withdrawn",
            Self::Failed => "failed",
            Self::Undone => "undone",
        }
    }
}
