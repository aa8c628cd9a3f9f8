//! From a scene to solids: which instances are parts, and what each looks like.
//!
//! Properties are read as they are stored, and defaults are those of reflection. Meshes, unions and
//! textures are assets, which nobody here can read: what has one is the box around it.

use std::borrow::Cow;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{CFrame, Variant, Vector3};
use rustc_hash::FxHashMap;
use scene_schemas::refusal::{Refusal, refuse};
use vector_place::{Node, Scene, reflection};

use super::solid::{Mark, Shape, Solid, Solids};

/// Parts that are more transparent are not seen.
const INVISIBLE: f32 = 0.99;
/// Positions and sizes beyond are nobody's work: Roblox itself loses its way long before.
const FAR: f32 = 1e12;

/// Of an open place, Studio has to tell what each part looks like: of more it is not asked.
const MOST_TOLD: usize = 20_000;

/// What a class is to a picture.
#[derive(Clone, Copy)]
enum Kind {
    /// A part of this shape.
    Part(Shape),
    /// A part that says its shape itself.
    Shaped,
    /// A part whose shape is an asset.
    Asset,
    Terrain,
    Other,
}

/// The names of the properties that are read.
struct Keys {
    cframe: Ustr,
    size: Ustr,
    colour: Ustr,
    transparency: Ustr,
    shape: Ustr,
    mesh: Ustr,
    scale: Ustr,
    offset: Ustr,
    grid: Ustr,
}

/// What the parts of a class have in common.
#[derive(Clone, Copy)]
struct Class {
    kind: Kind,
    size: Vector3,
    colour: [u8; 3],
}

struct Gathering<'a> {
    scene: &'a Scene,
    keys: Keys,
    classes: FxHashMap<&'a str, Class>,
    solids: Solids,
}

/// The solids of an instance and of all below it; of a whole place, what stands in its Workspace.
pub fn gather(scene: &Scene, root: Node) -> Solids {
    let keys = Keys {
        cframe: ustr("CFrame"),
        size: ustr("Size"),
        colour: ustr("Color"),
        transparency: ustr("Transparency"),
        shape: ustr("Shape"),
        mesh: ustr("MeshType"),
        scale: ustr("Scale"),
        offset: ustr("Offset"),
        grid: ustr("SmoothGrid"),
    };
    let classes = FxHashMap::default();
    let mut gathering = Gathering { scene, keys, classes, solids: Solids::default() };
    for node in scene.subtree(shown(scene, root)) {
        gathering.take(node);
    }
    gathering.solids
}

/// Whether Studio can be asked for all that is seen, where the place is open there.
///
/// # Errors
/// There are too many parts.
pub fn can_be_told(scene: &Scene, root: Node) -> Result<(), Refusal> {
    if !scene.is_open() {
        return Ok(());
    }
    let is_part = |node: &Node| reflection::is_a(scene.class(*node), "BasePart");
    let parts = scene.subtree(shown(scene, root)).filter(is_part).count();
    if parts <= MOST_TOLD {
        return Ok(());
    }
    refuse!(
        "{parts} parts are too many to ask Studio for; at most {MOST_TOLD} are drawn of an open \
         place. Name a path with fewer, or save the place and use `vector render`."
    )
}

/// What is seen of an instance: of a place, its Workspace.
pub fn shown(scene: &Scene, root: Node) -> Node {
    let is_workspace = |node: &Node| scene.class(*node) == "Workspace";
    let workspace = || scene.children(root).find(is_workspace);
    if root == scene.root() { workspace().unwrap_or(root) } else { root }
}

impl<'a> Gathering<'a> {
    fn take(&mut self, node: Node) {
        let class = self.class(node);
        match class.kind {
            Kind::Other => {}
            Kind::Terrain => self.solids.left.terrain |= self.has_ground(node),
            Kind::Part(shape) => self.part(node, class, Look::of(shape, false)),
            Kind::Asset => self.part(node, class, Look::of(Shape::Block, true)),
            Kind::Shaped => {
                let Keys { cframe, size, colour, transparency, shape, .. } = self.keys;
                let keys = [cframe, size, colour, transparency, shape];
                let [cframe, size, colour, transparency, shape] = self.scene.raws(node, keys);
                let look = Look::of(by_number(shape.as_ref()), false);
                self.add(node, class, look, [cframe, size, colour, transparency]);
            }
        }
    }

