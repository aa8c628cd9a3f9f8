//! `open_or_create_script`: returns a script's text, or creates an empty script.

use scene_schemas::InstancePath;
use scene_schemas::command::Props;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::reflection;

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::{ProposalDraft, create_title, text_of};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "open_or_create_script",
    about: "Opens a script, or proposes a new, empty one if it does not exist. Give `path`, or \
            `parentPath` and `name`. Returns {path, text, created}.",
    schema: args::args_schema::<OpenScriptArgs>,
    own: DefaultTarget::ParentOrWorkspace,
    run: ToolAction::Change(|json, draft| plan(args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct OpenScriptArgs {
    path: Option<InstancePath>,
    parent_path: Option<InstancePath>,
    name: Option<String>,
    /// Script (default), LocalScript or ModuleScript
    class_name: Option<String>,
}

fn plan(args: OpenScriptArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let (path, parent, name) = match (args.path, args.parent_path, args.name) {
        (Some(path), None, None) => {
            let Some(parent) = path.parent() else {
                return refuse!("`game` is not a script.");
            };
            let name = path.name().to_owned();
            (path, parent, name)
        }
        (None, Some(parent), Some(name)) => (parent.child(&name, None), parent, name),
        _ => return refuse!("Give either `path`, or `parentPath` and `name`."),
    };
    let exists = draft
        .scene()
        .resolve(&parent)
        .is_ok_and(|at| draft.scene().find_child(at, &name).is_some());
    if exists {
        let node = draft.scene().resolve(&path)?;
        let text = text_of(draft.scene(), node, &path)?;
        return Ok(json!({ "path": draft.scene().path(node), "text": text, "created": false }));
    }
    let class = args.class_name.as_deref().unwrap_or("Script");
    reflection::creatable_class(class)?;
    if !reflection::is_script(class) {
        return refuse!("`className` must be Script, LocalScript or ModuleScript, not {class}.");
    }
    let parent = draft.parent_or_models(&parent)?;
    let node = draft.create_instance(parent, class, &name, Props::new())?;
    let path = draft.scene().path(node);
    draft.set_title(create_title(class, &path));
    Ok(json!({ "path": path, "text": "", "created": true }))
}
