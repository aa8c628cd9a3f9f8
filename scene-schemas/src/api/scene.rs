//! The mirror of an open place: what the plugin says of it, and what the daemon asks.
//!
//! Ids are debug ids with `studio:` before them. The plugin counts a version for every change that it
//! says; updates arrive in the order in which they were made.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

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
pub struct SceneReceipt {
    /// How many instances are mirrored now.
    pub instances: u32,
}

/// One thing that is said of a place.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
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
        nodes: NodeColumns,
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
        answer: PluginAnswer,
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

/// A part as it is written, its fields in any order. What serde derives for an enum with a tag would
/// copy every text of a place once more before it looked at the tag.
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
            PartKind::Undone => Self::Undone { recording: take(&mut it.recording, "recording")? },
            PartKind::Redone => Self::Redone { recording: take(&mut it.recording, "recording")? },
        };
        if it != (UnorderedPart { part: it.part, ..UnorderedPart::default() }) {
            return Err(D::Error::custom("a field that belongs to another part"));
        }
        Ok(part)
    }
}

/// Instances by columns; all lists but `classes` are of one length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NodeColumns {
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
pub enum PluginQuery {
    /// Values of properties.
    Properties {
        /// Of whom, and which.
        of: Vec<PropertyQuery>,
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
pub struct PropertyQuery {
    /// Whose.
    pub id: InstanceId,
    /// Which: names, `Tags`, and `@Key`; `@` alone means all attributes, as one value Attributes.
    pub names: Vec<String>,
}

/// What the plugin answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "snake_case", deny_unknown_fields)]
pub enum PluginAnswer {
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

#[cfg(test)]
mod tests {
    use serde_json::{Value as Json, json};

    use super::*;

    fn read(part: &Json) -> Result<ScenePart, String> {
        serde_json::from_value(part.clone()).map_err(|error| error.to_string())
    }

    #[test]
    fn every_part_is_read_as_it_is_written() {
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
    fn the_fields_of_a_part_come_in_any_order() {
        let last = r#"{"name":"B","parent":"game","class":"Part","id":"studio:2","part":"added"}"#;
        let part: ScenePart = serde_json::from_str(last).unwrap();
        assert!(matches!(part, ScenePart::Added { .. }));
        let twice = r#"{"part":"end","part":"end"}"#;
        assert!(serde_json::from_str::<ScenePart>(twice).is_err());
    }
}
