//! `clone_instance`: copies an instance with its descendants.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use vector_place::{PropertyOwner, read_props};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::ProposalDraft;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "clone_instance",
    about: "Proposes a copy of an instance with its descendants, beside the original or below \
            `parentPath`, optionally with new `name` and `props`. Returns {path}.",
    schema: args::args_schema::<CloneInstanceArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Change(|json, draft| plan(args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CloneInstanceArgs {
    path: InstancePath,
    parent_path: Option<InstancePath>,
    name: Option<String>,
    /// As in set_properties.
    props: Option<Map<String, Json>>,
}

fn plan(args: CloneInstanceArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let source = draft.scene().resolve(&args.path)?;
    let parent = match (&args.parent_path, draft.scene().parent(source)) {
        (Some(path), _) => draft.parent_or_models(path)?,
        (None, Some(parent)) => parent,
        (None, None) => return refuse!("`game` itself cannot be cloned."),
    };
    let name = args.name.unwrap_or_else(|| draft.scene().name(source).to_owned());
    let copy = draft.clone_instance(source, parent, &name)?;
    if let Some(props) = &args.props {
        let props = read_props(draft.scene(), PropertyOwner::Node(copy), props)?;
        draft.set_properties(copy, props)?;
    }
    let path = draft.scene().path(copy);
    let (whom, parent) = (args.path.quoted_name(), draft.scene().path(parent));
    draft.set_title(if name == args.path.name() {
        format!("Clone {whom} into {}", parent.quoted_name())
    } else {
        format!("Clone {whom} as {}", path.quoted_name())
    });
    Ok(json!({ "path": path }))
}
