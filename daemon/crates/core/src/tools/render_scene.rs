//! `render_scene`: a picture of the place, for whoever can see.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use vector_place::Scene;
use vector_render::{View, can_be_told, gather, shown};

use super::fetch::FetchRequest;
use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "render_scene",
    about: "Draws parts as they stand, with a scale: of the Workspace or of `path`.",
    schema: args::args_schema::<RenderSceneArgs>,
    own: DefaultTarget::Nothing,
    run: ToolAction::Look(|json, scene| plan_render(&args::parse_args(json)?, scene)),
};

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RenderSceneArgs {
    path: Option<InstancePath>,
    view: Option<CameraView>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum CameraView {
    Iso,
    Top,
    Front,
}

fn plan_render(args: &RenderSceneArgs, scene: &Scene) -> Result<FetchRequest, Refusal> {
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
        None | Some(CameraView::Iso) => View::Iso,
        Some(CameraView::Top) => View::Top,
        Some(CameraView::Front) => View::Front,
    };
    Ok(FetchRequest::Picture { of: scene.path(root), solids: Box::new(solids), view })
}
