//! Reviews of proposals by a model: with a clean context, in a task of its own, and recorded where a
//! person decides.

use serde_json::{Value as Json, json};
use vector_tests::daemon::Plugin;

use super::models::{Bench, calls, choose, plan, says, until};
use crate::models::server::Reply;

/// Another model than the one that makes the change.
const ROUTE: &str = "routes.review = \"lmstudio/second\"";

fn rename() -> Reply {
    calls("rename_instance", json!({ "path": "game.Workspace.Wall", "newName": "Tower" }))
}

fn report() -> Reply {
    let findings = json!([
        { "severity": "low", "text": "Tower says little." },
        { "severity": "high", "text": "A script waits for Wall.", "path": "game.Workspace.Tower", "property": "Name" },
    ]);
    calls("report_review", json!({ "summary": "Searched for the old name.", "findings": findings }))
}

/// Makes a request, and returns the proposal that the model made.
fn proposed(plugin: &mut Plugin<'_>) -> u64 {
    plugin.chat("rename the wall, please").ok();
    until(plugin, &mut Vec::new(), "proposal_mapped")["proposal"].as_u64().unwrap()
}

fn review(plugin: &Plugin<'_>, proposal: u64) -> Json {
    plugin.call("POST", &format!("/api/proposals/{proposal}/review"), &json!({})).ok()
}

fn shown(plugin: &Plugin<'_>, proposal: u64) -> Json {
    plugin.call("GET", &format!("/api/proposals/{proposal}"), &Json::Null).ok()
}

/// Waits until a review has ended, and returns what its event says.
fn ended(plugin: &mut Plugin<'_>) -> String {
    plugin.until(|polled| {
        let events = polled["events"].as_array()?.iter().map(|it| &it["event"]);
        let mut texts =
            events.filter(|it| it["event"] == "review").filter_map(|it| it["text"].as_str());
        texts.find(|it| !it.ends_with("reviews it.")).map(str::to_owned)
    })
}

