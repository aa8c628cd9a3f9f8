//! `vector forget`: permanently erases texts from the ledger.
//!
//! It asks for confirmation, with No as the default. It can run beside a daemon, which notices the
//! erasure.

use std::path::Path;

use anyhow::bail;
use clap::{ArgGroup, Args};
use scene_schemas::entry::Seq;
use vector_core::calendar::parse_date;
use vector_ledger::{ErasedSummary, Ledger};

use super::ExitStatus;
use super::log::format_time;
use super::style::{count_noun, terminal_line};
use super::terminal::{confirm_question, print_line, print_status};
use crate::tasks::forget::{ForgetScope, perform_forget, plan_forget};

/// The maximum number of tasks listed.
const LISTED: usize = 20;
/// A day in milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;

/// Permanently erase the recorded texts of a conversation, of a place, or before a date.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("what").required(true).args(["conversation", "place", "before"])))]
#[command(after_help = "\
Examples:
  vector forget --conversation 12 --dry-run    # the conversation of task 12 in `vector log`
  vector forget --place game.rbxl
  vector forget --before 2026-06-01

Requests, messages, proposals and changes are erased. Decisions with their times, outcomes, costs and
hashes are kept. Erased changes cannot be reverted.

Exit codes: 0 done, 1 failed, 2 usage, 3 not approved.")]
pub(super) struct ForgetArgs {
    /// The conversation that this task belongs to, by its number in `vector log`
    #[arg(long, value_name = "N")]
    conversation: Option<u64>,
    /// All tasks in this place: a file, a project, or the name or ID of a place in Studio
    #[arg(long, value_name = "PLACE")]
    place: Option<String>,
    /// All tasks without activity since this day (UTC)
    #[arg(long, value_name = "YYYY-MM-DD")]
    before: Option<String>,
    /// Show what would be erased, without erasing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,
}

pub(super) fn run(args: &ForgetArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let what = match (args.conversation, &args.place, &args.before) {
        (Some(number), ..) => ForgetScope::Conversation(Seq(number)),
        (_, Some(place), _) => ForgetScope::Place(place.clone()),
        (.., Some(date)) => match parse_date(date) {
            Some(day) => ForgetScope::Before(day * DAY),
            None => bail!("{date:?} is not a date; write it as 2026-06-01"),
        },
        _ => bail!("give --conversation, --place or --before"),
    };
    let ledger = Ledger::open(home)?;
    let plan = plan_forget(&ledger, &what)?;
    for seq in &plan.skipped {
        print_status(&format!(
            "note: run {seq} is not finished and is kept; decide or cancel its pending proposals \
             first."
        ));
    }
    if plan.runs.is_empty() {
        print_status("There is nothing to erase.");
        return Ok(ExitStatus::Done);
    }
    for run in plan.runs.iter().take(LISTED) {
        let goal = run.goal.lines().next().unwrap_or_default();
        print_line(&format!(
            "{:>6}  {}  {}  {}",
            run.seq.0,
            format_time(run.at),
            terminal_line(&run.place),
            terminal_line(goal)
        ));
    }
    if plan.runs.len() > LISTED {
        print_line(&format!("        and {} more", plan.runs.len() - LISTED));
    }
    let runs = count_noun(plan.runs.len(), "task");
    let applied: usize = plan.runs.iter().map(|run| run.applied).sum();
    let lost = match applied {
        0 => String::new(),
        n => format!(" {} applied there can no longer be reverted.", count_noun(n, "proposal")),
    };
    if args.dry_run {
        print_line(&format!(
            "{runs} would be erased.{lost} This was a dry run: nothing was erased."
        ));
        return Ok(ExitStatus::Done);
    }
    let question = format!("Permanently erase the texts of {runs}?{lost} [y/N]");
    let nothing = "Nothing was erased";
    if !args.yes && !confirm_question(&question, nothing, "--yes erases without asking")? {
        return Ok(ExitStatus::NotApproved);
    }
    let erasure = perform_forget(&ledger, &plan)?;
    let ErasedSummary { entries, blobs, .. } = erasure;
    print_line(&format!(
        "Erased the texts of {runs}: in {entries} entries and {blobs} stored texts."
    ));
    if !erasure.is_compacted {
        print_status(
            "note: the texts are overwritten, but the ledger's file could not be made smaller: the disk may \
             be full, or another program is reading it. Run it again later to shrink the file.",
        );
    }
    Ok(ExitStatus::Done)
}
