//! `vector commit`: commits the files of a Rojo project that approved proposals changed.
//!
//! `crate::tasks::commit` does the work. This module prints the progress and the result.

use std::path::{Path, PathBuf};

use clap::Args;
use vector_ledger::Ledger;
use vector_rojo_project::RojoProject;

use super::ExitStatus;
use super::style::terminal_line;
use super::terminal::{print_status, print_stdout};
use crate::tasks::commit::{
    CommitOptions, CommitProgress, GitPrompts, MadeCommit, PreparedCommit, PushedBranch,
    prepare_commit,
};

/// Commit what approved proposals changed in a Rojo project.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector commit                        # on a new branch, vector/NUMBER
  vector commit --branch main -m 'Faster rounds'
  vector commit --push                 # and pushes the branch
  vector commit --dry-run              # shows what would be committed

Files that have been changed since are left out and listed. If the branch has a different version of a
file than the one that was changed, nothing is committed. No hooks are run. With --push, plain `git push`
sends the branch, never by force, and the page that opens a pull request for it is printed.

Exit codes: 0 committed, or nothing to commit; 1 not committed or not pushed; 2 usage.")]
pub(super) struct CommitArgs {
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
    /// Push the branch, to this remote or the one that Git pushes to
    #[arg(long, value_name = "REMOTE", num_args = 0..=1, require_equals = true,
        default_missing_value = "")]
    push: Option<String>,
    /// Show what would be committed, without committing
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &CommitArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let project = RojoProject::find_project_file(&args.project)?;
    let ledger = Ledger::open(home)?;
    let (branch, message) = (args.branch.as_deref(), args.message.as_deref());
    let mut on_progress = |progress: CommitProgress<'_>| {
        if let CommitProgress::Skipped(name, why) = progress {
            print_status(&format!("note: {} {why}", terminal_line(name)));
        }
    };
    let wanted = CommitOptions { project: &project, branch, message, is_dry_run: args.dry_run };
    let ready = prepare_commit(&ledger, wanted, &mut on_progress)?;
    if ready.files.is_empty() {
        print_status(
            "There is nothing to commit: the approved changes are already committed or reverted.",
        );
        if !args.dry_run {
            push(args, &ready, None)?;
        }
        return Ok(ExitStatus::Done);
    }
    let list = ready.files.iter().map(|name| format!("  {}", terminal_line(name)));
    let list = list.collect::<Vec<_>>().join("\n");
    let branch = &ready.branch;
    if args.dry_run {
        print_stdout(&format!("On {branch}:\n{list}\n\n{}", ready.message))?;
        return Ok(ExitStatus::Done);
    }
    let MadeCommit { commit, note } = ready.commit(&mut on_progress)?;
    if let Some(note) = note {
        print_status(&format!("note: {note}"));
    }
    let short = commit.get(..10).unwrap_or(&commit);
    print_stdout(&format!("Committed on {branch} as {short}:\n{list}\n"))?;
    push(args, &ready, Some(&commit))?;
    Ok(ExitStatus::Done)
}

/// Pushes the commit, or the branch as it was, if that is wanted.
fn push(args: &CommitArgs, ready: &PreparedCommit, commit: Option<&str>) -> anyhow::Result<()> {
    let Some(remote) = &args.push else { return Ok(()) };
    let pushed = ready.push(commit, remote, GitPrompts::Allowed, &mut |_| {})?;
    let Some(PushedBranch { remote, pull_request }) = pushed else { return Ok(()) };
    let link = pull_request.map(|link| format!(" Open a pull request: {}", terminal_line(&link)));
    let branch = terminal_line(&ready.branch);
    print_stdout(&format!(
        "Pushed {branch} to {}.{}\n",
        terminal_line(&remote),
        link.unwrap_or_default()
    ))?;
    Ok(())
}
