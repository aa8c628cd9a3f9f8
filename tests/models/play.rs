//! Plays a scenario: the real binary before a scripted provider, and what it leaves behind.
//!
//! What is compared is the ledger, what became of the place, what the person was shown and what the
//! provider was sent. `UPDATE=1` writes the first two anew.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use vector_daemon::providers::answer::Wire;
use vector_tests::binary::Home;
use vector_tests::printed;

use super::folder::{Kill, Scenario, provider};
use super::server::{Request, Server};
use super::terminal::{self, Decision};

/// The key that every scenario has, and nobody may ever be shown.
pub(crate) const KEY: &str = "sk-never-shown-0123456789";

/// A scenario that is being played on a wire.
pub(crate) struct Stage {
    pub(crate) scenario: Scenario,
    pub(crate) home: Home,
    pub(crate) place: PathBuf,
    pub(crate) server: Server,
    /// The block of `scenario.toml` that each reply is of.
    blocks: Vec<usize>,
    wire: Wire,
    decisions: Vec<Decision>,
}

/// How it went.
pub(crate) struct Played {
    /// The exit code.
    pub(crate) code: i32,
    /// All that was shown, on stdout and stderr.
    pub(crate) shown: String,
    /// The ledger, normalised.
    pub(crate) ledger: String,
    /// What became of the place, as `vector diff` tells it.
    pub(crate) diff: String,
}

impl Stage {
    /// Sets it: a home with a place and settings, and the provider.
    pub(crate) fn set(folder: &Path, wire: Option<Wire>) -> Self {
        let scenario = Scenario::read(folder);
        let wire = wire.unwrap_or(scenario.wire);
        let (blocks, replies) = scenario.replies(wire).into_iter().unzip();
        let server = Server::start(replies);
        let home = Home::new();
        let bytes = scenario.place(folder);
        let place = home.path().join("place.rbxlx");
        fs::write(&place, &bytes).unwrap();
        fs::write(home.path().join("before.rbxlx"), &bytes).unwrap();
        let settings = home.path().join("vector");
        fs::create_dir_all(&settings).unwrap();
        let (name, _) = scenario.model(wire);
        let url = server.url();
        let lines = format!("{}\n[providers.{name}]\nbase_url = \"{url}\"\n", scenario.settings);
        fs::write(settings.join("vector.toml"), lines).unwrap();
        if !scenario.models.is_empty() {
            fs::write(settings.join("models.toml"), &scenario.models).unwrap();
        }
        let decisions = scenario.decisions.iter().map(|it| Decision::of(it)).collect();
        Self { scenario, home, place, server, blocks, wire, decisions }
    }

