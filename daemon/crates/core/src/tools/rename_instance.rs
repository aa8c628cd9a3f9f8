//! `rename_instance`: renames an instance.

use scene_schemas::command::Props;
use scene_schemas::path::quote_name;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{InstancePath, Value};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::ProposalDraft;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "rename_instance",
    about: "Proposes a new name, and updates the requires that go through it in other scripts. \
            Other uses of the old name stay unchanged. Returns {path, changed}.",
    schema: args::args_schema::<RenameInstanceArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Change(|json, draft| plan(args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct RenameInstanceArgs {
    path: InstancePath,
    new_name: String,
}

fn plan(args: RenameInstanceArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let node = draft.scene().resolve(&args.path)?;
    if args.new_name.is_empty() {
        return refuse!("`newName` is empty.");
    }
    let title = format!("Rename {} to {}", args.path.quoted_name(), quote_name(&args.new_name));
    let props = Props::from([("Name".to_owned(), Some(Value::String(args.new_name)))]);
    let changed = draft.set_properties(node, props)?;
    draft.set_title(title);
    Ok(json!({ "path": draft.scene().path(node), "changed": changed }))
}
