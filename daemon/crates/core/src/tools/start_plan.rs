//! `start_plan`: announces a model's plan, step by step.

use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DefaultTarget, ModelAction, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "start_plan",
    about: "Announces your plan, step by step, before the first change of a larger task.",
    schema: args::args_schema::<StartPlanArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Talk(|json| plan(args::parse_args(json)?)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StartPlanArgs {
    /// The steps, in order.
    steps: Vec<String>,
}

const MAX_STEPS: usize = 200;

fn plan(args: StartPlanArgs) -> Result<ModelAction, Refusal> {
    if args.steps.is_empty() || args.steps.len() > MAX_STEPS {
        return refuse!("`steps` must have 1 to {MAX_STEPS} steps.");
    }
    if args.steps.iter().any(|step| step.trim().is_empty()) {
        return refuse!("A step is empty.");
    }
    Ok(ModelAction::Plan { steps: args.steps })
}
