//! A process that is killed after any of its entries: the next run finishes what was approved, and
//! the file is always whole.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use vector_tests::places::Format;

use super::{text, with_place};

const CALLS: &str = "\
{\"tool\":\"create_instance\",\"args\":{\"className\":\"Folder\",\"parentPath\":\"game.Workspace\",\"props\":{\"Name\":\"Kept\"}}}
{\"tool\":\"delete_instance\",\"args\":{\"selector\":\"Part\"}}
";

#[test]
fn killed_run_is_settled_by_the_next() {
    let (home, file) = with_place(Format::Rbxl);
    let args = ["edit", &text(&file), "--ops", "-", "--yes", "--json"];
    let whole = home.run(&args, CALLS);
    assert_eq!(whole.code, 0, "{}", whole.stderr);
    let done = fs::read(&file).unwrap();
    let lines = whole.stdout.lines().count();
    for stop in 1..=lines {
        let (home, file) = with_place(Format::Rbxl);
        let before = fs::read(&file).unwrap();
        let calls = home.path().join("calls.jsonl");
        fs::write(&calls, CALLS).unwrap();
        let args = ["edit", &text(&file), "--ops", &text(&calls), "--yes", "--json"];
        let mut child =
            home.command(&args).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut reader = BufReader::new(child.stdout.take().unwrap());
        let mut seen = String::new();
        for _ in 0..stop {
            reader.read_line(&mut seen).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let now = fs::read(&file).unwrap();
        assert!(now == before || now == done, "half a file after entry {stop}");
        let was_approved = seen.contains("\"entry\":\"approved\"");
        // Any later run on the file settles the interrupted one. This run itself changes nothing.
        let next = home.run(&["edit", &text(&file), "--prompt", "delete #NotThere"], "");
        assert_eq!(next.code, 1, "{}", next.stderr);
        let settled = fs::read(&file).unwrap();
        assert!(settled == before || settled == done, "half a file after entry {stop}");
        assert!(!was_approved || settled == done, "the decision was lost after entry {stop}");
    }
}
