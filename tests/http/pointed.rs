//! What a request points at besides its words: the selected instance, and what a person attached.

use serde_json::{Value as Json, json};
use vector_tests::daemon::Plugin;

use super::daemon;
use super::flow::{apply, proposal};

/// The next question of this kind.
fn asked(plugin: &mut Plugin<'_>, want: &str) -> Json {
    plugin.until(|polled| {
        let work = polled["work"].as_array().unwrap();
        work.iter().find(|work| work["wanted"]["want"] == want).cloned()
    })
}

fn answer(plugin: &mut Plugin<'_>, question: &Json, answer: Json) {
    plugin.say(json!([{ "part": "answered", "work": question["number"], "answer": answer }])).ok();
}

/// Answers what is asked of the wall's properties.
fn tell_wall(plugin: &mut Plugin<'_>) {
    let question = asked(plugin, "properties");
    let known = json!([{ "id": "studio:2", "values": { "Transparency": 0.25 } }]);
    answer(plugin, &question, json!({ "answer": "properties", "known": known }));
}

#[test]
fn what_was_selected_is_meant_however_often_it_is_planned() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    plugin.chat("set Transparency = 0.5 on the selection").ok();
    let question = asked(&mut plugin, "selection");
    let selected = json!({ "answer": "selection", "ids": ["studio:2"], "count": 1 });
    answer(&mut plugin, &question, selected);
    tell_wall(&mut plugin);
    let first = proposal(&mut plugin);
    let shown = plugin.call("GET", &format!("/api/proposals/{first}"), &Json::Null).ok();
    let meant = &shown["proposal"]["meant"];
    assert_eq!(meant["by"], "selected");
    assert_eq!(meant["target"], json!({ "id": "studio:2", "path": "game.Workspace.Wall" }));
    plugin.decide(first, json!({ "say": "approve" })).ok();
    let work = apply(&mut plugin);
    plugin.acknowledge(&work, json!({ "outcome": "stale", "reason": "Wall was painted." })).ok();
    // It is planned again, and nobody asks what is selected by now.
    let again = proposal(&mut plugin);
    assert!(again > first);
    let shown = plugin.call("GET", &format!("/api/proposals/{again}"), &Json::Null).ok();
    assert_eq!(shown["proposal"]["meant"], *meant);
    // Nor does another epoch, where it goes by its path.
    let mut plugin = Plugin::hello(&daemon, "window-1", &plugin.credential);
    plugin.tell_place();
    tell_wall(&mut plugin);
    plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": "Tower" }])).ok();
    let refused = plugin.until(|polled| {
        let all = polled["events"].as_array().unwrap();
        let mut all = all.iter().map(|it| &it["event"]);
        all.find_map(|event| {
            Some(event["reason"].as_str()?.to_owned()).filter(|it| it.contains("meant"))
        })
    });
    assert!(refused.contains("game.Workspace.Wall, which was meant"), "{refused}");
}
