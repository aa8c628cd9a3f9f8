//! `reveal`: shows the person an instance or a line of a script in Studio.

use scene_schemas::api::Wanted;
use scene_schemas::refusal::refuse;
use scene_schemas::{Bounded, InstancePath};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Own, Run, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "reveal",
    about: "Shows the person an instance in Studio: it is selected, and a script is opened, at \
            `line` (from 1) where it is given.",
    schema: args::schema::<Args>,
    own: Own::Path,
    run: Run::Fetch(|json, scene| {
        let Args { path, line } = args::read(json)?;
        let node = scene.resolve(&path)?;
        if line.is_some() && !scene.is_script(node) {
            return refuse!("{path} is a {}, which has no lines.", scene.class(node));
        }
        Ok(Wanted::Reveal { id: scene.id(node), line: line.map(|line| line.get() as u32) })
    }),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    path: InstancePath,
    line: Option<Bounded<1, 10_000_000>>,
}
