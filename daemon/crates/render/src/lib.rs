//! Pictures of a place, drawn by a software renderer that gives the same result on every machine.
//!
//! Boxes, wedges, balls and cylinders of a place are drawn exactly, meshes and unions as their bounding boxes.
//! There is no terrain, no texture, no material, no lighting of the place and no perspective: a
//! picture shows the positions and sizes of parts, and what changes. The omissions are listed with
//! the picture.
//!
//! Must not know proposals or clients: it takes a scene and returns pixels.

mod before_after;
mod compare;
mod draw;
mod font;
mod gather;
mod ground;
mod label;
mod mesh;
mod model;
mod png;
mod raster;
mod solid;
mod view;
mod visible_changes;

/// Minimum side length of a picture, in pixels.
pub const LEAST_SIDE: u32 = 64;
pub const MOST_SIDE: u32 = 4096;

pub use self::before_after::{BeforeAfter, ChangeSide};
pub use self::draw::draw_solids;
pub use self::gather::{FirstReads, check_part_limit, gather_nodes, gather_solids, visible_root};
pub use self::model::{ModelTriangle, draw_model};
pub use self::png::Picture;
pub use self::solid::{ChangeMark, PictureOmissions, Solid, SolidSet, SolidShape};
pub use self::view::{ViewDirection, ViewFrame};
pub use self::visible_changes::has_geometry;

#[cfg(test)]
mod tests;
