//! The life of a Studio session: request, preview, decision, apply, acknowledgement; and what
//! happens if the plugin or the daemon is away, late, or sends something twice.

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Daemon, Plugin};

use super::daemon;

pub(super) fn events<'e>(polled: &'e Json, name: &str) -> impl Iterator<Item = &'e Json> {
    let all = polled["events"].as_array().into_iter().flatten().map(|it| &it["event"]);
    all.filter(move |event| event["event"] == name)
}

/// Waits for the next proposal.
pub(super) fn proposal(plugin: &mut Plugin<'_>) -> u64 {
    plugin.until(|polled| events(polled, "proposal_mapped").last()?["proposal"].as_u64())
}

/// Waits for the next proposal that the plugin has to apply.
pub(super) fn apply(plugin: &mut Plugin<'_>) -> Json {
    plugin.until(|polled| {
        let work = polled["work"].as_array().unwrap();
        work.iter().find(|work| work["work"] == "apply").map(|work| work["apply"].clone())
    })
}

pub(super) fn status(plugin: &mut Plugin<'_>, proposal: u64, wanted: &str) -> Json {
    plugin.until(|polled| {
        let mut all = events(polled, "proposal_changed");
        all.find(|it| it["proposal"] == proposal && it["status"] == wanted).cloned()
    })
}

fn acted(id: &str) -> Json {
    json!({ "outcome": "applied", "results": [{ "ids": [id] }], "version": 9 })
}

#[test]
fn request_becomes_a_proposal_and_then_studio_work() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    assert_eq!(plugin.poll()["need"], "snapshot");
    plugin.tell_place();
    assert_eq!(plugin.poll()["need"], Json::Null);
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let seq = proposal(&mut plugin);
    let shown = plugin.call("GET", &format!("/api/proposals/{seq}"), &Json::Null).ok();
    assert_eq!(shown["proposal"]["preview"]["rows"][0]["path"], "game.Workspace.Wall");
    let wrong = json!({
        "patch_id": "0".repeat(64), "base": shown["proposal"]["base"],
        "decision": { "say": "approve" },
    });
    let answer = plugin.call("POST", &format!("/api/proposals/{seq}/decide"), &wrong);
    assert_eq!((answer.status, answer.body["kind"].as_str()), (409, Some("stale")));
    plugin.decide(seq, json!({ "say": "approve" })).ok();
    assert_eq!(plugin.decide(seq, json!({ "say": "approve" })).status, 409);
    let work = apply(&mut plugin);
    assert_eq!(work["actions"][0]["props"]["Name"], "Tower");
    assert_eq!(apply(&mut plugin), work, "it is offered until it is answered");
    plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": "Tower" }])).ok();
    assert_eq!(plugin.acknowledge(&work, acted("studio:2")).ok()["is_new"], true);
    assert_eq!(plugin.acknowledge(&work, acted("studio:2")).ok()["is_new"], false);
    status(&mut plugin, seq, "applied");
    let workflows = plugin.call("GET", "/api/workflows", &Json::Null).ok();
    assert_eq!(workflows["workflows"][0]["state"], "finished");
    plugin.say(json!([{ "part": "undone", "recording": format!("Vector {seq}") }])).ok();
}

#[test]
fn property_missing_in_the_mirror_is_requested_from_studio() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    plugin.chat("set Transparency = 0.5 on game.Workspace.Wall").ok();
    let told = plugin.until(|polled| {
        let work = polled["work"].as_array().unwrap();
        work.iter().find(|work| work["work"] == "query").cloned()
    });
    assert_eq!(told["query"]["of"], json!([{ "id": "studio:2", "names": ["Transparency"] }]));
    let known = json!([{ "id": "studio:2", "values": { "Transparency": 0.25 } }]);
    let answer = json!({ "answer": "properties", "known": known });
    plugin.say(json!([{ "part": "answered", "work": told["number"], "answer": answer }])).ok();
    let seq = proposal(&mut plugin);
    let shown = plugin.call("GET", &format!("/api/proposals/{seq}"), &Json::Null).ok();
    let row = &shown["proposal"]["preview"]["rows"][0];
    assert_eq!(row["change"]["before"]["value"], 0.25, "{row}");
    plugin.decide(seq, json!({ "say": "reject", "reason": "not now" })).ok();
    status(&mut plugin, seq, "rejected");
}

