//! The steps of a farm: soil, fence, and the scripts that grow crops.
//!
//! The scripts are in files beside this one. They find everything relative to themselves, so a farm
//! works wherever it is located and whatever its name is.

use serde_json::{Value as Json, json};

use super::plans::{DeferredArgument, ParentRef, RequestPlan, grid_cell, instance_json, part_json};
use super::shapes::GridShape;
use super::values::PartLook;

/// Plants a crop, grows it and harvests it.
pub(super) const CROP: &str = include_str!("crop.luau");
/// Plants every tile and lets players harvest.
pub(super) const FARM_SERVER: &str = include_str!("farm_server.luau");

/// The distance between the soil and the fence, in studs.
const MARGIN: f64 = 1.0;
/// The largest distance between two fence posts, in studs.
const POST_EVERY: f64 = 8.0;

/// Adds the steps of a farm, and returns a sentence about the result.
pub(super) fn add_farm(plan: &mut RequestPlan, shape: &GridShape) -> String {
    let parent = ParentRef::Path(&shape.parent);
    let farm = ParentRef::Step(plan.push_tree(parent, instance_json("Model", &shape.name), vec![]));
    for row in 0..shape.rows {
        let tiles = (0..shape.columns).map(|column| grid_cell(shape, "Tile", row, column));
        let name = format!("Soil_{}", row + 1);
        plan.push_tree(farm, instance_json("Model", &name), tiles.collect());
    }
    for side in SIDES {
        plan.push_tree(farm, instance_json("Model", side.name), fence_parts(shape, side));
    }
    plan.push_tree(farm, instance_json("Folder", "Crops"), vec![]);
    add_script(plan, farm, "ModuleScript", "Crop", CROP);
    add_script(plan, farm, "Script", "FarmServer", FARM_SERVER);
    format!(
        "Created {} with {} x {} soil tiles, a fence, a Crop module and a server script in {}",
        shape.name, shape.rows, shape.columns, shape.parent
    )
}

/// Creates a script and writes its source.
fn add_script(
    plan: &mut RequestPlan,
    parent: ParentRef<'_>,
    class: &str,
    name: &str,
    source: &str,
) {
    let args = json!({ "name": name });
    let script = plan.push_create("open_or_create_script", parent, name, class, args);
    let args = json!({ "source": source });
    let write = plan.push_step(format!("Write the source of {name}"), "write_script", args);
    plan.steps[write].deferred = Some(DeferredArgument { argument: "path", step: script });
}

/// A side of the fence.
struct FenceSide {
    name: &'static str,
    /// The axis along the side: 0 for X, 2 for Z.
    along: usize,
    /// The axis of the side's offset from the centre.
    across: usize,
    sign: f64,
}

const SIDES: &[FenceSide] = &[
    fence_side("FenceNorth", 0, 2, -1.0),
    fence_side("FenceSouth", 0, 2, 1.0),
    fence_side("FenceWest", 2, 0, -1.0),
    fence_side("FenceEast", 2, 0, 1.0),
];

const fn fence_side(name: &'static str, along: usize, across: usize, sign: f64) -> FenceSide {
    FenceSide { name, along, across, sign }
}

/// Returns the posts and rails of one side.
fn fence_parts(shape: &GridShape, side: &FenceSide) -> Vec<Json> {
    let look = PartLook { colour: Some("#8a5a33".to_owned()), material: Some("WoodPlanks") };
    let cells = [shape.columns, 1, shape.rows];
    let extent = |axis: usize| f64::from(cells[axis]) * shape.spacing + 2.0 * MARGIN;
    let length = extent(side.along);
    let place = |offset: f64, height: f64| {
        let mut position = shape.center;
        position[1] += shape.size[1] / 2.0 + height;
        position[side.along] += offset;
        position[side.across] += side.sign * extent(side.across) / 2.0;
        position
    };
    let gaps = (length / POST_EVERY).ceil().max(1.0) as u32;
    let mut parts: Vec<Json> = (0..=gaps)
        .map(|n| {
            let offset = length * (f64::from(n) / f64::from(gaps) - 0.5);
            let name = format!("Post_{}", n + 1);
            part_json(&name, [0.5, 3.0, 0.5], place(offset, 1.5), &look)
        })
        .collect();
    for (name, height) in [("Rail_1", 1.0), ("Rail_2", 2.2)] {
        let mut size = [0.2, 0.4, 0.2];
        size[side.along] = length;
        parts.push(part_json(name, size, place(0.0, height), &look));
    }
    parts
}
