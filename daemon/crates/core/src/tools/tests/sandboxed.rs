//! Tests of the sandbox of kept scripts: its containers, what the card says, and what would undo it.

use scene_schemas::Command;
use scene_schemas::command::{AssetContents, AssetScript};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Proposal, WarningKind};
use scene_schemas::sandbox::ScriptSandbox;
use scene_schemas::value::{EnumItem, EnumName};
use serde_json::{Value as Json, json};
use vector_place::{FileFormat, Scene};

use super::super::Plan;
use super::{at, base, call, unscanned};
use crate::planning_scene::PlanningScene;
use crate::proposal::{
    BlobStore, ProposalDraft, draft_with_scripts, keep_same_scripts, sandbox_state,
};

fn propose(scene: &mut PlanningScene, tool: &str, args: Json) -> Proposal {
    let mark = scene.journal_mark();
    let plan = call(scene, tool, args);
    scene.rollback(mark);
    match plan {
        Ok(Plan::Propose(proposal, _)) => *proposal,
        other => panic!("{other:?}"),
    }
}

fn keep(
    scene: &mut PlanningScene,
    proposal: &Proposal,
    scripts: &[u32],
    is_sandboxed: bool,
) -> Result<Proposal, String> {
    let mark = scene.journal_mark();
    scene.begin_scope(Seq(7));
    let blobs = BlobStore::new();
    let mut draft = ProposalDraft::new(scene, &blobs);
    let drafted = draft_with_scripts(&mut draft, proposal, scripts, is_sandboxed);
    let kept = drafted.and_then(|()| draft.finish(&base()));
    scene.rollback(mark);
    kept.map_err(|refusal| refusal.0)
}

fn sandbox_of(proposal: &Proposal) -> Option<&ScriptSandbox> {
    proposal.commands.iter().find_map(|command| match command {
        Command::Insert { sandbox, .. } => sandbox.as_ref(),
        _ => None,
    })
}

