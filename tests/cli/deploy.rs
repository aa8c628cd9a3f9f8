//! `vector deploy`, with a real Git: what was accepted is committed, and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use vector_tests::binary::{Home, Output};

struct Bench {
    home: Home,
    folder: PathBuf,
}

impl Bench {
    /// A repository with a project; none where there is no Git.
    fn new() -> Option<Self> {
        if Command::new("git").arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "git is missing");
            println!("skipped: git is not installed");
            return None;
        }
        let home = Home::new();
        let folder = home.path().canonicalize().unwrap().join("game");
        fs::create_dir_all(folder.join("src")).unwrap();
        let tree = r#"{ "name": "Game", "tree": { "$className": "DataModel",
            "ServerStorage": { "$path": "src" } } }"#;
        fs::write(folder.join("default.project.json"), tree).unwrap();
        fs::write(folder.join("src/One.luau"), "return 1\n").unwrap();
        fs::write(folder.join("src/Two.luau"), "return 2\n").unwrap();
        let bench = Self { home, folder };
        bench.git(&["init", "--quiet", "--initial-branch", "main"]);
        bench.git(&["config", "user.name", "A person"]);
        bench.git(&["config", "user.email", "person@example.com"]);
        bench.git(&["add", "."]);
        bench.git(&["commit", "--quiet", "-m", "Begin"]);
        Some(bench)
    }

    #[track_caller]
    fn git(&self, args: &[&str]) -> String {
        let out = Command::new("git").arg("-C").arg(&self.folder).args(args).output().unwrap();
        assert!(out.status.success(), "{args:?}: {}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_owned()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join("src").join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        let folder = self.folder.display().to_string();
        let args: Vec<&str> =
            args.iter().map(|arg| if *arg == "GAME" { folder.as_str() } else { arg }).collect();
        self.home.run(&args, "")
    }

    /// Has a request done.
    #[track_caller]
    fn edit(&self, prompt: &str) {
        let done = self.run(&["edit", "--project", "GAME", "--prompt", prompt, "--yes"]);
        assert_eq!(done.code, 0, "{}", done.stderr);
    }

    #[track_caller]
    fn deploy(&self, more: &[&str]) -> Output {
        let args = [&["deploy", "GAME"], more].concat();
        let run = self.run(&args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run
    }
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}

#[test]
fn what_was_accepted_is_committed_and_named() {
    let Some(bench) = Bench::new() else { return };
    // Something of the person's own, half of it ready for a commit.
    fs::write(bench.file("Mine.luau"), "return 3\n").unwrap();
    bench.git(&["add", "src/Mine.luau"]);
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    let before = bench.git(&["rev-parse", "HEAD"]);
    let dry = bench.deploy(&["--dry-run"]);
    assert!(dry.stdout.contains("  src/One.luau\n"), "{}", dry.stdout);
    assert_eq!(bench.git(&["branch", "--format=%(refname:short)"]), "main");
    let done = bench.deploy(&[]);
    assert!(done.stdout.contains("Committed on vector/1 as "), "{}", done.stdout);
    assert_eq!(bench.git(&["rev-parse", "HEAD"]), before, "the person's branch is where it was");
    assert_eq!(bench.git(&["rev-parse", "vector/1^"]), before);
    assert_eq!(bench.git(&["show", "vector/1:src/One.luau"]), "return 10");
    assert_eq!(bench.git(&["diff", "--name-only", "main", "vector/1"]), "src/One.luau");
    let message = bench.git(&["log", "-1", "--format=%B", "vector/1"]);
    assert!(message.starts_with("replace \"return 1\""), "{message}");
    assert!(message.contains("\nRun 1: replace") && message.contains("\n- proposal "), "{message}");
    assert!(message.contains("\nVector-Proposal: "), "{message}");
    assert_eq!(bench.git(&["diff", "--cached", "--name-only"]), "src/Mine.luau");
    assert_eq!(text(&bench.file("One.luau")), "return 10\n");
    let again = bench.deploy(&["--branch", "vector/1"]);
    assert!(again.stderr.contains("Nothing is to be committed"), "{}", again.stderr);
}

#[test]
fn on_the_persons_own_branch_only_these_files_are_settled() {
    let Some(bench) = Bench::new() else { return };
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    bench.edit("delete game.ServerStorage.Two");
    fs::write(bench.file("Mine.luau"), "return 3\n").unwrap();
    bench.deploy(&["--branch", "main", "-m", "Tidy up"]);
    assert_eq!(bench.git(&["log", "-1", "--format=%s", "main"]), "Tidy up");
    assert_eq!(bench.git(&["status", "--porcelain"]), "?? src/Mine.luau");
    let names = bench.git(&["show", "--name-status", "--format=", "main"]);
    assert_eq!(names.replace('\t', " "), "M src/One.luau\nD src/Two.luau");
    // The next commit names only what is new in it.
    bench.edit("replace \"return 10\" with \"return 11\" in game.ServerStorage.One");
    bench.deploy(&["--branch", "main"]);
    let message = bench.git(&["log", "-1", "--format=%B", "main"]);
    assert_eq!(message.matches("- proposal ").count(), 1, "{message}");
}

#[test]
fn what_somebody_changed_since_is_left_out() {
    let Some(bench) = Bench::new() else { return };
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    bench.edit("replace \"return 2\" with \"return 20\" in game.ServerStorage.Two");
    fs::write(bench.file("One.luau"), "return 10 -- mine\n").unwrap();
    let done = bench.deploy(&["--branch", "next"]);
    assert!(done.stderr.contains("src/One.luau has been changed since"), "{}", done.stderr);
    assert_eq!(bench.git(&["diff", "--name-only", "main", "next"]), "src/Two.luau");
}

#[test]
fn what_git_ignores_and_what_is_remembered_stays_out() {
    let Some(bench) = Bench::new() else { return };
    fs::write(bench.folder.join(".gitignore"), "*.gen.luau\n").unwrap();
    let calls = bench.folder.with_file_name("calls.jsonl");
    fs::write(
        &calls,
        r#"{"tool":"create_instance","args":{"className":"ModuleScript","parentPath":"game.ServerStorage","props":{"Name":"Made.gen","Source":"return 1\n"}}}
{"tool":"edit_memory","args":{"changes":[{"action":"add","section":"decisions","text":"Two modules"}]}}
{"tool":"rename_instance","args":{"path":"game.ServerStorage.One","newName":"a[1]"}}
"#,
    )
    .unwrap();
    // One that a pattern of the renamed file's name would fit.
    fs::write(bench.file("a1.luau"), "return 5\n").unwrap();
    bench.git(&["add", "src/a1.luau"]);
    let calls = calls.display().to_string();
    let done = bench.run(&["edit", "--project", "GAME", "--ops", &calls, "--yes"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    bench.deploy(&["--branch", "main"]);
    let names = bench.git(&["show", "--name-status", "--no-renames", "--format=", "main"]);
    assert_eq!(names.replace('\t', " "), "D src/One.luau\nA src/a[1].luau");
    assert_eq!(bench.git(&["diff", "--cached", "--name-only"]), "src/a1.luau");
}

#[test]
fn what_was_taken_back_is_no_change() {
    let Some(bench) = Bench::new() else { return };
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    let back = bench.run(&["revert", "1", "--yes"]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    let done = bench.deploy(&[]);
    assert!(done.stderr.contains("Nothing is to be committed"), "{}", done.stderr);
}

#[test]
fn what_cannot_be_committed_is_said() {
    let Some(bench) = Bench::new() else { return };
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    let named = bench.run(&["deploy", "GAME", "--branch", "not a name"]);
    assert_eq!(named.code, 1);
    assert!(named.stderr.contains("is no name for a branch"), "{}", named.stderr);
    fs::remove_dir_all(bench.folder.join(".git")).unwrap();
    let alone = bench.run(&["deploy", "GAME"]);
    assert_eq!(alone.code, 1);
    assert!(alone.stderr.contains("is in no Git repository"), "{}", alone.stderr);
}
