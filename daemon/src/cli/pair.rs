//! `vector pair`: a code for a plugin. The daemon makes it; this asks, and starts none.

use std::path::Path;

use clap::Args;
use scene_schemas::api::{Nothing, PairingCode};

use super::Exit;
use super::daemon::Daemon;
use super::style::count;
use super::terminal::print_line;

#[derive(Debug, Args)]
pub(super) struct Pair {}

pub(super) fn run(_args: &Pair, home: &Path) -> anyhow::Result<Exit> {
    print_line(&code(&Daemon::find(home)?)?);
    Ok(Exit::Done)
}

/// A new code, in a sentence.
pub(super) fn code(daemon: &Daemon) -> anyhow::Result<String> {
    let made: PairingCode = daemon.call("POST", "/api/pairing", &Nothing {})?;
    let groups = made.code.as_bytes().chunks(3).map(String::from_utf8_lossy);
    let code = groups.collect::<Vec<_>>().join(" ");
    let holds = count((made.seconds / 60) as usize, "minute");
    Ok(format!("To pair a plugin, type {code} in its widget; it holds for {holds}."))
}
