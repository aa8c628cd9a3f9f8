//! The mirror of an open place: what the plugin says of it, and what the daemon asks.
//!
//! Ids are debug ids with `studio:` before them. The plugin counts a version for every change that it
//! says; updates arrive in the order in which they were made.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::{AssetContents, InstanceId};
use crate::value::Value;

/// What the plugin says of its place, in order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SceneUpdate {
    /// The session's epoch.
    pub epoch: u64,
    /// The version of the place when this was said.
    pub version: u64,
    /// What is said.
    pub parts: Vec<ScenePart>,
}

/// An update was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SceneTaken {
    /// How many instances are mirrored now.
    pub instances: u32,
}

/// One thing that is said of a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "part", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScenePart {
    /// A snapshot begins: what was said before is forgotten.
    Begin {
        /// About how many instances will come.
        total: u32,
    },
    /// Instances of the snapshot, parents before their children, siblings in order.
    Nodes {
        /// They.
        nodes: Nodes,
    },
    /// The snapshot is whole.
    End {},
    /// The texts of scripts, as the editor has them.
    Sources {
        /// They.
        scripts: Vec<ScriptText>,
    },
    /// An instance came, below one that is known, behind its siblings. Said again of one that is
    /// known, it is where it now is.
    Added {
        /// Its id.
        id: InstanceId,
        /// Its parent.
        parent: InstanceId,
        /// Its class.
        class: String,
        /// Its name.
        name: String,
    },
    /// An instance went, with all below it.
    Removed {
        /// Which.
        id: InstanceId,
    },
    /// An instance has another name.
    Renamed {
        /// Which.
        id: InstanceId,
        /// The name.
        name: String,
    },
    /// Properties of an instance are others now; who wants to know them asks. `Source`, `Tags` and
    /// `@Key` are among them.
    Changed {
        /// Which.
        id: InstanceId,
        /// Which properties.
        names: Vec<String>,
    },
    /// What the daemon asked for.
    Answered {
        /// The number of the work.
        work: u64,
        /// The answer.
        answer: Answer,
    },
    /// A person has undone the recording of a proposal in Studio.
    Undone {
        /// The recording's name: `Vector <proposal>`, as it was told.
        recording: String,
    },
    /// A person has redone it.
    Redone {
        /// The recording's name.
        recording: String,
    },
}

/// Instances by columns; all lists but `classes` are of one length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nodes {
    /// Names of classes.
    pub classes: Vec<String>,
    /// Of each instance, its id.
    pub ids: Vec<InstanceId>,
    /// Its parent: 0 is `game`, and n is the nth instance of this snapshot.
    pub parents: Vec<u32>,
    /// Its class, as a place in `classes`, from 0.
    pub class: Vec<u32>,
    /// Its name.
    pub names: Vec<String>,
}

/// The text of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptText {
    /// Which script.
    pub id: InstanceId,
    /// Its text, drafts included.
    pub text: String,
    /// Whether the editor has a draft that is not what the place has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_dirty: bool,
}

/// What the daemon wants to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "want", rename_all = "snake_case", deny_unknown_fields)]
pub enum Wanted {
    /// Values of properties.
    Properties {
        /// Of whom, and which.
        of: Vec<WantedProperties>,
    },
    /// Texts of scripts.
    Sources {
        /// Whose.
        ids: Vec<InstanceId>,
    },
    /// The script that is open in front.
    ActiveScript {},
    /// What is selected in the explorer.
    Selection {},
    /// The scripts that are open.
    Documents {
        /// At most so many.
        max: u32,
    },
    /// Nothing: an instance is selected, a script is opened.
    Reveal {
        /// Which.
        id: InstanceId,
        /// The line, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
    },
    /// A picture of the viewport.
    Capture {},
    /// What an asset would bring.
    Asset {
        /// Its number.
        asset: u64,
    },
}

/// Properties of an instance that somebody wants to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WantedProperties {
    /// Whose.
    pub id: InstanceId,
    /// Which: names, `Tags`, and `@Key`; `@` alone means all attributes, as one value Attributes.
    pub names: Vec<String>,
}

/// What the plugin answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum Answer {
    /// Values of properties.
    Properties {
        /// Of each instance that is still there.
        known: Vec<KnownProperties>,
    },
    /// Texts of scripts.
    Sources {
        /// Of each that is still there.
        scripts: Vec<ScriptText>,
    },
    /// The script that is open in front; none where none is.
    ActiveScript {
        /// It.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<Document>,
    },
    /// What is selected, in order.
    Selection {
        /// They; at most 100.
        ids: Vec<InstanceId>,
        /// How many there are.
        count: u32,
    },
    /// The scripts that are open.
    Documents {
        /// They.
        documents: Vec<Document>,
    },
    /// It was done.
    Revealed {},
    /// A picture.
    Captured {
        /// A PNG, in base64.
        png: String,
    },
    /// What an asset would bring.
    Asset {
        /// It.
        holds: AssetContents,
    },
    /// It cannot be told.
    Failed {
        /// Why, and what a person can do.
        reason: String,
    },
}

/// Values of an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownProperties {
    /// Whose.
    pub id: InstanceId,
    /// By name. `Tags` is of the type Tags.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Value>,
    /// Properties that were asked for and have no value that could be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A script that is open in the editor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Which script; none for what is no instance of the place.
    pub id: InstanceId,
    /// Whether the editor has a draft that is not what the place has.
    pub is_dirty: bool,
    /// Its text, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What is selected in it, where something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<String>,
}
