//! Access control of the daemon: pairing codes and their lifetime, client tokens, and revocation
//! while clients are connected.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use scene_schemas::api::{Failure, FailureKind, PairRequest, PairResponse, ROUTES, Token};
use serde_json::{Value as Json, json};
use tokio::runtime::Runtime;
use vector_daemon::daemon::{DaemonActor, DaemonHandle};
use vector_daemon::event_hub::{EventHub, TokenHash};
use vector_ledger::Ledger;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon, Plugin};

use super::daemon;

/// A daemon with the clock of a test.
struct Bench {
    _home: Home,
    daemon: DaemonHandle,
    said: Arc<Mutex<Vec<String>>>,
    passed: Arc<AtomicU64>,
    runtime: Runtime,
}

impl Bench {
    fn new() -> Self {
        let home = Home::new();
        let ledger = Arc::new(Ledger::open(home.path()).unwrap());
        let board = Arc::new(EventHub::new(TokenHash::of_token("a person's")));
        let said = Arc::new(Mutex::new(Vec::new()));
        let heard = Arc::clone(&said);
        let say = Box::new(move |text: &str| heard.lock().unwrap().push(text.to_owned()));
        let passed = Arc::new(AtomicU64::new(0));
        let (began, seconds) = (Instant::now(), Arc::clone(&passed));
        let clock = Arc::new(move || began + Duration::from_secs(seconds.load(Ordering::Relaxed)));
        let (actor, daemon) = DaemonActor::new(home.path(), ledger, board, say).unwrap();
        let mut actor = actor.with_clock(clock);
        actor.print_code().unwrap();
        thread::spawn(move || actor.run());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        Self { _home: home, daemon, said, passed, runtime }
    }

    /// The code that the daemon printed last.
    fn shown(&self) -> String {
        let said = self.said.lock().unwrap();
        let line = said.iter().rfind(|line| line.starts_with("To pair a plugin")).unwrap();
        line.chars().filter(char::is_ascii_digit).collect()
    }

    /// Requests a new pairing code as the user.
    fn code(&self) -> String {
        let made = self.runtime.block_on(self.daemon.pairing_code()).unwrap();
        assert_eq!(made.seconds, 600);
        made.code
    }

    fn pair(&self, code: &str) -> Result<PairResponse, Failure> {
        let code = code.to_owned();
        self.runtime.block_on(self.daemon.pair(PairRequest { code }))
    }

    fn refused(&self, code: &str) -> (FailureKind, String) {
        let failure = self.pair(code).unwrap_err();
        (failure.kind, format!("{} {}", failure.message, failure.hint))
    }

    fn pass(&self, seconds: u64) {
        self.passed.fetch_add(seconds, Ordering::Relaxed);
    }
}

/// A code that differs from `code`.
fn wrong(code: &str) -> &'static str {
    if code == "000000" { "000001" } else { "000000" }
}

#[test]
fn pairing_code_is_valid_for_ten_minutes() {
    let bench = Bench::new();
    let first = bench.shown();
    bench.pass(599);
    let code = bench.code();
    assert_eq!(bench.refused(&first).0, FailureKind::Unpaired, "the new one alone counts");
    bench.pass(599);
    bench.pair(&code).unwrap();
    let code = bench.shown();
    bench.pass(600);
    let (kind, says) = bench.refused(&code);
    assert_eq!(kind, FailureKind::Unpaired);
    assert!(says.contains("expired") && says.contains("`vector pair`"), "{says}");
    // Wrong codes do not count as attempts once the code has expired, and reveal nothing.
    for _ in 0..10 {
        assert_eq!(bench.refused(wrong(&code)), (kind, says.clone()));
    }
    bench.pair(&bench.code()).unwrap();
}

#[test]
fn five_wrong_attempts_void_a_code_without_a_lockout() {
    let bench = Bench::new();
    let first = bench.code();
    for _ in 0..4 {
        assert_eq!(bench.refused(wrong(&first)).0, FailureKind::Unpaired);
    }
    assert_eq!(bench.refused(wrong(&first)).0, FailureKind::TooMany);
    let second = bench.shown();
    assert_ne!(first, second, "what was guessed at is gone");
    assert_eq!(second.len(), 12, "{second}");
    assert_eq!(bench.refused(&first).0, FailureKind::TooMany);
    // Any number of further wrong attempts, also of the same length, do not block the user's code.
    let code = bench.code();
    assert_eq!(code.len(), 12, "{code}");
    for at in 0..100 {
        assert_eq!(bench.refused(&format!("{at:06}")).0, FailureKind::TooMany);
        assert_eq!(bench.refused(&format!("{at:012}")).0, FailureKind::TooMany);
    }
    assert_eq!(bench.refused(&second).0, FailureKind::TooMany, "the new one alone counts");
    bench.pair(&code).unwrap();
    assert_eq!(bench.refused(&code).0, FailureKind::Unpaired, "a code pairs once");
    let next = bench.shown();
    assert_eq!(next.len(), 6, "somebody has paired: {next}");
    bench.pair(&next).unwrap();
}

