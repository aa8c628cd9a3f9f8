//! The context of a request besides its text: the selected instance and the attachments.

use std::collections::BTreeSet;
use std::{fs, thread};

use scene_schemas::Fingerprint;
use serde_json::{Value as Json, json};
use vector_tests::daemon::{Answer, Plugin};
use vector_tests::human::Human;
use vector_tests::places::Format;

use super::daemon;
use super::flow::{apply, proposal};
use super::place::Bench;

/// Waits for the next question of this kind.
fn asked(plugin: &mut Plugin<'_>, want: &str) -> Json {
    plugin.until(|polled| {
        let work = polled["work"].as_array().unwrap();
        work.iter().find(|work| work["query"]["want"] == want).cloned()
    })
}

fn answer(plugin: &mut Plugin<'_>, question: &Json, answer: Json) {
    plugin.say(json!([{ "part": "answered", "work": question["number"], "answer": answer }])).ok();
}

/// Answers the question for the wall's properties.
fn tell_wall(plugin: &mut Plugin<'_>) {
    let question = asked(plugin, "properties");
    let known = json!([{ "id": "studio:2", "values": { "Transparency": 0.25 } }]);
    answer(plugin, &question, json!({ "answer": "properties", "known": known }));
}

#[test]
fn selected_instance_stays_the_target_across_replans() {
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
    let meant = &shown["proposal"]["implicit_target"];
    assert_eq!(meant["by"], "selected");
    assert_eq!(meant["target"], json!({ "id": "studio:2", "path": "game.Workspace.Wall" }));
    plugin.decide(first, json!({ "say": "approve" })).ok();
    let work = apply(&mut plugin);
    plugin.acknowledge(&work, json!({ "outcome": "stale", "reason": "Wall was painted." })).ok();
    // The replanned proposal keeps the target; the selection is not requested again.
    let again = proposal(&mut plugin);
    assert!(again > first);
    let shown = plugin.call("GET", &format!("/api/proposals/{again}"), &Json::Null).ok();
    assert_eq!(shown["proposal"]["implicit_target"], *meant);
    // A new epoch does not request it either: the target is found by its path.
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

/// An attachment of text selected in the script Main, when its text was `text`.
fn quote(text: &str, selected: &str) -> Json {
    let hash = Fingerprint::hash_bytes(text.as_bytes());
    json!({ "kind": "text", "id": "studio:3", "hash": hash, "selected": selected })
}

fn message(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.body["message"].as_str().unwrap_or_default())
}

#[test]
fn attachments_are_recorded_and_shown() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let wall = json!({ "kind": "instance", "id": "studio:2" });
    let attached = json!([wall, quote("print(1)\n", "print(1)")]);
    let started = plugin.chat_with("set Transparency = 0.5 on the selection", attached).ok();
    // A single attached instance is the target, so the selection is not requested.
    tell_wall(&mut plugin);
    let seq = proposal(&mut plugin);
    let shown = plugin.call("GET", &format!("/api/proposals/{seq}"), &Json::Null).ok();
    let target = json!({ "id": "studio:2", "path": "game.Workspace.Wall" });
    assert_eq!(shown["proposal"]["implicit_target"], json!({ "target": target, "by": "attached" }));
    let path = format!("/api/workflows/{}", started["workflow"]);
    let view = plugin.call("GET", &path, &Json::Null).ok();
    let said = json!(["game.Workspace.Wall (Part)", "line 1 of game.Workspace.Main"]);
    assert_eq!(view["attached"], said);
    let page = plugin.call("GET", "/api/stream?cursor=0&hold=0", &Json::Null).ok();
    assert_eq!(page["events"][0]["event"]["attached"], said);
    let folder = home.path().display().to_string();
    let log = home.run(&["log", "--home", &folder], "");
    assert!(log.stdout.contains("  attached: line 1 of game.Workspace.Main\n"), "{}", log.stdout);
}

#[test]
fn attachments_that_are_gone_are_refused() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let ask = |plugin: &Plugin<'_>, attached: Json| {
        plugin.chat_with("rename game.Workspace.Wall to Tower", json!([attached]))
    };
    let gone = ask(&plugin, json!({ "kind": "instance", "id": "studio:9" }));
    assert_eq!(message(&gone), (409, "Something that you attached is no longer in the place."));
    plugin.say(json!([{ "part": "removed", "id": "studio:2" }])).ok();
    let gone = ask(&plugin, json!({ "kind": "instance", "id": "studio:2" }));
    assert_eq!(gone.status, 409);
    let other = ask(&plugin, quote("print(1)\n", "print(2)"));
    assert_eq!(message(&other), (409, "The text that you attached is not in game.Workspace.Main."));
    let workflows = plugin.call("GET", "/api/workflows", &Json::Null).ok();
    assert_eq!(workflows["workflows"], json!([]), "nothing was begun");
}

