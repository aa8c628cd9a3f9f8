//! What a refusal tells a model, and which client requests are recorded.

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;

use super::stdio::StdioClient;
use super::{Person, place};

/// Makes a call that must be refused, and returns the text of the refusal.
#[track_caller]
fn refused(client: &mut StdioClient, tool: &str, args: &Json) -> String {
    let call = client.call(tool, args);
    let result = client.answer(call);
    assert_eq!(result["isError"], true, "{result}");
    assert!(result.get("structuredContent").is_none(), "{result}");
    result["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn unknown_tool_is_refused_with_the_nearest_by_meaning() {
    let home = Home::new();
    let place = place(&home);
    let _daemon = Daemon::of_place(binary::vector(), home.path(), &place);
    let mut client = StdioClient::start(&home, &place, 1);
    let text = refused(&mut client, "edit_script", &json!({}));
    assert_eq!(
        text,
        "There is no tool `edit_script`. Use `replace_text`, `apply_edit` or `apply_patch`. tools/list lists \
         all tools."
    );
    let text = refused(&mut client, "execute_luau", &json!({ "code": "print(1)" }));
    assert!(text.contains("Use `run_luau`"), "{text}");
    let text = refused(&mut client, "read_scripts", &json!({}));
    assert!(text.contains("Did you mean `read_script`"), "{text}");
    let text =
        refused(&mut client, "rename_instance", &json!({ "path": "game.Workspace", "name": "X" }));
    assert!(text.ends_with("`newName` is missing; `name` was given instead."), "{text}");
    let copy = json!({ "path": "game.Workspace", "newName": "X" });
    let text = refused(&mut client, "clone_instance", &copy);
    assert!(text.ends_with("Instead of `newName`, give `name`."), "{text}");
}

#[test]
fn listing_resources_is_not_recorded_as_a_call() {
    let home = Home::new();
    let place = place(&home);
    let _daemon = Daemon::of_place(binary::vector(), home.path(), &place);
    let person = Person::beside(&home);
    let mut client = StdioClient::start(&home, &place, 1);
    let listed = client.send("resources/list", &json!({}));
    let listed = client.answer(listed);
    let uris: Vec<&str> = listed["resources"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["uri"].as_str())
        .collect();
    assert!(
        uris.iter().any(|uri| uri.ends_with("/script/game.ReplicatedStorage.Config")),
        "{uris:?}"
    );
    assert!(person.workflows().is_empty(), "nothing was called");
    let script = uris.iter().find(|uri| uri.contains("/script/")).unwrap();
    let read = client.send("resources/read", &json!({ "uri": script }));
    assert!(client.answer(read)["contents"][0]["text"].is_string());
    assert_eq!(person.workflows().len(), 1, "what a resource says is read on record");
}

#[test]
fn answer_and_refusal_name_the_pending_proposal_in_the_way() {
    let home = Home::new();
    let place = place(&home);
    let _daemon = Daemon::of_place(binary::vector(), home.path(), &place);
    let person = Person::beside(&home);
    let mut first = StdioClient::start(&home, &place, 1);
    let config = json!({ "path": "game.ReplicatedStorage.Config" });
    let text = refused(&mut first, "delete_instance", &config);
    assert!(text.contains("Config is not a valid member"), "scripts need it: {text}");
    let delete = first.call("delete_instance", &config);
    assert_eq!(first.answer(delete)["structuredContent"]["status"], "pending");
    let number = person.waiting()["seq"].clone();
    let mut second = StdioClient::start(&home, &place, 1);
    // Another client sees the place as it is, and learns of the proposal.
    for (tool, args) in [
        ("read_script", json!({ "path": "game.ReplicatedStorage.Config" })),
        ("list_children", json!({ "parentPath": "game.ReplicatedStorage.Config" })),
    ] {
        let call = second.call(tool, &args);
        let says = format!("Proposal {number} by a client, pending, deletes it.");
        let answer = second.answer(call);
        let text = answer["content"][0]["text"].as_str().unwrap();
        assert!(text.contains(&format!("\"pendingOfOthers\":[\"{says}\"]")), "{answer}");
    }
    let text =
        refused(&mut first, "read_script", &json!({ "path": "game.ReplicatedStorage.Config" }));
    let says = format!("Proposal {number} by you, pending, deletes it.");
    assert!(text.contains("has no child named") && text.ends_with(&says), "{text}");
    let text = refused(&mut second, "read_script", &json!({ "path": "game.Workspace.Nobody" }));
    assert!(!text.contains("Proposal"), "{text}");
}
