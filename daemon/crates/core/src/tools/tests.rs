//! Tests of the tools' answers, proposals and refusals on a small place.

mod classed;
mod code;
mod footprints;
mod offered;
mod open;
mod sandboxed;
mod scripts;

use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Change, Class, Proposal, WarningKind};
use scene_schemas::{Command, Fingerprint, Value};
use serde_json::{Value as Json, json};
use vector_place::{FileFormat, Node, Scene};

use super::{Plan, plan_call};
use crate::planning_scene::PlanningScene;
use crate::proposal::{BlobStore, ProposalDraft, draft_with_scripts, perform_command};

const MAIN: &str = "local speed = 10\n\nlocal function run()\n\tprint(speed)\nend\n\nrun()\n";

/// A place with two parts named Wall, a part with a dot in its name and a model in Workspace, and a
/// script and a module in ServerScriptService.
fn place() -> PlanningScene {
    let mut scene = Scene::empty(FileFormat::Binary);
    let game = scene.root();
    let workspace = scene.create(game, "Workspace", "Workspace");
    let server = scene.create(game, "ServerScriptService", "ServerScriptService");
    for x in [0.0, 8.0] {
        let wall = scene.create(workspace, "Part", "Wall");
        let at = rbx_types::CFrame::new(
            rbx_types::Vector3::new(x, 0.0, 0.0),
            rbx_types::Matrix3::identity(),
        );
        scene.set_property(wall, "CFrame", Some(&Value::CFrame(at))).unwrap();
    }
    scene.create(workspace, "Part", "My.Part");
    let model = scene.create(workspace, "Model", "House");
    let door = scene.create(model, "Part", "Door");
    scene.set_property(door, "Tags", Some(&Value::Tags(vec!["Openable".to_owned()]))).unwrap();
    let pointer = scene.create(model, "ObjectValue", "Pointer");
    let to = scene.target(door);
    scene.set_property(pointer, "Value", Some(&Value::Ref(Some(to)))).unwrap();
    for (class, name, text) in
        [("Script", "Main", MAIN), ("ModuleScript", "Config", "return { speed = 10 }\n")]
    {
        let script = scene.create(server, class, name);
        scene.set_source(script, text.to_owned());
    }
    let bytes = scene.encode().unwrap();
    Scene::decode(&bytes).unwrap().into()
}

fn base() -> Fingerprint {
    Fingerprint::hash_bytes(b"base")
}

fn call(scene: &mut PlanningScene, tool: &str, args: Json) -> Result<Plan, String> {
    plan_call(Seq(7), tool, &args, scene, &base(), &BlobStore::new(), None)
        .map_err(|refusal| refusal.0)
}

#[track_caller]
fn answer(tool: &str, args: Json) -> Json {
    match call(&mut place(), tool, args) {
        Ok(Plan::Answer(answer)) => answer,
        other => panic!("{tool}: {other:?}"),
    }
}

#[track_caller]
fn propose(tool: &str, args: Json) -> (PlanningScene, Proposal, Json) {
    let mut scene = place();
    match call(&mut scene, tool, args) {
        Ok(Plan::Propose(proposal, answer)) => (scene, *proposal, answer),
        other => panic!("{tool}: {other:?}"),
    }
}

#[track_caller]
fn refuse(tool: &str, args: Json, said: &str) {
    let mut scene = place();
    let before = scene.scene_mut().encode().unwrap();
    match call(&mut scene, tool, args) {
        Err(sentence) => assert!(sentence.contains(said), "{sentence}"),
        other => panic!("{tool}: {other:?}"),
    }
    assert_eq!(scene.scene_mut().encode().unwrap(), before, "a refusal changes nothing");
}

#[track_caller]
fn at(scene: &Scene, path: &str) -> Node {
    scene.resolve(&path.parse().unwrap()).unwrap()
}

