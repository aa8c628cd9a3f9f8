//! Reviews through the official client: an agent asks for one of what it has proposed, a person permits
//! it, and the findings are in the status of the call.

use serde_json::{Value as Json, json};
use vector_tests::binary::Home;
use vector_tests::mcp::Client;

use super::*;
use crate::http::models::calls;
use crate::models::server::{Reply, Server};

fn report(text: &str) -> Reply {
    let finding = json!({ "severity": "high", "text": text, "path": "game.Workspace.Baseplate" });
    calls("report_review", json!({ "summary": "Read it.", "findings": [finding] }))
}

/// Connects a client to a place, with a model that gives these replies.
pub(super) fn connect(client: &mut Client, home: &Home, replies: Vec<Reply>) -> Server {
    let server = Server::start(replies);
    let settings =
        format!("retries = 0\n[providers.lmstudio]\nbase_url = \"{}/v1\"\n", server.url());
    fs::write(home.path().join("vector.toml"), settings).unwrap();
    let place = place(home);
    let mut stdio = command(home, &["--place", place.to_str().unwrap(), "--wait", "1"]);
    stdio["env"]["VECTOR_MODEL"] = "lmstudio/first".into();
    client.done("connect", json!({ "stdio": stdio }));
    server
}

/// Proposes a folder, and returns the number of the call.
fn propose(client: &mut Client, name: &str) -> Json {
    let props = json!({ "Name": name });
    let args = json!({ "className": "Folder", "parentPath": "game.Workspace", "props": props });
    let order = client.calling("create_instance", args);
    client.result(order).unwrap()["structuredContent"]["id"].clone()
}

pub(super) fn status(client: &mut Client, args: Json) -> Json {
    let order = client.calling("proposal_status", args);
    let result = client.result(order).unwrap();
    assert_ne!(result["isError"], true, "{result}");
    result["structuredContent"].clone()
}

fn permit(person: &Person<'_>, asked: &Json, answer: &str) -> Answer {
    let waiting = person.waiting();
    let path = format!("/api/workflows/{}/permission", waiting["workflow"]);
    person.call("POST", &path, &json!({ "call": asked["id"], "answer": answer }))
}

#[test]
fn agent_asks_for_a_review_which_a_person_permits_for_the_task() {
    let Some(mut client) = Client::new() else { return };
    let home = Home::new();
    let server =
        connect(&mut client, &home, vec![report("It is in the way."), report("So is it.")]);
    let person = Person::of(&home);
    let id = propose(&mut client, "Gate");
    let asked = status(&mut client, json!({ "id": id, "review": true }));
    let request = asked["reviewRequest"].clone();
    assert_eq!((&asked["status"], &request["status"]), (&json!("pending"), &json!("pending")));
    let text = request["text"].as_str().unwrap();
    for says in ["Have lmstudio/first review proposal", "Create Folder Gate", "tokens"] {
        assert!(text.contains(says), "{says} is not in {text}");
    }
    assert_eq!(server.requests().len(), 0, "nothing is spent before a yes");
    permit(&person, &request, "task").ok();
    // The status of the proposal has the result.
    let reviewed = until_reviewed(&mut client, &id);
    let review = &reviewed["reviews"][0];
    assert_eq!((&review["model"], &review["state"]), (&json!("lmstudio/first"), &json!("done")));
    let finding = &review["findings"][0];
    assert_eq!(
        (&finding["severity"], &finding["text"]),
        (&json!("high"), &json!("It is in the way."))
    );
    assert_eq!(finding["about"], "game.Workspace.Baseplate");
    assert_eq!(reviewed["status"], "pending", "a person decides");
    assert!(reviewed["text"].as_str().unwrap().contains("It is in the way."), "{reviewed}");
    // For the rest of the task, nobody is asked; the wait ends with the review.
    let other = propose(&mut client, "Fence");
    let reviewed = status(&mut client, json!({ "id": other, "review": true, "wait": 55 }));
    assert_eq!(reviewed["reviewRequest"]["status"], "answered", "{reviewed}");
    assert_eq!(reviewed["reviews"][0]["findings"][0]["text"], "So is it.", "{reviewed}");
}

/// Waits until the last review of a call's proposal has ended.
fn until_reviewed(client: &mut Client, id: &Json) -> Json {
    until_status(client, id, |now| {
        let newest = now["reviews"].as_array().and_then(|it| it.last());
        newest.is_some_and(|it| it["state"] != "running")
    })
}

/// Waits until the status of a call is as wanted, and returns it.
pub(super) fn until_status(client: &mut Client, id: &Json, is_it: fn(&Json) -> bool) -> Json {
    for _ in 0..60 {
        let now = status(client, json!({ "id": id, "wait": 1 }));
        if is_it(&now) {
            return now;
        }
    }
    panic!("the status of call {id} did not become what is expected");
}

#[test]
fn review_that_a_person_does_not_permit_is_not_made() {
    let Some(mut client) = Client::new() else { return };
    let home = Home::new();
    let server = connect(&mut client, &home, Vec::new());
    let person = Person::of(&home);
    let id = propose(&mut client, "Gate");
    let asked = status(&mut client, json!({ "id": id, "review": true }));
    permit(&person, &asked["reviewRequest"], "no").ok();
    let refused = status(&mut client, json!({ "id": asked["reviewRequest"]["id"] }));
    assert_eq!(refused["status"], "refused", "{refused}");
    let text = refused["text"].as_str().unwrap();
    assert!(text.contains("did not permit the review"), "{text}");
    assert_eq!(server.requests().len(), 0);
    // What is decided is not reviewed any more.
    person.decide(&person.waiting(), &json!({ "say": "reject" })).ok();
    let late = status(&mut client, json!({ "id": id, "review": true }));
    let text = late["reviewRequest"]["text"].as_str().unwrap();
    assert!(text.contains("no proposal that waits for a decision"), "{late}");
    let order = client.calling("proposal_status", json!({ "id": id, "review": "please" }));
    let wrong = client.result(order).unwrap();
    assert_eq!(wrong["isError"], true, "{wrong}");
}

#[test]
fn agent_reads_the_review_that_a_person_asked_for() {
    let Some(mut client) = Client::new() else { return };
    let home = Home::new();
    let _server = connect(&mut client, &home, vec![report("``` It is in the way.")]);
    let person = Person::of(&home);
    let id = propose(&mut client, "Gate");
    let path = format!("/api/proposals/{}/review", person.waiting()["seq"]);
    person.call("POST", &path, &json!({})).ok();
    let reviewed = until_reviewed(&mut client, &id);
    assert_eq!(reviewed["reviews"][0]["findings"][0]["text"], "``` It is in the way.");
    // The text of a model cannot close its fence.
    assert!(reviewed["text"].as_str().unwrap().contains("````"), "{reviewed}");
}
