//! Reverts that the user requests, in place files, projects and Studio places alike.

use std::fs;

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon, Plugin};
use vector_tests::human::Human;

use super::daemon;
use super::flow::{apply, events, proposal, status};
use super::history::{Bench, ledger};
#[cfg(unix)]
use super::joined::{Joined, both, handed_out};

const FADE: &str = "set Transparency = 0.5 on #Baseplate";
const CLEAR: &str = "set Transparency = 0.25 on #Baseplate";

fn revert(human: &Human, proposal: u64) -> Answer {
    human.call("POST", &format!("/api/proposals/{proposal}/revert"), &json!({}))
}

#[track_caller]
fn refused(answer: &Answer, status: u16, says: &[&str]) {
    let said = format!("{} {}", answer.body["message"], answer.body["hint"]);
    assert_eq!(answer.status, status, "{said}");
    for says in says {
        assert!(said.contains(says), "{said}");
    }
}

#[test]
fn applied_file_proposal_is_reverted_byte_for_byte() {
    let mut bench = Bench::new();
    let before = fs::read(&bench.file).unwrap();
    let done = bench.apply(FADE);
    let after = fs::read(&bench.file).unwrap();
    assert!(before != after);
    let workflow = revert(&bench.human, done).ok()["workflow"].clone();
    let back = bench.human.card();
    let shown = bench.human.shown(back);
    assert_eq!((&shown["workflow"], &shown["status"]), (&workflow, &json!("waiting")));
    assert_eq!(shown["proposal"]["from"], done);
    assert!(fs::read(&bench.file).unwrap() == after, "it waits");
    let again = revert(&bench.human, done);
    refused(
        &again,
        409,
        &[&format!("Proposal {back} reverts proposal {done}"), "Approve or reject"],
    );
    bench.human.approve(back).ok();
    bench.human.until("done");
    assert!(fs::read(&bench.file).unwrap() == before);
    let line = bench.get(&format!("/api/history/{done}"))["line"].clone();
    assert_eq!(line["outcome"], "reverted");
    let again = revert(&bench.human, done);
    refused(&again, 409, &["already reverted", &format!("by proposal {back}")]);
    // A revert can be reverted too.
    revert(&bench.human, back).ok();
    let forth = bench.human.card();
    bench.human.approve(forth).ok();
    bench.human.until_status(forth, "applied");
    assert!(fs::read(&bench.file).unwrap() == after);
    let line = bench.get(&format!("/api/history/{done}"))["line"].clone();
    assert_eq!(line["outcome"], "applied", "it is there again");
}

#[test]
fn checkpoint_restore_marks_its_proposals_as_reverted() {
    let mut bench = Bench::new();
    let untouched = fs::read(&bench.file).unwrap();
    let make = json!({ "session": bench.opened["session"], "label": "before" });
    let checkpoint = bench.human.call("POST", "/api/checkpoints", &make).ok()["seq"].clone();
    let (fade, clear) = (bench.apply(FADE), bench.apply(CLEAR));
    let path = format!("/api/checkpoints/{checkpoint}/restore");
    let go_back = |bench: &mut Bench, proposals: &str| {
        bench.human.call("POST", &path, &json!({})).ok();
        let back = bench.human.card();
        let title = format!("Restore checkpoint {checkpoint}: reverts {proposals}");
        assert_eq!(bench.human.shown(back)["proposal"]["title"], title);
        bench.human.approve(back).ok();
        bench.human.until_status(back, "applied");
        back
    };
    let outcomes = |bench: &Bench, expected: &[(u64, &str)]| {
        for (seq, outcome) in expected {
            let line = bench.get(&format!("/api/history/{seq}"))["line"].clone();
            assert_eq!(line["outcome"], *outcome, "{seq}");
        }
    };
    let back = go_back(&mut bench, "2 proposals");
    assert!(fs::read(&bench.file).unwrap() == untouched, "byte for byte");
    outcomes(&bench, &[(fade, "reverted"), (clear, "reverted"), (back, "applied")]);
    refused(&revert(&bench.human, fade), 409, &[&format!("by proposal {back}")]);
    let log = bench.home.run(&["log"], "").stdout;
    assert_eq!(log.matches(&format!("reverted by {back}")).count(), 2, "{log}");
    let refused = bench.home.run(&["revert", &fade.to_string(), "--yes"], "");
    assert!(refused.stderr.contains(&format!("already reverted by proposal {back}")));
    // A reverted proposal is not part of the next restore.
    let again = bench.apply(CLEAR);
    let second = go_back(&mut bench, "1 proposal");
    assert!(fs::read(&bench.file).unwrap() == untouched);
    outcomes(&bench, &[(again, "reverted"), (back, "applied"), (second, "applied")]);
    // Revert the first restore: the changes that it reverted are applied again.
    revert(&bench.human, back).ok();
    let forth = bench.human.card();
    bench.human.approve(forth).ok();
    bench.human.until_status(forth, "applied");
    let there = [(fade, "applied"), (clear, "applied"), (back, "reverted"), (again, "reverted")];
    outcomes(&bench, &there);
    go_back(&mut bench, "2 proposals");
    assert!(fs::read(&bench.file).unwrap() == untouched);
    outcomes(&bench, &[(fade, "reverted"), (clear, "reverted"), (forth, "applied")]);
}

