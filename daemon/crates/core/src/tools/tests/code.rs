//! Tests of the code navigation tools.

use serde_json::{Value as Json, json};
use vector_place::{FileFormat, Scene};

use super::{Plan, call};
use crate::planning_scene::PlanningScene;

/// A module, a script that requires it twice, and a script that does not compile.
fn place() -> PlanningScene {
    let mut scene = Scene::empty(FileFormat::Binary);
    let storage = scene.create(scene.root(), "ReplicatedStorage", "ReplicatedStorage");
    let server = scene.create(scene.root(), "ServerScriptService", "ServerScriptService");
    let folder = scene.create(storage, "Folder", "Shops");
    for (parent, class, name, text) in [
        (
            folder,
            "ModuleScript",
            "Shop",
            "local Shop = {}\n\nfunction Shop.open(é)\n\treturn é\nend\n\nreturn Shop\n",
        ),
        (
            server,
            "Script",
            "Main",
            "local Shop = require(game.ReplicatedStorage.Shops.Shop)\r\nlocal x = Shop.open(1)\r\nShop.open(x)\r\nrequire(script.Nobody)\r\n",
        ),
        (server, "Script", "Broken", "local = = open(\n"),
    ] {
        let script = scene.create(parent, class, name);
        scene.set_source(script, text.to_owned());
    }
    scene.into()
}

#[track_caller]
fn answer(tool: &str, args: Json) -> Json {
    match call(&mut place(), tool, args) {
        Ok(Plan::Answer(answer)) => answer,
        other => panic!("{tool}: {other:?}"),
    }
}

#[track_caller]
fn refuse(tool: &str, args: Json, said: &str) {
    match call(&mut place(), tool, args) {
        Err(sentence) => assert!(sentence.contains(said), "{sentence}"),
        other => panic!("{tool}: {other:?}"),
    }
}

const MAIN: &str = "game.ServerScriptService.Main";
const SHOP: &str = "game.ReplicatedStorage.Shops.Shop";

#[test]
fn definition_is_found_by_position_and_by_name() {
    let place = json!({ "line": 1, "character": 16 });
    let found = answer("find_definition", json!({ "path": MAIN, "position": place }));
    let expected = json!({ "definitions": [{
        "path": SHOP,
        "name": "Shop.open",
        "kind": "function",
        "range": { "start": { "line": 2, "character": 0 }, "end": { "line": 4, "character": 3 } },
        "position": { "line": 2, "character": 14 },
        "text": "function Shop.open(é)",
    }] });
    assert_eq!(found, expected);
    for name in ["open", "Shop.open", "Shop:open"] {
        assert_eq!(answer("find_definition", json!({ "name": name })), expected, "{name}");
    }
    refuse("find_definition", json!({ "name": "opne" }), "Did you mean");
    refuse("find_definition", json!({ "path": MAIN }), "Give `path` and `position`");
    let far = json!({ "path": MAIN, "position": { "line": 9, "character": 0 } });
    refuse("find_definition", far, "has 4 lines");
    let nothing = json!({ "path": SHOP, "position": { "line": 1, "character": 0 } });
    refuse("find_definition", nothing, "There is no name at line 1");
}

#[test]
fn references_include_line_text_and_are_paged() {
    let found = answer("find_references", json!({ "path": SHOP, "name": "open" }));
    assert_eq!((&found["total"], &found["certain"]), (&json!(3), &json!(3)));
    let first =
        json!({ "line": 2, "character": 14, "text": "function Shop.open(é)", "definition": true });
    assert_eq!(found["scripts"][0]["hits"], json!([first]));
    assert_eq!(found["scripts"][1]["hits"][0]["text"], "local x = Shop.open(1)");
    let page = json!({ "path": SHOP, "name": "open", "limit": 2 });
    let page = answer("find_references", page);
    assert_eq!(page["cursor"], "2");
    let rest = json!({ "path": SHOP, "name": "open", "cursor": "2" });
    assert_eq!(answer("find_references", rest)["scripts"][0]["path"], MAIN);
    let module = answer("find_references", json!({ "path": SHOP }));
    assert_eq!(module["scripts"][0]["hits"][0]["line"], 0);
    refuse("find_references", json!({ "path": SHOP, "name": "close" }), "it exports: open");
    refuse("find_references", json!({ "path": "game.ReplicatedStorage" }), "not a script");
}

#[test]
fn dependency_graph_lists_unresolved_requires() {
    let graph = answer("get_dependency_graph", json!({ "path": MAIN, "direction": "requires" }));
    assert_eq!(graph["total"], 2);
    assert_eq!(graph["scripts"][0]["requires"], json!([SHOP]));
    let lost = &graph["scripts"][0]["unresolved"][0];
    assert_eq!((&lost["line"], &lost["text"]), (&json!(3), &json!("require(script.Nobody)")));
    assert_eq!(lost["reason"], "game.ServerScriptService.Main has no child named \"Nobody\"");
    assert_eq!(graph["scripts"][1]["requiredBy"], json!([MAIN]));
    let all = answer("get_dependency_graph", json!({ "limit": 1 }));
    assert_eq!((&all["total"], &all["cursor"]), (&json!(3), &json!("1")));
    refuse("get_dependency_graph", json!({ "path": "game.ReplicatedStorage" }), "`root` takes");
}