#[test]
fn proposal_is_reviewed_by_another_model_that_knows_the_request_and_the_change() {
    let replies = vec![plan(), rename(), report(), says("Then not."), says("It is a gate.")];
    let bench = Bench::new(replies, ROUTE);
    let mut plugin = bench.plugin();
    let proposal = proposed(&mut plugin);
    let reviewer = review(&plugin, proposal)["workflow"].clone();
    assert_eq!(ended(&mut plugin), "The review is done: 2 findings: 1 high, 1 low.");
    let view = shown(&plugin, proposal);
    assert_eq!(view["status"], "waiting");
    let [found] = &view["reviews"].as_array().unwrap()[..] else { panic!("{view}") };
    assert_eq!(found["reviewer"], reviewer);
    assert_eq!((&found["state"], &found["model"]), (&json!("done"), &json!("lmstudio/second")));
    assert_eq!(found["summary"], "Searched for the old name.");
    let texts: Vec<&Json> =
        found["findings"].as_array().unwrap().iter().map(|it| &it["finding"]["text"]).collect();
    assert_eq!(texts, ["A script waits for Wall.", "Tower says little."]);
    assert_eq!(found["findings"][0]["about"], "Name of game.Workspace.Tower");
    // It was asked with the request and the change, and with nothing of the conversation.
    let asked = bench.server.requests()[2].body.clone();
    assert_eq!(asked["model"], "second");
    let text = asked["messages"].to_string();
    assert!(text.contains("rename the wall, please") && text.contains("Wall"), "{text}");
    assert!(!text.contains("start_plan"), "{text}");
    let tools: Vec<&str> = asked["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["function"]["name"].as_str())
        .collect();
    assert!(tools.contains(&"report_review") && tools.contains(&"read_script"), "{tools:?}");
    assert!(
        !tools.contains(&"rename_instance") && !tools.contains(&"ask_clarification"),
        "{tools:?}"
    );
    // The conversation goes on with the model that proposed.
    let no = json!({ "say": "reject", "reason": "A script waits for it." });
    plugin.decide(proposal, no).ok();
    until(&mut plugin, &mut Vec::new(), "done");
    plugin.chat("what is it then?").ok();
    until(&mut plugin, &mut Vec::new(), "done");
    let last = bench.server.requests().pop().unwrap().body;
    assert_eq!(last["model"], "first");
    let text = last["messages"].to_string();
    assert!(text.contains("Then not.") && !text.contains("Review proposal"), "{text}");
}

#[test]
fn decision_ends_the_review_that_is_running() {
    let bench = Bench::new(vec![plan(), rename(), report(), says("Then not.")], ROUTE);
    bench.server.hold_back(2, true);
    let mut plugin = bench.plugin();
    let proposal = proposed(&mut plugin);
    let reviewer = review(&plugin, proposal)["workflow"].clone();
    bench.server.wait_at_gate(1);
    let twice = plugin.call("POST", &format!("/api/proposals/{proposal}/review"), &json!({}));
    let says = twice.body.to_string();
    assert!(twice.status == 409 && says.contains("is being reviewed already"), "{says}");
    plugin.decide(proposal, json!({ "say": "reject" })).ok();
    let text = ended(&mut plugin);
    assert!(text.contains("The proposal was decided before the review ended"), "{text}");
    let task = plugin.call("GET", &format!("/api/workflows/{reviewer}"), &Json::Null).ok();
    assert_eq!(task["state"], "finished", "{task}");
    bench.server.open();
    let late = plugin.call("POST", &format!("/api/proposals/{proposal}/review"), &json!({}));
    assert_eq!(late.status, 409, "{}", late.body);
}

#[test]
fn killed_daemon_resumes_a_review_and_records_it_once() {
    let mut bench = Bench::new(vec![plan(), rename(), says("lost"), report()], ROUTE);
    bench.server.hold_back(2, true);
    let credential;
    let proposal;
    {
        let mut plugin = bench.plugin();
        proposal = proposed(&mut plugin);
        review(&plugin, proposal);
        bench.server.wait_at_gate(1);
        credential = plugin.credential.clone();
    }
    bench.daemon.take().unwrap().kill();
    bench.server.open();
    bench.start();
    let mut plugin = Plugin::hello(bench.daemon(), "window-1", &credential);
    plugin.tell_place();
    assert_eq!(ended(&mut plugin), "The review is done: 2 findings: 1 high, 1 low.");
    let view = shown(&plugin, proposal);
    assert_eq!(view["reviews"].as_array().unwrap().len(), 1, "{view}");
    assert_eq!(view["reviews"][0]["state"], "done");
    assert_eq!(bench.server.requests()[3].body["model"], "second");
}

#[test]
fn report_that_cannot_be_used_is_asked_for_again_and_its_end_is_told() {
    let bad = calls("report_review", json!({ "summary": "", "findings": [] }));
    let replies = vec![plan(), rename(), bad, says("Looks good."), says("Really.")];
    let bench = Bench::new(replies, "");
    let mut plugin = bench.plugin();
    let proposal = proposed(&mut plugin);
    review(&plugin, proposal);
    let text = ended(&mut plugin);
    assert!(text.contains("lmstudio/first ended the review without a report"), "{text}");
    let last = bench.server.requests()[4].body["messages"].to_string();
    assert!(
        last.contains("`summary` is empty") && last.contains("Report the review of proposal"),
        "{last}"
    );
    assert_eq!(shown(&plugin, proposal)["reviews"][0]["state"], "failed");
    assert_eq!(shown(&plugin, proposal)["status"], "waiting");
}

#[test]
fn model_that_does_not_answer_ends_the_review_with_its_reason() {
    let refused = Reply::plain(402, r#"{"error":{"message":"Insufficient credit."}}"#);
    let bench = Bench::new(vec![plan(), rename(), refused, report()], "");
    let mut plugin = bench.plugin();
    let proposal = proposed(&mut plugin);
    let reviewer = review(&plugin, proposal)["workflow"].clone();
    let text = ended(&mut plugin);
    assert!(
        text.contains("It was not reviewed") && text.contains("Insufficient credit."),
        "{text}"
    );
    let task = plugin.call("GET", &format!("/api/workflows/{reviewer}"), &Json::Null).ok();
    assert_eq!(task["state"], "finished", "{task}");
    // Another one can be asked for.
    review(&plugin, proposal);
    assert_eq!(ended(&mut plugin), "The review is done: 2 findings: 1 high, 1 low.");
    assert_eq!(shown(&plugin, proposal)["reviews"][0]["state"], "failed");
}

#[test]
fn planner_without_a_model_reviews_nothing() {
    let bench = Bench::new(Vec::new(), "");
    let mut plugin = bench.plugin();
    choose(&plugin, "offline");
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let mapped = until(&mut plugin, &mut Vec::new(), "proposal_mapped");
    let asked = format!("/api/proposals/{}/review", mapped["proposal"]);
    let refused = plugin.call("POST", &asked, &json!({}));
    let says = refused.body.to_string();
    assert!(
        refused.status == 409 && says.contains("The offline planner reviews nothing"),
        "{says}"
    );
    let unknown = plugin.call("POST", "/api/proposals/99999/review", &json!({}));
    assert_eq!(unknown.status, 404, "{}", unknown.body);
}

#[test]
fn price_of_a_review_is_told_before_it_is_asked_for() {
    let priced = "[models.lmstudio.second]\nwindow = 100_000\noutput = 4_000\n\
                  [models.lmstudio.second.price]\ninput = 2.0\noutput = 10.0\n";
    let mut bench = Bench::prepared(vec![plan(), rename(), report()], ROUTE);
    std::fs::write(bench.home.path().join("models.toml"), priced).unwrap();
    bench.start();
    let mut plugin = bench.plugin();
    let proposal = proposed(&mut plugin);
    let path = format!("/api/proposals/{proposal}/review");
    let quote = plugin.call("GET", &path, &Json::Null).ok();
    let (tokens, dollars) = (&quote["estimate"]["tokens"], &quote["estimate"]["dollars"]);
    assert_eq!(quote["estimate"]["model"], "lmstudio/second");
    // The answer counts with 1,000 tokens.
    let expected = tokens.as_f64().unwrap() * 2.0 / 1e6 + 0.01;
    assert!((dollars.as_f64().unwrap() - expected).abs() < 1e-9, "{quote}");
    let text = quote["text"].as_str().unwrap();
    assert!(text.starts_with("lmstudio/second: about ") && text.contains("tokens, $0.0"), "{text}");
    review(&plugin, proposal);
    assert_eq!(ended(&mut plugin), "The review is done: 2 findings: 1 high, 1 low.");
    // It is an upper bound of what is sent.
    let sent = bench.server.requests()[2].body.to_string().len() as u64;
    let tokens = tokens.as_u64().unwrap();
    assert!(tokens >= sent / 4 && tokens <= sent, "{tokens} tokens for {sent} bytes");
    choose(&plugin, "offline");
    let quote = plugin.call("GET", &path, &Json::Null).ok();
    assert_eq!(quote["estimate"], Json::Null);
    assert!(quote["text"].as_str().unwrap().contains("The offline planner reviews nothing"));
}

#[test]
fn terminal_asks_for_a_review_and_shows_it_before_the_decision() {
    use vector_tests::person::Person;

    let bench = Bench::new(vec![plan(), rename(), report(), says("Then not.")], ROUTE);
    let mut plugin = bench.plugin();
    let proposal = proposed(&mut plugin);
    let mut command = bench.home.command(&["review", "--once"]);
    command.env("VECTOR_HOME", bench.home.path());
    let mut person = Person::runs(command);
    let question = format!("Apply proposal {proposal}?");
    let said = person.answers(&question, "m");
    assert!(said.contains("m reviews it with lmstudio/second: about "), "{said}");
    let said = person.answers(&question, "n");
    for words in [
        "Reviewed by lmstudio/second: 2 findings",
        "Searched for the old name.",
        "high  Name of game.Workspace.Tower",
        "A script waits for Wall.",
    ] {
        assert!(said.contains(words), "{words} is not in {said}");
    }
    person.answers("Reason (optional", "A script waits for it.");
    person.sees_the_end();
    assert_eq!(shown(&plugin, proposal)["status"], "rejected");
}
