//! `vector diff`: shows the differences between two places, in terms of instances and properties.
//!
//! The scene decides what counts as a difference. This module only displays it. Git can call it:
//! piped output has no colors and no width limit, and the exit codes are those of `diff`.

use std::fmt::Write as _;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

use clap::Args;
use scene_schemas::proposal::ScriptDiff;
use serde_json::{Value as Json, json};
use vector_core::proposal::CONTEXT;
use vector_place::diff::{SceneDifference, diff_scenes};

use super::card::{format_value_change, script_head};
use super::place_arg::read_place;
use super::style::{PaintKind, TextStyle, count_noun, terminal_line};
use super::terminal::{Terminal, print_status, print_stdout, stdout_style};
use super::tree::{ChangeMark, TreeItem, draw_tree};
use super::{ExitStatus, error_sentence, hunks};
use crate::parallel::run_both;

/// Compare two places: instances, properties and the text of scripts.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector diff before.rbxl after.rbxl
  vector diff before.rbxl after.rbxlx --json
  git difftool -y -x 'vector diff' -- game.rbxl

Exit codes: 0 no differences, 1 differences, 2 failed.")]
pub(super) struct DiffArgs {
    /// The earlier place, or a Rojo project
    a: PathBuf,
    /// The later place, or a Rojo project
    b: PathBuf,
    /// Print one JSON object for each difference, one per line
    #[arg(long)]
    json: bool,
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
    let terminal = Terminal::for_command(args.json);
    let found = terminal.with_spinner("Comparing", || {
        let read = |place: &Path| {
            let scene = read_place(place)?.scene.into_scene();
            scene.hash_instances();
            anyhow::Ok(scene)
        };
        let (a, b) = run_both(|| read(&args.a), || read(&args.b));
        // The process ends soon, and freeing a large place takes long.
        let (a, b) = (ManuallyDrop::new(a?), ManuallyDrop::new(b?));
        anyhow::Ok(diff_scenes(&a, &b))
    })?;
    if found.is_empty() {
        print_status("no differences");
        return Ok(ExitStatus::Done);
    }
    let text = if args.json {
        let lines = found.iter().map(|it| format!("{}\n", difference_json(it)));
        lines.collect()
    } else {
        render_diff(&found, stdout_style())
    };
    print_stdout(&text)?;
    Ok(DIFFERENT)
}

/// Renders the tree, the script diffs and a summary.
fn render_diff(found: &[SceneDifference], style: TextStyle) -> String {
    let items: Vec<TreeItem> = found.iter().map(tree_item).collect();
    let mut text = draw_tree(&items, style);
    for difference in found {
        if let SceneDifference::Script { path, before, after, .. } = difference {
            let counts = vector_text_edit::line_counts(before, after);
            let script = ScriptDiff {
                command: 0,
                path: path.clone(),
                added: counts.added,
                removed: counts.removed,
                hunks: vector_text_edit::diff_hunks(before, after, CONTEXT),
            };
            let _ = writeln!(text, "\n{}", script_head(&script, style));
            for line in hunks::hunk_lines(&script.hunks, style, true) {
                text.push_str(&line);
                text.push('\n');
            }
        }
    }
    let _ = writeln!(text, "\n{}", style.paint(PaintKind::Dim, format_tally(found)));
    text
}

fn format_tally(found: &[SceneDifference]) -> String {
    let (mut added, mut removed, mut moved, mut changed, mut scripts) = (0, 0, 0, 0, 0);
    for difference in found {
        match difference {
            SceneDifference::Added { count, .. } => added += count,
            SceneDifference::Removed { count, .. } => removed += count,
            SceneDifference::Moved { .. } => moved += 1,
            SceneDifference::Changed { .. } => changed += 1,
            SceneDifference::Script { .. } => scripts += 1,
        }
    }
    let parts = [
        (added, "added"),
        (removed, "removed"),
        (moved, "moved"),
        (changed, "with other properties"),
    ];
    let parts = parts.iter().filter(|(n, _)| *n > 0);
    let mut parts: Vec<String> =
        parts.map(|(n, what)| format!("{} {what}", count_noun(*n, "instance"))).collect();
    if scripts > 0 {
        parts.push(format!("{} with another text", count_noun(scripts, "script")));
    }
    parts.join(", ")
}

fn tree_item(difference: &SceneDifference) -> TreeItem {
    let below = |n: usize| {
        if n > 1 { vec![count_noun(n, "instance")] } else { Vec::new() }
    };
    let (path, mark, class, notes) = match difference {
        SceneDifference::Added { path, class, count } => {
            (path, ChangeMark::Added, class, below(*count))
        }
        SceneDifference::Removed { path, class, count } => {
            (path, ChangeMark::Removed, class, below(*count))
        }
        SceneDifference::Moved { from, to, class } => (
            to,
            ChangeMark::Moved,
            class,
            vec![format!("was {}", terminal_line(&from.to_string()))],
        ),
        SceneDifference::Changed { path, class, properties } => {
            let note = |it: &vector_place::diff::PropertyChange| {
                let change = format_value_change(it.before.as_ref(), it.after.as_ref(), false);
                terminal_line(&format!("{}  {change}", it.name)).into_owned()
            };
            (path, ChangeMark::Changed, class, properties.iter().map(note).collect())
        }
        SceneDifference::Script { path, class, before, after } => {
            let counts = vector_text_edit::line_counts(before, after);
            let note = format!("+{} −{} lines", counts.added, counts.removed);
            (path, ChangeMark::Changed, class, vec![note])
        }
    };
    TreeItem { path: path.clone(), mark, class: class.clone(), notes }
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
