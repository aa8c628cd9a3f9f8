//! A Studio place that Rojo syncs with a project which the daemon has open: script changes go to
//! the files, the rest to Studio, and either both are applied or neither.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use vector_tests::binary;
use vector_tests::daemon::{Daemon, Plugin};

use super::flow::{apply, proposal, status};
use super::models::{Bench, calls, choose, plan, says};
use crate::models::server::Reply;

const MAIN: &str = "local speed = 1\r\nprint(speed)\r\n";
const OTHER: &str = "return {}\n";
const EDIT: &str = "replace \"speed = 1\" with \"speed = 2\" in game.ServerScriptService.Game.Main";

/// A daemon with a project, and a Studio place that Rojo has synced with it.
pub(super) struct Joined {
    bench: Bench,
    credential: Option<String>,
}

impl Joined {
    pub(super) fn new(replies: Vec<Reply>) -> Self {
        Self::with(replies, json!({}))
    }

    fn with(replies: Vec<Reply>, fields: Json) -> Self {
        let mut bench = Bench::prepared(replies, "");
        let project = bench.home.path().join("game");
        fs::create_dir_all(project.join("src")).unwrap();
        let mut tree = json!({
            "name": "game",
            "tree": {
                "$className": "DataModel",
                "ServerScriptService": { "Game": { "$path": "src" } },
            },
        });
        for (name, value) in fields.as_object().unwrap() {
            tree[name] = value.clone();
        }
        fs::write(project.join("default.project.json"), tree.to_string()).unwrap();
        fs::write(project.join("src/Main.server.luau"), MAIN).unwrap();
        fs::write(project.join("src/Other.luau"), OTHER).unwrap();
        bench.daemon = Some(Daemon::of_project(binary::vector(), bench.home.path(), &project));
        Self { bench, credential: None }
    }

    pub(super) fn home(&self) -> PathBuf {
        self.bench.home.path().to_owned()
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.bench.home.path().join("game/src").join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    pub(super) fn plugin(&mut self) -> Plugin<'_> {
        let daemon = self.bench.daemon.as_ref().unwrap();
        let mut plugin = match &self.credential {
            Some(credential) => Plugin::hello(daemon, "window-1", credential),
            None => Plugin::pair(daemon, "window-1"),
        };
        self.credential = Some(plugin.credential.clone());
        tell(&mut plugin, "local speed = 1\nprint(speed)\n");
        plugin
    }

    /// Kills the daemon and starts another one.
    fn restart(&mut self) {
        self.bench.daemon.take().unwrap().kill();
        let project = self.bench.home.path().join("game");
        self.bench.daemon =
            Some(Daemon::of_project(binary::vector(), self.bench.home.path(), &project));
    }
}

/// Sends the place to the daemon: a part, and the scripts that Rojo has synced.
fn tell(plugin: &mut Plugin<'_>, main: &str) {
    let nodes = json!({
        "classes": ["Workspace", "Part", "ServerScriptService", "Folder", "Script", "ModuleScript"],
        "ids": ["studio:1", "studio:2", "studio:3", "studio:4", "studio:5", "studio:6"],
        "parents": [0, 1, 0, 3, 4, 4],
        "class": [0, 1, 2, 3, 4, 5],
        "names": ["Workspace", "Wall", "ServerScriptService", "Game", "Main", "Other"],
    });
    let scripts = json!([{ "id": "studio:5", "text": main }, { "id": "studio:6", "text": OTHER }]);
    plugin
        .say(json!([
            { "part": "begin", "total": 6 },
            { "part": "nodes", "nodes": nodes },
            { "part": "end" },
            { "part": "sources", "scripts": scripts },
        ]))
        .ok();
}

fn shown(plugin: &Plugin<'_>, proposal: u64) -> Json {
    plugin.call("GET", &format!("/api/proposals/{proposal}"), &Json::Null).ok()
}

fn approve(plugin: &Plugin<'_>, proposal: u64) {
    plugin.decide(proposal, json!({ "say": "approve" })).ok();
}

