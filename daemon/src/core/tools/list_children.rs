//! `list_children`: what stands below an instance.

use std::collections::BTreeMap;

use scene_schemas::{Bounded, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{Own, Run, Tool, args};
use crate::core::refusal::Refusal;
use crate::core::scene::{Node, Scene};

pub(super) const TOOL: Tool = Tool {
    name: "list_children",
    about: "Lists what is below an instance, in tree order, with class and number of children. \
            `game` lists the services. Page on with `cursor`.",
    schema: args::schema::<Args>,
    own: Own::Parent,
    run: Run::Read(|json, scene| plan(&args::read(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// Whose children, e.g. game.Workspace
    parent_path: InstancePath,
    /// How many levels down; 1 where absent.
    depth: Option<Bounded<1, 64>>,
    /// How many instances a page has; 200 where absent.
    max_nodes: Option<Bounded<1, 2000>>,
    /// Only instances of these classes: {"Part": true}
    class_whitelist: Option<BTreeMap<String, bool>>,
    /// From the page before.
    cursor: Option<String>,
}

fn plan(args: &Args, scene: &Scene) -> Result<Json, Refusal> {
    let parent = scene.resolve(&args.parent_path)?;
    let depth = args.depth.map_or(1, |depth| depth.get() as usize);
    let limit = args.max_nodes.map_or(200, |nodes| nodes.get() as usize);
    let skip = args::offset(args.cursor.as_deref())?;
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
