//! Recovery after a crash in the middle of a step: the next run restores the files, repeats the
//! step and compares the result with the approved proposal, or reports what prevents that.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scene_schemas::entry::{Entry, Finish, Record, Seq};
use scene_schemas::proposal::{Mode, Proposal};
use tempfile::TempDir;
use vector_core::prompt::ToolCall;
use vector_core::proposal::BlobStore;
use vector_engine::{NextStep, ToolDriver, WorkflowRun, recover_place};
use vector_ledger::{AppendBatch, Ledger};
use vector_rojo_project::{RojoProject, StepJournal};

use super::edits::snapshot;

type Files = BTreeMap<String, Vec<u8>>;

/// A step that edits, creates, moves and deletes, as one proposal.
const CALLS: &str = r#"{ "title": "all", "changes": [
    { "tool": "write_script", "args": { "path": "game.ServerStorage.a", "source": "return 2\n" } },
    { "tool": "write_script", "args": { "path": "game.ServerStorage.c", "source": "return 3\n" } },
    { "tool": "create_instance", "args": { "className": "ModuleScript", "parentPath": "game.ServerStorage", "props": { "Name": "n", "Source": "return 4\n" } } },
    { "tool": "delete_instance", "args": { "path": "game.ServerStorage.box" } }
] }"#;

/// A project, and the ledger entries of a complete run on it.
struct Whole {
    folder: TempDir,
    records: Vec<Record>,
    ledger: Arc<Ledger>,
    before: Files,
    after: Files,
}

impl Whole {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("game");
        fs::create_dir_all(root.join("src/box")).unwrap();
        let tree = r#"{ "name": "Game", "tree": { "$className": "DataModel", "ServerStorage": { "$path": "src" } } }"#;
        fs::write(root.join("default.project.json"), tree).unwrap();
        for name in ["a", "box/b", "c", "d"] {
            fs::write(root.join(format!("src/{name}.luau")), "return 1\n").unwrap();
        }
        let before = snapshot(&root);
        let ledger = Arc::new(Ledger::open(&folder.path().join("whole")).unwrap());
        let opened = RojoProject::open(&root, false).unwrap();
        let (driver, listener) = (ToolDriver::Calls, Box::new(|_: &_| {}));
        let mut run =
            WorkflowRun::start(&ledger, opened, "test", driver, Mode::Dangerous, listener).unwrap();
        let calls = serde_json::from_str(CALLS).unwrap();
        run.add_calls(vec![ToolCall::new("propose_changes", calls)]).unwrap();
        assert_eq!(run.run().unwrap(), NextStep::Nothing);
        drop(run);
        let after = snapshot(&root);
        assert_ne!(before, after);
        let records = ledger.read(Seq(0), 1_000).unwrap();
        Self { folder, records, ledger, before, after }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join("game")
    }

    fn file(&self, name: &str) -> PathBuf {
        self.root().join("src").join(name)
    }

    /// Writes this state of the files.
    fn put(&self, files: &Files) {
        fs::remove_dir_all(self.root()).unwrap();
        fs::create_dir(self.root()).unwrap();
        for (name, bytes) in files {
            let path = self.root().join(name);
            if name.ends_with('/') {
                fs::create_dir_all(path).unwrap();
            } else {
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, bytes).unwrap();
            }
        }
    }

    fn proposal(&self) -> (Seq, &Proposal) {
        let found = self.records.iter().find_map(|record| match &record.entry {
            Entry::Proposed { proposal, .. } => Some((record.seq, &**proposal)),
            _ => None,
        });
        found.unwrap()
    }

    /// The ledger up to the first entry that `is_last`, without the blobs that `is_lost`.
    fn crashed(
        &self,
        is_last: impl Fn(&Entry) -> bool,
        is_lost: impl Fn(&[u8]) -> bool,
    ) -> Ledgers {
        let home = tempfile::tempdir().unwrap();
        let ledger = Arc::new(Ledger::open(home.path()).unwrap());
        let stop = self.records.iter().position(|record| is_last(&record.entry)).unwrap();
        for record in &self.records[..=stop] {
            let workflow = (record.seq != record.workflow).then_some(record.workflow);
            let mut blobs = Vec::new();
            if let Entry::Applying { acks, .. } = &record.entry {
                let step =
                    self.ledger.read_blob(&acks[0].bytes.as_ref().unwrap().patch).unwrap().unwrap();
                let journal = StepJournal::from_bytes(&step).unwrap();
                blobs.extend(
                    journal
                        .required_blobs()
                        .map(|hash| self.ledger.read_blob(hash).unwrap().unwrap()),
                );
                blobs.push(step);
                blobs.retain(|bytes| !is_lost(bytes));
            }
            let entries = vec![record.entry.clone()];
            ledger.append(AppendBatch { workflow, entries, blobs }).unwrap();
        }
        Ledgers { _home: home, ledger }
    }

    /// The ledger after a crash in the middle of the step.
    fn cut_off(&self) -> Ledgers {
        self.crashed(|entry| matches!(entry, Entry::Applying { .. }), |_| false)
    }
}

