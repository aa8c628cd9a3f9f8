//! `update_plan`: reports a model's progress on the plan.

use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DefaultTarget, ModelAction, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "update_plan",
    about: "Marks a step of the plan as done and names the next one. Identify a step by its number \
            (from 1) or its text.",
    schema: args::args_schema::<UpdatePlanArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Talk(|json| plan(args::parse_args(json)?)),
};

/// A step of the plan: its number from 1, or its text.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum StepName {
    /// The step number, from 1.
    Number(u32),
    /// The text of the step.
    Text(String),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct UpdatePlanArgs {
    /// The step that was completed.
    completed_step: Option<StepName>,
    /// The step that comes next.
    next_step: Option<StepName>,
    /// A note for the user.
    notes: Option<String>,
}

fn plan(args: UpdatePlanArgs) -> Result<ModelAction, Refusal> {
    let UpdatePlanArgs { completed_step: completed, next_step: next, notes } = args;
    if completed.is_none() && next.is_none() && notes.is_none() {
        return refuse!("Give at least one of `completedStep`, `nextStep` and `notes`.");
    }
    Ok(ModelAction::Progress { completed, next, notes })
}
