//! Faces as samples: several of them make a point of the picture, so that edges are smooth.
//!
//! A picture is drawn band by band, and a band fits into a cache. Only sums, products, quotients and
//! roots decide about a sample, which every machine rounds alike.

/// A corner of a face: its place among the samples, how near it is, and how much light it gets.
#[derive(Debug, Clone, Copy)]
pub(super) struct FaceCorner {
    pub(super) x: f64,
    pub(super) y: f64,
    pub(super) z: f64,
    pub(super) light: f64,
}

pub(super) const NOBODY: u32 = u32::MAX;

/// How much nearer something has to be to hide what was drawn before it, in studs: faces in one plane
/// would be mixed otherwise.
const NEARER: f32 = 0.004;

/// Some rows of samples.
#[derive(Debug)]
pub(super) struct SampleBand {
    pub(super) width: usize,
    /// The row that is its first.
    pub(super) top: i64,
    pub(super) rows: usize,
    pub(super) colours: Vec<[u8; 3]>,
    depths: Vec<f32>,
    /// Whose face is seen.
    faces: Vec<u32>,
    /// Whose face is seen that hides not all.
    translucent_faces: Vec<u32>,
}

/// How a value changes from sample to sample.
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

    /// Makes it empty, and another one.
    pub(super) fn clear_at(&mut self, top: i64) {
        self.top = top;
        self.depths.fill(f32::NEG_INFINITY);
        self.faces.fill(NOBODY);
        self.translucent_faces.fill(NOBODY);
    }

    /// Draws a face that hides what is behind it.
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

    /// Draws a face through which one sees.
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

    /// Draws an outline around solids: `colour` says which one, by a face's number, and how wide.
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

    /// Darkens what is nearer where faces meet; `strength` says how much, by a face's number.
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

    /// Whose face is seen at a sample, and how near it is.
    pub(super) fn sample_at(&self, at: usize) -> (u32, f32) {
        (self.faces[at], self.depths[at])
    }
}

/// The colour of edges, and that of the edges of what is dark itself.
const EDGE: [u8; 3] = [28, 32, 44];
const LIGHT_EDGE: [u8; 3] = [214, 219, 228];
/// What is darker is dark, of 765.
const DARK: u32 = 270;

fn darken(colour: [u8; 3], strength: u8) -> [u8; 3] {
    let sum: u32 = colour.iter().map(|part| u32::from(*part)).sum();
    if sum < DARK {
        mix_colors(colour, LIGHT_EDGE, strength / 2)
    } else {
        mix_colors(colour, EDGE, strength)
    }
}

/// A colour, with so much of another over it.
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

/// Which way a face is turned: twice its area as it is seen, from those of its corners that are far
/// apart.
fn signed_area([a, b, c]: [FaceCorner; 3]) -> f64 {
    (b.x - a.x) * (c.y - a.y) - (c.x - a.x) * (b.y - a.y)
}

fn slope_of([a, b, c]: [FaceCorner; 3], area: f64, of: impl Fn(FaceCorner) -> f64) -> ValueSlope {
    let (one, other) = (of(b) - of(a), of(c) - of(a));
    let right = (one * (c.y - a.y) - other * (b.y - a.y)) / area;
    let down = (other * (b.x - a.x) - one * (c.x - a.x)) / area;
    ValueSlope { at: of(a) - right * a.x - down * a.y, right, down }
}

/// Visits the samples of a face that is turned this way, with how near each is and its light.
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
    // Rows run downwards: what is seen from outside runs with the clock there.
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

/// From where to where a face reaches at a height.
fn row_span(corners: &[FaceCorner], y: f64) -> (f64, f64) {
    let (mut left, mut right) = (f64::INFINITY, f64::NEG_INFINITY);
    let mut before = corners[corners.len() - 1];
    for corner in corners {
        // Both faces at an edge see it from the same end.
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
