//! What the tools' arguments have in common: how they are read, and how several instances are named.

use scene_schemas::InstancePath;
use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::core::refusal::{Refusal, refuse};
use crate::core::scene::selector::Selector;
use crate::core::scene::{Node, Scene};

/// Reads arguments.
pub(super) fn read<T: DeserializeOwned>(args: Json) -> Result<T, Refusal> {
    let args = if args.is_null() { Json::Object(serde_json::Map::new()) } else { args };
    serde_json::from_value(args).map_err(|error| Refusal(format!("{error}.")))
}

/// The schema of arguments: plain, with nothing to look up elsewhere.
pub(super) fn schema<T: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    schema
}

/// Every tool takes `session`; with one place it says nothing.
pub(super) fn without_session(mut args: Json) -> Json {
    if let Some(map) = args.as_object_mut() {
        map.remove("session");
    }
    args
}

/// The instances that `path`, `paths` or `selector` name: exactly one of the three is given.
pub(super) fn targets(
    scene: &Scene,
    path: Option<&InstancePath>,
    paths: Option<&[InstancePath]>,
    selector: Option<&str>,
) -> Result<Vec<Node>, Refusal> {
    let nodes = match (path, paths, selector) {
        (Some(path), None, None) => vec![scene.resolve(path)?],
        (None, Some(paths), None) => {
            paths.iter().map(|path| scene.resolve(path)).collect::<Result<_, _>>()?
        }
        (None, None, Some(selector)) => {
            let nodes = Selector::find(selector, scene, scene.root())?;
            if nodes.is_empty() {
                return refuse!(
                    "The selector `{selector}` fits nothing in this place; find_instances tries one \
                     out."
                );
            }
            nodes
        }
        _ => return refuse!("Exactly one of `path`, `paths` and `selector` is needed."),
    };
    if nodes.is_empty() {
        return refuse!("`paths` names nothing.");
    }
    let mut seen = std::collections::HashSet::new();
    Ok(nodes.into_iter().filter(|node| seen.insert(*node)).collect())
}

/// Leaves out the instances that are below another one of the list.
pub(super) fn outermost(scene: &Scene, nodes: &[Node]) -> Vec<Node> {
    let all: std::collections::HashSet<Node> = nodes.iter().copied().collect();
    let covered = |node: Node| {
        std::iter::successors(scene.parent(node), |at| scene.parent(*at))
            .any(|at| all.contains(&at))
    };
    nodes.iter().copied().filter(|node| !covered(*node)).collect()
}

/// Where a page begins: the cursor that the page before gave.
pub(super) fn offset(cursor: Option<&str>) -> Result<usize, Refusal> {
    let Some(text) = cursor else { return Ok(0) };
    // No answer has so many parts; what is added to it does not overflow.
    match text.parse::<u32>() {
        Ok(offset) if offset <= u32::MAX / 2 => Ok(offset as usize),
        _ => refuse!(
            "`cursor` {:?} is not one that this tool gave; leave it out to begin at the first page.",
            cut(text, 80)
        ),
    }
}

/// Cuts a text after a number of bytes, between characters.
pub(super) fn cut(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}
