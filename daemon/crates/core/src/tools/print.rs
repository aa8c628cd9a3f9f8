//! The tools as a model's API wants them: names, descriptions and schemas, printed from the types.

use serde_json::{Value as Json, json};

use super::{TOOLS, Tool, offered};

/// The list that is committed as `scene-schemas/tools.json`.
pub fn print() -> Json {
    TOOLS.iter().map(describe).collect()
}

fn describe(tool: &Tool) -> Json {
    json!({
        "name": tool.name,
        "description": tool.about,
        "readOnly": !tool.changes(),
        "inputSchema": offered::schema(tool),
    })
}
