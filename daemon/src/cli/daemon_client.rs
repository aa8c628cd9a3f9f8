//! Client for the daemon that serves a ledger, used by the commands that need one.
//!
//! It speaks HTTP on the loopback address, with the token from the ledger's folder.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use scene_schemas::api::{About, EmptyBody, Failure, SessionView};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::background_daemon::{
    self, CONCURRENT_START_TIMEOUT, IDLE, POLL_INTERVAL, STARTUP_TIMEOUT, startup_error,
};
use super::terminal::print_status;
use crate::daemon::access::TOKEN;

const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// Chooses an open session: the named one, the only one in Studio that is synced with an open
/// project, or the only one.
pub(super) fn choose_session(
    sessions: Vec<SessionView>,
    named: Option<&str>,
) -> anyhow::Result<SessionView> {
    let count = sessions.len();
    if named.is_none() && sessions.iter().filter(|it| it.project.is_some()).count() == 1 {
        let joined = sessions.into_iter().find(|it| it.project.is_some());
        return joined.context("it was there");
    }
    let fitting: Vec<SessionView> = match named {
        None => sessions,
        Some(name) => match sessions.iter().find(|it| it.session.0 == name) {
            Some(exact) => vec![exact.clone()],
            None => sessions.into_iter().filter(|it| is_named(it, name)).collect(),
        },
    };
    match (<[SessionView; 1]>::try_from(fitting), named) {
        (Ok([session]), _) => Ok(session),
        (Err(_), _) if count == 0 => {
            bail!(
                "no place is open; open one in Studio, or a file with `vector serve --place FILE`"
            )
        }
        (Err(none), Some(name)) if none.is_empty() => {
            bail!("no session is called {name}; `vector sessions` lists the open sessions")
        }
        (Err(_), Some(name)) => {
            bail!("several sessions are called {name}; `vector sessions` lists them with their IDs")
        }
        (Err(_), None) => {
            bail!(
                "several places are open; choose one with --session (`vector sessions` lists them)"
            )
        }
    }
}

/// Whether a name matches a session: the beginning of its ID, or the name of its place. A file
/// matches with or without its extension, and a project by its file or its folder.
fn is_named(session: &SessionView, name: &str) -> bool {
    let place = Path::new(&session.place.name);
    let file = place.file_name().map(|it| it.to_string_lossy().into_owned()).unwrap_or_default();
    let stem = file.split('.').next().unwrap_or_default();
    let folder = place.parent().and_then(Path::file_name).map(|it| it.to_string_lossy());
    let is_project = matches!(place.extension().and_then(|it| it.to_str()), Some("json" | "jsonc"));
    session.session.0.starts_with(name)
        || [session.place.name.as_str(), &file, stem].contains(&name)
        || (is_project && folder.is_some_and(|it| it == name))
}

#[derive(Debug)]
pub(super) struct DaemonClient {
    port: u16,
    token: String,
    /// Whether this process started the daemon in the background.
    is_started_here: bool,
}

impl DaemonClient {
    pub(super) fn connect(home: &Path) -> anyhow::Result<Self> {
        let text = match fs::read_to_string(home.join(TOKEN)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("no daemon serves this ledger; start it with `vector serve`")
            }
            Err(error) => return Err(error).context("the daemon's token cannot be read"),
        };
        let mut fields = text.split_whitespace();
        let port = fields.next().and_then(|port| port.parse().ok());
        let (Some(port), Some(token)) = (port, fields.next()) else {
            bail!(
                "{} is not a token file of `vector serve`; restart it",
                home.join(TOKEN).display()
            )
        };
        Ok(Self { port, token: token.to_owned(), is_started_here: false })
    }

    /// Connects to a daemon that answers. None if there is none.
    fn connect_running(home: &Path) -> Option<Self> {
        let daemon = Self::connect(home).ok()?;
        daemon.about().ok().map(|_| daemon)
    }

    /// Waits briefly for a daemon that answers: it may have been started a moment ago.
    pub(super) fn wait_for_running(home: &Path) -> Option<Self> {
        let began = Instant::now();
        loop {
            if let Some(daemon) = Self::connect_running(home) {
                return Some(daemon);
            }
            if began.elapsed() > CONCURRENT_START_TIMEOUT {
                return None;
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    pub(super) fn about(&self) -> anyhow::Result<About> {
        self.call("GET", "/api/about", &EmptyBody {})
    }

    /// Tells the user that a background daemon was started, and how to stop it.
    pub(super) fn report_start(&self) {
        if !self.is_started_here {
            return;
        }
        let process = self.about().map_or(String::new(), |it| format!("process {}, ", it.process));
        print_status(&format!(
            "note: a daemon was started in the background ({process}port {}). It stops after {IDLE} \
             minutes without use; `vector stop` ends it.",
            self.port
        ));
    }

    /// Connects to the running daemon, or starts one in the background.
    pub(super) fn connect_or_start(home: &Path, port: u16) -> anyhow::Result<Self> {
        let answering = || Self::connect_running(home);
        if let Some(daemon) = answering() {
            return Ok(daemon);
        }
        let mut started = background_daemon::start_daemon(home, port)
            .context("the daemon could not be started")?;
        let began = Instant::now();
        while began.elapsed() < STARTUP_TIMEOUT {
            // It may have ended because another daemon already serves the ledger. That one is used
            // instead.
            let has_ended = started.try_wait().is_ok_and(|ended| ended.is_some());
            if let Some(daemon) = answering() {
                let is_started_here = !has_ended;
                return Ok(Self { is_started_here, ..daemon });
            }
            if has_ended && began.elapsed() > CONCURRENT_START_TIMEOUT {
                break;
            }
            thread::sleep(POLL_INTERVAL);
        }
        Err(startup_error(home))
    }

    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let no_answer = || format!("no answer on port {}; restart `vector serve`", self.port);
        let mut stream =
            TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).with_context(no_answer)?;
        stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
        let body = if method == "GET" { String::new() } else { serde_json::to_string(body)? };
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            self.port,
            self.token,
            body.len()
        );
        stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()))?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).map_err(|why| match why.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => anyhow!(
                "no response from Vector on port {} within {} s. The request may still complete; \
                 check its result before you retry",
                self.port,
                REQUEST_TIMEOUT.as_secs()
            ),
            _ => anyhow!(why).context(no_answer()),
        })?;
        let (head, body) = answer.split_once("\r\n\r\n").with_context(no_answer)?;
        if head.split(' ').nth(1) == Some("200") {
            return serde_json::from_str(body).context("the daemon has a different version");
        }
        match serde_json::from_str::<Failure>(body) {
            Ok(failure) => bail!("{} {}", failure.message, failure.hint),
            Err(_) => bail!(no_answer()),
        }
    }
}
