//! The user at a page or a terminal: opens, requests, reviews and decides over the daemon's routes.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use crate::binary;
use crate::daemon::{Answer, Daemon, call, get};

/// Longer than any machine needs. A wait that takes this long fails its test.
const PATIENCE: Duration = Duration::from_mins(1);

/// A user with the token of a running daemon.
pub struct Human {
    port: u16,
    token: String,
    cursor: u64,
}

impl Human {
    /// The user whose ledger this daemon serves.
    ///
    /// # Panics
    /// The daemon has written no token.
    pub fn of(daemon: &Daemon, home: &Path) -> Self {
        let kept = fs::read_to_string(home.join("token")).expect("it leaves a token");
        let token = kept.split_whitespace().nth(1).expect("a port and a token").to_owned();
        Self { port: daemon.port, token, cursor: 0 }
    }

    pub fn call(&self, method: &str, path: &str, body: &Json) -> Answer {
        call(self.port, (method, path), Some(&self.token), body)
    }

    /// Gets the bytes of a PNG picture.
    ///
    /// # Errors
    /// The failure that the daemon answered.
    #[track_caller]
    pub fn picture(&self, path: &str) -> Result<Vec<u8>, Answer> {
        let (kind, bytes) = get(self.port, path, &self.token)?;
        assert_eq!(kind, "image/png");
        Ok(bytes)
    }

    /// Gets a part of the page, as HTML.
    ///
    /// # Panics
    /// The daemon refuses.
    #[track_caller]
    pub fn page(&self, path: &str) -> String {
        let (_, bytes) = get(self.port, path, &self.token)
            .unwrap_or_else(|answer| panic!("{path}: {} {}", answer.status, answer.body));
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Opens a place file.
    pub fn open(&self, place: &Path) -> Answer {
        self.call("POST", "/api/open", &json!({ "place": binary::path_there(place) }))
    }

    /// Sends a request in an open session, and returns the workflow.
    #[track_caller]
    pub fn ask(&self, opened: &Json, text: &str) -> u64 {
        let chat = json!({
            "session": opened["session"], "epoch": opened["epoch"], "text": text, "attached": [],
        });
        number(&self.call("POST", "/api/chat", &chat).ok()["workflow"])
    }

    /// Waits for the next event of this name.
    ///
    /// # Panics
    /// It does not come.
    #[track_caller]
    pub fn until(&mut self, name: &str) -> Json {
        for _ in 0..60 {
            let path = format!("/api/stream?cursor={}&hold=5", self.cursor);
            let page = self.call("GET", &path, &Json::Null).ok();
            // Skips the rest of the page: later waits start at its end.
            self.cursor = number(&page["cursor"]);
            let events = page["events"].as_array().into_iter().flatten();
            if let Some(found) = events.into_iter().find(|it| it["event"]["event"] == name) {
                return found["event"].clone();
            }
        }
        panic!("`{name}` never came");
    }

    /// Waits for the next card, and returns its proposal.
    #[track_caller]
    pub fn card(&mut self) -> u64 {
        let mapped = self.until("proposal_mapped");
        number(&mapped["proposal"])
    }

    /// A proposal as it is shown now.
    pub fn shown(&self, proposal: u64) -> Json {
        self.call("GET", &format!("/api/proposals/{proposal}"), &Json::Null).ok()
    }

    /// Decides a proposal as it is shown now.
    pub fn decide(&self, proposal: u64, decision: &Json) -> Answer {
        let shown = self.shown(proposal);
        self.decide_on(&shown, decision)
    }

    /// Decides a proposal as it was shown earlier.
    pub fn decide_on(&self, shown: &Json, decision: &Json) -> Answer {
        let decide = json!({
            "patch_id": shown["proposal"]["patch_id"],
            "base": shown["proposal"]["base"],
            "decision": decision,
        });
        self.call("POST", &format!("/api/proposals/{}/decide", shown["seq"]), &decide)
    }

    pub fn approve(&self, proposal: u64) -> Answer {
        self.decide(proposal, &json!({ "say": "approve" }))
    }

    /// Waits until a proposal has a successor, and returns it.
    ///
    /// # Panics
    /// It gets none.
    #[track_caller]
    pub fn successor(&mut self, proposal: u64) -> u64 {
        for _ in 0..60 {
            if let Some(successor) = self.shown(proposal)["successor"].as_u64() {
                return successor;
            }
            let path = format!("/api/stream?cursor={}&hold=1", self.cursor);
            let page = self.call("GET", &path, &Json::Null).ok();
            self.cursor = number(&page["cursor"]);
        }
        panic!("nothing stands for proposal {proposal}: {}", self.shown(proposal));
    }

    /// Waits until a proposal has this status.
    ///
    /// # Panics
    /// It does not get it.
    #[track_caller]
    pub fn until_status(&mut self, proposal: u64, status: &str) {
        self.until_shown(proposal, |shown| (shown["status"] == status).then_some(()));
    }

    /// Waits until `find` returns something for a proposal as it is shown.
    ///
    /// # Panics
    /// It never does.
    #[track_caller]
    pub fn until_shown<T>(&mut self, proposal: u64, find: impl Fn(&Json) -> Option<T>) -> T {
        self.until_found(&format!("/api/proposals/{proposal}"), find)
    }

    /// Waits until `find` returns something for the response of a route.
    ///
    /// # Panics
    /// It never does.
    #[track_caller]
    pub fn until_found<T>(&mut self, route: &str, find: impl Fn(&Json) -> Option<T>) -> T {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(found) = find(&self.call("GET", route, &Json::Null).ok()) {
                return found;
            }
            let path = format!("/api/stream?cursor={}&hold=1", self.cursor);
            let page = self.call("GET", &path, &Json::Null).ok();
            self.cursor = number(&page["cursor"]);
        }
        panic!("{route}: {}", self.call("GET", route, &Json::Null).body);
    }
}

#[track_caller]
fn number(json: &Json) -> u64 {
    json.as_u64().unwrap_or_else(|| panic!("{json} is no number"))
}
