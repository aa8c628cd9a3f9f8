//! `vector run`: runs a Luau script on a copy of a place. What it changed becomes a proposal.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use serde_json::json;
use vector_core::prompt::ToolCall;
use vector_core::run::RunRequest;

use super::edit::{EditRequest, EditTask};
use super::place_arg::PlaceArg;
use super::{DecideArgs, ExitStatus};

/// Run a Luau script on a copy of a place, as in Studio's command bar. What it changed becomes a
/// proposal, and is written when you approve it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct RunArgs {
    /// The place or model: .rbxl, .rbxlx, .rbxm or .rbxmx; or a Rojo project: its file or its
    /// folder
    place: PathBuf,
    /// The Luau script; - reads stdin
    #[arg(long, value_name = "FILE", required_unless_present = "code")]
    script: Option<PathBuf>,
    /// The code itself
    #[arg(long, short, value_name = "LUAU", conflicts_with = "script", allow_hyphen_values = true)]
    code: Option<String>,
    /// What the script changes, in a few words [default: its first comment]
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Write to this file and leave the place unchanged
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Show what would be done; nothing is written or recorded
    #[arg(long)]
    dry_run: bool,
    /// Do not play the game to find out whether a change brings new errors
    #[arg(long)]
    no_play: bool,
    #[command(flatten)]
    decide: DecideArgs,
}

const EXAMPLES: &str = "\
Examples:
  vector run game.rbxl --script anchor.luau
  vector run game.rbxl -c 'return #workspace:GetDescendants()'
  vector run . --script tags.luau --yes          # the files of a Rojo project

Exit codes: 0 done, 1 the script failed, 2 usage, 3 not approved.";

pub(super) fn run(args: &RunArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let (code, name) = read_code(args)?;
    let at = PlaceArg::from_args(Some(&args.place), None)?;
    let request = RunRequest { source: code, name, title: args.title.clone() };
    let goal = request.title().unwrap_or_else(|| format!("Run {}", request.name));
    let mut call = json!({ "code": request.source });
    if let Some(title) = request.title {
        call["title"] = title.into();
    }
    let calls = vec![ToolCall::new("run_luau", call)];
    let (out, dry_run, decide) = (args.out.as_deref(), args.dry_run, &args.decide);
    let request = EditRequest::Calls(calls);
    let is_played = !args.no_play;
    EditTask { at, out, dry_run, is_played, decide, goal, request }.run(home)
}

/// Reads the code. Also returns what it is called.
fn read_code(args: &RunArgs) -> anyhow::Result<(String, String)> {
    let file = match (&args.code, &args.script) {
        (Some(code), _) => return Ok((code.clone(), "code".to_owned())),
        (None, Some(file)) => file,
        (None, None) => bail!("name a script with --script, or give the code with --code"),
    };
    let mut bytes = Vec::new();
    let name = if file == Path::new("-") {
        std::io::stdin().read_to_end(&mut bytes).context("stdin cannot be read")?;
        "stdin".to_owned()
    } else {
        let name = file.display().to_string();
        bytes = fs::read(file).with_context(|| format!("{name} cannot be read"))?;
        name
    };
    let code =
        String::from_utf8(bytes).ok().with_context(|| format!("{name} is not UTF-8 text"))?;
    let code = code.strip_prefix('\u{feff}').unwrap_or(&code);
    Ok((code.to_owned(), name))
}