#[test]
fn children_are_listed_and_paged() {
    let all = answer("list_children", json!({ "parentPath": "game.Workspace" }));
    assert_eq!(
        all["children"][0],
        json!({ "path": "game.Workspace.Wall[1]", "class": "Part", "childCount": 0 })
    );
    assert_eq!(all["children"][2]["path"], r#"game.Workspace["My.Part"]"#);
    let page = json!({ "parentPath": "game", "depth": 3, "maxNodes": 4, "cursor": "4" });
    let page = answer("list_children", page);
    assert_eq!(page["children"][0]["path"], "game.Workspace.House");
    assert_eq!(page["cursor"], "8");
    let only = json!({ "parentPath": "game", "depth": 9, "classWhitelist": { "Script": true } });
    assert_eq!(answer("list_children", only)["children"].as_array().unwrap().len(), 1);
}

#[test]
fn properties_include_defaults_and_unknown_keys_are_listed() {
    let got = answer(
        "get_properties",
        json!({ "path": "game.Workspace.Wall[2]", "keys": ["Position", "Anchored", "Nope", "Material"] }),
    );
    assert_eq!(got["properties"]["Position"], json!({ "__t": "Vector3", "x": 8, "y": 0, "z": 0 }));
    assert_eq!(got["properties"]["Anchored"], json!(false));
    assert_eq!(got["properties"]["Material"]["name"], "Plastic");
    assert_eq!(got["unknown"], json!(["Nope"]));
    let short =
        answer("get_properties", json!({ "path": "game.Workspace.Wall[1]", "maxBytes": 300 }));
    assert_eq!(short["truncated"], true);
    assert!(short["rest"].as_array().unwrap().len() > 5);
}

#[test]
fn scripts_are_read_searched_and_outlined() {
    let path = "game.ServerScriptService.Main";
    let part = answer("read_script", json!({ "path": path, "startLine": 3, "endLine": 4 }));
    assert_eq!(part["text"], "local function run()\n\tprint(speed)\n");
    assert_eq!(part["totalLines"], 7);
    let found = answer("search_files", json!({ "query": "SPEED" }));
    assert_eq!(found["total"], 3);
    assert_eq!(found["matches"][1]["before"], json!(["", "local function run()"]));
    let names = answer("list_code_definition_names", json!({ "path": path }));
    assert_eq!(names["scripts"][0]["definitions"][0]["name"], "run");
    refuse(
        "search_files",
        json!({ "query": "(", "regex": true }),
        "not a valid regular expression",
    );
    refuse("read_script", json!({ "path": "game.Workspace.House" }), "is a Model, not a script");
}

#[test]
fn instance_is_created_with_its_children() {
    let (scene, proposal, answer) = propose(
        "create_instance",
        json!({
            "className": "Model",
            "parentPath": "game.Workspace",
            "props": { "Name": "Tower", "@Height": 3, "Tags": ["Tall"] },
            "children": [
                { "className": "Part", "props": { "Size": [4, 1, 2], "Material": "Neon", "BrickColor": "Bright red" } },
                { "className": "Script", "props": { "Source": "print(1)\n" } },
            ],
        }),
    );
    assert_eq!(answer, json!({ "path": "game.Workspace.Tower", "count": 3 }));
    assert_eq!(proposal.class, Class::Additive);
    assert_eq!(proposal.commands.len(), 3);
    assert_eq!(proposal.preview.scripts[0].added, 1);
    let part = at(&scene, "game.Workspace.Tower.Part");
    assert_eq!(scene.value(part, "Material").unwrap().to_brief(), "Neon");
    assert_eq!(scene.value(part, "Color").unwrap().to_brief(), "#c4281c");
    assert_eq!(
        scene.value(at(&scene, "game.Workspace.Tower"), "@Height"),
        Some(Value::Float64(3.0))
    );
}

#[test]
fn missing_parents_below_workspace_are_created_with_warnings() {
    let (_, proposal, answer) = propose(
        "create_instance",
        json!({ "className": "Part", "parentPath": "game.Workspace.A.B" }),
    );
    assert_eq!(answer["path"], "game.Workspace.A.B.Part");
    let kinds: Vec<_> = proposal.warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::ParentCreated, WarningKind::ParentCreated]);
    refuse(
        "create_instance",
        json!({ "className": "Part", "parentPath": "game.ReplicatedStorage.A" }),
        "There is no `game.ReplicatedStorage.A`",
    );
}

