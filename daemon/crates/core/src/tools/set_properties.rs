//! `set_properties`: sets the same values on one or more instances.

use std::collections::{BTreeMap, BTreeSet};

use scene_schemas::InstancePath;
use scene_schemas::command::Props;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use vector_place::reflection::{self, PropertyAccess};
use vector_place::{Node, PropertyOwner, Scene, SetGroups, read_props};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::planning_scene::PlanningScene;
use crate::proposal::{
    ProposalDraft, common_class, count_class, list_properties, set_all_title, set_title,
};

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
    /// e.g. {"Color": "#ff8800", "@Health": 5}
    props: Map<String, Json>,
}

fn plan(args: &SetPropertiesArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let selector = args.selector.as_deref();
    let nodes = args::resolve_targets(draft, args.path.as_ref(), args.paths.as_deref(), selector)?;
    if args.props.is_empty() {
        return refuse!("`props` is empty.");
    }
    let count = nodes.len();
    let read = |scene: &Scene, node: Node| {
        let read = read_props(scene, PropertyOwner::Node(node), &args.props);
        read.map_err(|refusal| {
            if count == 1 { refusal } else { Refusal(format!("{}: {refusal}", scene.path(node))) }
        })
    };
    let by_class = values_by_class(draft.scene(), &nodes, &args.props, read)?;
    // Take these now, because the call may change what they say.
    let only = match nodes.as_slice() {
        [only] => Some(title_of_one(draft, *only, &read(draft.scene(), *only)?)),
        _ => None,
    };
    let class = common_class(draft.scene(), &nodes).map(str::to_owned);
    let values = shared_values(draft.scene(), &nodes, &args.props, read)?;
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
    draft.set_title(only.unwrap_or_else(|| {
        let whom = count_class(changed, class.as_deref());
        if let Some(values) = values {
            return set_all_title(&whom, &values);
        }
        let names = list_properties(args.props.keys().map(String::as_str));
        format!("Set {names} of {whom}")
    }));
    Ok(json!({ "changed": changed, "unchanged": count - changed }))
}

fn title_of_one(draft: &ProposalDraft<'_>, node: Node, props: &Props) -> String {
    let scene = draft.scene();
    let is_known = !scene.is_asset_preview(node);
    set_title(
        &scene.path(node),
        props,
        |property| {
            if is_known { scene.value(node, property) } else { None }
        },
    )
}

/// Returns the values that all instances get. None if they may get different ones.
fn shared_values(
    scene: &PlanningScene,
    nodes: &[Node],
    props: &Map<String, Json>,
    read: impl Fn(&Scene, Node) -> Result<Props, Refusal>,
) -> Result<Option<Props>, Refusal> {
    match nodes {
        [first, ..] if !has_derived(scene.class(*first), props) => read(scene, *first).map(Some),
        _ => Ok(None),
    }
}

/// Whether a value depends on others of the instance.
fn has_derived(class: &str, props: &Map<String, Json>) -> bool {
    props.keys().any(|property| {
        matches!(reflection::property_access(class, property), Some(PropertyAccess::Derived(_)))
    })
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
    let mut known = BTreeSet::new();
    for node in nodes {
        let class = scene.class(*node);
        if known.contains(class) {
            continue;
        }
        known.insert(class);
        if !has_derived(class, props) {
            values.insert(class.to_owned(), read(scene, *node)?);
        }
    }
    Ok(values)
}
