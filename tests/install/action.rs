//! The GitHub action, in a clone as GitHub makes one, with a `gh` that notes what it is asked.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value as Json, json};
use tempfile::TempDir;
use vector_tests::binary;
use vector_tests::requirement::has_git;
use vector_tests::{places, repository};

use super::has_python;

/// Lists no comments, or one, and keeps what is written.
const GH: &str = r#"#!/bin/sh
echo "$@" >> "$NOTES/calls"
case "$*" in
    *--jq*) cat "$NOTES/comments" 2>/dev/null || true ;;
    *"--method"*) cat > "$NOTES/body" ;;
esac
"#;

struct Pull {
    folder: TempDir,
    base: String,
}

impl Pull {
    /// A repository whose `main` has these files, with a checkout for a pull request that is empty.
    fn new(files: &[(&str, &[u8])]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut pull = Self { folder, base: String::new() };
        fs::create_dir_all(pull.at("bin")).unwrap();
        fs::write(pull.at("bin/gh"), GH).unwrap();
        let status = Command::new("chmod").arg("+x").arg(pull.at("bin/gh")).status();
        assert!(status.unwrap().success());
        fs::create_dir_all(pull.at("origin")).unwrap();
        pull.git("origin", &["init", "--quiet", "--initial-branch=main"]);
        pull.commit("origin", files);
        pull.base = pull.git("origin", &["rev-parse", "HEAD"]);
        pull.git("origin", &["checkout", "--quiet", "-b", "pull"]);
        pull
    }

    fn at(&self, path: &str) -> std::path::PathBuf {
        self.folder.path().join(path)
    }

    fn git(&self, folder: &str, args: &[&str]) -> String {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.at(folder)).args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        let output = command.args(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", said(&output));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    fn commit(&self, folder: &str, files: &[(&str, &[u8])]) {
        for (name, bytes) in files {
            let file = self.at(folder).join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, bytes).unwrap();
        }
        self.git(folder, &["add", "--all"]);
        self.git(folder, &["commit", "--quiet", "--allow-empty", "-m", "x"]);
    }

    /// Runs the action in a clone with the newest commit alone, as `actions/checkout` makes it.
    fn run(&self) -> Ran {
        let _ = fs::remove_dir_all(self.at("work"));
        let origin = format!("file://{}", self.at("origin").display());
        self.git(".", &["clone", "--quiet", "--depth=1", "--branch=pull", &origin, "work"]);
        let event = json!({ "pull_request": { "number": 7, "base": { "sha": self.base } } });
        fs::write(self.at("event.json"), event.to_string()).unwrap();
        let _ = fs::remove_file(self.at("summary"));
        let path = std::env::var("PATH").unwrap();
        let output = Command::new("python3")
            .arg(repository::root().join("packaging/action.py"))
            .current_dir(self.at("work"))
            .env("PATH", format!("{}:{path}", self.at("bin").display()))
            .env("VECTOR_HOME", self.at("vector"))
            .env("GITHUB_EVENT_PATH", self.at("event.json"))
            .env("GITHUB_REPOSITORY", "owner/name")
            .env("GITHUB_STEP_SUMMARY", self.at("summary"))
            .env("INPUT_BINARY", binary::vector())
            .env("NOTES", self.folder.path())
            .output()
            .unwrap();
        let read = |name: &str| fs::read_to_string(self.at(name)).unwrap_or_default();
        Ran { summary: read("summary"), comment: comment(&self.at("body")), output }
    }
}

struct Ran {
    output: Output,
    summary: String,
    comment: String,
}

fn comment(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap_or_else(|_| "{}".to_owned());
    let body: Json = serde_json::from_str(&text).unwrap();
    body["body"].as_str().unwrap_or_default().to_owned()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned()
}

#[test]
fn pull_request_is_checked_compared_and_commented_once() {
    if !has_python() || !has_git() {
        return;
    }
    let project = br#"{"name":"game","tree":{"$className":"DataModel",
        "ReplicatedStorage":{"$path":"src"}}}"#;
    let place = places::sample(places::Format::Rbxlx);
    let pull = Pull::new(&[
        ("game/default.project.json", project),
        ("game/src/One.luau", b"return 1\n"),
        ("places/lobby.rbxlx", &place),
        ("places/other.rbxlx", &place),
        ("README.md", b"x\n"),
    ]);
    let nothing = pull.run();
    assert!(nothing.output.status.success(), "{}", said(&nothing.output));
    assert!(nothing.summary.contains("changes no place"), "{}", nothing.summary);
    assert_eq!(nothing.comment, "");

    let changed = String::from_utf8(place.clone()).unwrap().replace("Baseplate", "Boden");
    pull.commit(
        "origin",
        &[
            ("game/src/One.luau", b"return 2\n"),
            ("game/src/Two.luau", b"local x = = 1\n"),
            ("places/lobby.rbxlx", changed.as_bytes()),
            ("places/new.rbxlx", &place),
            ("README.md", b"y\n"),
        ],
    );
    let failed = pull.run();
    assert_eq!(failed.output.status.code(), Some(1), "{}", said(&failed.output));
    for part in [
        "### `places/lobby.rbxlx`",
        "| `game.Workspace.Boden` | `Name` | `\"Baseplate\"` | `\"Boden\"` |",
        "### `places/new.rbxlx`",
        "This is new.",
        "### `game/default.project.json`",
        "-return 1\n+return 2",
        "Check: 1 error",
    ] {
        assert!(failed.summary.contains(part), "{part}\n{}", failed.summary);
    }
    assert!(!failed.summary.contains("other.rbxlx"), "{}", failed.summary);
    let annotations = said(&failed.output);
    assert!(
        annotations.contains("::error file=game/src/Two.luau,line=1,"),
        "the file of the project is named\n{annotations}"
    );
    assert!(failed.comment.contains("### `places/lobby.rbxlx`"), "{}", failed.comment);
    assert!(failed.comment.starts_with("<!-- vector"), "{}", failed.comment);
    let calls = || fs::read_to_string(pull.at("calls")).unwrap();
    assert!(calls().contains("--method POST repos/owner/name/issues/7/comments"), "{}", calls());

    // The next push corrects it, and updates the comment.
    fs::write(pull.at("comments"), "41\n").unwrap();
    pull.commit("origin", &[("game/src/Two.luau", b"return 3\n")]);
    let passed = pull.run();
    assert!(passed.output.status.success(), "{}", said(&passed.output));
    assert!(calls().contains("--method PATCH repos/owner/name/issues/comments/41"), "{}", calls());
    assert!(passed.comment.contains("Check: no findings"), "{}", passed.comment);
}

#[test]
fn action_passes_what_its_script_reads() {
    let action = fs::read_to_string(repository::root().join("action.yml")).unwrap();
    let script = fs::read_to_string(repository::root().join("packaging/action.py")).unwrap();
    for name in ["CHECK", "TEST", "DIFF", "COMMENT", "BINARY"] {
        assert!(
            action.contains(&format!("INPUT_{name}: ${{{{ inputs.{} }}}}", name.to_lowercase()))
        );
        let read = format!("wanted(\"{}\")", name.to_lowercase());
        let is_listed = script.contains(&format!("(\"{}\", ", name.to_lowercase()));
        assert!(script.contains(&read) || is_listed || name == "BINARY", "{name}");
    }
    for file in ["packaging/install.sh", "packaging/install.ps1", "packaging/action.py"] {
        assert!(action.contains(file) && repository::root().join(file).is_file(), "{file}");
    }
}
