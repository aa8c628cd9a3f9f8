//! How large a task will be, estimated before any model is asked.
//!
//! This module does not know how the estimate is made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How large a task is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum TaskTier {
    /// A question, or one change to one thing.
    Trivial,
    /// One wish, within one script or one side of the game.
    Simple,
    /// A feature that crosses client and server, or several wishes or systems.
    Complex,
    /// The whole game, its structure, or most of its scripts.
    Architectural,
}

impl TaskTier {
    /// All tiers, the smallest first.
    pub const ALL: [Self; 4] = [Self::Trivial, Self::Simple, Self::Complex, Self::Architectural];

    /// Returns the tier as a word for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::Trivial => "Trivial",
            Self::Simple => "Simple",
            Self::Complex => "Complex",
            Self::Architectural => "Architectural",
        }
    }
}

/// What a model could do in a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EstimatedRole {
    /// Does everything by itself.
    Solo,
    /// Plans the parts, and joins what the workers propose.
    Lead,
    /// Does one part of the task, in an overlay of its own.
    Worker,
    /// Reads the proposals before a person decides.
    Reviewer,
}

/// A range of tokens, read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TokenRange {
    /// If everything succeeds at once.
    pub low: u64,
    /// With detours that are usual for such a task.
    pub high: u64,
}

/// A range of costs in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DollarRange {
    /// The cost of the lowest number of tokens.
    pub low: f64,
    /// The cost of the highest number of tokens.
    pub high: f64,
}

/// A role that a task could have, and what it would use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleEstimate {
    /// The role that is counted.
    pub role: EstimatedRole,
    /// How many of it, from 1.
    pub count: u32,
    /// The tokens of all of them. None without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenRange>,
    /// The cost of all of them. None if a price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<DollarRange>,
}

/// What a request will probably take.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskEstimate {
    /// How large the task is.
    pub tier: TaskTier,
    /// Why, worded for a person, the most important reason first.
    pub reasons: Vec<String>,
    /// The role of the model that the request is for, which the numbers are for: it does everything
    /// alone, or leads.
    pub role: EstimatedRole,
    /// The roles that it could have. The first is always one that does everything alone.
    pub roles: Vec<RoleEstimate>,
    /// The tokens of all models that take part. None without a model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenRange>,
    /// The cost of all models that take part. None if a price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dollars: Option<DollarRange>,
    /// What the numbers assume, worded for a person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// The estimate in one line, worded for a person.
    pub line: String,
    /// Whether it is above the limit from which on a request has to be confirmed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_confirmation: bool,
}

impl TaskEstimate {
    /// Returns the estimate in one line: `Simple · alone · about 12,000 to 40,000 tokens, $0.04 to
    /// $0.12`.
    pub fn to_line(&self) -> String {
        let count = |role| self.roles.iter().find(|it| it.role == role).map_or(0, |it| it.count);
        let workers = count(EstimatedRole::Worker);
        let team = match (self.role, workers, count(EstimatedRole::Reviewer)) {
            (EstimatedRole::Lead, 0, _) => "a lead with workers".to_owned(),
            (EstimatedRole::Lead, _, _) => format!("a lead with up to {workers} workers"),
            (_, 0, 0) => "alone".to_owned(),
            (_, 0, _) => "alone, a review is worth it".to_owned(),
            (_, workers, _) => format!("alone, or a lead with {workers} workers"),
        };
        let mut line = format!("{} · {team}", self.tier.label());
        if let Some(TokenRange { low, high }) = self.tokens {
            let (low, high) = (thousands(round_tokens(low)), thousands(round_tokens(high)));
            let tokens = if low == high { low } else { format!("{low} to {high}") };
            line.push_str(&format!(" · about {tokens} tokens"));
        }
        if let Some(DollarRange { low, high }) = self.dollars {
            let (low, high) = (dollar_text(low), dollar_text(high));
            let dollars = if low == high { low } else { format!("{low} to {high}") };
            line.push_str(&format!(", {dollars}"));
        }
        line
    }
}

/// Rounds to two significant digits: the rest would be a false promise.
fn round_tokens(tokens: u64) -> u64 {
    let digits = tokens.checked_ilog10().unwrap_or(0);
    let unit = 10_u64.pow(digits.saturating_sub(1));
    (tokens + unit / 2) / unit * unit
}

fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn dollar_text(dollars: f64) -> String {
    if dollars > 0.0 && dollars < 0.01 { "$0.01".to_owned() } else { format!("${dollars:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(tokens: Option<TokenRange>, dollars: Option<DollarRange>) -> TaskEstimate {
        let solo = RoleEstimate { role: EstimatedRole::Solo, count: 1, tokens, dollars };
        TaskEstimate {
            tier: TaskTier::Simple,
            reasons: Vec::new(),
            role: EstimatedRole::Solo,
            roles: vec![solo],
            tokens,
            dollars,
            assumptions: Vec::new(),
            line: String::new(),
            needs_confirmation: false,
        }
    }

    #[test]
    fn line_tells_what_is_known() {
        let tokens = Some(TokenRange { low: 12_345, high: 1_234_567 });
        let dollars = Some(DollarRange { low: 0.004, high: 1.5 });
        assert_eq!(
            estimate(tokens, dollars).to_line(),
            "Simple · alone · about 12,000 to 1,200,000 tokens, $0.01 to $1.50"
        );
        let free = Some(DollarRange { low: 0.0, high: 0.0 });
        let few = Some(TokenRange { low: 996, high: 1_004 });
        assert_eq!(estimate(few, free).to_line(), "Simple · alone · about 1,000 tokens, $0.00");
        assert_eq!(estimate(few, None).to_line(), "Simple · alone · about 1,000 tokens");
        assert_eq!(estimate(None, None).to_line(), "Simple · alone");
        let mut team = estimate(None, None);
        let role = |role, count| RoleEstimate { role, count, tokens: None, dollars: None };
        team.roles.push(role(EstimatedRole::Reviewer, 1));
        assert_eq!(team.to_line(), "Simple · alone, a review is worth it");
        team.roles.push(role(EstimatedRole::Worker, 3));
        assert_eq!(team.to_line(), "Simple · alone, or a lead with 3 workers");
        team.role = EstimatedRole::Lead;
        assert_eq!(team.to_line(), "Simple · a lead with up to 3 workers");
    }
}