fn applied(id: &str) -> Json {
    json!({ "outcome": "applied", "results": [{ "ids": [id] }], "version": 9 })
}

/// Replies of a model that edits a script and renames a part in one proposal.
pub(super) fn both() -> Vec<Reply> {
    let changes = json!({ "title": "Both", "changes": [
        { "tool": "replace_text", "args": {
            "path": "game.ServerScriptService.Game.Main",
            "search": "speed = 1", "replace": "speed = 2" } },
        { "tool": "rename_instance", "args": {
            "path": "game.Workspace.Wall", "newName": "Tower" } },
    ] });
    let read = calls("read_script", json!({ "path": "game.ServerScriptService.Game.Main" }));
    vec![plan(), read, calls("propose_changes", changes), says("That was all.")]
}

/// Requests, approves and hands out a proposal for both targets.
pub(super) fn handed_out(plugin: &mut Plugin<'_>) -> (u64, Json) {
    choose(plugin, "lmstudio/first");
    plugin.chat("do both").ok();
    let seq = proposal(plugin);
    approve(plugin, seq);
    (seq, apply(plugin))
}

#[test]
fn project_opened_after_the_place_is_joined() {
    let mut joined = Joined::new(vec![]);
    let home = joined.bench.home.path().to_owned();
    drop(joined.bench.daemon.take());
    joined.bench.daemon = Some(Daemon::start(binary::vector(), &home));
    let mut plugin = joined.plugin();
    // The request is planned for Studio alone first, and replanned when the project is known.
    plugin.chat(EDIT).ok();
    let first = proposal(&mut plugin);
    assert_eq!(shown(&plugin, first)["proposal"]["files"], Json::Null);
    let open = json!({ "project": binary::path_there(&home.join("game")) });
    let opened = plugin.call("POST", "/api/open", &open).ok();
    // The poll may already contain the withdrawal of the first proposal.
    let again = proposal(&mut plugin);
    assert_eq!(shown(&plugin, first)["status"], "withdrawn");
    let files = &shown(&plugin, again)["proposal"]["files"];
    assert_eq!(
        (&files["project"], &files["files"]),
        (&opened["name"], &json!(["src/Main.server.luau"]))
    );
}

#[test]
fn rojo_script_is_edited_in_its_file() {
    let mut joined = Joined::new(vec![]);
    let file = joined.file("Main.server.luau");
    let text = || fs::read_to_string(&file).unwrap();
    let mut plugin = joined.plugin();
    plugin.chat(EDIT).ok();
    let seq = proposal(&mut plugin);
    let files = &shown(&plugin, seq)["proposal"]["files"];
    assert_eq!(files["files"], json!(["src/Main.server.luau"]));
    let sessions = plugin.call("GET", "/api/sessions", &Json::Null).ok();
    let sessions = sessions["sessions"].as_array().unwrap();
    let own = sessions.iter().find(|it| it["session"] == "window-1").unwrap();
    assert_eq!(own["project"], files["project"]);
    assert_eq!(text(), MAIN, "nothing is written before a yes");
    approve(&plugin, seq);
    status(&mut plugin, seq, "applied");
    assert_eq!(text(), MAIN.replace("speed = 1", "speed = 2"), "its line ends are kept");
    assert_eq!(plugin.poll()["work"], json!([]), "Studio has nothing to do");
    // Rojo has not synced the file yet: the next request is planned on the written text.
    plugin.chat(&EDIT.replace("= 2", "= 3").replace("= 1", "= 2")).ok();
    let next = proposal(&mut plugin);
    approve(&plugin, next);
    status(&mut plugin, next, "applied");
    assert_eq!(text(), MAIN.replace("speed = 1", "speed = 3"));
    // Rojo syncs.
    let scripts = json!([{ "id": "studio:5", "text": "local speed = 3\nprint(speed)\n" }]);
    plugin.say(json!([{ "part": "sources", "scripts": scripts }])).ok();
    plugin.chat(&EDIT.replace("= 2", "= 4").replace("= 1", "= 3")).ok();
    let last = proposal(&mut plugin);
    approve(&plugin, last);
    status(&mut plugin, last, "applied");
    assert_eq!(text(), MAIN.replace("speed = 1", "speed = 4"));
}

