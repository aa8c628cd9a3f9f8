//! Tests of the editor with the files of both users: settings of other programs, and Rojo's.

use proptest::bool;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value as Json, json};

use super::JsonLayout::{Compact, Stringified};
use super::*;

fn edit(text: &str, layout: JsonLayout, change: impl FnOnce(&mut JsonDocument)) -> String {
    let mut document = JsonDocument::parse(text, layout).unwrap();
    assert_eq!(document.to_string(), text);
    change(&mut document);
    document.to_string()
}

fn set(text: &str, layout: JsonLayout, path: &[&str], value: &Json) -> String {
    edit(text, layout, |document| document.set_path(path, &JsonInput::from(value)).unwrap())
}

fn remove(text: &str, path: &[&str]) -> String {
    edit(text, Compact, |document| document.remove_path(path).unwrap())
}

/// The value `{"a": [1]}` over several lines.
fn entry(layout: JsonLayout, indent: &str, unit: &str) -> String {
    let below = format!("{indent}{unit}");
    let array = match layout {
        Stringified => format!("[\n{below}{unit}1\n{below}]"),
        Compact => "[1]".to_owned(),
    };
    format!("{{\n{below}\"a\": {array}\n{indent}}}")
}

/// Checks the text and its value after an entry was set. `@` stands for the entry in the text.
#[track_caller]
fn check_set(layout: JsonLayout, before: &str, indent: [&str; 2], after: &str) {
    let put = set(before, layout, &["s", "v"], &json!({ "a": [1] }));
    let newline = if before.contains("\r\n") { "\r\n" } else { "\n" };
    let entry = entry(layout, indent[0], indent[1]).replace('\n', newline);
    assert_eq!(put, after.replace('@', &entry));
    let value = |text: &str| parse_json(text.trim_start_matches('\u{feff}')).unwrap();
    let mut expected = value(before).unwrap_or_else(|| json!({}));
    expected["s"]["v"] = json!({ "a": [1] });
    assert_eq!(value(&put), Some(expected));
}

#[test]
fn texts_without_fields_get_an_object() {
    for layout in [Stringified, Compact] {
        let new = "{\n  \"s\": {\n    \"v\": @\n  }\n}\n";
        let check = |before: &str, after: &str| check_set(layout, before, ["    ", "  "], after);
        check("", new);
        check("\u{feff}", &format!("\u{feff}{new}"));
        check("{}", new.trim_end());
        check("{}\n", new);
        check("{ }\n", new);
        check("\u{feff}{}\r\n", &format!("\u{feff}{}", new.replace('\n', "\r\n")));
        check("// mine", &format!("// mine\n{new}"));
        check("\r\n", &format!("\r\n{}", new.replace('\n', "\r\n")));
    }
}

#[test]
fn new_property_follows_the_lines_of_the_others() {
    for layout in [Stringified, Compact] {
        let check = |before: &str, indent: [&str; 2], after: &str| {
            check_set(layout, before, indent, after);
            assert_eq!(remove(&after.replace('@', "1"), &["s", "v"]), before);
        };
        check(
            "{\n    \"s\": {\n        \"x\": 1 // one\n    }\n}\n",
            ["        ", "    "],
            "{\n    \"s\": {\n        \"x\": 1, // one\n        \"v\": @\n    }\n}\n",
        );
        // Trailing commas and blank lines.
        check(
            "{\n\n    \"s\": {\n        \"x\": 1, /* one */ // and\n\n        // last\n    },\n\n}\n",
            ["        ", "    "],
            "{\n\n    \"s\": {\n        \"x\": 1, /* one */ // and\n        \"v\": @,\n\n        // last\n    \
             },\n\n}\n",
        );
        check(
            "{\r\n\t\"x\": 1,\r\n\t\"s\": {}\r\n}",
            ["\t\t", "\t"],
            "{\r\n\t\"x\": 1,\r\n\t\"s\": {\r\n\t\t\"v\": @\r\n\t}\r\n}",
        );
        check(
            "{\n  \"s\": {\n    // none\n  }\n}",
            ["    ", "  "],
            "{\n  \"s\": {\n    // none\n    \"v\": @\n  }\n}",
        );
        // Keys without quotes, and an order that is not alphabetical.
        check(
            "{\n  z: 1,\n  s: { // S\n    'y': 1, x: 2\n  }, a: 0\n}",
            ["    ", "  "],
            "{\n  z: 1,\n  s: { // S\n    'y': 1, x: 2,\n    \"v\": @\n  }, a: 0\n}",
        );
    }
}

