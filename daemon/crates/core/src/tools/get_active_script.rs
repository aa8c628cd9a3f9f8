//! `get_active_script`: returns the active script in Studio, including unsaved drafts.

use scene_schemas::api::PluginQuery;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "get_active_script",
    about: "Returns the script that is active in Studio's editor: path, text with unsaved drafts, \
            isDirty.",
    schema: args::args_schema::<GetActiveScriptArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Fetch(|json, _| {
        args::parse_args::<GetActiveScriptArgs>(json)
            .map(|GetActiveScriptArgs {}| PluginQuery::ActiveScript {})
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GetActiveScriptArgs {}