#[test]
fn one_proposal_is_applied_in_files_and_in_studio() {
    let mut joined = Joined::new(both());
    let file = joined.file("Main.server.luau");
    let text = || fs::read_to_string(&file).unwrap();
    let mut plugin = joined.plugin();
    let (seq, work) = handed_out(&mut plugin);
    let actions = work["actions"].as_array().unwrap();
    assert_eq!(actions.len(), 1, "{work}");
    assert_eq!(actions[0]["props"]["Name"], "Tower");
    assert_eq!(text(), MAIN.replace("speed = 1", "speed = 2"));
    let path =
        format!("/api/sessions/{}/file?path=game.ServerScriptService.Game.Main", plugin.session);
    let found = plugin.call("GET", &path, &Json::Null).ok();
    let own = file.canonicalize().unwrap().display().to_string();
    assert_eq!(found["file"], own, "the file of the project that the place is synced with");
    plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": "Tower" }])).ok();
    plugin.acknowledge(&work, applied("studio:2")).ok();
    status(&mut plugin, seq, "applied");
    // An undo in Studio also undoes the change in the files, and a redo applies it again.
    let recording = format!("Vector {seq}");
    plugin.say(json!([{ "part": "undone", "recording": recording }])).ok();
    assert_eq!(text(), MAIN);
    status(&mut plugin, seq, "undone");
    plugin.say(json!([{ "part": "redone", "recording": recording }])).ok();
    assert_eq!(text(), MAIN.replace("speed = 1", "speed = 2"));
}

#[test]
fn studio_request_is_committed_from_the_files() {
    let mut joined = Joined::new(both());
    let project = joined.bench.home.path().join("game");
    let git = |args: &[&str]| {
        let done = std::process::Command::new("git").args(args).current_dir(&project).output();
        let done = done.unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).unwrap()
    };
    git(&["init", "--quiet", "--initial-branch", "main"]);
    git(&["config", "user.name", "A"]);
    git(&["config", "user.email", "a@b"]);
    git(&["add", "."]);
    git(&["commit", "--quiet", "-m", "begin"]);
    let mut plugin = joined.plugin();
    let (seq, work) = handed_out(&mut plugin);
    plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": "Tower" }])).ok();
    plugin.acknowledge(&work, applied("studio:2")).ok();
    status(&mut plugin, seq, "applied");
    drop(plugin);
    let home = &joined.bench.home;
    let (game, own) = (project.display().to_string(), home.path().display().to_string());
    let committed = home.run(&["commit", &game, "--branch", "work", "--home", &own], "");
    assert_eq!(committed.code, 0, "{}", committed.stderr);
    assert_eq!(git(&["diff", "--name-only", "main", "work"]), "src/Main.server.luau\n");
}

#[test]
fn files_are_restored_when_studio_does_not_apply() {
    for outcome in [
        json!({ "outcome": "refused", "reason": "No." }),
        json!({ "outcome": "diverged", "reason": "Something else was there." }),
        json!({ "outcome": "stale", "reason": "The wall is another one." }),
    ] {
        let mut joined = Joined::new(both());
        let file = joined.file("Main.server.luau");
        let mut plugin = joined.plugin();
        let (seq, work) = handed_out(&mut plugin);
        assert!(fs::read_to_string(&file).unwrap().contains("speed = 2"));
        let is_stale = outcome["outcome"] == "stale";
        plugin.acknowledge(&work, outcome).ok();
        let wanted = if is_stale { "withdrawn" } else { "failed" };
        let changed = status(&mut plugin, seq, wanted);
        assert!(changed["reason"].as_str().unwrap().ends_with("Its files were restored."));
        assert_eq!(fs::read_to_string(&file).unwrap(), MAIN);
    }
}