#[test]
fn single_line_object_stays_on_one_line() {
    let check = |before: &str, after: &str| check_set(Stringified, before, ["", ""], after);
    check("{\"x\":1}", "{\"x\":1,\"s\":{\"v\":{\"a\":[1]}}}");
    check("{\"s\":{}}\n", "{\"s\":{\"v\":{\"a\":[1]}}}\n");
    check("{ \"x\": 1 }", "{ \"x\": 1, \"s\": { \"v\": { \"a\": [1] } } }");
    check(
        "{ \"s\": { \"x\": 1 /* one */ } }",
        "{ \"s\": { \"x\": 1, /* one */ \"v\": { \"a\": [1] } } }",
    );
    for layout in [Stringified, Compact] {
        let check = |before: &str, after: &str| {
            assert_eq!(set(before, layout, &["s", "v"], &json!([1, 2])), after);
        };
        check("{ \"s\": { \"x\": 1 } }", "{ \"s\": { \"x\": 1, \"v\": [1, 2] } }");
        check("{\"s\":{\"x\":1}}", "{\"s\":{\"x\":1,\"v\":[1,2]}}");
        check("{\n\t\"s\": {\"x\": 1}\n}", "{\n\t\"s\": {\"x\": 1, \"v\": [1, 2]}\n}");
    }
}

#[test]
fn compact_layout_breaks_up_an_object_for_another() {
    let check = |before: &str, path: &[&str], after: &str| {
        assert_eq!(set(before, Compact, path, &json!({ "a": [1] })), after);
    };
    check("{ \"x\": 1 }", &["v"], "{\n  \"x\": 1,\n  \"v\": {\n    \"a\": [1]\n  }\n}");
    check(
        "{\n  \"x\": [\n    { /* y */ \"y\": 1 }\n  ],\n  \"s\": { /* y */ \"y\": 1 /* z */ }\n}",
        &["s", "v"],
        "{\n  \"x\": [\n    { /* y */ \"y\": 1 }\n  ],\n  \"s\": {\n    /* y */ \"y\": 1, /* z */\n    \"v\": \
         {\n      \"a\": [1]\n    }\n  }\n}",
    );
    // Where the lines do not show the indentation, the depth does.
    check(
        "{ \"x\": 1, \"t\": { \"y\": 2,\n  \"s\": { \"z\": 3 },\n  \"w\": {} } }",
        &["t", "s", "v"],
        "{ \"x\": 1, \"t\": { \"y\": 2,\n  \"s\": {\n      \"z\": 3,\n      \"v\": {\n        \"a\": [1]\n      \
         }\n    },\n  \"w\": {} } }",
    );
}

#[test]
fn value_is_replaced_in_place() {
    for layout in [Stringified, Compact] {
        let text = "{\n  \"s\": {\"v\": 1, \"v\": {\"a\": 2, \"b\": 3}} // x\n}";
        let put = set(text, layout, &["s", "v", "a"], &json!("\u{e9}\""));
        assert_eq!(put, text.replace('2', "\"\u{e9}\\\"\""));
        // The same value is not written again.
        let text = "{\n\t// why\n\t\"p\": [1 ,2.50], // now\n\t\"id\":\"a\"\n}\n";
        assert_eq!(set(text, layout, &["p"], &json!([1, 2.5])), text);
        let put = set(text, layout, &["p"], &json!([1, 3]));
        assert_eq!(put, text.replace("[1 ,2.50]", "[1, 3]"));
        let put = set(text, layout, &["id"], &json!([1, 3]));
        assert_eq!(put, text.replace("\"a\"", "[1,3]"));
        let put = set("{\n  \"v\": [\n    2\n  ]\n}", layout, &["v"], &json!({ "a": [1] }));
        assert_eq!(put, format!("{{\n  \"v\": {}\n}}", entry(layout, "  ", "  ")));
    }
}

#[test]
fn keys_and_texts_are_escaped() {
    let (key, text) = ("a\\b\n", "c:\\d\n\"\u{1}");
    let put = set("{}", Compact, &[key], &json!({ key: text }));
    assert_eq!(parse_json(&put), Ok(Some(json!({ key: { key: text } }))));
    let renamed = edit("{ \"x\": 1, y: 2 }", Compact, |document| {
        let mut root = document.root_object().unwrap();
        assert!(root.rename_key("x", key));
        assert!(!root.rename_key("y", "z") && !root.rename_key("x", "z"));
    });
    assert_eq!(renamed, "{ \"a\\\\b\\n\": 1, y: 2 }");
}

