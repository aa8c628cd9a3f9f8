//! `move_instance`: another parent.

use scene_schemas::InstancePath;
use scene_schemas::refusal::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::count;

use super::{Own, Run, Tool, args};
use crate::proposal::Draft;

pub(super) const TOOL: Tool = Tool {
    name: "move_instance",
    about: "Proposes another parent for one instance (`path`), several (`paths`) or all that a \
            `selector` fits, each with all below it. Answers {paths, moved}.",
    schema: args::schema::<Args>,
    own: Own::Path,
    run: Run::Change(|json, draft| plan(&args::read(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    path: Option<InstancePath>,
    paths: Option<Vec<InstancePath>>,
    selector: Option<String>,
    parent_path: InstancePath,
}

/// Paths that the answer lists.
const LISTED: usize = 50;

fn plan(args: &Args, draft: &mut Draft<'_>) -> Result<Json, Refusal> {
    let selector = args.selector.as_deref();
    let nodes = args::targets(draft.scene(), args.path.as_ref(), args.paths.as_deref(), selector)?;
    let nodes = args::outermost(draft.scene(), &nodes);
    let parent = draft.parent_or_models(&args.parent_path)?;
    let mut moved = Vec::new();
    for node in nodes {
        if draft.scene().parent(node) != Some(parent) {
            draft.move_to(node, parent)?;
            moved.push(node);
        }
    }
    let what = match args.path.as_ref() {
        Some(path) => path.to_string(),
        None => count(moved.len(), "instance", "instances"),
    };
    draft.title(format!("Move {what} to {}", args.parent_path));
    let paths: Vec<_> = moved.iter().take(LISTED).map(|node| draft.scene().path(*node)).collect();
    Ok(json!({ "paths": paths, "moved": moved.len() }))
}
