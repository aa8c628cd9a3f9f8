//! An MCP client beside Studio: its calls read from the mirror and from Studio, its changes are
//! cards in the widget, and it receives their outcome.

use std::path::Path;
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use serde_json::{Value as Json, json};
use studio_sim::{Signals, Studio};
use vector_tests::daemon::{self, Daemon};

use super::{Desk, click, eval, has, object, until, until_shown, until_there};

const MODES: [Signals; 2] = [Signals::Immediate, Signals::Deferred];

/// An agent that makes calls on other threads, while Studio continues.
pub(super) struct Agent {
    port: u16,
    token: String,
}

impl Agent {
    pub(super) fn of(desk: &Desk) -> Self {
        Self::at(desk.daemon.port, desk.home.path())
    }

    /// An agent of the daemon that has this home.
    pub(super) fn at(port: u16, home: &Path) -> Self {
        Self { port, token: Daemon::agent_token(home) }
    }

    fn send(&self, method: &'static str, path: String, body: Json) -> Receiver<Json> {
        let (port, token) = (self.port, self.token.clone());
        let (sender, answer) = channel();
        thread::spawn(move || {
            let _ = sender.send(daemon::call(port, (method, &path), Some(&token), &body).ok());
        });
        answer
    }

    /// Calls a tool; the answer arrives when the call is planned.
    pub(super) fn calls(&self, id: &str, tool: &str, args: Json) -> Receiver<Json> {
        let call = json!({
            "connection": "agent", "client": "a test", "id": id, "tool": tool, "args": args,
            "hold": 60,
        });
        self.send("POST", "/api/agents/calls".to_owned(), call)
    }

    /// Calls a tool, and returns the proposal that the call became.
    fn proposes(&self, studio: &Studio, id: &str, tool: &str, args: Json) -> u64 {
        let call = answered(studio, &self.calls(id, tool, args));
        call["outcome"]["proposal"].as_u64().unwrap_or_else(|| panic!("{call}"))
    }

    /// Waits for the outcome of a call.
    pub(super) fn became(&self, call: &Json) -> Receiver<Json> {
        let path = format!("/api/agents/calls/{}?hold=60", call["call"]);
        self.send("GET", path, Json::Null)
    }
}

/// The arguments of a call that creates a folder.
fn folder(name: &str, parent: &str) -> Json {
    json!({ "className": "Folder", "parentPath": parent, "props": { "Name": name } })
}

/// Runs Studio until the answer arrives.
pub(super) fn answered(studio: &Studio, answer: &Receiver<Json>) -> Json {
    let came = std::cell::OnceCell::new();
    until(studio, "an answer", |_| {
        if let Ok(answer) = answer.try_recv() {
            let _ = came.set(answer);
        }
        came.get().is_some()
    });
    came.into_inner().unwrap()
}

#[test]
fn agent_changes_are_decided_in_the_widget() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let (studio, agent) = (&desk.studio, Agent::of(&desk));
        let read =
            agent.calls("1", "read_script", json!({ "path": "game.ServerScriptService.Main" }));
        let read = answered(studio, &read);
        assert_eq!(read["outcome"]["answer"]["text"], "print(1)\n", "{read}");

        let before = studio.snapshot();
        let edit = json!({
            "path": "game.ServerScriptService.Main",
            "search": "print(1)", "replace": "print(2)",
        });
        let call = answered(studio, &agent.calls("2", "replace_text", edit));
        assert_eq!(call["outcome"]["state"], "pending", "{call}");
        until_there(studio, "Approve");
        assert_eq!(studio.snapshot(), before, "a proposal changes nothing");
        let became = agent.became(&call);
        click(studio, "Approve");
        let became = answered(studio, &became);
        assert_eq!(became["outcome"]["state"], "done", "{became}");
        let diff = became["outcome"]["applied"]["diff"].as_str().unwrap();
        assert!(diff.contains("-print(1)\n+print(2)\n"), "{diff}");
        let source = eval(studio, "return game.ServerScriptService.Main.Source");
        assert_eq!(source, "print(2)\n");
        assert!(studio.undo());
        until(studio, "one undo step takes it back", |studio| studio.snapshot() == before);
        let status = || answered(studio, &agent.became(&call))["outcome"]["status"].clone();
        until(studio, "that it is undone", |_| true);
        while status() != "undone" {}
    }
}

