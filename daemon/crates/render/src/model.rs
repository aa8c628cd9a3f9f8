//! Draws a model of triangles, such as a generated one, which no place has yet.

use super::draw::{PictureCamera, downsample_band, light_of_face};
use super::ground::GroundGrid;
use super::png::Picture;
use super::raster::{FaceCorner, SampleBand};
use super::view::{ViewDirection, ViewFrame, WorldBox};

/// Number of pixel rows that are drawn at once.
const BAND: usize = 32;
/// Samples per pixel along each axis.
const FINE: usize = 3;
/// The longest side of the model in the picture, in studs: depths are compared in studs.
const LONGEST: f32 = 20.0;

/// A triangle of a model.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelTriangle {
    pub corners: [[f32; 3]; 3],
    /// Red, green and blue.
    pub colour: [u8; 3],
}

/// Draws a model, whole and from a corner. Its triangles are seen from both sides. Returns None if it has
/// no extent.
pub fn draw_model(triangles: &[ModelTriangle], size: (u32, u32)) -> Option<Picture> {
    let (low, longest) = model_extent(triangles)?;
    let factor = LONGEST / longest;
    let place = |corner: [f32; 3]| [0, 1, 2].map(|axis| (corner[axis] - low[axis]) * factor);
    let placed: Vec<ModelTriangle> = triangles
        .iter()
        .map(|it| ModelTriangle { corners: it.corners.map(place), colour: it.colour })
        .collect();
    let frame = enclose_triangles(&placed);
    let camera = PictureCamera::new(frame, size);
    let faces: Vec<[FaceCorner; 3]> =
        placed.iter().map(|it| project_triangle(&camera, it.corners)).collect();
    let rows = size.1 as usize;
    let mut bands = vec![Vec::new(); rows.div_ceil(BAND)];
    for (at, face) in (0_u32..).zip(&faces) {
        let along = |bound: fn(f64, f64) -> f64, from| face.iter().map(|it| it.y).fold(from, bound);
        let highest = (along(f64::min, f64::INFINITY) / FINE as f64 - 1.0).max(0.0) as usize;
        let lowest = (along(f64::max, f64::NEG_INFINITY) / FINE as f64 + 1.0).max(0.0) as usize;
        let last = (lowest / BAND).min(bands.len() - 1);
        for band in bands.iter_mut().take(last + 1).skip(highest / BAND) {
            band.push(at);
        }
    }
    let ground = GroundGrid::new(&camera, 0.0);
    let mut band = SampleBand::new(size.0 as usize * FINE, (BAND + 2) * FINE);
    let mut picture = Picture::new(size);
    for (top, list) in (0..rows).step_by(BAND).zip(&bands) {
        band.clear_at((top as i64 - 1) * FINE as i64);
        ground.draw_band(&mut band, &camera, FINE);
        for at in list {
            let (face, colour) = (&faces[*at as usize], placed[*at as usize].colour);
            band.draw_face(face, *at, colour);
            let [a, b, c] = *face;
            band.draw_face(&[a, c, b], *at, colour);
        }
        let width = size.0 as usize;
        downsample_band(&band, FINE, width, top..(top + BAND).min(rows), |x, y, _, colour| {
            picture.put_pixel(x, y, colour);
        });
    }
    Some(picture)
}

/// Returns the lowest corner of the box around a model, and its longest side.
fn model_extent(triangles: &[ModelTriangle]) -> Option<([f32; 3], f32)> {
    let corners = || triangles.iter().flat_map(|it| it.corners);
    let bound = |axis: usize, from: f32, bound: fn(f32, f32) -> f32| {
        corners().map(|corner| corner[axis]).fold(from, bound)
    };
    let low = [0, 1, 2].map(|axis| bound(axis, f32::INFINITY, f32::min));
    let high = [0, 1, 2].map(|axis| bound(axis, f32::NEG_INFINITY, f32::max));
    let longest = [0, 1, 2].map(|axis| high[axis] - low[axis]).into_iter().fold(0.0, f32::max);
    let is_sound = longest > 0.0 && longest.is_finite() && low.iter().all(|it| it.is_finite());
    is_sound.then_some((low, longest))
}

fn enclose_triangles(placed: &[ModelTriangle]) -> ViewFrame {
    let view = ViewDirection::Iso;
    let corners = || placed.iter().flat_map(|it| it.corners);
    let extent = |axis: [f64; 3]| {
        let along = |corner: [f32; 3]| (0..3).map(|at| axis[at] * f64::from(corner[at])).sum();
        let fold = |from, bound: fn(f64, f64) -> f64| corners().map(along).fold(from, bound);
        (fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max))
    };
    let [right, up, _] = view.axes();
    let bound = |axis: usize| corners().map(|it| it[axis]).fold(0.0, f32::max);
    let bounds = WorldBox { low: [0.0; 3], high: [0, 1, 2].map(bound) };
    ViewFrame::new(view, [extent(right), extent(up)], bounds)
}

fn project_triangle(camera: &PictureCamera, corners: [[f32; 3]; 3]) -> [FaceCorner; 3] {
    let points = corners.map(|corner| camera.project_point(corner));
    let light = light_of_face(points, camera.scale);
    points.map(|[x, y, z]| FaceCorner { x: x * FINE as f64, y: y * FINE as f64, z, light })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triangle(corners: [[f32; 3]; 3], colour: [u8; 3]) -> ModelTriangle {
        ModelTriangle { corners, colour }
    }

    /// Number of pixels whose strongest color is red, green or blue.
    fn count_strongest(picture: &Picture, part: usize) -> usize {
        let is_strongest = |it: &&[u8; 3]| {
            (0..3).all(|other| other == part || it[part] > it[other].saturating_add(60))
        };
        picture.points.iter().filter(is_strongest).count()
    }

    #[test]
    fn nearer_triangles_hide_others_at_every_scale() {
        for scale in [0.001, 1.0, 5_000.0] {
            let wall = |z: f32| {
                [[0.0, 0.0, z], [2.0, 0.0, z], [2.0, 2.0, z]].map(|it| it.map(|part| part * scale))
            };
            let red = triangle(wall(0.0), [230, 20, 20]);
            let blue = triangle(wall(0.5), [20, 20, 230]);
            for order in [[red, blue], [blue, red]] {
                let picture = draw_model(&order, (200, 150)).unwrap();
                let [red, blue] = [0, 2].map(|part| count_strongest(&picture, part));
                assert!(blue > 2_000 && red > 100 && red < blue, "{red} red, {blue} blue");
            }
        }
    }

    #[test]
    fn both_sides_are_drawn_and_broken_models_are_not() {
        let floor = [[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 0.0, 4.0]];
        let [a, b, c] = floor;
        for corners in [[a, b, c], [a, c, b]] {
            let picture = draw_model(&[triangle(corners, [20, 200, 20])], (120, 120)).unwrap();
            assert!(count_strongest(&picture, 1) > 1_000);
        }
        assert!(draw_model(&[], (100, 100)).is_none());
        assert!(draw_model(&[triangle([a, a, a], [0; 3])], (100, 100)).is_none());
        let broken = triangle([a, b, [f32::INFINITY, 0.0, 0.0]], [0; 3]);
        assert!(draw_model(&[broken], (100, 100)).is_none());
        let unknown = triangle([a, b, [f32::NAN, 0.0, 0.0]], [0; 3]);
        assert!(draw_model(&[unknown, triangle(floor, [0; 3])], (100, 100)).is_some());
    }
}
