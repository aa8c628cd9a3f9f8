//! `vector checkpoint`: creates, lists and restores checkpoints of a place that the daemon has
//! open. The daemon does the work. This command sends the requests and shows the results.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Args;
use scene_schemas::api::{
    Checkpoint as Kept, Checkpoints, Event, MakeCheckpoint, RouteId, WorkflowStarted,
};
use scene_schemas::entry::{Finish, Seq};

use super::ExitStatus;
use super::daemon_client::{DaemonClient, RouteRequest};
use super::remote_review::{ExtraKeys, RemoteReview};
use super::session_choice::choose_session;
use super::style::terminal_line;
use super::terminal::{Terminal, print_line, print_status};

/// Duration of a long poll, in seconds. Must be shorter than the request timeout.
const HOLD: u32 = 15;

const KEYS: ExtraKeys = ExtraKeys {
    prompt: "[y]es [n]o [s]plit [e]dit, Enter to decide later",
    help: "  Enter  leave it pending: decide in Studio, on the page, or with `vector review`",
};

/// Create, list or restore checkpoints of an open place.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector checkpoint before-boss        # a place in Studio, or a file or project that the daemon serves
  vector checkpoint --list
  vector checkpoint --restore 12       # shows the card, and waits for the result

Restoring a checkpoint reverts what Vector applied since then. Changes by others (you, another plugin,
Team Create, another program) stay.

Exit codes of --restore: 0 restored, 1 not restored, 3 not approved.")]
pub(super) struct CheckpointArgs {
    /// A label for the new checkpoint
    label: Option<String>,
    /// The open place, if there are several; `--list` shows their names
    #[arg(long, value_name = "NAME")]
    session: Option<String>,
    /// List the open places and their checkpoints
    #[arg(long, conflicts_with_all = ["label", "restore"])]
    list: bool,
    /// Propose to restore this checkpoint, and wait for the result
    #[arg(long, value_name = "N", conflicts_with = "label")]
    restore: Option<u64>,
    /// With --restore: approve the card
    #[arg(long, short, requires = "restore")]
    yes: bool,
    /// With --restore: do not wait for the result
    #[arg(long, requires = "restore", conflicts_with = "yes")]
    no_wait: bool,
}

pub(super) fn run(args: &CheckpointArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let daemon = DaemonClient::connect(home)?;
    if let Some(number) = args.restore {
        return restore_checkpoint(&daemon, number, args);
    }
    let sessions = daemon.list_sessions()?;
    if args.list {
        let Checkpoints { checkpoints } = daemon.call(&RouteRequest::new(RouteId::Checkpoints))?;
        for session in sessions {
            let presence = if session.connected { "" } else { " (away)" };
            print_line(&format!(
                "{}  {}{presence}",
                session.session,
                terminal_line(&session.place.name)
            ));
            for kept in checkpoints.iter().filter(|kept| kept.session == session.session) {
                print_line(&format!("  {:>6}  {}", kept.seq.0, terminal_line(&kept.label)));
            }
        }
        return Ok(ExitStatus::Done);
    }
    let session = choose_session(sessions, args.session.as_deref())?.session;
    let make = MakeCheckpoint { session, label: args.label.clone() };
    let kept: Kept = daemon.call(&RouteRequest::new(RouteId::MakeCheckpoint).with_body(&make))?;
    print_line(&format!("Created checkpoint {}: {}", kept.seq, terminal_line(&kept.label)));
    Ok(ExitStatus::Done)
}

/// Requests a restore, shows its card, and waits until it has finished.
fn restore_checkpoint(
    daemon: &DaemonClient,
    checkpoint: u64,
    args: &CheckpointArgs,
) -> anyhow::Result<ExitStatus> {
    let mut cursor = daemon.read_events(Seq(0), 0)?.cursor;
    let request = RouteRequest::new(RouteId::RestoreCheckpoint).with_id(checkpoint);
    let WorkflowStarted { workflow } = daemon.call(&request)?;
    if args.no_wait {
        print_line(&format!(
            "Run {workflow} proposes the restore; decide in Studio, on the page, or with `vector \
             review`."
        ));
        return Ok(ExitStatus::Done);
    }
    let terminal = Terminal::for_command(false);
    let cards = RemoteReview { daemon, terminal: &terminal, yes: args.yes, force: false };
    let mut shown: BTreeSet<Seq> = BTreeSet::new();
    loop {
        let page = daemon.read_events(cursor, HOLD)?;
        cursor = page.cursor;
        for record in page.events.into_iter().filter(|it| it.workflow == workflow) {
            match record.event {
                Event::ToolError { reason, .. } => {
                    print_status(&format!("error: {}", terminal_line(&reason)));
                }
                Event::Error { message, hint, .. } => {
                    print_status(&format!(
                        "error: {} {}",
                        terminal_line(&message),
                        terminal_line(&hint)
                    ));
                }
                Event::ProposalMapped { proposal, .. } if shown.insert(proposal) => {
                    cards.decide_card(&cards.fetch_proposal(proposal)?, KEYS)?;
                }
                Event::Done { outcome, .. } => return Ok(report_outcome(checkpoint, outcome)),
                _ => {}
            }
        }
    }
}

fn report_outcome(checkpoint: u64, outcome: Finish) -> ExitStatus {
    match outcome {
        Finish::Done => {
            print_line(&format!("Restored checkpoint {checkpoint}."));
            ExitStatus::Done
        }
        Finish::NotApproved => {
            print_status("Not approved: the place was not changed.");
            ExitStatus::NotApproved
        }
        Finish::Failed => {
            print_status(&format!("Checkpoint {checkpoint} was not restored."));
            ExitStatus::Failed
        }
    }
}
