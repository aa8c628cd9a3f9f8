//! Runs of specs in Roblox's engine for a proposal in a place that a daemon has open.

use std::fs;

use fake_cloud::{Fault, LuauOutcome};
use rbx_dom_weak::{InstanceBuilder, WeakDom};
use scene_schemas::entry::Entry;
use serde_json::{Value as Json, json};
use vector_tests::daemon::Answer;
use vector_tests::places::{self, Format};

use super::served::{PLACE, ServedPlace, UNIVERSE, refused};

/// The parts of the addresses of uploads and of started tasks.
const UPLOADS: &str = "versionType=";
const TASKS: &str = "luau-execution-session-tasks";
const SPEC: &str = "return function() it('adds', function() expect(1 + 1).to.equal(2) end) end";
const STORES: &str = "local S = game:GetService('DataStoreService')\nreturn function() end";

/// A served place with a spec, and a proposal that adds a part.
struct VerifyServed {
    served: ServedPlace,
    proposal: u64,
}

impl VerifyServed {
    fn new(spec: &str) -> Self {
        let spec = InstanceBuilder::new("ModuleScript")
            .with_name("Add.spec")
            .with_property("Source", spec);
        let game = InstanceBuilder::new("DataModel")
            .with_child(InstanceBuilder::new("Workspace"))
            .with_child(InstanceBuilder::new("ReplicatedStorage").with_child(spec));
        let mut served = ServedPlace::new(&places::encode(&WeakDom::new(game), Format::Rbxl));
        let part = json!({
            "className": "Part", "parentPath": "game.Workspace",
            "props": { "Name": "Beacon", "Size": [1, 1, 1], "Anchored": true },
        });
        let proposal = served.propose("create_instance", &part);
        Self { served, proposal }
    }

    fn plan(&self, more: &str) -> Answer {
        self.served.get(&format!("/api/verify?proposal={}{more}", self.proposal))
    }

    /// The request to run what is shown now.
    fn request(&self) -> Json {
        let plan = self.plan(&format!("&universe={UNIVERSE}&place={PLACE}")).ok();
        json!({
            "proposal": self.proposal, "universe": UNIVERSE, "place": PLACE,
            "contents": plan["contents"],
        })
    }

    fn start(&self, wanted: &Json) -> Answer {
        self.served.human().call("POST", "/api/verify", wanted)
    }

    fn view(&self) -> Json {
        self.served.get(&format!("/api/verify/{}", self.proposal)).ok()
    }

    /// Waits until no run goes on, and returns what is known.
    #[track_caller]
    fn until_over(&self) -> Json {
        self.served
            .until("the end of the run", |_| Some(self.view()).filter(|it| it["running"].is_null()))
    }

    fn until_phase(&self, phase: &str) {
        self.served.until(phase, |_| (self.view()["running"]["phase"] == phase).then_some(()));
    }

    fn tasks(&self) -> usize {
        self.served.cloud.luau_tasks().len()
    }

    /// Kills the daemon while a request gets no answer, and starts it again.
    fn kill_at(&mut self, target: &'static str, acts: bool) {
        let wanted = self.request();
        let before = self.served.sent(target);
        self.served.cloud.fail_at(target, Fault::Silence { acts });
        self.start(&wanted).ok();
        self.served.until(target, |it| (it.sent(target) > before).then_some(()));
        self.served.kill();
        self.served.start();
    }
}

/// An outcome of a task in version 1, after some requests for its state.
fn passed(waits: usize) -> LuauOutcome {
    let returned = json!({
        "format": 1, "placeVersion": 1, "seconds": 0.5, "modules": [],
        "specs": [{ "cases": [
            { "name": "adds", "outcome": "passed", "seconds": 0.25 },
            { "name": "fails", "outcome": "failed", "seconds": 0.25,
              "failure": { "message": "expected 2, got 1" } },
        ] }],
    });
    let states = [vec!["PROCESSING"; waits], vec!["COMPLETE"]].concat();
    let logs = vec![["OUTPUT", "hello from the spec"], ["WARNING", "careful"]];
    LuauOutcome { states, logs, ..LuauOutcome::complete(vec![returned]) }
}

