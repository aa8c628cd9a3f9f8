//! Shared argument handling of the tools: parsing, bounds, paging, and the selection of several
//! instances.

use std::borrow::Cow;

use scene_schemas::proposal::PlanRead;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{BoundedNumber, InstancePath};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value as Json, json};
use vector_place::selector::Selector;
use vector_place::{Node, Scene};

use super::compact_schema;
use crate::proposal::ProposalDraft;

pub(super) fn parse_args<T: DeserializeOwned + JsonSchema>(args: Json) -> Result<T, Refusal> {
    let args = if args.is_null() { Json::Object(serde_json::Map::new()) } else { args };
    T::deserialize(&args).map_err(|error| {
        let error = error.to_string();
        let missing = missing_arguments(&args_schema::<T>(), &args, &error);
        Refusal(format!("{error}.{missing}"))
    })
}

/// Describes required arguments that are missing and that the error does not mention, each with a
/// similarly named unknown argument if there is one.
fn missing_arguments(schema: &Schema, args: &Json, error: &str) -> String {
    let (Some(known), Some(given)) = (schema.get("properties"), args.as_object()) else {
        return String::new();
    };
    let unknown: Vec<&String> =
        given.keys().filter(|name| known.get(name.as_str()).is_none()).collect();
    let is_like = |name: &str, other: &str| {
        let (name, other) = (name.to_lowercase(), other.to_lowercase());
        name.contains(&other) || other.contains(&name)
    };
    let instead = |name: &str| unknown.iter().find(|other| is_like(name, other));
    let needed = schema.get("required").and_then(Json::as_array).into_iter().flatten();
    let needed: Vec<&str> = needed.filter_map(Json::as_str).collect();
    let mut text = String::new();
    for name in &needed {
        if given.contains_key(*name) || error.contains(&format!("missing field `{name}`")) {
            continue;
        }
        let instead = instead(name).map(|other| format!("; `{other}` was given instead"));
        text.push_str(&format!(" `{name}` is missing{}.", instead.unwrap_or_default()));
    }
    // An optional argument is reported only if an unknown argument has a similar name.
    let optional = known.as_object().into_iter().flat_map(|it| it.keys());
    for name in optional.filter(|name| !needed.contains(&name.as_str())) {
        if let Some(other) = instead(name).filter(|_| !given.contains_key(name)) {
            text.push_str(&format!(" Instead of `{other}`, give `{name}`."));
        }
    }
    text
}

/// An integer from `MIN` to `MAX`; `USUAL` if the argument is missing or null.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(transparent)]
pub(super) struct BoundedInt<const MIN: u64, const MAX: u64, const USUAL: u64>(u64);

impl<const MIN: u64, const MAX: u64, const USUAL: u64> BoundedInt<MIN, MAX, USUAL> {
    pub(super) fn get(self) -> u64 {
        self.0
    }
}

impl<const MIN: u64, const MAX: u64, const USUAL: u64> Default for BoundedInt<MIN, MAX, USUAL> {
    fn default() -> Self {
        Self(USUAL)
    }
}

impl<'de, const MIN: u64, const MAX: u64, const USUAL: u64> Deserialize<'de>
    for BoundedInt<MIN, MAX, USUAL>
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Option::<BoundedNumber<MIN, MAX>>::deserialize(deserializer)?;
        Ok(given.map_or_else(Self::default, |number| Self(number.get())))
    }
}

impl<const MIN: u64, const MAX: u64, const USUAL: u64> JsonSchema for BoundedInt<MIN, MAX, USUAL> {
    fn schema_name() -> Cow<'static, str> {
        Cow::Owned(format!("Usual_{MIN}_{MAX}_{USUAL}"))
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BoundedNumber::<MIN, MAX>::json_schema(generator)
    }
}

/// Returns the compact JSON schema of arguments, with all subschemas inlined.
pub(super) fn args_schema<T: JsonSchema>() -> Schema {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    schema.remove("description");
    if let Some(map) = schema.as_object_mut() {
        compact_schema::compact_schema(map);
        map.entry("properties").or_insert_with(|| json!({}));
    }
    schema
}

