//! Watching of a project's files while the project's structure changes: files that become part of
//! the project are watched too.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use scene_schemas::InstancePath;
use tempfile::TempDir;
use vector_core::planning_scene::PlanningScene;
use vector_place::Scene;
use vector_rojo_project::{FileChanges, FileWatch, RojoProject};

/// An upper bound for every wait.
const PATIENCE: Duration = Duration::from_mins(1);

struct Bench {
    _folder: TempDir,
    root: PathBuf,
    project: RojoProject,
    scene: PlanningScene,
    heard: Receiver<FileChanges>,
    _watch: FileWatch,
}

impl Bench {
    /// A project with these files: name and text.
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for (name, text) in files {
            write(&root, name, text);
        }
        Self::open(folder, root)
    }

    fn open(folder: TempDir, root: PathBuf) -> Self {
        let (mut project, scene) = RojoProject::open(&root, false).unwrap();
        let (say, heard) = channel();
        let watch = FileWatch::start(&project.watch_roots(), move |it| drop(say.send(it))).unwrap();
        project.set_watch_updater(watch.updater());
        Self { _folder: folder, root, project, scene, heard, _watch: watch }
    }

    fn write(&self, name: &str, text: &str) {
        write(&self.root, name, text);
    }

    /// Follows reported changes, as the daemon does, until an instance satisfies `is_so`.
    #[track_caller]
    fn until(&mut self, path: &str, is_so: impl Fn(&Scene, &str) -> bool) {
        while !is_so(&self.scene, path) {
            let heard = self.heard.recv_timeout(PATIENCE).expect("it is told");
            // The project may be invalid while a file is being written.
            if let Ok(Some(scene)) = self.project.follow_changes(&heard) {
                self.scene = scene;
            }
        }
    }

    /// Follows changes until a script has this text.
    #[track_caller]
    fn until_text(&mut self, path: &str, text: &str) {
        self.until(path, |scene, path| {
            let node = scene.resolve(&path.parse::<InstancePath>().unwrap()).ok();
            node.and_then(|node| scene.script_text(node)).as_deref() == Some(text)
        });
    }
}

fn write(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A project file with these nodes in ServerStorage.
fn tree(nodes: &str) -> String {
    format!(
        r#"{{ "name": "Game", "tree": {{ "$className": "DataModel", "ServerStorage": {{ {nodes} }} }} }}"#
    )
}

#[test]
fn path_added_to_the_project_file_is_watched() {
    let begin = tree(r#""A": { "$path": "a" }"#);
    let mut bench = Bench::new(&[
        ("default.project.json", &begin),
        ("a/One.luau", "return 1\n"),
        ("b/deep/Two.luau", "return 2\n"),
    ]);
    bench.write(
        "default.project.json",
        &tree(r#""A": { "$path": "a" }, "B": { "$path": "b/deep" }"#),
    );
    bench.until_text("game.ServerStorage.B.Two", "return 2\n");
    for text in ["return 22\n", "return 222\n"] {
        bench.write("b/deep/Two.luau", text);
        bench.until_text("game.ServerStorage.B.Two", text);
    }
    // The files that were watched before still are.
    bench.write("a/One.luau", "return 11\n");
    bench.until_text("game.ServerStorage.A.One", "return 11\n");
    bench.write("a/new/Three.luau", "return 3\n");
    bench.until_text("game.ServerStorage.A.new.Three", "return 3\n");
}

#[test]
fn optional_path_is_watched_when_it_appears() {
    let begin = tree(r#""A": { "$path": "a" }, "O": { "$path": { "optional": "not/there/yet" } }"#);
    let mut bench = Bench::new(&[("default.project.json", &begin), ("a/One.luau", "return 1\n")]);
    bench.write("not/there/yet/Two.luau", "return 2\n");
    bench.until_text("game.ServerStorage.O.Two", "return 2\n");
    bench.write("not/there/yet/Two.luau", "return 22\n");
    bench.until_text("game.ServerStorage.O.Two", "return 22\n");
    // The folder is removed, and created again.
    fs::remove_dir_all(bench.root.join("not")).unwrap();
    bench.until("game.ServerStorage.O", |scene, path| {
        scene.resolve(&path.parse::<InstancePath>().unwrap()).is_err()
    });
    bench.write("not/there/yet/Two.luau", "return 3\n");
    bench.until_text("game.ServerStorage.O.Two", "return 3\n");
}

#[test]
fn meta_file_beside_a_single_file_is_watched() {
    let begin = tree(r#""One": { "$path": "src/One.luau" }"#);
    let mut bench = Bench::new(&[("default.project.json", &begin), ("src/One.luau", "return 1\n")]);
    for (name, number) in [("json", 1.0), ("json", 2.0), ("jsonc", 3.0)] {
        let text = format!(r#"{{ "attributes": {{ "N": {number} }} }}"#);
        bench.write(&format!("src/One.meta.{name}"), &text);
        bench.until("game.ServerStorage.One", |scene, path| {
            let node = scene.resolve(&path.parse::<InstancePath>().unwrap()).unwrap();
            scene.value(node, "@N").is_some_and(|it| it.to_canonical() == number.to_string())
        });
    }
}

#[cfg(unix)]
#[test]
fn link_target_is_watched() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    write(&root, "default.project.json", &tree(r#""$path": "src""#));
    write(&root, "src/One.luau", "return 1\n");
    write(&root, "lib/first/Two.luau", "return 2\n");
    write(&root, "lib/second/Two.luau", "return 3\n");
    std::os::unix::fs::symlink("../lib/first", root.join("src/Link")).unwrap();
    let mut bench = Bench::open(folder, root);
    bench.until_text("game.ServerStorage.Link.Two", "return 2\n");
    bench.write("lib/first/Two.luau", "return 22\n");
    bench.until_text("game.ServerStorage.Link.Two", "return 22\n");
    // The link now leads to another folder.
    fs::remove_file(bench.root.join("src/Link")).unwrap();
    std::os::unix::fs::symlink("../lib/second", bench.root.join("src/Link")).unwrap();
    bench.until_text("game.ServerStorage.Link.Two", "return 3\n");
    bench.write("lib/second/Two.luau", "return 33\n");
    bench.until_text("game.ServerStorage.Link.Two", "return 33\n");
}
