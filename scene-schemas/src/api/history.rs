//! The history for a person: the ledger page by page, statistics, and earlier texts of scripts.
//!
//! All of it is derived from the ledger.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FailureKind;
use super::session::SessionId;
use crate::command::Fingerprint;
use crate::entry::{Approver, Record, Seq};
use crate::path::InstancePath;
use crate::proposal::Class;

/// Maximum number of entries on a page of the history.
pub const MAX_PAGE: u64 = 200;

/// A page of the history, newest entry first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// The entries that match the filter.
    pub entries: Vec<HistoryEntry>,
    /// The value of `before` for the next page. None if there are no older entries. A page may have
    /// fewer entries than requested, or none, although older ones exist, because the search per
    /// page is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older: Option<Seq>,
    /// The names of the places of recently started workflows.
    pub places: Vec<String>,
    /// The tools called in the part of the ledger searched so far.
    pub tools: Vec<String>,
}

/// A ledger entry, summarised in one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryEntry {
    /// The entry's position.
    pub seq: Seq,
    /// The time of the entry, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The workflow that the entry belongs to.
    pub workflow: Seq,
    /// The session of the place. None if it is not open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The name of the place.
    pub place: String,
    /// The name of the entry's kind, such as `proposed`.
    pub kind: String,
    /// The summary of the entry.
    pub title: String,
    /// The tool. None if the entry does not concern a call or a proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The current outcome of the call or proposal that the entry concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<HistoryOutcome>,
    /// The proposal that the entry concerns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Seq>,
    /// The paths of the first changed instances.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Number of further changed instances.
    #[serde(default, skip_serializing_if = "crate::proposal::is_zero")]
    pub more_paths: u32,
    /// The source of the approval. None if the entry is not an approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Approver>,
    /// How destructive the proposal is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
}

/// The outcome of a call or a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryOutcome {
    /// The proposal waits for a decision, or the call is not planned yet.
    Waiting,
    /// The proposal was approved and is not applied yet.
    Approved,
    /// The proposal was applied.
    Applied,
    /// A person rejected the proposal.
    Rejected,
    /// A part or an edited form of the proposal was accepted.
    PartlyApproved,
    /// The proposal was withdrawn, because its base changed or its workflow ended.
    Withdrawn,
    /// The target could not apply the proposal.
    Failed,
    /// The proposal was applied, and a person undid it in Studio.
    Undone,
    /// The proposal was applied, and another proposal reverted it.
    Reverted,
    /// The call was refused.
    Refused,
    /// The call was answered and changed nothing.
    Answered,
}

impl HistoryOutcome {
    /// All outcomes, in declaration order.
    pub const ALL: [Self; 11] = [
        Self::Waiting,
        Self::Approved,
        Self::Applied,
        Self::Rejected,
        Self::PartlyApproved,
        Self::Withdrawn,
        Self::Failed,
        Self::Undone,
        Self::Reverted,
        Self::Refused,
        Self::Answered,
    ];

    /// Returns the outcome's name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Applied => "applied",
            Self::Rejected => "rejected",
            Self::PartlyApproved => "partly_approved",
            Self::Withdrawn => "withdrawn",
            Self::Failed => "failed",
            Self::Undone => "undone",
            Self::Reverted => "reverted",
            Self::Refused => "refused",
            Self::Answered => "answered",
        }
    }
}

/// A complete ledger entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryRecord {
    /// The entry, summarised in one line.
    pub line: HistoryEntry,
    /// The entry itself.
    pub record: Box<Record>,
    /// The previous entry of the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Seq>,
    /// The next entry of the workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Seq>,
}

/// Statistics on model usage, durations and outcomes, from a given day on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// The first day, as `2026-12-01`. Days are in UTC.
    pub since: String,
    /// Model usage by day, model and project, oldest first.
    pub usage: Vec<UsageFigures>,
    /// Statistics on model requests, by model.
    pub models: Vec<ModelFigures>,
    /// Statistics on calls, by tool.
    pub tools: Vec<ToolFigures>,
}

/// The usage of a model on one day for one project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageFigures {
    /// The day, as `2026-12-01`.
    pub day: String,
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// The project: the folder of a file, or a place.
    pub project: String,
    /// Number of messages the model wrote.
    pub messages: u64,
    /// Number of input tokens.
    pub read: u64,
    /// Number of input tokens that were read from a cache.
    pub cached: u64,
    /// Number of output tokens.
    pub written: u64,
    /// The cost in US dollars, as far as prices are known.
    pub usd: f64,
    /// Number of messages without a known price.
    pub unpriced: u64,
}

/// Statistics on the requests to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelFigures {
    /// The provider.
    pub provider: String,
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// Number of requests, including those that could not be sent.
    pub asked: u64,
    /// Number of answers.
    pub answered: u64,
    /// Number of failures, by kind.
    pub failures: Vec<FailureFigures>,
    /// Time from the request to the complete answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answering: Option<DurationSummary>,
}

/// The number of failures of one kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailureFigures {
    /// The kind of failure.
    pub code: FailureKind,
    /// Number of failures.
    pub count: u64,
}

/// Statistics on the calls of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolFigures {
    /// The name of the tool.
    pub tool: String,
    /// Number of calls.
    pub calls: u64,
    /// Number of calls that were answered and changed nothing.
    pub answered: u64,
    /// Number of calls that were refused.
    pub refused: u64,
    /// Number of proposals from these calls. A replanned call makes a further proposal.
    pub proposed: u64,
    /// Number of proposals that were applied.
    pub applied: u64,
    /// Number of proposals that a person rejected.
    pub rejected: u64,
    /// Number of proposals that were withdrawn.
    pub withdrawn: u64,
    /// Number of proposals that the target could not apply.
    pub failed: u64,
    /// Time from the call to its plan. Not known for calls that were recorded together with their
    /// answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning: Option<DurationSummary>,
    /// Time from the proposal to a person's decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<DurationSummary>,
}

/// Statistics on a duration, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DurationSummary {
    /// Number of measurements.
    pub count: u64,
    /// The median.
    pub median: u64,
    /// The 95th percentile.
    pub p95: u64,
}

/// The text of a script at a point in time, and its recorded changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptAtTime {
    /// The script's path.
    pub path: InstancePath,
    /// The text. None if the script did not exist, or if the text is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The hash of the text. It may be known although the text is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Fingerprint>,
    /// The entry that produced this text. None if no change by Vector did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// The proposal of that change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Seq>,
    /// The text before that change. None if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// A note for the person: the reason for a missing text, or that others changed the script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The recorded changes, newest first.
    pub versions: Vec<ScriptVersion>,
}

/// A recorded change of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptVersion {
    /// The entry by which the change was applied, undone or redone.
    pub seq: Seq,
    /// The time of the entry, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The name of the entry's kind.
    pub kind: String,
    /// The proposal of the change.
    pub proposal: Seq,
    /// The proposal's title.
    pub title: String,
    /// The hash of the resulting text. None if the change removed the script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Fingerprint>,
    /// Whether the resulting text is known.
    pub is_known: bool,
}
