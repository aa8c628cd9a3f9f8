//! `find_instances`: lists the instances that match a selector.

use scene_schemas::InstancePath;
use scene_schemas::refusal::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use vector_place::Scene;
use vector_place::selector::Selector;

use super::args::BoundedInt;
use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "find_instances",
    about: "Finds instances (below `root`) with a selector, in the syntax of \
            Instance:QueryDescendants: Part, #Name, .Tag, [Anchored = false], [$Attribute = value], \
            A > B, A >> B, `,`, :not(), :has(). Returns paths and classes.",
    schema: args::args_schema::<FindInstancesArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Read(|json, scene| plan(&args::parse_args(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct FindInstancesArgs {
    /// e.g. Model > Part.Coin[Transparency = 0]
    selector: String,
    root: Option<InstancePath>,
    #[serde(default)]
    limit: BoundedInt<1, 1000, 100>,
    cursor: Option<String>,
}

fn plan(args: &FindInstancesArgs, scene: &Scene) -> Result<Json, Refusal> {
    let root = args.root.as_ref().map_or(Ok(scene.root()), |path| scene.resolve(path))?;
    let limit = args.limit.get() as usize;
    let skip = args::parse_cursor(args.cursor.as_deref())?;
    let found = Selector::find(&args.selector, scene, root)?;
    let page: Vec<_> = found
        .iter()
        .skip(skip)
        .take(limit)
        .map(|node| json!({ "path": scene.path(*node), "class": scene.class(*node) }))
        .collect();
    let mut answer = json!({ "total": found.len(), "instances": page });
    if found.len() > skip + limit {
        answer["truncated"] = true.into();
        answer["cursor"] = (skip + limit).to_string().into();
    }
    Ok(answer)
}
