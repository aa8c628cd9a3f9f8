//! A Rojo project that the daemon has open: requested and decided by the user, written to its
//! files, which other programs change meanwhile.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon};

const MAIN: &str = "local speed = 1\r\nprint(speed)\r\n";
const OTHER: &str = "return {}\n";

/// A user at a page or a terminal, and a project beside the ledger.
struct Person {
    home: Home,
    daemon: Option<Daemon>,
    token: String,
    session: String,
    epoch: u64,
    cursor: u64,
}

impl Person {
    fn new() -> Self {
        let home = Home::new();
        let project = home.path().join("game");
        fs::create_dir_all(project.join("src")).unwrap();
        let tree = json!({
            "name": "game",
            "tree": {
                "$className": "DataModel",
                "ServerScriptService": { "Game": { "$path": "src" } },
            },
        });
        fs::write(project.join("default.project.json"), tree.to_string()).unwrap();
        fs::write(project.join("src/Main.server.luau"), MAIN).unwrap();
        fs::write(project.join("src/Other.luau"), OTHER).unwrap();
        let mut person = Self {
            home,
            daemon: None,
            token: String::new(),
            session: String::new(),
            epoch: 0,
            cursor: 0,
        };
        person.start();
        person
    }

    fn start(&mut self) {
        let vector = self.home.path().join("game");
        self.daemon = Some(Daemon::of_project(binary::vector(), self.home.path(), &vector));
        let kept = fs::read_to_string(self.home.path().join("token")).unwrap();
        kept.split_whitespace().nth(1).unwrap().clone_into(&mut self.token);
        let sessions = self.call("GET", "/api/sessions", &Json::Null).ok();
        let session = &sessions["sessions"][0];
        assert_eq!(session["connected"], true, "{sessions}");
        session["session"].as_str().unwrap().clone_into(&mut self.session);
        self.epoch = session["epoch"].as_u64().unwrap();
        self.cursor = 0;
    }

    fn call(&self, method: &str, path: &str, body: &Json) -> Answer {
        self.daemon.as_ref().unwrap().call(method, path, Some(&self.token), body)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.path().join("game/src").join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap()
    }

    fn ask(&self, text: &str) -> u64 {
        let chat =
            json!({ "session": self.session, "epoch": self.epoch, "text": text, "attached": [] });
        self.call("POST", "/api/chat", &chat).ok()["workflow"].as_u64().unwrap()
    }

    /// Waits for the next event of this name.
    fn until(&mut self, name: &str) -> Json {
        for _ in 0..60 {
            let path = format!("/api/stream?cursor={}&hold=5", self.cursor);
            let page = self.call("GET", &path, &Json::Null).ok();
            let events = page["events"].as_array().unwrap();
            if let Some(found) = events.iter().find(|it| it["event"]["event"] == name) {
                // Skips the rest of the page: later waits start at its end.
                self.cursor = page["cursor"].as_u64().unwrap();
                return found["event"].clone();
            }
            self.cursor = page["cursor"].as_u64().unwrap();
        }
        panic!("`{name}` never came");
    }

    fn card(&mut self) -> u64 {
        self.until("proposal_mapped")["proposal"].as_u64().unwrap()
    }

    /// Waits for the next card; None if the task ends without one.
    fn card_or_end(&mut self) -> Option<u64> {
        for _ in 0..60 {
            let path = format!("/api/stream?cursor={}&hold=5", self.cursor);
            let page = self.call("GET", &path, &Json::Null).ok();
            self.cursor = page["cursor"].as_u64().unwrap();
            for event in page["events"].as_array().unwrap() {
                match event["event"]["event"].as_str() {
                    Some("proposal_mapped") => return event["event"]["proposal"].as_u64(),
                    Some("done") => return None,
                    _ => {}
                }
            }
        }
        panic!("nothing came of it");
    }

    fn shown(&self, proposal: u64) -> Json {
        self.call("GET", &format!("/api/proposals/{proposal}"), &Json::Null).ok()
    }

