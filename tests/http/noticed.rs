//! Changes by other processes, which do not notify the daemon: it must poll for them.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use scene_schemas::entry::{Entry, Finish};
use serde_json::Value as Json;
use vector_ledger::{AppendBatch, Ledger};
use vector_tests::binary;
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};

use super::bench::{Bench, of_window};
use super::history::ledger;

/// Whether a poll announces a change of the places.
fn is_news(bench: &Bench) -> bool {
    let places = || bench.board.subscribe_changes().borrow().places;
    let before = places();
    bench.daemon.poll_changes();
    bench.sessions();
    places() != before
}

#[test]
fn workflow_changes_of_another_process_are_noticed_once() {
    let bench = Bench::new();
    let other = Ledger::open(bench.home.path()).unwrap();
    assert!(!is_news(&bench));
    let workflow = bench.left_in(of_window());
    assert!(is_news(&bench));
    assert!(!is_news(&bench));
    let entries = vec![Entry::Finished { outcome: Finish::Done, summary: None }];
    other.append(AppendBatch { workflow: Some(workflow), entries, blobs: Vec::new() }).unwrap();
    assert!(is_news(&bench));
    assert!(!is_news(&bench));
}

#[test]
fn own_changes_are_not_announced_by_polling() {
    let bench = Bench::new();
    let credential = bench.pair();
    let epoch = bench.wait(bench.hello(&credential)).unwrap().epoch;
    let head = bench.ledger.last_seq().unwrap();
    bench.wait(bench.chat(epoch)).unwrap();
    assert_ne!(bench.ledger.last_seq().unwrap(), head);
    assert!(!is_news(&bench));
}

#[test]
fn file_removal_and_return_are_noticed() {
    let home = binary::Home::new();
    let file = home.path().join("place.rbxl");
    fs::write(&file, places::sample(Format::Rbxl)).unwrap();
    let daemon = Daemon::of_place(binary::vector(), &ledger(&home), &file);
    let human = Human::of(&daemon, &ledger(&home));
    let is_there =
        || human.call("GET", "/api/sessions", &Json::Null).ok()["sessions"][0]["connected"] == true;
    assert!(is_there());
    let away = home.path().join("away.rbxl");
    for (from, to, wanted) in [(&file, &away, false), (&away, &file, true)] {
        fs::rename(from, to).unwrap();
        let end = Instant::now() + Duration::from_secs(30);
        while is_there() != wanted {
            assert!(Instant::now() < end, "{to:?} is not noticed");
            thread::yield_now();
        }
    }
}
