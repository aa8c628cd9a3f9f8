//! `vector test`: runs the specs of a place headlessly.
//!
//! The runtime runs them. This module selects the specs and prints the results.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use scene_schemas::InstancePath;
use serde_json::json;
use vector_core::specs::{CaseOutcome, SpecCase, SpecFinder, SpecResult};
use vector_runtime::{SpecLimits, run_specs};

use super::place_arg::read_place;
use super::style::{PaintKind, TextStyle, count_noun, safe_lines, terminal_line};
use super::terminal::{Terminal, escape_line_ends, print_status, print_stdout, stdout_style};
use super::{ExitStatus, error_sentence, resolve_path};

/// Run the specs of a place or model: ModuleScripts named *.spec, of TestEZ or Jest.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector test game.rbxl
  vector test game.rbxl --root game.ReplicatedStorage.Shared

Exit codes: 0 all passed, 1 some failed, 2 another error, or no specs.")]
pub(super) struct TestArgs {
    /// The place or model, or a Rojo project: its file or its folder
    place: PathBuf,
    /// Only run the specs at and below this instance
    #[arg(long, value_name = "PATH", default_value = "game")]
    root: InstancePath,
    /// The time limit for all specs together, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Print one JSON object per case, one per line
    #[arg(long)]
    json: bool,
}

/// Exit code 1 means that specs failed, so every other failure is 2.
const FAILED: ExitStatus = ExitStatus::Failed;
const TROUBLE: ExitStatus = ExitStatus::Usage;

pub(super) fn run(args: &TestArgs) -> ExitStatus {
    run_and_print(args).unwrap_or_else(|error| {
        print_status(&format!("error: {}", error_sentence(&error)));
        TROUBLE
    })
}

fn run_and_print(args: &TestArgs) -> anyhow::Result<ExitStatus> {
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
    let limits =
        SpecLimits { total_time: Duration::from_secs(args.timeout), ..SpecLimits::default() };
    let results = terminal.with_spinner("Running specs", || {
        run_specs(scene.fork(), &specs, limits, &|| false).results
    });
    let text =
        if args.json { json_lines(&results) } else { render_results(&results, stdout_style()) };
    print_stdout(&text)?;
    print_status(&format_tally(&results));
    Ok(if results.iter().all(SpecResult::has_passed) { ExitStatus::Done } else { FAILED })
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
