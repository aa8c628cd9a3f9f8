//! Several workflows in one Studio place: each is planned on top of the pending proposals, and
//! replanned if one of those is gone.

use scene_schemas::entry::{Entry, Finish, Seq};
use serde_json::{Value as Json, json};
use vector_ledger::{AppendBatch, Ledger};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon, Plugin};

use super::daemon;
use super::flow::{apply, events, proposal, status};

const EDIT: &str = "replace \"print(1)\" with \"print(2)\" in game.Workspace.Main";
const EDIT_AGAIN: &str = "replace \"print(2)\" with \"print(3)\" in game.Workspace.Main";
const RENAME: &str = "rename game.Workspace.Wall to Tower";
const RENAME_SCRIPT: &str = "rename game.Workspace.Main to Start";

/// Sends a request, and returns its workflow and its proposal.
fn ask(plugin: &mut Plugin<'_>, text: &str) -> (u64, u64) {
    let started = plugin.chat(text).ok();
    (started["workflow"].as_u64().unwrap(), proposal(plugin))
}

fn shown(plugin: &Plugin<'_>, proposal: u64) -> Json {
    plugin.call("GET", &format!("/api/proposals/{proposal}"), &Json::Null).ok()
}

/// The proposals that it was planned on top of.
fn after(plugin: &Plugin<'_>, proposal: u64) -> Json {
    let after = &shown(plugin, proposal)["proposal"]["after"];
    after.as_array().map_or(json!([]), |after| json!(after))
}

fn approve(plugin: &Plugin<'_>, proposal: u64) -> Answer {
    plugin.decide(proposal, json!({ "say": "approve" }))
}

fn state(plugin: &Plugin<'_>, workflow: u64) -> Json {
    plugin.call("GET", &format!("/api/workflows/{workflow}"), &Json::Null).ok()["state"].clone()
}

fn until_finished(plugin: &mut Plugin<'_>, workflow: u64) {
    for _ in 0..60 {
        if state(plugin, workflow) == "finished" {
            return;
        }
        plugin.poll_for(1, &[]);
    }
    panic!("workflow {workflow} never ended");
}

fn act(plugin: &Plugin<'_>, workflow: u64, verb: &str) -> Answer {
    plugin.call("POST", &format!("/api/workflows/{workflow}/{verb}"), &json!({}))
}

fn renamed(id: &str, name: &str) -> Json {
    json!([{ "part": "renamed", "id": id, "name": name }])
}

fn text(text: &str) -> Json {
    json!([{ "part": "sources", "scripts": [{ "id": "studio:3", "text": text }] }])
}

/// Approves a proposal, carries it out, and returns the first of its actions.
fn carry_out(plugin: &mut Plugin<'_>, seq: u64, id: &str, said: Json) -> Json {
    let action = act_out(plugin, seq, id, said);
    status(plugin, seq, "applied");
    action
}

/// Like `carry_out`, but does not wait for the applied status: the next card may come in the same
/// poll.
fn act_out(plugin: &mut Plugin<'_>, seq: u64, id: &str, said: Json) -> Json {
    approve(plugin, seq).ok();
    let work = apply(plugin);
    assert_eq!(work["proposal"], seq);
    plugin.say(said).ok();
    let acted = json!({ "outcome": "applied", "results": [{ "ids": [id] }], "version": 9 });
    plugin.acknowledge(&work, acted).ok();
    work["actions"][0].clone()
}

#[test]
fn second_proposal_is_planned_on_first_and_applied_after() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let (one, first) = ask(&mut plugin, EDIT);
    let (other, second) = ask(&mut plugin, EDIT_AGAIN);
    assert_ne!(one, other);
    assert_eq!((after(&plugin, first), after(&plugin, second)), (json!([]), json!([first])));
    let listed = plugin.call("GET", "/api/proposals", &Json::Null).ok();
    let listed: Vec<&Json> =
        listed["proposals"].as_array().unwrap().iter().map(|it| &it["workflow"]).collect();
    assert_eq!(listed, [one, other]);
    let early = approve(&plugin, second);
    assert_eq!((early.status, &early.body["kind"]), (409, &json!("settled")));
    let title = shown(&plugin, first)["proposal"]["title"].as_str().unwrap().to_owned();
    let said = format!(
        "Proposal {second} was planned on top of proposal {first}, which is pending: {title}."
    );
    assert_eq!(early.body["message"], said);
    assert_eq!(early.body["hint"], format!("Approve or reject proposal {first} first."));
    let action = carry_out(&mut plugin, first, "studio:3", text("print(2)\n"));
    assert_eq!(action["text"], "print(2)\n");
    until_finished(&mut plugin, one);
    assert_eq!(state(&plugin, other), "waiting");
    // The preview was computed on top of the first, and is applied as shown.
    let action = carry_out(&mut plugin, second, "studio:3", text("print(3)\n"));
    assert_eq!(action["text"], "print(3)\n");
    until_finished(&mut plugin, other);
}

