//! Reviews that are required before an approval: nobody approves what no model has reviewed, whether a
//! person, the mode or a rule, and the way back stays open.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use vector_tests::agent::Agent;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon};
use vector_tests::human::Human;
use vector_tests::person::Person;
use vector_tests::places::{self, Format};

use super::models::calls;
use crate::models::server::{Reply, Server};

const REQUIRED: &str = "[review]\nrequired = true\n";

/// An open place file, a person, an agent, and a model that reviews.
struct Bench {
    daemon: Option<Daemon>,
    human: Human,
    agent: Agent,
    server: Server,
    file: PathBuf,
    home: Home,
}

/// A report with these findings, as severity and text.
fn report(findings: &[(&str, &str)]) -> Reply {
    let finding = |(severity, text): &(&str, &str)| json!({ "severity": severity, "text": text });
    let findings: Vec<Json> = findings.iter().map(finding).collect();
    calls("report_review", json!({ "summary": "Read it.", "findings": findings }))
}

impl Bench {
    /// With settings of the user, beside those of the model.
    fn new(replies: Vec<Reply>, settings: &str) -> Self {
        Self::with_project(replies, settings, "")
    }

    /// With settings in the folder of the place, too.
    fn with_project(replies: Vec<Reply>, settings: &str, project: &str) -> Self {
        let (home, server) = (Home::new(), Server::start(replies));
        let file = home.path().join("place.rbxlx");
        fs::write(&file, places::sample(Format::Rbxlx)).unwrap();
        fs::write(home.path().join("vector.toml"), project).unwrap();
        let ledger = home.path().join("vector");
        fs::create_dir_all(&ledger).unwrap();
        let provider = format!("[providers.lmstudio]\nbase_url = \"{}/v1\"\n", server.url());
        fs::write(ledger.join("vector.toml"), format!("retries = 0\n{settings}\n{provider}"))
            .unwrap();
        let daemon = Daemon::start(binary::vector(), &ledger);
        let human = Human::of(&daemon, &ledger);
        human.open(&file).ok();
        let agent = Agent::new(&daemon, &ledger, "codex");
        let bench = Self { daemon: Some(daemon), human, agent, server, file, home };
        bench.choose("confirm", "lmstudio/first");
        bench
    }

    /// Starts the daemon that was killed, and opens the place.
    fn start_again(&mut self) {
        let ledger = self.home.path().join("vector");
        let daemon = Daemon::start(binary::vector(), &ledger);
        self.human = Human::of(&daemon, &ledger);
        self.human.open(&self.file).ok();
        self.daemon = Some(daemon);
    }

    fn choose(&self, mode: &str, model: &str) {
        let settings =
            json!({ "mode": mode, "dry_run": false, "play_check": false, "model": model });
        self.human.call("PUT", "/api/settings", &settings).ok();
    }

    fn folder(&mut self, name: &str) -> u64 {
        let args = json!({
            "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": name },
        });
        self.agent.propose("create_instance", &args)
    }

    fn ask(&self, proposal: u64) -> Answer {
        self.human.call("POST", &format!("/api/proposals/{proposal}/review"), &json!({}))
    }

    fn until_reviewed(&mut self, proposal: u64, state: &str) {
        let is_so = |shown: &Json| {
            let newest = shown["reviews"].as_array()?.last()?;
            (newest["state"] == state).then_some(())
        };
        self.human.until_shown(proposal, is_so);
    }

    /// Requests to the model so far.
    fn asked(&self) -> usize {
        self.server.requests().len()
    }
}

#[track_caller]
fn refused(answer: &Answer, says: &[&str]) {
    let said = format!("{} {}", answer.body["message"], answer.body["hint"]);
    assert_eq!(answer.status, 409, "{said}");
    for says in says {
        assert!(said.contains(says), "{says} is not in {said}");
    }
}

