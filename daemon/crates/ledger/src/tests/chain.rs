//! Tests of the hash chain: whatever is changed beside Vector is found, and nothing else.

use super::*;
use crate::{ChainHead, ChainReport};

/// A ledger with two workflows, one of which has a body that is stored as a blob.
fn filled(home: &TempDir) -> Ledger {
    let ledger = open(home);
    for text in ["short", &"long ".repeat(20_000)] {
        let workflow = begin(&ledger);
        ledger.append(batch(Some(workflow), vec![said(text), finished()])).unwrap();
    }
    ledger
}

fn verify(ledger: &Ledger, noted: Option<ChainHead>) -> ChainReport {
    ledger.verify_chain(noted).unwrap()
}

/// The positions of the faults after something was changed in the file, as somebody could who has it.
fn faults_after(change: &str, noted: bool) -> Vec<u64> {
    let home = home();
    let ledger = filled(&home);
    let head = verify(&ledger, None).head;
    let outside = Connection::open(ledger.file_path()).unwrap();
    let rules =
        "DROP TRIGGER entries_stay; DROP TRIGGER entries_remain; DROP TRIGGER entries_follow;
                 DROP TRIGGER entries_link; DROP TRIGGER blobs_stay; DROP TRIGGER blobs_remain;
                 PRAGMA foreign_keys = false;";
    outside.execute_batch(&format!("{rules} {change}")).unwrap();
    let report = verify(&ledger, noted.then_some(head));
    report.faults.iter().map(|fault| fault.seq.0).collect()
}

#[test]
fn appended_entries_are_a_whole_chain() {
    let home = home();
    let ledger = filled(&home);
    let report = verify(&ledger, None);
    assert_eq!((report.entries, report.erased, &report.faults[..]), (6, 0, &[][..]));
    assert_eq!(report.head.seq, ledger.last_seq().unwrap());
    // A head that was noted earlier is part of the chain for good.
    ledger.append(batch(Some(Seq(1)), vec![said("later")])).unwrap();
    assert_eq!(verify(&ledger, Some(report.head)).faults, []);
    let other = ChainHead { link: verify(&ledger, None).head.link, ..report.head };
    assert_eq!(verify(&ledger, Some(other)).faults[0].seq, Seq(6));
    drop(ledger);
    assert_eq!(verify(&open(&home), Some(report.head)).entries, 7);
}

#[test]
fn empty_ledger_has_a_head_that_it_keeps() {
    let home = home();
    let ledger = open(&home);
    let head = verify(&ledger, None).head;
    assert_eq!((head.seq, verify(&ledger, None).entries), (Seq(0), 0));
    begin(&ledger);
    assert_eq!(verify(&ledger, Some(head)).faults, []);
}

