//! Files that another program has open in a way that does not let others replace them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use vector_tests::binary::{self, Home};
use vector_tests::places::{self, Format};

use super::is_for_windows;

/// A program that has a file open until it is dropped.
struct Holder(Child);

impl Holder {
    fn hold(file: &Path) -> Self {
        let programs = binary::vector().parent().unwrap();
        let mut command = Command::new(programs.join("wine"));
        command.arg(programs.join("hold.exe")).arg(file);
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut holder = Self(child);
        let mut line = String::new();
        BufReader::new(holder.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line.trim(), "held");
        holder
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

const CALL: &str = "{\"tool\":\"delete_instance\",\"args\":{\"selector\":\"Part\"}}\n";

/// The names of the files in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|it| it.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn held_place_is_as_it_was_and_the_change_is_applied_later() {
    if !is_for_windows() {
        return;
    }
    for format in [Format::Rbxl, Format::Rbxlx] {
        let home = Home::new();
        let folder = home.path().join("places");
        fs::create_dir(&folder).unwrap();
        let name = format!("place.{}", format.extension());
        let file = folder.join(&name);
        fs::write(&file, places::sample(format)).unwrap();
        let before = fs::read(&file).unwrap();
        let place = file.display().to_string();
        let args = ["edit", &place, "--ops", "-", "--yes"];
        let holder = Holder::hold(&file);
        let refused = home.run(&args, CALL);
        assert_eq!(refused.code, 1, "{}", refused.stderr);
        assert!(
            refused
                .stderr
                .contains("was not written and is as it was: another program has it open"),
            "{}",
            refused.stderr
        );
        assert_eq!(fs::read(&file).unwrap(), before);
        assert_eq!(names(&folder), [&*name], "nothing else is left there");
        drop(holder);
        // What was approved is applied by the next run on the place, before its own calls.
        let next = home.run(&["edit", &place, "--prompt", "delete #NotThere"], "");
        assert_eq!(next.code, 1, "{}", next.stderr);
        let same = home.path().join(&name);
        fs::write(&same, &before).unwrap();
        let other =
            Home::new().run(&["edit", &same.display().to_string(), "--ops", "-", "--yes"], CALL);
        assert_eq!(other.code, 0, "{}", other.stderr);
        assert!(fs::read(&file).unwrap() == fs::read(&same).unwrap(), "it was applied once");
    }
}

#[test]
fn held_script_keeps_all_files_of_a_project_as_they_were() {
    if !is_for_windows() {
        return;
    }
    let home = Home::new();
    let folder = home.path().join("game");
    fs::create_dir_all(folder.join("src")).unwrap();
    let project = r#"{"name":"game","tree":{"$className":"DataModel",
        "ReplicatedStorage":{"$path":"src"}}}"#;
    fs::write(folder.join("default.project.json"), project).unwrap();
    for name in ["A", "B", "C"] {
        fs::write(folder.join(format!("src/{name}.luau")), format!("return '{name}'\n")).unwrap();
    }
    let edit = |name: &str| {
        format!(
            "{{\"tool\":\"replace_text\",\"args\":{{\"path\":\"game.ReplicatedStorage.{name}\",\"edits\":\
             [{{\"search\":\"return\",\"replace\":\"local _ = 1\\nreturn\"}}]}}}}\n"
        )
    };
    let calls = ["A", "B", "C"].map(edit).concat();
    let project = folder.display().to_string();
    let text = |name: &str| fs::read_to_string(folder.join(format!("src/{name}.luau"))).unwrap();
    let holder = Holder::hold(&folder.join("src/C.luau"));
    let refused = home.run(&["edit", &project, "--ops", "-", "--yes"], &calls);
    assert_eq!(refused.code, 1, "{}", refused.stderr);
    assert!(refused.stderr.contains("another program has it open"), "{}", refused.stderr);
    assert_eq!(text("C"), "return 'C'\n");
    // The files that were not held are whole, old or new; the next run completes the step.
    drop(holder);
    home.run(&["edit", &project, "--prompt", "delete #NotThere"], "");
    for name in ["A", "B", "C"] {
        let (old, new) = (format!("return '{name}'\n"), format!("local _ = 1\nreturn '{name}'\n"));
        assert!([old, new].contains(&text(name)), "{}", text(name));
    }
    assert_eq!(names(&folder.join("src")), ["A.luau", "B.luau", "C.luau"]);
}
