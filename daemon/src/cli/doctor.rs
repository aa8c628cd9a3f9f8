//! `vector doctor`: diagnoses the installation and names the command that fixes each problem.
//!
//! Each check is a separate function that changes nothing. The checks run in parallel, and one that
//! panics does not affect the others.

mod assumptions;
mod clients;
mod cloud;
mod daemon;
mod finding;
mod ledger;
mod models;
mod probe;
mod programs;
mod studio;

use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;
use rmcp::model::ProtocolVersion;
use scene_schemas::api::{PORT, PROTOCOL};
use serde_json::json;

use self::finding::{DoctorFinding, FindingState};
use super::ExitStatus;
use super::style::{PaintKind, TextStyle, count_noun, terminal_line, wrap_words};
use super::terminal::{print_stdout, stdout_style};

/// The checks, by group.
const CHECKS: [(&str, CheckFn); 9] = [
    ("Vector", check_vector),
    ("Ledger", ledger::check_ledger),
    ("Daemon", daemon::check_daemon),
    ("Ports", daemon::check_ports),
    ("Studio", studio::check_studio),
    ("Clients", clients::check_clients),
    ("Models", models::check_models),
    ("Roblox's cloud", cloud::check_cloud),
    ("Programs", programs::check_programs),
];

/// Checks may decode files, which takes a large stack.
const STACK: usize = 16 << 20;

/// Diagnose the installation and suggest fixes.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector doctor
  vector doctor --json | jq '.findings[] | select(.state == \"problem\")'
  vector doctor --studio       asks a real Studio how it behaves, with a plugin for this one run

The exit code is 1 if there is a problem. Notes are not problems: you may not need the missing parts.")]
pub(super) struct DoctorArgs {
    /// The port that the daemon should listen on
    #[arg(long, env = "VECTOR_PORT", default_value_t = PORT, value_name = "N")]
    port: u16,
    /// Print one JSON object: the findings, each with its group, state and fix
    #[arg(long)]
    json: bool,
    /// Ask a real Studio how it behaves: install a probe in its plugin folder, wait for its report,
    /// and compare it with what Vector assumes
    #[arg(long)]
    studio: bool,
    /// With --studio: Studio's plugin folder, if it is not found automatically
    #[arg(long, value_name = "DIR", requires = "studio")]
    folder: Option<PathBuf>,
    /// With --studio: the file for the report [default: studio-VERSION.json]
    #[arg(long, value_name = "FILE", requires = "studio")]
    report: Option<PathBuf>,
}

/// The ledger's folder and the port to be checked.
#[derive(Debug)]
struct CheckSite {
    home: PathBuf,
    port: u16,
}

type CheckFn = fn(&CheckSite) -> Vec<DoctorFinding>;

pub(super) fn run(args: &DoctorArgs, home: &Path) -> anyhow::Result<ExitStatus> {
    if args.studio {
        return probe::run(args.folder.as_deref(), args.report.as_deref(), args.json);
    }
    let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    let site = CheckSite { home, port: args.port };
    let found = run_checks(&CHECKS, &site);
    let count_of =
        |state| found.iter().flat_map(|(_, it)| it).filter(|it| it.state == state).count();
    let (problems, notes) = (count_of(FindingState::Problem), count_of(FindingState::Note));
    if args.json {
        let findings: Vec<_> = found
            .iter()
            .flat_map(|(group, findings)| findings.iter().map(move |it| it.to_json(group)))
            .collect();
        let all = json!({ "ok": problems == 0, "findings": findings });
        print_stdout(&format!("{}\n", serde_json::to_string_pretty(&all)?))?;
    } else {
        let style = stdout_style();
        let mut text: String =
            found.iter().map(|(group, findings)| render_group(group, findings, style)).collect();
        let end = match (problems, notes) {
            (0, 0) => "Everything is in order.".to_owned(),
            (0, n) => format!("No problems; {}.", count_noun(n, "note")),
            (problems, notes) => {
                format!("{}, {}.", count_noun(problems, "problem"), count_noun(notes, "note"))
            }
        };
        text.push_str(&format!("\n{end}\n"));
        print_stdout(&text)?;
    }
    Ok(if problems == 0 { ExitStatus::Done } else { ExitStatus::Failed })
}