#[test]
fn killed_daemon_knows_which_files_are_written() {
    for outcome in ["applied", "refused"] {
        let mut joined = Joined::new(both());
        let (seq, _) = handed_out(&mut joined.plugin());
        joined.restart();
        assert!(joined.text("Main.server.luau").contains("speed = 2"));
        let file = joined.file("Main.server.luau");
        let mut plugin = joined.plugin();
        let work = apply(&mut plugin);
        assert_eq!(
            (work["proposal"].as_u64(), work["actions"].as_array().unwrap().len()),
            (Some(seq), 1)
        );
        if outcome == "applied" {
            plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": "Tower" }])).ok();
            plugin.acknowledge(&work, applied("studio:2")).ok();
            status(&mut plugin, seq, "applied");
            assert!(fs::read_to_string(&file).unwrap().contains("speed = 2"));
        } else {
            let refused = json!({ "outcome": "refused", "reason": "No." });
            plugin.acknowledge(&work, refused).ok();
            status(&mut plugin, seq, "failed");
            assert_eq!(fs::read_to_string(&file).unwrap(), MAIN);
        }
    }
}

#[test]
fn created_script_is_known_before_rojo_syncs_it() {
    let make = calls(
        "create_instance",
        json!({ "parentPath": "game.ServerScriptService.Game",
            "className": "ModuleScript", "props": { "Name": "New", "Source": "return 1\n" } }),
    );
    let edit = calls(
        "replace_text",
        json!({ "path": "game.ServerScriptService.Game.New", "search": "1", "replace": "2" }),
    );
    let mut joined = Joined::new(vec![plan(), make, edit, says("That was all.")]);
    let file = joined.file("New.luau");
    let mut plugin = joined.plugin();
    choose(&plugin, "lmstudio/first");
    plugin.chat("make it").ok();
    let seq = proposal(&mut plugin);
    approve(&plugin, seq);
    let edit = proposal(&mut plugin);
    assert_eq!(fs::read_to_string(&file).unwrap(), "return 1\n");
    assert_eq!(shown(&plugin, edit)["proposal"]["files"]["files"], json!(["src/New.luau"]));
    // Rojo syncs while the second proposal is pending.
    let added = json!({ "part": "added", "id": "studio:9", "parent": "studio:4",
        "class": "ModuleScript", "name": "New" });
    let scripts = json!([{ "id": "studio:9", "text": "return 1\n" }]);
    plugin.say(json!([added, { "part": "sources", "scripts": scripts }])).ok();
    approve(&plugin, edit);
    status(&mut plugin, edit, "applied");
    assert_eq!(fs::read_to_string(&file).unwrap(), "return 2\n");
}

#[test]
fn editor_save_replans_the_proposal_before_rojo_syncs() {
    let mut joined = Joined::new(vec![]);
    let file = joined.file("Main.server.luau");
    let mut plugin = joined.plugin();
    plugin.chat(EDIT).ok();
    let seq = proposal(&mut plugin);
    fs::write(&file, format!("-- mine\n{MAIN}")).unwrap();
    let again = proposal(&mut plugin);
    assert_eq!(shown(&plugin, seq)["status"], "withdrawn");
    approve(&plugin, again);
    status(&mut plugin, again, "applied");
    let now = fs::read_to_string(&file).unwrap();
    assert_eq!(now, format!("-- mine\n{}", MAIN.replace("speed = 1", "speed = 2")));
}

#[test]
fn studio_only_edit_of_a_rojo_script_is_ignored() {
    let mut joined = Joined::new(vec![]);
    let file = joined.file("Main.server.luau");
    let mut plugin = joined.plugin();
    let scripts = json!([{ "id": "studio:5", "text": "local speed = 9\n" }]);
    plugin.say(json!([{ "part": "sources", "scripts": scripts }])).ok();
    plugin.chat(EDIT).ok();
    let seq = proposal(&mut plugin);
    approve(&plugin, seq);
    status(&mut plugin, seq, "applied");
    assert_eq!(fs::read_to_string(&file).unwrap(), MAIN.replace("speed = 1", "speed = 2"));
}

