//! `vector patch`: text files edited on the command line, and cases in JSON lines as other tools
//! send them.

use std::fs;

use serde_json::{Value as Json, json};
use vector_tests::binary::Home;

use super::{ended, text};

const SCRIPT: &str = "local a = 1\r\nprint(a)\r\n";
const PATCH: &str = "@@\n local a = 1\n-print(a)\n+print(a + 1)\n";

#[test]
fn patch_applies_exactly_or_not_at_all() {
    let home = Home::new();
    let file = home.path().join("Main.luau");
    fs::write(&file, SCRIPT).unwrap();
    let run = |args: &[&str], stdin: &str| {
        let name = text(&file);
        home.run(&[&["patch", &name], args].concat(), stdin)
    };
    let says = || fs::read_to_string(&file).unwrap();
    ended(&run(&["--patch", "-", "--check"], PATCH), 0);
    assert_eq!(says(), SCRIPT);
    ended(&run(&["--patch", "-"], PATCH), 0);
    assert_eq!(says(), SCRIPT.replace("(a)", "(a + 1)"));

    let again = run(&["--patch", "-"], PATCH);
    ended(&again, 1);
    assert!(again.stderr.contains("in the script already"), "{}", again.stderr);
    let broken = run(&["--replace", "(a + 1)", "(a"], "");
    ended(&broken, 1);
    assert!(broken.stderr.contains("would no longer compile: line 3"), "{}", broken.stderr);
    let missing = run(&["--replace", "prnt(a + 1)", "x"], "");
    ended(&missing, 1);
    assert!(
        missing.stderr.contains("with `print` where the search has `prnt`"),
        "{}",
        missing.stderr
    );
    ended(&run(&["--edits", "-"], "{"), 1);
    assert_eq!(says(), SCRIPT.replace("(a)", "(a + 1)"));
}

#[test]
fn whitespace_match_requires_force() {
    let home = Home::new();
    let file = home.path().join("notes.txt");
    fs::write(&file, "\ta\n\tb\n").unwrap();
    let run = |args: &[&str], stdin: &str| {
        let name = text(&file);
        home.run(&[&["patch", &name], args].concat(), stdin)
    };
    let patch = "@@\n     a\n-    b\n+    c\n";
    let waiting = run(&["--patch", "-"], patch);
    ended(&waiting, 3);
    assert!(waiting.stderr.contains("it fits but for white space. --force"), "{}", waiting.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), "\ta\n\tb\n");
    let forced = run(&["--patch", "-", "--force", "--json"], patch);
    ended(&forced, 0);
    let outcome: Json = serde_json::from_str(&forced.stdout).unwrap();
    assert_eq!(outcome["stage"], "whitespace");
    assert_eq!(fs::read_to_string(&file).unwrap(), "\ta\n\tc\n");
}

#[test]
fn json_edits_are_replacements_or_ranges() {
    let home = Home::new();
    let file = home.path().join("a.luau");
    fs::write(&file, "local a = 1\nlocal b = 1\n").unwrap();
    let edit = |edits: Json| {
        ended(&home.run(&["patch", &text(&file), "--edits", "-"], &edits.to_string()), 0);
        fs::read_to_string(&file).unwrap()
    };
    let all = edit(json!([{ "search": "1", "replace": "2", "all": true }]));
    assert_eq!(all, "local a = 2\nlocal b = 2\n");
    let position = |line: u32, character: u32| json!({ "line": line, "character": character });
    let range = json!([{ "start": position(1, 6), "end": position(1, 7), "text": "c" }]);
    assert_eq!(edit(range), "local a = 2\nlocal c = 2\n");
}

#[test]
fn every_jsonl_case_gets_one_answer_line() {
    let cases = [
        json!({ "id": 1, "kind": "unified_diff", "base": "a\n\u{2028}\n", "patch": "@@\n-a\n+b\n" }),
        json!({ "id": 2, "kind": "search_replace", "base": "a\na\n", "edits": [{ "search": "a", "replace": "b" }] }),
        json!({ "id": 3, "kind": "range_edits", "base": "😀a", "unit": "utf-8", "range_edits": [
            { "start": { "line": 0, "character": 4 }, "end": { "line": 0, "character": 5 }, "text": "b" },
        ] }),
        json!({ "id": 4, "kind": "diff3", "base": "a\n", "ours": "b\n", "theirs": "c\n" }),
        json!({ "id": 5, "kind": "apply_patch_v4a", "files": { "f": "a\n" },
            "patch": "*** Begin Patch\n*** Update File: f\n@@\n-a\n+b\n*** Add File: g\n+c\n*** End Patch\n" }),
        json!({ "id": 6, "kind": "unified_diff", "base": "aa\n" }),
        json!({ "id": "seven", "kind": "range_edits", "base": "a", "range_edits": [
            { "start": { "line": -1, "character": 0 }, "end": { "line": 0, "character": 0 }, "text": "" },
        ] }),
    ];
    let lines: Vec<String> = cases.iter().map(Json::to_string).collect();
    let run = Home::new().run(&["patch", "--jsonl"], &format!("{}\nno case\n", lines.join("\n")));
    ended(&run, 0);
    let answers: Vec<Json> =
        run.stdout.split_terminator('\n').map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(answers.len(), 8);
    assert!(!run.stdout.contains('\u{2028}'), "some readers would see a line end");
    assert_eq!(answers[0]["text"], "b\n\u{2028}\n");
    assert_eq!((&answers[1]["id"], &answers[1]["outcome"]), (&json!(2), &json!("reject")));
    assert_eq!(answers[2]["text"], "😀b");
    assert_eq!(
        answers[3]["conflicts"],
        json!([{ "base": "a\n", "ours": "b\n", "theirs": "c\n", "baseLine": 1, "oursLine": 1, "theirsLine": 1 }])
    );
    assert_eq!(answers[4]["result_files"], json!({ "f": "b\n", "g": "c\n" }));
    assert_eq!(answers[5]["reason"], "The case has no `patch`.");
    assert_eq!((&answers[6]["id"], &answers[6]["outcome"]), (&json!("seven"), &json!("reject")));
    assert_eq!((&answers[7]["id"], &answers[7]["outcome"]), (&Json::Null, &json!("reject")));
}
