//! The tools that are offered to clients: those of the registry, and two of the server.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value as Json, json};
use vector_core::tools::{AgentTool, OF_THE_SERVER, agent_tools};

/// The tool that lists the open places.
pub(super) const SESSIONS: &str = OF_THE_SERVER[0];
/// The tool that returns the outcome of a call.
pub(super) const PROPOSAL_STATUS: &str = OF_THE_SERVER[1];

/// Lists all tools, in the order in which a model reads them.
pub fn list_tools() -> Vec<Tool> {
    let own = [sessions_tool(), proposal_status()];
    own.into_iter().chain(agent_tools().into_iter().map(to_tool)).collect()
}

fn to_tool(offered: AgentTool) -> Tool {
    let AgentTool { name, about, schema, is_read_only: reads, is_destructive: destroys } = offered;
    let tool = Tool::new(name, about, Arc::new(schema));
    // Without an annotation, clients assume that a tool may be destructive.
    match (reads, destroys) {
        (true, _) => tool.with_annotations(ToolAnnotations::new().read_only(true)),
        (false, false) => tool.with_annotations(ToolAnnotations::new().destructive(false)),
        (false, true) => tool,
    }
}

fn sessions_tool() -> Tool {
    Tool::new(
        SESSIONS,
        "Lists the open places: Studio windows, place files, Rojo projects.",
        to_object(&json!({ "type": "object", "properties": {} })),
    )
    .with_annotations(ToolAnnotations::new().read_only(true))
}

fn proposal_status() -> Tool {
    let input = json!({ "type": "object", "properties": {
        "id": { "type": "integer", "description": "From the pending call; if omitted, the last calls." },
        "wait": { "type": "integer", "description": "Seconds to wait for the decision, at most 55." },
        "replies": { "type": "array", "items": { "type": "string" },
            "description": "What you did about each comment of the person on it." },
        "review": { "type": "boolean",
            "description": "Asks for a review of it by a model, which the person permits." },
    } });
    let output = json!({ "type": "object", "properties": {
        "status": { "enum": ["working", "pending", "approved", "applied", "answered", "rejected",
            "withdrawn", "failed", "undone", "refused", "unknown"] },
        "id": { "type": "integer" },
        "tool": { "type": "string" },
        "text": { "type": "string" },
        "comments": { "type": "array", "items": { "type": "object" } },
        "reviews": { "type": "array", "items": { "type": "object" } },
        "task": { "type": "object" },
    } });
    Tool::new(
        PROPOSAL_STATUS,
        "Returns the outcome of a call, with the diff, the reason, or the task that it began.",
        to_object(&input),
    )
    .with_raw_output_schema(to_object(&output))
    .with_annotations(ToolAnnotations::new().read_only(true))
}

fn to_object(json: &Json) -> Arc<JsonObject> {
    Arc::new(json.as_object().cloned().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The list is part of each model's context from the start, so its size is limited.
    const LONGEST: usize = 21_000;
    /// Some clients drop tools beyond this number.
    const MOST: usize = 40;

    fn arrays(schema: &Json, at: &str, bad: &mut Vec<String>) {
        match schema {
            Json::Object(map) => {
                if map.get("type").is_some_and(|it| it == "array") && !map.contains_key("items") {
                    bad.push(at.to_owned());
                }
                map.iter().for_each(|(name, it)| arrays(it, &format!("{at}.{name}"), bad));
            }
            Json::Array(list) => list.iter().for_each(|it| arrays(it, at, bad)),
            _ => {}
        }
    }

    #[test]
    fn tool_list_is_short_and_well_formed() {
        let tools = list_tools();
        let text = serde_json::to_string(&json!({ "tools": tools })).unwrap();
        assert!(text.len() < LONGEST, "{} characters", text.len());
        assert!(tools.len() <= MOST, "{} tools", tools.len());
        let mut bad = Vec::new();
        for tool in &tools {
            arrays(&serde_json::to_value(tool).unwrap(), &tool.name, &mut bad);
            let is_plain = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(tool.name.chars().all(is_plain), "{}", tool.name);
        }
        assert!(bad.is_empty(), "arrays without items: {bad:?}");
    }

    #[test]
    fn tools_that_agents_cannot_call_are_not_listed() {
        let tools = list_tools();
        let has = |name: &str| tools.iter().any(|tool| tool.name == name);
        for name in ["complete", "final_message", "message", "fetch_url", "revert", "start_plan"] {
            assert!(!has(name), "{name}");
        }
        assert!(has("read_script") && has("delete_instance") && has("proposal_status"));
    }

    #[test]
    fn annotations_mark_read_only_and_additive_tools() {
        let tools = list_tools();
        let of = |name: &str| {
            let tool = tools.iter().find(|tool| tool.name == name).unwrap();
            let it = tool.annotations.clone().unwrap_or_default();
            (it.read_only_hint, it.destructive_hint)
        };
        assert_eq!(of("read_script"), (Some(true), None));
        assert_eq!(of("create_instance"), (None, Some(false)));
        assert_eq!(of("delete_instance"), (None, None));
    }
}
