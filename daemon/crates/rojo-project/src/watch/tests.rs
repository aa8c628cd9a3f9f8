//! Tests of the watch with editors, storms, links and changing folders, on the real file system.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use notify::event::{Flag, ModifyKind};
use notify::{Event, EventKind};
use tempfile::TempDir;

use super::{FileChanges, FileWatch, MAX_PATHS, gather_changes};

/// Longer than any machine needs.
const PATIENCE: Duration = Duration::from_mins(1);

struct Bench {
    _folder: TempDir,
    src: PathBuf,
    heard: Receiver<FileChanges>,
    watch: FileWatch,
}

impl Bench {
    /// Creates a project file and a folder with two scripts.
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The system's temporary folder may be a link.
        let real = folder.path().canonicalize().unwrap();
        let src = real.join("src");
        fs::create_dir(&src).unwrap();
        for (name, text) in [("One.luau", "return 1\n"), ("Two.luau", "return 2\n")] {
            fs::write(src.join(name), text).unwrap();
        }
        fs::write(real.join("default.project.json"), "{}").unwrap();
        let (say, heard) = channel();
        let roots = [real.join("default.project.json"), src.clone()];
        let watch = FileWatch::start(&roots, move |changed| drop(say.send(changed))).unwrap();
        Self { _folder: folder, src, heard, watch }
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.src.join(name), text).unwrap();
    }

    /// Returns all reports up to the one that contains a path.
    #[track_caller]
    fn until(&self, path: &Path) -> Vec<FileChanges> {
        let mut told = Vec::new();
        loop {
            let changed = self.heard.recv_timeout(PATIENCE).expect("it is told");
            let is_it = match &changed {
                FileChanges::Paths(paths) => paths.contains(path),
                FileChanges::All => true,
            };
            told.push(changed);
            if is_it {
                return told;
            }
        }
    }

    #[track_caller]
    fn until_all(&self) {
        while self.heard.recv_timeout(PATIENCE).expect("it is told") != FileChanges::All {}
    }
}

#[test]
fn changes_are_reported_and_reads_are_not() {
    let bench = Bench::new();
    fs::read(bench.src.join("Two.luau")).unwrap();
    bench.write("One.luau", "return 11\n");
    let one = bench.src.join("One.luau");
    assert_eq!(bench.until(&one), [FileChanges::Paths([one].into())]);
}

#[test]
fn saving_by_rename_is_reported_as_a_change() {
    let bench = Bench::new();
    let one = bench.src.join("One.luau");
    fs::write(bench.src.join(".One.swp"), "return 12\n").unwrap();
    fs::rename(bench.src.join(".One.swp"), &one).unwrap();
    bench.until(&one);
    // Again, although the first file is gone.
    fs::write(bench.src.join(".One.swp"), "return 13\n").unwrap();
    fs::rename(bench.src.join(".One.swp"), &one).unwrap();
    bench.until(&one);
}

#[test]
fn replaced_project_file_is_still_watched() {
    let bench = Bench::new();
    let project = bench.src.parent().unwrap().join("default.project.json");
    for text in ["{ }", "{  }"] {
        let new = project.with_extension("new");
        fs::write(&new, text).unwrap();
        fs::rename(&new, &project).unwrap();
        bench.until(&project);
    }
}

#[test]
fn temporary_files_of_vector_are_not_reported() {
    let bench = Bench::new();
    bench.write(".vector-123.tmp", "return 3\n");
    let one = bench.src.join("One.luau");
    fs::rename(bench.src.join(".vector-123.tmp"), &one).unwrap();
    assert_eq!(bench.until(&one), [FileChanges::Paths([one].into())]);
}

#[test]
fn case_renames_and_new_folders_are_reported() {
    let bench = Bench::new();
    fs::rename(bench.src.join("One.luau"), bench.src.join("ONE.luau")).unwrap();
    bench.until(&bench.src.join("ONE.luau"));
    let deep = bench.src.join("a").join("b");
    fs::create_dir_all(&deep).unwrap();
    bench.until(&bench.src.join("a"));
    // The content of a new folder is reported along with the folder or separately.
    fs::write(deep.join("Deep.luau"), "return 4\n").unwrap();
    bench.until(&deep.join("Deep.luau"));
}

fn written(path: PathBuf) -> Event {
    Event::new(EventKind::Modify(ModifyKind::Any)).add_path(path)
}

#[test]
fn event_storm_is_reported_once() {
    let (say, said) = channel();
    let root = PathBuf::from("/project/src");
    let file = |at: usize| root.join(format!("Storm{at}.luau"));
    let is_ours = |path: &Path| path.starts_with(&root);
    for at in 0..MAX_PATHS * 20 {
        say.send(Ok(written(file(at)))).unwrap();
    }
    assert_eq!(gather_changes(&said, is_ours), Some(FileChanges::All));
    for at in 0..MAX_PATHS {
        say.send(Ok(written(file(at)))).unwrap();
    }
    assert_eq!(
        gather_changes(&said, is_ours),
        Some(FileChanges::Paths((0..MAX_PATHS).map(file).collect()))
    );
    say.send(Ok(Event::new(EventKind::Other).set_flag(Flag::Rescan))).unwrap();
    assert_eq!(gather_changes(&said, is_ours), Some(FileChanges::All), "the system has lost some");
    drop(say);
    assert_eq!(gather_changes(&said, is_ours), None);
}

#[test]
fn event_storm_loses_no_changes() {
    let bench = Bench::new();
    for at in 0..MAX_PATHS * 4 {
        bench.write(&format!("Storm{at}.luau"), "return 5\n");
    }
    bench.write("One.luau", "return 14\n");
    let told = bench.until(&bench.src.join("One.luau"));
    // A slow machine may report it in parts.
    let of = |path: &Path| {
        told.iter().any(|changed| match changed {
            FileChanges::Paths(paths) => paths.contains(path),
            FileChanges::All => true,
        })
    };
    for at in 0..MAX_PATHS * 4 {
        assert!(of(&bench.src.join(format!("Storm{at}.luau"))), "{at}");
    }
}

#[test]
fn recreated_folder_is_watched_again() {
    let bench = Bench::new();
    fs::remove_dir_all(&bench.src).unwrap();
    bench.until_all();
    fs::create_dir(&bench.src).unwrap();
    bench.until_all();
    bench.write("New.luau", "return 6\n");
    bench.until(&bench.src.join("New.luau"));
}

#[test]
fn watch_thread_ends_when_the_watch_is_dropped() {
    let Bench { watch, heard, _folder, src } = Bench::new();
    drop(watch);
    // The thread drops its sender, and nothing more is reported.
    fs::write(src.join("One.luau"), "return 15\n").unwrap();
    while heard.recv_timeout(PATIENCE).is_ok() {}
}

#[cfg(unix)]
#[test]
fn links_out_of_the_project_are_not_followed() {
    let bench = Bench::new();
    let outside = tempfile::tempdir().unwrap();
    let link = bench.src.join("Link");
    std::os::unix::fs::symlink(outside.path(), &link).unwrap();
    bench.until(&link);
    fs::write(outside.path().join("Out.luau"), "return 7\n").unwrap();
    bench.write("One.luau", "return 16\n");
    let told = bench.until(&bench.src.join("One.luau"));
    let is_outside = |changed: &FileChanges| match changed {
        FileChanges::Paths(paths) => paths.iter().any(|path| path.ends_with("Out.luau")),
        FileChanges::All => true,
    };
    assert!(!told.iter().any(is_outside), "{told:?}");
}
