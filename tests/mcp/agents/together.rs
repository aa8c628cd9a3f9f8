//! Two real clients and a person on the page, who work on one place at the same time.

use serde_json::{Value as Json, json};
use vector_tests::browser::{Browser, Stage};

use super::client::{Agent, AgentHome, HomePerson, Limit, RunningAgent};
use super::create;
use super::model::{ScriptedModel, Turn};

const CONFIG: &str = "game.ReplicatedStorage.Config";

/// Opens the page of the home's daemon.
fn enter(home: &AgentHome, browser: &Browser<'_>) {
    browser.go(home.vector_prints(&["open", "--print"]).trim());
    browser.until("document.querySelector('#link').dataset.state === 'here'");
    browser.until("document.querySelector('#composer textarea')");
}

/// Approves a proposal on the page by keyboard, and waits until it is applied.
fn approve_on_page(browser: &Browser<'_>, person: &HomePerson, proposal: &Json) {
    let seq = &proposal["seq"];
    browser.run(&format!("location.hash = '#/proposals/{seq}'"), &[]);
    browser.until(&format!(
        "document.querySelector('#one .proposal[data-seen]')?.dataset.of === '{seq}'"
    ));
    browser.run("document.querySelector('#one').focus()", &[]);
    browser.press(&[], &['a']);
    person.until_status(proposal, "applied");
}

fn seqs(proposals: &Json) -> Vec<u64> {
    let all = proposals["proposals"].as_array().unwrap().iter();
    all.map(|it| it["seq"].as_u64().unwrap()).collect()
}

#[test]
fn unrelated_work_waits_for_no_other() {
    let Some(stage) = Stage::set() else { return };
    let agents = [Agent::ClaudeCode, Agent::Codex];
    let Some(home) = AgentHome::new(&agents) else { return };
    let person = home.person();
    let names = [["ClaudeFirst", "ClaudeSecond"], ["CodexFirst", "CodexSecond"]];
    let start = |agent: Agent, [first, second]: [&'static str; 2]| {
        let script = vec![create(first), create(second), Turn::Say("Done.")];
        let model = ScriptedModel::start(agent.wire(), script);
        (home.start(agent, Limit::Usual, &model), model)
    };
    let mut running: Vec<(RunningAgent, ScriptedModel)> =
        agents.into_iter().zip(names).map(|(agent, names)| start(agent, names)).collect();
    let mut first: Vec<Json> = running
        .iter_mut()
        .zip(names)
        .map(|((agent, _), names)| person.waiting(names[0], agent))
        .collect();
    let browser = stage.browser();
    enter(&home, &browser);
    // The person asks for something as well, while both wait.
    browser.click("#ask-text");
    browser.enter("set Transparency = 0.5 on #Baseplate");
    browser.click("#composer button.main");
    let own = person.waiting("Transparency", &mut running[0].0);
    first.push(own);
    for proposal in &first {
        let view = person.get(&format!("/api/proposals/{}", proposal["seq"]));
        assert_eq!(view["proposal"].get("after"), None, "{view}");
        assert_eq!(view.get("touched_by"), None, "{view}");
    }
    // The newest is decided first, and each is applied while the older ones are pending.
    first.sort_by_key(|it| std::cmp::Reverse(it["seq"].as_u64()));
    for (at, proposal) in first.iter().enumerate() {
        approve_on_page(&browser, &person, proposal);
        let waiting = seqs(&person.get("/api/proposals"));
        for older in &first[at + 1..] {
            assert!(waiting.contains(&older["seq"].as_u64().unwrap()), "{older} in {waiting:?}");
        }
    }
    // Both have gone on meanwhile.
    for ((agent, model), names) in running.iter_mut().zip(names) {
        let second = person.waiting(names[1], agent);
        approve_on_page(&browser, &person, &second);
        for result in 0..2 {
            let told = agent.result(model, result).text;
            assert!(told.contains("Applied as proposal"), "{told}");
        }
        assert!(agent.ends(), "{}", agent.said());
    }
    assert!(names.as_flattened().iter().all(|name| home.has_part(name)));
}

#[test]
fn related_work_is_told_by_name() {
    let Some(stage) = Stage::set() else { return };
    let Some(home) = AgentHome::new(&[Agent::ClaudeCode, Agent::Codex]) else { return };
    let person = home.person();
    let edit = |search: &str, replace: &str| {
        let edit = json!({ "search": search, "replace": replace });
        Turn::Call("replace_text", json!({ "path": CONFIG, "edits": [edit] }))
    };
    let read = || Turn::Call("read_script", json!({ "path": CONFIG }));
    let script = vec![edit("KillDamage = 100", "KillDamage = 50"), read(), Turn::Say("Done.")];
    let claude_model = ScriptedModel::start(Agent::ClaudeCode.wire(), script);
    let mut claude = home.start(Agent::ClaudeCode, Limit::Usual, &claude_model);
    let first = person.waiting("Config", &mut claude);

    // Codex sees the place without the pending change, and is told of it.
    let codex_script = vec![read(), edit("FirstStage = 0", "FirstStage = 1"), Turn::Say("Done.")];
    let codex_model = ScriptedModel::start(Agent::Codex.wire(), codex_script);
    let mut codex = home.start(Agent::Codex, Limit::Usual, &codex_model);
    let told = codex.result(&codex_model, 0).text;
    assert!(told.contains("KillDamage = 100"), "{told}");
    let by = |seq: &Json, name: &str| format!("Proposal {seq} by {name}, pending, changes it.");
    assert!(told.contains(&by(&first["seq"], "claude-code")), "{told}");
    let touching = || {
        let waiting = person.get("/api/proposals");
        let mut all = waiting["proposals"].as_array().unwrap().iter();
        all.find(|it| it["seq"] != first["seq"]).cloned()
    };
    let second = codex.until(touching);

    // The person sees on the page that both concern the same.
    let browser = stage.browser();
    enter(&home, &browser);
    browser.run(&format!("location.hash = '#/proposals/{}'", first["seq"]), &[]);
    let concerns = format!("proposal {} by codex-mcp-client", second["seq"]);
    browser.until_shown("#one .remarks", &concerns);
    approve_on_page(&browser, &person, &first);
    let told = claude.result(&claude_model, 0).text;
    assert!(told.contains("Applied as proposal"), "{told}");
    // The other one is planned again on what was applied, and Claude Code is told of it.
    let again = person.get(&format!("/api/proposals/{}", second["seq"]));
    let again = again["successor"].as_u64().map_or(second, |now| json!({ "seq": now }));
    let again = person.get(&format!("/api/proposals/{}", again["seq"]));
    assert_eq!(again["status"], "waiting", "{again}");
    let told = claude.result(&claude_model, 1).text;
    assert!(told.contains(&by(&again["seq"], "codex-mcp-client")), "{told}");
    assert!(claude.ends(), "{}", claude.said());
    approve_on_page(&browser, &person, &again);
    let told = codex.result(&codex_model, 1).text;
    assert!(told.contains("pplied"), "{told}");
    assert!(codex.ends(), "{}", codex.said());
    let text = std::fs::read_to_string(&home.place).unwrap();
    assert!(text.contains("KillDamage = 50,") && text.contains("FirstStage = 1,"), "both edits");
}
