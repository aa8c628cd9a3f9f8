//! Reverts: they undo exactly what was done or are refused, and never change another instance that
//! looks the same.

use scene_schemas::entry::Seq;
use scene_schemas::proposal::Class;
use serde_json::{Value as Json, json};
use vector_core::prompt::ToolCall;
use vector_engine::{NextStep, REVERT};
use vector_files::place_file::load_scene;
use vector_place::{FileFormat, Scene};

use super::{Bench, as_one, one_by_one, place, same};

/// Three parts of the same name that differ in their properties.
fn three() -> Json {
    let part = |size: f64, transparency: f64| {
        let props = json!({ "Name": "P", "Size": [size, 1, 1], "Transparency": transparency });
        json!(["create_instance", { "className": "Part", "parentPath": "game.Workspace.F", "props": props }])
    };
    let folder = json!(["create_instance", {
        "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": "F" },
    }]);
    json!([folder, part(1.0, 0.0), part(2.0, 0.0), part(3.0, 0.5)])
}

fn clear(path: &str, transparency: f64) -> Json {
    json!(["set_properties", { "path": path, "props": { "Transparency": transparency } }])
}

fn delete(path: &str) -> Json {
    json!(["delete_instance", { "path": path }])
}

/// Asserts that a proposal cannot be reverted and that the file stays unchanged. Returns the
/// reason.
#[track_caller]
fn refused(bench: &Bench, file: &std::path::Path, proposal: Seq) -> String {
    let before = std::fs::read(file).unwrap();
    let mut run = bench.engine(file);
    let args = json!({ "proposal": proposal });
    run.add_calls(vec![ToolCall::new(REVERT, args)]).unwrap();
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    assert!(std::fs::read(file).unwrap() == before);
    let refusals: Vec<_> =
        run.workflow().unwrap().refusals().map(|(_, why)| why.to_owned()).collect();
    assert_eq!(refusals.len(), 1, "{refusals:?}");
    refusals[0].clone()
}

#[test]
fn revert_leaves_another_instance_of_the_same_name_alone() {
    for format in [FileFormat::Binary, FileFormat::Xml] {
        let bench = Bench::new();
        let file = bench.file(&place(format));
        bench.edit(&file, as_one(&three()));
        let changed = bench.edit(&file, as_one(&json!([clear("game.Workspace.F.P[2]", 0.5)])));
        let gone = bench.edit(&file, as_one(&json!([delete("game.Workspace.F.P[1]")])));
        // The changed part is `P[1]` now, and `P[2]` happens to have the value that was set.
        let why = refused(&bench, &file, changed[0]);
        assert!(why.contains("has changed since"), "{why}");
        bench.revert(&file, gone[0]);
        bench.revert(&file, changed[0]);
        // The same within one write, although the file is still as that write left it.
        let both = bench.edit(
            &file,
            one_by_one(&json!([
                clear("game.Workspace.F.P[2]", 0.5),
                delete("game.Workspace.F.P[2]")
            ])),
        );
        let why = refused(&bench, &file, both[0]);
        assert!(why.contains("has changed since"), "{why}");
    }
}

#[test]
fn revert_is_refused_when_remaining_namesake_may_differ() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    bench.edit(&file, as_one(&three()));
    let both = [
        delete("game.Workspace.F.P[3]"),
        clear("game.Workspace.F.P[1]", 0.5),
        delete("game.Workspace.F.P[1]"),
    ];
    let done = bench.edit(&file, one_by_one(&json!(both)));
    let why = refused(&bench, &file, done[1]);
    assert!(why.contains("now there is one"), "{why}");
}

#[test]
fn created_instance_is_removed_only_if_unchanged() {
    let script = |source: &str| json!({ "Name": "S", "Source": source });
    let create = json!([["create_instance", {
        "className": "Script", "parentPath": "game.Workspace", "props": script("print(1)\n"),
    }]]);
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Xml));
    let made = bench.edit(&file, as_one(&create));
    let written = bench.edit(
        &file,
        as_one(&json!([["write_script", { "path": "game.Workspace.S", "source": "print(2)\n" }]])),
    );
    let why = refused(&bench, &file, made[0]);
    assert!(why.contains("has changed since"), "{why}");
    bench.revert(&file, written[0]);
    bench.revert(&file, made[0]);
    same(
        &Scene::decode(&place(FileFormat::Xml)).unwrap(),
        &load_scene(&file).unwrap(),
        "after all",
    );
}

#[test]
fn revert_keeps_a_reference_that_was_set_since() {
    let weld = |part: &str| json!([["set_properties", { "path": "game.Workspace.W", "props": { "Part0": part } }]]);
    let create = |class: &str, name: &str| json!(["create_instance", { "className": class, "parentPath": "game.Workspace", "props": { "Name": name } }]);
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    bench.edit(
        &file,
        as_one(&json!([create("Part", "A"), create("Part", "B"), create("Weld", "W")])),
    );
    bench.edit(&file, as_one(&weld("game.Workspace.A")));
    let deleted = bench.edit(&file, as_one(&json!([delete("game.Workspace.A")])));
    let before = load_scene(&file).unwrap();
    bench.revert(&file, deleted[0]);
    let deleted = bench.edit(&file, as_one(&json!([delete("game.Workspace.A")])));
    same(&before, &load_scene(&file).unwrap(), "deleted again");
    bench.edit(&file, as_one(&weld("game.Workspace.B")));
    let why = refused(&bench, &file, deleted[0]);
    assert!(why.contains("game.Workspace.W has changed since."), "{why}");
}

