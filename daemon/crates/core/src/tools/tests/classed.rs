//! Tests of the additive class, which mode `auto` applies without confirmation.

use scene_schemas::command::Props;

use super::*;

/// A place with existing contents in its services that new instances could affect.
fn yard() -> PlanningScene {
    let mut scene = Scene::empty(FileFormat::Binary);
    let game = scene.root();
    for name in [
        "Workspace",
        "Lighting",
        "ServerStorage",
        "ReplicatedStorage",
        "StarterGui",
        "Teams",
        "TextChatService",
        "ServerScriptService",
    ] {
        scene.create(game, name, name);
    }
    let player = scene.create(game, "StarterPlayer", "StarterPlayer");
    scene.create(player, "StarterPlayerScripts", "StarterPlayerScripts");
    scene.create(player, "StarterCharacterScripts", "StarterCharacterScripts");
    let workspace = at(&scene, "game.Workspace");
    let house = scene.create(workspace, "Model", "House");
    for name in ["Wall", "Door"] {
        scene.create(house, "Part", name);
    }
    let gui = scene.create(at(&scene, "game.StarterGui"), "ScreenGui", "Menu");
    scene.create(gui, "Frame", "Frame");
    let main = scene.create(at(&scene, "game.ServerScriptService"), "Script", "Main");
    scene.set_source(main, MAIN.to_owned());
    let bytes = scene.encode().unwrap();
    Scene::decode(&bytes).unwrap().into()
}

#[track_caller]
fn class_of(tool: &str, args: Json) -> Class {
    match call(&mut yard(), tool, args.clone()) {
        Ok(Plan::Propose(proposal, _)) => proposal.class,
        other => panic!("{tool} {args}: {other:?}"),
    }
}

#[track_caller]
fn made(class: &str, parent: &str, props: Json, expected: Class) {
    let args = json!({ "className": class, "parentPath": parent, "props": props });
    assert_eq!(class_of("create_instance", args), expected, "{class} in {parent} with {props}");
}

#[test]
fn new_instances_affecting_existing_ones_are_modifying() {
    use Class::Modifying;
    let scripts = "game.StarterPlayer.StarterPlayerScripts";
    for name in ["PlayerModule", "PlayerScriptsLoader", "RbxCharacterSounds"] {
        made("ModuleScript", scripts, json!({ "Name": name }), Modifying);
    }
    for name in ["Animate", "Health", "Sound"] {
        let parent = "game.StarterPlayer.StarterCharacterScripts";
        made("Script", parent, json!({ "Name": name }), Modifying);
    }
    made("Model", "game.StarterPlayer", json!({ "Name": "StarterCharacter" }), Modifying);
    made("TextChatCommand", "game.TextChatService", json!({}), Modifying);
    made("ColorCorrectionEffect", "game.Lighting", json!({ "Brightness": -1 }), Modifying);
    made("Sky", "game.Lighting", json!({}), Modifying);
    made("BlurEffect", "game.Workspace", json!({}), Modifying);
    made("SpawnLocation", "game.Workspace", json!({}), Modifying);
    made("Team", "game.Teams", json!({}), Modifying);
    made("Explosion", "game.Workspace", json!({}), Modifying);
    made("Sound", "game.Workspace", json!({ "Playing": true }), Modifying);
    made("Decal", "game.Workspace.House.Wall", json!({}), Modifying);
    made("BodyVelocity", "game.Workspace.House.Wall", json!({}), Modifying);
    made("Humanoid", "game.Workspace.House", json!({}), Modifying);
    made("Highlight", "game.Workspace.House", json!({}), Modifying);
    made("UIScale", "game.StarterGui.Menu.Frame", json!({}), Modifying);
    made("Folder", "game.Workspace", json!({ "Name": "House" }), Modifying);
    made("Folder", scripts, json!({ "Name": "PlayerModule" }), Modifying);
    let wall = "game.Workspace.House.Wall";
    for class in
        ["ProximityPrompt", "ClickDetector", "Dialog", "WrapLayer", "ParticleEmitter", "SurfaceGui"]
    {
        made(class, wall, json!({}), Modifying);
    }
    made("InputContext", "game.StarterPlayer", json!({ "Priority": 10000 }), Modifying);
    made("TerrainDetail", "game.Workspace", json!({}), Modifying);
    made("AdPortal", "game.Workspace", json!({}), Modifying);
    made("AdGui", wall, json!({}), Modifying);
    made("ModuleScript", "game.ServerScriptService", json!({ "Name": "Main" }), Modifying);
}

