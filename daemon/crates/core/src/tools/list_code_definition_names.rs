//! `list_code_definition_names`: lists the functions and types of scripts, without their bodies.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_luau::index::display_name;
use vector_place::Scene;

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::text_of;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "list_code_definition_names",
    about: "Lists functions, methods and types with their lines: in the script `path`, or in all \
            (below `root`).",
    schema: args::args_schema::<ListDefinitionsArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Read(|json, scene| plan(&args::parse_args(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListDefinitionsArgs {
    path: Option<InstancePath>,
    root: Option<InstancePath>,
}

/// Maximum number of scripts per call, because parsing is slow. More scripts need several calls.
const MAX_SCRIPTS: usize = 200;

fn plan(args: &ListDefinitionsArgs, scene: &Scene) -> Result<Json, Refusal> {
    let nodes: Vec<_> = match (&args.path, &args.root) {
        (Some(_), Some(_)) => return refuse!("Give `path` or `root`, not both."),
        (Some(path), None) => {
            let node = scene.resolve(path)?;
            text_of(scene, node, path)?;
            vec![node]
        }
        (None, root) => {
            let root = root.as_ref().map_or(Ok(scene.root()), |path| scene.resolve(path))?;
            scene.subtree(root).filter(|node| scene.script_text(*node).is_some()).collect()
        }
    };
    let total = nodes.len();
    let scripts: Vec<Json> = nodes
        .into_iter()
        .take(MAX_SCRIPTS)
        .map(|node| {
            let path = scene.path(node);
            match vector_luau::outline_script(&scene.script_text(node).unwrap_or_default()) {
                Ok(definitions) => {
                    let list: Vec<_> = definitions
                        .iter()
                        .map(|it| {
                            json!({ "name": display_name(&it.name), "kind": it.kind, "line": it.line, "endLine": it.end_line })
                        })
                        .collect();
                    json!({ "path": path, "definitions": list })
                }
                Err(error) => json!({ "path": path, "error": error.to_string() }),
            }
        })
        .collect();
    let mut answer = json!({ "scripts": scripts });
    if total > MAX_SCRIPTS {
        answer["truncated"] = true.into();
        answer["total"] = total.into();
    }
    Ok(answer)
}
