//! `run_tests`: TestEZ-style specs, headlessly.

use std::sync::Arc;

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use vector_place::Scene;

use super::args::Usual;
use super::look::{self, Look, Specs};
use super::{Own, Run, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "run_tests",
    about: "Runs TestEZ-style specs (ModuleScripts named *.spec): `paths`, or all (below `root`). \
            In a sandbox: require and the tree work; properties, events and data types of Roblox \
            do not.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Look(|json, scene| wanted(&args::read(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    paths: Option<Vec<InstancePath>>,
    root: Option<InstancePath>,
    /// Seconds.
    #[serde(default)]
    timeout: Usual<1, 120, 30>,
}

fn wanted(args: &Args, scene: &Scene) -> Result<Look, Refusal> {
    let mut nodes = look::scripts(scene, args.paths.as_deref(), args.root.as_ref())?;
    let is_named = args.paths.is_some();
    // A person may call a spec as they like, and name it.
    nodes.retain(|node| {
        look::is_spec(scene, *node) || is_named && scene.class(*node) == "ModuleScript"
    });
    if nodes.is_empty() {
        return refuse!(
            "There are no specs: ModuleScripts whose names end in .spec and that return a function \
             that calls `describe` and `it`. open_or_create_script makes one."
        );
    }
    let (still, specs) = scene.still(&nodes);
    let seconds = args.timeout.get();
    Ok(Look::Specs(Box::new(Specs { still: Arc::new(still), specs, seconds })))
}
