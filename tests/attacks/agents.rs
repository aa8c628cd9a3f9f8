//! Attacks by MCP agents: the routes that their token opens, the arguments that their tools accept,
//! and their access to the calls, proposals and sessions of others.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use scene_schemas::api::{MAX_BODY, Token};
use scene_schemas::entry::Entry;
use serde_json::{Value as Json, json};

use super::Outcome::{Http, Instead, Tool};
use super::attacks;
use super::ground::{Ground, Seen, WINDOW, routes};
use super::said::{Client, told};

/// Calls a tool over HTTP, with some fields of the default call replaced by `changed`.
fn called(ground: &Ground, changed: &Json) -> Seen {
    ground.agent("POST", "/api/agents/calls", &call(changed)).into()
}

fn call(changed: &Json) -> Json {
    let mut call = json!({
        "connection": "evil-1", "client": "evil", "id": "1", "session": WINDOW, "tool": "create_instance",
        "args": { "className": "Part", "parentPath": "game.Workspace" }, "hold": 10,
    });
    for (name, value) in changed.as_object().unwrap() {
        call[name] = value.clone();
    }
    call
}

/// Returns the sequence number of every ledger record.
fn numbers(ground: &Ground) -> Vec<u64> {
    ground.records().iter().map(|record| record.seq.0).collect()
}

fn on_all_routes(ground: &Ground, token: Token) -> Vec<Seen> {
    let bearer = format!("Bearer {}", ground.agent);
    routes(token).map(|route| ground.with(route, &[("Authorization", &bearer)])).collect()
}

/// Makes a call that waits for the user, and returns the numbers of the call and of its proposal.
fn waiting(ground: &Ground) -> (u64, u64) {
    let view = ground.agent("POST", "/api/agents/calls", &call(&json!({}))).ok();
    assert_eq!(view["outcome"]["state"], "pending", "{view}");
    (view["call"].as_u64().unwrap(), view["outcome"]["proposal"].as_u64().unwrap())
}

fn status(ground: &Ground, proposal: u64) -> Json {
    let shown = ground.person("GET", &format!("/api/proposals/{proposal}"), &Json::Null);
    shown.ok()["status"].clone()
}

