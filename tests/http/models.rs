//! Models in a Studio place: streaming, and what the user can do during a model request.

use scene_schemas::api::FailureKind;
use serde_json::{Value as Json, json};
use vector_providers::wire::WireFormat;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon, Plugin};

use crate::models::server::{Reply, Server};
use crate::models::spell::{Call, Message, Style, Usage, content_type, events, framed};

const WIRE: WireFormat = WireFormat::OpenaiChat;

/// A streamed reply, one piece per event.
fn reply(message: &Message) -> Reply {
    let pieces = framed(WIRE, &events(WIRE, message), Style::default());
    let headers = vec![("content-type".to_owned(), content_type(WIRE).to_owned())];
    Reply { headers, pieces, ..Reply::plain(200, "") }
}

pub(crate) fn says(text: &str) -> Reply {
    let usage = Some(Usage { input: 1_000, output: 10 });
    reply(&Message { text: Some(text.to_owned()), usage, ..Message::default() })
}

pub(crate) fn calls(name: &str, args: Json) -> Reply {
    calls_for(1_000, name, args)
}

/// A call, in the reply to a request with this number of tokens.
pub(super) fn calls_for(input: u64, name: &str, args: Json) -> Reply {
    let call = Call { id: Some(format!("call_{name}")), name: name.to_owned(), args };
    let usage = Some(Usage { input, output: 10 });
    reply(&Message { calls: vec![call], usage, ..Message::default() })
}

pub(super) fn plan() -> Reply {
    calls("start_plan", json!({ "steps": ["Rename the wall"] }))
}

fn rename(to: &str) -> Reply {
    calls("rename_instance", json!({ "path": "game.Workspace.Wall", "newName": to }))
}

/// A daemon whose plugin has chosen a model of the test server.
pub(super) struct Bench {
    pub(super) server: Server,
    pub(super) daemon: Option<Daemon>,
    pub(super) home: Home,
}

impl Bench {
    pub(super) fn new(replies: Vec<Reply>, settings: &str) -> Self {
        let mut bench = Self::prepared(replies, settings);
        bench.start();
        bench
    }

    pub(super) fn start(&mut self) {
        self.daemon = Some(Daemon::start(binary::vector(), self.home.path()));
    }

    /// Prepares everything but the daemon.
    pub(super) fn prepared(replies: Vec<Reply>, settings: &str) -> Self {
        let server = Server::start(replies);
        let home = Home::new();
        let text = format!(
            "retries = 0\n{settings}\n[providers.lmstudio]\nbase_url = \"{}/v1\"\n",
            server.url()
        );
        std::fs::write(home.path().join("vector.toml"), text).unwrap();
        Self { server, daemon: None, home }
    }

    pub(super) fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("it was started")
    }

    pub(super) fn plugin(&self) -> Plugin<'_> {
        let mut plugin = Plugin::pair(self.daemon(), "window-1");
        plugin.tell_place();
        choose(&plugin, "lmstudio/first");
        plugin
    }
}

pub(super) fn choose(plugin: &Plugin<'_>, model: &str) {
    let settings =
        json!({ "mode": "confirm", "dry_run": false, "play_check": false, "model": model });
    plugin.call("PUT", "/api/settings", &settings).ok();
}

/// Polls until an event of this name arrives; `seen` collects all events up to then.
pub(super) fn until(plugin: &mut Plugin<'_>, seen: &mut Vec<Json>, name: &str) -> Json {
    plugin.until(|polled| {
        let events = polled["events"].as_array().unwrap().iter().map(|it| it["event"].clone());
        let before = seen.len();
        seen.extend(events);
        seen[before..].iter().find(|event| event["event"] == name).cloned()
    })
}

fn names(seen: &[Json]) -> Vec<&str> {
    seen.iter().filter_map(|event| event["event"].as_str()).collect()
}

#[test]
fn model_proposes_and_receives_the_decision() {
    let bench = Bench::new(vec![plan(), rename("Tower"), says("Then not.")], "");
    let mut plugin = bench.plugin();
    plugin.chat("rename the wall").ok();
    let mut seen = Vec::new();
    let mapped = until(&mut plugin, &mut seen, "proposal_mapped");
    assert!(names(&seen).contains(&"usage") && names(&seen).contains(&"context_stats"), "{seen:?}");
    let no = json!({ "say": "reject", "reason": "It is a gate." });
    plugin.decide(mapped["proposal"].as_u64().unwrap(), no).ok();
    let done = until(&mut plugin, &mut seen, "done");
    assert_eq!(done["outcome"], "done");
    let last = bench.server.requests().pop().unwrap().body.to_string();
    assert!(last.contains("The person rejected it: It is a gate."), "{last}");
    let usage = plugin.call("GET", "/api/usage", &Json::Null).ok();
    assert_eq!((&usage["input"], &usage["output"]), (&json!(3_000), &json!(30)), "{usage}");
}

