//! Puts the sources of the plugin and of the probe into the binary: a list of files with their texts.

use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?).join("..");
    println!("cargo::rerun-if-changed=../rojo.json");
    println!("cargo::rerun-if-changed=../plugin/src");
    println!("cargo::rerun-if-changed=../plugin/probe");
    let mut files = vec![root.join("rojo.json")];
    walk(&root.join("plugin/src"), &mut files)?;
    walk(&root.join("plugin/probe"), &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root)?.to_string_lossy().replace('\\', "/");
        let text = fs::read_to_string(&file)?;
        list.push_str(&format!("    ({name:?}, {text:?}),\n"));
    }
    list.push_str("]\n");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    fs::write(out.join("plugin.rs"), list)?;
    Ok(())
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            walk(&entry.path(), files)?;
        } else if entry.path().extension().is_some_and(|it| it == "luau" || it == "json") {
            files.push(entry.path());
        }
    }
    Ok(())
}
