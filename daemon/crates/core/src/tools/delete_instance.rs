//! `delete_instance`: deletes instances with their descendants.

use scene_schemas::InstancePath;
use scene_schemas::refusal::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::count_noun;

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::{ProposalDraft, count_instances};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "delete_instance",
    about: "Proposes to delete one instance (`path`), several (`paths`) or all that match a \
            `selector`, with their descendants. Returns {deleted}.",
    schema: args::args_schema::<DeleteInstanceArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Change(|json, draft| plan(&args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct DeleteInstanceArgs {
    path: Option<InstancePath>,
    paths: Option<Vec<InstancePath>>,
    /// e.g. Part.Debris
    selector: Option<String>,
}

fn plan(args: &DeleteInstanceArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let selector = args.selector.as_deref();
    let nodes = args::resolve_targets(draft, args.path.as_ref(), args.paths.as_deref(), selector)?;
    let nodes = args::outermost_nodes(draft.scene(), &nodes);
    let what = match args.path.as_ref() {
        Some(path) => path.quoted_name(),
        None => count_instances(draft.scene(), &nodes).into(),
    };
    let more = match (nodes.as_slice(), args.path.as_ref()) {
        ([node], Some(_)) => draft.scene().subtree(*node).count() - 1,
        _ => 0,
    };
    let title = match more {
        0 => format!("Delete {what}"),
        more => format!("Delete {what} with {}", count_noun(more, "descendant", "descendants")),
    };
    // Delete from last to first, so that the indices of equally named siblings on the card stay
    // correct.
    for node in nodes.iter().rev() {
        draft.delete_instance(*node)?;
    }
    draft.set_title(title);
    Ok(json!({ "deleted": nodes.len() }))
}
