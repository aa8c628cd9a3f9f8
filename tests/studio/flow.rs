//! The main workflow in both signal modes: pair, request, review, approve, undo, redo.

use serde_json::{Value as Json, json};
use studio_sim::{Signals, Studio};

use super::agent::{Agent, answered};
use super::{Desk, ask, click, eval, until, until_shown, until_there};

const MODES: [Signals; 2] = [Signals::Immediate, Signals::Deferred];

/// Makes two calls of one agent, and waits for their proposals.
fn propose_both(desk: &Desk, agent: &Agent, calls: [(&str, Json); 2]) -> [Json; 2] {
    let mut id = 0;
    calls.map(|(tool, args)| {
        id += 1;
        let call = answered(&desk.studio, &agent.calls(&id.to_string(), tool, args));
        assert_eq!(call["outcome"]["state"], "pending", "{call}");
        call
    })
}

#[test]
fn request_becomes_one_undo_step() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        let before = studio.snapshot();
        desk.propose("set Transparency = 0.5 on game.Workspace.Wall");
        assert_eq!(studio.snapshot(), before, "a proposal changes nothing");
        click(studio, "Approve");
        until(studio, "applied", |studio| {
            eval(studio, "return workspace.Wall.Transparency") == 0.5
        });
        until_shown(studio, "Set Transparency");
        let after = studio.snapshot();
        assert!(studio.undo());
        assert_eq!(studio.snapshot(), before, "undo restores the tree");
        assert!(studio.redo());
        assert_eq!(studio.snapshot(), after, "and redo does it again");
    }
}

#[test]
fn script_edit_becomes_one_undo_step() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        let before = studio.snapshot();
        desk.propose("replace \"print(1)\" with \"print(2)\" in game.ServerScriptService.Main");
        click(studio, "Approve");
        until(studio, "applied", |studio| {
            eval(studio, "return game.ServerScriptService.Main.Source") == "print(2)\n"
        });
        assert!(studio.undo());
        until(studio, "undo restores the tree", |studio| studio.snapshot() == before);
    }
}

#[test]
fn grid_is_built_step_by_step() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    ask(studio, "grid 2x2 of neon parts");
    for _ in 0..5 {
        until_there(studio, "Approve");
        click(studio, "Approve");
        until(studio, "decided", |studio| !super::has(studio, "Approve"));
    }
    until(studio, "all of it", |studio| {
        eval(
            studio,
            "local grid = workspace:FindFirstChild('Grid') return grid and #grid:GetChildren()",
        ) == 4
    });
}

#[test]
fn two_pending_requests_are_separate_undo_steps() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        let before = studio.snapshot();
        // One of the two cards may be out of view.
        let cards = |studio: &Studio| studio.gui().iter().filter(|it| it.name == "Approve").count();
        let agent = Agent::of(&desk);
        let calls = propose_both(
            &desk,
            &agent,
            [
                ("rename_instance", json!({ "path": "game.Workspace.Wall", "newName": "Tower" })),
                (
                    "set_properties",
                    json!({ "path": "game.Workspace.Tower", "props": { "Transparency": 0.5 } }),
                ),
            ],
        );
        until(studio, "both cards", |studio| cards(studio) == 2);
        // The second is planned on top of the first, so the first is approved first.
        studio.trigger_action("VectorApprove").unwrap();
        until(studio, "renamed", |studio| {
            eval(studio, "return workspace:FindFirstChild('Tower') ~= nil") == true
        });
        until(studio, "the second card", |studio| cards(studio) == 1);
        assert_eq!(eval(studio, "return workspace.Tower.Transparency"), 0);
        studio.trigger_action("VectorApprove").unwrap();
        until(studio, "applied", |studio| {
            eval(studio, "return workspace.Tower.Transparency") == 0.5
        });
        for call in &calls {
            let became = answered(studio, &agent.became(call));
            assert_eq!(became["outcome"]["state"], "done", "{became}");
        }
        assert!(studio.undo() && studio.undo());
        assert_eq!(studio.snapshot(), before, "each was a step of its own");
    }
}

