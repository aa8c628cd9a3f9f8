//! Comments on a proposal of an agent: how they reach it, and how it replies.

use std::fs;

use serde_json::{Value as Json, json};
use vector_tests::agent::Agent;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon};
use vector_tests::human::Human;
use vector_tests::places::{Format, sample};

pub(super) struct Bench {
    // The folder of the ledger is removed after the daemon has ended.
    _daemon: Daemon,
    pub(super) human: Human,
    pub(super) agent: Agent,
    _home: Home,
}

impl Bench {
    pub(super) fn new() -> Self {
        let home = Home::new();
        let file = home.path().join("place.rbxlx");
        fs::write(&file, sample(Format::Rbxlx)).unwrap();
        let ledger = home.path().join("vector");
        let daemon = Daemon::start(binary::vector(), &ledger);
        let human = Human::of(&daemon, &ledger);
        human.open(&file).ok();
        let agent = Agent::new(&daemon, &ledger, "codex");
        Self { _daemon: daemon, human, agent, _home: home }
    }

    /// Proposes to rename an instance. Returns the call and the proposal.
    fn rename(&mut self, path: &str, name: &str) -> (u64, u64) {
        let args = json!({ "path": path, "newName": name });
        let view = self.agent.call("rename_instance", &args);
        let number = |json: &Json| json.as_u64().unwrap_or_else(|| panic!("{view}"));
        (number(&view["call"]), number(&view["outcome"]["proposal"]))
    }

    fn reply(&self, call: u64, replies: &Json) -> Answer {
        let path = format!("/api/agents/calls/{call}/replies");
        self.agent.send("POST", &path, &json!({ "replies": replies }))
    }
}

const LAMP: &str = "game.Workspace.Lamp";

fn on_name(text: &str) -> Json {
    json!({ "on": { "kind": "instance", "path": LAMP, "property": "Name" }, "text": text })
}

#[test]
fn agent_gets_comments_with_their_places_and_replies() {
    let mut bench = Bench::new();
    let (call, first) = bench.rename(LAMP, "Light");
    let whole = json!({ "on": { "kind": "proposal" }, "text": "keep the rest" });
    let comments = json!([on_name("Lantern, please"), whole]);
    let ask = json!({ "say": "request_changes", "comments": comments });
    bench.human.decide(first, &ask).ok();
    let status = format!("/api/agents/calls/{call}");
    let outcome = bench.agent.send("GET", &status, &Json::Null).ok()["outcome"].clone();
    assert_eq!((&outcome["state"], &outcome["comments"]), (&json!("refused"), &comments));
    let reason = outcome["reason"].as_str().unwrap();
    for part in [
        "#1 On Name of game.Workspace.Lamp: Lantern, please",
        "#2 On the whole proposal: keep the rest",
        "proposal_status with `replies`",
    ] {
        assert!(reason.contains(part), "{reason}");
    }
    assert_eq!(bench.human.shown(first)["reason"], "Changes were asked for, with 2 comments.");

    // A proposal about something else is not the new version.
    let (_, other) = bench.rename("game.Workspace.Tower", "Spire");
    let (_, second) = bench.rename(LAMP, "Lantern");
    let shown = bench.human.shown(first);
    assert_eq!((&shown["revision"], &shown["comments"][0]["reply"]), (&json!(second), &Json::Null));
    assert_eq!(bench.human.shown(second)["revises"], first);
    assert!(bench.human.shown(other)["revises"].is_null());
    bench.reply(call, &json!(["named it Lantern", ""])).ok();
    let shown = bench.human.shown(first);
    assert_eq!(shown["comments"][0]["reply"], "named it Lantern");
    assert_eq!(shown["comments"][1]["reply"], Json::Null);
    bench.reply(call, &json!(["", "nothing else changed"])).ok();
    assert_eq!(bench.human.shown(first)["comments"][1]["reply"], "nothing else changed");
    bench.human.approve(second).ok();
    bench.human.until_status(second, "applied");
}

#[test]
fn part_of_a_new_version_is_the_new_version() {
    let mut bench = Bench::new();
    let set = |path: &str, value: f64| {
        let args = json!({ "path": path, "props": { "Transparency": value } });
        json!({ "tool": "set_properties", "args": args })
    };
    let mut propose = |value: f64| {
        let changes = [set("game.Workspace.Baseplate", value), set("game.Workspace.Lamp", value)];
        let args = json!({ "title": "Fade", "changes": changes });
        bench.agent.propose("propose_changes", &args)
    };
    let first = propose(0.5);
    let comments = json!([{ "on": { "kind": "proposal" }, "text": "less" }]);
    let ask = json!({ "say": "request_changes", "comments": comments });
    bench.human.decide(first, &ask).ok();
    let second = propose(0.25);
    let parts = json!([{ "part": "command", "command": 0 }]);
    let taken = bench.human.decide(second, &json!({ "say": "take", "parts": parts })).ok();
    let taken = taken["proposal"].as_u64().unwrap();
    assert_ne!(taken, second);
    assert_eq!(bench.human.shown(taken)["revises"], first);
    assert_eq!(bench.human.shown(first)["revision"], taken);
}

#[test]
fn bad_comments_and_replies_change_nothing() {
    let mut bench = Bench::new();
    let (call, proposal) = bench.rename(LAMP, "Light");
    let refused = |answer: Answer, says: &str| {
        let said = answer.body["message"].as_str().unwrap_or_default().to_owned();
        assert!(answer.status >= 400 && said.contains(says), "{} {said}", answer.status);
    };
    let ask = |comments: &Json| json!({ "say": "request_changes", "comments": comments });
    refused(bench.human.decide(proposal, &ask(&json!([]))), "There is no comment");
    refused(bench.human.decide(proposal, &ask(&json!([on_name("  ")]))), "There is no comment");
    let long = ask(&json!([on_name(&"x".repeat(10_001))]));
    refused(bench.human.decide(proposal, &long), "at most 10000");
    let many: Vec<Json> = (0..201).map(|_| on_name("no")).collect();
    refused(bench.human.decide(proposal, &ask(&json!(many))), "at most 200");
    let odd = json!([{ "on": { "kind": "line", "path": "nowhere" }, "text": "no" }]);
    assert_eq!(bench.human.decide(proposal, &ask(&odd)).status, 400);
    refused(bench.reply(call, &json!(["why?"])), "has no comments to reply to");
    assert_eq!(bench.human.shown(proposal)["status"], "waiting");
    // A line that the preview does not show has no quote, and can be commented on.
    let line = json!([{ "on": { "kind": "line", "path": LAMP, "side": "before", "line": 900 }, "text": "here" }]);
    bench.human.decide(proposal, &ask(&line)).ok();
    refused(bench.human.decide(proposal, &ask(&line)), "already rejected");
    refused(bench.reply(call, &json!(["a", "b"])), "There are 2 replies to the 1 comments");
    let person = bench.agent.send("POST", &format!("/api/proposals/{proposal}/decide"), &json!({}));
    assert_eq!(person.status, 401, "an agent does not comment as a person");
}
