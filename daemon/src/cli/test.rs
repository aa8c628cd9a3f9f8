//! `vector test`: runs the specs of a place headlessly.
//!
//! The runtime runs them, or Roblox's engine; see `verify`. This module selects the specs and prints the
//! results.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use scene_schemas::InstancePath;
use serde_json::json;
use vector_core::specs::{CaseOutcome, SpecCase, SpecFinder, SpecResult};
use vector_runtime::{SpecLimits, run_specs};

use super::place_arg::read_place;
use super::style::{PaintKind, TextStyle, count_noun, safe_lines, terminal_line};
use super::terminal::{Terminal, escape_line_ends, print_status, print_stdout, stdout_style};
use super::verify::{CloudArgs, CloudCommand, CloudFrontEnd};
use super::{ExitStatus, error_sentence, resolve_path};
use crate::tasks::verify::{DEFAULT_SECONDS, MAX_SECONDS, VerifyRequest};

/// The time limit in the runtime if none is given, in seconds.
const RUNTIME_SECONDS: u64 = 30;

/// Run the specs of a place or model: ModuleScripts named *.spec, of TestEZ or Jest.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector test game.rbxl
  vector test game.rbxl --root game.ReplicatedStorage.Shared
  vector test . --engine cloud --scratch 123/456       # as `vector verify`, for CI

Exit codes: 0 all passed, 1 some failed, 2 another error, or no specs.")]
pub(super) struct TestArgs {
    /// The place or model, or a Rojo project: its file or its folder
    place: PathBuf,
    /// Only run the specs at and below this instance
    #[arg(long, value_name = "PATH", default_value = "game")]
    root: InstancePath,
    /// Where the specs run
    #[arg(long, value_enum, default_value_t = SpecEngine::Runtime)]
    engine: SpecEngine,
    #[command(flatten)]
    cloud: CloudArgs,
    /// The time limit for all specs together, in seconds [default: 30, in the cloud 60]
    #[arg(long, value_name = "SECONDS")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: Option<u64>,
    /// Print one JSON object per case, one per line
    #[arg(long)]
    json: bool,
}

/// The engine that runs specs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum SpecEngine {
    /// Vector's runtime, on this machine
    Runtime,
    /// Roblox's own engine, in a scratch place
    Cloud,
}

/// Exit code 1 means that specs failed, so every other failure is 2.
const FAILED: ExitStatus = ExitStatus::Failed;
const TROUBLE: ExitStatus = ExitStatus::Usage;

pub(super) fn run(args: &TestArgs, home: impl FnOnce() -> anyhow::Result<PathBuf>) -> ExitStatus {
    let ran = match args.engine {
        SpecEngine::Runtime => run_and_print(args),
        SpecEngine::Cloud => run_in_cloud(args, home),
    };
    ran.unwrap_or_else(|error| {
        print_status(&format!("error: {}", error_sentence(&error)));
        TROUBLE
    })
}

/// Runs the specs as `vector verify` does. Calling the command is the yes to the upload.
fn run_in_cloud(
    args: &TestArgs,
    home: impl FnOnce() -> anyhow::Result<PathBuf>,
) -> anyhow::Result<ExitStatus> {
    let seconds = match args.timeout {
        None => DEFAULT_SECONDS,
        Some(seconds) => match u32::try_from(seconds) {
            Ok(seconds) if seconds <= MAX_SECONDS => seconds,
            _ => anyhow::bail!("in the cloud, --timeout is at most {MAX_SECONDS} s"),
        },
    };
    let request =
        VerifyRequest { root: args.root.clone(), modules: Vec::new(), proposal: None, seconds };
    let command = CloudCommand {
        place: &args.place,
        options: &args.cloud,
        request,
        front_end: CloudFrontEnd::Test,
        dry_run: false,
        json: args.json,
    };
    Ok(match command.run(&home()?)? {
        ExitStatus::NotApproved => TROUBLE,
        status => status,
    })
}

