//! The question for a permission, which a person answers on the page and an agent cannot.

use vector_tests::daemon::Plugin;

use super::*;

const BUTTONS: &str = "#log .permission button";

#[test]
fn permission_to_play_in_studio_is_given_on_the_page_and_not_by_an_agent() {
    let Some(stage) = Stage::set() else { return };
    let bench = Bench::new();
    let mut plugin = Plugin::pair(bench.daemon(), "window");
    plugin.tell_place();
    let token = Daemon::agent_token(&ledger(&bench.home));
    let agent = |method: &str, path: &str, body: &Json| {
        bench.daemon().call(method, path, Some(&token), body)
    };
    let call = json!({
        "connection": "agent", "client": "claude-code", "id": "1", "tool": "playtest", "hold": 60,
        "session": "window", "args": { "inStudio": true, "players": 0, "seconds": 9 },
    });
    let call = agent("POST", "/api/agents/calls", &call).ok();
    assert_eq!(call["outcome"]["state"], "needs_permission", "{call}");
    let path = format!("/api/workflows/{}/permission", call["workflow"]);
    let permit = json!({ "call": call["call"], "answer": "task" });
    let refused = agent("POST", &path, &permit);
    assert_eq!(refused.status, 401, "{refused:?}");

    let browser = stage.browser();
    bench.enter(&browser);
    browser.go(&format!("{}#/now/{}", bench.address(), call["workflow"]));
    browser.until_shown("#log .permission", "Play the game in Studio?");
    browser.until_shown("#head .state", "needs your answer");
    let labels = browser
        .is(&format!("[...document.querySelectorAll('{BUTTONS}')].map(it => it.textContent)"));
    assert_eq!(labels, json!(["Yes, this time", "Yes, for this task", "No"]));
    browser.click(&format!("{BUTTONS}[data-answer=task]"));
    browser.until_shown("#log", "You permitted it, for this task.");
    browser.until_shown("#waits", "Playing the game");
    assert_eq!(browser.is(&format!("document.querySelector('{BUTTONS}')")), Json::Null);

    // The plugin plays it, and the agent gets what came of it.
    let work = plugin.until(|polled| {
        let mut work = polled["work"].as_array()?.iter();
        work.find(|it| it["work"] == "playtest").cloned()
    });
    assert_eq!(work["playtest"], json!({ "mode": "run", "seconds": 9 }));
    let error = json!({ "source": "server", "level": "error", "text": "Workspace.Main:1: no" });
    let answer = json!({
        "answer": "played", "ended": "time_limit", "seconds": 9.25,
        "output": { "messages": [error] },
    });
    plugin.say(json!([{ "part": "answered", "work": work["number"], "answer": answer }])).ok();
    let became = agent("GET", &format!("/api/agents/calls/{}?hold=60", call["call"]), &Json::Null);
    let answer = &became.ok()["outcome"]["answer"];
    let error =
        json!([{ "source": "server", "message": "no", "script": "Workspace.Main", "line": 1 }]);
    assert_eq!((&answer["errors"], &answer["seconds"]), (&error, &json!(9.25)));

    // The question cannot be answered twice, nor after its task.
    let late = plugin.call("POST", &path, &permit);
    assert_eq!(late.status, 409, "{late:?}");
}
