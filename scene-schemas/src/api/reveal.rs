//! The wire types for showing a script where a person works on it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::InstancePath;

/// A program that shows scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RevealTarget {
    /// Studio, if the place is open there.
    Studio,
    /// The person's editor, for the script's file in a Rojo project.
    Editor,
}

/// A person wants to see a script or an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RevealRequest {
    /// The path of the script or instance.
    pub path: InstancePath,
    /// The line to show, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// Where to show it.
    pub target: RevealTarget,
}

/// Where a script is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revealed {
    /// The script's file, as an absolute path. None in Studio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The address that opens it. None if the daemon has opened it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The file of a script in a Rojo project.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    /// The file's absolute path.
    pub file: String,
    /// The address that opens it in the person's editor, or the file's own address.
    pub url: String,
}
