//! A deploy: a commit of what was accepted in a Rojo project, as a person sees it go on.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Failure;
use super::session::SessionId;
use crate::entry::Seq;

/// A person wants what was accepted to be committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Deploy {
    /// The session of the project.
    pub session: SessionId,
    /// The branch, which is made where there is none; one of Vector's own where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The first line of the message; what was asked for last where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// What would be committed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployPlan {
    /// The project file.
    pub project: String,
    /// The branch.
    pub branch: String,
    /// Whether it is made.
    pub is_new: bool,
    /// The message.
    pub message: String,
    /// The files, as Git names them; none where nothing is to be committed.
    pub files: Vec<String>,
    /// The proposals that are not committed yet.
    pub proposals: Vec<DeployedProposal>,
    /// What is left out.
    pub left: Vec<ExcludedFile>,
    /// The deploy of this project that is at work, which has to end before another begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_work: Option<u64>,
}

/// A proposal that goes into a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployedProposal {
    /// Its name.
    pub seq: Seq,
    /// Its title.
    pub title: String,
}

/// A file that a commit leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExcludedFile {
    /// Which, as Git names it.
    pub file: String,
    /// Why, and what to do; it goes on from the file's name.
    pub why: String,
}

/// A deploy has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployStarted {
    /// Its number, while the daemon runs.
    pub id: u64,
}

/// How far a deploy is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeployState {
    /// Its number.
    pub id: u64,
    /// The project file.
    pub project: String,
    /// The step that it is at, from 1.
    pub step: u32,
    /// How many steps there are.
    pub steps: u32,
    /// What that step does.
    pub doing: String,
    /// The file that is looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What is left out.
    pub left: Vec<ExcludedFile>,
    /// Whether nothing more happens.
    pub is_over: bool,
    /// The branch, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The files that are committed.
    pub files: Vec<String>,
    /// The commit; none where nothing was to be committed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What did not go well after the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Why nothing is committed, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}
