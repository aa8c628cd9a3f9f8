//! The tools offered to an external agent, as an MCP client lists them.
//!
//! The server encodes them for its protocol and adds its own tools.

use serde_json::{Map, Value as Json, json};

use super::{TOOLS, ToolSpec};

/// A tool that an external agent can call.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentTool {
    pub name: &'static str,
    /// The description that a model reads.
    pub about: &'static str,
    /// The JSON schema of its arguments, including `session`.
    pub schema: Map<String, Json>,
    /// Whether the tool never changes anything.
    pub is_read_only: bool,
    /// Whether it may change or delete existing content, or do what cannot be undone.
    pub is_destructive: bool,
}

/// The tools that only add. Every other tool that changes something may remove existing content.
const ADD: [&str; 4] =
    ["open_or_create_script", "create_instance", "clone_instance", "insert_asset"];

/// Returns the tools for an external agent: all except those by which Vector's own models talk,
/// plan and fetch web pages. An external agent has its own user to talk to.
pub fn agent_tools() -> Vec<AgentTool> {
    TOOLS.iter().filter(|tool| tool.is_for_agents()).map(to_agent_tool).collect()
}

fn to_agent_tool(tool: &ToolSpec) -> AgentTool {
    AgentTool {
        name: tool.name,
        about: tool.about,
        schema: agent_schema(tool),
        is_read_only: !tool.is_change() && !tool.has_effect(),
        is_destructive: tool.has_effect() || tool.is_change() && !ADD.contains(&tool.name),
    }
}

/// Returns the schema of a tool's arguments with the optional `session` argument that selects the
/// place.
pub(super) fn agent_schema(tool: &ToolSpec) -> Map<String, Json> {
    let mut schema = match (tool.schema)().to_value() {
        Json::Object(schema) => schema,
        _ => Map::new(),
    };
    tool.own.mark_optional(&mut schema);
    if let Some(Json::Object(properties)) = schema.get_mut("properties") {
        properties.insert("session".to_owned(), json!({ "type": "string" }));
    }
    schema
}