#[test]
fn invalid_arguments_are_refused_with_suggestions() {
    let set = |props: Json| json!({ "path": "game.Workspace.House.Door", "props": props });
    refuse("set_property", json!({}), "`set_properties`");
    refuse("set_properties", set(json!({ "Colour": "#fff000" })), "`Color`");
    refuse("set_properties", set(json!({ "Material": "Noen" })), "`Neon`");
    refuse("set_properties", set(json!({ "Size": "big" })), "3 numbers are needed");
    refuse("set_properties", set(json!({ "Anchored": 1 })), "true or false");
    refuse("set_properties", set(json!({ "Transparency": 1e39 })), "too large");
    refuse("set_properties", set(json!({ "Parent": "game.Workspace" })), "move_instance");
    refuse("set_properties", set(json!({ "@a b": 1 })), "attribute");
    let nan = json!({ "__t": "Vector3", "x": "nan", "y": 0, "z": 0 });
    refuse("set_properties", set(json!({ "Size": nan })), "finite");
    refuse(
        "create_instance",
        json!({ "className": "Prat", "parentPath": "game.Workspace" }),
        "`Part`",
    );
    refuse(
        "create_instance",
        json!({ "className": "Part", "parentPath": "game" }),
        "only services",
    );
    refuse("delete_instance", json!({ "path": "game.Workspace" }), "is a service");
    refuse("delete_instance", json!({ "path": "game.Workspace.Wall" }), "fits 2 siblings");
    refuse("delete_instance", json!({ "path": "game.Workspace.Wal" }), "`Wall`");
    refuse("delete_instance", json!({ "selector": "Part.Nope" }), "matches nothing");
    refuse("delete_instance", json!({ "path": "game", "paths": [] }), "Give exactly one");
    refuse("delete_instance", json!({ "path": "game", "extra": 1 }), "unknown field `extra`");
    let into = json!({ "path": "game.Workspace.House", "parentPath": "game.Workspace.House.Door" });
    refuse("move_instance", into, "a part of it");
}

#[test]
fn one_proposal_changes_all_instances_matching_a_selector() {
    let (scene, proposal, answer) = propose(
        "set_properties",
        json!({ "selector": "Part", "props": { "Color": "#ff8800", "Position": [0, 5, 0] } }),
    );
    assert_eq!(answer, json!({ "changed": 4, "unchanged": 0 }));
    assert_eq!(proposal.class, Class::Modifying);
    assert_eq!(proposal.commands.len(), 4);
    assert_eq!(
        scene.value(at(&scene, "game.Workspace.Wall[2]"), "Position").unwrap().to_brief(),
        "0, 5, 0"
    );
    let again = call(
        &mut place(),
        "set_properties",
        json!({ "selector": "Part", "props": { "Anchored": false } }),
    );
    assert_eq!(again, Ok(Plan::Answer(json!({ "changed": 0, "unchanged": 4 }))));
}

#[test]
fn deletion_warns_of_references_that_are_lost() {
    let (_, proposal, _) =
        propose("delete_instance", json!({ "path": "game.Workspace.House.Door" }));
    assert_eq!(proposal.class, Class::Destructive);
    assert!(proposal.warnings[0].text.contains("game.Workspace.House.Pointer.Value"));
    let (_, proposal, answer) = propose("delete_instance", json!({ "selector": "#House, Part" }));
    assert_eq!(answer, json!({ "deleted": 4 }));
    assert_eq!(proposal.preview.rows[0].change, Change::Deleted { count: 3 });
}

