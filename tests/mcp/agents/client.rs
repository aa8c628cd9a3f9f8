//! Drives Claude Code, Codex and Gemini CLI from npm, each in a fresh home with the entry that
//! `vector setup` writes, and with a scripted model.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{env, thread};

use serde_json::{Value as Json, json};
use tempfile::TempDir;
use vector_tests::binary;
use vector_tests::daemon::Daemon;
use vector_tests::repository;
use vector_tests::requirement::Requirement;

use super::super::Person;
use super::model::{ModelWire, ScriptedModel};

/// An upper bound for every wait; a test that reaches it fails.
pub(super) const PATIENCE: Duration = Duration::from_mins(3);
/// The polling interval.
const LOOKED: Duration = Duration::from_millis(20);
/// The tool time-out of a client in tests that cut a call off, in seconds.
const CUT_OFF: u32 = 8;
/// A proxy that refuses every connection, so that no client reaches another machine.
const NOWHERE: &str = "http://127.0.0.1:9";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Agent {
    ClaudeCode,
    Codex,
    Gemini,
}

/// The tool time-out that a client starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    /// The client's default.
    Usual,
    /// `CUT_OFF`, which is shorter than the decision takes here.
    Short,
}

impl Agent {
    /// The name in `vector setup`.
    fn setup_name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }

    /// The client name that it sends in `initialize`.
    pub(super) fn client_name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex-mcp-client",
            Self::Gemini => "gemini-cli-mcp-client",
        }
    }

    pub(super) fn wire(self) -> ModelWire {
        match self {
            Self::ClaudeCode => ModelWire::Messages,
            Self::Codex => ModelWire::Responses,
            Self::Gemini => ModelWire::Gemini,
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
        }
    }
}

/// The folder of the installed clients; None, with a notice, if one is missing.
fn installed() -> Option<PathBuf> {
    let set = env::var_os("VECTOR_AGENTS").map(PathBuf::from);
    let folder = set.unwrap_or_else(|| repository::root().join("target").join("agents"));
    let bin = folder.join("node_modules").join(".bin");
    let all = [Agent::ClaudeCode, Agent::Codex, Agent::Gemini];
    if all.iter().all(|agent| bin.join(agent.program()).exists()) {
        return Some(bin);
    }
    Requirement::Agents.skip(&format!(
        "tests with Claude Code, Codex and Gemini CLI (not in {}, where .ci/run installs them)",
        folder.display()
    ));
    None
}

/// A home with a place, a daemon that has it open, and the clients that are set up there.
pub(super) struct AgentHome {
    bin: PathBuf,
    /// Declared before `folder`, so that it is dropped first.
    _daemon: Option<Daemon>,
    pub(super) place: PathBuf,
    folder: TempDir,
}

impl AgentHome {
    /// None if the clients are not installed.
    pub(super) fn new(agents: &[Agent]) -> Option<Self> {
        let bin = installed()?;
        // Codex refuses a home in the system's temporary folder.
        let homes = repository::root().join("target").join("agent-homes");
        fs::create_dir_all(&homes).unwrap();
        let folder = tempfile::tempdir_in(homes).unwrap();
        let place = folder.path().join("obby.rbxlx");
        fs::copy(repository::root().join("samples").join("obby.rbxlx"), &place).unwrap();
        let home = Self { bin, place, _daemon: None, folder };
        home.be_logged_in();
        let mut setup = home.command(binary::vector());
        setup.args(["setup", "--no-plugin", "--place"]).arg(&home.place);
        setup.env("VECTOR_HOME", home.vector());
        setup.args(agents.iter().flat_map(|agent| ["--client", agent.setup_name()]));
        let done = setup.output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let daemon = Daemon::of_place(binary::vector(), &home.vector(), &home.place);
        Some(Self { _daemon: Some(daemon), ..home })
    }

