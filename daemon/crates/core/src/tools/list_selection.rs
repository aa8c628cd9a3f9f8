//! `list_selection`: lists the instances selected in Studio's explorer.

use scene_schemas::api::PluginQuery;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "list_selection",
    about: "Lists the instances selected in Studio: path and class.",
    schema: args::args_schema::<ListSelectionArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Fetch(|json, _| {
        args::parse_args::<ListSelectionArgs>(json)
            .map(|ListSelectionArgs {}| PluginQuery::Selection {})
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ListSelectionArgs {}