#[test]
fn proposal_is_replanned_when_its_script_changes() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    plugin.chat("replace \"print(1)\" with \"print(2)\" in game.Workspace.Main").ok();
    let seq = proposal(&mut plugin);
    let changed = json!({ "part": "changed", "id": "studio:3", "names": ["Source"] });
    plugin.say(json!([changed])).ok();
    let told = plugin.until(|polled| {
        let work = polled["work"].as_array().unwrap();
        work.iter().find(|work| work["query"]["want"] == "sources").cloned()
    });
    let scripts = json!([{ "id": "studio:3", "text": "-- new\nprint(1)\n" }]);
    let answer = json!({ "answer": "sources", "scripts": scripts });
    plugin.say(json!([{ "part": "answered", "work": told["number"], "answer": answer }])).ok();
    let again = proposal(&mut plugin);
    assert!(again > seq);
    plugin.decide(again, json!({ "say": "approve" })).ok();
    let work = apply(&mut plugin);
    assert_eq!(work["actions"][0]["text"], "-- new\nprint(2)\n");
    let stale = json!({ "outcome": "stale", "reason": "Main has another text." });
    plugin.acknowledge(&work, stale).ok();
    let third = proposal(&mut plugin);
    assert!(third > again, "what is stale is planned again");
}

#[test]
fn chosen_part_replaces_the_whole_proposal() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    plugin.chat("grid 9x9 of neon parts named Lights").ok();
    let model = proposal(&mut plugin);
    let nothing = plugin.decide(model, json!({ "say": "take", "parts": [] }));
    assert_eq!(nothing.status, 409, "{}", nothing.body);
    plugin.decide(model, json!({ "say": "approve" })).ok();
    let work = apply(&mut plugin);
    let added = json!({
        "part": "added", "id": "studio:9", "parent": "studio:1", "class": "Model", "name": "Lights",
    });
    plugin.say(json!([added])).ok();
    plugin.acknowledge(&work, acted("studio:9")).ok();
    let row = proposal(&mut plugin);
    let parts = json!([{ "part": "command", "command": 0 }, { "part": "command", "command": 2 }]);
    let decided = plugin.decide(row, json!({ "say": "take", "parts": parts })).ok();
    let taken = decided["proposal"].as_u64().unwrap();
    assert!(taken > row && decided["status"] == "waiting", "{decided}");
    plugin.decide(taken, json!({ "say": "approve" })).ok();
    let work = apply(&mut plugin);
    let names: Vec<_> = work["actions"].as_array().unwrap().iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["Row_1", "Cell_1_2"], "the row's model, and the second of its cells");
}

#[test]
fn sessions_are_isolated_and_old_epochs_are_refused() {
    let (_home, daemon) = daemon();
    let mut one = Plugin::pair(&daemon, "window-1");
    let mut other = Plugin::hello(&daemon, "window-2", &one.credential);
    one.tell_place();
    other.tell_place();
    one.chat("rename game.Workspace.Wall to One").ok();
    let seq = proposal(&mut one);
    assert!(other.poll()["events"].as_array().unwrap().is_empty());
    let crossed = daemon.call(
        "POST",
        "/api/sessions/window-2/poll",
        Some(&one.token),
        &json!({ "epoch": one.epoch, "cursor": 0, "hold": 0 }),
    );
    assert_eq!((crossed.status, crossed.body["kind"].as_str()), (409, Some("stale")));
    let again = Plugin::hello(&daemon, "window-1", &one.credential);
    let late = one.say(json!([{ "part": "removed", "id": "studio:2" }]));
    assert_eq!(late.status, 401, "the token went with the epoch");
    let mut again = again;
    assert_eq!(again.poll()["need"], "snapshot");
    again.tell_place();
    again.decide(seq, json!({ "say": "approve" })).ok();
    assert_eq!(apply(&mut again)["proposal"], seq);
}

#[test]
fn killed_daemon_resumes_its_workflow() {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let seq = proposal(&mut plugin);
    let credential = plugin.credential.clone();
    daemon.kill();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
    plugin.tell_place();
    plugin.decide(seq, json!({ "say": "approve" })).ok();
    let work = apply(&mut plugin);
    daemon.kill();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
    plugin.tell_place();
    let offered = apply(&mut plugin);
    assert_eq!(
        (&offered["proposal"], &offered["patch_id"]),
        (&work["proposal"], &work["patch_id"])
    );
    assert_eq!(plugin.acknowledge(&offered, acted("studio:2")).ok()["is_new"], true);
    status(&mut plugin, seq, "applied");
}