#[test]
fn scripts_are_edited_and_must_compile() {
    let path = "game.ServerScriptService.Main";
    let edit = |text: &str| {
        let at = json!({ "line": 0, "character": 14 });
        let to = json!({ "line": 0, "character": 16 });
        json!({ "path": path, "edits": [{ "start": at, "end": to, "text": text }] })
    };
    let (scene, proposal, _) = propose("apply_edit", edit("20"));
    assert_eq!(proposal.preview.scripts[0].hunks.len(), 1);
    assert!(scene.script_text(at(&scene, path)).unwrap().starts_with("local speed = 20\n"));
    refuse("apply_edit", edit("= ="), "would no longer compile: line 1");
    let diff = answer("show_diff", edit("20"));
    assert!(diff["diff"].as_str().unwrap().contains("-local speed = 10\n+local speed = 20\n"));
    let many = json!({ "selector": "LuaSourceContainer", "search": "speed", "replace": "pace", "all": true });
    let (_, proposal, answer) = propose("replace_text", many);
    assert_eq!(answer["scripts"].as_array().unwrap().len(), 2);
    assert_eq!(proposal.commands.len(), 2);
    let once = json!({ "path": path, "search": "speed", "replace": "pace" });
    refuse("replace_text", once, "1, 4");
    let long = "-".repeat(200_000);
    refuse("write_script", json!({ "path": path, "source": long }), "200000 characters");
}

#[test]
fn patches_apply_need_review_or_are_refused() {
    let path = "game.ServerScriptService.Main";
    let patch = |patch: &str| json!({ "path": path, "patch": patch });
    for header in ["", "--- Main\n+++ Main\n", "--- a/ServerScriptService/Main.server.luau\n"] {
        let hunk = format!("{header}@@ -1 +1 @@\n-local speed = 10\n+local speed = 20\n");
        let (scene, proposal, answer) = propose("apply_patch", patch(&hunk));
        assert_eq!((answer["stage"].as_str(), proposal.warnings.len()), (Some("exact"), 0));
        assert!(scene.script_text(at(&scene, path)).unwrap().starts_with("local speed = 20\n"));
    }
    let (_, proposal, answer) =
        propose("apply_patch", patch("@@\n-local speed =  10\n+local speed = 20\n"));
    assert_eq!(answer["stage"], "whitespace");
    assert_eq!(proposal.warnings[0].kind, WarningKind::Fuzzy);
    refuse("apply_patch", patch("@@ -1 +1 @@\n-local pace = 10\n+x\n"), "Hunk 1 does not fit");
    refuse("apply_patch", patch("--- Config\n+++ Config\n@@ -1 +1 @@\n-a\n+b\n"), "for `Config`");
    refuse("apply_patch", patch("@@ -1 +1 @@\n-local speed = 10\n+local speed =\n"), "compile");
}

#[test]
fn script_edits_are_checked_for_placeholders_fuzziness_and_lints() {
    let path = "game.ServerScriptService.Main";
    let left_out = "local speed = 20\n-- ... rest of the code ...\n";
    refuse(
        "write_script",
        json!({ "path": path, "source": left_out }),
        "a placeholder for omitted code",
    );
    let loose =
        json!({ "path": path, "search": "local  speed = 10\n", "replace": "local speed = 20\n" });
    let (_, proposal, _) = propose("replace_text", loose);
    assert_eq!(proposal.warnings[0].kind, WarningKind::Fuzzy);
    let text = "local speed = 10\nprint(sped)\nprint(Enum.Material.Neom)\n";
    let (_, proposal, _) = propose("write_script", json!({ "path": path, "source": text }));
    let warnings: Vec<_> = proposal.warnings.iter().map(|it| (it.kind, it.text.as_str())).collect();
    let said = |text| (WarningKind::Lint, text);
    assert_eq!(
        warnings[0],
        said("game.ServerScriptService.Main: line 2: `sped` is not defined (undefined_variable)")
    );
    assert!(warnings[1].1.contains("line 3") && warnings[1].1.contains("`Neom`"), "{warnings:?}");
}

