//! `get_dependency_graph`: which scripts require which.

use scene_schemas::{Bounded, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{Own, Run, Tool, args, code as told};
use crate::core::code::{self, Direction, Index, Positions};
use crate::core::refusal::{Refusal, refuse};
use crate::core::scene::{Node, Scene};

pub(super) const TOOL: Tool = Tool {
    name: "get_dependency_graph",
    about: "Tells which scripts require which, over several steps: from one script (`path`), or among all \
            below `root`. Names rings, and requires that lead nowhere, with the reason.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Read(|json, scene| {
        let args = args::read(json)?;
        code::with(scene, |index| plan(&args, scene, index))
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// One script.
    path: Option<InstancePath>,
    /// All scripts below it; game where both are absent.
    root: Option<InstancePath>,
    /// What it requires, who requires it, or both, which is so where absent.
    direction: Option<Way>,
    /// How many requires away; 64 where absent.
    depth: Option<Bounded<1, 64>>,
    /// How many scripts a page has; 200 where absent.
    limit: Option<Bounded<1, 1000>>,
    /// From the page before.
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum Way {
    Requires,
    RequiredBy,
    Both,
}

/// So many rings are told of.
const RINGS: usize = 20;

fn plan(args: &Args, scene: &Scene, index: &Index) -> Result<Json, Refusal> {
    let direction = match args.direction {
        Some(Way::Requires) => Direction::Requires,
        Some(Way::RequiredBy) => Direction::RequiredBy,
        Some(Way::Both) | None => Direction::Both,
    };
    let depth = args.depth.map_or(64, |depth| depth.get() as u32);
    let (graph, below) = match (&args.path, &args.root) {
        (Some(_), Some(_)) => return refuse!("Either `path` or `root` is needed, not both."),
        (Some(path), None) => {
            let node = scene.resolve(path)?;
            if index.script(node).is_none() {
                return refuse!(
                    "{path} is a {}, and no script; `root` takes all scripts below it.",
                    scene.class(node)
                );
            }
            (code::graph(index, &[node], direction, depth), None)
        }
        (None, root) => {
            let root = root.as_ref().map_or(Ok(scene.root()), |path| scene.resolve(path))?;
            let all: Vec<Node> =
                index.scripts().iter().copied().filter(|it| scene.is_within(*it, root)).collect();
            (code::graph(index, &all, direction, 0), Some(root))
        }
    };
    let skip = args::offset(args.cursor.as_deref())?;
    let limit = args.limit.map_or(200, |limit| limit.get() as usize);
    let total = graph.scripts.len();
    let page = graph.scripts.iter().skip(skip).take(limit);
    let scripts: Vec<Json> = page
        .map(|(node, steps)| {
            let mut told = of_script(scene, index, *node);
            if below.is_none() {
                told["distance"] = (*steps).into();
            }
            told
        })
        .collect();
    let ring = |ring: &Vec<Node>| ring.iter().map(|it| scene.path(*it)).collect::<Vec<_>>();
    let cycles: Vec<_> = graph.cycles.iter().take(RINGS).map(ring).collect();
    let shown = skip.min(total) + scripts.len();
    let mut answer = json!({ "scripts": scripts, "total": total, "cycles": cycles });
    if graph.cycles.len() > RINGS {
        answer["moreCycles"] = (graph.cycles.len() - RINGS).into();
    }
    if shown < total {
        answer["truncated"] = true.into();
        answer["cursor"] = shown.to_string().into();
    }
    Ok(answer)
}

/// So many of one script's requires, or of those that require it, are told of.
const EACH: usize = 50;

fn of_script(scene: &Scene, index: &Index, node: Node) -> Json {
    let mut told = json!({ "path": scene.path(node) });
    let mut list = |key: &str, nodes: &[Node]| {
        if !nodes.is_empty() {
            let paths: Vec<_> = nodes.iter().take(EACH).map(|it| scene.path(*it)).collect();
            told[key] = json!(paths);
        }
        if nodes.len() > EACH {
            told[format!("{key}Total")] = nodes.len().into();
        }
    };
    list("requires", &index.requires(node));
    list("requiredBy", index.required_by(node));
    let text = scene.source(node).unwrap_or_default();
    let mut positions = Positions::new(&text);
    let requires = index.script(node).map(|it| &it.requires);
    let unresolved: Vec<Json> = requires
        .into_iter()
        .flatten()
        .zip(index.resolved(node))
        .filter_map(|(require, resolved)| Some((require, resolved.as_ref().err()?)))
        .take(EACH)
        .map(|(require, reason)| {
            json!({
                "line": positions.of(require.span.start).line,
                "text": told::line(&positions, require.span.start),
                "reason": reason.to_string(),
            })
        })
        .collect();
    if !unresolved.is_empty() {
        told["unresolved"] = unresolved.into();
    }
    told
}
