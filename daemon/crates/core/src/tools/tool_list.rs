//! The tools as a model's API wants them: names, descriptions and schemas, printed from the types.

use serde_json::{Value as Json, json};

use super::{TOOLS, ToolSpec, agent_tools};

/// The list that is committed as `scene-schemas/tools.json`.
pub fn tool_list() -> Json {
    TOOLS.iter().map(describe_tool).collect()
}

fn describe_tool(tool: &ToolSpec) -> Json {
    json!({
        "name": tool.name,
        "description": tool.about,
        "readOnly": !tool.is_change(),
        "inputSchema": agent_tools::agent_schema(tool),
    })
}
