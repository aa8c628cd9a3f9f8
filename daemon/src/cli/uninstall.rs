//! `vector uninstall`: removes everything that Vector put on this machine.
//!
//! It lists what it found and asks before it removes anything. What cannot be removed is reported
//! and stays on record, so that the command can be run again. The ledger stays unless the user asks
//! for its removal.

mod found;
mod program;
mod shell_files;
mod trace;

use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use clap::Args;

use self::found::Found;
use self::trace::Trace;
use super::style::terminal_line;
use super::terminal::{confirm_question, print_line, print_status};
use super::{ExitStatus, error_sentence, serve};

/// Remove everything that Vector put on this machine, except the ledger.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector uninstall --dry-run    # lists what would be removed, and what would stay
  vector uninstall
  vector uninstall --ledger     # also the ledger: nothing can be reverted then

It stops the daemon, and removes what `vector setup`, `vector plugin install`, `vector git install` and
`vector key set` wrote, completion scripts and man pages in the folders that their help names, the files
of the daemon, and the program. Places and projects are not changed.

Exit codes: 0 done, 1 something could not be removed, 2 usage, 3 not approved.")]
pub(super) struct UninstallArgs {
    /// Also remove the ledger and the memories of places
    #[arg(long)]
    ledger: bool,
    /// Show what would be removed, without removing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short, conflicts_with = "dry_run")]
    yes: bool,
}

pub(super) fn run(args: &UninstallArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let home = std::path::absolute(home).context("the ledger's folder is not known")?;
    let found = Found::on_this_machine(&home, args.ledger)?;
    let daemon = serve::serving_process(&home).map(|process| format!("the daemon ({process})"));
    let traces = found.traces.iter().map(ToString::to_string);
    show_list("To be removed:", daemon.clone().into_iter().chain(traces));
    show_list("Stays:", found.staying.iter().cloned());
    if found.traces.is_empty() && daemon.is_none() {
        print_line("There is nothing to remove.");
        return Ok(ExitStatus::Done);
    }
    if args.dry_run {
        print_line("This was a dry run: nothing was removed.");
        return Ok(ExitStatus::Done);
    }
    let nothing = "Nothing was removed";
    if !args.yes && !confirm_question("Remove it? [y/N]", nothing, "--yes removes without asking")?
    {
        return Ok(ExitStatus::NotApproved);
    }
    // Held until the end, so that no client starts a daemon that writes the files again.
    let lock = home.exists().then(|| serve::stop_and_lock(&home)).transpose()?;
    let is_in_use = args.ledger && vector_ledger::is_in_use(&home)?;
    let failures = if is_in_use { 0 } else { remove_all(&found.traces, &home) };
    if let Some(lock) = lock {
        serve::delete_lock(&home, lock);
    }
    if is_in_use {
        bail!(
            "a task is running, whose ledger would be removed; wait for it or end it, and run the \
             command again. Nothing was removed"
        );
    }
    remove_empty_folders(&home);
    if failures > 0 {
        print_status("Run the command again to remove the rest.");
        return Ok(ExitStatus::Failed);
    }
    print_line("Restart Studio and any running MCP clients.");
    Ok(ExitStatus::Done)
}

/// Removes everything in the list, and reports each. Returns how many could not be removed.
fn remove_all(traces: &[Trace], home: &Path) -> usize {
    let mut failures = 0;
    for trace in traces {
        // The program is last, and is needed to try the others again.
        if failures > 0 && trace.is_program() {
            continue;
        }
        match trace.remove(home) {
            Ok(note) => {
                print_line(&format!("Removed: {}", terminal_line(&trace.to_string())));
                if let Some(note) = note {
                    print_status(&format!("note: {}", terminal_line(&note)));
                }
            }
            Err(error) => {
                failures += 1;
                print_status(&format!(
                    "error: not removed: {}: {}",
                    terminal_line(&trace.to_string()),
                    terminal_line(&error_sentence(&error))
                ));
            }
        }
    }
    failures
}

fn show_list(title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_some() {
        print_line(title);
    }
    for line in lines {
        print_line(&format!("  {}", terminal_line(&line)));
    }
}

/// Removes the ledger's folder if nothing is left in it, and on Windows the folder of that name
/// around it.
fn remove_empty_folders(home: &Path) {
    if fs::remove_dir(home).is_ok()
        && let Some(around) = home.parent().filter(|around| around.ends_with("vector"))
    {
        let _ = fs::remove_dir(around);
    }
}
