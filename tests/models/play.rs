//! Runs a scenario: the real binary with a scripted provider.
//!
//! The ledger, the diff of the place, the output for the user and the requests to the provider are
//! compared with the expected ones. `UPDATE=1` rewrites the expected ledger and diff.

use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value as Json;
use vector_providers::wire::WireFormat;
use vector_tests::binary::Home;
use vector_tests::printed;

use super::conform::flaws;
use super::folder::{Kill, Scenario, Scripted, provider, replies};
use super::server::{Request, Server};
use super::terminal::{self, Decision};

/// The key of every scenario. It must never be shown.
pub(crate) const KEY: &str = "sk-never-shown-0123456789";

/// A scenario that is run on a wire.
pub(crate) struct Stage {
    pub(crate) scenario: Scenario,
    pub(crate) home: Home,
    pub(crate) place: PathBuf,
    pub(crate) server: Server,
    /// The block of `scenario.toml` for each reply.
    blocks: Vec<usize>,
    /// The server and blocks after a kill. A second server, because requests of the killed process
    /// may still reach the first.
    resumed: (Server, Vec<usize>),
    wire: WireFormat,
    decisions: Vec<Decision>,
}

/// The results of a scenario.
pub(crate) struct Played {
    pub(crate) code: i32,
    /// All output, on stdout and stderr.
    pub(crate) shown: String,
    /// The normalized ledger.
    pub(crate) ledger: String,
    /// The changes of the place, as `vector diff` prints them.
    pub(crate) diff: String,
}

impl Stage {
    /// Sets a scenario up: a home with a place and settings, and the provider.
    pub(crate) fn set(folder: &Path, wire: Option<WireFormat>) -> Self {
        let scenario = Scenario::read(folder);
        let wire = wire.unwrap_or(scenario.wire);
        let (blocks, scripted) = replies(&scenario.reply, wire);
        let server = Server::start(scripted);
        let (later, scripted) = replies(&scenario.resumed, wire);
        let resumed = (Server::start(scripted), later);
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
        Self { scenario, home, place, server, blocks, resumed, wire, decisions }
    }

    /// A command with the environment that the scenario needs.
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
        let mut args = match &self.scenario.prompt {
            Some(prompt) => vec!["edit", &place, "--prompt", prompt],
            None => vec!["chat", &place],
        };
        args.extend(["--model", &model]);
        args.extend(self.scenario.args.iter().map(String::as_str));
        args.extend(more);
        self.command(&args)
    }

    /// The command that resumes after a kill.
    fn resume(&self) -> Command {
        let place = self.place.display().to_string();
        let (provider, model) = self.scenario.model(self.wire);
        let mut command = self.command(&["chat", &place, "--model", &model, "--yes"]);
        let variable = format!("VECTOR_{}_BASE_URL", provider.to_uppercase());
        command.env(variable, self.resumed.0.url());
        command
    }

    /// Runs the scenario to its end.
    pub(crate) fn play(&self) -> Played {
        let Scenario { say, go_on, kill, .. } = &self.scenario;
        let (code, shown) = match kill {
            Some(kill) => {
                self.kill(kill);
                piped(self.resume(), go_on)
            }
            None if self.decisions.is_empty() => piped(self.edit(&["--yes"]), say),
            None => {
                let ended = terminal::run(self.edit(&[]), &self.decisions, &terminal::Kill::Never);
                (ended.code, ended.shown)
            }
        };
        Played { code, shown, ledger: self.ledger(), diff: self.diff() }
    }

    /// Runs the command up to the point at which it is to be killed, and kills it.
    fn kill(&self, kill: &Kill) {
        let Kill { at, nth } = kill;
        if at == "asked" || at == "streaming" {
            self.server.hold_back(nth - 1, at == "streaming");
            let quiet = Stdio::null;
            let mut command = self.edit(&["--yes"]);
            let mut child = command.stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn().unwrap();
            self.server.wait_at_gate(1);
            child.kill().unwrap();
            child.wait().unwrap();
            return;
        }
        let when = match at.as_str() {
            "waiting" => terminal::Kill::AtCard,
            entry => terminal::Kill::Shown(format!("\"entry\":\"{entry}\""), *nth),
        };
        if self.is_racing() {
            // Keep the process from ending before it is killed.
            self.server.hold_back(self.blocks.len() - 1, false);
        }
        let ended = terminal::run(self.edit(&["--json"]), &self.decisions, &when);
        assert_eq!(ended.code, -1, "it was to be killed: {}", ended.shown);
    }

    /// The ledger, without values that differ between runs.
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

    /// The changes of the place.
    fn diff(&self) -> String {
        let before = self.home.path().join("before.rbxlx").display().to_string();
        let diff = self.home.run(&["diff", &before, &self.place.display().to_string()], "");
        assert!(diff.code < 2, "{}", diff.stderr);
        diff.stdout.replace(&self.home.path().display().to_string(), "HOME")
    }

    /// Checks that `vector debug request` rebuilds the last request exactly from the ledger.
    fn misremembered(&self, ledger: &str) -> Option<String> {
        let (later, _) = &self.resumed;
        let sent = later.requests().pop().or_else(|| self.server.requests().pop())?;
        let number = last_of(ledger, "requested")?.to_string();
        let told = self.home.run(&["debug", "request", &number], "");
        let body: Json = serde_json::from_str(&told.stdout).unwrap_or_default();
        let is_told = told.code == 0 && body == sent.body;
        (!is_told).then(|| format!("request {number} is rebuilt otherwise: {}", told.stderr))
    }

    /// Whether it is random how far the process gets before it is killed. If so, the ledger is only
    /// checked for consistency. The place must be as expected nevertheless.
    fn is_racing(&self) -> bool {
        let kill = self.scenario.kill.as_ref();
        kill.is_some_and(|kill| !matches!(kill.at.as_str(), "asked" | "streaming" | "waiting"))
    }

    /// Returns what was wrong with the requests to the provider.
    pub(crate) fn wrongly_sent(&self) -> Vec<String> {
        let scenario = &self.scenario;
        let how = (self.wire, scenario.provider.is_none(), self.wire == scenario.wire);
        let mut wrong = misfits(&self.server, &self.blocks, &scenario.reply, how);
        if scenario.kill.is_none() {
            wrong.extend(misnumbered(&self.server, &self.blocks));
        }
        let (server, blocks) = &self.resumed;
        let later = misfits(server, blocks, &scenario.resumed, how);
        let later = later.into_iter().chain(misnumbered(server, blocks));
        wrong.extend(later.map(|it| format!("resumed: {it}")));
        wrong
    }
}

