//! `vector help`: describes the commands, and the language of the offline planner.
//!
//! The texts come from the definition of the command line and from the planner itself.

use clap::Args;
use scene_schemas::refusal::did_you_mean;
use vector_providers::offline;

use super::ExitStatus;
use super::terminal::{print_status, print_stdout};

/// Explain a command, or the language of the offline planner.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector help               # all commands
  vector help edit
  vector help offline       # what --prompt understands without a model")]
pub(super) struct HelpArgs {
    /// A command, or `offline`
    topic: Option<String>,
}

pub(super) fn run(args: &HelpArgs, mut cli: clap::Command) -> anyhow::Result<ExitStatus> {
    // Builds the commands' full names, which their usage lines show.
    cli.build();
    let Some(topic) = args.topic.as_deref() else {
        print_stdout(&format!(
            "{}\n`vector help offline` explains what --prompt understands without a model.\n",
            cli.render_long_help()
        ))?;
        return Ok(ExitStatus::Done);
    };
    if topic == "offline" {
        print_stdout(&offline::language_help())?;
        return Ok(ExitStatus::Done);
    }
    if let Some(command) = cli.find_subcommand_mut(topic) {
        print_stdout(&command.render_long_help().to_string())?;
        return Ok(ExitStatus::Done);
    }
    let names: Vec<&str> = cli.get_subcommands().map(clap::Command::get_name).collect();
    print_status(&format!(
        "error: there is no help topic `{topic}`.{} The topics are {} and offline.",
        did_you_mean(topic, names.iter().copied().chain(["offline"])),
        names.join(", ")
    ));
    Ok(ExitStatus::Usage)
}