struct Ledgers {
    _home: TempDir,
    ledger: Arc<Ledger>,
}

impl Ledgers {
    fn recover(&self, root: &Path) -> String {
        recover_place(&self.ledger, root).unwrap().join("\n")
    }

    /// Asserts that the run has ended, and returns whether its proposal was applied.
    #[track_caller]
    fn ended(&self) -> bool {
        let records = self.ledger.read(Seq(0), 1_000).unwrap();
        let is_over =
            |it: &Record| matches!(it.entry, Entry::Finished { outcome: Finish::Failed, .. });
        assert!(records.iter().any(is_over), "the run is not over");
        records.iter().any(|it| matches!(it.entry, Entry::Applied { .. }))
    }
}

/// The remaining temporary files.
fn temporary(files: &Files) -> Vec<&String> {
    files.keys().filter(|name| name.contains(".vector-")).collect()
}

#[test]
fn interrupted_step_is_repeated_and_verified() {
    let whole = Whole::new();
    for files in [&whole.before, &whole.after] {
        whole.put(files);
        let crashed = whole.cut_off();
        let said = crashed.recover(&whole.root());
        assert!(said.contains("it is applied now"), "{said}");
        assert_eq!(snapshot(&whole.root()), whole.after);
        assert!(crashed.ended());
        // The step was repeated: the project was read, and compared with the approved proposal.
        let records = crashed.ledger.read(Seq(0), 1_000).unwrap();
        let begun = records.iter().filter(|it| matches!(it.entry, Entry::Applying { .. }));
        assert_eq!(begun.count(), 2);
    }
}

/// The bytes are as approved, but the changed project file gives them another meaning.
#[test]
fn step_that_now_reads_differently_is_rolled_back() {
    let whole = Whole::new();
    whole.put(&whole.after);
    let tree = r#"{ "name": "Game", "globIgnorePaths": ["src/n.luau"], "tree": { "$className": "DataModel", "ServerStorage": { "$path": "src" } } }"#;
    fs::write(whole.root().join("default.project.json"), tree).unwrap();
    let crashed = whole.cut_off();
    let said = crashed.recover(&whole.root());
    assert!(said.contains("globIgnorePaths"), "{said}");
    assert!(!crashed.ended());
    let mut expected = whole.before.clone();
    expected.insert("default.project.json".to_owned(), tree.as_bytes().to_vec());
    assert_eq!(snapshot(&whole.root()), expected);
}

#[test]
fn concurrent_changes_are_reported_on_recovery() {
    let whole = Whole::new();
    for files in [&whole.before, &whole.after] {
        whole.put(files);
        fs::write(whole.file("d.luau"), "return 'mine'\n").unwrap();
        let crashed = whole.cut_off();
        let said = crashed.recover(&whole.root());
        assert!(said.contains("Other files of the project have changed since"), "{said}");
        assert!(crashed.ended());
        let mut expected = whole.after.clone();
        expected.insert("src/d.luau".to_owned(), b"return 'mine'\n".to_vec());
        assert_eq!(snapshot(&whole.root()), expected);
    }
    // The deleted folder exists again with a new file, which was never approved.
    whole.put(&whole.after);
    fs::create_dir(whole.file("box")).unwrap();
    fs::write(whole.file("box/theirs.luau"), "return 'mine'\n").unwrap();
    let crashed = whole.cut_off();
    let said = crashed.recover(&whole.root());
    assert!(said.contains("Its own files are as they were"), "{said}");
    assert!(!crashed.ended());
    let mut expected = whole.before.clone();
    expected.insert("src/box/theirs.luau".to_owned(), b"return 'mine'\n".to_vec());
    assert_eq!(snapshot(&whole.root()), expected);
}