#[test]
fn refused_reverts_state_the_reason() {
    let mut bench = Bench::new();
    let first = bench.apply(FADE);
    let waits = bench.ask(CLEAR);
    refused(&revert(&bench.human, waits), 409, &["was never applied", "history"]);
    bench.human.decide(waits, &json!({ "say": "reject" })).ok();
    bench.human.until("done");
    refused(&revert(&bench.human, waits), 409, &["was never applied"]);
    refused(&revert(&bench.human, 1), 409, &["Entry 1 is not a proposal"]);
    refused(&revert(&bench.human, 9_999), 404, &["9999"]);
    // A later proposal is on top of this one: the run that tries the revert reports the failure.
    bench.apply(CLEAR);
    let workflow = revert(&bench.human, first).ok()["workflow"].clone();
    let view = bench.ended(&workflow);
    assert_eq!((&view["state"], &view["outcome"]), (&json!("finished"), &json!("failed")));
    let refusals = bench.get("/api/history?kind=refused");
    let said = refusals["entries"][0]["title"].as_str().unwrap().to_owned();
    assert!(said.contains("cannot be reverted") && said.contains("changed"), "{said}");
    // A daemon that has not opened the place.
    let Bench { home, daemon, file, .. } = bench;
    daemon.kill();
    let daemon = Daemon::start(binary::vector(), &ledger(&home));
    let human = Human::of(&daemon, &ledger(&home));
    refused(
        &revert(&human, first),
        404,
        &["place.rbxlx is not open", "Chat on the page", "vector serve --place"],
    );
    human.open(&file).ok();
    revert(&human, first).ok();
}

#[test]
fn revert_restores_a_script_file_of_a_project() {
    let home = Home::new();
    let project = home.path().join("game");
    fs::create_dir_all(project.join("src")).unwrap();
    let tree = json!({ "name": "game", "tree": { "$className": "DataModel",
        "ServerScriptService": { "Game": { "$path": "src" } } } });
    fs::write(project.join("default.project.json"), tree.to_string()).unwrap();
    let file = project.join("src/Main.server.luau");
    let text = "local speed = 1\r\nprint(speed)\r\n";
    fs::write(&file, text).unwrap();
    let daemon = Daemon::start(binary::vector(), &ledger(&home));
    let mut human = Human::of(&daemon, &ledger(&home));
    let opened =
        human.call("POST", "/api/open", &json!({ "project": binary::path_there(&project) })).ok();
    human.ask(
        &opened,
        "replace \"speed = 1\" with \"speed = 2\" in game.ServerScriptService.Game.Main",
    );
    let done = human.card();
    human.approve(done).ok();
    human.until_status(done, "applied");
    assert_ne!(fs::read_to_string(&file).unwrap(), text);
    revert(&human, done).ok();
    let back = human.card();
    human.approve(back).ok();
    human.until_status(back, "applied");
    assert_eq!(fs::read_to_string(&file).unwrap(), text);
}

/// Approves and carries out a proposal that renames an instance, and returns the action.
fn carry_out(plugin: &mut Plugin<'_>, seq: u64, id: &str, name: &str) -> Json {
    plugin.decide(seq, json!({ "say": "approve" })).ok();
    let work = apply(plugin);
    assert_eq!(work["proposal"], seq);
    plugin.say(json!([{ "part": "renamed", "id": id, "name": name }])).ok();
    let acted = json!({ "outcome": "applied", "results": [{ "ids": [id] }], "version": 9 });
    plugin.acknowledge(&work, acted).ok();
    status(plugin, seq, "applied");
    work["actions"][0].clone()
}

