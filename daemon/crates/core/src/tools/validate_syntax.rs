//! `validate_syntax`: checks a text with the Luau compiler.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::Scene;

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::text_of;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "validate_syntax",
    about: "Compiles `text`, or the script `path`, as Luau and returns the errors.",
    schema: args::args_schema::<ValidateSyntaxArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Read(|json, scene| plan(&args::parse_args(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ValidateSyntaxArgs {
    text: Option<String>,
    path: Option<InstancePath>,
}

fn plan(args: &ValidateSyntaxArgs, scene: &Scene) -> Result<Json, Refusal> {
    let found = match (&args.text, &args.path) {
        (Some(text), None) => vector_luau::syntax_findings(text),
        (None, Some(path)) => {
            let node = scene.resolve(path)?;
            vector_luau::syntax_findings(&text_of(scene, node, path)?)
        }
        _ => return refuse!("Give either `text` or `path`."),
    };
    let errors: Vec<Json> = found
        .iter()
        .map(|it| json!({ "line": it.at.line, "column": it.at.column, "message": it.message }))
        .collect();
    Ok(json!({ "compiles": errors.is_empty(), "errors": errors }))
}
