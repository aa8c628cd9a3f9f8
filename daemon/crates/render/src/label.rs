//! Labels on a picture: a scale bar, the directions of the axes, and a legend of the change
//! colours.

use super::draw::{PictureCamera, colour_of};
use super::font;
use super::ground::round_up_step;
use super::png::Picture;
use super::solid::{ChangeMark, SolidSet};
use super::view::ViewDirection;

const INK: [u8; 3] = [52, 58, 70];
const PAPER: [u8; 3] = [255, 255, 255];
/// The opacity of the background of a label, of 255.
const PAPER_OPACITY: u8 = 205;
/// The axes in their conventional colours.
const AXES: [(char, [u8; 3]); 3] =
    [('X', [206, 64, 58]), ('Y', [66, 152, 72]), ('Z', [54, 104, 206])];
/// Pictures with a shorter side below this many pixels have no labels.
const LEAST: u32 = 200;
/// The distance between letters: five pixels, and one of spacing.
const ADVANCE: i64 = 6;
const HEIGHT: i64 = 7;

pub(super) fn write_labels(picture: &mut Picture, solids: &SolidSet, camera: &PictureCamera) {
    let side = picture.width.min(picture.height);
    if side < LEAST {
        return;
    }
    let mut pen = LabelPen { picture, size: if side < 640 { 1 } else { 2 } };
    pen.draw_ruler(camera);
    pen.draw_axes(camera);
    pen.draw_legend(solids);
}

struct LabelPen<'a> {
    picture: &'a mut Picture,
    /// Picture pixels per font pixel.
    size: i64,
}

/// The width of a text, in font pixels.
fn text_width(text: &str) -> i64 {
    text.chars().count() as i64 * ADVANCE - 1
}

impl LabelPen<'_> {
    fn fill_box(&mut self, corner: (i64, i64), size: (i64, i64), colour: [u8; 3], opacity: u8) {
        for row in corner.1..corner.1 + size.1 {
            for column in corner.0..corner.0 + size.0 {
                self.picture.blend_pixel(column, row, colour, opacity);
            }
        }
    }

    fn draw_text(&mut self, x: i64, y: i64, text: &str, colour: [u8; 3]) {
        let size = self.size;
        for (at, letter) in (0..).zip(text.chars()) {
            for (row, bits) in (0..).zip(font::letter_rows(letter)) {
                for column in (0..5).filter(|column| bits >> (4 - column) & 1 == 1) {
                    let at = (x + (at * ADVANCE + column) * size, y + row * size);
                    self.fill_box(at, (size, size), colour, 255);
                }
            }
        }
    }

    /// Draws a scale bar with a round number of studs at the lower left.
    fn draw_ruler(&mut self, camera: &PictureCamera) {
        let size = self.size;
        let wanted = f64::from(self.picture.width) * 0.12 / camera.scale;
        let studs = if wanted < 1.0 { 1.0 } else { round_up_step(wanted) };
        let long = ((studs * camera.scale) as i64).min(i64::from(self.picture.width) * 2 / 3);
        let text = format!("{studs} {}", if studs == 1.0 { "stud" } else { "studs" });
        let (x, y) = (8 * size, i64::from(self.picture.height) - 8 * size);
        let wide = long.max(text_width(&text) * size);
        self.fill_box(
            (x - 4 * size, y - 15 * size),
            (wide + 8 * size, 19 * size),
            PAPER,
            PAPER_OPACITY,
        );
        self.draw_text(x, y - 12 * size, &text, INK);
        self.fill_box((x, y - size), (long, size), INK, 255);
        for end in [x, x + long - size] {
            self.fill_box((end, y - 3 * size), (size, 3 * size), INK, 255);
        }
    }

    /// Draws the directions of the axes at the lower right.
    fn draw_axes(&mut self, camera: &PictureCamera) {
        let size = self.size as f64;
        let long = 16.0 * size;
        let (right, bottom) = (f64::from(self.picture.width), f64::from(self.picture.height));
        let at = match camera.view {
            ViewDirection::Iso => (right - 31.0 * size, bottom - 24.0 * size),
            ViewDirection::Top => (right - 36.0 * size, bottom - 36.0 * size),
            ViewDirection::Front => (right - 13.0 * size, bottom - 12.0 * size),
        };
        let (wide, high) = match camera.view {
            ViewDirection::Iso => (54, 48),
            ViewDirection::Top | ViewDirection::Front => (40, 40),
        };
        let corner = (i64::from(self.picture.width), i64::from(self.picture.height));
        let corner = (corner.0 - (wide + 4) * self.size, corner.1 - (high + 4) * self.size);
        self.fill_box(corner, (wide * self.size, high * self.size), PAPER, PAPER_OPACITY);
        for (axis, (name, colour)) in AXES.into_iter().enumerate() {
            let mut direction = [0.0; 3];
            direction[axis] = 1.0;
            let [x, y, _] = camera.rotate_direction(direction);
            if x * x + y * y < 0.1 {
                continue;
            }
            let to = (at.0 + x * long, at.1 - y * long);
            self.draw_line(at, to, 0.8 * size, colour);
            let letter = (to.0 + x * 6.0 * size, to.1 - y * 6.0 * size);
            let corner = (letter.0 - 2.5 * size, letter.1 - 3.5 * size);
            self.draw_text(
                corner.0.round() as i64,
                corner.1.round() as i64,
                &name.to_string(),
                colour,
            );
        }
    }

    fn draw_line(&mut self, from: (f64, f64), to: (f64, f64), half: f64, colour: [u8; 3]) {
        let (across, down) = (to.0 - from.0, to.1 - from.1);
        let square = across * across + down * down;
        let reach = |one: f64, other: f64| {
            let low = (one.min(other) - half - 1.0).floor() as i64;
            low..=(one.max(other) + half + 1.0).ceil() as i64
        };
        for y in reach(from.1, to.1) {
            for x in reach(from.0, to.0) {
                let (px, py) = (x as f64 + 0.5 - from.0, y as f64 + 0.5 - from.1);
                let along = ((px * across + py * down) / square).clamp(0.0, 1.0);
                let (dx, dy) = (px - along * across, py - along * down);
                let covered = (half + 0.5 - (dx * dx + dy * dy).sqrt()).clamp(0.0, 1.0);
                self.picture.blend_pixel(x, y, colour, (covered * 255.0) as u8);
            }
        }
    }

    /// Draws the legend of the change colours at the upper left.
    fn draw_legend(&mut self, solids: &SolidSet) {
        let marks = [
            (ChangeMark::Added, "added"),
            (ChangeMark::Changed, "changed"),
            (ChangeMark::Removed, "removed"),
        ];
        let size = self.size;
        let counted = marks.map(|(mark, word)| (mark, word, solids.count_mark(mark)));
        let lines: Vec<(ChangeMark, String)> = counted
            .into_iter()
            .filter(|(_, _, count)| *count > 0)
            .map(|(mark, word, count)| (mark, format!("{count} {word}")))
            .collect();
        let Some(wide) = lines.iter().map(|(_, text)| text_width(text)).max() else {
            return;
        };
        let (x, step) = (8 * size, (HEIGHT + 4) * size);
        let high = lines.len() as i64 * step + 4 * size;
        self.fill_box((x - 4 * size, 4 * size), ((wide + 18) * size, high), PAPER, PAPER_OPACITY);
        for (row, (mark, text)) in (0..).zip(&lines) {
            let y = 8 * size + row * step;
            self.fill_box((x, y), (HEIGHT * size, HEIGHT * size), colour_of(*mark), 255);
            self.draw_text(x + 10 * size, y, text, INK);
        }
    }
}
