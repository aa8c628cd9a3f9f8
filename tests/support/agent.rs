//! An agent that calls tools over the daemon's HTTP API.

use std::path::Path;

use serde_json::{Value as Json, json};

use crate::daemon::{self, Answer, Daemon};

/// An agent with a connection of its own.
#[derive(Debug)]
pub struct Agent {
    port: u16,
    token: String,
    client: String,
    calls: usize,
}

impl Agent {
    /// An agent of a daemon with this ledger folder.
    pub fn new(daemon: &Daemon, ledger: &Path, client: &str) -> Self {
        let token = Daemon::agent_token(ledger);
        Self { port: daemon.port, token, client: client.to_owned(), calls: 0 }
    }

    /// Sends a request with the agent's token.
    pub fn send(&self, method: &str, path: &str, body: &Json) -> Answer {
        daemon::call(self.port, (method, path), Some(&self.token), body)
    }

    /// Makes a call, and returns it once it is planned.
    #[track_caller]
    pub fn call(&mut self, tool: &str, args: &Json) -> Json {
        self.calls += 1;
        let call = json!({
            "connection": self.client, "client": self.client, "id": self.calls.to_string(),
            "tool": tool, "args": args, "hold": 60,
        });
        self.send("POST", "/api/agents/calls", &call).ok()
    }

    /// Makes a call, and returns its proposal, which may be applied already.
    ///
    /// # Panics
    /// It led to no proposal.
    #[track_caller]
    pub fn propose(&mut self, tool: &str, args: &Json) -> u64 {
        let view = self.call(tool, args);
        let outcome = &view["outcome"];
        let applied = outcome["applied"]["proposal"].as_u64();
        let proposal = applied.or_else(|| outcome["proposal"].as_u64());
        proposal.unwrap_or_else(|| panic!("no proposal: {view}"))
    }
}