#[test]
fn both_proposals_can_be_approved_before_first_is_applied() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let (_, first) = ask(&mut plugin, EDIT);
    let (_, second) = ask(&mut plugin, EDIT_AGAIN);
    let (_, third) = ask(&mut plugin, "replace \"print(3)\" with \"print(4)\" in all scripts");
    approve(&plugin, first).ok();
    approve(&plugin, second).ok();
    for (seq, now) in [(first, "print(2)\n"), (second, "print(3)\n")] {
        let work = apply(&mut plugin);
        assert_eq!((&work["proposal"], &work["actions"][0]["text"]), (&json!(seq), &json!(now)));
        let others = plugin.poll()["work"].as_array().unwrap().len();
        assert_eq!(others, 1, "one after the other");
        plugin.say(text(now)).ok();
        let acted = json!({ "outcome": "applied", "results": [{ "ids": [] }], "version": 9 });
        plugin.acknowledge(&work, acted).ok();
    }
    status(&mut plugin, second, "applied");
    assert_eq!(shown(&plugin, third)["status"], "waiting", "it stands on both");
    let action = carry_out(&mut plugin, third, "studio:3", text("print(4)\n"));
    assert_eq!(action["text"], "print(4)\n");
}

#[test]
fn proposals_on_top_of_a_rejected_one_are_replanned() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let (_, first) = ask(&mut plugin, RENAME);
    let (_, second) = ask(&mut plugin, RENAME_SCRIPT);
    let (_, third) = ask(&mut plugin, "grid 2x2 of neon parts");
    assert_eq!(after(&plugin, third), json!([first, second]));
    let before = shown(&plugin, second)["proposal"]["patch_id"].clone();
    plugin.decide(first, json!({ "say": "reject", "reason": "not now" })).ok();
    let why =
        |seq: u64| json!(format!("It was based on proposal {seq}, and is replanned without it."));
    let (mut again, mut gone) = (Vec::new(), Vec::new());
    plugin.until(|polled| {
        again.extend(events(polled, "proposal_mapped").map(|it| it["proposal"].as_u64().unwrap()));
        let withdrawn = events(polled, "proposal_changed").filter(|it| it["status"] == "withdrawn");
        gone.extend(withdrawn.cloned());
        (again.len() == 2).then_some(())
    });
    let [second_again, third_again] = again[..] else { unreachable!() };
    assert_eq!(after(&plugin, second_again), json!([]));
    assert_eq!(after(&plugin, third_again), json!([second_again]));
    assert_ne!(shown(&plugin, second_again)["proposal"]["patch_id"], before);
    let gone: Vec<(u64, &Json)> =
        gone.iter().map(|it| (it["proposal"].as_u64().unwrap(), &it["reason"])).collect();
    assert_eq!(gone, [(second, &why(first)), (third, &why(second))]);
    assert_eq!(approve(&plugin, second).status, 409);
    let action = carry_out(&mut plugin, second_again, "studio:3", renamed("studio:3", "Start"));
    assert_eq!(action["props"]["Name"], "Start");
}

#[test]
fn taking_a_part_replans_proposals_on_the_whole() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let (_, model) = ask(&mut plugin, "grid 9x9 of neon parts named Lights");
    let added = json!([{
        "part": "added", "id": "studio:9", "parent": "studio:1", "class": "Model", "name": "Lights",
    }]);
    act_out(&mut plugin, model, "studio:9", added);
    let whole = proposal(&mut plugin);
    let (_, second) = ask(&mut plugin, RENAME);
    let parts = json!([{ "part": "command", "command": 0 }, { "part": "command", "command": 2 }]);
    let taken = plugin.decide(whole, json!({ "say": "take", "parts": parts })).ok();
    let taken = taken["proposal"].as_u64().unwrap();
    let again = plugin.until(|polled| {
        let mapped = events(polled, "proposal_mapped").map(|it| it["proposal"].as_u64().unwrap());
        mapped.filter(|seq| *seq > taken).last()
    });
    assert!(again > second);
    assert_eq!(after(&plugin, again), json!([taken]));
    assert_eq!(approve(&plugin, again).status, 409);
}

