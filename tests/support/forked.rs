//! A place with two conflicting versions, and the open merge of them.

use std::fs;
use std::path::{Path, PathBuf};

use rbx_types::UniqueId;
use scene_schemas::Value;
use vector_place::{FileFormat, Node, Scene};

use crate::binary::Home;

const BASE: &str =
    "local SPEED = 16\n\nlocal function step(n)\n\treturn n + 1\nend\n\nreturn step(SPEED)\n";
const OURS: &str =
    "local SPEED = 20\n\nlocal function step(n)\n\treturn n + 1\nend\n\nreturn step(SPEED) * 2\n";
const THEIRS: &str =
    "local SPEED = 24\n\nlocal function step(n)\n\treturn n + 1\nend\n\nreturn step(SPEED) - 1\n";

/// The number of conflicts in [`merge`].
pub const CONFLICTS: usize = 4;

/// The common base of both versions.
fn base() -> Scene {
    let mut scene = Scene::empty(FileFormat::Xml);
    let workspace = scene.create(scene.root(), "Workspace", "Workspace");
    let lobby = scene.create(workspace, "Model", "Lobby");
    for name in ["Door", "Lamp"] {
        scene.create(lobby, "Part", name);
    }
    // A moved instance is recognized by its id.
    let floor = scene.create(lobby, "Part", "Floor");
    let id = Value::UniqueId(UniqueId::new(7, 1, 1));
    scene.set_property(floor, "UniqueId", Some(&id)).expect("each instance has one");
    scene.create(workspace, "Folder", "North");
    scene.create(workspace, "Folder", "South");
    let storage = scene.create(scene.root(), "ReplicatedStorage", "ReplicatedStorage");
    let script = scene.create(storage, "ModuleScript", "Steps");
    scene.set_source(script, BASE.to_owned());
    Scene::decode(&scene.encode().expect("it can be written")).expect("it can be read")
}

fn at(scene: &Scene, path: &str) -> Node {
    let path = format!("game.{path}").parse().expect("it is a path");
    scene.resolve(&path).expect("it is there")
}

/// One version: the transparency of the door, the text of the script, the folder of the floor, and
/// the transparency of the lamp, which is deleted if None.
fn side(transparency: f32, source: &str, folder: &str, lamp: Option<f32>) -> Vec<u8> {
    let mut scene = base();
    let (door, floor) = (at(&scene, "Workspace.Lobby.Door"), at(&scene, "Workspace.Lobby.Floor"));
    let set = |scene: &mut Scene, node, value: f32| {
        let value = Value::Float32(value);
        scene.set_property(node, "Transparency", Some(&value)).expect("it is a part");
    };
    set(&mut scene, door, transparency);
    let script = at(&scene, "ReplicatedStorage.Steps");
    scene.set_source(script, source.to_owned());
    let folder = at(&scene, &format!("Workspace.{folder}"));
    scene.move_to(floor, folder, None).expect("it is a folder");
    let node = at(&scene, "Workspace.Lobby.Lamp");
    match lamp {
        Some(value) => set(&mut scene, node, value),
        None => scene.delete(node),
    }
    scene.encode().expect("it can be written")
}

/// Writes the three places into a folder, and merges them into `arena.rbxlx` there.
///
/// # Panics
/// The merge has other conflicts.
pub fn merge(home: &Home, folder: &Path) -> PathBuf {
    let file = |name: &str| folder.join(name);
    fs::write(file("base.rbxlx"), base().encode().expect("it can be written"))
        .expect("there is room");
    fs::write(file("theirs.rbxlx"), side(0.75, THEIRS, "South", None)).expect("there is room");
    let arena = file("arena.rbxlx");
    fs::write(&arena, side(0.25, OURS, "North", Some(0.5))).expect("there is room");
    let path = |file: &Path| file.display().to_string();
    let sides = [path(&file("base.rbxlx")), path(&arena), path(&file("theirs.rbxlx"))];
    let run = home.run(&["merge", &sides[0], &sides[1], &sides[2], "--json"], "");
    assert_eq!(run.stdout.lines().count(), CONFLICTS, "{}{}", run.stdout, run.stderr);
    arena
}
