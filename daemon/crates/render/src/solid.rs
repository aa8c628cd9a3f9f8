//! The input of the renderer: solids with their colours, and what was left out.
//!
//! A solid knows nothing of its instance but the node. This keeps it small, and another thread can
//! draw solids while the scene changes.

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
    pub omissions: PictureOmissions,
}

impl SolidSet {
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
        let PictureOmissions { has_terrain: terrain, invisible, broken, boxed } = self.omissions;
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