#[test]
fn element_is_appended_like_the_others() {
    let check = |before: &str, after: &str| {
        let put = edit(before, Compact, |document| {
            let root = document.root_object().unwrap();
            let mut array = root.into_array("c").unwrap();
            array.push(&JsonInput::from(&json!({ "n": "Q" })));
        });
        assert_eq!(put, after);
    };
    check("{\n  \"c\": []\n}", "{\n  \"c\": [\n    {\n      \"n\": \"Q\"\n    }\n  ]\n}");
    check(
        "{\n  \"c\": [\n    { \"n\": \"P\" }, // p\n  ],\n}",
        "{\n  \"c\": [\n    { \"n\": \"P\" }, // p\n    {\n      \"n\": \"Q\"\n    },\n  ],\n}",
    );
    check(
        "{\n  \"c\": [{ \"n\": \"P\" }]\n}",
        "{\n  \"c\": [\n    { \"n\": \"P\" },\n    {\n      \"n\": \"Q\"\n    }\n  ]\n}",
    );
    check(
        "{\n  \"c\": [{\n    \"n\": \"P\"\n  }]\n}",
        "{\n  \"c\": [{\n    \"n\": \"P\"\n  }, {\n    \"n\": \"Q\"\n  }]\n}",
    );
    let numbers = edit("{ \"c\": [1,2], \"d\": [] }", Compact, |document| {
        for key in ["c", "d"] {
            let root = document.root_object().unwrap();
            root.into_array(key).unwrap().push(&JsonInput::from(&json!(3)));
        }
    });
    assert_eq!(numbers, "{ \"c\": [1,2,3], \"d\": [3] }");
}

#[test]
fn element_is_removed_with_its_comma() {
    let text = "{ \"c\": [\n    { \"n\": 1 },\n    { \"n\": 2 }, // two\n    { \"n\": 3 }\n  ] }";
    for (at, gone) in
        [(0, "\n    { \"n\": 1 },"), (1, "{ \"n\": 2 }, "), (2, ",\n    { \"n\": 3 }"), (3, "")]
    {
        let left = edit(text, Compact, |document| {
            document.root_object().unwrap().into_array("c").unwrap().remove(at);
        });
        let expected = match at {
            2 => text.replace(", // two\n    { \"n\": 3 }", " // two"),
            _ => text.replace(gone, ""),
        };
        assert_eq!(left, expected, "{at}");
    }
}

#[test]
fn property_is_removed_with_its_comma() {
    let check = |before: &str, after: &str| assert_eq!(remove(before, &["v"]), after);
    check("{\n  \"v\": 1\n}\n", "{}\n");
    check("{\n  \"v\": 1,\n  \"x\": 2\n}", "{\n  \"x\": 2\n}");
    check("{\r\n\r\n  \"v\": 1,\r\n  \"x\": 2\r\n}", "{\r\n\r\n  \"x\": 2\r\n}");
    check("{\n  \"x\": 2, // two\n  \"v\": 1\n}", "{\n  \"x\": 2 // two\n}");
    check("{\n  \"x\": 2,\n  \"v\": 1,\n}", "{\n  \"x\": 2,\n}");
    check("{\"x\":2,\"v\":1}", "{\"x\":2}");
    check("{\"v\":1,\"x\":2}", "{\"x\":2}");
    check("{ \"x\": 2, \"v\": 1, \"y\": 3 }", "{ \"x\": 2, \"y\": 3 }");
    check("{ // mine\n  \"v\": 1\n}", "{ // mine\n}");
    // A line comment does not take in what follows.
    check("{ // mine\n  \"v\": 1 }", "{ // mine\n   }");
    check("{ \"x\": 2, // two\n  \"v\": 1}", "{ \"x\": 2 // two\n  }");
    check("{\"x\": 1}", "{\"x\": 1}");
    check("// nothing", "// nothing");
}

#[test]
fn removal_restores_the_text_before_the_edit() {
    for text in ["{\n  \"x\": 1 // one\n}\n", "{\"x\":1}", "{\n\t\"x\": [\r\n1,],\n}"] {
        for layout in [Stringified, Compact] {
            let value = if layout == Compact { json!("b") } else { json!({ "a": "b" }) };
            let put = set(text, layout, &["v"], &value);
            assert_eq!(remove(&put, &["v"]), text);
        }
    }
}

/// The reason for a tree of our own.
#[test]
fn tree_of_the_parser_changes_other_bytes() {
    use jsonc_parser::cst::{CstInputValue, CstRootNode};
    for text in ["{\"x\":1}", "{ \"x\": 1 }", "{\n\n  \"x\": 1\n\n}\n"] {
        let theirs = CstRootNode::parse(text, &jsonc_parser::ParseOptions::default()).unwrap();
        theirs.object_value().unwrap().append("v", CstInputValue::Bool(true)).remove();
        assert_ne!(theirs.to_string(), text);
        let put = set(text, Compact, &["v"], &json!(true));
        assert_eq!(remove(&put, &["v"]), text);
    }
}

