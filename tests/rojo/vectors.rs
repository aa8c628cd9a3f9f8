//! Every command of `scene-schemas/vectors.json`, planned by a tool call and applied to the files
//! of a project that contains the vectors' scene. Vector and Rojo must both read the files as the
//! place file after the same calls.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use scene_schemas::command::Props;
use scene_schemas::{Command, Fingerprint, Value};
use serde_json::{Value as Json, json};
use vector_place::Scene;
use vector_place::diff::diff_scenes;
use vector_rojo_project::ProjectTree;
use vector_tests::binary::Home;
use vector_tests::{repository, vectors};

use super::edits::snapshot;
use super::oracle::{ask, rojo};

/// The name of a folder in the scene.
const UNUSUAL: &str = "My.Folder \"ä\"";

/// A project and a place file that receive the same calls, each with its own ledger.
struct Both {
    /// The home of the project.
    home: Home,
    project: PathBuf,
    /// The home of the place.
    other: Home,
    place: PathBuf,
}

impl Both {
    /// The scene of the vectors: for the project, made by calls; the place file is the scene
    /// itself.
    fn new(scene: &[Json]) -> Self {
        let (home, other) = (Home::new(), Home::new());
        let project = home.path().canonicalize().unwrap().join("game");
        fs::create_dir_all(project.join("src")).unwrap();
        // This name is not a valid file name on every system, so it is a node of the project file.
        let node = json!({ "$className": "Folder" });
        let tree =
            json!({ "$className": "DataModel", "Workspace": { "$path": "src", UNUSUAL: node } });
        let text = json!({ "name": "Vectors", "tree": tree }).to_string();
        fs::write(project.join("default.project.json"), text).unwrap();
        let place = other.path().join("place.rbxl");
        fs::write(&place, vectors::scene().encode().unwrap()).unwrap();
        let both = Self { home, project, other, place };
        let calls = made(scene);
        let list =
            json!([{ "tool": "propose_changes", "args": { "title": "all", "changes": calls } }]);
        both.edit(&both.project, &list[0].to_string());
        assert_eq!(both.wrong(), Vec::<String>::new(), "the scene itself");
        both
    }

    #[track_caller]
    fn edit(&self, what: &Path, calls: &str) {
        let shown = what.to_str().unwrap();
        let run = if what == self.project {
            self.home.run(&["edit", "--project", shown, "--ops", "-", "--yes"], calls)
        } else {
            let args = ["edit", shown, "--ops", "-", "--yes", "--out", shown];
            self.other.run(&args, calls)
        };
        assert_eq!(run.code, 0, "{calls}\n{}", run.stderr);
    }

    /// The differences between the files, as Vector and Rojo read them, and the place.
    fn wrong(&self) -> Vec<String> {
        let wanted = Scene::decode(&fs::read(&self.place).unwrap()).unwrap();
        let read = ProjectTree::read(&self.project).unwrap();
        assert_eq!(read.diagnostics, []);
        let say = |how: &str, scene: &Scene| -> Vec<String> {
            diff_scenes(&wanted, scene).into_iter().map(|it| format!("{how}: {it:?}")).collect()
        };
        let mut wrong = say("read", &read.to_scene().0);
        if rojo() {
            let built = self.home.path().join("built.rbxl");
            ask(&["build", "--output", built.to_str().unwrap()], &self.project).unwrap();
            let built = Scene::decode(&fs::read(built).unwrap()).unwrap();
            wrong.extend(say("built by Rojo", &built));
        }
        wrong
    }

    /// The memory of the project and of the place.
    fn memories(&self) -> [String; 2] {
        [self.project.parent().unwrap().join("game"), self.other.path().to_owned()]
            .map(|folder| fs::read_to_string(folder.join(".vector/memory.md")).unwrap_or_default())
    }

    /// The project's files, without the memory.
    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        snapshot(&self.project)
    }

    /// The number of the newest applied proposal of a home.
    fn newest(home: &Home) -> String {
        let log = home.run(&["log", "--json"], "").stdout;
        let mut applied = log.lines().map(|line| serde_json::from_str::<Json>(line).unwrap());
        let last = applied.rfind(|it| it["entry"] == "applied").unwrap();
        last["proposal"].to_string()
    }
}

