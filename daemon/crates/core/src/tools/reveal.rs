//! `reveal`: selects an instance or opens a script line in Studio, to show it to the user.

use scene_schemas::api::PluginQuery;
use scene_schemas::refusal::refuse;
use scene_schemas::{BoundedNumber, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "reveal",
    about: "Shows the user an instance in Studio: selects it, and opens a script, at `line` \
            (1-based) if given.",
    schema: args::args_schema::<RevealArgs>,
    own: DefaultTarget::Path,
    run: ToolAction::Fetch(|json, scene| {
        let RevealArgs { path, line } = args::parse_args(json)?;
        let node = scene.resolve(&path)?;
        if line.is_some() && !scene.is_script(node) {
            return refuse!("{path} is a {}, which has no lines.", scene.class(node));
        }
        Ok(PluginQuery::Reveal { id: scene.id(node), line: line.map(|line| line.get() as u32) })
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RevealArgs {
    path: InstancePath,
    line: Option<BoundedNumber<1, 10_000_000>>,
}