/// The number of the last entry of a kind.
fn last_of(ledger: &str, entry: &str) -> Option<u64> {
    let mut records = ledger.lines().rev().filter_map(|it| serde_json::from_str::<Json>(it).ok());
    records.find(|record| record["entry"] == entry)?["seq"].as_u64()
}

/// Checks that there were as many requests as replies.
fn misnumbered(server: &Server, blocks: &[usize]) -> Option<String> {
    let count = server.requests().len();
    (count != blocks.len()).then(|| format!("{count} requests, not {}", blocks.len()))
}

/// Returns the unmet expectations on the requests. Those that name a location are checked only on
/// the scenario's own wire, because locations differ between wires.
fn misfits(
    server: &Server,
    blocks: &[usize],
    scripted: &[Scripted],
    (wire, is_its_own, is_at_home): (WireFormat, bool, bool),
) -> Vec<String> {
    let mut wrong = Vec::new();
    if server.busiest() > 1 {
        wrong.push(format!("{} requests at the same time", server.busiest()));
    }
    for (at, (request, block)) in server.requests().iter().zip(blocks).enumerate() {
        let expected = scripted[*block].sent.iter().filter(|it| is_at_home || it.is_of_any_wire());
        let differences = expected.flat_map(|it| it.differences(request));
        let differences = differences.chain(misplaced_key(request, is_its_own));
        let differences = differences.chain(flaws(wire, &request.body));
        wrong.extend(differences.map(|it| format!("request {}: {it}", at + 1)));
    }
    wrong
}

/// Runs a command without a terminal and with these lines on stdin. Returns the exit code and all
/// output.
fn piped(mut command: Command, lines: &[String]) -> (i32, String) {
    let command = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let text = lines.iter().fold(String::new(), |text, line| text + line + "\n");
    // The command may end without reading all of its input.
    let _ = child.stdin.take().unwrap().write_all(text.as_bytes());
    let output = child.wait_with_output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code().unwrap_or(-1), text(&output.stdout) + &text(&output.stderr))
}

/// Checks that the provider's key is in exactly one header and nowhere else. If the provider is not
/// the wire's usual one, the key must not be sent at all.
fn misplaced_key(request: &Request, is_its_own: bool) -> Option<String> {
    if request.body.to_string().contains(KEY) || request.path.contains(KEY) {
        return Some("the key stands in the address or the body".to_owned());
    }
    let holders = request.headers.iter().filter(|(_, value)| value.contains(KEY)).count();
    (holders != usize::from(is_its_own)).then(|| format!("{holders} headers hold the key"))
}

/// Replaces values that differ between runs.
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
                // If the provider reports no tokens, the cost is estimated from the length of the
                // request.
                if members.get("entry").is_some_and(|it| it == "replied")
                    && !members.contains_key("tokens")
                {
                    members.remove("cost");
                }
                for (name, member) in members.iter_mut() {
                    // The length of a request changes with each word of the instructions.
                    if matches!(name.as_str(), "bytes" | "budget" | "estimate")
                        && member.is_number()
                    {
                        *member = Json::from(0);
                    }
                    self.normalise(member);
                }
            }
            _ => {}
        }
    }
}

/// Runs the scenario of a folder, and returns what is wrong.
pub(crate) fn check(folder: &Path, wire: Option<WireFormat>) -> Vec<String> {
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
    wrong.extend(unsettled(&played.ledger));
    wrong.extend(stage.misremembered(&played.ledger));
    for (name, found) in [("expected.jsonl", &played.ledger), ("expected.diff", &played.diff)] {
        let file = folder.join(name);
        if name == "expected.jsonl" && stage.is_racing() {
            continue;
        }
        if printed::updating() {
            if wire.is_none() {
                fs::write(&file, found).unwrap();
            }
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

/// Returns the approved proposals without exactly one approval and exactly one outcome, applied or
/// failed.
fn unsettled(ledger: &str) -> Vec<String> {
    let records: Vec<Json> = ledger.lines().map(|it| serde_json::from_str(it).unwrap()).collect();
    let about = |entry: &'static str, proposal: &Json| {
        let found = |it: &&Json| it["entry"] == entry && it["proposal"] == *proposal;
        records.iter().filter(found).count()
    };
    let approved = records.iter().filter(|record| record["entry"] == "approved");
    let settled = approved.map(|record| &record["proposal"]).filter_map(|proposal| {
        let (done, failed) = (about("applied", proposal), about("failed", proposal));
        let is_once = about("approved", proposal) == 1 && done + failed == 1;
        (!is_once).then(|| format!("proposal {proposal}: applied {done} times, failed {failed}"))
    });
    settled.collect()
}

/// A ledger without what differs between wires: driver and model, call ids, replay data, token
/// counts and costs.
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
        if let Some(Json::Object(request)) = record.get_mut("request") {
            for name in ["model", "window", "max_output", "effort"] {
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
