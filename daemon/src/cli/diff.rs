//! `vector diff`: shows the differences between two places, in terms of instances and properties.
//!
//! The scene decides what counts as a difference. This module only displays it. Git can call it:
//! piped output has no colors and no width limit, and the exit codes are those of `diff`.

mod markdown;

use std::fmt::Write as _;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use scene_schemas::Value;
use scene_schemas::proposal::ScriptDiff;
use serde_json::{Value as Json, json};
use vector_core::proposal::CONTEXT;
use vector_place::diff::{PropertyChange, SceneDifference, visit_differences};

use self::markdown::{MarkdownReport, PropertyRow};
use super::card::{format_value, format_value_change, script_head};
use super::place_arg::read_place;
use super::style::{PaintKind, TextStyle, count_noun, terminal_line};
use super::terminal::{Terminal, print_status, print_stdout, stdout_style};
use super::tree::{ChangeMark, ChangeTree, TreeItem};
use super::{ExitStatus, error_sentence, hunks};
use crate::parallel::run_both;

/// Compare two places: instances, properties and the text of scripts.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector diff before.rbxl after.rbxl
  vector diff before.rbxl after.rbxlx --json
  vector diff before.rbxl after.rbxl --format markdown > $GITHUB_STEP_SUMMARY
  git difftool -y -x 'vector diff' -- game.rbxl

Exit codes: 0 no differences, 1 differences, 2 failed.")]
pub(super) struct DiffArgs {
    /// The earlier place, or a Rojo project
    a: PathBuf,
    /// The later place, or a Rojo project
    b: PathBuf,
    /// How to print the differences
    #[arg(long, value_enum, default_value_t = DiffFormat::Text)]
    format: DiffFormat,
    /// Print one JSON object for each difference, one per line: --format json
    #[arg(long, conflicts_with = "format")]
    json: bool,
    /// In Markdown, how to name the earlier place, and then the later one
    #[arg(long, value_name = "NAME")]
    label: Vec<String>,
    /// In Markdown, show a picture; can be repeated
    #[arg(long, value_name = "NAME=URL", value_parser = parse_picture)]
    picture: Vec<(String, String)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DiffFormat {
    /// A tree and the changed lines of scripts
    Text,
    /// One JSON object for each difference, one per line
    Json,
    /// For a pull request: a table, and the tree and the scripts folded
    Markdown,
}

fn parse_picture(text: &str) -> Result<(String, String), String> {
    let (name, address) = text.split_once('=').ok_or("it is not NAME=URL")?;
    Ok((name.to_owned(), address.to_owned()))
}

/// As with `diff`, exit code 1 means different, so every failure is 2.
const DIFFERENT: ExitStatus = ExitStatus::Failed;
const TROUBLE: ExitStatus = ExitStatus::Usage;

pub(super) fn run(args: &DiffArgs) -> ExitStatus {
    compare_places(args).unwrap_or_else(|error| {
        print_status(&format!("error: {}", error_sentence(&error)));
        TROUBLE
    })
}

fn compare_places(args: &DiffArgs) -> anyhow::Result<ExitStatus> {
    let format = if args.json { DiffFormat::Json } else { args.format };
    let terminal = Terminal::for_command(format != DiffFormat::Text);
    let mut report = DiffReport::new(format);
    terminal.with_spinner("Comparing", || {
        let read = |place: &Path| {
            let scene = read_place(place)?.scene.into_scene();
            scene.hash_instances();
            anyhow::Ok(scene)
        };
        let (a, b) = run_both(|| read(&args.a), || read(&args.b));
        // The process ends soon, and freeing a large place takes long.
        let (a, b) = (ManuallyDrop::new(a?), ManuallyDrop::new(b?));
        visit_differences(&a, &b, &mut |difference| report.add(difference));
        anyhow::Ok(())
    })?;
    if report.tally.is_empty() {
        print_status("no differences");
        return Ok(ExitStatus::Done);
    }
    print_stdout(&report.render(args, stdout_style()))?;
    Ok(DIFFERENT)
}

/// The differences as they are printed.
struct DiffReport {
    output: DiffOutput,
    tally: DiffTally,
}

enum DiffOutput {
    /// One JSON object for each difference, one per line.
    Json(String),
    Text {
        tree: ChangeTree,
        scripts: Vec<ScriptDiff>,
    },
    Markdown {
        tree: ChangeTree,
        rows: Vec<PropertyRow>,
        scripts: Vec<ScriptDiff>,
    },
}

impl DiffReport {
    fn new(format: DiffFormat) -> Self {
        let (tree, scripts) = (ChangeTree::default(), Vec::new());
        let output = match format {
            DiffFormat::Json => DiffOutput::Json(String::new()),
            DiffFormat::Text => DiffOutput::Text { tree, scripts },
            DiffFormat::Markdown => DiffOutput::Markdown { tree, rows: Vec::new(), scripts },
        };
        Self { output, tally: DiffTally::default() }
    }

    fn add(&mut self, difference: SceneDifference) {
        self.tally.count(&difference);
        match &mut self.output {
            DiffOutput::Json(lines) => {
                let _ = writeln!(lines, "{}", difference_json(&difference));
            }
            DiffOutput::Text { tree, scripts } => {
                scripts.extend(script_diff(&difference));
                tree.add(tree_item(difference));
            }
            DiffOutput::Markdown { tree, rows, scripts } => {
                rows.extend(property_rows(&difference));
                scripts.extend(script_diff(&difference));
                tree.add(tree_item(difference));
            }
        }
    }