/// Runs each check on its own thread.
fn run_checks(
    checks: &[(&'static str, CheckFn)],
    site: &CheckSite,
) -> Vec<(&'static str, Vec<DoctorFinding>)> {
    thread::scope(|scope| {
        let begin = |(group, check): &(&'static str, CheckFn)| {
            let (group, check) = (*group, *check);
            let thread = thread::Builder::new().stack_size(STACK);
            (group, thread.spawn_scoped(scope, move || check(site)))
        };
        let begun: Vec<_> = checks.iter().map(begin).collect();
        let end = |(group, thread): (&'static str, std::io::Result<_>)| {
            let found =
                thread.ok().and_then(|thread: thread::ScopedJoinHandle<'_, _>| thread.join().ok());
            (group, found.unwrap_or_else(|| vec![panicked_check()]))
        };
        begun.into_iter().map(end).collect()
    })
}

fn panicked_check() -> DoctorFinding {
    DoctorFinding::problem(
        "check",
        "this check crashed, so its result is unknown; this is a bug in Vector",
    )
    .with_fix("report it to Vector's developers, with the output of vector doctor --json")
}

fn check_vector(_: &CheckSite) -> Vec<DoctorFinding> {
    let version = format!(
        "{}, protocol {PROTOCOL}, MCP {} (and {} with a handshake)",
        env!("CARGO_PKG_VERSION"),
        ProtocolVersion::LATEST,
        ProtocolVersion::LATEST_WITH_INITIALIZE
    );
    vec![DoctorFinding::ok("version", version)]
}

/// Formats a group for the terminal.
fn render_group(group: &str, findings: &[DoctorFinding], style: TextStyle) -> String {
    const STATE: usize = 9;
    const NAME: usize = 15;
    let indent = 2 + STATE + NAME;
    let mut text = format!("{}\n", style.paint(PaintKind::Bold, group));
    for finding in findings {
        let (label, paint) = match finding.state {
            FindingState::Ok => ("ok", PaintKind::Added),
            FindingState::Note => ("note", PaintKind::Changed),
            FindingState::Problem => ("problem", PaintKind::Removed),
        };
        let painted_label = style.paint(paint, format!("{label:<STATE$}"));
        let head = format!("  {painted_label}{:<NAME$}", finding.name);
        let lines =
            wrap_words(&terminal_line(&finding.message), style.width.saturating_sub(indent));
        text.push_str(&format!("{head}{}\n", lines.join(&format!("\n{:indent$}", ""))));
        if let Some(fix) = &finding.fix {
            let fix = style.paint(PaintKind::Moved, terminal_line(fix));
            text.push_str(&format!("{:indent$}fix: {fix}\n", ""));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panicking_check_does_not_stop_the_others() {
        fn breaks(_: &CheckSite) -> Vec<DoctorFinding> {
            panic!("it breaks")
        }
        fn works(_: &CheckSite) -> Vec<DoctorFinding> {
            vec![DoctorFinding::ok("it", "works")]
        }
        let site = CheckSite { home: PathBuf::new(), port: 0 };
        let found = run_checks(&[("One", breaks), ("Two", works)], &site);
        assert_eq!((found[0].0, found[0].1[0].state), ("One", FindingState::Problem));
        assert_eq!(found[1].1, [DoctorFinding::ok("it", "works")]);
    }

    #[test]
    fn findings_are_escaped_and_aligned_in_columns() {
        let finding =
            DoctorFinding::problem("port", "a\x1b[2J b").with_fix("vector serve --port 0");
        let text = render_group(
            "Ports",
            &[finding, DoctorFinding::ok("rojo", "free")],
            TextStyle::plain(),
        );
        let expected = "\
Ports
  problem  port           a␛[2J b
                          fix: vector serve --port 0
  ok       rojo           free
";
        assert_eq!(text, expected);
    }
}
