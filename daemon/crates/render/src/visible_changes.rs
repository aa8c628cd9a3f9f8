//! Whether a proposal changes something that a picture shows, judged by its preview alone, without
//! opening the place.

use scene_schemas::proposal::{Change, Preview, Row};
use vector_place::reflection::{is_a, is_script};

/// The properties that affect a picture.
const SEEN: [&str; 8] =
    ["CFrame", "Color", "MeshType", "Offset", "Scale", "Shape", "Size", "Transparency"];

/// Whether the change may be visible. A class that can contain other instances may contain parts.
pub fn has_geometry(preview: &Preview) -> bool {
    preview.more_rows > 0 || preview.rows.iter().any(is_visible_row)
}

fn is_visible_row(Row { change, class, .. }: &Row) -> bool {
    let is_part = is_a(class, "BasePart") || is_a(class, "DataModelMesh");
    match change {
        Change::Created { .. } => is_part,
        Change::Set { property, .. } => is_part && SEEN.contains(&property.as_str()),
        Change::Moved { .. } => is_part || is_visible_class(class),
        Change::Cloned { count, .. }
        | Change::Deleted { count }
        | Change::Inserted { count, .. }
        | Change::Restored { count } => is_part || *count > 1 && is_visible_class(class),
    }
}

fn is_visible_class(class: &str) -> bool {
    !is_script(class) && !is_a(class, "GuiBase")
}
