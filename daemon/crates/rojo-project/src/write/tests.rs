//! Tests of steps that are interrupted at any point.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::files::PlannedChanges;
use super::journal::{FileChange, FileContent, ReadyStep, StepJournal};
use super::rollback::{RemainingProgress, StepProgress};

fn content(text: &str) -> FileContent {
    FileContent { bytes: text.as_bytes().to_vec(), mode: None }
}

/// A step that changes, creates, moves and removes files, and creates and removes folders.
fn step(folder: &Path) -> PlannedChanges {
    fs::write(folder.join("changed"), "old").unwrap();
    fs::write(folder.join("gone"), "gone").unwrap();
    fs::create_dir_all(folder.join("from/deep")).unwrap();
    fs::write(folder.join("from/deep/moved"), "moved").unwrap();
    let change = |name: &str, before, after| FileChange { path: folder.join(name), before, after };
    PlannedChanges {
        files: vec![
            change("changed", Some(content("old")), Some(content("new"))),
            change("from/deep/moved", Some(content("moved")), None),
            change("gone", Some(content("gone")), None),
            change("made", None, Some(content("made"))),
            change("to/deep/moved", None, Some(content("moved"))),
        ],
        new_folders: vec![folder.join("to"), folder.join("to/deep")],
        removed_folders: vec![folder.join("from/deep"), folder.join("from")],
        retained: Vec::new(),
    }
}

