//! `vector play`: plays a game headlessly, on a copy of a place.
//!
//! `vector_runtime` plays it. This module reads the steps and prints what came of it.

use std::fmt::Write;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::Args;
use vector_core::play::{
    PlayAction, PlayError, PlayOutcome, PlayRequest, PlayStep, StepArgs, read_steps,
};
use vector_runtime::{PlayLimits, play_scene};

use super::place_arg::read_place;
use super::style::{PaintKind, TextStyle, count_noun, safe_lines, terminal_line};
use super::terminal::{Terminal, escape_line_ends, print_status, print_stdout, stdout_style};
use super::{ExitStatus, error_sentence};

/// Play a game headlessly on a copy of a place: a server and its clients, in simulated time. Nothing
/// is written, and nothing is sent anywhere.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct PlayArgs {
    /// The place, or a Rojo project: its file or its folder
    place: PathBuf,
    /// How long it is played, in seconds of the game
    #[arg(long, value_name = "SECONDS", default_value_t = 5.0)]
    seconds: f64,
    /// The number of players that join at the start
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=8))]
    players: u32,
    /// What the players do: a JSON file with a list of steps; - reads stdin
    #[arg(long, value_name = "FILE")]
    steps: Option<PathBuf>,
    /// What decides all that happens by chance
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u32,
    /// The time limit in real time, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Examples:
  vector play game.rbxl
  vector play game.rbxl --players 2 --seconds 30 --json
  echo '[{\"do\": \"touch\", \"target\": \"Workspace.Coin\"},
         {\"do\": \"expect\", \"text\": \"#workspace.Coins:GetChildren() == 0\"}]' |
    vector play . --steps -

Exit codes: 0 no errors, 1 errors or steps that failed, 2 another error.";

/// Maximum number of seconds of the game.
const MAX_SECONDS: f64 = 3600.0;

/// Maximum number of entries of each list in JSON.
const MOST: usize = 10_000;

/// Exit code 1 means that the game has errors, so every other failure is 2.
const TROUBLE: ExitStatus = ExitStatus::Usage;

pub(super) fn run(args: &PlayArgs) -> ExitStatus {
    play(args).unwrap_or_else(|error| {
        print_status(&format!("error: {}", error_sentence(&error)));
        TROUBLE
    })
}

fn play(args: &PlayArgs) -> anyhow::Result<ExitStatus> {
    if !(args.seconds > 0.0 && args.seconds <= MAX_SECONDS) {
        bail!("--seconds has to be more than 0 and at most {MAX_SECONDS}");
    }
    let steps = args.steps.as_deref().map(read_steps_file).transpose()?.unwrap_or_default();
    let request = PlayRequest {
        seconds: args.seconds,
        players: args.players,
        seed: args.seed,
        steps,
        has_physics: true,
    };
    let terminal = Terminal::for_command(args.json);
    let scene = terminal.with_spinner("Reading the place", || read_place(&args.place))?.scene;
    let limits = PlayLimits { real: Duration::from_secs(args.timeout), ..PlayLimits::default() };
    let outcome = terminal
        .with_spinner("Playing", || play_scene(&scene, &request, limits, Rc::new(|| false)))
        .map_err(anyhow::Error::msg)?;
    if args.json {
        let json = outcome.to_json(&request, MOST).to_string();
        print_stdout(&format!("{}\n", escape_line_ends(&json)))?;
    } else {
        print_stdout(&render(&request, &outcome, stdout_style()))?;
    }
    print_status(&summarize(&request, &outcome));
    let is_ok = outcome.is_ok(&request);
    Ok(if is_ok { ExitStatus::Done } else { ExitStatus::Failed })
}

fn read_steps_file(file: &Path) -> anyhow::Result<Vec<PlayStep>> {
    let mut text = String::new();
    let name = if file == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).context("stdin cannot be read")?;
        "stdin".to_owned()
    } else {
        let name = file.display().to_string();
        text = fs::read_to_string(file).with_context(|| format!("{name} cannot be read"))?;
        name
    };
    let rows: Vec<StepArgs> = serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .with_context(|| format!("{name} is not a list of steps in JSON"))?;
    read_steps(rows).map_err(|why| anyhow::anyhow!("{name}: {why}"))
}

