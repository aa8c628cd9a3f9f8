//! The first steps of a new user: a clean home, the client's own configuration, and a changed place
//! in the end.

use std::fs;

use serde_json::{Value as Json, json};
use vector_tests::binary::Home;
use vector_tests::mcp::Client;

use super::{Person, place};

#[test]
fn two_commands_after_the_installation_change_a_place() {
    let Some(mut client) = Client::new() else { return };
    let home = Home::new();
    let place = place(&home);
    let before = fs::read(&place).unwrap();
    // The client is installed, and was used before.
    let config = home.path().join(".claude.json");
    fs::write(&config, "{\n  \"numStartups\": 3\n}\n").unwrap();
    let place_name = place.to_str().unwrap();
    let set_up = home.run(&["setup", "--no-plugin", "--place", place_name], "");
    assert_eq!(set_up.code, 0, "{}{}", set_up.stdout, set_up.stderr);

    // Start what the client's configuration says.
    let written: Json = serde_json::from_slice(&fs::read(&config).unwrap()).unwrap();
    let entry = &written["mcpServers"]["vector"];
    let mut args = entry["args"].clone();
    // The default port may be in use by another daemon on this machine.
    args.as_array_mut().unwrap().extend([json!("--port"), json!("0")]);
    let env = json!({ "HOME": home.path(), "VECTOR_MODEL": "offline", "PATH": "" });
    let stdio = json!({ "command": entry["command"], "args": args, "env": env });
    client.done("connect", json!({ "stdio": stdio }));
    let vector = home.path().join("vector");
    let _person = Person { home: &vector, ends: true };
    let change = json!({ "selector": ".KillBrick", "props": { "Color": "#33bbff" } });
    let call = client.calling("set_properties", change);
    let waits = client.until(|said| said["event"] == "progress");
    assert!(waits["message"].as_str().unwrap().contains("waits for the person"), "{waits}");

    let reviewed = home.run(&["review", "--once", "--yes"], "");
    assert_eq!(reviewed.code, 0, "{}{}", reviewed.stdout, reviewed.stderr);
    assert!(reviewed.stdout.contains("mcp/a test"), "the card says who asks: {}", reviewed.stdout);
    let (failed, text) = client.called(call);
    assert!(!failed && text.contains("Applied as proposal"), "{text}");
    assert_ne!(fs::read(&place).unwrap(), before);
}