/// Removes `session`, which every tool accepts and which has no meaning with a single place.
pub(super) fn without_session(mut args: Json) -> Json {
    if let Some(map) = args.as_object_mut() {
        map.remove("session");
    }
    args
}

/// Resolves the instances named by `path`, `paths` or `selector`, and notes that the plan relies on
/// them. Exactly one of the three must be given.
pub(super) fn resolve_targets(
    draft: &mut ProposalDraft<'_>,
    path: Option<&InstancePath>,
    paths: Option<&[InstancePath]>,
    selector: Option<&str>,
) -> Result<Vec<Node>, Refusal> {
    let scene = draft.scene();
    let nodes = match (path, paths, selector) {
        (Some(path), None, None) => vec![scene.resolve(path)?],
        (None, Some(paths), None) => {
            let mut seen = std::collections::HashSet::new();
            let mut nodes =
                paths.iter().map(|path| scene.resolve(path)).collect::<Result<Vec<_>, _>>()?;
            nodes.retain(|node| seen.insert(*node));
            nodes
        }
        (None, None, Some(selector)) => {
            let selector = Selector::parse(selector)?;
            selector.check(scene)?;
            let nodes = selector.select(scene, scene.root());
            draft.note_read(PlanRead::Selector { selector: selector.to_string() });
            if nodes.is_empty() {
                return refuse!(
                    "The selector `{selector}` matches nothing in this place; find_instances tries \
                     one out."
                );
            }
            nodes
        }
        _ => return refuse!("Give exactly one of `path`, `paths` and `selector`."),
    };
    if nodes.is_empty() {
        return refuse!("`paths` is empty.");
    }
    Ok(nodes)
}

/// Removes the instances that are below another one in the list.
pub(super) fn outermost_nodes(scene: &Scene, nodes: &[Node]) -> Vec<Node> {
    let all: std::collections::HashSet<Node> = nodes.iter().copied().collect();
    let covered = |node: Node| {
        std::iter::successors(scene.parent(node), |at| scene.parent(*at))
            .any(|at| all.contains(&at))
    };
    nodes.iter().copied().filter(|node| !covered(*node)).collect()
}

/// Parses the cursor returned with the previous page into an offset.
pub(super) fn parse_cursor(cursor: Option<&str>) -> Result<usize, Refusal> {
    let Some(text) = cursor else { return Ok(0) };
    // No answer has this many entries, and additions to the offset cannot overflow.
    match text.parse::<u32>() {
        Ok(offset) if offset <= u32::MAX / 2 => Ok(offset as usize),
        _ => refuse!(
            "`cursor` {:?} was not returned by this tool; leave it out to start at the first page.",
            truncate_bytes(text, 80)
        ),
    }
}

/// Truncates a text to a number of bytes, at a character boundary.
pub(super) fn truncate_bytes(text: &str, bytes: usize) -> &str {
    &text[..text.floor_char_boundary(bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase", deny_unknown_fields)]
    #[expect(dead_code, reason = "only read")]
    struct Args {
        path: String,
        new_name: String,
        parent_path: Option<String>,
    }

    #[track_caller]
    fn refused(args: Json) -> String {
        parse_args::<Args>(args).unwrap_err().0
    }

    #[test]
    fn refusal_names_missing_and_misnamed_arguments() {
        let text = refused(json!({ "path": "game.X", "name": "Y" }));
        assert!(text.contains("unknown field `name`"), "{text}");
        assert!(text.ends_with("`newName` is missing; `name` was given instead."), "{text}");
        assert_eq!(refused(json!({ "newName": "Y" })), "missing field `path`.");
        let text = refused(json!({}));
        assert_eq!(text, "missing field `path`. `newName` is missing.");
        let text = refused(json!({ "path": "game.X", "newName": "Y", "parent": "game" }));
        assert!(text.ends_with("Instead of `parent`, give `parentPath`."), "{text}");
        let text = refused(json!({ "path": "game.X", "newName": 1 }));
        assert_eq!(text, "invalid type: integer `1`, expected a string.");
    }
}