fn render(request: &PlayRequest, outcome: &PlayOutcome, style: TextStyle) -> String {
    let mut text = String::new();
    let dim = |text: String| style.paint(PaintKind::Dim, text);
    for it in outcome.output.iter().filter(|it| it.line.kind != "error") {
        let from = dim(format!("{:7.2} {:<8}", it.at, terminal_line(&it.peer)));
        let line = safe_lines(&it.line.text);
        let line = match it.line.kind.as_str() {
            "print" => line,
            kind => style.paint(PaintKind::Bold, format!("{kind}: {line}")),
        };
        let _ = writeln!(text, "{from} {line}");
    }
    for (step, result) in request.steps.iter().zip(&outcome.steps) {
        let from = dim(format!("{:7.2}", result.at));
        let what = terminal_line(&describe_step(step)).into_owned();
        let _ = match &result.failure {
            None => writeln!(text, "{from} {} {what}", style.paint(PaintKind::Added, "✓")),
            Some(why) => writeln!(
                text,
                "{from} {} {what}: {}",
                style.paint(PaintKind::Removed, "✗"),
                terminal_line(why)
            ),
        };
    }
    for remote in &outcome.remotes {
        let mut uses = Vec::new();
        if remote.from_clients > 0 {
            uses.push(format!("{} from clients", remote.from_clients));
        }
        if remote.from_server > 0 {
            uses.push(format!("{} from the server", remote.from_server));
        }
        let line = format!("{}: {}", terminal_line(&remote.path), uses.join(", "));
        let _ = writeln!(text, "{} {line}", dim("remote".to_owned()));
    }
    for it in &outcome.requests {
        let line = format!("{}({})", it.what, it.args.join(", "));
        let _ = writeln!(text, "{} {}", dim("not sent".to_owned()), terminal_line(&line));
    }
    for error in &outcome.errors {
        render_error(&mut text, error, style);
    }
    if !outcome.missing.is_empty() {
        let _ = writeln!(text, "Not known here, so what depends on it was not tested:");
        for it in &outcome.missing {
            let at = it.position.as_ref().map(|at| format!(" ({}:{})", at.script, at.line));
            let line = format!("{}{}", it.what, at.unwrap_or_default());
            let _ = writeln!(text, "  {}", terminal_line(&line));
        }
    }
    if let Some(why) = &outcome.stopped {
        let _ = writeln!(text, "{} {why}", style.paint(PaintKind::Removed, "✗"));
    }
    text
}

fn render_error(text: &mut String, error: &PlayError, style: TextStyle) {
    let mark = style.paint(PaintKind::Removed, "✗");
    let at = error.position.as_ref().map(|at| format!("{}:{}", at.script, at.line));
    let message = match &at {
        // The name that the script ran under says nothing new.
        Some(at) if error.message.starts_with(&format!("{at}: ")) => &error.message[at.len() + 2..],
        _ => &error.message,
    };
    let head = style.paint(PaintKind::Bold, terminal_line(at.as_deref().unwrap_or("error")));
    let _ = writeln!(text, "{mark} {head} {}", safe_lines(message));
    let times = if error.times > 1 { format!(", {} times", error.times) } else { String::new() };
    let from = format!("{}, after {:.2} s{times}", error.peer, error.at);
    let _ = writeln!(text, "    {}", style.paint(PaintKind::Dim, terminal_line(&from)));
    for call in error.stack.iter().skip(1) {
        let _ = writeln!(text, "    {}", style.paint(PaintKind::Dim, terminal_line(call)));
    }
}

fn describe_step(step: &PlayStep) -> String {
    let what = match &step.action {
        PlayAction::Join => "joins".to_owned(),
        PlayAction::Leave => "leaves".to_owned(),
        PlayAction::Move(goal) => match goal {
            vector_core::play::MoveGoal::Part(path) => format!("moves to {path}"),
            vector_core::play::MoveGoal::Position([x, y, z]) => format!("moves to {x}, {y}, {z}"),
        },
        PlayAction::Touch(target) => format!("touches {target}"),
        PlayAction::Click(Some(target)) => format!("clicks {target}"),
        PlayAction::Click(None) => "clicks".to_owned(),
        PlayAction::Key(key) => format!("presses {key}"),
        PlayAction::Chat(words) => format!("says {words:?}"),
        PlayAction::Fire(target, _) => format!("fires {target}"),
        PlayAction::Wait(seconds) => return format!("wait {seconds} s"),
        PlayAction::Expect(code) => {
            let place = step.player.as_deref().unwrap_or("Server");
            return format!("{place}: {code}");
        }
        PlayAction::Fail(service, fails) => {
            let ends = if *fails { "fails" } else { "works" };
            return format!("{} {ends} from now on", service.class());
        }
    };
    format!("{} {what}", step.player.as_deref().unwrap_or("The player"))
}

fn summarize(request: &PlayRequest, outcome: &PlayOutcome) -> String {
    let mut text = format!(
        "Played {} s with {} and {}: ",
        (outcome.seconds * 100.0).round() / 100.0,
        count_noun(request.players as usize, "player"),
        count_noun(outcome.scripts as usize, "script"),
    );
    let failed = outcome.steps.iter().filter(|step| step.failure.is_some()).count();
    match outcome.errors.len() {
        0 => text.push_str("no errors"),
        errors => text.push_str(&count_noun(errors, "error")),
    }
    if failed > 0 {
        let _ = write!(text, ", {} failed", count_noun(failed, "step"));
    }
    if !outcome.missing.is_empty() {
        let _ = write!(text, "; {} not known here", count_noun(outcome.missing.len(), "member"));
    }
    text
}
