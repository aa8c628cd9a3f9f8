//! The summary at the end of a run: the applied changes as a tree, the file that contains them, and
//! how to revert them.
//!
//! It reads only the workflow. Failures are reported where the exit code is determined.

use std::fmt::Write as _;

use scene_schemas::Command;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::{Change, Proposal, name_files};
use serde_json::Value as Json;
use vector_core::prompt::without_picture;
use vector_core::tools::{self, ToolSpec};
use vector_core::workflow::{CALLS, PendingStatus, Workflow};

use super::card::format_value_change;
use super::style::{PaintKind, TextStyle, count_noun, safe_lines, terminal_line};
use super::tree::{ChangeMark, TreeItem, draw_tree};

/// The maximum number of lines of the tree. A user cannot see more at once.
const LINES: usize = 120;

/// Renders the summary, each line ending in a newline. Empty if there is nothing to report.
pub(super) fn render_summary(
    run: Seq,
    workflow: &Workflow,
    style: TextStyle,
    dry_run: bool,
) -> String {
    let mut text = String::new();
    if let Some(summary) = &workflow.summary {
        text.push_str(&safe_lines(summary));
        text.push('\n');
    }
    if workflow.driver == CALLS {
        // What code returned was shown when it had run.
        let runs_code = |tool: &str| tools::find_tool(tool).is_ok_and(ToolSpec::runs_code);
        let answers = workflow.answers().filter(|(tool, _)| !runs_code(tool));
        for answer in answers.flat_map(|(_, answer)| split_answers(answer)) {
            // The terminal cannot show pictures. `vector render` writes them to a file.
            let answer = without_picture(answer, false);
            let shown = serde_json::to_string_pretty(&*answer).unwrap_or_default();
            text.push_str(&safe_lines(&shown));
            text.push('\n');
        }
    }
    let applied: Vec<_> = workflow
        .proposals()
        .filter_map(|(seq, pending)| match &pending.status {
            PendingStatus::Applied(ack) => Some((seq, &pending.proposal, ack)),
            _ => None,
        })
        .collect();
    let Some((_, _, last)) = applied.last() else {
        if workflow.proposals().next().is_some() {
            text.push_str(&style.paint(PaintKind::Dim, "This run changed nothing."));
            text.push('\n');
        }
        return text;
    };
    let items = applied.iter().flat_map(|(_, it, _)| proposal_items(it));
    text.push('\n');
    push_cut(&mut text, &draw_tree(items, style), style);
    text.push('\n');
    let what = count_noun(applied.len(), "proposal");
    if dry_run {
        let _ = writeln!(text, "{what} would be applied.");
        return text;
    }
    let file = last.file.as_deref().unwrap_or("the place that is open in Studio");
    let mut files: Vec<String> =
        applied.iter().flat_map(|(_, it, _)| it.changed_files.clone()).collect();
    files.sort_unstable();
    files.dedup();
    let named = if files.is_empty() { String::new() } else { format!(": {}", name_files(&files)) };
    let _ = writeln!(text, "Applied {what} to {}{}", terminal_line(file), terminal_line(&named));
    let hint = match applied.as_slice() {
        [(one, ..)] => format!("vector revert {one}"),
        _ => format!("vector revert {run} (or one of its proposals; vector log lists them)"),
    };
    let _ = writeln!(text, "{} {hint}", style.paint(PaintKind::Dim, "To revert:"));
    text
}

/// The answers inside the answer to a list of calls, otherwise the answer itself.
fn split_answers(answer: &Json) -> Vec<&Json> {
    let list = match answer.as_object() {
        Some(map) if map.len() == 1 => map.get("results").and_then(Json::as_array),
        _ => None,
    };
    list.map_or_else(|| vec![answer], |list| list.iter().filter(|it| !it.is_null()).collect())
}

fn push_cut(text: &mut String, picture: &str, style: TextStyle) {
    let all = picture.lines().count();
    // Replacing only a few lines by a note saves nothing.
    if all <= LINES + 5 {
        text.push_str(picture);
        return;
    }
    for line in picture.lines().take(LINES) {
        text.push_str(line);
        text.push('\n');
    }
    let more = format!("… {} more lines", all - LINES);
    text.push_str(&style.paint(PaintKind::Dim, more));
    text.push('\n');
}

/// The changes of a proposal as items of the tree.
fn proposal_items(proposal: &Proposal) -> Vec<TreeItem> {
    let rows = proposal.preview.rows.iter().map(|row| {
        let (mark, note) = match &row.change {
            Change::Created { .. } => (ChangeMark::Added, None),
            Change::Cloned { source, count: n } => (
                ChangeMark::Added,
                Some(format!("a copy of {source}, {}", count_noun(*n as usize, "instance"))),
            ),
            Change::Inserted { asset, count: n } => (
                ChangeMark::Added,
                Some(format!("from asset {asset}, {}", count_noun(*n as usize, "instance"))),
            ),
            Change::Restored { count: n } => (
                ChangeMark::Added,
                Some(format!("restored, {}", count_noun(*n as usize, "instance"))),
            ),
            Change::Set { property, before, after } => {
                let change = format_value_change(before.as_ref(), after.as_ref(), false);
                (ChangeMark::Changed, Some(format!("{property}  {change}")))
            }
            Change::Moved { to } => (ChangeMark::Moved, Some(format!("moved to {to}"))),
            Change::Deleted { count: 1 } => (ChangeMark::Removed, None),
            Change::Deleted { count: n } => {
                (ChangeMark::Removed, Some(count_noun(*n as usize, "instance")))
            }
        };
        TreeItem {
            path: row.path.clone(),
            mark,
            class: row.class.clone(),
            notes: note.iter().map(|it| terminal_line(it).into_owned()).collect(),
        }
    });
    let scripts = proposal.preview.changed_scripts().map(|script| {
        let command = proposal.commands.get(script.command as usize);
        let is_memory = command.is_some_and(Command::is_memory);
        let is_new = !is_memory && !matches!(command, Some(Command::EditScript { .. }));
        let (mark, note) = if is_new {
            (ChangeMark::Added, count_noun(script.added as usize, "line"))
        } else {
            (ChangeMark::Changed, format!("+{} −{} lines", script.added, script.removed))
        };
        let class = if is_memory { "memory" } else { "script" }.to_owned();
        TreeItem { path: script.path.clone(), mark, class, notes: vec![note] }
    });
    rows.chain(scripts).collect()
}
