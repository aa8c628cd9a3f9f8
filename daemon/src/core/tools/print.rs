//! The tools as a model's API wants them: names, descriptions and schemas, printed from the types.

use serde_json::{Value as Json, json};

use super::{Run, TOOLS, Tool};

/// The list that is committed as `scene-schemas/tools.json`.
pub fn print() -> Json {
    TOOLS.iter().map(describe).collect()
}

fn describe(tool: &Tool) -> Json {
    let mut schema = (tool.schema)().to_value();
    if let Some(map) = schema.as_object_mut() {
        tool.own.describe(map);
        let properties = map.entry("properties").or_insert_with(|| json!({}));
        properties["session"] = json!({ "type": "string", "description": "Which place; needed where several are open." });
    }
    json!({
        "name": tool.name,
        "description": tool.about,
        "readOnly": !matches!(tool.run, Run::Change(_)),
        "inputSchema": schema,
    })
}
