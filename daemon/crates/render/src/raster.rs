//! Rasterizes faces to samples. Several samples make up a pixel, for smooth edges.
//!
//! A picture is drawn band by band, so that a band fits into a cache. Only sums, products,
//! quotients and roots determine a sample, because every machine rounds those alike.

/// A corner of a face: its position in samples, its depth (larger is nearer), and its light.
#[derive(Debug, Clone, Copy)]
pub(super) struct FaceCorner {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) z: f64,
    pub(super) light: f64,
}

pub(super) const NOBODY: u32 = u32::MAX;

/// How much nearer a face must be to hide what was drawn before it, in studs. Without this, faces
/// in the same plane would mix.
const NEARER: f32 = 0.004;

/// A band of sample rows.
#[derive(Debug)]
pub(super) struct SampleBand {
    pub(super) width: usize,
    /// The row of the picture at which the band begins.
    pub(super) top: i64,
    pub(super) rows: usize,
    pub(super) colours: Vec<[u8; 3]>,
    depths: Vec<f32>,
    /// The number of the visible opaque face at each sample.
    faces: Vec<u32>,
    /// The number of the visible translucent face at each sample.
    translucent_faces: Vec<u32>,
}

/// A value that changes linearly from sample to sample.
#[derive(Debug, Clone, Copy)]
struct ValueSlope {
    at: f64,
    right: f64,
    down: f64,
}

impl SampleBand {
    pub(super) fn new(width: usize, rows: usize) -> Self {
        let len = width * rows;
        Self {
            width,
            top: 0,
            rows,
            colours: vec![[0; 3]; len],
            depths: vec![0.0; len],
            faces: vec![NOBODY; len],
            translucent_faces: vec![NOBODY; len],
        }
    }

    /// Clears the band and moves it to another row.
    pub(super) fn clear_at(&mut self, top: i64) {
        self.top = top;
        self.depths.fill(f32::NEG_INFINITY);
        self.faces.fill(NOBODY);
        self.translucent_faces.fill(NOBODY);
    }

    /// Draws an opaque face.
    pub(super) fn draw_face(&mut self, corners: &[FaceCorner], face: u32, colour: [u8; 3]) {
        let Self { colours, depths, faces, .. } = self;
        let is_flat = corners.iter().all(|corner| corner.light == corners[0].light);
        let flat = light_color(colour, corners[0].light);
        scan_samples(self.width, self.top, self.rows, corners, |at, z, light| {
            if z > depths[at] + NEARER {
                depths[at] = z;
                faces[at] = face;
                colours[at] = if is_flat { flat } else { light_color(colour, light) };
            }
        });
    }

    /// Draws a translucent face.
    pub(super) fn draw_translucent(
        &mut self,
        corners: &[FaceCorner],
        face: u32,
        colour: [u8; 3],
        opacity: u8,
    ) {
        let Self { colours, depths, translucent_faces: veils, .. } = self;
        scan_samples(self.width, self.top, self.rows, corners, |at, z, light| {
            if z > depths[at] + NEARER {
                veils[at] = face;
                colours[at] = mix_colors(colours[at], light_color(colour, light), opacity);
            }
        });
    }

    /// Lets a face shine through what hides it.
    pub(super) fn draw_hidden_face(
        &mut self,
        corners: &[FaceCorner],
        colour: [u8; 3],
        opacity: u8,
    ) {
        let Self { colours, depths, .. } = self;
        scan_samples(self.width, self.top, self.rows, corners, |at, z, _| {
            if z < depths[at] - NEARER {
                colours[at] = mix_colors(colours[at], colour, opacity);
            }
        });
    }

    /// Draws an outline of `wide` samples around solids. `colour` returns the colour for a face
    /// number; None for no outline.
    pub(super) fn draw_outline(&mut self, wide: usize, colour: impl Fn(u32) -> Option<[u8; 3]>) {
        let (width, rows) = (self.width, self.rows);
        for row in wide..rows.saturating_sub(wide) {
            for column in wide..width.saturating_sub(wide) {
                let at = row * width + column;
                let face = self.faces[at];
                let Some(colour) = (face != NOBODY).then(|| colour(face)).flatten() else {
                    continue;
                };
                let around = [at - wide, at + wide, at - wide * width, at + wide * width];
                if around.iter().any(|next| self.faces[*next] >> 3 != face >> 3) {
                    self.colours[at] = colour;
                }
            }
        }
    }