#[test]
fn small_steps_are_approved_together_in_the_widget() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    agent.proposes(studio, "1", "delete_instance", json!({ "path": "game.Workspace.Wall" }));
    let park = agent.proposes(studio, "2", "create_instance", folder("Park", "game.Workspace"));
    until_shown(studio, "Create Folder Park");
    assert!(!has(studio, "ApproveSteps"), "there is no group of one");
    agent.proposes(studio, "3", "create_instance", folder("Pond", "game.Workspace.Park"));
    let shop = agent.proposes(studio, "4", "create_instance", folder("Shop", "game.Workspace"));
    until_shown(studio, "3 small steps of one task wait:");
    // A press that was meant for fewer steps does nothing, also if the list is drawn again.
    let early = || studio.click(&object(studio, "ApproveSteps")).unwrap_err();
    assert!(early().contains("is not active"), "{}", early());
    click(studio, &format!("Step:{shop}"));
    click(studio, &format!("Step:{shop}"));
    assert!(early().contains("is not active"), "{}", early());
    studio.run_for(1.0);
    // A step on top of an unticked one is unticked too.
    click(studio, &format!("Step:{park}"));
    until_shown(studio, "Approve 1 step");
    let pond = studio.click(&object(studio, &format!("Step:{}", park + 2))).unwrap_err();
    assert!(pond.contains("is not active"), "{pond}");
    click(studio, "ApproveSteps");
    let is_there = |name: &str| {
        eval(studio, &format!("return workspace:FindFirstChild('{name}', true) ~= nil")) == true
    };
    until(studio, "applied", |_| is_there("Shop"));
    assert!(!is_there("Park"));
    click(studio, &format!("Step:{park}"));
    until_shown(studio, "Approve 2 steps");
    click(studio, "ApproveSteps");
    until(studio, "applied", |_| is_there("Pond"));
    until(studio, "gone", |studio| !has(studio, "ApproveSteps"));
    assert!(is_there("Wall"), "what deletes is never in a group");
    assert!(shop > park);
    for _ in 0..3 {
        assert!(studio.undo(), "each step is an undo step of its own");
    }
    assert!(!is_there("Park") && !is_there("Shop"));
}

#[test]
fn comment_that_is_not_sent_keeps_a_proposal_from_being_approved() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    let park = agent.calls("1", "create_instance", folder("Park", "game.Workspace"));
    let park = answered(studio, &park);
    until_there(studio, "Comment");
    click(studio, "Comment");
    studio.type_into(&object(studio, "CommentText"), "Why?", false).unwrap();
    click(studio, "Comment");
    click(studio, "Approve");
    until_shown(studio, "Your comment is not sent.");
    until_there(studio, "CommentText");
    // The reason of a rejection is what was typed.
    let became = agent.became(&park);
    click(studio, "Reject");
    let became = answered(studio, &became);
    assert!(became["outcome"]["reason"].as_str().unwrap().contains("Why?"), "{became}");
    agent.proposes(studio, "2", "create_instance", folder("Lake", "game.Workspace"));
    until_there(studio, "Comment");
    click(studio, "Comment");
    until_there(studio, "CommentText");
    studio.type_into(&object(studio, "CommentText"), "Why a lake?", false).unwrap();
    for (id, name) in [("3", "Shop"), ("4", "Mine")] {
        agent.proposes(studio, id, "create_instance", folder(name, "game.Workspace"));
    }
    until_shown(studio, "2 small steps of one task wait:");
}

#[test]
fn comment_that_is_not_sent_goes_on_to_the_replanned_proposal() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    let args = json!({ "path": "game.Workspace.Wall", "props": { "Transparency": 0.5 } });
    agent.proposes(studio, "1", "set_properties", args);
    until_there(studio, "Comment");
    click(studio, "Comment");
    studio.type_into(&object(studio, "CommentText"), "Why so pale?", false).unwrap();
    eval(studio, "workspace.Wall.Transparency = 0.25");
    until_shown(studio, "No longer valid.");
    until_there(studio, "Comment");
    click(studio, "Comment");
    until_shown(studio, "Why so pale?");
    click(studio, "SendComments");
    until_shown(studio, "You asked for changes, with 1 comment.");
}

