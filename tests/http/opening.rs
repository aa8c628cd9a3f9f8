//! Opening of files that take long to read: other requests are answered meanwhile, and no file is
//! read twice at once.

use std::fs;
#[cfg(unix)]
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::process::Command;

use scene_schemas::Fingerprint;
use scene_schemas::api::{OpenPlaceRequest, OpenedSession, SceneUpdate};
use scene_schemas::entry::{FilePlace, Place, ProjectPlace};
use tokio::sync::oneshot::error::TryRecvError;
use vector_daemon::daemon::DaemonHandle;
#[cfg(unix)]
use vector_engine::studio::StudioTarget;
use vector_files::place_file;
use vector_tests::places::{self, Format};

use super::bench::{Answer, Bench, of_window, window};

/// A file with an unfinished workflow of an earlier process: opening it blocks while the ledger is
/// locked.
fn left(bench: &Bench, name: &str, bytes: &[u8]) -> PathBuf {
    let file = bench.home.path().join(name);
    fs::write(&file, bytes).unwrap();
    let real = place_file::real_path(&file).unwrap().display().to_string();
    let hash = Fingerprint::hash_bytes(bytes);
    bench.left_in(Place::File(FilePlace { file: real, out: None, hash, replaces: None }));
    file
}

fn open(bench: &Bench, path: &Path) -> Answer<OpenedSession> {
    let open = OpenPlaceRequest::Place { place: path.display().to_string() };
    bench.begin(|daemon| daemon.open_path(open))
}

/// Asserts that none of these requests is answered while other requests are.
#[track_caller]
fn are_waited_for(bench: &Bench, opened: &mut [Answer<OpenedSession>]) {
    assert_eq!(bench.sessions(), 0, "others are answered");
    for answer in opened {
        assert_eq!(answer.try_recv().unwrap_err(), TryRecvError::Empty);
    }
}

#[test]
fn file_being_read_opens_once_and_blocks_no_requests() {
    let bench = Bench::new();
    let file = left(&bench, "place.rbxl", &places::sample(Format::Rbxl));
    fs::create_dir(bench.home.path().join("deeper")).unwrap();
    let other = bench.home.path().join("deeper/../place.rbxl");
    let held = bench.hold();
    let mut all = [open(&bench, &file), open(&bench, &file), open(&bench, &other)];
    are_waited_for(&bench, &mut all);
    held.unlock().unwrap();
    let all = all.map(|answer| bench.wait(answer).unwrap());
    assert!(all.iter().all(|it| *it == all[0]), "{all:?}");
    assert_eq!((bench.sessions(), bench.said(" is open: ")), (1, 1));
    assert_eq!(bench.wait(open(&bench, &file)).unwrap(), all[0]);
    assert_eq!(bench.said(" is open: "), 1);
}

#[test]
fn open_failure_is_reported_to_all_waiting_requests() {
    let bench = Bench::new();
    let file = left(&bench, "place.rbxl", b"no place at all");
    let held = bench.hold();
    let mut all = [open(&bench, &file), open(&bench, &file)];
    are_waited_for(&bench, &mut all);
    held.unlock().unwrap();
    let [one, other] = all.map(|answer| bench.wait(answer).unwrap_err());
    assert_eq!(one, other);
    assert!(one.message.contains("place.rbxl cannot be opened"), "{one:?}");
    // The failure is not cached: a valid file at the same path opens.
    fs::write(&file, places::sample(Format::Rbxl)).unwrap();
    bench.wait(open(&bench, &file)).unwrap();
    assert_eq!(bench.sessions(), 1);
}

#[test]
fn daemon_ends_while_a_file_is_being_read() {
    let bench = Bench::new();
    let file = left(&bench, "place.rbxl", &places::sample(Format::Rbxl));
    let held = bench.hold();
    let mut all = [open(&bench, &file)];
    are_waited_for(&bench, &mut all);
    let [opened] = all;
    let Bench { daemon, thread, home, .. } = bench;
    drop(daemon);
    thread.join().unwrap();
    let refused = opened.blocking_recv().unwrap().unwrap_err();
    assert_eq!(refused.message, "Vector is shutting down.");
    held.unlock().unwrap();
    drop(home);
}

/// A minimal project in a new folder.
fn project(bench: &Bench) -> OpenPlaceRequest {
    let folder = bench.home.path().join("game");
    fs::create_dir_all(folder.join("src")).unwrap();
    let tree = r#"{ "name": "game", "tree": { "$path": "src" } }"#;
    fs::write(folder.join("default.project.json"), tree).unwrap();
    OpenPlaceRequest::Project { project: folder.display().to_string() }
}

#[test]
fn slow_file_open_blocks_neither_other_files_nor_sessions() {
    let bench = Bench::new();
    let slow = left(&bench, "slow.rbxl", &places::sample(Format::Rbxl));
    let other = bench.home.path().join("other.rbxl");
    fs::write(&other, places::sample(Format::Rbxl)).unwrap();
    let credential = bench.pair();
    let held = bench.hold();
    let mut all = [open(&bench, &slow)];
    are_waited_for(&bench, &mut all);
    bench.wait(open(&bench, &other)).unwrap();
    let epoch = bench.wait(bench.hello(&credential)).unwrap().epoch;
    let update = SceneUpdate { epoch, version: 1, parts: Vec::new() };
    let taken =
        bench.ask(|daemon| daemon.session(&window()).unwrap().update_scene(Box::new(update)));
    let taken = taken.unwrap();
    assert_eq!(taken.instances, 0, "its session hears what is said to it");
    let [mut slow] = all;
    assert_eq!(slow.try_recv().unwrap_err(), TryRecvError::Empty);
    held.unlock().unwrap();
    bench.wait(slow).unwrap();
}

