//! The project's memory beside a place: both are proposed, written and reverted together, as a
//! whole or not at all.

use std::path::{Path, PathBuf};

use scene_schemas::Command;
use scene_schemas::entry::{Approver, Entry, Seq};
use scene_schemas::proposal::Class;
use serde_json::{Value as Json, json};
use vector_core::prompt::ToolCall;
use vector_core::workflow::{PendingStatus, WorkflowInput};
use vector_engine::{NextStep, REVERT, WorkflowRun, recover_place};
use vector_place::FileFormat;

use super::recover::{about, with_entries};
use super::{Bench, approve_all, as_one, one_by_one, place};

const NEW: &str = "# Memory\n\n## Decisions\n\n- Coins respawn\n";

fn remember(text: &str) -> Json {
    json!(["edit_memory", { "changes": [{ "action": "add", "section": "decisions", "text": text }] }])
}

fn create() -> Json {
    json!(["create_instance", { "className": "Folder", "parentPath": "game.Workspace" }])
}

fn memory_of(place: &Path) -> PathBuf {
    place.parent().unwrap().join(".vector").join("memory.md")
}

fn read(file: &Path) -> Option<String> {
    std::fs::read_to_string(memory_of(file)).ok()
}

fn write(file: &Path, text: &str) {
    std::fs::create_dir_all(memory_of(file).parent().unwrap()).unwrap();
    std::fs::write(memory_of(file), text).unwrap();
}

#[track_caller]
fn due(run: &mut WorkflowRun) -> Seq {
    match run.run().unwrap() {
        NextStep::Decision(seq) => seq,
        other => panic!("{other:?}: {:?}", run.workflow().unwrap().refusals().next()),
    }
}

#[test]
fn memory_entry_is_proposed_written_and_reverted() {
    let bench = Bench::new();
    let before = place(FileFormat::Binary);
    let file = bench.file(&before);
    let mut run = bench.engine(&file);
    run.add_calls(one_by_one(&json!([remember("Coins respawn")]))).unwrap();
    let seq = due(&mut run);
    assert_eq!(read(&file), None, "nothing is written before a yes");
    let proposal = &run.workflow().unwrap().proposal(seq).unwrap().proposal;
    assert!(matches!(proposal.commands.as_slice(), [Command::EditMemory { .. }]));
    assert_eq!(
        (proposal.class, proposal.title.as_str()),
        (Class::Modifying, "Edit the project's memory")
    );
    assert_eq!(proposal.preview.scripts[0].added, 5);
    approve_all(&mut run);
    assert_eq!(read(&file).unwrap(), NEW);
    assert!(std::fs::read(&file).unwrap() == before);
    drop(run);
    let more = bench.edit(&file, one_by_one(&json!([remember("And gems")])));
    assert_eq!(read(&file).unwrap(), format!("{NEW}- And gems\n"));
    bench.revert(&file, more[0]);
    assert_eq!(read(&file).unwrap(), NEW);
    bench.revert(&file, seq);
    assert_eq!(read(&file).unwrap(), "");
}

#[test]
fn rejected_or_invalid_memory_edits_change_nothing() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    let mut run = bench.engine(&file);
    let remove = json!(["edit_memory", { "changes": [{ "action": "remove", "section": "todo", "entry": "x" }] }]);
    let wrong = json!(["edit_memory", { "changes": [{ "action": "add", "section": "todo" }] }]);
    run.add_calls(one_by_one(&json!([remember("a"), remove, wrong]))).unwrap();
    let seq = due(&mut run);
    run.handle_input(WorkflowInput::Reject { proposal: seq, reason: None }).unwrap();
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    let reasons: Vec<_> =
        run.workflow().unwrap().refusals().map(|(_, why)| why.to_owned()).collect();
    assert!(reasons.iter().any(|why| why.contains("`x` is not an entry of Todo")), "{reasons:?}");
    assert!(reasons.iter().any(|why| why.contains("`add` takes `text`")), "{reasons:?}");
    assert_eq!(read(&file), None);
}

#[test]
fn concurrent_memory_changes_of_the_user_are_kept() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    let mut run = bench.engine(&file);
    run.add_calls(one_by_one(&json!([remember("a"), create()]))).unwrap();
    let first = due(&mut run);
    write(&file, "Mine.\r\n");
    run.approve(first, Approver::Person, false).unwrap();
    due(&mut run);
    assert_eq!(read(&file).unwrap(), "Mine.\r\n");
    approve_all(&mut run);
    assert_eq!(read(&file).unwrap(), "Mine.\r\n\r\n## Decisions\r\n\r\n- a\r\n");
    let is_done = |status: &PendingStatus| matches!(status, PendingStatus::Applied(_));
    let mut done = run.workflow().unwrap().proposals().filter(|(_, it)| is_done(&it.status));
    let is_memory = |commands: &[Command]| matches!(commands, [Command::EditMemory { .. }]);
    let (again, _) = done.find(|(_, it)| is_memory(&it.proposal.commands)).unwrap();
    assert_ne!(again, first);
    write(&file, "Other.\n");
    let args = json!({ "proposal": again });
    let mut run = bench.engine(&file);
    run.add_calls(vec![ToolCall::new(REVERT, args)]).unwrap();
    run.run().unwrap();
    let reason = run.workflow().unwrap().refusals().next().unwrap().1.to_owned();
    assert!(reason.contains("The memory has changed since. Revert that first"), "{reason}");
    assert_eq!(read(&file).unwrap(), "Other.\n");
}

#[test]
fn memory_and_place_change_together_after_any_crash() {
    let before = place(FileFormat::Binary);
    let both =
        [json!([create(), remember("a"), remember("b")]), json!([remember("a"), remember("b")])];
    for calls in both {
        for calls in [as_one(&calls), one_by_one(&calls)] {
            let bench = Bench::new();
            let file = bench.file(&before);
            write(&file, "# Notes\n");
            let mut run = bench.engine(&file);
            run.add_calls(calls).unwrap();
            // Decide on all proposals before any is written.
            while let NextStep::Decision(seq) = run.run().unwrap() {
                run.approve(seq, Approver::Yes, true).unwrap();
            }
            let after = std::fs::read(&file).unwrap();
            let (old, new) = ("# Notes\n", read(&file).unwrap());
            assert!(new.ends_with("- a\n- b\n"), "{new}");
            let records = bench.ledger.read(Seq(0), 1_000).unwrap();
            let stops: Vec<usize> = (0..records.len())
                .filter(|at| matches!(records[*at].entry, Entry::Applying { .. }))
                .collect();
            let [stop] = stops.as_slice() else { continue };
            // The memory file is replaced first.
            for (content, text) in [(&before, old), (&before, new.as_str()), (&after, new.as_str())]
            {
                let folder = tempfile::tempdir().unwrap();
                let copy = std::fs::canonicalize(folder.path()).unwrap().join("place");
                std::fs::write(&copy, content).unwrap();
                write(&copy, text);
                let from = std::fs::canonicalize(&file).unwrap().display().to_string();
                let records = about(&records[..=*stop], &from, &copy.display().to_string());
                let crashed = with_entries(&records);
                let notices = recover_place(&crashed.ledger, &copy).unwrap();
                assert!(notices.iter().all(|it| it.contains("applied")), "{notices:?}");
                assert_eq!(read(&copy).unwrap(), new, "{notices:?}");
                assert!(std::fs::read(&copy).unwrap() == after, "{notices:?}");
                assert!(crashed.ledger.unfinished_starts().unwrap().is_empty());
            }
        }
    }
}
