//! Changes that a person makes to a proposal: checked like any proposal, and decided as a new one.

use serde_json::{Value as Json, json};

use super::comments::Bench;

const ONE: &str = "game.ServerScriptService.One";
const TWO: &str = "game.ServerScriptService.Two";

/// Two scripts, which a proposal of the agent edits. Returns the proposal.
fn edited_scripts(bench: &mut Bench) -> u64 {
    for (name, end) in [("One", "\r\n"), ("Two", "\n")] {
        let text = format!("local a = 1{end}local b = 2{end}print(a + b){end}");
        let props = json!({ "Name": name, "Source": text });
        let made = json!({ "className": "Script", "parentPath": "game.ServerScriptService", "props": props });
        let made = bench.agent.propose("create_instance", &made);
        bench.human.approve(made).ok();
        bench.human.until_status(made, "applied");
    }
    let edit = |path: &str, line: u32| {
        let edit = json!({ "search": format!("= {line}"), "replace": format!("= {line}0") });
        json!({ "tool": "replace_text", "args": { "path": path, "edits": [edit] } })
    };
    let part = json!({
        "tool": "create_instance",
        "args": { "className": "Part", "parentPath": "game.Workspace",
                  "props": { "Name": "Wall", "Size": [4, 1, 2], "Color": "#ff0000" } },
    });
    let changes = json!([edit(ONE, 1), edit(TWO, 2), part]);
    bench.agent.propose("propose_changes", &json!({ "title": "All", "changes": changes }))
}

fn script(bench: &Bench, proposal: u64, script: u32) -> Json {
    let path = format!("/api/proposals/{proposal}/script?script={script}");
    bench.human.call("GET", &path, &Json::Null).ok()
}

/// The index in the preview of the script at a path.
fn index(shown: &Json, path: &str) -> u32 {
    let scripts = shown["proposal"]["preview"]["scripts"].as_array().unwrap();
    scripts.iter().position(|it| it["path"] == path).unwrap() as u32
}

