//! `complete`: the task is done.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Own, Run, Talk, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "complete",
    about: "Says that the task is done. Nothing comes after it.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Talk(|json| Ok(Talk::Done { summary: args::read::<Args>(json)?.summary })),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    /// What was done.
    summary: Option<String>,
}
