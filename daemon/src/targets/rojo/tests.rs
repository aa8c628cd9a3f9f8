//! The reader on small projects; what Rojo itself says of them is asked in `tests/rojo`.

use std::path::Path;

use tempfile::TempDir;

use super::*;

/// A project of files with texts.
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

/// The tree as lines: depth, name, class, key.
fn lines(tree: &Tree) -> Vec<String> {
    let line = |instance: &Instance| {
        let mut depth = 0;
        let mut at = instance.parent;
        while let Some(parent) = at {
            depth += 1;
            at = tree.instances[parent as usize].parent;
        }
        let Instance { name, class, key, .. } = instance;
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
    let tree = Tree::read(folder.path()).unwrap();
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
fn the_scene_has_what_the_files_have() {
    let folder = project(&COMMON);
    let tree = Tree::read(folder.path()).unwrap();
    let (mut scene, nodes) = tree.scene();
    let at = |key: &str| nodes[tree.instances.iter().position(|it| it.key == key).unwrap()];
    let main = at("src/server/main.server.luau");
    assert_eq!(scene.source(main).as_deref(), Some("print('hello')\n"));
    assert_eq!(scene.id(main).0, "ref:src/server/main.server.luau");
    assert_eq!(scene.by_id(&scene.id(main)), Some(main));
    assert_eq!(scene.path(main).to_string(), "game.ServerScriptService.main");
    let Some(value) = scene.stored(main, "Disabled") else { panic!("no Disabled") };
    assert_eq!(value, scene_schemas::Value::Bool(true));
    assert!(scene.attribute(at("src/server/Box"), "Speed").is_some());
    let written = scene.encode().unwrap();
    let read = crate::core::scene::Scene::decode(&written).unwrap();
    assert_eq!(read.len(), tree.instances.len() - 1);
}
