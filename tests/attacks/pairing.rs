//! Attacks on pairing by code, on hello with the pairing's credential, and by a plugin that speaks
//! for another session.

use serde_json::{Value as Json, json};

use super::Outcome::{Http, Instead};
use super::attacks;
use super::ground::{Ground, Seen, WINDOW};

fn pair(ground: &Ground, code: &Json) -> Seen {
    ground.daemon().call("POST", "/api/pair", None, &json!({ "code": code })).into()
}

fn hello(ground: &Ground, changed: &Json) -> Seen {
    let mut hello = json!({
        "protocol": scene_schemas::api::PROTOCOL,
        "plugin": "0.1.0",
        "credential": ground.credential,
        "session": "window-2",
        "place": { "name": "Test", "place_id": 0 },
    });
    for (name, value) in changed.as_object().unwrap() {
        hello[name] = value.clone();
    }
    ground.daemon().call("POST", "/api/hello", None, &hello).into()
}

/// Opens a second session of the same plugin, and returns its token and epoch.
fn second(ground: &mut Ground) -> (String, Json) {
    let Seen::Reply(reply) = hello(ground, &json!({})) else { unreachable!() };
    assert_eq!(reply.status, 200, "{}", reply.body);
    ground.note();
    (reply.body["token"].as_str().unwrap().to_owned(), reply.body["epoch"].clone())
}

