//! Draws solids to pixels: camera, light, occlusion, and highlighting of changes.

use std::ops::Range;

use super::ground::GroundGrid;
use super::label;
use super::mesh::{MeshSet, ShapeMesh};
use super::png::Picture;
use super::raster::{FaceCorner, NOBODY, SampleBand, mix_colors};
use super::solid::{ChangeMark, Solid, SolidSet};
use super::view::{ViewDirection, ViewFrame, WorldBox};

/// Number of pixel rows that are drawn at once.
const BAND: usize = 32;
/// The fraction of the picture that stays empty on each side.
const MARGIN: f64 = 0.07;
/// The direction to the light source: right, up, towards the viewer.
const LIGHT: [f64; 3] = [-0.3, 0.6, 0.74];
/// The strength of the ambient light and of the directional light.
const AMBIENT: f64 = 0.58;
const DIRECT: f64 = 0.45;
/// The maximum darkness of edges, of 255. Solids narrower than `THIN` samples have no edges, those
/// wider than `WIDE` have full ones.
const EDGES: f64 = 120.0;
const THIN: f64 = 6.0;
const WIDE: f64 = 30.0;
/// The opacity of a change that is hidden behind other solids, of 255.
const THROUGH: u8 = 84;
/// The opacity of the mark colour over a changed solid, of 255. The outline is fully opaque.
const TINT: u8 = 70;
/// The minimum opacity of a changed solid that is transparent, of 255.
const GHOST: u8 = 120;

pub(super) fn colour_of(mark: ChangeMark) -> [u8; 3] {
    match mark {
        ChangeMark::None => [128, 128, 128],
        ChangeMark::Added => [38, 166, 84],
        ChangeMark::Changed => [240, 158, 22],
        ChangeMark::Removed => [216, 56, 52],
    }
}

/// The projection from the world to the picture.
#[derive(Debug, Clone, Copy)]
pub(super) struct PictureCamera {
    pub(super) view: ViewDirection,
    axes: [[f64; 3]; 3],
    middle: [f64; 3],
    pub(super) scale: f64,
    /// The center of the picture, in pixels.
    at: [f64; 2],
}

fn dot_product(one: [f64; 3], other: [f64; 3]) -> f64 {
    one[0] * other[0] + one[1] * other[1] + one[2] * other[2]
}

impl PictureCamera {
    pub(super) fn new(frame: ViewFrame, size: (u32, u32)) -> Self {
        let (view, axes) = (frame.view(), frame.view().axes());
        let (width, height) = (f64::from(size.0), f64::from(size.1));
        let [across, along] =
            frame.extents.map(|(low, high)| (low + (high - low) / 2.0, high - low));
        // Depth is measured from the center of what is shown.
        let WorldBox { low, high } = frame.bounds;
        let middle = [0, 1, 2].map(|axis| f64::from(low[axis] + (high[axis] - low[axis]) / 2.0));
        let places = [across.0, along.0, dot_product(axes[2], middle)];
        let middle = [0, 1, 2].map(|axis| {
            let along = |own: usize| axes[own][axis] * places[own];
            along(0) + along(1) + along(2)
        });
        let room = 1.0 - 2.0 * MARGIN;
        let scale = (width * room / across.1.max(1.0)).min(height * room / along.1.max(1.0));
        Self { view, axes, middle, scale, at: [width / 2.0, height / 2.0] }
    }

    /// Rotates a direction from world to view axes.
    pub(super) fn rotate_direction(&self, direction: [f64; 3]) -> [f64; 3] {
        self.axes.map(|axis| dot_product(axis, direction))
    }

    /// Projects a point of the world to pixel coordinates and a depth. Larger depths are nearer.
    pub(super) fn project_point(&self, place: [f32; 3]) -> [f64; 3] {
        let away = [0, 1, 2].map(|axis| f64::from(place[axis]) - self.middle[axis]);
        let [right, up, near] = self.rotate_direction(away);
        [self.at[0] + right * self.scale, self.at[1] - up * self.scale, near]
    }