    /// A command with everything that it needs in its environment.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = self.home.command(args);
        let (_, variable) = provider(self.wire);
        command.env(variable, KEY).env("AWS_REGION", "us-east-1");
        if let Some(Decision::Edit(script)) =
            self.decisions.iter().find(|it| matches!(it, Decision::Edit(_)))
        {
            let editor = self.home.path().join("editor");
            fs::write(&editor, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).unwrap();
            command.env("EDITOR", editor);
        }
        command
    }

    /// The command of the scenario.
    pub(crate) fn edit(&self, more: &[&str]) -> Command {
        let place = self.place.display().to_string();
        let (_, model) = self.scenario.model(self.wire);
        let mut args = vec!["edit", &place, "--prompt", &self.scenario.prompt, "--model", &model];
        args.extend(self.scenario.args.iter().map(String::as_str));
        args.extend(more);
        self.command(&args)
    }

    fn yes(&self) -> &'static [&'static str] {
        if self.decisions.is_empty() { &["--yes"] } else { &[] }
    }

    /// Runs a command to its end: the exit code, and all that it shows.
    fn run(mut command: Command, decisions: &[Decision]) -> (i32, String) {
        if !decisions.is_empty() {
            let ended = terminal::run(command, decisions);
            return (ended.code, ended.shown);
        }
        let output = command.stdin(Stdio::null()).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code().unwrap_or(-1), text(&output.stdout) + &text(&output.stderr))
    }

    /// Plays it to its end.
    pub(crate) fn play(&self) -> Played {
        let (code, shown) = match &self.scenario.kill {
            None => Self::run(self.edit(self.yes()), &self.decisions),
            Some(kill) => {
                self.kill(kill);
                Self::run(self.resume(), &[])
            }
        };
        Played { code, shown, ledger: self.ledger(), diff: self.diff() }
    }

    /// The command that goes on with what was killed.
    fn resume(&self) -> Command {
        let place = self.place.display().to_string();
        self.command(&["edit", &place, "--resume", "--yes"])
    }

    /// Runs it until it is where it is to be killed.
    fn kill(&self, kill: &Kill) {
        match kill.at.as_str() {
            "asked" | "streaming" => {
                let (reply, middle) = (kill.nth - 1, kill.at == "streaming");
                self.server.hold_back(reply, middle);
                let quiet = Stdio::null;
                let mut command = self.edit(self.yes());
                let mut child =
                    command.stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().unwrap();
                self.server.wait_at_gate(1);
                child.kill().unwrap();
                child.wait().unwrap();
            }
            "waiting" => {
                let ended = terminal::run_until_asked(self.edit(&[]), &self.decisions);
                assert_eq!(ended.code, -1, "it was to be killed: {}", ended.shown);
            }
            entry => {
                let name = format!("\"entry\":\"{entry}\"");
                let mut command = self.edit(&["--yes", "--json"]);
                let command = command.stdin(Stdio::null()).stderr(Stdio::null());
                let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
                let lines = BufReader::new(child.stdout.take().unwrap()).lines();
                let found = lines.map_while(Result::ok).filter(|line| line.contains(&name));
                let found = found.take(kill.nth).count();
                child.kill().unwrap();
                child.wait().unwrap();
                assert_eq!(found, kill.nth, "it never wrote so many `{entry}`");
            }
        }
        self.server.let_go();
    }

    /// The ledger, without what differs from run to run.
    pub(crate) fn ledger(&self) -> String {
        let log = self.home.run(&["log", "--json"], "");
        assert_eq!(log.code, 0, "{}", log.stderr);
        let mut normal = Normal {
            names: vec![
                (self.place.display().to_string(), "PLACE"),
                (self.home.path().display().to_string(), "HOME"),
                (self.server.url(), "URL"),
                (self.server.url().replace("http://", ""), "HOST"),
            ],
            hashes: HashMap::new(),
        };
        let mut lines = String::new();
        for line in log.stdout.lines() {
            let mut record: Json = serde_json::from_str(line).unwrap();
            record["at"] = Json::from(0);
            normal.normalise(&mut record);
            lines.push_str(&format!("{record}\n"));
        }
        lines
    }

    /// What became of the place.
    fn diff(&self) -> String {
        let before = self.home.path().join("before.rbxlx").display().to_string();
        let diff = self.home.run(&["diff", &before, &self.place.display().to_string()], "");
        assert!(diff.code < 2, "{}", diff.stderr);
        diff.stdout.replace(&self.home.path().display().to_string(), "HOME")
    }

    /// What was wrong with what the provider was sent.
    pub(crate) fn wrongly_sent(&self) -> Vec<String> {
        let mut wrong = Vec::new();
        let requests = self.server.requests();
        // What a killed process has sent is sent again.
        if self.scenario.kill.is_none() && requests.len() != self.blocks.len() {
            wrong.push(format!("{} requests, not {}", requests.len(), self.blocks.len()));
        }
        if self.server.left() > 0 {
            wrong.push(format!("{} replies were not asked for", self.server.left()));
        }
        if self.server.busiest() > 1 {
            wrong.push(format!("{} requests at the same time", self.server.busiest()));
        }
        for (at, (request, block)) in requests.iter().zip(&self.blocks).enumerate() {
            let mut say = |what: &str| wrong.push(format!("request {}: {what}", at + 1));
            for expected in &self.scenario.reply[*block].sent {
                expected.differences(request).iter().for_each(|it| say(it));
            }
            if let Some(what) = misplaced_key(request) {
                say(&what);
            }
        }
        wrong
    }
}

