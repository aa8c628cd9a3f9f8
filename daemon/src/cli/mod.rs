//! The command line: parses the arguments, runs the command, and determines the exit code.
//!
//! Results go to stdout, everything else to stderr. With `--json`, stdout contains only JSON lines.

mod asset_generate;
mod asset_upload;
mod assets;
mod background_daemon;
mod call_log;
mod card;
mod card_links;
mod chat;
mod chat_prompt;
mod check;
mod checkpoint;
mod comment_prompt;
mod commit;
mod completions;
mod convert;
mod daemon_client;
mod debug;
mod decision_prompt;
mod deploy;
mod diff;
mod doctor;
mod edit;
mod edit_prompt;
mod editor;
mod estimate;
mod file_mentions;
mod file_size_limit;
mod first_run;
mod forget;
mod git;
mod handover;
mod help;
mod hunks;
mod interrupt;
mod interrupted_runs;
mod keep_prompt;
mod key;
mod ledger;
mod log;
mod mcp;
mod merge;
mod model;
mod model_review;
mod models;
mod open;
mod pair;
mod patch;
mod place_arg;
mod play;
mod plugin;
mod remote_review;
mod render;
mod replan_notice;
mod revert;
mod review;
mod review_requirement;
mod rule_prompt;
mod run;
mod serve;
mod session_chat;
mod session_choice;
mod sessions;
mod setup;
mod show;
mod source;
mod sourcemap;
mod step_prompt;
mod style;
mod summary;
mod terminal;
mod test;
mod tools;
mod tree;
mod uninstall;
mod usage;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::{Args, Parser, Subcommand, ValueEnum};
use rmcp::model::ProtocolVersion;
use scene_schemas::InstancePath;
use scene_schemas::api::PROTOCOL;
use scene_schemas::proposal::Mode;
use vector_place::{Node, Scene};

use crate::config;

/// The exit status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitStatus {
    Done = 0,
    Failed = 1,
    /// The arguments are not valid.
    Usage = 2,
    /// The proposal was not approved, either by the user or because there was no user to ask.
    NotApproved = 3,
}

/// The output of `--version`, which includes the protocol versions that both sides of a connection
/// must agree on.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    format!("{} (protocol {PROTOCOL}, MCP {})", env!("CARGO_PKG_VERSION"), ProtocolVersion::LATEST)
});

