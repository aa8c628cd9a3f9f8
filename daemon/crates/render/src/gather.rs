//! Converts a scene to solids: which instances are parts, and how each of them looks.
//!
//! Properties are read as stored, with the defaults of the reflection database. Meshes, unions and
//! textures are assets that cannot be read here, so mesh and union parts become their bounding
//! boxes.

use std::borrow::Cow;

use rbx_dom_weak::{Ustr, ustr};
use rbx_types::{CFrame, Variant, Vector3};
use rustc_hash::{FxHashMap, FxHashSet};
use scene_schemas::refusal::{Refusal, refuse};
use vector_place::{Node, Scene, reflection};

use super::solid::{ChangeMark, Solid, SolidSet, SolidShape};

/// Parts with this transparency or more are invisible.
const INVISIBLE: f32 = 0.99;
/// Parts with larger positions or sizes count as broken. Roblox itself becomes unusable long
/// before.
const FAR: f32 = 1e12;

/// Maximum number of parts in a place that is open in Studio, which has to report the look of each.
const MOST_TOLD: usize = 20_000;

/// The role of a class in a picture.
#[derive(Clone, Copy)]
enum ClassKind {
    /// A part of a fixed shape.
    Part(SolidShape),
    /// A part with a shape property.
    Shaped,
    /// A part whose shape is an asset.
    Asset,
    Terrain,
    Other,
}

struct PropertyKeys {
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

impl PropertyKeys {
    fn new() -> Self {
        Self {
            cframe: ustr("CFrame"),
            size: ustr("Size"),
            colour: ustr("Color"),
            transparency: ustr("Transparency"),
            shape: ustr("Shape"),
            mesh: ustr("MeshType"),
            scale: ustr("Scale"),
            offset: ustr("Offset"),
            grid: ustr("SmoothGrid"),
        }
    }
}

/// The defaults of a class.
#[derive(Clone, Copy)]
struct ClassInfo {
    kind: ClassKind,
    size: Vector3,
    colour: [u8; 3],
}

struct SolidGatherer<'a> {
    scene: &'a Scene,
    keys: PropertyKeys,
    classes: FxHashMap<&'a str, ClassInfo>,
    solids: &'a mut SolidSet,
}

/// The solids of an instance and all its descendants; for a whole place, those in its Workspace.
pub fn gather_solids(scene: &Scene, root: Node) -> SolidSet {
    let mut solids = SolidSet::default();
    gather_nodes(scene, scene.subtree(visible_root(scene, root)), &mut solids);
    solids
}

/// Adds the solids of these instances, without their descendants, to `solids`.
pub fn gather_nodes(scene: &Scene, nodes: impl Iterator<Item = Node>, solids: &mut SolidSet) {
    let (keys, classes) = (PropertyKeys::new(), FxHashMap::default());
    let mut gathering = SolidGatherer { scene, keys, classes, solids };
    for node in nodes {
        gathering.add_node(node);
    }
}

/// Reads that decode what [`gather_nodes`] needs. The first value that is read of a property decodes
/// the values of all instances of the class, which takes long in a large place.
#[derive(Debug, Default)]
pub struct FirstReads {
    classes: FxHashSet<String>,
    reads: Vec<(Node, Ustr)>,
}

impl FirstReads {
    /// Adds the reads for instances whose classes are new. Returns whether there are any.
    pub fn add(&mut self, scene: &Scene, nodes: &[Node]) -> bool {
        for node in nodes {
            let class = scene.class(*node);
            if !self.classes.contains(class) {
                self.classes.insert(class.to_owned());
                if reflection::is_a(class, "BasePart") {
                    let keys = PropertyKeys::new();
                    let PropertyKeys { cframe, size, colour, transparency, shape, .. } = keys;
                    let keys = [cframe, size, colour, transparency, shape];
                    self.reads.extend(keys.map(|key| (*node, key)));
                }
            }
        }
        !self.reads.is_empty()
    }

    /// Makes the next read. Returns false if none is left.
    pub fn read_next(&mut self, scene: &Scene) -> bool {
        let Some((node, key)) = self.reads.pop() else { return false };
        scene.raw_variant(node, key);
        true
    }
}

/// Fails if the place is open in Studio and has too many parts to read from there.
///
/// # Errors
/// There are too many parts.
pub fn check_part_limit(scene: &Scene, root: Node) -> Result<(), Refusal> {
    if !scene.is_open_in_studio() {
        return Ok(());
    }
    let is_part = |node: &Node| reflection::is_a(scene.class(*node), "BasePart");
    let parts = scene.subtree(visible_root(scene, root)).filter(is_part).count();
    if parts <= MOST_TOLD {
        return Ok(());
    }
    refuse!(
        "{parts} parts are too many to ask Studio for; at most {MOST_TOLD} are drawn of an open \
         place. Name a path with fewer, or save the place and use `vector render`."
    )
}

