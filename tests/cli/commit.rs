//! `vector commit` with a real Git: it commits the accepted changes and nothing else.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scene_schemas::entry::{Approver, Seq};
use scene_schemas::proposal::Mode;
use serde_json::json;
use vector_core::prompt::ToolCall;
use vector_engine::{NextStep, ToolDriver, WorkflowRun};
use vector_ledger::Ledger;
use vector_rojo_project::RojoProject;
use vector_tests::binary::{Home, Output};
use vector_tests::committed::Committed;

struct Bench {
    home: Home,
    project: Committed,
}

impl Bench {
    /// A repository with a project. None if Git is not installed.
    fn new() -> Option<Self> {
        let home = Home::new();
        let project = Committed::new(home.path())?;
        Some(Self { home, project })
    }

    #[track_caller]
    fn git(&self, args: &[&str]) -> String {
        self.project.git(args)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.project.folder.join("src").join(name)
    }

    fn run(&self, args: &[&str]) -> Output {
        let folder = self.project.folder.display().to_string();
        let args: Vec<&str> =
            args.iter().map(|arg| if *arg == "GAME" { folder.as_str() } else { arg }).collect();
        self.home.run(&args, "")
    }

    /// Makes a request and accepts its changes.
    #[track_caller]
    fn edit(&self, prompt: &str) {
        let done = self.run(&["edit", "--project", "GAME", "--prompt", prompt, "--yes"]);
        assert_eq!(done.code, 0, "{}", done.stderr);
    }

    /// Makes calls and accepts their changes.
    #[track_caller]
    fn call(&self, calls: &str) {
        let folder = self.project.folder.display().to_string();
        let run = self.home.run(&["edit", "--project", &folder, "--ops", "-", "--yes"], calls);
        assert_eq!(run.code, 0, "{}", run.stderr);
    }

    /// Runs a commit that is refused, and returns its stderr.
    #[track_caller]
    fn refused(&self, more: &[&str]) -> String {
        let run = self.run(&[&["commit", "GAME"], more].concat());
        assert_eq!(run.code, 1, "{}", run.stdout);
        run.stderr
    }

    /// Commits another user's change on a branch, in a separate worktree.
    fn commit_elsewhere(&self, branch: &str, name: &str, text: &str) {
        let other = self.project.folder.with_file_name("elsewhere");
        let shown = other.display().to_string();
        self.git(&["worktree", "add", "--quiet", &shown, branch]);
        fs::write(other.join("src").join(name), text).unwrap();
        self.git(&["-C", &shown, "commit", "--quiet", "--all", "-m", "Theirs"]);
        self.git(&["worktree", "remove", &shown]);
    }

    #[track_caller]
    fn commit(&self, more: &[&str]) -> Output {
        let args = [&["commit", "GAME"], more].concat();
        let run = self.run(&args);
        assert_eq!(run.code, 0, "{}", run.stderr);
        run
    }
}

fn text(file: &Path) -> String {
    fs::read_to_string(file).unwrap()
}

#[test]
fn commit_contains_and_lists_applied_proposals() {
    let Some(bench) = Bench::new() else { return };
    // Changes of the user's own, half of them staged.
    fs::write(bench.file("Mine.luau"), "return 3\n").unwrap();
    bench.git(&["add", "src/Mine.luau"]);
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    let before = bench.git(&["rev-parse", "HEAD"]);
    let dry = bench.commit(&["--dry-run"]);
    assert!(dry.stdout.contains("  src/One.luau\n"), "{}", dry.stdout);
    assert_eq!(bench.git(&["branch", "--format=%(refname:short)"]), "main");
    let done = bench.commit(&[]);
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
    let again = bench.commit(&["--branch", "vector/1"]);
    assert!(again.stderr.contains("There is nothing to commit"), "{}", again.stderr);
}