    /// The world point at a pixel, on the view plane through the center of what is shown.
    pub(super) fn point_on_plane(&self, x: f64, y: f64) -> [f64; 3] {
        self.unproject_point(x, y, 0.0)
    }

    /// The world point at a pixel and a depth.
    fn unproject_point(&self, x: f64, y: f64, near: f64) -> [f64; 3] {
        let seen = [(x - self.at[0]) / self.scale, (self.at[1] - y) / self.scale, near];
        [0, 1, 2].map(|axis| {
            let along = |own: usize| self.axes[own][axis] * seen[own];
            self.middle[axis] + along(0) + along(1) + along(2)
        })
    }
}

/// A solid as it is drawn, with its change mark applied.
struct DrawnSolid<'a> {
    solid: &'a Solid,
    number: u32,
    colour: [u8; 3],
    opacity: u8,
    /// The width in samples.
    wide: f64,
    /// The depth of the center; larger is nearer.
    near: f64,
}

/// How solids without a change mark are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnmarkedStyle {
    /// In their own colours.
    Own,
    /// Pale, because another solid changes on this side or the other.
    Pale,
}

/// Draws the solids in a frame.
pub fn draw_solids(solids: &SolidSet, size: (u32, u32), frame: ViewFrame) -> Picture {
    draw_side(solids, size, frame, UnmarkedStyle::Own)
}

/// Draws one side of a change.
pub(super) fn draw_side(
    solids: &SolidSet,
    size: (u32, u32),
    frame: ViewFrame,
    rest: UnmarkedStyle,
) -> Picture {
    let camera = PictureCamera::new(frame, size);
    let mut drawing = DrawingRun::new(solids, camera, size, frame, rest);
    let mut picture = Picture::new(size);
    let rows = size.1 as usize;
    for (at, top) in (0..rows).step_by(BAND).enumerate() {
        drawing.draw_band(at, top);
        drawing.downsample(&mut picture, top);
    }
    label::write_labels(&mut picture, solids, &camera);
    picture
}

struct DrawingRun<'a> {
    camera: PictureCamera,
    ground: GroundGrid,
    meshes: MeshSet,
    drawn: Vec<DrawnSolid<'a>>,
    /// The edge strength of each solid.
    edges: Vec<u8>,
    /// The change mark of each solid.
    marks: Vec<ChangeMark>,
    is_marked: bool,
    /// Whether each solid is part of the ground below the others.
    is_ground: Vec<bool>,
    /// The solids in each band: the opaque ones, then the translucent ones from back to front.
    bands: Vec<(Vec<u32>, Vec<u32>)>,
    band: SampleBand,
    /// Samples per pixel along each axis.
    fine: usize,
    size: (usize, usize),
    scratch: Vec<FaceCorner>,
    face: Vec<FaceCorner>,
}

impl<'a> DrawingRun<'a> {
    fn new(
        solids: &'a SolidSet,
        camera: PictureCamera,
        size: (u32, u32),
        frame: ViewFrame,
        rest: UnmarkedStyle,
    ) -> Self {
        let size = (size.0 as usize, size.1 as usize);
        let fine = match size.0 * size.1 {
            pixels if pixels <= 512 * 512 => 4,
            pixels if pixels <= 1_100_000 => 3,
            _ => 2,
        };
        let scale = camera.scale * fine as f64;
        let all = solids.all.iter().zip(0..).filter(|(solid, _)| solid.is_visible());
        let mut drawn: Vec<DrawnSolid> = all
            .map(|(solid, number)| DrawnSolid::new(solid, number, &camera, scale, rest))
            .collect();
        // Draw small solids first: of two faces in the same plane, the one drawn first stays
        // visible.
        drawn.sort_by(|one, other| {
            one.wide.total_cmp(&other.wide).then(one.number.cmp(&other.number))
        });
        let mut drawing = Self {
            camera,
            ground: GroundGrid::new(&camera, f64::from(frame.bounds.low[1])),
            meshes: MeshSet::new(),
            drawn,
            edges: vec![0; solids.all.len()],
            marks: solids.all.iter().map(|solid| solid.mark).collect(),
            is_marked: solids.is_marked(),
            is_ground: solids
                .all
                .iter()
                .map(|it| WorldBox::of_solid(it).is_below(&frame.bounds))
                .collect(),
            bands: vec![Default::default(); size.1.div_ceil(BAND)],
            band: SampleBand::new(size.0 * fine, (BAND + 2) * fine),
            fine,
            size,
            scratch: Vec::new(),
            face: Vec::new(),
        };
        drawing.sort_bands();
        drawing
    }

