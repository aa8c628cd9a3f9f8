//! Editing of a single value in a JSON file of another program: inserts, changes or removes it, and
//! keeps every other byte.
//!
//! The file may contain comments and trailing commas. A text is never serialized again: the parser
//! returns ranges, and a change is spliced into the text with its own indentation and line endings.
//! For the same reason `jsonc_parser::cst` is not used: it breaks an object that is on one line,
//! and trims blank lines.

use jsonc_parser::ast::{Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use serde_json::{Map, Value as Json};
use vector_rojo_project::jsonc;

/// The indentation for a text that does not show one.
const INDENT: &str = "  ";

/// Parses a text. None if it has no value.
///
/// # Errors
/// What is wrong with the text, as the end of a sentence.
pub(super) fn parse_value(text: &str) -> Result<Option<Json>, String> {
    Ok(jsonc::parse_with_ranges(text)?.map(Json::from))
}

/// Sets the value at a path of keys, and creates missing objects.
///
/// # Errors
/// Fails if the text is not JSON, or a value on the path is not an object.
pub(super) fn set_path(text: &str, path: &[&str], value: &Json) -> Result<String, String> {
    let Some(root) = jsonc::parse_with_ranges(text)? else {
        return Ok(append_root(text, &wrap_value(path, value)));
    };
    let style = JsonStyle::detect(text, &root);
    let Value::Object(mut object) = root else {
        return Err("it is not an object".to_owned());
    };
    for (depth, key) in path.iter().enumerate() {
        let rest = &path[depth + 1..];
        let Some(at) = find_property(&object, key) else {
            return Ok(insert_property(text, &style, &object, key, &wrap_value(rest, value)));
        };
        let found = object.properties.swap_remove(at);
        if rest.is_empty() {
            return Ok(replace_value(text, &style, &found, value));
        }
        object = inner_object(found, key)?;
    }
    Ok(text.to_owned())
}

/// Removes the value at a path of keys, if there is one.
///
/// # Errors
/// As for [`set_path`].
pub(super) fn remove_path(text: &str, path: &[&str]) -> Result<String, String> {
    let Some(Value::Object(mut object)) = jsonc::parse_with_ranges(text)? else {
        return Ok(text.to_owned());
    };
    for (depth, key) in path.iter().enumerate() {
        let Some(at) = find_property(&object, key) else {
            break;
        };
        if depth + 1 == path.len() {
            return Ok(cut_property(text, &object, at));
        }
        object = inner_object(object.properties.swap_remove(at), key)?;
    }
    Ok(text.to_owned())
}

/// Finds the property with a key. Among duplicates the last one counts, as for readers of JSON.
fn find_property(object: &Object<'_>, key: &str) -> Option<usize> {
    object.properties.iter().rposition(|property| property.name.as_str() == key)
}

fn inner_object<'a>(property: ObjectProp<'a>, key: &str) -> Result<Object<'a>, String> {
    match property.value {
        Value::Object(object) => Ok(object),
        _ => Err(format!("its `{key}` is not an object")),
    }
}

/// Wraps a value in one object per key.
fn wrap_value(path: &[&str], value: &Json) -> Json {
    path.iter().rev().fold(value.clone(), |value, key| serde_json::json!({ *key: value }))
}

/// The formatting of a text.
struct JsonStyle<'a> {
    newline: &'static str,
    indent: &'a str,
    /// Whether the whole text is on one line.
    is_flat: bool,
}

impl<'a> JsonStyle<'a> {
    fn detect(text: &'a str, root: &Value<'_>) -> Self {
        let first = root.as_object().and_then(|object| object.properties.first());
        let indent = first.and_then(|first| own_line(text, first.range.start));
        let indent = indent.filter(|indent| !indent.is_empty()).unwrap_or(INDENT);
        Self { newline: line_ending(text), indent, is_flat: !text.trim().contains('\n') }
    }

    /// Formats a value over several lines. The first line is already indented.
    fn format_value(&self, value: &Json, indent: &str) -> String {
        let below = format!("{indent}{}", self.indent);
        let lines = |open: char, close: char, items: Vec<String>| {
            let between = format!(",{}{below}", self.newline);
            let items = items.join(&between);
            let newline = self.newline;
            format!("{open}{newline}{below}{items}{newline}{indent}{close}")
        };
        match value {
            Json::Object(fields) if !fields.is_empty() => {
                let field = |(key, value): (&String, &Json)| {
                    format!("{}: {}", Json::from(key.as_str()), self.format_value(value, &below))
                };
                lines('{', '}', order_fields(fields).into_iter().map(field).collect())
            }
            Json::Array(items) if !items.is_empty() => {
                lines('[', ']', items.iter().map(|item| self.format_value(item, &below)).collect())
            }
            other => other.to_string(),
        }
    }
}