#[test]
fn escape_sequences_of_a_request_reach_neither_the_terminal_nor_the_commit() {
    let Some(bench) = Bench::new() else { return };
    // The planner takes JSON texts, which have no characters below the blank.
    let hidden = "return 10 --\u{9b}2J\u{202e}";
    let prompt = format!("replace \"return 1\" with \"{hidden}\" in game.ServerStorage.One");
    // A script that a screen shows otherwise than it runs is a warning.
    let args = ["edit", "--project", "GAME", "--prompt", &prompt, "--yes", "--force"];
    assert_eq!(bench.run(&args).code, 0);
    let dry = bench.commit(&["--dry-run"]);
    let done = bench.commit(&[]);
    let subject = bench.git(&["log", "-1", "--format=%B", "vector/1"]);
    for shown in [dry.stdout, dry.stderr, done.stdout, done.stderr, subject] {
        let is_hidden = |it: char| it != '\n' && it.is_control() || it == '\u{202e}';
        assert!(!shown.contains(is_hidden), "{shown:?}");
    }
    bench.edit("replace \"return 2\" with \"return 20\" in game.ServerStorage.Two");
    bench.commit(&["--branch", "mine", "--message", "A\u{1b}[31m red\u{9b}2J subject"]);
    let subject = bench.git(&["log", "-1", "--format=%s", "mine"]);
    assert!(!subject.contains(char::is_control) && subject.contains("subject"), "{subject:?}");
}

/// A bare repository beside the project, which is its remote of this name.
fn add_remote(bench: &Bench, name: &str) -> PathBuf {
    let remote = bench.project.folder.with_file_name(format!("{name}.git"));
    let shown = remote.display().to_string();
    bench.git(&["init", "--quiet", "--bare", &shown]);
    bench.git(&["remote", "add", name, &shown]);
    remote
}

/// Where a branch of a remote is; None if it has no such branch.
fn tip(bench: &Bench, remote: &Path, branch: &str) -> Option<String> {
    let shown = remote.display().to_string();
    let found = bench.git(&["--git-dir", &shown, "for-each-ref", "--format=%(objectname)", branch]);
    Some(found).filter(|it| !it.is_empty())
}

#[test]
fn branch_is_pushed_and_never_by_force() {
    let Some(bench) = Bench::new() else { return };
    bench.edit(TEN);
    let alone = bench.refused(&["--push"]);
    assert!(alone.contains("git remote add origin"), "{alone}");
    let made = bench.git(&["rev-parse", "vector/1"]);
    add_remote(&bench, "fork");
    let origin = add_remote(&bench, "origin");
    // There is nothing to commit any more, and the branch is pushed all the same.
    let again = bench.commit(&["--push"]);
    assert!(again.stdout.contains("Pushed vector/1 to origin."), "{}", again.stdout);
    assert_eq!(tip(&bench, &origin, "refs/heads/vector/1"), Some(made));
    // Only this branch, and no tags.
    bench.git(&["tag", "-a", "v1", "-m", "One"]);
    bench.edit(ELEVEN);
    bench.commit(&["--branch", "next", "--push=fork"]);
    assert_eq!(tip(&bench, &origin, "refs/heads/next"), None);
    let fork = bench.project.folder.with_file_name("fork.git");
    assert_eq!(tip(&bench, &fork, "refs/heads/next"), Some(bench.git(&["rev-parse", "next"])));
    assert_eq!(tip(&bench, &fork, "refs/tags/v1"), None);
    // Somebody else pushes to the same branch of the remote.
    let theirs = bench.git(&["commit-tree", "next^{tree}", "-p", "next", "-m", "Theirs"]);
    bench.git(&["push", "--quiet", "fork", &format!("{theirs}:refs/heads/next")]);
    bench.edit("replace \"return 2\" with \"return 22\" in game.ServerStorage.Two");
    let refused = bench.refused(&["--branch", "next", "--push=fork"]);
    assert!(refused.contains("commits that this repository does not have"), "{refused}");
    assert_eq!(tip(&bench, &fork, "refs/heads/next"), Some(theirs));
    assert_eq!(bench.git(&["show", "next:src/Two.luau"]), "return 22", "it is committed here");
    let unknown = bench.refused(&["--branch", "next", "--push=--receive-pack=touch"]);
    assert!(
        unknown.contains("there is fork, origin") || unknown.contains("there is origin, fork"),
        "{unknown}"
    );
}

