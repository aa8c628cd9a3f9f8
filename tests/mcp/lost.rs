//! Calls whose answers are lost, that are cancelled while they run, or that are queued while the
//! user changes the mode: what the daemon reports is what happens.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use scene_schemas::entry::{Entry, Seq};
use serde_json::{Value as Json, json};
use vector_ledger::Ledger;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon, call as call_daemon};

use super::{Person, place};

/// A spec that runs for six seconds.
const SLOW: &str = "return function() it('waits', function() \
                    local at = os.clock() while os.clock() - at < 6 do end end) end";

/// A daemon with a place, and a scripted agent.
struct Bench {
    home: Home,
    place: std::path::PathBuf,
    daemon: Option<Daemon>,
}

impl Bench {
    fn new() -> Self {
        let home = Home::new();
        let place = place(&home);
        let mut bench = Self { home, place, daemon: None };
        bench.start();
        bench
    }

    fn start(&mut self) {
        let mut serve = Command::new(binary::vector());
        serve.args(["serve", "--port", "0", "--place"]).arg(&self.place);
        self.daemon = Some(Daemon::run(serve, self.home.path()));
    }

    fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().unwrap()
    }

    fn agent(&self, method: &str, path: &str, body: &Json) -> Answer {
        let token = Daemon::agent_token(self.home.path());
        self.daemon().call(method, path, Some(&token), body)
    }

    fn call(&self, id: &str, tool: &str, args: Json, changed: Json) -> Answer {
        let mut call = json!({
            "connection": "own", "client": "a test", "id": id, "tool": tool, "args": args, "hold": 30,
        });
        for (name, value) in changed.as_object().unwrap() {
            call[name] = value.clone();
        }
        self.agent("POST", "/api/agents/calls", &call)
    }

    /// Makes a call on another thread, and returns as soon as it is recorded, before it is settled.
    fn call_aside(&self, id: &str, tool: &str, args: Json) -> Json {
        let call = json!({
            "connection": "own", "client": "a test", "id": id, "tool": tool, "args": args, "hold": 60,
        });
        let (port, token) = (self.daemon().port, Daemon::agent_token(self.home.path()));
        thread::spawn(move || {
            call_daemon(port, ("POST", "/api/agents/calls"), Some(&token), &call)
        });
        loop {
            let log = self.agent("GET", "/api/agents/calls", &Json::Null).ok();
            let unsettled = log["unsettled"].as_array().unwrap().clone();
            if let Some(call) = unsettled.iter().find(|it| it["view"]["tool"] == tool) {
                return call["view"].clone();
            }
            thread::yield_now();
        }
    }

    /// Waits until a call is settled, and returns its outcome.
    fn became(&self, call: &Json) -> Json {
        let path = format!("/api/agents/calls/{}?hold=60", call["call"]);
        self.agent("GET", &path, &Json::Null).ok()["outcome"].clone()
    }

    fn cancel(&self, id: &str) {
        self.agent("POST", "/api/agents/cancel", &json!({ "connection": "own", "id": id })).ok();
    }

    fn person(&self) -> Person<'_> {
        Person::beside(&self.home)
    }

    fn choose(&self, mode: &str, dry_run: bool) {
        let mut settings = self.person().call("GET", "/api/settings", &Json::Null).ok();
        settings["mode"] = mode.into();
        settings["dry_run"] = dry_run.into();
        self.person().call("PUT", "/api/settings", &settings).ok();
    }

    /// The number of recorded calls with this id.
    fn made(&self, name: &str) -> usize {
        let records = Ledger::open(self.home.path()).unwrap().read(Seq(0), 10_000).unwrap();
        let is_it =
            |entry: &Entry| matches!(entry, Entry::Called { id: Some(id), .. } if id == name);
        records.iter().filter(|record| is_it(&record.entry)).count()
    }
}

fn red(name: &str) -> Json {
    json!({ "className": "Part", "parentPath": "game.Workspace", "props": { "Name": name } })
}