#[test]
fn change_that_the_place_shows_after_a_kill_is_settled_by_the_plugin() {
    for outcome in [acted("studio:2"), json!({ "outcome": "diverged", "reason": "It is half." })] {
        let home = Home::new();
        let daemon = Daemon::start(binary::vector(), home.path());
        let mut plugin = Plugin::pair(&daemon, "window-1");
        plugin.tell_place();
        plugin.chat("rename game.Workspace.Wall to Tower").ok();
        let seq = proposal(&mut plugin);
        plugin.decide(seq, json!({ "say": "approve" })).ok();
        let work = apply(&mut plugin);
        let credential = plugin.credential.clone();
        daemon.kill();
        let daemon = Daemon::start(binary::vector(), home.path());
        let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
        // The name may be that of a recording that Studio has not finished.
        let nodes = json!({
            "classes": ["Workspace", "Part"], "ids": ["studio:1", "studio:2"], "parents": [0, 1],
            "class": [0, 1], "names": ["Workspace", "Tower"],
        });
        let parts = json!([{ "part": "begin", "total": 2 }, { "part": "nodes", "nodes": nodes }, { "part": "end" }]);
        plugin.say(parts).ok();
        let offered = apply(&mut plugin);
        assert_eq!((&offered["proposal"], &offered["actions"]), (&json!(seq), &work["actions"]));
        let is_applied = outcome["outcome"] == "applied";
        plugin.acknowledge(&offered, outcome).ok();
        status(&mut plugin, seq, if is_applied { "applied" } else { "failed" });
    }
}

#[test]
fn second_copies_of_updates_that_arrive_late_leave_the_place_as_it_is() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    let begin = json!({ "part": "begin", "total": 1 });
    let nodes = json!({
        "classes": ["Workspace"], "ids": ["studio:1"], "parents": [0], "class": [0],
        "names": ["Workspace"],
    });
    // All requests of a snapshot have one version.
    for part in [&begin, &json!({ "part": "nodes", "nodes": nodes }), &begin] {
        plugin.say_as(1, json!([part])).ok();
    }
    let refused = plugin.say_as(1, json!([{ "part": "end" }]));
    assert_eq!(refused.status, 409, "{}", refused.body);
    assert!(refused.body.to_string().contains("ended after 0 of them"), "{}", refused.body);
    plugin.tell_place();
    let gone = json!([{ "part": "removed", "id": "studio:2" }]);
    plugin.say(gone.clone()).ok();
    let back = json!({
        "part": "added", "id": "studio:2", "parent": "studio:1", "class": "Part", "name": "Wall",
    });
    plugin.say(json!([back])).ok();
    plugin.say_as(plugin.version - 1, gone).ok();
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    proposal(&mut plugin);
}

#[test]
fn two_daemons_do_not_share_a_ledger_or_a_port() {
    let (home, daemon) = daemon();
    let path = home.path().display().to_string();
    let second = home.run(&["serve", "--port", "0", "--home", &path], "");
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains("already serves this ledger (process"), "{}", second.stderr);
    let port = daemon.port.to_string();
    let other = Home::new();
    let second = other.run(&["serve", "--port", &port], "");
    assert_eq!(second.code, 1);
    assert!(second.stderr.contains("in use by another Vector"), "{}", second.stderr);
}

#[test]
fn checkpoint_restore_is_a_proposal() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let make = json!({ "session": "window-1", "label": "before" });
    let checkpoint = plugin.call("POST", "/api/checkpoints", &make).ok();
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let seq = proposal(&mut plugin);
    plugin.decide(seq, json!({ "say": "approve" })).ok();
    let work = apply(&mut plugin);
    plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": "Tower" }])).ok();
    plugin.acknowledge(&work, acted("studio:2")).ok();
    status(&mut plugin, seq, "applied");
    let listed = plugin.call("GET", "/api/checkpoints", &Json::Null).ok();
    let labels: Vec<_> =
        listed["checkpoints"].as_array().unwrap().iter().map(|it| it["label"].clone()).collect();
    assert_eq!(labels, ["rename game.Workspace.Wall to Tower", "before"]);
    let folder = home.path().display().to_string();
    let cli = |args: &[&str]| home.run(&[&["checkpoint", "--home", &folder], args].concat(), "");
    assert!(cli(&["--list"]).stdout.contains("  before\n"), "{}", cli(&["--list"]).stdout);
    assert!(cli(&["later"]).stdout.starts_with("Created checkpoint "));
    let number = checkpoint["seq"].to_string();
    let restored = cli(&["--restore", &number, "--no-wait"]);
    assert!(restored.stdout.contains("proposes the restore"), "{}", restored.stderr);
    let back = proposal(&mut plugin);
    plugin.decide(back, json!({ "say": "approve" })).ok();
    let work = apply(&mut plugin);
    assert_eq!(work["actions"][0]["props"]["Name"], "Wall");
}

