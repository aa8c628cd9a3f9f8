//! `complete`: marks the task as done.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{DefaultTarget, ModelAction, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "complete",
    about: "Marks the task as done. Make it your last call.",
    schema: args::args_schema::<CompleteArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Talk(|json| {
        Ok(ModelAction::Done { summary: args::parse_args::<CompleteArgs>(json)?.summary })
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CompleteArgs {
    /// A summary of the work.
    summary: Option<String>,
}
