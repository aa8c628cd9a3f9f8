//! `vector pair`: prints a pairing code for a plugin. The daemon creates the code. This command
//! does not start a daemon.

use std::path::Path;

use clap::Args;
use scene_schemas::api::{PairingCode, RouteId};

use super::ExitStatus;
use super::daemon_client::{DaemonClient, RouteRequest};
use super::style::count_noun;
use super::terminal::print_line;

#[derive(Debug, Args)]
pub(super) struct PairArgs {}

pub(super) fn run(_args: &PairArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    print_line(&pairing_line(&DaemonClient::connect(home)?)?);
    Ok(ExitStatus::Done)
}

/// Requests a new code and describes it in a sentence.
pub(super) fn pairing_line(daemon: &DaemonClient) -> anyhow::Result<String> {
    let made: PairingCode = daemon.call(&RouteRequest::new(RouteId::PairingCode))?;
    let groups = made.code.as_bytes().chunks(3).map(String::from_utf8_lossy);
    let code = groups.collect::<Vec<_>>().join(" ");
    let holds = count_noun((made.seconds / 60) as usize, "minute");
    Ok(format!("To pair a plugin, type {code} in its widget; the code is valid for {holds}."))
}