/// Studio and the daemon were both closed: the place is the same, the window is a new one.
#[test]
fn checkpoint_is_found_by_place_in_new_window() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let make = json!({ "session": "window-1", "label": "before" });
    let checkpoint = plugin.call("POST", "/api/checkpoints", &make).ok()["seq"].clone();
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let seq = proposal(&mut plugin);
    plugin.decide(seq, json!({ "say": "approve" })).ok();
    let work = apply(&mut plugin);
    plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": "Tower" }])).ok();
    plugin.acknowledge(&work, acted("studio:2")).ok();
    status(&mut plugin, seq, "applied");
    let credential = plugin.credential.clone();
    drop(daemon);
    let daemon = Daemon::start(binary::vector(), home.path());
    let folder = home.path().display().to_string();
    let cli = |args: &[&str]| home.run(&[&["checkpoint", "--home", &folder], args].concat(), "");
    let number = checkpoint.to_string();
    let closed = cli(&["--list"]).stdout;
    assert!(!closed.contains("before"), "its place is not open: {closed}");
    let refused = cli(&["--restore", &number]);
    assert_eq!(refused.code, 1, "{}", refused.stdout);
    assert!(refused.stderr.contains("is not connected"), "{}", refused.stderr);
    let mut plugin = Plugin::hello(&daemon, "window-2", &credential);
    plugin.tell_place();
    plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": "Tower" }])).ok();
    let listed = cli(&["--list"]).stdout;
    assert!(listed.contains("window-2") && listed.contains("  before\n"), "{listed}");
    assert_eq!(cli(&["--restore", &number, "--no-wait"]).code, 0);
    let back = proposal(&mut plugin);
    let shown = plugin.call("GET", &format!("/api/proposals/{back}"), &Json::Null).ok();
    let title = shown["proposal"]["title"].as_str().unwrap().to_owned();
    assert!(title.ends_with("reverts 1 proposal; changes by others stay"), "{title}");
    plugin.decide(back, json!({ "say": "approve" })).ok();
    let work = apply(&mut plugin);
    assert_eq!(work["actions"][0]["props"]["Name"], "Wall");
}

#[test]
fn dry_run_shows_a_proposal_and_refuses_approval() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let settings = json!({
        "mode": "dangerous", "dry_run": true, "play_check": false, "model": "offline",
    });
    plugin.call("PUT", "/api/settings", &settings).ok();
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let seq = proposal(&mut plugin);
    let answer = plugin.decide(seq, json!({ "say": "approve" }));
    assert_eq!(answer.status, 409);
    assert!(answer.body["message"].as_str().unwrap().starts_with("Dry run"), "{}", answer.body);
    let cancel =
        |seq: u64| plugin.call("POST", &format!("/api/workflows/{seq}/cancel"), &json!({}));
    assert_eq!(cancel(seq).status, 404, "a proposal is no workflow");
    let shown = plugin.call("GET", &format!("/api/proposals/{seq}"), &Json::Null).ok();
    cancel(shown["workflow"].as_u64().unwrap()).ok();
    status(&mut plugin, seq, "withdrawn");
}

#[test]
fn stream_sends_events_to_the_page() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let page = plugin.call("GET", "/api/stream?hold=0", &Json::Null).ok();
    assert_eq!(page["events"], json!([]));
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let seq = proposal(&mut plugin);
    let page = plugin.call("GET", "/api/stream?cursor=0&hold=0", &Json::Null).ok();
    let names: Vec<_> = page["events"].as_array().unwrap().iter().map(name).collect();
    let expected = ["asked", "assistant_start", "assistant_final", "tool_parsed", "tool_valid"];
    assert_eq!(names[..5], expected);
    let all: Vec<String> = daemon.stream(&plugin.token, "cursor=0", names.len());
    let events: Vec<Json> = all.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(events, *page["events"].as_array().unwrap(), "a page hears the same");
    plugin.decide(seq, json!({ "say": "reject" })).ok();
    let path = format!("/api/stream?cursor={}&hold=15", page["cursor"]);
    let mut more = plugin.call("GET", &path, &Json::Null).ok();
    // The event that a decision is due may arrive after the first page.
    if name(&more["events"][0]) == "thinking" && more["events"].as_array().unwrap().len() == 1 {
        let path = format!("/api/stream?cursor={}&hold=15", more["cursor"]);
        more = plugin.call("GET", &path, &Json::Null).ok();
    }
    let names: Vec<_> = more["events"].as_array().unwrap().iter().map(name).collect();
    assert_eq!(names.iter().find(|it| **it != "thinking"), Some(&"proposal_changed"));
}

fn name(event: &Json) -> &str {
    event["event"]["event"].as_str().unwrap()
}