#[test]
fn checkpoint_restore_writes_rojo_scripts_to_their_files() {
    let delete = json!({ "title": "Away", "changes": [
        { "tool": "delete_instance", "args": { "path": "game.ServerScriptService.Game.Other" } },
        { "tool": "delete_instance", "args": { "path": "game.Workspace.Wall" } },
    ] });
    let mut joined =
        Joined::new(vec![plan(), calls("propose_changes", delete), says("That was all.")]);
    let file = joined.file("Other.luau");
    let mut plugin = joined.plugin();
    let make = json!({ "session": "window-1", "label": "before" });
    let checkpoint = plugin.call("POST", "/api/checkpoints", &make).ok()["seq"].clone();
    let (seq, work) = handed_out(&mut plugin);
    assert!(!file.exists());
    let removed =
        json!([{ "part": "removed", "id": "studio:2" }, { "part": "removed", "id": "studio:6" }]);
    plugin.say(removed).ok();
    plugin.acknowledge(&work, applied("studio:2")).ok();
    status(&mut plugin, seq, "applied");
    let path = format!("/api/checkpoints/{checkpoint}/restore");
    plugin.call("POST", &path, &json!({})).ok();
    let back = proposal(&mut plugin);
    assert_eq!(shown(&plugin, back)["proposal"]["files"]["files"], json!(["src/Other.luau"]));
    approve(&plugin, back);
    let work = apply(&mut plugin);
    assert_eq!(work["actions"].as_array().unwrap().len(), 1);
    assert_eq!(fs::read_to_string(&file).unwrap(), OTHER);
}

#[test]
fn other_places_are_not_joined_to_the_project() {
    let elsewhere = [json!({ "servePlaceIds": [8] }), json!({ "blockedPlaceIds": [7] })];
    for fields in elsewhere {
        let mut joined = Joined::with(vec![], fields);
        let mut plugin = joined.plugin();
        plugin.chat(EDIT).ok();
        let seq = proposal(&mut plugin);
        assert_eq!(shown(&plugin, seq)["proposal"]["files"], Json::Null);
        approve(&plugin, seq);
        assert_eq!(apply(&mut plugin)["actions"].as_array().unwrap().len(), 1);
    }
    let mut joined = Joined::new(vec![]);
    let mut plugin = joined.plugin();
    // The window opens another place, which has none of the scripts.
    plugin.tell_place();
    plugin.chat("replace \"print(1)\" with \"print(2)\" in game.Workspace.Main").ok();
    let seq = proposal(&mut plugin);
    assert_eq!(shown(&plugin, seq)["proposal"]["files"], Json::Null);
}

#[test]
fn rojo_sync_without_an_open_project_warns() {
    let home = vector_tests::binary::Home::new();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::pair(&daemon, "window-1");
    let nodes = json!({
        "classes": ["Workspace", "Script", "ServerStorage", "ObjectValue"],
        "ids": ["studio:1", "studio:2", "studio:3", "studio:4"],
        "parents": [0, 1, 0, 3],
        "class": [0, 1, 2, 3],
        "names": ["Workspace", "Main", "ServerStorage", "__Rojo_SessionLock"],
    });
    let scripts = json!([{ "id": "studio:2", "text": "print(1)\n" }]);
    plugin
        .say(json!([
            { "part": "begin", "total": 4 },
            { "part": "nodes", "nodes": nodes },
            { "part": "end" },
            { "part": "sources", "scripts": scripts },
        ]))
        .ok();
    plugin.chat("replace \"print(1)\" with \"print(2)\" in game.Workspace.Main").ok();
    let seq = proposal(&mut plugin);
    let warnings = shown(&plugin, seq)["proposal"]["warnings"].clone();
    assert_eq!(warnings[0]["kind"], "rojo", "{warnings}");
}

