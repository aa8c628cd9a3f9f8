//! What is said between a person and a model stays between them: no key, no prompt, no script and no
//! reply reaches a log or a file besides the ledger, however much is asked to be logged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::play::{KEY, Stage};
use super::root;

/// What stands in what the person says, in a script of the place, and in what the model replies.
const PRIVATE: [&str; 4] = [KEY, "my-secret-plan", "local speed = 10", "my-secret-reply"];

/// What is asked for where somebody wants to see everything.
const LOUD: [(&str, &str); 5] = [
    ("RUST_LOG", "trace"),
    ("RUST_BACKTRACE", "full"),
    ("VECTOR_LOG", "trace"),
    ("LOG_LEVEL", "trace"),
    ("DEBUG", "*"),
];

/// All files below a folder.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|some| some == text.as_bytes())
}

#[test]
fn nothing_that_is_said_reaches_a_log() {
    for name in ["private", "private_and_refused"] {
        let stage = Stage::set(&root().join(name), None);
        let mut command = stage.edit(&["--yes", "--json"]);
        command.envs(LOUD).stdin(Stdio::null());
        let output = command.output().unwrap();
        let shown = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(stage.scenario.exit), "{shown}");
        for private in PRIVATE {
            assert!(!shown.contains(private), "{name}: {private} was logged: {shown}");
        }
        // With --json, stdout is the ledger, which is the person's own. The key is not even there.
        assert!(!holds(&output.stdout, KEY), "{name}: the key is in the ledger");
        let mut all = Vec::new();
        files(stage.home.path(), &mut all);
        assert!(all.len() > 3, "{all:?}");
        for file in all {
            let bytes = fs::read(&file).unwrap();
            let shown = file.strip_prefix(stage.home.path()).unwrap().display().to_string();
            assert!(!holds(&bytes, KEY), "{name}: the key is in {shown}");
            // The place, which the test itself has written twice, and the ledger with its blobs.
            let is_known = file.extension().is_some_and(|it| it == "rbxlx")
                || shown.starts_with("vector/ledger");
            for private in PRIVATE.iter().filter(|_| !is_known) {
                assert!(!holds(&bytes, private), "{name}: {private} is in {shown}");
            }
        }
    }
}