#[test]
fn resent_call_is_made_once() {
    let mut bench = Bench::new();
    let first = bench.call("1", "create_instance", red("One"), json!({})).ok();
    assert_eq!(first["outcome"]["state"], "pending", "{first}");
    let again = bench.call("1", "create_instance", red("One"), json!({ "again": true })).ok();
    assert_eq!(again["call"], first["call"]);
    // Also after the daemon was killed and its place is closed while several others are open.
    bench.daemon.take().unwrap().kill();
    let other = bench.home.path().join("other.rbxlx");
    fs::copy(&bench.place, &other).unwrap();
    let mut serve = Command::new(binary::vector());
    serve.args(["serve", "--port", "0", "--place"]).arg(&other);
    bench.daemon = Some(Daemon::run(serve, bench.home.path()));
    let again = bench.call("1", "create_instance", red("One"), json!({ "again": true })).ok();
    assert_eq!((&again["call"], &again["outcome"]["state"]), (&first["call"], &json!("pending")));
    assert_eq!(bench.made("own:1"), 1);
    // A call that was never recorded is made now.
    let new = bench.call("2", "create_instance", red("Two"), json!({ "again": true })).ok();
    assert_ne!(new["call"], first["call"]);
}

#[test]
fn done_call_is_not_repeated_after_a_mode_change() {
    let bench = Bench::new();
    bench.choose("dangerous", false);
    let first = bench.call("same", "create_instance", red("One"), json!({})).ok();
    assert_eq!(bench.became(&first)["state"], "done");
    bench.choose("confirm", false);
    bench.call("other", "create_instance", red("Two"), json!({})).ok();
    let again = bench.call("same", "create_instance", red("One"), json!({ "again": true })).ok();
    assert_eq!(again["call"], first["call"], "{again}");
    assert_eq!(bench.made("own:same"), 1);
}

#[test]
fn queued_call_follows_settings_changed_meanwhile() {
    for (mode, dry_run) in [("confirm", false), ("dangerous", true)] {
        let bench = Bench::new();
        bench.choose("dangerous", false);
        let made = bench.call("spec", "create_instance", slow_spec(), json!({})).ok();
        assert_eq!(bench.became(&made)["state"], "done", "{made}");
        let before = fs::read(&bench.place).unwrap();
        let tests = bench.call_aside("tests", "run_tests", json!({}));
        bench.call_aside("queued", "create_instance", red("Queued"));
        bench.choose(mode, dry_run);
        assert_eq!(bench.became(&tests)["state"], "done");
        let person = bench.person();
        let waiting = person.waiting();
        let title = waiting["proposal"]["title"].as_str().unwrap();
        assert!(title.contains("Queued"), "{waiting}");
        assert_eq!(fs::read(&bench.place).unwrap(), before, "{mode} {dry_run}");
    }
}

fn slow_spec() -> Json {
    json!({
        "className": "ModuleScript", "parentPath": "game.ServerScriptService",
        "props": { "Name": "Slow.spec", "Source": SLOW },
    })
}

#[test]
fn cancelling_one_call_leaves_the_others_alone() {
    let bench = Bench::new();
    bench.choose("dangerous", false);
    let made = bench.call("spec", "create_instance", slow_spec(), json!({}));
    assert_eq!(bench.became(&made.ok())["state"], "done");
    bench.choose("confirm", false);
    let waits = bench.call("waits", "create_instance", red("Waits"), json!({})).ok();
    let tests = bench.call_aside("tests", "run_tests", json!({}));
    assert_eq!(tests["outcome"]["state"], "working", "{tests}");
    bench.cancel("waits");
    assert_eq!(bench.became(&waits)["status"], "withdrawn");
    let told = bench.became(&tests);
    assert_eq!(told["state"], "done", "{told}");
    // A running call that is cancelled ends at once.
    let tests = bench.call_aside("again", "run_tests", json!({}));
    let began = Instant::now();
    bench.cancel("again");
    let told = bench.became(&tests);
    assert_eq!(told["state"], "refused", "{told}");
    assert!(began.elapsed() < Duration::from_secs(5), "it took {:?}", began.elapsed());
    // A call that is cancelled before it arrives is not made.
    bench.cancel("early");
    let token = Daemon::agent_token(bench.home.path());
    let call = json!({
        "connection": "own", "client": "a test", "id": "early", "tool": "create_instance",
        "args": red("Early"), "hold": 1,
    });
    let answer = bench.daemon().call("POST", "/api/agents/calls", Some(&token), &call);
    assert_ne!(answer.status, 200, "{}", answer.body);
    assert_eq!(bench.made("own:early"), 0);
}