    /// Writes what the user configured before: an API key and trusted folders.
    fn be_logged_in(&self) {
        let gemini = self.folder.path().join(".gemini");
        fs::create_dir_all(&gemini).unwrap();
        let settings = json!({
            "security": {
                "auth": { "selectedType": "gemini-api-key" }, "folderTrust": { "enabled": false },
            },
            "privacy": { "usageStatisticsEnabled": false },
            "general": { "enableAutoUpdate": false, "enableAutoUpdateNotification": false },
        });
        fs::write(gemini.join("settings.json"), settings.to_string()).unwrap();
    }

    fn vector(&self) -> PathBuf {
        self.folder.path().join("vector")
    }

    pub(super) fn person(&self) -> HomePerson {
        HomePerson { home: self.vector() }
    }

    /// A command with this home, and without the rest of the environment or the network.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.folder.path());
        command.envs(env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("HOME", self.folder.path()).env("NO_COLOR", "1");
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"] {
            command.env(name, NOWHERE);
        }
        for name in ["NO_PROXY", "no_proxy"] {
            command.env(name, "127.0.0.1,localhost");
        }
        command
    }

    /// Runs a `vector` command of the user to its end, and returns its output.
    pub(super) fn vector_prints(&self, args: &[&str]) -> String {
        let mut vector = self.command(binary::vector());
        let printed = vector.env("VECTOR_HOME", self.vector()).args(args).output().unwrap();
        String::from_utf8_lossy(&printed.stdout).into_owned()
    }

    /// Starts a client with a request and a scripted model.
    pub(super) fn start(&self, agent: Agent, limit: Limit, model: &ScriptedModel) -> RunningAgent {
        let mut command = self.command(&self.bin.join(agent.program()));
        let at = format!("http://127.0.0.1:{}", model.port);
        let prompt = "Build what the script says.";
        match agent {
            Agent::ClaudeCode => {
                command.env("ANTHROPIC_BASE_URL", &at).env("ANTHROPIC_API_KEY", "sk-x");
                for name in [
                    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                    "DISABLE_AUTOUPDATER",
                    "DISABLE_TELEMETRY",
                    "DISABLE_ERROR_REPORTING",
                ] {
                    command.env(name, "1");
                }
                if limit == Limit::Short {
                    command.env("MCP_TOOL_TIMEOUT", (CUT_OFF * 1_000).to_string());
                }
                command.args(["-p", prompt, "--output-format", "json", "--allowedTools"]);
                command.arg("mcp__vector,ReadMcpResourceTool");
            }
            Agent::Codex => {
                let provider = format!(
                    "model_providers.scripted={{name=\"scripted\",base_url=\"{at}/v1\",wire_api=\"responses\",env_key=\"SCRIPTED_KEY\"}}"
                );
                command.env("SCRIPTED_KEY", "x").args(["exec", "--skip-git-repo-check"]);
                command.arg("--dangerously-bypass-approvals-and-sandbox");
                for set in [
                    "model_provider=scripted",
                    &provider,
                    "check_for_update_on_startup=false",
                    "analytics.enabled=false",
                ] {
                    command.args(["-c", set]);
                }
                if limit == Limit::Short {
                    command.args(["-c", &format!("mcp_servers.vector.tool_timeout_sec={CUT_OFF}")]);
                }
                command.args(["-m", "scripted", prompt]);
            }
            Agent::Gemini => {
                if limit == Limit::Short {
                    self.limit_gemini();
                }
                command.env("GEMINI_API_KEY", "x").env("GOOGLE_GEMINI_BASE_URL", &at);
                command.env("GEMINI_CLI_NO_RELAUNCH", "true");
                command.args(["-y", "-m", "gemini-2.5-flash", "-p", prompt]);
            }
        }
        let said = self.folder.path().join(format!("{}.log", agent.program()));
        let log = File::create(&said).unwrap();
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        // A new process group, so that the children can be killed with it.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        RunningAgent { child: command.spawn().unwrap(), said, began: Instant::now() }
    }

    /// Gemini reads its time-outs from the entry.
    fn limit_gemini(&self) {
        let file = self.folder.path().join(".gemini").join("settings.json");
        let mut settings: Json = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
        settings["mcpServers"]["vector"]["timeout"] = (CUT_OFF * 1_000).into();
        fs::write(&file, settings.to_string()).unwrap();
    }

    /// Whether the place file has a part of this name.
    pub(super) fn has_part(&self, name: &str) -> bool {
        let text = fs::read_to_string(&self.place).unwrap();
        text.contains(&format!("<string name=\"Name\">{name}</string>"))
    }
}

