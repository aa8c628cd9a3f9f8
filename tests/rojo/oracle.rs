//! Comparison with the real Rojo.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use vector_place::diff::diff_scenes;
use vector_place::{FileFormat, Scene};
use vector_rojo_project::{ProjectTree, SourcemapOptions};
use vector_tests::requirement::Requirement;

const VERSION: &str = "Rojo 7.7.1";

/// Whether Rojo is on the PATH in the supported version; prints a notice if not.
///
/// # Panics
/// Rojo is missing and required.
pub(super) fn rojo() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let said = Command::new("rojo").arg("--version").output();
        let found = said.is_ok_and(|said| String::from_utf8_lossy(&said.stdout).trim() == VERSION);
        if !found {
            let reason = format!("comparisons with Rojo ({VERSION} is not on the PATH)");
            Requirement::Rojo.skip(&reason);
        }
        found
    })
}

/// The differences between Vector's reading of a project and Rojo's.
pub(super) fn differences(project: &Path, tree: &ProjectTree) -> Vec<String> {
    let mut wrong = Vec::new();
    let fatal: Vec<_> = tree.diagnostics.iter().filter(|it| it.is_fatal_to_rojo).collect();
    let sourcemap = ask(&["sourcemap", "--include-non-scripts"], project);
    let theirs = match sourcemap {
        Ok(theirs) if fatal.is_empty() => theirs,
        Ok(_) => return vec![format!("Rojo takes what we say is fatal to it: {fatal:?}")],
        // Rojo panics on a `$path` that ends with `..`, so there is nothing to compare.
        Err(why) if why.contains("Rojo crashed!") => return Vec::new(),
        Err(why) if fatal.is_empty() => return vec![format!("Rojo refuses the project: {why}")],
        Err(_) => return wrong,
    };
    // Rojo reads paths that lead out of the project; Vector deliberately does not.
    if !tree.diagnostics.is_empty() {
        return wrong;
    }
    let ours = tree.to_sourcemap(SourcemapOptions { has_non_scripts: true, is_absolute: false });
    if ours.trim() != theirs.trim() {
        wrong.push(format!("sourcemaps differ\n  ours:   {ours}\n  theirs: {}", theirs.trim()));
    }
    let folder = tempfile::tempdir().unwrap();
    let end = if tree.is_place() { "rbxl" } else { "rbxm" };
    let built = folder.path().join("built").with_extension(end);
    if let Err(why) = ask(&["build", "--output", built.to_str().unwrap()], project) {
        wrong.push(format!("Rojo does not build it: {why}"));
        return wrong;
    }
    let built = Scene::decode(&std::fs::read(built).unwrap()).unwrap();
    let (mut scene, _) = tree.to_scene();
    for difference in diff_scenes(&built, &scene) {
        wrong.push(format!("from what Rojo builds: {difference:?}"));
    }
    let written = match scene.encode() {
        // Only the binary format can hold such a text.
        Err(why) if why.to_string().contains("U+0000") => {
            scene.convert_to(FileFormat::Binary).and_then(|mut scene| scene.encode())
        }
        written => written,
    };
    let written = Scene::decode(&written.unwrap()).unwrap();
    for difference in diff_scenes(&built, &written) {
        wrong.push(format!("from what Rojo builds, once written: {difference:?}"));
    }
    wrong
}

/// Runs Rojo on a project, and returns its output or its error.
pub(super) fn ask(args: &[&str], project: &Path) -> Result<String, String> {
    let (command, options) = args.split_first().unwrap();
    let output = Command::new("rojo").arg(command).arg(project).args(options).output().unwrap();
    if output.status.success() {
        return Ok(String::from_utf8(output.stdout).unwrap());
    }
    Err(String::from_utf8_lossy(&output.stderr).trim().to_owned())
}
