//! `validate_syntax`: the compiler's verdict on a text.

use scene_schemas::InstancePath;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{Own, Run, Tool, args};
use crate::core::luau;
use crate::core::proposal::text_of;
use crate::core::refusal::{Refusal, refuse};
use crate::core::scene::Scene;

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
        (Some(text), None) => luau::syntax(text),
        (None, Some(path)) => {
            let node = scene.resolve(path)?;
            luau::syntax(&text_of(scene, node, path)?)
        }
        _ => return refuse!("Exactly one of `text` and `path` is needed."),
    };
    let errors: Vec<Json> = found
        .iter()
        .map(|it| json!({ "line": it.at.line, "column": it.at.column, "message": it.message }))
        .collect();
    Ok(json!({ "compiles": errors.is_empty(), "errors": errors }))
}