#[test]
fn pending_call_is_listed_after_many_reads() {
    let bench = Bench::new();
    let waits = bench.call("waits", "create_instance", red("Waits"), json!({})).ok();
    for id in 0..120 {
        bench
            .call(&id.to_string(), "list_children", json!({ "parentPath": "game" }), json!({}))
            .ok();
    }
    let log = bench.agent("GET", "/api/agents/calls", &Json::Null).ok();
    assert_eq!(log["unsettled"][0]["view"]["call"], waits["call"], "{}", log["unsettled"]);
    assert_eq!(log["calls"].as_array().unwrap().len(), 100);
}

#[test]
fn pending_call_keeps_its_arguments_after_many_reads() {
    let bench = Bench::new();
    let first = bench.call("first", "create_instance", red("First"), json!({})).ok();
    // It has the name of the first, and is planned on top of it.
    let mut model = red("First");
    model["className"] = "Model".into();
    let second = bench.call("second", "create_instance", model, json!({})).ok();
    assert_eq!(second["outcome"]["state"], "pending", "{second}");
    for id in 0..80 {
        bench
            .call(&id.to_string(), "list_children", json!({ "parentPath": "game" }), json!({}))
            .ok();
    }
    let person = bench.person();
    let no = person.waiting();
    assert_eq!(no["seq"], first["outcome"]["proposal"]);
    person.decide(&no, &json!({ "say": "reject" })).ok();
    let yes = person.waiting();
    assert_ne!(yes["seq"], second["outcome"]["proposal"]);
    person.decide(&yes, &json!({ "say": "approve" })).ok();
    assert_eq!(bench.became(&second)["state"], "done");
}

#[test]
fn daemon_stops_while_a_client_holds_its_stream() {
    let bench = Bench::new();
    let token = Daemon::agent_token(bench.home.path());
    let port = bench.daemon().port;
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "bare", "version": "1" } } });
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let mut headers = vec![
        header("Host", &format!("127.0.0.1:{port}")),
        header("Authorization", &format!("Bearer {token}")),
        header("Content-Type", "application/json"),
        header("Accept", "application/json, text/event-stream"),
    ];
    let text = bench.daemon().text("POST", "/mcp", &headers, hello.to_string().as_bytes());
    let session = text.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("mcp-session-id").then(|| value.trim().to_owned())
    });
    headers.push(header("Mcp-Session-Id", &session.unwrap()));
    let head: String =
        headers.iter().map(|(name, value)| [name, ": ", value, "\r\n"].concat()).collect();
    let mut held = TcpStream::connect(("127.0.0.1", port)).unwrap();
    held.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    write!(held, "GET /mcp HTTP/1.1\r\n{head}\r\n").unwrap();
    let mut status = [0; 12];
    held.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");
    let began = Instant::now();
    bench.person().call("POST", "/api/stop", &json!({})).ok();
    // The stream ends with the daemon, with or without an error.
    let _ = held.read_to_end(&mut Vec::new());
    while bench.home.path().join("token").exists() {
        thread::yield_now();
    }
    assert!(began.elapsed() < Duration::from_secs(20), "it took {:?}", began.elapsed());
}

#[test]
fn equal_call_is_not_proposed_again_when_the_first_is_rejected() {
    let bench = Bench::new();
    let [first, second] = ["first", "second"].map(|id| {
        let call = bench.call(id, "create_instance", red("First"), json!({})).ok();
        assert_eq!(call["outcome"]["state"], "pending", "{id}: {call}");
        call
    });
    let person = bench.person();
    let no = person.waiting();
    assert_eq!(no["seq"], first["outcome"]["proposal"]);
    person.decide(&no, &json!({ "say": "reject" })).ok();
    let path = format!("/api/proposals/{}", second["outcome"]["proposal"]);
    let why = format!("This is the same as proposal {}, which the person rejected.", no["seq"]);
    // It is withdrawn at once, and planned again afterwards, on the thread of the place.
    let began = Instant::now();
    let gone = loop {
        let gone = person.call("GET", &path, &Json::Null).ok();
        if gone["reason"].as_str().is_some_and(|it| it.contains(&why)) {
            break gone;
        }
        assert!(began.elapsed() < Duration::from_mins(1), "{gone}");
        thread::park_timeout(Duration::from_millis(20));
    };
    assert_eq!((&gone["status"], &gone["successor"]), (&json!("withdrawn"), &Json::Null));
}
