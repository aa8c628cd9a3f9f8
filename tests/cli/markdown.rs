//! `vector diff --format markdown`: what a pull request shows.

use std::fs;

use rbx_dom_weak::{InstanceBuilder, WeakDom};
use vector_tests::binary::Home;
use vector_tests::places::{self, Format};

use super::{ended, text};

/// A place with a part and a script of this name and text.
fn place(name: &str, anchored: bool, source: &str) -> Vec<u8> {
    let part = InstanceBuilder::new("Part").with_name(name).with_property("Anchored", anchored);
    let script = InstanceBuilder::new("Script").with_name("Main").with_property("Source", source);
    let workspace = InstanceBuilder::new("Workspace").with_children([part, script]);
    let root = InstanceBuilder::new("DataModel").with_child(workspace);
    places::encode(&WeakDom::new(root), Format::Rbxlx)
}

#[test]
fn pull_request_shows_table_tree_scripts_and_pictures() {
    let home = Home::new();
    let name = "Wall | `x` </summary>\n```";
    let (a, b) = (home.path().join("a.rbxlx"), home.path().join("b.rbxlx"));
    fs::write(&a, place(name, false, "local a = 1\nprint(a)\n")).unwrap();
    fs::write(&b, place(name, true, "local a = 2\nprint(a)\n-- ```\n")).unwrap();
    let (a, b) = (text(&a), text(&b));
    let run = |args: &[&str]| home.run(&[&["diff", &a, &b], args].concat(), "");
    let shown = run(&["--format", "markdown", "--picture", "After=https://example.org/a b.png"]);
    ended(&shown, 1);
    let shown = shown.stdout;
    for part in [
        "**1 instance with other properties, 1 script with another text** from",
        "![After](<https://example.org/a b.png>)",
        "| instance | property | before | after |",
        "| `Anchored` | `false` | `true` |",
        "<details><summary><code>All instances</code></summary>",
        "<details><summary><code>game.Workspace.Main  +2 −1</code></summary>",
        "````diff\n@@ -1,2 +1,3 @@\n-local a = 1\n+local a = 2\n print(a)\n+-- ```\n````",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    // What the name contains is within code.
    let starts = |start: &str| shown.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!([starts("<details><summary>"), starts("</details>")], [2, 2], "{shown}");
    // As before, and short for it.
    let json = run(&["--json"]).stdout;
    assert_eq!(json.lines().count(), 2);
    assert_eq!(run(&["--format", "json"]).stdout, json);
    ended(&run(&["--format", "markdown", "--picture", "nothing"]), 2);
    ended(&home.run(&["diff", &a, &a, "--format", "markdown"], ""), 0);
}