#[test]
fn rejection_in_the_widget_reaches_the_agent() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    let args = json!({ "path": "game.Workspace.Wall", "props": { "Transparency": 0.5 } });
    let call = answered(studio, &agent.calls("1", "set_properties", args));
    until_there(studio, "Reject");
    let became = agent.became(&call);
    click(studio, "Reject");
    let became = answered(studio, &became)["outcome"].clone();
    assert_eq!((&became["state"], &became["status"]), (&json!("refused"), &json!("rejected")));
    assert_eq!(eval(studio, "return workspace.Wall.Transparency"), 0);
}

#[test]
fn agent_reads_the_place_and_learns_of_the_users_pending_proposal() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    desk.propose("rename game.Workspace.Wall to Tower");
    let args = json!({ "path": "game.Workspace" });
    let read = answered(
        studio,
        &agent.calls("1", "list_children", json!({ "parentPath": "game.Workspace" })),
    );
    let answer = &read["outcome"]["answer"];
    assert!(answer["children"].to_string().contains("game.Workspace.Wall"), "{read}");
    let pending = answer["pendingOfOthers"][0].as_str().unwrap();
    assert!(pending.ends_with(" by offline, pending: Rename Wall to Tower"), "{pending}");
    assert_eq!(read["on_top_of"], Json::Null, "{read}");
    let properties = answered(studio, &agent.calls("2", "get_properties", args));
    assert_eq!(properties["outcome"]["state"], "done", "{properties}");
    click(studio, "Approve");
    until(studio, "renamed", |studio| {
        eval(studio, "return workspace:FindFirstChild('Tower') ~= nil") == true
    });
    until_shown(studio, "a test");
}

#[test]
fn rule_is_added_and_revoked_in_the_widget() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let (studio, agent) = (&desk.studio, Agent::of(&desk));
        let create = |id: &str, parent: &str, name: &str| {
            let props = json!({ "Name": name });
            let args = json!({ "className": "Folder", "parentPath": parent, "props": props });
            agent.calls(id, "create_instance", args)
        };
        let waiting = answered(studio, &create("1", "game.Workspace", "Farm"));
        until_there(studio, "Allow");
        click(studio, "Allow");
        click(studio, "Allow:1");
        let done = answered(studio, &agent.became(&waiting));
        assert_eq!(done["outcome"]["state"], "done", "{done}");
        until_shown(studio, "Additions within game.Workspace.Farm");
        // What the rule covers is applied at once, and what it does not cover waits.
        let done = answered(studio, &create("2", "game.Workspace.Farm", "Barn"));
        let done = match done["outcome"]["state"].as_str() {
            Some("done") => done,
            _ => answered(studio, &agent.became(&done)),
        };
        assert_eq!(done["outcome"]["state"], "done", "{done}");
        assert_eq!(eval(studio, "return workspace.Farm.Barn.ClassName"), "Folder");
        studio.click_text("Revoke").unwrap();
        until(studio, "it is revoked", |studio| !super::shows(studio, "Revoke"));
        let waiting = answered(studio, &create("3", "game.Workspace.Farm", "Silo"));
        assert_eq!(waiting["outcome"]["state"], "pending", "{waiting}");
        until_there(studio, "Approve");
    }
}