#[test]
fn restore_finds_instances_that_studio_created_beside_files() {
    let make = json!({ "title": "New", "changes": [
        { "tool": "create_instance", "args": {
            "className": "ModuleScript", "parentPath": "game.ServerScriptService.Game",
            "props": { "Name": "New", "Source": "return 1\n" } } },
        { "tool": "create_instance", "args": {
            "className": "Model", "parentPath": "game.Workspace", "props": { "Name": "Hut" },
            "children": [{ "className": "Part", "props": { "Name": "Door" } }] } },
    ] });
    let replies = vec![plan(), calls("propose_changes", make), says("That was all.")];
    let mut joined = Joined::new(replies);
    let file = joined.file("New.luau");
    let mut plugin = joined.plugin();
    let make = json!({ "session": "window-1", "label": "before" });
    let checkpoint = plugin.call("POST", "/api/checkpoints", &make).ok()["seq"].clone();
    let (seq, work) = handed_out(&mut plugin);
    let actions = work["actions"].as_array().unwrap();
    assert_eq!(actions.len(), 2, "{work}");
    assert_eq!(actions[1]["parent"]["id"], actions[0]["id"]);
    let added = |id: &str, parent: &str, class: &str, name: &str| {
        json!({
            "part": "added", "id": id, "parent": parent, "class": class, "name": name,
        })
    };
    plugin
        .say(json!([
            added("studio:20", "studio:1", "Model", "Hut"),
            added("studio:21", "studio:20", "Part", "Door"),
        ]))
        .ok();
    let acted = json!({ "outcome": "applied", "version": 9,
        "results": [{ "ids": ["studio:20"] }, { "ids": ["studio:21"] }] });
    plugin.acknowledge(&work, acted).ok();
    status(&mut plugin, seq, "applied");
    assert_eq!(fs::read_to_string(&file).unwrap(), "return 1\n");
    // The restore targets what Studio created, by its name there.
    let path = format!("/api/checkpoints/{checkpoint}/restore");
    plugin.call("POST", &path, &json!({})).ok();
    let back = proposal(&mut plugin);
    approve(&plugin, back);
    let work = apply(&mut plugin);
    let targets: Vec<&Json> =
        work["actions"].as_array().unwrap().iter().map(|it| &it["target"]["id"]).collect();
    assert!(targets.contains(&&json!("studio:20")), "{work}");
    assert!(!file.exists());
}

