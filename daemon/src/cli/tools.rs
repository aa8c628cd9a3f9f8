//! `vector tools`: what a model can call, for people and, with `--json`, for programs.

use std::fmt::Write as _;

use clap::Args;
use vector_core::tools;

use super::Exit;
use super::style::{Paint, wrap};
use super::terminal::{print, stdout_style};

/// List the tools that a model can call.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector tools
  vector tools --json       # with the schema of each tool's arguments")]
pub(super) struct Tools {
    /// Print one JSON array: names, descriptions and the schemas of the arguments
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Tools) -> anyhow::Result<Exit> {
    if args.json {
        let list = serde_json::to_string_pretty(&tools::print())?;
        print(&format!("{list}\n"))?;
        return Ok(Exit::Done);
    }
    let style = stdout_style();
    let mut text = String::new();
    for tool in tools::TOOLS {
        text.push_str(&style.paint(Paint::Bold, tool.name));
        text.push('\n');
        for line in wrap(tool.about, style.width.saturating_sub(4)) {
            let _ = writeln!(text, "    {line}");
        }
    }
    text.push_str("\n`vector tools --json` prints the arguments of each.\n");
    print(&text)?;
    Ok(Exit::Done)
}
