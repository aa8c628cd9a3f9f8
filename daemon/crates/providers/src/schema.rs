//! Adapts the JSON schemas of tools to each wire format.
//!
//! The tools' own schemas stay unchanged. Keywords that a wire rejects are rewritten or left out,
//! because the tools check their arguments in any case.

use serde_json::{Map, Value as Json, json};
use vector_core::prompt::PromptTool;

/// The depth limit for inlined references, since a recursive schema has no end.
const MAX_REF_DEPTH: usize = 12;

/// Returns the schema as that of an object, which is all that most wires require.
pub(super) fn object_schema(schema: &Json) -> Json {
    let mut schema = schema.as_object().cloned().unwrap_or_default();
    schema.entry("type").or_insert_with(|| json!("object"));
    schema.entry("properties").or_insert_with(|| json!({}));
    Json::Object(schema)
}

/// Encodes a tool for Chat Completions and Ollama.
pub(super) fn function_tool(tool: &PromptTool) -> Json {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.about,
            "parameters": object_schema(&tool.schema),
        },
    })
}

/// Reduces the top level to `type`, `properties` and `required`: Amazon's own models accept nothing
/// else there. <https://docs.aws.amazon.com/nova/latest/userguide/tool-use-definition.html>
pub(super) fn minimal_schema(schema: &Json) -> Json {
    let mut schema = inline_references(&object_schema(schema), &Map::new(), 0);
    if let Some(map) = schema.as_object_mut() {
        map.retain(|key, _| matches!(key.as_str(), "type" | "properties" | "required"));
    }
    schema
}

/// Returns the schema under OpenAI's strict rules: each object closed, each property required. None
/// if that would change its meaning, because requiring an optional property changes what the model
/// sends. <https://platform.openai.com/docs/guides/function-calling#strict-mode>
pub(super) fn strict_schema(schema: &Json) -> Option<Json> {
    let mut schema = inline_references(&object_schema(schema), &Map::new(), 0);
    close_objects(&mut schema);
    is_strict(&schema).then_some(schema)
}

/// Closes objects with named properties. The tools reject other properties anyway, but their
/// schemas need not say so for other wires.
fn close_objects(schema: &mut Json) {
    let Some(map) = schema.as_object_mut() else {
        return;
    };
    if map.contains_key("properties") {
        map.entry("additionalProperties").or_insert_with(|| json!(false));
    }
    for (key, value) in map {
        match (key.as_str(), value) {
            ("properties", Json::Object(properties)) => {
                properties.values_mut().for_each(close_objects);
            }
            ("anyOf", Json::Array(forms)) => forms.iter_mut().for_each(close_objects),
            ("items", items) => close_objects(items),
            _ => {}
        }
    }
}

/// The keywords that a strict schema may contain, besides `properties`.
const STRICT_KEYWORDS: [&str; 16] = [
    "type",
    "description",
    "title",
    "enum",
    "const",
    "required",
    "additionalProperties",
    "items",
    "anyOf",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "minItems",
    "maxItems",
];

fn is_strict(schema: &Json) -> bool {
    let Some(map) = schema.as_object() else {
        return false;
    };
    if map.keys().any(|key| key != "properties" && !STRICT_KEYWORDS.contains(&key.as_str())) {
        return false;
    }
    let empty = Map::new();
    let properties = map.get("properties").and_then(Json::as_object).unwrap_or(&empty);
    if has_type(schema, "object") {
        let required = map.get("required").and_then(Json::as_array).map_or(0, Vec::len);
        if map.get("additionalProperties") != Some(&json!(false)) || required != properties.len() {
            return false;
        }
    }
    let any = map.get("anyOf").and_then(Json::as_array);
    properties.values().chain(map.get("items")).chain(any.into_iter().flatten()).all(is_strict)
}

fn has_type(schema: &Json, kind: &str) -> bool {
    match &schema["type"] {
        Json::String(own) => own == kind,
        Json::Array(kinds) => kinds.iter().any(|own| own == kind),
        _ => false,
    }
}

/// Converts a schema to the OpenAPI 3.0 subset that Gemini reads.
/// <https://ai.google.dev/api/caching#Schema>
pub(super) fn gemini_schema(schema: &Json) -> Json {
    openapi_subset(&inline_references(&object_schema(schema), &Map::new(), 0))
}

/// The keywords that are copied unchanged.
const OPENAPI_KEYWORDS: [&str; 11] = [
    "title",
    "description",
    "default",
    "minItems",
    "maxItems",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "pattern",
    "nullable",
];