#[test]
fn later_changes_of_one_proposal_see_earlier_ones() {
    let script = "game.ServerScriptService.Shop";
    let changes = json!([
        { "tool": "create_instance", "args": { "className": "Folder", "parentPath": "game.ServerScriptService", "props": { "Name": "Shop" } } },
        { "tool": "open_or_create_script", "args": { "parentPath": script, "name": "Init" } },
        { "tool": "write_script", "args": { "path": format!("{script}.Init"), "source": "print('shop')\n" } },
        { "tool": "rename_instance", "args": { "path": script, "newName": "Store" } },
    ]);
    let (scene, proposal, answer) =
        propose("propose_changes", json!({ "title": "A shop", "changes": changes }));
    assert_eq!(proposal.title, "A shop");
    assert_eq!(proposal.class, Class::Additive);
    assert_eq!(answer["results"][3]["path"], "game.ServerScriptService.Store");
    assert_eq!(
        scene.script_text(at(&scene, "game.ServerScriptService.Store.Init")).as_deref(),
        Some("print('shop')\n")
    );
    let bad = json!([
        { "tool": "rename_instance", "args": { "path": "game.Workspace.House", "newName": "Home" } },
        { "tool": "delete_instance", "args": { "path": "game.Workspace.House" }, "line": 9 },
    ]);
    refuse(
        "propose_changes",
        json!({ "title": "", "changes": bad }),
        "line 9: delete_instance: There is no",
    );
}

#[test]
fn same_call_gives_the_same_patch_id() {
    let args = || json!({ "path": "game.Workspace.House", "name": "Second" });
    let (_, first, _) = propose("clone_instance", args());
    let (scene, second, _) = propose("clone_instance", args());
    assert_eq!(first.patch_id, second.patch_id);
    assert!(matches!(&first.commands[0], Command::Clone { count: 3, .. }));
    // References within the copied subtree point to the copies.
    let pointer = at(&scene, "game.Workspace.Second.Pointer");
    let Some(Value::Ref(Some(to))) = scene.value(pointer, "Value") else { panic!("no reference") };
    assert_eq!(to.path.to_string(), "game.Workspace.Second.Door");
}

fn unscanned(file: Vec<u8>) -> crate::asset_scan::DownloadedAsset {
    crate::asset_scan::DownloadedAsset { file, findings: None }
}