#[test]
fn lines_and_values_are_commented_on_in_the_widget() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let (studio, agent) = (&desk.studio, Agent::of(&desk));
        let edit = json!({ "search": "print(1)", "replace": "print(2)" });
        let main = "game.ServerScriptService.Main";
        let changes = json!([
            { "tool": "set_properties", "args": { "path": "game.Workspace.Wall", "props": { "Transparency": 0.5 } } },
            { "tool": "replace_text", "args": { "path": main, "edits": [edit] } },
        ]);
        let args = json!({ "title": "Both", "changes": changes });
        let waiting = answered(studio, &agent.calls("1", "propose_changes", args));
        until_there(studio, "Comment");
        assert!(!super::has(studio, "Comment:row:1"), "only while one comments");
        click(studio, "Comment");
        for (part, text) in [("row:1", "0.25, please"), ("hunk:0:0", "why 2?")] {
            until_there(studio, &format!("Comment:{part}"));
            click(studio, &format!("Comment:{part}"));
            let field = format!("CommentText:{part}");
            until_there(studio, &field);
            studio.type_into(&object(studio, &field), text, false).unwrap();
        }
        click(studio, "SendComments");
        let refused = answered(studio, &agent.became(&waiting));
        let comments = refused["outcome"]["comments"].as_array().unwrap();
        let on = |comment: &Json| (comment["on"].clone(), comment["text"].clone());
        let line = json!({ "kind": "line", "path": main, "side": "after", "line": 1, "quote": "print(2)" });
        let row = json!({ "kind": "instance", "path": "game.Workspace.Wall", "property": "Transparency" });
        assert_eq!(
            comments.iter().map(on).collect::<Vec<_>>(),
            [(line, json!("why 2?")), (row, json!("0.25, please"))]
        );
        until_shown(studio, "You asked for changes, with 2 comments.");
        // The new version shows what was asked for.
        let args = json!({ "path": "game.Workspace.Wall", "props": { "Transparency": 0.25 } });
        answered(studio, &agent.calls("2", "set_properties", args));
        until_shown(studio, "why 2?");
        assert!(super::shows(studio, "0.25, please") && super::shows(studio, "No reply yet"));
    }
}

#[test]
fn comment_in_the_widget_reaches_the_agent() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let (studio, agent) = (&desk.studio, Agent::of(&desk));
        let create = |id: &str, name: &str| {
            let props = json!({ "Name": name });
            let args =
                json!({ "className": "Folder", "parentPath": "game.Workspace", "props": props });
            agent.calls(id, "create_instance", args)
        };
        let waiting = answered(studio, &create("1", "Farm"));
        until_there(studio, "Comment");
        click(studio, "Comment");
        studio.type_into(&object(studio, "CommentText"), "Call it Ranch", false).unwrap();
        // What is typed stays when the card is shown again.
        click(studio, "Comment");
        click(studio, "Comment");
        until_shown(studio, "Call it Ranch");
        click(studio, "SendComments");
        let refused = answered(studio, &agent.became(&waiting));
        assert_eq!(refused["outcome"]["comments"][0]["text"], "Call it Ranch", "{refused}");
        until_shown(studio, "You asked for changes, with 1 comment.");
        let again = answered(studio, &create("2", "Ranch"));
        assert_eq!(again["outcome"]["state"], "pending", "{again}");
        // It is rejected with a reason.
        until_there(studio, "Comment");
        click(studio, "Comment");
        until_there(studio, "CommentText");
        studio.type_into(&object(studio, "CommentText"), " No farms at all. ", false).unwrap();
        click(studio, "RejectFor");
        let refused = answered(studio, &agent.became(&again));
        let reason = refused["outcome"]["reason"].as_str().unwrap();
        assert!(reason.contains("No farms at all."), "{refused}");
        until_shown(studio, "No farms at all.");
    }
}

#[test]
fn sound_is_played_when_a_proposal_waits_and_the_user_wants_it() {
    let desk = Desk::ready(Signals::Deferred);
    let (studio, agent) = (&desk.studio, Agent::of(&desk));
    let create = |id: &str| {
        let args = json!({ "className": "Folder", "parentPath": "game.Workspace" });
        answered(studio, &agent.calls(id, "create_instance", args))
    };
    studio.run_for(4.0);
    create("1");
    until_there(studio, "Approve");
    assert_eq!(studio.sounds(), [""; 0]);
    click(studio, "Settings");
    until_there(studio, "Sound");
    click(studio, "Sound");
    click(studio, "Back");
    create("2");
    let played = |studio: &studio_sim::Studio| studio.sounds().len() == 1;
    until(studio, "a sound is played", played);
    // Shortly after a sound, no other is played.
    create("3");
    studio.run_for(2.0);
    assert_eq!(studio.sounds(), ["rbxasset://sounds/electronicpingshort.wav"]);
}
