//! Shapes as corners and faces, in a box from -1 to 1.
//!
//! Round shapes are built by halving edges. Sine and cosine are avoided, because not all machines
//! round them alike.

use super::solid::SolidShape;

/// A face of a solid, with its corners in counterclockwise order seen from outside.
#[derive(Debug, Clone)]
pub(super) struct MeshFace {
    pub(super) corners: Vec<u16>,
    /// There is no edge between faces of the same number.
    pub(super) side: u8,
    /// Whether the face is a piece of a round surface.
    pub(super) is_round: bool,
}

#[derive(Debug, Clone, Default)]
pub(super) struct ShapeMesh {
    pub(super) corners: Vec<[f64; 3]>,
    pub(super) faces: Vec<MeshFace>,
    /// 1 for each axis along which the round faces are curved, otherwise 0. A corner multiplied by
    /// this is the normal there.
    pub(super) bent: [f64; 3],
}

/// Number of detail levels of round shapes; each is twice as fine as the previous one.
pub(super) const FINENESS: usize = 4;

/// The meshes of all shapes at every detail level.
#[derive(Debug)]
pub(super) struct MeshSet(Vec<[ShapeMesh; FINENESS]>);

impl MeshSet {
    pub(super) fn new() -> Self {
        let all = |shape| [0, 1, 2, 3].map(|fineness| build_mesh(shape, fineness));
        Self(SolidShape::ALL.map(all).to_vec())
    }

    /// The mesh of a shape at the detail level for its width in pixels.
    pub(super) fn mesh_for(&self, shape: SolidShape, wide: f64) -> &ShapeMesh {
        let fineness = match wide {
            wide if wide < 5.0 => 0,
            wide if wide < 16.0 => 1,
            wide if wide < 72.0 => 2,
            _ => 3,
        };
        &self.0[shape as usize][fineness]
    }
}

fn build_mesh(shape: SolidShape, fineness: u32) -> ShapeMesh {
    match shape {
        SolidShape::Block => block_mesh(),
        SolidShape::Wedge => wedge_mesh(),
        SolidShape::CornerWedge => pyramid_mesh([1.0, 1.0, -1.0]),
        SolidShape::Pyramid => pyramid_mesh([0.0, 1.0, 0.0]),
        SolidShape::Ball => ball_mesh(fineness),
        SolidShape::Cylinder => cylinder_mesh(fineness, |along, [a, b]| [along, a, b]),
        // Rotating the axes cyclically keeps the faces counterclockwise.
        SolidShape::Column => cylinder_mesh(fineness, |along, [a, b]| [b, along, a]),
    }
}

fn flat_mesh(corners: &[[f64; 3]], faces: &[&[u16]]) -> ShapeMesh {
    let face = |(corners, side): (&&[u16], u8)| MeshFace {
        corners: corners.to_vec(),
        side,
        is_round: false,
    };
    let faces = faces.iter().zip(0..).map(face).collect();
    ShapeMesh { corners: corners.to_vec(), faces, bent: [0.0; 3] }
}

/// The bottom corners, which all shapes with a flat base share.
const BOTTOM: [[f64; 3]; 4] =
    [[-1.0, -1.0, -1.0], [1.0, -1.0, -1.0], [1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]];

fn block_mesh() -> ShapeMesh {
    let mut corners = BOTTOM.to_vec();
    corners.extend(BOTTOM.map(|[x, _, z]| [x, 1.0, z]));
    let faces: [&[u16]; 6] =
        [&[0, 1, 2, 3], &[7, 6, 5, 4], &[3, 2, 6, 7], &[2, 1, 5, 6], &[1, 0, 4, 5], &[0, 3, 7, 4]];
    flat_mesh(&corners, &faces)
}

fn wedge_mesh() -> ShapeMesh {
    let mut corners = BOTTOM.to_vec();
    corners.extend([[1.0, 1.0, 1.0], [-1.0, 1.0, 1.0]]);
    flat_mesh(&corners, &[&[0, 1, 2, 3], &[3, 2, 4, 5], &[1, 0, 5, 4], &[2, 1, 4], &[0, 3, 5]])
}

fn pyramid_mesh(tip: [f64; 3]) -> ShapeMesh {
    let mut corners = BOTTOM.to_vec();
    corners.push(tip);
    flat_mesh(&corners, &[&[0, 1, 2, 3], &[3, 2, 4], &[2, 1, 4], &[1, 0, 4], &[0, 3, 4]])
}

/// The point on the unit sphere in the direction of the midpoint of two points.
fn midpoint_on_ball(one: [f64; 3], other: [f64; 3]) -> [f64; 3] {
    let sum = [0, 1, 2].map(|axis| one[axis] + other[axis]);
    let length = sum.iter().map(|part| part * part).sum::<f64>().sqrt();
    sum.map(|part| part / length)
}

