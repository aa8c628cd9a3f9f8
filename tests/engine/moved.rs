//! Edits of a script that has changed since they were planned: they are carried over or refused,
//! and never applied to lines that another process wrote.

use std::path::Path;

use scene_schemas::entry::{Approver, Seq};
use scene_schemas::proposal::WarningKind;
use serde_json::{Value as Json, json};
use vector_core::workflow::WorkflowInput;
use vector_engine::{NextStep, WorkflowRun};
use vector_files::place_file::load_scene;
use vector_place::{FileFormat, Scene};

use super::{Bench, one_by_one};

const MAIN: &str = "game.ServerScriptService.Main";
const TEXT: &str = "local a = 1\nlocal b = 2\nlocal c = 3\nlocal d = 4\nreturn a + b + c + d\n";

fn place(format: FileFormat) -> Vec<u8> {
    let mut scene = Scene::open(super::place(format).into()).unwrap();
    set_main(&mut scene, TEXT);
    scene.encode().unwrap()
}

fn set_main(scene: &mut Scene, text: &str) {
    let main = scene.resolve(&MAIN.parse().unwrap()).unwrap();
    scene.set_source(main, text.to_owned());
}

/// Changes the script in the file as another process would.
fn write_main(file: &Path, text: &str) {
    let mut scene = load_scene(file).unwrap();
    set_main(&mut scene, text);
    std::fs::write(file, scene.encode().unwrap()).unwrap();
}

fn main(file: &Path) -> String {
    let scene = load_scene(file).unwrap();
    let main = scene.resolve(&MAIN.parse().unwrap()).unwrap();
    scene.script_text(main).unwrap().into_owned()
}

/// A call that replaces one line of the script, by its number from 0.
fn line(number: u32, text: &str) -> Json {
    json!(["apply_edit", { "path": MAIN, "edits": [{
        "start": { "line": number, "character": 0 },
        "end": { "line": number + 1, "character": 0 },
        "text": format!("{text}\n"),
    }] }])
}

#[track_caller]
fn due(run: &mut WorkflowRun) -> Seq {
    if let NextStep::Decision(seq) = run.run().unwrap() {
        return seq;
    }
    let refusals: Vec<_> = run.workflow().unwrap().refusals().collect();
    panic!("nothing is due: {refusals:?}");
}

fn warnings(run: &WorkflowRun, seq: Seq) -> Vec<WarningKind> {
    let pending = run.workflow().unwrap().proposal(seq).unwrap();
    pending.proposal.warnings.iter().map(|warning| warning.kind).collect()
}

#[track_caller]
fn approve(run: &mut WorkflowRun, seq: Seq) {
    run.approve(seq, Approver::Person, true).unwrap();
}

#[test]
fn edits_are_rebased_onto_a_file_changed_elsewhere() {
    for format in [FileFormat::Binary, FileFormat::Xml] {
        let bench = Bench::new();
        let file = bench.file(&place(format));
        let mut run = bench.engine(&file);
        run.add_calls(one_by_one(&json!([line(3, "local d = 40")]))).unwrap();
        let first = due(&mut run);
        assert_eq!(warnings(&run, first), []);
        // Another process inserts a line, so that line 3 is a different one.
        let theirs = format!("-- new\n{TEXT}");
        write_main(&file, &theirs);
        approve(&mut run, first);
        let again = due(&mut run);
        assert_ne!(first, again);
        assert_eq!(warnings(&run, again), [WarningKind::Fuzzy]);
        assert_eq!(main(&file), theirs);
        approve(&mut run, again);
        assert_eq!(run.run().unwrap(), NextStep::Nothing);
        assert_eq!(main(&file), theirs.replace("d = 4\n", "d = 40\n"));
    }
}

#[test]
fn conflicting_edits_are_refused_with_all_three_versions() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    let mut run = bench.engine(&file);
    run.add_calls(one_by_one(&json!([line(1, "local b = 20")]))).unwrap();
    let first = due(&mut run);
    let theirs = TEXT.replace("b = 2\n", "b = 200\n");
    write_main(&file, &theirs);
    approve(&mut run, first);
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    let workflow = run.workflow().unwrap();
    let refusals: Vec<_> = workflow.refusals().map(|(_, why)| why.to_owned()).collect();
    let [why] = refusals.as_slice() else { panic!("{refusals:?}") };
    for part in [
        "have changed since this was requested",
        r#""base":"local b = 2\n""#,
        r#""theirs":"local b = 200\n""#,
        r#""ours":"local b = 20\n""#,
        r#""line":2"#,
    ] {
        assert!(why.contains(part), "{why}");
    }
    assert_eq!(main(&file), theirs);
}

#[test]
fn dependent_edits_are_rebased_together() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    let mut run = bench.engine(&file);
    let calls = json!([["propose_changes", { "title": "both", "changes": [
        { "tool": "apply_edit", "args": line(0, "local x = 0\nlocal a = 1")[1] },
        { "tool": "apply_edit", "args": line(4, "local d = 40")[1] },
    ] }]]);
    run.add_calls(one_by_one(&calls)).unwrap();
    let first = due(&mut run);
    let theirs = TEXT.replace("b = 2\n", "b = 20\n");
    write_main(&file, &theirs);
    approve(&mut run, first);
    let again = due(&mut run);
    approve(&mut run, again);
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    let after = theirs.replace("local a", "local x = 0\nlocal a").replace("d = 4\n", "d = 40\n");
    assert_eq!(main(&file), after);
}

#[test]
fn edit_planned_on_rejected_one_keeps_its_target_lines() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    let mut run = bench.engine(&file);
    let calls = json!([line(0, "local x = 0\nlocal a = 1"), line(4, "local d = 40")]);
    run.add_calls(one_by_one(&calls)).unwrap();
    let first = due(&mut run);
    run.run().unwrap();
    run.handle_input(WorkflowInput::Reject { proposal: first, reason: None }).unwrap();
    let second = due(&mut run);
    approve(&mut run, second);
    assert_eq!(run.run().unwrap(), NextStep::Nothing);
    assert_eq!(main(&file), TEXT.replace("d = 4\n", "d = 40\n"));
}

#[test]
fn file_that_keeps_changing_ends_the_run() {
    let bench = Bench::new();
    let file = bench.file(&place(FileFormat::Binary));
    let mut run = bench.engine(&file);
    run.add_calls(one_by_one(&json!([line(3, "local d = 40")]))).unwrap();
    let mut text = TEXT.to_owned();
    // Change the file more often than the engine replans.
    let error = (0..60).find_map(|n| {
        let seq = match run.run() {
            Ok(NextStep::Decision(seq)) => seq,
            Ok(_) => panic!("it was applied"),
            Err(error) => return Some(error),
        };
        text = format!("-- {n}\n{text}");
        write_main(&file, &text);
        approve(&mut run, seq);
        None
    });
    let error = error.unwrap().to_string();
    assert!(error.contains("was changed by another program"), "{error}");
    assert_eq!(main(&file), text);
}
