//! The scripts that Vector describes to a model at the start of a task, and why it chose them.
//!
//! This module does not know how the scripts are chosen.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::InstancePath;

/// The scripts of the place that may matter for a request.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskContext {
    /// The scripts described to the model, most important first.
    pub scripts: Vec<ContextScript>,
    /// The best of the scripts that were left out. Their names count toward the budget too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub excluded: Vec<ExcludedScript>,
    /// Number of further scripts that were left out and are not listed.
    #[serde(default, skip_serializing_if = "crate::proposal::is_zero")]
    pub more_excluded: u32,
    /// Number of scripts that match the request.
    pub matching: u32,
    /// Number of scripts in the place.
    pub script_count: u32,
    /// Size limit of the text about scripts, in bytes.
    pub budget: u64,
    /// Estimated size of that text, in bytes.
    pub bytes: u64,
    /// The instances of the subjects that the request names, such as its spawn locations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subjects: Vec<ContextSubject>,
    /// What was selected, unsaved, pending and failing when the task began, as far as it was known:
    /// one line for the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub situation: Option<String>,
}

impl TaskContext {
    /// Whether it tells the model nothing.
    pub fn is_empty(&self) -> bool {
        self.scripts.is_empty() && self.subjects.is_empty() && self.situation.is_none()
    }
}

/// A subject that a request names, with the instances of the place that belong to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextSubject {
    /// The subject, worded for a person.
    pub subject: String,
    /// The first of its instances, in tree order.
    pub instances: Vec<InstancePath>,
    /// Number of instances that are not listed.
    #[serde(default, skip_serializing_if = "crate::proposal::is_zero")]
    pub more: u32,
}

impl ContextSubject {
    /// Returns the line about it, without its end.
    pub fn to_line(&self) -> String {
        let paths: Vec<String> = self.instances.iter().map(ToString::to_string).collect();
        let more = if self.more > 0 { format!(" and {} more", self.more) } else { String::new() };
        format!("- {}: {}{more}", self.subject, paths.join(", "))
    }
}

/// A script described to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextScript {
    /// The script's path.
    pub path: InstancePath,
    /// The reason it was chosen, worded for a person.
    pub why: String,
    /// The script's definitions with their lines, such as `Shop.open 4-7`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<String>,
    /// Number of definitions that are not listed.
    #[serde(default)]
    pub more: u32,
    /// The script's text. None if there is no room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A script that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExcludedScript {
    /// The script's path.
    pub path: InstancePath,
    /// The reasons it matches and was left out, worded for a person.
    pub why: String,
}
