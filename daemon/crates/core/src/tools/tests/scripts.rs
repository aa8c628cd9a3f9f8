//! Tests of the script tools: syntax checks, formatting and specs.

use scene_schemas::proposal::{Mode, Warning};
use serde_json::json;

use super::*;
use crate::planning_scene::StyleFile;
use crate::policy;
use crate::tools::FetchRequest;

const MAIN_PATH: &str = "game.ServerScriptService.Main";

#[test]
fn syntax_validation_uses_the_compiler() {
    let good = answer("validate_syntax", json!({ "path": MAIN_PATH }));
    assert_eq!(good, json!({ "compiles": true, "errors": [] }));
    let bad = answer("validate_syntax", json!({ "text": "local a = 1\nlocal =" }));
    assert_eq!((&bad["compiles"], &bad["errors"][0]["line"]), (&json!(false), &json!(2)));
    refuse("validate_syntax", json!({}), "Give either");
    refuse("validate_syntax", json!({ "path": "game.Workspace.House" }), "House");
}

#[test]
fn script_is_formatted_with_the_project_settings() {
    let mut scene = place();
    let text = Ok("indent_type = \"Spaces\"\nindent_width = 2".to_owned());
    scene.set_style(Some(StyleFile { file: "stylua.toml".to_owned(), text }));
    let args = json!({ "path": MAIN_PATH });
    let Ok(Plan::Propose(proposal, answer)) = call(&mut scene, "format", args.clone()) else {
        panic!("it is a change");
    };
    assert_eq!((proposal.title.as_str(), &answer["changed"]), ("Format Main", &json!(true)));
    let main = at(&scene, MAIN_PATH);
    assert_eq!(scene.script_text(main).unwrap(), MAIN.replace('\t', "  "));
    let again = call(&mut scene, "format", args);
    assert!(matches!(again, Ok(Plan::Answer(_))), "{again:?}");
}

#[test]
fn only_the_requested_lines_are_formatted() {
    let mut scene = place();
    let main = at(&scene, MAIN_PATH);
    scene.scene_mut().set_source(main, "local  a = 1\nlocal  b = 2\nlocal  c = 3\n".to_owned());
    let args = json!({ "path": MAIN_PATH, "startLine": 2, "endLine": 2 });
    assert!(matches!(call(&mut scene, "format", args), Ok(Plan::Propose(..))));
    assert_eq!(scene.script_text(main).unwrap(), "local  a = 1\nlocal b = 2\nlocal  c = 3\n");
    let behind = json!({ "path": MAIN_PATH, "startLine": 90 });
    let refusal = call(&mut scene, "format", behind).unwrap_err();
    assert!(refusal.contains("nothing at lines 90 to 4"), "{refusal}");
    scene.scene_mut().set_source(main, "local =".to_owned());
    let refusal = call(&mut scene, "format", json!({ "path": MAIN_PATH })).unwrap_err();
    assert!(refusal.contains("does not compile: line 1"), "{refusal}");
    let text = Ok("nonsense = 1".to_owned());
    scene.set_style(Some(StyleFile { file: "x/stylua.toml".to_owned(), text }));
    let refusal = call(&mut scene, "format", json!({ "path": MAIN_PATH })).unwrap_err();
    assert!(refusal.contains("x/stylua.toml cannot be read"), "{refusal}");
}