/// Formats a value on one line, with or without spaces.
fn format_inline(value: &Json, is_tight: bool) -> String {
    let (colon, comma) = if is_tight { (":", ",") } else { (": ", ", ") };
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            let field = |(key, value): (&String, &Json)| {
                format!("{}{colon}{}", Json::from(key.as_str()), format_inline(value, is_tight))
            };
            let fields: Vec<String> = order_fields(fields).into_iter().map(field).collect();
            let space = if is_tight { "" } else { " " };
            format!("{{{space}{}{space}}}", fields.join(comma))
        }
        Json::Array(items) => {
            let items: Vec<String> =
                items.iter().map(|item| format_inline(item, is_tight)).collect();
            format!("[{}]", items.join(comma))
        }
        other => other.to_string(),
    }
}

/// The fields of an entry in the conventional order.
pub(super) fn order_fields(fields: &Map<String, Json>) -> Vec<(&String, &Json)> {
    let first = ["type", "command", "args"];
    let mut fields: Vec<_> = fields.iter().collect();
    fields.sort_by_key(|(key, _)| first.iter().position(|it| it == key).unwrap_or(first.len()));
    fields
}

/// The line ending of a text.
pub(super) fn line_ending(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// The text before a position in its line, if that is only white space.
fn own_line(text: &str, at: usize) -> Option<&str> {
    let line = text[..at].rfind('\n').map_or(0, |end| end + 1);
    Some(&text[line..at]).filter(|before| before.trim().is_empty())
}

/// The indentation of the line at a position.
fn indent_of(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |end| end + 1)..at];
    &line[..line.len() - line.trim_start().len()]
}

/// Appends the first value to a text that has none. The text may contain comments.
fn append_root(text: &str, value: &Json) -> String {
    let style = JsonStyle { newline: line_ending(text), indent: INDENT, is_flat: false };
    let mut new = text.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        new.push_str(style.newline);
    }
    new.push_str(&style.format_value(value, ""));
    new.push_str(style.newline);
    new
}

fn replace_value(
    text: &str,
    style: &JsonStyle<'_>,
    property: &ObjectProp<'_>,
    value: &Json,
) -> String {
    let range = property.value.range();
    let was_flat = !text[range.start..range.end].contains('\n');
    let is_shallow = !value.is_object();
    let written = if was_flat && (is_shallow || style.is_flat) {
        format_inline(value, is_tight(text, property))
    } else {
        style.format_value(value, indent_of(text, property.range.start))
    };
    format!("{}{written}{}", &text[..range.start], &text[range.end..])
}

fn is_tight(text: &str, property: &ObjectProp<'_>) -> bool {
    &text[property.name.range().end..property.value.range().start] == ":"
}

/// Inserts a property after the others of an object.
fn insert_property(
    text: &str,
    style: &JsonStyle<'_>,
    object: &Object<'_>,
    key: &str,
    value: &Json,
) -> String {
    let (open, close) = (object.range.start + 1, object.range.end - 1);
    let key = Json::from(key);
    let Some((first, last)) = object.properties.first().zip(object.properties.last()) else {
        // Comments between the braces are kept. Everything else there is white space.
        let kept = text[open..close].trim_end();
        let in_line = style.is_flat && kept.is_empty() && text.trim() != &text[open - 1..=close];
        if in_line {
            let is_tight = text[..open].ends_with(":{");
            let field = format_inline(
                &serde_json::json!({ key.as_str().unwrap_or_default(): value }),
                is_tight,
            );
            return format!("{}{field}{}", &text[..open - 1], &text[close + 1..]);
        }
        let newline = style.newline;
        let indent = indent_of(text, object.range.start);
        let below = format!("{indent}{}", style.indent);
        let value = style.format_value(value, &below);
        let field = format!("{kept}{newline}{below}{key}: {value}{newline}{indent}");
        return format!("{}{field}{}", &text[..open], &text[close..]);
    };
    let insertion = InsertPosition::find(text, last.range.end, close);
    let (comma, trailing) = if insertion.has_comma { ("", ",") } else { (",", "") };
    let is_flat = !text[open..first.range.start].contains('\n')
        && !text[last.range.end..close].contains('\n');
    let field = if is_flat && is_tight(text, last) {
        format!("{key}:{}", format_inline(value, true))
    } else if is_flat {
        format!(" {key}: {}", format_inline(value, false))
    } else {
        let below = own_line(text, last.range.start).map_or_else(
            || format!("{}{}", indent_of(text, object.range.start), style.indent),
            str::to_owned,
        );
        format!("{}{below}{key}: {}", style.newline, style.format_value(value, &below))
    };
    let (last, at) = (last.range.end, insertion.at);
    format!("{}{comma}{}{field}{trailing}{}", &text[..last], &text[last..at], &text[at..])
}

