//! The wire types for agents: their tool calls, and the outcomes of these.
//!
//! An agent is a program with its own model, such as an MCP client. It can call tools and look at
//! the outcomes of its calls. It cannot decide on proposals: no route that accepts an agent's token
//! does.

use std::collections::BTreeSet;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::conversation::{PartView, WorkflowState};
use super::event::ProposalStatus;
use super::reviews::ReviewView;
use super::session::SessionId;
use crate::comment::Comment;
use crate::entry::{Finish, Seq};
use crate::proposal::Class;

/// Maximum time an agent's request may wait, in seconds.
pub const MAX_WAIT: u64 = 60;

/// An agent calls a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentCall {
    /// The connection: 1 to 64 letters, digits and dashes. All calls of one connection in one place
    /// belong to one workflow.
    pub connection: String,
    /// The name of the calling program, for display. Only the first call of a connection uses it.
    pub client: String,
    /// The agent's id for the call, at most 64 characters. A call sent again with the same id,
    /// because the answer was lost, is the same call.
    pub id: String,
    /// The session of the place. It can be omitted if exactly one place is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The name of the tool.
    pub tool: String,
    /// The tool's arguments.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub args: Json,
    /// Maximum time to wait until the call is planned, in seconds, at most 60.
    pub hold: u64,
    /// Whether this is a retry because the answer was lost. A call that was recorded already is not
    /// made twice.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// An agent cancels a call. Proposals of the call that are not decided by then are not applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelCall {
    /// The connection that made the call.
    pub connection: String,
    /// The agent's id for the call.
    pub id: String,
}

/// A call and its outcome so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallView {
    /// The ledger position that identifies the call.
    pub call: Seq,
    /// The workflow of the call.
    pub workflow: Seq,
    /// The session of the place.
    pub session: SessionId,
    /// The name of the tool.
    pub tool: String,
    /// The outcome so far.
    pub outcome: AgentCallOutcome,
    /// Pending proposals of the same workflow that the answer treats as applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_top_of: Vec<Seq>,
    /// The proposal that a person opened last, within the last minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub viewed: Option<Seq>,
    /// The reviews of its proposal by models, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewView>,
    /// The task that the call began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<StartedTask>,
}

impl CallView {
    /// Whether nothing is expected to happen any more: the call is settled, and the task that it began has
    /// ended.
    pub fn is_over(&self) -> bool {
        let has_ended = |it: &StartedTask| it.state == WorkflowState::Finished;
        self.outcome.is_settled() && self.started.as_ref().is_none_or(has_ended)
    }
}

/// A task of Vector's own model that a call of an agent began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartedTask {
    /// The ledger position that identifies the task.
    pub task: Seq,
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// The state of the task.
    pub state: WorkflowState,
    /// How the task ended. None while it is not finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<Finish>,
    /// What the model said last. Empty if it has said nothing.
    pub text: String,
    /// Its proposals, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<StartedProposal>,
    /// Its parts that other models do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<PartView>,
}

/// A proposal of a task that a call of an agent began.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartedProposal {
    /// The proposal.
    pub seq: Seq,
    /// Its title, in one line.
    pub title: String,
    /// What has become of it.
    pub status: ProposalStatus,
}

/// The outcome of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentCallOutcome {
    /// The call is being planned, or information is being read for it.
    Working {},
    /// The call led to a proposal that is not applied yet: it waits for a person, or was just
    /// approved.
    Pending {
        /// The proposal.
        proposal: Seq,
        /// Whether the proposal still waits for a person.
        status: ProposalStatus,
        /// The proposal's title, in one line.
        title: String,
        /// How destructive the proposal is.
        class: Class,
    },
    /// The call waits for a permission, which only a person can give.
    NeedsPermission {
        /// The question to the person.
        question: String,
    },
    /// The call is done.
    Done {
        /// The answer. Null if it was given long ago.
        answer: Json,
        /// The applied change. None if the call changed nothing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        applied: Option<AppliedChange>,
    },
    /// The call is not done, and will not be.
    Refused {
        /// The reason for the refusal.
        reason: String,
        /// The status of its proposal. None if there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<ProposalStatus>,
        /// The proposal of the call. None if there was none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proposal: Option<Seq>,
        /// The comments with which the person asked for changes.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        comments: Vec<Comment>,
    },
}

impl AgentCallOutcome {
    /// Whether the outcome is final unless a person acts on it.
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Refused { .. })
    }
}

/// A change that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppliedChange {
    /// The applied proposal.
    pub proposal: Seq,
    /// The change as text: one line for each operation, and a unified diff for each script. If it
    /// was cut, the last line says so.
    pub diff: String,
}

/// What an agent did about the comments on a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommentReplies {
    /// One reply for each comment, in order. An empty one is left out.
    pub replies: Vec<String>,
}

/// An agent ends a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDisconnect {
    /// The connection to end.
    pub connection: String,
}

/// A client reports that it is running. It counts as present while this request is held, and as
/// gone when the request breaks off.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentPresence {
    /// The client's connection.
    pub connection: String,
}

/// Open places: those that a client knows, or those that are open and completely read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceSet {
    /// The sessions of the places.
    pub sessions: BTreeSet<SessionId>,
}

/// A page of a place's scripts, which a client can list for its user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptPage {
    /// The scripts of this page.
    pub scripts: Vec<ListedScript>,
    /// The cursor of the next page. None if this is the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A script in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedScript {
    /// The script's path.
    pub path: String,
    /// The script's class.
    pub class: String,
}

/// The recorded calls of agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentLog {
    /// All calls that are not settled, oldest first.
    pub unsettled: Vec<LoggedCall>,
    /// The newest calls, oldest first.
    pub calls: Vec<LoggedCall>,
}

/// A recorded call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoggedCall {
    /// The client that made the call.
    pub client: String,
    /// The name of the place, for display.
    pub place: String,
    /// The arguments in one line. Empty if the call was made long ago.
    pub brief: String,
    /// Whether the client has disconnected since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disconnected: bool,
    /// The call. A long answer is omitted.
    pub view: CallView,
}
