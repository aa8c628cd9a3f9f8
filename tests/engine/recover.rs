//! Recovery of a process that stops at any moment: no approval is lost, and no file is half
//! written.

use scene_schemas::entry::{Approver, Entry, Record};
use scene_schemas::proposal::Mode;
use vector_engine::{NextStep, ToolDriver, WorkflowRun, recover_place};
use vector_files::place_file::PlaceFile;
use vector_ledger::AppendBatch;
use vector_place::FileFormat;

use super::{Bench, as_one, edits, one_by_one, place};

/// A bench whose ledger has only the first entries of a run.
pub(super) fn with_entries(records: &[Record]) -> Bench {
    let bench = Bench::new();
    for record in records {
        let workflow = (record.seq != record.workflow).then_some(record.workflow);
        let entries = vec![record.entry.clone()];
        bench.ledger.append(AppendBatch { workflow, entries, blobs: Vec::new() }).unwrap();
    }
    bench
}

/// The same entries, but for another file.
pub(super) fn about(records: &[Record], from: &str, to: &str) -> Vec<Record> {
    let text = serde_json::to_string(records).unwrap();
    serde_json::from_str(&text.replace(from, to)).unwrap()
}

#[test]
fn run_stopped_after_any_entry_is_finished_or_undone() {
    let before = place(FileFormat::Binary);
    for (name, calls) in edits() {
        for calls in [as_one(&calls), one_by_one(&calls)] {
            let bench = Bench::new();
            let file = bench.file(&before);
            bench.edit(&file, calls);
            let after = std::fs::read(&file).unwrap();
            let records = bench.ledger.read(scene_schemas::entry::Seq(0), 1_000).unwrap();
            for stop in 1..=records.len() {
                // The file is replaced between `applying` and `applied`. If the process stops
                // there, the file may have either content.
                let last = &records[stop - 1].entry;
                let replaced =
                    records[..stop].iter().any(|it| matches!(it.entry, Entry::Applied { .. }));
                let files: &[&[u8]] = match last {
                    Entry::Applying { .. } => &[&before, &after],
                    _ if replaced => &[&after],
                    _ => &[&before],
                };
                for content in files {
                    let what = format!("{name}, stopped after entry {stop} ({last:?})");
                    stop_and_recover(&records[..stop], &file, content, [&before, &after], &what);
                }
            }
        }
    }
}

fn stop_and_recover(
    records: &[Record],
    file: &std::path::Path,
    content: &[u8],
    [before, after]: [&[u8]; 2],
    what: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let copy = std::fs::canonicalize(folder.path()).unwrap().join("place");
    std::fs::write(&copy, content).unwrap();
    let old = std::fs::canonicalize(file).unwrap();
    let (from, to) = (old.display().to_string(), copy.display().to_string());
    let bench = with_entries(&about(records, &from, &to));
    let approved = records.iter().filter(|it| matches!(it.entry, Entry::Approved { .. })).count();
    let proposed = records.iter().filter(|it| matches!(it.entry, Entry::Proposed { .. })).count();
    recover_place(&bench.ledger, &copy).unwrap();
    let now = std::fs::read(&copy).unwrap();
    if approved == proposed && approved > 0 && records_are_whole(records) {
        assert!(now == after, "{what}: what was approved is done");
    } else if approved == 0 {
        assert!(now == before, "{what}: nothing was approved");
    }
    assert!(bench.ledger.unfinished_starts().unwrap().is_empty(), "{what}: the workflow is over");
    assert_eq!(recover_place(&bench.ledger, &copy).unwrap(), Vec::<String>::new(), "{what}");
    assert!(std::fs::read(&copy).unwrap() == now, "{what}: a second recovery does nothing");
}

/// Whether all calls were planned, so that the approved proposals are all there will be.
fn records_are_whole(records: &[Record]) -> bool {
    let calls = records.iter().filter(|it| matches!(it.entry, Entry::Called { .. })).count();
    let planned = records.iter().filter(|it| matches!(it.entry, Entry::Proposed { .. })).count();
    calls == planned
}

