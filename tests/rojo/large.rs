//! A project of ten thousand files: read completely, and as Rojo reads it.

use std::fs;
use std::path::Path;

use tempfile::TempDir;
use vector_tests::binary;

use super::oracle::{ask, rojo};

const FOLDERS: usize = 100;
const FILES: usize = 100;

/// A project with scripts of each kind, meta files, models, texts and tables, in folders three
/// levels deep. The innermost folders are scripts themselves.
fn project() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let tree = r#"{ "name": "Large", "tree": { "$className": "DataModel",
        "ReplicatedStorage": { "$path": "src" } } }"#;
    fs::write(root.join("default.project.json"), tree).unwrap();
    for at in 0..FOLDERS {
        let inner = root.join(format!("src/part {}/deep/{at:03}", at % 10));
        fs::create_dir_all(&inner).unwrap();
        for number in 0..FILES {
            write(&inner, number);
        }
    }
    folder
}

fn write(folder: &Path, number: usize) {
    let (name, text) = match number {
        0 => ("init.luau".to_owned(), "return {}\n"),
        1 => ("init.meta.json".to_owned(), r#"{ "attributes": { "N": 1 } }"#),
        // The meta file of the previous script.
        _ if number % 10 == 3 => (
            format!("S{:02}.meta.json", number - 1),
            r#"{ "properties": { "Archivable": false } }"#,
        ),
        _ if number % 10 == 4 => (
            format!("M{number}.model.json"),
            r#"{ "className": "Model", "children": [{ "className": "Part", "name": "P" }] }"#,
        ),
        _ if number % 10 == 5 => (format!("T{number}.txt"), "words"),
        _ if number % 10 == 6 => (format!("J{number}.json"), r#"{ "a": [1, 2] }"#),
        _ if number % 10 == 7 => (format!("S{number}.server.luau"), "print(1)\n"),
        _ if number % 10 == 8 => (format!("S{number}.client.lua"), "print(1)\n"),
        // Rojo ignores these.
        _ if number % 10 == 9 => (format!("R{number}.md"), "# Words\n"),
        _ => (format!("S{number:02}.luau"), "return 1\n"),
    };
    fs::write(folder.join(name), text).unwrap();
}

#[test]
fn ten_thousand_files_are_read_as_rojo_reads_them() {
    let folder = project();
    let shown = folder.path().to_str().unwrap();
    let ours = binary::run(&["sourcemap", shown, "--include-non-scripts"], "");
    assert_eq!((ours.code, ours.stderr.as_str()), (0, ""));
    let read: serde_json::Value = serde_json::from_str(&ours.stdout).unwrap();
    // The files that are instances, the parts in the models, and the folders above them.
    let (instances, folders) = (FOLDERS * 79, 10 + 10);
    assert_eq!(count(&read), instances + FOLDERS * 10 + folders + 2);
    if rojo() {
        let theirs = ask(&["sourcemap", "--include-non-scripts"], folder.path()).unwrap();
        assert!(ours.stdout.trim() == theirs.trim(), "the sourcemaps differ");
    }
}

fn count(instance: &serde_json::Value) -> usize {
    let children = instance["children"].as_array();
    1 + children.into_iter().flatten().map(count).sum::<usize>()
}