attacks! { served: true;
    guessing_the_code: Process, "tries 40 codes, and then the one that was printed first"
        => Instead("401 `unpaired`, soon 429 `too_many`, and none of the 40 pairs"),
        |ground| {
            let codes = (0..40).map(|at| format!("{:06}", at * 24_911));
            let tries: Vec<Seen> = codes.map(|code| pair(ground, &json!(code))).collect();
            let statuses: Vec<u16> = tries.iter().map(|it| match it {
                Seen::Reply(reply) => reply.status,
                _ => 0,
            }).collect();
            assert!(statuses.iter().all(|it| [401, 429].contains(it)), "{statuses:?}");
            assert_eq!(statuses[0], 401);
            assert!(statuses[10..].iter().all(|it| *it == 429), "{statuses:?}");
            vec![Seen::Instead]
        };
    locking_the_person_out: Process, "tries wrong codes again and again, while the person pairs"
        => Instead("the code that `vector pair` shows then has twelve digits, and pairs at once"),
        |ground| {
            let code = |ground: &Ground| {
                let shown = ground.person("POST", "/api/pairing", &json!({})).ok();
                shown["code"].as_str().unwrap().to_owned()
            };
            for _ in 0..3 {
                (0..20).for_each(|at| drop(pair(ground, &json!(format!("{at:06}")))));
                code(ground);
            }
            let shown = code(ground);
            (0..20).for_each(|at| drop(pair(ground, &json!(format!("{at:012}")))));
            let Seen::Reply(reply) = pair(ground, &json!(shown)) else { unreachable!() };
            assert_eq!((shown.len(), reply.status), (12, 200), "{}", reply.body);
            ground.note();
            vec![Seen::Instead]
        };
    a_code_that_is_none: Process, "codes that are empty, too short, too long, or only look like digits"
        => Http(401, "unpaired"),
        |ground| ["", "000", "０００００００", "' OR '1'='1"]
            .map(|code| pair(ground, &json!(code))).into();
    a_code_that_is_no_text: Process, "codes that are numbers, lists, patterns and nothing"
        => Http(400, "bad_request"),
        |ground| [json!(0), json!([]), json!(["000000"]), json!({ "$ne": "" }), Json::Null, json!(true)]
            .map(|code| pair(ground, &code)).into();
    pairing_with_an_agent_s_token: Agent, "pairs itself as a plugin, with its token and no code"
        => Http(401, "unpaired"),
        |ground| vec![ground.agent("POST", "/api/pair", &json!({ "code": "" })).into()];
    hello_with_a_guess: Process, "says hello with nothing, with garbage, and with another's tokens"
        => Http(401, "unpaired"),
        |ground| {
            let hashes = std::fs::read_to_string(ground.ledger().join("paired")).unwrap();
            let guesses = [json!(""), Json::Null, json!("0".repeat(48)), json!(ground.person),
                json!(ground.agent), json!(ground.plugin), json!(hashes.trim()),
                json!(format!("{} ", ground.credential)), json!(ground.credential[1..])];
            guesses.map(|guess| hello(ground, &json!({ "credential": guess }))).into()
        };
    a_window_s_name_that_is_a_path: Plugin, "calls its window by a path, a line, an escape, or nothing"
        => Http(400, "bad_request"),
        |ground| ["", "../x", "a/b", "a b", "a\n", "a\u{0}", "\u{1b}[31m", "é", ".", &"x".repeat(65)]
            .map(|session| hello(ground, &json!({ "session": session }))).into();
    a_project_s_name_for_a_window: Plugin, "calls its window as the project is called, to take its place"
        => Http(400, "bad_request"),
        |ground| vec![hello(ground, &json!({ "session": ground.project }))];
    a_place_s_name_that_moves_the_terminal: Plugin, "says hello for a place that is called by escape sequences"
        => Instead("lists of what is open show none of them"),
        |ground| {
            let name = "\u{1b}]0;x\u{7}\u{1b}[2J\r\n\u{9b}31m\u{202e}evil";
            let Seen::Reply(reply) = hello(ground, &json!({ "place": { "name": name, "place_id": 0 } })) else {
                unreachable!()
            };
            assert_eq!(reply.status, 200);
            let lists: [&[&str]; 2] = [&["checkpoint", "--list"], &["chat", "--session", "none"]];
            for args in lists {
                let run = ground.home.run(args, "");
                let said = format!("{}{}", run.stdout, run.stderr);
                assert!(!said.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'), "{said:?}");
            }
            vec![Seen::Instead]
        };
    another_protocol: Plugin, "speaks protocols that are older, newer, or none" => Http(426, "protocol"),
        |ground| [0, 2, u32::MAX].map(|protocol| hello(ground, &json!({ "protocol": protocol }))).into();
    another_window_s_place: Plugin, "tells and polls the place of another window" => Http(409, "stale"),
        |ground| {
            let (token, epoch) = second(ground);
            let scene = json!({ "epoch": epoch, "version": 1, "parts": [{ "part": "begin", "total": 0 }] });
            let poll = json!({ "epoch": epoch, "cursor": 0, "hold": 0 });
            [("scene", scene), ("poll", poll)].into_iter().map(|(what, body)| {
                let path = format!("/api/sessions/{WINDOW}/{what}");
                ground.daemon().call("POST", &path, Some(&token), &body).into()
            }).collect()
        };
    a_task_in_another_window: Plugin, "asks for something in the name of another window"
        => Http(409, "stale"),
        |ground| {
            let (token, _) = second(ground);
            let chat = json!({ "session": WINDOW, "epoch": ground.epoch, "text": "delete game.Workspace.Wall" });
            vec![ground.daemon().call("POST", "/api/chat", Some(&token), &chat).into()]
        };
    an_epoch_that_is_over: Plugin, "goes on with the token that it had before it said hello again"
        => Http(401, "unauthorized"),
        |ground| {
            let old = ground.plugin.clone();
            let Seen::Reply(reply) = hello(ground, &json!({ "session": WINDOW })) else { unreachable!() };
            assert_eq!(reply.status, 200);
            ground.note();
            let poll = json!({ "epoch": ground.epoch, "cursor": 0, "hold": 0 });
            let path = format!("/api/sessions/{WINDOW}/poll");
            vec![ground.daemon().call("POST", &path, Some(&old), &poll).into()]
        };
    an_acknowledgement_of_what_nobody_approved: Plugin, "says that a proposal is done which waits for a yes"
        => Instead("nothing changes, and the proposal stays pending"),
        |ground| vec![acknowledged(ground, WINDOW, &json!(ground.epoch), &ground.plugin)];
    another_window_s_acknowledgement: Plugin, "says that another window's proposal is done"
        => Instead("nothing changes, and the proposal stays pending"),
        |ground| {
            let (token, epoch) = second(ground);
            vec![acknowledged(ground, "window-2", &epoch, &token)]
        };
}

/// Acknowledges the pending proposal as applied, in the name of a session.
fn acknowledged(ground: &Ground, session: &str, epoch: &Json, token: &str) -> Seen {
    let path = format!("/api/proposals/{}", ground.proposal);
    let shown = ground.person("GET", &path, &Json::Null).body;
    let ack = json!({
        "session": session, "epoch": epoch, "patch_id": shown["proposal"]["patch_id"],
        "outcome": { "outcome": "applied", "results": [{ "ids": ["studio:2"] }], "version": 9 },
    });
    let said = ground.daemon().call("POST", &format!("{path}/apply"), Some(token), &ack).ok();
    assert_eq!(said["is_new"], false);
    Seen::Instead
}