/// A companion for Roblox Studio: any language model can work on your place, and you approve each
/// change.
#[derive(Debug, Parser)]
#[command(name = "vector", version = VERSION.as_str(), max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
struct Cli {
    /// The folder of the ledger [default: VECTOR_HOME, or the user's data directory]
    // The environment variable is not a clap default, as clap would show the argument as required.
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    #[command(subcommand)]
    command: CliCommand,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// Edit a place, a model or a Rojo project: tool calls become proposals, and those you approve
    /// are written
    Edit(edit::EditArgs),
    /// Chat with a model about a place, and decide on what it proposes
    Chat(chat::ChatArgs),
    /// Estimate the size and the cost of a request, without asking a model
    Estimate(estimate::EstimateArgs),
    /// Show the tree of a place, or one instance
    Show(show::ShowArgs),
    /// Render a picture of a place, or of what a proposal changes
    Render(render::RenderArgs),
    /// Print a script's text
    Source(source::SourceArgs),
    /// Map the instances of a Rojo project to its files
    Sourcemap(sourcemap::SourcemapArgs),
    /// Check all scripts of a place: syntax, lints, types
    Check(check::CheckArgs),
    /// Run a Luau script on a copy of a place; what it changed becomes a proposal
    Run(run::RunArgs),
    /// Play a game headlessly on a copy of a place, and report its errors
    Play(play::PlayArgs),
    /// Run the specs of a place, headlessly
    Test(test::TestArgs),
    /// Run the specs of a place in Roblox's own engine, in a scratch place
    Verify(verify::VerifyArgs),
    /// Find assets in Roblox's Creator Store, insert them, and upload files
    Assets(assets::AssetsArgs),
    /// Compare two places: instances, properties, scripts
    Diff(diff::DiffArgs),
    /// Merge two places that have a common ancestor
    Merge(merge::MergeArgs),
    /// Convert a place between the binary and the XML format
    Convert(convert::ConvertArgs),
    /// Edit a text file with a patch, replacements or ranges; nothing is written unless all edits
    /// fit
    Patch(patch::PatchArgs),
    /// Let Git merge and compare places with Vector
    Git(git::GitArgs),
    /// Commit what approved proposals changed in a Rojo project
    Commit(commit::CommitArgs),
    /// Upload a place to Roblox: save it as a version, and publish it after a second yes
    Deploy(deploy::DeployArgs),
    /// Run the daemon, which serves places in Studio, place files and projects
    Serve(serve::ServeArgs),
    /// Stop the running daemon
    Stop(serve::StopArgs),
    /// Serve an agent over MCP: its tool calls become proposals that you decide on
    Mcp(mcp::McpArgs),
    /// Register Vector with MCP clients and install the Studio plugin, or undo both
    Setup(setup::SetupArgs),
    /// Decide on all pending proposals in the daemon
    Review(review::ReviewArgs),
    /// Open the review page in your browser
    Open(open::OpenArgs),
    /// Show a code that pairs a Studio plugin with the daemon
    Pair(pair::PairArgs),
    /// List who has access to the daemon; create client tokens and revoke access
    Sessions(sessions::SessionsArgs),
    /// Diagnose the installation and suggest fixes
    Doctor(doctor::DoctorArgs),
    /// Remove everything that Vector put on this machine, except the ledger
    Uninstall(uninstall::UninstallArgs),
    /// Install or uninstall the Studio plugin, or write it to a file
    Plugin(plugin::PluginArgs),
    /// Create, list or restore checkpoints of an open place
    Checkpoint(checkpoint::CheckpointArgs),
    /// Permanently erase the recorded texts of a conversation, of a place, or before a date
    Forget(forget::ForgetArgs),
    /// Check that the record of all decisions is whole
    Ledger(ledger::LedgerArgs),
    /// List requests, proposals, decisions and results
    Log(log::LogArgs),
    /// Revert an applied proposal, or all of a run
    Revert(revert::RevertArgs),
    /// List the usable models, and why others are not usable
    Models(models::ModelsArgs),
    /// Show token usage and cost by model, day and task
    Usage(usage::UsageArgs),
    /// Manage API keys of model providers in the system's keychain
    Key(key::KeyArgs),
    /// List the tools that a model can call
    Tools(tools::ToolsArgs),
    /// Debug Vector: decode recorded provider responses, rebuild requests
    Debug(debug::DebugArgs),
    /// Print a completion script for a shell
    Completions(completions::CompletionsArgs),
    /// Print the man page, or write the man pages of all commands
    Man(completions::ManArgs),
    /// Explain a command, or the language of the offline planner (`vector help offline`)
    Help(help::HelpArgs),
}

/// How proposals are decided.
#[derive(Debug, Args)]
struct DecideArgs {
    /// Which proposals are applied without your approval
    #[arg(long, value_enum, default_value_t = ModeName::Confirm)]
    mode: ModeName,
    /// Approve every card without asking
    #[arg(long, short)]
    yes: bool,
    /// With --yes: also approve cards that need a second confirmation
    #[arg(long, requires = "yes")]
    force: bool,
    /// Print only the ledger's entries on stdout, as JSON lines
    #[arg(long)]
    json: bool,
}

