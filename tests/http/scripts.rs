//! The text of a script at an earlier point, in open and closed places, regardless of who changed
//! it.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Daemon, Plugin};
use vector_tests::human::Human;

use super::daemon;
use super::flow::{apply, proposal, status};
use super::history::{Bench, ledger};

/// The only script of this name in the sample.
const PATH: &str = "game.ReplicatedStorage[\"My.Folder/1\"][\"Größe\"]";

/// Percent-encodes a text for a query parameter.
fn encoded(text: &str) -> String {
    let mut all = String::new();
    for byte in text.bytes() {
        let _ = write!(all, "%{byte:02x}");
    }
    all
}

fn at(human: &Human, place: &str, path: &str, seq: &Json) -> Json {
    let (place, path) = (encoded(place), encoded(path));
    let seq = seq.as_u64().unwrap_or(0);
    let query = format!("/api/scripts/at?place={place}&path={path}&seq={seq}");
    human.call("GET", &query, &Json::Null).ok()
}

fn source(file: &Path) -> String {
    let run = Home::new().run(&["source", &file.display().to_string(), PATH], "");
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.stdout
}

fn add(line: &str) -> String {
    format!("replace \"local Size\" with \"{line} local Size\" in {PATH}")
}

#[test]
fn script_text_is_found_at_every_earlier_entry() {
    let mut bench = Bench::new();
    let place = bench.opened["session"].as_str().unwrap().to_owned();
    let mut said = vec![source(&bench.file)];
    let mut done = Vec::new();
    for line in ["--[[1]]", "--[[2]]"] {
        done.push(bench.apply(&add(line)));
        said.push(source(&bench.file));
    }
    let now = at(&bench.human, &place, PATH, &Json::Null);
    assert_eq!((&now["text"], &now["before"]), (&json!(said[2]), &json!(said[1])));
    assert_eq!((&now["proposal"], &now["note"]), (&json!(done[1]), &Json::Null));
    let versions = now["versions"].as_array().unwrap();
    let named: Vec<_> = versions.iter().map(|it| it["proposal"].clone()).collect();
    assert_eq!(named, [done[1], done[0]]);
    assert!(versions.iter().all(|it| it["is_known"] == true && it["kind"] == "applied"));
    let first = at(&bench.human, &place, PATH, &versions[1]["seq"]);
    assert_eq!((&first["text"], &first["before"]), (&json!(said[1]), &json!(said[0])));
    assert_eq!(first["hash"], versions[1]["hash"]);
    let began = at(&bench.human, &place, PATH, &json!(1));
    assert_eq!((&began["text"], &began["seq"]), (&json!(said[0]), &Json::Null));
    assert!(began["note"].as_str().unwrap().contains("found it"), "{began}");
    // A pending proposal does not change the text.
    let waits = bench.ask(&add("--[[3]]"));
    let now = at(&bench.human, &place, PATH, &Json::Null);
    assert_eq!(now["text"], json!(said[2]));
    bench.human.decide(waits, &json!({ "say": "reject" })).ok();
    bench.human.until("done");
    // A revert is a version as well.
    bench.human.call("POST", &format!("/api/proposals/{}/revert", done[1]), &json!({})).ok();
    let back = bench.human.card();
    bench.human.approve(back).ok();
    bench.human.until_status(back, "applied");
    let now = at(&bench.human, &place, PATH, &Json::Null);
    assert_eq!((&now["text"], &now["before"]), (&json!(said[1]), &json!(said[2])));
    assert_eq!(now["versions"].as_array().unwrap().len(), 3);
}

#[test]
fn script_text_lost_to_external_change_is_not_invented() {
    let mut bench = Bench::new();
    let place = binary::path_there(&bench.file);
    let first = bench.apply(&add("--[[1]]"));
    // Another program saves the file with another text.
    let home = Home::new();
    let copy = home.path().join("place.rbxlx");
    fs::copy(&bench.file, &copy).unwrap();
    let run = home
        .run(&["edit", &copy.display().to_string(), "--prompt", &add("--[[theirs]]"), "--yes"], "");
    assert_eq!(run.code, 0, "{}", run.stderr);
    let theirs = source(&copy);
    fs::rename(&copy, &bench.file).unwrap();
    let now = at(&bench.human, &place, PATH, &Json::Null);
    assert_eq!((&now["text"], &now["proposal"]), (&json!(theirs), &Json::Null));
    assert!(now["note"].as_str().unwrap().contains("It was changed by others"), "{now}");
    let second = bench.apply(&add("--[[2]]"));
    let now = at(&bench.human, &place, PATH, &Json::Null);
    assert_eq!((&now["proposal"], &now["before"]), (&json!(second), &json!(theirs)));
    let known = now["versions"].as_array().unwrap().iter().map(|it| it["is_known"].clone());
    assert_eq!(known.collect::<Vec<_>>(), [true, false]);
    let then = at(&bench.human, &place, PATH, &now["versions"][1]["seq"]);
    assert_eq!((&then["text"], &then["proposal"]), (&Json::Null, &json!(first)));
    assert_eq!(then["hash"], now["versions"][1]["hash"]);
    let note = then["note"].as_str().unwrap();
    assert!(note.contains(&format!("known from entry {} on", now["versions"][0]["seq"])), "{note}");
    // For a closed place, only the recorded changes are known.
    let Bench { home, daemon, .. } = bench;
    daemon.kill();
    let daemon = Daemon::start(binary::vector(), &ledger(&home));
    let human = Human::of(&daemon, &ledger(&home));
    let closed = at(&human, &place, PATH, &Json::Null);
    assert_eq!((&closed["text"], &closed["hash"]), (&Json::Null, &now["hash"]));
    assert!(closed["note"].as_str().unwrap().contains("Open the place"), "{closed}");
}

