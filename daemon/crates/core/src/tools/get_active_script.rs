//! `get_active_script`: the script that is open in front in Studio, with drafts.

use scene_schemas::api::Wanted;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Own, Run, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "get_active_script",
    about: "The script that the person has open in front in Studio: path, text with unsaved \
            drafts, isDirty.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Fetch(|json, _| args::read::<Args>(json).map(|Args {}| Wanted::ActiveScript {})),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {}