/// Half of the step is done, and another program has saved one of the files since: all others are
/// restored.
#[test]
fn half_done_step_is_restored_around_a_saved_file() {
    let whole = Whole::new();
    whole.put(&whole.before);
    fs::write(whole.file("a.luau"), "return 2\n").unwrap();
    fs::write(whole.file("c.luau"), "return 'mine'\n").unwrap();
    fs::write(whole.file("n.luau"), "return 4\n").unwrap();
    let crashed = whole.cut_off();
    let said = crashed.recover(&whole.root());
    assert!(said.contains("c.luau has changed since; all other files were restored"), "{said}");
    assert!(!crashed.ended());
    let mut expected = whole.before.clone();
    expected.insert("src/c.luau".to_owned(), b"return 'mine'\n".to_vec());
    assert_eq!(snapshot(&whole.root()), expected);
}

/// If a file cannot be restored, the step stays open: the run reports that, and the next run
/// continues.
#[test]
fn step_that_cannot_be_restored_stays_open() {
    let whole = Whole::new();
    whole.put(&whole.before);
    fs::write(whole.file("a.luau"), "return 2\n").unwrap();
    fs::write(whole.file("n.luau"), "return 4\n").unwrap();
    let lost = |bytes: &[u8]| bytes == b"return 1\n";
    let crashed = whole.crashed(|entry| matches!(entry, Entry::Applying { .. }), lost);
    for _ in 0..2 {
        let why = recover_place(&crashed.ledger, &whole.root()).unwrap_err().to_string();
        assert!(why.contains("is changed in part"), "{why}");
        assert!(why.contains("a.luau: what it was is not kept"), "{why}");
        let last = crashed.ledger.read(Seq(0), 1_000).unwrap().pop().unwrap();
        assert!(matches!(last.entry, Entry::Applying { .. }), "{last:?}");
    }
    // The file was repaired by hand: the next run continues.
    fs::write(whole.file("a.luau"), "return 1\n").unwrap();
    crashed.recover(&whole.root());
    assert!(crashed.ended());
    assert_eq!(snapshot(&whole.root()), whole.after);
}

/// The process stops when all new files are stored, before their names are recorded.
#[test]
fn unrecorded_temporary_files_are_removed() {
    let whole = Whole::new();
    for is_last in [
        |entry: &Entry| matches!(entry, Entry::Approved { .. }),
        |entry: &Entry| matches!(entry, Entry::Applying { .. }),
    ] {
        whole.put(&whole.before);
        let (mut project, mut scene) = RojoProject::open(&whole.root(), false).unwrap();
        let (seq, proposal) = whole.proposal();
        let all = [(seq, Seq(2), proposal)];
        let prepared =
            project.prepare_proposals(&mut scene, &all, &BlobStore::new(), None).unwrap();
        // A crash runs no destructors.
        std::mem::forget(prepared);
        // A temporary file of another process in the same folder.
        fs::write(whole.file(".vector-999-other-x.tmp"), "").unwrap();
        let files = snapshot(&whole.root());
        assert!(temporary(&files).len() > 3, "{files:?}");
        let crashed = whole.crashed(is_last, |_| false);
        crashed.recover(&whole.root());
        assert!(crashed.ended());
        let mut files = snapshot(&whole.root());
        assert_eq!(temporary(&files), ["src/.vector-999-other-x.tmp"]);
        files.remove("src/.vector-999-other-x.tmp");
        assert_eq!(files, whole.after);
    }
}
