//! A daemon for a test, and clients that call it with raw HTTP on a real socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};

/// A running daemon; it is killed on drop.
pub struct Daemon {
    child: Child,
    pub port: u16,
    /// The lines that it printed.
    lines: Receiver<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub status: u16,
    /// The body as JSON; null if it is not JSON.
    pub body: Json,
}

impl Answer {
    /// The body of a success.
    #[track_caller]
    pub fn ok(self) -> Json {
        assert_eq!(self.status, 200, "{}", self.body);
        self.body
    }
}

impl Daemon {
    /// Starts the `vector` that the tests were built with, with the ledger in this folder.
    pub fn start(vector: &Path, home: &Path) -> Self {
        Self::start_on(vector, home, 0)
    }

    /// Starts a daemon on this port.
    pub fn start_on(vector: &Path, home: &Path, port: u16) -> Self {
        let mut command = Command::new(vector);
        command.args(["serve", "--port", &port.to_string()]);
        Self::run(command, home)
    }

    /// Starts a daemon with a Rojo project.
    pub fn of_project(vector: &Path, home: &Path, project: &Path) -> Self {
        let mut command = Command::new(vector);
        command.args(["serve", "--port", "0", "--project"]).arg(project);
        Self::run(command, home)
    }

    /// Starts a daemon with a place file.
    pub fn of_place(vector: &Path, home: &Path, place: &Path) -> Self {
        let mut command = Command::new(vector);
        command.args(["serve", "--port", "0", "--place"]).arg(place);
        Self::run(command, home)
    }

    /// Starts a daemon with this command, to which the ledger's folder is added.
    pub fn run(mut command: Command, home: &Path) -> Self {
        let mut child = command
            .arg("--home")
            .arg(home)
            // No model is called that the test does not name, whatever API keys this machine has.
            .env("VECTOR_MODEL", "offline")
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .expect("vector starts");
        let out = child.stdout.take().expect("its output is read");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut daemon = Self { child, port: 0, lines };
        let line = daemon.line("Vector serves on ");
        let port = line.split("127.0.0.1:").nth(1).and_then(|rest| rest.split('.').next());
        daemon.port = port.and_then(|port| port.parse().ok()).expect("it names its port");
        daemon
    }

    /// The token for agents that this machine's user starts.
    pub fn agent_token(home: &Path) -> String {
        let text = std::fs::read_to_string(home.join("agent-token")).expect("it serves");
        text.split_whitespace().nth(1).expect("it is behind the port").to_owned()
    }

    /// Waits for the next line that begins with `start`.
    pub fn line(&self, start: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(Duration::from_mins(1));
            let line = line.unwrap_or_else(|_| panic!("it never said `{start}`"));
            if line.starts_with(start) {
                return line;
            }
        }
    }

    /// Waits for the next printed pairing code.
    pub fn code(&self) -> String {
        let line = self.line("To pair a plugin");
        line.chars().filter(char::is_ascii_digit).collect()
    }

    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Kills it, as a crash would.
    pub fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Waits until it has ended; it must have been stopped before.
    pub fn ends(mut self) {
        self.child.wait().expect("it ends");
    }

    /// Calls a route with a body, and a token if there is one.
    pub fn call(&self, method: &str, path: &str, token: Option<&str>, body: &Json) -> Answer {
        call(self.port, (method, path), token, body)
    }

    /// The data of the first events that it streams.
    pub fn stream(&self, token: &str, query: &str, count: usize) -> Vec<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_mins(1))).expect("a socket has a timeout");
        let head = format!(
            "GET /api/stream/sse?{query} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer \
             {token}\r\n\r\n",
            self.port
        );
        stream.write_all(head.as_bytes()).expect("it reads");
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let data = lines.filter_map(|line| line.strip_prefix("data: ").map(str::to_owned));
        data.take(count).collect()
    }

    /// Sends a request with exactly these headers, and returns the response as it came.
    pub fn text(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> String {
        exchange(self.port, (method, path), headers, body)
    }

    /// Sends a request with exactly these headers.
    pub fn raw(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Answer {
        raw(self.port, (method, path), headers, body)
    }
}

/// Calls the daemon at a port with a body, and a token if there is one.
pub fn call(port: u16, (method, path): (&str, &str), token: Option<&str>, body: &Json) -> Answer {
    let body = if method == "GET" { String::new() } else { body.to_string() };
    let mut headers = vec![("Host".to_owned(), format!("127.0.0.1:{port}"))];
    if method != "GET" {
        headers.push(("Content-Type".to_owned(), "application/json".to_owned()));
    }
    if let Some(token) = token {
        headers.push(("Authorization".to_owned(), format!("Bearer {token}")));
    }
    raw(port, (method, path), &headers, body.as_bytes())
}

fn raw(
    port: u16,
    (method, path): (&str, &str),
    headers: &[(String, String)],
    body: &[u8],
) -> Answer {
    let text = exchange(port, (method, path), headers, body);
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("{method} {path}: no answer: {text}"));
    Answer { status, body: serde_json::from_str(body).unwrap_or(Json::Null) }
}

