//! `vector test`: runs the specs of a place headlessly.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use scene_schemas::InstancePath;
use serde_json::json;
use vector_core::tools::is_spec;

use super::opened::look;
use super::style::{Paint, Style, count, safe, safe_lines};
use super::terminal::{Terminal, one_line, print, say, stdout_style};
use super::{Exit, resolve, sentence};
use crate::tasks::spec::{self, Case, Limits, Outcome, Spec};

/// Run the specs of a place or model: ModuleScripts named *.spec, in the style of TestEZ.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector test game.rbxl
  vector test game.rbxl --root game.ReplicatedStorage.Shared

Exit codes: 0 all passed, 1 some failed, 2 trouble, or no specs.")]
pub(super) struct Test {
    /// The place or model, or a Rojo project: its file, or its folder
    place: PathBuf,
    /// Only the specs at and below this instance
    #[arg(long, value_name = "PATH", default_value = "game")]
    root: InstancePath,
    /// Seconds that all specs may take together
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=3600))]
    timeout: u64,
    /// Print one JSON object for each case, a line each
    #[arg(long)]
    json: bool,
}

/// With failures it is 1, so all trouble is 2.
const FAILED: Exit = Exit::Failed;
const TROUBLE: Exit = Exit::Usage;

pub(super) fn run(args: &Test) -> Exit {
    all(args).unwrap_or_else(|error| {
        say(&format!("error: {}", sentence(&error)));
        TROUBLE
    })
}

fn all(args: &Test) -> anyhow::Result<Exit> {
    let terminal = Terminal::of(args.json);
    let scene = terminal.busy("Reading the place", || look(&args.place))?.scene;
    let root = resolve(&scene, &args.root)?;
    let specs: Vec<_> = scene.subtree(root).filter(|node| is_spec(&scene, *node)).collect();
    if specs.is_empty() {
        anyhow::bail!(
            "{} has no specs below {}: ModuleScripts whose names end in .spec",
            args.place.display(),
            args.root
        );
    }
    let (still, numbers) = scene.still(&specs);
    let limits = Limits { total: Duration::from_secs(args.timeout), ..Limits::default() };
    let results =
        terminal.busy("Running specs", || spec::run(&Arc::new(still), &numbers, limits, &|| false));
    let text = if args.json { lines(&results) } else { render(&results, stdout_style()) };
    print(&text)?;
    say(&tally(&results));
    Ok(if results.iter().all(Spec::is_good) { Exit::Done } else { FAILED })
}

fn render(results: &[Spec], style: Style) -> String {
    let mut text = String::new();
    let mut line = |indent: usize, it: &str| {
        text.push_str(&format!("{:indent$}{it}\n", ""));
    };
    for spec in results {
        line(0, &style.paint(Paint::Bold, safe(&spec.path)));
        for case in &spec.cases {
            let (mark, paint) = match case.outcome {
                Outcome::Passed => ("✓", Paint::Added),
                Outcome::Failed => ("✗", Paint::Removed),
                Outcome::Skipped => ("-", Paint::Dim),
            };
            line(2, &format!("{} {}", style.paint(paint, mark), safe(&case.name)));
            if let Some(failure) = &case.failure {
                safe_lines(&failure.to_string()).lines().for_each(|it| line(4, it));
                case.output.iter().for_each(|it| line(4, &style.paint(Paint::Dim, safe(it))));
            }
        }
        if let Some(failure) = &spec.failure {
            let mark = style.paint(Paint::Removed, "✗");
            line(2, &format!("{mark} {}", safe_lines(&failure.to_string())));
        }
    }
    text
}

fn lines(results: &[Spec]) -> String {
    let mut text = String::new();
    let mut line = |it: serde_json::Value| {
        text.push_str(&one_line(&it.to_string()));
        text.push('\n');
    };
    for spec in results {
        for Case { name, outcome, failure, output } in &spec.cases {
            let failure = failure.as_ref().map(ToString::to_string);
            line(json!({
                "spec": spec.path, "case": name, "outcome": outcome, "failure": failure,
                "output": output,
            }));
        }
        if let Some(failure) = &spec.failure {
            line(json!({ "spec": spec.path, "outcome": "failed", "failure": failure.to_string() }));
        }
    }
    text
}

fn tally(results: &[Spec]) -> String {
    let sum = |outcome| results.iter().map(|spec| spec.count(outcome)).sum::<usize>();
    let broken = results.iter().filter(|spec| spec.failure.is_some()).count();
    let mut text = format!("{} passed, {} failed", sum(Outcome::Passed), sum(Outcome::Failed));
    let skipped = sum(Outcome::Skipped);
    if skipped > 0 {
        text.push_str(&format!(", {skipped} skipped"));
    }
    if broken > 0 {
        text.push_str(&format!("; {} did not run to the end", count(broken, "spec")));
    }
    text
}