#[test]
fn scripts_and_values_are_changed_by_hand() {
    let mut bench = Bench::new();
    let first = edited_scripts(&mut bench);
    let shown = bench.human.shown(first);
    let (one, two) = (index(&shown, ONE), index(&shown, TWO));
    // Each script has its own edits alone.
    let text = script(&bench, first, one);
    assert_eq!(text["before"], "local a = 1\r\nlocal b = 2\r\nprint(a + b)\r\n");
    assert_eq!(text["text"], "local a = 10\r\nlocal b = 2\r\nprint(a + b)\r\n");
    assert_eq!(script(&bench, first, two)["text"], "local a = 1\nlocal b = 20\nprint(a + b)\n");

    let rows = shown["proposal"]["preview"]["rows"].as_array().unwrap();
    let wall = rows.iter().find(|it| it["path"] == "game.Workspace.Wall").unwrap();
    let size = |value: Json| json!({ "part": "property", "command": wall["command"], "property": "Size", "value": value });
    // An editor ends lines in its own way.
    let typed = "local a = 11\nlocal b = 2\nprint(a + b)\n";
    let text = json!({ "part": "script", "script": one, "text": typed });
    let edit = |edits: &[Json]| json!({ "say": "edit", "edits": edits });
    let done = bench.human.decide(first, &edit(&[text.clone(), size(json!([8, 1, 2]))])).ok();
    let second = done["proposal"].as_u64().unwrap();
    assert_eq!(
        (&done["status"], bench.human.shown(first)["successor"].as_u64()),
        (&json!("waiting"), Some(second))
    );
    assert_eq!(bench.human.shown(second)["proposal"]["title"], "All, changed by hand");
    assert_eq!(bench.human.shown(second)["proposal"]["from"], first);

    // It can be changed again; the title says it once.
    let again = edit(&[size(json!({ "__t": "Vector3", "x": 9, "y": 1, "z": 2 }))]);
    let third = bench.human.decide(second, &again).ok()["proposal"].as_u64().unwrap();
    let shown = bench.human.shown(third);
    assert_eq!(shown["proposal"]["title"], "All, changed by hand");
    assert_eq!(
        script(&bench, third, one)["text"],
        "local a = 11\r\nlocal b = 2\r\nprint(a + b)\r\n"
    );
    assert_eq!(script(&bench, third, two)["text"], "local a = 1\nlocal b = 20\nprint(a + b)\n");
    let shown = shown["proposal"]["preview"]["rows"].to_string();
    assert!(shown.contains(r#""x":9"#), "{shown}");
    bench.human.approve(third).ok();
    bench.human.until_status(third, "applied");
}

#[test]
fn text_of_a_new_script_is_changed() {
    let mut bench = Bench::new();
    let props = json!({ "Name": "New", "Source": "print(1)\n" });
    let made = json!({ "className": "Script", "parentPath": "game.Workspace", "props": props });
    let first = bench.agent.propose("create_instance", &made);
    assert_eq!(script(&bench, first, 0)["text"], "print(1)\n");
    assert_eq!(script(&bench, first, 0)["before"], "");
    let edit = json!({ "part": "script", "script": 0, "text": "print(2)\n" });
    let done = bench.human.decide(first, &json!({ "say": "edit", "edits": [edit] })).ok();
    assert_eq!(script(&bench, done["proposal"].as_u64().unwrap(), 0)["text"], "print(2)\n");
}

#[test]
fn changes_that_do_not_work_are_refused() {
    let mut bench = Bench::new();
    let first = edited_scripts(&mut bench);
    let text =
        |script: u32, text: &str| json!({ "part": "script", "script": script, "text": text });
    let value = |command: u32, property: &str, value: Json| json!({ "part": "property", "command": command, "property": property, "value": value });
    let same = script(&bench, first, 0)["text"].clone();
    for (edits, said) in [
        (json!([text(0, "local = 1\n")]), "would no longer compile: line 1"),
        (json!([text(7, "print(1)\n")]), "does not have a script 7"),
        (json!([value(9, "Size", json!([1, 2, 3]))]), "does not set `Size`"),
        (json!([value(2, "Size", json!("large"))]), "`Size` of Part:"),
        (json!([value(2, "Transparency", json!(1))]), "does not set `Transparency`"),
        (json!([text(0, same.as_str().unwrap())]), "Nothing was changed"),
        (json!([]), "Nothing was changed"),
    ] {
        let refused = bench.human.decide(first, &json!({ "say": "edit", "edits": edits }));
        assert!((400..500).contains(&refused.status), "{edits}: {refused:?}");
        assert!(refused.body.to_string().contains(said), "{edits}: {refused:?}");
        assert_eq!(bench.human.shown(first)["status"], "waiting");
    }
    let missing =
        bench.human.call("GET", &format!("/api/proposals/{first}/script?script=5"), &Json::Null);
    assert!(missing.body.to_string().contains("does not have a script 5"), "{missing:?}");
    // What is rejected has no text to edit.
    bench.human.decide(first, &json!({ "say": "reject" })).ok();
    let gone =
        bench.human.call("GET", &format!("/api/proposals/{first}/script?script=0"), &Json::Null);
    assert!((400..500).contains(&gone.status), "{gone:?}");
}

#[test]
fn typed_scripts_are_checked_and_completed() {
    let bench = Bench::new();
    let check = |text: &str| {
        bench.human.call("POST", "/api/luau/check", &json!({ "text": text })).ok()["findings"]
            .clone()
    };
    assert_eq!(check("print(1)\n"), json!([]));
    let found = check("local a = 1\nlocal b = )\n");
    assert_eq!((&found[0]["line"], &found[0]["is_error"]), (&json!(2), &json!(true)));
    let found = check("workspace:Explode()\n");
    assert_eq!(found[0]["code"], "roblox_unknown_member");
    assert_eq!(found[0]["is_error"], false);

    let at = |text: &str, column: u32| {
        let position = json!({ "text": text, "line": 1, "column": column });
        bench.human.call("POST", "/api/luau/complete", &position).ok()
    };
    let found = at("workspace.Grav", 15);
    assert_eq!(found["from"], 11);
    let gravity = found["names"].as_array().unwrap().iter().find(|it| it["name"] == "Gravity");
    assert_eq!(gravity.unwrap()["kind"], "property");
    assert_eq!(at("x", 4_000_000_000)["names"], json!([]));
}

#[test]
fn script_that_a_proposal_moves_is_changed() {
    let mut bench = Bench::new();
    let first = edited_scripts(&mut bench);
    bench.human.decide(first, &json!({ "say": "reject" })).ok();
    let edit = json!({ "search": "= 1", "replace": "= 10" });
    let rename = json!({ "path": ONE, "newName": "Uno" });
    let changes = json!([
        { "tool": "rename_instance", "args": rename },
        { "tool": "replace_text", "args": { "path": "game.ServerScriptService.Uno", "edits": [edit] } },
    ]);
    let both =
        bench.agent.propose("propose_changes", &json!({ "title": "Both", "changes": changes }));
    assert!(script(&bench, both, 0)["text"].as_str().unwrap().starts_with("local a = 10\r\n"));
    let text = json!({ "part": "script", "script": 0, "text": "local a = 7\n" });
    let done = bench.human.decide(both, &json!({ "say": "edit", "edits": [text] })).ok();
    let now = done["proposal"].as_u64().unwrap();
    assert_eq!(script(&bench, now, 0)["text"], "local a = 7\r\n");
    bench.human.approve(now).ok();
    bench.human.until_status(now, "applied");
}

#[test]
fn text_of_a_copy_is_not_changed() {
    let mut bench = Bench::new();
    let first = edited_scripts(&mut bench);
    bench.human.decide(first, &json!({ "say": "reject" })).ok();
    let edit = json!({ "search": "= 1", "replace": "= 10" });
    let copy = json!({ "path": ONE, "parentPath": "game.Workspace", "props": { "Name": "Copy" } });
    let changes = json!([
        { "tool": "clone_instance", "args": copy },
        { "tool": "replace_text", "args": { "path": "game.Workspace.Copy", "edits": [edit] } },
    ]);
    let both =
        bench.agent.propose("propose_changes", &json!({ "title": "Both", "changes": changes }));
    let path = format!("/api/proposals/{both}/script?script=0");
    let refused = bench.human.call("GET", &path, &Json::Null);
    assert!(refused.body.to_string().contains("cannot be changed by hand"), "{refused:?}");
}

#[test]
fn what_a_person_changed_waits_for_them_in_every_mode() {
    let mut bench = Bench::new();
    let mut settings = bench.human.call("GET", "/api/settings", &Json::Null).ok();
    settings["mode"] = json!("auto");
    bench.human.call("PUT", "/api/settings", &settings).ok();
    // It waits because of the missing parent.
    let props = json!({ "Name": "Slab", "Size": [4, 1, 2] });
    let part = json!({ "className": "Part", "parentPath": "game.Workspace.Yard", "props": props });
    let first = bench.agent.propose("create_instance", &part);
    let shown = bench.human.shown(first);
    assert_eq!(
        (&shown["status"], &shown["proposal"]["warnings"][0]["kind"]),
        (&json!("waiting"), &json!("parent_created")),
        "{shown}"
    );
    let rows = shown["proposal"]["preview"]["rows"].as_array().unwrap();
    let slab = rows.iter().find(|it| it["path"] == "game.Workspace.Yard.Slab").unwrap();
    let size = json!({ "part": "property", "command": slab["command"], "property": "Size", "value": [8, 1, 2] });
    let done = bench.human.decide(first, &json!({ "say": "edit", "edits": [size] })).ok();
    let second = done["proposal"].as_u64().unwrap();
    let shown = bench.human.shown(second);
    assert_eq!(shown["proposal"]["warnings"][0]["kind"], "parent_created", "{shown}");
    // Neither does a part of it become applied unasked, in which nothing holds it back.
    let yard = json!({ "say": "take", "parts": [{ "part": "command", "command": 0 }] });
    let third = bench.human.decide(second, &yard).ok()["proposal"].as_u64().unwrap();
    let shown = bench.human.shown(third);
    assert_eq!((&shown["status"], shown.get("is_covered")), (&json!("waiting"), None), "{shown}");
    // The next call of the agent is planned after what was decided.
    bench.agent.call("list_children", &json!({ "path": "game.Workspace" }));
    assert_eq!(bench.human.shown(third)["status"], "waiting");
}
