//! `vector source`: prints a script's text byte for byte, for other programs.
//!
//! A text that is not UTF-8 is refused.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;
use scene_schemas::InstancePath;
use vector_place::reflection;

use super::place_arg::read_place;
use super::terminal::{Terminal, print_stdout};
use super::{ExitStatus, resolve_path};

/// Print a script's text, exactly as it is in the file.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector source game.rbxl game.ServerScriptService.Main
  vector source game.rbxl 'game.Workspace[\"My.Part\"].Script' > script.luau")]
pub(super) struct SourceArgs {
    /// The place or model, or a Rojo project: its file or its folder
    place: PathBuf,
    /// The script's path
    path: InstancePath,
}

pub(super) fn run(args: &SourceArgs) -> anyhow::Result<ExitStatus> {
    let terminal = Terminal::for_command(false);
    let scene = terminal.with_spinner("Reading the place", || read_place(&args.place))?.scene;
    let node = resolve_path(&scene, &args.path)?;
    let Some(text) = scene.script_text(node) else {
        let (path, class) = (&args.path, scene.class(node));
        if reflection::is_script(class) {
            bail!("the text of {path} is not UTF-8, so it cannot be shown");
        }
        bail!("{path} is a {class}, not a script; `vector show` shows the tree");
    };
    print_stdout(&text)?;
    Ok(ExitStatus::Done)
}
