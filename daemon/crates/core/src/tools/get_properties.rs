//! `get_properties`: returns the effective values of properties, including defaults.

use std::collections::BTreeSet;

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use vector_place::reflection::{self, PropertyAccess};
use vector_place::{Node, Scene};

use super::args::BoundedInt;
use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "get_properties",
    about: "Reads properties (including defaults), tags (`Tags`) and attributes (`@Name`): `keys`, \
            or all properties. Names that do not exist are listed in `unknown`.",
    schema: args::args_schema::<GetPropertiesArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Read(|json, scene| plan(&args::parse_args(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetPropertiesArgs {
    path: InstancePath,
    /// e.g. Size, @Speed
    keys: Option<Vec<String>>,
    include_all_attributes: Option<bool>,
    #[serde(default)]
    max_bytes: BoundedInt<256, 1_000_000, 32_768>,
}

/// Internal properties of the engine, and those with a separate tool.
const HIDDEN: [&str; 6] =
    ["Attributes", "AttributesSerialize", "HistoryId", "Source", "Tags", "UniqueId"];

fn plan(args: &GetPropertiesArgs, scene: &Scene) -> Result<Json, Refusal> {
    let node = scene.resolve(&args.path)?;
    if scene.is_asset_preview(node) {
        return refuse!(
            "{} belongs to an asset that is not inserted yet; its properties are known once it is.",
            args.path
        );
    }
    let mut names: Vec<String> = match &args.keys {
        Some(keys) => keys.clone(),
        None => property_names(scene, node),
    };
    if args.include_all_attributes == Some(true) {
        names.extend(scene.attribute_names(node).iter().map(|name| format!("@{name}")));
    }
    let budget = args.max_bytes.get() as usize;
    let (mut properties, mut unknown, mut rest) = (Map::new(), Vec::new(), Vec::new());
    let mut used = 0;
    for name in names {
        if properties.contains_key(&name) {
            continue;
        }
        let Some(value) = property_value(scene, node, &name) else {
            unknown.push(name);
            continue;
        };
        used += name.len() + value.to_string().len() + 4;
        if used > budget {
            rest.push(name);
        } else {
            properties.insert(name, value);
        }
    }
    let mut answer = json!({
        "path": scene.path(node),
        "class": scene.class(node),
        "properties": properties,
        "unknown": unknown,
    });
    if !rest.is_empty() {
        answer["truncated"] = true.into();
        answer["rest"] = rest.into();
    }
    Ok(answer)
}

fn property_value(scene: &Scene, node: Node, name: &str) -> Option<Json> {
    match name {
        "ClassName" => Some(scene.class(node).into()),
        "Parent" => scene.parent(node).map(|parent| scene.path(parent).to_string().into()),
        "Tags" => Some(scene.tags(node).into()),
        name => scene.value(node, name).map(|value| value.to_plain()),
    }
}

/// Returns the names of stored properties and of the class's other properties.
fn property_names(scene: &Scene, node: Node) -> Vec<String> {
    let class = scene.class(node);
    let of_class = reflection::property_names(class).filter(
        |name| matches!(reflection::property_access(class, name), Some(PropertyAccess::Stored(found)) if found.name == *name),
    );
    let stored = scene.stored_names(node).into_iter().map(str::to_owned);
    let names: BTreeSet<String> = stored
        .chain(of_class.map(str::to_owned))
        .filter(|name| !HIDDEN.contains(&name.as_str()) && scene.value(node, name).is_some())
        .collect();
    names.into_iter().chain(["Tags".to_owned()]).collect()
}