#[test]
fn dependency_graph_reflects_a_proposal_on_trial() {
    let mut scene = place();
    let args = json!({ "path": SHOP, "parentPath": "game.ReplicatedStorage" });
    assert!(matches!(call(&mut scene, "move_instance", args), Ok(Plan::Propose(..))));
    let graph = call(&mut scene, "get_dependency_graph", json!({ "path": MAIN }));
    let Ok(Plan::Answer(graph)) = graph else { panic!("{graph:?}") };
    assert!(graph["scripts"][0].get("requires").is_none(), "{graph}");
    assert_eq!(graph["scripts"][0]["unresolved"].as_array().unwrap().len(), 2);
}

#[test]
fn searches_are_narrowed_by_glob_whole_word_and_regex() {
    let found = |args: Json| {
        let found = answer("search_files", args);
        let of = |it: &Json| format!("{}:{}", it["path"].as_str().unwrap(), it["line"]);
        found["matches"].as_array().unwrap().iter().map(of).collect::<Vec<_>>().join(" ")
    };
    let open = |more: Json| {
        let mut args = json!({ "query": "open" });
        args.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        args
    };
    assert_eq!(found(open(json!({ "glob": "Sh*" }))), format!("{SHOP}:3"));
    assert_eq!(found(open(json!({ "glob": "ReplicatedStorage/**" }))), format!("{SHOP}:3"));
    assert_eq!(found(open(json!({ "glob": "*/Main" }))), format!("{MAIN}:2 {MAIN}:3"));
    assert_eq!(found(open(json!({ "glob": "Replicated*" }))), "");
    assert_eq!(found(json!({ "query": "ope", "wholeWord": true })), "");
    assert_eq!(found(json!({ "query": "end$", "regex": true })), format!("{SHOP}:5"));
    assert_eq!(found(json!({ "query": r"^\s*$", "regex": true })), format!("{SHOP}:2 {SHOP}:6"));
    assert_eq!(
        found(json!({ "query": r"\)$", "regex": true, "glob": "Main" })),
        [1, 2, 3, 4].map(|n| format!("{MAIN}:{n}")).join(" ")
    );
    let files = answer("search_files", open(json!({ "filesOnly": true })));
    let main = json!({ "path": MAIN, "lines": 2 });
    assert_eq!(files["files"][1], main);
    assert_eq!(files["total"], 3);
    refuse("search_files", open(json!({ "glob": "{a" })), "`glob` is not a valid pattern");
    refuse(
        "search_files",
        json!({ "query": r"a\nb", "regex": true }),
        "not a valid regular expression",
    );
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let mut scene = place();
    let main = scene.resolve(&MAIN.parse().unwrap()).unwrap();
    scene
        .scene_mut()
        .set_source(main, format!("--{}needle{}", "é".repeat(500_000), "x".repeat(500_000)));
    let found = call(&mut scene, "search_files", json!({ "query": "needle" }));
    let Ok(Plan::Answer(found)) = found else { panic!("{found:?}") };
    let text = found["matches"][0]["text"].as_str().unwrap();
    assert!(text.starts_with('…') && text.contains("needle") && text.len() < 310, "{text}");
}

#[test]
fn invalid_cursor_is_refused_by_every_paged_tool() {
    let args = |tool: &str| match tool {
        "list_children" => json!({ "parentPath": "game" }),
        "find_instances" => json!({ "selector": "Script" }),
        "find_references" => json!({ "path": SHOP }),
        "search_files" => json!({ "query": "open" }),
        _ => json!({}),
    };
    let mut tools = 0;
    for tool in super::super::TOOLS {
        if (tool.schema)().pointer("/properties/cursor").is_none() {
            continue;
        }
        tools += 1;
        let with = |cursor: &str| {
            let mut args = args(tool.name);
            args["cursor"] = cursor.into();
            call(&mut place(), tool.name, args)
        };
        for cursor in ["18446744073709551615", "18446744073709551516", "4294967295", "-1", "x", ""]
        {
            let Err(said) = with(cursor) else { panic!("{} took {cursor}", tool.name) };
            assert!(said.contains("`cursor`") && said.contains("first page"), "{said}");
        }
        let said = with(&"9".repeat(1 << 20)).unwrap_err();
        assert!(said.len() < 500, "{}", said.len());
        // A page after the last one is empty.
        assert!(with("2000000000").is_ok(), "{}", tool.name);
    }
    assert_eq!(tools, 6);
}

