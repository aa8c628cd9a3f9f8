//! Reading of model files: `.model.json`, and Roblox's own `.rbxm` and `.rbxmx`.

use std::path::Path;

use rbx_types::{Content, ContentType, Ref, Variant};
use rustc_hash::FxHashMap;
use serde_json::{Map, Value as Json};
use vector_place::{Node, Scene};
use vector_text_edit::json;

use super::snapshot::{InstanceSnapshot, SnapshotChild};
use super::tree::{InstanceOrigin, reference_to};

/// The maximum nesting depth of instances.
const MAX_DEPTH: usize = 500;

/// A model file that is being read.
#[derive(Debug, Clone, Copy)]
pub(super) struct ModelReader<'a> {
    pub(super) file: &'a Path,
    pub(super) key: &'a str,
    /// The name of its root.
    pub(super) name: &'a str,
}

impl ModelReader<'_> {
    /// Reads a `.model.json`. Returns None for an empty file.
    pub(super) fn read_json(
        &self,
        bytes: &[u8],
        faults: &mut Vec<String>,
    ) -> Option<InstanceSnapshot> {
        if bytes.trim_ascii().is_empty() {
            return None;
        }
        match json::read_json(bytes) {
            Ok(Json::Object(fields)) => {
                let id = fields.get("id").and_then(Json::as_str).map(str::to_owned);
                let mut at = Vec::new();
                let mut snapshot =
                    self.read_json_instance(fields, &mut at, String::new(), faults)?;
                self.name.clone_into(&mut snapshot.name);
                snapshot.id = id;
                return Some(snapshot);
            }
            Ok(_) => faults.push("it is not an object".to_owned()),
            Err(why) => faults.push(why),
        }
        None
    }

    fn new_snapshot(&self, name: &str, class: &str, at: &[u32], names: &str) -> InstanceSnapshot {
        let key = if at.is_empty() { self.key.to_owned() } else { format!("{}:{names}", self.key) };
        let origin =
            InstanceOrigin::Model { file: self.file.to_owned(), at: at.to_vec(), mounted: None };
        InstanceSnapshot::new(name, class, key, origin)
    }

    fn read_json_instance(
        &self,
        mut fields: Map<String, Json>,
        at: &mut Vec<u32>,
        names: String,
        faults: &mut Vec<String>,
    ) -> Option<InstanceSnapshot> {
        let mut take = |lower: &str, upper: &str| {
            let found = fields.remove(upper);
            fields.remove(lower).or(found)
        };
        let (class, name) = (take("className", "ClassName"), take("name", "Name"));
        let (properties, children) =
            (take("properties", "Properties"), take("children", "Children"));
        let attributes = take("attributes", "attributes");
        let Some(Json::String(class)) = class else {
            let whose =
                if at.is_empty() { "its root".to_owned() } else { format!("a child of `{names}`") };
            faults.push(format!("{whose} has no text `className`"));
            return None;
        };
        let name = name.as_ref().and_then(Json::as_str).unwrap_or(&class);
        let names = match at.as_slice() {
            [] => names,
            [_] => name.to_owned(),
            _ => format!("{names}/{name}"),
        };
        let mut snapshot = self.new_snapshot(name, &class, at, &names);
        let mut object = |value: Option<Json>, what: &str| match value {
            Some(Json::Object(fields)) => fields,
            None => Map::new(),
            Some(_) => {
                faults.push(format!("the {what} of `{names}` are not an object"));
                Map::new()
            }
        };
        let (properties, attributes) =
            (object(properties, "properties"), object(attributes, "attributes"));
        snapshot.set_properties(&properties, &attributes, faults);
        let children = match children {
            Some(Json::Array(children)) => children,
            None => Vec::new(),
            Some(_) => {
                faults.push(format!("the children of `{names}` are not an array"));
                Vec::new()
            }
        };
        for (n, child) in (0..).zip(children) {
            let Json::Object(fields) = child else {
                faults.push(format!("a child of `{names}` is not an object"));
                continue;
            };
            at.push(n);
            let child = self.read_json_instance(fields, at, names.clone(), faults);
            snapshot.children.extend(child.map(SnapshotChild::new));
            at.pop();
        }
        Some(snapshot)
    }

    /// Reads a model in one of Roblox's own formats. It must have exactly one root.
    pub(super) fn read_roblox_model(
        &self,
        bytes: Vec<u8>,
        faults: &mut Vec<String>,
    ) -> Option<InstanceSnapshot> {
        let scene = match Scene::open(bytes.into()) {
            Ok(scene) => scene,
            Err(error) => {
                faults.push(error.to_string());
                return None;
            }
        };
        let mut roots = scene.children(scene.root());
        let (Some(root), None) = (roots.next(), roots.next()) else {
            let count = scene.children(scene.root()).len();
            faults.push(format!("it has {count} roots, and Rojo takes models with one"));
            return None;
        };
        let numbers: FxHashMap<Node, u32> = scene.subtree(root).zip(0..).collect();
        let mut snapshot = self.read_model_instance(
            &scene,
            root,
            &numbers,
            &mut Vec::new(),
            String::new(),
            faults,
        )?;
        self.name.clone_into(&mut snapshot.name);
        Some(snapshot)
    }

    fn read_model_instance(
        &self,
        scene: &Scene,
        node: Node,
        numbers: &FxHashMap<Node, u32>,
        at: &mut Vec<u32>,
        names: String,
        faults: &mut Vec<String>,
    ) -> Option<InstanceSnapshot> {
        if at.len() > MAX_DEPTH {
            faults.push(format!("anything nested deeper than {MAX_DEPTH} is left out"));
            return None;
        }
        let name = scene.name(node);
        let names = match at.as_slice() {
            [] => names,
            [_] => name.to_owned(),
            _ => format!("{names}/{name}"),
        };
        let mut snapshot = self.new_snapshot(name, scene.class(node), at, &names);
        for (key, value) in scene.stored_variants(node) {
            let to = match &value {
                Variant::Ref(to) => Some(*to),
                Variant::Content(content) => match content.value() {
                    ContentType::Object(to) => Some(*to),
                    _ => None,
                },
                _ => None,
            };
            let value = match (value, to.filter(Ref::is_some)) {
                (value, None) => value,
                (value, Some(to)) => {
                    let to = scene.referenced_node(to).and_then(|to| numbers.get(&to));
                    let Some(to) = to else { continue };
                    snapshot.has_references = true;
                    let to = reference_to(*to);
                    match value {
                        Variant::Content(_) => Content::from_referent(to).into(),
                        _ => to.into(),
                    }
                }
            };
            snapshot.set_property(&key, value);
        }
        for (n, child) in (0..).zip(scene.children(node)) {
            at.push(n);
            let child = self.read_model_instance(scene, child, numbers, at, names.clone(), faults);
            snapshot.children.extend(child.map(SnapshotChild::new));
            at.pop();
        }
        Some(snapshot)
    }
}