fn state(folder: &Path) -> Vec<(String, Option<String>)> {
    let mut all = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(at).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().display().to_string();
            let name = name.replace(std::path::MAIN_SEPARATOR, "/");
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

fn kept(noted: &super::journal::JournalFile) -> Option<Vec<u8>> {
    ["old", "gone", "moved"].iter().map(|text| text.as_bytes().to_vec()).find(|bytes| {
        Some(scene_schemas::Fingerprint::hash_bytes(bytes))
            == noted.before.as_ref().map(|it| it.hash.clone())
    })
}

fn prepared() -> (TempDir, PlannedChanges, Vec<(String, Option<String>)>) {
    let folder = tempfile::tempdir().unwrap();
    let changes = step(folder.path());
    let before = state(folder.path());
    (folder, changes, before)
}

#[test]
fn step_is_performed_and_rolled_back() {
    let (folder, changes, before) = prepared();
    let ready = ReadyStep::store_temporary(changes, "1-").unwrap();
    assert_eq!(ready.first_changed_file(), None);
    let journal = StepJournal::from_bytes(&ready.journal.to_bytes()).unwrap();
    assert_eq!(journal, ready.journal.step);
    assert_eq!(journal.find_progress(), StepProgress::NotStarted);
    let done = ready.perform().unwrap();
    assert_eq!(journal.find_progress(), StepProgress::Done);
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
    done.roll_back().unwrap();
    assert_eq!(state(folder.path()), before);
}

/// Creates empty folders.
fn folders_that_come(folder: &Path) -> PlannedChanges {
    let made = vec![folder.join("a"), folder.join("a/b")];
    PlannedChanges { new_folders: made, ..PlannedChanges::default() }
}

/// Removes files with their folders, and creates nothing.
fn all_goes(folder: &Path) -> PlannedChanges {
    fs::create_dir_all(folder.join("from/deep")).unwrap();
    fs::write(folder.join("from/deep/gone"), "gone").unwrap();
    let path = folder.join("from/deep/gone");
    let files = vec![FileChange { path, before: Some(content("gone")), after: None }];
    PlannedChanges {
        files,
        new_folders: Vec::new(),
        removed_folders: vec![folder.join("from/deep"), folder.join("from")],
        ..PlannedChanges::default()
    }
}

/// Removes an empty folder.
fn folder_that_goes(folder: &Path) -> PlannedChanges {
    fs::create_dir(folder.join("from")).unwrap();
    PlannedChanges { removed_folders: vec![folder.join("from")], ..PlannedChanges::default() }
}

/// Swaps two folders: both are removed and created again.
fn swap(folder: &Path) -> PlannedChanges {
    let (mut files, both) = (Vec::new(), ["a", "b"].map(|name| folder.join(name)));
    for (at, text, other) in [(&both[0], "old", "moved"), (&both[1], "moved", "old")] {
        fs::create_dir(at).unwrap();
        let path = at.join("file");
        fs::write(&path, text).unwrap();
        files.push(FileChange { path, before: Some(content(text)), after: Some(content(other)) });
        let path = at.join(text);
        fs::write(&path, text).unwrap();
        files.push(FileChange { path, before: Some(content(text)), after: None });
    }
    PlannedChanges {
        files,
        new_folders: both.to_vec(),
        removed_folders: both.iter().rev().cloned().collect(),
        ..PlannedChanges::default()
    }
}

/// Replaces a file by a folder, and a folder by a file.
fn kinds(folder: &Path) -> PlannedChanges {
    fs::write(folder.join("a"), "old").unwrap();
    fs::create_dir(folder.join("b")).unwrap();
    fs::write(folder.join("b/init"), "moved").unwrap();
    let change = |name: &str, before, after| FileChange { path: folder.join(name), before, after };
    let [old, moved] = ["old", "moved"].map(|text| Some(content(text)));
    let files = vec![
        change("a", old.clone(), None),
        change("a/init", None, old),
        change("b", None, moved.clone()),
        change("b/init", moved, None),
    ];
    PlannedChanges {
        files,
        new_folders: vec![folder.join("a")],
        removed_folders: vec![folder.join("b")],
        ..PlannedChanges::default()
    }
}

/// Renames a file and a folder by case only, which some systems treat as the same name.
fn spelled(folder: &Path) -> PlannedChanges {
    fs::write(folder.join("a"), "old").unwrap();
    fs::create_dir(folder.join("box")).unwrap();
    fs::write(folder.join("box/b"), "moved").unwrap();
    let change = |name: &str, before, after| FileChange { path: folder.join(name), before, after };
    let [old, moved] = ["old", "moved"].map(|text| Some(content(text)));
    let files = vec![
        change("A", None, old.clone()),
        change("Box/B", None, moved.clone()),
        change("a", old, None),
        change("box/b", moved, None),
    ];
    PlannedChanges {
        files,
        new_folders: vec![folder.join("Box")],
        removed_folders: vec![folder.join("box")],
        ..PlannedChanges::default()
    }
}

/// Recovers like a process that finds an interrupted step: a step that is not complete is rolled
/// back.
fn recover(journal: &StepJournal) -> StepProgress {
    let progress = journal.find_progress();
    match progress {
        StepProgress::NotStarted | StepProgress::Partial => journal.roll_back(kept).unwrap(),
        StepProgress::Done | StepProgress::Diverged { .. } => journal.sweep_temporary(),
    }
    progress
}

#[test]
fn step_interrupted_after_any_action_is_rolled_back() {
    for plan in [step, folders_that_come, all_goes, folder_that_goes, swap, kinds, spelled] {
        let whole = tempfile::tempdir().unwrap();
        let ready = ReadyStep::store_temporary(plan(whole.path()), "1-").unwrap();
        // The single actions: removed files, folders, new files.
        let steps = ready.acts_in_all();
        ready.perform().unwrap();
        let done = state(whole.path());
        for stop in 0..=steps {
            let folder = tempfile::tempdir().unwrap();
            let changes = plan(folder.path());
            let before = state(folder.path());
            let ready = ReadyStep::store_temporary(changes, "1-").unwrap();
            let journal = ready.journal.step.clone();
            ready.go_until(stop);
            let progress = recover(&journal);
            let expected = if stop == steps { &done } else { &before };
            assert_eq!(state(folder.path()), *expected, "cut off after {stop}: {progress:?}");
            assert_eq!(progress == StepProgress::Done, stop == steps, "cut off after {stop}");
            assert_eq!(progress == StepProgress::NotStarted, stop == 0, "cut off after {stop}");
            // An interrupted rollback can be repeated, and a completed step can be rolled back as
            // well.
            journal.roll_back(kept).unwrap();
            assert_eq!(state(folder.path()), before, "cut off after {stop}");
            assert_eq!(journal.find_progress(), StepProgress::NotStarted);
        }
    }
}

/// Performs part of a step, like a crash during the step or during its rollback: the chosen files,
/// with or without the folders. Returns false if the combination is impossible.
fn mix(journal: &StepJournal, chosen: usize, folders: bool, after: &[FileChange]) -> bool {
    let is_chosen = |at: usize| chosen & (1 << at) != 0;
    let all = || after.iter().enumerate().filter(|(at, _)| is_chosen(*at)).map(|(_, it)| it);
    for change in all().filter(|it| it.after.is_none()) {
        fs::remove_file(&change.path).unwrap();
    }
    if folders {
        // A folder that is not empty stays.
        journal.gone.iter().for_each(|folder| drop(fs::remove_dir(folder)));
        if !journal.made.iter().all(|folder| fs::create_dir_all(folder).is_ok()) {
            return false;
        }
    }
    all().filter_map(|it| Some((&it.path, it.after.as_ref()?))).all(|(path, after)| {
        fs::create_dir_all(path.parent().unwrap()).is_ok() && fs::write(path, &after.bytes).is_ok()
    })
}

/// The result is all or nothing, whichever files and folders are done in whatever order.
#[test]
fn any_partly_performed_step_is_rolled_back() {
    let mut mixed = 0;
    for plan in [step, folders_that_come, all_goes, folder_that_goes, swap, kinds] {
        let files = plan(tempfile::tempdir().unwrap().path()).files.len();
        for (chosen, folders) in (0..1 << files).flat_map(|it| [(it, false), (it, true)]) {
            let folder = tempfile::tempdir().unwrap();
            let changes = plan(folder.path());
            let before = state(folder.path());
            let after = changes.files.clone();
            let journal = ReadyStep::store_temporary(changes, "1-").unwrap().journal.step.clone();
            if !mix(&journal, chosen, folders, &after) {
                continue;
            }
            mixed += 1;
            let progress = recover(&journal);
            if progress == StepProgress::Done {
                assert_eq!(chosen, (1 << files) - 1, "{folders}");
                let is_left = |it: &PathBuf| it.is_dir() && !journal.made.contains(it);
                assert!(journal.made.iter().all(|it| it.is_dir()));
                assert!(!journal.gone.iter().any(is_left));
            } else {
                assert_eq!(state(folder.path()), before, "{chosen:b}, {folders}: {progress:?}");
            }
        }
    }
    assert!(mixed > 100, "{mixed}");
}

/// Another process saves files after the step wrote them and before the step is rolled back.
#[test]
fn rollback_keeps_files_saved_after_the_step() {
    let (folder, changes, _) = prepared();
    let done = ReadyStep::store_temporary(changes, "1-").unwrap().perform().unwrap();
    let theirs = ["changed", "gone", "made"].map(|name| folder.path().join(name));
    for file in &theirs {
        fs::write(file, "theirs").unwrap();
    }
    let why = done.roll_back().unwrap_err().to_string();
    for file in &theirs {
        assert!(why.contains(&file.display().to_string()), "{why}");
        assert_eq!(fs::read_to_string(file).unwrap(), "theirs");
    }
    // Everything else is restored.
    assert_eq!(fs::read_to_string(folder.path().join("from/deep/moved")).unwrap(), "moved");
    assert!(!folder.path().join("to").exists());
}

/// One file that cannot be restored does not prevent the others from being restored.
#[test]
fn rollback_restores_the_rest_when_one_file_fails() {
    let (folder, changes, before) = prepared();
    let ready = ReadyStep::store_temporary(changes, "1-").unwrap();
    let journal = ready.journal.step.clone();
    drop(ready.perform().unwrap());
    let lost = |noted: &super::journal::JournalFile| kept(noted).filter(|bytes| bytes != b"old");
    let why = journal.roll_back(lost).unwrap_err().to_string();
    assert!(why.contains("changed") && !why.contains("deep"), "{why}");
    let mut expected = before.clone();
    expected[0].1 = Some("new".to_owned());
    assert_eq!(state(folder.path()), expected);
    assert_eq!(journal.find_progress(), StepProgress::Partial);
    // Another call continues the rollback.
    journal.roll_back(kept).unwrap();
    assert_eq!(state(folder.path()), before);
}

/// A folder of the step stays if another process has put a file into it.
#[test]
fn rollback_keeps_foreign_files_in_new_folders() {
    let (folder, changes, _) = prepared();
    let done = ReadyStep::store_temporary(changes, "1-").unwrap().perform().unwrap();
    fs::write(folder.path().join("to/deep/theirs"), "theirs").unwrap();
    done.roll_back().unwrap();
    assert_eq!(fs::read_to_string(folder.path().join("to/deep/theirs")).unwrap(), "theirs");
    assert!(!folder.path().join("to/deep/moved").exists());
    assert_eq!(fs::read_to_string(folder.path().join("from/deep/moved")).unwrap(), "moved");
}

/// Without a record, a step could not be reverted.
#[cfg(unix)]
#[test]
fn step_that_cannot_be_recorded_is_not_started() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"\xff"));
    let files = vec![FileChange { path, before: None, after: Some(content("x")) }];
    let changes = PlannedChanges { files, ..PlannedChanges::default() };
    assert!(ReadyStep::store_temporary(changes, "1-").is_err());
    assert_eq!(state(folder.path()), []);
}

