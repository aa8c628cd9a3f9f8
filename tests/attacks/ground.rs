//! The environment of an attack: a user's home with a project, places and a ledger. If needed, also
//! a daemon with a paired plugin and a pending proposal.
//!
//! It records the state before the attack and compares it afterwards.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use scene_schemas::api::{Method, ROUTES, Route, Token};
use scene_schemas::entry::{Entry, Record, Seq};
use serde_json::{Value as Json, json};
use vector_ledger::Ledger;
use vector_tests::binary::{self, Home, Output};
use vector_tests::daemon::{Answer, Daemon, Plugin};
use vector_tests::places::{self, Format};

use super::{Attack, Outcome};

/// Runs an attack and checks its result against its row.
#[track_caller]
pub(super) fn hold(attack: &Attack) {
    let mut ground = Ground::new(attack.served);
    let seen = (attack.run)(&mut ground);
    assert!(!seen.is_empty(), "nothing was tried");
    for (at, seen) in seen.iter().enumerate() {
        if let Err(why) = fits(attack.outcome, seen) {
            panic!("try {at}: expected {}, but {why}: {seen:?}", attack.outcome);
        }
    }
    let is_unheard = matches!(attack.outcome, Outcome::Http(..) | Outcome::Line);
    ground.is_as_it_was(!is_unheard);
}

/// The result of one try.
#[derive(Debug)]
pub(super) enum Seen {
    /// A response. A status of 0 means that there was none.
    Reply(Reply),
    /// A tool result: whether it is an error, and its text.
    Tool(bool, String),
    /// The output of a command.
    Run(Output),
    /// Another outcome, which the row has checked itself.
    Instead,
}

/// Any HTTP response.
#[derive(Debug, Clone)]
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Json,
}

impl Reply {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = serde_json::from_str(body).unwrap_or_else(|_| body.into());
        Self { status, head: head.to_owned(), body }
    }
}

impl From<Answer> for Seen {
    fn from(Answer { status, body }: Answer) -> Self {
        Self::Reply(Reply { status, head: String::new(), body })
    }
}

fn fits(outcome: Outcome, seen: &Seen) -> Result<(), String> {
    let must = |is: bool, why: &str| if is { Ok(()) } else { Err(why.to_owned()) };
    match (outcome, seen) {
        (Outcome::Http(status, kind), Seen::Reply(reply)) => {
            must(reply.status == status, "the status is another")?;
            must(reply.body["kind"] == kind, "the kind is another")?;
            let says = |field: &str| reply.body[field].as_str().is_some_and(|it| it.ends_with('.'));
            must(says("message") && says("hint"), "it does not say what is wrong and what to do")?;
            let head = reply.head.to_ascii_lowercase();
            must(!head.contains("access-control-allow"), "another page may read it")
        }
        (Outcome::Line, Seen::Reply(reply)) => {
            must(reply.status == 0 || (400..500).contains(&reply.status), "it was answered")
        }
        (Outcome::Tool(said), Seen::Tool(is_error, text)) => {
            must(*is_error, "it is no error")?;
            must(text.contains(said), "it says something else")
        }
        (Outcome::Exit(code, said), Seen::Run(run)) => {
            must(run.code == code, "the code is another")?;
            must(run.stderr.contains(said) || run.stdout.contains(said), "it says something else")?;
            must(!run.stderr.contains("panicked"), "it panicked")
        }
        (Outcome::Instead(_), Seen::Instead) => Ok(()),
        _ => Err("it is of another kind".to_owned()),
    }
}

/// The state that an attack must not change.
#[derive(Debug, Clone, PartialEq)]
struct Stand {
    files: BTreeMap<PathBuf, Vec<u8>>,
    settings: Json,
    waiting: Vec<Json>,
}

/// How long to read a response before giving up.
const PATIENCE: Duration = Duration::from_secs(20);
/// The session id of the plugin.
pub(super) const WINDOW: &str = "window-1";

