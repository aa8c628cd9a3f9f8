//! Prompts for deciding conflicts in the terminal, one after another.
//!
//! Each decision is saved immediately, so that quitting keeps it.

use scene_schemas::api::{ConflictChoice, ConflictView, HunkChoice, MergeSide};
use scene_schemas::{TextConflict, Value};

use super::columns::render_columns;
use crate::cli::editor::edit_text;
use crate::cli::error_sentence;
use crate::cli::style::{PaintKind, count_noun, terminal_line};
use crate::cli::terminal::{Terminal, print_status};
use crate::merges::MergeState;

const HELP: &str = "  o  take ours
  t  take theirs
  b  take both: ours, then theirs below it (lines of a script)
  e  edit the lines in your editor ($VISUAL or $EDITOR)
  s  skip this conflict: it stays open
  q  quit: decisions are kept, the rest stays open";

/// The user's answer to a conflict.
enum ConflictAnswer {
    Choice(ConflictChoice),
    Skip,
    Quit,
}

/// Asks about each open conflict. Without a user to ask, nothing is decided.
pub(super) fn decide_conflicts(
    states: &mut [MergeState],
    terminal: &Terminal,
) -> anyhow::Result<()> {
    if !terminal.can_ask() {
        return Ok(());
    }
    for state in states {
        let title = format!(
            "{}: {} open",
            terminal_line(&state.name()),
            count_noun(state.open_count(), "conflict")
        );
        terminal.show(&format!("{}\n", terminal.style().paint(PaintKind::Bold, title)));
        let count = state.conflicts().len();
        for at in 0..count {
            // The conflict may have been decided on the page in the meantime.
            let kept = state.conflicts()[at].clone();
            if kept.choice.is_some() {
                continue;
            }
            match ask_conflict(&kept.conflict, &format!("{} of {count}", at + 1), terminal)? {
                ConflictAnswer::Choice(choice) => {
                    state.update_decisions(|conflicts| {
                        conflicts[at].choice = Some(choice);
                        Ok(())
                    })?;
                }
                ConflictAnswer::Skip => {}
                ConflictAnswer::Quit => return Ok(()),
            }
        }
    }
    Ok(())
}

fn ask_conflict(
    conflict: &ConflictView,
    place: &str,
    terminal: &Terminal,
) -> anyhow::Result<ConflictAnswer> {
    let style = terminal.style();
    let what = match conflict {
        ConflictView::Property { property, .. } => property.as_str(),
        ConflictView::Script { .. } => "the text of the script",
        ConflictView::Deleted { .. } => "deleted by one side, changed or referenced by the other",
        ConflictView::Moved { .. } => "moved by both sides",
    };
    let path = conflict.path().to_string();
    let head = format!("Conflict {place}  {}  {}", terminal_line(&path), terminal_line(what));
    terminal.show(&format!("\n{}\n", style.paint(PaintKind::Bold, head)));
    let versions = match conflict {
        ConflictView::Script { hunks, .. } => return ask_hunks(hunks, terminal),
        ConflictView::Property { base, ours, theirs, .. } => {
            [base, ours, theirs].map(|value| brief_value(value.as_ref()))
        }
        ConflictView::Deleted { by, .. } => match by {
            MergeSide::Ours => ["there", "deleted", "changed or referenced"].map(str::to_owned),
            MergeSide::Theirs => ["there", "changed or referenced", "deleted"].map(str::to_owned),
        },
        ConflictView::Moved { path, theirs, .. } => {
            ["elsewhere".to_owned(), path.to_string(), theirs.to_string()]
        }
    };
    let versions = versions.each_ref().map(String::as_str);
    terminal.show(&render_columns(versions, None, [false; 3], style));
    loop {
        let Some(answer) = terminal.ask_line("Take [o]urs [t]heirs [s]kip [q]uit [?]")? else {
            return Ok(ConflictAnswer::Quit);
        };
        match answer.to_lowercase().as_str() {
            "o" | "ours" => return Ok(ConflictAnswer::Choice(ConflictChoice::Ours)),
            "t" | "theirs" => return Ok(ConflictAnswer::Choice(ConflictChoice::Theirs)),
            "s" | "skip" => return Ok(ConflictAnswer::Skip),
            "q" | "quit" => return Ok(ConflictAnswer::Quit),
            _ => print_status(HELP),
        }
    }
}

/// Asks about each hunk of a script.
fn ask_hunks(hunks: &[TextConflict], terminal: &Terminal) -> anyhow::Result<ConflictAnswer> {
    let style = terminal.style();
    let mut choices: Vec<HunkChoice> = Vec::new();
    for (at, hunk) in hunks.iter().enumerate() {
        if hunks.len() > 1 {
            let title = format!("Hunk {} of {}", at + 1, hunks.len());
            terminal.show(&format!("{}\n", style.paint(PaintKind::Dim, title)));
        }
        let versions = [&hunk.base, &hunk.ours, &hunk.theirs].map(String::as_str);
        let lines = [hunk.base_line, hunk.ours_line, hunk.theirs_line];
        let is_gone = versions.map(str::is_empty);
        terminal.show(&render_columns(versions, Some(lines), is_gone, style));
        let choice = loop {
            let question = "Take [o]urs [t]heirs [b]oth [e]dit [s]kip [q]uit [?]";
            let Some(answer) = terminal.ask_line(question)? else {
                return Ok(ConflictAnswer::Quit);
            };
            match answer.to_lowercase().as_str() {
                "o" | "ours" => break HunkChoice::Ours,
                "t" | "theirs" => break HunkChoice::Theirs,
                "b" | "both" => break HunkChoice::Both,
                "e" | "edit" => {
                    match edit_text(&both_versions(&hunk.ours, &hunk.theirs), ".luau") {
                        Ok(text) => break HunkChoice::Edited(text),
                        Err(error) => print_status(&error_sentence(&error)),
                    }
                }
                "s" | "skip" => return Ok(ConflictAnswer::Skip),
                "q" | "quit" => return Ok(ConflictAnswer::Quit),
                _ => print_status(HELP),
            }
        };
        choices.push(choice);
    }
    let all = |of: &HunkChoice| choices.iter().all(|choice| choice == of);
    let choice = if all(&HunkChoice::Ours) {
        ConflictChoice::Ours
    } else if all(&HunkChoice::Theirs) {
        ConflictChoice::Theirs
    } else {
        ConflictChoice::Hunks(choices)
    };
    Ok(ConflictAnswer::Choice(choice))
}

/// The initial text of the editor: both versions, one below the other.
fn both_versions(ours: &str, theirs: &str) -> String {
    let end = if ours.is_empty() || ours.ends_with('\n') { "" } else { "\n" };
    format!("{ours}{end}{theirs}")
}

/// A short form of a property's value.
pub(super) fn brief_value(value: Option<&Value>) -> String {
    value.map_or_else(|| "(default)".to_owned(), Value::to_brief)
}
