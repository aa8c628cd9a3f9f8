//! `show_diff`: shows the effect of `apply_edit` without proposing it.

use scene_schemas::InstancePath;
use scene_schemas::refusal::Refusal;
use schemars::JsonSchema;
use serde_json::{Map, Value as Json, json};
use vector_place::Scene;

use super::apply_edit::ApplyEditArgs;
use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::{CONTEXT, text_of};

/// The arguments as they are listed. The edits are described by `apply_edit`.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct ListedArgs {
    path: InstancePath,
    edits: Vec<Map<String, Json>>,
}

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "show_diff",
    about: "Shows what apply_edit would change with the same `edits` (zero-based), without \
            proposing it, and whether the result compiles.",
    schema: args::args_schema::<ListedArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Read(|json, scene| plan(&args::parse_args(json)?, scene)),
};

fn plan(args: &ApplyEditArgs, scene: &Scene) -> Result<Json, Refusal> {
    let node = scene.resolve(&args.path)?;
    let before = text_of(scene, node, &args.path)?;
    vector_text_edit::check_limits(&args.edits).map_err(Refusal::new)?;
    let edits = vector_text_edit::fit_edits(&before, &args.edits).map_err(Refusal::new)?;
    let after = vector_text_edit::apply_edits(&before, &edits).map_err(Refusal::new)?;
    let errors: Vec<_> = vector_luau::new_errors(&before, &after)
        .iter()
        .map(|error| json!({ "line": error.line, "message": error.message }))
        .collect();
    let hunks = vector_text_edit::diff_hunks(&before, &after, CONTEXT);
    let vector_text_edit::LineCounts { added, removed } =
        vector_text_edit::line_counts(&before, &after);
    Ok(json!({
        "path": scene.path(node),
        "diff": vector_text_edit::format_hunks(&hunks),
        "added": added,
        "removed": removed,
        "errors": errors,
    }))
}
