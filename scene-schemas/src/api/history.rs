//! Looking back: what a person is told of the ledger, page by page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FailureKind;
use super::session::SessionId;
use crate::command::Fingerprint;
use crate::entry::{Approver, Record, Seq};
use crate::path::InstancePath;
use crate::proposal::Class;

/// How many entries a page of the history has at most.
pub const MAX_PAGE: u64 = 200;

/// A page of what has happened, newest first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// What fits what was asked for.
    pub entries: Vec<HistoryEntry>,
    /// Where it goes on, as `before`; none where nothing older is left. A page that looked at much and
    /// found little has fewer entries than were asked for, or none, and goes on all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub older: Option<Seq>,
    /// The places of what was begun lately, by their names.
    pub places: Vec<String>,
    /// The tools that were called in what was looked at so far.
    pub tools: Vec<String>,
}

/// Something that happened: an entry of the ledger, in a line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryEntry {
    /// Its position.
    pub seq: Seq,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The workflow that it belongs to.
    pub workflow: Seq,
    /// The session that its place is, where that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<SessionId>,
    /// The place.
    pub place: String,
    /// The entry's name, as `proposed`.
    pub kind: String,
    /// What happened.
    pub title: String,
    /// The tool, where it is about a call or a proposal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What became by now of the call or the proposal that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<HistoryOutcome>,
    /// The proposal that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Seq>,
    /// The first instances that are touched, by their paths.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// How many more are.
    #[serde(default, skip_serializing_if = "crate::proposal::is_zero")]
    pub more_paths: u32,
    /// Who said yes, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<Approver>,
    /// How much the proposal can take away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<Class>,
}

/// What became of a call or a proposal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HistoryOutcome {
    /// Nobody has decided, or it is not planned yet.
    Waiting,
    /// Somebody said yes, and it is not done yet.
    Approved,
    /// It is done.
    Applied,
    /// A person said no.
    Rejected,
    /// A part of it, or a changed form of it, was accepted.
    PartlyAccepted,
    /// It lost its base or its run.
    Withdrawn,
    /// The target did not do it.
    Failed,
    /// It was done, and undone in Studio.
    Undone,
    /// It was done, and another proposal took it back.
    Reverted,
    /// The call was refused.
    Refused,
    /// The call was answered, and changed nothing.
    Answered,
}

impl HistoryOutcome {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Waiting,
        Self::Approved,
        Self::Applied,
        Self::Rejected,
        Self::PartlyAccepted,
        Self::Withdrawn,
        Self::Failed,
        Self::Undone,
        Self::Reverted,
        Self::Refused,
        Self::Answered,
    ];

    /// As it is written.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Approved => "approved",
            Self::Applied => "applied",
            Self::Rejected => "rejected",
            Self::PartlyAccepted => "partly_accepted",
            Self::Withdrawn => "withdrawn",
            Self::Failed => "failed",
            Self::Undone => "undone",
            Self::Reverted => "reverted",
            Self::Refused => "refused",
            Self::Answered => "answered",
        }
    }
}

/// An entry of the ledger, whole.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HistoryRecord {
    /// The entry in a line.
    pub line: HistoryEntry,
    /// The entry.
    pub record: Box<Record>,
    /// The entry before it in its workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub previous: Option<Seq>,
    /// The entry behind it in its workflow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Seq>,
}

/// What models took and how long things took, since a day.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Figures {
    /// The first day, as `2026-12-01`; days are of UTC.
    pub since: String,
    /// What models took, by day, model and project, oldest first.
    pub usage: Vec<UsageFigures>,
    /// How models answered, by their names.
    pub models: Vec<ModelFigures>,
    /// What became of calls, by tool.
    pub tools: Vec<ToolFigures>,
}

/// What a model took on a day for a project.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UsageFigures {
    /// The day, as `2026-12-01`.
    pub day: String,
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// What it was spent on: the folder of a file, or a place.
    pub project: String,
    /// How many messages it wrote.
    pub messages: u64,
    /// Tokens that it read.
    pub read: u64,
    /// Of those, from a cache.
    pub cached: u64,
    /// Tokens that it wrote.
    pub written: u64,
    /// In US dollars, as far as prices are known.
    pub usd: f64,
    /// Messages of which nobody knows the price.
    pub unpriced: u64,
}

/// How a model answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelFigures {
    /// Who offers it.
    pub provider: String,
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// How often it was asked, or was to be.
    pub asked: u64,
    /// How often it answered.
    pub answered: u64,
    /// How often it did not, by what went wrong.
    pub failures: Vec<FailureFigures>,
    /// From the request to the whole answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answering: Option<DurationSummary>,
}

/// How often something went wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FailureFigures {
    /// What.
    pub code: FailureKind,
    /// How often.
    pub count: u64,
}

/// What became of the calls of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ToolFigures {
    /// The tool.
    pub tool: String,
    /// How many calls there were.
    pub calls: u64,
    /// Those that were answered and changed nothing.
    pub answered: u64,
    /// Those that were refused.
    pub refused: u64,
    /// Proposals that came of them; a call that is planned again makes another one.
    pub proposed: u64,
    /// Of those, applied.
    pub applied: u64,
    /// Of those, rejected by a person.
    pub rejected: u64,
    /// Of those, withdrawn.
    pub withdrawn: u64,
    /// Of those, that the target did not do.
    pub failed: u64,
    /// From the call to what it was planned to be. Of calls that were written down with their answers
    /// it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planning: Option<DurationSummary>,
    /// From the proposal to a person's decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deciding: Option<DurationSummary>,
}

/// How long something took, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DurationSummary {
    /// How often it was measured.
    pub count: u64,
    /// Half of them took no longer.
    pub median: u64,
    /// 95 of 100 took no longer.
    pub p95: u64,
}

/// What a script said at a moment, and the changes of it that are on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptAtTime {
    /// The script.
    pub path: InstancePath,
    /// What it said; none where it was not there, or where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The hash of that text, which may be known where the text is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Fingerprint>,
    /// The entry that made it so; none where that was no change of ours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<Seq>,
    /// The proposal of that change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal: Option<Seq>,
    /// What it said before that change, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What else a person should know: why there is no text, or that somebody else changed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The changes, newest first.
    pub versions: Vec<ScriptVersion>,
}

/// A change of a script that is on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptVersion {
    /// The entry: that it was applied, undone or redone.
    pub seq: Seq,
    /// When, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The entry's name.
    pub kind: String,
    /// The proposal.
    pub proposal: Seq,
    /// Its title.
    pub title: String,
    /// The hash of the text that it left; none where it took the script away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<Fingerprint>,
    /// Whether the text that it left is known.
    pub is_known: bool,
}