#[test]
fn model_text_streams_and_cancel_ends_it_at_once() {
    let long: String = "It stands there. ".repeat(40);
    let bench = Bench::new(vec![says(&long)], "");
    bench.server.hold_back(0, true);
    let mut plugin = bench.plugin();
    let workflow = plugin.chat("what is there?").ok()["workflow"].as_u64().unwrap();
    bench.server.wait_at_gate(1);
    let mut seen = Vec::new();
    let update = until(&mut plugin, &mut seen, "assistant_update");
    assert!(long.starts_with(update["text"].as_str().unwrap()), "{update}");
    plugin.call("POST", &format!("/api/workflows/{workflow}/cancel"), &json!({})).ok();
    let done = until(&mut plugin, &mut seen, "done");
    assert_eq!(done["outcome"], "not_approved");
    bench.server.open();
}

#[test]
fn message_during_a_request_continues_the_same_task() {
    let bench = Bench::new(vec![says("I look."), says("Red it is.")], "");
    bench.server.hold_back(0, false);
    let mut plugin = bench.plugin();
    let first = plugin.chat("paint the wall").ok()["workflow"].clone();
    bench.server.wait_at_gate(1);
    let second = plugin.chat("red, please").ok()["workflow"].clone();
    assert_eq!(first, second);
    bench.server.open();
    let mut seen = Vec::new();
    until(&mut plugin, &mut seen, "asked_more");
    until(&mut plugin, &mut seen, "done");
    let requests = bench.server.requests();
    assert_eq!(bench.server.busiest(), 1, "one request at a time");
    assert!(!requests[0].body.to_string().contains("red, please"));
    assert!(requests[1].body.to_string().contains("red, please"));
}

#[test]
fn model_question_is_answered_by_the_next_message() {
    let ask = calls("ask_clarification", json!({ "question": "Which?", "options": ["A", "B"] }));
    let bench = Bench::new(vec![ask, says("A, then.")], "");
    let mut plugin = bench.plugin();
    plugin.chat("paint a wall").ok();
    let mut seen = Vec::new();
    let asked = until(&mut plugin, &mut seen, "assistant_final");
    assert_eq!(asked["answers"], json!(["A", "B"]));
    plugin.chat("A").ok();
    until(&mut plugin, &mut seen, "done");
    let messages = bench.server.requests()[1].body["messages"].clone();
    let told = messages.as_array().unwrap().iter().find(|it| it["role"] == "tool").unwrap();
    assert_eq!(told["content"], "A");
}

