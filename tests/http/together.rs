//! Several workflows in one Studio place: each sees the place with its own pending proposals, and
//! proposals that touch what was applied for another are replanned.

use std::path::Path;

use scene_schemas::entry::{Entry, Finish, Seq};
use serde_json::{Value as Json, json};
use vector_ledger::{AppendBatch, Ledger};
use vector_tests::agent::Agent;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon, Plugin};

use super::daemon;
use super::flow::{apply, proposal, status};

const EDIT: &str = "replace \"print(1)\" with \"print(2)\" in game.Workspace.Main";
const OTHER_EDIT: &str = "replace \"print(1)\" with \"print(5)\" in game.Workspace.Main";
const RENAME: &str = "rename game.Workspace.Wall to Tower";
const RENAME_SCRIPT: &str = "rename game.Workspace.Main to Start";

/// Sends a request, and returns its workflow and its proposal.
fn ask(plugin: &mut Plugin<'_>, text: &str) -> (u64, u64) {
    let started = plugin.chat(text).ok();
    (started["workflow"].as_u64().unwrap(), proposal(plugin))
}

/// An agent that works on the place beside the person.
struct SceneAgent(Agent);

impl SceneAgent {
    fn new(daemon: &Daemon, home: &Path) -> Self {
        Self(Agent::new(daemon, home, "codex"))
    }

    /// Makes a call, and returns its outcome.
    fn call(&mut self, tool: &str, args: Json) -> Json {
        self.0.call(tool, &args)["outcome"].clone()
    }

    fn propose(&mut self, tool: &str, args: Json) -> u64 {
        self.0.propose(tool, &args)
    }

    fn write(&mut self, source: &str) -> u64 {
        self.propose("write_script", json!({ "path": "game.Workspace.Main", "source": source }))
    }

    fn rename(&mut self, path: &str, name: &str) -> u64 {
        self.propose("rename_instance", json!({ "path": path, "newName": name }))
    }

    /// Proposes a folder, which is additive.
    fn create(&mut self, name: &str) -> u64 {
        let props = json!({ "Name": name });
        let args = json!({ "className": "Folder", "parentPath": "game.Workspace", "props": props });
        self.propose("create_instance", args)
    }
}

fn shown(plugin: &Plugin<'_>, proposal: u64) -> Json {
    plugin.call("GET", &format!("/api/proposals/{proposal}"), &Json::Null).ok()
}

/// The proposals that have to be decided before it.
fn after(plugin: &Plugin<'_>, proposal: u64) -> Json {
    let after = &shown(plugin, proposal)["proposal"]["after"];
    after.as_array().map_or(json!([]), |after| json!(after))
}

/// Waits for the proposal that replaces another one.
#[track_caller]
fn successor(plugin: &mut Plugin<'_>, proposal: u64) -> u64 {
    for _ in 0..60 {
        if let Some(now) = shown(plugin, proposal)["successor"].as_u64() {
            return now;
        }
        plugin.poll_for(1, &[]);
    }
    panic!("proposal {proposal} was not replaced: {}", shown(plugin, proposal));
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
fn second_proposal_of_a_task_is_planned_on_the_first_and_applied_after() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let mut agent = SceneAgent::new(&daemon, home.path());
    let (first, second) = (agent.write("print(2)\n"), agent.write("print(3)\n"));
    assert_eq!((after(&plugin, first), after(&plugin, second)), (json!([]), json!([first])));
    let removed = &shown(&plugin, second)["proposal"]["preview"]["scripts"][0]["hunks"][0];
    assert!(removed.to_string().contains("print(2)"), "{removed}");
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
    // The preview was computed on top of the first, and is applied as shown.
    let action = carry_out(&mut plugin, second, "studio:3", text("print(3)\n"));
    assert_eq!(action["text"], "print(3)\n");
}

#[test]
fn proposals_of_a_task_that_touch_nothing_common_are_decided_in_any_order() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let mut agent = SceneAgent::new(&daemon, home.path());
    let all = [agent.write("print(2)\n"), agent.create("Coins"), agent.create("Lights")];
    assert_eq!(all.map(|it| after(&plugin, it)), [(); 3].map(|()| json!([])));
    let [edit, coins, lights] = all;
    let added = |id: &str, name: &str| json!([{ "part": "added", "id": id, "parent": "studio:1", "class": "Folder", "name": name }]);
    carry_out(&mut plugin, lights, "studio:9", added("studio:9", "Lights"));
    plugin.decide(coins, json!({ "say": "reject" })).ok();
    assert_eq!(shown(&plugin, edit)["status"], "waiting");
    let action = carry_out(&mut plugin, edit, "studio:3", text("print(2)\n"));
    assert_eq!(action["text"], "print(2)\n");
}