#[test]
fn proposal_inside_a_created_instance_is_applied_as_approved() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        let before = studio.snapshot();
        let cards = |studio: &Studio| studio.gui().iter().filter(|it| it.name == "Approve").count();
        let create = |parent: &str, class: &str, name: &str| json!({ "parentPath": parent, "className": class, "props": { "Name": name } });
        let agent = Agent::of(&desk);
        let calls = propose_both(
            &desk,
            &agent,
            [
                ("create_instance", create("game.Workspace", "Folder", "Camp")),
                ("create_instance", create("game.Workspace.Camp", "Part", "Tent")),
            ],
        );
        until(studio, "both cards", |studio| cards(studio) == 2);
        let is_there =
            |studio: &Studio, path: &str| eval(studio, &format!("return {path} ~= nil")) == true;
        studio.trigger_action("VectorApprove").unwrap();
        until(studio, "the folder", |studio| {
            cards(studio) == 1 && is_there(studio, "workspace:FindFirstChild('Camp')")
        });
        until_shown(studio, "Step 1: applied");
        studio.trigger_action("VectorApprove").unwrap();
        until(studio, "decided", |studio| cards(studio) == 0);
        until(studio, "applied", |studio| {
            assert_eq!(cards(studio), 0, "it is not planned again");
            is_there(studio, "workspace.Camp:FindFirstChild('Tent')")
        });
        for call in &calls {
            let became = answered(studio, &agent.became(call));
            assert_eq!(became["outcome"]["state"], "done", "{became}");
        }
        assert!(studio.undo() && studio.undo());
        assert_eq!(studio.snapshot(), before, "each was a step of its own");
    }
}

#[test]
fn request_is_planned_on_changes_made_just_before_it() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        super::until_shown(studio, "Connected");
        eval(studio, "workspace.Wall.Name = 'Tower'");
        ask(studio, "set Transparency = 0.5 on game.Workspace.Tower");
        until(studio, "the card or a refusal", |studio| {
            super::has(studio, "Approve") || super::shows(studio, "not done")
        });
        assert!(super::has(studio, "Approve"), "{:#?}", studio.visible_texts());
    }
}

/// A change with a security warning.
const LOADS: &str =
    "replace \"print(1)\" with \"loadstring('print(2)')()\" in game.ServerScriptService.Main";

#[test]
fn press_that_opens_a_warning_does_not_confirm_it() {
    for signals in MODES {
        let desk = Desk::ready(signals);
        let studio = &desk.studio;
        let before = studio.snapshot();
        desk.propose(LOADS);
        // The shortcut only opens the question, however often it is pressed.
        for _ in 0..3 {
            studio.trigger_action("VectorApprove").unwrap();
            until_there(studio, "ApproveAnyway");
            studio.run_for(1.0);
        }
        assert!(!super::has(studio, "Approve"), "what was pressed is not there for a second press");
        click(studio, "Cancel");
        until_there(studio, "Approve");
        // A click right after the first one does nothing.
        click(studio, "Approve");
        until_there(studio, "ApproveAnyway");
        assert!(
            studio.click(&super::object(studio, "ApproveAnyway")).is_err(),
            "it is not active yet"
        );
        assert!(super::has(studio, "ApproveAnyway"));
        assert_eq!(studio.snapshot(), before);
        studio.run_for(1.0);
        click(studio, "ApproveAnyway");
        until(studio, "applied", |studio| {
            eval(studio, "return game.ServerScriptService.Main.Source") != "print(1)\n"
        });
    }
}

#[test]
fn reloaded_plugin_shows_all_pending_proposals() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    desk.propose("rename game.Workspace.Wall to Tower");
    ask(studio, "rename game.ServerScriptService.Main to Start");
    let cards = |studio: &Studio| studio.gui().iter().filter(|it| it.name == "Approve").count();
    until(studio, "both cards", |studio| cards(studio) == 2);
    studio.unload_plugin();
    super::load(studio);
    until(studio, "both cards again", |studio| cards(studio) == 2);
    until_there(studio, "Stop");
}

#[test]
fn revoked_plugin_asks_for_a_code_and_resumes() {
    let desk = Desk::ready(Signals::Deferred);
    let studio = &desk.studio;
    desk.propose("set Transparency = 0.5 on game.Workspace.Wall");
    desk.vector(&["sessions", "revoke", "--plugins"]);
    until_there(studio, "Code");
    let shown = desk.vector(&["pair"]);
    let code: String = shown.chars().filter(char::is_ascii_digit).take(6).collect();
    studio.type_into(&super::object(studio, "Code"), &code, true).unwrap();
    until_there(studio, "Approve");
    click(studio, "Approve");
    until(studio, "applied", |studio| eval(studio, "return workspace.Wall.Transparency") == 0.5);
}