#[test]
fn guessing_does_not_extend_the_lifetime_of_a_code() {
    let bench = Bench::new();
    let first = bench.code();
    bench.pass(500);
    for _ in 0..5 {
        bench.refused(wrong(&first));
    }
    bench.pass(100);
    let (_, says) = bench.refused(&bench.shown());
    assert!(says.contains("expired"), "{says}");
}

fn person(home: &Home) -> String {
    let text = fs::read_to_string(home.path().join("token")).unwrap();
    text.split_whitespace().nth(1).unwrap().to_owned()
}

fn kind(answer: &Answer) -> (u16, &str) {
    (answer.status, answer.body["kind"].as_str().unwrap_or_default())
}

/// Sends a request without reading the response.
fn begun(
    daemon: &Daemon,
    (method, path): (&str, &str),
    headers: &[(&str, &str)],
    body: &str,
) -> TcpStream {
    let mut stream = TcpStream::connect(("127.0.0.1", daemon.port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_mins(1))).unwrap();
    let mut head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n",
        daemon.port
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

/// Reads the response until the connection closes.
fn answered(mut stream: TcpStream) -> String {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Sends the `initialize` message of an MCP client over HTTP.
fn initialize(daemon: &Daemon, token: &str) -> String {
    let message = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        },
    });
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("Authorization", &format!("Bearer {token}")),
    ];
    answered(begun(daemon, ("POST", "/mcp"), &headers, &message.to_string()))
}

fn made(daemon: &Daemon, person: &str, name: &str) -> String {
    let body = json!({ "name": name });
    let made = daemon.call("POST", "/api/access/token", Some(person), &body).ok();
    made["token"].as_str().unwrap().to_owned()
}

fn revoke(daemon: &Daemon, person: &str, what: Json) -> Answer {
    daemon.call("POST", "/api/access/revoke", Some(person), &what)
}

#[test]
fn revoked_plugin_is_refused_at_its_next_request() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    let person = person(&home);
    let shown = daemon.call("GET", "/api/access", Some(&person), &Json::Null).ok();
    assert!(shown["plugins"][0]["made"].as_u64().unwrap() > 0, "{shown}");
    let path = format!("/api/sessions/{}/poll", plugin.session);
    let cursor = plugin.poll()["cursor"].clone();
    let held = json!({ "epoch": plugin.epoch, "cursor": cursor, "hold": 15, "known_work": [] });
    let headers = [
        ("Content-Type", "application/json"),
        ("Authorization", &format!("Bearer {}", plugin.token)),
    ];
    let began = Instant::now();
    let waits = begun(&daemon, ("POST", &path), &headers, &held.to_string());
    let gone = revoke(&daemon, &person, json!({ "what": "plugins" })).ok();
    assert_eq!(gone["sessions"], json!(["window-1"]));
    assert_eq!(gone["names"], json!([shown["plugins"][0]["name"]]));
    // The held poll ends with 409, as for a superseded session, or with 401 if it arrived after the
    // revocation.
    let ended = answered(waits);
    let is_refused = ["409", "401"].iter().any(|it| ended.starts_with(&format!("HTTP/1.1 {it}")));
    assert!(is_refused, "{ended}");
    assert!(began.elapsed() < Duration::from_secs(14), "it was woken");
    let polled = plugin.call("POST", &path, &held);
    assert_eq!(kind(&polled), (401, "unauthorized"));
    let hello = json!({
        "protocol": 1, "plugin": "0.1.0", "credential": plugin.credential,
        "session": "window-1", "place": { "name": "Test", "place_id": 7 },
    });
    let again = daemon.call("POST", "/api/hello", None, &hello);
    assert_eq!(kind(&again), (401, "unpaired"));
    assert_eq!(
        daemon.call("GET", "/api/sessions", Some(&person), &Json::Null).ok(),
        json!({ "sessions": [] })
    );
    // After pairing again, the session works.
    let code = daemon.call("POST", "/api/pairing", Some(&person), &json!({})).ok();
    let paired = daemon.call("POST", "/api/pair", None, &json!({ "code": code["code"] })).ok();
    Plugin::hello(&daemon, "window-1", paired["credential"].as_str().unwrap()).poll();
}