#[test]
fn task_sees_the_place_without_the_pending_proposals_of_others() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let mut agent = SceneAgent::new(&daemon, home.path());
    let (one, first) = ask(&mut plugin, EDIT);
    let read = agent.call("read_script", json!({ "path": "game.Workspace.Main" }));
    let answer = &read["answer"];
    assert!(answer.to_string().contains("print(1)"), "{read}");
    let by = format!("Proposal {first} by offline, pending, changes it.");
    assert_eq!(answer["pendingOfOthers"], json!([by]));
    let unrelated = agent.call("find_instances", json!({ "selector": "Part" }));
    assert_eq!(unrelated["answer"]["total"], 1, "{unrelated}");
    assert_eq!(unrelated["answer"]["pendingOfOthers"], Json::Null, "{unrelated}");
    let second = agent.write("print(1)\nprint(9)\n");
    assert_eq!(after(&plugin, second), json!([]));
    let touching = |seq: u64, by: &str| {
        let title = shown(&plugin, seq)["proposal"]["title"].clone();
        json!([{ "seq": seq, "author": by, "title": title }])
    };
    assert_eq!(shown(&plugin, first)["touched_by"], touching(second, "codex"));
    assert_eq!(shown(&plugin, second)["touched_by"], touching(first, "offline"));
    let card = plugin.call("GET", &format!("/api/proposals/{first}/card"), &Json::Null).ok();
    let note = format!(
        "Proposal {second} by codex concerns the same; when one is applied, the rest is replanned"
    );
    assert_eq!(card["notes"], json!([note]));
    // Whichever is applied first, the other is planned on it.
    carry_out(&mut plugin, first, "studio:3", text("print(2)\n"));
    until_finished(&mut plugin, one);
    let why = format!(
        "Proposal {first} was applied and touches this; it is replanned. The new plan was refused: \
         write_script: The same lines of game.Workspace.Main have changed since this was requested. \
         Read it again and redo the edit."
    );
    // The other one is planned again after the task has ended.
    let is_planned = |plugin: &mut Plugin<'_>| {
        shown(plugin, second)["reason"] == why || {
            plugin.poll_for(1, &[]);
            false
        }
    };
    assert!((0..60).any(|_| is_planned(&mut plugin)), "{}", shown(&plugin, second)["reason"]);
    let again = agent.write("print(2)\nprint(9)\n");
    let action = carry_out(&mut plugin, again, "studio:3", text("print(2)\nprint(9)\n"));
    assert_eq!(action["text"], "print(2)\nprint(9)\n");
}

#[test]
fn both_proposals_can_be_approved_before_first_is_applied() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let mut agent = SceneAgent::new(&daemon, home.path());
    let [first, second, third] =
        ["print(2)\n", "print(3)\n", "print(4)\n"].map(|it| agent.write(it));
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
fn only_proposals_on_top_of_a_rejected_one_are_replanned() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let mut agent = SceneAgent::new(&daemon, home.path());
    let first = agent.rename("game.Workspace.Wall", "Tower");
    let second = agent.rename("game.Workspace.Main", "Start");
    // It is called as the first one would be.
    let third = agent.create("Tower");
    let [on_none, on_first] = [second, third].map(|it| after(&plugin, it));
    assert_eq!((on_none, on_first), (json!([]), json!([first])));
    plugin.decide(first, json!({ "say": "reject", "reason": "not now" })).ok();
    let again = successor(&mut plugin, third);
    let why = format!("It was based on proposal {first}, and is replanned without it.");
    assert_eq!(shown(&plugin, third)["reason"], why);
    assert_eq!(after(&plugin, again), json!([]));
    assert_eq!(approve(&plugin, third).status, 409);
    assert_eq!(shown(&plugin, second)["status"], "waiting");
    let action = carry_out(&mut plugin, second, "studio:3", renamed("studio:3", "Start"));
    assert_eq!(action["props"]["Name"], "Start");
}

#[test]
fn taking_a_part_replans_proposals_on_the_whole() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let mut agent = SceneAgent::new(&daemon, home.path());
    let lines = |changed: &[usize]| -> String {
        let line = |at| if changed.contains(&at) { format!("-- {at}\n") } else { "\n".to_owned() };
        (1..=30).map(line).collect()
    };
    let below = agent.write(&lines(&[]));
    let whole = agent.write(&lines(&[1, 30]));
    let (beside, on_top) = (agent.create("Beside"), agent.write(&lines(&[1, 15, 30])));
    let of = [whole, beside, on_top].map(|it| after(&plugin, it));
    assert_eq!(of, [json!([below]), json!([]), json!([below, whole])]);
    let parts = json!([{ "part": "hunk", "script": 0, "hunk": 0 }]);
    let taken = plugin.decide(whole, json!({ "say": "take", "parts": parts })).ok();
    let taken = taken["proposal"].as_u64().unwrap();
    let again = successor(&mut plugin, on_top);
    assert_eq!(after(&plugin, taken), json!([below]));
    assert_eq!(after(&plugin, again), json!([below, taken]));
    assert_eq!(approve(&plugin, again).status, 409);
    assert_eq!(shown(&plugin, beside)["status"], "waiting");
    let folders = agent.call("find_instances", json!({ "selector": "Folder" }));
    assert_eq!(folders["answer"]["total"], 1, "the agent still sees it: {folders}");
}

