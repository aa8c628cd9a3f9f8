//! Deciding conflicts on a terminal, one after the other.

use scene_schemas::Value;
use serde_json::Value as Json;

use super::columns::columns;
use super::state::MergeState;
use crate::cli::editor::in_editor;
use crate::cli::sentence;
use crate::cli::style::{Paint, count, safe};
use crate::cli::terminal::{Terminal, say};
use crate::core::edit::MergePart;
use crate::core::scene::merge::{
    Conflict, ConflictChoice, HunkChoice, hunks_of, path_of, resolved_text,
};

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
        let conflicts = state.with_merge(|merge, _, _| Ok(merge.conflicts().to_vec()))?;
        if conflicts.len() != state.conflicts.len() {
            anyhow::bail!(
                "{}: this version of Vector finds other conflicts than the one that merged; finish \
                 with that one, or merge again",
                state.name()
            );
        }
        let title = format!("{}: {} open", safe(&state.name()), count(state.open(), "conflict"));
        terminal.show(&format!("{}\n", terminal.style().paint(Paint::Bold, title)));
        for (at, conflict) in conflicts.iter().enumerate() {
            if state.conflicts[at].choice.is_some() {
                continue;
            }
            let place = format!("{} of {}", at + 1, conflicts.len());
            match ask(conflict, &place, terminal)? {
                Answer::Choice(choice) => {
                    state.conflicts[at].choice = Some(choice);
                    state.save()?;
                }
                Answer::Skip => {}
                Answer::Quit => return Ok(()),
            }
        }
    }
    Ok(())
}

fn ask(conflict: &Conflict, place: &str, terminal: &Terminal) -> anyhow::Result<Answer> {
    let style = terminal.style();
    let what = match conflict {
        Conflict::Property { property, .. } => property.as_str(),
        Conflict::Script { .. } => "the text of the script",
        Conflict::Deleted { .. } => "deleted by one side, changed by the other",
        Conflict::Moved { .. } => "moved by both sides",
    };
    let path = path_of(conflict).to_string();
    let head = format!("Conflict {place}  {}  {}", safe(&path), safe(what));
    terminal.show(&format!("\n{}\n", style.paint(Paint::Bold, head)));
    let versions = match conflict {
        Conflict::Script { parts, .. } => return ask_hunks(parts, terminal),
        Conflict::Property { values, .. } => values
            .each_ref()
            .map(|value| value.as_ref().map_or_else(|| "(default)".to_owned(), Value::brief)),
        Conflict::Deleted { by_ours, .. } => {
            let sides = if *by_ours { ["deleted", "changed"] } else { ["changed", "deleted"] };
            ["there", sides[0], sides[1]].map(str::to_owned)
        }
        Conflict::Moved { path, theirs, .. } => {
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
fn ask_hunks(parts: &[MergePart], terminal: &Terminal) -> anyhow::Result<Answer> {
    let style = terminal.style();
    let hunks: Vec<_> = hunks_of(parts).collect();
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
        ConflictChoice::Text(resolved_text(parts, &choices))
    };
    Ok(Answer::Choice(choice))
}

/// What the editor begins with: both versions, the one below the other.
fn both_versions(ours: &str, theirs: &str) -> String {
    let end = if ours.is_empty() || ours.ends_with('\n') { "" } else { "\n" };
    format!("{ours}{end}{theirs}")
}

/// A property's value in a few words, from the object of a conflict.
pub(super) fn brief(value: &Json) -> String {
    match value {
        Json::Null => "(default)".to_owned(),
        value => match serde_json::from_value::<Value>(value.clone()) {
            Ok(value) => value.brief(),
            Err(_) => value.to_string(),
        },
    }
}