#[test]
fn page_of_the_pull_request_is_the_one_that_the_host_names() {
    let Some(bench) = Bench::new() else { return };
    let remote = add_remote(&bench, "origin");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let hook = remote.join("hooks/post-receive");
        let says = "#!/bin/sh\necho 'Create a pull request for this branch:' >&2\n\
                    echo '  https://git.example/a/game/pulls/new/next' >&2\n";
        fs::write(&hook, says).unwrap();
        fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    }
    bench.edit(TEN);
    let done = bench.commit(&["--branch", "next", "--push"]);
    let expected = if cfg!(unix) {
        "Pushed next to origin. Open a pull request: https://git.example/a/game/pulls/new/next\n"
    } else {
        "Pushed next to origin.\n"
    };
    assert!(done.stdout.ends_with(expected), "{}", done.stdout);
    assert!(tip(&bench, &remote, "refs/heads/next").is_some());
}

#[test]
fn change_committed_on_another_branch_is_not_offered_again() {
    let Some(bench) = Bench::new() else { return };
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    bench.commit(&["--branch", "feature/doors"]);
    let commit = bench.git(&["rev-parse", "--short", "feature/doors"]);
    let again = bench.commit(&[]);
    let note = format!("src/One.luau is committed as {commit} on feature/doors already");
    assert!(again.stderr.contains(&note), "{}", again.stderr);
    assert!(again.stderr.contains("There is nothing to commit"), "{}", again.stderr);
    // A new change is committed without the old one, until that file changes again.
    bench.edit("replace \"return 2\" with \"return 20\" in game.ServerStorage.Two");
    let new = bench.commit(&["--dry-run"]);
    assert!(
        new.stdout.contains("src/Two.luau") && !new.stdout.contains("src/One"),
        "{}",
        new.stdout
    );
    bench.edit("replace \"return 10\" with \"return 11\" in game.ServerStorage.One");
    let both = bench.commit(&["--dry-run"]);
    assert!(both.stdout.contains("src/One.luau\n  src/Two.luau"), "{}", both.stdout);
    // An explicit branch gets all the changes.
    let named = bench.commit(&["--branch", "main"]);
    assert!(named.stdout.contains("src/One.luau\n  src/Two.luau"), "{}", named.stdout);
}

#[test]
fn full_ref_name_is_refused_as_branch() {
    let Some(bench) = Bench::new() else { return };
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    let why = bench.refused(&["--branch", "refs/heads/feature/x"]);
    assert!(why.contains("say the branch alone, such as \"feature/x\""), "{why}");
    let why = bench.refused(&["--branch", "refs/tags/x"]);
    assert!(why.contains("such as \"feature/doors\""), "{why}");
    assert_eq!(bench.git(&["for-each-ref", "--format=%(refname)"]), "refs/heads/main");
}

#[test]
fn commit_to_current_branch_contains_only_its_own_files() {
    let Some(bench) = Bench::new() else { return };
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    bench.edit("delete game.ServerStorage.Two");
    fs::write(bench.file("Mine.luau"), "return 3\n").unwrap();
    bench.commit(&["--branch", "main", "-m", "Tidy up"]);
    assert_eq!(bench.git(&["log", "-1", "--format=%s", "main"]), "Tidy up");
    assert_eq!(bench.git(&["status", "--porcelain"]), "?? src/Mine.luau");
    let names = bench.git(&["show", "--name-status", "--format=", "main"]);
    assert_eq!(names.replace('\t', " "), "M src/One.luau\nD src/Two.luau");
    // The message of the next commit names only its new proposals.
    bench.edit("replace \"return 10\" with \"return 11\" in game.ServerStorage.One");
    bench.commit(&["--branch", "main"]);
    let message = bench.git(&["log", "-1", "--format=%B", "main"]);
    assert_eq!(message.matches("- proposal ").count(), 1, "{message}");
}