    /// Assigns each solid to the bands in which it is visible.
    fn sort_bands(&mut self) {
        let (width, height) = (self.size.0 as f64, self.size.1 as f64);
        for (at, drawn) in (0..).zip(&self.drawn) {
            let [x, y, _] = self.camera.project_point(drawn.solid.at);
            let reach = |axis: usize| {
                let half = drawn.solid.half.iter();
                let half =
                    half.map(|half| self.camera.rotate_direction(half.map(f64::from))[axis].abs());
                half.sum::<f64>() * self.camera.scale + 1.0
            };
            let (across, along) = (reach(0), reach(1));
            if x + across < 0.0 || x - across > width || y + along < 0.0 || y - along > height {
                continue;
            }
            let strength = ((drawn.wide - THIN) / (WIDE - THIN)).clamp(0.0, 1.0) * EDGES;
            self.edges[drawn.number as usize] = strength as u8;
            let first = (y - along - 1.0).max(0.0) as usize / BAND;
            let last =
                ((y + along + 1.0).min(height - 1.0) as usize / BAND).min(self.bands.len() - 1);
            for (opaque, veils) in &mut self.bands[first..=last] {
                let list = if drawn.opacity == 255 { opaque } else { veils };
                list.push(at);
            }
        }
        for (_, veils) in &mut self.bands {
            let near = |at: &u32| self.drawn[*at as usize].near;
            veils.sort_by(|one, other| near(one).total_cmp(&near(other)).then(one.cmp(other)));
        }
    }

    /// Draws a band, with an extra pixel row above and below so that edges are complete.
    fn draw_band(&mut self, at: usize, top: usize) {
        let fine = self.fine as i64;
        self.band.clear_at((top as i64 - 1) * fine);
        self.ground.draw_band(&mut self.band, &self.camera, self.fine);
        let (opaque, veils) = std::mem::take(&mut self.bands[at]);
        for at in &opaque {
            self.visit_faces(*at, |band, face, number, drawn| {
                band.draw_face(face, number, drawn.colour);
            });
        }
        for at in &veils {
            self.visit_faces(*at, |band, face, number, drawn| {
                band.draw_translucent(face, number, drawn.colour, drawn.opacity);
            });
        }
        let (edges, marks) = (&self.edges, &self.marks);
        self.band.darken_edges(|face| edges[face as usize >> 3]);
        if self.is_marked {
            let colour = |face: u32| match marks[face as usize >> 3] {
                ChangeMark::None => None,
                mark => Some(colour_of(mark)),
            };
            self.band.draw_outline(self.fine, colour);
        }
        for at in opaque.iter().chain(&veils) {
            let mark = self.drawn[*at as usize].solid.mark;
            if mark != ChangeMark::None {
                let colour = colour_of(mark);
                self.visit_faces(*at, |band, face, _, _| {
                    band.draw_hidden_face(face, colour, THROUGH);
                });
            }
        }
    }

