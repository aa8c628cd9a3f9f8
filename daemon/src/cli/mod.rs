//! The command line: what a person types, and where the exit code is decided.
//!
//! Results go to stdout, everything else to stderr; with `--json` only JSON lines go to stdout.

mod ask;
mod background;
mod calls;
mod card;
mod cards;
mod chat;
mod check;
mod checkpoint;
mod completions;
mod convert;
mod cut_off_runs;
mod daemon;
mod debug;
mod deploy;
mod diff;
mod doctor;
mod edit;
mod editor;
mod forget;
mod git;
mod handover;
mod help;
mod hunks;
mod interrupt;
mod key;
mod limits;
mod log;
mod mcp;
mod merge;
mod model;
mod models;
mod open;
mod opened;
mod pair;
mod patch;
mod plugin;
mod render;
mod replanned;
mod revert;
mod review;
mod serve;
mod sessions;
mod setup;
mod show;
mod source;
mod sourcemap;
mod studio;
mod style;
mod summary;
mod terminal;
mod test;
mod tools;
mod tree;
mod usage;

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

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Done.
    Done = 0,
    /// Something went wrong.
    Failed = 1,
    /// The command line makes no sense.
    Usage = 2,
    /// A person, or nobody, did not approve.
    NotApproved = 3,
}

/// What `--version` says: with the protocols that both sides of a connection must agree on.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    format!("{} (protocol {PROTOCOL}, MCP {})", env!("CARGO_PKG_VERSION"), ProtocolVersion::LATEST)
});

/// A companion for Roblox Studio: any language model works on your place, and you decide.
#[derive(Debug, Parser)]
#[command(name = "vector", version = VERSION.as_str(), max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(disable_help_subcommand = true)]
struct Cli {
    /// The folder of the ledger [default: VECTOR_HOME, or the user's data directory]
    // A variable is no default here: clap would show the argument as one that is required.
    #[arg(long, global = true, value_name = "DIR")]
    home: Option<PathBuf>,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Edit a place, a model or a Rojo project: tool calls become proposals, you decide, files are written
    Edit(edit::Edit),
    /// Talk with a model about a place, and decide upon what it proposes
    Chat(chat::Chat),
    /// Show the tree of a place, or one instance
    Show(show::Show),
    /// Draw a picture of a place, or of what a proposal changes
    Render(render::Render),
    /// Print a script's text
    Source(source::Source),
    /// Map the instances of a Rojo project to its files
    Sourcemap(sourcemap::Sourcemap),
    /// Check all scripts of a place: syntax, lints, types
    Check(check::Check),
    /// Run the specs of a place, headlessly
    Test(test::Test),
    /// Compare two places: instances, properties, scripts
    Diff(diff::Diff),
    /// Merge two places that come from one
    Merge(merge::Merge),
    /// Write a place in the other format
    Convert(convert::Convert),
    /// Edit a text file with a patch, replacements or ranges: exactly, or not at all
    Patch(patch::Patch),
    /// Let Git merge and compare places with Vector
    Git(git::Git),
    /// Commit what accepted proposals have changed in a Rojo project
    Deploy(deploy::Deploy),
    /// Serve the places that are open in Studio, place files and projects: the daemon
    Serve(serve::Serve),
    /// End the daemon
    Stop(serve::Stop),
    /// Serve an agent of its own over MCP: its tool calls become proposals, and you decide
    Mcp(mcp::Mcp),
    /// Tell MCP clients about Vector and put the plugin into Studio, or take both back
    Setup(setup::Setup),
    /// Decide on whatever waits in the daemon, whoever asked for it
    Review(review::Review),
    /// Open the review page in your browser: see, decide and look back
    Open(open::Open),
    /// Show a code that pairs a Studio plugin with the daemon
    Pair(pair::Pair),
    /// List who has access to the daemon; make tokens for clients, and take access away
    Sessions(sessions::Sessions),
    /// Say what is in order, what is not, and what mends it
    Doctor(doctor::Doctor),
    /// Build the Studio plugin, or put it where Studio finds it
    Plugin(plugin::Plugin),
    /// Keep a moment of the place that is open in Studio, or go back to one
    Checkpoint(checkpoint::Checkpoint),
    /// Erase what was said and changed: of a conversation, of a place, or before a date
    Forget(forget::Forget),
    /// List what was asked, proposed, decided and done
    Log(log::Log),
    /// Take an applied proposal, or all of a run, back
    Revert(revert::Revert),
    /// List the models that can be asked, and why the others cannot
    Models(models::Models),
    /// Show what models have taken: tokens and dollars, by model, day and task
    Usage(usage::Usage),
    /// Keep keys of model providers in the system's keychain
    Key(key::Key),
    /// List the tools that a model can call
    Tools(tools::Tools),
    /// Look into Vector itself: decode recorded responses of model providers
    Debug(debug::Debug),
    /// Print completions for a shell
    Completions(completions::Completions),
    /// Print the man page, or write one for each command
    Man(completions::Man),
    /// Explain a command, or the language of the offline planner (`vector help offline`)
    Help(help::Help),
}