#[test]
fn diagnostics_request_lists_the_scripts_to_check() {
    let wanted = |args: Json| match call(&mut place(), "get_diagnostics", args) {
        Ok(Plan::Look(look)) => match &*look {
            FetchRequest::Diagnostics(wanted) => wanted.scripts.len(),
            other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    };
    assert_eq!(wanted(json!({})), 2);
    assert_eq!(wanted(json!({ "paths": [MAIN_PATH] })), 1);
    assert_eq!(wanted(json!({ "root": "game.ServerScriptService" })), 2);
    refuse("get_diagnostics", json!({ "root": "game.Workspace" }), "no scripts below it");
    refuse("get_diagnostics", json!({ "paths": ["game.Workspace.House"] }), "House");
    refuse("get_diagnostics", json!({ "paths": [], "root": "game" }), "not both");
    refuse("run_tests", json!({}), "There are no specs");
}

#[test]
fn edit_warns_only_of_suspicious_code_it_adds() {
    let modes = [Mode::Confirm, Mode::Auto, Mode::Dangerous];
    let edited = |before: &str, search: &str, replace: &str| {
        let mut scene = place();
        let main = at(&scene, MAIN_PATH);
        scene.scene_mut().set_source(main, before.to_owned());
        let args = json!({ "path": MAIN_PATH, "source": before.replace(search, replace) });
        let Ok(Plan::Propose(proposal, _)) = call(&mut scene, "write_script", args) else {
            panic!("it is a change");
        };
        let is_security = |it: &&Warning| it.kind == WarningKind::Security;
        let said: Vec<_> = proposal.warnings.iter().filter(is_security).cloned().collect();
        let is_let_through = modes.iter().any(|mode| policy::can_auto_approve(*mode, &proposal));
        assert_eq!(is_let_through, said.is_empty());
        said.into_iter().map(|warning| warning.text).collect::<Vec<_>>()
    };
    let before = "local env = getfenv()\nlocal speed = 10\nreturn env, speed\n";
    assert_eq!(edited(before, "speed = 10", "speed = 12"), [""; 0]);
    assert_eq!(edited(before, "local env", "-- moved down\nlocal env"), [""; 0]);
    let added = edited(before, "speed = 10", "speed = require(123456)");
    let expected =
        format!("{MAIN_PATH}: Line 2 requires the asset 123456, code from outside the place.");
    assert_eq!(added, [expected]);
    assert_eq!(edited(before, "speed = 10", "speed = getfenv().x").len(), 1);
}

#[test]
fn service_lookalike_names_and_http_switch_need_second_confirmation() {
    let said = |tool: &str, args: Json| {
        let (_, proposal, _) = propose(tool, args);
        let security = proposal.warnings.iter().find(|it| it.kind == WarningKind::Security);
        let is_held = policy::needs_second_confirmation(&proposal);
        assert_eq!(security.is_some(), is_held);
        security.map_or(String::new(), |warning| warning.text.clone())
    };
    let create = |name: &str| json!({ "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": name } });
    let imitates = "The name \"HttpServlce\" looks like HttpService but is a different name.";
    assert_eq!(said("create_instance", create("HttpServlce")), imitates);
    assert_eq!(said("create_instance", create("Lightning")), "");
    let rename = json!({ "path": "game.Workspace.House", "newName": "HttpServlce" });
    assert_eq!(said("rename_instance", rename), imitates);
    let clone = json!({ "path": "game.Workspace.House", "name": "HttpServlce" });
    assert_eq!(said("clone_instance", clone), imitates);
    let mut scene = place();
    let game = scene.root();
    scene.scene_mut().create(game, "HttpService", "HttpService");
    for (on, is_held) in [(true, true), (false, false)] {
        let args = json!({ "path": "game.HttpService", "props": { "HttpEnabled": on } });
        let proposal = match call(&mut scene, "set_properties", args) {
            Ok(Plan::Propose(proposal, _)) => *proposal,
            other => panic!("{other:?}"),
        };
        assert_eq!(policy::needs_second_confirmation(&proposal), is_held, "{proposal:?}");
    }
}

/// Scripts that do not run: one is disabled, one is in ServerStorage, one is a module.
fn dormant() -> PlanningScene {
    let mut scene = place().into_scene();
    let storage = scene.create(scene.root(), "ServerStorage", "ServerStorage");
    let kit = scene.create(storage, "Folder", "Kit");
    let server = at(&scene, "game.ServerScriptService");
    let backdoor = "require(7712345678)\n";
    for (parent, class, name) in [
        (kit, "Script", "Stored"),
        (kit, "ModuleScript", "Module"),
        (server, "Script", "Off"),
        (server, "Script", "Runs"),
    ] {
        let script = scene.create(parent, class, name);
        scene.set_source(script, backdoor.to_owned());
    }
    let off = at(&scene, "game.ServerScriptService.Off");
    scene.set_property(off, "Disabled", Some(&Value::Bool(true))).unwrap();
    scene.into()
}