/// The calls that create the scene of the vectors.
fn made(scene: &[Json]) -> Vec<Json> {
    let (mut calls, mut later) = (Vec::new(), Vec::new());
    for instance in scene {
        let path = instance["path"].as_str().unwrap();
        let path: scene_schemas::InstancePath = path.parse().unwrap();
        let parent = path.parent().unwrap().to_string();
        if parent == "game" || path.name() == UNUSUAL {
            continue;
        }
        let mut props = instance["props"].as_object().unwrap().clone();
        // References are set later, when their targets exist.
        if let Some(to) = props.remove("PrimaryPart") {
            let to = json!({ "PrimaryPart": to["target"]["path"] });
            later.push(json!({ "tool": "set_properties", "args": { "path": path, "props": to } }));
        }
        props.insert("Name".to_owned(), path.name().into());
        let args = json!({ "className": instance["class"], "parentPath": parent, "props": props });
        calls.push(json!({ "tool": "create_instance", "args": args }));
    }
    calls.append(&mut later);
    calls
}

/// Properties as tool arguments.
fn given(props: &Props, keep_absent: bool) -> serde_json::Map<String, Json> {
    let all = props.iter().filter(|(_, value)| keep_absent || value.is_some());
    all.map(|(name, value)| (name.clone(), value.as_ref().map_or(Json::Null, Value::to_json)))
        .collect()
}

/// The tool call that plans a command; None if files cannot contain the result.
fn call(command: &Command) -> Option<Json> {
    let (tool, args) = match command {
        Command::Create { parent, class, name, props, .. } => {
            let mut props = given(props, false);
            props.insert("Name".to_owned(), name.clone().into());
            let args = json!({ "className": class, "parentPath": parent.path, "props": props });
            ("create_instance", args)
        }
        Command::Clone { source, parent, name, .. } => {
            let args = json!({ "path": source.path, "parentPath": parent.path, "name": name });
            ("clone_instance", args)
        }
        Command::Set { target, props, .. } => {
            ("set_properties", json!({ "path": target.path, "props": given(props, true) }))
        }
        Command::Move { target, parent, .. } => {
            ("move_instance", json!({ "path": target.path, "parentPath": parent.path }))
        }
        Command::Delete { target, .. } => ("delete_instance", json!({ "path": target.path })),
        Command::EditScript { target, edits, .. } => {
            ("apply_edit", json!({ "path": target.path, "edits": edits }))
        }
        Command::EditMemory { edits, .. } => {
            let text = edits[0].text.lines().last().unwrap();
            let text = text.strip_prefix("- [ ] ").unwrap();
            let change = json!({ "action": "add", "section": "todo", "text": text });
            ("edit_memory", json!({ "changes": [change] }))
        }
        // A restore is planned by reverting a proposal, an asset can only be inserted in Studio, and
        // only place files have commands over many instances.
        Command::Restore { .. } | Command::Insert { .. } | Command::SetMany { .. } => return None,
    };
    Some(json!({ "tool": tool, "args": args }))
}

#[test]
fn vector_commands_change_files_as_they_change_a_place() {
    let all: Json = serde_json::from_str(&repository::read("scene-schemas/vectors.json")).unwrap();
    let both = Both::new(all["scene"].as_array().unwrap());
    let commands: Vec<Command> = serde_json::from_value(all["commands"].clone()).unwrap();
    let mut done = 0;
    for command in commands {
        let Some(call) = call(&command) else { continue };
        let before = both.files();
        both.edit(&both.project, &call.to_string());
        both.edit(&both.place, &call.to_string());
        assert_eq!(both.wrong(), Vec::<String>::new(), "{call}");
        let [ours, theirs] = both.memories();
        assert_eq!(ours, theirs, "{call}");
        assert_ne!(both.files(), before, "{call}");
        if matches!(command, Command::Delete { .. }) {
            restore(&both, &before);
            // Delete it again, because later commands expect that.
            for what in [&both.project, &both.place] {
                both.edit(what, &call.to_string());
            }
        }
        done += 1;
    }
    assert_eq!(done, 7, "the kinds of commands that files can hold");
}

/// Restores what was deleted: the vector of `Restore`.
fn restore(both: &Both, before: &BTreeMap<String, Vec<u8>>) {
    for home in [&both.home, &both.other] {
        let run = home.run(&["revert", &Both::newest(home), "--yes"], "");
        assert_eq!(run.code, 0, "{}", run.stderr);
    }
    assert_eq!(both.wrong(), Vec::<String>::new(), "what was deleted is back");
    let hash = |files: &BTreeMap<String, Vec<u8>>| -> Vec<(String, Fingerprint)> {
        files.iter().map(|(name, bytes)| (name.clone(), Fingerprint::hash_bytes(bytes))).collect()
    };
    assert_eq!(hash(&both.files()), hash(before), "byte for byte");
}
