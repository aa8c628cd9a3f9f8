//! Several agents on one place whose proposals are decided in any order, compared with making the
//! calls whose proposals were applied one after the other, each on the place as it is then.

use random_draws::{RandomDraws, check_seeds};
use scene_schemas::entry::Entry;
use vector_core::rule;
use vector_core::workflow::Workflow;
use vector_engine::Engine;

use super::*;

const SEEDS: std::ops::Range<u64> = 0..40;
const NAMES: [&str; 3] = ["A", "B", "Wall"];
const PATHS: [&str; 9] = [
    "game.Workspace",
    "game.Workspace.A",
    "game.Workspace.B",
    "game.Workspace.A.B",
    "game.Workspace.B.A",
    "game.Workspace.Wall[1]",
    "game.Workspace.Wall[2]",
    "game.Workspace.Wall[3]",
    "game.ServerStorage.Main",
];
const SELECTORS: [&str; 5] = ["Part", "#A", "Model > Part", "[Transparency = 0.5]", "Folder"];

/// A place with few names, so that siblings share them.
fn small_place() -> Vec<u8> {
    let mut scene = Scene::empty(FileFormat::Binary);
    let game = scene.root();
    let workspace = scene.create(game, "Workspace", "Workspace");
    let storage = scene.create(game, "ServerStorage", "ServerStorage");
    let model = scene.create(workspace, "Model", "A");
    scene.create(model, "Part", "B");
    let folder = scene.create(workspace, "Folder", "B");
    scene.create(folder, "Part", "A");
    for _ in 0..3 {
        scene.create(workspace, "Part", "Wall");
    }
    let main = scene.create(storage, "Script", "Main");
    scene.set_source(main, "local a = 1\nlocal b = 2\nprint(a)\n".to_owned());
    scene.encode().unwrap()
}

fn random_call(draws: &mut RandomDraws) -> ToolCall {
    let (one, other) = (draws.pick(&PATHS), draws.pick(&PATHS));
    let (selector, name) = (draws.pick(&SELECTORS), draws.pick(&NAMES));
    let class = draws.pick(&["Part", "Model", "Folder"]);
    let props = draws.pick(&[json!({ "Transparency": 0.5 }), json!({ "Anchored": true, "@n": 1 })]);
    let search = draws.pick(&["a", "b = 2"]);
    let (tool, args) = match draws.below(9) {
        0 | 1 => {
            let props = json!({ "Name": name });
            ("create_instance", json!({ "parentPath": one, "className": class, "props": props }))
        }
        2 => ("delete_instance", json!({ "path": one })),
        3 => ("move_instance", json!({ "path": one, "parentPath": other })),
        4 => ("rename_instance", json!({ "path": one, "newName": name })),
        5 => ("clone_instance", json!({ "path": one, "parentPath": other })),
        6 => ("set_properties", json!({ "path": one, "props": props })),
        7 => ("set_properties", json!({ "selector": selector, "props": props })),
        _ => {
            let edit = json!({ "search": search, "replace": "c", "all": true });
            ("replace_text", json!({ "selector": "LuaSourceContainer", "edits": [edit] }))
        }
    };
    ToolCall::new(tool, args)
}

/// Agents that work on one place.
struct Agents {
    engine: Engine,
    workflows: Vec<Seq>,
}

impl Agents {
    fn new(bench: &Bench, file: &Path, count: usize) -> Self {
        let (target, scene) = PlaceFile::open(file, None).unwrap();
        let listener = Box::new(|_: &_| {});
        let mut engine = Engine::without_tasks(&bench.ledger, target, scene, listener);
        let driver = |at| ToolDriver::Agent { name: format!("agent{at}") };
        let workflows = (0..count)
            .map(|at| engine.begin_workflow("test", driver(at), Mode::Confirm).unwrap())
            .collect();
        Self { engine, workflows }
    }

    /// Makes a call, and plans and applies until only decisions are due.
    fn call(&mut self, agent: usize, call: ToolCall) {
        self.engine.add_calls(self.workflows[agent], vec![call]).unwrap();
        self.settle();
    }

