//! `list_open_documents`: the scripts that are open in Studio's editor.

use scene_schemas::api::Wanted;
use schemars::JsonSchema;
use serde::Deserialize;

use super::args::Usual;
use super::{Own, Run, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "list_open_documents",
    about: "Lists the scripts that the person has open in Studio's editor: path and isDirty.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Fetch(|json, _| {
        let Args { max_count } = args::read(json)?;
        Ok(Wanted::Documents { max: max_count.get() as u32 })
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    #[serde(default)]
    max_count: Usual<1, 100, 100>,
}
