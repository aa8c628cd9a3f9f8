//! Pictures of a place: its parts as a software renderer draws them, the same on every machine.
//!
//! Boxes, wedges, balls and cylinders are drawn as they are, meshes and unions as the boxes around
//! them. What a picture leaves out it says. There is no terrain, no texture, no material, no light of
//! the place and no vanishing point: a picture shows what stands where, how large it is, and what
//! changes. It must not know proposals or who asks for a picture: it takes a scene and returns pixels.

mod before_after;
mod compare;
mod draw;
mod font;
mod gather;
mod ground;
mod label;
mod mesh;
mod png;
mod raster;
mod solid;
mod view;
mod visible_changes;

/// How many points a side of a picture has at least.
pub const LEAST_SIDE: u32 = 64;
pub const MOST_SIDE: u32 = 4096;

pub use self::before_after::{BeforeAfter, ChangeSide};
pub use self::draw::draw_solids;
pub use self::gather::{check_part_limit, gather_solids, visible_root};
pub use self::png::Picture;
pub use self::solid::{ChangeMark, PictureOmissions, Solid, SolidSet, SolidShape};
pub use self::view::{ViewDirection, ViewFrame};
pub use self::visible_changes::has_geometry;

#[cfg(test)]
mod tests;
