//! `get_diagnostics`: what is wrong with scripts.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use vector_place::Scene;

use super::args::Usual;
use super::look::{self, Diagnostics, Look, Looked};
use super::{Own, Run, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "get_diagnostics",
    about: "Checks scripts: syntax, lints (the project's selene.toml), and types where a checker \
            is installed. Only `paths`, or all (below `root`).",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Look(|json, scene| wanted(&args::read(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    paths: Option<Vec<InstancePath>>,
    root: Option<InstancePath>,
    /// The least; default warning.
    severity: Option<Least>,
    #[serde(default)]
    limit: Usual<1, 500, 100>,
    cursor: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Least {
    Note,
    Warning,
    Error,
}

fn wanted(args: &Args, scene: &Scene) -> Result<Look, Refusal> {
    let nodes = look::scripts(scene, args.paths.as_deref(), args.root.as_ref())?;
    if nodes.is_empty() {
        return refuse!("There are no scripts below it; list_children shows the tree.");
    }
    let looked = |node: &_| Looked {
        path: scene.path(*node),
        class: scene.class(*node).to_owned(),
        text: scene.source(*node).map(std::borrow::Cow::into_owned),
    };
    Ok(Look::Diagnostics(Box::new(Diagnostics {
        scripts: nodes.iter().map(looked).collect(),
        least: match args.severity.unwrap_or(Least::Warning) {
            Least::Note => vector_luau::Severity::Note,
            Least::Warning => vector_luau::Severity::Warning,
            Least::Error => vector_luau::Severity::Error,
        },
        limit: args.limit.get() as usize,
        skip: args::offset(args.cursor.as_deref())?,
    })))
}