#[test]
fn asset_for_a_place_file_is_downloaded_and_pinned() {
    let mut scene = place();
    let args = || json!({ "assetId": 5, "parentPath": "game.Workspace.House" });
    assert!(call(&mut scene, "insert_asset", args()).is_err());
    assert_eq!((scene.take_missing_asset(), scene.take_missing_asset()), (Some(5), None));
    scene.add_asset(Seq(7), 5, Err("Asset 5 is private.".to_owned()));
    let refused = call(&mut scene, "insert_asset", args()).unwrap_err();
    assert_eq!(refused, "insert_asset: Asset 5 is private.");
    let mut model = Scene::empty(FileFormat::Xml);
    let root = model.root();
    let tree = model.create(root, "Model", "Tree");
    let trunk = model.create(tree, "Part", "Trunk");
    let grow = model.create(trunk, "Script", "Grow");
    model.set_source(grow, "print(1)\n".to_owned());
    let to = model.target(trunk);
    model.set_property(tree, "PrimaryPart", Some(&Value::Ref(Some(to)))).unwrap();
    let bytes = model.encode().unwrap();
    scene.add_asset(Seq(7), 5, Ok(unscanned(bytes.clone())));
    let hash = Fingerprint::hash_bytes(&bytes);
    let mark = scene.journal_mark();
    let before = scene.scene_mut().encode().unwrap();
    let Ok(Plan::Propose(proposal, answer)) = call(&mut scene, "insert_asset", args()) else {
        panic!("it is not proposed")
    };
    assert_eq!((&answer["count"], &answer["leftOut"]), (&json!(2), &json!(1)));
    assert!(
        matches!(&proposal.commands[0], Command::Insert { blob: Some(blob), .. } if *blob == hash)
    );
    let tree = at(&scene, "game.Workspace.House.Tree");
    let Some(Value::Ref(Some(to))) = scene.value(tree, "PrimaryPart") else { panic!() };
    assert_eq!(to.path.to_string(), "game.Workspace.House.Tree.Trunk");
    scene.rollback(mark);
    assert_eq!(scene.scene_mut().encode().unwrap(), before);
    // The text that was shown is the one that runs, and what the file cannot hold is refused now.
    let mut odd = Scene::empty(FileFormat::Xml);
    let root = odd.root();
    let module = odd.create(root, "ModuleScript", "Module");
    odd.set_source(module, "return 1\n".to_owned());
    let linked = Value::String("rbxassetid://1".to_owned());
    odd.set_property(module, "LinkedSource", Some(&linked)).unwrap();
    scene.add_asset(Seq(7), 6, Ok(unscanned(odd.encode().unwrap())));
    let Ok(Plan::Propose(module, _)) = call(&mut scene, "insert_asset", json!({ "assetId": 6 }))
    else {
        panic!("it is not proposed")
    };
    scene.rollback(mark);
    scene.begin_scope(Seq(7));
    let none = BlobStore::new();
    draft_with_scripts(&mut ProposalDraft::new(&mut scene, &none), &module, &[0], false).unwrap();
    let kept = at(&scene, "game.Workspace.Module");
    assert_eq!(scene.stored_value(kept, "LinkedSource"), None);
    scene.rollback(mark);
    let mut xml = Scene::empty(FileFormat::Xml);
    let root = xml.root();
    xml.create(root, "Workspace", "Workspace");
    let mut xml: PlanningScene = Scene::decode(&xml.encode().unwrap()).unwrap().into();
    let mut odd = Scene::empty(FileFormat::Binary);
    let root = odd.root();
    let model = odd.create(root, "Model", "Tree");
    odd.create(model, "Part", "a\u{1}");
    xml.add_asset(Seq(7), 7, Ok(unscanned(odd.encode().unwrap())));
    let refused = call(&mut xml, "insert_asset", json!({ "assetId": 7 })).unwrap_err();
    assert!(refused.contains("U+0001"), "{refused}");
    assert_eq!(xml.len(), 1);
    // Elsewhere it is read from the ledger, and must be what was planned.
    let command = proposal.commands[0].clone();
    let mut other = place();
    other.begin_scope(Seq(7));
    let lost = perform_command(&mut other, &command, &BlobStore::new()).unwrap_err();
    assert!(lost.0.contains("no longer in the ledger"), "{lost}");
    let blobs = BlobStore::from([(hash, bytes)]);
    let mut changed = command.clone();
    let Command::Insert { contents, .. } = &mut changed else { panic!() };
    contents.names[1] = "Stem".to_owned();
    assert!(perform_command(&mut other, &changed, &blobs).unwrap_err().0.contains("damaged"));
    perform_command(&mut other, &command, &blobs).unwrap();
    assert_eq!(other.len(), scene.len() + 2);
}

#[test]
fn place_file_has_no_selection() {
    for (tool, args) in [
        ("rename_instance", json!({ "newName": "A" })),
        ("delete_instance", json!({})),
        ("list_children", json!({})),
        ("read_script", json!({})),
    ] {
        refuse(tool, args, "is missing: give a path");
    }
    let (scene, proposal, _) = propose("create_instance", json!({ "className": "Folder" }));
    at(&scene, "game.Workspace.Folder");
    assert_eq!(proposal.implicit_target.unwrap().describe(), "Path left out: game.Workspace");
}

#[test]
fn proposal_title_uses_the_name_before_the_rename() {
    let args = json!({
        "path": "game.Workspace.House", "props": { "Name": "Hut", "@Size": 2 },
    });
    let (_, proposal, _) = propose("set_properties", args);
    assert_eq!(proposal.title, "Set attribute Size and Name of House");
}
