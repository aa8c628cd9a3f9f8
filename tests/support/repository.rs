//! The location of the repository, and its files.

use std::fs;
use std::path::{Path, PathBuf};

pub fn root() -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR"));
    tests.parent().expect("tests/ lies in the repository").to_owned()
}

/// The text of a file, by its path below the root.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files with an extension below a folder, by their paths below the root, with `/`, sorted.
/// Empty if the folder does not exist.
pub fn files(folder: &str, extension: &str) -> Vec<String> {
    let root = root();
    let mut found = Vec::new();
    let mut open = vec![root.join(folder)];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|it| it == extension) {
                let below = path.strip_prefix(&root).expect("it was found below the root");
                found.push(below.to_string_lossy().replace('\\', "/"));
            }
        }
    }
    found.sort();
    found
}