/// The root of what is visible of an instance: for a place, its Workspace.
pub fn visible_root(scene: &Scene, root: Node) -> Node {
    let is_workspace = |node: &Node| scene.class(*node) == "Workspace";
    let workspace = || scene.children(root).find(is_workspace);
    if root == scene.root() { workspace().unwrap_or(root) } else { root }
}

impl<'a> SolidGatherer<'a> {
    fn add_node(&mut self, node: Node) {
        let class = self.class_info(node);
        match class.kind {
            ClassKind::Other => {}
            ClassKind::Terrain => {
                if self.has_terrain(node) {
                    self.solids.terrain.push(node);
                }
            }
            ClassKind::Part(shape) => self.add_part(node, class, PartLook::of_shape(shape, false)),
            ClassKind::Asset => {
                self.add_part(node, class, PartLook::of_shape(SolidShape::Block, true));
            }
            ClassKind::Shaped => {
                let PropertyKeys { cframe, size, colour, transparency, shape, .. } = self.keys;
                let keys = [cframe, size, colour, transparency, shape];
                let [cframe, size, colour, transparency, shape] =
                    self.scene.raw_variants(node, keys);
                let look = PartLook::of_shape(shape_by_number(shape.as_ref()), false);
                self.add_solid(node, class, look, [cframe, size, colour, transparency]);
            }
        }
    }

    fn add_part(&mut self, node: Node, class: ClassInfo, look: PartLook) {
        let PropertyKeys { cframe, size, colour, transparency, .. } = self.keys;
        let found = self.scene.raw_variants(node, [cframe, size, colour, transparency]);
        self.add_solid(node, class, look, found);
    }

    fn add_solid(
        &mut self,
        node: Node,
        class: ClassInfo,
        look: PartLook,
        [cframe, size, colour, transparency]: [Option<Variant>; 4],
    ) {
        let cframe = match cframe {
            Some(Variant::CFrame(cframe)) => cframe,
            _ => CFrame::identity(),
        };
        let size = size.as_ref().and_then(to_vector).unwrap_or(class.size);
        let look = match self.find_mesh(node) {
            Some(mesh) => self.mesh_look(mesh, size),
            None => PartLook { size: round_size(look.shape, size), ..look },
        };
        let Some((at, half)) = place_box(&cframe, &look) else {
            self.solids.broken.push(node);
            return;
        };
        let opacity = to_opacity(transparency.as_ref());
        let colour = colour.as_ref().and_then(color_bytes).unwrap_or(class.colour);
        let PartLook { shape, is_boxed, .. } = look;
        let mark = ChangeMark::None;
        self.solids.all.push(Solid { node, shape, is_boxed, at, half, colour, opacity, mark });
    }

    fn raw_value(&self, node: Node, key: Ustr) -> Option<Cow<'a, Variant>> {
        self.scene.raw_variant(node, key)
    }

    fn class_info(&mut self, node: Node) -> ClassInfo {
        let name = self.scene.class(node);
        *self.classes.entry(name).or_insert_with(|| ClassInfo {
            kind: class_kind(name),
            size: match reflection::default_of(name, "Size") {
                Some(Variant::Vector3(size)) => *size,
                _ => Vector3::new(4.0, 1.2, 2.0),
            },
            colour: reflection::default_of(name, "Color")
                .and_then(color_bytes)
                .unwrap_or([163, 162, 165]),
        })
    }

    fn vector_value(&self, node: Node, key: Ustr) -> Option<Vector3> {
        to_vector(self.raw_value(node, key)?.as_ref())
    }

    /// The mesh child that replaces the shape of a part.
    fn find_mesh(&self, part: Node) -> Option<Node> {
        let is_mesh = |class: &str| matches!(class, "SpecialMesh" | "BlockMesh" | "CylinderMesh");
        self.scene.children(part).find(|child| is_mesh(self.scene.class(*child)))
    }

    /// The look of a mesh child, by the values of `Enum.MeshType`.
    fn mesh_look(&self, mesh: Node, size: Vector3) -> PartLook {
        let (shape, boxed) = match self.scene.class(mesh) {
            "BlockMesh" => (SolidShape::Block, false),
            "CylinderMesh" => (SolidShape::Column, false),
            _ => match self.raw_value(mesh, self.keys.mesh).as_deref().and_then(to_number) {
                // `Head` is the default mesh type.
                None | Some(0) => (SolidShape::Column, false),
                Some(1 | 6) => (SolidShape::Block, false),
                Some(2) => (SolidShape::Wedge, false),
                Some(3) => (SolidShape::Ball, false),
                Some(4) => (SolidShape::Cylinder, false),
                Some(8) => (SolidShape::Pyramid, false),
                Some(11) => (SolidShape::CornerWedge, false),
                Some(_) => (SolidShape::Block, true),
            },
        };
        // The scale of a mesh asset does not refer to the size of the part, so ignore it.
        let scale = self.vector_value(mesh, self.keys.scale).filter(|_| !boxed);
        let scale = scale.unwrap_or(Vector3::new(1.0, 1.0, 1.0));
        let size = Vector3::new(size.x * scale.x, size.y * scale.y, size.z * scale.z);
        let offset =
            self.vector_value(mesh, self.keys.offset).map_or([0.0; 3], |it| [it.x, it.y, it.z]);
        PartLook { shape, size, offset, is_boxed: boxed }
    }

    /// Whether the terrain is not empty. In a place that is open in Studio this is unknown, so it
    /// is assumed.
    fn has_terrain(&self, node: Node) -> bool {
        self.scene.is_open_in_studio()
            || match self.raw_value(node, self.keys.grid).as_deref() {
                Some(Variant::BinaryString(grid)) => !AsRef::<[u8]>::as_ref(grid).is_empty(),
                _ => false,
            }
    }
}