#[test]
fn foreign_edit_before_the_step_is_reported_as_diverged() {
    let (folder, changes, _) = prepared();
    let ready = ReadyStep::store_temporary(changes, "1-").unwrap();
    fs::write(folder.path().join("gone"), "mine").unwrap();
    assert_eq!(ready.first_changed_file(), Some(folder.path().join("gone")));
    let journal = ready.journal.step.clone();
    let foreign = vec![folder.path().join("gone")];
    assert_eq!(
        journal.find_progress(),
        StepProgress::Diverged { foreign, rest: Some(RemainingProgress::NotStarted) }
    );
    drop(ready);
    let left = state(folder.path()).into_iter().filter(|(name, _)| name.starts_with(".vector"));
    assert_eq!(left.count(), 0, "temporary files stay behind");
}

#[cfg(unix)]
#[test]
fn failed_step_leaves_all_files_unchanged() {
    let (folder, mut changes, before) = prepared();
    let path = folder.path().join("gone/below");
    changes.files.push(FileChange { path, before: None, after: Some(content("x")) });
    // A file is in the place of a required folder, and is not among the removed files.
    changes.files.retain(|change| !change.path.ends_with("gone"));
    let ready = ReadyStep::store_temporary(changes, "1-").unwrap();
    assert!(ready.perform().is_err());
    assert_eq!(state(folder.path()), before);
}