    /// Darkens the nearer side of edges between faces. `strength` returns the strength for a face
    /// number.
    pub(super) fn darken_edges(&mut self, strength: impl Fn(u32) -> u8) {
        for row in 1..self.rows.saturating_sub(1) {
            for column in 1..self.width.saturating_sub(1) {
                let at = row * self.width + column;
                let around = [at - 1, at + 1, at - self.width, at + self.width];
                let face = self.faces[at];
                let is_edge = |next: &usize| {
                    self.faces[*next] != face && self.depths[*next] <= self.depths[at]
                };
                if face != NOBODY && around.iter().any(is_edge) {
                    self.colours[at] = darken(self.colours[at], strength(face));
                }
                let veil = self.translucent_faces[at];
                if veil != NOBODY && around.iter().any(|next| self.translucent_faces[*next] != veil)
                {
                    self.colours[at] = darken(self.colours[at], strength(veil) / 2);
                }
            }
        }
    }

    /// The number of the visible face at a sample, and its depth.
    pub(super) fn sample_at(&self, at: usize) -> (u32, f32) {
        (self.faces[at], self.depths[at])
    }
}

/// The colour of edges, and of edges on dark faces.
const EDGE: [u8; 3] = [28, 32, 44];
const LIGHT_EDGE: [u8; 3] = [214, 219, 228];
/// Colours with a sum below this, of 765, count as dark.
const DARK: u32 = 270;

fn darken(colour: [u8; 3], strength: u8) -> [u8; 3] {
    let sum: u32 = colour.iter().map(|part| u32::from(*part)).sum();
    if sum < DARK {
        mix_colors(colour, LIGHT_EDGE, strength / 2)
    } else {
        mix_colors(colour, EDGE, strength)
    }
}

/// Blends a colour over another.
pub(super) fn mix_colors(under: [u8; 3], over: [u8; 3], opacity: u8) -> [u8; 3] {
    let opacity = u32::from(opacity);
    let mix = |axis: usize| {
        (u32::from(over[axis]) * opacity + u32::from(under[axis]) * (255 - opacity) + 127) / 255
    };
    [0, 1, 2].map(|axis| mix(axis) as u8)
}

fn light_color(colour: [u8; 3], light: f64) -> [u8; 3] {
    colour.map(|part| (f64::from(part) * light + 0.5).clamp(0.0, 255.0) as u8)
}

/// Twice the signed area of a face in the picture, by three of its corners that are far apart.
fn signed_area([a, b, c]: [FaceCorner; 3]) -> f64 {
    (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y)
}

fn slope_of([a, b, c]: [FaceCorner; 3], area: f64, of: impl Fn(FaceCorner) -> f64) -> ValueSlope {
    let (one, other) = (of(b) - of(a), of(c) - of(a));
    let right = (one * (c.y - a.y) - other * (b.y - a.y)) / area;
    let down = (other * (b.x - a.x) - one * (c.x - a.x)) / area;
    ValueSlope { at: of(a) - right * a.x - down * a.y, right, down }
}

/// Visits the samples of a front face, with the depth and the light of each. Skips back faces.
fn scan_samples(
    width: usize,
    top: i64,
    rows: usize,
    corners: &[FaceCorner],
    mut visit: impl FnMut(usize, f32, f64),
) {
    let third = corners.len() / 3;
    let spread = [0, third.max(1), 2 * third.max(1)].map(|at| corners[at]);
    let area = signed_area(spread);
    // Rows grow downwards, so front faces are clockwise here and have a negative area.
    if area.is_nan() || area > -1e-9 {
        return;
    }
    let (depth, light) = (slope_of(spread, area, |it| it.z), slope_of(spread, area, |it| it.light));
    let highest = corners.iter().map(|corner| corner.y).fold(f64::INFINITY, f64::min);
    let lowest = corners.iter().map(|corner| corner.y).fold(f64::NEG_INFINITY, f64::max);
    let bottom = top + rows as i64;
    let first = ((highest - 0.5).ceil() as i64).max(top);
    let last = ((lowest - 0.5).ceil() as i64).min(bottom);
    for row in first..last {
        let y = row as f64 + 0.5;
        let (left, right) = row_span(corners, y);
        let from = (left - 0.5).ceil().max(0.0) as usize;
        let to = ((right - 0.5).ceil().max(0.0) as usize).min(width);
        let start = (row - top) as usize * width;
        let (near, bright) = (depth.at + depth.down * y, light.at + light.down * y);
        for column in from..to {
            let x = column as f64 + 0.5;
            visit(start + column, (near + depth.right * x) as f32, bright + light.right * x);
        }
    }
}

/// The left and right end of a face in a row.
fn row_span(corners: &[FaceCorner], y: f64) -> (f64, f64) {
    let (mut left, mut right) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut before = corners[corners.len() - 1];
    for corner in corners {
        // Interpolate from the upper end, so that both faces at an edge compute the same value.
        let (upper, lower) =
            if before.y <= corner.y { (before, *corner) } else { (*corner, before) };
        if upper.y <= y && y < lower.y {
            let x = upper.x + (y - upper.y) * (lower.x - upper.x) / (lower.y - upper.y);
            (left, right) = (left.min(x), right.max(x));
        }
        before = *corner;
    }
    (left, right)
}