fn said(proposal: &Proposal, kind: WarningKind) -> String {
    let all = proposal.warnings.iter().filter(|it| it.kind == kind);
    all.map(|it| it.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// A model in a part, with a script in it; a script in a script in a part; and a module in a part.
fn contents() -> AssetContents {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    let script = |at| AssetScript { at, text: "print(1)\n".to_owned() };
    AssetContents {
        classes: texts(&["Part", "Tool", "LocalScript", "Script", "ModuleScript"]),
        class: vec![0, 1, 2, 0, 3, 2, 0, 4],
        parents: vec![0, 1, 2, 0, 4, 5, 0, 7],
        names: texts(&["Stand", "Lamp", "Glow", "Box", "Main", "Inner", "Stone", "Module"]),
        scripts: vec![script(3), script(5), script(6), script(8)],
        findings: None,
    }
}

#[test]
fn outermost_model_folder_or_script_around_each_kept_script_is_the_container() {
    let mut scene = super::open::place();
    scene.scene_mut().set_asset_contents(5, Ok(contents()));
    let all_out = propose(&mut scene, "insert_asset", json!({ "assetId": 5 }));
    assert_eq!(sandbox_state(&all_out), None);
    let refused = keep(&mut scene, &all_out, &[], true).unwrap_err();
    assert!(refused.contains("No script of an asset is kept"), "{refused}");
    let kept = keep(&mut scene, &all_out, &[0, 2, 3], true).unwrap();
    assert_eq!(sandbox_of(&kept), Some(&ScriptSandbox::new(vec![2, 5])));
    assert_eq!(sandbox_state(&kept), Some(true));
    let scripts = said(&kept, WarningKind::Scripts);
    let stand = "game.Workspace.Stand.Lamp, game.Workspace.Box.Main";
    for wanted in [
        &format!(
            "Kept scripts of asset 5 run in 2 sandboxes {stand}, with these capabilities: Animation, "
        ),
        "which plugins cannot read: check it in the Properties window of Workspace.",
        "neither it nor what it is in is one: game.Workspace.Stone.Module.",
    ] {
        assert!(scripts.contains(wanted), "{wanted} is not in {scripts}");
    }
    // The sandbox stays when the call is planned again, and the last decision holds for all scripts.
    let mut again = all_out.clone();
    assert!(keep_same_scripts(&kept, &mut again));
    assert_eq!(again.commands, kept.commands);
    let lifted = keep(&mut scene, &kept, &[], false).unwrap();
    assert_eq!((sandbox_of(&lifted), sandbox_state(&lifted)), (None, Some(false)));
    assert_ne!(lifted.patch_id, kept.patch_id);
    assert!(!said(&lifted, WarningKind::Scripts).contains("sandbox"));
}

/// A place file, and a model file for it: a model with a script, and a part next to the script.
fn place_file(mode: Option<&str>) -> (PlanningScene, Vec<u8>) {
    let mut place = Scene::empty(FileFormat::Xml);
    let workspace = place.create(place.root(), "Workspace", "Workspace");
    if let Some(mode) = mode {
        let item = EnumName::Name(mode.to_owned());
        let mode = EnumItem { enum_type: "SandboxedInstanceMode".to_owned(), item };
        let mode = scene_schemas::Value::EnumItem(mode);
        place.set_property(workspace, "SandboxedInstanceMode", Some(&mode)).unwrap();
    }
    place.create(workspace, "Folder", "Other");
    let mut model = Scene::empty(FileFormat::Binary);
    let tree = model.create(model.root(), "Model", "Tree");
    let grow = model.create(tree, "Script", "Grow");
    model.set_source(grow, "print(1)\n".to_owned());
    model.create(tree, "Part", "Trunk");
    let place = Scene::decode(&place.encode().unwrap()).unwrap();
    (place.into(), model.encode().unwrap())
}

#[test]
fn card_says_whether_the_place_makes_the_sandbox_take_effect() {
    for (mode, wanted) in [
        (None, Some("has no effect, because Workspace.SandboxedInstanceMode is not Experimental")),
        (Some("Default"), Some("has no effect, because")),
        (Some("Experimental"), None),
    ] {
        let (mut scene, model) = place_file(mode);
        scene.add_asset(Seq(7), 5, Ok(unscanned(model)));
        let all_out = propose(&mut scene, "insert_asset", json!({ "assetId": 5 }));
        let kept = keep(&mut scene, &all_out, &[0], true).unwrap();
        let scripts = said(&kept, WarningKind::Scripts);
        assert!(scripts.contains("run in the sandbox game.Workspace.Tree,"), "{scripts}");
        match wanted {
            Some(wanted) => assert!(scripts.contains(wanted), "{mode:?}: {scripts}"),
            None => assert!(!scripts.contains("effect"), "{scripts}"),
        }
    }
}

#[test]
fn later_change_that_undoes_the_sandbox_needs_a_second_confirmation() {
    let tree = "game.Workspace.Tree";
    let none = json!({ "__t": "SecurityCapabilities", "value": "0" });
    for (tool, args, warned) in [
        (
            "set_properties",
            json!({ "path": tree, "props": { "Sandboxed": false } }),
            Some("Tree: Sandboxed is set"),
        ),
        (
            "set_properties",
            json!({ "path": tree, "props": { "Capabilities": none } }),
            Some("Tree: Capabilities is set"),
        ),
        (
            "move_instance",
            json!({ "path": format!("{tree}.Grow"), "parentPath": "game.Workspace.Other" }),
            Some("Tree.Grow has scripts and gets out of the sandbox game.Workspace.Tree"),
        ),
        (
            "clone_instance",
            json!({ "path": format!("{tree}.Grow"), "parentPath": "game.Workspace.Other" }),
            Some("Tree.Grow has scripts and gets out of the sandbox game.Workspace.Tree"),
        ),
        (
            "move_instance",
            json!({ "path": format!("{tree}.Trunk"), "parentPath": "game.Workspace.Other" }),
            None,
        ),
        ("move_instance", json!({ "path": tree, "parentPath": "game.Workspace.Other" }), None),
        (
            "set_properties",
            json!({ "path": "game.Workspace.Other", "props": { "Sandboxed": true } }),
            None,
        ),
    ] {
        let (mut scene, model) = place_file(Some("Experimental"));
        scene.add_asset(Seq(7), 5, Ok(unscanned(model)));
        let all_out = propose(&mut scene, "insert_asset", json!({ "assetId": 5 }));
        let kept = keep(&mut scene, &all_out, &[0], true).unwrap();
        // As an agent that puts the change after the insertion would have it.
        let blobs = BlobStore::new();
        scene.begin_scope(Seq(7));
        for command in &kept.commands {
            crate::proposal::perform_command(&mut scene, command, &blobs).unwrap();
        }
        let instance = at(&scene, tree);
        assert_eq!(scene.value(instance, "Sandboxed"), Some(scene_schemas::Value::Bool(true)));
        let proposal = propose(&mut scene, tool, args.clone());
        let security = said(&proposal, WarningKind::Security);
        match warned {
            Some(warned) => assert!(security.contains(warned), "{tool} {args}: {security}"),
            None => assert_eq!(security, "", "{tool} {args}"),
        }
    }
    let (mut scene, _) = place_file(Some("Experimental"));
    let mode = json!({ "path": "game.Workspace", "props": { "SandboxedInstanceMode": "Default" } });
    let lifted = propose(&mut scene, "set_properties", mode);
    let security = said(&lifted, WarningKind::Security);
    assert!(security.contains("SandboxedInstanceMode is set"), "{security}");
}

#[test]
fn later_change_in_the_same_proposal_is_warned_of_once_scripts_are_kept() {
    let (mut scene, model) = place_file(Some("Experimental"));
    scene.add_asset(Seq(7), 5, Ok(unscanned(model)));
    let network = json!({ "__t": "SecurityCapabilities", "value": "8388608" });
    let list = json!({ "title": "A tree", "changes": [
        { "tool": "insert_asset", "args": { "assetId": 5, "parentPath": "game.Workspace" } },
        { "tool": "set_properties", "args": {
            "path": "game.Workspace.Tree", "props": { "Capabilities": network },
        } },
    ] });
    let all_out = propose(&mut scene, "propose_changes", list);
    assert_eq!(said(&all_out, WarningKind::Security), "");
    let kept = keep(&mut scene, &all_out, &[0], true).unwrap();
    let security = said(&kept, WarningKind::Security);
    assert!(security.contains("Tree: Capabilities is set"), "{security}");
}

#[test]
fn damaged_sandbox_of_a_ledger_is_refused_or_grants_nothing() {
    let (mut scene, model) = place_file(None);
    let blobs = BlobStore::from([(scene_schemas::Fingerprint::hash_bytes(&model), model.clone())]);
    scene.add_asset(Seq(7), 5, Ok(unscanned(model)));
    let all_out = propose(&mut scene, "insert_asset", json!({ "assetId": 5 }));
    let kept = keep(&mut scene, &all_out, &[0], true).unwrap();
    let with = |sandbox: ScriptSandbox| {
        let mut command = kept.commands[0].clone();
        let Command::Insert { sandbox: of, .. } = &mut command else { panic!() };
        *of = Some(sandbox);
        command
    };
    let before = scene.len();
    let mut wide = ScriptSandbox::new(vec![1]);
    wide.capabilities.push("Network".to_owned());
    let perform =
        |scene: &mut _, command: &_| crate::proposal::perform_command(scene, command, &blobs);
    let refused = perform(&mut scene, &with(wide)).unwrap_err();
    assert!(refused.0.contains("\"Network\"") && scene.len() == before, "{refused}");
    perform(&mut scene, &with(ScriptSandbox::new(vec![0, 99]))).unwrap();
    let tree = at(&scene, "game.Workspace.Tree");
    assert_eq!(scene.stored_value(tree, "Sandboxed"), None);
    // What a ledger of an earlier version holds.
    let old = serde_json::to_string(&all_out.commands[0]).unwrap();
    assert!(!old.contains("sandbox"), "{old}");
    assert_eq!(serde_json::from_str::<Command>(&old).unwrap(), all_out.commands[0]);
}
