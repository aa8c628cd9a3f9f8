//! Reviews of proposals by models, as clients show them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry::Seq;
use crate::review::ReviewFinding;

/// A review of a proposal by a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewView {
    /// The task of the reviewer.
    pub reviewer: Seq,
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// What became of it.
    pub state: ReviewStatus,
    /// What it looked at, or why it did not report. Empty while it runs.
    pub summary: String,
    /// The findings, those that matter most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<FindingView>,
}

/// What became of a review.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReviewStatus {
    /// The model is at work.
    Running,
    /// It has reported.
    Done,
    /// It ended without a report.
    Failed,
}

/// A finding of a reviewer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FindingView {
    /// The finding as it was reported.
    pub finding: ReviewFinding,
    /// What it is about, for display.
    pub about: String,
}