#[test]
fn one_workflow_ends_while_another_waits() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let (one, first) = ask(&mut plugin, RENAME);
    let (other, second) = ask(&mut plugin, RENAME_SCRIPT);
    let (third, _) = ask(&mut plugin, "rename game.Workspace.Main to Begin");
    act(&plugin, third, "cancel").ok();
    assert_eq!(shown(&plugin, second)["status"], "waiting");
    assert_eq!(act(&plugin, third, "cancel").status, 409);
    assert_eq!(act(&plugin, one, "clear").ok()["seq"], one);
    status(&mut plugin, first, "rejected");
    assert_eq!(shown(&plugin, second)["status"], "waiting", "it does not depend on that one");
    act(&plugin, other, "cancel").ok();
    status(&mut plugin, second, "withdrawn");
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
    let (other, second) = ask(&mut plugin, RENAME);
    let mut agent = SceneAgent::new(&daemon, home.path());
    let below = agent.create("Lights");
    let args = json!({ "className": "Folder", "parentPath": "game.Workspace.Lights" });
    let above = agent.propose("create_instance", args);
    let credential = plugin.credential.clone();
    daemon.kill();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
    plugin.tell_place();
    assert_eq!((state(&plugin, one), state(&plugin, other)), (json!("waiting"), json!("waiting")));
    assert_eq!(approve(&plugin, above).status, 409, "the order is kept");
    assert_eq!(shown(&plugin, below)["status"], "waiting");
    approve(&plugin, second).ok();
    approve(&plugin, first).ok();
    let work = apply(&mut plugin);
    daemon.kill();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
    plugin.tell_place();
    for _ in 0..2 {
        let offered = apply(&mut plugin);
        let is_edit = offered["proposal"] == first;
        assert!(offered["proposal"] != work["proposal"] || offered["patch_id"] == work["patch_id"]);
        let done = if is_edit { text("print(2)\n") } else { renamed("studio:2", "Tower") };
        plugin.say(done).ok();
        let acted = json!({ "outcome": "applied", "results": [{ "ids": [] }], "version": 9 });
        plugin.acknowledge(&offered, acted).ok();
    }
    status(&mut plugin, second, "applied");
    assert_eq!(shown(&plugin, first)["status"], "applied");
}

#[test]
fn replan_missed_because_of_a_kill_happens_after_restart() {
    let home = Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let (one, first) = ask(&mut plugin, EDIT);
    let (_, second) = ask(&mut plugin, OTHER_EDIT);
    let (_, third) = ask(&mut plugin, RENAME);
    let credential = plugin.credential.clone();
    daemon.kill();
    // As if the daemon had been killed between the application of the first and the replan of the
    // second.
    let ack = serde_json::from_value(json!({ "outcomes": [], "inverse": [] })).unwrap();
    let entries = vec![
        Entry::Applied { proposal: Seq(first), ack },
        Entry::Finished { outcome: Finish::Done, summary: None },
    ];
    let batch = AppendBatch { workflow: Some(Seq(one)), entries, blobs: Vec::new() };
    Ledger::open(home.path()).unwrap().append(batch).unwrap();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
    plugin.tell_place();
    let again = successor(&mut plugin, second);
    let why = format!("Proposal {first} was applied and touches this; it is replanned.");
    assert_eq!(shown(&plugin, second)["reason"], why);
    assert_eq!(shown(&plugin, again)["status"], "waiting");
    assert_eq!(shown(&plugin, third)["status"], "waiting");
}

#[test]
fn checkpoint_is_restored_beside_pending_proposals() {
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
    assert_eq!(after(&plugin, back), json!([]));
    let action = carry_out(&mut plugin, back, "studio:2", renamed("studio:2", "Wall"));
    assert_eq!(action["props"]["Name"], "Wall");
    until_finished(&mut plugin, restored["workflow"].as_u64().unwrap());
    assert_eq!(shown(&plugin, waits)["status"], "waiting");
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
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let settings = json!({
        "mode": "auto", "dry_run": false, "play_check": false, "model": "offline",
    });
    plugin.call("PUT", "/api/settings", &settings).ok();
    let mut agent = SceneAgent::new(&daemon, home.path());
    let first = agent.rename("game.Workspace.Wall", "Tower");
    let args = json!({ "className": "Folder", "parentPath": "game.Workspace.Tower" });
    let on_top = agent.propose("create_instance", args);
    assert!(plugin.poll()["work"].as_array().unwrap().is_empty());
    assert_eq!(shown(&plugin, on_top)["status"], "waiting");
    let beside = agent.create("Coins");
    let work = apply(&mut plugin);
    assert_eq!(work["proposal"], beside, "it depends on none of them");
    let coins = json!([{
        "part": "added", "id": "studio:9", "parent": "studio:1", "class": "Folder", "name": "Coins",
    }]);
    plugin.say(coins).ok();
    let acted = json!({ "outcome": "applied", "results": [{ "ids": ["studio:9"] }], "version": 9 });
    plugin.acknowledge(&work, acted).ok();
    status(&mut plugin, beside, "applied");
    carry_out(&mut plugin, first, "studio:2", renamed("studio:2", "Tower"));
    assert_eq!(apply(&mut plugin)["proposal"], on_top, "it goes by itself then");
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
