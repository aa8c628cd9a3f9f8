//! Schemas without what tells a reader nothing: they are sent with each request, and a client that
//! knows nothing of Vector reads all of them before it does anything.
//!
//! Nothing is checked by what is left out: arguments are read into types, which refuse what they do
//! not know.

use serde_json::{Map, Value as Json, json};

/// Upper limits from here on are met by nobody who means well.
const FAR: u64 = 1_000_000;

/// A schema in few words.
pub(super) fn compact_schema(schema: &mut Map<String, Json>) {
    merge_only_form(schema);
    name_constants(schema);
    if let Some(Json::Object(items)) = schema.get_mut("items") {
        // `paths` stands beside `path` or `root`, whose form is told.
        items.remove("pattern");
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
    }
    each_below(schema, &mut compact_schema);
}

/// Takes the descriptions out that stand below an argument, where its own says all.
pub(super) fn drop_descriptions(schema: &mut schemars::Schema) {
    if let Some(map) = schema.as_object_mut() {
        each_below(map, &mut |below| strip_descriptions(below));
    }
}

fn strip_descriptions(schema: &mut Map<String, Json>) {
    schema.remove("description");
    each_below(schema, &mut strip_descriptions);
}

/// Whether a word of a schema says what is so anyway.
fn is_idle(key: &str, value: &Json) -> bool {
    match key {
        "required" => value.as_array().is_some_and(Vec::is_empty),
        "default" => value.is_null(),
        "minimum" => value.as_u64().is_some_and(|least| least <= 1),
        "maximum" => value.as_u64().is_some_and(|most| most >= FAR),
        // What is free in an object, an example says.
        "format" | "additionalProperties" => true,
        _ => false,
    }
}

/// Forms that are one value each are the names of these values.
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

/// What may be something or null is that something: an argument that is null counts as left out.
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

/// The schemas within a schema.
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
