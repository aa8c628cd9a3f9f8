//! `list_open_documents`: lists the scripts that are open in Studio's editor.

use scene_schemas::api::PluginQuery;
use schemars::JsonSchema;
use serde::Deserialize;

use super::args::BoundedInt;
use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "list_open_documents",
    about: "Lists the scripts open in Studio's editor: path and isDirty.",
    schema: args::args_schema::<ListOpenDocumentsArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Fetch(|json, _| {
        let ListOpenDocumentsArgs { max_count } = args::parse_args(json)?;
        Ok(PluginQuery::Documents { max: max_count.get() as u32 })
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ListOpenDocumentsArgs {
    #[serde(default)]
    max_count: BoundedInt<1, 100, 100>,
}