#[test]
fn new_instances_affecting_nothing_existing_are_additive() {
    use Class::Additive;
    made("Part", "game.Workspace", json!({}), Additive);
    made("Part", "game.Workspace.House", json!({ "Name": "Roof" }), Additive);
    made("Script", "game.ServerScriptService", json!({ "Name": "Other" }), Additive);
    made("LocalScript", "game.StarterPlayer.StarterPlayerScripts", json!({}), Additive);
    made("Script", "game.StarterPlayer.StarterCharacterScripts", json!({}), Additive);
    made("Sky", "game.ServerStorage", json!({}), Additive);
    made("Sound", "game.Workspace", json!({}), Additive);
    made("PointLight", "game.Workspace.House.Wall", json!({}), Additive);
    made("Frame", "game.StarterGui.Menu", json!({ "Name": "Shop" }), Additive);
    made("WeldConstraint", "game.Workspace", json!({}), Additive);
    made("SurfaceGui", "game.StarterGui", json!({}), Additive);
    made("Model", "game.Workspace", json!({ "Name": "Tower" }), Additive);
    let own = json!({
        "className": "Model", "parentPath": "game.Workspace", "props": { "Name": "Guard" },
        "children": [
            { "className": "Humanoid" },
            { "className": "Part", "children": [{ "className": "Decal" }, { "className": "UIScale" }] },
        ],
    });
    assert_eq!(class_of("create_instance", own), Additive);
}

#[test]
fn class_is_judged_by_the_final_name_and_parent() {
    let change = |tool: &str, args: Json| json!({ "tool": tool, "args": args });
    let all = |changes: Vec<Json>| json!({ "title": "Tidy", "changes": changes });
    let folder = "game.ReplicatedStorage.New";
    let hidden = all(vec![
        change(
            "create_instance",
            json!({ "className": "ModuleScript",
            "parentPath": "game.ReplicatedStorage", "props": { "Name": "New" } }),
        ),
        change("rename_instance", json!({ "path": folder, "newName": "PlayerModule" })),
        change(
            "move_instance",
            json!({ "path": "game.ReplicatedStorage.PlayerModule",
            "parentPath": "game.StarterPlayer.StarterPlayerScripts" }),
        ),
    ]);
    assert_eq!(class_of("propose_changes", hidden), Class::Modifying);
    let lit = all(vec![
        change(
            "create_instance",
            json!({ "className": "Sky", "parentPath": "game.ServerStorage" }),
        ),
        change(
            "move_instance",
            json!({ "path": "game.ServerStorage.Sky", "parentPath": "game.Lighting" }),
        ),
    ]);
    assert_eq!(class_of("propose_changes", lit), Class::Modifying);
}

#[test]
fn joints_between_existing_instances_are_modifying() {
    let mut scene = yard();
    let (wall, door) =
        (at(&scene, "game.Workspace.House.Wall"), at(&scene, "game.Workspace.House.Door"));
    let to = |node| Some(Value::Ref(Some(scene.target(node))));
    let props = [("Part0".to_owned(), to(wall)), ("Part1".to_owned(), to(door))];
    let workspace = at(&scene, "game.Workspace");
    let blobs = BlobStore::new();
    let mut draft = crate::proposal::ProposalDraft::new(&mut scene, &blobs);
    draft.create_instance(workspace, "WeldConstraint", "Weld", props.into()).unwrap();
    let proposal = draft.finish(&base()).unwrap();
    assert_eq!(proposal.class, Class::Modifying);
    let why = crate::proposal::class_reason(&proposal);
    let said =
        "It adds 1 instance, and game.Workspace.Weld joins, moves or connects existing instances.";
    assert_eq!(why, said);
}