#[test]
fn proposal_is_verified_and_its_results_stay_with_it() {
    let mut bench = VerifyServed::new(SPEC);
    let before = fs::read(&bench.served.place).unwrap();
    assert_eq!(bench.plan("").ok()["target"], Json::Null, "no scratch place is known");
    refused(&bench.plan("&universe=30"), 400, "Name both");
    refused(&bench.served.get("/api/verify"), 400, "No proposal is specified");
    refused(&bench.served.get("/api/verify?proposal=1"), 409, "is not a proposal");
    let target = bench.plan("&universe=30&place=40").ok()["target"].clone();
    assert_eq!(target["specs"], json!(["game.ReplicatedStorage[\"Add.spec\"]"]), "{target}");
    assert_eq!((&target["effects"], &target["seconds"]), (&json!([]), &json!(60)));
    let wanted = bench.request();
    let mut other = wanted.clone();
    other["contents"] = json!("0".repeat(64));
    refused(&bench.start(&other), 409, "changed after it was shown");
    bench.served.cloud.add_luau_outcome(passed(1));
    bench.start(&wanted).ok();
    let view = bench.until_over();
    let end = &view["runs"][0]["end"];
    assert_eq!((&end["passed"], &end["failed"]), (&json!(1), &json!(1)), "{view}");
    assert_eq!(end["report"]["failures"][0]["case"], "fails", "{view}");
    let output = json!([
        { "level": "output", "text": "hello from the spec" },
        { "level": "warning", "text": "careful" },
    ]);
    assert_eq!(end["report"]["output"], output);
    assert!(fs::read(&bench.served.place).unwrap() == before, "nothing is done to the place");
    assert_eq!(bench.served.cloud.published_version(PLACE), None);
    // From the ledger, after a restart.
    bench.served.kill();
    bench.served.start();
    assert_eq!(bench.view(), view);
    let target = bench.plan("").ok()["target"].clone();
    assert_eq!((&target["place"], &target["existing"]), (&json!(PLACE), &json!(1)), "{target}");
    // The restart replans the proposal, whose new version keeps them.
    let replaced = bench.proposal;
    bench.proposal = bench.served.successor(replaced);
    assert_eq!(
        (&bench.view()["runs"], &view["runs"][0]["run"]["proposal"]),
        (&view["runs"], &json!(replaced))
    );
    bench.served.human().approve(bench.proposal).ok();
    bench.served.until("it is applied", |it| {
        let shown = it.get(&format!("/api/proposals/{}", bench.proposal)).ok();
        (shown["status"] == "applied").then_some(())
    });
    refused(&bench.plan(""), 409, "is in the place already");
    assert_eq!(bench.view()["runs"], view["runs"]);
}

#[test]
fn effects_beyond_the_place_and_the_live_place_are_refused() {
    let bench = VerifyServed::new(STORES);
    let plan = bench.plan("&universe=30&place=40").ok();
    let effect = &plan["target"]["effects"][0];
    assert!(effect["text"].as_str().unwrap().contains("DataStoreService"), "{plan}");
    let mut wanted = bench.request();
    refused(&bench.start(&wanted), 409, "which were not allowed");
    assert_eq!(bench.until_over()["running"], Json::Null);
    assert_eq!(bench.served.cloud.requests(), []);
    wanted["allow_side_effects"] = true.into();
    bench.served.cloud.add_luau_outcome(passed(0));
    bench.start(&wanted).ok();
    assert_eq!(bench.until_over()["runs"].as_array().unwrap().len(), 1);
    // What was published is live.
    bench.served.cloud.add_places(UNIVERSE, &[42]);
    let session = bench.served.session();
    let deploy = bench.served.get(&format!("/api/deploy?session={session}&universe=30&place=42"));
    let contents = &deploy.ok()["contents"];
    for kind in ["saved", "published"] {
        let upload = json!({
            "session": session, "universe": 30, "place": 42, "kind": kind, "contents": contents,
        });
        bench.served.human().call("POST", "/api/deploy", &upload).ok();
    }
    refused(&bench.plan("&universe=30&place=42"), 409, "is a live place");
    refused(&bench.plan("&universe=30&place=40"), 409, "--same-universe");
    // The place of the last run is none any more, and another one can be named.
    let plan = bench.plan("").ok();
    assert_eq!(plan["target"], Json::Null);
    assert!(plan["refusal"].as_str().unwrap().contains("--same-universe"), "{plan}");
}

#[test]
fn doubled_request_runs_once() {
    let bench = VerifyServed::new(SPEC);
    bench.served.cloud.add_luau_outcome(passed(1));
    let wanted = bench.request();
    let answers = bench.served.post_twice("/api/verify", &wanted);
    let done = answers.iter().filter(|it| it.status == 200).count();
    assert_eq!(done, 1, "{} {}", answers[0].body, answers[1].body);
    let other = answers.iter().find(|it| it.status != 200).unwrap();
    refused(other, 409, "is being verified");
    bench.until_over();
    assert_eq!((bench.served.sent(UPLOADS), bench.tasks()), (1, 1));
}

