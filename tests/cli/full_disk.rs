//! A ledger that stops accepting entries: the reported state is that of the place, and no change is
//! applied twice if the command is run again.

use std::fs;
use std::path::Path;

use rusqlite::Connection;
use vector_tests::binary::{Home, Output};
use vector_tests::places::Format;

use super::{ended, number, text, with_place};

const CALL: &str = r#"{"tool":"create_instance","args":{"className":"Folder","parentPath":"game.Workspace","props":{"Name":"Once"}}}"#;

fn edit(home: &Home, file: &Path, more: &[&str]) -> Output {
    let file = text(file);
    let args: Vec<&str> =
        ["edit", &file, "--ops", "-", "--yes"].iter().chain(more).copied().collect();
    home.run(&args, CALL)
}

/// Opens the home's ledger through a separate connection.
fn ledger(home: &Home) -> Connection {
    Connection::open(home.path().join("vector/ledger.sqlite")).unwrap()
}

/// Refuses entries of one kind, as a full disk does from some point on.
fn refuse(home: &Home, kind: &str) {
    let trigger = format!(
        "CREATE TRIGGER refused BEFORE INSERT ON entries WHEN new.kind = '{kind}' \
         BEGIN SELECT RAISE(ABORT, 'no room'); END;"
    );
    ledger(home).execute_batch(&trigger).unwrap();
}

fn accept(home: &Home) {
    ledger(home).execute_batch("DROP TRIGGER refused;").unwrap();
}

/// The number of folders in the place that the call has created.
fn made(home: &Home, file: &Path) -> usize {
    let shown = home.run(&["show", &text(file), "--depth", "3"], "");
    ended(&shown, 0);
    shown.stdout.lines().filter(|line| line.contains("Once")).count()
}

/// A home with a ledger, and a place in it.
fn with_ledger() -> (Home, std::path::PathBuf) {
    let (home, file) = with_place(Format::Rbxlx);
    ended(&home.run(&["edit", &text(&file), "--prompt", "delete #NotThere"], ""), 1);
    (home, file)
}

#[test]
fn error_after_failed_ledger_write_matches_the_place() {
    for kind in ["started", "called", "proposed", "approved", "applying", "applied", "finished"] {
        let (home, file) = with_ledger();
        let before = fs::read(&file).unwrap();
        refuse(&home, kind);
        let failed = edit(&home, &file, &[]);
        ended(&failed, 1);
        let is_written = fs::read(&file).unwrap() != before;
        assert_eq!(is_written, matches!(kind, "applied" | "finished"), "{kind}");
        let said = &failed.stderr;
        assert!(!said.contains("othing was written"), "{kind}: {said}");
        assert_eq!(
            said.contains("was written and contains proposal"),
            is_written,
            "{kind}: {said}"
        );
        let is_approved = kind == "applying";
        assert_eq!(said.contains("applies this first"), is_approved, "{kind}: {said}");
        let must_not_repeat = is_written || is_approved;
        assert_eq!(said.contains("Do not repeat the request"), must_not_repeat, "{kind}: {said}");
        accept(&home);
        // If the command is run again nevertheless, the change is made once.
        let again = edit(&home, &file, &[]);
        ended(&again, 0);
        assert_eq!(made(&home, &file), 1, "{kind}: {}", again.stderr);
        let is_known = again.stderr.contains("made the same request");
        assert_eq!(is_known, must_not_repeat, "{kind}: {}", again.stderr);
        // A further identical request makes the change again.
        ended(&edit(&home, &file, &[]), 0);
        assert_eq!(made(&home, &file), 2, "{kind}");
    }
}

#[test]
fn different_request_runs_after_an_interrupted_one() {
    let (home, file) = with_ledger();
    refuse(&home, "applied");
    ended(&edit(&home, &file, &[]), 1);
    accept(&home);
    let out = text(&home.path().join("other.rbxlx"));
    let elsewhere = edit(&home, &file, &["--out", &out]);
    ended(&elsewhere, 0);
    assert_eq!(made(&home, Path::new(&out)), 2, "{}", elsewhere.stderr);
    assert_eq!(made(&home, &file), 1);
}