    fn approve(&self, proposal: u64) -> Answer {
        let shown = self.shown(proposal);
        let decide = json!({
            "patch_id": shown["proposal"]["patch_id"],
            "base": shown["proposal"]["base"],
            "decision": { "say": "approve" },
        });
        self.call("POST", &format!("/api/proposals/{proposal}/decide"), &decide)
    }

    /// Waits until a proposal has this status.
    fn until_status(&self, proposal: u64, status: &str) {
        let mut cursor = 0;
        for _ in 0..60 {
            if self.shown(proposal)["status"] == status {
                return;
            }
            // Wait for an event each time, rather than poll at once: on a busy machine it takes
            // time.
            let path = format!("/api/stream?cursor={cursor}&hold=1");
            let page = self.call("GET", &path, &Json::Null).ok();
            cursor = page["cursor"].as_u64().unwrap();
        }
        panic!("proposal {proposal} is {}, not {status}", self.shown(proposal));
    }
}

fn replace(from: &str, to: &str) -> String {
    format!("replace \"{from}\" with \"{to}\" in game.ServerScriptService.Game.Main")
}

fn write(file: &Path, text: &str) {
    let new = file.with_extension("swp");
    fs::write(&new, text).unwrap();
    fs::rename(&new, file).unwrap();
}

#[test]
fn script_is_opened_in_the_editor_by_an_address_or_a_command() {
    let person = Person::new();
    let reveal = |person: &Person, target: &str| {
        let request =
            json!({ "path": "game.ServerScriptService.Game.Main", "line": 2, "target": target });
        person.call("POST", &format!("/api/sessions/{}/reveal", person.session), &request)
    };
    let file = binary::path_there(&person.file("Main.server.luau").canonicalize().unwrap());
    let address = |scheme: &str| {
        let path = file.replace('\\', "/");
        format!("{scheme}://file{}{path}:2", if path.starts_with('/') { "" } else { "/" })
    };
    let shown = reveal(&person, "editor").ok();
    assert_eq!(shown, json!({ "file": file, "url": address("vscode") }));
    let studio = reveal(&person, "studio");
    assert_eq!(studio.body["message"], "This place is not open in Studio.");
    let of = |path: &str| {
        let path = format!("/api/sessions/{}/file?path={path}&line=2", person.session);
        person.call("GET", &path, &Json::Null)
    };
    let found = of("game.ServerScriptService.Game.Main").ok();
    assert_eq!(found, json!({ "file": file, "url": address("vscode") }));
    let none = of("game.ServerScriptService.Game");
    assert_eq!(none.status, 404, "{}", none.body);
    assert!(none.body["message"].as_str().unwrap().contains("has no file of its own"));
    assert_eq!(of("nowhere").status, 400);
    // The settings are read again each time.
    let settings = person.home.path().join("vector.toml");
    fs::write(&settings, "editor = \"cursor\"\n").unwrap();
    assert_eq!(reveal(&person, "editor").ok()["url"], address("cursor"));
    fs::write(&settings, "editor = \"no-such-editor {file}\"\n").unwrap();
    let missing = reveal(&person, "editor");
    assert_eq!(missing.status, 409);
    assert!(missing.body["message"].as_str().unwrap().contains("no-such-editor"));
    #[cfg(unix)]
    {
        use std::sync::mpsc::channel;
        use std::thread;
        use std::time::Duration;

        let told = person.home.path().join("told");
        let editor = person.home.path().join("editor");
        fs::write(&editor, "#!/bin/sh\nprintf '%s' \"$2\" > \"$1\"\n").unwrap();
        // A pipe: reading it waits for the editor.
        let made = std::process::Command::new("mkfifo").arg(&told).status().unwrap();
        assert!(made.success());
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(&editor, mode).unwrap();
        let command = format!("{} {} {{file}}:{{line}}", editor.display(), told.display());
        fs::write(&settings, format!("editor = \"{command}\"\n")).unwrap();
        assert_eq!(reveal(&person, "editor").ok(), json!({ "file": file }));
        let (sender, opened) = channel();
        thread::spawn(move || sender.send(fs::read_to_string(told)));
        let opened = opened.recv_timeout(Duration::from_secs(30)).expect("the editor is started");
        assert_eq!(opened.unwrap(), format!("{file}:2"));
    }
}

