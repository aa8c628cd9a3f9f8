//! The engine on real files: calls become proposals, proposals become bytes, and reverts restore
//! them.

mod bytes;
mod memory;
mod moved;
mod orders;
mod overlays;
mod recover;
mod untouched;
mod way_back;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scene_schemas::Value;
use scene_schemas::entry::{Approver, Seq};
use scene_schemas::proposal::Mode;
use serde_json::{Value as Json, json};
use vector_core::prompt::ToolCall;
use vector_core::workflow::{PendingStatus, WorkflowInput};
use vector_engine::{NextStep, REVERT, ToolDriver, WorkflowRun};
use vector_files::place_file::{PlaceFile, load_scene};
use vector_ledger::Ledger;
use vector_place::diff::diff_scenes;
use vector_place::{FileFormat, Scene};

pub(crate) use self::bytes::chunks;

/// A small place with one of everything that an edit can touch.
pub(crate) fn place(format: FileFormat) -> Vec<u8> {
    let mut scene = Scene::empty(format);
    let game = scene.root();
    let workspace = scene.create(game, "Workspace", "Workspace");
    let server = scene.create(game, "ServerScriptService", "ServerScriptService");
    for n in 0..20 {
        let part = scene.create(workspace, "Part", "Wall");
        scene.set_property(part, "@Number", Some(&Value::Float64(f64::from(n)))).unwrap();
    }
    let house = scene.create(workspace, "Model", "House");
    let door = scene.create(house, "Part", "Door");
    scene.set_property(door, "Tags", Some(&Value::Tags(vec!["Openable".to_owned()]))).unwrap();
    let hinge = scene.create(house, "ObjectValue", "Hinge");
    let pointer = scene.create(workspace, "ObjectValue", "Pointer");
    let (to_door, to_wall) =
        (scene.target(door), scene.target(scene.find_child(workspace, "Wall").unwrap()));
    scene.set_property(pointer, "Value", Some(&Value::Ref(Some(to_door)))).unwrap();
    scene.set_property(hinge, "Value", Some(&Value::Ref(Some(to_wall)))).unwrap();
    let main = scene.create(server, "Script", "Main");
    scene.set_source(main, "local speed = 10\r\nprint(speed)\r\n".to_owned());
    scene.encode().unwrap()
}

/// Every kind of command, and some that depend on each other.
fn edits() -> Vec<(&'static str, Json)> {
    let wall = |n: u32| format!("game.Workspace.Wall[{n}]");
    vec![
        (
            "create",
            json!([["create_instance", { "className": "Part", "parentPath": "game.Workspace.House", "props": { "Size": [1, 2, 3] } }]]),
        ),
        (
            "clone",
            json!([["clone_instance", { "path": "game.Workspace.House", "props": { "Name": "Second" } }]]),
        ),
        (
            "set",
            json!([["set_properties", { "selector": "Part", "props": { "Color": "#102030", "Transparency": 0.25, "Anchored": true } }]]),
        ),
        (
            "attributes",
            json!([["set_properties", { "path": wall(3), "props": { "@Number": null, "@New": "x", "Tags": ["A", "B"] } }]]),
        ),
        (
            "reference",
            json!([["set_properties", { "path": "game.Workspace.Pointer", "props": { "Value": wall(5) } }]]),
        ),
        ("rename", json!([["rename_instance", { "path": wall(7), "newName": "Gate" }]])),
        (
            "move",
            json!([["move_instance", { "path": wall(2), "parentPath": "game.Workspace.House" }]]),
        ),
        ("delete", json!([["delete_instance", { "path": "game.Workspace.House" }]])),
        ("delete several", json!([["delete_instance", { "paths": [wall(1), wall(4), wall(20)] }]])),
        (
            "edit",
            json!([["replace_text", { "path": "game.ServerScriptService.Main", "search": "10", "replace": "20" }]]),
        ),
        (
            "many",
            json!([
                ["create_instance", { "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": "New" } }],
                ["move_instance", { "selector": "#House", "parentPath": "game.Workspace.New" }],
                ["delete_instance", { "path": "game.Workspace.New.House.Door" }],
                ["rename_instance", { "path": "game.Workspace.New", "newName": "Old" }],
                ["delete_instance", { "path": "game.Workspace.Old.House" }],
                ["set_properties", { "path": wall(9), "props": { "Name": "House" } }],
                ["write_script", { "path": "game.ServerScriptService.Main", "source": "return nil\n" }],
            ]),
        ),
    ]
}

