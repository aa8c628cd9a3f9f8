//! `capture_viewport`: a picture of what the person sees in Studio.

use scene_schemas::api::Wanted;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Own, Run, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "capture_viewport",
    about: "Takes a picture of Studio's viewport, after the person has allowed it once.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Fetch(|json, _| args::read::<Args>(json).map(|Args {}| Wanted::Capture {})),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {}
