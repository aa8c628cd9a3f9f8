//! Tests of the ledger's promises, one promise per test, on real files.

mod chain;

use std::sync::Barrier;

use scene_schemas::entry::{FilePlace, Finish, InteractionMode, Phase, Place};
use scene_schemas::proposal::Mode;
use scene_schemas::review::TaskRole;
use serde_json::json;
use tempfile::TempDir;

use super::*;

fn home() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(home: &TempDir) -> Ledger {
    Ledger::open(home.path()).unwrap()
}

fn started() -> Entry {
    Entry::Started {
        place: Place::File(FilePlace {
            file: "farm.rbxl".to_owned(),
            out: None,
            hash: Fingerprint::hash_bytes(b"farm"),
            replaces: None,
        }),
        goal: "a grid of wheat".to_owned(),
        driver: "offline".to_owned(),
        mode: Mode::Confirm,
        attached: Vec::new(),
        interaction: InteractionMode::Act,
        follows: None,
        guards: None,
        served: false,
        role: TaskRole::Solo,
        requested_by: None,
    }
}

fn said(text: &str) -> Entry {
    Entry::Said { text: text.to_owned(), phase: Phase::Update, answers: Vec::new() }
}

fn finished() -> Entry {
    Entry::Finished { outcome: Finish::Done, summary: None }
}

fn batch(workflow: Option<Seq>, entries: Vec<Entry>) -> AppendBatch {
    AppendBatch { workflow, entries, blobs: Vec::new() }
}

/// Starts a workflow with one entry.
fn begin(ledger: &Ledger) -> Seq {
    ledger.append(batch(None, vec![started()])).unwrap()[0].seq
}

fn count(ledger: &Ledger, table: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {table}");
    ledger.lock_reader().query_row(&sql, [], |row| row.get(0)).unwrap()
}

fn assert_gapless(ledger: &Ledger, entries: u64) {
    let records = ledger.read(Seq(0), usize::MAX).unwrap();
    let positions: Vec<u64> = records.iter().map(|record| record.seq.0).collect();
    assert_eq!(positions, (1..=entries).collect::<Vec<_>>());
    assert_eq!(ledger.last_seq().unwrap(), Seq(entries));
}

#[test]
fn appended_entries_are_read_back() {
    let home = home();
    let ledger = open(&home);
    assert_eq!(ledger.last_seq().unwrap(), Seq(0));
    assert_eq!(ledger.read(Seq(0), 10).unwrap(), []);
    let called = Entry::Called {
        tool: "read_script".to_owned(),
        args: json!({"path": "game.Lobby", "lines": [1, 2.5, null, "ä\u{0}"]}),
        id: Some("toolu_1".to_owned()),
        flaw: None,
    };
    let answered = Entry::Answered { call: Seq(2), answer: json!([true]) };
    let first = ledger.append(batch(None, vec![started(), called, answered])).unwrap();
    let second = ledger.append(batch(None, vec![started()])).unwrap();
    let third = ledger.append(batch(Some(Seq(1)), vec![said("done"), finished()])).unwrap();
    let all = [first.clone(), second.clone(), third.clone()].concat();
    assert_eq!(ledger.read(Seq(0), 100).unwrap(), all);
    assert_eq!(ledger.read(Seq(2), 2).unwrap(), all[2..4]);
    assert_eq!(ledger.read(Seq(u64::MAX), 2).unwrap(), []);
    assert_eq!(ledger.workflow_records(Seq(1)).unwrap(), [first, third].concat());
    assert_eq!(ledger.record_at(Seq(4)).unwrap().as_ref(), second.first());
    assert_eq!(ledger.record_at(Seq(99)).unwrap(), None);
    assert_eq!(ledger.unfinished_starts().unwrap(), second);
    assert!(all.iter().all(|record| record.at > 1_700_000_000_000));
}

