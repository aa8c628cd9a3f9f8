//! The input of the renderer: solids with their colours, and what was left out.
//!
//! A solid knows nothing of its instance but the node. This keeps it small, and another thread can
//! draw solids while the scene changes.

use rustc_hash::FxHashMap;
use vector_place::Node;

/// The shape of a solid, in a box of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SolidShape {
    Block,
    /// The ellipsoid that fills the box.
    Ball,
    /// A cylinder along X.
    Cylinder,
    /// A cylinder along Y.
    Column,
    /// A slope that rises towards +Z.
    Wedge,
    /// A pyramid whose apex is above the corner at +X and -Z.
    CornerWedge,
    /// A pyramid whose apex is above the center.
    Pyramid,
}

impl SolidShape {
    /// All shapes, in the order of their discriminants.
    pub const ALL: [Self; 7] = [
        Self::Block,
        Self::Ball,
        Self::Cylinder,
        Self::Column,
        Self::Wedge,
        Self::CornerWedge,
        Self::Pyramid,
    ];
}

/// How a change affects a solid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ChangeMark {
    #[default]
    None,
    Added,
    /// It looks different, or its position differs.
    Changed,
    Removed,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solid {
    pub node: Node,
    pub shape: SolidShape,
    /// Whether it is the bounding box of a shape that cannot be read: a mesh or union.
    pub is_boxed: bool,
    /// The center, in studs.
    pub at: [f32; 3],
    /// The half extents along each of its own axes, as world vectors.
    pub half: [[f32; 3]; 3],
    /// Red, green and blue.
    pub colour: [u8; 3],
    /// The opacity, of 255; 0 is invisible.
    pub opacity: u8,
    pub mark: ChangeMark,
}

impl Solid {
    /// The half extents of the bounding box along the world axes.
    pub(super) fn half_extents(&self) -> [f32; 3] {
        [0, 1, 2].map(|axis| self.half.iter().map(|half| half[axis].abs()).sum())
    }

    /// Whether the solid is drawn. A changed solid is drawn even if it is invisible.
    pub(super) fn is_visible(&self) -> bool {
        self.opacity > 0 || self.mark != ChangeMark::None
    }
}

/// What a picture leaves out or simplifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PictureOmissions {
    /// Whether there is terrain, which is not drawn.
    pub has_terrain: bool,
    /// Number of fully transparent parts.
    pub invisible: u32,
    /// Number of parts with an invalid position or size.
    pub broken: u32,
    /// Number of parts that are drawn as their bounding box: meshes and unions.
    pub boxed: u32,
}

/// The solids of a picture.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SolidSet {
    /// In the order of the place.
    pub all: Vec<Solid>,
    /// The parts with an invalid position or size.
    pub broken: Vec<Node>,
    /// The terrain that is not empty.
    pub terrain: Vec<Node>,
}

impl SolidSet {
    /// What a picture of these solids leaves out or simplifies.
    pub fn omissions(&self) -> PictureOmissions {
        let count = |is_counted: fn(&&Solid) -> bool| self.all.iter().filter(is_counted).count();
        PictureOmissions {
            has_terrain: !self.terrain.is_empty(),
            invisible: count(|it| !it.is_visible()) as u32,
            broken: self.broken.len() as u32,
            boxed: count(|it| it.is_boxed && it.opacity > 0) as u32,
        }
    }

    /// The solids of the instances in `order`: those that `other` has where `is_other` holds, and
    /// those that this set has elsewhere.
    #[must_use]
    pub fn merge(&self, other: &Self, order: &[Node], is_other: impl Fn(Node) -> bool) -> Self {
        let (own, other) = (SolidIndex::new(self), SolidIndex::new(other));
        let mut merged = Self::default();
        for node in order {
            let index = if is_other(*node) { &other } else { &own };
            match index.found.get(node) {
                None => {}
                Some(Found::Solid(at)) => merged.all.push(index.set.all[*at]),
                Some(Found::Broken) => merged.broken.push(*node),
                Some(Found::Terrain) => merged.terrain.push(*node),
            }
        }
        merged
    }

    /// Number of solids with this mark.
    pub fn count_mark(&self, mark: ChangeMark) -> usize {
        self.all.iter().filter(|solid| solid.mark == mark).count()
    }

    /// Whether any solid is marked.
    pub fn is_marked(&self) -> bool {
        self.all.iter().any(|solid| solid.mark != ChangeMark::None)
    }

    /// The omissions as sentences for the user; empty if everything is drawn.
    pub fn omission_notes(&self) -> Vec<String> {
        let PictureOmissions { has_terrain: terrain, invisible, broken, boxed } = self.omissions();
        let parts = |n: u32| if n == 1 { "1 part".to_owned() } else { format!("{n} parts") };
        let mut notes = Vec::new();
        if terrain {
            notes.push("Terrain is not drawn.".to_owned());
        }
        if invisible > 0 {
            notes.push(format!("Not drawn, for they are invisible: {}.", parts(invisible)));
        }
        if broken > 0 {
            notes.push(format!("Not drawn, because they have no position: {}.", parts(broken)));
        }
        if boxed > 0 {
            notes.push(format!(
                "Drawn as the boxes around them: {} (meshes, unions).",
                parts(boxed)
            ));
        }
        notes
    }
}

/// The solids of a set by their instances.
struct SolidIndex<'a> {
    set: &'a SolidSet,
    found: FxHashMap<Node, Found>,
}

/// What a set has of an instance.
enum Found {
    /// The number of its solid.
    Solid(usize),
    Broken,
    Terrain,
}

impl<'a> SolidIndex<'a> {
    fn new(set: &'a SolidSet) -> Self {
        let solids = set.all.iter().enumerate().map(|(at, it)| (it.node, Found::Solid(at)));
        let broken = set.broken.iter().map(|node| (*node, Found::Broken));
        let terrain = set.terrain.iter().map(|node| (*node, Found::Terrain));
        Self { set, found: solids.chain(broken).chain(terrain).collect() }
    }
}