#[test]
fn approved_proposal_is_written_to_the_file() {
    let mut person = Person::new();
    person.ask(&replace("speed = 1", "speed = 2"));
    let seq = person.card();
    assert_eq!(person.text("Main.server.luau"), MAIN, "nothing is written before a yes");
    person.approve(seq).ok();
    person.until("done");
    assert_eq!(person.shown(seq)["status"], "applied");
    assert_eq!(person.text("Main.server.luau"), MAIN.replace("speed = 1", "speed = 2"));
    assert_eq!(person.text("Other.luau"), OTHER);
    #[cfg(unix)]
    if !binary::is_for_windows() {
        // The log links to the file, at the first line that was changed.
        let mut log = person.home.command(&["--home", person.home.path().to_str().unwrap(), "log"]);
        log.env("FORCE_HYPERLINK", "1");
        let (code, shown) = vector_tests::person::Person::runs(log).sees_the_end();
        let file = person.file("Main.server.luau").canonicalize().unwrap();
        let line = 1 + MAIN.lines().position(|line| line.contains("speed = 1")).unwrap();
        let link = format!("\u{1b}]8;;vscode://file{}:{line}\u{1b}\\", file.display());
        assert!(code == 0 && shown.contains(&link), "{link} is not in {shown:?}");
    }
}

#[test]
fn pending_proposal_is_replanned_when_its_file_changes() {
    let mut person = Person::new();
    person.ask(&replace("speed = 1", "speed = 2"));
    let first = person.card();
    // An editor saves the same script.
    write(&person.file("Main.server.luau"), &format!("-- mine\r\n{MAIN}"));
    let again = person.card();
    assert_ne!(first, again);
    assert_eq!(person.shown(first)["status"], "withdrawn");
    assert_ne!(person.approve(first).status, 200);
    person.approve(again).ok();
    person.until("done");
    let now = person.text("Main.server.luau");
    assert_eq!(now, format!("-- mine\r\n{}", MAIN.replace("speed = 1", "speed = 2")));
}

/// A folder becomes part of the project only after the project was opened.
#[test]
fn folder_added_to_the_project_is_followed() {
    let mut person = Person::new();
    let root = person.home.path().join("game");
    fs::create_dir(root.join("extra")).unwrap();
    let file = root.join("extra/New.luau");
    fs::write(&file, "return 1\n").unwrap();
    let tree = json!({
        "name": "game",
        "tree": {
            "$className": "DataModel",
            "ServerScriptService": { "Game": { "$path": "src" }, "Extra": { "$path": "extra" } },
        },
    });
    write(&root.join("default.project.json"), &tree.to_string());
    let asked = "replace \"return 1\" with \"return 2\" in game.ServerScriptService.Extra.New";
    let first = loop {
        // Until the daemon has read the changed project file, the request finds nothing there.
        person.ask(asked);
        if let Some(card) = person.card_or_end() {
            break card;
        }
    };
    write(&file, "-- mine\nreturn 1\n");
    let again = person.card();
    assert_ne!(first, again);
    assert_eq!(person.shown(first)["status"], "withdrawn");
    person.approve(again).ok();
    person.until_status(again, "applied");
    assert_eq!(fs::read_to_string(&file).unwrap(), "-- mine\nreturn 2\n");
}

