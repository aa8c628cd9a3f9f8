//! Editing of a single table `[OUTER.NAME]` in a TOML file of another program. Every other byte is
//! kept.
//!
//! A text is never serialized again: the parser returns ranges. `toml_edit::DocumentMut` would
//! change the line ends, and group the dotted keys of a table. Inline tables and dotted keys are
//! read, but the user has to change them.

use std::ops::Range;

use serde_json::Value as Json;
use toml_edit::{ImDocument, Item, Table, TableLike};

use super::file_format::order_fields;

/// Parses a text.
///
/// # Errors
/// What is wrong with the text, as the end of a sentence.
pub(super) fn parse_value(text: &str) -> Result<Json, String> {
    toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
        format!("it is not TOML: line {line}: {}", error.message())
    })
}

fn parse_document(text: &str) -> Result<ImDocument<&str>, String> {
    parse_value(text)?;
    ImDocument::parse(text).map_err(|error| format!("it is not TOML: {}", error.message()))
}

/// Adds a table at the end.
///
/// # Errors
/// Fails if the text is not TOML, or the outer table is written in a form that cannot be extended.
pub(super) fn add_table(
    text: &str,
    outer: &str,
    name: &str,
    entry: &Json,
) -> Result<String, String> {
    let document = parse_document(text)?;
    if document.get(outer).is_some_and(|item| !item.is_table()) {
        return Err(format!("its `{outer}` is not written as tables of the form `[{outer}.NAME]`"));
    }
    let newline = line_ending(text);
    let mut new = text.to_owned();
    if !new.is_empty() && !new.ends_with('\n') {
        new.push_str(newline);
    }
    if !new.trim().is_empty() {
        new.push_str(newline);
    }
    new.push_str(&format!("[{outer}.{name}]{newline}"));
    for (field, value) in entry.as_object().map(order_fields).into_iter().flatten() {
        new.push_str(&format!("{} = {}{newline}", format_key(field), format_value(value)?));
    }
    Ok(new)
}

/// Formats a key, quoted if necessary.
fn format_key(text: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !text.is_empty() && text.chars().all(is_bare) {
        return text.to_owned();
    }
    Json::from(text).to_string()
}

/// Formats a value on one line.
fn format_value(value: &Json) -> Result<String, String> {
    let value = toml::Value::try_from(value);
    Ok(value.map_err(|error| format!("it cannot contain {error}"))?.to_string())
}

/// Sets one field of an existing table.
///
/// # Errors
/// Fails if the text is not TOML, or the table is written in a form that is not supported.
pub(super) fn set_field(
    text: &str,
    outer: &str,
    name: &str,
    field: &str,
    value: &Json,
) -> Result<String, String> {
    let document = parse_document(text)?;
    let table = find_table(&document, outer, name).ok_or_else(|| unsupported_form(outer, name))?;
    let value = format_value(value)?;
    if let Some(range) = table.get(field).and_then(Item::span) {
        return Ok(format!("{}{value}{}", &text[..range.start], &text[range.end..]));
    }
    let header = table.span().ok_or_else(|| unsupported_form(outer, name))?;
    let end = whole_lines(text, header.start..header.start).end;
    let newline = line_ending(text);
    let (above, below) = text.split_at(end);
    let between = if above.ends_with('\n') { "" } else { newline };
    Ok(format!("{above}{between}{} = {value}{newline}{below}", format_key(field)))
}

/// Removes a table and the tables in it, if it exists.
///
/// # Errors
/// As for [`set_field`].
pub(super) fn remove_table(text: &str, outer: &str, name: &str) -> Result<String, String> {
    let document = parse_document(text)?;
    let there = document.get(outer).and_then(Item::as_table_like);
    if there.is_none_or(|outer| !outer.contains_key(name)) {
        return Ok(text.to_owned());
    }
    let table = find_table(&document, outer, name).ok_or_else(|| unsupported_form(outer, name))?;
    let mut ranges = Vec::new();
    collect_spans(table, &mut ranges).ok_or_else(|| unsupported_form(outer, name))?;
    ranges.sort_by_key(|range| range.start);
    let mut new = text.to_owned();
    for range in ranges.into_iter().rev() {
        let range = whole_lines(text, range);
        let (above, below) = (&new[..range.start], &new[range.end..]);
        let is_apart = below.is_empty() || below.starts_with('\n') || below.starts_with("\r\n");
        let above = match above.strip_suffix('\n').map(|it| it.strip_suffix('\r').unwrap_or(it)) {
            Some(shorter) if is_apart && shorter.ends_with('\n') => shorter,
            _ => above,
        };
        new = format!("{above}{below}");
    }
    Ok(new)
}

/// Finds a table with its own header.
fn find_table<'a>(document: &'a ImDocument<&str>, outer: &str, name: &str) -> Option<&'a Table> {
    let table = document.get(outer)?.as_table()?.get(name)?.as_table()?;
    (!table.is_dotted() && !table.is_implicit()).then_some(table)
}

/// Collects the ranges of a table and the tables in it. None if one is written in another form.
fn collect_spans(table: &Table, ranges: &mut Vec<Range<usize>>) -> Option<()> {
    if !table.is_implicit() {
        ranges.push(table.span()?);
    }
    for (_, item) in TableLike::iter(table) {
        match item {
            Item::Table(inner) if inner.is_dotted() => {}
            Item::Table(inner) => collect_spans(inner, ranges)?,
            Item::ArrayOfTables(_) => return None,
            Item::Value(_) | Item::None => {}
        }
    }
    Some(())
}

