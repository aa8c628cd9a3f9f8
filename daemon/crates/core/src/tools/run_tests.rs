//! `run_tests`: runs TestEZ-style specs headlessly.

use std::sync::Arc;

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use vector_place::Scene;

use super::args::BoundedInt;
use super::fetch::{self, FetchRequest, SpecsRequest};
use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "run_tests",
    about: "Runs TestEZ-style specs (ModuleScripts named *.spec): `paths`, or all (below `root`). \
            Sandboxed: require and the tree work; Roblox's properties, events and data types do \
            not.",
    schema: args::args_schema::<RunTestsArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Look(|json, scene| plan_specs(&args::parse_args(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RunTestsArgs {
    paths: Option<Vec<InstancePath>>,
    root: Option<InstancePath>,
    /// In seconds.
    #[serde(default)]
    timeout: BoundedInt<1, 120, 30>,
}

fn plan_specs(args: &RunTestsArgs, scene: &Scene) -> Result<FetchRequest, Refusal> {
    let mut nodes = fetch::scripts_to_fetch(scene, args.paths.as_deref(), args.root.as_ref())?;
    let is_named = args.paths.is_some();
    // A spec listed in `paths` may have any name.
    nodes.retain(|node| {
        fetch::is_spec(scene, *node) || is_named && scene.class(*node) == "ModuleScript"
    });
    if nodes.is_empty() {
        return refuse!(
            "There are no specs. A spec is a ModuleScript whose name ends in .spec and that returns \
             a function that calls `describe` and `it`; open_or_create_script creates one."
        );
    }
    let (still, specs) = scene.take_snapshot(&nodes);
    let seconds = args.timeout.get();
    Ok(FetchRequest::Specs(Box::new(SpecsRequest { still: Arc::new(still), specs, seconds })))
}