/// The user of the daemon of a home.
pub(super) struct HomePerson {
    home: PathBuf,
}

impl HomePerson {
    fn person(&self) -> Person<'_> {
        Person { home: &self.home, ends: false }
    }

    pub(super) fn get(&self, path: &str) -> Json {
        self.person().call("GET", path, &Json::Null).ok()
    }

    /// Waits for a pending proposal whose title contains `title`.
    #[track_caller]
    pub(super) fn waiting(&self, title: &str, agent: &mut RunningAgent) -> Json {
        agent.until(|| {
            let waiting = self.get("/api/proposals");
            let mut all = waiting["proposals"].as_array().unwrap().iter();
            all.find(|it| it["proposal"]["title"].as_str().unwrap().contains(title)).cloned()
        })
    }

    pub(super) fn decide(&self, proposal: &Json, decision: &Json) {
        self.person().decide(proposal, decision).ok();
    }

    /// Waits until a proposal has this status.
    #[track_caller]
    pub(super) fn until_status(&self, proposal: &Json, status: &str) {
        let (path, began) = (format!("/api/proposals/{}", proposal["seq"]), Instant::now());
        loop {
            let view = self.get(&path);
            if view["status"] == status {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "it is not {status}: {view}");
            thread::park_timeout(LOOKED);
        }
    }

    pub(super) fn workflows(&self) -> Vec<Json> {
        self.person().workflows()
    }
}

/// A running client, killed on drop.
pub(super) struct RunningAgent {
    child: Child,
    said: PathBuf,
    began: Instant,
}

impl RunningAgent {
    /// When the client has taken too long.
    pub(super) fn deadline(&self) -> Instant {
        self.began + PATIENCE
    }

    /// The client's output so far.
    pub(super) fn said(&self) -> String {
        fs::read_to_string(&self.said).unwrap_or_default()
    }

    /// Polls until `look` finds something; panics if the client takes too long or ends first.
    #[track_caller]
    pub(super) fn until<T>(&mut self, look: impl Fn() -> Option<T>) -> T {
        loop {
            let has_ended = self.child.try_wait().unwrap();
            if let Some(found) = look() {
                return found;
            }
            assert!(has_ended.is_none(), "it ended, {has_ended:?}: {}", self.said());
            assert!(Instant::now() < self.deadline(), "it takes too long: {}", self.said());
            thread::park_timeout(LOOKED);
        }
    }

    /// Polls until `look` finds something, even after the client has ended.
    #[track_caller]
    pub(super) fn until_after_end<T>(&self, look: impl Fn() -> Option<T>) -> T {
        loop {
            if let Some(found) = look() {
                return found;
            }
            assert!(Instant::now() < self.deadline(), "it takes too long: {}", self.said());
            thread::park_timeout(LOOKED);
        }
    }

    /// Waits for the client's end, and returns whether it succeeded.
    #[track_caller]
    pub(super) fn ends(&mut self) -> bool {
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.success();
            }
            assert!(Instant::now() < self.deadline(), "it takes too long: {}", self.said());
            thread::park_timeout(LOOKED);
        }
    }

    /// What the model received for its nth call.
    #[track_caller]
    pub(super) fn result(&mut self, model: &ScriptedModel, n: usize) -> super::model::Received {
        self.until(|| model.result(n, Duration::from_millis(200)))
    }

    /// Sends a signal to the client's process group: `INT` like Ctrl-C, `KILL` like a machine that
    /// is out of memory.
    #[cfg(unix)]
    pub(super) fn signal(&self, name: &str) {
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args([&format!("-{name}"), "--", &group]).status();
    }
}

impl Drop for RunningAgent {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            #[cfg(unix)]
            self.signal("KILL");
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}
