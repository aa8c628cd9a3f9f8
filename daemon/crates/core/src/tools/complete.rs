//! `complete`: marks the task as done.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{DefaultTarget, ModelAction, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "complete",
    about: "Says that the task is done. Nothing comes after it.",
    schema: args::args_schema::<CompleteArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Talk(|json| {
        Ok(ModelAction::Done { summary: args::parse_args::<CompleteArgs>(json)?.summary })
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CompleteArgs {
    /// What was done.
    summary: Option<String>,
}
