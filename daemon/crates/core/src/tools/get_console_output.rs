//! `get_console_output`: returns Studio's output, of the place and of the last playtest.

use scene_schemas::api::PluginQuery;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "get_console_output",
    about: "Returns the newest output of Studio and of the last playtest in it, errors first.",
    schema: args::args_schema::<GetConsoleOutputArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Fetch(|json, _| {
        args::parse_args::<GetConsoleOutputArgs>(json)
            .map(|GetConsoleOutputArgs {}| PluginQuery::Output { max: MOST })
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetConsoleOutputArgs {}

/// Maximum number of messages that Studio is asked for.
const MOST: u32 = 300;
