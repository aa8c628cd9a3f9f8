//! `render_scene`: a picture of the place, for whoever can see.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use vector_place::Scene;
use vector_render::{View, can_be_told, gather, shown};

use super::look::Look;
use super::{Own, Run, Tool, args};

pub(super) const TOOL: Tool = Tool {
    name: "render_scene",
    about: "Draws parts as they stand, with a scale: of the Workspace or of `path`.",
    schema: args::schema::<Args>,
    own: Own::Nothing,
    run: Run::Look(|json, scene| look(&args::read(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Args {
    path: Option<InstancePath>,
    view: Option<Seen>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Seen {
    Iso,
    Top,
    Front,
}

fn look(args: &Args, scene: &Scene) -> Result<Look, Refusal> {
    let root = match &args.path {
        Some(path) => scene.resolve(path)?,
        None => scene.root(),
    };
    can_be_told(scene, root)?;
    let solids = gather(scene, root);
    let root = shown(scene, root);
    if solids.all.is_empty() && solids.left.broken == 0 && !scene.is_open() {
        return refuse!("There is nothing to see in {}: no part stands there.", scene.path(root));
    }
    let view = match args.view {
        None | Some(Seen::Iso) => View::Iso,
        Some(Seen::Top) => View::Top,
        Some(Seen::Front) => View::Front,
    };
    Ok(Look::Picture { of: scene.path(root), solids: Box::new(solids), view })
}
