//! Deciding conflicts on a terminal, one after the other.

use scene_schemas::api::{ConflictChoice, ConflictView, HunkChoice, MergeSide};
use scene_schemas::{TextConflict, Value};

use super::columns::columns;
use crate::cli::editor::in_editor;
use crate::cli::sentence;
use crate::cli::style::{Paint, count, safe};
use crate::cli::terminal::{Terminal, say};
use crate::merges::MergeState;

const HELP: &str = "  o  take what ours has
  t  take what theirs has
  b  take both: ours, and theirs below it (lines of a script)
  e  edit the lines in your editor ($VISUAL or $EDITOR)
  s  skip this conflict: it stays open
  q  quit: what was decided is kept, the rest stays open";

/// What a person says about a conflict.
enum Answer {
    Choice(ConflictChoice),
    Skip,
    Quit,
}

/// Asks about each conflict that is open. Where nobody can be asked, nothing is decided.
pub(super) fn decide(states: &mut [MergeState], terminal: &Terminal) -> anyhow::Result<()> {
    if !terminal.can_ask() {
        return Ok(());
    }
    for state in states {
        let title = format!("{}: {} open", safe(&state.name()), count(state.open(), "conflict"));
        terminal.show(&format!("{}\n", terminal.style().paint(Paint::Bold, title)));
        let count = state.conflicts().len();
        for at in 0..count {
            // By now somebody may have decided on the page.
            let kept = state.conflicts()[at].clone();
            if kept.choice.is_some() {
                continue;
            }
            match ask(&kept.conflict, &format!("{} of {count}", at + 1), terminal)? {
                Answer::Choice(choice) => {
                    state.change(|conflicts| {
                        conflicts[at].choice = Some(choice);
                        Ok(())
                    })?;
                }
                Answer::Skip => {}
                Answer::Quit => return Ok(()),
            }
        }
    }
    Ok(())
}

fn ask(conflict: &ConflictView, place: &str, terminal: &Terminal) -> anyhow::Result<Answer> {
    let style = terminal.style();
    let what = match conflict {
        ConflictView::Property { property, .. } => property.as_str(),
        ConflictView::Script { .. } => "the text of the script",
        ConflictView::Deleted { .. } => "deleted by one side, changed or referred to by the other",
        ConflictView::Moved { .. } => "moved by both sides",
    };
    let path = conflict.path().to_string();
    let head = format!("Conflict {place}  {}  {}", safe(&path), safe(what));
    terminal.show(&format!("\n{}\n", style.paint(Paint::Bold, head)));
    let versions = match conflict {
        ConflictView::Script { hunks, .. } => return ask_hunks(hunks, terminal),
        ConflictView::Property { base, ours, theirs, .. } => {
            [base, ours, theirs].map(|value| brief(value.as_ref()))
        }
        ConflictView::Deleted { by, .. } => match by {
            MergeSide::Ours => ["there", "deleted", "changed or referred to"].map(str::to_owned),
            MergeSide::Theirs => ["there", "changed or referred to", "deleted"].map(str::to_owned),
        },
        ConflictView::Moved { path, theirs, .. } => {
            ["elsewhere".to_owned(), path.to_string(), theirs.to_string()]
        }
    };
    let versions = versions.each_ref().map(String::as_str);
    terminal.show(&columns(versions, None, [false; 3], style));
    loop {
        let Some(answer) = terminal.question("Take [o]urs [t]heirs [s]kip [q]uit [?]")? else {
            return Ok(Answer::Quit);
        };
        match answer.to_lowercase().as_str() {
            "o" | "ours" => return Ok(Answer::Choice(ConflictChoice::Ours)),
            "t" | "theirs" => return Ok(Answer::Choice(ConflictChoice::Theirs)),
            "s" | "skip" => return Ok(Answer::Skip),
            "q" | "quit" => return Ok(Answer::Quit),
            _ => say(HELP),
        }
    }
}

/// Asks about each hunk of a script.
fn ask_hunks(hunks: &[TextConflict], terminal: &Terminal) -> anyhow::Result<Answer> {
    let style = terminal.style();
    let mut choices: Vec<HunkChoice> = Vec::new();
    for (at, hunk) in hunks.iter().enumerate() {
        if hunks.len() > 1 {
            let title = format!("Hunk {} of {}", at + 1, hunks.len());
            terminal.show(&format!("{}\n", style.paint(Paint::Dim, title)));
        }
        let versions = [&hunk.base, &hunk.ours, &hunk.theirs].map(String::as_str);
        let lines = [hunk.base_line, hunk.ours_line, hunk.theirs_line];
        let is_gone = versions.map(str::is_empty);
        terminal.show(&columns(versions, Some(lines), is_gone, style));
        let choice = loop {
            let question = "Take [o]urs [t]heirs [b]oth [e]dit [s]kip [q]uit [?]";
            let Some(answer) = terminal.question(question)? else {
                return Ok(Answer::Quit);
            };
            match answer.to_lowercase().as_str() {
                "o" | "ours" => break HunkChoice::Ours,
                "t" | "theirs" => break HunkChoice::Theirs,
                "b" | "both" => break HunkChoice::Both,
                "e" | "edit" => {
                    match in_editor(&both_versions(&hunk.ours, &hunk.theirs), ".luau") {
                        Ok(text) => break HunkChoice::Edited(text),
                        Err(error) => say(&sentence(&error)),
                    }
                }
                "s" | "skip" => return Ok(Answer::Skip),
                "q" | "quit" => return Ok(Answer::Quit),
                _ => say(HELP),
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
    Ok(Answer::Choice(choice))
}

/// What the editor begins with: both versions, the one below the other.
fn both_versions(ours: &str, theirs: &str) -> String {
    let end = if ours.is_empty() || ours.ends_with('\n') { "" } else { "\n" };
    format!("{ours}{end}{theirs}")
}

/// A property's value in a few words.
pub(super) fn brief(value: Option<&Value>) -> String {
    value.map_or_else(|| "(default)".to_owned(), Value::brief)
}
