//! `start_plan`: what a model is going to do, step by step.

use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Own, Run, Talk, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "start_plan",
    about: "Says what you are going to do, step by step, before the first change of a larger task.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Talk(|json| plan(args::read(json)?)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// The steps, in order.
    steps: Vec<String>,
}

const MAX_STEPS: usize = 200;

fn plan(args: Args) -> Result<Talk, Refusal> {
    if args.steps.is_empty() || args.steps.len() > MAX_STEPS {
        return refuse!("`steps` has 1 to {MAX_STEPS} steps.");
    }
    if args.steps.iter().any(|step| step.trim().is_empty()) {
        return refuse!("A step is empty.");
    }
    Ok(Talk::Plan { steps: args.steps })
}