    /// Calls `visit` for each face of a solid, with the face in samples, its number and its solid.
    fn visit_faces(
        &mut self,
        at: u32,
        mut visit: impl FnMut(&mut SampleBand, &[FaceCorner], u32, &DrawnSolid<'_>),
    ) {
        let drawn = &self.drawn[at as usize];
        let mesh = self.meshes.mesh_for(drawn.solid.shape, drawn.wide / self.fine as f64);
        let placed = ProjectedSolid::new(drawn.solid, mesh, &self.camera, self.fine as f64);
        self.scratch.clear();
        self.scratch.extend(mesh.corners.iter().map(|corner| placed.project_corner(*corner)));
        for face in &mesh.faces {
            self.face.clear();
            self.face.extend(face.corners.iter().map(|at| self.scratch[*at as usize]));
            if placed.is_mirrored {
                self.face.reverse();
            }
            if !face.is_round {
                let light = placed.light_of_face(&self.face);
                self.face.iter_mut().for_each(|corner| corner.light = light);
            }
            let number = drawn.number << 3 | u32::from(face.side);
            visit(&mut self.band, &self.face, number, drawn);
        }
    }

    /// Averages the samples of a band into pixels.
    fn downsample(&self, picture: &mut Picture, top: usize) {
        let rows = top..(top + BAND).min(self.size.1);
        downsample_band(&self.band, self.fine, self.size.0, rows, |x, y, middle, colour| {
            picture.put_pixel(x, y, self.color_with_grid(x, y, middle, colour));
        });
    }

    /// The colour of a pixel, with grid lines over it if it shows the ground.
    fn color_with_grid(&self, x: usize, y: usize, sample: usize, colour: [u8; 3]) -> [u8; 3] {
        let (face, near) = self.band.sample_at(sample);
        if face == NOBODY || !self.is_ground[face as usize >> 3] {
            return colour;
        }
        let place = self.camera.unproject_point(x as f64 + 0.5, y as f64 + 0.5, f64::from(near));
        self.ground.overlay_lines(&self.camera, place, colour)
    }
}

/// Averages the samples of a band into the pixels of its rows. The band has an extra pixel row above.
/// `put` gets the position of each pixel, its middle sample and its colour.
pub(super) fn downsample_band(
    band: &SampleBand,
    fine: usize,
    width_in_pixels: usize,
    rows: Range<usize>,
    mut put: impl FnMut(usize, usize, usize, [u8; 3]),
) {
    let width = band.width;
    let count = (fine * fine) as u32;
    let top = rows.start;
    for y in rows {
        let first = (y + 1 - top) * fine * width;
        for x in 0..width_in_pixels {
            let mut sum = [0_u32; 3];
            for row in 0..fine {
                for colour in &band.colours[first + row * width + x * fine..][..fine] {
                    for (sum, part) in sum.iter_mut().zip(colour) {
                        *sum += u32::from(*part);
                    }
                }
            }
            let colour = sum.map(|sum| ((sum + count / 2) / count) as u8);
            put(x, y, first + fine / 2 * width + x * fine + fine / 2, colour);
        }
    }
}

impl<'a> DrawnSolid<'a> {
    fn new(
        solid: &'a Solid,
        number: u32,
        camera: &PictureCamera,
        scale: f64,
        rest: UnmarkedStyle,
    ) -> Self {
        let reach = solid.half.iter().map(|half| {
            let [right, up, _] = camera.rotate_direction(half.map(f64::from));
            (right * right + up * up).sqrt()
        });
        let (colour, opacity) = match solid.mark {
            ChangeMark::None if rest == UnmarkedStyle::Pale => {
                (dim_color(solid.colour), solid.opacity)
            }
            ChangeMark::None => (solid.colour, solid.opacity),
            // Keep the original colour recognizable, because it may be the requested change.
            mark @ (ChangeMark::Added | ChangeMark::Changed) => {
                (mix_colors(solid.colour, colour_of(mark), TINT), solid.opacity.max(GHOST))
            }
            mark @ ChangeMark::Removed => {
                (mix_colors(solid.colour, colour_of(mark), 220), solid.opacity.max(GHOST))
            }
        };
        let wide = 2.0 * scale * reach.fold(0.0, f64::max);
        Self { solid, number, colour, opacity, wide, near: camera.project_point(solid.at)[2] }
    }
}

/// The pale colour of a solid that does not change while others do.
fn dim_color(colour: [u8; 3]) -> [u8; 3] {
    let [r, g, b] = colour.map(u32::from);
    let grey = ((77 * r + 150 * g + 29 * b) >> 8) as u8;
    mix_colors(mix_colors([grey; 3], colour, 50), [236, 238, 242], 165)
}

/// A solid projected into the picture, in samples.
struct ProjectedSolid {
    at: [f64; 3],
    half: [[f64; 3]; 3],
    /// For normals: along the axes of `half`, with reciprocal lengths.
    normal: [[f64; 3]; 3],
    bent: [f64; 3],
    scale: f64,
    is_mirrored: bool,
}

impl ProjectedSolid {
    fn new(solid: &Solid, mesh: &ShapeMesh, camera: &PictureCamera, fine: f64) -> Self {
        let half = solid.half.map(|half| camera.rotate_direction(half.map(f64::from)));
        let cross = cross_product(half[0], half[1]);
        let normal = half.map(|half| {
            let square = dot_product(half, half);
            half.map(|part| if square > 0.0 { part / square } else { 0.0 })
        });
        let scale = camera.scale * fine;
        let [x, y, near] = camera.project_point(solid.at);
        let at = [x * fine, y * fine, near];
        let is_mirrored = dot_product(cross, half[2]) < 0.0;
        Self { at, half, normal, bent: mesh.bent, scale, is_mirrored }
    }