/// An octahedron whose edges are halved `fineness + 1` times.
fn ball_mesh(fineness: u32) -> ShapeMesh {
    let tips = [
        [1.0, 0.0, 0.0],
        [0.0, 0.0, -1.0],
        [-1.0, 0.0, 0.0],
        [0.0, 0.0, 1.0],
        [0.0, 1.0, 0.0],
        [0.0, -1.0, 0.0],
    ];
    let mut triangles = Vec::new();
    for at in 0..4 {
        let (one, other) = (tips[at], tips[(at + 1) % 4]);
        triangles.push([one, other, tips[4]]);
        triangles.push([other, one, tips[5]]);
    }
    for _ in 0..=fineness {
        let halved = |[a, b, c]: [[f64; 3]; 3]| {
            let (ab, bc, ca) =
                (midpoint_on_ball(a, b), midpoint_on_ball(b, c), midpoint_on_ball(c, a));
            [[a, ab, ca], [ab, b, bc], [ca, bc, c], [ab, bc, ca]]
        };
        triangles = triangles.into_iter().flat_map(halved).collect();
    }
    let mut mesh = ShapeMesh { bent: [1.0; 3], ..ShapeMesh::default() };
    for triangle in triangles {
        let first = mesh.corners.len() as u16;
        mesh.corners.extend(triangle);
        let corners = vec![first, first + 1, first + 2];
        mesh.faces.push(MeshFace { corners, side: 0, is_round: true });
    }
    mesh
}

fn cylinder_mesh(fineness: u32, turned: impl Fn(f64, [f64; 2]) -> [f64; 3]) -> ShapeMesh {
    let mut circle = vec![[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]];
    for _ in 0..=fineness {
        let next = |at: usize| circle[(at + 1) % circle.len()];
        let halved = (0..circle.len()).flat_map(|at| {
            let [a, b]: [f64; 2] = circle[at];
            let [x, y, _] = midpoint_on_ball([a, b, 0.0], [next(at)[0], next(at)[1], 0.0]);
            [[a, b], [x, y]]
        });
        circle = halved.collect();
    }
    let len = circle.len() as u16;
    let end = |end: f64| circle.iter().map(move |at| (end, *at));
    let corners = end(1.0).chain(end(-1.0)).map(|(end, at)| turned(end, at)).collect();
    let bent = turned(0.0, [1.0, 1.0]);
    let side = (0..len).map(|at| {
        let next = (at + 1) % len;
        MeshFace { corners: vec![at, len + at, len + next, next], side: 0, is_round: true }
    });
    let cap = |corners, side| MeshFace { corners, side, is_round: false };
    let caps = [cap((0..len).collect(), 1), cap((len..2 * len).rev().collect(), 2)];
    ShapeMesh { corners, faces: side.chain(caps).collect(), bent }
}

#[cfg(test)]
mod tests {
    use std::f64::consts::TAU;

    use super::*;

    /// The enclosed volume; positive if the faces are counterclockwise seen from outside.
    fn volume(mesh: &ShapeMesh) -> f64 {
        let at = |corner: &u16| mesh.corners[*corner as usize];
        let mut sum = 0.0;
        for face in &mesh.faces {
            for pair in face.corners[1..].windows(2) {
                let [first, from, to] = [at(&face.corners[0]), at(&pair[0]), at(&pair[1])];
                let cross = [0, 1, 2].map(|axis: usize| {
                    let (next, last) = ((axis + 1) % 3, (axis + 2) % 3);
                    from[next] * to[last] - from[last] * to[next]
                });
                sum += (0..3).map(|axis| first[axis] * cross[axis]).sum::<f64>() / 6.0;
            }
        }
        sum
    }

    #[test]
    fn shape_meshes_enclose_the_expected_volume() {
        let volume = |shape, fineness| volume(&build_mesh(shape, fineness));
        assert!((volume(SolidShape::Block, 0) - 8.0).abs() < 1e-9);
        assert!((volume(SolidShape::Wedge, 0) - 4.0).abs() < 1e-9);
        assert!((volume(SolidShape::CornerWedge, 0) - 8.0 / 3.0).abs() < 1e-9);
        assert!((volume(SolidShape::Pyramid, 0) - 8.0 / 3.0).abs() < 1e-9);
        assert!((volume(SolidShape::Ball, 3) - 4.18).abs() < 0.02);
        assert!((volume(SolidShape::Cylinder, 3) - TAU).abs() < 0.02);
        assert!((volume(SolidShape::Column, 3) - TAU).abs() < 0.02);
    }
}
