//! The bare protocol over stdio: `vector mcp` and a scripted client.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};

/// `vector mcp`, and a client that speaks to it.
pub(super) struct StdioClient {
    pub(super) process: Child,
    input: Option<ChildStdin>,
    pub(super) output: Lines<BufReader<ChildStdout>>,
    next: u64,
}

impl StdioClient {
    /// Starts it with these arguments, and says nothing yet.
    pub(super) fn spawn(home: &Home, args: &[&str]) -> Self {
        let mut process = Command::new(binary::vector())
            .arg("--home")
            .arg(home.path())
            .args(["mcp", "--port", "0"])
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, input, output, next: 0 }
    }

    /// Starts it with a place, and initializes the connection.
    pub(super) fn start(home: &Home, place: &Path, wait: u32) -> Self {
        let args = ["--wait", &wait.to_string(), "--place", place.to_str().unwrap()];
        let mut client = Self::spawn(home, &args);
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": { "name": "a client", "version": "1" },
        });
        let welcome = client.send("initialize", &hello);
        client.answer(welcome);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        writeln!(client.input.as_ref().unwrap(), "{ready}").unwrap();
        client
    }

    pub(super) fn send(&mut self, method: &str, params: &Json) -> u64 {
        self.next += 1;
        let message =
            json!({ "jsonrpc": "2.0", "id": self.next, "method": method, "params": params });
        writeln!(self.input.as_ref().unwrap(), "{message}").unwrap();
        self.next
    }

    pub(super) fn call(&mut self, tool: &str, args: &Json) -> u64 {
        self.send("tools/call", &json!({ "name": tool, "arguments": args }))
    }

    pub(super) fn answer(&mut self, id: u64) -> Json {
        self.until(|message| message["id"] == id)["result"].clone()
    }

    /// Waits for the first message that satisfies `is_it`.
    pub(super) fn until(&mut self, is_it: impl Fn(&Json) -> bool) -> Json {
        loop {
            let line = self.output.next().expect("it answers").unwrap();
            let message: Json = serde_json::from_str(&line).unwrap();
            if is_it(&message) {
                return message;
            }
        }
    }

    /// Ends its input.
    pub(super) fn close(&mut self) {
        self.input.take();
    }
}

impl Drop for StdioClient {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