fn openapi_subset(schema: &Json) -> Json {
    let Some(map) = schema.as_object() else {
        // `true`: any value.
        return json!({});
    };
    let mut out = Map::new();
    for (key, value) in map {
        if OPENAPI_KEYWORDS.contains(&key.as_str()) {
            out.insert(key.clone(), value.clone());
        }
    }
    let mut kinds = type_names(map);
    let null = kinds.iter().position(|kind| kind == "null").map(|at| kinds.remove(at));
    if null.is_some() {
        out.insert("nullable".to_owned(), json!(true));
    }
    match kinds.as_slice() {
        [] => {}
        [kind] => drop(out.insert("type".to_owned(), json!(kind))),
        several => {
            let each: Vec<Json> = several.iter().map(|kind| json!({ "type": kind })).collect();
            out.insert("anyOf".to_owned(), each.into());
        }
    }
    let kind = kinds.first().map(String::as_str);
    convert_format_and_enum(map, kind, &mut out);
    if let Some(items) = map.get("items") {
        out.insert("items".to_owned(), openapi_subset(items));
    } else if kind == Some("array") {
        out.insert("items".to_owned(), json!({}));
    }
    merge_alternatives(map, &mut out);
    convert_properties(map, &mut out);
    Json::Object(out)
}

fn type_names(map: &Map<String, Json>) -> Vec<String> {
    match map.get("type") {
        Some(Json::String(kind)) => vec![kind.clone()],
        Some(Json::Array(kinds)) => {
            kinds.iter().filter_map(|kind| kind.as_str().map(str::to_owned)).collect()
        }
        _ if map.contains_key("properties") => vec!["object".to_owned()],
        _ => vec![],
    }
}

/// Gemini rejects unknown formats, and an `enum` of anything except strings.
fn convert_format_and_enum(
    map: &Map<String, Json>,
    kind: Option<&str>,
    out: &mut Map<String, Json>,
) {
    let known: &[&str] = match kind {
        Some("string") => &["date-time"],
        Some("integer") => &["int32", "int64"],
        Some("number") => &["float", "double"],
        _ => &[],
    };
    if let Some(format) = map.get("format").and_then(Json::as_str).filter(|it| known.contains(it)) {
        out.insert("format".to_owned(), json!(format));
    }
    let names = match (map.get("enum"), map.get("const")) {
        (Some(Json::Array(names)), _) => names.clone(),
        (_, Some(name)) => vec![name.clone()],
        _ => return,
    };
    let names: Vec<Json> = names.into_iter().filter(Json::is_string).collect();
    if !names.is_empty() {
        out.insert("type".to_owned(), json!("string"));
        out.insert("enum".to_owned(), names.into());
    }
}

/// Converts `oneOf` to `anyOf`, and a null alternative to `nullable`.
fn merge_alternatives(map: &Map<String, Json>, out: &mut Map<String, Json>) {
    let lists = ["anyOf", "oneOf"].into_iter().filter_map(|key| map.get(key)?.as_array());
    let (nulls, mut others): (Vec<_>, Vec<_>) =
        lists.flatten().partition(|schema| schema["type"] == "null");
    if !nulls.is_empty() {
        out.insert("nullable".to_owned(), json!(true));
    }
    if others.len() == 1
        && let Json::Object(only) = openapi_subset(others.remove(0))
    {
        for (key, value) in only {
            out.entry(key).or_insert(value);
        }
    } else if !others.is_empty() {
        out.insert("anyOf".to_owned(), others.into_iter().map(openapi_subset).collect());
    }
}

fn convert_properties(map: &Map<String, Json>, out: &mut Map<String, Json>) {
    let Some(properties) = map.get("properties").and_then(Json::as_object) else {
        return;
    };
    let own = properties.iter().map(|(name, schema)| (name.clone(), openapi_subset(schema)));
    out.insert("properties".to_owned(), Json::Object(own.collect()));
    if let Some(required) = map.get("required").and_then(Json::as_array) {
        let is_there = |name: &&Json| name.as_str().is_some_and(|it| properties.contains_key(it));
        out.insert("required".to_owned(), required.iter().filter(is_there).cloned().collect());
    }
}