/// Gets a response that is not JSON: its content type and its bytes.
///
/// # Errors
/// The failure that the daemon answered.
pub fn get(port: u16, path: &str, token: &str) -> Result<(String, Vec<u8>), Answer> {
    let headers = [
        ("Host".to_owned(), format!("127.0.0.1:{port}")),
        ("Authorization".to_owned(), format!("Bearer {token}")),
    ];
    let bytes = exchanged(port, ("GET", path), &headers, b"");
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head has an end");
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let body = &bytes[end + 4..];
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.unwrap_or_else(|| panic!("{path}: no answer: {head}"));
    if status != 200 {
        return Err(Answer { status, body: serde_json::from_slice(body).unwrap_or(Json::Null) });
    }
    let kind = head.lines().find_map(|line| line.strip_prefix("content-type: "));
    Ok((kind.unwrap_or_default().to_owned(), body.to_vec()))
}

fn exchange(
    port: u16,
    method_and_path: (&str, &str),
    headers: &[(String, String)],
    body: &[u8],
) -> String {
    String::from_utf8_lossy(&exchanged(port, method_and_path, headers, body)).into_owned()
}

fn exchanged(
    port: u16,
    (method, path): (&str, &str),
    headers: &[(String, String)],
    body: &[u8],
) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_mins(1))).expect("a socket has a timeout");
    // The body is a packet of its own, which would otherwise wait for the acknowledgement of the head.
    stream.set_nodelay(true).expect("a socket has no delay");
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    // A server may answer and close the connection before it has read everything.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A minimal scripted plugin.
pub struct Plugin<'d> {
    pub daemon: &'d Daemon,
    /// The credential from pairing.
    pub credential: String,
    /// The session id of its window.
    pub session: String,
    pub epoch: u64,
    pub token: String,
    cursor: u64,
    /// The version of its last scene update.
    pub version: u64,
}

impl<'d> Plugin<'d> {
    /// Pairs a new plugin, and opens a session.
    pub fn pair(daemon: &'d Daemon, session: &str) -> Self {
        let code = daemon.code();
        let paired = daemon.call("POST", "/api/pair", None, &json!({ "code": code })).ok();
        let credential = paired["credential"].as_str().expect("it is a text").to_owned();
        let plugin = Self::hello(daemon, session, &credential);
        // A game cannot be played where nobody answers what its scripts read.
        let mut settings = plugin.call("GET", "/api/settings", &Json::Null).ok();
        settings["play_check"] = false.into();
        plugin.call("PUT", "/api/settings", &settings).ok();
        plugin
    }

    /// Opens a session with an existing credential.
    pub fn hello(daemon: &'d Daemon, session: &str, credential: &str) -> Self {
        let hello = json!({
            "protocol": scene_schemas::api::PROTOCOL,
            "plugin": "0.1.0",
            "credential": credential,
            "session": session,
            "place": { "name": "Test", "place_id": 7 },
        });
        let welcome = daemon.call("POST", "/api/hello", None, &hello).ok();
        Self {
            daemon,
            credential: credential.to_owned(),
            session: session.to_owned(),
            epoch: welcome["epoch"].as_u64().expect("it is a number"),
            token: welcome["token"].as_str().expect("it is a text").to_owned(),
            cursor: welcome["cursor"].as_u64().expect("it is a number"),
            version: 0,
        }
    }