#[test]
fn pending_proposal_survives_a_change_of_another_file() {
    let mut person = Person::new();
    person.ask(&replace("speed = 1", "speed = 2"));
    let seq = person.card();
    write(&person.file("Other.luau"), "return { 1 }\n");
    person.approve(seq).ok();
    person.until("done");
    assert!(person.text("Main.server.luau").contains("speed = 2"));
    assert_eq!(person.text("Other.luau"), "return { 1 }\n");
    // The scene follows the file: the next request finds what the editor wrote.
    person.ask("replace \"{ 1 }\" with \"{ 2 }\" in game.ServerScriptService.Game.Other");
    let next = person.card();
    person.approve(next).ok();
    person.until_status(next, "applied");
    assert_eq!(person.text("Other.luau"), "return { 2 }\n");
}

#[test]
fn requests_that_touch_an_applied_proposal_are_replanned() {
    let mut person = Person::new();
    person.ask(&replace("speed = 1", "speed = 2"));
    let first = person.card();
    person.ask(&replace("print(speed)", "print(speed + 1)"));
    let second = person.card();
    person.ask("rename game.ServerScriptService.Game.Other to Last");
    let third = person.card();
    for seq in [first, second, third] {
        assert_eq!(person.shown(seq)["proposal"]["after"], Json::Null);
    }
    person.approve(first).ok();
    person.until_status(first, "applied");
    person.until_status(second, "withdrawn");
    let again = person.card();
    assert_eq!(person.shown(second)["successor"], again);
    assert_eq!(person.shown(third)["status"], "waiting");
    person.approve(third).ok();
    person.until_status(third, "applied");
    person.approve(again).ok();
    person.until_status(again, "applied");
    let text = person.text("Main.server.luau");
    assert_eq!(text, "local speed = 2\r\nprint(speed + 1)\r\n");
    assert_eq!(person.text("Last.luau"), OTHER);
}

#[test]
fn mass_file_changes_under_a_pending_proposal_lose_nothing() {
    let mut person = Person::new();
    person.ask(&replace("speed = 1", "speed = 2"));
    let first = person.card();
    // As a branch switch does: many files appear, and the script itself changes.
    for at in 0..2_000 {
        fs::write(person.file(&format!("Module{at}.luau")), "return 1\n").unwrap();
    }
    write(&person.file("Main.server.luau"), "local speed = 1 -- of the branch\n");
    let again = person.card();
    assert_ne!(first, again);
    person.approve(again).ok();
    person.until("done");
    assert_eq!(person.text("Main.server.luau"), "local speed = 2 -- of the branch\n");
    person.ask("rename game.ServerScriptService.Game.Module1999 to Last");
    let rename = person.card();
    person.approve(rename).ok();
    person.until_status(rename, "applied");
    assert_eq!(person.text("Last.luau"), "return 1\n");
    assert!(!person.file("Module1999.luau").exists());
}

#[test]
fn file_deleted_under_a_pending_proposal_is_not_recreated() {
    let mut person = Person::new();
    person.ask(&replace("speed = 1", "speed = 2"));
    let seq = person.card();
    fs::remove_file(person.file("Main.server.luau")).unwrap();
    person.until("done");
    assert_eq!(person.shown(seq)["status"], "withdrawn");
    assert!(!person.file("Main.server.luau").exists());
}

#[test]
fn pending_deletion_is_replanned_when_the_script_changes() {
    let mut person = Person::new();
    person.ask("delete game.ServerScriptService.Game.Other");
    let first = person.card();
    write(&person.file("Other.luau"), "return \"an hour of work\"\n");
    let again = person.card();
    assert_ne!(first, again);
    assert_ne!(person.approve(first).status, 200);
    assert!(person.file("Other.luau").exists());
    person.approve(again).ok();
    person.until_status(again, "applied");
    assert!(!person.file("Other.luau").exists());
}

#[test]
fn file_added_under_pending_proposal_is_kept_without_conflict() {
    let mut person = Person::new();
    person.ask(&replace("speed = 1", "speed = 2"));
    let seq = person.card();
    write(&person.file("New.luau"), "return \"new\"\n");
    person.approve(seq).ok();
    person.until_status(seq, "applied");
    assert_eq!(person.text("New.luau"), "return \"new\"\n");
}

