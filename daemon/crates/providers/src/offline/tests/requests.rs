//! Tests requests as people write them against a file with the expected calls or refusals.
//!
//! `UPDATE=1` writes the expectations in `requests.txt` again. Review the diff afterwards.

use std::fmt::Write as _;
use std::{env, fs};

use super::*;

/// `> REQUEST`, then a line for each call, or the lines of the refusal. An empty line ends a case.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/offline/tests/requests.txt");

/// The answers of the tools: one instance of a name, but three of `Wall` and none of `Nobody`.
fn answer(_: usize, call: &ToolCall) -> CallOutcome {
    if call.tool != FIND_TOOL {
        return CallOutcome::Done(json!({}));
    }
    let selector = call.args["selector"].as_str().unwrap().trim_start_matches('#').to_owned();
    let paths: Vec<Json> = match selector.as_str() {
        "Nobody" => vec![],
        "Wall" => (1..=3).map(|n| json!({"path": format!("game.Workspace.Wall[{n}]")})).collect(),
        name => vec![json!({"path": format!("game.Workspace.Course.{name}")})],
    };
    CallOutcome::Done(json!({ "total": paths.len(), "instances": paths }))
}

fn played(request: &str) -> String {
    let (calls, said) = drive(request, answer);
    let mut text = String::new();
    for call in calls.iter().filter(|call| !matches!(call.tool.as_str(), "complete" | PLAN_TOOL)) {
        let _ = writeln!(text, "{} {}", call.tool, call.args);
    }
    let is_done = calls.last().is_some_and(|call| call.tool == "complete");
    if !is_done {
        text.extend(said.lines().map(|line| format!("! {line}\n")));
    }
    text
}

#[test]
fn everyday_requests_match_the_recorded_answers() {
    let kept = fs::read_to_string(FILE).unwrap();
    let requests: Vec<&str> = kept.lines().filter_map(|line| line.strip_prefix("> ")).collect();
    assert!(requests.len() > 40, "{}", requests.len());
    let blocks: Vec<String> =
        requests.iter().map(|request| format!("> {request}\n{}", played(request))).collect();
    let now = blocks.join("\n");
    if env::var_os("UPDATE").is_some() {
        fs::write(FILE, now).unwrap();
        return;
    }
    assert_eq!(now, kept);
}

#[test]
fn refusal_has_three_lines() {
    for request in
        ["make me a nice castle", "dance", "set x", "grid", "add", "delete all the red bricks"]
    {
        let text = next_message(&prompt(request, &[])).text.unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
    }
}
