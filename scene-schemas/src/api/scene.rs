//! The mirror of an open place: the plugin's updates, the daemon's queries and the plugin's
//! answers.
//!
//! Instance ids are Studio's debug ids with the prefix `studio:`. The plugin increments the version
//! for every change that it reports. Updates arrive in the order in which they were made.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::command::{AssetContents, InstanceId};
use crate::playtest::{PlaytestEnd, StudioOutput};
use crate::value::Value;

/// An update about the place, sent by the plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SceneUpdate {
    /// The session's epoch.
    pub epoch: u64,
    /// The version of the place when the update was made.
    pub version: u64,
    /// The parts of the update, in order.
    pub parts: Vec<ScenePart>,
}

/// An update was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SceneReceipt {
    /// Number of mirrored instances.
    pub instances: u32,
}

/// One part of an update.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "part", rename_all = "snake_case", deny_unknown_fields)]
pub enum ScenePart {
    /// A snapshot begins. Everything reported before is discarded.
    Begin {
        /// Approximate number of instances in the snapshot.
        total: u32,
    },
    /// Instances of the snapshot: parents before their children, siblings in order.
    Nodes {
        /// The instances.
        nodes: NodeColumns,
    },
    /// The snapshot is complete.
    End {},
    /// Texts of scripts, as the editor has them.
    Sources {
        /// The scripts.
        scripts: Vec<ScriptText>,
    },
    /// An instance was added below a known one, as its last child. For an instance that is already
    /// known, this reports its new location.
    Added {
        /// The instance's id.
        id: InstanceId,
        /// The parent's id.
        parent: InstanceId,
        /// The instance's class.
        class: String,
        /// The instance's name.
        name: String,
    },
    /// An instance was removed with its descendants.
    Removed {
        /// The instance's id.
        id: InstanceId,
    },
    /// An instance was renamed.
    Renamed {
        /// The instance's id.
        id: InstanceId,
        /// The new name.
        name: String,
    },
    /// Properties of an instance changed. The daemon must query the new values. The names may
    /// include `Source`, `Tags` and `@Key`.
    Changed {
        /// The instance's id.
        id: InstanceId,
        /// The names of the changed properties.
        names: Vec<String>,
    },
    /// The answer to a query of the daemon.
    Answered {
        /// The number of the work that contained the query.
        work: u64,
        /// The answer.
        answer: PluginAnswer,
    },
    /// A person undid the recording of a proposal in Studio.
    Undone {
        /// The recording's name, `Vector <proposal>`, as given in the work.
        recording: String,
        /// The paths of the scripts that were edited since, and keep their text.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edited: Vec<String>,
    },
    /// A person redid the recording of a proposal in Studio.
    Redone {
        /// The recording's name.
        recording: String,
        /// As in `undone`.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        edited: Vec<String>,
    },
}

/// A part as it is sent, with its fields in any order. The code that serde derives for a tagged
/// enum would copy every script text once more before it reads the tag.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct UnorderedPart {
    part: PartKind,
    total: Option<u32>,
    nodes: Option<NodeColumns>,
    scripts: Option<Vec<ScriptText>>,
    id: Option<InstanceId>,
    parent: Option<InstanceId>,
    class: Option<String>,
    name: Option<String>,
    names: Option<Vec<String>>,
    work: Option<u64>,
    answer: Option<PluginAnswer>,
    recording: Option<String>,
    edited: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PartKind {
    #[default]
    Begin,
    Nodes,
    End,
    Sources,
    Added,
    Removed,
    Renamed,
    Changed,
    Answered,
    Undone,
    Redone,
}

