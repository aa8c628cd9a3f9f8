//! The page in a real browser with a real daemon: by mouse and keyboard, in both color schemes,
//! wide and narrow, and while the daemon stops or restarts.
//!
//! Where Chromium or chromedriver is missing, these tests are skipped with a notice;
//! `VECTOR_REQUIRE` forbids that.

mod again;
#[cfg(unix)]
mod album;
mod around;
#[cfg(unix)]
mod bundled;
mod comments;
mod committing;
mod decided;
mod deploying;
mod door;
mod edited;
mod estimated;
mod generated;
mod hands;
mod inbox;
mod keys;
mod many;
mod merged;
#[cfg(unix)]
mod model;
mod now;
mod permission;
mod phone;
#[cfg(unix)]
mod reviewed;
mod rules;
mod store;
#[cfg(unix)]
mod streamed;
mod together;
mod verifying;
#[cfg(unix)]
mod whole;
#[cfg(unix)]
mod workers;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value as Json, json};
use vector_tests::binary::{self, Home};
use vector_tests::browser::{Browser, Look, Stage};
use vector_tests::daemon::Daemon;
use vector_tests::human::Human;
use vector_tests::places::{self, Format};
use vector_tests::repository;

/// Ten steps, the first of which is a card at once.
const GRID: &str = "grid 3x3 of neon parts";
/// One step.
const FADE: &str = "set Transparency = 0.5 on #Baseplate";

/// A daemon with an open place file, and a user who calls it directly.
struct Bench {
    home: Home,
    daemon: Option<Daemon>,
    human: Human,
    file: PathBuf,
    /// The number of agent calls.
    calls: u32,
    /// Variables of a daemon that is started again.
    variables: Vec<(&'static str, String)>,
}

impl Bench {
    fn new() -> Self {
        Self::of(Home::new())
    }

    /// The same, in a home with an earlier history.
    fn of(home: Home) -> Self {
        let file = home.path().join("place.rbxlx");
        fs::write(&file, places::sample(Format::Rbxlx)).unwrap();
        Self::at(home, file)
    }

    /// With the sample place.
    fn obby() -> Self {
        let home = Home::new();
        let file = obby(&home);
        Self::at(home, file)
    }

    fn at(home: Home, file: PathBuf) -> Self {
        let daemon = Daemon::of_place(binary::vector(), &ledger(&home), &file);
        let human = Human::of(&daemon, &ledger(&home));
        Self { home, daemon: Some(daemon), human, file, calls: 0, variables: Vec::new() }
    }

    fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("it runs")
    }

    /// The address of the page, without a code.
    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.daemon().port)
    }

    /// A login link for the page.
    fn link(&self) -> String {
        let run = self.home.run(&["open", "--print"], "");
        assert_eq!(run.code, 0, "{}", run.stderr);
        run.stdout.trim().to_owned()
    }

    /// Opens the page, and waits until it is connected.
    fn enter(&self, browser: &Browser<'_>) {
        browser.go(&self.link());
        until_here(browser);
    }

    /// Makes a call as an agent, and returns the proposal that it became.
    #[track_caller]
    fn propose(&mut self, tool: &str, args: &Json) -> u64 {
        let view = self.call(tool, args);
        let outcome = &view["outcome"];
        let applied = outcome["applied"]["proposal"].as_u64();
        applied.or_else(|| outcome["proposal"].as_u64()).unwrap_or_else(|| panic!("{view}"))
    }

    /// Makes a call with which scripts newly fail. It is refused once.
    #[track_caller]
    fn propose_with_errors(&mut self, tool: &str, args: &Json) -> u64 {
        let view = self.call(tool, args);
        assert_eq!(view["outcome"]["state"], "refused", "{view}");
        self.propose(tool, args)
    }

    /// Makes a call as an agent, and returns what became of it.
    fn call(&mut self, tool: &str, args: &Json) -> Json {
        self.calls += 1;
        let call = json!({
            "connection": "agent", "client": "agent", "id": self.calls.to_string(), "tool": tool, "args": args,
            "hold": 60,
        });
        let token = Daemon::agent_token(&ledger(&self.home));
        self.daemon().call("POST", "/api/agents/calls", Some(&token), &call).ok()
    }

    /// Kills the daemon, and returns its port.
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
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let daemon = Daemon::run(command, &ledger(&self.home));
        self.human = Human::of(&daemon, &ledger(&self.home));
        self.daemon = Some(daemon);
    }
}

/// The ledger folder that the commands of this home use.
fn ledger(home: &Home) -> PathBuf {
    home.path().join("vector")
}

/// A copy of the sample place.
fn obby(home: &Home) -> PathBuf {
    let file = home.path().join("obby.rbxlx");
    fs::copy(repository::root().join("samples/obby.rbxlx"), &file).unwrap();
    file
}

/// Waits until the page is connected, and has loaded its first content.
fn until_here(browser: &Browser<'_>) {
    browser.until("document.querySelector('#link').dataset.state === 'here'");
    browser.until("document.querySelector('#composer textarea')");
}

/// Sends a request from the composer.
fn ask(browser: &Browser<'_>, text: &str) {
    browser.click("#ask-text");
    browser.enter(text);
    browser.click("#composer button.main");
}

/// The parts of the conversation: key and text. For a card, the text is its title, because the rest
/// is loaded only when it is in view.
const LOG: &str = "[...document.querySelectorAll('#log > [data-key]')].map(it =>
    [it.dataset.key, (it.dataset.proposal ? it.querySelector('.title') : it).textContent])";

fn log(browser: &Browser<'_>) -> Vec<(String, String)> {
    serde_json::from_value(browser.is(LOG)).expect("each has a key and a text")
}

/// Asserts that each part occurs once.
#[track_caller]
fn is_each_once(log: &[(String, String)]) {
    let mut keys: Vec<&String> = log.iter().map(|(key, _)| key).collect();
    keys.sort();
    keys.dedup();
    assert_eq!(keys.len(), log.len(), "{log:?}");
}
