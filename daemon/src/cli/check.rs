//! `vector check`: what is wrong with the scripts of a place, for people and for CI.

mod sarif;
mod text;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use scene_schemas::InstancePath;
use serde_json::{Value as Json, json};
use vector_engine::settings;
use vector_luau::{Finding, Severity};

use super::opened::{Looked, look};
use super::style::count;
use super::terminal::{Terminal, one_line, print, say, stdout_style};
use super::{Exit, resolve, sentence};
use crate::tasks::check::{self, Linters, Script};

/// Check all scripts of a place, a model or a Rojo project: syntax, lints, and types where a checker is installed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector check game.rbxl
  vector check game.rbxl game.ServerScriptService --severity error
  vector check game.rbxl --format sarif > check.sarif
  vector check .                                    # the Rojo project in this folder

Exit codes: 0 no errors, 1 errors, 2 trouble.")]
pub(super) struct Check {
    /// The place or model, or a Rojo project: its file, or its folder
    place: PathBuf,
    /// Only the scripts at and below these paths
    paths: Vec<InstancePath>,
    /// How findings are printed
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    /// Findings below this are left out
    #[arg(long, value_enum, default_value_t = Least::Note)]
    severity: Least,
    /// Do not look for a checker of types
    #[arg(long)]
    no_types: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Text,
    /// One JSON object a line
    Json,
    /// SARIF 2.1.0, which code hosts read
    Sarif,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Least {
    /// Everything
    Note,
    /// Warnings and errors
    Warning,
    /// Errors alone
    Error,
}

impl Least {
    fn severity(self) -> Severity {
        match self {
            Self::Note => Severity::Note,
            Self::Warning => Severity::Warning,
            Self::Error => Severity::Error,
        }
    }
}

/// With errors it is 1, so all trouble is 2.
const ERRORS: Exit = Exit::Failed;
const TROUBLE: Exit = Exit::Usage;

/// What was found.
struct Report<'a> {
    /// The place, as the person named it.
    place: &'a Path,
    /// The settings, where there are some, and what is wrong with them.
    settings: Option<(PathBuf, String, Vec<Finding>)>,
    scripts: Vec<Script>,
    /// What is wrong with each script, in their order.
    found: Vec<Vec<Finding>>,
    /// Why types were not checked.
    untyped: Option<String>,
}

impl Report<'_> {
    /// Each finding with its script.
    fn all(&self) -> impl Iterator<Item = (&Script, &Finding)> {
        let all = self.scripts.iter().zip(&self.found);
        all.flat_map(|(script, found)| found.iter().map(move |it| (script, it)))
    }

    /// All findings, also those about settings.
    fn findings(&self) -> impl Iterator<Item = &Finding> {
        let settings = self.settings.iter().flat_map(|(.., found)| found);
        settings.chain(self.found.iter().flatten())
    }

    fn retain(&mut self, least: Severity) {
        let lists = self.settings.iter_mut().map(|(.., found)| found).chain(&mut self.found);
        lists.for_each(|found| found.retain(|it| it.severity >= least));
    }
}

pub(super) fn run(args: &Check) -> Exit {
    all(args).unwrap_or_else(|error| {
        say(&format!("error: {}", sentence(&error)));
        TROUBLE
    })
}

fn all(args: &Check) -> anyhow::Result<Exit> {
    let terminal = Terminal::of(args.format != Format::Text);
    let mut report = terminal.busy("Checking", || report(args))?;
    report.retain(args.severity.severity());
    let text = match args.format {
        Format::Text => text::render(&report, stdout_style()),
        Format::Json => json_lines(&report),
        Format::Sarif => format!("{}\n", serde_json::to_string_pretty(&sarif::print(&report))?),
    };
    print(&text)?;
    if let Some(why) = &report.untyped {
        say(&format!("note: {why}"));
    }
    say(&tally(&report));
    let is_wrong = report.findings().any(|it| it.severity == Severity::Error);
    Ok(if is_wrong { ERRORS } else { Exit::Done })
}

fn report(args: &Check) -> anyhow::Result<Report<'_>> {
    let Looked { scene, folder, files } = look(&args.place)?;
    let roots = if args.paths.is_empty() {
        vec![scene.root()]
    } else {
        args.paths.iter().map(|path| resolve(&scene, path)).collect::<anyhow::Result<_>>()?
    };
    let scripts = check::scripts(&scene, &roots, |node| files.get(&node).cloned());
    let found = settings::selene(&folder)?;
    let (linters, wrong) = Linters::of(found.as_ref().map(|found| &found.settings));
    let settings = found.map(|found| (found.file, found.settings.text, wrong));
    let mut found = check::check(&scripts, &linters, &|| false);
    let untyped =
        if args.no_types { None } else { check::add_types(&scripts, &mut found, &|| false).err() };
    Ok(Report { place: &args.place, settings, scripts, found, untyped })
}

/// One JSON object for each finding.
fn json_lines(report: &Report<'_>) -> String {
    let mut text = String::new();
    let mut line = |mut object: Json, finding: &Finding| {
        if let (Some(object), Ok(Json::Object(more))) =
            (object.as_object_mut(), serde_json::to_value(finding))
        {
            object.extend(more);
        }
        text.push_str(&one_line(&object.to_string()));
        text.push('\n');
    };
    if let Some((file, _, found)) = &report.settings {
        for it in found {
            line(json!({ "file": file }), it);
        }
    }
    for (script, finding) in report.all() {
        let mut object = json!({ "path": script.path, "class": script.class });
        if let Some(file) = &script.file {
            object["file"] = file.as_str().into();
        }
        line(object, finding);
    }
    text
}

fn tally(report: &Report<'_>) -> String {
    let of = |severity| report.findings().filter(|it| it.severity == severity).count();
    let counts =
        [(Severity::Error, "error"), (Severity::Warning, "warning"), (Severity::Note, "note")];
    let parts: Vec<String> = counts
        .iter()
        .map(|(severity, noun)| (of(*severity), noun))
        .filter(|(n, _)| *n > 0)
        .map(|(n, noun)| count(n, noun))
        .collect();
    let scripts = count(report.scripts.len(), "script");
    if parts.is_empty() {
        return format!("{scripts}: nothing found");
    }
    let with = report.found.iter().filter(|found| !found.is_empty()).count();
    format!("{} in {with} of {scripts}", parts.join(", "))
}
