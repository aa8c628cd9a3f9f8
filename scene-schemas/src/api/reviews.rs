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

/// What a review costs about, before it is asked for: its first request. Each script that the reviewer
/// reads adds to it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewEstimate {
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// The estimated tokens of the request.
    pub tokens: u64,
    /// Its estimated cost with a usual answer, in US dollars. None if the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<f64>,
}

impl ReviewEstimate {
    /// Returns the tokens and dollars, for display, such as `about 12,000 tokens, $0.04`.
    pub fn describe(&self) -> String {
        // More than two digits would promise what an estimate does not keep.
        let unit = 10_u64.pow(self.tokens.max(1).ilog10().saturating_sub(1));
        let rounded = (self.tokens + unit / 2) / unit * unit;
        let tokens = match rounded / 1_000 {
            0 => rounded.to_string(),
            thousands => format!("{thousands},{:03}", rounded % 1_000),
        };
        let cost = match self.dollars {
            Some(dollars) if dollars >= 0.005 => format!(", ${dollars:.2}"),
            Some(dollars) if dollars > 0.0 => ", less than $0.01".to_owned(),
            // A model on this machine, or an unknown price.
            Some(_) | None => String::new(),
        };
        format!("about {tokens} tokens{cost}")
    }
}

/// What a person reads before they ask for a review.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewQuote {
    /// What it costs about. None if no model can review the proposal now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<ReviewEstimate>,
    /// The model and the cost, or why no model can review it, as sentences.
    pub text: String,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimate_names_tokens_and_a_known_price() {
        let describe = |tokens, dollars| {
            ReviewEstimate { model: "maker/model".to_owned(), tokens, dollars }.describe()
        };
        assert_eq!(describe(0, None), "about 0 tokens");
        assert_eq!(describe(644, None), "about 640 tokens");
        assert_eq!(describe(9_960, None), "about 10,000 tokens");
        assert_eq!(describe(12_501, Some(0.0421)), "about 13,000 tokens, $0.04");
        assert_eq!(describe(12_000, Some(0.001)), "about 12,000 tokens, less than $0.01");
        assert_eq!(describe(1_000, Some(0.0)), "about 1,000 tokens");
    }
}
