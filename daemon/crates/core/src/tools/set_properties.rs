//! `set_properties`: sets the same values on one or more instances.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use vector_place::{PropertyOwner, count_noun, read_props};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::ProposalDraft;

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "set_properties",
    about: "Proposes new property values for one instance (`path`), several (`paths`) or all that \
            match a `selector` (see find_instances). Values as in create_instance; null resets a \
            property to its default. Returns {changed, unchanged}.",
    schema: args::args_schema::<SetPropertiesArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Change(|json, draft| plan(&args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SetPropertiesArgs {
    path: Option<InstancePath>,
    paths: Option<Vec<InstancePath>>,
    selector: Option<String>,
    /// e.g. {"Color": "#ff8800", "Position": [0, 5, 0], "@Health": 5}
    props: Map<String, Json>,
}

fn plan(args: &SetPropertiesArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let selector = args.selector.as_deref();
    let nodes =
        args::resolve_targets(draft.scene(), args.path.as_ref(), args.paths.as_deref(), selector)?;
    if args.props.is_empty() {
        return refuse!("`props` is empty.");
    }
    // Take the path now, because the call may change the name.
    let only = match nodes.as_slice() {
        [one] => Some(draft.scene().path(*one).to_string()),
        _ => None,
    };
    let mut changed = 0;
    for node in &nodes {
        let read = read_props(draft.scene(), PropertyOwner::Node(*node), &args.props);
        let props = read.map_err(|refusal| match nodes.len() {
            1 => refusal,
            _ => Refusal(format!("{}: {refusal}", draft.scene().path(*node))),
        })?;
        changed += usize::from(draft.set_properties(*node, props)?);
    }
    let names: Vec<_> = args.props.keys().map(String::as_str).collect();
    let whom = only.unwrap_or_else(|| count_noun(changed, "instance", "instances"));
    draft.set_title(format!("Set {} of {whom}", names.join(", ")));
    Ok(json!({ "changed": changed, "unchanged": nodes.len() - changed }))
}
