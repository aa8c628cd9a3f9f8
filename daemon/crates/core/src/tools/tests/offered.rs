//! Tests of the tool list that other agents read: it must be small, valid for all clients, and
//! correct.

use scene_schemas::proposal::Class;
use scene_schemas::review::TaskRole;
use serde_json::{Map, Value as Json, json};

use super::{answer, call, open, propose, refuse};
use crate::tools::{
    AgentTool, TOOLS, ToolAction, agent_tools, compact_schema, find_tool, tool_list,
};

/// The server adds two further tools, and Cursor reads at most 40.
const MOST_TOOLS: usize = 38;
/// Maximum characters of the list: 20,000 including the server's two tools.
const MOST: usize = 19_900;

fn as_listed(tool: &AgentTool) -> Json {
    let annotations = match (tool.is_read_only, tool.is_destructive) {
        (true, _) => json!({ "readOnlyHint": true }),
        (false, false) => json!({ "destructiveHint": false }),
        (false, true) => json!({}),
    };
    json!({
        "name": tool.name,
        "description": tool.about,
        "inputSchema": tool.schema,
        "annotations": annotations,
    })
}

#[test]
fn agent_tool_list_is_short() {
    let listed: Vec<Json> = agent_tools().iter().map(as_listed).collect();
    let size = |json: &Json| json.to_string().chars().count();
    let whole = size(&Json::from(listed.clone()));
    let mut each: Vec<_> = listed.iter().map(|tool| (size(tool), tool["name"].as_str())).collect();
    each.sort_unstable_by(|a, b| b.cmp(a));
    assert!(whole <= MOST, "{whole} characters, of {MOST}: {each:?}");
    assert!(listed.len() <= MOST_TOOLS, "{} tools", listed.len());
}

/// Checks the clients' rules: no references and no top-level forms (Anthropic), short names and
/// descriptions (OpenAI, Cursor), arrays with an item type (Gemini, VS Code).
#[test]
fn every_tool_schema_follows_the_clients_rules() {
    let own = tool_list().as_array().cloned().unwrap();
    let others = agent_tools().iter().map(as_listed).collect::<Vec<_>>();
    for tool in own.iter().chain(&others) {
        let name = tool["name"].as_str().unwrap();
        // Clients prefix the server's name; both together may have at most 60 characters.
        assert!(name.len() <= 40 && is_plain(name), "{name}");
        assert!(tool["description"].as_str().unwrap().chars().count() <= 1_024, "{name}");
        let schema = tool["inputSchema"].as_object().unwrap();
        assert_eq!(schema["type"], "object", "{name}");
        assert!(["anyOf", "oneOf", "allOf", "enum"].iter().all(|key| !schema.contains_key(*key)));
        assert_eq!(schema["properties"]["session"], json!({ "type": "string" }), "{name}");
        sound(name, schema);
    }
}

fn is_plain(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
}

#[track_caller]
fn sound(at: &str, schema: &Map<String, Json>) {
    let is_said = ["type", "enum", "anyOf"].iter().any(|key| schema.contains_key(*key));
    assert!(is_said, "{at}: what it is");
    let said = |key: &str| schema.get(key).is_some();
    assert!(!said("$ref") && !said("$defs"), "{at}: references");
    let is_list = schema.get("type").is_some_and(|kind| kind == "array");
    assert_eq!(is_list, said("items"), "{at}: items");
    let none = Map::new();
    let properties = schema.get("properties").and_then(Json::as_object).unwrap_or(&none);
    for required in schema.get("required").and_then(Json::as_array).into_iter().flatten() {
        assert!(properties.contains_key(required.as_str().unwrap()), "{at}: {required}");
    }
    let forms = schema.get("anyOf").and_then(Json::as_array).into_iter().flatten();
    let below = properties.iter().map(|(name, own)| (name.as_str(), own));
    let below = below.chain(schema.get("items").map(|own| ("items", own)));
    for (name, own) in below.chain(forms.map(|own| ("anyOf", own))) {
        assert!(is_plain(name), "{at}: {name}");
        sound(&format!("{at}.{name}"), own.as_object().unwrap());
    }
}

#[test]
fn agents_get_all_tools_except_those_they_need_not() {
    let names: Vec<_> = agent_tools().iter().map(|tool| tool.name).collect();
    for tool in TOOLS {
        let is_own = matches!(tool.run, ToolAction::Talk(_) | ToolAction::Delegate(_))
            || ["fetch_url", "show_diff", "list_open_documents", "validate_syntax"]
                .contains(&tool.name);
        assert_eq!(names.contains(&tool.name), !is_own, "{}", tool.name);
    }
    assert!(!names.contains(&"message") && !names.contains(&"update_plan"));
    // Only agents have a model of Vector do a task.
    let start = find_tool("start_task").unwrap();
    assert!(!start.is_for_role(TaskRole::Solo) && !start.is_for_role(TaskRole::Lead {}));
    let hints = |name: &str| {
        let tool = agent_tools().into_iter().find(|tool| tool.name == name).unwrap();
        (tool.is_read_only, tool.is_destructive)
    };
    assert_eq!(hints("read_script"), (true, false));
    assert_eq!(hints("upload_asset"), (false, true));
    assert_eq!(hints("start_task"), (false, true));
    assert_eq!(hints("clone_instance"), (false, false));
    assert_eq!(hints("delete_instance"), (false, true));
    assert_eq!(hints("set_properties"), (false, true));
}

