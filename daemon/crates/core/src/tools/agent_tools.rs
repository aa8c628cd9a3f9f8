//! The tools that an agent of its own is offered, as an MCP client reads them.
//!
//! How a protocol spells them, and which other tools stand beside them, is the server's business.

use serde_json::{Map, Value as Json, json};

use super::{TOOLS, ToolSpec};

/// A tool that another agent can call.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentTool {
    pub name: &'static str,
    /// What a model reads about it.
    pub about: &'static str,
    /// The schema of its arguments, with `session`.
    pub schema: Map<String, Json>,
    /// Whether it changes nothing.
    pub is_read_only: bool,
    /// Whether what it proposes may change or delete what is there, and not only add to it.
    pub is_destructive: bool,
}

/// The tools that only add. All others that change something may take away what was there.
const ADD: [&str; 4] =
    ["open_or_create_script", "create_instance", "clone_instance", "insert_asset"];

/// The tools for an agent of its own: all but those by which our own models talk, plan, and read
/// the web. It has its own person to talk to.
pub fn agent_tools() -> Vec<AgentTool> {
    TOOLS.iter().filter(|tool| tool.is_for_agents()).map(to_agent_tool).collect()
}

fn to_agent_tool(tool: &ToolSpec) -> AgentTool {
    AgentTool {
        name: tool.name,
        about: tool.about,
        schema: agent_schema(tool),
        is_read_only: !tool.is_change(),
        is_destructive: tool.is_change() && !ADD.contains(&tool.name),
    }
}

/// The schema of a tool's arguments where nobody says besides which place is meant.
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
