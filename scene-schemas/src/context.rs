//! What a model is told of the scripts of a place when a task begins: which were chosen, which were left
//! out, and why. How they are chosen is not known here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::InstancePath;

/// The scripts that may matter for what a person asked for.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskContext {
    /// Those that the model is told of, the most important first.
    pub scripts: Vec<ContextScript>,
    /// The best of those that were left out; they count into the budget too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left: Vec<ExcludedScript>,
    /// How many more were left out, and are not named.
    #[serde(default, skip_serializing_if = "crate::proposal::is_zero")]
    pub left_more: u32,
    /// How many scripts fit at all.
    pub fitting: u32,
    /// How many scripts there are.
    pub of: u32,
    /// How long all that is told may be, in bytes.
    pub budget: u64,
    /// How long it is taken to be.
    pub bytes: u64,
}

/// A script that a model is told of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextScript {
    /// Which.
    pub path: InstancePath,
    /// Why, in a person's words.
    pub why: String,
    /// What it defines, with the lines: `Shop.open 4-7`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub definitions: Vec<String>,
    /// How many of its definitions are not named.
    #[serde(default)]
    pub more: u32,
    /// Its text, where there is room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A script that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExcludedScript {
    /// Which.
    pub path: InstancePath,
    /// Why it would fit, and why it was left out, in a person's words.
    pub why: String,
}
