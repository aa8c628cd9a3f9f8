//! Parsing of a project file into the nodes of its tree and its rules.
//!
//! The fields are those of Rojo 7.7. A faulty field is reported, and the rest of the file is still
//! read.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value as Json};
use vector_text_edit::json::read_json;

use super::glob::{IgnoreGlob, SyncRule};

/// The file names that make a folder a project.
pub(super) const DEFAULT_NAMES: [&str; 2] = ["default.project.json", "default.project.jsonc"];

/// Fields that only concern `rojo serve` and `rojo syncback`.
const IGNORED_FIELDS: [&str; 9] = [
    "$schema",
    "servePort",
    "servePlaceIds",
    "blockedPlaceIds",
    "placeId",
    "gameId",
    "serveAddress",
    "serveAllowedHosts",
    "syncbackRules",
];

/// A parsed project file.
#[derive(Debug)]
pub(super) struct ProjectFile {
    /// The name of the root; None if the file does not specify one.
    pub(super) name: Option<String>,
    pub(super) tree: ProjectNode,
    pub(super) emit_legacy_scripts: Option<bool>,
    pub(super) ignores: Vec<IgnoreGlob>,
    pub(super) syncs: Vec<SyncRule>,
    /// The faults of the file, all of them fatal to Rojo.
    pub(super) faults: Vec<String>,
}

/// A node of a project's tree.
#[derive(Debug, Default)]
pub(super) struct ProjectNode {
    pub(super) class: Option<String>,
    pub(super) id: Option<String>,
    pub(super) path: Option<NodePath>,
    pub(super) ignores_unknown: Option<bool>,
    pub(super) properties: Map<String, Json>,
    pub(super) attributes: Map<String, Json>,
    /// The children by name, in Rojo's order.
    pub(super) children: Vec<(String, Self)>,
}

/// The `$path` of a node.
#[derive(Debug)]
pub(super) struct NodePath {
    pub(super) path: PathBuf,
    pub(super) is_optional: bool,
}

/// Parses the text of a project file.
///
/// # Errors
/// Fails if the file is not an object or has no `tree` object.
pub(super) fn parse_project(bytes: &[u8], file: &Path) -> Result<ProjectFile, String> {
    let Json::Object(mut fields) = read_json(bytes)? else {
        return Err("it is not an object".to_owned());
    };
    let Some(Json::Object(tree)) = fields.remove("tree") else {
        return Err("it has no object `tree`".to_owned());
    };
    let mut faults = Vec::new();
    let tree = parse_node(tree, &mut vec![], &mut faults);
    let mut project = ProjectFile {
        name: None,
        tree,
        emit_legacy_scripts: None,
        ignores: Vec::new(),
        syncs: Vec::new(),
        faults,
    };
    let base = file.parent().unwrap_or(file);
    for (field, value) in fields {
        if let Err(why) = project.set_field(&field, value, base) {
            project.faults.push(why);
        }
    }
    Ok(project)
}

impl ProjectFile {
    fn set_field(&mut self, field: &str, value: Json, base: &Path) -> Result<(), String> {
        match (field, value) {
            (_, Json::Null) if field != "globIgnorePaths" && field != "syncRules" => {}
            ("name", Json::String(name)) => self.name = Some(name),
            ("emitLegacyScripts", Json::Bool(emit)) => self.emit_legacy_scripts = Some(emit),
            ("globIgnorePaths", Json::Array(globs)) => {
                for glob in globs {
                    let Json::String(glob) = glob else {
                        return Err(
                            "`globIgnorePaths` contains something that is not text".to_owned()
                        );
                    };
                    self.ignores.push(IgnoreGlob::new(&glob, base)?);
                }
            }
            ("syncRules", Json::Array(rules)) => {
                for rule in rules {
                    self.syncs.push(SyncRule::from_json(&rule, base)?);
                }
            }
            (field, _) if IGNORED_FIELDS.contains(&field) => {}
            ("name" | "emitLegacyScripts" | "globIgnorePaths" | "syncRules", _) => {
                return Err(format!("its `{field}` is of another type than Rojo wants"));
            }
            _ => return Err(format!("Rojo does not know its field `{field}`; take it out")),
        }
        Ok(())
    }
}

fn parse_node(
    fields: Map<String, Json>,
    at: &mut Vec<String>,
    faults: &mut Vec<String>,
) -> ProjectNode {
    let mut read = ProjectNode::default();
    for (field, value) in fields {
        let is_child = match (field.as_str(), value) {
            ("$className", Json::String(class)) => {
                read.class = Some(class);
                continue;
            }
            ("$id", Json::String(id)) => {
                read.id = Some(id);
                continue;
            }
            ("$path", Json::String(path)) => {
                read.path = Some(NodePath { path: path.into(), is_optional: false });
                continue;
            }
            ("$path", Json::Object(path)) if path.get("optional").is_some_and(Json::is_string) => {
                let path = path["optional"].as_str().unwrap_or_default().into();
                read.path = Some(NodePath { path, is_optional: true });
                continue;
            }
            ("$ignoreUnknownInstances", Json::Bool(ignores)) => {
                read.ignores_unknown = Some(ignores);
                continue;
            }
            ("$properties", Json::Object(properties)) => {
                read.properties = properties;
                continue;
            }
            ("$attributes", Json::Object(attributes)) => {
                read.attributes = attributes;
                continue;
            }
            ("$className" | "$id" | "$path" | "$ignoreUnknownInstances", Json::Null) => continue,
            (_, Json::Object(child)) if !NODE_FIELDS.contains(&field.as_str()) => Some(child),
            _ => None,
        };
        let Some(child) = is_child else {
            let at = node_phrase(at);
            faults.push(format!("`{field}` {at} is of another type than Rojo wants"));
            continue;
        };
        at.push(field.clone());
        let child = parse_node(child, at, faults);
        at.pop();
        read.children.push((field, child));
    }
    read.children.sort_by(|(a, _), (b, _)| a.cmp(b));
    read
}

const NODE_FIELDS: [&str; 6] =
    ["$className", "$id", "$path", "$ignoreUnknownInstances", "$properties", "$attributes"];

/// Formats the position of a node, such as "of the node `A/B`".
pub(super) fn node_phrase(names: &[String]) -> String {
    if names.is_empty() {
        "of its tree".to_owned()
    } else {
        format!("of the node `{}`", names.join("/"))
    }
}
