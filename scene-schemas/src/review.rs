//! Reviews: the role of a model that reads a proposal before a person decides, and what it found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::comment::CommentSubject;
use crate::entry::Seq;

/// What a model does in a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "role", rename_all = "snake_case", deny_unknown_fields)]
pub enum TaskRole {
    /// It does all of the task that a person gave it.
    #[default]
    Solo,
    /// It reviews a proposal of another task: it reads, changes nothing, and reports findings.
    Reviewer {
        /// The position of the proposal.
        proposal: Seq,
    },
    /// It splits the task among workers, and answers for their merged result.
    Lead {},
    /// It does a part of a lead's task. Its proposals are merged with those of other workers before a
    /// person decides.
    Worker {
        /// The task of the lead.
        lead: Seq,
        /// The call with which the lead gave it away.
        call: Seq,
        /// The number of the part in the call, from 1.
        part: u32,
    },
    /// It reads, changes nothing, and answers a question of a lead.
    Scout {
        /// The task of the lead.
        lead: Seq,
        /// The call with which the lead gave it away.
        call: Seq,
        /// The number of the question in the call, from 1.
        part: u32,
    },
}

/// A part of a lead's task, and whose task that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct AssignedPart {
    /// The task of the lead.
    pub lead: Seq,
    /// The call with which the lead gave it away.
    pub call: Seq,
    /// The number of the part in the call, from 1.
    pub number: u32,
}

impl TaskRole {
    /// Whether a person talks to the model of the task: it is not one that another task started.
    pub fn is_own_task(&self) -> bool {
        matches!(self, Self::Solo | Self::Lead {})
    }

    /// Returns the part that a worker or a scout does.
    pub fn assigned_part(&self) -> Option<AssignedPart> {
        match *self {
            Self::Worker { lead, call, part } | Self::Scout { lead, call, part } => {
                Some(AssignedPart { lead, call, number: part })
            }
            Self::Solo | Self::Reviewer { .. } | Self::Lead {} => None,
        }
    }

    /// Whether the model goes on while its proposals are pending, and submits all of them at the end.
    pub fn submits(&self) -> bool {
        matches!(self, Self::Lead {} | Self::Worker { .. })
    }

    /// Whether it is the role of older entries, which name none.
    pub fn is_solo(&self) -> bool {
        *self == Self::Solo
    }
}

/// How much a finding matters.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum FindingSeverity {
    /// It breaks what the request asks for or what worked before, or lets players cheat.
    High,
    /// It fails in some cases, or is likely to do so later.
    Medium,
    /// It works, and could be better.
    Low,
}

impl FindingSeverity {
    /// Returns the severity as a word for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
        }
    }
}

/// Something that a reviewer found in a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewFinding {
    /// How much it matters.
    pub severity: FindingSeverity,
    /// What it is about.
    pub on: CommentSubject,
    /// The problem, and why it is one.
    pub text: String,
}

/// What a reviewer reported of a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewReport {
    /// What the reviewer looked at, in one or two sentences.
    pub summary: String,
    /// The findings, those that matter most first. Empty if there are none.
    pub findings: Vec<ReviewFinding>,
}

impl ReviewReport {
    /// Returns the number of findings by severity, for display.
    pub fn count_text(&self) -> String {
        let count = |severity| self.findings.iter().filter(|it| it.severity == severity).count();
        let all = [FindingSeverity::High, FindingSeverity::Medium, FindingSeverity::Low];
        let counted = all.map(|severity| (count(severity), severity.label()));
        let parts: Vec<String> = counted
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, label)| format!("{count} {label}"))
            .collect();
        match self.findings.len() {
            0 => "no findings".to_owned(),
            1 => format!("1 finding: {}", parts.join(", ")),
            count => format!("{count} findings: {}", parts.join(", ")),
        }
    }
}

/// A review that an agent asks for, before anything is spent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewOffer {
    /// The position of the proposal.
    pub proposal: Seq,
    /// The title of the proposal.
    pub title: String,
    /// The model: `PROVIDER/MODEL`.
    pub model: String,
    /// What its first request costs about, for display.
    pub cost: String,
}

#[cfg(test)]
mod tests {
    use super::FindingSeverity::{High, Low, Medium};
    use super::*;

    #[test]
    fn findings_are_counted_by_severity() {
        let finding = |severity| ReviewFinding {
            severity,
            on: CommentSubject::Proposal {},
            text: String::new(),
        };
        let report = |findings: &[FindingSeverity]| ReviewReport {
            summary: String::new(),
            findings: findings.iter().copied().map(finding).collect(),
        };
        assert_eq!(report(&[]).count_text(), "no findings");
        assert_eq!(report(&[Low]).count_text(), "1 finding: 1 low");
        assert_eq!(report(&[High, Low, High]).count_text(), "3 findings: 2 high, 1 low");
        assert_eq!(report(&[Medium, Medium]).count_text(), "2 findings: 2 medium");
    }

    #[test]
    fn role_of_an_old_entry_is_solo() {
        assert!(TaskRole::default().is_solo());
        let reviewer = TaskRole::Reviewer { proposal: Seq(7) };
        let json = serde_json::to_string(&reviewer).unwrap();
        assert_eq!(json, r#"{"role":"reviewer","proposal":7}"#);
        assert_eq!(serde_json::from_str::<TaskRole>(&json).unwrap(), reviewer);
    }
}
