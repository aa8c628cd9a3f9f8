//! A daemon of its own for a test, and whoever calls it: raw HTTP on a real socket.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};

/// A running daemon; it ends with the value.
pub struct Daemon {
    child: Child,
    /// Where it listens.
    pub port: u16,
    /// What it printed, line by line.
    lines: Receiver<String>,
}

/// An answer: the status, and the body as JSON (null where it is none).
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body.
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
    /// Starts the `vector` that the tests were built with, with a ledger of this folder.
    pub fn start(vector: &Path, home: &Path) -> Self {
        Self::start_on(vector, home, 0)
    }

    /// The same, on a port.
    pub fn start_on(vector: &Path, home: &Path, port: u16) -> Self {
        let mut command = Command::new(vector);
        command.args(["serve", "--port", &port.to_string()]);
        Self::run(command, home)
    }

    /// The same, with a Rojo project.
    pub fn of_project(vector: &Path, home: &Path, project: &Path) -> Self {
        let mut command = Command::new(vector);
        command.args(["serve", "--port", "0", "--project"]).arg(project);
        Self::run(command, home)
    }

    /// The same, with a place file.
    pub fn of_place(vector: &Path, home: &Path, place: &Path) -> Self {
        let mut command = Command::new(vector);
        command.args(["serve", "--port", "0", "--place"]).arg(place);
        Self::run(command, home)
    }

    /// The same by a command of one's own, to which the ledger's folder is added.
    pub fn run(mut command: Command, home: &Path) -> Self {
        let mut child = command
            .arg("--home")
            .arg(home)
            // Whatever keys there are here, nobody is asked whom a test does not name.
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

    /// The token of the agents that this machine's user starts.
    pub fn agent_token(home: &Path) -> String {
        let text = std::fs::read_to_string(home.join("agent-token")).expect("it serves");
        text.split_whitespace().nth(1).expect("it is behind the port").to_owned()
    }

    /// The next line that begins so.
    pub fn line(&self, start: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(Duration::from_mins(1));
            let line = line.unwrap_or_else(|_| panic!("it never said `{start}`"));
            if line.starts_with(start) {
                return line;
            }
        }
    }

    /// The code that it printed last.
    pub fn code(&self) -> String {
        let line = self.line("To pair a plugin");
        line.chars().filter(char::is_ascii_digit).collect()
    }

    /// Its process.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a crash would.
    pub fn kill(mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
    }

    /// Waits until it has ended, which it was told to.
    pub fn ends(mut self) {
        self.child.wait().expect("it ends");
    }

    /// Calls it with a body, and a token where one is given.
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

    /// Calls it with just these headers; the answer as it came.
    pub fn text(
        &self,
        method: &str,
        path: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> String {
        exchange(self.port, (method, path), headers, body)
    }

    /// Calls it with just these headers.
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

/// Calls the daemon at a port with a body, and a token where one is given.
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

/// Gets what is no JSON: its type and its bytes, or why not.
///
/// # Errors
/// The failure that came for an answer.
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
    let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
    // A server may answer and hang up before it has read all.
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

/// A plugin in Rust, as thin as can be: it says what a test says.
pub struct Plugin<'d> {
    /// Whom it speaks to.
    pub daemon: &'d Daemon,
    /// What it was given when it was paired.
    pub credential: String,
    /// Its window.
    pub session: String,
    /// Its epoch.
    pub epoch: u64,
    /// Its token.
    pub token: String,
    cursor: u64,
    version: u64,
}

impl<'d> Plugin<'d> {
    /// Pairs a new plugin, and says hello.
    pub fn pair(daemon: &'d Daemon, session: &str) -> Self {
        let code = daemon.code();
        let paired = daemon.call("POST", "/api/pair", None, &json!({ "code": code })).ok();
        let credential = paired["credential"].as_str().expect("it is a text").to_owned();
        Self::hello(daemon, session, &credential)
    }

    /// Says hello with what it has.
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

    /// What there is to do, at once.
    pub fn poll(&mut self) -> Json {
        self.poll_for(0, &[])
    }

    /// What there is to do, waiting where there is nothing.
    pub fn poll_for(&mut self, hold: u64, at_hand: &[u64]) -> Json {
        let path = format!("/api/sessions/{}/poll", self.session);
        let poll = json!({
            "epoch": self.epoch, "cursor": self.cursor, "hold": hold, "at_hand": at_hand,
        });
        let polled = self.call("POST", &path, &poll).ok();
        self.cursor = polled["cursor"].as_u64().expect("it is a number");
        polled
    }

    /// Polls until something is there that is looked for.
    pub fn until<T>(&mut self, mut found: impl FnMut(&Json) -> Option<T>) -> T {
        let (mut last, mut at_hand) = (Json::Null, Vec::new());
        for _ in 0..60 {
            last = self.poll_for(5, &at_hand);
            if let Some(found) = found(&last) {
                return found;
            }
            // What was offered and is not what is looked for does not answer the next poll.
            let offered = last["work"].as_array().into_iter().flatten();
            let number = |work: &Json| work["number"].as_u64().or(work["apply"]["number"].as_u64());
            at_hand.extend(offered.filter_map(number));
        }
        panic!("it never came; the last answer was {last}");
    }

    /// Says something of its place.
    pub fn say(&mut self, parts: Json) -> Answer {
        self.version += 1;
        let path = format!("/api/sessions/{}/scene", self.session);
        let update = json!({ "epoch": self.epoch, "version": self.version, "parts": parts });
        self.call("POST", &path, &update)
    }

    /// Tells a small place: a workspace with a part and a script.
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

    /// Asks for something.
    pub fn chat(&self, text: &str) -> Answer {
        self.chat_with(text, json!([]))
    }

    /// Asks for something, with things of the place attached.
    pub fn chat_with(&self, text: &str, attached: Json) -> Answer {
        let chat = json!({
            "session": self.session, "epoch": self.epoch, "text": text, "attached": attached,
        });
        self.call("POST", "/api/chat", &chat)
    }

    /// Decides upon a proposal as it is shown.
    pub fn decide(&self, proposal: u64, decision: Json) -> Answer {
        let shown = self.call("GET", &format!("/api/proposals/{proposal}"), &Json::Null).ok();
        let decide = json!({
            "patch_id": shown["proposal"]["patch_id"],
            "base": shown["proposal"]["base"],
            "decision": decision,
        });
        self.call("POST", &format!("/api/proposals/{proposal}/decide"), &decide)
    }

    /// Says what became of a proposal.
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
