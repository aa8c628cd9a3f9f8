//! Commits of accepted changes in a Rojo project, and their progress.
//!
//! These are data only; the daemon runs Git.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Failure;
use super::session::SessionId;
use crate::entry::Seq;

/// A person requests a commit of the accepted changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitRequest {
    /// The session of the project.
    pub session: SessionId,
    /// The branch, which is created if it does not exist. If absent, one of Vector's own branches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The first line of the commit message. If absent, the last request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The remote to push the branch to; an empty text is the usual one. If absent, nothing is pushed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub push: Option<String>,
}

/// The commit that would be made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitPlan {
    /// The project file.
    pub project: String,
    /// The branch.
    pub branch: String,
    /// Whether the branch will be created.
    pub is_new: bool,
    /// The commit message.
    pub message: String,
    /// The files, as Git names them. Empty if there is nothing to commit.
    pub files: Vec<String>,
    /// The proposals that are not committed yet.
    pub proposals: Vec<CommittedProposal>,
    /// The files that are left out.
    pub left: Vec<ExcludedFile>,
    /// The remotes that the branch can be pushed to, the usual one first.
    pub remotes: Vec<String>,
    /// The running commit of this project. It must end before another can start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_work: Option<u64>,
}

/// A branch that was pushed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PushedTo {
    /// The remote's name in Git.
    pub remote: String,
    /// The page on which a pull request for the branch is opened, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pull_request: Option<String>,
}

/// A proposal that is part of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommittedProposal {
    /// The ledger position that identifies the proposal.
    pub seq: Seq,
    /// The proposal's title.
    pub title: String,
}

/// A file that a commit leaves out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExcludedFile {
    /// The file, as Git names it.
    pub file: String,
    /// The reason and what to do about it, phrased to follow the file's name.
    pub why: String,
}

/// A commit was started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitStarted {
    /// The commit's id, valid while the daemon runs.
    pub id: u64,
}

/// The progress of a commit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CommitState {
    /// The commit's id.
    pub id: u64,
    /// The project file.
    pub project: String,
    /// The current step, from 1.
    pub step: u32,
    /// Number of steps.
    pub steps: u32,
    /// A description of the current step.
    pub doing: String,
    /// The file being checked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The files that are left out.
    pub left: Vec<ExcludedFile>,
    /// Whether the commit has ended.
    pub is_over: bool,
    /// The branch. None until it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The committed files.
    pub files: Vec<String>,
    /// The commit. None if there was nothing to commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// A problem that occurred after the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Where the branch was pushed. None if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pushed: Option<PushedTo>,
    /// The reason nothing was committed, or the commit was not pushed. None if nothing failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
}
