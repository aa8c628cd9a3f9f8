//! The official MCP SDK's client, controlled by a test: `tests/mcp/client.mjs` in Node.

use std::collections::VecDeque;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::repository;
use crate::requirement::Requirement;

/// A client; its process ends on drop.
pub struct Client {
    child: Child,
    orders: ChildStdin,
    said: Receiver<Json>,
    /// Messages that were received, but not yet consumed.
    kept: VecDeque<Json>,
    next: u64,
}

/// The folder of the SDK; None, with a notice, if Node or the SDK is missing.
///
/// # Panics
/// It is missing and required.
#[track_caller]
fn sdk() -> Option<PathBuf> {
    let set = env::var_os("VECTOR_MCP_SDK").map(PathBuf::from);
    let folder = set.unwrap_or_else(|| repository::root().join("target").join("mcp-sdk"));
    if !Command::new("node").arg("--version").output().is_ok_and(|it| it.status.success()) {
        Requirement::Node.skip("tests with the MCP SDK's client (Node is not installed)");
        return None;
    }
    if !folder.join("node_modules/@modelcontextprotocol/sdk").is_dir() {
        Requirement::Mcp.skip(&format!(
            "tests with the MCP SDK's client (`npm install --prefix {} @modelcontextprotocol/sdk` installs it)",
            folder.display()
        ));
        return None;
    }
    Some(folder)
}

impl Client {
    /// Starts a client without a connection; None if Node or the SDK is missing.
    pub fn new() -> Option<Self> {
        let sdk = sdk()?;
        let script = repository::root().join("tests").join("mcp").join("client.mjs");
        let mut child = Command::new("node")
            .arg(script)
            .env("VECTOR_MCP_SDK", sdk)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node starts");
        let orders = child.stdin.take().expect("its input is ours");
        let out = child.stdout.take().expect("its output is read");
        let (sender, said) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let line = serde_json::from_str(&line).unwrap_or(Json::String(line));
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Some(Self { child, orders, said, kept: VecDeque::new(), next: 0 })
    }

    /// Sends a command, and returns its number.
    pub fn order(&mut self, what: &str, mut with: Json) -> u64 {
        self.next += 1;
        with["id"] = self.next.into();
        with["do"] = what.into();
        writeln!(self.orders, "{with}").expect("it reads");
        self.next
    }

    /// Waits for the first message that satisfies `is_it`.
    pub fn until(&mut self, is_it: impl Fn(&Json) -> bool) -> Json {
        if let Some(at) = self.kept.iter().position(&is_it) {
            return self.kept.remove(at).expect("it is there");
        }
        loop {
            let said = self.said.recv_timeout(Duration::from_mins(2));
            let said = said.unwrap_or_else(|_| panic!("it never came; it said {:?}", self.kept));
            if is_it(&said) {
                return said;
            }
            self.kept.push_back(said);
        }
    }

    /// Waits for the result of a command.
    pub fn result(&mut self, order: u64) -> Result<Json, String> {
        let said = self.until(|said| said["id"] == order);
        match said.get("error") {
            Some(error) => Err(error.as_str().unwrap_or_default().to_owned()),
            None => Ok(said["ok"].clone()),
        }
    }

    /// Waits for the result of a command; None if it does not arrive in time.
    pub fn result_within(&mut self, order: u64, time: Duration) -> Option<Result<Json, String>> {
        let is_it = |said: &Json| said["id"] == order;
        if !self.kept.iter().any(is_it) {
            let said = self.said.recv_timeout(time).ok()?;
            self.kept.push_back(said);
            if !self.kept.iter().any(is_it) {
                return None;
            }
        }
        Some(self.result(order))
    }

    /// Sends a command, and waits for its success.
    #[track_caller]
    pub fn done(&mut self, what: &str, with: Json) -> Json {
        let order = self.order(what, with);
        self.result(order).unwrap_or_else(|error| panic!("{what}: {error}"))
    }

    /// Calls a tool, and returns the number of the call at once.
    pub fn calling(&mut self, tool: &str, args: Json) -> u64 {
        self.order("call", json!({ "name": tool, "args": args }))
    }

    /// Calls a tool, and returns whether the result is an error, and its text.
    #[track_caller]
    pub fn call(&mut self, tool: &str, args: Json) -> (bool, String) {
        let order = self.calling(tool, args);
        self.called(order)
    }

    /// Waits for the result of a call, and returns whether it is an error, and its text.
    #[track_caller]
    pub fn called(&mut self, order: u64) -> (bool, String) {
        let result = self.result(order).unwrap_or_else(|error| panic!("a call: {error}"));
        let blocks = result["content"].as_array().into_iter().flatten();
        let texts: Vec<&str> = blocks.filter_map(|block| block["text"].as_str()).collect();
        (result["isError"] == true, texts.join("\n"))
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
