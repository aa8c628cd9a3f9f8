//! The tool list as a model's API takes it: names, descriptions and schemas, derived from the
//! types.

use serde_json::{Value as Json, json};

use super::{TOOLS, ToolSpec, agent_tools};

/// Returns the list that is committed as `scene-schemas/tools.json`.
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
