//! What is proposed, in the person's own editor.
//!
//! A change of one script is edited as that script's whole new text; anything else as the tool call
//! that it came from. The result is planned and checked afresh, and asked about as a new proposal.

use std::io::Write;
use std::path::Path;
use std::process::Command as Process;
use std::{env, fs};

use anyhow::{Context, bail};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use scene_schemas::{Command, Target};
use serde_json::{Value as Json, json};

use super::ask::refused;
use super::sentence;
use super::terminal::{Terminal, say};
use crate::core::edit;
use crate::core::proposal::{Draft, PartText, draft_again};
use crate::core::refusal::{Refusal, refuse};
use crate::core::tools;
use crate::engine::{Engine, REVERT};

/// Ends the title of a text that was edited.
const BY_HAND: &str = ", changed by hand";

/// Lets the person edit a proposal; true where a new one stands for it.
pub(super) fn edit(
    engine: &mut Engine,
    seq: Seq,
    proposal: &Proposal,
    terminal: &Terminal,
) -> anyhow::Result<bool> {
    let (mut text, suffix) = match one_script(proposal) {
        Some(target) => (proposed_text(engine, seq, proposal, target)?, ".luau"),
        None => (call_of(engine, seq)?, ".json"),
    };
    let Some(text) = text.as_mut() else {
        return Ok(false);
    };
    loop {
        let edited = match in_editor(text, suffix) {
            Ok(edited) => edited,
            Err(error) => {
                say(&sentence(&error));
                return Ok(false);
            }
        };
        if edited == *text {
            say("Nothing was changed.");
            return Ok(false);
        }
        let revised = engine.revise(seq, |draft| match suffix {
            ".luau" => {
                let title = proposal.title.trim_end_matches(BY_HAND);
                draft.title(format!("{title}{BY_HAND}"));
                let texts = [(0, PartText::Whole(edited.clone()))].into();
                draft_again(draft, proposal, |_| true, &texts)
            }
            _ => run(&edited, draft),
        });
        if refused(revised)?.is_some() {
            return Ok(true);
        }
        let again = terminal.question("Edit it again? [Y]es [n]o")?;
        if again.is_none_or(|it| it.to_lowercase().starts_with('n')) {
            return Ok(false);
        }
        // What the person wrote is not lost to a slip.
        *text = edited;
    }
}

/// The script, where the proposal only edits the text of one.
fn one_script(proposal: &Proposal) -> Option<&Target> {
    let mut targets = proposal.commands.iter().map(|command| match command {
        Command::EditScript { target, .. } => Some(target),
        _ => None,
    });
    let first = targets.next()??;
    targets.all(|other| other.is_some_and(|other| other.id == first.id)).then_some(first)
}

/// The text that is proposed. Later proposals may have changed the script further in the engine's
/// scene, so it is made from what was there before this one.
fn proposed_text(
    engine: &mut Engine,
    seq: Seq,
    proposal: &Proposal,
    target: &Target,
) -> anyhow::Result<Option<String>> {
    let mut text = None;
    let looked = engine.revise(seq, |draft| {
        text = Some(text_in(draft, proposal, target)?);
        refuse!("Only looked at.")
    });
    match (text, looked) {
        (Some(text), _) => Ok(Some(text)),
        (None, looked) => refused(looked).map(|_| None),
    }
}

fn text_in(draft: &Draft<'_>, proposal: &Proposal, target: &Target) -> Result<String, Refusal> {
    let node = draft.scene().locate(target)?;
    let mut text = draft.scene().source(node).unwrap_or_default().into_owned();
    for command in &proposal.commands {
        if let Command::EditScript { edits, .. } = command {
            text = edit::apply(&text, edits).map_err(Refusal::new)?;
        }
    }
    Ok(text)
}

/// The call that a proposal answers, as the person edits it.
fn call_of(engine: &Engine, seq: Seq) -> anyhow::Result<Option<String>> {
    let call = engine.workflow().and_then(|workflow| {
        let pending = workflow.proposal(seq)?;
        workflow.call(pending.call)
    });
    match call {
        Some((REVERT, _)) => {
            say("The way back cannot be edited; s takes a part of it.");
            Ok(None)
        }
        Some((tool, args)) => {
            let call = json!({ "tool": tool, "args": args });
            Ok(Some(format!("{}\n", serde_json::to_string_pretty(&call)?)))
        }
        None => Ok(None),
    }
}

/// Runs an edited call.
fn run(text: &str, draft: &mut Draft<'_>) -> Result<(), Refusal> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| Refusal(format!("This is not JSON any more: {error}.")))?;
    let (Some(tool), args) = (json["tool"].as_str(), &json["args"]) else {
        return refuse!("`tool` is missing; keep the form {{\"tool\": NAME, \"args\": {{...}}}}.");
    };
    tools::run_change(tool, args, draft).map(drop)
}

/// Opens the editor on a text, and reads what it became.
fn in_editor(text: &str, suffix: &str) -> anyhow::Result<String> {
    let mut file = tempfile::Builder::new()
        .prefix("vector-")
        .suffix(suffix)
        .tempfile()
        .context("no temporary file for the editor")?;
    file.write_all(text.as_bytes()).context("the temporary file cannot be written")?;
    // Some systems let nobody else open a file that is still open here.
    let path = file.into_temp_path();
    open(&path)?;
    let mut edited = fs::read_to_string(&path).context("what you wrote cannot be read as text")?;
    // Most editors end the last line, which a script need not have.
    if !text.ends_with('\n') && edited.ends_with('\n') {
        edited.pop();
    }
    Ok(edited)
}

fn open(path: &Path) -> anyhow::Result<()> {
    let line = editor_line();
    let mut words = line.split_whitespace();
    let Some(program) = words.next() else {
        bail!("no editor is set; name one in VISUAL or EDITOR");
    };
    let status = Process::new(program).args(words).arg(path).status().with_context(|| {
        format!("the editor `{program}` cannot be started; name one in VISUAL or EDITOR")
    })?;
    if !status.success() {
        bail!("the editor `{program}` ended with {status}, so nothing was changed");
    }
    Ok(())
}

fn editor_line() -> String {
    let said = |name: &str| env::var(name).ok().filter(|it| !it.trim().is_empty());
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    said("VISUAL").or_else(|| said("EDITOR")).unwrap_or_else(|| usual.to_owned())
}
