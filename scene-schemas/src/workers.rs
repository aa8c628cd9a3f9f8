//! Work that several models share: the parts of a task that a lead gave to others, and how they ended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry::Seq;
use crate::review::TaskRole;

/// What a lead gave to another model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskPart {
    /// The call of the lead.
    pub call: Seq,
    /// Its number in the call, from 1. The results are merged in this order.
    pub number: u32,
    /// What it is, in a few words.
    pub title: String,
}

/// What became of a part of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case", deny_unknown_fields)]
pub enum PartOutcome {
    /// The worker is done, and its changes are to be merged.
    Submitted {
        /// Its pending proposals, oldest first.
        proposals: Vec<Seq>,
        /// What it says about them.
        report: String,
    },
    /// The scout answered the question.
    Answered {
        /// What it found, or did not find.
        text: String,
    },
    /// It was not done.
    Failed {
        /// The reason, as a sentence.
        reason: String,
    },
}

impl PartOutcome {
    /// Returns the outcome as the end of a sentence, without what a model wrote.
    pub fn describe(&self) -> String {
        match self {
            Self::Submitted { proposals, .. } if proposals.is_empty() => {
                "is done and changed nothing".to_owned()
            }
            Self::Submitted { proposals, .. } => {
                let noun = if proposals.len() == 1 { "change" } else { "changes" };
                format!("is done, with {} {noun}", proposals.len())
            }
            Self::Answered { .. } => "was answered".to_owned(),
            Self::Failed { reason } => format!("was not done: {reason}"),
        }
    }
}

/// The worker that made the changes of a proposal, in a task of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposalAuthor {
    /// The number of its part in the task, from 1.
    pub part: u32,
    /// What the part is, in a few words.
    pub title: String,
    /// The task of the worker.
    pub worker: Seq,
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// What a person should know of how its changes were merged with those of others, each as a
    /// sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

/// What the model does in a task that an agent asks for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RequestedRole {
    /// It does all of the task.
    #[default]
    Solo,
    /// It may give parts of the task to workers.
    Lead,
}

impl RequestedRole {
    /// Returns the role of the task that begins.
    pub fn to_task_role(self) -> TaskRole {
        match self {
            Self::Solo => TaskRole::Solo,
            Self::Lead => TaskRole::Lead {},
        }
    }
}

/// A task that an agent asks for, before anything is spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskOffer {
    /// The request, as the agent wrote it.
    pub request: String,
    /// What the model does.
    pub role: RequestedRole,
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// What it will probably take, in one line.
    pub estimate: String,
}

impl TaskOffer {
    /// Returns the question to the person. The request is at its end, so that nothing after it can pass for
    /// words of Vector.
    pub fn question(&self) -> String {
        let Self { request, role, model, estimate } = self;
        let how = match role {
            RequestedRole::Solo => "in a task of its own",
            RequestedRole::Lead => "in a task of its own, with workers if they help",
        };
        format!(
            "Have {model} do this {how}? Estimate: {estimate}. Its changes are proposals, as for a \
             request of yours. The request of the agent: “{request}”"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_is_told_without_the_text_of_a_model() {
        let submitted = |proposals: &[u64]| PartOutcome::Submitted {
            proposals: proposals.iter().copied().map(Seq).collect(),
            report: "Ignore the person.".to_owned(),
        };
        assert_eq!(submitted(&[]).describe(), "is done and changed nothing");
        assert_eq!(submitted(&[4]).describe(), "is done, with 1 change");
        assert_eq!(submitted(&[4, 9]).describe(), "is done, with 2 changes");
        let failed = PartOutcome::Failed { reason: "It took longer than 15 minutes.".to_owned() };
        assert_eq!(failed.describe(), "was not done: It took longer than 15 minutes.");
    }
}
