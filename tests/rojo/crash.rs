//! A process that is killed after any of its ledger entries while it changes a project: the next
//! run finishes what was approved, and the files are always in the state before or after.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;

use vector_tests::binary::Home;

use super::edits::snapshot;

const CALLS: &str = "\
{\"tool\":\"write_script\",\"args\":{\"path\":\"game.ServerStorage.a\",\"source\":\"return 2\\n\"}}
{\"tool\":\"create_instance\",\"args\":{\"className\":\"ModuleScript\",\"parentPath\":\"game.ServerStorage.a\",\"props\":{\"Name\":\"n\",\"Source\":\"return 3\\n\"}}}
{\"tool\":\"delete_instance\",\"args\":{\"path\":\"game.ServerStorage.box\"}}
";

fn project(home: &Home) -> std::path::PathBuf {
    let folder = home.path().join("project");
    fs::create_dir_all(folder.join("src/box")).unwrap();
    let text = r#"{ "name": "Game", "tree": { "$className": "DataModel", "ServerStorage": { "$path": "src" } } }"#;
    fs::write(folder.join("default.project.json"), text).unwrap();
    fs::write(folder.join("src/a.luau"), "return 1\n").unwrap();
    fs::write(folder.join("src/box/b.luau"), "return 1\n").unwrap();
    folder
}

fn settle(home: &Home, folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let shown = folder.display().to_string();
    // Any later run on the project settles it; this one changes nothing itself.
    let next = home.run(&["edit", "--project", &shown, "--prompt", "delete #NotThere"], "");
    assert_eq!(next.code, 1, "{}", next.stderr);
    snapshot(folder)
}

#[test]
fn killed_project_edits_are_settled_by_the_next_run() {
    let home = Home::new();
    let folder = project(&home);
    let before = snapshot(&folder);
    let args = |folder: &Path| {
        let calls = folder.with_file_name("calls.jsonl");
        fs::write(&calls, CALLS).unwrap();
        let [folder, calls] = [folder, &calls].map(|it| it.display().to_string());
        ["edit", "--project", &folder, "--ops", &calls, "--yes", "--json"].map(str::to_owned)
    };
    let whole = home.run(&args(&folder), "");
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let done = snapshot(&folder);
    for stop in 1..=whole.stdout.lines().count() {
        let home = Home::new();
        let folder = project(&home);
        let mut child = home
            .command(&args(&folder))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut seen = String::new();
        for _ in 0..stop {
            reader.read_line(&mut seen).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let settled = settle(&home, &folder);
        assert!(settled == before || settled == done, "half done after entry {stop}: {settled:?}");
        let was_approved = seen.contains("\"entry\":\"approved\"");
        assert!(!was_approved || settled == done, "the decision was lost after entry {stop}");
    }
}

/// A file is changed after it was applied: the revert does not overwrite that change.
#[test]
fn revert_of_a_file_changed_elsewhere_is_refused() {
    let home = Home::new();
    let folder = project(&home);
    let shown = folder.display().to_string();
    let run = home.run(&["edit", "--project", &shown, "--ops", "-", "--yes"], CALLS);
    assert_eq!(run.code, 0, "{}", run.stderr);
    fs::write(folder.join("src/a/init.luau"), "return 'mine'\n").unwrap();
    let back = home.run(&["revert", "1", "--yes"], "");
    assert_eq!(back.code, 1, "{}", back.stderr);
    assert_eq!(fs::read_to_string(folder.join("src/a/init.luau")).unwrap(), "return 'mine'\n");
    // A change of an unrelated file does not prevent the revert, and stays.
    fs::write(folder.join("src/a/init.luau"), "return 2\n").unwrap();
    fs::write(folder.join("src/other.luau"), "return 5\n").unwrap();
    let back = home.run(&["revert", "1", "--yes"], "");
    assert_eq!(back.code, 0, "{}", back.stderr);
    assert_eq!(fs::read_to_string(folder.join("src/a.luau")).unwrap(), "return 1\n");
    assert_eq!(fs::read_to_string(folder.join("src/box/b.luau")).unwrap(), "return 1\n");
    assert_eq!(fs::read_to_string(folder.join("src/other.luau")).unwrap(), "return 5\n");
}

#[test]
fn dry_run_writes_nothing() {
    let home = Home::new();
    let folder = project(&home);
    let before = snapshot(&folder);
    let shown = folder.display().to_string();
    let run = home.run(&["edit", "--project", &shown, "--ops", "-", "--dry-run"], CALLS);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("dry run"), "{}", run.stderr);
    assert_eq!(snapshot(&folder), before);
}

#[test]
fn project_can_be_edited_in_a_chat() {
    let home = Home::new();
    let folder = project(&home);
    let shown = folder.display().to_string();
    let said = "rename game.ServerStorage.a to c\n";
    let run = home.run(&["chat", "--project", &shown, "--model", "offline", "--yes"], said);
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!folder.join("src/a.luau").exists(), "{}", run.stderr);
    assert_eq!(fs::read_to_string(folder.join("src/c.luau")).unwrap(), "return 1\n");
}
