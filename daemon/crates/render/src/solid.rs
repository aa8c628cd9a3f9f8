//! What a picture is drawn from: solids in a row, with their colours, and what was left out.
//!
//! A solid knows nothing of its instance but its number: many of them have to fit into little memory,
//! and another thread can draw them while the scene goes on.

use vector_place::Node;

/// What a solid looks like, in a box of its size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SolidShape {
    Block,
    /// The ellipsoid in it.
    Ball,
    /// A cylinder along X.
    Cylinder,
    /// A cylinder along Y.
    Column,
    /// A slope that rises towards +Z.
    Wedge,
    /// A pyramid whose tip stands over the corner at +X and -Z.
    CornerWedge,
    /// A pyramid whose tip stands over the middle.
    Pyramid,
}

impl SolidShape {
    /// All of them, in the order of their numbers.
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

/// What became of a solid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum ChangeMark {
    #[default]
    None,
    Added,
    /// It looks otherwise, or stands elsewhere.
    Changed,
    Removed,
}

/// Something that is drawn.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Solid {
    pub node: Node,
    /// What it looks like.
    pub shape: SolidShape,
    /// Its middle, in studs.
    pub at: [f32; 3],
    /// Half of it along each of its own axes, in the world.
    pub half: [[f32; 3]; 3],
    /// Red, green and blue.
    pub colour: [u8; 3],
    /// How much of what is behind it it hides; 0 is invisible.
    pub opacity: u8,
    /// What became of it.
    pub mark: ChangeMark,
}

impl Solid {
    /// How far it reaches from its middle along the axes of the world.
    pub(super) fn half_extents(&self) -> [f32; 3] {
        [0, 1, 2].map(|axis| self.half.iter().map(|half| half[axis].abs()).sum())
    }

    /// Whether it is seen: what changes is shown even where it is invisible.
    pub(super) fn is_visible(&self) -> bool {
        self.opacity > 0 || self.mark != ChangeMark::None
    }
}

/// What is not in a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PictureOmissions {
    /// Terrain, which is not drawn.
    pub has_terrain: bool,
    /// How many parts are transparent altogether.
    pub invisible: u32,
    /// How many have a position or size that is no number.
    pub broken: u32,
    /// How many are drawn as the box around them: meshes and unions.
    pub boxed: u32,
}

/// All that is drawn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SolidSet {
    /// In the order of the place.
    pub all: Vec<Solid>,
    /// What is not among them, or not as it is.
    pub omissions: PictureOmissions,
}

impl SolidSet {
    /// How many there are of a mark.
    pub fn count_mark(&self, mark: ChangeMark) -> usize {
        self.all.iter().filter(|solid| solid.mark == mark).count()
    }

    /// Whether something is marked.
    pub fn is_marked(&self) -> bool {
        self.all.iter().any(|solid| solid.mark != ChangeMark::None)
    }

    /// What is left out, as sentences for a person; none where all is drawn.
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