#[test]
fn partly_done_request_is_not_repeated() {
    let (home, file) = with_ledger();
    // Each call has its own proposal, and the second one cannot be recorded.
    refuse(&home, "applied");
    let calls = format!("{CALL}\n{}", CALL.replace("Once", "Once2"));
    let args = ["edit", &text(&file), "--ops", "-", "--yes", "--keep-going"];
    let failed = home.run(&args, &calls);
    ended(&failed, 1);
    accept(&home);
    let again = home.run(&args, &calls);
    ended(&again, 0);
    assert!(again.stderr.contains("all of it is in the file"), "{}", again.stderr);
    assert_eq!(made(&home, &file), 2);
}

#[test]
fn unrecorded_revert_is_known_to_the_next_run() {
    let (home, file) = with_ledger();
    let edited = edit(&home, &file, &[]);
    ended(&edited, 0);
    let run = number(&edited);
    refuse(&home, "applied");
    let reverted = home.run(&["revert", &run, "--yes"], "");
    ended(&reverted, 1);
    assert!(reverted.stderr.contains("was written and contains"), "{}", reverted.stderr);
    assert_eq!(made(&home, &file), 0);
    accept(&home);
    let again = home.run(&["revert", &run, "--yes"], "");
    ended(&again, 1);
    assert!(again.stderr.contains("reverted"), "{}", again.stderr);
    assert_eq!(made(&home, &file), 0);
}

/// With a low limit of open files, an attempt fails somewhere. The next one, with enough files,
/// makes the change once.
#[cfg(unix)]
#[test]
fn retry_after_too_many_open_files_edits_exactly_once() {
    let calls = |home: &Home| {
        let calls = home.path().join("calls.jsonl");
        fs::write(&calls, CALL).unwrap();
        text(&calls)
    };
    let mut failed = 0;
    for limit in (6..=20).step_by(2) {
        let (home, file) = with_ledger();
        let before = fs::read(&file).unwrap();
        let args = ["edit", &text(&file), "--ops", &calls(&home), "--yes"];
        let program = home.command(&args);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", &format!("ulimit -n {limit}; exec \"$@\""), "sh"]);
        shell.arg(program.get_program()).args(program.get_args()).env_clear();
        shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let first = shell.output().unwrap();
        let said = String::from_utf8_lossy(&first.stderr).into_owned();
        if first.status.success() {
            assert_eq!(made(&home, &file), 1, "{limit}: {said}");
            continue;
        }
        failed += 1;
        let is_written = fs::read(&file).unwrap() != before;
        assert!(!is_written || said.contains("was written and contains"), "{limit}: {said}");
        assert!(!said.contains("panicked"), "{limit}: {said}");
        let again = home.run(&args, "");
        ended(&again, 0);
        assert_eq!(made(&home, &file), 1, "{limit}: {said}\n{}", again.stderr);
    }
    assert!(failed > 0, "no attempt failed");
}

/// Exceeding the file size limit ends a process by a signal unless it handles it.
#[cfg(unix)]
#[test]
fn exceeded_file_size_is_reported_and_leaves_no_files() {
    let (home, file) = with_place(Format::Rbxlx);
    // Larger than the limit, whether its unit is 512 or 1,024 bytes.
    let large = home.path().join("large.rbxlx");
    let place = fs::read_to_string(&file).unwrap();
    fs::write(
        &large,
        place.replace("</roblox>", &format!("<!--{}--></roblox>", "x".repeat(40_000))),
    )
    .unwrap();
    let before = fs::read(&large).unwrap();
    let (from, to) = (text(&large), text(&home.path().join("to.rbxlx")));
    for args in [&["merge", &from, &from, &from, "--out", &to][..], &["convert", &from, &to]] {
        let program = home.command(args);
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", "ulimit -f 16; exec \"$@\"", "sh"]);
        shell.arg(program.get_program()).args(program.get_args()).env_clear();
        shell.envs(program.get_envs().filter_map(|(name, value)| Some((name, value?))));
        let ended = shell.output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert!(
            ended.status.code().is_some_and(|code| code == 1 || code == 2),
            "{args:?}: {ended:?}"
        );
        assert!(said.contains("raise the limit"), "{args:?}: {said}");
        assert_eq!(fs::read(&large).unwrap(), before);
        let names = fs::read_dir(home.path()).unwrap().map(|it| it.unwrap().file_name());
        let left: Vec<_> =
            names.filter(|it| it.to_string_lossy().starts_with(".vector-")).collect();
        assert!(left.is_empty() && !home.path().join("to.rbxlx").exists(), "{left:?}");
    }
}
