//! `move_instance`: moves instances to another parent.

use scene_schemas::InstancePath;
use scene_schemas::proposal::PlanRead;
use scene_schemas::refusal::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::{ProposalDraft, count_instances};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "move_instance",
    about: "Proposes a new parent for one instance (`path`), several (`paths`) or all that match a \
            `selector`, with their descendants. Returns {paths, moved}.",
    schema: args::args_schema::<MoveInstanceArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Change(|json, draft| plan(&args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct MoveInstanceArgs {
    path: Option<InstancePath>,
    paths: Option<Vec<InstancePath>>,
    selector: Option<String>,
    parent_path: InstancePath,
}

/// Maximum number of paths listed in the answer.
const LISTED: usize = 50;

fn plan(args: &MoveInstanceArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let selector = args.selector.as_deref();
    let nodes = args::resolve_targets(draft, args.path.as_ref(), args.paths.as_deref(), selector)?;
    let nodes = args::outermost_nodes(draft.scene(), &nodes);
    let parent = draft.parent_or_models(&args.parent_path)?;
    let mut moved = Vec::new();
    for node in nodes {
        if draft.scene().parent(node) == Some(parent) {
            draft.note_read(PlanRead::Instance { path: draft.scene().path(node) });
        } else {
            draft.move_to(node, parent)?;
            moved.push(node);
        }
    }
    let what = match args.path.as_ref() {
        Some(path) => path.quoted_name(),
        None => count_instances(draft.scene(), &moved).into(),
    };
    draft.set_title(format!("Move {what} into {}", args.parent_path.quoted_name()));
    let paths: Vec<_> = moved.iter().take(LISTED).map(|node| draft.scene().path(*node)).collect();
    Ok(json!({ "paths": paths, "moved": moved.len() }))
}