#[test]
fn selected_text_is_compared_with_the_script() {
    let (_home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let ask = |plugin: &Plugin<'_>| {
        let quoted = quote("print(2)\n", "print(2)");
        plugin.chat_with("rename game.Workspace.Wall to Tower", json!([quoted]))
    };
    let say = |plugin: &mut Plugin<'_>, text: &str, is_dirty: bool| {
        let script = json!({ "id": "studio:3", "text": text, "is_dirty": is_dirty });
        plugin.say(json!([{ "part": "sources", "scripts": [script] }])).ok();
    };
    let changed = ask(&plugin);
    let said = "game.Workspace.Main has changed since you selected this.";
    assert_eq!(message(&changed), (409, said));
    assert_eq!(changed.body["hint"], "Select it again.");
    say(&mut plugin, "print(4)\n", true);
    let draft = ask(&plugin);
    let said = "game.Workspace.Main has an unsaved draft that has changed since you selected this.";
    assert_eq!(message(&draft), (409, said));
    // After a change without a reported text, there is no text to compare with.
    plugin.say(json!([{ "part": "changed", "id": "studio:3", "names": ["Source"] }])).ok();
    assert_eq!(ask(&plugin).status, 409);
    say(&mut plugin, "print(2)\n", true);
    ask(&plugin).ok();
    proposal(&mut plugin);
}

/// Sends a request in a session of a file.
fn says(human: &Human, opened: &Json, text: &str) -> Answer {
    let body = json!({ "session": opened["session"], "epoch": opened["epoch"], "text": text });
    human.call("POST", "/api/chat", &body)
}

#[test]
fn request_of_a_person_asks_studio_for_what_is_mentioned_there() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let human = Human::of(&daemon, home.path());
    let opened = human.call("GET", "/api/sessions", &Json::Null).ok()["sessions"][0].clone();
    let text = "what are @selection, @script and @output?";
    thread::scope(|scope| {
        let request = scope.spawn(|| says(&human, &opened, text));
        for (want, told) in [
            ("selection", json!({ "ids": ["studio:2"], "count": 1 })),
            ("active_script", json!({ "script": { "id": "studio:3", "is_dirty": false } })),
            ("output", json!({ "output": { "messages": [] } })),
        ] {
            let question = asked(&mut plugin, want);
            let mut told = told;
            told["answer"] = json!(want);
            answer(&mut plugin, &question, told);
        }
        request.join().unwrap().ok();
    });
    says(&human, &opened, "rename game.Workspace.Wall to Tower").ok();
    let seq = proposal(&mut plugin);
    let folder = home.path().display().to_string();
    let log = home.run(&["log", "--home", &folder], "").stdout;
    for attached in ["game.Workspace.Wall", "game.Workspace.Main", "output of Studio (0 messages)"]
    {
        assert!(log.contains(&format!("attached: {attached}")), "{attached}: {log}");
    }
    // A proposal is attached with its changes, whatever became of it.
    let answered = says(&human, &opened, &format!("what is @proposal:{seq}?"));
    answered.ok();
    let log = home.run(&["log", "--home", &folder], "").stdout;
    assert!(log.contains(&format!("attached: proposal {seq}, waiting: ")), "{log}");
    // Studio answers that nothing is selected.
    thread::scope(|scope| {
        let request = scope.spawn(|| says(&human, &opened, "paint @selection"));
        let question = asked(&mut plugin, "selection");
        answer(&mut plugin, &question, json!({ "answer": "selection", "ids": [], "count": 0 }));
        let refused = request.join().unwrap();
        assert_eq!(message(&refused), (400, "@selection: nothing is selected in Studio"));
    });
}

#[test]
fn instance_is_shown_in_studio() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let human = Human::of(&daemon, home.path());
    let path = format!("/api/sessions/{}/reveal", plugin.session);
    let show = |path_in_place: &str| {
        let request = json!({ "path": path_in_place, "line": 3, "target": "studio" });
        human.call("POST", &path, &request)
    };
    for (told, status) in [
        (json!({ "answer": "revealed" }), 200),
        (json!({ "answer": "failed", "reason": "Studio did not open Main." }), 409),
    ] {
        thread::scope(|scope| {
            let request = scope.spawn(|| show("game.Workspace.Main"));
            let question = asked(&mut plugin, "reveal");
            assert_eq!(question["query"]["line"], 3);
            answer(&mut plugin, &question, told);
            assert_eq!(request.join().unwrap().status, status);
        });
    }
    assert_eq!(show("game.Workspace.Nobody").status, 404);
}