    fn settle(&mut self) {
        loop {
            let before = self.engine.last_position();
            for workflow in &self.workflows {
                self.engine.run(*workflow).unwrap();
            }
            if self.engine.last_position() == before {
                return;
            }
        }
    }

    fn waiting(&self) -> Vec<Seq> {
        let all = self.workflows.iter().flat_map(|it| self.engine.undecided_proposals(*it));
        all.filter(|seq| self.engine.blocking_proposal(*seq).is_none()).collect()
    }

    /// Decides a proposal, now and then together with a rule.
    fn decide_randomly(&mut self, proposal: Seq, draws: &mut RandomDraws) {
        let (workflow, pending) = self.engine.find_proposal(proposal).unwrap();
        let offered = rule::offered_rules(&pending.proposal);
        assert!(offered.iter().all(|it| rule::allows(it, &pending.proposal)), "{offered:?}");
        match draws.below(20) {
            0..14 => self.decide(proposal, true),
            14 if !offered.is_empty() => {
                let rule = draws.pick(&(0..offered.len()).collect::<Vec<_>>());
                let rule = Some(offered[rule].clone());
                let by = Approver::Person;
                self.engine.approve_with_rule(proposal, by, true, rule).unwrap();
                self.settle();
            }
            15 => {
                let rules = self.engine.workflow(workflow).unwrap().active_rules();
                let first = rules.map(|(seq, ..)| seq).next();
                if let Some(rule) = first {
                    let revoke = WorkflowInput::RevokeRule { rule };
                    self.engine.handle_input(workflow, revoke).unwrap();
                }
            }
            _ => self.decide(proposal, false),
        }
    }

    fn decide(&mut self, proposal: Seq, is_approved: bool) {
        if is_approved {
            self.engine.approve(proposal, Approver::Person, true).unwrap();
        } else {
            let (workflow, _) = self.engine.find_proposal(proposal).unwrap();
            let reject = WorkflowInput::Reject { proposal, reason: None };
            self.engine.handle_input(workflow, reject).unwrap();
        }
        self.settle();
    }

    /// The calls whose proposals were applied, in that order.
    fn applied_calls(&self, bench: &Bench) -> Vec<ToolCall> {
        let records = bench.ledger.read(Seq(0), usize::MAX).unwrap();
        let applied = records.iter().filter_map(|record| match &record.entry {
            Entry::Applied { proposal, .. } => Some((record.workflow, *proposal)),
            _ => None,
        });
        let call = |(workflow, proposal): (Seq, Seq)| {
            let workflow: &Workflow = self.engine.workflow(workflow).unwrap();
            let call = workflow.proposal(proposal).unwrap().call;
            let (tool, args) = workflow.call(call).unwrap();
            ToolCall::new(tool, args.clone())
        };
        applied.map(call).collect()
    }
}

#[test]
fn decisions_in_any_order_give_what_a_serial_order_gives() {
    let place = small_place();
    check_seeds(SEEDS, |draws| {
        let bench = Bench::new();
        let file = bench.file(&place);
        let mut agents = Agents::new(&bench, &file, 3);
        for _ in 0..24 {
            let waiting = agents.waiting();
            if !waiting.is_empty() && draws.below(2) == 0 {
                agents.decide_randomly(draws.pick(&waiting), draws);
            } else {
                agents.call(draws.below(3), random_call(draws));
            }
        }
        loop {
            let waiting = agents.waiting();
            if waiting.is_empty() {
                break;
            }
            agents.decide_randomly(draws.pick(&waiting), draws);
        }
        let calls = agents.applied_calls(&bench);
        let expected = Bench::new();
        let serial = expected.file(&place);
        let mut one = Agents::new(&expected, &serial, 1);
        for call in &calls {
            one.call(0, call.clone());
            let waiting = one.waiting();
            let [proposal] = waiting[..] else {
                panic!("{call:?} is not planned again as it was: {waiting:?}, {calls:#?}");
            };
            one.decide(proposal, true);
        }
        let [found, wanted] = [&file, &serial].map(|it| load_scene(it).unwrap());
        same(&found, &wanted, &format!("{calls:#?}"));
    });
}
