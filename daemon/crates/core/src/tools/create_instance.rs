//! `create_instance`: creates an instance with its descendants.

use scene_schemas::InstancePath;
use scene_schemas::Value;
use scene_schemas::command::Props;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};
use vector_place::{Node, PropertyOwner, count_noun, read_props, reflection};

use super::{DefaultTarget, ToolAction, ToolSpec, args};
use crate::proposal::{ProposalDraft, create_title};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "create_instance",
    about: "Proposes a new instance with properties and children. `props` holds its `Name`, its \
            `Tags`, a script's `Source`, and attributes with an `@`. Values can be short \
            (\"#ff8800\", [0, 5, 0], a path) or as get_properties returns them. Missing parents \
            under Workspace are created as Models. Returns {path, count}.",
    schema: args::args_schema::<CreateInstanceArgs>,
    own: DefaultTarget::ParentOrWorkspace,
    run: ToolAction::Change(|json, draft| plan(args::parse_args(json)?, draft)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct CreateInstanceArgs {
    class_name: String,
    parent_path: InstancePath,
    /// e.g. {"Name": "Wall", "Size": [4, 1, 2], "Material": "Neon", "@Health": 5}
    props: Option<Map<String, Json>>,
    /// Each is {className, props?, children?}
    #[schemars(with = "Option<Vec<Map<String, Json>>>")]
    children: Option<Vec<ChildSpec>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct ChildSpec {
    class_name: String,
    props: Option<Map<String, Json>>,
    children: Option<Vec<ChildSpec>>,
}

/// Maximum number of instances that one call creates.
const MAX_INSTANCES: usize = 10_000;

fn plan(args: CreateInstanceArgs, draft: &mut ProposalDraft<'_>) -> Result<Json, Refusal> {
    let parent = draft.parent_or_models(&args.parent_path)?;
    let root =
        ChildSpec { class_name: args.class_name, props: args.props, children: args.children };
    let mut stack = vec![(parent, root)];
    let mut top = None;
    let mut made = 0;
    while let Some((parent, child)) = stack.pop() {
        made += 1;
        if made > MAX_INSTANCES {
            return refuse!("More than {MAX_INSTANCES} instances in one call; make several calls.");
        }
        let node = create_tree(draft, parent, &child.class_name, child.props.unwrap_or_default())
            .map_err(|refusal| match top {
            None => refusal,
            Some(_) => Refusal(format!("child {made}, a {}: {refusal}", child.class_name)),
        })?;
        top.get_or_insert(node);
        let children = child.children.unwrap_or_default();
        stack.extend(children.into_iter().rev().map(|child| (node, child)));
    }
    let Some(top) = top else {
        return refuse!("Nothing was created.");
    };
    let path = draft.scene().path(top);
    let class = draft.scene().class(top).to_owned();
    let more = match made - 1 {
        0 => String::new(),
        below => format!(" with {}", count_noun(below, "descendant", "descendants")),
    };
    draft.set_title(create_title(&class, &path) + &more);
    Ok(json!({ "path": path, "count": made }))
}

fn create_tree(
    draft: &mut ProposalDraft<'_>,
    parent: Node,
    class: &str,
    mut given: Map<String, Json>,
) -> Result<Node, Refusal> {
    reflection::creatable_class(class)?;
    let name = match given.remove("Name") {
        None => class.to_owned(),
        Some(Json::String(name)) => name,
        Some(_) => return refuse!("`Name` must be a string."),
    };
    let source = match given.remove("Source") {
        Some(Json::String(text)) if reflection::is_script(class) => Some(text),
        Some(_) => return refuse!("`Source` must be a string, and only scripts have it."),
        None => None,
    };
    let mut props: Props = read_props(draft.scene(), PropertyOwner::New(class), &given)?;
    props.retain(|_, value| value.is_some());
    props.extend(source.map(|text| ("Source".to_owned(), Some(Value::String(text)))));
    draft.create_instance(parent, class, &name, props)
}