impl<'de> Deserialize<'de> for ScenePart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        fn take<T, E: Error>(field: &mut Option<T>, name: &'static str) -> Result<T, E> {
            field.take().ok_or_else(|| E::missing_field(name))
        }
        let mut it = UnorderedPart::deserialize(deserializer)?;
        let part = match it.part {
            PartKind::Begin => Self::Begin { total: take(&mut it.total, "total")? },
            PartKind::Nodes => Self::Nodes { nodes: take(&mut it.nodes, "nodes")? },
            PartKind::End => Self::End {},
            PartKind::Sources => Self::Sources { scripts: take(&mut it.scripts, "scripts")? },
            PartKind::Added => Self::Added {
                id: take(&mut it.id, "id")?,
                parent: take(&mut it.parent, "parent")?,
                class: take(&mut it.class, "class")?,
                name: take(&mut it.name, "name")?,
            },
            PartKind::Removed => Self::Removed { id: take(&mut it.id, "id")? },
            PartKind::Renamed => {
                Self::Renamed { id: take(&mut it.id, "id")?, name: take(&mut it.name, "name")? }
            }
            PartKind::Changed => {
                Self::Changed { id: take(&mut it.id, "id")?, names: take(&mut it.names, "names")? }
            }
            PartKind::Answered => Self::Answered {
                work: take(&mut it.work, "work")?,
                answer: take(&mut it.answer, "answer")?,
            },
            PartKind::Undone => Self::Undone {
                recording: take(&mut it.recording, "recording")?,
                edited: it.edited.take().unwrap_or_default(),
            },
            PartKind::Redone => Self::Redone {
                recording: take(&mut it.recording, "recording")?,
                edited: it.edited.take().unwrap_or_default(),
            },
        };
        if it != (UnorderedPart { part: it.part, ..UnorderedPart::default() }) {
            return Err(D::Error::custom("a field that belongs to another part"));
        }
        Ok(part)
    }
}

/// Instances as columns. All lists except `classes` have the same length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeColumns {
    /// The class names that `class` refers to.
    pub classes: Vec<String>,
    /// Each instance's id.
    pub ids: Vec<InstanceId>,
    /// Each instance's parent: 0 is `game`, and n is the nth instance of this snapshot.
    pub parents: Vec<u32>,
    /// Each instance's class, as an index into `classes`, from 0.
    pub class: Vec<u32>,
    /// Each instance's name.
    pub names: Vec<String>,
}

/// The text of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptText {
    /// The script's id.
    pub id: InstanceId,
    /// The script's text, including unsaved drafts.
    pub text: String,
    /// Whether the editor has a draft that differs from the place.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_dirty: bool,
}

/// A query from the daemon to the plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "want", rename_all = "snake_case", deny_unknown_fields)]
pub enum PluginQuery {
    /// Read the values of properties.
    Properties {
        /// The instances and their properties to read.
        of: Vec<PropertyQuery>,
    },
    /// Read the texts of scripts.
    Sources {
        /// The ids of the scripts.
        ids: Vec<InstanceId>,
    },
    /// Read the script that is active in the editor.
    ActiveScript {},
    /// Read the selection in the Explorer.
    Selection {},
    /// List the open scripts.
    Documents {
        /// Maximum number of scripts.
        max: u32,
    },
    /// Select an instance, or open a script, in Studio. Returns no data.
    Reveal {
        /// The id of the instance or script.
        id: InstanceId,
        /// The line to show, from 1.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        line: Option<u32>,
    },
    /// Read the output of the place.
    Output {
        /// Maximum number of messages, the newest ones.
        max: u32,
    },
    /// Read the contents of an asset.
    Asset {
        /// The asset's id on Roblox.
        asset: u64,
    },
}

/// A query for properties of an instance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PropertyQuery {
    /// The instance's id.
    pub id: InstanceId,
    /// The properties to read: names, `Tags` and `@Key`. `@` alone means all attributes, as one
    /// value of type Attributes.
    pub names: Vec<String>,
}