#[test]
fn entries_are_read_backwards_and_in_part() {
    #[derive(Debug, PartialEq, serde::Deserialize)]
    struct Text {
        text: Option<String>,
    }
    let home = home();
    let ledger = open(&home);
    let first = begin(&ledger);
    let second = begin(&ledger);
    // The second text is long enough to be stored as a blob.
    for text in ["one", &"two".repeat(40_000)] {
        ledger.append(batch(Some(first), vec![said(text)])).unwrap();
    }
    ledger.append(batch(Some(second), vec![finished()])).unwrap();
    let back = ledger.read_before(Seq(4), 2).unwrap();
    assert_eq!(back.iter().map(|record| record.seq.0).collect::<Vec<_>>(), [3, 2]);
    assert_eq!(ledger.read_before(Seq(1), 9).unwrap(), []);
    let parts = ledger.read_as::<Text>(Seq(2), 9).unwrap();
    let lengths = parts.iter().map(|part| part.body.text.as_ref().map(String::len));
    assert_eq!(lengths.collect::<Vec<_>>(), [Some(3), Some(120_000), None]);
    assert_eq!((parts[2].seq, parts[2].workflow), (Seq(5), second));
    assert_eq!(ledger.neighbours(first, Seq(3)).unwrap(), (Some(first), Some(Seq(4))));
    assert_eq!(ledger.neighbours(first, first).unwrap(), (None, Some(Seq(3))));
    assert_eq!(ledger.neighbours(second, Seq(5)).unwrap(), (Some(second), None));
}

#[test]
fn entry_appended_with_its_call_refers_to_it() {
    let home = home();
    let ledger = open(&home);
    let called = |id: &str| Entry::Called {
        tool: "read_script".to_owned(),
        args: json!({}),
        id: Some(id.to_owned()),
        flaw: None,
    };
    let before = Seq(0);
    let answered = |call| Entry::Answered { call, answer: json!(1) };
    let refused = |call| Entry::Refused { call, reason: "no".to_owned(), conflict: None };
    let first = batch(None, vec![started(), called("a"), answered(before)]);
    let records = ledger.append(first).unwrap();
    assert_eq!(records[2].entry, answered(Seq(2)));
    ledger.append(batch(None, vec![started()])).unwrap();
    ledger.append(batch(Some(Seq(1)), vec![called("b"), refused(before)])).unwrap();
    let read = ledger.workflow_records(Seq(1)).unwrap();
    assert_eq!(read[2].entry, answered(Seq(2)));
    assert_eq!(read[4].entry, refused(Seq(5)));
}

#[test]
fn kind_column_is_the_entry_tag() {
    let home = home();
    let ledger = open(&home);
    ledger.append(batch(None, vec![started(), said("x"), finished()])).unwrap();
    let kinds: String = ledger
        .lock_reader()
        .query_row("SELECT group_concat(kind) FROM entries", [], |row| row.get(0))
        .unwrap();
    assert_eq!(kinds, "started,said,finished");
}

#[test]
fn threads_append_without_gaps_and_batches_stay_together() {
    let home = home();
    let ledger = open(&home);
    let workflow = begin(&ledger);
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let ledger = &ledger;
            scope.spawn(move || {
                for round in 0..25 {
                    let text = format!("{thread} {round}");
                    let pair = vec![said(&text), said(&text)];
                    let records = ledger.append(batch(Some(workflow), pair)).unwrap();
                    assert_eq!(records[1].seq.0, records[0].seq.0 + 1);
                    assert_eq!(ledger.record_at(records[0].seq).unwrap().unwrap(), records[0]);
                }
            });
        }
    });
    assert_gapless(&ledger, 401);
}

#[test]
fn several_ledgers_open_and_append_concurrently() {
    let home = home();
    let together = Barrier::new(4);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                together.wait();
                let ledger = open(&home);
                let workflow = begin(&ledger);
                for _ in 0..24 {
                    let records = ledger.append(batch(Some(workflow), vec![said("x")]));
                    assert_eq!(records.unwrap()[0].workflow, workflow);
                }
            });
        }
    });
    assert_gapless(&open(&home), 100);
}

#[test]
fn large_body_is_stored_once_as_a_blob() {
    let home = home();
    let ledger = open(&home);
    let workflow = begin(&ledger);
    let large = said(&"wheat ".repeat(20_000));
    let twice = ledger.append(batch(Some(workflow), vec![large.clone(), large.clone()])).unwrap();
    assert_eq!(ledger.workflow_records(workflow).unwrap()[1..], twice);
    assert_eq!(twice[1].entry, large);
    let row = "SELECT count(*) FROM entries WHERE body IS NULL AND blob IS NOT NULL";
    let rows: i64 = ledger.lock_reader().query_row(row, [], |row| row.get(0)).unwrap();
    assert_eq!((rows, count(&ledger, "blobs")), (2, 1));
}