#[test]
fn failed_request_waits_for_a_retry_with_another_model() {
    let broke = Reply::plain(402, r#"{"error":{"message":"Insufficient credit."}}"#);
    let bench = Bench::new(vec![broke, says("Here I am.")], "");
    let mut plugin = bench.plugin();
    let workflow = plugin.chat("what is there?").ok()["workflow"].as_u64().unwrap();
    let mut seen = Vec::new();
    let error = until(&mut plugin, &mut seen, "error");
    assert_eq!(error["code"], json!(FailureKind::PaymentRequired), "{error}");
    assert_eq!(error["setting"], "model");
    assert_eq!(bench.server.requests().len(), 1, "nobody else is asked in its place");
    choose(&plugin, "lmstudio/second");
    plugin.call("POST", &format!("/api/workflows/{workflow}/retry"), &json!({})).ok();
    until(&mut plugin, &mut seen, "done");
    assert_eq!(
        bench.server.requests()[1].body["model"],
        "lmstudio/second".trim_start_matches("lmstudio/")
    );
}

#[test]
fn conversation_continues_and_a_killed_daemon_resends_its_request() {
    let replies = vec![says("It is grey."), says("I began."), says("It was grey, as I said.")];
    let bench = Bench::new(replies, "");
    let mut plugin = bench.plugin();
    plugin.chat("which colour has the wall?").ok();
    let mut seen = Vec::new();
    until(&mut plugin, &mut seen, "done");
    bench.server.hold_back(0, false);
    plugin.chat("and before?").ok();
    bench.server.wait_at_gate(1);
    let credential = plugin.credential.clone();
    drop(plugin);
    let Bench { server, daemon, home } = bench;
    daemon.unwrap().kill();
    server.open();
    let daemon = Daemon::start(binary::vector(), home.path());
    let mut plugin = Plugin::hello(&daemon, "window-1", &credential);
    plugin.tell_place();
    let said = plugin.until(|polled| {
        let events = polled["events"].as_array()?;
        let done = |it: &&Json| it["event"]["event"] == "done";
        (events.iter().filter(done).count() > 0).then(|| events.clone())
    });
    assert!(!said.is_empty());
    let requests = server.requests();
    let last = requests.last().unwrap().body.to_string();
    for words in ["which colour has the wall?", "It is grey.", "and before?"] {
        assert!(last.contains(words), "{words}: {last}");
    }
    assert!(!last.contains("I began."), "what broke off was never said: {last}");
}

#[test]
fn model_is_asked_while_studio_applies_another_workflow() {
    let bench = Bench::new(vec![says("It stands there.")], "");
    let mut plugin = bench.plugin();
    choose(&plugin, "offline");
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let mut seen = Vec::new();
    let mapped = until(&mut plugin, &mut seen, "proposal_mapped");
    plugin.decide(mapped["proposal"].as_u64().unwrap(), json!({ "say": "approve" })).ok();
    // The plugin never acknowledges the work, so Studio stays busy.
    choose(&plugin, "lmstudio/first");
    let workflow = plugin.chat("what is there?").ok()["workflow"].clone();
    let said = plugin.until(|polled| {
        let events = polled["events"].as_array()?.iter();
        let mut own = events.filter(|it| it["workflow"] == workflow);
        own.find(|it| it["event"]["event"] == "assistant_final").cloned()
    });
    assert_eq!(said["event"]["text"], "It stands there.");
}

#[test]
fn terminal_chat_joins_the_conversation_of_the_session() {
    let bench = Bench::new(vec![says("It stands there."), says("Grey.")], "");
    let mut plugin = bench.plugin();
    plugin.chat("what is there?").ok();
    let mut seen = Vec::new();
    until(&mut plugin, &mut seen, "done");
    let home = bench.home.path().display().to_string();
    let said = bench.home.run(&["chat", "--session", "--home", &home], "/ask which colour?\n");
    assert!(said.stdout.contains("Grey."), "{said:?}");
    let last = bench.server.requests().pop().unwrap().body.to_string();
    assert!(last.contains("It stands there.") && last.contains("which colour?"), "{last}");
    let heard = until(&mut plugin, &mut seen, "assistant_final");
    assert!(heard["text"] == "It stands there." || heard["text"] == "Grey.");
}

#[test]
fn model_without_a_key_cannot_be_chosen() {
    let bench = Bench::new(Vec::new(), "");
    let plugin = Plugin::pair(bench.daemon(), "window-1");
    let settings = json!({ "mode": "confirm", "dry_run": false, "model": "anthropic" });
    let answer = plugin.call("PUT", "/api/settings", &settings);
    assert_eq!(answer.status, 400);
    let message = answer.body["message"].as_str().unwrap();
    assert!(message.contains("no key"), "{message}");
}

/// Prices the test server's models, in US dollars per million tokens.
pub(super) fn priced(replies: Vec<Reply>, settings: &str, input: f64) -> Bench {
    let mut bench = prepared_with_price(replies, settings, input);
    bench.start();
    bench
}

fn prepared_with_price(replies: Vec<Reply>, settings: &str, input: f64) -> Bench {
    let bench = Bench::prepared(replies, settings);
    let price = format!("price = {{ input = {input:.1}, output = 0.0 }}");
    let models = ["first", "second"].map(|name| format!("[models.lmstudio.{name}]\n{price}\n"));
    std::fs::write(bench.home.path().join("models.toml"), models.concat()).unwrap();
    bench
}

/// Sets the spending limits as the page does.
fn limit(plugin: &Plugin<'_>, limits: &Json) -> Answer {
    let mut settings = plugin.call("GET", "/api/settings", &Json::Null).ok();
    settings["limits"] = limits.clone();
    plugin.call("PUT", "/api/settings", &settings)
}

#[test]
fn request_that_would_pass_a_cap_is_refused_with_the_amounts() {
    let bench = priced(vec![says("Grey."), says("Brick.")], "", 10.0);
    let mut plugin = bench.plugin();
    // The first request has some 10,000 tokens, and a thousand cost a cent.
    let wrong = limit(&plugin, &json!({ "day": -1.0 }));
    assert_eq!(wrong.status, 400, "{}", wrong.body);
    limit(&plugin, &json!({ "day": 0.02 })).ok();
    let refused = plugin.chat("which colour has the wall?");
    assert_eq!(refused.status, 402, "{}", refused.body);
    let message = refused.body["message"].as_str().unwrap();
    assert!(message.starts_with("The next request may cost $0."), "{message}");
    assert!(message.ends_with("$0.00 was spent today, and the cap is $0.02."), "{message}");
    assert!(bench.server.requests().is_empty());
    let workflows = plugin.call("GET", "/api/workflows", &Json::Null).ok();
    assert_eq!(workflows["workflows"], json!([]), "nothing was begun");
    // A request under the cap is sent; its real cost counts.
    limit(&plugin, &json!({ "day": 5.0, "task": 2.0 })).ok();
    let workflow = plugin.chat("which colour has the wall?").ok()["workflow"].clone();
    let mut seen = Vec::new();
    until(&mut plugin, &mut seen, "done");
    let view = plugin.call("GET", &format!("/api/workflows/{workflow}"), &Json::Null).ok();
    let spent = json!([
        { "of": "task", "spent": 0.01, "cap": 2.0 },
        { "of": "day", "spent": 0.01, "cap": 5.0 },
    ]);
    assert_eq!(view["spending"], spent);
    limit(&plugin, &json!({ "day": 0.01 })).ok();
    let refused = plugin.chat("and the floor?");
    assert_eq!(refused.status, 402, "{}", refused.body);
    assert_eq!(refused.body["message"], "$0.01 was spent today, and the cap is $0.01.");
}

#[test]
fn costly_request_waits_until_the_person_continues() {
    let find = calls("find_instances", json!({ "selector": "Part" }));
    // Only the single requests are costly here, and not the whole task.
    let settings = "[caps]\nestimate_usd = 1000.0";
    let bench = priced(vec![find, says("Grey."), says("Brick.")], settings, 500.0);
    let mut plugin = bench.plugin();
    let workflow = plugin.chat("which colour has the wall?").ok()["workflow"].clone();
    let mut seen = Vec::new();
    let error = until(&mut plugin, &mut seen, "error");
    assert_eq!(error["code"], json!(FailureKind::TooMany), "{error}");
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("The next request has about "), "{message}");
    assert!(message.ends_with("You are asked above $1.00."), "{message}");
    assert!(bench.server.requests().is_empty(), "nothing was sent");
    plugin.call("POST", &format!("/api/workflows/{workflow}/retry"), &json!({})).ok();
    // The next request costs about as much, and is not reported again.
    until(&mut plugin, &mut seen, "done");
    assert_eq!(bench.server.requests().len(), 2);
    // With a higher limit, nobody is asked.
    limit(&plugin, &json!({ "request": 100.0 })).ok();
    plugin.chat("and the floor?").ok();
    until(&mut plugin, &mut Vec::new(), "done");
}

#[cfg(unix)]
#[test]
fn costly_request_in_a_terminal_waits_for_a_yes() {
    use vector_tests::person::Person;
    use vector_tests::places::{self, Format};

    let bench = prepared_with_price(vec![says("Grey.")], "", 500.0);
    let place = bench.home.path().join("place.rbxlx");
    std::fs::write(&place, places::sample(Format::Rbxlx)).unwrap();
    let home = bench.home.path().display().to_string();
    let place = place.display().to_string();
    let model = ["--model", "lmstudio/first"];
    let mut args = vec!["edit", "--home", &home, "--prompt", "which colour has the wall?", &place];
    args.extend(model);
    let mut person = Person::runs(bench.home.command(&args));
    let said = person.answers("Continue? [y]es [N]o", "n");
    assert!(said.contains("The next request has about "), "{said}");
    assert_ne!(person.sees_the_end().0, 0);
    assert!(bench.server.requests().is_empty());
    let mut person = Person::runs(bench.home.command(&args));
    person.answers("Continue? [y]es [N]o", "y");
    let (code, said) = person.sees_the_end();
    assert_eq!((code, bench.server.requests().len()), (0, 1), "{said}");
}