/// How proposals are decided upon.
#[derive(Debug, Args)]
struct Decide {
    /// Which proposals go without your yes
    #[arg(long, value_enum, default_value_t = ModeName::Confirm)]
    mode: ModeName,
    /// Say yes to every card
    #[arg(long, short)]
    yes: bool,
    /// With --yes: also to cards that need a second confirmation
    #[arg(long, requires = "yes")]
    force: bool,
    /// Print the ledger's entries as JSON lines on stdout, and nothing else there
    #[arg(long)]
    json: bool,
}

impl Decide {
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
    /// Everything waits for you
    Confirm,
    /// What has no warnings and only adds goes at once: new instances and scripts that change nothing
    /// that is there, comments, and unused declarations at the end of a script
    Auto,
    /// Everything goes, but for what needs a second confirmation
    Dangerous,
}

/// An error with its causes, each said once: some name their cause in their own sentence.
fn sentence(error: &anyhow::Error) -> String {
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

/// The instance of a path that a person typed.
fn resolve(scene: &Scene, path: &InstancePath) -> anyhow::Result<Node> {
    scene.resolve(path).map_err(|refusal| anyhow::anyhow!(refusal.for_person()))
}

/// Runs the command line.
pub fn main() -> ExitCode {
    if std::env::args_os().len() < 2 {
        // All that there is, and not only that a command is missing.
        let help = <Cli as clap::CommandFactory>::command().render_help();
        terminal::say(&help.to_string());
        return ExitCode::from(Exit::Usage as u8);
    }
    limits::survive_file_limit();
    let cli = match Cli::try_parse() {
        Ok(cli) => Cli { home: cli.home.or_else(config::home_of_environment), ..cli },
        Err(error) => {
            let _ = error.print();
            return ExitCode::from(error.exit_code() as u8);
        }
    };
    let home = || config::home(cli.home.clone());
    let described = <Cli as clap::CommandFactory>::command;
    let ended = match cli.command {
        Command::Edit(args) => home().and_then(|home| edit::run(&args, &home)),
        Command::Chat(args) => home().and_then(|home| chat::run(&args, &home)),
        Command::Revert(args) => home().and_then(|home| revert::run(&args, &home)),
        Command::Serve(args) => home().and_then(|home| serve::run(&args, &home)),
        Command::Stop(args) => home().and_then(|home| serve::stop(&args, &home)),
        Command::Mcp(args) => home().and_then(|home| mcp::run(&args, &home)),
        Command::Setup(args) => home().and_then(|it| setup::run(&args, &it, cli.home.is_some())),
        Command::Review(args) => home().and_then(|home| review::run(&args, &home)),
        Command::Open(args) => home().and_then(|home| open::run(&args, &home)),
        Command::Pair(args) => home().and_then(|home| pair::run(&args, &home)),
        Command::Sessions(args) => home().and_then(|home| sessions::run(&args, &home)),
        Command::Doctor(args) => home().and_then(|home| doctor::run(&args, &home)),
        Command::Plugin(args) => plugin::run(&args),
        Command::Checkpoint(args) => home().and_then(|home| checkpoint::run(&args, &home)),
        Command::Forget(args) => home().and_then(|home| forget::run(&args, &home)),
        Command::Log(args) => home().and_then(|home| log::run(&args, &home)),
        Command::Show(args) => show::run(&args),
        Command::Render(args) => render::run(&args, home),
        Command::Source(args) => source::run(&args),
        Command::Sourcemap(args) => sourcemap::run(&args),
        Command::Check(args) => Ok(check::run(&args)),
        Command::Test(args) => Ok(test::run(&args)),
        Command::Diff(args) => Ok(diff::run(&args)),
        Command::Merge(args) => Ok(merge::run(&args)),
        Command::Convert(args) => convert::run(&args),
        Command::Patch(args) => patch::run(&args),
        Command::Git(args) => git::run(&args),
        Command::Deploy(args) => home().and_then(|home| deploy::run(&args, &home)),
        Command::Models(args) => home().and_then(|home| models::run(&args, &home)),
        Command::Usage(args) => home().and_then(|home| usage::run(&args, &home)),
        Command::Key(args) => home().and_then(|home| key::run(&args, &home)),
        Command::Tools(args) => tools::run(&args),
        Command::Debug(args) => debug::run(&args, home),
        Command::Completions(args) => completions::completions(&args, described()),
        Command::Man(args) => completions::man(&args, described()),
        Command::Help(args) => help::run(&args, described()),
    };
    match ended {
        Ok(exit) => ExitCode::from(exit as u8),
        Err(error) => {
            terminal::say(&format!("error: {}", sentence(&error)));
            ExitCode::from(Exit::Failed as u8)
        }
    }
}
