//! What an agent of its own says to the daemon: its calls of tools, and what becomes of them.
//!
//! An agent is a program with a model of its own, as those that speak MCP. It can call tools and look
//! at what became of its calls. It can decide nothing: no route that takes its token does.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::event::ProposalStatus;
use super::session::SessionId;
use crate::entry::Seq;
use crate::proposal::Class;

/// How long an agent's request may wait, in seconds.
pub const MAX_WAIT: u64 = 60;

/// An agent calls a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentCall {
    /// The connection: 1 to 64 letters, digits and dashes. All calls of one connection in one place are
    /// one workflow.
    pub connection: String,
    /// Which program calls, for a person; only of the first call of a connection.
    pub client: String,
    /// The call's own name, at most 64 characters. Sent again under the same name, because the answer
    /// was lost, it is the same call.
    pub id: String,
    /// The place; may be left out where exactly one is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The tool.
    pub tool: String,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Json::is_null")]
    pub args: Json,
    /// How long to wait until it is planned, in seconds; at most 60.
    pub hold: u64,
    /// Whether it was sent before, and the answer was lost: where it was made, it is not made again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub again: bool,
}

/// An agent takes a call back. What nobody has decided upon by then is not done any more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CancelCall {
    /// The connection that made it.
    pub connection: String,
    /// The call's own name.
    pub id: String,
}

/// A call, and what became of it so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallView {
    /// Its name.
    pub call: Seq,
    /// Its workflow.
    pub workflow: Seq,
    /// Its place.
    pub session: SessionId,
    /// The tool.
    pub tool: String,
    /// What became of it.
    pub became: AgentCallOutcome,
    /// The proposals that wait: what is answered now counts them as done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub on_top_of: Vec<Seq>,
}

/// What became of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "snake_case", deny_unknown_fields)]
pub enum AgentCallOutcome {
    /// It is being planned, or something is being looked at for it.
    Working {},
    /// It is a proposal that is not done yet: a person is to decide, or has said yes a moment ago.
    Pending {
        /// Which.
        proposal: Seq,
        /// Whether it still waits for a person.
        status: ProposalStatus,
        /// One line of what it does.
        title: String,
        /// How much it can take away.
        class: Class,
    },
    /// It is done.
    Done {
        /// The answer; nothing where it was given long ago.
        answer: Json,
        /// What was applied, where it changed something.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        applied: Option<AppliedChange>,
    },
    /// It is not done, and will not be.
    Refused {
        /// Why.
        reason: String,
        /// What became of its proposal, where there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<ProposalStatus>,
        /// That proposal.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proposal: Option<Seq>,
    },
}

impl AgentCallOutcome {
    /// Whether nothing more becomes of it by itself.
    pub fn is_settled(&self) -> bool {
        matches!(self, Self::Done { .. } | Self::Refused { .. })
    }
}

/// A change that was applied.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AppliedChange {
    /// The proposal.
    pub proposal: Seq,
    /// What changed, as text: a line for each operation, a unified diff for each script. Long ones end
    /// with a line that says so.
    pub diff: String,
}

/// A connection of an agent ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentDisconnect {
    /// Which.
    pub connection: String,
}

/// A client says that it is there, for as long as the request is held: when that breaks off, the client is
/// gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentPresence {
    /// Its connection.
    pub connection: String,
}

/// A page of the scripts of a place, as a client lists them for its person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptPage {
    /// They.
    pub scripts: Vec<ListedScript>,
    /// Where the next page begins; none where this is the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// A script in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListedScript {
    /// Where it is.
    pub path: String,
    /// Its class.
    pub class: String,
}

/// What agents have called.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentLog {
    /// All calls that are not settled, oldest first.
    pub unsettled: Vec<LoggedCall>,
    /// The newest calls, oldest of them first.
    pub calls: Vec<LoggedCall>,
}

/// A call on record.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoggedCall {
    /// Who called.
    pub client: String,
    /// The place, for a person.
    pub place: String,
    /// Its arguments in a line; empty of one that was made long ago.
    pub brief: String,
    /// Whether that client has disconnected since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disconnected: bool,
    /// The call; a long answer is left out.
    pub view: CallView,
}