pub(super) struct Ground {
    // Declared first, so that the daemon ends before its home is deleted.
    daemon: Option<Daemon>,
    pub(super) home: Home,
    /// The credential of the paired plugin, and its token.
    pub(super) credential: String,
    pub(super) plugin: String,
    pub(super) epoch: u64,
    /// The user's token, and the agents' token.
    pub(super) person: String,
    pub(super) agent: String,
    /// The session id of the Rojo project.
    pub(super) project: String,
    /// A pending proposal of the user's own task.
    pub(super) proposal: u64,
    head: Seq,
    stand: Option<Stand>,
}

impl Ground {
    fn new(is_served: bool) -> Self {
        let home = Home::new();
        lay(home.path());
        let mut ground = Self {
            daemon: None,
            home,
            credential: String::new(),
            plugin: String::new(),
            epoch: 0,
            person: String::new(),
            agent: String::new(),
            project: String::new(),
            proposal: 0,
            head: Seq(0),
            stand: None,
        };
        if is_served {
            ground.serve();
            ground.begin();
        }
        ground.note();
        ground
    }

    /// The ledger's folder.
    pub(super) fn ledger(&self) -> PathBuf {
        self.home.path().join("vector")
    }

    /// The path of a file or folder in the user's home.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// Starts or restarts the daemon, and reads its new tokens.
    pub(super) fn serve(&mut self) {
        drop(self.daemon.take());
        let daemon = Daemon::of_project(binary::vector(), &self.ledger(), &self.path("game"));
        self.person = token(&self.ledger().join("token"));
        self.agent = token(&self.ledger().join("agent-token"));
        self.daemon = Some(daemon);
    }

    /// Pairs a plugin with a small place, and starts a task of the user that waits for a decision.
    fn begin(&mut self) {
        let daemon = self.daemon.as_ref().unwrap();
        let mut plugin = Plugin::pair(daemon, WINDOW);
        plugin.tell_place();
        plugin.chat("rename game.Workspace.Wall to Tower").ok();
        let proposal = plugin.until(|polled| {
            let mut events = polled["events"].as_array()?.iter().map(|it| &it["event"]);
            events.find(|it| it["event"] == "proposal_mapped")?["proposal"].as_u64()
        });
        let (credential, token) = (plugin.credential.clone(), plugin.token.clone());
        let epoch = plugin.epoch;
        (self.credential, self.plugin) = (credential, token);
        (self.epoch, self.proposal) = (epoch, proposal);
        let sessions = self.person("GET", "/api/sessions", &Json::Null).body;
        let all = sessions["sessions"].as_array().unwrap();
        let name = |it: &Json| it["session"].as_str().unwrap().to_owned();
        self.project = all.iter().map(name).find(|it| it.starts_with("project-")).unwrap();
    }

    /// Records the current state as the one that must not change from here on.
    pub(super) fn note(&mut self) {
        self.head = self.records().last().map_or(Seq(0), |record| record.seq);
        self.stand = Some(self.stand());
    }

    /// All records of the ledger.
    pub(super) fn records(&self) -> Vec<Record> {
        if !self.ledger().join("ledger.sqlite").is_file() {
            return Vec::new();
        }
        Ledger::open(&self.ledger()).unwrap().read(Seq(0), 10_000).unwrap()
    }

    fn stand(&self) -> Stand {
        let (mut settings, mut waiting) = (Json::Null, Vec::new());
        if self.daemon.is_some() {
            settings = self.person("GET", "/api/settings", &Json::Null).body;
            let all = self.person("GET", "/api/proposals", &Json::Null).body;
            // Leave out proposals of the attack itself: they wait for the user, as they should.
            let old = |it: &&Json| it["seq"].as_u64().is_some_and(|seq| seq <= self.head.0);
            waiting = all["proposals"].as_array().unwrap().iter().filter(old).cloned().collect();
        }
        Stand { files: files(self.home.path()), settings, waiting }
    }