/// Inlines all references of a schema.
fn inline_references(schema: &Json, outer: &Map<String, Json>, depth: usize) -> Json {
    let Some(map) = schema.as_object() else {
        return match schema {
            Json::Array(list) => {
                list.iter().map(|it| inline_references(it, outer, depth)).collect()
            }
            other => other.clone(),
        };
    };
    let own = ["$defs", "definitions"].into_iter().find_map(|key| map.get(key)?.as_object());
    let defs = own.unwrap_or(outer);
    let named = map.get("$ref").and_then(Json::as_str);
    let named = named.and_then(|name| defs.get(name.rsplit('/').next()?));
    let mut out = Map::new();
    if let Some(named) = named {
        if depth >= MAX_REF_DEPTH {
            return json!({});
        }
        if let Json::Object(named) = inline_references(named, defs, depth + 1) {
            out = named;
        }
    }
    for (key, value) in map {
        let value = match key.as_str() {
            "$ref" | "$defs" | "definitions" | "$schema" => continue,
            "enum" | "const" | "default" | "required" | "examples" => value.clone(),
            // These keys are property names, not schema keywords.
            "properties" => match value {
                Json::Object(properties) => properties
                    .iter()
                    .map(|(name, schema)| (name.clone(), inline_references(schema, defs, depth)))
                    .collect(),
                other => other.clone(),
            },
            _ => inline_references(value, defs, depth),
        };
        out.insert(key.clone(), value);
    }
    Json::Object(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(schema: Json, expected: Json) {
        assert_eq!(gemini_schema(&schema), expected, "{schema}");
    }

    #[test]
    fn gemini_schema_is_reduced_to_its_subset() {
        check(
            json!({
                "$schema": "x",
                "type": "object",
                "additionalProperties": false,
                "required": ["a", "gone"],
                "properties": {
                    "a": { "type": ["string", "null"], "format": "uri", "pattern": "^g" },
                    "b": { "oneOf": [{ "const": "x" }, { "const": "y" }] },
                    "c": { "anyOf": [{ "type": "integer", "format": "uint32" }, { "type": "null" }] },
                    "d": { "type": "array" },
                    "e": { "$ref": "#/$defs/E", "description": "an e" },
                    "format": { "type": ["integer", "string"] },
                    "free": { "type": "object", "additionalProperties": true },
                },
                "$defs": { "E": { "type": "object", "properties": { "n": { "enum": ["p"] } } } },
            }),
            json!({
                "type": "object",
                "required": ["a"],
                "properties": {
                    "a": { "type": "string", "nullable": true, "pattern": "^g" },
                    "b": { "anyOf": [
                        { "type": "string", "enum": ["x"] },
                        { "type": "string", "enum": ["y"] },
                    ] },
                    "c": { "type": "integer", "nullable": true },
                    "d": { "type": "array", "items": {} },
                    "e": {
                        "type": "object",
                        "description": "an e",
                        "properties": { "n": { "type": "string", "enum": ["p"] } },
                    },
                    "format": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
                    "free": { "type": "object" },
                },
            }),
        );
        check(json!(null), json!({ "type": "object", "properties": {} }));
    }

    #[test]
    fn recursive_schema_is_expanded_finitely() {
        let schema = json!({
            "type": "object",
            "properties": { "a": { "$ref": "#/$defs/A" } },
            "$defs": { "A": { "type": "array", "items": { "$ref": "#/$defs/A" } } },
        });
        let text = gemini_schema(&schema).to_string();
        assert!(text.len() < 1_000 && !text.contains("$ref"), "{text}");
    }

    #[test]
    fn only_closed_schemas_are_strict() {
        let closed = |properties: Json, required: Json| {
            json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            })
        };
        let text = || json!({ "type": "string" });
        assert!(strict_schema(&closed(json!({ "a": text() }), json!(["a"]))).is_some());
        assert!(strict_schema(&closed(json!({}), json!([]))).is_some());
        assert!(
            strict_schema(&closed(json!({ "a": text(), "b": text() }), json!(["a"]))).is_none()
        );
        for free in
            [json!({ "type": "object", "additionalProperties": true }), json!({ "type": "object" })]
        {
            assert!(strict_schema(&closed(json!({ "a": free }), json!(["a"]))).is_none());
        }
        let inner = |own: Json| json!({ "type": "array", "items": own });
        let unsaid = json!({ "type": "object", "properties": { "a": text() }, "required": ["a"] });
        let outer = json!({ "properties": { "b": inner(unsaid) }, "required": ["b"] });
        let said = inner(closed(json!({ "a": text() }), json!(["a"])));
        assert_eq!(strict_schema(&outer), Some(closed(json!({ "b": said }), json!(["b"]))));
    }

    #[test]
    fn minimal_schema_has_three_top_level_keywords() {
        let schema = json!({ "title": "T", "required": [], "additionalProperties": false });
        let expected = json!({ "type": "object", "properties": {}, "required": [] });
        assert_eq!(minimal_schema(&schema), expected);
    }
}
