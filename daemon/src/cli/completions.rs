//! `vector completions` and `vector man`: generates shell completions and man pages from the
//! definition of the command line.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use clap_complete::Shell;

use super::ExitStatus;
use super::terminal::{print_line, print_stdout};

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector completions bash > ~/.local/share/bash-completion/completions/vector
  vector completions zsh > ~/.zfunc/_vector            # a folder in $fpath
  vector completions fish > ~/.config/fish/completions/vector.fish
  vector completions powershell >> $PROFILE")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the man page, or write the man pages of all commands.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector man | man -l -
  vector man --out ~/.local/share/man/man1")]
pub(super) struct ManArgs {
    /// Write the man pages of all commands to this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn print_completions(
    args: &CompletionsArgs,
    mut cli: clap::Command,
) -> anyhow::Result<ExitStatus> {
    let mut text = vec![];
    clap_complete::generate(args.shell, &mut cli, "vector", &mut text);
    print_stdout(&String::from_utf8_lossy(&text))?;
    Ok(ExitStatus::Done)
}

pub(super) fn print_man_pages(args: &ManArgs, cli: clap::Command) -> anyhow::Result<ExitStatus> {
    let Some(folder) = &args.out else {
        let mut text = vec![];
        clap_mangen::Man::new(cli).render(&mut text)?;
        print_stdout(&String::from_utf8_lossy(&text))?;
        return Ok(ExitStatus::Done);
    };
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(cli, folder))
        .with_context(|| format!("the man pages cannot be written to {}", folder.display()))?;
    print_line(&format!("Wrote the man pages to {}.", folder.display()));
    Ok(ExitStatus::Done)
}
