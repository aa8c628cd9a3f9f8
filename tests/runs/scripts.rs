//! Scripts that change a place, in `scripts/`.

use std::fs;
use std::path::{Path, PathBuf};

/// The name and the text of each script.
pub(crate) fn scripts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runs/scripts");
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |file: PathBuf| {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        (name, fs::read_to_string(file).unwrap())
    };
    let mut all: Vec<_> = entries.map(read).collect();
    all.sort();
    all
}
