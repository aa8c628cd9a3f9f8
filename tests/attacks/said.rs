//! A scripted MCP client: it speaks to the real `vector mcp` over its stdin and stdout.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::ground::{Ground, Seen};

/// An MCP client. Its server ends when it is dropped.
pub(super) struct Client {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Json>,
    last: u64,
    /// The elicitations that the server sent to the user through the client. The client accepted
    /// each of them.
    pub(super) asked: Vec<Json>,
}

impl Client {
    /// Starts `vector mcp`, whose calls wait `wait` seconds for the user, with a client that
    /// supports elicitation.
    pub(super) fn new(ground: &Ground, wait: u64) -> Self {
        let mut child = ground
            .home
            .command(&["mcp", "--wait", &wait.to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let out = child.stdout.take().unwrap();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                if sender.send(serde_json::from_str(&line).unwrap()).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let mut client = Self { child, stdin, lines, last: 0, asked: Vec::new() };
        let hello = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": { "elicitation": { "form": {} } },
            "clientInfo": { "name": "evil", "version": "1" },
        });
        assert!(client.ask("initialize", &hello)["result"].is_object());
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        client
    }

    fn send(&mut self, message: &Json) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
        stdin.flush().unwrap();
    }

    /// Sends a request, accepts every elicitation, and returns the response.
    pub(super) fn ask(&mut self, method: &str, params: &Json) -> Json {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let said = self.lines.recv_timeout(Duration::from_mins(1)).expect("it answers");
            if said["method"] == "elicitation/create" {
                let content = json!({ "approve": true, "decision": "approve", "twice": true });
                let yes = json!({ "action": "accept", "content": content });
                self.send(&json!({ "jsonrpc": "2.0", "id": said["id"], "result": yes }));
                self.asked.push(said);
            } else if said["id"] == id && said.get("method").is_none() {
                return said;
            }
        }
    }

    pub(super) fn call(&mut self, tool: &str, args: &Json) -> Json {
        self.ask("tools/call", &json!({ "name": tool, "arguments": args }))
    }

    /// Calls a tool and returns its result as [`Seen`]. A protocol error counts as a tool error.
    pub(super) fn sees(&mut self, tool: &str, args: &Json) -> Seen {
        told(&self.call(tool, args))
    }
}

/// Converts a response to [`Seen`].
pub(super) fn told(said: &Json) -> Seen {
    if let Some(error) = said.get("error") {
        return Seen::Tool(true, error["message"].to_string());
    }
    let result = &said["result"];
    let is_error = result["isError"] == true;
    Seen::Tool(is_error, result["content"][0]["text"].as_str().unwrap_or_default().to_owned())
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.child.wait();
    }
}