#[test]
fn session_resumes_released_workflow_when_a_project_is_opened() {
    let bench = Bench::new();
    let workflow = bench.left_in(of_window());
    let credential = bench.pair();
    let lease = bench.ledger.try_lease(workflow).unwrap().unwrap();
    let epoch = bench.wait(bench.hello(&credential)).unwrap().epoch;
    // By the time of the answer, the session has taken up every workflow that it can.
    bench.wait(bench.chat(epoch)).unwrap();
    drop(lease);
    assert!(!bench.ledger.has_lease(workflow));
    let project = project(&bench);
    bench.ask(|daemon| daemon.open_path(project)).unwrap();
    bench.wait(bench.chat(epoch)).unwrap();
    assert!(bench.ledger.has_lease(workflow));
}

#[test]
fn resuming_a_workflow_announces_a_places_change_once() {
    let bench = Bench::new();
    bench.left_in(of_window());
    let credential = bench.pair();
    let places = || bench.board.subscribe_changes().borrow().places;
    let held = bench.hold();
    let epoch = bench.wait(bench.hello(&credential)).unwrap().epoch;
    let begun = places();
    held.unlock().unwrap();
    bench.wait(bench.chat(epoch)).unwrap();
    let taken = places();
    assert_ne!(begun, taken, "what it has is not at work elsewhere any more");
    bench.wait(bench.chat(epoch)).unwrap();
    assert_eq!(places(), taken);
}

#[test]
fn session_resumes_all_workflows_while_a_project_opens() {
    let bench = Bench::new();
    // Opening the project looks at each of these workflows.
    let all: Vec<_> = (0..100).map(|_| bench.left_in(of_window())).collect();
    let credential = bench.pair();
    let held = bench.hold();
    let project = project(&bench);
    let opened = bench.begin(|daemon| daemon.open_path(project));
    let welcome = bench.wait(bench.hello(&credential)).unwrap();
    held.unlock().unwrap();
    bench.wait(opened).unwrap();
    // By the time of the answer, the session has taken them up.
    bench.wait(bench.chat(welcome.epoch)).unwrap();
    let missed: Vec<_> = all.into_iter().filter(|it| !bench.ledger.has_lease(*it)).collect();
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn project_and_place_opens_of_one_file_stay_apart() {
    for is_project_first in [true, false] {
        let bench = Bench::new();
        let wanted = project(&bench);
        let file =
            place_file::real_path(&bench.home.path().join("game/default.project.json")).unwrap();
        let (project, hash) = (file.display().to_string(), Fingerprint::hash_bytes(b"as it was"));
        // An unfinished workflow, so that opening blocks while the ledger is locked.
        bench.left_in(Place::Project(ProjectPlace { project, hash }));
        let held = bench.hold();
        let ask = |is_project| {
            let as_project = |daemon: DaemonHandle| daemon.open_path(wanted.clone());
            if is_project { bench.begin(as_project) } else { open(&bench, &file) }
        };
        let mut all = [is_project_first, !is_project_first].map(ask);
        are_waited_for(&bench, &mut all);
        held.unlock().unwrap();
        let mut all = all.map(|answer| bench.wait(answer)).to_vec();
        if !is_project_first {
            all.reverse();
        }
        all.push(bench.wait(ask(false)));
        assert!(all[0].is_ok(), "{all:?}");
        for place in &all[1..] {
            let refused = place.as_ref().unwrap_err();
            assert_eq!(refused.hint, "Specify a .rbxl, .rbxlx, .rbxm or .rbxmx file.");
        }
    }
}

/// A memory file that is a named pipe: a read blocks until a writer opens it.
#[cfg(unix)]
fn slow_memory(file: &Path) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    assert!(Command::new("mkfifo").arg(file).status().unwrap().success());
}

#[cfg(unix)]
#[test]
fn slow_memory_file_blocks_only_its_session() {
    let bench = Bench::new();
    let Place::Open(own) = of_window() else { unreachable!() };
    let memory = StudioTarget::new(own, bench.home.path().join("memory")).memory_file();
    slow_memory(&memory);
    let credential = bench.pair();
    let epoch = bench.wait(bench.hello(&credential)).unwrap().epoch;
    let mut started = bench.chat(epoch);
    assert_eq!(bench.sessions(), 1, "others are answered");
    assert_eq!(started.try_recv().unwrap_err(), TryRecvError::Empty);
    let slow = OpenOptions::new().write(true).open(&memory).unwrap();
    fs::remove_file(&memory).unwrap();
    drop(slow);
    bench.wait(started).unwrap();
}

#[cfg(unix)]
#[test]
fn memory_beside_a_file_is_read_once_at_open() {
    let bench = Bench::new();
    let file = bench.home.path().join("place.rbxl");
    fs::write(&file, places::sample(Format::Rbxl)).unwrap();
    let memory = bench.home.path().join(".vector/memory.md");
    slow_memory(&memory);
    let opened = open(&bench, &file);
    drop(OpenOptions::new().write(true).open(&memory).unwrap());
    bench.wait(opened).unwrap();
    assert_eq!(bench.sessions(), 1);
}