#[test]
fn files_changed_after_apply_are_left_out() {
    let Some(bench) = Bench::new() else { return };
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    bench.edit("replace \"return 2\" with \"return 20\" in game.ServerStorage.Two");
    fs::write(bench.file("One.luau"), "return 10 -- mine\n").unwrap();
    let done = bench.commit(&["--branch", "next"]);
    assert!(done.stderr.contains("src/One.luau has been changed since"), "{}", done.stderr);
    assert_eq!(bench.git(&["diff", "--name-only", "main", "next"]), "src/Two.luau");
}

#[test]
fn ignored_files_and_project_memory_are_not_committed() {
    let Some(bench) = Bench::new() else { return };
    fs::write(bench.project.folder.join(".gitignore"), "*.gen.luau\n").unwrap();
    let calls = bench.project.folder.with_file_name("calls.jsonl");
    fs::write(
        &calls,
        r#"{"tool":"create_instance","args":{"className":"ModuleScript","parentPath":"game.ServerStorage","props":{"Name":"Made.gen","Source":"return 1\n"}}}
{"tool":"edit_memory","args":{"changes":[{"action":"add","section":"decisions","text":"Two modules"}]}}
{"tool":"rename_instance","args":{"path":"game.ServerStorage.One","newName":"a[1]"}}
"#,
    )
    .unwrap();
    // A file that the renamed file's name would match if it were used as a pattern.
    fs::write(bench.file("a1.luau"), "return 5\n").unwrap();
    bench.git(&["add", "src/a1.luau"]);
    let calls = calls.display().to_string();
    let done = bench.run(&["edit", "--project", "GAME", "--ops", &calls, "--yes"]);
    assert_eq!(done.code, 0, "{}", done.stderr);
    bench.commit(&["--branch", "main"]);
    let names = bench.git(&["show", "--name-status", "--no-renames", "--format=", "main"]);
    assert_eq!(names.replace('\t', " "), "D src/One.luau\nA src/a[1].luau");
    assert_eq!(bench.git(&["diff", "--cached", "--name-only"]), "src/a1.luau");
}

