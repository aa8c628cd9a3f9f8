//! `set_properties`: sets the same values on one or more instances.

use std::collections::{BTreeMap, BTreeSet};

use scene_schemas::InstancePath;
use scene_schemas::command::Props;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use vector_place::reflection::{self, PropertyAccess};
use vector_place::{Node, PropertyOwner, Scene, SetGroups, count_noun, read_props};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::planning_scene::PlanningScene;
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
    let (count, is_one) = (nodes.len(), only.is_some());
    let read = |scene: &Scene, node: Node| {
        let read = read_props(scene, PropertyOwner::Node(node), &args.props);
        read.map_err(|refusal| {
            if is_one { refusal } else { Refusal(format!("{}: {refusal}", scene.path(node))) }
        })
    };
    let by_class = values_by_class(draft.scene(), &nodes, &args.props, read)?;
    let SetGroups { groups, rest, .. } = draft.group_sets(nodes, &by_class);
    let mut changed = 0;
    for group in groups {
        changed += group.nodes.len();
        draft.set_many(group)?;
    }
    for node in rest {
        let props = read(draft.scene(), node)?;
        changed += usize::from(draft.set_properties(node, props)?);
    }
    let names: Vec<_> = args.props.keys().map(String::as_str).collect();
    let whom = only.unwrap_or_else(|| count_noun(changed, "instance", "instances"));
    draft.set_title(format!("Set {} of {whom}", names.join(", ")));
    Ok(json!({ "changed": changed, "unchanged": count - changed }))
}

/// Returns the values for each class of which there are many instances. Leaves out classes whose
/// instances get different values.
fn values_by_class(
    scene: &PlanningScene,
    nodes: &[Node],
    props: &Map<String, Json>,
    read: impl Fn(&Scene, Node) -> Result<Props, Refusal>,
) -> Result<BTreeMap<String, Props>, Refusal> {
    let mut values = BTreeMap::new();
    if !scene.sets_many(nodes.len()) {
        return Ok(values);
    }
    let is_derived = |class: &str, property: &str| {
        matches!(reflection::property_access(class, property), Some(PropertyAccess::Derived(_)))
    };
    let mut known = BTreeSet::new();
    for node in nodes {
        let class = scene.class(*node);
        if known.contains(class) {
            continue;
        }
        known.insert(class);
        if !props.keys().any(|property| is_derived(class, property)) {
            values.insert(class.to_owned(), read(scene, *node)?);
        }
    }
    Ok(values)
}
