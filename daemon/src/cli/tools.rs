//! `vector tools`: lists the tools that a model can call, for users and, with `--json`, for
//! programs.

use std::fmt::Write as _;

use clap::Args;
use vector_core::tools;

use super::ExitStatus;
use super::style::{PaintKind, wrap_words};
use super::terminal::{print_stdout, stdout_style};

/// List the tools that a model can call.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector tools
  vector tools --json       # with the schema of each tool's arguments")]
pub(super) struct ToolsArgs {
    /// Print one JSON array: names, descriptions and the schemas of the arguments
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ToolsArgs) -> anyhow::Result<ExitStatus> {
    if args.json {
        let list = serde_json::to_string_pretty(&tools::tool_list())?;
        print_stdout(&format!("{list}\n"))?;
        return Ok(ExitStatus::Done);
    }
    let style = stdout_style();
    let mut text = String::new();
    for tool in tools::TOOLS {
        text.push_str(&style.paint(PaintKind::Bold, tool.name));
        text.push('\n');
        for line in wrap_words(tool.about, style.width.saturating_sub(4)) {
            let _ = writeln!(text, "    {line}");
        }
    }
    text.push_str("\n`vector tools --json` prints the arguments of each tool.\n");
    print_stdout(&text)?;
    Ok(ExitStatus::Done)
}