/// A key stands in one header, and nowhere else.
fn misplaced_key(request: &Request) -> Option<String> {
    if request.body.to_string().contains(KEY) || request.path.contains(KEY) {
        return Some("the key stands in the address or the body".to_owned());
    }
    let holders = request.headers.iter().filter(|(_, value)| value.contains(KEY)).count();
    (holders != 1).then(|| format!("{holders} headers hold the key"))
}

/// Makes runs comparable.
struct Normal {
    names: Vec<(String, &'static str)>,
    hashes: HashMap<String, String>,
}

impl Normal {
    fn normalise(&mut self, json: &mut Json) {
        match json {
            Json::String(text) => {
                if text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                    let next = format!("#{}", self.hashes.len() + 1);
                    let short = self.hashes.entry(text.clone()).or_insert(next);
                    short.clone_into(text);
                } else {
                    for (name, short) in &self.names {
                        *text = text.replace(name, short);
                    }
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.normalise(item)),
            Json::Object(members) => {
                for (name, member) in members.iter_mut() {
                    // How long a request is changes with each word of the rules.
                    if matches!(name.as_str(), "bytes" | "estimate") && member.is_number() {
                        *member = Json::from(0);
                    }
                    self.normalise(member);
                }
            }
            _ => {}
        }
    }
}

/// Plays the scenario of a folder, and says what is wrong.
pub(crate) fn check(folder: &Path, wire: Option<Wire>) -> Vec<String> {
    let stage = Stage::set(folder, wire);
    let played = stage.play();
    let mut wrong = stage.wrongly_sent();
    if played.code != stage.scenario.exit {
        wrong.push(format!("it ended with {}, not {}", played.code, stage.scenario.exit));
    }
    for shown in &stage.scenario.shown {
        if !played.shown.contains(shown) {
            wrong.push(format!("nobody was shown {shown:?}"));
        }
    }
    if played.shown.contains(KEY) || played.ledger.contains(KEY) {
        wrong.push("the key was shown or kept".to_owned());
    }
    for (name, found) in [("expected.jsonl", &played.ledger), ("expected.diff", &played.diff)] {
        let file = folder.join(name);
        if printed::updating() && wire.is_none() {
            fs::write(&file, found).unwrap();
            continue;
        }
        let expected = fs::read_to_string(&file).unwrap_or_default();
        let (expected, found) = match wire {
            Some(_) => (neutral(&expected), neutral(found)),
            None => (expected, found.clone()),
        };
        if let Some(difference) = first_difference(&expected, &found) {
            wrong.push(format!("{name}: {difference}"));
        }
    }
    if !wrong.is_empty() {
        wrong.insert(0, stage.scenario.rule.clone());
        wrong.push(format!("it was shown:\n{}", played.shown));
    }
    wrong
}

/// A ledger without what each wire has of its own: who was asked, how calls are named, what is
/// replayed, what it cost.
fn neutral(ledger: &str) -> String {
    let own = |line: &str| {
        let Ok(mut record) = serde_json::from_str::<Json>(line) else {
            return line.to_owned();
        };
        if record["entry"] == "called" {
            record.as_object_mut().unwrap().remove("id");
        }
        for name in ["driver", "model", "replay", "tokens", "cost"] {
            record.as_object_mut().unwrap().remove(name);
        }
        for name in ["model", "window", "max_output", "effort"] {
            if let Some(request) = record["request"].as_object_mut() {
                request.remove(name);
            }
        }
        record.to_string()
    };
    ledger.lines().map(|line| own(line) + "\n").collect()
}

fn first_difference(expected: &str, found: &str) -> Option<String> {
    if expected == found {
        return None;
    }
    let at = expected.lines().zip(found.lines()).take_while(|(a, b)| a == b).count();
    let line = |text: &str| text.lines().nth(at).unwrap_or("(the end)").to_owned();
    Some(format!("line {}:\n  expected: {}\n  found:    {}", at + 1, line(expected), line(found)))
}
