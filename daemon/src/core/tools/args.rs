//! What the tools' arguments have in common: how they are read, and how several instances are named.

use std::borrow::Cow;

use scene_schemas::{Bounded, InstancePath};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value as Json, json};

use super::lean;
use crate::core::refusal::{Refusal, refuse};
use crate::core::scene::selector::Selector;
use crate::core::scene::{Node, Scene};

/// Reads arguments.
pub(super) fn read<T: DeserializeOwned>(args: Json) -> Result<T, Refusal> {
    let args = if args.is_null() { Json::Object(serde_json::Map::new()) } else { args };
    serde_json::from_value(args).map_err(|error| Refusal(format!("{error}.")))
}

/// A whole number from `MIN` to `MAX`; `USUAL` where it is left out or null.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(transparent)]
pub(super) struct Usual<const MIN: u64, const MAX: u64, const USUAL: u64>(u64);

impl<const MIN: u64, const MAX: u64, const USUAL: u64> Usual<MIN, MAX, USUAL> {
    /// The number.
    pub(super) fn get(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64, const USUAL: u64> Default for Usual<MIN, MAX, USUAL> {
    fn default() -> Self {
        Self(USUAL)
    }
}

impl<'de, const MIN: u64, const MAX: u64, const USUAL: u64> Deserialize<'de>
    for Usual<MIN, MAX, USUAL>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Option::<Bounded<MIN, MAX>>::deserialize(deserializer)?;
        Ok(given.map_or_else(Self::default, |number| Self(number.get())))
    }
}

impl<const MIN: u64, const MAX: u64, const USUAL: u64> JsonSchema for Usual<MIN, MAX, USUAL> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("Usual_{MIN}_{MAX}_{USUAL}"))
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Bounded::<MIN, MAX>::json_schema(generator)
    }
}

/// The schema of arguments: lean, with nothing to look up elsewhere.
pub(super) fn schema<T: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    if let Some(map) = schema.as_object_mut() {
        lean::lean(map);
        map.entry("properties").or_insert_with(|| json!({}));
    }
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
