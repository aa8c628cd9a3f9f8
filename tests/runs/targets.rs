//! Scripts on every kind of place: `vector run` writes what they made.

use std::fs;
use std::path::Path;

use vector_place::diff::diff_scenes;
use vector_place::{FileFormat, Node, Scene};
use vector_rojo_project::RojoProject;
use vector_tests::binary::Home;
use vector_tests::repository;

use super::authoring::run_and_save;
use super::scripts::scripts;
use crate::rojo::edits::snapshot;

/// The scripts whose changes Rojo's files cannot hold, and what their refusals say.
const REFUSED: [(&str, &str); 5] = [
    ("clone_of_a_part_of_a_clone", "refers to an instance outside of the file"),
    ("flatten_models", "refers to an instance outside of the file"),
    ("mirror_copies", "refers to an instance outside of the file"),
    ("new_scripts", "Main.server.luau already exists"),
    ("values", "refers to an instance outside of the file"),
];

/// A model with two parts, one of which is welded to the other.
fn house(index: u32) -> Scene {
    let source = format!(
        "local house = Instance.new('Model')
        house.Name = 'House{index}'
        local floor = Instance.new('Part', house)
        floor.Name, floor.Position, floor.Anchored = 'Floor', Vector3.new({index} * 20, 0, 0), true
        local door = Instance.new('Part', house)
        door.Name, door.Position = 'Door', Vector3.new({index} * 20, 4, 5)
        door.Transparency = if {index} == 2 then 1 else 0
        door.Material = Enum.Material.Neon
        local weld = Instance.new('WeldConstraint')
        weld.Part0, weld.Part1, weld.Parent = floor, door, door
        house.PrimaryPart = floor
        house:SetAttribute('Price', {index} * 100)
        house:AddTag('House')
        house.Parent = workspace"
    );
    let mut scene = Scene::empty(FileFormat::Binary);
    scene.create(scene.root(), "Workspace", "Workspace");
    let (_, made) = run_and_save(&scene, &source, "House");
    made
}

/// Writes the only child of Workspace as a model.
fn write_model(scene: &Scene, file: &Path) {
    let workspace = scene.find_child(scene.root(), "Workspace").unwrap();
    let model: Node = scene.children(workspace).next().unwrap();
    fs::write(file, scene.encode_subtree(model).unwrap()).unwrap();
}

/// Writes a project whose files hold all that is in its services.
fn write_project(folder: &Path) {
    let services = [
        "Workspace",
        "ReplicatedStorage",
        "ServerStorage",
        "ServerScriptService",
        "StarterGui",
        "SoundService",
        "Lighting",
    ];
    let mut tree = serde_json::json!({ "$className": "DataModel" });
    for service in services {
        tree[service] = serde_json::json!({ "$path": format!("src/{service}") });
        fs::create_dir_all(folder.join("src").join(service)).unwrap();
        fs::write(folder.join("src").join(service).join(".gitkeep"), "").unwrap();
    }
    let project = serde_json::json!({ "name": "game", "tree": tree });
    fs::write(folder.join("default.project.json"), format!("{project:#}")).unwrap();
    for index in 1..=3 {
        write_model(&house(index), &folder.join(format!("src/Workspace/House{index}.rbxm")));
    }
    let module = "wait(1)\nreturn { wait(2), a.wait(3) }\n";
    fs::write(folder.join("src/ReplicatedStorage/Prices.luau"), module).unwrap();
    fs::write(folder.join("src/ServerScriptService/Main.server.luau"), "print(1)\n").unwrap();
}

fn project_scene(folder: &Path) -> Scene {
    RojoProject::open(folder, false).unwrap().1.into_scene()
}