#[test]
fn mentions_are_offered_by_what_was_typed() {
    let (bench, opened) = Bench::open(Format::Rbxlx);
    fs::write(bench.file.with_file_name("my lamps.md"), "blue\n").unwrap();
    let session = opened["session"].as_str().unwrap();
    let offered = |typed: &str| -> Vec<String> {
        let path = format!("/api/sessions/{session}/mentions?typed={typed}");
        let answer = bench.human.call("GET", &path, &Json::Null).ok();
        let all = answer["mentions"].as_array().unwrap().iter();
        all.map(|it| it["text"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(offered("prob"), ["@problems"]);
    assert_eq!(offered("lamp"), ["@file:game.Workspace.Lamp", "@file:\"my lamps.md\""]);
    assert_eq!(offered("folder:lamp"), ["@folder:game.Workspace.Lamp"]);
    assert_eq!(offered("sel"), [""; 0], "a file has no selection");
    says(&bench.human, &opened, "rename game.Workspace.Lamp to Lantern").ok();
    let mut human = bench.human;
    let seq = human.card();
    let path = format!("/api/sessions/{session}/mentions?typed=");
    for typed in ["proposal:", "prop", "rename"] {
        let answer = human.call("GET", &format!("{path}{typed}"), &Json::Null).ok();
        let mention = &answer["mentions"][0];
        assert_eq!(mention["text"], format!("@proposal:{seq}"), "{typed}: {answer}");
        assert!(mention["about"].as_str().unwrap().starts_with("waiting: "), "{mention}");
    }
}

#[test]
fn mentions_in_a_file_request_are_read_and_recorded() {
    let (bench, opened) = Bench::open(Format::Rbxlx);
    fs::write(bench.file.with_file_name("notes.md"), "blue\n").unwrap();
    let text = "rename game.Workspace.Lamp to Lantern, see @problems, @file:notes.md and \
                @file:game.Workspace.Lamp";
    says(&bench.human, &opened, text).ok();
    let log = bench.vector(&["log"]);
    for attached in ["problems of ", "notes.md (5 bytes)", "game.Workspace.Lamp"] {
        assert!(log.contains(attached), "{attached}: {log}");
    }
}

#[test]
fn http_request_reads_no_file_outside_the_place_folder() {
    let (bench, opened) = Bench::open(Format::Rbxlx);
    fs::write(bench.file.with_file_name(".env"), "KEY=secret\n").unwrap();
    for (mention, said) in [
        ("@file:/etc/hostname", "is not in the folder of this place"),
        ("@file:../../etc/hostname", "is not in the folder of this place"),
        ("@file:.env", "is not in the folder of this place"),
        ("@folder:../x", "is not in the folder of this place"),
        ("@file:none.md", "there is no such file"),
        ("@file:game.Workspace.Nobody", "Nobody"),
        ("@selection", "this is a file"),
        ("@https://127.0.0.1/x", "127.0.0.1"),
    ] {
        let answer = says(&bench.human, &opened, &format!("look at {mention}"));
        assert_eq!(answer.status, 400, "{mention}: {}", answer.body);
        assert!(message(&answer).1.contains(said), "{mention}: {}", answer.body);
    }
    assert!(!bench.vector(&["log"]).contains("look at"), "nothing was begun");
    // In backticks, `@file:` is plain text, and nothing is read.
    says(&bench.human, &opened, "what is `@file:/etc/hostname`?").ok();
}

#[test]
fn repeated_request_starts_one_workflow_while_problems_are_read() {
    let (bench, opened) = Bench::open(Format::Rbxlx);
    let body = json!({
        "session": opened["session"], "epoch": opened["epoch"], "text": "mend @problems", "request": "one",
    });
    let started = thread::scope(|scope| {
        let say =
            || bench.human.call("POST", "/api/chat", &body).ok()["workflow"].as_u64().unwrap();
        let all: Vec<_> = (0..4).map(|_| scope.spawn(say)).collect();
        all.into_iter().map(|it| it.join().unwrap()).collect::<BTreeSet<_>>()
    });
    assert_eq!(started.len(), 1, "{started:?}");
}
