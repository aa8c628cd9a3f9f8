//! `get_diagnostics`: returns the diagnostics of scripts.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use vector_place::Scene;

use super::args::BoundedInt;
use super::fetch::{self, DiagnosticsRequest, FetchRequest, FetchScript};
use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "get_diagnostics",
    about: "Checks scripts: syntax, lints (by the project's selene.toml), and types if a checker is \
            installed. `paths`, or all (below `root`).",
    schema: args::args_schema::<GetDiagnosticsArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Look(|json, scene| plan_diagnostics(&args::parse_args(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct GetDiagnosticsArgs {
    paths: Option<Vec<InstancePath>>,
    root: Option<InstancePath>,
    /// The minimum; default: warning.
    severity: Option<MinimumSeverity>,
    #[serde(default)]
    limit: BoundedInt<1, 500, 100>,
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum MinimumSeverity {
    Note,
    Warning,
    Error,
}

fn plan_diagnostics(args: &GetDiagnosticsArgs, scene: &Scene) -> Result<FetchRequest, Refusal> {
    let nodes = fetch::scripts_to_fetch(scene, args.paths.as_deref(), args.root.as_ref())?;
    if nodes.is_empty() {
        return refuse!("There are no scripts below it. list_children shows the tree.");
    }
    let looked = |node: &_| FetchScript {
        path: scene.path(*node),
        class: scene.class(*node).to_owned(),
        text: scene.script_text(*node).map(std::borrow::Cow::into_owned),
    };
    Ok(FetchRequest::Diagnostics(Box::new(DiagnosticsRequest {
        scripts: nodes.iter().map(looked).collect(),
        least: match args.severity.unwrap_or(MinimumSeverity::Warning) {
            MinimumSeverity::Note => vector_luau::FindingSeverity::Note,
            MinimumSeverity::Warning => vector_luau::FindingSeverity::Warning,
            MinimumSeverity::Error => vector_luau::FindingSeverity::Error,
        },
        limit: args.limit.get() as usize,
        skip: args::parse_cursor(args.cursor.as_deref())?,
    })))
}
