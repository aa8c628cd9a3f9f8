//! `vector check`: reports the problems in the scripts of a place, for users and for CI.
//!
//! `crate::tasks::check` finds the problems. This module selects the scripts and formats the
//! findings as text, JSON lines or SARIF.

mod sarif;
mod text;

use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use scene_schemas::InstancePath;
use serde_json::{Value as Json, json};
use vector_engine::settings;
use vector_luau::{FindingSeverity, SourceFinding};

use super::place_arg::{ReadPlace, read_place};
use super::style::count_noun;
use super::terminal::{Terminal, escape_line_ends, print_status, print_stdout, stdout_style};
use super::{ExitStatus, error_sentence, resolve_path};
use crate::tasks::check::{self, CheckedScript, ScriptLinters};

/// Check all scripts of a place, a model or a Rojo project: syntax, lints, and types where a checker is installed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector check game.rbxl
  vector check game.rbxl game.ServerScriptService --severity error
  vector check game.rbxl --format sarif > check.sarif
  vector check .                                    # the Rojo project in this folder

Exit codes: 0 no errors, 1 errors, 2 failed.")]
pub(super) struct CheckArgs {
    /// The place or model, or a Rojo project: its file or its folder
    place: PathBuf,
    /// Only the scripts at and below these paths
    paths: Vec<InstancePath>,
    /// The format of the output
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    format: ReportFormat,
    /// The minimum severity of the findings
    #[arg(long, value_enum, default_value_t = MinimumSeverity::Note)]
    severity: MinimumSeverity,
    /// Do not check types
    #[arg(long)]
    no_types: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// Text with excerpts, for people
    Text,
    /// One JSON object per line
    Json,
    /// SARIF 2.1.0, which code hosts read
    Sarif,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MinimumSeverity {
    /// Errors, warnings and notes
    Note,
    /// Errors and warnings, without notes
    Warning,
    /// Errors, without warnings and notes
    Error,
}

impl MinimumSeverity {
    fn severity(self) -> FindingSeverity {
        match self {
            Self::Note => FindingSeverity::Note,
            Self::Warning => FindingSeverity::Warning,
            Self::Error => FindingSeverity::Error,
        }
    }
}

/// Exit code 1 means that errors were found, so every other failure is 2.
const ERRORS: ExitStatus = ExitStatus::Failed;
const TROUBLE: ExitStatus = ExitStatus::Usage;

struct CheckReport<'a> {
    /// The place, as the user named it.
    place: &'a Path,
    /// The settings file, its text, and the problems in it. None if the place has no settings.
    settings: Option<(PathBuf, String, Vec<SourceFinding>)>,
    scripts: Vec<CheckedScript>,
    /// The findings of each script, in the order of `scripts`.
    findings: Vec<Vec<SourceFinding>>,
    /// The reason types were not checked.
    untyped_reason: Option<String>,
}

impl CheckReport<'_> {
    /// Every finding with its script.
    fn script_findings(&self) -> impl Iterator<Item = (&CheckedScript, &SourceFinding)> {
        let all = self.scripts.iter().zip(&self.findings);
        all.flat_map(|(script, found)| found.iter().map(move |it| (script, it)))
    }

    /// All findings, including those in the settings.
    fn all_findings(&self) -> impl Iterator<Item = &SourceFinding> {
        let settings = self.settings.iter().flat_map(|(.., found)| found);
        settings.chain(self.findings.iter().flatten())
    }

    fn retain_severity(&mut self, least: FindingSeverity) {
        let lists = self.settings.iter_mut().map(|(.., found)| found).chain(&mut self.findings);
        lists.for_each(|found| found.retain(|it| it.severity >= least));
    }
}

pub(super) fn run(args: &CheckArgs) -> ExitStatus {
    run_check(args).unwrap_or_else(|error| {
        print_status(&format!("error: {}", error_sentence(&error)));
        TROUBLE
    })
}

fn run_check(args: &CheckArgs) -> anyhow::Result<ExitStatus> {
    let terminal = Terminal::for_command(args.format != ReportFormat::Text);
    let mut report = terminal.with_spinner("Checking", || build_report(args))?;
    report.retain_severity(args.severity.severity());
    let text = match args.format {
        ReportFormat::Text => text::render_report(&report, stdout_style()),
        ReportFormat::Json => json_lines(&report),
        ReportFormat::Sarif => {
            format!("{}\n", serde_json::to_string_pretty(&sarif::sarif_log(&report))?)
        }
    };
    print_stdout(&text)?;
    if let Some(why) = &report.untyped_reason {
        print_status(&format!("note: {why}"));
    }
    print_status(&format_tally(&report));
    let is_wrong = report.all_findings().any(|it| it.severity == FindingSeverity::Error);
    Ok(if is_wrong { ERRORS } else { ExitStatus::Done })
}

fn build_report(args: &CheckArgs) -> anyhow::Result<CheckReport<'_>> {
    let ReadPlace { scene, folder, files } = read_place(&args.place)?;
    let roots = if args.paths.is_empty() {
        vec![scene.root()]
    } else {
        args.paths.iter().map(|path| resolve_path(&scene, path)).collect::<anyhow::Result<_>>()?
    };
    let scripts = check::collect_scripts(&scene, &roots, |node| files.get(&node).cloned());
    let found = settings::find_selene_settings(&folder)?;
    let (linters, setting_findings) =
        ScriptLinters::from_settings(found.as_ref().map(|found| &found.settings));
    let settings = found.map(|found| (found.file, found.settings.text, setting_findings));
    let mut found = check::check_scripts(&scripts, &linters, &|| false);
    let untyped =
        if args.no_types { None } else { check::add_types(&scripts, &mut found, &|| false).err() };
    Ok(CheckReport {
        place: &args.place,
        settings,
        scripts,
        findings: found,
        untyped_reason: untyped,
    })
}

/// Formats each finding as a JSON object on its own line.
fn json_lines(report: &CheckReport<'_>) -> String {
    let mut text = String::new();
    let mut line = |mut object: Json, finding: &SourceFinding| {
        if let (Some(object), Ok(Json::Object(more))) =
            (object.as_object_mut(), serde_json::to_value(finding))
        {
            object.extend(more);
        }
        text.push_str(&escape_line_ends(&object.to_string()));
        text.push('\n');
    };
    if let Some((file, _, found)) = &report.settings {
        for it in found {
            line(json!({ "file": file }), it);
        }
    }
    for (script, finding) in report.script_findings() {
        let mut object = json!({ "path": script.path, "class": script.class });
        if let Some(file) = &script.file {
            object["file"] = file.as_str().into();
        }
        line(object, finding);
    }
    text
}

fn format_tally(report: &CheckReport<'_>) -> String {
    let of = |severity| report.all_findings().filter(|it| it.severity == severity).count();
    let counts = [
        (FindingSeverity::Error, "error"),
        (FindingSeverity::Warning, "warning"),
        (FindingSeverity::Note, "note"),
    ];
    let parts: Vec<String> = counts
        .iter()
        .map(|(severity, noun)| (of(*severity), noun))
        .filter(|(n, _)| *n > 0)
        .map(|(n, noun)| count_noun(n, noun))
        .collect();
    let scripts = count_noun(report.scripts.len(), "script");
    if parts.is_empty() {
        return format!("{scripts}: nothing found");
    }
    let with = report.findings.iter().filter(|found| !found.is_empty()).count();
    format!("{} in {with} of {scripts}", parts.join(", "))
}
