//! `validate_syntax`: the compiler's verdict on a text.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::Scene;

use super::{Own, Run, Tool, args};
use crate::proposal::text_of;

pub(super) const TOOL: Tool = Tool {
    name: "validate_syntax",
    about: "Says whether `text`, or the script `path`, compiles as Luau, and where not.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Read(|json, scene| plan(&args::read(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    text: Option<String>,
    path: Option<InstancePath>,
}

fn plan(args: &Args, scene: &Scene) -> Result<Json, Refusal> {
    let found = match (&args.text, &args.path) {
        (Some(text), None) => vector_luau::syntax(text),
        (None, Some(path)) => {
            let node = scene.resolve(path)?;
            vector_luau::syntax(&text_of(scene, node, path)?)
        }
        _ => return refuse!("Exactly one of `text` and `path` is needed."),
    };
    let errors: Vec<Json> = found
        .iter()
        .map(|it| json!({ "line": it.at.line, "column": it.at.column, "message": it.message }))
        .collect();
    Ok(json!({ "compiles": errors.is_empty(), "errors": errors }))
}