#[test]
fn one_workflow_ends_while_another_waits() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let (one, first) = ask(&mut plugin, RENAME);
    let (other, second) = ask(&mut plugin, RENAME_SCRIPT);
    let (third, _) = ask(&mut plugin, "rename game.Workspace.Start to Begin");
    act(&plugin, third, "cancel").ok();
    assert_eq!(shown(&plugin, second)["status"], "waiting", "it did not stand on that one");
    assert_eq!(act(&plugin, third, "cancel").status, 409);
    assert_eq!(act(&plugin, one, "clear").ok()["seq"], one);
    // The next card may come in the same poll as the rejection of the first.
    let again = proposal(&mut plugin);
    assert_eq!(shown(&plugin, first)["status"], "rejected");
    assert_eq!(after(&plugin, again), json!([]));
    act(&plugin, other, "cancel").ok();
    status(&mut plugin, again, "withdrawn");
    let (_, last) = ask(&mut plugin, "rename game.Workspace.Main to Last");
    carry_out(&mut plugin, last, "studio:3", renamed("studio:3", "Last"));
}

#[test]
fn killed_daemon_resumes_all_workflows() {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let (one, first) = ask(&mut plugin, EDIT);
    let (other, second) = ask(&mut plugin, EDIT_AGAIN);
    let credential = plugin.credential.clone();
    daemon.kill();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
    plugin.tell_place();
    assert_eq!((state(&plugin, one), state(&plugin, other)), (json!("waiting"), json!("waiting")));
    assert_eq!(approve(&plugin, second).status, 409, "the order is kept");
    approve(&plugin, first).ok();
    approve(&plugin, second).ok();
    let work = apply(&mut plugin);
    daemon.kill();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
    plugin.tell_place();
    for now in ["print(2)\n", "print(3)\n"] {
        let offered = apply(&mut plugin);
        assert_eq!(offered["actions"][0]["text"], now);
        assert!(offered["proposal"] != first || offered["patch_id"] == work["patch_id"]);
        plugin.say(text(now)).ok();
        let acted = json!({ "outcome": "applied", "results": [{ "ids": [] }], "version": 9 });
        plugin.acknowledge(&offered, acted).ok();
    }
    status(&mut plugin, second, "applied");
}

#[test]
fn replan_missed_because_of_a_kill_happens_after_restart() {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let (one, first) = ask(&mut plugin, RENAME);
    let (_, second) = ask(&mut plugin, RENAME_SCRIPT);
    let credential = plugin.credential.clone();
    daemon.kill();
    // As if the daemon had been killed between the rejection of the first and the replan of the
    // second.
    let entries = vec![
        Entry::Rejected { proposal: Seq(first), reason: None },
        Entry::Finished { outcome: Finish::Done, summary: None },
    ];
    let batch = AppendBatch { workflow: Some(Seq(one)), entries, blobs: Vec::new() };
    Ledger::open(home.path()).unwrap().append(batch).unwrap();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
    plugin.tell_place();
    let again = proposal(&mut plugin);
    assert_eq!(shown(&plugin, second)["status"], "withdrawn");
    assert_eq!(after(&plugin, again), json!([]));
}

#[test]
fn checkpoint_restore_is_planned_on_top_of_pending_proposals() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let make = json!({ "session": "window-1", "label": "before" });
    let checkpoint = plugin.call("POST", "/api/checkpoints", &make).ok();
    let (_, done) = ask(&mut plugin, RENAME);
    carry_out(&mut plugin, done, "studio:2", renamed("studio:2", "Tower"));
    let (_, waits) = ask(&mut plugin, RENAME_SCRIPT);
    let restore = format!("/api/checkpoints/{}/restore", checkpoint["seq"]);
    let restored = plugin.call("POST", &restore, &json!({})).ok();
    let back = proposal(&mut plugin);
    assert_eq!(after(&plugin, back), json!([waits]));
    assert_eq!(approve(&plugin, back).status, 409);
    plugin.decide(waits, json!({ "say": "reject" })).ok();
    let back = proposal(&mut plugin);
    let action = carry_out(&mut plugin, back, "studio:2", renamed("studio:2", "Wall"));
    assert_eq!(action["props"]["Name"], "Wall");
    until_finished(&mut plugin, restored["workflow"].as_u64().unwrap());
}

