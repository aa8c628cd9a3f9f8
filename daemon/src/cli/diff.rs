//! `vector diff`: what is different between two places, in the words of a place.
//!
//! What counts as a difference is the scene's business; here it is only shown. Git can call it: the
//! output has no colours and no widths when it is piped, and the exit code is diff's.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::Args;
use scene_schemas::proposal::ScriptDiff;
use serde_json::{Value as Json, json};
use vector_core::proposal::CONTEXT;
use vector_place::diff::{Difference, diff};

use super::card::{change_text, script_head};
use super::opened::look;
use super::style::{Paint, Style, count, safe};
use super::terminal::{Terminal, print, say, stdout_style};
use super::tree::{Item, Mark, picture};
use super::{Exit, hunks, sentence};

/// Compare two places: instances, properties and the text of scripts.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  vector diff before.rbxl after.rbxl
  vector diff before.rbxl after.rbxlx --json
  git difftool -y -x 'vector diff' -- game.rbxl

Exit codes: 0 the same, 1 different, 2 trouble.")]
pub(super) struct Diff {
    /// The earlier place, or a Rojo project
    a: PathBuf,
    /// The later place, or a Rojo project
    b: PathBuf,
    /// Print one JSON object for each difference, a line each
    #[arg(long)]
    json: bool,
}

/// As with `diff`, 1 means different; so all trouble is 2.
const DIFFERENT: Exit = Exit::Failed;
const TROUBLE: Exit = Exit::Usage;

pub(super) fn run(args: &Diff) -> Exit {
    compare(args).unwrap_or_else(|error| {
        say(&format!("error: {}", sentence(&error)));
        TROUBLE
    })
}

fn compare(args: &Diff) -> anyhow::Result<Exit> {
    let terminal = Terminal::of(args.json);
    let found = terminal.busy("Comparing", || {
        let (a, b) = (look(&args.a)?.scene, look(&args.b)?.scene);
        anyhow::Ok(diff(&a, &b))
    })?;
    if found.is_empty() {
        say("no differences");
        return Ok(Exit::Done);
    }
    let text = if args.json {
        let lines = found.iter().map(|it| format!("{}\n", object(it)));
        lines.collect()
    } else {
        render(&found, stdout_style())
    };
    print(&text)?;
    Ok(DIFFERENT)
}

/// The tree, the scripts, and how much it is.
fn render(found: &[Difference], style: Style) -> String {
    let items: Vec<Item> = found.iter().map(item).collect();
    let mut text = picture(&items, style);
    for difference in found {
        if let Difference::Script { path, before, after, .. } = difference {
            let counts = vector_text_edit::line_counts(before, after);
            let script = ScriptDiff {
                command: 0,
                path: path.clone(),
                added: counts.added,
                removed: counts.removed,
                hunks: vector_text_edit::hunks(before, after, CONTEXT),
            };
            let _ = writeln!(text, "\n{}", script_head(&script, style));
            for line in hunks::lines(&script.hunks, style, true) {
                text.push_str(&line);
                text.push('\n');
            }
        }
    }
    let _ = writeln!(text, "\n{}", style.paint(Paint::Dim, tally(found)));
    text
}

fn tally(found: &[Difference]) -> String {
    let (mut added, mut removed, mut moved, mut changed, mut scripts) = (0, 0, 0, 0, 0);
    for difference in found {
        match difference {
            Difference::Added { count, .. } => added += count,
            Difference::Removed { count, .. } => removed += count,
            Difference::Moved { .. } => moved += 1,
            Difference::Changed { .. } => changed += 1,
            Difference::Script { .. } => scripts += 1,
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
        parts.map(|(n, what)| format!("{} {what}", count(*n, "instance"))).collect();
    if scripts > 0 {
        parts.push(format!("{} with another text", count(scripts, "script")));
    }
    parts.join(", ")
}

fn item(difference: &Difference) -> Item {
    let below = |n: usize| {
        if n > 1 { vec![count(n, "instance")] } else { Vec::new() }
    };
    let (path, mark, class, notes) = match difference {
        Difference::Added { path, class, count } => (path, Mark::Added, class, below(*count)),
        Difference::Removed { path, class, count } => (path, Mark::Removed, class, below(*count)),
        Difference::Moved { from, to, class } => {
            (to, Mark::Moved, class, vec![format!("was {}", safe(&from.to_string()))])
        }
        Difference::Changed { path, class, properties } => {
            let note = |it: &vector_place::diff::PropertyChange| {
                let change = change_text(it.before.as_ref(), it.after.as_ref(), false);
                safe(&format!("{}  {change}", it.name)).into_owned()
            };
            (path, Mark::Changed, class, properties.iter().map(note).collect())
        }
        Difference::Script { path, class, before, after } => {
            let counts = vector_text_edit::line_counts(before, after);
            let note = format!("+{} −{} lines", counts.added, counts.removed);
            (path, Mark::Changed, class, vec![note])
        }
    };
    Item { path: path.clone(), mark, class: class.clone(), notes }
}

fn object(difference: &Difference) -> Json {
    match difference {
        Difference::Added { path, class, count } => {
            json!({ "change": "added", "path": path, "class": class, "count": count })
        }
        Difference::Removed { path, class, count } => {
            json!({ "change": "removed", "path": path, "class": class, "count": count })
        }
        Difference::Moved { from, to, class } => {
            json!({ "change": "moved", "path": to, "from": from, "class": class })
        }
        Difference::Changed { path, class, properties } => {
            let properties: Vec<Json> = properties
                .iter()
                .map(|it| json!({ "name": it.name, "before": it.before, "after": it.after }))
                .collect();
            json!({ "change": "changed", "path": path, "class": class, "properties": properties })
        }
        Difference::Script { path, class, before, after } => {
            let counts = vector_text_edit::line_counts(before, after);
            json!({
                "change": "script",
                "path": path,
                "class": class,
                "added": counts.added,
                "removed": counts.removed,
                "hunks": vector_text_edit::hunks(before, after, CONTEXT),
            })
        }
    }
}
