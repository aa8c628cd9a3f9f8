//! Runs of specs in Roblox's own engine, with a proposal that was not applied.
//!
//! These are data only; the daemon sends the requests.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::deploy::UploadView;
use crate::command::Fingerprint;
use crate::entry::{CloudRun, CloudRunReport, Seq};

/// Which run is planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyQuery {
    /// The proposal of a place file or a Rojo project.
    pub proposal: Seq,
    /// The id of the scratch place's universe. If absent, that of the last run of this place, or the
    /// person's setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub universe: Option<u64>,
    /// The id of the scratch place. If absent, that of the last run of this place, or the person's
    /// setting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<u64>,
}

/// What a run would send, and where to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyPlanView {
    /// The proposal that is verified.
    pub proposal: Seq,
    /// The place file or the project file.
    pub name: String,
    /// The contents of the place with the proposal.
    pub contents: Fingerprint,
    /// The size of the contents in bytes.
    pub size: u64,
    /// What would run. None if no scratch place is chosen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<VerifyTargetView>,
    /// Why the place of the last run or of the settings is not used, and what to do. None if it is, or if
    /// there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<String>,
}

/// A scratch place, and what would run in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyTargetView {
    /// The id of the universe.
    pub universe: u64,
    /// The id of the scratch place on Roblox.
    pub place: u64,
    /// The version of the scratch place that has these contents already. Nothing is uploaded then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub existing: Option<u64>,
    /// The paths of the specs, at most 20.
    pub specs: Vec<String>,
    /// Number of specs that are left out.
    pub more_specs: u64,
    /// The time limit of all specs together, in seconds.
    pub seconds: u32,
    /// The lines with effects beyond the place, at most 30. They need a second yes.
    pub effects: Vec<SideEffectView>,
    /// Number of such lines that are left out.
    pub more_effects: u64,
    /// Whether all modules were looked through, because some requires are only known as the specs run.
    pub covers_all_modules: bool,
    /// The interrupted run whose results are read. Nothing is started then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumes: Option<Seq>,
    /// The last run of the same specs, if it is not known whether Roblox started it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unclear: Option<Seq>,
}

/// A line of a script that has an effect beyond the place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SideEffectView {
    /// The path of the script.
    pub script: String,
    /// The line and what it does, as a sentence.
    pub text: String,
}

/// A person runs the specs of a place with a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyStartRequest {
    /// The proposal that is verified.
    pub proposal: Seq,
    /// The id of the scratch place's universe.
    pub universe: u64,
    /// The id of the scratch place.
    pub place: u64,
    /// The contents that the person was shown.
    pub contents: Fingerprint,
    /// Whether the specs may have the effects beyond the place that the person was shown.
    #[serde(default)]
    pub allow_side_effects: bool,
}

/// The runs of a proposal, and of those that it replaced when it was replanned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyView {
    /// The proposal that is verified.
    pub proposal: Seq,
    /// The run that goes on in this daemon.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub running: Option<VerifyProgress>,
    /// Why the last request to this daemon had no results, and what to do next. None if it had, or if
    /// the last run says it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// The last upload, if it has no version and no run followed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload: Option<UploadView>,
    /// The runs, newest first, at most 5.
    pub runs: Vec<CloudRunView>,
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyProgress {
    /// The proposal that it was requested with, which the shown one may have replaced since.
    pub proposal: Seq,
    /// What it does at the moment.
    pub phase: VerifyPhase,
    /// When it was requested, in milliseconds since 1970-01-01 UTC.
    pub since: u64,
    /// Whether the person cancelled it.
    pub is_cancelled: bool,
}

/// What a run does at the moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum VerifyPhase {
    /// The place is built and looked through.
    Preparing,
    /// The place is uploaded to the scratch place.
    Uploading,
    /// The task is requested.
    Starting,
    /// The specs run on Roblox.
    Running,
}

/// A run on record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudRunView {
    /// The position of its `cloud_run_started` entry.
    pub seq: Seq,
    /// When it began, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// What ran, and where.
    pub run: CloudRun,
    /// What came of it. None if its results were not read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<CloudRunEnd>,
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloudRunEnd {
    /// When it was recorded, in milliseconds since 1970-01-01 UTC.
    pub at: u64,
    /// The number of cases that passed.
    pub passed: u64,
    /// The number of cases that failed, and of specs that did not run to their end.
    pub failed: u64,
    /// The number of cases that were skipped.
    pub skipped: u64,
    /// Why there are no results, and what to do next. None if there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// Whether it is not known that Roblox started the task.
    pub is_unclear: bool,
    /// What failed, and the output of the task. None if neither is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub report: Option<CloudRunReport>,
}