#[test]
fn studio_proposal_is_reverted_in_studio() {
    let (home, daemon) = daemon();
    let human = Human::of(&daemon, home.path());
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let done = proposal(&mut plugin);
    carry_out(&mut plugin, done, "studio:2", "Tower");
    revert(&human, done).ok();
    let back = proposal(&mut plugin);
    let action = carry_out(&mut plugin, back, "studio:2", "Wall");
    assert_eq!((&action["action"], &action["props"]["Name"]), (&json!("set"), &json!("Wall")));
    refused(&revert(&human, done), 409, &["already reverted"]);
    // An undo in Studio can only be redone in Studio.
    let undone = json!([{ "part": "undone", "recording": format!("Vector {back}") }]);
    plugin.say(undone).ok();
    refused(&revert(&human, back), 409, &["was undone in Studio", "redo it"]);
}

#[test]
fn revert_is_refused_until_studio_is_connected() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let done = proposal(&mut plugin);
    carry_out(&mut plugin, done, "studio:2", "Tower");
    let credential = plugin.credential.clone();
    daemon.kill();
    let daemon = Daemon::start(binary::vector(), home.path());
    let human = Human::of(&daemon, home.path());
    refused(&revert(&human, done), 404, &["Test is not connected", "Open it in Studio"]);
    // Studio was closed meanwhile: a new window has the same place, with other instance ids.
    let mut plugin = Plugin::hello(&daemon, "window-2", &credential);
    let nodes = json!({
        "classes": ["Workspace", "Part"], "ids": ["studio:11", "studio:12"], "parents": [0, 1],
        "class": [0, 1], "names": ["Workspace", "Tower"],
    });
    let parts = json!([{ "part": "begin", "total": 2 }, { "part": "nodes", "nodes": nodes }, { "part": "end" }]);
    plugin.say(parts).ok();
    revert(&human, done).ok();
    let back = proposal(&mut plugin);
    let action = carry_out(&mut plugin, back, "studio:12", "Wall");
    assert_eq!(action["props"]["Name"], "Wall");
}

#[cfg(unix)]
#[test]
fn proposal_for_studio_and_files_is_reverted_in_both() {
    let mut joined = Joined::new(both());
    let home = joined.home();
    let file = joined.file("Main.server.luau");
    let before = fs::read_to_string(&file).unwrap();
    let mut plugin = joined.plugin();
    let (done, work) = handed_out(&mut plugin);
    plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": "Tower" }])).ok();
    let acted = json!({ "outcome": "applied", "results": [{ "ids": ["studio:2"] }], "version": 9 });
    plugin.acknowledge(&work, acted).ok();
    status(&mut plugin, done, "applied");
    assert_ne!(fs::read_to_string(&file).unwrap(), before);
    let human = Human::of(plugin.daemon, &home);
    revert(&human, done).ok();
    let back = proposal(&mut plugin);
    let files = human.shown(back)["proposal"]["files"]["files"].clone();
    assert_eq!(files, json!(["src/Main.server.luau"]));
    let action = carry_out(&mut plugin, back, "studio:2", "Wall");
    assert_eq!(action["props"]["Name"], "Wall");
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

/// Sends a place with two parts, the first of which has this name and the second is Pillar.
fn tell_pillars(plugin: &mut Plugin<'_>, [workspace, first, second]: [&str; 3], name: &str) {
    let nodes = json!({
        "classes": ["Workspace", "Part"], "ids": [workspace, first, second], "parents": [0, 1, 1],
        "class": [0, 1, 1], "names": ["Workspace", name, "Pillar"],
    });
    let begin = json!({ "part": "begin", "total": 3 });
    plugin.say(json!([begin, { "part": "nodes", "nodes": nodes }, { "part": "end" }])).ok();
}

#[test]
fn same_named_instance_is_reverted_while_its_id_lasts() {
    let (home, daemon) = daemon();
    let human = Human::of(&daemon, home.path());
    let mut plugin = Plugin::pair(&daemon, "window-1");
    tell_pillars(&mut plugin, ["studio:1", "studio:2", "studio:3"], "Wall");
    plugin.chat("rename game.Workspace.Wall to Pillar").ok();
    let done = proposal(&mut plugin);
    carry_out(&mut plugin, done, "studio:2", "Pillar");
    revert(&human, done).ok();
    let back = proposal(&mut plugin);
    let shown = human.shown(back)["proposal"]["commands"][0]["target"].clone();
    assert_eq!(shown, json!({ "id": "studio:2", "path": "game.Workspace.Pillar[1]" }));
    plugin.decide(back, json!({ "say": "reject" })).ok();
    let credential = plugin.credential.clone();
    let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
    tell_pillars(&mut plugin, ["studio:11", "studio:12", "studio:13"], "Pillar");
    revert(&human, done).ok();
    let error = plugin.until(|polled| events(polled, "tool_error").next().cloned());
    let said = error["reason"].as_str().unwrap();
    assert!(said.contains("game.Workspace.Pillar[1] matches several instances"), "{said}");
}
