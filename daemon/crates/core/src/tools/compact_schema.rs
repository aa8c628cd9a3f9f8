//! Compaction of JSON schemas, which are sent with every request and read in full by every client.
//!
//! The removed parts are not needed for validation: arguments are deserialized into types that
//! reject unknown fields.

use serde_json::{Map, Value as Json, json};

/// Upper limits from this value on are omitted, because no sensible call reaches them.
const FAR: u64 = 1_000_000;

/// Compacts a schema in place.
pub(super) fn compact_schema(schema: &mut Map<String, Json>) {
    merge_only_form(schema);
    name_constants(schema);
    if is_position(schema) {
        schema.remove("required");
    }
    schema.retain(|key, value| !is_idle(key, value));
    if let Some(Json::Array(kinds)) = schema.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [kind] = kinds.as_slice() {
            let kind = kind.clone();
            schema.insert("type".to_owned(), kind);
        }
    }
    if let Some(Json::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
        // The values say what they are, but not which one is the default.
        if !schema.get("description").and_then(Json::as_str).is_some_and(|it| it.contains("efault"))
        {
            schema.remove("description");
        }
    }
    if schema.get("maximum") == schema.get("default") {
        schema.remove("maximum");
    }
    each_below(schema, &mut compact_schema);
}

/// Removes the descriptions below each argument, if the argument's own description is sufficient.
pub(super) fn drop_descriptions(schema: &mut schemars::Schema) {
    if let Some(map) = schema.as_object_mut() {
        each_below(map, &mut |below| strip_descriptions(below));
    }
}

fn strip_descriptions(schema: &mut Map<String, Json>) {
    schema.remove("description");
    each_below(schema, &mut strip_descriptions);
}

/// Whether a schema is that of a position in a text, which obviously has both a line and a character.
fn is_position(schema: &Map<String, Json>) -> bool {
    let properties = schema.get("properties").and_then(Json::as_object);
    properties
        .is_some_and(|it| it.len() == 2 && it.contains_key("line") && it.contains_key("character"))
}

/// Whether a keyword carries no information.
fn is_idle(key: &str, value: &Json) -> bool {
    match key {
        "required" => value.as_array().is_some_and(Vec::is_empty),
        "default" => value.is_null(),
        "minimum" => value.as_u64().is_some_and(|least| least <= 1),
        "maximum" => value.as_u64().is_some_and(|most| most >= FAR),
        // An example shows what an object with free keys may contain, and `list_children` how paths are
        // written.
        "format" | "additionalProperties" | "pattern" => true,
        _ => false,
    }
}

/// Merges constants in `oneOf` into one `enum`.
fn name_constants(schema: &mut Map<String, Json>) {
    let Some(Json::Array(forms)) = schema.get("oneOf") else {
        return;
    };
    let names: Option<Vec<Json>> = forms.iter().map(|form| form.get("const").cloned()).collect();
    if let Some(names) = names {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), json!("string"));
        schema.insert("enum".to_owned(), names.into());
    }
}

/// Reduces "a type or null" to the type, because a null argument counts as missing.
fn merge_only_form(schema: &mut Map<String, Json>) {
    let Some(Json::Array(forms)) = schema.get_mut("anyOf") else {
        return;
    };
    forms.retain(|form| form["type"] != "null");
    if let [Json::Object(only)] = forms.as_slice() {
        let only = only.clone();
        schema.remove("anyOf");
        for (key, value) in only {
            schema.entry(key).or_insert(value);
        }
    }
}

/// Visits the direct subschemas of a schema.
fn each_below(schema: &mut Map<String, Json>, visit: &mut dyn FnMut(&mut Map<String, Json>)) {
    for (key, value) in schema {
        let below: Vec<&mut Json> = match (key.as_str(), value) {
            ("properties", Json::Object(properties)) => properties.values_mut().collect(),
            ("anyOf" | "oneOf", Json::Array(forms)) => forms.iter_mut().collect(),
            ("items", items) => vec![items],
            _ => continue,
        };
        below.into_iter().filter_map(Json::as_object_mut).for_each(&mut *visit);
    }
}
