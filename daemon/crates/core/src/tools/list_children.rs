//! `list_children`: lists the descendants of an instance.

use std::collections::BTreeMap;

use scene_schemas::InstancePath;
use scene_schemas::refusal::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::{Node, Scene};

use super::args::BoundedInt;
use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "list_children",
    about: "Lists the descendants of an instance in tree order: path, class, number of children. \
            `game` lists the services. Paths look like game.Workspace[\"My.Part\"].Wall[2]: a name \
            that is not a plain word is in brackets and quotes; [2] is the second of that name. If \
            `truncated`, pass on `cursor`.",
    schema: args::args_schema::<ListChildrenArgs>,
    own: DefaultTarget::Parent,
    run: ToolAction::Read(|json, scene| plan(&args::parse_args(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListChildrenArgs {
    parent_path: InstancePath,
    #[serde(default)]
    depth: BoundedInt<1, 64, 1>,
    #[serde(default)]
    max_nodes: BoundedInt<1, 2000, 200>,
    /// e.g. {"Part": true}
    class_whitelist: Option<BTreeMap<String, bool>>,
    cursor: Option<String>,
}

fn plan(args: &ListChildrenArgs, scene: &Scene) -> Result<Json, Refusal> {
    let parent = scene.resolve(&args.parent_path)?;
    let depth = args.depth.get() as usize;
    let limit = args.max_nodes.get() as usize;
    let skip = args::parse_cursor(args.cursor.as_deref())?;
    let wanted = |node: Node| {
        let list = args.class_whitelist.as_ref();
        list.is_none_or(|list| list.get(scene.class(node)).copied().unwrap_or(false))
    };
    let mut page = Vec::new();
    let mut seen = 0;
    let mut more = false;
    let mut stack: Vec<(Node, usize)> =
        scene.children(parent).rev().map(|node| (node, 1)).collect();
    while let Some((node, level)) = stack.pop() {
        if wanted(node) {
            if page.len() == limit {
                more = true;
                break;
            }
            seen += 1;
            if seen > skip {
                page.push(json!({
                    "path": scene.path(node),
                    "class": scene.class(node),
                    "childCount": scene.children(node).len(),
                }));
            }
        }
        if level < depth {
            stack.extend(scene.children(node).rev().map(|child| (child, level + 1)));
        }
    }
    let mut answer =
        json!({ "path": scene.path(parent), "class": scene.class(parent), "children": page });
    if more {
        answer["truncated"] = true.into();
        answer["cursor"] = (skip + limit).to_string().into();
    }
    Ok(answer)
}