    /// Calls a route with its token.
    pub fn call(&self, method: &str, path: &str, body: &Json) -> Answer {
        self.daemon.call(method, path, Some(&self.token), body)
    }

    pub fn poll(&mut self) -> Json {
        self.poll_for(0, &[])
    }

    /// Polls, and waits up to `hold` seconds for work or events.
    pub fn poll_for(&mut self, hold: u64, at_hand: &[u64]) -> Json {
        let path = format!("/api/sessions/{}/poll", self.session);
        let poll = json!({
            "epoch": self.epoch, "cursor": self.cursor, "hold": hold, "known_work": at_hand,
        });
        let polled = self.call("POST", &path, &poll).ok();
        self.cursor = polled["cursor"].as_u64().expect("it is a number");
        polled
    }

    /// Polls until `found` returns something.
    pub fn until<T>(&mut self, mut found: impl FnMut(&Json) -> Option<T>) -> T {
        let (mut last, mut at_hand) = (Json::Null, Vec::new());
        for _ in 0..60 {
            last = self.poll_for(5, &at_hand);
            if let Some(found) = found(&last) {
                return found;
            }
            // Mark offered work as at hand, so that the next poll waits for something else.
            let offered = last["work"].as_array().into_iter().flatten();
            let number = |work: &Json| work["number"].as_u64().or(work["apply"]["number"].as_u64());
            at_hand.extend(offered.filter_map(number));
        }
        panic!("it never came; the last answer was {last}");
    }

    /// Sends parts of a scene update.
    pub fn say(&mut self, parts: Json) -> Answer {
        self.version += 1;
        self.say_as(self.version, parts)
    }

    /// Sends parts of a scene update as the update with this version.
    pub fn say_as(&self, version: u64, parts: Json) -> Answer {
        let path = format!("/api/sessions/{}/scene", self.session);
        let update = json!({ "epoch": self.epoch, "version": version, "parts": parts });
        self.call("POST", &path, &update)
    }

    /// Sends a small place: a workspace with a part and a script.
    pub fn tell_place(&mut self) {
        let nodes = json!({
            "classes": ["Workspace", "Part", "Script"],
            "ids": ["studio:1", "studio:2", "studio:3"],
            "parents": [0, 1, 1],
            "class": [0, 1, 2],
            "names": ["Workspace", "Wall", "Main"],
        });
        let scripts = json!([{ "id": "studio:3", "text": "print(1)\n" }]);
        self.say(json!([
            { "part": "begin", "total": 3 },
            { "part": "nodes", "nodes": nodes },
            { "part": "end" },
            { "part": "sources", "scripts": scripts },
        ]))
        .ok();
    }

    pub fn chat(&self, text: &str) -> Answer {
        self.chat_with(text, json!([]))
    }

    /// Sends a request with attachments.
    pub fn chat_with(&self, text: &str, attached: Json) -> Answer {
        let chat = json!({
            "session": self.session, "epoch": self.epoch, "text": text, "attached": attached,
        });
        self.call("POST", "/api/chat", &chat)
    }

    /// Decides a proposal as it is shown now.
    pub fn decide(&self, proposal: u64, decision: Json) -> Answer {
        let shown = self.call("GET", &format!("/api/proposals/{proposal}"), &Json::Null).ok();
        let decide = json!({
            "patch_id": shown["proposal"]["patch_id"],
            "base": shown["proposal"]["base"],
            "decision": decision,
        });
        self.call("POST", &format!("/api/proposals/{proposal}/decide"), &decide)
    }

    /// Acknowledges an apply with its outcome.
    pub fn acknowledge(&self, apply: &Json, outcome: Json) -> Answer {
        let ack = json!({
            "session": self.session,
            "epoch": self.epoch,
            "patch_id": apply["patch_id"],
            "outcome": outcome,
        });
        self.call("POST", &format!("/api/proposals/{}/apply", apply["proposal"]), &ack)
    }
}
