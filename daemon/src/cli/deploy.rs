//! `vector deploy`: commits the files of a Rojo project that accepted proposals changed.
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

/// Commit what accepted proposals have changed in a Rojo project.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector deploy                        # on a branch of its own, vector/NUMBER
  vector deploy --branch main -m 'Faster rounds'
  vector deploy --dry-run              # what would be committed

Files that somebody has changed since are left out and named. Where the branch has another version of a
file than the accepted changes were made on, nothing is committed. No hooks are run, and nothing is pushed.

Exit codes: 0 committed, or nothing to commit; 1 failed; 2 usage.")]
pub(super) struct DeployArgs {
    /// The project file, or a folder that has one
    #[arg(default_value = ".")]
    project: PathBuf,
    /// The branch, which is made where there is none; by default vector/ and the last run's number
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// The first line of the message; what was asked for last where absent
    #[arg(long, short, value_name = "TEXT")]
    message: Option<String>,
    /// Say what would be committed, and commit nothing
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
            "Nothing is to be committed: the accepted changes are already committed or reverted.",
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