#[test]
fn closed_project_script_text_comes_from_recorded_files() {
    let home = Home::new();
    let project = home.path().join("game");
    fs::create_dir_all(project.join("src")).unwrap();
    let tree = json!({ "name": "game", "tree": { "$className": "DataModel",
        "ServerScriptService": { "Game": { "$path": "src" } } } });
    fs::write(project.join("default.project.json"), tree.to_string()).unwrap();
    let text = "local speed = 1\r\nprint(speed)\r\n";
    fs::write(project.join("src/Main.server.luau"), text).unwrap();
    let daemon = Daemon::start(binary::vector(), &ledger(&home));
    let mut human = Human::of(&daemon, &ledger(&home));
    let opened =
        human.call("POST", "/api/open", &json!({ "project": binary::path_there(&project) })).ok();
    let path = "game.ServerScriptService.Game.Main";
    human.ask(&opened, &format!("replace \"speed = 1\" with \"speed = 2\" in {path}"));
    let done = human.card();
    human.approve(done).ok();
    human.until_status(done, "applied");
    daemon.kill();
    let daemon = Daemon::start(binary::vector(), &ledger(&home));
    let human = Human::of(&daemon, &ledger(&home));
    let at = at(&human, opened["name"].as_str().unwrap(), path, &Json::Null);
    // Line ends are those of Studio.
    let text = text.replace("\r\n", "\n");
    assert_eq!((&at["text"], &at["before"]), (&json!(text.replace("= 1", "= 2")), &json!(text)));
}

#[test]
fn undo_in_studio_is_a_version_of_the_script() {
    let (home, daemon) = daemon();
    let human = Human::of(&daemon, home.path());
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    plugin.chat("replace \"print(1)\" with \"print(2)\" in game.Workspace.Main").ok();
    let done = proposal(&mut plugin);
    plugin.decide(done, json!({ "say": "approve" })).ok();
    let work = apply(&mut plugin);
    let says = |text: &str| json!([{ "part": "sources", "scripts": [{ "id": "studio:3", "text": text }] }]);
    plugin.say(says("print(2)\n")).ok();
    let acted = json!({ "outcome": "applied", "results": [{ "ids": ["studio:3"] }], "version": 9 });
    plugin.acknowledge(&work, acted).ok();
    status(&mut plugin, done, "applied");
    plugin.say(says("print(1)\n")).ok();
    plugin.say(json!([{ "part": "undone", "recording": format!("Vector {done}") }])).ok();
    status(&mut plugin, done, "undone");
    let now = at(&human, "window-1", "game.Workspace.Main", &Json::Null);
    assert_eq!((&now["text"], &now["before"]), (&json!("print(1)\n"), &json!("print(2)\n")));
    assert_eq!(now["versions"][0]["kind"], "undone");
    let then = at(&human, "window-1", "game.Workspace.Main", &now["versions"][1]["seq"]);
    assert_eq!((&then["text"], &then["before"]), (&json!("print(2)\n"), &json!("print(1)\n")));
}

#[test]
fn created_and_deleted_script_is_followed() {
    let bench = Bench::new();
    let place = bench.opened["session"].as_str().unwrap().to_owned();
    let path = "game.Workspace.Farm.FarmServer";
    let settings = json!({ "mode": "auto", "model": "offline" });
    bench.human.call("PUT", "/api/settings", &settings).ok();
    let farm = bench.human.ask(&bench.opened, "farm 2x2 at 0,0.5,0 in game.Workspace");
    bench.ended(&json!(farm));
    let delete = bench.human.ask(&bench.opened, "delete game.Workspace.Farm");
    let waiting = || bench.get("/api/proposals")["proposals"][0]["seq"].as_u64();
    let gone = loop {
        if let Some(gone) = waiting() {
            break gone;
        }
        std::thread::yield_now();
    };
    bench.human.approve(gone).ok();
    bench.ended(&json!(delete));
    let now = at(&bench.human, &place, path, &Json::Null);
    assert_eq!((&now["text"], &now["proposal"]), (&Json::Null, &json!(gone)));
    assert!(now["note"].as_str().unwrap().contains("took it away"), "{now}");
    let made = at(&bench.human, &place, path, &now["versions"][1]["seq"]);
    assert!(made["text"].is_string(), "{made}");
    let before = at(&bench.human, &place, path, &json!(1));
    assert!(before["note"].as_str().unwrap().contains("not there before"), "{before}");
}

#[test]
fn incomplete_script_queries_name_the_missing_parameter() {
    let bench = Bench::new();
    let place = encoded(&bench.file.display().to_string());
    for (query, status, says) in [
        (String::new(), 400, "No place is specified"),
        (format!("place={place}"), 400, "No script is specified"),
        (format!("place={place}&path=game..x"), 400, "is not a path"),
        (format!("place={place}&path=game.Workspace.Nobody"), 404, "There is no script"),
        ("place=nowhere&path=game.Workspace.Main".to_owned(), 404, "history of nowhere"),
    ] {
        let answer = bench.human.call("GET", &format!("/api/scripts/at?{query}"), &Json::Null);
        let message = answer.body["message"].as_str().unwrap().to_owned();
        assert_eq!((answer.status, message.contains(says)), (status, true), "{message}");
    }
}