    /// Asserts that nothing has changed. If `may_record`, the ledger may have new entries, but none
    /// that approves, applies or reverts anything.
    #[track_caller]
    fn is_as_it_was(&self, may_record: bool) {
        let new: Vec<Record> = self.records().into_iter().filter(|it| it.seq > self.head).collect();
        for record in &new {
            let is_done = matches!(
                record.entry,
                Entry::Approved { .. }
                    | Entry::Applying { .. }
                    | Entry::Applied { .. }
                    | Entry::Failed { .. }
                    | Entry::Undone { .. }
                    | Entry::Redone { .. }
            );
            assert!(may_record && !is_done, "the ledger has {:?}", record.entry);
        }
        let (before, after) = (self.stand.as_ref().unwrap(), self.stand());
        assert_eq!(after.settings, before.settings, "the settings");
        assert_eq!(after.waiting, before.waiting, "what waits");
        let names = |stand: &Stand| stand.files.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&after), names(before), "the files that there are");
        for (name, bytes) in &after.files {
            assert!(before.files[name] == *bytes, "{} has changed", name.display());
        }
    }

    pub(super) fn port(&self) -> u16 {
        self.daemon().port
    }

    pub(super) fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().unwrap()
    }

    /// Calls the daemon with the user's token.
    pub(super) fn person(&self, method: &str, path: &str, body: &Json) -> Answer {
        self.daemon().call(method, path, Some(&self.person), body)
    }

    /// Calls the daemon with the agents' token.
    pub(super) fn agent(&self, method: &str, path: &str, body: &Json) -> Answer {
        self.daemon().call(method, path, Some(&self.agent), body)
    }

    /// The token that a route requires.
    pub(super) fn token(&self, route: &Route) -> Option<&str> {
        match route.token {
            Token::None => None,
            Token::Plugin => Some(&self.plugin),
            Token::Human | Token::Client => Some(&self.person),
        }
    }

    /// The path of a route, with `{id}` replaced by an existing session or proposal.
    pub(super) fn path_of(&self, route: &Route) -> String {
        let id = match route.path {
            it if it.contains("sessions") => WINDOW.to_owned(),
            _ => self.proposal.to_string(),
        };
        route.path.replace("{id}", &id)
    }

    /// Calls every route correctly, except for these headers.
    pub(super) fn each(&self, extra: &[(&str, &str)]) -> Vec<Seen> {
        ROUTES.iter().map(|route| self.with(route, extra)).collect()
    }

    /// Calls every route that takes a body correctly, except for these headers.
    pub(super) fn each_with_body(&self, extra: &[(&str, &str)]) -> Vec<Seen> {
        let with_body = ROUTES.iter().filter(|route| route.has_body());
        with_body.map(|route| self.with(route, extra)).collect()
    }

    /// Calls one route correctly, except for these headers. A header with an empty value is left
    /// out.
    pub(super) fn with(&self, route: &Route, extra: &[(&str, &str)]) -> Seen {
        let bearer = self.token(route).map(|token| format!("Bearer {token}"));
        let host = format!("127.0.0.1:{}", self.port());
        let mut headers = vec![("Host", host.as_str()), ("Content-Type", "application/json")];
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        headers.retain(|(name, _)| !extra.iter().any(|(other, _)| other == name));
        headers.extend(extra.iter().filter(|(_, value)| !value.is_empty()));
        let body = if route.has_body() { "{}" } else { "" };
        self.send(route.method.as_str(), &self.path_of(route), &headers, body)
    }

    /// Sends a request with exactly these headers, plus `Connection` and its `Content-Length`.
    pub(super) fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Seen {
        let mut text = format!("{method} {target} HTTP/1.1\r\nConnection: close\r\n");
        for (name, value) in headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        self.line(text.as_bytes())
    }

    /// Sends a request with a valid `Host`, and with `token` if it is given.
    pub(super) fn ask(&self, method: &str, target: &str, token: Option<&str>, body: &str) -> Seen {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let host = format!("127.0.0.1:{}", self.port());
        let mut headers = vec![("Host", host.as_str()), ("Content-Type", "application/json")];
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        self.send(method, target, &headers, body)
    }

    /// Sends bytes and reads until the connection ends.
    pub(super) fn line(&self, bytes: &[u8]) -> Seen {
        let mut stream = self.connect();
        // A server may answer and close the connection before it has read everything.
        let _ = stream.write_all(bytes);
        read(stream)
    }

    /// Sends bytes, closes the sending side, and reads until the connection ends.
    pub(super) fn cut(&self, bytes: &[u8]) -> Seen {
        let mut stream = self.connect();
        stream.write_all(bytes).unwrap();
        stream.shutdown(Shutdown::Write).unwrap();
        read(stream)
    }

    /// Builds a request head with this request line, these header lines and the user's token.
    pub(super) fn head(&self, first: &str, lines: &str) -> String {
        format!(
            "{first} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nConnection: \
             close\r\n{lines}\r\n",
            self.port(),
            self.person
        )
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port())).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Runs `vector` in the user's home.
    pub(super) fn run(&self, args: &[&str], stdin: &str) -> Seen {
        Seen::Run(self.home.run(args, stdin))
    }

    /// Builds the request for a decision on a proposal, as its current view requires it.
    pub(super) fn decision(&self, proposal: u64, decision: &Json) -> Json {
        let shown = self.person("GET", &format!("/api/proposals/{proposal}"), &Json::Null).body;
        let shown = &shown["proposal"];
        json!({ "patch_id": shown["patch_id"], "base": shown["base"], "decision": decision })
    }

    /// Decides a proposal as the user.
    pub(super) fn decide(&self, proposal: u64, decision: &Json) -> Answer {
        let decide = self.decision(proposal, decision);
        self.person("POST", &format!("/api/proposals/{proposal}/decide"), &decide)
    }

    /// Changes some settings, and accepts that as the new state.
    pub(super) fn choose(&mut self, changed: &Json) {
        let mut settings = self.person("GET", "/api/settings", &Json::Null).body;
        for (name, value) in changed.as_object().unwrap() {
            settings[name] = value.clone();
        }
        self.person("PUT", "/api/settings", &settings).ok();
        self.note();
    }
}