#[test]
fn client_token_is_valid_until_revoked() {
    let (home, daemon) = daemon();
    let person = person(&home);
    let (token, other) = (made(&daemon, &person, "claude"), made(&daemon, &person, "ci"));
    let first = initialize(&daemon, &token);
    assert!(first.starts_with("HTTP/1.1 200") && first.contains("serverInfo"), "{first}");
    let twice = daemon.call("POST", "/api/access/token", Some(&person), &json!({ "name": "ci" }));
    assert_eq!(kind(&twice), (409, "settled"));
    // The token is still valid after a restart.
    drop(daemon);
    let daemon = Daemon::start(binary::vector(), home.path());
    let person = self::person(&home);
    assert!(initialize(&daemon, &token).starts_with("HTTP/1.1 200"));
    let text = initialize(&daemon, &token);
    let session = text.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap();
    let headers = [
        ("Accept", "text/event-stream"),
        ("Authorization", &format!("Bearer {token}")),
        ("Mcp-Session-Id", session),
        ("Mcp-Protocol-Version", "2025-06-18"),
    ];
    let mut stream = begun(&daemon, ("GET", "/mcp"), &headers, "");
    let mut first = [0; 12];
    stream.read_exact(&mut first).unwrap();
    assert_eq!(&first, b"HTTP/1.1 200");
    let gone = revoke(&daemon, &person, json!({ "what": "named", "name": "claude" })).ok();
    assert_eq!(gone, json!({ "names": ["claude"], "sessions": [] }));
    // Revocation also ends the event stream that was held open for this client.
    answered(stream);
    assert!(initialize(&daemon, &token).starts_with("HTTP/1.1 401"));
    assert!(initialize(&daemon, &other).starts_with("HTTP/1.1 200"), "others stay");
    let unknown = revoke(&daemon, &person, json!({ "what": "named", "name": "claude" }));
    assert_eq!(kind(&unknown), (404, "not_found"));
    revoke(&daemon, &person, json!({ "what": "all" })).ok();
    assert!(initialize(&daemon, &other).starts_with("HTTP/1.1 401"));
}

#[test]
fn run_tokens_are_replaced_while_the_daemon_runs() {
    let (home, daemon) = daemon();
    let client = made(&daemon, &person(&home), "ci");
    let plugin = Plugin::pair(&daemon, "window-1");
    let before = (person(&home), Daemon::agent_token(home.path()));
    let sessions = |token: &str| daemon.call("GET", "/api/sessions", Some(token), &Json::Null);
    assert_eq!([sessions(&before.0).status, sessions(&before.1).status], [200, 200]);
    revoke(&daemon, &before.0, json!({ "what": "run" })).ok();
    let after = (person(&home), Daemon::agent_token(home.path()));
    for token in [&before.0, &before.1] {
        assert_eq!(kind(&sessions(token)), (401, "unauthorized"));
    }
    for token in [&after.0, &after.1, &client, &plugin.token] {
        sessions(token).ok();
    }
    let decides = daemon.call("POST", "/api/pairing", Some(&after.1), &json!({}));
    assert_eq!(kind(&decides), (401, "unauthorized"), "the agents' token stays the agents'");
}

#[test]
fn agent_changes_nothing_on_routes_for_users_and_plugins() {
    let (home, daemon) = daemon();
    let mut plugin = Plugin::pair(&daemon, "window-1");
    plugin.tell_place();
    plugin.chat("rename game.Workspace.Wall to Tower").ok();
    let proposal = plugin.until(|polled| {
        let events = polled["events"].as_array()?;
        events.iter().find_map(|it| it["event"]["proposal"].as_u64())
    });
    let code = daemon.code();
    let (person, client) = (person(&home), made(&daemon, &person(&home), "ci"));
    let kept = || {
        let files = ["paired", "clients", "token", "agent-token", "settings.json"];
        let files = files.map(|file| fs::read(home.path().join(file)).ok());
        (files, Ledger::open(home.path()).unwrap().last_seq().unwrap())
    };
    let before = kept();
    let bodies = [
        json!({}),
        json!({ "name": "other" }),
        json!({ "what": "all" }),
        json!({ "decision": { "kind": "approve" } }),
    ];
    for route in ROUTES.iter().filter(|it| matches!(it.token, Token::Human | Token::Plugin)) {
        let id = if route.path.contains("sessions") { "window-1" } else { &proposal.to_string() };
        let path = route.path.replace("{id}", id);
        for token in [&Daemon::agent_token(home.path()), &client] {
            for body in &bodies {
                let answer = daemon.call(route.method.as_str(), &path, Some(token), body);
                assert_eq!(kind(&answer), (401, "unauthorized"), "{route:?}");
            }
        }
    }
    assert_eq!(kept(), before);
    let shown = plugin.call("GET", &format!("/api/proposals/{proposal}"), &Json::Null).ok();
    assert_eq!(shown["status"], json!("waiting"), "{shown}");
    daemon.call("GET", "/api/access", Some(&person), &Json::Null).ok();
    daemon.call("POST", "/api/pair", None, &json!({ "code": code })).ok();
}
