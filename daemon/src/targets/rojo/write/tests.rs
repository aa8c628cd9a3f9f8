//! Steps that are cut off, wherever that is.

use std::fs;
use std::path::Path;

use tempfile::TempDir;

use super::files::Changes;
use super::journal::{Change, Content, Journal, Progress, Ready};

fn content(text: &str) -> Content {
    Content { bytes: text.as_bytes().to_vec(), mode: None }
}

/// A step that changes, makes, moves and removes, with a folder that comes and one that goes.
fn step(folder: &Path) -> Changes {
    fs::write(folder.join("changed"), "old").unwrap();
    fs::write(folder.join("gone"), "gone").unwrap();
    fs::create_dir_all(folder.join("from/deep")).unwrap();
    fs::write(folder.join("from/deep/moved"), "moved").unwrap();
    let change = |name: &str, before, after| Change { path: folder.join(name), before, after };
    Changes {
        files: vec![
            change("changed", Some(content("old")), Some(content("new"))),
            change("from/deep/moved", Some(content("moved")), None),
            change("gone", Some(content("gone")), None),
            change("made", None, Some(content("made"))),
            change("to/deep/moved", None, Some(content("moved"))),
        ],
        made: vec![folder.join("to"), folder.join("to/deep")],
        gone: vec![folder.join("from/deep"), folder.join("from")],
    }
}

fn state(folder: &Path) -> Vec<(String, Option<String>)> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            if path.is_dir() {
                all.push((name, None));
                open.push(path);
            } else {
                all.push((name, Some(fs::read_to_string(path).unwrap())));
            }
        }
    }
    all.sort();
    all
}

fn kept(noted: &super::journal::Noted) -> Option<Vec<u8>> {
    ["old", "gone", "moved"].iter().map(|text| text.as_bytes().to_vec()).find(|bytes| {
        Some(scene_schemas::Fingerprint::of(bytes))
            == noted.before.as_ref().map(|it| it.hash.clone())
    })
}

fn prepared() -> (TempDir, Changes, Vec<(String, Option<String>)>) {
    let folder = tempfile::tempdir().unwrap();
    let changes = step(folder.path());
    let before = state(folder.path());
    (folder, changes, before)
}

#[test]
fn a_step_is_done_and_taken_back() {
    let (folder, changes, before) = prepared();
    let ready = Ready::store(changes).unwrap();
    assert_eq!(ready.changed(), None);
    let journal = Journal::read(&ready.journal.to_bytes()).unwrap();
    assert_eq!(journal, ready.journal);
    assert_eq!(journal.progress(), Progress::NotBegun);
    let done = ready.go().unwrap();
    assert_eq!(journal.progress(), Progress::Done);
    let file = |name: &str, text: &str| (name.to_owned(), Some(text.to_owned()));
    let dir = |name: &str| (name.to_owned(), None);
    let expected = [
        file("changed", "new"),
        file("made", "made"),
        dir("to"),
        dir("to/deep"),
        file("to/deep/moved", "moved"),
    ];
    assert_eq!(state(folder.path()), expected);
    done.take_back().unwrap();
    assert_eq!(state(folder.path()), before);
}

#[test]
fn a_step_that_was_cut_off_anywhere_is_taken_back() {
    let (_folder, changes, _) = prepared();
    let whole = Ready::store(changes).unwrap();
    // What is done, one by one: files that go, folders, files that come.
    let steps = whole.journal.files.len() + whole.journal.made.len() + whole.journal.gone.len();
    for stop in 0..=steps {
        let (folder, changes, before) = prepared();
        let ready = Ready::store(changes).unwrap();
        let journal = ready.journal.clone();
        assert!(!journal.temporary.is_empty());
        ready.go_until(stop);
        let progress = journal.progress();
        assert!(!matches!(progress, Progress::Diverged(_)), "{stop}: {progress:?}");
        // Whoever finds it takes it back; being cut off in that, too, is no harm.
        journal.take_back(kept).unwrap();
        journal.take_back(kept).unwrap();
        assert_eq!(state(folder.path()), before, "cut off after {stop}");
        assert_eq!(journal.progress(), Progress::NotBegun);
    }
}

#[test]
fn what_somebody_else_changed_is_left_alone() {
    let (folder, changes, _) = prepared();
    let ready = Ready::store(changes).unwrap();
    fs::write(folder.path().join("gone"), "mine").unwrap();
    assert_eq!(ready.changed(), Some(folder.path().join("gone")));
    let journal = ready.journal.clone();
    assert_eq!(journal.progress(), Progress::Diverged(vec![folder.path().join("gone")]));
    drop(ready);
    let left = state(folder.path()).into_iter().filter(|(name, _)| name.starts_with(".vector"));
    assert_eq!(left.count(), 0, "temporary files stay behind");
}

#[cfg(unix)]
#[test]
fn a_step_that_cannot_be_done_leaves_everything() {
    let (folder, mut changes, before) = prepared();
    let path = folder.path().join("gone/below");
    changes.files.push(Change { path, before: None, after: Some(content("x")) });
    // A file stands where a folder would have to be, and is not among those that go.
    changes.files.retain(|change| !change.path.ends_with("gone"));
    let ready = Ready::store(changes).unwrap();
    assert!(ready.go().is_err());
    assert_eq!(state(folder.path()), before);
}
