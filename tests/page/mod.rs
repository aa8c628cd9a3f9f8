//! The page in a real browser, beside the real daemon: what a person sees of it, by mouse and by keys, in
//! both schemes, wide and narrow, and whatever becomes of the daemon meanwhile.
//!
//! Where Chromium or chromedriver is missing, these tests are skipped with a notice; `VECTOR_REQUIRE` forbids that.

mod again;
#[cfg(unix)]
mod album;
mod around;
#[cfg(unix)]
mod committing;
mod decided;
mod door;
mod hands;
mod keys;
mod merged;
#[cfg(unix)]
mod model;
mod now;
mod phone;
#[cfg(unix)]
mod streamed;
mod together;
#[cfg(unix)]
mod whole;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::browser::{Browser, Look, Stage};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};
use vector_tests::repository;

/// Ten steps, of which the first is a card at once.
const GRID: &str = "grid 3x3 of neon parts";
/// One step.
const FADE: &str = "set Transparency = 0.5 on #Baseplate";

/// A daemon with a place file open, and a person who asks it by hand.
struct Bench {
    home: Home,
    daemon: Option<Daemon>,
    human: Human,
    file: PathBuf,
    /// How often an agent has called.
    calls: u32,
}

impl Bench {
    fn new() -> Self {
        Self::of(Home::new())
    }

    /// The same, in a home where something has happened before.
    fn of(home: Home) -> Self {
        let file = home.path().join("place.rbxlx");
        fs::write(&file, places::sample(Format::Rbxlx)).unwrap();
        Self::at(home, file)
    }

    /// With the place that comes with Vector.
    fn obby() -> Self {
        let home = Home::new();
        let file = obby(&home);
        Self::at(home, file)
    }

    fn at(home: Home, file: PathBuf) -> Self {
        let daemon = Daemon::of_place(binary::vector(), &ledger(&home), &file);
        let human = Human::of(&daemon, &ledger(&home));
        Self { home, daemon: Some(daemon), human, file, calls: 0 }
    }

    fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("it runs")
    }

    /// Where the page is, without a way in.
    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.daemon().port)
    }

    /// A way into the page, as a person is told one.
    fn link(&self) -> String {
        let run = self.home.run(&["open", "--print"], "");
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout.trim().to_owned()
    }

    /// The page is open, and follows what happens.
    fn enter(&self, browser: &Browser<'_>) {
        browser.go(&self.link());
        until_here(browser);
    }

    /// An agent's call that becomes a proposal.
    #[track_caller]
    fn propose(&mut self, tool: &str, args: &Json) -> u64 {
        self.calls += 1;
        let call = json!({
            "connection": "agent", "client": "agent", "id": self.calls.to_string(), "tool": tool, "args": args,
            "hold": 60,
        });
        let token = Daemon::agent_token(&ledger(&self.home));
        let view = self.daemon().call("POST", "/api/agents/calls", Some(&token), &call).ok();
        view["became"]["proposal"].as_u64().unwrap_or_else(|| panic!("no proposal: {view}"))
    }

    /// Ends it as a crash would; the port that it had.
    fn kill(&mut self) -> u16 {
        let daemon = self.daemon.take().expect("it runs");
        let port = daemon.port;
        daemon.kill();
        port
    }

    /// Starts it again with the same ledger and place.
    fn start_on(&mut self, port: u16) {
        let mut command = std::process::Command::new(binary::vector());
        command.args(["serve", "--port", &port.to_string(), "--place"]).arg(&self.file);
        let daemon = Daemon::run(command, &ledger(&self.home));
        self.human = Human::of(&daemon, &ledger(&self.home));
        self.daemon = Some(daemon);
    }
}

/// Where the commands of this home keep their ledger.
fn ledger(home: &Home) -> PathBuf {
    home.path().join("vector")
}

/// A copy of the place that comes with Vector.
fn obby(home: &Home) -> PathBuf {
    let file = home.path().join("obby.rbxlx");
    fs::copy(repository::root().join("samples/obby.rbxlx"), &file).unwrap();
    file
}

/// Waits until the page is connected, and has asked for what it shows first.
fn until_here(browser: &Browser<'_>) {
    browser.until("document.querySelector('#link').dataset.state === 'here'");
    browser.until("document.querySelector('#composer textarea')");
}

/// Asks for something as a person does: by the composer.
fn ask(browser: &Browser<'_>, text: &str) {
    browser.click("#ask-text");
    browser.enter(text);
    browser.click("#composer button.main");
}

/// The parts of the conversation, by key, each with its text. A card's is its title: what else is on it
/// comes when it is in sight.
const LOG: &str = "[...document.querySelectorAll('#log > [data-key]')].map(it =>
    [it.dataset.key, (it.dataset.proposal ? it.querySelector('.title') : it).textContent])";

fn log(browser: &Browser<'_>) -> Vec<(String, String)> {
    serde_json::from_value(browser.is(LOG)).expect("each has a key and a text")
}

/// Each part is there once.
#[track_caller]
fn is_each_once(log: &[(String, String)]) {
    let mut keys: Vec<&String> = log.iter().map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), log.len(), "{log:?}");
}