#[test]
fn blobs_are_stored_once_and_read_by_hash() {
    let home = home();
    let ledger = open(&home);
    let subtree: Vec<u8> = vec![3; 5_000];
    let mut workflow = None;
    for _ in 0..2 {
        let entry = workflow.map_or_else(started, |_| said("again"));
        let records = ledger.append(AppendBatch {
            workflow,
            entries: vec![entry],
            blobs: vec![subtree.clone(), b"tiny".to_vec()],
        });
        workflow = Some(records.unwrap()[0].workflow);
    }
    assert_eq!(count(&ledger, "blobs"), 2);
    assert_eq!(ledger.read_blob(&Fingerprint::hash_bytes(&subtree)).unwrap(), Some(subtree));
    assert_eq!(
        ledger.read_blob(&Fingerprint::hash_bytes(b"tiny")).unwrap().as_deref(),
        Some(b"tiny".as_slice())
    );
    assert_eq!(ledger.read_blob(&Fingerprint::hash_bytes(b"other")).unwrap(), None);
}

#[test]
fn written_rows_cannot_be_changed() {
    let home = home();
    let ledger = open(&home);
    ledger
        .append(AppendBatch {
            workflow: None,
            entries: vec![started()],
            blobs: vec![b"x".to_vec()],
        })
        .unwrap();
    let outside = Connection::open(ledger.file_path()).unwrap();
    for change in [
        "UPDATE entries SET kind = 'said'",
        "DELETE FROM entries",
        "REPLACE INTO entries (seq, at, workflow, kind, body) VALUES (1, 0, 1, 'said', '{}')",
        "INSERT INTO entries (seq, at, workflow, kind, body) VALUES (3, 0, 1, 'said', '{}')",
        "INSERT INTO entries (seq, at, workflow, kind, body) VALUES (2, 0, 1, 'said', '{}')",
        "UPDATE blobs SET bytes = x'00'",
        "DELETE FROM blobs",
    ] {
        let error = outside.execute(change, []).unwrap_err();
        assert_eq!(
            error.sqlite_error_code(),
            Some(rusqlite::ErrorCode::ConstraintViolation),
            "{change}: {error}"
        );
    }
    assert!(ledger.lock_reader().execute("DELETE FROM meta", []).is_err());
}

#[test]
fn ledger_persists_when_reopened() {
    let home = home();
    let nested = home.path().join("a/b");
    let ledger = Ledger::open(&nested).unwrap();
    let workflow = begin(&ledger);
    drop(ledger);
    let ledger = Ledger::open(&nested).unwrap();
    assert_eq!(ledger.unfinished_starts().unwrap()[0].seq, workflow);
    ledger.append(batch(Some(workflow), vec![finished()])).unwrap();
    drop(ledger);
    let ledger = Ledger::open(&nested).unwrap();
    assert_eq!(ledger.unfinished_starts().unwrap(), []);
    assert_gapless(&ledger, 2);
}

#[test]
fn new_workflow_is_leased_before_others_can_lease_it() {
    let home = home();
    let (one, two) = (open(&home), open(&home));
    let (records, lease) = one.start_workflow(batch(None, vec![started()])).unwrap();
    assert_eq!(lease.workflow(), records[0].seq);
    assert!(two.try_lease(lease.workflow()).unwrap().is_none());
    let workflow = lease.workflow();
    drop(lease);
    let lease = two.try_lease(workflow).unwrap().unwrap();
    assert!(one.try_lease(workflow).unwrap().is_none());
    drop(lease);
}

#[test]
fn unfinished_workflows_are_found_by_index() {
    let home = home();
    let ledger = open(&home);
    let plan: Vec<String> = ledger
        .lock_reader()
        .prepare(&format!("EXPLAIN QUERY PLAN {RECORDS} {UNFINISHED}"))
        .unwrap()
        .query_map([], |row| row.get("detail"))
        .unwrap()
        .collect::<Result<_, _>>()
        .unwrap();
    for index in ["INDEX entries_started", "INDEX entries_finished"] {
        assert!(plan.iter().any(|step| step.contains(index)), "{plan:#?}");
    }
}

#[test]
fn entries_of_the_cloud_are_found_by_index() {
    let home = home();
    let ledger = open(&home);
    for (query, index) in [
        (UPLOADS, "INDEX entries_uploads"),
        (GENERATIONS, "INDEX entries_generations"),
        (CLOUD_RUNS, "INDEX entries_cloud_runs"),
    ] {
        let plan: Vec<String> = ledger
            .lock_reader()
            .prepare(&format!("EXPLAIN QUERY PLAN {RECORDS} {query}"))
            .unwrap()
            .query_map([], |row| row.get("detail"))
            .unwrap()
            .collect::<Result<_, _>>()
            .unwrap();
        assert!(plan.iter().any(|step| step.contains(index)), "{plan:#?}");
    }
}