fn run_and_print(args: &TestArgs) -> anyhow::Result<ExitStatus> {
    if args.cloud.is_used() {
        anyhow::bail!(
            "--scratch, --same-universe and --allow-side-effects are for specs in Roblox's engine: add \
             --engine cloud"
        );
    }
    let terminal = Terminal::for_command(args.json);
    let scene = terminal.with_spinner("Reading the place", || read_place(&args.place))?.scene;
    let root = resolve_path(&scene, &args.root)?;
    let finder = SpecFinder::new(&scene);
    let specs: Vec<_> = scene.subtree(root).filter(|node| finder.is_spec(*node)).collect();
    if specs.is_empty() {
        anyhow::bail!(
            "{} has no specs below {}: ModuleScripts whose names end in .spec",
            args.place.display(),
            args.root
        );
    }
    let seconds = args.timeout.unwrap_or(RUNTIME_SECONDS);
    let limits = SpecLimits { total_time: Duration::from_secs(seconds), ..SpecLimits::default() };
    let results = terminal.with_spinner("Running specs", || {
        run_specs(scene.fork(), &specs, limits, &|| false).results
    });
    print_results(&results, args.json)?;
    Ok(if results.iter().all(SpecResult::has_passed) { ExitStatus::Done } else { FAILED })
}

/// Prints the results of specs, and their counts.
pub(super) fn print_results(results: &[SpecResult], json: bool) -> anyhow::Result<()> {
    let text = if json { json_lines(results) } else { render_results(results, stdout_style()) };
    print_stdout(&text)?;
    print_status(&format_tally(results));
    Ok(())
}

fn render_results(results: &[SpecResult], style: TextStyle) -> String {
    let mut text = String::new();
    let mut line = |indent: usize, it: &str| {
        text.push_str(&format!("{:indent$}{it}\n", ""));
    };
    for spec in results {
        line(0, &style.paint(PaintKind::Bold, terminal_line(&spec.path)));
        for case in &spec.cases {
            let (mark, paint) = match case.outcome {
                CaseOutcome::Passed => ("✓", PaintKind::Added),
                CaseOutcome::Failed => ("✗", PaintKind::Removed),
                CaseOutcome::Skipped => ("-", PaintKind::Dim),
                CaseOutcome::Unknown => ("?", PaintKind::Dim),
            };
            line(2, &format!("{} {}", style.paint(paint, mark), terminal_line(&case.name)));
            if let Some(failure) = &case.failure {
                safe_lines(&failure.to_string()).lines().for_each(|it| line(4, it));
                case.output
                    .iter()
                    .for_each(|it| line(4, &style.paint(PaintKind::Dim, terminal_line(it))));
            }
        }
        if let Some(failure) = &spec.failure {
            let mark = style.paint(PaintKind::Removed, "✗");
            line(2, &format!("{mark} {}", safe_lines(&failure.to_string())));
        }
    }
    text
}

fn json_lines(results: &[SpecResult]) -> String {
    let mut text = String::new();
    let mut line = |it: serde_json::Value| {
        text.push_str(&escape_line_ends(&it.to_string()));
        text.push('\n');
    };
    for spec in results {
        for SpecCase { name, outcome, failure, output, duration } in &spec.cases {
            let failure = failure.as_ref().map(ToString::to_string);
            let mut case = json!({
                "spec": spec.path, "case": name, "outcome": outcome, "failure": failure,
                "output": output,
            });
            if let Some(duration) = duration {
                case["seconds"] = duration.as_secs_f64().into();
            }
            line(case);
        }
        if let Some(failure) = &spec.failure {
            line(json!({ "spec": spec.path, "outcome": "failed", "failure": failure.to_string() }));
        }
    }
    text
}

fn format_tally(results: &[SpecResult]) -> String {
    let sum = |outcome| results.iter().map(|spec| spec.count_outcome(outcome)).sum::<usize>();
    let broken = results.iter().filter(|spec| spec.failure.is_some()).count();
    let mut text =
        format!("{} passed, {} failed", sum(CaseOutcome::Passed), sum(CaseOutcome::Failed));
    let skipped = sum(CaseOutcome::Skipped);
    if skipped > 0 {
        text.push_str(&format!(", {skipped} skipped"));
    }
    let unknown = sum(CaseOutcome::Unknown);
    if unknown > 0 {
        text.push_str(&format!(", {unknown} not known"));
    }
    if broken > 0 {
        text.push_str(&format!("; {} did not finish", count_noun(broken, "spec")));
    }
    text
}