/// A module that many scripts with long names require, each several times on a long line.
fn crowd(line: &str) -> PlanningScene {
    let mut scene = Scene::empty(FileFormat::Binary);
    let storage = scene.create(scene.root(), "ReplicatedStorage", "ReplicatedStorage");
    let lib = scene.create(storage, "ModuleScript", "Lib");
    scene.set_source(lib, "return { open = 1 }".to_owned());
    for number in 0..400 {
        let name = format!("{}{number}", "long ".repeat(10));
        let node = scene.create(storage, "ModuleScript", &name);
        let text = format!("require(script.Parent.Lib).open() {line} require(script.Nobody)");
        scene.set_source(node, text);
    }
    scene.into()
}

/// Reads all pages of an answer. Returns the length of the longest page, and the total count.
#[track_caller]
fn pages(
    scene: &mut PlanningScene,
    tool: &str,
    args: &Json,
    count: impl Fn(&Json) -> usize,
) -> (usize, usize) {
    let (mut longest, mut counted, mut cursor) = (0, 0, None::<Json>);
    loop {
        let mut args = args.clone();
        if let Some(cursor) = &cursor {
            args["cursor"] = cursor.clone();
        }
        let Ok(Plan::Answer(answer)) = call(scene, tool, args) else { panic!("{tool}") };
        longest = longest.max(answer.to_string().len());
        counted += count(&answer);
        let next = answer.get("cursor").cloned();
        assert!(next.is_none() || next != cursor, "{answer}");
        let Some(next) = next else { return (longest, counted) };
        cursor = Some(next);
    }
}

#[test]
fn paged_answers_stay_short_and_omit_nothing() {
    let list = |it: &Json| it.as_array().map_or(0, Vec::len);
    let long = "é\u{1}".repeat(3_000);
    for line in ["", &format!("--[[{long}]]")] {
        let mut scene = crowd(line);
        let args = json!({ "path": "game.ReplicatedStorage.Lib", "name": "open", "limit": 500 });
        let hits = |answer: &Json| {
            answer["scripts"].as_array().unwrap().iter().map(|it| list(&it["hits"])).sum()
        };
        let (longest, counted) = pages(&mut scene, "find_references", &args, hits);
        assert!(longest < 40_000, "{longest}");
        assert_eq!(counted, 401);
        let scripts = |answer: &Json| list(&answer["scripts"]);
        for args in [json!({ "limit": 1000 }), json!({ "path": "game.ReplicatedStorage.Lib" })] {
            let (longest, counted) = pages(&mut scene, "get_dependency_graph", &args, scripts);
            assert!(longest < 40_000, "{longest}");
            assert_eq!(counted, 401);
        }
        let args = json!({ "query": "require", "limit": 500 });
        let found = |answer: &Json| list(&answer["matches"]);
        let (longest, counted) = pages(&mut scene, "search_files", &args, found);
        assert!(longest < 40_000, "{longest}");
        assert_eq!(counted, 400);
    }
    let mut scene = crowd("");
    let args = json!({ "path": "game.ReplicatedStorage.Lib", "name": "open", "limit": 500 });
    let Ok(Plan::Answer(answer)) = call(&mut scene, "find_references", args) else { panic!() };
    assert!(
        answer["note"].as_str().unwrap().contains("continue with `cursor`"),
        "{}",
        answer["note"]
    );
    assert_eq!(answer["total"], 401);
}

#[test]
fn cycles_and_paths_in_an_answer_are_cut() {
    let mut scene = Scene::empty(FileFormat::Binary);
    let storage = scene.create(scene.root(), "ReplicatedStorage", "ReplicatedStorage");
    let folder = scene.create(storage, "Folder", &"\u{1}".repeat(100_000));
    for number in 0..300 {
        let node = scene.create(folder, "ModuleScript", &format!("M{number}"));
        let next = (number + 1) % 300;
        scene.set_source(node, format!("return require(script.Parent.M{next})"));
    }
    let mut scene = PlanningScene::from(scene);
    let Ok(Plan::Answer(answer)) = call(&mut scene, "get_dependency_graph", json!({})) else {
        panic!()
    };
    assert!(answer.to_string().len() < 40_000, "{}", answer.to_string().len());
    assert!(answer["cursor"].is_string() && answer["moreCycles"] == 1, "{answer}");
    let folder = scene.resolve(&"game.ReplicatedStorage".parse().unwrap()).unwrap();
    let inner = scene.children(folder).next().unwrap();
    scene.scene_mut().rename(inner, "Ring");
    let Ok(Plan::Answer(answer)) = call(&mut scene, "get_dependency_graph", json!({})) else {
        panic!()
    };
    let ring = answer["cycles"][0].as_array().unwrap();
    assert_eq!((ring.len(), ring.last().unwrap()), (31, &json!("… and 270 more")));
}
