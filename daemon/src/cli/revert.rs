//! `vector revert`: proposes the reversal of an applied proposal.
//!
//! The reversal is decided like any other proposal. Changes in Studio cannot be reverted here.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::Args;
use scene_schemas::entry::{Entry, Place, Seq};
use scene_schemas::proposal::Ack;
use serde_json::json;
use vector_core::prompt::ToolCall;
use vector_core::workflow::PendingStatus;
use vector_engine::recover_place;
use vector_engine::{REVERT, ToolDriver, WorkflowRun, find_applied_ack};
use vector_ledger::Ledger;

use super::call_log::CallLog;
use super::edit::{decide_all, entry_listener};
use super::log::{find_reverted, replay_ledger};
use super::place_arg::PlaceArg;
use super::terminal::{Terminal, print_status};
use super::{DecideArgs, ExitStatus, interrupt};

/// Revert applied proposals. Shows the changes and asks for approval, like an edit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector log                  # lists runs and their proposals with their numbers
  vector revert 12            # one proposal
  vector revert 1             # all that run 1 applied, newest first
  vector revert 12 --dry-run  # shows the changes without making them
  vector revert 12 --yes --out before.rbxl")]
pub(super) struct RevertArgs {
    /// The number of a proposal or a run, as shown by `vector log`
    number: u64,
    /// Write to this file and leave the place unchanged
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show what would be done; nothing is written or recorded
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    decide: DecideArgs,
}

pub(super) fn run(args: &RevertArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let ledger = Arc::new(Ledger::open(home)?);
    if args.dry_run {
        let scratch = tempfile::tempdir().context("no temporary folder for the dry run")?;
        let copy = scratch.path().join("home");
        ledger.copy_to(&copy)?;
        let ledger = Arc::new(Ledger::open(&copy)?);
        let exit = run_revert(args, &ledger, Some(&scratch.path().join("place")), home)?;
        print_status("This was a dry run: nothing was written or recorded.");
        return Ok(exit);
    }
    // First settle what an interrupted process left behind: it may be what is to be reverted.
    if let Some(file) = run_file(&ledger, Seq(args.number))? {
        for notice in recover_place(&ledger, &file)? {
            print_status(&format!("note: {notice}"));
        }
    }
    run_revert(args, &ledger, args.out.as_deref(), home)
}

fn run_revert(
    args: &RevertArgs,
    ledger: &Arc<Ledger>,
    out: Option<&Path>,
    home: &Path,
) -> anyhow::Result<ExitStatus> {
    interrupt::install_handler();
    let terminal = Terminal::for_command(args.decide.json);
    let RevertTarget { goal, proposals, last } = find_target(ledger, Seq(args.number))?;
    let Some(file) = last.file.as_ref().map(PathBuf::from) else {
        bail!(
            "{number} changed a place that was open in Studio; revert it there",
            number = args.number
        );
    };
    let is_project = is_project(ledger, Seq(args.number))?;
    if is_project && args.out.is_some() {
        bail!("--out works only for place files; a project's files are changed in place");
    }
    let at = if is_project { PlaceArg::Project(&file) } else { PlaceArg::Place(&file) };
    let opened = at.open_target(&terminal, out.filter(|_| !is_project), args.dry_run)?;
    if Some(opened.0.plan_base()) != last.after {
        print_status(&format!(
            "note: {} was changed since. Only what nothing else has \
             changed is reverted.",
            file.display()
        ));
    }
    let calls = CallLog::default();
    let (mode, listener) = (args.decide.mode(), entry_listener(args.decide.json, &calls));
    let mut run =
        WorkflowRun::start(ledger, opened, goal.as_str(), ToolDriver::Calls, mode, listener)?;
    let call = |seq: Seq| ToolCall::new(REVERT, json!({ "proposal": seq }));
    run.add_calls(proposals.into_iter().map(call).collect())?;
    let exit = decide_all(&mut run, &args.decide, &terminal, &calls, args.dry_run, home)?;
    run.release();
    Ok(exit)
}

/// Whether the run of an entry works on a Rojo project.
fn is_project(ledger: &Ledger, number: Seq) -> anyhow::Result<bool> {
    let Some(record) = ledger.record_at(number)? else {
        return Ok(false);
    };
    let started = ledger.record_at(record.workflow)?.map(|record| record.entry);
    Ok(matches!(started, Some(Entry::Started { place: Place::Project(_), .. })))
}

/// The file that the run of an entry writes.
fn run_file(ledger: &Ledger, number: Seq) -> anyhow::Result<Option<PathBuf>> {
    let Some(record) = ledger.record_at(number)? else {
        return Ok(None);
    };
    let started = ledger.record_at(record.workflow)?.map(|record| record.entry);
    Ok(match started {
        Some(Entry::Started { place: Place::File(place), .. }) => {
            Some(place.out.unwrap_or(place.file).into())
        }
        Some(Entry::Started { place: Place::Project(place), .. }) => Some(place.project.into()),
        _ => None,
    })
}

/// The proposals to be reverted.
struct RevertTarget {
    goal: String,
    proposals: Vec<Seq>,
    /// The acknowledgement of the newest proposal.
    last: Ack,
}

/// Resolves a number to a proposal, or to all proposals of a run that are not reverted yet.
fn find_target(ledger: &Ledger, number: Seq) -> anyhow::Result<RevertTarget> {
    let state = replay_ledger(ledger)?;
    let reverted = find_reverted(&state);
    let Some(workflow) = state.workflow(number) else {
        let (title, last) = find_applied_ack(ledger, number)??;
        if let Some(by) = reverted.get(&number) {
            bail!(
                "proposal {number} was already reverted by proposal {by}; `vector revert {by}` \
                 reapplies it"
            );
        }
        let goal = format!("Revert proposal {number}: {title}");
        return Ok(RevertTarget { goal, proposals: vec![number], last });
    };
    let left = workflow.proposals().filter_map(|(seq, pending)| match &pending.status {
        PendingStatus::Applied(ack) if !reverted.contains_key(&seq) => Some((seq, ack)),
        _ => None,
    });
    let left: Vec<_> = left.collect();
    let Some((_, last)) = left.last() else {
        bail!("run {number} has nothing to revert; `vector log` shows what it did");
    };
    let last = Ack::clone(last);
    let proposals = left.into_iter().rev().map(|(seq, _)| seq).collect();
    Ok(RevertTarget { goal: format!("Revert run {number}: {}", workflow.goal), proposals, last })
}