#[test]
fn scripts_change_the_files_of_a_project() {
    let home = Home::new();
    for (name, source) in scripts() {
        let folder = tempfile::tempdir().unwrap();
        write_project(folder.path());
        let (_, made) = run_and_save(&project_scene(folder.path()), &source, &name);
        let script = folder.path().join("script.luau");
        fs::write(&script, &source).unwrap();
        let before = snapshot(folder.path());
        let (project, script) = (folder.path().display().to_string(), script.display().to_string());
        let run = home.run(&["run", &project, "--script", &script, "--yes", "--force"], "");
        if let Some((_, why)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            assert!(run.code == 1 && run.stderr.contains(why), "{name}: {}", run.stderr);
            assert_eq!(snapshot(folder.path()), before, "{name}");
            continue;
        }
        assert_eq!(run.code, 0, "{name}: {}", run.stderr);
        let differences = diff_scenes(&made, &project_scene(folder.path()));
        let shown = &differences[..differences.len().min(3)];
        assert!(differences.is_empty(), "{name}: {shown:#?}");
    }
}

#[test]
fn scripts_change_files_of_every_format_and_are_reverted() {
    let home = Home::new();
    let sample = repository::root().join("samples/obby.rbxlx");
    let sample = Scene::decode(&fs::read(sample).unwrap()).unwrap();
    let some = ["unanchor_and_color", "mirror_copies", "rescued", "welds", "script_texts", "grid"];
    for extension in ["rbxl", "rbxlx", "rbxm", "rbxmx"] {
        let format = if extension.ends_with('x') { FileFormat::Xml } else { FileFormat::Binary };
        let bytes = sample.convert_to(format).unwrap().encode().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(format!("place.{extension}"));
        let place = file.display().to_string();
        fs::write(&file, &bytes).unwrap();
        for (name, source) in scripts().into_iter().filter(|(name, _)| some.contains(&&**name)) {
            let (_, made) = run_and_save(&Scene::decode(&bytes).unwrap(), &source, &name);
            let run = home.run(&["run", &place, "-c", &source, "--yes", "--force"], "");
            assert_eq!(run.code, 0, "{name}: {}", run.stderr);
            let written = Scene::decode(&fs::read(&file).unwrap()).unwrap();
            let differences = diff_scenes(&made, &written);
            assert!(differences.is_empty(), "{extension}: {name}: {differences:#?}");
            let number = run.stdout.rsplit_once("vector revert ").unwrap().1.trim();
            let reverted = home.run(&["revert", number, "--yes"], "");
            assert_eq!(reverted.code, 0, "{name}: {}", reverted.stderr);
            let back = Scene::decode(&fs::read(&file).unwrap()).unwrap();
            let differences = diff_scenes(&Scene::decode(&bytes).unwrap(), &back);
            assert!(differences.is_empty(), "{extension}: {name}: {differences:#?}");
        }
    }
}

#[test]
fn code_that_only_reads_is_answered_and_a_failure_changes_nothing() {
    let home = Home::new();
    let place = home.path().join("place.rbxlx");
    fs::copy(repository::root().join("samples/obby.rbxlx"), &place).unwrap();
    let before = fs::read(&place).unwrap();
    let file = place.display().to_string();
    let run = |code: &str| home.run(&["run", &file, "-c", code, "--yes"], "");
    let read = run("print('names', 2) warn('look') return { workspace.Name, 1.5 }");
    assert_eq!(
        (read.code, &*read.stdout),
        (0, "names 2\nwarn: look\n[\n  \"Workspace\",\n  1.5\n]\n")
    );
    for (code, why) in [
        ("workspace.Name = 'X'\nerror('no')", "code:2: no"),
        ("local it = nil\nit.X = 1", "code:2: attempt to index nil with 'X'"),
        ("workspace.Terrain:FillBlock()", "NotInRuntime: Terrain.FillBlock"),
        ("print('a' .. nil)", "code:1: attempt to concatenate"),
        ("local x = ", "code:1: Expected identifier when parsing expression, got <eof>"),
        ("", "`code` is empty"),
        ("game.Workspace.Parent = nil", "Parent property of Workspace is locked"),
        ("require(workspace)", "Attempted to call require with invalid argument(s)"),
        ("require(123)", "NotInRuntime: require of an asset"),
    ] {
        let failed = run(code);
        assert!(failed.code == 1 && failed.stderr.contains(why), "{code}: {}", failed.stderr);
        assert_eq!(fs::read(&place).unwrap(), before, "{code}");
    }
    let missing = home.run(&["run", &file, "--script", "nothing.luau"], "");
    assert!(missing.code != 0 && missing.stderr.contains("nothing.luau cannot be read"));
}
