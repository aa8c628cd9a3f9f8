//! What is behind everything: a plain colour, and a grid in the plane on which things stand.

use super::draw::PictureCamera;
use super::raster::{SampleBand, mix_colors};
use super::view::ViewDirection;

const PLAIN: [u8; 3] = [246, 247, 249];
const LINE: [u8; 3] = [222, 226, 232];
const STRONG: [u8; 3] = [202, 208, 217];
/// The lines through the origin: where the second axis is 0, and where the first is.
const FIRST: [u8; 3] = [224, 150, 150];
const SECOND: [u8; 3] = [150, 170, 226];
/// Lines are at least so many points apart.
const APART: f64 = 26.0;
/// How much of a line is seen on what is ground itself.
const FAINT: u8 = 18;
/// What is darker has light lines, of 765.
const MIDDLING: u32 = 360;
/// One in so many is stronger.
const GROUP: f64 = 5.0;

#[derive(Debug, Clone, Copy)]
pub(super) struct GroundGrid {
    /// How far lines are apart, in studs.
    step: f64,
    /// Which axes of the world lie in its plane.
    axes: [usize; 2],
    /// Where the plane is.
    floor: f64,
}

/// The least of 1, 2, 5, 10, 20, … that is not less.
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

    /// Fills a band. What is behind everything is the same in all samples of a point.
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
            // Along the line of sight, down to the floor; all its parts are alike.
            let down = self.floor - place[1];
            place = place.map(|part| part + down);
        }
        let colours = [[SECOND, STRONG, LINE], [FIRST, STRONG, LINE]];
        self.draw_lines(camera, place, PLAIN, colours)
    }

    /// A colour with the lines that go through a place: those through the origin, the strong ones, and
    /// the others.
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
            // How much of the point the line covers; seen from above or aslant, lines are as wide.
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

    /// The colour of a solid that is ground itself: the lines go over it.
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