#[test]
fn cancelled_run_ends_its_wait_and_is_read_later() {
    let bench = VerifyServed::new(SPEC);
    let cancel = || {
        let path = format!("/api/verify/{}/cancel", bench.proposal);
        bench.served.human().call("POST", &path, &json!({}))
    };
    refused(&cancel(), 409, "goes on in this daemon");
    bench.served.cloud.add_luau_outcome(passed(1_000));
    bench.start(&bench.request()).ok();
    bench.until_phase("running");
    cancel().ok();
    let view = bench.until_over();
    let why = view["failure"].as_str().unwrap();
    assert!(why.contains("goes on at Roblox until its time limit of 60 s"), "{why}");
    assert_eq!(view["runs"][0]["end"], Json::Null, "{view}");
    bench.served.cloud.end_tasks();
    let plan = bench.plan("").ok();
    assert_eq!(plan["target"]["resumes"], view["runs"][0]["seq"], "{plan}");
    bench.start(&bench.request()).ok();
    let view = bench.until_over();
    assert_eq!((&view["failure"], &view["runs"][0]["end"]["passed"]), (&Json::Null, &json!(1)));
    assert_eq!((bench.served.sent(UPLOADS), bench.tasks()), (1, 1));
}

#[test]
fn upload_of_a_killed_daemon_is_said_and_its_version_is_used() {
    for acts in [false, true] {
        let mut bench = VerifyServed::new(SPEC);
        bench.kill_at(UPLOADS, acts);
        let view = bench.view();
        assert_eq!(view["running"], Json::Null);
        assert!(view["upload"].is_object(), "{acts}: {view}");
        assert_eq!(bench.tasks(), 0);
        bench.served.cloud.add_luau_outcome(passed(0));
        bench.start(&bench.request()).ok();
        let view = bench.until_over();
        assert_eq!((&view["upload"], &view["runs"][0]["run"]["version"]), (&Json::Null, &json!(1)));
        assert_eq!(bench.served.cloud.place_versions(PLACE).len(), 1, "{acts}");
        assert_eq!((bench.served.sent(UPLOADS), bench.tasks()), (2, 1), "{acts}");
        let unclear = |it: &Entry| matches!(it, Entry::UploadFailed { is_unclear: true, .. });
        assert_eq!(bench.served.count(unclear), 1, "{acts}");
    }
}

#[test]
fn start_of_a_killed_daemon_is_said_before_the_specs_run_again() {
    for acts in [false, true] {
        let mut bench = VerifyServed::new(SPEC);
        bench.kill_at(TASKS, acts);
        let view = bench.view();
        let run = view["runs"][0]["seq"].clone();
        assert_eq!(view["runs"][0]["end"], Json::Null, "{acts}: {view}");
        // The plan says that it is not known, and the card keeps it.
        assert_eq!(bench.plan("").ok()["target"]["unclear"], run, "{acts}");
        assert_eq!(bench.view()["runs"][0]["end"]["is_unclear"], true);
        bench.served.cloud.add_luau_outcome(passed(0));
        bench.start(&bench.request()).ok();
        let view = bench.until_over();
        assert_eq!(view["runs"].as_array().unwrap().len(), 2, "{acts}: {view}");
        assert_eq!((bench.served.sent(UPLOADS), bench.tasks()), (1, 1 + usize::from(acts)));
    }
}

#[test]
fn task_of_a_killed_daemon_is_read_and_not_started_again() {
    let mut bench = VerifyServed::new(SPEC);
    bench.served.cloud.add_luau_outcome(passed(1_000));
    bench.start(&bench.request()).ok();
    bench.until_phase("running");
    bench.served.kill();
    bench.served.start();
    let view = bench.view();
    assert_eq!(view["runs"][0]["end"], Json::Null, "{view}");
    assert!(!view["runs"][0]["run"]["task"].as_str().unwrap().is_empty(), "{view}");
    let plan = bench.plan("").ok();
    assert_eq!(plan["target"]["resumes"], view["runs"][0]["seq"], "{plan}");
    bench.served.cloud.end_tasks();
    bench.start(&bench.request()).ok();
    assert_eq!(bench.until_over()["runs"][0]["end"]["passed"], 1);
    assert_eq!((bench.served.sent(UPLOADS), bench.tasks()), (1, 1));
}

#[test]
fn lost_answers_are_said() {
    let bench = VerifyServed::new(SPEC);
    // The client itself sends an upload three times.
    for _ in 0..3 {
        bench.served.cloud.fail_at(UPLOADS, Fault::Truncate(4));
    }
    bench.start(&bench.request()).ok();
    let view = bench.until_over();
    let why = view["failure"].as_str().unwrap();
    assert!(why.contains("Verify again: the same contents get the same version"), "{why}");
    bench.served.cloud.clear_faults();
    bench.served.cloud.fail_at(TASKS, Fault::Truncate(4));
    bench.start(&bench.request()).ok();
    let view = bench.until_over();
    let end = &view["runs"][0]["end"];
    assert_eq!((&end["is_unclear"], &view["failure"]), (&json!(true), &Json::Null), "{view}");
    assert!(end["failure"].as_str().unwrap().contains("they may run twice"), "{view}");
    assert_eq!((bench.served.cloud.place_versions(PLACE).len(), bench.tasks()), (1, 1));
    assert_eq!(bench.plan("").ok()["target"]["unclear"], view["runs"][0]["seq"]);
}
