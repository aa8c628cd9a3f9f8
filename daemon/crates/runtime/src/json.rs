//! JSON as `HttpService` and the plugin's settings read and write it, with Studio's quirks.
//!
//! `{}` becomes `[]`, null becomes nil, infinite and undefined numbers are written as they are.

use std::fmt::Write;

use mlua::{IntoLua, Lua, Result, Table, Value};
use serde_json::Value as Json;

/// The nesting depth at which a table is considered cyclic.
const DEEPEST: usize = 120;

/// Encodes a value; the error is a message for Luau.
pub(crate) fn encode(value: &Value) -> std::result::Result<String, String> {
    let mut text = String::new();
    write(&mut text, value, 0)?;
    Ok(text)
}

fn write(text: &mut String, value: &Value, depth: usize) -> std::result::Result<(), String> {
    match value {
        Value::Nil => text.push_str("null"),
        Value::Boolean(it) => text.push_str(if *it { "true" } else { "false" }),
        Value::Integer(it) => text.push_str(&it.to_string()),
        Value::Number(it) => text.push_str(&number(*it)),
        Value::String(it) => match it.to_str() {
            Ok(it) => text.push_str(&Json::from(&*it).to_string()),
            Err(_) => return Err("Can't convert to JSON: a string is not UTF-8".to_owned()),
        },
        Value::Table(_) if depth > DEEPEST => {
            return Err("tables cannot be cyclic".to_owned());
        }
        Value::Table(it) => return table(text, it, depth),
        other => return Err(format!("Can't convert to JSON: {}", other.type_name())),
    }
    Ok(())
}

fn number(it: f64) -> String {
    if it.is_nan() {
        "nan".to_owned()
    } else if it.is_infinite() {
        if it > 0.0 { "inf" } else { "-inf" }.to_owned()
    } else if it == it.trunc() && it.abs() < 1e15 {
        format!("{it:.0}")
    } else {
        Json::from(it).to_string()
    }
}

fn table(text: &mut String, it: &Table, depth: usize) -> std::result::Result<(), String> {
    let length = it.raw_len();
    if length > 0 {
        text.push('[');
        for at in 1..=length {
            if at > 1 {
                text.push(',');
            }
            let value = it.raw_get::<Value>(at).map_err(|error| error.to_string())?;
            write(text, &value, depth + 1)?;
        }
        text.push(']');
        return Ok(());
    }
    let mut pairs = vec![];
    for pair in it.pairs::<Value, Value>() {
        let (key, value) = pair.map_err(|error| error.to_string())?;
        let key = match key {
            Value::String(key) => key.to_string_lossy(),
            Value::Integer(key) => key.to_string(),
            Value::Number(key) => number(key),
            other => return Err(format!("Can't convert to JSON: a key is {}", other.type_name())),
        };
        pairs.push((key, value));
    }
    if pairs.is_empty() {
        text.push_str("[]");
        return Ok(());
    }
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    for (at, (key, value)) in pairs.iter().enumerate() {
        let before = if at == 0 { '{' } else { ',' };
        // Writing to a string cannot fail.
        let _ = write!(text, "{before}{}:", Json::from(key.as_str()));
        write(text, value, depth + 1)?;
    }
    text.push('}');
    Ok(())
}

/// Decodes a text; the error is a message for Luau.
pub(crate) fn decode(lua: &Lua, text: &[u8]) -> std::result::Result<Value, String> {
    let json: Json =
        serde_json::from_slice(text).map_err(|error| format!("Can't parse JSON: {error}"))?;
    to_luau(lua, &json).map_err(|error| error.to_string())
}

/// Converts JSON to tables; null becomes nil.
pub fn to_luau(lua: &Lua, json: &Json) -> Result<Value> {
    match json {
        Json::Null => Ok(Value::Nil),
        Json::Bool(it) => it.into_lua(lua),
        Json::Number(it) => it.as_f64().unwrap_or_default().into_lua(lua),
        Json::String(it) => it.as_str().into_lua(lua),
        Json::Array(items) => {
            let table = lua.create_table_with_capacity(items.len(), 0)?;
            for (at, item) in items.iter().enumerate() {
                table.raw_set(at + 1, to_luau(lua, item)?)?;
            }
            table.into_lua(lua)
        }
        Json::Object(items) => {
            let table = lua.create_table_with_capacity(0, items.len())?;
            for (key, item) in items {
                table.raw_set(key.as_str(), to_luau(lua, item)?)?;
            }
            table.into_lua(lua)
        }
    }
}

/// Maximum number of values in a result.
const MAX_VALUES: usize = 1_000_000;

/// Converts a script's result: tables become arrays or objects, other values their text. A cyclic or
/// very large table is cut.
pub fn from_luau(value: &Value) -> Json {
    convert_result(value, 0, &mut MAX_VALUES.clone())
}

fn convert_result(value: &Value, depth: usize, left: &mut usize) -> Json {
    if depth > DEEPEST || *left == 0 {
        return Json::from("…");
    }
    *left -= 1;
    let mut below = |value: &Value| convert_result(value, depth + 1, left);
    match value {
        Value::Nil => Json::Null,
        Value::Boolean(it) => Json::from(*it),
        Value::Integer(it) => Json::from(*it),
        Value::Number(it) if *it == it.trunc() && it.abs() < 1e15 => Json::from(*it as i64),
        Value::Number(it) => Json::from(*it),
        Value::String(it) => Json::from(it.to_string_lossy()),
        Value::Table(it) if it.raw_len() > 0 => {
            let items = 1..=it.raw_len();
            items.map(|at| below(&it.raw_get::<Value>(at).unwrap_or(Value::Nil))).collect()
        }
        Value::Table(it) => {
            let pairs = it.pairs::<Value, Value>().filter_map(Result::ok);
            let pairs =
                pairs.map(|(key, value)| (key.to_string().unwrap_or_default(), below(&value)));
            Json::Object(pairs.collect())
        }
        other => Json::from(other.to_string().unwrap_or_default()),
    }
}
