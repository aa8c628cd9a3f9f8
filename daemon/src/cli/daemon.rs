//! The way to the daemon that serves a ledger, for commands that ask it.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, bail};
use scene_schemas::api::{About, Failure, Nothing, SessionView};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::background::{self, BEGINS, LOOKED, OTHERS, why_not};
use crate::engine::access::TOKEN;

const PATIENCE: Duration = Duration::from_secs(30);

/// The open place that is meant: the one that is named, the only one, or the only one in Studio that is
/// synced with a project which is open as well.
pub(super) fn chosen(
    sessions: Vec<SessionView>,
    named: Option<&str>,
) -> anyhow::Result<SessionView> {
    let count = sessions.len();
    if named.is_none() && sessions.iter().filter(|it| it.project.is_some()).count() == 1 {
        let joined = sessions.into_iter().find(|it| it.project.is_some());
        return joined.context("it was there");
    }
    let mut fitting =
        sessions.into_iter().filter(|it| named.is_none_or(|name| it.session.0 == name));
    match (fitting.next(), named, count) {
        (Some(session), Some(_), _) | (Some(session), None, 1) => Ok(session),
        (_, _, 0) => bail!("no place is open in Studio; open one, and look at its widget"),
        (_, Some(name), _) => {
            bail!("no place is open as {name}; `vector checkpoint --list` names those that are")
        }
        _ => bail!(
            "several places are open; say which with --session (see `vector checkpoint --list`)"
        ),
    }
}

/// The daemon that serves a ledger.
#[derive(Debug)]
pub(super) struct Daemon {
    port: u16,
    token: String,
}

impl Daemon {
    pub(super) fn find(home: &Path) -> anyhow::Result<Self> {
        let text = match fs::read_to_string(home.join(TOKEN)) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                bail!("no daemon serves this ledger; start it with `vector serve`")
            }
            Err(error) => return Err(error).context("the daemon's token cannot be read"),
        };
        let mut words = text.split_whitespace();
        let port = words.next().and_then(|port| port.parse().ok());
        let (Some(port), Some(token)) = (port, words.next()) else {
            bail!("{} is not what `vector serve` writes; start it anew", home.join(TOKEN).display())
        };
        Ok(Self { port, token: token.to_owned() })
    }

    /// The one that answers, or one that is started in the background.
    pub(super) fn found_or_started(home: &Path, port: u16) -> anyhow::Result<Self> {
        let answering = || {
            let daemon = Self::find(home).ok()?;
            daemon.call::<About>("GET", "/api/about", &Nothing {}).ok().map(|_| daemon)
        };
        if let Some(daemon) = answering() {
            return Ok(daemon);
        }
        let mut started =
            background::start(home, port).context("the daemon could not be started")?;
        let began = Instant::now();
        while began.elapsed() < BEGINS {
            // It may have ended because another serves, which is as good.
            let has_ended = started.try_wait().is_ok_and(|ended| ended.is_some());
            if let Some(daemon) = answering() {
                return Ok(daemon);
            }
            if has_ended && began.elapsed() > OTHERS {
                break;
            }
            thread::sleep(LOOKED);
        }
        Err(why_not(home))
    }

    /// Where it listens.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    pub(super) fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        path: &str,
        body: &impl Serialize,
    ) -> anyhow::Result<T> {
        let away = || format!("nobody answers on port {}; start `vector serve` anew", self.port);
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).with_context(away)?;
        stream.set_read_timeout(Some(PATIENCE))?;
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
                "Vector on port {} is at it still after {} seconds, and what you asked for may be done: look, \
                 and ask again where it is not",
                self.port,
                PATIENCE.as_secs()
            ),
            _ => anyhow!(why).context(away()),
        })?;
        let (head, body) = answer.split_once("\r\n\r\n").with_context(away)?;
        if head.split(' ').nth(1) == Some("200") {
            return serde_json::from_str(body).context("the daemon is of another version");
        }
        match serde_json::from_str::<Failure>(body) {
            Ok(failure) => bail!("{} {}", failure.message, failure.hint),
            Err(_) => bail!(away()),
        }
    }
}
