//! The output of a model at work: its texts, calls and cards, each on separate lines. Also the
//! effects of Ctrl-C.

use std::fs;
use std::path::Path;

use scene_schemas::entry::{Entry, Finish, Record};
use tempfile::TempDir;
use vector_tests::person::Person;

use super::play::Stage;

/// A stage for a scenario that is written in the test.
fn stage(scenario: &str) -> (TempDir, Stage) {
    let folder = tempfile::tempdir().unwrap();
    let head = "rule = \"It stands in a test.\"\nwire = \"anthropic_messages\"\n";
    fs::write(folder.path().join("scenario.toml"), format!("{head}{scenario}")).unwrap();
    let stage = Stage::set(folder.path(), None);
    (folder, stage)
}

const WORKS: &str = r#"
prompt = "make it faster"

[[reply]]
calls = [{ id = "p", name = "start_plan", args = { steps = ["Change the script"] } }]

[[reply]]
text = "First I look at the script that moves it."
calls = [{ id = "r", name = "read_script", args = { path = "game.ServerScriptService.Main" } }]

[[reply]]
text = "Now I change something that is not there."
calls = [{ id = "c", name = "create_instance", args = { className = "Part", parentPath = "game.Nope" } }]

[[reply]]
text = "Now I change the script."
calls = [{ id = "e", name = "replace_text", args = { path = "game.ServerScriptService.Main", search = "speed = 10", replace = "speed = 20" } }]

[[reply]]
calls = [{ id = "d", name = "complete", args = { summary = "It is faster." } }]
"#;

const CARD: &str = "[q]uit [?]";

fn finished(stage: &Stage) -> Vec<Finish> {
    let log = stage.command(&["log", "--json"]).output().unwrap().stdout;
    let log = String::from_utf8(log).unwrap();
    let entries = log.lines().map(|line| serde_json::from_str::<Record>(line).unwrap().entry);
    let ends = entries.filter_map(|entry| match entry {
        Entry::Finished { outcome, .. } => Some(outcome),
        _ => None,
    });
    ends.collect()
}

/// The line with this beginning.
#[track_caller]
fn line<'s>(shown: &'s str, begins: &str) -> &'s str {
    let found = shown.lines().find(|line| line.starts_with(begins));
    found.unwrap_or_else(|| panic!("no line begins with {begins:?}:\n{shown}"))
}

#[test]
fn text_calls_refusals_and_cards_have_separate_lines() {
    let (_folder, stage) = stage(WORKS);
    let mut person = Person::runs(stage.edit(&[]));
    let shown = person.answers(CARD, "y");
    let words = "First I look at the script that moves it.";
    assert_eq!(line(&shown, "First I look"), words);
    assert_eq!(line(&shown, "· read_script"), "· read_script game.ServerScriptService.Main");
    assert!(line(&shown, "· create_instance: refused: ").contains("game.Nope"), "{shown}");
    assert_eq!(line(&shown, "Now I change the script"), "Now I change the script.");
    let order =
        ["First I look", "· read_script", "· create_instance", "Now I change the", "Proposal"];
    let places: Vec<usize> = order.iter().map(|part| shown.find(part).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}\n{shown}");
    let (code, end) = person.sees_the_end();
    assert_eq!(code, 0, "{end}");
}

#[test]
fn ctrl_c_stops_the_answer_and_ends_the_run() {
    let (_folder, stage) = stage(WORKS);
    stage.server.hold_back(1, true);
    let mut person = Person::runs(stage.edit(&[]));
    stage.server.wait_at_gate(1);
    person.interrupts();
    let (code, end) = person.sees_the_end();
    assert_eq!(code, 3, "{end}");
    assert!(end.contains("Stopped"), "{end}");
    assert_eq!(finished(&stage), [Finish::NotApproved]);
}

#[test]
fn ctrl_c_at_a_card_ends_the_run() {
    let (_folder, stage) = stage(WORKS);
    let mut person = Person::runs(stage.edit(&[]));
    person.sees(CARD);
    person.interrupts();
    let (code, end) = person.sees_the_end();
    assert_eq!(code, 3, "{end}");
    assert_eq!(finished(&stage), [Finish::NotApproved]);
}

#[test]
fn ctrl_c_in_chat_stops_answer_then_chat() {
    let (_folder, stage) = stage(&WORKS.replace("prompt = \"make it faster\"", "say = [\"x\"]"));
    stage.server.hold_back(1, true);
    let mut person = Person::runs(stage.edit(&[]));
    person.answers(">", "make it faster");
    stage.server.wait_at_gate(1);
    person.interrupts();
    person.sees("Stopped");
    // The chat continues and accepts input.
    person.answers(">", "/help");
    person.sees("/quit");
    person.sees(">");
    person.interrupts();
    let (code, end) = person.sees_the_end();
    assert_eq!(code, 0, "{end}");
    assert_eq!(finished(&stage), [Finish::NotApproved]);
}

#[test]
fn wrong_address_is_requested_once_and_its_response_reported() {
    let page = r#"
prompt = "make it faster"
exit = 1

[[reply]]
content_type = "text/html"
raw = "<html><head><title>Hello</title></head><body>This is a web site.</body></html>"
"#;
    let (_folder, stage) = stage(page);
    let output = stage.edit(&["--yes"]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{said}");
    for part in ["text/html", "This is a web site.", &stage.server.url(), "base_url"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert_eq!(stage.server.requests().len(), 1, "{said}");
    assert_eq!(finished(&stage), [Finish::Failed]);
}

#[test]
fn connection_error_names_the_address() {
    let (_folder, stage) = stage("prompt = \"make it faster\"\n");
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = stage.edit(&["--yes"]);
    command.env("VECTOR_ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{port}"));
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains(&format!("runs at http://127.0.0.1:{port}")), "{said}");
    assert_eq!(finished(&stage), [Finish::Failed]);
}

#[test]
fn usage_names_the_task_by_its_request() {
    let (_folder, stage) = stage(WORKS);
    let place = Path::new(&stage.place).display().to_string();
    assert!(stage.edit(&["--yes"]).output().unwrap().status.success(), "{place}");
    let usage = String::from_utf8(stage.command(&["usage"]).output().unwrap().stdout).unwrap();
    assert!(usage.contains("  make it faster"), "{usage}");
    let rows = usage.lines().filter(|line| line.starts_with("  "));
    assert!(rows.clone().all(|line| line.chars().count() <= 80), "{usage}");
}

#[test]
fn unknown_price_gives_no_sum() {
    let (_folder, stage) = stage(&format!("model = \"unknown-model\"\n{WORKS}"));
    let output = stage.edit(&["--yes"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let usage = String::from_utf8(stage.command(&["usage"]).output().unwrap().stdout).unwrap();
    assert!(!usage.contains("0.0000"), "{usage}");
    assert!(usage.contains("price") && usage.contains("models.toml"), "{usage}");
}