#[test]
fn person_approves_only_after_the_review_that_starts_by_itself() {
    let mut bench = Bench::new(vec![report(&[("high", "It is in the way.")])], REQUIRED);
    bench.server.hold_back(0, true);
    let proposal = bench.folder("Gate");
    bench.server.wait_at_gate(1);
    let before = fs::read(&bench.file).unwrap();
    refused(
        &bench.human.approve(proposal),
        &["review.required", "lmstudio/first is reviewing it", "when the review is done"],
    );
    let rule = bench.human.shown(proposal)["rules"][0]["rule"].clone();
    let with_rule = json!({ "say": "approve", "rule": rule });
    refused(&bench.human.decide(proposal, &with_rule), &["lmstudio/first is reviewing it"]);
    let shown = bench.human.shown(proposal);
    assert_eq!(shown["status"], "waiting");
    assert!(shown["unreviewed"].as_str().unwrap().contains("is reviewing it"), "{shown}");
    let route = format!("/api/proposals/{proposal}/card");
    let card = bench.human.call("GET", &route, &Json::Null).ok();
    assert_eq!(card["unreviewed"], shown["unreviewed"]);
    assert_eq!(fs::read(&bench.file).unwrap(), before, "nothing is applied");
    bench.server.open();
    bench.until_reviewed(proposal, "done");
    assert_eq!(bench.human.shown(proposal)["unreviewed"], Json::Null);
    // What it found is advice to a person.
    bench.human.approve(proposal).ok();
    bench.human.until_status(proposal, "applied");
    assert_eq!(bench.asked(), 1, "it was reviewed once");
}

#[test]
fn mode_approves_after_a_review_without_findings_of_high_severity() {
    let replies = vec![report(&[("medium", "It may fall.")]), report(&[("high", "It blocks.")])];
    let mut bench = Bench::new(replies, REQUIRED);
    bench.choose("auto", "lmstudio/first");
    bench.server.hold_back(0, true);
    let first = bench.folder("First");
    bench.server.wait_at_gate(1);
    assert_eq!(bench.human.shown(first)["status"], "waiting");
    bench.server.open();
    bench.human.until_status(first, "applied");
    let second = bench.folder("Second");
    bench.until_reviewed(second, "done");
    assert_eq!(bench.human.shown(second)["status"], "waiting", "a person decides on it");
    bench.human.approve(second).ok();
    bench.human.until_status(second, "applied");
}

#[test]
fn rule_approves_only_what_was_reviewed() {
    let mut bench = Bench::new(vec![report(&[]), report(&[])], REQUIRED);
    let first = bench.folder("First");
    bench.until_reviewed(first, "done");
    let offered = bench.human.shown(first)["rules"].clone();
    let rest = offered.as_array().unwrap().last().unwrap()["rule"].clone();
    bench.human.decide(first, &json!({ "say": "approve", "rule": rest })).ok();
    bench.human.until_status(first, "applied");
    bench.server.hold_back(0, true);
    let second = bench.folder("Second");
    bench.server.wait_at_gate(1);
    let shown = bench.human.shown(second);
    assert_eq!((&shown["status"], &shown["is_covered"]), (&json!("waiting"), &json!(true)));
    bench.server.open();
    bench.human.until_status(second, "applied");
    assert!(bench.human.shown(second)["allowed_by"].is_string());
}

