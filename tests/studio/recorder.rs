//! The events of the plugin that are attached to a bug report.

use serde_json::Value as Json;
use studio_sim::Signals;

use super::{Desk, click, until, until_shown};

/// What `vector debug plugin` prints, as JSON.
fn printed(desk: &Desk) -> Vec<Json> {
    let text = desk.vector(&["debug", "plugin"]);
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn events_of_a_session_are_printed_without_names() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    desk.propose("set Transparency = 0.5 on #Wall");
    click(studio, "Approve");
    until_shown(studio, "Step 1: applied");
    assert!(studio.undo());
    let is_there = |what: &str| printed(&desk).iter().any(|it| it["what"] == what);
    until(studio, "the undo is reported", |_| is_there("undo"));
    let all = printed(&desk);
    let [head, events @ ..] = all.as_slice() else {
        panic!("nothing is printed");
    };
    assert!(head["daemon"].is_string() && head["os"].is_string(), "{head}");
    let whats: Vec<&str> = events.iter().filter_map(|it| it["what"].as_str()).collect();
    for what in ["hello", "welcome", "snapshot", "snapshot ended", "applied", "undo"] {
        assert!(whats.contains(&what), "{what} in {whats:?}");
    }
    assert!(whats.len() < 60, "each event is there once: {whats:?}");
    assert!(events.iter().is_sorted_by_key(|it| it["at"].as_u64()), "{events:?}");
    let text = format!("{all:?}");
    for name in ["Wall", "Transparency", "ServerScriptService"] {
        assert!(!text.contains(name), "{name} in {text}");
    }
}

#[test]
fn without_a_window_the_reason_is_said() {
    let desk = Desk::ready(Signals::Deferred);
    let home = vector_tests::binary::Home::new();
    let output = home.run(&["debug", "plugin"], "");
    assert_eq!(output.code, 1, "{}", output.stdout);
    assert!(output.stderr.contains("vector serve"), "{}", output.stderr);
    drop(desk);
}
