//! MCP as clients speak it: the official SDK's client over stdio and HTTP, and the bare protocol.

mod agents;
mod assets;
mod first;
mod left;
mod lost;
mod playtest;
mod raw;
mod refused;
#[cfg(unix)]
mod reviews;
mod sdk;
#[cfg(unix)]
mod started;
mod stdio;

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{self, Answer};
use vector_tests::repository;

/// A copy of the sample place, which a test may change.
fn place(home: &Home) -> PathBuf {
    let place = home.path().join("obby.rbxlx");
    fs::copy(repository::root().join("samples").join("obby.rbxlx"), &place).unwrap();
    place
}

/// How a client starts `vector mcp`, with a ledger in this home.
fn command(home: &Home, args: &[&str]) -> Json {
    let mut all = vec!["--home", home.path().to_str().unwrap(), "mcp", "--port", "0"];
    all.extend(args);
    json!({ "command": binary::vector(), "args": all, "env": { "VECTOR_MODEL": "offline" } })
}

/// The user of a daemon.
struct Person<'h> {
    home: &'h Path,
    /// Whether the daemon was started for a client, and is stopped when this is dropped.
    ends: bool,
}

impl<'h> Person<'h> {
    fn of(home: &'h Home) -> Self {
        Self { home: home.path(), ends: true }
    }

    /// The user of a daemon that the test has started itself.
    fn beside(home: &'h Home) -> Self {
        Self { home: home.path(), ends: false }
    }

    fn call(&self, method: &str, path: &str, body: &Json) -> Answer {
        let text = fs::read_to_string(self.home.join("token")).unwrap();
        let mut fields = text.split_whitespace();
        let port = fields.next().unwrap().parse().unwrap();
        daemon::call(port, (method, path), fields.next(), body)
    }

    fn open(&self, place: &Path) {
        self.call("POST", "/api/open", &json!({ "place": binary::path_there(place) })).ok();
    }

    /// Waits for the first pending proposal.
    fn waiting(&self) -> Json {
        let mut cursor = 0;
        loop {
            let waiting = self.call("GET", "/api/proposals", &Json::Null).ok();
            if let Some(first) = waiting["proposals"].get(0) {
                return first.clone();
            }
            let path = format!("/api/stream?cursor={cursor}&hold=15");
            let page = self.call("GET", &path, &Json::Null).ok();
            cursor = page["cursor"].as_u64().unwrap();
        }
    }

    fn decide(&self, proposal: &Json, decision: &Json) -> Answer {
        let decide = json!({
            "patch_id": proposal["proposal"]["patch_id"],
            "base": proposal["proposal"]["base"],
            "decision": decision,
        });
        self.call("POST", &format!("/api/proposals/{}/decide", proposal["seq"]), &decide)
    }

    fn workflows(&self) -> Vec<Json> {
        let all = self.call("GET", "/api/workflows", &Json::Null).ok();
        all["workflows"].as_array().unwrap().clone()
    }

    /// The process id of the daemon.
    #[cfg(unix)]
    fn process(&self) -> u32 {
        let text = fs::read_to_string(self.home.join("serve.pid")).unwrap();
        let number = text.split(|c: char| !c.is_ascii_digit()).find(|it| !it.is_empty());
        number.and_then(|number| number.parse().ok()).unwrap()
    }
}

impl Drop for Person<'_> {
    fn drop(&mut self) {
        if self.ends && self.home.join("token").exists() {
            self.call("POST", "/api/stop", &json!({}));
        }
    }
}