/// Edits after which a file does not hold the given value, but what its format makes of it.
#[test]
fn values_normalized_by_a_format_can_be_reverted() {
    let part = "game.Workspace.House.Door";
    let set = |props: Json| json!([["set_properties", { "path": part, "props": props }]]);
    let script = |source: &str| {
        json!([["create_instance", {
            "className": "Script", "parentPath": "game.Workspace",
            "props": { "Name": "S", "Source": source },
        }]])
    };
    let broken = "local = 1\n".to_owned() + &"-- a line\n".repeat(25_000);
    let edits = [
        set(json!({ "Orientation": [0, 90, 0] })),
        set(
            json!({ "Orientation": [0, 180, 0], "@Turned": { "__t": "CFrame", "position": [0, 0, 0], "orientation": [-1, 0, 1e-7, 0, 1, 0, 0, 0, -1] } }),
        ),
        set(json!({ "Name": "a\r\nb" })),
        set(json!({ "@Text": "a\rb\r\n" })),
        script("local a = 1\r\nlocal b = 2\r\n"),
        script("print(\"a\\\r\nb\")\r"),
    ];
    for format in [FileFormat::Binary, FileFormat::Xml] {
        let before = place(format);
        for edit in &edits {
            let bench = Bench::new();
            let file = bench.file(&before);
            let done = bench.edit(&file, as_one(edit));
            let back = bench.revert(&file, done[0]);
            same(&Scene::decode(&before).unwrap(), &load_scene(&file).unwrap(), &edit.to_string());
            bench.revert(&file, back[0]);
        }
        // A revert restores a source that had syntax errors or was too long.
        let mut scene = Scene::decode(&before).unwrap();
        let node = scene.create(scene.root(), "ModuleScript", "Broken");
        scene.set_source(node, broken.clone());
        let bench = Bench::new();
        let file = bench.file(&scene.encode().unwrap());
        let mend = json!([["write_script", { "path": "game.Broken", "source": "return 1\n" }]]);
        let done = bench.edit(&file, as_one(&mend));
        bench.revert(&file, done[0]);
        let scene = load_scene(&file).unwrap();
        let node = scene.resolve(&"game.Broken".parse().unwrap()).unwrap();
        assert_eq!(scene.script_text(node).as_deref(), Some(broken.as_str()));
    }
}

#[test]
fn references_to_renamed_or_created_instances_are_reverted() {
    let make = json!([
        ["create_instance", { "className": "Model", "parentPath": "game.Workspace", "props": { "Name": "M" },
            "children": [{ "className": "Part", "props": { "Name": "P1" } }, { "className": "Part", "props": { "Name": "P2" } }] }],
        ["set_properties", { "path": "game.Workspace.M", "props": { "PrimaryPart": "game.Workspace.M.P1" } }],
    ]);
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    bench.edit(&file, as_one(&make));
    let before = load_scene(&file).unwrap();
    for primary in [json!("game.Workspace.M.P2"), Json::Null] {
        let props = json!({ "Name": "M2", "PrimaryPart": primary });
        let set = json!([["set_properties", { "path": "game.Workspace.M", "props": props }]]);
        let done = bench.edit(&file, as_one(&set));
        bench.revert(&file, done[0]);
        same(&before, &load_scene(&file).unwrap(), &props.to_string());
    }
    // Two proposals in one write: each one tracks only what it made itself.
    let first = json!([
        ["create_instance", { "className": "Part", "parentPath": "game.Workspace", "props": { "Name": "New" } }],
        ["set_properties", { "path": "game.Workspace.M", "props": { "PrimaryPart": "game.Workspace.New" } }],
        ["set_properties", { "path": "game.Workspace.M", "props": { "PrimaryPart": "game.Workspace.M.P2" } }],
    ]);
    let second =
        json!([["create_instance", { "className": "Folder", "parentPath": "game.Workspace" }]]);
    let calls = as_one(&first).into_iter().chain(as_one(&second)).collect();
    let done = bench.edit(&file, calls);
    for proposal in done.into_iter().rev() {
        bench.revert(&file, proposal);
    }
    same(&before, &load_scene(&file).unwrap(), "two in one write");
}

#[test]
fn deletion_is_classed_by_contents_and_restore_names_path() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    bench.edit(&file, as_one(&three()));
    let calls = json!([
        ["create_instance", { "className": "Model", "parentPath": "game.Workspace", "props": { "Name": "M" } }],
        ["move_instance", { "path": "game.Workspace.F.P[1]", "parentPath": "game.Workspace.M" }],
        delete("game.Workspace.M"),
    ]);
    let class = |calls: &Json| {
        let mut run = bench.engine(&file);
        run.add_calls(as_one(calls)).unwrap();
        run.run().unwrap();
        let workflow = run.workflow().unwrap();
        workflow.proposals().next().unwrap().1.proposal.class
    };
    assert_eq!(class(&calls), Class::Destructive);
    let own = json!([calls[0], delete("game.Workspace.M")]);
    assert_eq!(class(&own), Class::Additive);
    let deleted = bench.edit(&file, as_one(&json!([delete("game.Workspace.F.P[1]")])));
    let mut run = bench.engine(&file);
    let args = json!({ "proposal": deleted[0] });
    run.add_calls(vec![ToolCall::new(REVERT, args)]).unwrap();
    run.run().unwrap();
    let workflow = run.workflow().unwrap();
    let (_, back) = workflow.proposals().next().unwrap();
    assert_eq!(back.proposal.preview.rows[0].path.to_string(), "game.Workspace.F.P[1]");
}