    fn part(&mut self, node: Node, class: Class, look: Look) {
        let Keys { cframe, size, colour, transparency, .. } = self.keys;
        let found = self.scene.raws(node, [cframe, size, colour, transparency]);
        self.add(node, class, look, found);
    }

    fn add(
        &mut self,
        node: Node,
        class: Class,
        look: Look,
        [cframe, size, colour, transparency]: [Option<Variant>; 4],
    ) {
        let cframe = match cframe {
            Some(Variant::CFrame(cframe)) => cframe,
            _ => CFrame::identity(),
        };
        let size = size.as_ref().and_then(vector).unwrap_or(class.size);
        let look = match self.mesh(node) {
            Some(mesh) => self.worn(mesh, size),
            None => Look { size: round(look.shape, size), ..look },
        };
        let Some((at, half)) = placed(&cframe, &look) else {
            self.solids.left.broken += 1;
            return;
        };
        let opacity = opacity(transparency.as_ref());
        self.solids.left.invisible += u32::from(opacity == 0);
        self.solids.left.boxed += u32::from(look.boxed && opacity > 0);
        let colour = colour.as_ref().and_then(bytes).unwrap_or(class.colour);
        let (shape, mark) = (look.shape, Mark::None);
        self.solids.all.push(Solid { node, shape, at, half, colour, opacity, mark });
    }

    fn raw(&self, node: Node, key: Ustr) -> Option<Cow<'a, Variant>> {
        self.scene.raw(node, key)
    }

    fn class(&mut self, node: Node) -> Class {
        let name = self.scene.class(node);
        *self.classes.entry(name).or_insert_with(|| Class {
            kind: kind(name),
            size: match reflection::default_of(name, "Size") {
                Some(Variant::Vector3(size)) => *size,
                _ => Vector3::new(4.0, 1.2, 2.0),
            },
            colour: reflection::default_of(name, "Color")
                .and_then(bytes)
                .unwrap_or([163, 162, 165]),
        })
    }

    fn vector(&self, node: Node, key: Ustr) -> Option<Vector3> {
        vector(self.raw(node, key)?.as_ref())
    }

    /// What a part wears in the place of its own shape.
    fn mesh(&self, part: Node) -> Option<Node> {
        let is_mesh = |class: &str| matches!(class, "SpecialMesh" | "BlockMesh" | "CylinderMesh");
        self.scene.children(part).find(|child| is_mesh(self.scene.class(*child)))
    }

    /// By the numbers of `Enum.MeshType`.
    fn worn(&self, mesh: Node, size: Vector3) -> Look {
        let (shape, boxed) = match self.scene.class(mesh) {
            "BlockMesh" => (Shape::Block, false),
            "CylinderMesh" => (Shape::Column, false),
            _ => match self.raw(mesh, self.keys.mesh).as_deref().and_then(number) {
                // A head, unless something else is said.
                None | Some(0) => (Shape::Column, false),
                Some(1 | 6) => (Shape::Block, false),
                Some(2) => (Shape::Wedge, false),
                Some(3) => (Shape::Ball, false),
                Some(4) => (Shape::Cylinder, false),
                Some(8) => (Shape::Pyramid, false),
                Some(11) => (Shape::CornerWedge, false),
                Some(_) => (Shape::Block, true),
            },
        };
        // The scale of an asset is not that of the part.
        let scale = self.vector(mesh, self.keys.scale).filter(|_| !boxed);
        let scale = scale.unwrap_or(Vector3::new(1.0, 1.0, 1.0));
        let size = Vector3::new(size.x * scale.x, size.y * scale.y, size.z * scale.z);
        let offset = self.vector(mesh, self.keys.offset).map_or([0.0; 3], |it| [it.x, it.y, it.z]);
        Look { shape, size, offset, boxed }
    }

    /// Whether terrain has any. Of an open place nobody can tell, and it may.
    fn has_ground(&self, node: Node) -> bool {
        self.scene.is_open()
            || match self.raw(node, self.keys.grid).as_deref() {
                Some(Variant::BinaryString(grid)) => !AsRef::<[u8]>::as_ref(grid).is_empty(),
                _ => false,
            }
    }
}

