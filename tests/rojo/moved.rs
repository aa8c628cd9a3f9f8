//! Files that another program changes while a proposal is pending: nothing stale is applied, and
//! none of the other program's work is lost.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use scene_schemas::entry::{Approver, Seq};
use scene_schemas::proposal::Mode;
use serde_json::{Value as Json, json};
use tempfile::TempDir;
use vector_core::prompt::ToolCall;
use vector_core::workflow::PendingStatus;
use vector_engine::{NextStep, ToolDriver, WorkflowRun};
use vector_ledger::Ledger;
use vector_rojo_project::RojoProject;

const TEXT: &str = "local a = 1\nlocal b = 2\nlocal c = 3\nlocal d = 4\nreturn a + b + c + d\n";

struct Bench {
    folder: TempDir,
    ledger: Arc<Ledger>,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("src")).unwrap();
        let text = r#"{ "name": "Game", "tree": { "$className": "DataModel", "ServerStorage": { "$path": "src" } } }"#;
        fs::write(folder.path().join("default.project.json"), text).unwrap();
        fs::write(folder.path().join("src/main.luau"), TEXT).unwrap();
        let ledger = Arc::new(Ledger::open(&folder.path().join("home")).unwrap());
        Self { folder, ledger }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join("src").join(name)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file("main.luau")).unwrap()
    }

    fn engine(&self, calls: Vec<ToolCall>) -> WorkflowRun {
        let opened = RojoProject::open(self.folder.path(), false).unwrap();
        let (driver, listener) = (ToolDriver::Calls, Box::new(|_: &_| {}));
        let mut run =
            WorkflowRun::start(&self.ledger, opened, "a goal", driver, Mode::Confirm, listener)
                .unwrap();
        run.add_calls(calls).unwrap();
        run
    }
}

fn line(number: u32, text: &str) -> ToolCall {
    let edit = json!({
        "start": { "line": number, "character": 0 },
        "end": { "line": number + 1, "character": 0 },
        "text": format!("{text}\n"),
    });
    call("apply_edit", json!({ "path": "game.ServerStorage.main", "edits": [edit] }))
}

fn call(tool: &str, args: Json) -> ToolCall {
    ToolCall::new(tool, args)
}

#[track_caller]
fn due(run: &mut WorkflowRun) -> Seq {
    if let NextStep::Decision(seq) = run.run().unwrap() {
        return seq;
    }
    let refusals: Vec<_> = run.workflow().unwrap().refusals().collect();
    panic!("nothing is due: {refusals:?}");
}

#[track_caller]
fn approve(run: &mut WorkflowRun, seq: Seq) {
    run.approve(seq, Approver::Person, true).unwrap();
}

fn status(run: &WorkflowRun, seq: Seq) -> &PendingStatus {
    &run.find_proposal(seq).unwrap().status
}

#[test]
fn edits_are_rebased_onto_a_file_changed_elsewhere() {
    let bench = Bench::new();
    let mut run = bench.engine(vec![line(3, "local d = 40")]);
    let first = due(&mut run);
    let theirs = format!("-- new\n{TEXT}");
    fs::write(bench.file("main.luau"), &theirs).unwrap();
    approve(&mut run, first);
    let again = due(&mut run);
    assert_ne!(first, again);
    assert_eq!(bench.text(), theirs);
    approve(&mut run, again);
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    assert_eq!(bench.text(), theirs.replace("d = 4\n", "d = 40\n"));
}

#[test]
fn edit_of_the_same_line_is_refused() {
    let bench = Bench::new();
    let mut run = bench.engine(vec![line(3, "local d = 40")]);
    let first = due(&mut run);
    let theirs = TEXT.replace("d = 4\n", "d = 44\n");
    fs::write(bench.file("main.luau"), &theirs).unwrap();
    approve(&mut run, first);
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    assert_eq!(run.workflow().unwrap().refusals().count(), 1);
    assert_eq!(bench.text(), theirs);
}

#[test]
fn file_deleted_under_a_proposal_stays_deleted() {
    let bench = Bench::new();
    let mut run = bench.engine(vec![line(3, "local d = 40")]);
    let first = due(&mut run);
    fs::remove_file(bench.file("main.luau")).unwrap();
    approve(&mut run, first);
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    assert!(!bench.file("main.luau").exists());
}

/// A file of that name was created meanwhile: it is not overwritten.
#[test]
fn new_file_never_overwrites_another() {
    let bench = Bench::new();
    let args = json!({ "className": "ModuleScript", "parentPath": "game.ServerStorage",
        "props": { "Name": "new", "Source": "return 1\n" } });
    let mut run = bench.engine(vec![call("create_instance", args)]);
    let first = due(&mut run);
    fs::write(bench.file("new.luau"), "theirs").unwrap();
    approve(&mut run, first);
    let _ = run.run();
    assert!(!matches!(status(&run, first), PendingStatus::Applied(_)));
    assert_eq!(fs::read_to_string(bench.file("new.luau")).unwrap(), "theirs");
}

/// Later proposals are planned on top of earlier ones, whose files are reread in between.
#[test]
fn proposals_build_on_each_other() {
    let bench = Bench::new();
    let folder = json!({ "className": "Folder", "parentPath": "game.ServerStorage", "props": { "Name": "box" } });
    let to = json!({ "path": "game.ServerStorage.main", "parentPath": "game.ServerStorage.box" });
    let renamed = json!({ "path": "game.ServerStorage.box.main", "newName": "start" });
    let calls = vec![
        call("create_instance", folder),
        call("move_instance", to),
        call("rename_instance", renamed),
    ];
    let mut run = bench.engine(calls);
    for _ in 0..3 {
        let seq = due(&mut run);
        approve(&mut run, seq);
    }
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    assert_eq!(fs::read_to_string(bench.file("box/start.luau")).unwrap(), TEXT);
    assert!(!bench.file("main.luau").exists());
}

/// A name that cannot be recorded cannot be reverted, so the change is refused.
#[cfg(target_os = "linux")]
#[test]
fn non_utf8_file_name_prevents_move_and_delete() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let odd = bench.file("box/deep").join(std::ffi::OsStr::from_bytes(b"odd\xff.luau"));
    fs::create_dir_all(odd.parent().unwrap()).unwrap();
    fs::write(&odd, "odd").unwrap();
    let rename = json!({ "path": "game.ServerStorage.box", "newName": "crate" });
    let delete = json!({ "path": "game.ServerStorage.box" });
    let calls = vec![call("rename_instance", rename), call("delete_instance", delete)];
    let mut run = bench.engine(calls);
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    let refusals: Vec<_> = run.workflow().unwrap().refusals().collect();
    assert_eq!(refusals.len(), 2, "{refusals:?}");
    for (_, why) in refusals {
        assert!(why.starts_with("The name of src/box/deep/odd\u{fffd}.luau is not UTF-8"), "{why}");
    }
    assert_eq!(fs::read_to_string(odd).unwrap(), "odd");
}
