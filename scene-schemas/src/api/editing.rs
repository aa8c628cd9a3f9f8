//! Changes that a person makes to a proposal, and help while typing them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::path::InstancePath;

/// A change that a person makes to a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "part", rename_all = "snake_case", deny_unknown_fields)]
pub enum HandEdit {
    /// Gives a changed or created script another resulting text.
    Script {
        /// Index of the script in the preview, from 0.
        script: u32,
        /// The whole text of the script.
        text: String,
    },
    /// Gives a property another resulting value.
    Property {
        /// Index of the command that sets the property, from 0.
        command: u32,
        /// The property as its row names it.
        property: String,
        /// The value, in any form that `set_properties` accepts; null for the default.
        value: Json,
    },
}

/// The text of a script that a pending proposal changes or creates.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedScript {
    /// The script's path.
    pub path: InstancePath,
    /// The text before the proposal; empty if the proposal creates the script.
    pub before: String,
    /// The resulting text.
    pub text: String,
}

/// A text of a script to check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckScript {
    /// The whole text of the script.
    pub text: String,
}

/// What was found in the text of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptFindings {
    /// The findings, in order. If the text does not compile, they are the errors.
    pub findings: Vec<ScriptFinding>,
}

/// A finding in the text of a script. Lines and columns count from 1, columns in characters (Unicode
/// scalar values).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptFinding {
    /// Whether the script certainly fails because of it.
    pub is_error: bool,
    /// The rule, such as `syntax` or `undefined_variable`.
    pub code: String,
    /// What is wrong, as one sentence.
    pub message: String,
    /// The line on which it begins.
    pub line: u32,
    /// The column at which it begins.
    pub column: u32,
    /// The line on which it ends.
    pub end_line: u32,
    /// The column after the last character.
    pub end_column: u32,
}

/// A position in a text for which names are wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompleteScript {
    /// The whole text of the script.
    pub text: String,
    /// The line of the position, from 1.
    pub line: u32,
    /// The column of the position, from 1, in characters (Unicode scalar values).
    pub column: u32,
}

/// The names that can follow at a position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Completions {
    /// The column at which the typed part of the name begins.
    pub from: u32,
    /// The names that begin with the typed part, whatever the case.
    pub names: Vec<CompletionName>,
}

/// A name that can follow at a position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompletionName {
    /// The name as it is written.
    pub name: String,
    /// What the name stands for.
    pub kind: CompletionKind,
    /// Its type or parameters, and the class that has it. Empty if nothing is known.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub detail: String,
}

/// What a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CompletionKind {
    /// A word of the language.
    Keyword,
    /// A variable, parameter or function of the script.
    Local,
    /// A global of Luau or Roblox.
    Global,
    /// A class of instances.
    Class,
    /// An enum of Roblox.
    Enum,
    /// An item of an enum.
    EnumItem,
    /// A property or constant.
    Property,
    /// A method or function.
    Method,
    /// An event.
    Event,
}
