//! Merges with open conflicts beside open places: listed, decided and written over the routes of
//! the page, while the terminal may decide as well.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use vector_place::Scene;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon};
use vector_tests::forked;
use vector_tests::human::Human;

use super::history::ledger;

struct Bench {
    home: Home,
    _daemon: Daemon,
    human: Human,
    arena: PathBuf,
}

impl Bench {
    fn new() -> Self {
        let home = Home::new();
        let arena = forked::merge(&home, home.path());
        let daemon = Daemon::of_place(binary::vector(), &ledger(&home), &arena);
        let human = Human::of(&daemon, &ledger(&home));
        Self { home, _daemon: daemon, human, arena }
    }

    /// The listed merges.
    fn merges(&self) -> Vec<Json> {
        let listed = self.human.call("GET", "/api/merges", &Json::Null).ok();
        listed["merges"].as_array().unwrap().clone()
    }

    fn decide(&self, conflict: Json, choice: Json) -> Answer {
        let mut body = json!({ "merge": self.merges()[0]["id"] });
        for (name, value) in [("conflict", conflict), ("choice", choice)] {
            if !value.is_null() {
                body[name] = value;
            }
        }
        self.human.call("POST", "/api/merges/decide", &body)
    }

    fn finish(&self, how: &str) -> Answer {
        let body = json!({ "merge": self.merges()[0]["id"], "how": how });
        self.human.call("POST", "/api/merges/finish", &body)
    }

    /// The number of the conflict of this kind, from 1.
    fn number(&self, kind: &str) -> usize {
        let merges = self.merges();
        let conflicts = merges[0]["conflicts"].as_array().unwrap();
        1 + conflicts.iter().position(|it| it["conflict"]["conflict"] == kind).unwrap()
    }

    fn scene(&self) -> Scene {
        Scene::decode(&fs::read(&self.arena).unwrap()).unwrap()
    }

    fn run(&self, args: &[&str]) -> String {
        let run = self.home.run(args, "");
        run.stdout + &run.stderr
    }
}

/// Asserts that the request failed with this kind and a next step.
#[track_caller]
fn refused(answer: &Answer, kind: &str) {
    assert_eq!(answer.body["kind"], kind, "{}", answer.body);
    assert!(answer.body["hint"].as_str().is_some_and(|hint| !hint.is_empty()), "{}", answer.body);
}

fn is_there(scene: &Scene, path: &str) -> bool {
    scene.resolve(&format!("game.Workspace.{path}").parse().unwrap()).is_ok()
}

fn text(file: &Path) -> String {
    file.display().to_string()
}

#[test]
fn each_conflict_is_decided_separately() {
    let bench = Bench::new();
    let before = fs::read(&bench.arena).unwrap();
    let merge = &bench.merges()[0];
    assert_eq!(merge["conflicts"].as_array().unwrap().len(), forked::CONFLICTS);
    assert_eq!((&merge["in_git"], &merge["is_file_changed"]), (&json!(false), &json!(false)));
    let hunks = json!({ "hunks": ["theirs", { "edited": "return 3\n" }] });
    bench.decide(json!(bench.number("script")), hunks.clone()).ok();
    bench.decide(json!(bench.number("property")), json!("theirs")).ok();
    bench.decide(json!(bench.number("deleted")), json!("theirs")).ok();
    refused(&bench.finish("write"), "settled");
    // A decided conflict can be opened again.
    bench.decide(json!(bench.number("property")), Json::Null).ok();
    let decided = bench.decide(json!(bench.number("moved")), json!("theirs")).ok();
    let open =
        decided["conflicts"].as_array().unwrap().iter().filter(|it| it.get("choice").is_none());
    assert_eq!(open.count(), 1, "{decided}");
    assert!(fs::read(&bench.arena).unwrap() == before, "nothing is written yet");
    // The terminal lists the same conflicts, and can decide the rest.
    let listed = bench.run(&["merge", "--list", "--file", &text(&bench.arena)]);
    assert!(listed.contains("4 conflicts, 1 open") && listed.contains("hunks"), "{listed}");
    bench.decide(Json::Null, json!("ours")).ok();
    let finished = bench.finish("write").ok();
    assert_eq!(finished["is_staged"], false);
    assert!(bench.merges().is_empty());
    let scene = bench.scene();
    let script = scene.resolve(&"game.ReplicatedStorage.Steps".parse().unwrap()).unwrap();
    let source = scene.script_text(script).unwrap();
    assert!(
        source.starts_with("local SPEED = 24\n") && source.ends_with("\nreturn 3\n"),
        "{source}"
    );
    assert!(is_there(&scene, "South.Floor") && !is_there(&scene, "Lobby.Lamp"));
    let door = scene.resolve(&"game.Workspace.Lobby.Door".parse().unwrap()).unwrap();
    assert_eq!(scene.value(door, "Transparency").unwrap().to_brief(), "0.25");
}

#[test]
fn invalid_decisions_change_nothing() {
    let bench = Bench::new();
    let number = |kind| json!(bench.number(kind));
    refused(&bench.decide(number("script"), json!({ "hunks": ["ours"] })), "settled");
    refused(&bench.decide(number("moved"), json!({ "hunks": [] })), "settled");
    refused(&bench.decide(number("moved"), json!("mine")), "bad_request");
    for wrong in [0, 5, usize::MAX] {
        refused(&bench.decide(json!(wrong), json!("ours")), "settled");
    }
    let other = json!({ "merge": "0123456789abcdef", "choice": "ours" });
    refused(&bench.human.call("POST", "/api/merges/decide", &other), "not_found");
    let open = |it: &Json| it.get("choice").is_none();
    assert!(bench.merges()[0]["conflicts"].as_array().unwrap().iter().all(open));
}

#[test]
fn changed_file_is_overwritten_only_on_request() {
    let bench = Bench::new();
    bench.decide(Json::Null, json!("theirs")).ok();
    let other = fs::read(bench.home.path().join("base.rbxlx")).unwrap();
    fs::write(&bench.arena, &other).unwrap();
    assert_eq!(bench.merges()[0]["is_file_changed"], true);
    refused(&bench.finish("write"), "settled");
    assert!(fs::read(&bench.arena).unwrap() == other);
    bench.finish("overwrite").ok();
    assert!(is_there(&bench.scene(), "South.Floor"));

    let bench = Bench::new();
    let before = fs::read(&bench.arena).unwrap();
    bench.finish("as_is").ok();
    assert!(fs::read(&bench.arena).unwrap() == before && bench.merges().is_empty());
    assert!(!bench.home.path().join("arena.rbxlx.vector-merge").exists());
}
