//! Real MCP clients from npm: what the model behind each of them receives, and what the place file
//! contains in the end. No test reaches another machine.

mod client;
mod model;
mod together;

use serde_json::{Value as Json, json};

use self::client::{Agent, AgentHome, Limit};
use self::model::{ScriptedModel, Turn};

fn part(name: &str) -> Json {
    json!({ "className": "Part", "parentPath": "game.Workspace", "props": { "Name": name } })
}

fn create(name: &str) -> Turn {
    Turn::Call("create_instance", part(name))
}

/// One conversation: a picture, a resource, a change that is applied, one that is rejected, and one
/// that stays pending and is polled.
fn works_with(agent: Agent) {
    let Some(home) = AgentHome::new(&[agent]) else { return };
    let person = home.person();
    let session =
        person.get("/api/sessions")["sessions"][0]["session"].as_str().unwrap().to_owned();
    let script = "game.ReplicatedStorage.Config";
    let resource = format!("vector://place/{session}/script/{script}");
    let model = ScriptedModel::start(
        agent.wire(),
        vec![
            Turn::Call("render_scene", json!({})),
            Turn::Resource(resource),
            create("Applied"),
            create("Rejected"),
            create("Pending"),
            Turn::Status,
            Turn::Say("That is all."),
        ],
    );
    let mut running = home.start(agent, Limit::Usual, &model);
    let picture = running.result(&model, 0);
    assert_eq!(picture.pictures, 1, "{picture:?}");
    let read = running.result(&model, 1);
    assert!(read.text.contains("return"), "the script's text: {read:?}");

    let applied = person.waiting("Applied", &mut running);
    person.decide(&applied, &json!({ "say": "approve" }));
    let told = running.result(&model, 2).text;
    assert!(told.contains(&format!("Applied as proposal {}", applied["seq"])), "{told}");

    let rejected = person.waiting("Rejected", &mut running);
    person.decide(&rejected, &json!({ "say": "reject", "reason": "it stands in the way" }));
    let told = running.result(&model, 3).text;
    assert!(told.contains("it stands in the way"), "{told}");

    // No decision is made before the call's time limit.
    let told = running.result(&model, 4).text;
    for words in
        ["Nothing has been applied yet", "proposal_status", "do not call create_instance again"]
    {
        assert!(told.contains(words), "{words:?} is missing in {told}");
    }
    assert!(!home.has_part("Pending"));
    let pending = person.waiting("Pending", &mut running);
    person.decide(&pending, &json!({ "say": "approve" }));
    let told = running.result(&model, 5).text;
    assert!(told.contains("applied") && told.contains("Pending"), "{told}");
    assert!(running.ends(), "{}", running.said());

    assert!(home.has_part("Applied") && home.has_part("Pending") && !home.has_part("Rejected"));
    // The workflow ends with the client.
    let is_over = || person.workflows().iter().all(|it| it["state"] == "finished").then_some(());
    running.until_after_end(is_over);
    let log = home.vector_prints(&["log"]);
    assert!(log.contains(agent.client_name()) && !log.contains("not finished"), "{log}");
    // Resources that the client lists by itself are not recorded as calls of its model.
    assert!(!log.contains("find_instances"), "{log}");
}

#[test]
fn claude_code_receives_the_outcomes_of_its_calls() {
    works_with(Agent::ClaudeCode);
}

#[test]
fn codex_receives_the_outcomes_of_its_calls() {
    works_with(Agent::Codex);
}

#[test]
fn gemini_cli_receives_the_outcomes_of_its_calls() {
    works_with(Agent::Gemini);
}

/// The client times out and cancels its call: the proposal is withdrawn.
fn cancels_with(agent: Agent) {
    let Some(home) = AgentHome::new(&[agent]) else { return };
    let person = home.person();
    let model = ScriptedModel::start(
        agent.wire(),
        vec![create("Cancelled"), Turn::Say("It took too long.")],
    );
    let mut running = home.start(agent, Limit::Short, &model);
    let proposal = person.waiting("Cancelled", &mut running);
    let told = running.result(&model, 0).text.to_lowercase();
    assert!(told.contains("timed out") || told.contains("timeout"), "{told}");
    let path = format!("/api/proposals/{}", proposal["seq"]);
    running.until_after_end(|| (person.get(&path)["status"] == "withdrawn").then_some(()));
    assert!(running.ends(), "{}", running.said());
    assert!(!home.has_part("Cancelled"));
}

#[test]
fn call_timed_out_by_claude_code_is_withdrawn() {
    cancels_with(Agent::ClaudeCode);
}