impl DecideArgs {
    fn mode(&self) -> Mode {
        match self.mode {
            ModeName::Confirm => Mode::Confirm,
            ModeName::Auto => Mode::Auto,
            ModeName::Dangerous => Mode::Dangerous,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ModeName {
    /// Nothing: you decide on every proposal
    Confirm,
    /// Proposals that only add and have no warnings: new instances and scripts that do not affect
    /// existing ones, comments, and unused declarations at the end of a script
    Auto,
    /// Everything except proposals that need a second confirmation
    Dangerous,
}

/// Joins an error and its causes. A cause already contained in the text is not repeated.
fn error_sentence(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1) {
        let cause = cause.to_string();
        if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

/// Resolves a path given by the user.
fn resolve_path(scene: &Scene, path: &InstancePath) -> anyhow::Result<Node> {
    scene.resolve(path).map_err(|refusal| anyhow::anyhow!(refusal.for_person()))
}

pub fn main() -> ExitCode {
    if std::env::args_os().len() < 2 {
        // Without arguments, print the whole help instead of an error about a missing command.
        let help = <Cli as clap::CommandFactory>::command().render_help();
        terminal::print_status(&help.to_string());
        return ExitCode::from(ExitStatus::Usage as u8);
    }
    file_size_limit::ignore_file_size_signal();
    let cli = match Cli::try_parse() {
        Ok(cli) => Cli { home: cli.home.or_else(config::read_home_variable), ..cli },
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let home = || config::resolve_data_folder(cli.home.clone());
    let described = <Cli as clap::CommandFactory>::command;
    let ended = match cli.command {
        CliCommand::Edit(args) => home().and_then(|home| edit::run(&args, &home)),
        CliCommand::Chat(args) => home().and_then(|home| chat::run(&args, &home)),
        CliCommand::Revert(args) => home().and_then(|home| revert::run(&args, &home)),
        CliCommand::Serve(args) => home().and_then(|home| serve::run(&args, &home)),
        CliCommand::Stop(args) => home().and_then(|home| serve::run_stop(&args, &home)),
        CliCommand::Mcp(args) => home().and_then(|home| mcp::run(&args, &home)),
        CliCommand::Setup(args) => home().and_then(|it| setup::run(&args, &it, cli.home.is_some())),
        CliCommand::Review(args) => home().and_then(|home| review::run(&args, &home)),
        CliCommand::Open(args) => home().and_then(|home| open::run(&args, &home)),
        CliCommand::Pair(args) => home().and_then(|home| pair::run(&args, &home)),
        CliCommand::Sessions(args) => home().and_then(|home| sessions::run(&args, &home)),
        CliCommand::Doctor(args) => home().and_then(|home| doctor::run(&args, &home)),
        CliCommand::Uninstall(args) => home().and_then(|home| uninstall::run(&args, &home)),
        CliCommand::Plugin(args) => plugin::run(&args, home),
        CliCommand::Checkpoint(args) => home().and_then(|home| checkpoint::run(&args, &home)),
        CliCommand::Forget(args) => home().and_then(|home| forget::run(&args, &home)),
        CliCommand::Ledger(args) => home().and_then(|home| ledger::run(&args, &home)),
        CliCommand::Log(args) => home().and_then(|home| log::run(&args, &home)),
        CliCommand::Estimate(args) => home().and_then(|home| estimate::run(&args, &home)),
        CliCommand::Show(args) => show::run(&args),
        CliCommand::Render(args) => render::run(&args, home),
        CliCommand::Source(args) => source::run(&args),
        CliCommand::Sourcemap(args) => sourcemap::run(&args),
        CliCommand::Check(args) => Ok(check::run(&args)),
        CliCommand::Play(args) => Ok(play::run(&args)),
        CliCommand::Run(args) => home().and_then(|home| run::run(&args, &home)),
        CliCommand::Test(args) => Ok(test::run(&args, home)),
        CliCommand::Verify(args) => home().map(|home| verify::run(&args, &home)),
        CliCommand::Assets(args) => home().and_then(|home| assets::run(&args, &home)),
        CliCommand::Diff(args) => Ok(diff::run(&args)),
        CliCommand::Merge(args) => Ok(merge::run(&args)),
        CliCommand::Convert(args) => convert::run(&args),
        CliCommand::Patch(args) => patch::run(&args),
        CliCommand::Git(args) => git::run(&args, home),
        CliCommand::Commit(args) => home().and_then(|home| commit::run(&args, &home)),
        CliCommand::Deploy(args) => home().and_then(|home| deploy::run(&args, &home)),
        CliCommand::Models(args) => home().and_then(|home| models::run(&args, &home)),
        CliCommand::Usage(args) => home().and_then(|home| usage::run(&args, &home)),
        CliCommand::Key(args) => home().and_then(|home| key::run(&args, &home)),
        CliCommand::Tools(args) => tools::run(&args),
        CliCommand::Debug(args) => debug::run(&args, home),
        CliCommand::Completions(args) => completions::print_completions(&args, described()),
        CliCommand::Man(args) => completions::print_man_pages(&args, described()),
        CliCommand::Help(args) => help::run(&args, described()),
    };
    match ended {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(error) => {
            terminal::print_status(&format!("error: {}", error_sentence(&error)));
            ExitCode::from(ExitStatus::Failed as u8)
        }
    }
}