#[test]
fn reference_to_existing_instance_is_modifying_for_any_class() {
    let wall = "game.Workspace.House.Wall";
    for (class, parent, property) in [
        ("Highlight", "game.StarterGui", "Adornee"),
        ("SelectionBox", "game.Workspace", "Adornee"),
        ("SurfaceGui", "game.StarterGui", "Adornee"),
        ("IKControl", "game.Workspace", "EndEffector"),
        ("ControllerManager", "game.Workspace", "RootPart"),
        ("Model", "game.Workspace", "PrimaryPart"),
        ("ObjectValue", "game.ServerStorage", "Value"),
    ] {
        made(class, parent, json!({ "Name": "New", property: wall }), Class::Modifying);
    }
    let mut scene = yard();
    let props = json!({ "Name": "New", "Value": wall });
    let args =
        json!({ "className": "ObjectValue", "parentPath": "game.ServerStorage", "props": props });
    let Ok(Plan::Propose(proposal, _)) = call(&mut scene, "create_instance", args) else {
        panic!("no proposal");
    };
    assert_eq!(
        crate::proposal::class_reason(&proposal),
        "It adds 1 instance, and game.ServerStorage.New refers to existing instances."
    );
}

#[test]
fn references_among_new_instances_are_additive() {
    let mut scene = yard();
    let workspace = at(&scene, "game.Workspace");
    let blobs = BlobStore::new();
    let mut draft = crate::proposal::ProposalDraft::new(&mut scene, &blobs);
    let tower = draft.create_instance(workspace, "Model", "Tower", Props::new()).unwrap();
    let base_part = draft.create_instance(tower, "Part", "Base", Props::new()).unwrap();
    let to = Some(Value::Ref(Some(draft.scene().target(base_part))));
    draft.set_properties(tower, [("PrimaryPart".to_owned(), to)].into()).unwrap();
    assert_eq!(draft.finish(&base()).unwrap().class, Class::Additive);
}

#[test]
fn script_edits_are_classified_by_syntax_tree() {
    let path = "game.ServerScriptService.Main";
    let edit = |search: &str, replace: &str| {
        let args = json!({ "path": path, "search": search, "replace": replace });
        class_of("replace_text", args)
    };
    assert_eq!(edit("end\n\nrun()\n", "end\n\nrun()\n-- done\n"), Class::Additive);
    assert_eq!(edit("local speed = 10", "local speed = 100"), Class::Modifying);
    assert_eq!(edit("\tprint(speed)", "\t--print(speed)"), Class::Modifying);
    let whole = |source: &str| class_of("write_script", json!({ "path": path, "source": source }));
    assert_eq!(whole(&format!("{MAIN}local function later() end\n")), Class::Additive);
    assert_eq!(whole(&format!("--[[\n{MAIN}]]\n")), Class::Modifying);
    assert_eq!(whole("print(1)\n"), Class::Destructive);
    let other = "local a = 1\nlocal b = 2\nlocal c = 3\nlocal d = 4\nlocal e = 5\nlocal f = 6\nlocal g = 7\nlocal h = 8\n";
    assert_eq!(whole(other), Class::Destructive);
}

#[test]
fn change_list_explains_how_to_call_read_only_tools() {
    let list =
        json!({ "title": "x", "changes": [{ "tool": "get_diagnostics", "args": {}, "line": 1 }] });
    refuse("propose_changes", list, "--keep-going");
    let model = json!({ "title": "x", "changes": [{ "tool": "get_diagnostics", "args": {} }] });
    refuse("propose_changes", model, "Call it outside of propose_changes.");
}

#[test]
fn studio_only_tool_says_so_despite_missing_arguments() {
    let mut project = Scene::empty(FileFormat::Binary);
    let game = project.root();
    project.create(game, "ServerScriptService", "ServerScriptService");
    let refused = call(&mut project.into(), "reveal", json!({})).unwrap_err();
    assert!(refused.contains("is a file that is not open in Studio"), "{refused}");
    let named: Vec<_> = crate::tools::TOOLS.iter().filter(|it| it.needs_studio()).collect();
    assert_eq!(named.len(), 5, "{named:?}");
    assert!(crate::tools::find_tool("capture_viewport").is_err());
}