fn read(mut stream: TcpStream) -> Seen {
    let (mut answer, mut block, began) = (Vec::new(), [0; 4096], Instant::now());
    // If an event stream was let through, it does not end by itself.
    while began.elapsed() < PATIENCE
        && let Ok(count @ 1..) = stream.read(&mut block)
    {
        answer.extend_from_slice(&block[..count]);
    }
    Seen::Reply(Reply::read(&String::from_utf8_lossy(&answer)))
}

/// Reads the token from a token file, in which it follows the port.
pub(super) fn token(file: &Path) -> String {
    let text = fs::read_to_string(file).unwrap();
    text.split_whitespace().nth(1).unwrap().to_owned()
}

/// Writes the user's home: a project, two places, and a secret file outside of them.
fn lay(home: &Path) {
    let src = home.join("game/src");
    fs::create_dir_all(&src).unwrap();
    fs::create_dir_all(home.join("outside")).unwrap();
    let tree = json!({
        "name": "game",
        "tree": {
            "$className": "DataModel",
            "ServerScriptService": { "Game": { "$path": "src" } },
        },
    });
    fs::write(home.join("game/default.project.json"), tree.to_string()).unwrap();
    fs::write(src.join("Main.server.luau"), "local speed = 1\nprint(speed)\n").unwrap();
    fs::write(home.join("outside/secret.luau"), "return 'a secret'\n").unwrap();
    fs::write(home.join("place.rbxl"), places::sample(Format::Rbxl)).unwrap();
    fs::write(home.join("place.rbxlx"), places::sample(Format::Rbxlx)).unwrap();
}

/// Returns all files below a folder with their contents, except those of the ledger database and
/// the locks.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![folder.to_owned()]);
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
            let path = entry.path();
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_lock = path.extension().is_some_and(|it| it == "lock");
            let is_passing = name.starts_with("ledger.") || is_lock;
            if path.is_dir() && !path.is_symlink() {
                open.push(path);
            } else if !is_passing {
                let bytes = fs::read(&path).unwrap_or_default();
                found.insert(path, bytes);
            }
        }
    }
    found
}

/// Whether this method and path are a route.
pub(super) fn is_route(method: &str, path: &str) -> bool {
    ROUTES.iter().any(|it| it.path == path && it.method.as_str() == method)
}

/// The routes that require this kind of token.
pub(super) fn routes(token: Token) -> impl Iterator<Item = &'static Route> {
    ROUTES.iter().filter(move |route| route.token == token)
}

/// Whether a route only reads.
pub(super) fn reads(route: &Route) -> bool {
    route.method == Method::Get
}
