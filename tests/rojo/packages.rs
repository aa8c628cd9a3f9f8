//! Real Luau packages from npm, unpacked in the folder `VECTOR_ROJO_PACKAGES`.

use std::path::{Path, PathBuf};

use vector_rojo_project::ProjectTree;
use vector_tests::requirement::Requirement;

use super::oracle::{differences, rojo};

/// The folder of the packages; None, with a notice, if the variable is not set.
fn packages() -> Option<PathBuf> {
    let folder = std::env::var_os("VECTOR_ROJO_PACKAGES").map(PathBuf::from);
    if folder.is_none() {
        Requirement::Packages.skip("tests on Luau packages (VECTOR_ROJO_PACKAGES is not set)");
    }
    folder
}

/// All project files below a folder.
fn projects(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for entry in entries {
        if entry.is_dir() {
            projects(&entry, found);
        } else if entry.to_string_lossy().ends_with(".project.json") {
            found.push(entry);
        }
    }
}

#[test]
fn real_packages_are_read_as_rojo_reads_them() {
    let Some(folder) = packages() else { return };
    let mut files = Vec::new();
    projects(&folder, &mut files);
    assert!(!files.is_empty(), "{} has no project", folder.display());
    // All packages at once: each is a node of one project.
    let whole = folder.join("whole.project.json");
    let mut tree = serde_json::Map::new();
    tree.insert("$className".to_owned(), "Folder".into());
    for entry in std::fs::read_dir(&folder).unwrap().map(Result::unwrap) {
        if entry.path().is_dir() {
            let name = entry.file_name().into_string().unwrap();
            tree.insert(name.clone(), serde_json::json!({ "$path": name }));
        }
    }
    let project = serde_json::json!({ "name": "Whole", "tree": tree });
    std::fs::write(&whole, project.to_string()).unwrap();
    files.retain(|file| *file != whole);
    files.push(whole);
    let mut wrong = Vec::new();
    let mut instances = 0;
    for file in files {
        let tree = match ProjectTree::read(&file) {
            Ok(tree) => tree,
            // Everything in such a project is optional and missing from the package.
            Err(error) if error.to_string().ends_with("it has no instances") => continue,
            Err(error) => {
                wrong.push(error.to_string());
                continue;
            }
        };
        instances += tree.instances.len();
        if rojo() {
            let found = differences(&file, &tree);
            wrong.extend(found.into_iter().map(|why| format!("{}: {why}", file.display())));
        }
    }
    assert!(instances > 100, "the packages hold {instances} instances alone");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
