//! `vector completions` and `vector man`: what shells and `man` know of the command line, made from
//! its own description.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use clap_complete::Shell;

use super::Exit;
use super::terminal::{print, print_line};

/// Print completions for a shell.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector completions bash > ~/.local/share/bash-completion/completions/vector
  vector completions zsh > ~/.zfunc/_vector            # a folder in $fpath
  vector completions fish > ~/.config/fish/completions/vector.fish
  vector completions powershell >> $PROFILE")]
pub(super) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the man page, or write one for each command.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector man | man -l -
  vector man --out ~/.local/share/man/man1")]
pub(super) struct Man {
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(super) fn completions(args: &Completions, mut cli: clap::Command) -> anyhow::Result<Exit> {
    let mut text = vec![];
    clap_complete::generate(args.shell, &mut cli, "vector", &mut text);
    print(&String::from_utf8_lossy(&text))?;
    Ok(Exit::Done)
}

pub(super) fn man(args: &Man, cli: clap::Command) -> anyhow::Result<Exit> {
    let Some(folder) = &args.out else {
        let mut text = vec![];
        clap_mangen::Man::new(cli).render(&mut text)?;
        print(&String::from_utf8_lossy(&text))?;
        return Ok(Exit::Done);
    };
    fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(cli, folder))
        .with_context(|| format!("no pages can be written to {}", folder.display()))?;
    print_line(&format!("The pages are in {}.", folder.display()));
    Ok(Exit::Done)
}