/// The position for the next property: after a comma and comments on the same line.
struct InsertPosition {
    has_comma: bool,
    at: usize,
}

impl InsertPosition {
    fn find(text: &str, end: usize, close: usize) -> Self {
        let comma = next_significant(text, end).filter(|at| text.as_bytes()[*at] == b',');
        let mut at = comma.map_or(end, |comma| comma + 1);
        loop {
            let rest = &text[at..close];
            let trimmed = rest.trim_start_matches([' ', '\t']);
            let start = at + rest.len() - trimmed.len();
            let comment = match leading_comment(trimmed) {
                Some(comment) if !comment.contains('\n') => comment,
                _ => return Self { has_comma: comma.is_some(), at },
            };
            at = start + comment.len();
        }
    }
}

/// The comment at the beginning of a text.
fn leading_comment(text: &str) -> Option<&str> {
    if text.starts_with("//") {
        let line = text.split('\n').next()?;
        return Some(line.strip_suffix('\r').unwrap_or(line));
    }
    text.strip_prefix("/*")?.find("*/").map(|end| &text[..end + 4])
}

/// The position of the next byte that is neither white space nor part of a comment.
fn next_significant(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let rest = &text[at..];
        let trimmed = rest.trim_start();
        at += rest.len() - trimmed.len();
        match leading_comment(trimmed) {
            Some(comment) => at += comment.len(),
            None => return Some(at).filter(|at| *at < text.len()),
        }
    }
}