#[test]
fn approved_proposal_is_not_applied_to_a_changed_file() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    bench.edit(&file, as_one(&edits()[0].1));
    let records = bench.ledger.read(scene_schemas::entry::Seq(0), 1_000).unwrap();
    let stop = records.iter().position(|it| matches!(it.entry, Entry::Approved { .. })).unwrap();
    let other = place(FileFormat::Xml);
    std::fs::write(&file, &other).unwrap();
    let crashed = with_entries(&records[..=stop]);
    let notices = recover_place(&crashed.ledger, &file).unwrap();
    assert!(notices[0].contains("changed after this was approved"), "{notices:?}");
    assert!(std::fs::read(&file).unwrap() == other);
}

#[test]
fn output_file_written_by_another_program_is_not_replaced() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    let out = std::fs::canonicalize(bench.folder.path()).unwrap().join("out");
    let opened = PlaceFile::open(&file, Some(&out)).unwrap();
    let listener = Box::new(|_: &_| {});
    let mut run = WorkflowRun::start(
        &bench.ledger,
        opened,
        "test",
        ToolDriver::Calls,
        Mode::Confirm,
        listener,
    )
    .unwrap();
    run.add_calls(as_one(&edits()[0].1)).unwrap();
    super::approve_all(&mut run);
    let (edited, other) = (std::fs::read(&out).unwrap(), place(FileFormat::Xml));
    let records = bench.ledger.read(scene_schemas::entry::Seq(0), 1_000).unwrap();
    let stop = records.iter().position(|it| matches!(it.entry, Entry::Approved { .. })).unwrap();
    std::fs::write(&out, &other).unwrap();
    let notices = recover_place(&with_entries(&records[..=stop]).ledger, &out).unwrap();
    assert!(notices[0].contains("changed after this was approved"), "{notices:?}");
    assert!(std::fs::read(&out).unwrap() == other);
    std::fs::remove_file(&out).unwrap();
    let notices = recover_place(&with_entries(&records[..=stop]).ledger, &out).unwrap();
    assert!(notices[0].contains("it is applied now"), "{notices:?}");
    assert!(std::fs::read(&out).unwrap() == edited);
}

/// The engine of a daemon keeps running after the ledger could not record what was written.
#[test]
fn unrecorded_write_is_not_repeated() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    let before = std::fs::read(&file).unwrap();
    let mut run = bench.engine(&file);
    run.add_calls(as_one(&edits()[0].1)).unwrap();
    let NextStep::Decision(proposal) = run.run().unwrap() else { panic!("a card is due") };
    run.approve(proposal, Approver::Yes, true).unwrap();
    let ledger =
        rusqlite::Connection::open(bench.folder.path().join("home/ledger.sqlite")).unwrap();
    let refuse = "CREATE TRIGGER refused BEFORE INSERT ON entries WHEN new.kind = 'applied' \
                  BEGIN SELECT RAISE(ABORT, 'no room'); END;";
    ledger.execute_batch(refuse).unwrap();
    let why = run.run().unwrap_err().to_string();
    assert!(why.contains(&format!("was written and contains proposal {proposal}")), "{why}");
    let written = std::fs::read(&file).unwrap();
    assert!(written != before);
    assert_eq!(run.applied_in_place(), [proposal]);
    for _ in 0..3 {
        assert!(run.run().is_err());
        assert!(std::fs::read(&file).unwrap() == written);
    }
    ledger.execute_batch("DROP TRIGGER refused").unwrap();
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    assert!(std::fs::read(&file).unwrap() == written, "it is done once");
    let records = bench.ledger.read(scene_schemas::entry::Seq(0), 1_000).unwrap();
    let applied = records.iter().filter(|it| matches!(it.entry, Entry::Applied { .. }));
    assert_eq!(applied.count(), 1);
}
