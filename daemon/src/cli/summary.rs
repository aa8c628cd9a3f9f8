//! The end of a run: what was applied as a picture, the file that holds it, and the way back.
//!
//! It reads the workflow alone. What failed is said where the exit code is made.

use std::fmt::Write as _;

use scene_schemas::Command;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Change, Proposal, name_files};
use serde_json::Value as Json;
use vector_core::prompt::without_picture;
use vector_core::workflow::{CALLS, Status, Workflow};

use super::card::change_text;
use super::style::{Paint, Style, count, safe, safe_lines};
use super::tree::{Item, Mark, picture};

/// Lines of the picture; a person sees no more of it at once.
const LINES: usize = 120;

/// The summary, each line ended; empty where there is nothing to say.
pub(super) fn render((run, workflow): (Seq, &Workflow), style: Style, dry_run: bool) -> String {
    let mut text = String::new();
    if let Some(summary) = &workflow.summary {
        text.push_str(&safe_lines(summary));
        text.push('\n');
    }
    if workflow.driver == CALLS {
        for answer in workflow.answers().flat_map(single) {
            // A picture is for eyes: `vector render` writes it to a file.
            let answer = without_picture(answer, false);
            let shown = serde_json::to_string_pretty(&*answer).unwrap_or_default();
            text.push_str(&safe_lines(&shown));
            text.push('\n');
        }
    }
    let applied: Vec<_> = workflow
        .proposals()
        .filter_map(|(seq, pending)| match &pending.status {
            Status::Applied(ack) => Some((seq, &pending.proposal, ack)),
            _ => None,
        })
        .collect();
    let Some((_, _, last)) = applied.last() else {
        if workflow.proposals().next().is_some() {
            text.push_str(&style.paint(Paint::Dim, "This run changed nothing."));
            text.push('\n');
        }
        return text;
    };
    let items: Vec<Item> = applied.iter().flat_map(|(_, it, _)| items(it)).collect();
    text.push('\n');
    push_cut(&mut text, &picture(&items, style), style);
    text.push('\n');
    let what = count(applied.len(), "proposal");
    if dry_run {
        let _ = writeln!(text, "{what} would be applied.");
        return text;
    }
    let file = last.file.as_deref().unwrap_or("the place that is open in Studio");
    let mut files: Vec<String> = applied.iter().flat_map(|(_, it, _)| it.writes.clone()).collect();
    files.sort_unstable();
    files.dedup();
    let named = if files.is_empty() { String::new() } else { format!(": {}", name_files(&files)) };
    let _ = writeln!(text, "Applied {what} to {}{}", safe(file), safe(&named));
    let hint = match applied.as_slice() {
        [(one, ..)] => format!("vector revert {one}"),
        _ => format!("vector revert {run} (or one of its proposals; vector log lists them)"),
    };
    let _ = writeln!(text, "{} {hint}", style.paint(Paint::Dim, "Take it back:"));
    text
}

/// The answers in the answer to a list of calls; otherwise the answer itself.
fn single(answer: &Json) -> Vec<&Json> {
    let list = match answer.as_object() {
        Some(map) if map.len() == 1 => map.get("results").and_then(Json::as_array),
        _ => None,
    };
    list.map_or_else(|| vec![answer], |list| list.iter().filter(|it| !it.is_null()).collect())
}

fn push_cut(text: &mut String, picture: &str, style: Style) {
    let all = picture.lines().count();
    // A line that stands for a few others saves nothing.
    if all <= LINES + 5 {
        text.push_str(picture);
        return;
    }
    for line in picture.lines().take(LINES) {
        text.push_str(line);
        text.push('\n');
    }
    let more = format!("… {} more lines", all - LINES);
    text.push_str(&style.paint(Paint::Dim, more));
    text.push('\n');
}

/// What a proposal does, as the tree shows it.
fn items(proposal: &Proposal) -> Vec<Item> {
    let rows = proposal.preview.rows.iter().map(|row| {
        let (mark, note) = match &row.change {
            Change::Created { .. } => (Mark::Added, None),
            Change::Cloned { source, count: n } => (
                Mark::Added,
                Some(format!("a copy of {source}, {}", count(*n as usize, "instance"))),
            ),
            Change::Inserted { asset, count: n } => (
                Mark::Added,
                Some(format!("from asset {asset}, {}", count(*n as usize, "instance"))),
            ),
            Change::Restored { count: n } => {
                (Mark::Added, Some(format!("is back, {}", count(*n as usize, "instance"))))
            }
            Change::Set { property, before, after } => {
                let change = change_text(before.as_ref(), after.as_ref(), false);
                (Mark::Changed, Some(format!("{property}  {change}")))
            }
            Change::Moved { to } => (Mark::Moved, Some(format!("into {to}"))),
            Change::Deleted { count: 1 } => (Mark::Removed, None),
            Change::Deleted { count: n } => (Mark::Removed, Some(count(*n as usize, "instance"))),
        };
        Item {
            path: row.path.clone(),
            mark,
            class: row.class.clone(),
            notes: note.iter().map(|it| safe(it).into_owned()).collect(),
        }
    });
    let scripts = proposal.preview.scripts.iter().map(|script| {
        let command = proposal.commands.get(script.command as usize);
        let is_memory = command.is_some_and(Command::is_memory);
        let is_new = !is_memory && !matches!(command, Some(Command::EditScript { .. }));
        let (mark, note) = if is_new {
            (Mark::Added, count(script.added as usize, "line"))
        } else {
            (Mark::Changed, format!("+{} −{} lines", script.added, script.removed))
        };
        let class = if is_memory { "memory" } else { "script" }.to_owned();
        Item { path: script.path.clone(), mark, class, notes: vec![note] }
    });
    rows.chain(scripts).collect()
}