#[test]
fn every_change_is_found_where_it_is() {
    for (change, expected) in [
        ("UPDATE entries SET body = replace(body, 'short', 'shirt') WHERE seq = 2", vec![2]),
        ("UPDATE entries SET at = at + 1 WHERE seq = 2", vec![2]),
        ("UPDATE entries SET workflow = 4 WHERE seq = 2", vec![2]),
        ("UPDATE entries SET kind = 'asked' WHERE seq = 2", vec![2]),
        ("UPDATE entries SET digest = x'00' WHERE seq = 2", vec![2, 2]),
        ("UPDATE entries SET link = NULL WHERE seq = 2", vec![2, 3]),
        ("UPDATE blobs SET bytes = x'00'", vec![5]),
        ("DELETE FROM blobs", vec![5]),
        ("DELETE FROM entries WHERE seq = 2", vec![3, 3]),
        ("UPDATE entries SET seq = -seq WHERE seq IN (2, 3);
          UPDATE entries SET seq = 5 + seq WHERE seq < 0", vec![2, 3, 4]),
        ("INSERT INTO entries SELECT 7, at, workflow, kind, body, blob, digest, link FROM entries
          WHERE seq = 2", vec![7]),
        // Nothing that follows tells that the end is gone, except who has noted it.
        ("DELETE FROM entries WHERE seq > 4", vec![]),
    ] {
        assert_eq!(faults_after(change, false), expected, "{change}");
    }
    assert_eq!(faults_after("DELETE FROM entries WHERE seq > 4", true), [6]);
    assert_eq!(faults_after("", true), [0; 0]);
}

#[test]
fn damaged_blob_is_found_that_no_entry_is() {
    let home = home();
    let ledger = filled(&home);
    let blobs = vec![b"the scene before".to_vec()];
    let entries = vec![said("It was before.")];
    ledger.append(AppendBatch { workflow: Some(Seq(1)), entries, blobs }).unwrap();
    assert!(verify(&ledger, None).is_whole());
    let outside = Connection::open(ledger.file_path()).unwrap();
    let hash = Fingerprint::hash_bytes(b"the scene before");
    let change = format!("UPDATE blobs SET bytes = x'00' WHERE hash = '{hash}'");
    outside.execute_batch(&format!("DROP TRIGGER blobs_stay; {change}")).unwrap();
    let report = verify(&ledger, None);
    assert_eq!(
        (report.faults.len(), &report.damaged_blobs[..], report.is_whole()),
        (0, &[hash][..], false)
    );
}

#[test]
fn erased_entries_are_those_that_the_erasure_left() {
    let home = home();
    let ledger = filled(&home);
    let head = verify(&ledger, None).head;
    let mark = |remains| Entry::Erased { remains: Some(remains) };
    let workflows = [Seq(1), Seq(4)];
    // A later version of Vector may leave something else.
    for (round, left) in [(1, "(gone)"), (2, "(erased)")] {
        let erase = |entry| match entry {
            Entry::Said { phase, .. } => {
                Entry::Said { text: left.to_owned(), phase, answers: Vec::new() }
            }
            entry => entry,
        };
        let erased = ledger.erase_workflows(&workflows, erase, mark).unwrap();
        assert_eq!(erased.blobs, 2 - round);
        let report = verify(&ledger, Some(head));
        assert_eq!((report.faults, report.entries), (vec![], 6 + 2 * round as u64));
        assert_eq!(report.erased, 2);
    }
    let outside = Connection::open(ledger.file_path()).unwrap();
    let change = "DROP TRIGGER entries_stay;
                  UPDATE entries SET body = replace(body, '(erased)', 'He said no.') WHERE seq = 2";
    outside.execute_batch(change).unwrap();
    let found = verify(&ledger, None).faults;
    assert_eq!(found.iter().map(|it| it.seq.0).collect::<Vec<_>>(), [9]);
    assert!(found[0].problem.contains("not what it left"), "{found:?}");
}

#[test]
fn ledger_without_a_chain_gets_one() {
    let home = home();
    let ledger = filled(&home);
    let before = ledger.read(Seq(0), usize::MAX).unwrap();
    let file = ledger.file_path().to_owned();
    drop(ledger);
    let outside = Connection::open(&file).unwrap();
    let format_1 = "DROP TRIGGER entries_link;
                    ALTER TABLE entries DROP COLUMN link; ALTER TABLE entries DROP COLUMN digest;
                    UPDATE meta SET value = '1' WHERE key = 'format'";
    outside.execute_batch(format_1).unwrap();
    drop(outside);
    let ledger = open(&home);
    let report = verify(&ledger, None);
    assert_eq!((report.entries, report.faults), (6, vec![]));
    assert_eq!(ledger.read(Seq(0), usize::MAX).unwrap(), before);
    begin(&ledger);
    assert_eq!(verify(&ledger, Some(report.head)).faults, []);
    // Its rules hold again.
    let outside = Connection::open(&file).unwrap();
    for change in [
        "UPDATE entries SET kind = 'said'",
        "INSERT INTO entries (seq, at, workflow, kind, body) VALUES (8, 0, 1, 'said', '{}')",
    ] {
        assert!(outside.execute(change, []).is_err(), "{change}");
    }
}

#[test]
fn concurrent_appends_are_one_chain() {
    let home = home();
    let workflow = begin(&open(&home));
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let home = &home;
            scope.spawn(move || {
                let ledger = open(home);
                for round in 0..25 {
                    let text = format!("{thread} {round}");
                    ledger.append(batch(Some(workflow), vec![said(&text), said("and")])).unwrap();
                }
            });
        }
    });
    let report = verify(&open(&home), None);
    assert_eq!((report.entries, report.faults), (201, vec![]));
}

#[test]
fn hash_is_read_from_its_digits() {
    let head = verify(&filled(&home()), None).head;
    let text = head.link.to_string();
    assert_eq!(text.parse(), Ok(head.link));
    for wrong in [&text[1..], "", &text.to_uppercase(), &format!("{text}0"), &"é".repeat(32)] {
        assert!(wrong.parse::<crate::ChainHash>().is_err(), "{wrong}");
    }
}