#[test]
fn non_destructive_tools_make_additive_proposals() {
    let calls = [
        ("open_or_create_script", json!({ "path": "game.Workspace.New" })),
        ("create_instance", json!({ "className": "Part", "parentPath": "game.Workspace.A" })),
        (
            "clone_instance",
            json!({ "path": "game.Workspace.House", "props": { "@Copy": true, "Name": "Shed" } }),
        ),
    ];
    for (tool, args) in calls {
        let (_, proposal, _) = propose(tool, args);
        assert_eq!(proposal.class, Class::Additive, "{tool}");
    }
}

#[test]
fn omitted_or_null_number_takes_its_default() {
    let schema = (crate::tools::find_tool("find_instances").unwrap().schema)().to_value();
    let limit = json!({ "type": "integer", "maximum": 1000, "default": 100 });
    assert_eq!(schema["properties"]["limit"], limit);
    let found =
        |limit: Json| answer("find_instances", json!({ "selector": "Part", "limit": limit }));
    assert_eq!(found(json!(null))["instances"].as_array().unwrap().len(), 4);
    assert_eq!(found(json!(1))["instances"].as_array().unwrap().len(), 1);
    let said = "must be a whole number from 1 to 1000, got 0";
    refuse("find_instances", json!({ "selector": "Part", "limit": 0 }), said);
}

/// Schemas omit `additionalProperties: false`, because deserialization rejects unknown fields.
#[test]
fn unknown_arguments_are_refused_by_every_tool() {
    for tool in TOOLS {
        let schema = (tool.schema)();
        assert!(!schema.as_value().to_string().contains("\"additionalProperties\":false"));
        let own = json!({ "path": "game.Workspace", "parentPath": "game", "noSuchThing": 1 });
        let said = call(&mut open::place(), tool.name, own).unwrap_err();
        assert!(said.contains("unknown field `"), "{}: {said}", tool.name);
    }
}

/// Models send null for omitted arguments, although the schemas do not allow it.
#[test]
fn null_arguments_count_as_omitted() {
    for tool in TOOLS {
        let schema = (tool.schema)().to_value();
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        for name in schema["properties"].as_object().unwrap().keys() {
            let said = call(&mut open::place(), tool.name, json!({ name.as_str(): null }));
            let is_refused = said.is_err_and(|said| said.contains("null, expected"));
            assert!(!is_refused || required.contains(&json!(name)), "{}: {name}", tool.name);
        }
    }
}

#[track_caller]
fn check(schema: Json, expected: Json) {
    let Json::Object(mut map) = schema else { panic!() };
    compact_schema::compact_schema(&mut map);
    assert_eq!(Json::Object(map), expected);
}

#[test]
fn lean_schema_keeps_only_types_and_bounds() {
    let maybe = |kind: &str| json!({ "type": [kind, "null"], "description": "d" });
    check(maybe("string"), json!({ "type": "string", "description": "d" }));
    check(json!({ "type": ["integer", "string"] }), json!({ "type": ["integer", "string"] }));
    check(
        json!({ "type": "integer", "format": "uint32", "minimum": 0, "maximum": 1_000_000 }),
        json!({ "type": "integer" }),
    );
    let bounds = json!({ "type": "integer", "minimum": 2, "maximum": 64, "default": 8 });
    check(bounds.clone(), bounds);
    let ways = json!({ "enum": ["a", "b", null], "type": ["string", "null"] });
    check(ways, json!({ "enum": ["a", "b"], "type": "string" }));
    let forms = json!([{ "const": "a", "description": "x" }, { "const": "b" }]);
    let named = json!({ "enum": ["a", "b"], "type": "string" });
    check(json!({ "oneOf": forms, "description": "the kind" }), named.clone());
    let maybe = json!([{ "oneOf": forms, "description": "inner" }, { "type": "null" }]);
    check(json!({ "anyOf": maybe, "description": "the kind" }), named.clone());
    let with_default = json!({ "enum": ["a", "b"], "type": "string", "description": "Default: a" });
    check(with_default.clone(), with_default);
    let most = json!({ "type": "integer", "maximum": 64, "default": 64 });
    check(most, json!({ "type": "integer", "default": 64 }));
    let path = json!({ "type": "string", "pattern": "^game" });
    check(path, json!({ "type": "string" }));
    // Argument names are not schema keywords.
    check(
        json!({ "type": "object", "required": [], "additionalProperties": false,
            "properties": { "format": maybe_text(), "default": { "type": "array", "items": maybe_text() } } }),
        json!({ "type": "object",
            "properties": { "format": text(), "default": { "type": "array", "items": text() } } }),
    );
    let map = json!({ "type": ["object", "null"], "additionalProperties": maybe_text() });
    check(map, json!({ "type": "object" }));
}

fn maybe_text() -> Json {
    json!({ "type": ["string", "null"] })
}

fn text() -> Json {
    json!({ "type": "string" })
}
