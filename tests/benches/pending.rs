//! Many pending proposals that do not touch each other, of one agent and of ten: planning one more,
//! deciding one, and counting what is pending, beside the same with few pending ones.

use std::fs;
use std::time::{Duration, Instant};

use rbx_dom_weak::{InstanceBuilder, WeakDom};
use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{Format, encode};

use super::wake::percentile;

const PENDING: usize = 1_000;
/// How many are measured when few, and when all are pending.
const MEASURED: usize = 50;
const PARTS: usize = PENDING + 2 * MEASURED;

struct Bench {
    // The folder of the ledger is removed after the daemon has ended.
    daemon: Daemon,
    human: Human,
    token: String,
    calls: usize,
    _home: Home,
}

impl Bench {
    fn new() -> Self {
        let home = Home::new();
        let file = home.path().join("place.rbxl");
        let part = |at: usize| InstanceBuilder::new("Part").with_name(format!("Part{at}"));
        let workspace = InstanceBuilder::new("Workspace").with_children((0..PARTS).map(part));
        let game = InstanceBuilder::new("DataModel").with_child(workspace);
        fs::write(&file, encode(&WeakDom::new(game), Format::Rbxl)).unwrap();
        let ledger = home.path().join("vector");
        let daemon = Daemon::of_place(binary::vector(), &ledger, &file);
        let human = Human::of(&daemon, &ledger);
        let token = Daemon::agent_token(&ledger);
        Self { daemon, human, token, calls: 0, _home: home }
    }

    /// Proposes a change of the next part, as one of several agents. Returns the proposal and the
    /// time from the call to its answer.
    fn propose(&mut self, agents: usize) -> (u64, Duration) {
        let agent = format!("agent{}", self.calls % agents);
        let path = format!("game.Workspace.Part{}", self.calls);
        let args = json!({ "path": path, "props": { "Transparency": 0.5 } });
        self.calls += 1;
        let call = json!({
            "connection": agent, "client": agent, "id": self.calls.to_string(),
            "tool": "set_properties", "args": args, "hold": 60,
        });
        let start = Instant::now();
        let view = self.daemon.call("POST", "/api/agents/calls", Some(&self.token), &call).ok();
        (view["outcome"]["proposal"].as_u64().unwrap(), start.elapsed())
    }

    /// Approves a proposal. Returns the time until it is answered, and until it is applied.
    fn decide(&self, proposal: u64) -> [Duration; 2] {
        let shown = self.human.shown(proposal);
        let start = Instant::now();
        self.human.decide_on(&shown, &json!({ "say": "approve" })).ok();
        let answered = start.elapsed();
        while self.human.shown(proposal)["status"] != "applied" {}
        [answered, start.elapsed()]
    }

    fn count(&self) -> Duration {
        let start = Instant::now();
        self.human.call("GET", "/page/waiting", &Json::Null);
        start.elapsed()
    }
}

pub(crate) fn run() {
    println!("\n{PENDING} pending proposals of a place file; medians and 95th percentiles, ms");
    for agents in [1, 10] {
        let mut bench = Bench::new();
        let few: Vec<(u64, Duration)> = (0..MEASURED).map(|_| bench.propose(agents)).collect();
        let counted_few = (0..MEASURED).map(|_| bench.count()).collect();
        let decided_few: Vec<[Duration; 2]> =
            few.iter().rev().map(|(seq, _)| bench.decide(*seq)).collect();
        let many: Vec<(u64, Duration)> = (0..PENDING).map(|_| bench.propose(agents)).collect();
        let more: Vec<(u64, Duration)> = (0..MEASURED).map(|_| bench.propose(agents)).collect();
        let counted = (0..MEASURED).map(|_| bench.count()).collect();
        let spread = many.iter().step_by(PENDING / MEASURED).rev();
        let decided: Vec<[Duration; 2]> = spread.map(|(seq, _)| bench.decide(*seq)).collect();
        let times = |all: Vec<(u64, Duration)>| all.into_iter().map(|(_, time)| time).collect();
        let part = |all: &[[Duration; 2]], at: usize| all.iter().map(|it| it[at]).collect();
        println!("  {agents} agents, with few pending | with {PENDING}");
        report("planning one more", times(few), times(more));
        report("a decision is answered", part(&decided_few, 0), part(&decided, 0));
        report("and applied", part(&decided_few, 1), part(&decided, 1));
        report("counting", counted_few, counted);
    }
}

fn report(what: &str, few: Vec<Duration>, many: Vec<Duration>) {
    let [few, many] = [few, many].map(|mut times| {
        let [half, most] = [0.5, 0.95].map(|share| percentile(&mut times, share) / 1e3);
        format!("{half:6.2} {most:6.2}")
    });
    println!("    {what:24} {few} | {many}");
}