#[test]
fn briefly_broken_project_is_read_whole_after_the_fix() {
    let mut person = Person::new();
    let project = person.home.path().join("game/default.project.json");
    let good = fs::read_to_string(&project).unwrap();
    // As an interrupted merge does: the project file and a script change at once.
    write(&project, "<<<<<<< HEAD\n");
    write(&person.file("Other.luau"), "return { 1 }\n");
    write(&project, &good);
    person.ask("replace \"{ 1 }\" with \"{ 2 }\" in game.ServerScriptService.Game.Other");
    let seq = loop {
        if let Some(seq) = person.card_or_end() {
            break seq;
        }
        person.ask("replace \"{ 1 }\" with \"{ 2 }\" in game.ServerScriptService.Game.Other");
    };
    person.approve(seq).ok();
    person.until_status(seq, "applied");
    assert_eq!(person.text("Other.luau"), "return { 2 }\n");
}

#[test]
fn pending_project_proposal_is_replanned_after_a_daemon_kill() {
    let mut person = Person::new();
    person.ask(&replace("speed = 1", "speed = 2"));
    let old = person.card();
    person.daemon.take().unwrap().kill();
    assert_eq!(person.text("Main.server.luau"), MAIN);
    person.start();
    // The pending proposal is replanned, and the next request is planned beside it.
    let again = loop {
        let seq = person.card();
        if seq != old {
            break seq;
        }
    };
    person.ask("rename game.ServerScriptService.Game.Other to Last");
    let next = person.card();
    for seq in [next, again] {
        person.approve(seq).ok();
        person.until_status(seq, "applied");
    }
    assert!(person.text("Main.server.luau").contains("speed = 2"));
    assert_eq!(person.text("Last.luau"), OTHER);
}

#[test]
fn user_text_in_the_memory_file_is_kept() {
    let mut person = Person::new();
    let memory = person.home.path().join("game/.vector/memory.md");
    fs::create_dir_all(memory.parent().unwrap()).unwrap();
    let own = "# Memory\n\n## Decisions\n\n- My own\n";
    fs::write(&memory, own).unwrap();
    let calls = person.home.path().join("calls.jsonl");
    let call = json!({ "tool": "edit_memory", "args": { "changes": [
        { "action": "add", "section": "decisions", "text": "Two speeds" },
    ] } });
    fs::write(&calls, call.to_string()).unwrap();
    let [folder, calls] =
        [person.home.path().join("game"), calls].map(|it| it.display().to_string());
    let done = person.home.run(&["edit", "--project", &folder, "--ops", &calls, "--yes"], "");
    assert_eq!(done.code, 0, "{}", done.stderr);
    assert_eq!(fs::read_to_string(&memory).unwrap(), format!("{own}- Two speeds\n"));
    // The running daemon is not affected.
    person.ask(&replace("speed = 1", "speed = 2"));
    let seq = person.card();
    person.approve(seq).ok();
    person.until_status(seq, "applied");
    assert_eq!(fs::read_to_string(&memory).unwrap(), format!("{own}- Two speeds\n"));
}

#[test]
fn project_is_restored_to_a_checkpoint() {
    let mut person = Person::new();
    let checkpoint =
        person.call("POST", "/api/checkpoints", &json!({ "session": person.session })).ok();
    for (from, to) in [("speed = 1", "speed = 2"), ("speed = 2", "speed = 3")] {
        person.ask(&replace(from, to));
        let seq = person.card();
        person.approve(seq).ok();
        person.until_status(seq, "applied");
    }
    let path = format!("/api/checkpoints/{}/restore", checkpoint["seq"]);
    person.call("POST", &path, &json!({})).ok();
    let back = person.card();
    let title = person.shown(back)["proposal"]["title"].clone();
    assert_eq!(title, format!("Restore checkpoint {}: reverts 2 proposals", checkpoint["seq"]));
    person.approve(back).ok();
    person.until_status(back, "applied");
    let shown = person.shown(back)["proposal"]["preview"]["scripts"].clone();
    assert!(shown.to_string().contains("speed = 1"), "{shown}");
}