/// Waits for a question to Studio.
fn asked(plugin: &mut Plugin<'_>, want: &str) -> Json {
    plugin.until(|polled| {
        let work = polled["work"].as_array().unwrap();
        work.iter().find(|work| work["query"]["want"] == want).cloned()
    })
}

fn answer(plugin: &mut Plugin<'_>, question: &Json, answer: Json) {
    plugin.say(json!([{ "part": "answered", "work": question["number"], "answer": answer }])).ok();
}

#[test]
fn selection_is_asked_separately_for_each_workflow() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    // The first question is still unanswered when the second request arrives.
    let one = plugin.chat("delete the selection").ok()["workflow"].clone();
    let question = asked(&mut plugin, "selection");
    let other = plugin.chat("delete the selection").ok()["workflow"].clone();
    answer(
        &mut plugin,
        &question,
        json!({ "answer": "selection", "ids": ["studio:3"], "count": 1 }),
    );
    let first = proposal(&mut plugin);
    let question = asked(&mut plugin, "selection");
    answer(
        &mut plugin,
        &question,
        json!({ "answer": "selection", "ids": ["studio:2"], "count": 1 }),
    );
    let second = proposal(&mut plugin);
    let first = shown(&plugin, first);
    let second = shown(&plugin, second);
    assert_eq!((&first["workflow"], &second["workflow"]), (&one, &other));
    let meant = |shown: &Json| shown["proposal"]["implicit_target"]["target"]["path"].clone();
    assert_eq!(meant(&first), "game.Workspace.Main");
    assert_eq!(meant(&second), "game.Workspace.Wall");
}

#[test]
fn auto_mode_holds_proposals_on_top_of_pending_ones() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let settings = json!({
        "mode": "auto", "dry_run": false, "play_check": false, "model": "offline",
    });
    plugin.call("PUT", "/api/settings", &settings).ok();
    let (_, first) = ask(&mut plugin, RENAME);
    let (_, second) = ask(&mut plugin, "grid 2x2 of neon parts");
    assert!(plugin.poll()["work"].as_array().unwrap().is_empty());
    assert_eq!(shown(&plugin, second)["status"], "waiting");
    carry_out(&mut plugin, first, "studio:2", renamed("studio:2", "Tower"));
    assert_eq!(apply(&mut plugin)["proposal"], second, "it goes by itself then");
}

#[test]
fn undo_reaches_the_workflow_of_its_proposal() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let (one, model) = ask(&mut plugin, "grid 2x2 of neon parts named Lights");
    let added = json!([{
        "part": "added", "id": "studio:9", "parent": "studio:1", "class": "Model", "name": "Lights",
    }]);
    act_out(&mut plugin, model, "studio:9", added);
    proposal(&mut plugin);
    assert_eq!(shown(&plugin, model)["status"], "applied");
    let (other, _) = ask(&mut plugin, RENAME);
    plugin.say(json!([{ "part": "undone", "recording": format!("Vector {model}") }])).ok();
    status(&mut plugin, model, "undone");
    plugin.say(json!([{ "part": "redone", "recording": format!("Vector {model}") }])).ok();
    status(&mut plugin, model, "applied");
    assert_eq!((state(&plugin, one), state(&plugin, other)), (json!("waiting"), json!("waiting")));
}

#[test]
fn request_sent_twice_starts_one_workflow() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let send = |plugin: &Plugin<'_>, request: &str| {
        let chat = json!({
            "session": plugin.session, "epoch": plugin.epoch, "text": RENAME, "request": request,
        });
        plugin.call("POST", "/api/chat", &chat).ok()["workflow"].clone()
    };
    let one = send(&plugin, "a");
    assert_eq!(send(&plugin, "a"), one, "its answer may have been lost");
    proposal(&mut plugin);
    assert_eq!(send(&plugin, "a"), one);
    assert_ne!(send(&plugin, "b"), one, "the same words, meant a second time");
}
