//! `vector checkpoint`: moments of an open place, kept, listed, and gone back to. The daemon does it;
//! this asks.

use std::path::Path;

use clap::Args;
use scene_schemas::api::{
    Checkpoint as Kept, Checkpoints, MakeCheckpoint, Nothing, Sessions, Started,
};

use super::Exit;
use super::daemon::{Daemon, chosen};
use super::style::safe;
use super::terminal::print_line;

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
    let session = chosen(sessions, args.session.as_deref())?.session;
    let make = MakeCheckpoint { session, label: args.label.clone() };
    let kept: Kept = daemon.call("POST", "/api/checkpoints", &make)?;
    print_line(&format!("Checkpoint {} is kept: {}", kept.seq, safe(&kept.label)));
    Ok(Exit::Done)
}
