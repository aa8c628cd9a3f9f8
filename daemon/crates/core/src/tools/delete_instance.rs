//! `delete_instance`: away, with everything below.

use scene_schemas::InstancePath;
use scene_schemas::refusal::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::count;

use super::{Own, Run, Tool, args};
use crate::proposal::Draft;

pub(super) const TOOL: Tool = Tool {
    name: "delete_instance",
    about: "Proposes to delete one instance (`path`), several (`paths`) or all that a `selector` fits, \
            each with all below it. Answers {deleted}.",
    schema: args::schema::<Args>,
    own: Own::Path,
    run: Run::Change(|json, draft| plan(&args::read(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    path: Option<InstancePath>,
    paths: Option<Vec<InstancePath>>,
    /// e.g. Part.Debris
    selector: Option<String>,
}

fn plan(args: &Args, draft: &mut Draft<'_>) -> Result<Json, Refusal> {
    let selector = args.selector.as_deref();
    let nodes = args::targets(draft.scene(), args.path.as_ref(), args.paths.as_deref(), selector)?;
    let nodes = args::outermost(draft.scene(), &nodes);
    let title = match args.path.as_ref() {
        Some(path) => format!("Delete {path}"),
        None => format!("Delete {}", count(nodes.len(), "instance", "instances")),
    };
    // From the last to the first, so that the numbers of equal siblings on the card stay right.
    for node in nodes.iter().rev() {
        draft.delete(*node)?;
    }
    draft.title(title);
    Ok(json!({ "deleted": nodes.len() }))
}
