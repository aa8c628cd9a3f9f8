//! `vector estimate`: says how large a task will probably be, before a model is asked.

use std::path::{Path, PathBuf};

use clap::Args;
use scene_schemas::review::TaskRole;
use scene_schemas::tier::{EstimatedRole, RoleEstimate, TaskEstimate};
use vector_core::planning_scene::PlanningScene;
use vector_core::safe_line::safe_line;
use vector_engine::UserRequest;
use vector_engine::task_estimate::estimate_task;
use vector_place::{FileFormat, Scene};

use super::place_arg::PlaceArg;
use super::style::PaintKind;
use super::terminal::{Terminal, confirm_question, print_line};
use super::{ExitStatus, model};

/// Estimate the tier, the tokens and the cost of a request, without asking a model.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector estimate \"make a door that opens with E\"
  vector estimate \"rewrite all scripts\" game.rbxl
  vector estimate \"add a shop\" --project . --json

The estimate follows from the words of the request and from the scripts of the place.")]
pub(super) struct EstimateArgs {
    /// What you want, as you would write it to a model
    text: String,
    /// The place or model: .rbxl, .rbxlx, .rbxm or .rbxmx [default: an empty place]
    place: Option<PathBuf>,
    /// A Rojo project instead: its file or its folder
    #[arg(long, value_name = "PATH", conflicts_with = "place")]
    project: Option<PathBuf>,
    /// The model: PROVIDER/MODEL, PROVIDER or offline [default: from the settings]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Estimate it for a model that may give parts of the task to workers
    #[arg(long)]
    workers: bool,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &EstimateArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    let terminal = Terminal::for_command(args.json);
    let (scene, folder) = if args.place.is_none() && args.project.is_none() {
        (PlanningScene::from(Scene::empty(FileFormat::Binary)), None)
    } else {
        let at = PlaceArg::from_args(args.place.as_deref(), args.project.as_deref())?;
        // It may be one that cannot be written.
        (terminal.with_spinner("Reading the place", at.scene_reader())?, at.settings_folder())
    };
    let driver = model::choose_driver(home, folder, args.model.as_deref())?;
    let role = if args.workers { TaskRole::Lead {} } else { TaskRole::Solo };
    let request = UserRequest { role, ..UserRequest::from(args.text.as_str()) };
    let estimate = estimate_task(&scene, &request, &driver);
    if args.json {
        print_line(&serde_json::to_string(&estimate)?);
        return Ok(ExitStatus::Done);
    }
    for line in describe_estimate(&estimate) {
        print_line(&line);
    }
    Ok(ExitStatus::Done)
}

/// Returns the estimate as lines for a person.
fn describe_estimate(estimate: &TaskEstimate) -> Vec<String> {
    let mut lines = vec![estimate.line.clone()];
    let reasons = estimate.reasons.iter().map(|it| safe_line(it));
    lines.extend(reasons.map(|reason| format!("  because: {reason}")));
    let is_other = |it: &&RoleEstimate| it.role != EstimatedRole::Solo || estimate.role != it.role;
    for it in estimate.roles.iter().filter(is_other) {
        let name = match (it.role, it.count) {
            (EstimatedRole::Solo, _) => "one model alone".to_owned(),
            (EstimatedRole::Lead, _) => "a lead".to_owned(),
            (EstimatedRole::Worker, count) => format!("{count} workers"),
            (EstimatedRole::Reviewer, _) => "a reviewer".to_owned(),
        };
        let tokens =
            it.tokens.map_or(String::new(), |it| format!(": {} to {} tokens", it.low, it.high));
        let dollars =
            it.dollars.map_or(String::new(), |it| format!(", ${:.2} to ${:.2}", it.low, it.high));
        lines.push(format!("  with {name}{tokens}{dollars}"));
    }
    lines.extend(estimate.assumptions.iter().map(|it| format!("  assumes: {it}")));
    lines
}

/// Shows an estimate before a request is sent, and asks if it is above the limit. Returns whether
/// to send the request.
pub(super) fn confirm_estimate(
    terminal: &Terminal,
    estimate: &TaskEstimate,
) -> anyhow::Result<bool> {
    let line = format!("{}\n", safe_line(&estimate.line));
    terminal.show(&terminal.style().paint(PaintKind::Dim, line));
    if !estimate.needs_confirmation {
        return Ok(true);
    }
    confirm_question(
        "This may cost more than caps.estimate_usd allows without asking. Send it? [y/N]",
        "Nothing was sent",
        "A higher caps.estimate_usd sends it without asking",
    )
}
