//! `run_tests`: runs specs of TestEZ and Jest headlessly.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use vector_place::Scene;

use super::args::BoundedInt;
use super::fetch::{self, FetchRequest};
use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::specs::{SpecFinder, SpecsRequest};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "run_tests",
    about: "Runs specs (ModuleScripts named *.spec, of TestEZ or Jest): `paths`, or all (below `root`). \
            Sandboxed, on a copy of the place, as on its server.",
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
    let finder = SpecFinder::new(scene);
    nodes.retain(|node| finder.is_spec(*node) || is_named && scene.class(*node) == "ModuleScript");
    if nodes.is_empty() {
        return refuse!(
            "There are no specs. A spec is a ModuleScript whose name ends in .spec and that returns \
             a function that calls `describe` and `it`; open_or_create_script creates one."
        );
    }
    Ok(FetchRequest::Specs(SpecsRequest { specs: nodes, seconds: args.timeout.get() }))
}
