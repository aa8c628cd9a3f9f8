//! Tests of the reader on small projects. `tests/rojo` compares the results with Rojo itself.

use std::path::Path;

use tempfile::TempDir;

use super::*;

/// Creates a project with the given files.
pub(super) fn project(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    folder
}

pub(super) fn write(folder: &Path, name: &str, text: &str) {
    let file = folder.join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// Formats the tree as lines of depth, name, class and key.
fn lines(tree: &ProjectTree) -> Vec<String> {
    let line = |instance: &ProjectInstance| {
        let mut depth = 0;
        let mut at = instance.parent;
        while let Some(parent) = at {
            depth += 1;
            at = tree.instances[parent as usize].parent;
        }
        let ProjectInstance { name, class, key, .. } = instance;
        format!("{}{name} {class} {key}", "  ".repeat(depth))
    };
    tree.instances.iter().map(line).collect()
}

const COMMON: [(&str, &str); 11] = [
    (
        "default.project.json",
        r#"{ "name": "Game", "tree": { "$className": "DataModel",
            "ServerScriptService": { "$path": "src/server" },
            "ReplicatedStorage": { "Shared": { "$path": "src/shared" } } } }"#,
    ),
    ("src/server/main.server.luau", "print('hello')\r\n"),
    ("src/server/main.meta.json", r#"{ "properties": { "Disabled": true } }"#),
    ("src/server/Box/init.lua", "return {}"),
    ("src/server/Box/part.txt", "a\r\nb"),
    ("src/server/Box/init.meta.json", r#"{ "attributes": { "Speed": 5 } }"#),
    ("src/shared/a.client.lua", ""),
    ("src/shared/b.plugin.luau", ""),
    ("src/shared/c.lua", ""),
    ("src/shared/empty/x.unknown", ""),
    ("src/shared/init.meta.json", r#"{ "ignoreUnknownInstances": true }"#),
];

#[test]
fn files_become_instances() {
    let folder = project(&COMMON);
    let tree = ProjectTree::read(folder.path()).unwrap();
    assert_eq!(tree.diagnostics, []);
    let expected = [
        "Game DataModel default.project.json",
        "  ReplicatedStorage ReplicatedStorage default.project.json:ReplicatedStorage",
        "    Shared Folder src/shared",
        "      a LocalScript src/shared/a.client.lua",
        "      b Script src/shared/b.plugin.luau",
        "      c ModuleScript src/shared/c.lua",
        "      empty Folder src/shared/empty",
        "  ServerScriptService ServerScriptService src/server",
        "    Box ModuleScript src/server/Box",
        "      part StringValue src/server/Box/part.txt",
        "    main Script src/server/main.server.luau",
    ];
    assert_eq!(lines(&tree), expected);
    let ignoring = tree.instances.iter().filter(|it| it.ignores_unknown).map(|it| &*it.name);
    assert_eq!(ignoring.collect::<Vec<_>>(), ["Game", "ReplicatedStorage", "Shared"]);
}

#[test]
fn scene_has_the_contents_of_the_files() {
    let folder = project(&COMMON);
    let tree = ProjectTree::read(folder.path()).unwrap();
    let (mut scene, nodes) = tree.to_scene();
    let at = |key: &str| nodes[tree.instances.iter().position(|it| it.key == key).unwrap()];
    let main = at("src/server/main.server.luau");
    assert_eq!(scene.script_text(main).as_deref(), Some("print('hello')\n"));
    assert_eq!(scene.id(main).0, "ref:src/server/main.server.luau");
    assert_eq!(scene.by_id(&scene.id(main)), Some(main));
    assert_eq!(scene.path(main).to_string(), "game.ServerScriptService.main");
    let Some(value) = scene.stored_value(main, "Disabled") else { panic!("no Disabled") };
    assert_eq!(value, scene_schemas::Value::Bool(true));
    assert!(scene.attribute(at("src/server/Box"), "Speed").is_some());
    let written = scene.encode().unwrap();
    let read = vector_place::Scene::decode(&written).unwrap();
    assert_eq!(read.len(), tree.instances.len() - 1);
}

const SRC: (&str, &str) =
    ("default.project.json", r#"{ "name": "Game", "tree": { "$path": "src" } }"#);

fn messages(tree: &ProjectTree) -> String {
    let messages: Vec<&str> = tree.diagnostics.iter().map(|it| it.message.as_str()).collect();
    messages.join("\n")
}

#[test]
fn too_deep_files_are_reported_and_others_read() {
    let deep_json = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let deep_yaml = "- ".repeat(100_000);
    let items = 20_000;
    let deep_model = format!(
        "<roblox version=\"4\">{}{}</roblox>",
        "<Item class=\"Folder\" referent=\"A\"><Properties></Properties>".repeat(items),
        "</Item>".repeat(items)
    );
    let children = r#"{ "className": "Folder", "children": ["#;
    let deep_json_model = format!("{}{}", children.repeat(5000), "]}".repeat(5000));
    let folder = project(&[
        SRC,
        ("src/a.json", &deep_json),
        ("src/b.yaml", &deep_yaml),
        ("src/c.rbxmx", &deep_model),
        ("src/d.model.json", &deep_json_model),
        ("src/e.toml", &format!("a = {}", "[".repeat(100_000))),
        ("src/f.meta.json", &deep_json),
        ("src/f.luau", "return 1"),
    ]);
    let mut deep = folder.path().join("src");
    for _ in 0..600 {
        deep.push("d");
    }
    std::fs::create_dir_all(&deep).unwrap();
    let tree = ProjectTree::read(folder.path()).unwrap();
    let told = messages(&tree);
    for what in ["128 deep", "500 folders deep", "deeper than 500", "it is not TOML"] {
        assert!(told.contains(what), "{what}: {told}");
    }
    assert!(tree.instances.iter().any(|it| it.key == "src/f.luau"));
}

#[test]
fn too_large_files_are_reported_and_others_read() {
    let folder = project(&[SRC, ("src/a.luau", "return 1"), ("src/d.luau", "return 2")]);
    for name in ["b.luau", "c.rbxm", "d.meta.json", "e.json"] {
        // A sparse file: it takes no space on the disk.
        let file = std::fs::File::create(folder.path().join("src").join(name)).unwrap();
        file.set_len(1_500 << 20).unwrap();
    }
    let tree = ProjectTree::read(folder.path()).unwrap();
    let told: Vec<(String, &str)> = tree
        .diagnostics
        .iter()
        .map(|it| (it.file.file_name().unwrap().display().to_string(), it.message.as_str()))
        .collect();
    let files: Vec<&str> = told.iter().map(|(file, _)| file.as_str()).collect();
    assert_eq!(files, ["b.luau", "c.rbxm", "d.meta.json", "e.json"]);
    assert!(
        told.iter().all(|(_, why)| why.contains("1500 MB") && why.contains("32 MB")),
        "{told:?}"
    );
    let keys: Vec<&str> = tree.instances.iter().map(|it| it.key.as_str()).collect();
    assert!(keys.contains(&"src/a.luau") && keys.contains(&"src/d.luau"), "{keys:?}");
    assert!(!keys.contains(&"src/b.luau"), "{keys:?}");

    let project = folder.path().join("default.project.json");
    std::fs::File::create(&project).unwrap().set_len(33 << 20).unwrap();
    let why = ProjectTree::read(folder.path()).unwrap_err().to_string();
    assert!(why.contains("33 MB"), "{why}");
}

#[test]
fn yaml_alias_bomb_is_refused() {
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..12 {
        let before = format!("*a{}, ", n - 1).repeat(9);
        bomb.push_str(&format!("a{n}: &a{n} [{before}]\n"));
    }
    let folder = project(&[SRC, ("src/bomb.yaml", &bomb), ("src/ok.yaml", "a: &x [1]\nb: *x")]);
    let tree = ProjectTree::read(folder.path()).unwrap();
    assert!(messages(&tree).contains("1000000 values"), "{}", messages(&tree));
    assert_eq!(tree.instances.len(), 2);
}

#[cfg(unix)]
#[test]
fn pipes_and_outside_links_are_not_read() {
    use std::os::unix::fs::symlink;
    let outside = project(&[("secret.luau", "return 1"), ("secret.json", "{}")]);
    let folder = project(&[SRC, ("src/a.luau", ""), ("src/in/b.luau", ""), ("src/p/c.luau", "")]);
    let src = folder.path().join("src");
    for name in ["pipe.luau", "a.meta.json", "in/init.luau"] {
        let made = std::process::Command::new("mkfifo").arg(src.join(name)).status();
        assert!(made.unwrap().success());
    }
    symlink(outside.path().join("secret.json"), src.join("in/b.meta.json")).unwrap();
    symlink(outside.path().join("secret.luau"), src.join("p/init.luau")).unwrap();
    let tree = ProjectTree::read(folder.path()).unwrap();
    assert_eq!(tree.diagnostics.len(), 7, "{}", messages(&tree));
    assert!(tree.instances.iter().all(|it| it.class == "Folder" || it.key.contains(".luau")));
    assert_eq!(tree.instances.len(), 6);
}

/// Reads a project, makes a change, and checks that an update from the given paths equals a full
/// reading, and that the change is seen.
#[cfg(unix)]
fn check_update(folder: &Path, change: impl FnOnce(), changed: &[&str]) {
    let folder = std::fs::canonicalize(folder).unwrap();
    let mut tree = ProjectTree::read(&folder).unwrap();
    let before = tree.instances.clone();
    change();
    let changed: Vec<_> = changed.iter().map(|path| folder.join(path)).collect();
    tree.update(&changed).unwrap();
    let whole = ProjectTree::read(&folder).unwrap();
    assert_ne!(whole.instances, before);
    assert_eq!(tree.instances, whole.instances);
    assert_eq!(tree.diagnostics, whole.diagnostics);
}

#[cfg(unix)]
#[test]
fn update_follows_a_link_that_leads_through_another() {
    use std::os::unix::fs::symlink;
    let folder = project(&[SRC, ("one/a.luau", "return 1"), ("two/b.luau", "return 2")]);
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("src")).unwrap();
    symlink("one", path("way")).unwrap();
    symlink("../way", path("src/in")).unwrap();
    let turn = || {
        std::fs::remove_file(path("way")).unwrap();
        symlink("two", path("way")).unwrap();
    };
    check_update(folder.path(), turn, &["way"]);
}

#[cfg(unix)]
#[test]
fn update_finds_the_target_of_a_path_below_a_dangling_link() {
    use std::os::unix::fs::symlink;
    let mounts = r#"{ "name": "Game", "tree": { "$className": "Folder",
        "A": { "$path": { "optional": "way/in/a.luau" } } } }"#;
    let folder = project(&[("default.project.json", mounts)]);
    symlink("far/off", folder.path().join("way")).unwrap();
    let come = || write(folder.path(), "far/off/in/a.luau", "return 1");
    check_update(folder.path(), come, &["far", "far/off/in/a.luau"]);
}