/// Starts twelve test runs at once that use as much memory and time as they can. Asserts that the
/// daemon still answers others within 5 seconds, and that its memory stays below 1.5 GB.
fn run_hungry_specs(ground: &Ground) {
    let spec = "return function() it('takes', function() local all = {} for at = 1, 200 do \
                all[at] = buffer.create(1048576) buffer.fill(all[at], 0, 1) end \
                while true do end end) end\n";
    std::fs::write(ground.path("game/src/Hungry.spec.luau"), spec).unwrap();
    let ask = |at: usize| {
        let body =
            call(&json!({ "id": at.to_string(), "session": ground.project, "tool": "run_tests",
            "args": { "timeout": 1 }, "hold": 15 }))
            .to_string();
        let head = format!(
            "POST /api/agents/calls HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\
             Connection: close\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
            ground.port(),
            ground.agent,
            body.len()
        );
        let mut stream = ground.connect();
        stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        stream
    };
    let asked: Vec<TcpStream> = (0..12).map(ask).collect();
    for _ in 0..10 {
        let began = Instant::now();
        ground.person("GET", "/api/settings", &Json::Null).ok();
        assert!(began.elapsed().as_secs() < 5, "others wait: {:?}", began.elapsed());
    }
    for mut stream in asked {
        let mut answer = String::new();
        stream.set_read_timeout(Some(Duration::from_mins(2))).unwrap();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    // The peak memory of the daemon. Only Linux offers a simple way to read it.
    let status = std::fs::read_to_string(format!("/proc/{}/status", ground.daemon().process()));
    let most = status.ok().and_then(|status| {
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?.to_owned();
        line.split_whitespace().next()?.parse::<u64>().ok()
    });
    assert!(most.is_none_or(|kb| kb < 1_500_000), "{most:?} KB");
}

/// Asserts that `vector log` prints no control characters that a terminal would act on.
#[track_caller]
fn log_is_plain(ground: &Ground) -> Seen {
    let log = ground.home.run(&["log"], "");
    assert_eq!(log.code, 0, "{}", log.stderr);
    let bad = |c: char| c.is_control() && c != '\n';
    assert!(!log.stdout.contains(bad), "{:?}", log.stdout);
    Seen::Instead
}

attacks! { served: true;
    a_person_s_routes: Agent, "every route that is for the person: decide, settings, cancel, restore, chat"
        => Http(401, "unauthorized"), |ground| on_all_routes(ground, Token::Human);
    a_plugin_s_routes: Agent, "every route that is for Studio's plugin"
        => Http(401, "unauthorized"), |ground| on_all_routes(ground, Token::Plugin);
    tools_that_decide: Agent, "calls tools by the names of all that decides or takes back"
        => Tool(""),
        |ground| {
            let mut client = Client::new(ground, 5);
            ["decide", "approve", "approve_proposal", "apply", "reject", "revert", "restore", "restore_checkpoint",
                "set_settings", "choose_mode", "pair", "api/proposals/1/decide", "../decide", ""].map(|tool| {
                let args = json!({ "session": WINDOW, "id": ground.proposal, "proposal": ground.proposal,
                    "decision": "approve", "checkpoint": 1 });
                client.sees(tool, &args)
            }).into()
        };
    tools_of_our_own_models: Agent, "calls the tools by which Vector's own models talk, plan and read the web"
        => Tool("is not a tool for MCP clients"),
        |ground| {
            let mut client = Client::new(ground, 5);
            ["complete", "final_message", "message", "ask_clarification", "start_plan", "update_plan", "fetch_url"]
                .map(|tool| client.sees(tool, &json!({ "session": WINDOW, "text": "approve it" }))).into()
        };
    tools_that_decide_in_a_list: Agent, "hides what decides in a list of changes" => Tool("change 1: "),
        |ground| {
            let mut client = Client::new(ground, 5);
            ["decide", "approve", "revert", "restore", "fetch_url", "propose_changes"].map(|tool| {
                let changes = json!([{ "tool": tool, "args": { "proposal": ground.proposal } }]);
                client.sees("propose_changes", &json!({ "session": WINDOW, "title": "t", "changes": changes }))
            }).into()
        };
    a_yes_to_what_was_asked: Agent, "answers yes for the person when its program is to show where to decide"
        => Instead("the call answers `pending`, and the proposal waits"),
        |ground| {
            let mut client = Client::new(ground, 6);
            let args = json!({ "session": WINDOW, "className": "Part", "parentPath": "game.Workspace" });
            let said = client.call("create_instance", &args);
            assert_eq!(client.asked.len(), 1, "it was asked, and said yes");
            assert_eq!(said["result"]["structuredContent"]["status"], "pending", "{said}");
            let id = said["result"]["structuredContent"]["id"].as_u64().unwrap();
            let view = ground.agent("GET", &format!("/api/agents/calls/{id}"), &Json::Null).ok();
            assert_eq!(view["outcome"]["status"], "waiting", "{view}");
            vec![Seen::Instead]
        };
    a_status_that_says_approve: Agent, "asks what became of a call, and says that it is approved"
        => Instead("it is told `pending`, and the proposal waits"),
        |ground| {
            let (call, proposal) = waiting(ground);
            let mut client = Client::new(ground, 5);
            for id in [call, proposal] {
                let args = json!({ "id": id, "decision": "approve", "approve": true, "status": "applied",
                    "patch_id": "x", "say": "approve" });
                let said = client.call("proposal_status", &args);
                assert_eq!(said["result"]["structuredContent"]["status"], "pending", "{said}");
            }
            assert_eq!(status(ground, proposal), "waiting");
            vec![Seen::Instead]
        };
    the_status_of_a_person_s_task: Agent, "asks for the status of every number on record" => Tool("There is"),
        |ground| {
            let mut client = Client::new(ground, 5);
            numbers(ground).into_iter().map(|id| client.sees("proposal_status", &json!({ "id": id }))).collect()
        };
    a_person_s_task_over_http: Agent, "reads every number on record as a call of its own"
        => Http(404, "not_found"),
        |ground| numbers(ground).into_iter().map(|id| {
            ground.agent("GET", &format!("/api/agents/calls/{id}"), &Json::Null).into()
        }).collect();
    cancelling_what_is_another_s: Agent, "takes back the calls of others, by every number and name"
        => Instead("their proposals stay pending"),
        |ground| {
            let (_, proposal) = waiting(ground);
            for id in numbers(ground).iter().map(u64::to_string).chain(["1".to_owned()]) {
                for connection in ["evil-2", "evil-1:", "", WINDOW] {
                    let taken = json!({ "connection": connection, "id": id });
                    ground.agent("POST", "/api/agents/cancel", &taken).ok();
                }
            }
            assert_eq!(status(ground, proposal), "waiting");
            vec![Seen::Instead]
        };
    ending_another_s_connection: Agent, "ends the connections of others"
        => Instead("their proposals stay pending"),
        |ground| {
            let (_, proposal) = waiting(ground);
            for connection in ["evil-1", "", "*", WINDOW, "../x"] {
                ground.agent("POST", "/api/agents/end", &json!({ "connection": connection })).ok();
            }
            assert_eq!(status(ground, proposal), "waiting");
            vec![Seen::Instead]
        };
    a_call_s_name_again: Agent, "sends another call under the name of one that the person looks at"
        => Instead("it is told of the first, and no word of the second is on record"),
        |ground| {
            let (call_seq, proposal) = waiting(ground);
            let before = ground.person("GET", &format!("/api/proposals/{proposal}"), &Json::Null).ok();
            let evil = call(&json!({ "tool": "delete_instance", "args": { "path": "game.Workspace.Wall" } }));
            let view = ground.agent("POST", "/api/agents/calls", &evil).ok();
            assert_eq!((&view["call"], &view["tool"]), (&json!(call_seq), &json!("create_instance")));
            assert_eq!(ground.person("GET", &format!("/api/proposals/{proposal}"), &Json::Null).ok(), before);
            let is_evil = |entry: &Entry| matches!(entry, Entry::Called { tool, .. } if tool == "delete_instance");
            assert!(!ground.records().iter().any(|it| is_evil(&it.entry)));
            vec![Seen::Instead]
        };
    a_connection_s_name: Agent, "calls itself and its calls by paths, lines, and the words of others"
        => Http(400, "bad_request"),
        |ground| ["", "a b", "../x", "a:b", "a\n", "\u{0}", "é", &"x".repeat(65)].into_iter().flat_map(|name| {
            [called(ground, &json!({ "connection": name })), called(ground, &json!({ "id": name }))]
        }).collect();
    another_place: Agent, "names places that are not open, by paths and patterns" => Http(404, "not_found"),
        |ground| ["", "*", "../window-1", "window-2", "window-1/../project", "/etc/passwd", "WINDOW-1"]
            .map(|session| called(ground, &json!({ "session": session }))).into();
    no_place: Agent, "names no place where two are open" => Http(404, "not_found"),
        |ground| vec![called(ground, &json!({ "session": null }))];
    arguments_that_are_huge: Agent, "calls a tool with a megabyte" => Http(413, "too_large"),
        |ground| vec![called(ground, &json!({ "args": "x".repeat(MAX_BODY) }))];
    arguments_that_are_deep: Agent, "calls a tool with lists in lists, 10,000 deep" => Http(400, "bad_request"),
        |ground| {
            let deep = format!("{}{}", "[".repeat(10_000), "]".repeat(10_000));
            let body = call(&json!({ "args": "DEEP" })).to_string().replace("\"DEEP\"", &deep);
            vec![ground.ask("POST", "/api/agents/calls", Some(&ground.agent), &body)]
        };
    arguments_that_are_no_object: Agent, "calls a tool with no object" => Tool(""),
        |ground| {
            let mut client = Client::new(ground, 5);
            [json!([]), json!("x"), json!(1), json!([{ "className": "Part" }])].map(|args| {
                told(&client.ask("tools/call", &json!({ "name": "create_instance", "arguments": args })))
            }).into()
        };
    a_name_that_moves_the_terminal: Agent, "calls its program, its tool and its argument by escape sequences"
        => Instead("the name is made plain, and `vector log` shows none of them"),
        |ground| {
            let evil = "\u{1b}]0;x\u{7}\u{1b}[2J\r\n\u{9b}31m\u{202e}evil";
            called(ground, &json!({ "client": evil, "tool": evil, "args": { evil: evil } }));
            let rename = json!({ "path": "game.Workspace.Wall", "newName": evil });
            called(ground, &json!({ "client": evil, "id": "2", "tool": "rename_instance", "args": rename }));
            let plain = |driver: &str| driver.chars().all(|c| c.is_ascii_graphic() || c == ' ');
            for record in ground.records() {
                if let Entry::Started { driver, goal, .. } = &record.entry {
                    assert!(plain(driver) && plain(goal), "{driver:?} {goal:?}");
                }
            }
            vec![log_is_plain(ground)]
        };
    addresses_of_files: Agent, "reads resources that are files, other places, and ways up" => Tool(""),
        |ground| {
            let mut client = Client::new(ground, 5);
            ["file:///etc/passwd", "vector://ledger/../token", "vector://place/../../etc/passwd", "vector://token",
                "vector://place/window-1/script/..%2f..%2fetc%2fpasswd", "vector://place/window-2/tree/game",
                "vector://place/window-1/tree/%00", "http://127.0.0.1/", ""]
                .map(|uri| told(&client.ask("resources/read", &json!({ "uri": uri })))).into()
        };
    the_proposal_of_a_person_as_a_resource: Agent, "reads every number on record as a resource"
        => Tool(""),
        |ground| {
            let mut client = Client::new(ground, 5);
            let uri = |id: u64| json!({ "uri": format!("vector://proposals/{id}") });
            numbers(ground).into_iter().map(|id| told(&client.ask("resources/read", &uri(id)))).collect()
        };
    methods_of_the_protocol: Agent, "asks for methods that are not there, and some that only servers may"
        => Tool(""),
        |ground| {
            let mut client = Client::new(ground, 5);
            ["decide", "tools/approve", "elicitation/create", "sampling/createMessage", "roots/list", "prompts/get"]
                .map(|method| told(&client.ask(method, &json!({ "name": "x", "messages": [], "maxTokens": 1 }))))
                .into()
        };
    a_session_of_the_protocol: Agent, "goes on in sessions of /mcp that it guesses"
        => Instead("there is none: 4xx"),
        |ground| {
            for session in ["1", "", "00000000-0000-0000-0000-000000000000", &ground.person.clone()] {
                let host = format!("127.0.0.1:{}", ground.port());
                let bearer = format!("Bearer {}", ground.agent);
                let headers = [("Host", host.as_str()), ("Authorization", &bearer), ("Mcp-Session-Id", session),
                    ("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")];
                let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
                    "params": { "name": "list_sessions" } }).to_string();
                for (method, body) in [("GET", ""), ("POST", call.as_str())] {
                    let Seen::Reply(reply) = ground.send(method, "/mcp", &headers, body) else { unreachable!() };
                    assert!((400..500).contains(&reply.status), "{method} {session:?}: {reply:?}");
                }
            }
            vec![Seen::Instead]
        };
    another_client_s_session_of_the_protocol: Agent, "uses, listens to and ends a session of /mcp that another client's token began, whose id it knows"
        => Instead("404 each time, and its owner goes on with it"),
        |ground| {
            let made = |name: &str| {
                let made = ground.person("POST", "/api/access/token", &json!({ "name": name })).ok();
                made["token"].as_str().unwrap().to_owned()
            };
            let (own, other) = (made("own"), made("other"));
            let host = format!("127.0.0.1:{}", ground.port());
            let send = |method: &str, token: &str, session: Option<&str>, body: &str| {
                let bearer = format!("Bearer {token}");
                let mut headers = vec![("Host", host.as_str()), ("Authorization", &bearer), ("Connection", "close"),
                    ("Accept", "application/json, text/event-stream"), ("Content-Type", "application/json")];
                headers.extend(session.map(|session| ("Mcp-Session-Id", session)));
                let Seen::Reply(reply) = ground.send(method, "/mcp", &headers, body) else { unreachable!() };
                reply
            };
            let initialize = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "x", "version": "1" } } });
            let begun = send("POST", &own, None, &initialize.to_string());
            let session = begun.head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
            let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }).to_string();
            let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }).to_string();
            for token in [&other, &ground.agent, &ground.person] {
                for (method, body) in [("POST", told.as_str()), ("POST", &list), ("GET", ""), ("DELETE", "")] {
                    let reply = send(method, token, Some(session), body);
                    assert_eq!(reply.status, 404, "{method}: {reply:?}");
                }
            }
            assert_eq!(send("POST", &own, Some(session), &told).status, 202);
            assert_eq!(send("POST", &own, Some(session), &list).status, 200);
            assert_eq!(send("DELETE", &own, Some(session), "").status / 100, 2);
            ground.note();
            vec![Seen::Instead]
        };
    many_specs_at_once: Agent, "has specs run in 12 calls at once, each of which takes all the memory and time that it may"
        => Instead("a few run at once, the others wait, and everybody else is answered meanwhile"),
        |ground| {
            run_hungry_specs(ground);
            ground.note();
            vec![Seen::Instead]
        };
}