/// The shape of a part, where it stands for its part.
struct Look {
    shape: Shape,
    size: Vector3,
    /// From the part's middle, along its own axes.
    offset: [f32; 3],
    boxed: bool,
}

impl Look {
    /// A shape whose size is not known yet.
    fn of(shape: Shape, boxed: bool) -> Self {
        Self { shape, size: Vector3::new(0.0, 0.0, 0.0), offset: [0.0; 3], boxed }
    }
}

fn kind(class: &str) -> Kind {
    match class {
        "Part" | "FormFactorPart" => Kind::Shaped,
        "WedgePart" => Kind::Part(Shape::Wedge),
        "CornerWedgePart" => Kind::Part(Shape::CornerWedge),
        "Terrain" => Kind::Terrain,
        _ if reflection::is_a(class, "TriangleMeshPart") => Kind::Asset,
        _ if reflection::is_a(class, "Part") => Kind::Shaped,
        _ if reflection::is_a(class, "BasePart") => Kind::Part(Shape::Block),
        _ => Kind::Other,
    }
}

fn vector(value: &Variant) -> Option<Vector3> {
    match value {
        Variant::Vector3(vector) => Some(*vector),
        _ => None,
    }
}

fn number(value: &Variant) -> Option<u32> {
    match value {
        Variant::Enum(item) => Some(item.to_u32()),
        Variant::EnumItem(item) => Some(item.value),
        _ => None,
    }
}

/// By the numbers of `Enum.PartType`.
fn by_number(shape: Option<&Variant>) -> Shape {
    match shape.and_then(number) {
        Some(0) => Shape::Ball,
        Some(2) => Shape::Cylinder,
        Some(3) => Shape::Wedge,
        Some(4) => Shape::CornerWedge,
        _ => Shape::Block,
    }
}

/// A transparency that is no number hides nothing.
fn opacity(transparency: Option<&Variant>) -> u8 {
    match transparency {
        Some(Variant::Float32(it)) if *it >= INVISIBLE => 0,
        // What is nearly invisible is still seen a little.
        Some(Variant::Float32(it)) if *it > 0.0 => (255.0 * (1.0 - it)).max(12.0) as u8,
        _ => 255,
    }
}

fn bytes(colour: &Variant) -> Option<[u8; 3]> {
    match colour {
        Variant::Color3uint8(it) => Some([it.r, it.g, it.b]),
        Variant::Color3(it) => Some([it.r, it.g, it.b].map(|part| (part * 255.0 + 0.5) as u8)),
        _ => None,
    }
}

/// Parts that are round are as wide as they are high.
fn round(shape: Shape, size: Vector3) -> Vector3 {
    match shape {
        Shape::Ball => {
            let across = size.x.min(size.y).min(size.z);
            Vector3::new(across, across, across)
        }
        Shape::Cylinder => {
            let across = size.y.min(size.z);
            Vector3::new(size.x, across, across)
        }
        _ => size,
    }
}

/// Where a part's middle is, and half of it along each of its axes; none where that is nowhere.
fn placed(cframe: &CFrame, look: &Look) -> Option<([f32; 3], [[f32; 3]; 3])> {
    let CFrame { position, orientation: rows } = cframe;
    let axes = [
        [rows.x.x, rows.y.x, rows.z.x],
        [rows.x.y, rows.y.y, rows.z.y],
        [rows.x.z, rows.y.z, rows.z.z],
    ];
    let size = [look.size.x, look.size.y, look.size.z].map(f32::abs);
    let half = [0, 1, 2].map(|own: usize| axes[own].map(|part| part * size[own] / 2.0));
    let at = [0, 1, 2].map(|axis| {
        let moved: f32 = (0..3).map(|own| axes[own][axis] * look.offset[own]).sum();
        [position.x, position.y, position.z][axis] + moved
    });
    let is_near = |number: &f32| number.abs() <= FAR;
    at.iter().chain(half.iter().flatten()).all(is_near).then_some((at, half))
}
