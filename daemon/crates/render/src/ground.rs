//! The background: a plain colour, and a grid in the plane of the ground.

use super::draw::PictureCamera;
use super::raster::{SampleBand, mix_colors};
use super::view::ViewDirection;

const PLAIN: [u8; 3] = [246, 247, 249];
const LINE: [u8; 3] = [222, 226, 232];
const STRONG: [u8; 3] = [202, 208, 217];
/// The lines through the origin: where the second axis of the plane is 0, and where the first is.
const FIRST: [u8; 3] = [224, 150, 150];
const SECOND: [u8; 3] = [150, 170, 226];
/// Minimum distance of lines, in pixels.
const APART: f64 = 26.0;
/// The opacity of a line on a solid that is ground itself, of 255.
const FAINT: u8 = 18;
/// Grounds with a colour sum below this, of 765, get light lines.
const MIDDLING: u32 = 360;
/// Every line whose number is a multiple of this is stronger.
const GROUP: f64 = 5.0;

#[derive(Debug, Clone, Copy)]
pub(super) struct GroundGrid {
    /// The distance between lines, in studs.
    step: f64,
    /// The world axes that span the plane.
    axes: [usize; 2],
    /// The height of the plane.
    floor: f64,
}

/// The smallest of 1, 2, 5, 10, 20, … that is at least `least`.
pub(super) fn round_up_step(least: f64) -> f64 {
    let mut ten = 1.0;
    while ten * 10.0 <= least && ten < 1e15 {
        ten *= 10.0;
    }
    [1.0, 2.0, 5.0].map(|part| part * ten).into_iter().find(|it| *it >= least).unwrap_or(10.0 * ten)
}

impl GroundGrid {
    pub(super) fn new(camera: &PictureCamera, floor: f64) -> Self {
        let axes = if camera.view == ViewDirection::Front { [0, 1] } else { [0, 2] };
        Self { step: round_up_step(APART / camera.scale), axes, floor }
    }

    /// Fills a band. The background is computed once per pixel, not per sample.
    pub(super) fn draw_band(&self, band: &mut SampleBand, camera: &PictureCamera, fine: usize) {
        let width = band.width;
        for row in (0..band.rows).step_by(fine) {
            let y = (band.top + row as i64) as f64 / fine as f64 + 0.5;
            for column in (0..width).step_by(fine) {
                let colour = self.color_at(camera, column as f64 / fine as f64 + 0.5, y);
                band.colours[row * width + column..][..fine].fill(colour);
            }
            for more in 1..fine {
                let start = row * width;
                band.colours.copy_within(start..start + width, start + more * width);
            }
        }
    }

    fn color_at(&self, camera: &PictureCamera, x: f64, y: f64) -> [u8; 3] {
        let mut place = camera.point_on_plane(x, y);
        if camera.view == ViewDirection::Iso {
            // Move down along the line of sight to the floor. Its three components are equal.
            let down = self.floor - place[1];
            place = place.map(|part| part + down);
        }
        let colours = [[SECOND, STRONG, LINE], [FIRST, STRONG, LINE]];
        self.draw_lines(camera, place, PLAIN, colours)
    }

    /// Draws the lines through a place over a colour. `colours` holds, for each axis, the colours
    /// of the line through the origin, of strong lines, and of other lines.
    fn draw_lines(
        &self,
        camera: &PictureCamera,
        place: [f64; 3],
        mut under: [u8; 3],
        colours: [[[u8; 3]; 3]; 2],
    ) -> [u8; 3] {
        let wide = 1.0 / camera.scale;
        for (axis, [own, strong, usual]) in self.axes.into_iter().zip(colours) {
            let at = place[axis];
            let line = (at / self.step).round();
            // The fraction of the pixel that the line covers. Lines are equally wide in all views.
            let covered = 1.0 - ((at - line * self.step) / wide).abs();
            if covered > 0.0 {
                let is_strong = line % GROUP == 0.0;
                let colour = match line {
                    0.0 => own,
                    _ if is_strong => strong,
                    _ => usual,
                };
                under = mix_colors(under, colour, (covered * 255.0) as u8);
            }
        }
        under
    }

    /// The colour of a solid that is ground itself, with the lines over it.
    pub(super) fn overlay_lines(
        &self,
        camera: &PictureCamera,
        place: [f64; 3],
        under: [u8; 3],
    ) -> [u8; 3] {
        let sum: u32 = under.iter().map(|part| u32::from(*part)).sum();
        let line = if sum < MIDDLING { [255; 3] } else { [0; 3] };
        let (usual, strong) = (mix_colors(under, line, FAINT), mix_colors(under, line, 2 * FAINT));
        self.draw_lines(camera, place, under, [[strong, strong, usual]; 2])
    }
}
