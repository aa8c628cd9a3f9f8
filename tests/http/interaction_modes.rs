//! The interaction mode of a request: it binds every driver, also the offline planner.

use std::fs;

use serde_json::{Value as Json, json};
use vector_tests::places::Format;

use super::place::Bench;

const GRID: &str = "grid 2x2 of parts named Board";
const REST: &str = "Carry out the rest of the plan, step by step.";

impl Bench {
    /// A place in auto mode, in which creations need no approval.
    fn auto() -> (Self, Json) {
        let (bench, opened) = Self::open(Format::Rbxlx);
        let settings = json!({ "mode": "auto", "dry_run": false, "model": "offline" });
        bench.human.call("PUT", "/api/settings", &settings).ok();
        (bench, opened)
    }

    /// Sends a request with this interaction, waits for its end, and returns the workflow.
    fn asked(&mut self, opened: &Json, text: &str, interaction: &str) -> Json {
        let chat = json!({
            "session": opened["session"], "epoch": opened["epoch"], "text": text, "attached": [],
            "interaction": interaction,
        });
        let started = self.human.call("POST", "/api/chat", &chat).ok();
        self.human.until("done");
        let path = format!("/api/workflows/{}", started["workflow"]);
        self.human.call("GET", &path, &Json::Null).ok()
    }

    fn text(&self) -> String {
        fs::read_to_string(&self.file).unwrap()
    }
}

#[test]
fn ask_stance_changes_nothing() {
    for request in [GRID, "delete game.Workspace.Baseplate"] {
        let (mut bench, opened) = Bench::auto();
        let before = bench.bytes();
        let answered = bench.asked(&opened, request, "ask");
        assert_eq!(answered["outcome"], "done");
        assert!(answered["plan"].as_array().is_none_or(Vec::is_empty), "{answered}");
        assert_eq!(bench.waiting(), 0);
        assert!(bench.bytes() == before, "{request}");
    }
}

#[test]
fn plan_changes_nothing_until_built() {
    let (mut bench, opened) = Bench::auto();
    let before = bench.bytes();
    let planned = bench.asked(&opened, GRID, "plan");
    assert_eq!(planned["outcome"], "done");
    assert_eq!(planned["plan"].as_array().unwrap().len(), 5, "{planned}");
    assert_eq!(bench.waiting(), 0);
    assert!(bench.bytes() == before);
    let built = bench.asked(&opened, REST, "act");
    assert_eq!(built["outcome"], "done");
    assert_eq!(built["proposals"].as_array().unwrap().len(), 5, "{built}");
    assert_eq!(bench.text().matches(">Board<").count(), 1);
    // The plan is built only once, and the next request is independent of it.
    bench.asked(&opened, REST, "act");
    bench.asked(&opened, "grid 2x2 of parts named Other", "act");
    let text = bench.text();
    assert_eq!((text.matches(">Board<").count(), text.matches(">Other<").count()), (1, 1));
}
