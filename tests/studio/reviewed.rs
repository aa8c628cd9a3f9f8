//! Reviews by a model in the widget: asked for with a press, shown on the card with what they found, and
//! awaited where an approval needs one.

use std::fs;

use serde_json::{Value as Json, json};
use studio_sim::Signals;
use vector_tests::human::Human;

use super::agent::{Agent, answered};
use super::{Desk, click, eval, has, object, shows, until, until_shown, until_there, until_told};
use crate::http::models::calls;
use crate::models::server::{Reply, Server};

const MODES: [Signals; 2] = [Signals::Immediate, Signals::Deferred];

/// A report with this many findings.
fn report(count: usize) -> Reply {
    let finding = |at: usize| {
        let text = format!("Problem {at} <b>\u{202e}{}", "word ".repeat(300));
        json!({ "severity": "high", "text": text, "path": "game.Workspace.Wall", "property": "Name" })
    };
    let findings: Vec<Json> = (1..=count).map(finding).collect();
    calls("report_review", json!({ "summary": "Read the wall.", "findings": findings }))
}

/// A place in Studio, with a model that reviews, and these further settings.
fn desk(signals: Signals, replies: Vec<Reply>, settings: &str) -> (Desk, Server) {
    let (desk, server) = (Desk::ready(signals), Server::start(replies));
    let provider = format!("[providers.lmstudio]\nbase_url = \"{}/v1\"\n", server.url());
    let text = format!("retries = 0\n{settings}\n{provider}");
    fs::write(desk.home.path().join("vector.toml"), text).unwrap();
    let human = Human::of(&desk.daemon, desk.home.path());
    let chosen = json!({
        "mode": "confirm", "dry_run": false, "play_check": false, "model": "lmstudio/first",
    });
    human.call("PUT", "/api/settings", &chosen).ok();
    (desk, server)
}

/// Proposes a folder as an agent.
fn propose(desk: &Desk) {
    let args = json!({
        "className": "Folder", "parentPath": "game.Workspace", "props": { "Name": "Farm" },
    });
    answered(&desk.studio, &Agent::of(desk).calls("1", "create_instance", args));
    until_there(&desk.studio, "Approve");
}

#[test]
fn card_shows_the_review_that_a_person_asks_for() {
    for signals in MODES {
        let (desk, server) = desk(signals, vec![report(7)], "");
        let studio = &desk.studio;
        propose(&desk);
        server.hold_back(0, true);
        click(studio, "AskReview");
        until_shown(studio, "lmstudio/first is reviewing it…");
        until(studio, "one review at a time", |studio| !has(studio, "AskReview"));
        server.open();
        until_told(studio, "Reviewed by lmstudio/first: 7 findings");
        let texts: Vec<String> = studio.gui().into_iter().map(|it| it.shown).collect();
        let told = |text: &str| texts.iter().any(|it| it.contains(text));
        for text in
            ["Read the wall.", "High · Name of game.Workspace.Wall", "… and 2 more findings"]
        {
            assert!(told(text), "{text}: {texts:#?}");
        }
        // Texts of a model are escaped and cut.
        assert!(told("Problem 5 <b>\\u{202e}word") && !told("Problem 6"), "{texts:#?}");
        assert!(texts.iter().all(|it| it.len() < 1_000), "{texts:#?}");
        until_there(studio, "AskReview");
        click(studio, "Approve");
        until(studio, "it is applied", |studio| {
            eval(studio, "return workspace:FindFirstChild('Farm') ~= nil") == true
        });
    }
}

#[test]
fn approval_waits_for_the_review_that_is_required() {
    for signals in MODES {
        let (desk, server) = desk(signals, vec![report(1)], "review.required = true");
        let studio = &desk.studio;
        server.hold_back(0, true);
        propose(&desk);
        until_shown(studio, "lmstudio/first is reviewing it. Approve it when the review is done.");
        // A press does nothing.
        let _ = studio.click(&object(studio, "Approve"));
        studio.run_for(1.0);
        assert!(!shows(studio, "Approved; being applied."));
        server.open();
        until_told(studio, "Reviewed by lmstudio/first: 1 finding");
        until(studio, "it can be approved", |studio| !has(studio, "Unreviewed"));
        click(studio, "Approve");
        until(studio, "it is applied", |studio| {
            eval(studio, "return workspace:FindFirstChild('Farm') ~= nil") == true
        });
    }
}