#[test]
fn activated_scripts_are_scanned_like_new_text() {
    let modes = [Mode::Confirm, Mode::Auto, Mode::Dangerous];
    let warned = |tool: &str, args: Json| {
        let mut scene = dormant();
        let proposal = match call(&mut scene, tool, args) {
            Ok(Plan::Propose(proposal, _)) => proposal,
            other => panic!("{other:?}"),
        };
        let is_security = |it: &&Warning| it.kind == WarningKind::Security;
        let said: Vec<String> =
            proposal.warnings.iter().filter(is_security).map(|it| it.text.clone()).collect();
        let is_let_through = modes.iter().any(|mode| policy::can_auto_approve(*mode, &proposal));
        assert_eq!(is_let_through, said.is_empty());
        said
    };
    let asset = |path: &str| {
        vec![format!("{path}: Line 1 requires the asset 7712345678, code from outside the place.")]
    };
    let (kit, server) = ("game.ServerStorage.Kit", "game.ServerScriptService");
    let stored = format!("{kit}.Stored");
    let copy = json!({ "path": stored, "parentPath": server, "name": "On" });
    assert_eq!(warned("clone_instance", copy), asset(&format!("{server}.On")));
    let same = json!({ "path": format!("{server}.Runs"), "name": "On" });
    assert_eq!(warned("clone_instance", same).len(), 1);
    let moved = json!({ "path": stored, "parentPath": server });
    assert_eq!(warned("move_instance", moved), asset(&format!("{server}.Stored")));
    let all = json!({ "path": kit, "parentPath": server });
    assert_eq!(warned("move_instance", all).len(), 2, "all that is in it");
    let renamed = json!({ "path": format!("{kit}.Module"), "newName": "Config" });
    assert_eq!(warned("rename_instance", renamed), asset(&format!("{kit}.Config")));
    let above = json!({ "path": kit, "newName": "Modules" });
    assert_eq!(warned("rename_instance", above).len(), 2);
    for on in [
        json!({ "Disabled": false }),
        json!({ "Enabled": true }),
        json!({ "RunContext": "Server" }),
    ] {
        let args = json!({ "path": format!("{server}.Off"), "props": on });
        assert_eq!(warned("set_properties", args), asset(&format!("{server}.Off")));
    }
    // Not flagged: a script that ran before, one that is switched off, and one that is deleted.
    let runs = format!("{server}.Runs");
    let clean: [(&str, Json); 4] = [
        ("move_instance", json!({ "path": runs, "parentPath": "game.Workspace" })),
        ("rename_instance", json!({ "path": runs, "newName": "Ran" })),
        ("set_properties", json!({ "path": runs, "props": { "Disabled": true } })),
        ("delete_instance", json!({ "path": stored })),
    ];
    for (tool, args) in clean {
        assert_eq!(warned(tool, args), [""; 0], "{tool}");
    }
}

#[test]
fn script_with_linked_source_needs_second_confirmation() {
    let link = json!({ "className": "Script", "parentPath": "game.Workspace",
        "props": { "Name": "Linked", "LinkedSource": "rbxassetid://7712345678" } });
    let (_, proposal, _) = propose("create_instance", link);
    assert!(policy::needs_second_confirmation(&proposal));
    let text = &proposal.warnings[0].text;
    assert!(text.starts_with("game.Workspace.Linked: LinkedSource is set"), "{text}");
    let args = json!({ "path": MAIN_PATH, "props": { "LinkedSource": "rbxassetid://1" } });
    assert!(policy::needs_second_confirmation(&propose("set_properties", args).1));
}