fn unsupported_form(outer: &str, name: &str) -> String {
    format!("its `{name}` is not written as a table `[{outer}.{name}]`")
}

fn line_ending(text: &str) -> &'static str {
    match text.find('\n') {
        Some(at) if text[..at].ends_with('\r') => "\r\n",
        _ => "\n",
    }
}

/// Extends a range to whole lines, including the last line ending.
fn whole_lines(text: &str, range: Range<usize>) -> Range<usize> {
    let start = text[..range.start].rfind('\n').map_or(0, |end| end + 1);
    let end = text[range.end..].find('\n').map_or(text.len(), |end| range.end + end + 1);
    start..end
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry() -> Json {
        json!({ "command": "/bin/v", "args": ["mcp"] })
    }

    const TABLE: &str = "[outer.v]\ncommand = \"/bin/v\"\nargs = [\"mcp\"]\n";

    #[track_caller]
    fn check(before: &str, after: &str) {
        let put = add_table(before, "outer", "v", &entry()).unwrap();
        assert_eq!(put, after);
        let mut expected = parse_value(before).unwrap();
        expected["outer"]["v"] = entry();
        assert_eq!(parse_value(&put).unwrap(), expected);
    }

    #[test]
    fn table_is_appended_at_the_end() {
        check("", TABLE);
        check("\n", &format!("\n{TABLE}"));
        check("x = 1 # one", &format!("x = 1 # one\n\n{TABLE}"));
        check(
            "[outer.w]\r\nx = 1\r\n",
            &format!("[outer.w]\r\nx = 1\r\n\r\n{}", TABLE.replace('\n', "\r\n")),
        );
        check("[outer]\nw.x = 1\n[other]\n", &format!("[outer]\nw.x = 1\n[other]\n\n{TABLE}"));
        check("outer.w.x = 1\n", &format!("outer.w.x = 1\n\n{TABLE}"));
    }

    #[test]
    fn entries_not_written_as_tables_are_refused() {
        let refused = |text: &str| add_table(text, "outer", "v", &entry()).unwrap_err();
        assert!(refused("outer = {}").contains("not written as tables"));
        assert!(refused("[[outer]]").contains("not written as tables"));
        assert!(refused("a = 1\nb = [").contains("line 2"), "{}", refused("a = 1\nb = ["));
        for text in ["[outer]\nv = { a = 1 }", "[outer]\nv.a = 1", "[[outer.v]]\na = 1"] {
            let error = remove_table(text, "outer", "v").unwrap_err();
            assert!(error.contains("[outer.v]"), "{error}");
            assert!(set_field(text, "outer", "v", "a", &json!(2)).is_err());
        }
    }

    #[test]
    fn field_is_changed_in_place() {
        let text = "[outer.v] # mine\ncommand = 'old' # old\n\n[outer.v.env]\nA = '1'\n";
        let put = set_field(text, "outer", "v", "command", &json!("a\\b\"")).unwrap();
        assert_eq!(put, text.replace("'old'", "'a\\b\"'"));
        let put = set_field(text, "outer", "v", "args", &json!(["mcp"])).unwrap();
        assert_eq!(put, text.replace("mine\n", "mine\nargs = [\"mcp\"]\n"));
    }

    #[test]
    fn table_is_removed_with_its_subtables() {
        let removed = |text: &str| remove_table(text, "outer", "v").unwrap();
        assert_eq!(removed(TABLE), "");
        assert_eq!(removed(&format!("x = 1\n\n{TABLE}")), "x = 1\n");
        assert_eq!(removed(&format!("x = 1\r\n\r\n{}", TABLE.replace('\n', "\r\n"))), "x = 1\r\n");
        let env = format!("{TABLE}\n[outer.v.env]\nA = '''\n[x]\n''' # a\n\n# other\n[outer.w]\n");
        assert_eq!(removed(&env), "\n# other\n[outer.w]\n");
        assert_eq!(removed("x = 1 # one"), "x = 1 # one");
    }

    #[test]
    fn bytes_of_others_are_kept() {
        for (text, is_kept_by_library) in [
            ("# a\n\n[t] # t\n  x = [ # c\n 1,\n]\n\n\n# end\n", true),
            ("i = {  a=1 , b = 2 }\n'q' = 1\n[ \"a b\" . c ]\n", true),
            ("[[t]]\na = 1\n[o]\n[[t]]\nb = 1\n", true),
            ("s = \"\"\"\n[outer.v]\n\"\"\"\n", true),
            ("x = 1\r\n", false),
            ("x = 1\r\ny = 2\n", false),
            ("[t]\r\nx = [ # c\r\n 1,\r\n]\r\n", false),
            ("x = 1 # one", false),
            ("a.b = 1\nx = 2\na.c = 3\n", false),
        ] {
            let put = add_table(text, "outer", "v", &entry()).unwrap();
            assert!(put.starts_with(text), "{put:?}");
            let changed = set_field(&put, "outer", "v", "command", &json!("/opt/v")).unwrap();
            assert_eq!(changed, put.replace("/bin/v", "/opt/v"));
            let left = remove_table(&changed, "outer", "v").unwrap();
            let end = if text.ends_with('\n') { "" } else { "\n" };
            assert_eq!(left, format!("{text}{end}"));
            let document: toml_edit::DocumentMut = text.parse().unwrap();
            assert_eq!(document.to_string() == text, is_kept_by_library, "{text:?}");
        }
    }
}