    /// Renders the tree, the script diffs and a summary, or the lines of JSON.
    fn render(self, args: &DiffArgs, style: TextStyle) -> String {
        let (tree, scripts) = match self.output {
            DiffOutput::Json(lines) => return lines,
            DiffOutput::Text { tree, scripts } => (tree, scripts),
            DiffOutput::Markdown { tree, rows, scripts } => {
                let label = |n: usize, place: &Path| {
                    args.label.get(n).cloned().unwrap_or_else(|| place.display().to_string())
                };
                let report = MarkdownReport {
                    summary: &self.tally.format(),
                    names: [&label(0, &args.a), &label(1, &args.b)],
                    tree: &tree.draw(TextStyle::plain()),
                    rows: &rows,
                    scripts: &scripts,
                    pictures: &args.picture,
                };
                return report.render();
            }
        };
        let mut text = tree.draw(style);
        for script in &scripts {
            let _ = writeln!(text, "\n{}", script_head(script, style));
            for line in hunks::hunk_lines(&script.hunks, style, true) {
                text.push_str(&line);
                text.push('\n');
            }
        }
        let _ = writeln!(text, "\n{}", style.paint(PaintKind::Dim, self.tally.format()));
        text
    }
}

#[derive(Debug, Default)]
struct DiffTally {
    added: usize,
    removed: usize,
    moved: usize,
    changed: usize,
    scripts: usize,
}

impl DiffTally {
    fn count(&mut self, difference: &SceneDifference) {
        match difference {
            SceneDifference::Added { count, .. } => self.added += count,
            SceneDifference::Removed { count, .. } => self.removed += count,
            SceneDifference::Moved { .. } => self.moved += 1,
            SceneDifference::Changed { .. } => self.changed += 1,
            SceneDifference::Script { .. } => self.scripts += 1,
        }
    }

    fn is_empty(&self) -> bool {
        self.instances().iter().all(|(n, _)| *n == 0) && self.scripts == 0
    }

    fn instances(&self) -> [(usize, &'static str); 4] {
        [
            (self.added, "added"),
            (self.removed, "removed"),
            (self.moved, "moved"),
            (self.changed, "with other properties"),
        ]
    }

    fn format(&self) -> String {
        let parts = self.instances().into_iter().filter(|(n, _)| *n > 0);
        let mut parts: Vec<String> =
            parts.map(|(n, what)| format!("{} {what}", count_noun(n, "instance"))).collect();
        if self.scripts > 0 {
            parts.push(format!("{} with another text", count_noun(self.scripts, "script")));
        }
        parts.join(", ")
    }
}

fn script_diff(difference: &SceneDifference) -> Option<ScriptDiff> {
    let SceneDifference::Script { path, before, after, .. } = difference else {
        return None;
    };
    let counts = vector_text_edit::line_counts(before, after);
    Some(ScriptDiff {
        command: 0,
        path: path.clone(),
        left_out: false,
        added: counts.added,
        removed: counts.removed,
        hunks: vector_text_edit::diff_hunks(before, after, CONTEXT),
    })
}

fn property_rows(difference: &SceneDifference) -> Vec<PropertyRow> {
    let SceneDifference::Changed { path, properties, .. } = difference else {
        return Vec::new();
    };
    let value = |value: Option<&Value>| value.map(|it| format_value(it, false)).unwrap_or_default();
    let row = |it: &PropertyChange| PropertyRow {
        instance: path.to_string(),
        property: it.name.clone(),
        before: value(it.before.as_ref()),
        after: value(it.after.as_ref()),
    };
    properties.iter().map(row).collect()
}

fn tree_item(difference: SceneDifference) -> TreeItem {
    let below = |n: usize| {
        if n > 1 { vec![count_noun(n, "instance")] } else { Vec::new() }
    };
    let (path, mark, class, notes) = match difference {
        SceneDifference::Added { path, class, count } => {
            (path, ChangeMark::Added, class, below(count))
        }
        SceneDifference::Removed { path, class, count } => {
            (path, ChangeMark::Removed, class, below(count))
        }
        SceneDifference::Moved { from, to, class } => {
            let from = format!("was {}", terminal_line(&from.to_string()));
            (to, ChangeMark::Moved, class, vec![from])
        }
        SceneDifference::Changed { path, class, properties } => {
            let note = |it: &PropertyChange| {
                let change = format_value_change(it.before.as_ref(), it.after.as_ref(), false);
                terminal_line(&format!("{}  {change}", it.name)).into_owned()
            };
            (path, ChangeMark::Changed, class, properties.iter().map(note).collect())
        }
        SceneDifference::Script { path, class, before, after } => {
            let counts = vector_text_edit::line_counts(&before, &after);
            let note = format!("+{} −{} lines", counts.added, counts.removed);
            (path, ChangeMark::Changed, class, vec![note])
        }
    };
    TreeItem { path, mark, class, notes }
}

fn difference_json(difference: &SceneDifference) -> Json {
    match difference {
        SceneDifference::Added { path, class, count } => {
            json!({ "change": "added", "path": path, "class": class, "count": count })
        }
        SceneDifference::Removed { path, class, count } => {
            json!({ "change": "removed", "path": path, "class": class, "count": count })
        }
        SceneDifference::Moved { from, to, class } => {
            json!({ "change": "moved", "path": to, "from": from, "class": class })
        }
        SceneDifference::Changed { path, class, properties } => {
            let properties: Vec<Json> = properties
                .iter()
                .map(|it| json!({ "name": it.name, "before": it.before, "after": it.after }))
                .collect();
            json!({ "change": "changed", "path": path, "class": class, "properties": properties })
        }
        SceneDifference::Script { path, class, before, after } => {
            let counts = vector_text_edit::line_counts(before, after);
            json!({
                "change": "script",
                "path": path,
                "class": class,
                "added": counts.added,
                "removed": counts.removed,
                "hunks": vector_text_edit::diff_hunks(before, after, CONTEXT),
            })
        }
    }
}