    fn project_corner(&self, corner: [f64; 3]) -> FaceCorner {
        let along = |axis: usize| {
            self.half[0][axis] * corner[0]
                + self.half[1][axis] * corner[1]
                + self.half[2][axis] * corner[2]
        };
        let [right, up, near] = [along(0), along(1), along(2)];
        let bent = [0, 1, 2].map(|own| corner[own] * self.bent[own]);
        let normal =
            [0, 1, 2].map(|axis| (0..3).map(|own| self.normal[own][axis] * bent[own]).sum());
        FaceCorner {
            x: self.at[0] + right * self.scale,
            y: self.at[1] - up * self.scale,
            z: self.at[2] + near,
            light: light_of_normal(normal),
        }
    }

    /// The light on a flat face.
    fn light_of_face(&self, face: &[FaceCorner]) -> f64 {
        let third = (face.len() / 3).max(1);
        let edge = |at: usize| {
            let (from, to) = (face[0], face[at]);
            [(to.x - from.x) / self.scale, (from.y - to.y) / self.scale, to.z - from.z]
        };
        light_of_normal(cross_product(edge(third), edge(2 * third)))
    }
}

fn cross_product(one: [f64; 3], other: [f64; 3]) -> [f64; 3] {
    [0, 1, 2].map(|axis: usize| {
        let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
        one[next] * other[last] - one[last] * other[next]
    })
}

/// The light on a triangle that is projected at this scale, on the side that is seen.
pub(super) fn light_of_face([a, b, c]: [[f64; 3]; 3], scale: f64) -> f64 {
    let edge = |to: [f64; 3]| [(to[0] - a[0]) / scale, (a[1] - to[1]) / scale, to[2] - a[2]];
    let normal = cross_product(edge(b), edge(c));
    light_of_normal(if normal[2] < 0.0 { normal.map(|part| -part) } else { normal })
}

/// The light on a surface with this normal.
fn light_of_normal(normal: [f64; 3]) -> f64 {
    let length = dot_product(normal, normal).sqrt();
    let direct = if length > 0.0 { dot_product(normal, LIGHT) / length } else { 0.0 };
    AMBIENT + DIRECT * direct.max(0.0)
}
