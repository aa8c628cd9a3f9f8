//! Rojo's rules one by one. A case is a file: `--- PATH` begins a file of the project, `===` the
//! expectation, which `UPDATE=1` rewrites.
//!
//! Flags after a path: `bom` adds a byte order mark, `crlf` uses Windows line ends, `hex` reads the
//! text as hexadecimal bytes, `link` creates a symbolic link to the text, `folder` creates a
//! folder.

use std::fmt::Write as _;
use std::path::Path;

use scene_schemas::Value;
use tempfile::TempDir;
use vector_place::{Node, Scene};
use vector_rojo_project::ProjectTree;
use vector_tests::repository;

use super::oracle::{differences, rojo};

/// Creates the project of a case in a subfolder `project`, so that links may lead out of it.
pub(super) fn make(case: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let project = folder.path().join("project");
    std::fs::create_dir(&project).unwrap();
    for file in case.split("\n--- ").map(|file| file.strip_prefix("--- ").unwrap_or(file)) {
        let (head, text) = file.split_once('\n').unwrap_or((file, ""));
        let (name, how) = head.split_once(" : ").unwrap_or((head, ""));
        let path = project.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = text.to_owned();
        let bytes = match how {
            "" => text.into_bytes(),
            "bom" => format!("\u{feff}{text}").into_bytes(),
            "crlf" => text.replace('\n', "\r\n").into_bytes(),
            "hex" => {
                text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
            }
            "folder" => {
                std::fs::create_dir_all(path).unwrap();
                continue;
            }
            "link" => {
                #[cfg(unix)]
                std::os::unix::fs::symlink(text.trim(), path).unwrap();
                continue;
            }
            how => panic!("{how} is no way to make a file"),
        };
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

/// Prints the result for humans: instances with files and properties, then the diagnostics.
fn print(tree: &ProjectTree, project: &Path) -> String {
    let (scene, nodes) = tree.to_scene();
    let mut text = String::new();
    for (number, (instance, node)) in (0..).zip(tree.instances.iter().zip(&nodes)) {
        let mut depth = 0;
        let mut at = instance.parent;
        while let Some(parent) = at {
            (depth, at) = (depth + 1, tree.instances[parent as usize].parent);
        }
        let indent = "  ".repeat(depth);
        let files = tree.instance_files(number).iter().map(|file| tree.format_path(file, false));
        let files: Vec<_> = files.collect();
        let unknown = if instance.ignores_unknown { " *" } else { "" };
        writeln!(
            text,
            "{indent}{} {} {:?}{unknown} {}",
            instance.name,
            instance.class,
            instance.key,
            files.join(" ")
        )
        .unwrap();
        if *node == scene.root() {
            continue;
        }
        for (name, value) in values(&scene, *node) {
            writeln!(text, "{indent}    {name} = {value}").unwrap();
        }
    }
    for diagnostic in &tree.diagnostics {
        let fatal = if diagnostic.is_fatal_to_rojo { "!" } else { "?" };
        let file = tree.format_path(&diagnostic.file, false);
        writeln!(text, "{fatal} {file}: {}", diagnostic.message).unwrap();
    }
    let above = project.parent().unwrap();
    text.replace(&*project.to_string_lossy(), "PROJECT").replace(&*above.to_string_lossy(), "ABOVE")
}

fn values(scene: &Scene, node: Node) -> Vec<(String, String)> {
    let names = scene.stored_names(node).into_iter().filter(|name| *name != "Attributes");
    let attributes = scene.attribute_names(node).into_iter().map(|name| format!("@{name}"));
    let value = |name: String| {
        let value = scene.stored_value(node, &name).unwrap_or(Value::Bool(false));
        let json = serde_json::to_string(&value).unwrap();
        (name, json)
    };
    names.map(str::to_owned).chain(attributes).map(value).collect()
}

/// The differences between a case's expectation and the result.
fn check(file: &Path) -> Vec<String> {
    let case = std::fs::read_to_string(file).unwrap();
    let (files, expected) = case.split_once("\n===\n").unwrap_or((case.trim_end(), ""));
    let folder = make(files);
    let project = std::fs::canonicalize(folder.path().join("project")).unwrap();
    let mut wrong = Vec::new();
    let printed = match ProjectTree::read(&project) {
        Ok(tree) => {
            if rojo() && !tree.project.ends_with("rojo.json") {
                wrong.extend(differences(&project, &tree));
            }
            print(&tree, &project)
        }
        Err(error) => {
            if rojo() && super::oracle::ask(&["sourcemap"], &project).is_ok() {
                wrong.push("Rojo reads what we cannot".to_owned());
            }
            format!("{error}\n").replace(&project.to_string_lossy().into_owned(), "PROJECT")
        }
    };
    if printed != expected {
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(file, format!("{files}\n===\n{printed}")).unwrap();
        } else {
            wrong.push(format!("it is read otherwise:\n{printed}"));
        }
    }
    wrong
}

#[test]
#[cfg(unix)]
fn case_projects_are_read_as_rojo_reads_them() {
    let folder = repository::root().join("tests/rojo/cases");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 20, "the cases are gone");
    let mut wrong = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        wrong.extend(check(&file).into_iter().map(|why| format!("{name}: {why}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
