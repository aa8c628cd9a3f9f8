//! Read-only tools over MCP, on a place file: the time from a client's message to its response,
//! over HTTP and over stdio, beside a `ping`, which takes the same path and does no work.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::Daemon;
use vector_tests::generated::{generated, paths};
use vector_tests::places::{Format, encode};

use super::wake::percentile;

const ROUNDS: usize = 2_000;
const INSTANCES: usize = 100_000;

/// An MCP client that sends a message and returns the response.
trait Client {
    fn ask(&mut self, method: &str, params: &Json) -> Json;
}

/// An MCP session over HTTP, on a connection that stays open.
struct Http {
    reader: BufReader<TcpStream>,
    head: String,
    next: u64,
}

impl Http {
    fn open(port: u16, token: &str) -> Self {
        let stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_nodelay(true).unwrap();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
        );
        let mut client = Self { reader: BufReader::new(stream), head, next: 0 };
        let (session, _) = client.send(&hello());
        client.head.push_str(&format!("Mcp-Session-Id: {session}\r\n"));
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    /// Sends a message. Returns the session id of the response and the message in it.
    fn send(&mut self, message: &Json) -> (String, Json) {
        let body = message.to_string();
        let head = format!("{}Content-Length: {}\r\n\r\n{body}", self.head, body.len());
        self.reader.get_mut().write_all(head.as_bytes()).unwrap();
        let (mut session, mut length, mut is_chunked) = (String::new(), 0, false);
        loop {
            let mut line = String::new();
            self.reader.read_line(&mut line).unwrap();
            let Some((name, value)) = line.trim_end().split_once(": ") else {
                if line == "\r\n" {
                    break;
                }
                continue;
            };
            match name.to_ascii_lowercase().as_str() {
                "mcp-session-id" => value.clone_into(&mut session),
                "content-length" => length = value.parse().unwrap(),
                "transfer-encoding" => is_chunked = value == "chunked",
                _ => {}
            }
        }
        let mut body = Vec::new();
        if is_chunked {
            loop {
                let mut line = String::new();
                self.reader.read_line(&mut line).unwrap();
                let size = usize::from_str_radix(line.trim_end(), 16).unwrap();
                let mut chunk = vec![0; size + 2];
                self.reader.read_exact(&mut chunk).unwrap();
                body.extend_from_slice(&chunk[..size]);
                if size == 0 {
                    break;
                }
            }
        } else {
            body.resize(length, 0);
            self.reader.read_exact(&mut body).unwrap();
        }
        let text = String::from_utf8(body).unwrap();
        let mut data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        let message = data.find_map(|data| {
            serde_json::from_str::<Json>(data).ok().filter(|it| it.get("id").is_some())
        });
        (session, message.unwrap_or_else(|| serde_json::from_str(&text).unwrap_or(Json::Null)))
    }
}

fn hello() -> Json {
    json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": { "name": "bench", "version": "1" } } })
}

impl Client for Http {
    fn ask(&mut self, method: &str, params: &Json) -> Json {
        self.next += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        self.send(&message).1
    }
}

/// A `vector mcp` process.
struct Pipes {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Pipes {
    fn open(home: &Path) -> Self {
        let mut child = Command::new(binary::vector())
            .arg("--home")
            .arg(home)
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut client = Self { child, input, output: BufReader::new(output), next: 0 };
        client.send(&hello());
        client.line();
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Json) {
        let line = format!("{message}\n");
        self.input.write_all(line.as_bytes()).unwrap();
    }

    fn line(&mut self) -> Json {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

impl Client for Pipes {
    fn ask(&mut self, method: &str, params: &Json) -> Json {
        self.next += 1;
        let id = self.next;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let said = self.line();
            if said["id"] == id {
                return said;
            }
        }
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn measured(client: &mut impl Client, method: &str, params: &Json) -> (f64, f64) {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let answer = client.ask(method, params);
            let time = start.elapsed();
            assert!(answer.get("result").is_some_and(|it| it["isError"] != true), "{answer}");
            time
        })
        .collect();
    (percentile(&mut times, 0.5), percentile(&mut times, 0.99))
}

fn shown(name: &str, client: &mut impl Client, calls: &[(&str, Json)]) {
    let (p50, p99) = measured(client, "ping", &json!({}));
    println!("  {name:5} {:16} p50 {p50:6.0} µs  p99 {p99:6.0} µs", "ping");
    for (tool, args) in calls {
        let params = json!({ "name": tool, "arguments": args });
        let (p50, p99) = measured(client, "tools/call", &params);
        println!("  {name:5} {tool:16} p50 {p50:6.0} µs  p99 {p99:6.0} µs  (goal 2,000)");
    }
}

pub(crate) fn run() {
    println!("\nread tools over MCP, a place file of {INSTANCES} instances, {ROUNDS} calls each");
    let dom = generated(INSTANCES);
    let script = paths(&dom, "Script").pop().unwrap();
    let model = paths(&dom, "Model").pop().unwrap();
    let calls = [
        ("read_script", json!({ "path": script })),
        ("list_children", json!({ "parentPath": model })),
        ("get_properties", json!({ "path": model })),
        ("list_children", json!({ "parentPath": "game.Workspace", "maxNodes": 200 })),
    ];
    let home = Home::new();
    let place = home.path().join("place.rbxl");
    fs::write(&place, encode(&dom, Format::Rbxl)).unwrap();
    let mut serve = Command::new(binary::vector());
    serve.args(["serve", "--port", "0", "--place"]).arg(&place);
    let daemon = Daemon::run(serve, home.path());
    let token = Daemon::agent_token(home.path());
    shown("HTTP", &mut Http::open(daemon.port, &token), &calls);
    shown("stdio", &mut Pipes::open(home.path()), &calls);
}