#[test]
fn newer_format_is_refused() {
    let home = home();
    let file = open(&home).file_path().to_owned();
    let outside = Connection::open(&file).unwrap();
    outside
        .execute_batch(
            "UPDATE meta SET value = '3' WHERE key = 'format';
             UPDATE meta SET value = 'Vector 9.1.0' WHERE key = 'written_by';",
        )
        .unwrap();
    let error = Ledger::open(home.path()).unwrap_err();
    assert!(matches!(error, LedgerError::Newer { found: 3, .. }));
    let text = error.to_string();
    assert!(text.contains("Vector 9.1.0") && text.contains("Update Vector"), "{text}");
    assert!(text.contains(&file.display().to_string()), "{text}");
}

#[test]
fn damaged_file_is_reported_as_corrupt() {
    let home = home();
    std::fs::write(home.path().join(FILE), "this is not a database").unwrap();
    let error = Ledger::open(home.path()).unwrap_err();
    assert!(matches!(error, LedgerError::Corrupt { .. }), "{error}");
}

#[test]
fn batch_on_a_full_disk_leaves_no_rows() {
    let home = home();
    let file = open(&home).file_path().to_owned();
    let conn = schema::open_writer(&file).unwrap();
    let pages: i64 = conn.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    conn.pragma_update_and_check(None, "max_page_count", pages + 2, |_| Ok(())).unwrap();
    let leases = LeaseTable::in_folder(home.path()).unwrap();
    let ledger = Ledger::with_writer(file, leases, conn).unwrap();
    let entries: Vec<Entry> =
        std::iter::once(started()).chain((0..50).map(|_| said(&"x".repeat(1_000)))).collect();
    let error = ledger
        .append(AppendBatch { workflow: None, entries, blobs: vec![b"tiny".to_vec()] })
        .unwrap_err();
    assert!(matches!(error, LedgerError::Full { .. }), "{error}");
    assert_eq!((count(&ledger, "entries"), count(&ledger, "blobs")), (0, 0));
    assert_eq!(begin(&ledger), Seq(1));
}

#[test]
fn malformed_batch_is_refused() {
    let home = home();
    let ledger = open(&home);
    let workflow = begin(&ledger);
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    let called = Entry::Called { tool: "read_script".to_owned(), args: deep, id: None, flaw: None };
    for bad in [
        batch(None, vec![said("x")]),
        batch(None, vec![started(), started()]),
        batch(Some(workflow), vec![started()]),
        batch(Some(Seq(99)), vec![said("x")]),
        batch(Some(workflow), vec![said("x"), called]),
    ] {
        let error = ledger.append(bad).unwrap_err();
        assert!(matches!(error, LedgerError::Malformed { .. }), "{error}");
    }
    assert!(ledger.start_workflow(batch(Some(workflow), vec![said("x")])).is_err());
    let only_the_start = ledger.read(Seq(0), 10).unwrap();
    assert_eq!(only_the_start.len(), 1);
    assert_eq!(ledger.append(batch(Some(workflow), vec![])).unwrap(), []);
}

#[test]
fn power_cut_leaves_a_prefix_of_deferred_entries() {
    let ledger_home = home();
    let ledger = open(&ledger_home);
    let workflow = begin(&ledger);
    for n in 0..12 {
        let batch = batch(Some(workflow), vec![said(&format!("{n}")), said("again")]);
        match n % 4 {
            3 => ledger.append(batch).unwrap(),
            _ => ledger.append_deferred(batch).unwrap(),
        };
    }
    let all = ledger.read(Seq(0), usize::MAX).unwrap();
    let (database, log) = (ledger.file_path().to_owned(), format!("{FILE}-wal"));
    let log_bytes = std::fs::read(ledger_home.path().join(&log)).unwrap();
    let mut lengths = std::collections::BTreeSet::new();
    for cut in (0..log_bytes.len()).step_by(1_000) {
        let home = home();
        std::fs::copy(&database, home.path().join(FILE)).unwrap();
        std::fs::write(home.path().join(&log), &log_bytes[..cut]).unwrap();
        let left = open(&home).read(Seq(0), usize::MAX).unwrap();
        assert_eq!(left, all[..left.len()], "cut after {cut} bytes");
        lengths.insert(left.len());
    }
    assert!(lengths.len() > 10, "{lengths:?}");
}
