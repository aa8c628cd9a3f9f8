//! The official SDK's client: lists, calls, waits for the user, cancels, and survives a daemon
//! restart.

use std::fs;
use std::process::Command;

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::mcp::Client;

use super::{Person, command, place};

/// Tool arguments that recolor the sample's kill bricks.
fn brick(color: &str) -> Json {
    json!({ "selector": ".KillBrick", "props": { "Color": color } })
}

/// A client over stdio, connected to a daemon that it started.
fn connected(home: &Home, args: &[&str], elicits: bool) -> Option<Client> {
    let mut client = Client::new()?;
    client.done("connect", json!({ "stdio": command(home, args), "elicits": elicits }));
    Some(client)
}

#[test]
fn client_reads_a_place_file_over_stdio() {
    let home = Home::new();
    let place = place(&home);
    let Some(mut client) = Client::new() else { return };
    let args = ["--place", place.to_str().unwrap()];
    let server = client.done("connect", json!({ "stdio": command(&home, &args) }));
    let person = Person::of(&home);
    assert_eq!(server["server"]["name"], "vector");
    assert!(server["instructions"].as_str().unwrap().contains("proposal"), "{server}");
    let tools = client.done("tools", json!({}));
    let size = tools.to_string().len();
    assert!(size < 21_000, "{size} characters");
    let (failed, text) = client.call("list_children", json!({ "parentPath": "game.Workspace" }));
    assert!(!failed && text.contains("game.Workspace."), "{text}");
    let (failed, text) = client.call("read_script", json!({ "path": "game.Nothing" }));
    assert!(failed && text.contains("no child named \"Nothing\""), "{text}");
    let (failed, text) = client.call("list_sessions", json!({}));
    assert!(!failed && text.contains("obby.rbxlx"), "{text}");

    let listed = client.done("resources", json!({}));
    let uris: Vec<&str> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["uri"].as_str())
        .collect();
    let script = uris.iter().find(|uri| uri.contains("/script/")).expect("the place has scripts");
    let tree = uris.iter().find(|uri| uri.contains("/tree/")).unwrap();
    let read = |client: &mut Client, uri: &str| {
        client.done("read", json!({ "uri": uri }))["contents"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert!(read(&mut client, tree).contains("game.Workspace"));
    assert!(!read(&mut client, script).is_empty());
    assert!(read(&mut client, "vector://ledger").contains("list_children"));
    assert_eq!(read(&mut client, "vector://proposals"), "No proposal is pending.");
    let order = client.order("read", json!({ "uri": "vector://place/nowhere/tree/game" }));
    assert!(client.result(order).unwrap_err().contains("No place is open as session nowhere"));

    let prompts = client.done("prompts", json!({}));
    assert_eq!(prompts["prompts"].as_array().unwrap().len(), 4);
    let fix = client.done("prompt", json!({ "name": "fix", "args": { "what": "the door" } }));
    let said = fix["messages"][0]["content"]["text"].as_str().unwrap();
    assert!(said.ends_with("the door"), "{said}");
    // All calls are one workflow.
    assert_eq!(person.workflows().len(), 1);
    assert_eq!(person.workflows()[0]["driver"], "mcp/a test");
}

#[test]
fn change_waits_for_the_user_and_returns_its_outcome() {
    let home = Home::new();
    let place = place(&home);
    let before = fs::read(&place).unwrap();
    let Some(mut client) = connected(&home, &["--place", place.to_str().unwrap()], true) else {
        return;
    };
    let person = Person::of(&home);
    let call = client.calling("set_properties", brick("#33bbff"));
    let proposal = person.waiting();
    // The elicitation only tells the client where to decide; its answer decides nothing.
    let told = client.until(|said| said["event"] == "elicit");
    assert!(told["message"].as_str().unwrap().contains("vector review"), "{told}");
    let news = client.until(|said| said["event"] == "progress");
    assert!(news["message"].as_str().unwrap().contains("waits for the person"), "{news}");
    assert_eq!(person.waiting()["seq"], proposal["seq"]);
    assert_eq!(fs::read(&place).unwrap(), before, "nothing is done before somebody decides");
    person.decide(&proposal, &json!({ "say": "approve" })).ok();
    let (failed, text) = client.called(call);
    assert!(!failed, "{text}");
    assert!(text.starts_with(&format!("Applied as proposal {}.", proposal["seq"])), "{text}");
    assert!(text.contains(".Color: "), "{text}");
    assert_ne!(fs::read(&place).unwrap(), before);

    let call = client.calling("delete_instance", json!({ "selector": ".KillBrick" }));
    let no = person.waiting();
    person.decide(&no, &json!({ "say": "reject", "reason": "keep it" })).ok();
    let (failed, text) = client.called(call);
    assert!(failed && text.contains("keep it"), "{text}");
}

/// Calls a tool whose change waits for the user, and returns the answer that says so. On a slow
/// machine, the time limit of the call may end while the change is still being checked.
fn call_pending(client: &mut Client, tool: &str, args: Json) -> Json {
    let order = client.calling(tool, args);
    let mut answer = client.result(order).unwrap()["structuredContent"].clone();
    while answer["status"] == "working" {
        let order = client.calling("proposal_status", json!({ "id": answer["id"], "wait": 10 }));
        answer = client.result(order).unwrap()["structuredContent"].clone();
    }
    assert_eq!(answer["status"], "pending", "{answer}");
    answer
}

#[test]
fn undecided_call_returns_pending_and_is_reported_later() {
    let home = Home::new();
    let place = place(&home);
    let args = ["--place", place.to_str().unwrap(), "--wait", "1"];
    let Some(mut client) = connected(&home, &args, false) else { return };
    let person = Person::of(&home);
    let id = call_pending(&mut client, "set_properties", brick("#112233"))["id"].clone();
    let status = |client: &mut Client, wait: u64| {
        let order = client.calling("proposal_status", json!({ "id": id, "wait": wait }));
        client.result(order).unwrap()["structuredContent"].clone()
    };
    assert_eq!(status(&mut client, 0)["status"], "pending");
    // Cancelling a status request does not withdraw the proposal.
    let asks = client.calling("proposal_status", json!({ "id": id, "wait": 50 }));
    client.done("cancel", json!({ "call": asks }));
    assert!(client.result(asks).is_err());
    assert_eq!(status(&mut client, 1)["status"], "pending");
    // A repeated change is not proposed again, and the answer says why.
    let (failed, text) = client.call("set_properties", brick("#112233"));
    assert!(!failed && text.contains("\"changed\":0"), "{text}");
    assert!(text.contains("waits for the person"), "{text}");
    let waits = client.calling("proposal_status", json!({ "id": id, "wait": 50 }));
    person.decide(&person.waiting(), &json!({ "say": "reject", "reason": "too dark" })).ok();
    let told = client.result(waits).unwrap()["structuredContent"].clone();
    assert_eq!(told["status"], "rejected", "{told}");
    assert!(told["text"].as_str().unwrap().contains("too dark"), "{told}");
    let (failed, text) = client.call("proposal_status", json!({ "id": 999_999 }));
    assert!(failed && text.contains("999999"), "{text}");
}

#[test]
fn each_change_is_applied_when_approved() {
    let home = Home::new();
    let place = place(&home);
    let args = ["--place", place.to_str().unwrap(), "--wait", "1"];
    let Some(mut client) = connected(&home, &args, false) else { return };
    let person = Person::of(&home);
    let rename = |name: &str| json!({ "path": "game.ReplicatedStorage.Config", "newName": name });
    call_pending(&mut client, "set_properties", brick("#112233"));
    call_pending(&mut client, "rename_instance", rename("Numbers"));
    let before = fs::read_to_string(&place).unwrap();
    let waiting = person.call("GET", "/api/proposals", &Json::Null).ok();
    let (first, second) = (&waiting["proposals"][0], &waiting["proposals"][1]);
    let settled = |proposal: &Json| {
        let path = format!("/api/agents/calls/{}?hold=60", proposal["seq"]);
        person.call("GET", &path, &Json::Null).ok()["outcome"].clone()
    };
    // They touch nothing common, and are decided in any order.
    person.decide(second, &json!({ "say": "approve" })).ok();
    assert_eq!(settled(second)["state"], "done");
    let between = fs::read_to_string(&place).unwrap();
    assert!(between != before && between.contains(">Numbers<"), "only the second is applied");
    let still = person.waiting();
    assert_eq!(still["seq"], first["seq"], "it is not proposed again");
    person.decide(&still, &json!({ "say": "approve" })).ok();
    assert_eq!(settled(first)["state"], "done");
    assert!(fs::read_to_string(&place).unwrap() != between);
}

#[test]
fn cancelled_call_is_withdrawn() {
    let home = Home::new();
    let place = place(&home);
    let before = fs::read(&place).unwrap();
    let Some(mut client) = connected(&home, &["--place", place.to_str().unwrap()], false) else {
        return;
    };
    let person = Person::of(&home);
    let call = client.calling("set_properties", brick("#445566"));
    let proposal = person.waiting();
    client.done("cancel", json!({ "call": call }));
    assert!(client.result(call).is_err());
    // The SDK rejects the cancelled call by itself; Vector receives the cancellation right after.
    let path = format!("/api/agents/calls/{}?hold=60", proposal["seq"]);
    let became = person.call("GET", &path, &Json::Null).ok();
    assert_eq!(became["outcome"]["state"], "refused", "{became}");
    assert_eq!(became["outcome"]["status"], "withdrawn", "{became}");
    let late = person.decide(&proposal, &json!({ "say": "approve" }));
    assert_eq!(late.status, 409, "{}", late.body);
    assert_eq!(fs::read(&place).unwrap(), before);
    let (failed, text) = client.call("list_children", json!({ "parentPath": "game" }));
    assert!(!failed, "it goes on: {text}");
}

/// The test needs the `kill` command of Unix.
#[cfg(unix)]
#[test]
fn pending_call_survives_a_daemon_kill() {
    let home = Home::new();
    let place = place(&home);
    let Some(mut client) = connected(&home, &["--place", place.to_str().unwrap()], false) else {
        return;
    };
    let person = Person::of(&home);
    let call = client.calling("set_properties", brick("#778899"));
    let first = person.waiting();
    let killed = person.process();
    assert!(Command::new("kill").args(["-9", &killed.to_string()]).status().unwrap().success());
    // The call keeps waiting, now at the new daemon.
    let (failed, text) = loop {
        match client.result_within(call, std::time::Duration::from_millis(200)) {
            Some(result) => {
                let result = result.unwrap();
                let text = result["content"][0]["text"].as_str().unwrap_or_default().to_owned();
                break (result["isError"] == true, text);
            }
            None if home.path().join("token").exists() && person.process() != killed => {
                let waiting = person.call("GET", "/api/proposals", &Json::Null).ok();
                for proposal in waiting["proposals"].as_array().unwrap() {
                    // It may be planned again in between; the next round finds the new one.
                    let decided = person.decide(proposal, &json!({ "say": "approve" }));
                    assert!([200, 409].contains(&decided.status), "{}", decided.body);
                }
            }
            None => {}
        }
    };
    assert!(!failed, "{text}");
    assert!(text.starts_with("Applied as proposal "), "{text}");
    assert!(first["seq"].is_number());
    let (failed, text) = client.call("find_instances", json!({ "selector": ".KillBrick" }));
    assert!(!failed && text.contains("game.Workspace"), "{text}");
}

#[test]
fn clients_over_http_have_a_workflow_each() {
    let home = Home::new();
    let place = place(&home);
    let mut serve = Command::new(binary::vector());
    serve.args(["serve", "--port", "0", "--place"]).arg(&place);
    let daemon = Daemon::run(serve, home.path());
    let http = json!({
        "url": format!("http://127.0.0.1:{}/mcp", daemon.port),
        "token": Daemon::agent_token(home.path()),
    });
    let (Some(mut one), Some(mut other)) = (Client::new(), Client::new()) else { return };
    let person = Person::beside(&home);
    one.done("connect", json!({ "http": http }));
    other.done("connect", json!({ "http": http }));
    assert!(!one.call("list_children", json!({ "parentPath": "game" })).0);
    assert!(!other.call("list_children", json!({ "parentPath": "game" })).0);
    let workflows = person.workflows();
    assert_eq!(workflows.len(), 2);
    assert!(workflows.iter().all(|it| it["state"] == "idle"), "{workflows:?}");
    let call = one.calling("set_properties", brick("#33bbff"));
    let proposal = person.waiting();
    // Reads continue while a change is pending.
    assert!(!one.call("list_children", json!({ "parentPath": "game" })).0);
    person.decide(&proposal, &json!({ "say": "approve" })).ok();
    let (failed, text) = one.called(call);
    assert!(!failed && text.contains("Applied as proposal"), "{text}");
    one.done("end", json!({}));
    let ended = workflows.iter().filter(|it| it["seq"] == proposal["workflow"]).count();
    assert_eq!(ended, 1);
    let path = format!("/api/workflows/{}", proposal["workflow"]);
    let mut cursor = 0;
    while person.call("GET", &path, &Json::Null).ok()["state"] != "finished" {
        let page = format!("/api/stream?cursor={cursor}&hold=15");
        cursor = person.call("GET", &page, &Json::Null).ok()["cursor"].as_u64().unwrap();
    }
    let mut stranger = Client::new().unwrap();
    let bad = json!({ "url": http["url"], "token": "0".repeat(48) });
    let order = stranger.order("connect", json!({ "http": bad }));
    assert!(stranger.result(order).unwrap_err().contains("token"));
}

#[test]
fn client_that_listed_resources_learns_of_opened_places() {
    let home = Home::new();
    let place = place(&home);
    let daemon = Daemon::start(binary::vector(), home.path());
    let person = Person::beside(&home);
    let http = json!({
        "url": format!("http://127.0.0.1:{}/mcp", daemon.port),
        "token": Daemon::agent_token(home.path()),
    });
    let transports = [json!({ "stdio": command(&home, &[]) }), json!({ "http": http })];
    let mut clients = Vec::new();
    for transport in transports {
        let Some(mut client) = Client::new() else { return };
        let server = client.done("connect", transport);
        assert_eq!(server["capabilities"]["resources"]["listChanged"], true, "{server}");
        let listed = client.done("resources", json!({}));
        assert!(!listed.to_string().contains("/tree/"), "no place is open: {listed}");
        clients.push(client);
    }
    person.open(&place);
    for client in &mut clients {
        client.until(|said| said["event"] == "resources_changed");
        let listed = client.done("resources", json!({}));
        assert!(listed.to_string().contains("/tree/"), "{listed}");
    }
}

#[test]
fn call_matching_several_places_is_refused_with_their_names() {
    let home = Home::new();
    let first = place(&home);
    let second = home.path().join("second.rbxlx");
    fs::copy(&first, &second).unwrap();
    let mut serve = Command::new(binary::vector());
    serve.args(["serve", "--port", "0", "--place"]).arg(&first).arg("--place").arg(&second);
    let _daemon = Daemon::run(serve, home.path());
    let Some(mut client) = connected(&home, &[], false) else { return };
    let (failed, text) = client.call("list_children", json!({ "parentPath": "game" }));
    assert!(failed && text.contains("second.rbxlx") && text.contains("obby.rbxlx"), "{text}");
    let (_, open) = client.call("list_sessions", json!({}));
    let open: Json = serde_json::from_str(&open).unwrap();
    let session = open["sessions"][0]["session"].clone();
    let args = json!({ "parentPath": "game", "session": session });
    assert!(!client.call("list_children", args).0);
    let args = json!({ "parentPath": "game", "session": "nowhere" });
    let (failed, text) = client.call("list_children", args);
    assert!(failed && text.contains("No place is open as session nowhere"), "{text}");
}

#[test]
fn picture_reaches_the_client_as_an_image() {
    let home = Home::new();
    let place = place(&home);
    let Some(mut client) = connected(&home, &["--place", place.to_str().unwrap()], false) else {
        return;
    };
    let _person = Person::of(&home);
    let order = client.calling("render_scene", json!({ "view": "top" }));
    let result = client.result(order).unwrap();
    assert_eq!(result["content"][1]["type"], "image", "{result}");
    assert_eq!(result["content"][1]["mimeType"], "image/png");
    // The signature of a PNG, in base64.
    assert!(result["content"][1]["data"].as_str().unwrap().starts_with("iVBORw0KGgo"));
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("\"shown\":\"game.Workspace\"") && text.len() < 300, "{text}");
    let (failed, text) = client.call("render_scene", json!({ "path": "game.Lighting" }));
    assert!(failed && text.contains("nothing to render in game.Lighting"), "{text}");
}
