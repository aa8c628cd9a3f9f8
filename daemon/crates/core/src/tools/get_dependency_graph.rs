//! `get_dependency_graph`: returns which scripts require which.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::{Node, Scene};

use super::args::BoundedInt;
use super::code::AnswerBudget;
use super::{DefaultTarget, ToolAction, ToolSpec, args, code as told};
use crate::code::{self, CodeIndex, GraphDirection, PositionTracker, RequireGraph};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "get_dependency_graph",
    about: "Shows which scripts require which, transitively: from one script (`path`), or among all \
            (below `root`). Reports cycles and unresolved requires.",
    schema: args::args_schema::<DependencyGraphArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Read(|json, scene| {
        let args = args::parse_args(json)?;
        scene.with_index(|index| plan(&args, scene, index))
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DependencyGraphArgs {
    path: Option<InstancePath>,
    root: Option<InstancePath>,
    /// Default: both.
    direction: Option<RequireDirection>,
    #[serde(default)]
    depth: BoundedInt<1, 64, 64>,
    #[serde(default)]
    limit: BoundedInt<1, 1000, 200>,
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
enum RequireDirection {
    Requires,
    RequiredBy,
    Both,
}

/// Maximum number of cycles reported.
const RINGS: usize = 20;
/// Maximum number of scripts reported per cycle.
const RING: usize = 30;
/// Maximum number of edges reported, including unresolved requires.
const EDGES: usize = 500;

fn plan(args: &DependencyGraphArgs, scene: &Scene, index: &CodeIndex) -> Result<Json, Refusal> {
    let direction = match args.direction {
        Some(RequireDirection::Requires) => GraphDirection::Requires,
        Some(RequireDirection::RequiredBy) => GraphDirection::RequiredBy,
        Some(RequireDirection::Both) | None => GraphDirection::Both,
    };
    let depth = args.depth.get() as u32;
    let (graph, below) = match (&args.path, &args.root) {
        (Some(_), Some(_)) => return refuse!("Give `path` or `root`, not both."),
        (Some(path), None) => {
            let node = scene.resolve(path)?;
            if index.script_at(node).is_none() {
                return refuse!(
                    "{path} is a {}, not a script; `root` takes all scripts below it.",
                    scene.class(node)
                );
            }
            (code::build_graph(index, &[node], direction, depth), None)
        }
        (None, root) => {
            let root = root.as_ref().map_or(Ok(scene.root()), |path| scene.resolve(path))?;
            let all: Vec<Node> = index
                .script_nodes()
                .iter()
                .copied()
                .filter(|it| scene.is_within(*it, root))
                .collect();
            (code::build_graph(index, &all, direction, 0), Some(root))
        }
    };
    let skip = args::parse_cursor(args.cursor.as_deref())?;
    let limit = args.limit.get() as usize;
    let mut budget = GraphBudget { room: AnswerBudget::new(), edges: 0 };
    let cycles = budget.cycle_json(scene, &graph);
    let total = graph.scripts.len();
    let page = total.saturating_sub(skip).min(limit);
    let mut scripts: Vec<Json> = Vec::new();
    for (node, steps) in graph.scripts.iter().skip(skip).take(limit) {
        let (mut it, edges) = script_edges(scene, index, *node);
        if below.is_none() {
            it["distance"] = (*steps).into();
        }
        if !budget.try_take(&it, edges) {
            break;
        }
        scripts.push(it);
    }
    let shown = skip.min(total) + scripts.len();
    let left = page - scripts.len();
    let mut answer = json!({ "scripts": scripts, "total": total, "cycles": cycles });
    if graph.cycles.len() > cycles.len() {
        answer["moreCycles"] = (graph.cycles.len() - cycles.len()).into();
    }
    if left > 0 {
        answer["note"] =
            format!("{left} more scripts did not fit on this page; continue with `cursor`.").into();
    }
    if shown < total {
        answer["truncated"] = true.into();
        answer["cursor"] = shown.to_string().into();
    }
    Ok(answer)
}

/// The remaining size of an answer.
struct GraphBudget {
    room: AnswerBudget,
    edges: usize,
}

impl GraphBudget {
    /// Formats the cycles that fit a quarter of the answer.
    fn cycle_json(&mut self, scene: &Scene, graph: &RequireGraph) -> Vec<Json> {
        let mut part = AnswerBudget::share(4);
        let ring = |ring: &Vec<Node>| -> Json {
            let mut paths: Vec<String> =
                ring.iter().take(RING).map(|it| told::path_text(scene, *it)).collect();
            if ring.len() > RING {
                paths.push(format!("… and {} more", ring.len() - RING));
            }
            paths.into()
        };
        let rings = graph.cycles.iter().take(RINGS).map(ring);
        let rings: Vec<Json> = rings.take_while(|it| part.try_take(it)).collect();
        for ring in &rings {
            self.room.try_take(ring);
        }
        rings
    }

    /// Consumes the size of a script with its edges. Returns whether it fits.
    fn try_take(&mut self, script: &Json, edges: usize) -> bool {
        self.edges += edges;
        self.edges <= EDGES && self.room.try_take(script)
    }
}

/// Maximum number of requires, or of requiring scripts, reported per script.
const EACH: usize = 50;

/// Formats a script with its edges, and returns the number of edges. One script takes at most half
/// of the answer.
fn script_edges(scene: &Scene, index: &CodeIndex, node: Node) -> (Json, usize) {
    let mut entry = json!({ "path": told::path_text(scene, node) });
    let (mut edges, mut room) = (0, AnswerBudget::share(2));
    let mut list = |key: &str, nodes: &[Node]| {
        let paths = nodes.iter().take(EACH).map(|it| Json::from(told::path_text(scene, *it)));
        let paths: Vec<Json> = paths.take_while(|it| room.try_take(it)).collect();
        edges += paths.len();
        if nodes.len() > paths.len() {
            entry[format!("{key}Total")] = nodes.len().into();
        }
        if !paths.is_empty() {
            entry[key] = paths.into();
        }
    };
    list("requires", &index.required_modules(node));
    list("requiredBy", index.required_by(node));
    let text = scene.script_text(node).unwrap_or_default();
    let mut positions = PositionTracker::new(&text);
    let requires = index.script_at(node).map_or(&[][..], |it| &it.requires);
    let lost = requires.iter().zip(index.resolved_requires(node));
    let lost: Vec<_> =
        lost.filter_map(|(require, it)| Some((require, it.as_ref().err()?))).collect();
    let unresolved = lost.iter().take(EACH).map(|(require, reason)| {
        json!({
            "line": positions.position_of(require.span.start).line,
            "text": told::line_text(&positions, require.span.start),
            "reason": told::truncate_text(reason.to_sentence(scene)),
        })
    });
    let unresolved: Vec<Json> = unresolved.take_while(|it| room.try_take(it)).collect();
    edges += unresolved.len();
    if lost.len() > unresolved.len() {
        entry["unresolvedTotal"] = lost.len().into();
    }
    if !unresolved.is_empty() {
        entry["unresolved"] = unresolved.into();
    }
    (entry, edges)
}