#[test]
fn objects_are_created_and_read_by_key() {
    let put = edit("{ \"i\": true }", Compact, |document| {
        let mut root = document.root_object().unwrap();
        let mut below = root.reborrow().into_object_or_create("p").unwrap();
        assert!(below.is_empty());
        below.set("a", &"b".into());
        below.set("c", &JsonInput::Array(Vec::new()));
        assert_eq!(below.keys().collect::<Vec<_>>(), ["a", "c"]);
        let error = root.reborrow().into_object_or_create("i").unwrap_err();
        assert_eq!(error, "its `i` is not an object");
        assert!(root.has_key("p") && !root.has_key("a"));
        assert!(root.reborrow().into_object("a").is_none());
        assert!(root.into_array("p").is_none());
    });
    assert_eq!(put, "{\n  \"i\": true,\n  \"p\": {\n    \"a\": \"b\",\n    \"c\": []\n  }\n}");
}

#[test]
fn non_objects_and_invalid_json_are_refused() {
    let refused = |text: &str| {
        let document = JsonDocument::parse(text, Stringified);
        document.and_then(|mut it| it.set_path(&["s", "v"], &"x".into())).unwrap_err()
    };
    assert_eq!(refused("[]"), "it is not an object");
    assert_eq!(refused("1"), "it is not an object");
    assert_eq!(refused("{\"s\": null}"), "its `s` is not an object");
    assert!(refused("{\"s\": {}").contains("it is not JSON"));
    assert!(refused(&"[".repeat(100_000)).contains("128"));
    let mut document = JsonDocument::parse("{\"s\": [1]}", Compact).unwrap();
    assert_eq!(document.remove_path(&["s", "v"]).unwrap_err(), "its `s` is not an object");
    assert_eq!(document.to_string(), "{\"s\": [1]}");
}

/// White space, a comment, or nothing.
fn gap() -> impl Strategy<Value = &'static str> {
    select(&["", "", " ", "\n", "\r\n  ", "\t", "// c, {\n", "/* \u{1f600} } */", "/*\n*/ "][..])
}

fn list(brackets: [char; 2], item: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let items = vec((item, gap(), gap()), 0..4);
    (gap(), items, bool::weighted(0.3)).prop_map(move |(gap, items, ends_with_comma)| {
        let mut text = format!("{}{gap}", brackets[0]);
        let count = items.len();
        for (at, (item, after, before)) in items.into_iter().enumerate() {
            text += &item;
            text += after;
            if at + 1 < count || ends_with_comma {
                text += &format!(",{before}");
            }
        }
        text.push(brackets[1]);
        text
    })
}

fn any_object(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    let keys = &["\"x\"", "y ", "\"s\"", "\"v\"", "\"\\u0076\"", "\"a\\\\\\\"}\""][..];
    let property = (select(keys), gap(), gap(), value);
    list(['{', '}'], property.prop_map(|(key, a, b, value)| format!("{key}{a}:{b}{value}")))
}

fn any_json() -> impl Strategy<Value = String> {
    let scalar = select(&["1.5e3", "\"\u{1f600} // {\"", "null"][..]).prop_map(str::to_owned);
    let value = scalar.prop_recursive(
        4,
        32,
        4,
        |value| prop_oneof![2 => any_object(value.clone()), 1 => list(['[', ']'], value)],
    );
    (gap(), any_object(value), gap())
        .prop_map(|(before, object, after)| format!("{before}{object}{after}"))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 3_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// An edit has the same effect on the text as on the value, whatever is between the values.
    #[test]
    fn edits_change_only_their_value(
        text in any_json(),
        is_compact in bool::ANY,
        is_deep in bool::ANY,
    ) {
        let path = if is_deep { &["s", "v"][..] } else { &["v"] };
        let layout = if is_compact { Compact } else { Stringified };
        let mut expected = parse_json(&text).unwrap().unwrap();
        let mut document = JsonDocument::parse(&text, layout).unwrap();
        prop_assert_eq!(document.to_string(), &*text);
        let value = json!({ "a": [1, { "b": 2 }], "c": [] });
        let put = document.set_path(path, &JsonInput::from(&value));
        let is_blocked = path.len() > 1 && expected.get("s").is_some_and(|it| !it.is_object());
        prop_assert_eq!(put.is_err(), is_blocked);
        if is_blocked {
            prop_assert_eq!(document.to_string(), text);
            return Ok(());
        }
        *path.iter().fold(&mut expected, |at, key| &mut at[*key]) = value;
        let put = document.to_string();
        prop_assert_eq!(parse_json(&put), Ok(Some(expected.clone())), "{:?}", put);
        document.remove_path(path).unwrap();
        // A key that occurs twice is still there.
        let without = |mut value: Json| {
            let above = &path[..path.len() - 1];
            let above = above.iter().fold(&mut value, |at, key| &mut at[*key]);
            above.as_object_mut().unwrap().remove("v");
            value
        };
        let left = parse_json(&document.to_string()).map_err(TestCaseError::fail)?.unwrap();
        prop_assert_eq!(without(left), without(expected), "{:?}", document.to_string());
    }
}