#[test]
fn failed_review_is_not_repeated_by_itself_and_can_be_asked_for_again() {
    let broke = Reply::plain(402, r#"{"error":{"message":"Insufficient credit."}}"#);
    let mut bench = Bench::new(vec![broke, report(&[])], REQUIRED);
    let proposal = bench.folder("Gate");
    bench.until_reviewed(proposal, "failed");
    refused(
        &bench.human.approve(proposal),
        &["lmstudio/first did not review it", "Insufficient credit", "Have a model review it"],
    );
    // Another step of the session does not ask again.
    bench.agent.call("list_children", &json!({ "path": "game.Workspace" }));
    assert_eq!(bench.asked(), 1);
    bench.ask(proposal).ok();
    bench.until_reviewed(proposal, "done");
    bench.human.approve(proposal).ok();
    bench.human.until_status(proposal, "applied");
}

#[test]
fn without_a_model_the_refusal_says_so_until_there_is_one() {
    let mut bench = Bench::new(vec![report(&[])], REQUIRED);
    bench.choose("confirm", "offline");
    let proposal = bench.folder("Gate");
    refused(
        &bench.human.approve(proposal),
        &["None was started", "The offline planner reviews nothing", "Have a model review it"],
    );
    let shown = bench.human.shown(proposal);
    assert!(shown["unreviewed"].as_str().unwrap().contains("offline planner"), "{shown}");
    bench.choose("confirm", "lmstudio/first");
    bench.ask(proposal).ok();
    bench.until_reviewed(proposal, "done");
    bench.human.approve(proposal).ok();
    bench.human.until_status(proposal, "applied");
}

#[test]
fn part_of_a_reviewed_proposal_gets_a_review_of_its_own() {
    let mut bench = Bench::new(vec![report(&[]), report(&[])], REQUIRED);
    let create = |name: &str| {
        json!({ "tool": "create_instance", "args": {
            "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": name },
        } })
    };
    let both = json!({ "title": "Two", "changes": [create("A"), create("B")] });
    let whole = bench.agent.propose("propose_changes", &both);
    bench.until_reviewed(whole, "done");
    bench.server.hold_back(0, true);
    let take = json!({ "say": "take", "parts": [{ "part": "command", "command": 0 }] });
    let part = bench.human.decide(whole, &take).ok()["proposal"].as_u64().unwrap();
    bench.server.wait_at_gate(1);
    refused(&bench.human.approve(part), &["is reviewing it"]);
    bench.server.open();
    bench.until_reviewed(part, "done");
    bench.human.approve(part).ok();
    bench.human.until_status(part, "applied");
}

#[test]
fn what_was_applied_can_be_taken_back_without_a_review() {
    let mut bench = Bench::new(vec![report(&[])], REQUIRED);
    let before = fs::read(&bench.file).unwrap();
    let proposal = bench.folder("Gate");
    bench.until_reviewed(proposal, "done");
    bench.human.approve(proposal).ok();
    bench.human.until_status(proposal, "applied");
    let route = format!("/api/proposals/{proposal}/revert");
    bench.human.call("POST", &route, &json!({})).ok();
    let back = bench.human.card();
    assert_eq!(bench.human.shown(back)["unreviewed"], Json::Null);
    bench.human.approve(back).ok();
    bench.human.until_status(back, "applied");
    assert_eq!(fs::read(&bench.file).unwrap(), before);
    assert_eq!(bench.asked(), 1, "no model was asked about the revert");
}

#[test]
fn settings_of_the_place_require_a_review_at_once_and_hold_against_errors() {
    let mut bench = Bench::with_project(vec![report(&[])], "", "");
    let first = bench.folder("First");
    let project = bench.home.path().join("vector.toml");
    fs::write(&project, "[review]\nrequird = true\n").unwrap();
    refused(
        &bench.human.approve(first),
        &["vector.toml", "Did you mean `review.required`", "Correct the settings"],
    );
    fs::write(&project, REQUIRED).unwrap();
    refused(&bench.human.approve(first), &["review.required"]);
    bench.until_reviewed(first, "done");
    bench.human.approve(first).ok();
    bench.human.until_status(first, "applied");
}