#[test]
fn call_timed_out_by_codex_is_withdrawn() {
    cancels_with(Agent::Codex);
}

#[test]
fn call_timed_out_by_gemini_cli_is_withdrawn() {
    cancels_with(Agent::Gemini);
}

/// Ends the client with a signal while its call is pending, and returns the proposal after the
/// workflow has ended or is disconnected.
#[cfg(unix)]
fn ends_with(agent: Agent, signal: &str) -> Option<(AgentHome, Json)> {
    let home = AgentHome::new(&[agent])?;
    let person = home.person();
    let model = ScriptedModel::start(agent.wire(), vec![create("Left")]);
    let mut running = home.start(agent, Limit::Usual, &model);
    let proposal = person.waiting("Left", &mut running);
    running.signal(signal);
    running.ends();
    let path = format!("/api/proposals/{}", proposal["seq"]);
    let workflow = format!("/api/workflows/{}", proposal["workflow"]);
    running.until_after_end(|| {
        let state = person.get(&workflow)["state"].clone();
        (state == "disconnected" || state == "finished").then_some(())
    });
    let view = person.get(&path);
    Some((home, view))
}

/// The client does not cancel: the proposal stays, and the user decides after the client has gone.
#[cfg(unix)]
fn leaves_with(agent: Agent, signal: &str) {
    let Some((home, left)) = ends_with(agent, signal) else { return };
    let person = home.person();
    let name = agent.client_name();
    assert_eq!(
        (&left["status"], &left["disconnected"]),
        (&json!("waiting"), &json!(name)),
        "{left}"
    );
    let log = home.vector_prints(&["log"]);
    assert!(log.contains(&format!("ended, {name} disconnected")), "{log}");
    person.decide(&left, &json!({ "say": "approve" }));
    // The decision is answered before the file is written.
    person.until_status(&left, "applied");
    assert!(home.has_part("Left"));
}

/// The client cancels its call before it ends.
#[cfg(unix)]
fn cancels_when_interrupted(agent: Agent) {
    let Some((home, left)) = ends_with(agent, "INT") else { return };
    assert_eq!((&left["status"], left.get("disconnected")), (&json!("withdrawn"), None), "{left}");
    let log = home.vector_prints(&["log"]);
    assert!(log.contains("withdrawn") && !log.contains("not finished"), "{log}");
    assert!(!home.has_part("Left"));
}

#[cfg(unix)]
#[test]
fn proposal_of_interrupted_claude_code_can_be_approved() {
    leaves_with(Agent::ClaudeCode, "INT");
}

#[cfg(unix)]
#[test]
fn interrupted_codex_withdraws_its_proposal() {
    cancels_when_interrupted(Agent::Codex);
}

#[cfg(unix)]
#[test]
fn proposal_of_killed_claude_code_can_be_approved() {
    leaves_with(Agent::ClaudeCode, "KILL");
}

#[cfg(unix)]
#[test]
fn proposal_of_killed_codex_can_be_approved() {
    leaves_with(Agent::Codex, "KILL");
}

#[cfg(unix)]
#[test]
fn proposal_of_killed_gemini_cli_can_be_approved() {
    leaves_with(Agent::Gemini, "KILL");
}

#[test]
fn two_clients_work_on_one_place_at_once() {
    let agents = [Agent::ClaudeCode, Agent::Codex];
    let Some(home) = AgentHome::new(&agents) else { return };
    let person = home.person();
    let names = ["FromClaude", "FromCodex"];
    let models: Vec<ScriptedModel> = agents
        .iter()
        .zip(names)
        .map(|(agent, name)| {
            ScriptedModel::start(agent.wire(), vec![create(name), Turn::Say("Done.")])
        })
        .collect();
    let both = agents.iter().zip(&models);
    let mut running: Vec<_> =
        both.map(|(agent, model)| home.start(*agent, Limit::Usual, model)).collect();
    // Both are pending at once; the later one is planned on top of the earlier.
    let mut waiting: Vec<Json> = names
        .iter()
        .zip(&mut running)
        .map(|(name, running)| person.waiting(name, running))
        .collect();
    waiting.sort_by_key(|it| it["seq"].as_u64());
    for proposal in &waiting {
        person.decide(proposal, &json!({ "say": "approve" }));
    }
    for (running, model) in running.iter_mut().zip(&models) {
        let told = running.result(model, 0).text;
        assert!(told.contains("Applied as proposal"), "{told}");
        assert!(running.ends(), "{}", running.said());
    }
    assert!(names.iter().all(|name| home.has_part(name)));
}
