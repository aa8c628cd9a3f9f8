//! `rename_instance`: another name.

use scene_schemas::command::Props;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{InstancePath, Value};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};

use super::{Own, Run, Tool, args};
use crate::proposal::Draft;

pub(super) const TOOL: Tool = Tool {
    name: "rename_instance",
    about: "Proposes another name, and corrects the requires that lead over it in other scripts. Other uses \
            of the old name are not changed. Answers {path, changed}.",
    schema: args::schema::<Args>,
    own: Own::Path,
    run: Run::Change(|json, draft| plan(args::read(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Args {
    path: InstancePath,
    new_name: String,
}

fn plan(args: Args, draft: &mut Draft<'_>) -> Result<Json, Refusal> {
    let node = draft.scene().resolve(&args.path)?;
    if args.new_name.is_empty() {
        return refuse!("`newName` is empty.");
    }
    let title = format!("Rename {} to {:?}", args.path, args.new_name);
    let props = Props::from([("Name".to_owned(), Some(Value::String(args.new_name)))]);
    let changed = draft.set(node, props)?;
    draft.title(title);
    Ok(json!({ "path": draft.scene().path(node), "changed": changed }))
}
