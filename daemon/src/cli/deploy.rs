//! `vector deploy`: commits the files of a Rojo project that approved proposals changed.
//!
//! `crate::tasks::deploy` does the work. This module prints the progress and the result.

use std::path::{Path, PathBuf};

use clap::Args;
use vector_ledger::Ledger;
use vector_rojo_project::RojoProject;

use super::ExitStatus;
use super::style::terminal_line;
use super::terminal::{print_status, print_stdout};
use crate::tasks::deploy::{DeployCommit, DeployOptions, DeployProgress, prepare_deploy};

/// Commit what approved proposals changed in a Rojo project.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector deploy                        # on a new branch, vector/NUMBER
  vector deploy --branch main -m 'Faster rounds'
  vector deploy --dry-run              # shows what would be committed

Files that have been changed since are left out and listed. If the branch has a different version of a
file than the one that was changed, nothing is committed. No hooks are run, and nothing is pushed.

Exit codes: 0 committed, or nothing to commit; 1 failed; 2 usage.")]
pub(super) struct DeployArgs {
    /// The project file, or a folder that contains one
    #[arg(default_value = ".")]
    project: PathBuf,
    /// The branch, created if it does not exist [default: vector/NUMBER, with the number of the
    /// last run]
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// The first line of the commit message [default: the last request]
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// Show what would be committed, without committing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &DeployArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let project = RojoProject::find_project_file(&args.project)?;
    let ledger = Ledger::open(home)?;
    let (branch, message) = (args.branch.as_deref(), args.message.as_deref());
    let mut on_progress = |progress: DeployProgress<'_>| {
        if let DeployProgress::Skipped(name, why) = progress {
            print_status(&format!("note: {} {why}", terminal_line(name)));
        }
    };
    let wanted = DeployOptions { project: &project, branch, message, is_dry_run: args.dry_run };
    let ready = prepare_deploy(&ledger, wanted, &mut on_progress)?;
    if ready.files.is_empty() {
        print_status(
            "There is nothing to commit: the approved changes are already committed or reverted.",
        );
        return Ok(ExitStatus::Done);
    }
    let list = ready.files.iter().map(|name| format!("  {}", terminal_line(name)));
    let list = list.collect::<Vec<_>>().join("\n");
    let branch = &ready.branch;
    if args.dry_run {
        print_stdout(&format!("On {branch}:\n{list}\n\n{}", ready.message))?;
        return Ok(ExitStatus::Done);
    }
    let DeployCommit { commit, note } = ready.commit(&mut on_progress)?;
    if let Some(note) = note {
        print_status(&format!("note: {note}"));
    }
    let short = commit.get(..10).unwrap_or(&commit);
    print_stdout(&format!("Committed on {branch} as {short}:\n{list}\n"))?;
    Ok(ExitStatus::Done)
}