struct Bench {
    folder: tempfile::TempDir,
    ledger: Arc<Ledger>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = Arc::new(Ledger::open(&folder.path().join("home")).unwrap());
        Self { folder, ledger }
    }

    fn file(&self, bytes: &[u8]) -> PathBuf {
        let file = self.folder.path().join("place");
        std::fs::write(&file, bytes).unwrap();
        file
    }

    fn engine(&self, file: &Path) -> WorkflowRun {
        let opened = PlaceFile::open(file, None).unwrap();
        let listener = Box::new(|_: &_| {});
        WorkflowRun::start(&self.ledger, opened, "test", ToolDriver::Calls, Mode::Confirm, listener)
            .unwrap()
    }

    /// Makes these calls, approves all of their proposals, and returns the applied ones.
    fn edit(&self, file: &Path, calls: Vec<ToolCall>) -> Vec<Seq> {
        let mut run = self.engine(file);
        run.add_calls(calls).unwrap();
        approve_all(&mut run);
        let workflow = run.workflow().unwrap();
        let refusals: Vec<_> = workflow.refusals().collect();
        assert!(refusals.is_empty(), "{refusals:?}");
        let is_applied = |status: &PendingStatus| matches!(status, PendingStatus::Applied(_));
        assert!(workflow.proposals().all(|(_, it)| is_applied(&it.status)));
        workflow.proposals().map(|(seq, _)| seq).collect()
    }

    fn revert(&self, file: &Path, proposal: Seq) -> Vec<Seq> {
        let args = json!({ "proposal": proposal });
        self.edit(file, vec![ToolCall::new(REVERT, args)])
    }
}

fn approve_all(run: &mut WorkflowRun) {
    while let NextStep::Decision(proposal) = run.run().unwrap() {
        run.approve(proposal, Approver::Yes, true).unwrap();
    }
}

fn as_one(calls: &Json) -> Vec<ToolCall> {
    let change = |pair: &Json| json!({ "tool": pair[0], "args": pair[1] });
    let changes: Vec<_> = calls.as_array().unwrap().iter().map(change).collect();
    let args = json!({ "title": "test", "changes": changes });
    vec![ToolCall::new("propose_changes", args)]
}

fn one_by_one(calls: &Json) -> Vec<ToolCall> {
    let call = |pair: &Json| ToolCall::new(pair[0].as_str().unwrap().to_owned(), pair[1].clone());
    calls.as_array().unwrap().iter().map(call).collect()
}

#[track_caller]
fn same(left: &Scene, right: &Scene, what: &str) {
    let found = diff_scenes(left, right);
    assert!(found.is_empty(), "{what}: {found:#?}");
}

/// Edits a place, reverts the edit, and reverts the revert. Asserts the result of each.
fn there_and_back(bytes: &[u8], name: &str, calls: &Json) {
    let bench = Bench::new();
    let file = bench.file(bytes);
    let applied = bench.edit(&file, as_one(calls));
    let after = load_scene(&file).unwrap();
    let edited = std::fs::read(&file).unwrap();
    assert!(
        !diff_scenes(&Scene::decode(bytes).unwrap(), &after).is_empty(),
        "{name} changed nothing"
    );
    let back = bench.revert(&file, applied[0]);
    same(
        &Scene::decode(bytes).unwrap(),
        &load_scene(&file).unwrap(),
        &format!("{name}, taken back"),
    );
    assert!(std::fs::read(&file).unwrap() == bytes, "{name}: other bytes when taken back");
    bench.revert(&file, back[0]);
    same(&after, &load_scene(&file).unwrap(), &format!("{name}, taken back twice"));
    assert!(std::fs::read(&file).unwrap() == edited, "{name}: other bytes when done again");
}

