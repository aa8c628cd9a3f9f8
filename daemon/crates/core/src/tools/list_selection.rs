//! `list_selection`: what the person has selected in Studio's explorer.

use scene_schemas::api::Wanted;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Own, Run, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "list_selection",
    about: "Lists what the person has selected in Studio: path and class.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Fetch(|json, _| args::read::<Args>(json).map(|Args {}| Wanted::Selection {})),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {}
