//! Tasks that an agent has Vector's own model do, when a person permits it.

use std::time::Instant;

use serde_json::{Value as Json, json};
use vector_ledger::Ledger;
use vector_tests::daemon::Daemon;

use super::models::says;
use super::workers::{Bench, PATIENCE, approve_all, create, kill_step, plan, role, two_parts};
use crate::models::server::{End, Reply, RoleScript};

const REQUEST: &str = "Make a park in the Workspace.";

/// A model that makes a folder.
fn solo() -> Vec<RoleScript> {
    let replies = vec![plan(), create("Folder", "game.Workspace", "Park"), says("Made the park.")];
    vec![role("Review proposal", Vec::new()), role("", replies)]
}

impl Bench {
    fn agent(&self, method: &str, path: &str, body: &Json) -> Json {
        let token = Daemon::agent_token(&self.home.path().join("vector"));
        self.daemon.as_ref().unwrap().call(method, path, Some(&token), body).ok()
    }

    /// Asks for a task as an agent, and returns the call.
    fn ask_for_task(&self, id: &str, args: &Json) -> Json {
        let opened = self.human.open(&self.file).ok();
        let call = json!({
            "connection": "agent", "client": "agent", "id": id, "tool": "start_task",
            "args": args, "hold": 60, "session": opened["session"],
        });
        self.agent("POST", "/api/agents/calls", &call)
    }

    fn permit(&self, call: &Json, answer: &str) {
        let path = format!("/api/workflows/{}/permission", call["workflow"]);
        let answer = json!({ "call": call["call"], "answer": answer });
        self.human.call("POST", &path, &answer).ok();
    }

    fn state_of(&self, call: &Json) -> Json {
        self.agent("GET", &format!("/api/agents/calls/{}?hold=1", call["call"]), &Json::Null)
    }

    /// Waits until the call says something of its task, and returns that.
    fn until_started<T>(&self, call: &Json, is_it: impl Fn(&Json) -> Option<T>) -> T {
        let began = Instant::now();
        loop {
            let view = self.state_of(call);
            if let Some(found) = is_it(&view["started"]) {
                return found;
            }
            assert!(began.elapsed() < PATIENCE, "{view}");
        }
    }
}

#[test]
fn task_begins_with_a_permission_and_its_proposals_are_for_the_person() {
    let mut bench = Bench::new(4, solo(), "");
    let call = bench.ask_for_task("1", &json!({ "request": REQUEST }));
    let question = call["outcome"]["question"].as_str().unwrap_or_else(|| panic!("{call}"));
    for says in ["Have lmstudio/lead do this in a task of its own?", "tokens", REQUEST] {
        assert!(question.contains(says), "{says} is not in {question}");
    }
    assert_eq!(bench.server.requests().len(), 0, "nothing is spent before a yes");
    bench.permit(&call, "once");
    let waiting = bench.until_started(&call, |it| (it["state"] == "waiting").then(|| it.clone()));
    assert_eq!(waiting["proposals"][0]["title"], "Create Folder Park", "{waiting}");
    let task = waiting["task"].as_u64().unwrap();
    let sent = bench.requests_of(REQUEST);
    assert!(!sent[0].to_string().contains("agent"), "nothing of the agent: {}", sent[0]);
    // The task goes on without the client.
    bench.agent("POST", "/api/agents/end", &json!({ "connection": "agent" }));
    approve_all(&mut bench, task);
    let ended = bench.state_of(&call)["started"].clone();
    assert_eq!((&ended["state"], &ended["outcome"]), (&json!("finished"), &json!("done")));
    assert_eq!(
        (&ended["text"], &ended["proposals"][0]["status"]),
        (&json!("Made the park."), &json!("applied"))
    );
    // A closed place's call is read from the ledger.
    bench.kill();
    let ledger = bench.home.path().join("vector");
    let daemon = Daemon::start(vector_tests::binary::vector(), &ledger);
    bench.daemon = Some(daemon);
    assert_eq!(bench.state_of(&call)["started"], ended);
}