#[test]
fn every_edit_and_its_revert_can_be_reverted() {
    for format in [FileFormat::Binary, FileFormat::Xml] {
        for (name, calls) in edits() {
            there_and_back(&place(format), &format!("{name} ({format:?})"), &calls);
        }
    }
}

#[test]
fn same_calls_give_the_same_bytes() {
    for format in [FileFormat::Binary, FileFormat::Xml] {
        for (name, calls) in edits() {
            let written = || {
                let bench = Bench::new();
                let file = bench.file(&place(format));
                bench.edit(&file, as_one(&calls));
                std::fs::read(file).unwrap()
            };
            assert!(written() == written(), "{name} ({format:?})");
        }
    }
}

#[test]
fn separate_and_combined_calls_give_the_same_place() {
    for (name, calls) in edits() {
        let bytes = place(FileFormat::Binary);
        let (first, second) = (Bench::new(), Bench::new());
        let (one, all) = (first.file(&bytes), second.file(&bytes));
        first.edit(&one, one_by_one(&calls));
        second.edit(&all, as_one(&calls));
        same(&load_scene(&one).unwrap(), &load_scene(&all).unwrap(), name);
    }
}

#[test]
fn rejection_replans_dependent_proposals() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    let mut run = bench.engine(&file);
    run
        .add_calls(one_by_one(&json!([
            ["create_instance", { "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": "A" } }],
            ["create_instance", { "className": "Part", "parentPath": "game.ReplicatedStorage" }],
            ["create_instance", { "className": "Part", "parentPath": "game.Workspace.House" }],
            ["rename_instance", { "path": "game.Workspace.A", "newName": "B" }],
        ])))
        .unwrap();
    let NextStep::Decision(first) = run.run().unwrap() else { panic!("nothing to decide") };
    run.handle_input(WorkflowInput::Reject { proposal: first, reason: Some("no".to_owned()) })
        .unwrap();
    approve_all(&mut run);
    let workflow = run.workflow().unwrap();
    let reasons: Vec<_> = workflow.refusals().map(|(_, reason)| reason.to_owned()).collect();
    assert_eq!(reasons.len(), 2, "{reasons:?}");
    assert!(reasons[0].contains("game.ReplicatedStorage"), "{}", reasons[0]);
    assert!(reasons[1].contains("game.Workspace.A"), "{}", reasons[1]);
    let mut ends: HashMap<&str, usize> = HashMap::new();
    for (_, pending) in workflow.proposals() {
        let end = match &pending.status {
            PendingStatus::Applied(_) => "applied",
            PendingStatus::Rejected(_) => "rejected",
            PendingStatus::Withdrawn(_) => "withdrawn",
            other => panic!("{other:?}"),
        };
        *ends.entry(end).or_default() += 1;
    }
    // The one in the house depends on none.
    assert_eq!(ends, HashMap::from([("applied", 1), ("rejected", 1), ("withdrawn", 1)]));
}

#[test]
fn revert_keeps_unrelated_edits_and_refuses_conflicting_ones() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    let renamed =
        json!([["rename_instance", { "path": "game.Workspace.House", "newName": "Home" }]]);
    let first = bench.edit(&file, as_one(&renamed));
    let other = json!([["set_properties", { "path": "game.Workspace.Wall[1]", "props": { "Anchored": true } }]]);
    bench.edit(&file, as_one(&other));
    bench.revert(&file, first[0]);
    let scene = load_scene(&file).unwrap();
    assert!(scene.resolve(&"game.Workspace.House".parse().unwrap()).is_ok());

    let coloured = json!([["set_properties", { "path": "game.Workspace.Wall[2]", "props": { "Color": "#ff0000" } }]]);
    let second = bench.edit(&file, as_one(&coloured));
    let again = json!([["set_properties", { "path": "game.Workspace.Wall[2]", "props": { "Color": "#00ff00" } }]]);
    bench.edit(&file, as_one(&again));
    let mut run = bench.engine(&file);
    let args = json!({ "proposal": second[0] });
    run.add_calls(vec![ToolCall::new(REVERT, args)]).unwrap();
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    let reason = run.workflow().unwrap().refusals().next().unwrap().1.to_owned();
    assert!(reason.contains("has changed since"), "{reason}");
}
