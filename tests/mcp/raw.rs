//! The bare protocol: bad messages, the newest revision without sessions, and unauthorized
//! requests.

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;

use super::stdio::StdioClient;
use super::{Person, place};

/// What each message of the newest revision says about its client.
fn meta(capabilities: &Json) -> Json {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "bare", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

/// Sends a self-contained message to `/mcp`, as the newest revision has it.
fn post(daemon: &Daemon, token: &str, method: &str, name: Option<&str>, params: Json) -> Json {
    post_with(&json!({}), (daemon, token), method, name, params)
}

/// Like [`post`], for a client with these capabilities.
fn post_with(
    capabilities: &Json,
    (daemon, token): (&Daemon, &str),
    method: &str,
    name: Option<&str>,
    mut params: Json,
) -> Json {
    params["_meta"] = meta(capabilities);
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut headers = vec![
        header("Host", &format!("127.0.0.1:{}", daemon.port)),
        header("Authorization", &format!("Bearer {token}")),
        header("Content-Type", "application/json"),
        header("Accept", "application/json, text/event-stream"),
        header("MCP-Protocol-Version", "2026-07-28"),
        header("Mcp-Method", method),
    ];
    headers.extend(name.map(|name| header("Mcp-Name", name)));
    let text = daemon.text("POST", "/mcp", &headers, message.to_string().as_bytes());
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let mut messages = data.filter_map(|data| serde_json::from_str::<Json>(data).ok());
    messages.find(|message| message.get("id").is_some()).unwrap_or_else(|| {
        let body = text.split("\r\n\r\n").nth(1).unwrap_or_default();
        serde_json::from_str(body).unwrap_or_else(|_| panic!("{method}: {text}"))
    })
}

#[test]
fn newest_protocol_revision_needs_no_session() {
    let home = Home::new();
    let place = place(&home);
    let mut serve = Command::new(binary::vector());
    serve.args(["serve", "--port", "0", "--place"]).arg(&place);
    let daemon = Daemon::run(serve, home.path());
    let token = Daemon::agent_token(home.path());
    let tools = post(&daemon, &token, "tools/list", None, json!({}));
    assert!(tools["result"]["tools"].as_array().unwrap().len() > 30, "{tools}");
    let call = |args: Json| {
        let params = json!({ "name": "list_children", "arguments": args });
        post(&daemon, &token, "tools/call", Some("list_children"), params)
    };
    let answer = call(json!({ "parentPath": "game" }));
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("game.Workspace"), "{text}");
    call(json!({ "parentPath": "game.Workspace" }));
    // All calls of one client are one workflow.
    assert_eq!(Person::beside(&home).workflows().len(), 1);
}

#[test]
fn subscription_of_the_newest_revision_tells_of_opened_places() {
    let home = Home::new();
    let place = place(&home);
    let _daemon = Daemon::start(binary::vector(), home.path());
    let mut client = StdioClient::spawn(&home, &[]);
    let asked = json!({ "resourcesListChanged": true, "toolsListChanged": true });
    let listen = json!({ "notifications": asked, "_meta": meta(&json!({})) });
    let id = client.send("subscriptions/listen", &listen);
    let served = client.until(|it| it["method"] == "notifications/subscriptions/acknowledged");
    // The tools never change.
    assert_eq!(served["params"]["notifications"], json!({ "resourcesListChanged": true }));
    Person::beside(&home).open(&place);
    let changed = client.until(|it| it["method"] == "notifications/resources/list_changed");
    assert_eq!(
        changed["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], id,
        "{changed}"
    );
}

#[test]
fn stdio_server_survives_malformed_messages() {
    let home = Home::new();
    let place = place(&home);
    let mut vector = Command::new(binary::vector())
        .arg("--home")
        .arg(home.path())
        .args(["mcp", "--port", "0", "--place"])
        .arg(&place)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let _person = {
        let mut input = vector.stdin.take().unwrap();
        let mut output = BufReader::new(vector.stdout.take().unwrap()).lines();
        let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "bare \u{1b}[31m", "version": "1" } } });
        writeln!(input, "{hello}").unwrap();
        let welcome: Json = serde_json::from_str(&output.next().unwrap().unwrap()).unwrap();
        assert_eq!(welcome["result"]["protocolVersion"], "2025-06-18", "{welcome}");
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(input, "{ready}").unwrap();
        for bad in ["", "{", "[]", "\"x\"", "{\"jsonrpc\":\"2.0\"}", "{\"id\":7}", "\u{0}", "null"]
        {
            writeln!(input, "{bad}").unwrap();
        }
        let ping = json!({ "jsonrpc": "2.0", "id": "ping", "method": "ping" });
        writeln!(input, "{ping}").unwrap();
        let mut answers = output.map_while(Result::ok).map(|line| {
            serde_json::from_str::<Json>(&line).unwrap_or_else(|_| panic!("no JSON: {line}"))
        });
        assert!(answers.any(|answer| answer["id"] == "ping" && answer.get("result").is_some()));
        // End of input ends `vector mcp`.
        Person::of(&home)
    };
    assert!(vector.wait().unwrap().success());
}