#[cfg(unix)]
#[test]
fn update_follows_a_linked_meta_file_in_a_linked_folder() {
    use std::os::unix::fs::symlink;
    let folder = project(&[SRC, ("real/a.luau", "return 1"), ("meta.json", "{}")]);
    std::fs::create_dir(folder.path().join("src")).unwrap();
    symlink("../real", folder.path().join("src/in")).unwrap();
    symlink("../meta.json", folder.path().join("real/a.meta.json")).unwrap();
    let turn = || {
        write(folder.path(), "meta.json", r#"{ "properties": { "Archivable": false } }"#);
    };
    check_update(folder.path(), turn, &["meta.json"]);
}

#[cfg(unix)]
#[test]
fn update_reads_the_target_of_a_link_that_was_written() {
    use std::os::unix::fs::symlink;
    let folder = project(&[SRC, ("src/a.luau", "return 1")]);
    symlink("a.luau", folder.path().join("src/b.luau")).unwrap();
    let change = || write(folder.path(), "src/b.luau", "return 2");
    check_update(folder.path(), change, &["src/b.luau"]);
    let turn = || {
        write(folder.path(), "src/b.luau", "return 3");
        std::fs::remove_file(folder.path().join("src/b.luau")).unwrap();
    };
    check_update(folder.path(), turn, &["src/b.luau"]);
}

#[cfg(unix)]
#[test]
fn update_ends_if_links_lead_to_each_other() {
    use std::os::unix::fs::symlink;
    let folder = project(&[SRC, ("src/a/x.luau", "return 1"), ("src/b/y.luau", "return 2")]);
    symlink("../b", folder.path().join("src/a/k")).unwrap();
    symlink("../a", folder.path().join("src/b/l")).unwrap();
    let change = || write(folder.path(), "src/a/x.luau", "return 3");
    check_update(folder.path(), change, &["src/a/x.luau"]);
}