#[test]
fn lead_that_an_agent_asks_for_has_workers() {
    let mut bench = Bench::new(4, two_parts(), "");
    let call = bench.ask_for_task("1", &json!({ "request": REQUEST, "role": "lead" }));
    let question = call["outcome"]["question"].as_str().unwrap();
    assert!(question.contains("a lead with up to 2 workers"), "{question}");
    bench.permit(&call, "once");
    let waiting = bench.until_started(&call, |it| {
        (it["state"] == "waiting" && it["text"] == "Both are made.").then(|| it.clone())
    });
    let titles = waiting["parts"].as_array().unwrap().iter().map(|it| &it["title"]);
    assert_eq!(titles.collect::<Vec<_>>(), ["Coins", "Shop"]);
    let view = approve_all(&mut bench, waiting["task"].as_u64().unwrap());
    assert_eq!(view["outcome"], "done");
}

#[test]
fn refused_task_is_not_begun_and_a_cancelled_call_ends_its_task() {
    let mut roles = solo();
    roles[1].replies = vec![Reply { end: End::Silent, ..says("") }];
    let mut bench = Bench::new(4, roles, "");
    let call = bench.ask_for_task("1", &json!({ "request": REQUEST }));
    bench.permit(&call, "no");
    let refused = bench.state_of(&call)["outcome"]["reason"].to_string();
    assert!(refused.contains("did not permit the task"), "{refused}");
    assert_eq!(bench.server.requests().len(), 0);

    let call = bench.ask_for_task("2", &json!({ "request": REQUEST }));
    bench.permit(&call, "once");
    let task = bench.until_started(&call, |it| it["task"].as_u64());
    // One task at a time, so that no message of the person reaches the wrong one.
    let other = bench.ask_for_task("3", &json!({ "request": REQUEST }));
    let reason = other["outcome"]["reason"].as_str().unwrap_or_else(|| panic!("{other}"));
    assert_eq!(
        reason,
        format!(
            "Task {task} is at work in this place. Ask again when it has ended, or do it yourself."
        )
    );
    let cancelled = json!({ "connection": "agent", "id": "2" });
    bench.agent("POST", "/api/agents/cancel", &cancelled);
    let ended = bench.until_task(task, "finished");
    assert_eq!(ended["outcome"], "not_approved");
}

#[test]
fn killed_daemon_begins_a_requested_task_once() {
    let bench = Bench::new(4, solo(), "");
    let ask = |bench: &Bench| {
        let call = bench.ask_for_task("1", &json!({ "request": REQUEST }));
        bench.permit(&call, "once");
        call
    };
    let ledger_of = |bench: &Bench| Ledger::open(&bench.home.path().join("vector")).unwrap();
    let call = ask(&bench);
    bench.until_started(&call, |it| (it["state"] == "waiting").then_some(()));
    let ledger = ledger_of(&bench);
    let decided = ledger.last_seq().unwrap().0;
    let step = kill_step().div_ceil(4);
    for kill_at in (call["call"].as_u64().unwrap() + 2..=decided).step_by(step) {
        let mut bench = Bench::new(4, solo(), "");
        let ledger = ledger_of(&bench);
        let call = ask(&bench);
        bench.kill_at(&ledger, kill_at);
        bench.restart();
        let task = bench.until_started(&call, |it| {
            (it["state"] == "waiting").then(|| it["task"].as_u64().unwrap())
        });
        let all = bench.human.call("GET", "/api/workflows", &Json::Null).ok();
        let begun = all["workflows"].as_array().unwrap().iter().filter(|it| it["goal"] == REQUEST);
        assert_eq!(begun.count(), 1, "killed at entry {kill_at}");
        approve_all(&mut bench, task);
        let ended = bench.state_of(&call)["started"].clone();
        assert_eq!(ended["outcome"], "done", "killed at entry {kill_at}: {ended}");
    }
}
