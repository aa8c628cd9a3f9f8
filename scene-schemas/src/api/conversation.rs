//! What people say to the daemon, and what they look at: chats, proposals, workflows, settings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::event::{EventRecord, ProposalStatus};
use super::session::SessionId;
use crate::command::{Fingerprint, InstanceId};
use crate::entry::{AttachmentSnapshot, Finish, InteractionMode, Seq, Step};
use crate::proposal::{Mode, Proposal};

/// A person asks for something in an open place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chat {
    /// The session.
    pub session: SessionId,
    /// Its epoch.
    pub epoch: u64,
    /// What is asked for.
    pub text: String,
    /// What was attached on purpose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<Attachment>,
    /// How far the model may go.
    #[serde(default, skip_serializing_if = "InteractionMode::is_act")]
    pub stance: InteractionMode,
    /// Whether a new conversation begins with it, where one would go on.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub begins: bool,
    /// What the request is called by whoever makes it; made again under the same name, because the
    /// answer was lost, it is the same request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<String>,
}

/// Something of the place that a person attached to what they ask for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum Attachment {
    /// An instance.
    Instance {
        /// Which.
        id: InstanceId,
    },
    /// Text that was selected in a script.
    Text {
        /// The script.
        id: InstanceId,
        /// The hash of the script's text.
        hash: Fingerprint,
        /// What was selected.
        selected: String,
    },
}

/// A workflow began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowStarted {
    /// Its name.
    pub workflow: Seq,
}

/// A person decides upon what they saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionRequest {
    /// What they saw.
    pub patch_id: Fingerprint,
    /// What it stood on.
    pub base: Fingerprint,
    /// What they say.
    pub decision: Decision,
}

/// What a person says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "say", rename_all = "snake_case", deny_unknown_fields)]
pub enum Decision {
    /// Yes.
    Approve {
        /// Whether they were asked a second time, because of a warning that needs it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        twice: bool,
    },
    /// No.
    Reject {
        /// Why; the model is told.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// Only these parts: a new proposal stands for this one, and waits.
    Take {
        /// They.
        parts: Vec<ProposalPart>,
    },
}

/// A part of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "part", rename_all = "snake_case", deny_unknown_fields)]
pub enum ProposalPart {
    /// A command.
    Command {
        /// Which, from 0.
        command: u32,
    },
    /// A hunk of a script.
    Hunk {
        /// The script's place in the preview, from 0.
        script: u32,
        /// Which, from 0.
        hunk: u32,
    },
}

/// It was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecisionResponse {
    /// The proposal that stands now: another one where a part was taken.
    pub proposal: Seq,
    /// What it is.
    pub status: ProposalStatus,
}

/// A proposal, and what became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposalView {
    /// Its name.
    pub seq: Seq,
    /// Its workflow.
    pub workflow: Seq,
    /// Its session; none where another process is at work in it, such as a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What it is.
    pub status: ProposalStatus,
    /// Why, where that was said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The newest proposal that stands for it: a part of it, a changed form, or the same planned again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<Seq>,
    /// The client that proposed it, where that has disconnected since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disconnected: Option<String>,
    /// Whether a yes has to be said twice.
    pub needs_twice: bool,
    /// Whether it may change what a picture of the place shows.
    #[serde(default)]
    pub has_geometry: bool,
    /// The proposal itself, with its preview.
    pub proposal: Proposal,
}

/// Proposals, oldest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposals {
    /// Those that wait, or all of a workflow.
    pub proposals: Vec<ProposalView>,
}

/// What a workflow is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkflowState {
    /// It goes on by itself.
    Working,
    /// A person is to decide.
    Waiting,
    /// Its agent may call something more, and nothing is at work until then.
    Idle,
    /// Its client has disconnected; a person is to decide upon what it proposed.
    Disconnected,
    /// It needs its place, which is not connected.
    Away,
    /// Something went wrong, and it can be tried again.
    Stopped,
    /// It is over.
    Finished,
}

/// A workflow, as a person sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowView {
    /// Its name.
    pub seq: Seq,
    /// Where its events begin in the stream, which counts in steps of its own.
    pub cursor: Seq,
    /// Its session; none where another process is at work in it, such as a terminal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// What was asked for.
    pub goal: String,
    /// What was attached to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attached: Vec<AttachmentSnapshot>,
    /// Who calls the tools.
    pub driver: String,
    /// Which proposals go without a person's yes.
    pub mode: Mode,
    /// What it is doing.
    pub state: WorkflowState,
    /// How it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Finish>,
    /// The plan.
    pub plan: Vec<Step>,
    /// Its proposals.
    pub proposals: Vec<Seq>,
}

/// A conversation: a task, and those before it that it goes on with.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationView {
    /// What stands above it.
    pub head: ConversationHeader,
    /// What has happened in it; of the moment, what has come of a message that is still on its way.
    pub events: Vec<EventRecord>,
    /// Where the stream goes on.
    pub cursor: Seq,
}

/// What stands above a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConversationHeader {
    /// The last task of those that are told.
    pub workflow: WorkflowView,
    /// When that began, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// Where the place is, in a person's words.
    pub place: String,
    /// All tasks that are told, oldest first.
    pub tasks: Vec<Seq>,
    /// What models took for them.
    pub usage: Usage,
    /// What the model was sent last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<ContextUsage>,
}

/// What a model was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextUsage {
    /// Messages.
    pub turns: u32,
    /// Bytes.
    pub bytes: u64,
    /// How many tokens it can read.
    pub window: u64,
}

/// Workflows, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workflows {
    /// They.
    pub workflows: Vec<WorkflowView>,
}

/// A moment of a place that a person can come back to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// Its name.
    pub seq: Seq,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The session.
    pub session: SessionId,
    /// Its place, by name.
    pub place: String,
    /// What it was made for.
    pub label: String,
}

/// Checkpoints, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Checkpoints {
    /// They.
    pub checkpoints: Vec<Checkpoint>,
}

/// A person wants a moment kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MakeCheckpoint {
    /// The session.
    pub session: SessionId,
    /// What for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
}

/// What a person has chosen, for what begins from now on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Which proposals go without a person's yes.
    pub mode: Mode,
    /// Whether proposals are shown and never applied.
    #[serde(default)]
    pub dry_run: bool,
    /// Who calls the tools.
    pub model: String,
    /// What can be chosen. Ignored when it is sent.
    #[serde(default)]
    pub models: Vec<String>,
}

/// What models used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Usage {
    /// Tokens that they read.
    pub input: u64,
    /// Tokens that they wrote.
    pub output: u64,
    /// What it cost in US dollars, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}
