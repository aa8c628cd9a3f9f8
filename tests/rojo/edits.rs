//! Changes of projects: the resulting files, byte for byte, and that Vector and Rojo both read them
//! as the place that the same calls give in a place file.
//!
//! A case is a file: the project as in `cases`, `=== calls`, the calls, `===`, and the changed
//! files and the messages, which `UPDATE=1` rewrites. Everything that was applied is reverted in
//! the end, and every file must be as before.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use vector_place::Scene;
use vector_place::diff::diff_scenes;
use vector_rojo_project::ProjectTree;
use vector_tests::binary::Home;
use vector_tests::repository;

use super::cases::make;
use super::oracle::{ask, rojo};

/// Every file of a folder with its bytes; folders end with a slash.
pub(crate) fn snapshot(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in std::fs::read_dir(&at).unwrap() {
            let entry = entry.unwrap();
            let path = entry.path();
            let name = path.strip_prefix(folder).unwrap().to_string_lossy().replace('\\', "/");
            let kind = entry.file_type().unwrap();
            if kind.is_dir() {
                all.insert(format!("{name}/"), Vec::new());
                open.push(path);
            } else if kind.is_file() {
                all.insert(name, std::fs::read(path).unwrap());
            } else {
                all.insert(format!("{name}@"), Vec::new());
            }
        }
    }
    all
}

/// The differences between two states of a folder, for humans.
fn changes(before: &BTreeMap<String, Vec<u8>>, after: &BTreeMap<String, Vec<u8>>) -> String {
    let mut text = String::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        writeln!(text, "gone {name}").unwrap();
    }
    for (name, bytes) in after.iter().filter(|(name, bytes)| before.get(*name) != Some(bytes)) {
        let what = if before.contains_key(name) { "changed" } else { "new" };
        writeln!(text, "{what} {name}").unwrap();
        let shown = match std::str::from_utf8(bytes) {
            Ok(shown) => shown.replace('\r', "\\r").replace('\u{feff}', "\\u{feff}"),
            Err(_) => "(bytes)".to_owned(),
        };
        for line in shown.lines() {
            writeln!(text, "  | {line}").unwrap();
        }
        if !shown.is_empty() && !shown.ends_with('\n') {
            writeln!(text, "  \\ no line end").unwrap();
        }
    }
    text
}

struct Case {
    file: PathBuf,
    files: String,
    calls: String,
    expected: String,
}

impl Case {
    fn read(file: &Path) -> Self {
        let text = std::fs::read_to_string(file).unwrap();
        let (files, rest) = text.split_once("\n=== calls\n").unwrap();
        let (calls, expected) = rest.split_once("\n===\n").unwrap_or((rest.trim_end(), ""));
        let [files, calls, expected] = [files, calls, expected].map(str::to_owned);
        Self { file: file.to_owned(), files, calls, expected }
    }

    fn check(&self) -> Vec<String> {
        let folder = make(&self.files);
        let project = std::fs::canonicalize(folder.path().join("project")).unwrap();
        let place = folder.path().join("before.rbxlx");
        let tree = ProjectTree::read(&project).unwrap();
        let end = if tree.is_place() { "rbxlx" } else { "rbxmx" };
        let place = place.with_extension(end);
        std::fs::write(&place, tree.to_scene().0.encode().unwrap()).unwrap();
        let home = Home::new();
        let before = snapshot(&project);
        let shown = project.to_string_lossy().into_owned();
        let run = home.run(&["edit", "--project", &shown, "--ops", "-", "--yes"], &self.calls);
        let after = snapshot(&project);
        let mut printed = changes(&before, &after);
        let said = run.stderr.lines().filter(|line| line.starts_with("error"));
        said.for_each(|line| writeln!(printed, "{line}").unwrap());
        let mut printed = printed.replace(&shown, "PROJECT");
        writeln!(printed, "exit code {}", run.code).unwrap();
        let mut wrong = Vec::new();
        if run.code == 0 {
            wrong.extend(self.compare(&project, &place));
        } else if before != after {
            wrong.push("it was refused, and files have changed".to_owned());
        }
        if printed != self.expected {
            if std::env::var_os("UPDATE").is_some() {
                let Self { files, calls, .. } = self;
                let text = format!("{files}\n=== calls\n{calls}\n===\n{printed}");
                std::fs::write(&self.file, text).unwrap();
            } else {
                wrong.push(format!("it ends otherwise:\n{printed}{}", run.stderr));
            }
        }
        if run.code == 0 {
            let back = home.run(&["revert", "1", "--yes"], "");
            let restored = snapshot(&project);
            if back.code != 0 || restored != before {
                let left = changes(&before, &restored);
                wrong.push(format!("it is not taken back:\n{left}{}", back.stderr));
            }
        }
        wrong
    }

    /// Compares the files, read again, with the place file after the same calls.
    fn compare(&self, project: &Path, place: &Path) -> Vec<String> {
        let home = Home::new();
        let out = place.with_file_name("after").with_extension(place.extension().unwrap());
        let [from, to] = [place, &out].map(|it| it.to_string_lossy().into_owned());
        let run = home.run(&["edit", &from, "--ops", "-", "--yes", "--out", &to], &self.calls);
        if run.code != 0 {
            return vec![format!("the calls fail in a place file: {}", run.stderr)];
        }
        let wanted = Scene::decode(&std::fs::read(&out).unwrap()).unwrap();
        let tree = ProjectTree::read(project).unwrap();
        let read = diff_scenes(&wanted, &tree.to_scene().0);
        let mut wrong: Vec<String> =
            read.into_iter().map(|it| format!("the files are read otherwise: {it:?}")).collect();
        if rojo() {
            let built = place.with_file_name("built");
            let built = built.with_extension(if tree.is_place() { "rbxl" } else { "rbxm" });
            match ask(&["build", "--output", built.to_str().unwrap()], project) {
                Ok(_) => {
                    let built = Scene::decode(&std::fs::read(built).unwrap()).unwrap();
                    let differences = diff_scenes(&wanted, &built).into_iter();
                    wrong.extend(differences.map(|it| format!("Rojo builds otherwise: {it:?}")));
                }
                Err(why) => wrong.push(format!("Rojo does not build it: {why}")),
            }
        }
        wrong
    }
}

#[test]
#[cfg(unix)]
fn edits_of_a_project_change_its_files() {
    let folder = repository::root().join("tests/rojo/edits");
    let mut files: Vec<_> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() > 20, "the cases are gone");
    let mut wrong = Vec::new();
    for file in files {
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let case = Case::read(&file);
        wrong.extend(case.check().into_iter().map(|why| format!("{name}: {why}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