#[test]
fn killed_daemon_goes_on_with_the_required_review() {
    let mut bench = Bench::new(vec![report(&[]), report(&[("low", "Plain.")])], REQUIRED);
    bench.server.hold_back(0, true);
    let proposal = bench.folder("Gate");
    bench.server.wait_at_gate(1);
    bench.daemon.take().unwrap().kill();
    bench.server.open();
    bench.start_again();
    // It is replanned on the file as it is now.
    let now = bench.human.successor(proposal);
    bench.until_reviewed(now, "done");
    let shown = bench.human.shown(now);
    assert_eq!(shown["reviews"][0]["findings"][0]["finding"]["text"], "Plain.", "{shown}");
    bench.human.approve(now).ok();
    bench.human.until_status(now, "applied");
    assert_eq!(bench.asked(), 2, "once in each life of the daemon");
}

#[test]
fn report_holds_for_the_same_change_after_a_restart() {
    let mut bench = Bench::new(vec![report(&[("low", "Plain.")])], REQUIRED);
    let proposal = bench.folder("Gate");
    bench.until_reviewed(proposal, "done");
    bench.daemon.take().unwrap().kill();
    bench.start_again();
    let now = bench.human.successor(proposal);
    let shown = bench.human.shown(now);
    assert_eq!(shown["unreviewed"], Json::Null);
    assert_eq!(shown["reviews"][0]["findings"][0]["finding"]["text"], "Plain.", "{shown}");
    bench.human.approve(now).ok();
    bench.human.until_status(now, "applied");
    assert_eq!(bench.asked(), 1);
}

#[test]
fn terminal_waits_for_the_review_before_it_approves() {
    let mut bench = Bench::new(vec![report(&[("low", "Plain.")]), report(&[])], REQUIRED);
    bench.server.hold_back(0, true);
    let proposal = bench.folder("Gate");
    bench.server.wait_at_gate(1);
    let mut person = Person::runs(bench.home.command(&["review", "--once"]));
    let question = format!("Apply proposal {proposal}?");
    let said = person.answers(&question, "y");
    assert!(said.contains("lmstudio/first is reviewing it"), "{said}");
    let said = person.answers(&question, "m");
    assert!(said.contains("when the review is done"), "{said}");
    bench.server.open();
    let said = person.answers(&question, "y");
    assert!(said.contains("Reviewed by lmstudio/first: 1 finding"), "{said}");
    let (code, shown) = person.sees_the_end();
    assert_eq!(code, 0, "{shown}");
    bench.human.until_status(proposal, "applied");
    // With --yes, it waits by itself.
    let second = bench.folder("Second");
    let run = bench.home.run(&["review", "--once", "--yes"], "");
    assert_eq!(run.code, 0, "{} {}", run.stdout, run.stderr);
    bench.human.until_status(second, "applied");
}

#[test]
fn commands_without_a_daemon_say_that_they_have_no_reviewer() {
    let home = Home::new();
    let file = home.path().join("place.rbxlx");
    fs::write(&file, places::sample(Format::Rbxlx)).unwrap();
    fs::write(home.path().join("vector.toml"), REQUIRED).unwrap();
    let before = fs::read(&file).unwrap();
    let place = file.to_str().unwrap();
    let fade = "set Transparency = 0.5 on #Baseplate";
    let edit = ["edit", place, "--prompt", fade, "--yes"];
    let run = home.run(&edit, "");
    assert_eq!(run.code, 1, "{}", run.stderr);
    for says in ["review.required", "has no reviewer", "vector open", "--dry-run"] {
        assert!(run.stderr.contains(says), "{says} is not in {}", run.stderr);
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    let dry = home.run(&["edit", place, "--prompt", fade, "--dry-run"], "");
    assert_eq!(dry.code, 0, "{}", dry.stderr);
    let chat = home.run(&["chat", place, "--yes"], &format!("{fade}\n"));
    assert!(chat.stderr.contains("has no reviewer"), "{}", chat.stderr);
    assert_eq!(fs::read(&file).unwrap(), before);
    // The user's variable does without.
    let mut command = home.command(&edit);
    command.env("VECTOR_REVIEW_REQUIRED", "false");
    let run = binary::run_to_end(command, "");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert_ne!(fs::read(&file).unwrap(), before);
}