/// Removes a property, with its comma and the lines that it had to itself.
fn cut_property(text: &str, object: &Object<'_>, at: usize) -> String {
    let range = object.properties[at].range;
    let comma = next_significant(text, range.end).filter(|at| text.as_bytes()[*at] == b',');
    if let Some(comma) = comma {
        let (mut start, mut end) = (range.start, comma + 1);
        if let Some(before) = own_line(text, start) {
            let line = text[end..].split_inclusive('\n').next().unwrap_or_default();
            if line.trim().is_empty() {
                start -= before.len();
                end += line.len();
            }
        }
        let rest = text[end..].trim_start_matches([' ', '\t']);
        let rest =
            if own_line(text, start).is_some_and(str::is_empty) { &text[end..] } else { rest };
        return format!("{}{rest}", &text[..start]);
    }
    let (open, close) = (object.range.start + 1, object.range.end - 1);
    if at == 0 {
        let (before, after) = (text[open..range.start].trim_end(), &text[range.end..close]);
        let after = if before.is_empty() && after.trim().is_empty() { "" } else { after };
        return format!("{}{before}{after}{}", &text[..open], &text[close..]);
    }
    let end = object.properties[at - 1].range.end;
    let comma = next_significant(text, end).unwrap_or(end);
    let kept = text[comma + 1..range.start].trim_end();
    format!("{}{kept}{}", &text[..comma], &text[range.end..])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const PATH: [&str; 2] = ["servers", "v"];

    #[track_caller]
    fn check(before: &str, after: &str) {
        let put = set_path(before, &PATH, &json!({ "a": [1] })).unwrap();
        assert_eq!(put, after);
        let mut expected = parse_value(before).unwrap().unwrap_or_else(|| json!({}));
        expected["servers"]["v"] = json!({ "a": [1] });
        assert_eq!(parse_value(&put).unwrap(), Some(expected));
    }

    #[test]
    fn empty_text_gets_a_new_object() {
        let new = "{\n  \"servers\": {\n    \"v\": {\n      \"a\": [\n        1\n      ]\n    }\n  }\n}\n";
        check("", new);
        check("{}", new.trim_end());
        check("{}\n", new);
        check("{ }\n", new);
        check("// mine", &format!("// mine\n{new}"));
        check("\r\n", &format!("\r\n{}", new.replace('\n', "\r\n")));
    }

    #[test]
    fn new_property_is_appended_with_matching_indent() {
        let entry = |indent: &str, unit: &str| {
            let (one, two) = (format!("{indent}{unit}"), format!("{indent}{unit}{unit}"));
            format!("\"v\": {{\n{one}\"a\": [\n{two}1\n{one}]\n{indent}}}")
        };
        let four = entry("        ", "    ");
        check(
            "{\n    \"servers\": {\n        \"x\": 1 // one\n    }\n}\n",
            &format!(
                "{{\n    \"servers\": {{\n        \"x\": 1, // one\n        {four}\n    }}\n}}\n"
            ),
        );
        check(
            "{\n    \"servers\": {\n        \"x\": 1, /* one */ // and\n\n        // last\n    },\n}\n",
            &format!(
                "{{\n    \"servers\": {{\n        \"x\": 1, /* one */ // and\n        {four},\n\n        \
                 // last\n    }},\n}}\n"
            ),
        );
        let tab = entry("\t\t", "\t").replace('\n', "\r\n");
        check(
            "{\r\n\t\"x\": 1,\r\n\t\"servers\": {}\r\n}",
            &format!("{{\r\n\t\"x\": 1,\r\n\t\"servers\": {{\r\n\t\t{tab}\r\n\t}}\r\n}}"),
        );
        check(
            "{\n  \"servers\": {\n    // none\n  }\n}",
            &format!("{{\n  \"servers\": {{\n    // none\n    {}\n  }}\n}}", entry("    ", "  ")),
        );
    }

    #[test]
    fn single_line_object_stays_on_one_line() {
        check("{\"x\":1}", "{\"x\":1,\"servers\":{\"v\":{\"a\":[1]}}}");
        check("{\"servers\":{}}\n", "{\"servers\":{\"v\":{\"a\":[1]}}}\n");
        check("{ \"x\": 1 }", "{ \"x\": 1, \"servers\": { \"v\": { \"a\": [1] } } }");
        check(
            "{ \"servers\": { \"x\": 1 /* one */ } }",
            "{ \"servers\": { \"x\": 1, /* one */ \"v\": { \"a\": [1] } } }",
        );
    }

    #[test]
    fn value_is_replaced_in_place() {
        let text = "{\n  \"servers\": {\"v\": 1, \"v\": {\"a\": 2, \"b\": 3}} // x\n}";
        let put = set_path(text, &["servers", "v", "a"], &json!("\u{e9}\"")).unwrap();
        assert_eq!(put, text.replace('2', "\"\u{e9}\\\"\""));
    }

    #[test]
    fn non_objects_and_invalid_json_are_refused() {
        let refused = |text: &str| set_path(text, &PATH, &json!(1)).unwrap_err();
        assert_eq!(refused("[]"), "it is not an object");
        assert_eq!(refused("{\"servers\": null}"), "its `servers` is not an object");
        assert!(refused("{\"servers\": {}").contains("it is not JSON"));
        assert!(refused(&"[".repeat(1_000)).contains("128"));
    }

    #[track_caller]
    fn check_removed(before: &str, after: &str) {
        assert_eq!(remove_path(before, &["v"]).unwrap(), after);
    }

    #[test]
    fn property_is_removed_with_its_comma() {
        check_removed("{\n  \"v\": 1\n}\n", "{}\n");
        check_removed("{\n  \"v\": 1,\n  \"x\": 2\n}", "{\n  \"x\": 2\n}");
        check_removed("{\n  \"x\": 2, // two\n  \"v\": 1\n}", "{\n  \"x\": 2 // two\n}");
        check_removed("{\n  \"x\": 2,\n  \"v\": 1,\n}", "{\n  \"x\": 2,\n}");
        check_removed("{\"x\":2,\"v\":1}", "{\"x\":2}");
        check_removed("{\"v\":1,\"x\":2}", "{\"x\":2}");
        check_removed("{ \"x\": 2, \"v\": 1, \"y\": 3 }", "{ \"x\": 2, \"y\": 3 }");
        check_removed("{ // mine\n  \"v\": 1\n}", "{ // mine\n}");
        check_removed("{\"x\": 1}", "{\"x\": 1}");
        check_removed("// nothing", "// nothing");
    }

    #[test]
    fn removing_an_added_property_restores_the_text() {
        for text in ["{\n  \"x\": 1 // one\n}\n", "{\"x\":1}", "{\n\t\"x\": [\r\n1,],\n}"] {
            let put = set_path(text, &["v"], &json!({ "a": "b" })).unwrap();
            assert_eq!(remove_path(&put, &["v"]).unwrap(), text);
        }
    }
}