#[test]
fn studio_undo_keeps_files_changed_since() {
    let mut joined = Joined::new(both());
    let file = joined.file("Main.server.luau");
    let mut plugin = joined.plugin();
    let (seq, work) = handed_out(&mut plugin);
    plugin.say(json!([{ "part": "renamed", "id": "studio:2", "name": "Tower" }])).ok();
    plugin.acknowledge(&work, applied("studio:2")).ok();
    status(&mut plugin, seq, "applied");
    fs::write(&file, "local speed = 7 -- mine\n").unwrap();
    plugin.say(json!([{ "part": "undone", "recording": format!("Vector {seq}") }])).ok();
    let undone = status(&mut plugin, seq, "undone");
    let reason = undone["reason"].as_str().unwrap();
    assert!(reason.contains("Main.server.luau has changed since"), "{reason}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "local speed = 7 -- mine\n");
}

#[test]
fn reused_name_is_not_mistaken_for_the_renamed_script() {
    let swap = json!({ "title": "Swap", "changes": [
        { "tool": "rename_instance", "args": {
            "path": "game.ServerScriptService.Game.Other", "newName": "Core" } },
        { "tool": "create_instance", "args": {
            "className": "ModuleScript", "parentPath": "game.ServerScriptService.Game",
            "props": { "Name": "Other", "Source": "return 2\n" } } },
    ] });
    let edit = |name: &str, search: &str, replace: &str| {
        let path = format!("game.ServerScriptService.Game.{name}");
        let args = json!({ "path": path, "search": search, "replace": replace });
        [calls("read_script", json!({ "path": path })), calls("replace_text", args)]
    };
    let mut replies = vec![plan(), calls("propose_changes", swap)];
    replies.extend(edit("Core", "{}", "{ 1 }"));
    replies.extend(edit("Other", "2", "3"));
    replies.push(says("That was all."));
    let mut joined = Joined::new(replies);
    let files = [joined.file("Core.luau"), joined.file("Other.luau")];
    let texts = || files.each_ref().map(|it| fs::read_to_string(it).unwrap());
    let mut plugin = joined.plugin();
    choose(&plugin, "lmstudio/first");
    plugin.chat("swap them").ok();
    let swapped = proposal(&mut plugin);
    approve(&plugin, swapped);
    let first = proposal(&mut plugin);
    assert_eq!(texts(), ["return {}\n", "return 2\n"]);
    approve(&plugin, first);
    // Rojo syncs: it removes the old instance and adds two.
    let added = |id: &str, name: &str| {
        json!({
            "part": "added", "id": id, "parent": "studio:4", "class": "ModuleScript", "name": name,
        })
    };
    plugin
        .say(json!([
            { "part": "removed", "id": "studio:6" },
            added("studio:30", "Core"),
            added("studio:31", "Other"),
        ]))
        .ok();
    let last = proposal(&mut plugin);
    let shown = shown(&plugin, last);
    assert_eq!(shown["proposal"]["files"]["files"], json!(["src/Other.luau"]), "{shown}");
    approve(&plugin, last);
    status(&mut plugin, last, "applied");
    assert_eq!(texts(), ["return { 1 }\n", "return 3\n"]);
}

#[test]
fn proposals_stay_pending_when_another_file_is_saved() {
    let mut joined = Joined::new(vec![]);
    let (file, other) = (joined.file("Main.server.luau"), joined.file("Other.luau"));
    let mut plugin = joined.plugin();
    plugin.chat(EDIT).ok();
    let first = proposal(&mut plugin);
    plugin.chat(&EDIT.replace("speed = 1", "(speed)").replace("speed = 2", "(speed + 1)")).ok();
    let second = proposal(&mut plugin);
    fs::write(&other, "return { 5 }\n").unwrap();
    // A saved file can be edited only once the daemon has read it.
    let text = "replace \"{ 5 }\" with \"{ 6 }\" in game.ServerScriptService.Game.Other";
    let third = loop {
        plugin.chat(text).ok();
        let planned = plugin.until(|polled| {
            let events = polled["events"].as_array().unwrap();
            events.iter().map(|it| &it["event"]).find_map(|it| match it["event"].as_str()? {
                "proposal_mapped" => Some(it["proposal"].as_u64()),
                "done" => Some(None),
                _ => None,
            })
        });
        if let Some(third) = planned {
            break third;
        }
    };
    for seq in [first, second, third] {
        assert_eq!(shown(&plugin, seq)["status"], "waiting");
    }
    approve(&plugin, first);
    status(&mut plugin, first, "applied");
    // The second changes the same file, and is planned on what the first wrote.
    let again = proposal(&mut plugin);
    assert_eq!(shown(&plugin, second)["successor"], again);
    for seq in [again, third] {
        assert_eq!(shown(&plugin, seq)["status"], "waiting");
        approve(&plugin, seq);
        status(&mut plugin, seq, "applied");
    }
    assert_eq!(
        fs::read_to_string(&file).unwrap(),
        MAIN.replace("speed = 1", "speed = 2").replace("(speed)", "(speed + 1)")
    );
    assert_eq!(fs::read_to_string(&other).unwrap(), "return { 6 }\n");
}

#[test]
fn script_without_a_file_below_a_rojo_folder_warns() {
    let mut joined = Joined::new(vec![]);
    let mut plugin = joined.plugin();
    let added = json!({ "part": "added", "id": "studio:40", "parent": "studio:4",
        "class": "ModuleScript", "name": "Extra" });
    let scripts = json!([{ "id": "studio:40", "text": "return 1\n" }]);
    plugin.say(json!([added, { "part": "sources", "scripts": scripts }])).ok();
    plugin.chat("replace \"1\" with \"2\" in game.ServerScriptService.Game.Extra").ok();
    let seq = proposal(&mut plugin);
    let shown = shown(&plugin, seq);
    assert_eq!(shown["proposal"]["files"], Json::Null);
    assert_eq!(shown["proposal"]["warnings"][0]["kind"], "rojo", "{shown}");
}
