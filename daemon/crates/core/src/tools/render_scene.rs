//! `render_scene`: renders an image of the place for models that accept images.

use scene_schemas::InstancePath;
use scene_schemas::refusal::{Refusal, refuse};
use schemars::JsonSchema;
use serde::Deserialize;
use vector_place::Scene;
use vector_render::{ViewDirection, check_part_limit, gather_solids, visible_root};

use super::fetch::FetchRequest;
use super::{DefaultTarget, ToolAction, ToolSpec, args};

pub(super) const TOOL: ToolSpec = ToolSpec {
    name: "render_scene",
    about: "Renders a picture of the Workspace, or of `path`, with a scale bar.",
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
    check_part_limit(scene, root)?;
    let solids = gather_solids(scene, root);
    let root = visible_root(scene, root);
    if solids.all.is_empty() && solids.broken.is_empty() && !scene.is_open_in_studio() {
        return refuse!("There is nothing to render in {}: it has no parts.", scene.path(root));
    }
    let view = match args.view {
        None | Some(CameraView::Iso) => ViewDirection::Iso,
        Some(CameraView::Top) => ViewDirection::Top,
        Some(CameraView::Front) => ViewDirection::Front,
    };
    Ok(FetchRequest::Picture { of: scene.path(root), solids: Box::new(solids), view })
}
