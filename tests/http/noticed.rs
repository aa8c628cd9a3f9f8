//! What other processes write down beside the daemon, which they tell nobody.

use scene_schemas::entry::{Entry, Finish};
use vector_daemon::ledger::{Append, Ledger};
use vector_daemon::server::Ask;

use super::house::{Bench, of_window};

/// Whether whoever looks at the places is told to look again.
fn is_news(bench: &Bench) -> bool {
    let places = || bench.board.news().borrow().places;
    let before = places();
    bench.desk.tell(Ask::Notice);
    bench.sessions();
    places() != before
}

#[test]
fn what_another_process_begins_or_ends_is_noticed_once() {
    let bench = Bench::new();
    let other = Ledger::open(bench.home.path()).unwrap();
    assert!(!is_news(&bench));
    let workflow = bench.left_in(of_window());
    assert!(is_news(&bench));
    assert!(!is_news(&bench));
    let entries = vec![Entry::Finished { outcome: Finish::Done, summary: None }];
    other.append(Append { workflow: Some(workflow), entries, blobs: Vec::new() }).unwrap();
    assert!(is_news(&bench));
    assert!(!is_news(&bench));
}

#[test]
fn what_happens_here_is_told_without() {
    let bench = Bench::new();
    let credential = bench.pair();
    let epoch = bench.wait(bench.hello(&credential)).unwrap().epoch;
    let head = bench.ledger.head().unwrap();
    bench.wait(bench.chat(epoch)).unwrap();
    assert_ne!(bench.ledger.head().unwrap(), head);
    assert!(!is_news(&bench));
}
