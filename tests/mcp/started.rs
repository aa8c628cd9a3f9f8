//! Tasks of Vector's own model through the official client: an agent asks for one, a person permits it, and
//! the status of the call tells what became of it.

use serde_json::{Value as Json, json};
use vector_tests::binary::Home;
use vector_tests::mcp::Client;

use super::reviews::{connect, status, until_status};
use super::*;
use crate::http::models::{calls, says};
use crate::models::server::Reply;

fn model() -> Vec<Reply> {
    let park = json!({
        "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": "Park" }
    });
    vec![
        calls("start_plan", json!({ "steps": ["Make the park", "Look at it"] })),
        calls("create_instance", park),
        says("``` Made the park."),
    ]
}

fn permit(person: &Person<'_>, call: &Json, answer: &str) {
    let workflows = person.workflows();
    let agent = workflows.iter().find(|it| it["goal"].as_str().unwrap().ends_with("(MCP)"));
    let path = format!("/api/workflows/{}/permission", agent.unwrap()["seq"]);
    person.call("POST", &path, &json!({ "call": call, "answer": answer })).ok();
}

#[test]
fn agent_has_a_task_done_and_reads_its_state() {
    let Some(mut client) = Client::new() else { return };
    let home = Home::new();
    let server = connect(&mut client, &home, model());
    let person = Person::of(&home);
    let order = client.calling("start_task", json!({ "request": "Make a park." }));
    let asked = client.result(order).unwrap();
    let id = asked["structuredContent"]["id"].clone();
    let text = asked["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("the person is asked") && text.contains("proposal_status"), "{text}");
    assert_eq!(server.requests().len(), 0, "nothing is spent before a yes");
    permit(&person, &id, "once");
    let waiting = status(&mut client, json!({ "id": id, "wait": 55 }));
    assert_eq!(waiting["status"], "pending", "{waiting}");
    let text = waiting["text"].as_str().unwrap();
    assert!(text.contains("of lmstudio/first waits for the person."), "{text}");
    assert!(text.contains("(Create Folder Park): waiting."), "{text}");
    assert!(text.contains(&format!("proposal_status with {{\"id\": {id}}}")), "{text}");
    person.decide(&person.waiting(), &json!({ "say": "approve" })).ok();
    let ended = until_status(&mut client, &id, |now| now["status"] == "answered");
    let text = ended["text"].as_str().unwrap();
    assert!(text.contains("is done.") && text.contains("(Create Folder Park): applied."), "{text}");
    // The text of a model cannot close its fence.
    assert!(text.contains("````\n``` Made the park.\n````"), "{text}");
    assert_eq!(ended["task"]["outcome"], "done", "{ended}");
}

#[test]
fn task_that_a_person_does_not_permit_is_refused() {
    let Some(mut client) = Client::new() else { return };
    let home = Home::new();
    let server = connect(&mut client, &home, Vec::new());
    let person = Person::of(&home);
    let order = client.calling("start_task", json!({ "request": "Make a park.", "role": "lead" }));
    let id = client.result(order).unwrap()["structuredContent"]["id"].clone();
    permit(&person, &id, "no");
    let refused = status(&mut client, json!({ "id": id }));
    assert_eq!(refused["status"], "refused", "{refused}");
    let text = refused["text"].as_str().unwrap();
    assert!(text.contains("did not permit the task"), "{text}");
    let (is_error, text) = client.call("start_task", json!({ "request": "a\u{202e}b" }));
    assert!(is_error && text.contains("are invisible"), "{text}");
    let (is_error, text) = client.call("start_task", json!({ "request": "Go.", "role": "worker" }));
    assert!(is_error && text.contains("lead"), "{text}");
    assert_eq!(server.requests().len(), 0);
}
