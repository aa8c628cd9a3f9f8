//! A daemon that has a place open and uses a cloud, and that is killed and started again.

use std::fs;
use std::io::Write as _;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use fake_cloud::{API_KEY, FakeCloud};
use scene_schemas::entry::{Entry, Seq};
use serde_json::{Value as Json, json};
use vector_ledger::Ledger;
use vector_tests::binary::{self, Home};
use vector_tests::daemon::{Answer, Daemon};
use vector_tests::human::Human;

/// The universe and the place of the cloud.
pub(super) const UNIVERSE: u64 = 30;
pub(super) const PLACE: u64 = 40;

pub(super) struct ServedPlace {
    pub(super) cloud: FakeCloud,
    pub(super) home: Home,
    pub(super) place: PathBuf,
    daemon: Option<Daemon>,
    human: Option<Human>,
    /// The number of agent calls.
    calls: u32,
}

impl ServedPlace {
    pub(super) fn new(place: &[u8]) -> Self {
        let home = Home::new();
        let file = home.path().join("game.rbxl");
        fs::write(&file, place).unwrap();
        let cloud = FakeCloud::start(Vec::new());
        cloud.add_places(UNIVERSE, &[PLACE]);
        let mut served = Self { cloud, home, place: file, daemon: None, human: None, calls: 0 };
        served.start();
        served
    }

    pub(super) fn ledger(&self) -> PathBuf {
        self.home.path().join("vector")
    }

    pub(super) fn start(&mut self) {
        let mut command = Command::new(binary::vector());
        command
            .args(["serve", "--port", "0", "--place"])
            .arg(&self.place)
            .env("VECTOR_ROBLOX_CLOUD_URL", self.cloud.url())
            .env("ROBLOX_PUBLISH_API_KEY", API_KEY)
            .env("ROBLOX_VERIFY_API_KEY", API_KEY);
        let daemon = Daemon::run(command, &self.ledger());
        self.human = Some(Human::of(&daemon, &self.ledger()));
        self.daemon = Some(daemon);
    }

    pub(super) fn kill(&mut self) {
        self.daemon.take().expect("it runs").kill();
    }

    pub(super) fn human(&self) -> &Human {
        self.human.as_ref().expect("it runs")
    }

    pub(super) fn get(&self, path: &str) -> Answer {
        self.human().call("GET", path, &Json::Null)
    }

    /// Sends a request, and does not wait for its answer.
    pub(super) fn send(&self, path: &str, body: &Json) -> TcpStream {
        let kept = fs::read_to_string(self.ledger().join("token")).unwrap();
        let token = kept.split_whitespace().nth(1).unwrap();
        let port = self.daemon.as_ref().expect("it runs").port;
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let body = body.to_string();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    /// Makes the same request twice at the same time.
    pub(super) fn post_twice(&self, path: &str, body: &Json) -> [Answer; 2] {
        let human = self.human();
        thread::scope(|scope| {
            let sent = [(); 2].map(|()| scope.spawn(|| human.call("POST", path, body)));
            sent.map(|it| it.join().unwrap())
        })
    }

    /// The session of the place.
    pub(super) fn session(&self) -> String {
        let sessions = self.get("/api/sessions").ok();
        sessions["sessions"][0]["session"].as_str().expect("a place is open").to_owned()
    }

    /// Makes a call as an agent, and returns the proposal that it became.
    pub(super) fn propose(&mut self, tool: &str, args: &Json) -> u64 {
        self.calls += 1;
        let call = json!({
            "connection": "agent", "client": "agent", "id": self.calls.to_string(), "tool": tool,
            "args": args, "hold": 60,
        });
        let token = Daemon::agent_token(&self.ledger());
        let daemon = self.daemon.as_ref().expect("it runs");
        let view = daemon.call("POST", "/api/agents/calls", Some(&token), &call).ok();
        view["outcome"]["proposal"].as_u64().unwrap_or_else(|| panic!("{view}"))
    }

    /// Returns the proposal that replaces another one.
    pub(super) fn successor(&mut self, proposal: u64) -> u64 {
        self.human.as_mut().expect("it runs").successor(proposal)
    }

    /// Waits until a condition holds.
    #[track_caller]
    pub(super) fn until<T>(&self, what: &str, found: impl Fn(&Self) -> Option<T>) -> T {
        let limit = Instant::now() + Duration::from_mins(1);
        loop {
            if let Some(found) = found(self) {
                return found;
            }
            assert!(Instant::now() < limit, "waited in vain: {what}");
            thread::sleep(Duration::from_millis(20));
        }
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        let ledger = Ledger::open(&self.ledger()).unwrap();
        let records = ledger.read(Seq(0), 10_000).unwrap();
        records.into_iter().map(|record| record.entry).collect()
    }

    /// The number of entries of a kind.
    pub(super) fn count(&self, is: impl Fn(&Entry) -> bool) -> usize {
        self.entries().iter().filter(|entry| is(entry)).count()
    }

    /// The number of requests whose path and query contain a text.
    pub(super) fn sent(&self, path: &str) -> usize {
        self.cloud.requests().iter().filter(|seen| seen.target.contains(path)).count()
    }
}

#[track_caller]
pub(super) fn refused(answer: &Answer, status: u16, says: &str) {
    let said = format!("{} {}", answer.body["message"], answer.body["hint"]);
    assert_eq!(answer.status, status, "{said}");
    assert!(said.contains(says), "{said}");
}