/// The plugin's answer to a query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum PluginAnswer {
    /// The values of properties.
    Properties {
        /// The values of each instance that still exists.
        known: Vec<KnownProperties>,
    },
    /// The texts of scripts.
    Sources {
        /// The texts of the scripts that still exist.
        scripts: Vec<ScriptText>,
    },
    /// The script that is active in the editor.
    ActiveScript {
        /// The script. None if no script is active.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        script: Option<Document>,
    },
    /// The selection, in order.
    Selection {
        /// The selected instances, at most 100.
        ids: Vec<InstanceId>,
        /// Total number of selected instances.
        count: u32,
    },
    /// The open scripts.
    Documents {
        /// The scripts.
        documents: Vec<Document>,
    },
    /// The instance or script is shown.
    Revealed {},
    /// The output of the place.
    Output {
        /// The newest messages that were asked for.
        output: StudioOutput,
    },
    /// The game was played.
    Played {
        /// How the playtest ended.
        ended: PlaytestEnd,
        /// How long it took, with the start of the game, in seconds.
        seconds: f64,
        /// The output of its DataModels.
        output: StudioOutput,
    },
    /// The playtest ends.
    PlaytestEnds {},
    /// The contents of an asset.
    Asset {
        /// The contents.
        contents: AssetContents,
    },
    /// The query failed.
    Failed {
        /// The reason, and what a person can do about it.
        reason: String,
    },
}

/// Property values of an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KnownProperties {
    /// The instance's id.
    pub id: InstanceId,
    /// The values by property name. The value of `Tags` has the type Tags.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub values: BTreeMap<String, Value>,
    /// Requested properties without a readable value.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// A script that is open in the editor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The script's id. The mirror does not have it if the script is not an instance of the place.
    pub id: InstanceId,
    /// Whether the editor has a draft that differs from the place.
    pub is_dirty: bool,
    /// The script's text. None if it was not requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The selected text. None if nothing is selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn read(part: &Json) -> Result<ScenePart, String> {
        serde_json::from_value(part.clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn parts_round_trip_and_wrong_fields_are_refused() {
        let nodes = json!({ "classes": ["Part"], "ids": ["studio:1"], "parents": [0], "class": [0], "names": ["A"] });
        let parts = [
            json!({ "part": "begin", "total": 3 }),
            json!({ "part": "nodes", "nodes": nodes }),
            json!({ "part": "end" }),
            json!({ "part": "sources", "scripts": [{ "id": "studio:1", "text": "x", "is_dirty": true }] }),
            json!({ "part": "added", "id": "studio:2", "parent": "game", "class": "Part", "name": "B" }),
            json!({ "part": "removed", "id": "studio:2" }),
            json!({ "part": "renamed", "id": "studio:2", "name": "C" }),
            json!({ "part": "changed", "id": "studio:2", "names": ["Size", "@Key"] }),
            json!({ "part": "answered", "work": 7, "answer": { "answer": "revealed" } }),
            json!({ "part": "undone", "recording": "Vector 4" }),
            json!({ "part": "redone", "recording": "Vector 4" }),
        ];
        for part in &parts {
            let read = read(part).unwrap();
            assert_eq!(serde_json::to_value(&read).unwrap(), *part);
            for field in part.as_object().unwrap().keys() {
                let mut less = part.clone();
                less.as_object_mut().unwrap().remove(field);
                assert!(self::read(&less).unwrap_err().contains("missing field"), "{less}");
            }
            let mut more = part.clone();
            more["colour"] = json!("red");
            assert!(self::read(&more).unwrap_err().contains("unknown field"), "{more}");
            let foreign = if part["part"] == "begin" { "recording" } else { "total" };
            let mut more = part.clone();
            more[foreign] = if foreign == "total" { json!(1) } else { json!("Vector 4") };
            assert!(self::read(&more).unwrap_err().contains("another part"), "{more}");
        }
        assert!(read(&json!({ "part": "grown" })).unwrap_err().contains("unknown variant"));
    }

    #[test]
    fn part_fields_may_come_in_any_order() {
        let last = r#"{"name":"B","parent":"game","class":"Part","id":"studio:2","part":"added"}"#;
        let part: ScenePart = serde_json::from_str(last).unwrap();
        assert!(matches!(part, ScenePart::Added { .. }));
        let twice = r#"{"part":"end","part":"end"}"#;
        assert!(serde_json::from_str::<ScenePart>(twice).is_err());
    }
}
