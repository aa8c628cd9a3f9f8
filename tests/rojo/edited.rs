//! Random calls on random projects: the files are read back as what was applied, a refused call
//! changes no file, and everything can be reverted byte for byte.

use std::collections::BTreeMap;
use std::sync::Arc;

use random_draws::RandomDraws;
use scene_schemas::entry::{Approver, Seq};
use scene_schemas::proposal::Mode;
use serde_json::{Value as Json, json};
use vector_core::prompt::ToolCall;
use vector_core::workflow::PendingStatus;
use vector_engine::{NextStep, REVERT, ToolDriver, WorkflowRun};
use vector_ledger::Ledger;
use vector_place::Node;
use vector_rojo_project::RojoProject as Target;

use super::edits::snapshot;
use super::random_projects::Project;

const NAMES: [&str; 9] = ["n", "a", "A", "b", "a.server", "init", "x y", "deep", "m.meta"];
const CLASSES: [&str; 8] = [
    "ModuleScript",
    "Script",
    "LocalScript",
    "Folder",
    "Part",
    "Model",
    "StringValue",
    "ModuleScript",
];

fn call(draws: &mut RandomDraws, engine: &WorkflowRun) -> ToolCall {
    let scene = engine.scene();
    let all: Vec<Node> = scene.subtree(scene.root()).skip(1).collect();
    let one = all[draws.below(all.len())];
    let path = scene.path(one).to_string();
    let other = scene.path(all[draws.below(all.len())]).to_string();
    let name = draws.pick(&NAMES);
    let (tool, args): (&str, Json) = match draws.below(9) {
        0..=2 => {
            let props = match draws.below(3) {
                0 => json!({ "Name": name, "@N": 5 }),
                _ => json!({ "Name": name }),
            };
            let class = draws.pick(&CLASSES);
            ("create_instance", json!({ "className": class, "parentPath": path, "props": props }))
        }
        3 => ("rename_instance", json!({ "path": path, "newName": name })),
        4 => ("move_instance", json!({ "path": path, "parentPath": other })),
        5 => ("delete_instance", json!({ "path": path })),
        6 => ("set_properties", json!({ "path": path, "props": { "@M": (draws.below(2)) } })),
        7 => ("set_properties", json!({ "path": path, "props": { "Archivable": false } })),
        _ => match all.iter().find(|node| scene.is_script(**node) && draws.below(3) == 0) {
            Some(script) => {
                let path = scene.path(*script).to_string();
                let text = ["return 7\n", "return 8\nlocal", "-- new\n"][draws.below(3)];
                ("write_script", json!({ "path": path, "source": text }))
            }
            None => ("clone_instance", json!({ "path": path, "name": name })),
        },
    };
    ToolCall::new(tool, args)
}

struct Run {
    engine: WorkflowRun,
    refused: usize,
    wrong: Vec<String>,
    applied: Vec<Seq>,
}

impl Run {
    fn new(project: &Project, ledger: &Arc<Ledger>) -> Self {
        let opened = Target::open(&project.root, false).unwrap();
        let (driver, listener) = (ToolDriver::Calls, Box::new(|_: &_| {}));
        let engine =
            WorkflowRun::start(ledger, opened, "a goal", driver, Mode::Confirm, listener).unwrap();
        Self { engine, refused: 0, wrong: Vec::new(), applied: Vec::new() }
    }

    /// Makes a call; returns whether files were written.
    fn go(&mut self, call: ToolCall) -> bool {
        let said = format!("{call:?}");
        self.engine.add_calls(vec![call]).unwrap();
        let NextStep::Decision(seq) = self.engine.run().unwrap() else {
            self.refused += 1;
            return false;
        };
        self.engine.approve(seq, Approver::Person, true).unwrap();
        if let Err(error) = self.engine.run() {
            self.wrong.push(format!("{said}: {error}"));
            return false;
        }
        match &self.engine.find_proposal(seq).unwrap().status {
            PendingStatus::Applied(_) => self.applied.push(seq),
            other => self.wrong.push(format!("{said}: {other:?}")),
        }
        true
    }
}

fn difference(a: &BTreeMap<String, Vec<u8>>, b: &BTreeMap<String, Vec<u8>>) -> Vec<String> {
    let names = a.keys().chain(b.keys()).filter(|name| a.get(*name) != b.get(*name));
    names.cloned().collect()
}

fn check(seed: u64) -> (Vec<String>, usize, usize) {
    let mut project = Project::new(seed, false);
    let home = tempfile::tempdir().unwrap();
    let ledger = Arc::new(Ledger::open(home.path()).unwrap());
    let first = snapshot(&project.root);
    let mut wrong = Vec::new();
    let (mut applied, mut refused) = (Vec::new(), 0);
    for _ in 0..6 {
        let Ok((_, scene)) = Target::open(&project.root, true) else { return (wrong, 0, 0) };
        if scene.len() < 2 {
            return (wrong, 0, 0);
        }
        let before = snapshot(&project.root);
        let mut run = Run::new(&project, &ledger);
        let call = call(&mut project.draws, &run.engine);
        let said = format!("{call:?}");
        let is_written = run.go(call);
        let after = snapshot(&project.root);
        if !is_written && before != after {
            wrong
                .push(format!("{said} was refused, and changed {:?}", difference(&before, &after)));
        }
        wrong.append(&mut run.wrong);
        refused += run.refused;
        applied.append(&mut run.applied);
    }
    for seq in applied.iter().rev() {
        let mut run = Run::new(&project, &ledger);
        let call = ToolCall::new(REVERT, json!({ "proposal": seq.0 }));
        if !run.go(call) {
            let why: Vec<_> = run.engine.workflow().unwrap().refusals().map(|it| it.1).collect();
            // Among siblings of one name, the original is ambiguous once Rojo orders them
            // differently.
            if !why.iter().any(|why| why.contains("[1]") || why.contains("[2]")) {
                wrong.push(format!("proposal {seq} is not taken back: {why:?}"));
            }
            wrong.append(&mut run.wrong);
            return (told(seed, wrong), applied.len(), refused);
        }
        wrong.append(&mut run.wrong);
    }
    let last = snapshot(&project.root);
    if wrong.is_empty() && last != first {
        wrong.push(format!("taken back, {:?} differ", difference(&first, &last)));
    }
    (told(seed, wrong), applied.len(), refused)
}

fn told(seed: u64, wrong: Vec<String>) -> Vec<String> {
    wrong.into_iter().map(|why| format!("seed {seed}: {why}")).collect()
}

#[test]
fn random_calls_are_applied_or_refused() {
    let (mut wrong, mut applied, mut refused) = (Vec::new(), 0, 0);
    for seed in 0..30 {
        let (more, done, not) = check(seed);
        wrong.extend(more);
        applied += done;
        refused += not;
    }
    assert!(wrong.is_empty(), "{applied} applied, {refused} refused\n{}", wrong.join("\n"));
    assert!(applied > 50 && refused > 20, "{applied} applied, {refused} refused");
}