/// The shape in which a part is drawn.
struct PartLook {
    shape: SolidShape,
    size: Vector3,
    /// Offset from the center of the part, along the part's own axes.
    offset: [f32; 3],
    is_boxed: bool,
}

impl PartLook {
    /// A look without a size, which the caller sets later.
    fn of_shape(shape: SolidShape, is_boxed: bool) -> Self {
        Self { shape, size: Vector3::new(0.0, 0.0, 0.0), offset: [0.0; 3], is_boxed }
    }
}

fn class_kind(class: &str) -> ClassKind {
    match class {
        "Part" | "FormFactorPart" => ClassKind::Shaped,
        "WedgePart" => ClassKind::Part(SolidShape::Wedge),
        "CornerWedgePart" => ClassKind::Part(SolidShape::CornerWedge),
        "Terrain" => ClassKind::Terrain,
        _ if reflection::is_a(class, "TriangleMeshPart") => ClassKind::Asset,
        _ if reflection::is_a(class, "Part") => ClassKind::Shaped,
        _ if reflection::is_a(class, "BasePart") => ClassKind::Part(SolidShape::Block),
        _ => ClassKind::Other,
    }
}

fn to_vector(value: &Variant) -> Option<Vector3> {
    match value {
        Variant::Vector3(vector) => Some(*vector),
        _ => None,
    }
}

fn to_number(value: &Variant) -> Option<u32> {
    match value {
        Variant::Enum(item) => Some(item.to_u32()),
        Variant::EnumItem(item) => Some(item.value),
        _ => None,
    }
}

/// The shape for a value of `Enum.PartType`.
fn shape_by_number(shape: Option<&Variant>) -> SolidShape {
    match shape.and_then(to_number) {
        Some(0) => SolidShape::Ball,
        Some(2) => SolidShape::Cylinder,
        Some(3) => SolidShape::Wedge,
        Some(4) => SolidShape::CornerWedge,
        _ => SolidShape::Block,
    }
}

/// Converts a transparency to an opacity. NaN counts as opaque.
fn to_opacity(transparency: Option<&Variant>) -> u8 {
    match transparency {
        Some(Variant::Float32(it)) if *it >= INVISIBLE => 0,
        // Keep a nearly invisible part slightly visible.
        Some(Variant::Float32(it)) if *it > 0.0 => (255.0 * (1.0 - it)).max(12.0) as u8,
        _ => 255,
    }
}

fn color_bytes(colour: &Variant) -> Option<[u8; 3]> {
    match colour {
        Variant::Color3uint8(it) => Some([it.r, it.g, it.b]),
        Variant::Color3(it) => Some([it.r, it.g, it.b].map(|part| (part * 255.0 + 0.5) as u8)),
        _ => None,
    }
}

/// Shrinks the size of round parts, which are as wide as they are high.
fn round_size(shape: SolidShape, size: Vector3) -> Vector3 {
    match shape {
        SolidShape::Ball => {
            let across = size.x.min(size.y).min(size.z);
            Vector3::new(across, across, across)
        }
        SolidShape::Cylinder => {
            let across = size.y.min(size.z);
            Vector3::new(size.x, across, across)
        }
        _ => size,
    }
}

/// The center of a part and its half extents along each of its own axes. None if a coordinate is
/// not finite or too large.
fn place_box(cframe: &CFrame, look: &PartLook) -> Option<([f32; 3], [[f32; 3]; 3])> {
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
