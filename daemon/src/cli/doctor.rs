//! `vector doctor`: what is in order, what is not, and the command that mends it.
//!
//! Each check is a function of its own that looks and changes nothing. They run beside each other, and
//! one that breaks leaves the others alone.

mod clients;
mod daemon;
mod finding;
mod ledger;
mod models;
mod programs;
mod studio;

use std::path::{Path, PathBuf};
use std::thread;

use clap::Args;
use rmcp::model::ProtocolVersion;
use scene_schemas::api::{PORT, PROTOCOL};
use serde_json::json;

use self::finding::{Finding, State};
use super::Exit;
use super::style::{Paint, Style, count, safe, wrap};
use super::terminal::{print, stdout_style};

/// What is looked at, group by group.
const CHECKS: [(&str, Check); 8] = [
    ("Vector", vector),
    ("Ledger", ledger::check),
    ("Daemon", daemon::check),
    ("Ports", daemon::ports),
    ("Studio", studio::check),
    ("Clients", clients::check),
    ("Models", models::check),
    ("Programs", programs::check),
];

/// A check may decode files.
const STACK: usize = 16 << 20;

/// Say what is in order, what is not, and what mends it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector doctor
  vector doctor --json | jq '.findings[] | select(.state == \"problem\")'

The exit code is 1 where there is a problem. Notes are no problems: what is not there may not be needed.")]
pub(super) struct Doctor {
    /// The port that the daemon is to listen on
    #[arg(long, env = "VECTOR_PORT", default_value_t = PORT, value_name = "N")]
    port: u16,
    /// Print one JSON object: the findings, each with its group, state, and what mends it
    #[arg(long)]
    json: bool,
}

/// What is looked at.
#[derive(Debug)]
struct Site {
    home: PathBuf,
    port: u16,
}

type Check = fn(&Site) -> Vec<Finding>;

pub(super) fn run(args: &Doctor, home: &Path) -> anyhow::Result<Exit> {
    let home = std::path::absolute(home).unwrap_or_else(|_| home.to_owned());
    let site = Site { home, port: args.port };
    let found = all(&CHECKS, &site);
    let count_of =
        |state| found.iter().flat_map(|(_, it)| it).filter(|it| it.state == state).count();
    let (problems, notes) = (count_of(State::Problem), count_of(State::Note));
    if args.json {
        let findings: Vec<_> = found
            .iter()
            .flat_map(|(group, findings)| findings.iter().map(move |it| it.json(group)))
            .collect();
        let all = json!({ "ok": problems == 0, "findings": findings });
        print(&format!("{}\n", serde_json::to_string_pretty(&all)?))?;
    } else {
        let style = stdout_style();
        let mut text: String =
            found.iter().map(|(group, findings)| block(group, findings, style)).collect();
        let end = match (problems, notes) {
            (0, 0) => "All is in order.".to_owned(),
            (0, n) => format!("No problem; {}.", count(n, "note")),
            (problems, notes) => {
                format!("{}, {}.", count(problems, "problem"), count(notes, "note"))
            }
        };
        text.push_str(&format!("\n{end}\n"));
        print(&text)?;
    }
    Ok(if problems == 0 { Exit::Done } else { Exit::Failed })
}

/// Runs the checks, each in a thread of its own.
fn all(checks: &[(&'static str, Check)], site: &Site) -> Vec<(&'static str, Vec<Finding>)> {
    thread::scope(|scope| {
        let begin = |(group, check): &(&'static str, Check)| {
            let (group, check) = (*group, *check);
            let thread = thread::Builder::new().stack_size(STACK);
            (group, thread.spawn_scoped(scope, move || check(site)))
        };
        let begun: Vec<_> = checks.iter().map(begin).collect();
        let end = |(group, thread): (&'static str, std::io::Result<_>)| {
            let found =
                thread.ok().and_then(|thread: thread::ScopedJoinHandle<'_, _>| thread.join().ok());
            (group, found.unwrap_or_else(|| vec![broken()]))
        };
        begun.into_iter().map(end).collect()
    })
}

fn broken() -> Finding {
    Finding::problem("check", "it broke, so nothing is known here; this is a mistake in Vector")
        .mended("vector doctor --json, and tell Vector's developers")
}

fn vector(_: &Site) -> Vec<Finding> {
    let version = format!(
        "{}, protocol {PROTOCOL}, MCP {} (and {} with a handshake)",
        env!("CARGO_PKG_VERSION"),
        ProtocolVersion::LATEST,
        ProtocolVersion::LATEST_WITH_INITIALIZE
    );
    vec![Finding::ok("version", version)]
}

/// A group as a person reads it.
fn block(group: &str, findings: &[Finding], style: Style) -> String {
    const STATE: usize = 9;
    const NAME: usize = 15;
    let indent = 2 + STATE + NAME;
    let mut text = format!("{}\n", style.paint(Paint::Bold, group));
    for finding in findings {
        let (word, paint) = match finding.state {
            State::Ok => ("ok", Paint::Added),
            State::Note => ("note", Paint::Changed),
            State::Problem => ("problem", Paint::Removed),
        };
        let word = style.paint(paint, format!("{word:<STATE$}"));
        let head = format!("  {word}{:<NAME$}", finding.name);
        let lines = wrap(&safe(&finding.says), style.width.saturating_sub(indent));
        text.push_str(&format!("{head}{}\n", lines.join(&format!("\n{:indent$}", ""))));
        if let Some(mend) = &finding.mend {
            let mend = style.paint(Paint::Moved, safe(mend));
            text.push_str(&format!("{:indent$}mend: {mend}\n", ""));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_that_breaks_leaves_the_others_alone() {
        fn breaks(_: &Site) -> Vec<Finding> {
            panic!("it breaks")
        }
        fn works(_: &Site) -> Vec<Finding> {
            vec![Finding::ok("it", "works")]
        }
        let site = Site { home: PathBuf::new(), port: 0 };
        let found = all(&[("One", breaks), ("Two", works)], &site);
        assert_eq!((found[0].0, found[0].1[0].state), ("One", State::Problem));
        assert_eq!(found[1].1, [Finding::ok("it", "works")]);
    }

    #[test]
    fn what_is_found_is_shown_safely_and_in_columns() {
        let finding = Finding::problem("port", "a\x1b[2J b").mended("vector serve --port 0");
        let text = block("Ports", &[finding, Finding::ok("rojo", "free")], Style::plain());
        let expected = "\
Ports
  problem  port           a␛[2J b
                          mend: vector serve --port 0
  ok       rojo           free
";
        assert_eq!(text, expected);
    }
}