#[test]
fn reverted_change_is_not_committed() {
    let Some(bench) = Bench::new() else { return };
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    let back = bench.run(&["revert", "1", "--yes"]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    let done = bench.commit(&[]);
    assert!(done.stderr.contains("There is nothing to commit"), "{}", done.stderr);
}

#[test]
fn bad_branch_name_and_missing_repository_are_reported() {
    let Some(bench) = Bench::new() else { return };
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    let named = bench.run(&["commit", "GAME", "--branch", "not a name"]);
    assert_eq!(named.code, 1);
    assert!(named.stderr.contains("is not a branch name"), "{}", named.stderr);
    fs::remove_dir_all(bench.project.folder.join(".git")).unwrap();
    let alone = bench.run(&["commit", "GAME"]);
    assert_eq!(alone.code, 1);
    assert!(alone.stderr.contains("is not in a Git repository"), "{}", alone.stderr);
}

const TEN: &str = "replace \"return 1\" with \"return 10\" in game.ServerStorage.One";
const ELEVEN: &str = "replace \"return 10\" with \"return 11\" in game.ServerStorage.One";

#[test]
fn commits_of_others_on_the_branch_are_kept() {
    let Some(bench) = Bench::new() else { return };
    bench.edit(TEN);
    bench.commit(&["--branch", "next"]);
    // A commit builds on a commit to another file.
    bench.commit_elsewhere("next", "Two.luau", "return 22\n");
    bench.edit(ELEVEN);
    bench.commit(&["--branch", "next"]);
    assert_eq!(bench.git(&["show", "next:src/One.luau"]), "return 11");
    assert_eq!(bench.git(&["show", "next:src/Two.luau"]), "return 22");
    // A commit that would revert a commit to the same file is refused.
    bench.commit_elsewhere("next", "One.luau", "return 99\n");
    let tip = bench.git(&["rev-parse", "next"]);
    bench.edit("replace \"return 11\" with \"return 12\" in game.ServerStorage.One");
    let why = bench.refused(&["--branch", "next"]);
    assert!(why.contains("next has other versions") && why.contains("  src/One.luau\n"), "{why}");
    assert!(why.contains("git merge"), "{why}");
    assert_eq!(bench.git(&["rev-parse", "next"]), tip);
    // A commit that restores an earlier version does not block the commit.
    bench.commit_elsewhere("next", "One.luau", "return 10\n");
    bench.commit(&["--branch", "next"]);
    assert_eq!(bench.git(&["show", "next:src/One.luau"]), "return 12");
}

#[test]
fn file_with_the_users_own_changes_is_refused() {
    let Some(bench) = Bench::new() else { return };
    fs::write(bench.file("One.luau"), "-- mine\nreturn 1\n").unwrap();
    bench.edit(TEN);
    for branch in [&[][..], &["--branch", "main"]] {
        let why = bench.refused(branch);
        assert!(why.contains("other versions") && why.contains("Commit your own changes"), "{why}");
    }
    assert_eq!(bench.git(&["branch", "--format=%(refname:short)"]), "main");
    bench.git(&["commit", "--quiet", "--all", "-m", "Mine"]);
    let done = bench.commit(&["--branch", "main"]);
    assert!(done.stderr.contains("There is nothing to commit"), "{}", done.stderr);
    // The same for a change between two proposals.
    bench.edit(ELEVEN);
    fs::write(bench.file("One.luau"), "-- mine\nreturn 11 -- too\n").unwrap();
    bench.edit("replace \"return 11\" with \"return 12\" in game.ServerStorage.One");
    assert!(bench.refused(&["--branch", "main"]).contains("other versions"));
}

/// Starts an engine on one call, and returns it with the pending proposal.
fn proposed(bench: &Bench, ledger: &Arc<Ledger>, attribute: &str) -> (WorkflowRun, Seq) {
    let opened = RojoProject::open(&bench.project.folder, false).unwrap();
    let (driver, listener) = (ToolDriver::Calls, Box::new(|_: &_| {}));
    let mut run =
        WorkflowRun::start(ledger, opened, attribute, driver, Mode::Confirm, listener).unwrap();
    let props = json!({ format!("@{attribute}"): true });
    let args = json!({ "path": "game.ServerStorage.One", "props": props });
    run.add_calls(vec![ToolCall::new("set_properties", args)]).unwrap();
    let NextStep::Decision(seq) = run.run().unwrap() else { panic!("nothing is due") };
    (run, seq)
}

/// The proposal that is made first is applied last.
#[test]
fn commit_follows_the_order_of_application() {
    let Some(bench) = Bench::new() else { return };
    let ledger = Arc::new(Ledger::open(&bench.home.path().join("vector")).unwrap());
    let (mut first, early) = proposed(&bench, &ledger, "First");
    let (mut second, late) = proposed(&bench, &ledger, "Second");
    for (run, seq) in [(&mut second, late), (&mut first, early)] {
        run.approve(seq, Approver::Person, true).unwrap();
        assert_eq!(run.run().unwrap(), NextStep::Nothing);
    }
    drop((first, second, ledger));
    let meta = text(&bench.file("One.meta.json"));
    assert!(meta.contains("First") && meta.contains("Second"), "{meta}");
    let done = bench.commit(&["--branch", "next"]);
    assert_eq!(done.stderr, "");
    assert_eq!(bench.git(&["show", "next:src/One.meta.json"]), meta.trim_end());
    let message = bench.git(&["log", "-1", "--format=%B", "next"]);
    assert_eq!(message.matches("- proposal ").count(), 2, "{message}");
}

#[test]
fn change_reverted_and_repeated_is_committed_once() {
    let Some(bench) = Bench::new() else { return };
    bench.edit(TEN);
    let back = bench.run(&["revert", "1", "--yes"]);
    assert_eq!(back.code, 0, "{}", back.stderr);
    bench.edit(TEN);
    bench.commit(&["--branch", "next"]);
    assert_eq!(bench.git(&["show", "next:src/One.luau"]), "return 10");
    let done = bench.commit(&["--branch", "next"]);
    assert!(done.stderr.contains("There is nothing to commit"), "{}", done.stderr);
}

#[test]
fn commit_on_a_detached_head() {
    let Some(bench) = Bench::new() else { return };
    bench.git(&["checkout", "--quiet", "--detach"]);
    let head = bench.git(&["rev-parse", "HEAD"]);
    bench.edit(TEN);
    bench.commit(&[]);
    assert_eq!(bench.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(bench.git(&["rev-parse", "vector/1^"]), head);
    assert_eq!(bench.git(&["status", "--porcelain"]), "M src/One.luau");
}

#[test]
fn branch_in_use_is_left_alone() {
    let Some(bench) = Bench::new() else { return };
    bench.edit(TEN);
    let other = bench.project.folder.with_file_name("other");
    bench.git(&["worktree", "add", "--quiet", "-b", "theirs", &other.display().to_string()]);
    let why = bench.refused(&["--branch", "theirs"]);
    assert!(why.contains("theirs is checked out in ") && why.contains("--branch"), "{why}");
    let head = bench.git(&["rev-parse", "main"]);
    fs::write(bench.project.folder.join(".git/MERGE_HEAD"), format!("{head}\n")).unwrap();
    let why = bench.refused(&["--branch", "main"]);
    assert!(why.contains("a merge on main is not finished"), "{why}");
    // A new branch affects no one else.
    bench.commit(&[]);
    assert_eq!(bench.git(&["rev-parse", "main"]), head);
}

#[cfg(unix)]
#[test]
fn unusual_file_and_folder_names_are_committed() {
    let Some(mut bench) = Bench::new() else { return };
    let names =
        ["with space", "Größe", "it's", "new\nline", "-x", ":(top)y", "*", "qu\"ote", "tab\t"];
    for name in names {
        fs::write(bench.file(&format!("{name}.luau")), "return 1\n").unwrap();
    }
    bench.git(&["add", "."]);
    bench.git(&["commit", "--quiet", "-m", "Names"]);
    // The repository root is above the project, in a folder whose name starts and ends with a
    // space.
    let above = bench.project.folder.with_file_name(" all of it ");
    fs::create_dir_all(above.join("deep")).unwrap();
    fs::rename(bench.project.folder.join(".git"), above.join(".git")).unwrap();
    fs::rename(&bench.project.folder, above.join("deep/game")).unwrap();
    bench.project.folder = above.join("deep/game");
    bench.git(&["add", "--all", ":/"]);
    bench.git(&["commit", "--quiet", "-m", "Deeper"]);
    let calls = names.map(|name| {
        let path = format!("game.ServerStorage[{}]", json!(name));
        let args = json!({ "path": path, "source": "return 2\n" });
        json!({ "tool": "write_script", "args": args }).to_string()
    });
    bench.call(&calls.join("\n"));
    bench.commit(&["--branch", "main"]);
    let changed = bench.git(&["show", "--name-only", "--format=", "-z", "main"]);
    let mut changed: Vec<&str> = changed.split('\0').filter(|it| !it.is_empty()).collect();
    changed.sort_unstable();
    let mut expected = names.map(|name| format!("deep/game/src/{name}.luau"));
    expected.sort_unstable();
    assert_eq!(changed, expected);
    assert_eq!(bench.git(&["status", "--porcelain"]), "");
}

#[test]
fn nested_repository_is_left_out() {
    let Some(bench) = Bench::new() else { return };
    let inner = bench.file("Packages");
    fs::create_dir(&inner).unwrap();
    fs::write(inner.join("Lib.luau"), "return 1\n").unwrap();
    let shown = inner.display().to_string();
    bench.git(&["-C", &shown, "init", "--quiet", "--initial-branch", "main"]);
    for args in [&["add", "."][..], &["commit", "--quiet", "-m", "Inner"]] {
        let who = ["-C", &shown, "-c", "user.name=A", "-c", "user.email=a@example.com"];
        bench.git(&[&who[..], args].concat());
    }
    // Like a submodule: a commit of the other repository in place of a folder.
    bench.git(&["add", "src/Packages"]);
    bench.git(&["commit", "--quiet", "-m", "Packages"]);
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.One");
    bench.edit("replace \"return 1\" with \"return 10\" in game.ServerStorage.Packages.Lib");
    let done = bench.commit(&["--branch", "next"]);
    assert!(
        done.stderr.contains("src/Packages/Lib.luau is in another repository"),
        "{}",
        done.stderr
    );
    assert_eq!(bench.git(&["diff", "--name-only", "main", "next"]), "src/One.luau");
}

#[test]
fn line_ends_are_committed_as_git_normalizes_them() {
    let Some(bench) = Bench::new() else { return };
    bench.git(&["config", "core.autocrlf", "true"]);
    fs::write(bench.file("One.luau"), "-- one\r\nreturn 1\r\n").unwrap();
    bench.git(&["commit", "--quiet", "--all", "-m", "Windows"]);
    bench.edit(TEN);
    assert_eq!(text(&bench.file("One.luau")), "-- one\r\nreturn 10\r\n");
    bench.commit(&["--branch", "main"]);
    assert_eq!(bench.git(&["show", "main:src/One.luau"]), "-- one\nreturn 10");
    assert_eq!(bench.git(&["status", "--porcelain"]), "");
    bench.edit(ELEVEN);
    bench.commit(&["--branch", "main"]);
    assert_eq!(bench.git(&["show", "main:src/One.luau"]), "-- one\nreturn 11");
}

#[cfg(unix)]
#[test]
fn commit_runs_no_git_hooks() {
    use std::os::unix::fs::PermissionsExt;
    let Some(bench) = Bench::new() else { return };
    bench.edit(TEN);
    let hooks = bench.project.folder.join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    let marker = bench.project.folder.with_file_name("was run");
    let all =
        ["pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"];
    for hook in all {
        let text = format!("#!/bin/sh\necho {hook} >> '{}'\nexit 1\n", marker.display());
        fs::write(hooks.join(hook), text).unwrap();
        fs::set_permissions(hooks.join(hook), fs::Permissions::from_mode(0o755)).unwrap();
    }
    bench.commit(&["--branch", "main"]);
    assert!(!marker.exists(), "{}", text(&marker));
    assert_eq!(bench.git(&["show", "main:src/One.luau"]), "return 10");
}

/// A repository from elsewhere, whose configuration names programs.
#[cfg(unix)]
#[test]
fn commit_runs_no_fsmonitor_and_dry_run_no_filters() {
    use std::os::unix::fs::PermissionsExt;
    let Some(bench) = Bench::new() else { return };
    bench.edit(TEN);
    let ran = |what: &str| bench.project.folder.with_file_name(format!("{what} was run"));
    for what in ["monitor", "filter"] {
        let program = bench.project.folder.join(".git").join(what);
        let body = format!("#!/bin/sh\ntouch '{}'\nexec cat\n", ran(what).display());
        fs::write(&program, body).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let at = |what: &str| bench.project.folder.join(".git").join(what).display().to_string();
    // The uncommitted .gitattributes already applies to the work tree. A dry run must not run the
    // filter; a real commit commits what the filter makes of the file.
    bench.git(&["config", "core.fsmonitor", &at("monitor")]);
    bench.git(&["config", "filter.a=b.odd.clean", &at("filter")]);
    bench.git(&["config", "filter.plain.process", "false"]);
    bench.git(&["config", "filter.plain.required", "true"]);
    bench.git(&["config", "filter.plain.clean", &at("filter")]);
    fs::write(bench.project.folder.join(".gitattributes"), "*.luau filter=plain\n").unwrap();
    for what in ["monitor", "filter"] {
        let _ = fs::remove_file(ran(what));
    }
    let dry = bench.run(&["commit", "GAME", "--branch", "main", "--dry-run"]);
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    assert!(dry.stdout.contains("src/One.luau"), "{}", dry.stdout);
    assert!(!ran("monitor").exists(), "a dry run runs core.fsmonitor");
    assert!(!ran("filter").exists(), "a dry run runs filters");
    bench.git(&["config", "--unset", "filter.plain.process"]);
    let _ = fs::remove_file(ran("monitor"));
    bench.commit(&["--branch", "main"]);
    assert!(!ran("monitor").exists(), "a commit runs core.fsmonitor");
    assert!(ran("filter").exists(), "what is committed is as the filter makes it");
}
