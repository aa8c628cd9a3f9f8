//! `vector checkpoint`: moments of an open place, kept, listed, and gone back to. The daemon does it;
//! this asks.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use scene_schemas::api::{
    Checkpoint as Kept, Checkpoints, Failure, MakeCheckpoint, Nothing, SessionId, Sessions, Started,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Exit;
use super::serve::TOKEN;
use super::style::safe;
use super::terminal::print_line;

const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
pub(super) struct Checkpoint {
    /// What the moment is kept for
    label: Option<String>,
    /// Which open place, where several are: as `--list` names it
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// List the open places and their moments
    #[arg(long, conflicts_with_all = ["label", "restore"])]
    list: bool,
    /// Propose to go back to a moment, by its number
    #[arg(long, value_name = "N", conflicts_with = "label")]
    restore: Option<u64>,
}

pub(super) fn run(args: &Checkpoint, home: &Path) -> anyhow::Result<Exit> {
    let daemon = Daemon::find(home)?;
    if let Some(number) = args.restore {
        let path = format!("/api/checkpoints/{number}/restore");
        let started: Started = daemon.call("POST", &path, &Nothing {})?;
        print_line(&format!(
            "Workflow {} proposes the way back; decide in Studio.",
            started.workflow
        ));
        return Ok(Exit::Done);
    }
    let Sessions { sessions } = daemon.call("GET", "/api/sessions", &Nothing {})?;
    if args.list {
        let Checkpoints { checkpoints } = daemon.call("GET", "/api/checkpoints", &Nothing {})?;
        for session in sessions {
            let away = if session.connected { "" } else { " (away)" };
            print_line(&format!("{}  {}{away}", session.session, safe(&session.place.name)));
            for kept in checkpoints.iter().filter(|kept| kept.session == session.session) {
                print_line(&format!("  {:>6}  {}", kept.seq.0, safe(&kept.label)));
            }
        }
        return Ok(Exit::Done);
    }
    let session = match (&args.session, sessions.as_slice()) {
        (Some(name), _) => SessionId(name.clone()),
        (None, [only]) => only.session.clone(),
        (None, []) => bail!("no place is open in Studio; open one, and look at its widget"),
        (None, _) => bail!("several places are open; say which with --session (see --list)"),
    };
    let make = MakeCheckpoint { session, label: args.label.clone() };
    let kept: Kept = daemon.call("POST", "/api/checkpoints", &make)?;
    print_line(&format!("Checkpoint {} is kept: {}", kept.seq, safe(&kept.label)));
    Ok(Exit::Done)
}

/// The daemon that serves a ledger.
struct Daemon {
    port: u16,
    token: String,
}

impl Daemon {
    fn find(home: &Path) -> anyhow::Result<Self> {
        let text = fs::read_to_string(home.join(TOKEN))
            .context("no daemon serves this ledger; start it with `vector serve`")?;
        let mut words = text.split_whitespace();
        let port = words.next().and_then(|port| port.parse().ok());
        let (Some(port), Some(token)) = (port, words.next()) else {
            bail!("{} is not what `vector serve` writes; start it anew", home.join(TOKEN).display())
        };
        Ok(Self { port, token: token.to_owned() })
    }

    fn call<T: DeserializeOwned>(
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
        stream.read_to_string(&mut answer).with_context(away)?;
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