#[test]
fn call_of_a_client_with_tasks_becomes_a_task() {
    let home = Home::new();
    let place = place(&home);
    let serve = || {
        let mut serve = Command::new(binary::vector());
        serve.args(["serve", "--port", "0", "--place"]).arg(&place);
        Daemon::run(serve, home.path())
    };
    let daemon = serve();
    let person = Person::beside(&home);
    let tasks = json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let rename = |daemon: &Daemon, to: &str| {
        let arguments = json!({ "path": "game.Workspace.Baseplate", "newName": to });
        let params = json!({ "name": "rename_instance", "arguments": arguments });
        let token = Daemon::agent_token(home.path());
        let name = Some("rename_instance");
        post_with(&tasks, (daemon, &token), "tools/call", name, params)["result"].clone()
    };
    let about = |daemon: &Daemon, method: &str, id: &Json| {
        let token = Daemon::agent_token(home.path());
        post_with(&tasks, (daemon, &token), method, id.as_str(), json!({ "taskId": id }))
    };
    let get = |daemon: &Daemon, id: &Json| about(daemon, "tasks/get", id)["result"].clone();

    let made = rename(&daemon, "Ground");
    assert_eq!(
        (&made["resultType"], &made["status"]),
        (&json!("task"), &json!("working")),
        "{made}"
    );
    let id = &made["taskId"];
    let waiting = person.waiting();
    let told = get(&daemon, id);
    assert_eq!((&told["status"], &told["createdAt"]), (&json!("working"), &made["createdAt"]));
    let seq = &waiting["seq"];
    let message = told["statusMessage"].as_str().unwrap();
    assert!(message.starts_with(&format!("pending: proposal {seq} ")), "{message}");
    // What the person looks at is part of the message.
    person.call("GET", &format!("/api/proposals/{seq}"), &Json::Null).ok();
    let message = get(&daemon, id)["statusMessage"].as_str().unwrap().to_owned();
    assert!(message.ends_with("It was opened last."), "{message}");
    // The task outlives the daemon.
    drop(daemon);
    let daemon = serve();
    assert_eq!(get(&daemon, id)["status"], "working");
    let waiting = person.waiting();
    person.decide(&waiting, &json!({ "say": "approve" })).ok();
    let done = get(&daemon, id);
    assert_eq!(done["status"], "completed", "{done}");
    let text = done["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("Applied as proposal") && text.contains("Ground"), "{text}");

    // A rejection is a result, too.
    let rename = |to: &str| {
        let arguments = json!({ "path": "game.Workspace.Ground", "newName": to });
        let params = json!({ "name": "rename_instance", "arguments": arguments });
        let token = Daemon::agent_token(home.path());
        let name = Some("rename_instance");
        post_with(&tasks, (&daemon, &token), "tools/call", name, params)["result"].clone()
    };
    let made = rename("Floor");
    person.decide(&person.waiting(), &json!({ "say": "reject", "reason": "Keep it." })).ok();
    let refused = get(&daemon, &made["taskId"]);
    assert_eq!(
        (&refused["status"], &refused["result"]["isError"]),
        (&json!("completed"), &json!(true))
    );
    let content = &refused["result"]["structuredContent"];
    assert_eq!(content["status"], "rejected");
    assert!(content["text"].as_str().unwrap().contains("Keep it."), "{refused}");

    // A cancelled task withdraws its proposal.
    let made = rename("Soil");
    let waiting = person.waiting();
    let cancelled = about(&daemon, "tasks/cancel", &made["taskId"]);
    assert_eq!(cancelled["result"]["resultType"], "complete", "{cancelled}");
    let wait = json!({ "id": waiting["seq"], "wait": 30 });
    let params = json!({ "name": "proposal_status", "arguments": wait });
    let token = Daemon::agent_token(home.path());
    post_with(&tasks, (&daemon, &token), "tools/call", Some("proposal_status"), params);
    assert_eq!(get(&daemon, &made["taskId"])["status"], "cancelled");
    let pending = person.call("GET", "/api/proposals", &Json::Null).ok();
    assert_eq!(pending["proposals"], json!([]));

    // Reads and unknown tasks.
    let params = json!({ "name": "list_children", "arguments": { "parentPath": "game" } });
    let token = Daemon::agent_token(home.path());
    let read = post_with(&tasks, (&daemon, &token), "tools/call", Some("list_children"), params);
    assert_eq!(read["result"]["resultType"], "complete", "{read}");
    for wrong in ["nothing", "999999.1.0f.x"] {
        let error = about(&daemon, "tasks/get", &json!(wrong));
        assert_eq!(error["error"]["code"], -32602, "{error}");
    }
    // A client without the extension is refused.
    let params = json!({ "taskId": id });
    let refused = post(&daemon, &token, "tasks/get", id.as_str(), params);
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}
