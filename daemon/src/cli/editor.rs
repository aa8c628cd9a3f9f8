//! Editing of a proposal in the user's own editor.
//!
//! A changed or created script is edited as its whole new text, anything else as the original tool
//! call. If there are several parts, the user chooses one. The result is planned and checked again,
//! and decided as a new proposal.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::Command as Process;
use std::{env, fs};

use anyhow::{Context, bail};
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{Command, InstancePath, Target, Value};
use serde_json::{Value as Json, json};
use vector_core::proposal::{PartText, ProposalDraft, draft_again};
use vector_core::tools;
use vector_engine::{REVERT, WorkflowRun};

use super::decision_prompt::show_refusal;
use super::error_sentence;
use super::terminal::{Terminal, print_status};

/// Suffix of the title after an edit.
const BY_HAND: &str = ", changed by hand";

/// The part of a proposal that is edited.
#[derive(Debug, Clone, Copy)]
enum EditedPart<'p> {
    /// The whole text of a changed script: its index in the preview, and the script.
    Edited(usize, &'p Target),
    /// The text of a created script, with the index of its command.
    Created(usize, &'p InstancePath),
    /// The tool call that produced the proposal.
    Call,
}

impl EditedPart<'_> {
    fn file_suffix(self) -> &'static str {
        match self {
            Self::Edited(..) | Self::Created(..) => ".luau",
            Self::Call => ".json",
        }
    }

    fn describe(self) -> String {
        match self {
            Self::Edited(_, target) => target.path.to_string(),
            Self::Created(_, path) => path.to_string(),
            Self::Call => "the tool call, as JSON".to_owned(),
        }
    }
}

/// The scripts of a proposal, and its tool call if the proposal does anything else.
fn editable_parts(proposal: &Proposal) -> Vec<EditedPart<'_>> {
    let mut parts = Vec::new();
    for (at, script) in proposal.preview.scripts.iter().enumerate() {
        let command = script.command as usize;
        match proposal.commands.get(command) {
            Some(Command::EditScript { target, .. }) => parts.push(EditedPart::Edited(at, target)),
            Some(Command::Create { props, .. }) if props.contains_key(SOURCE) => {
                parts.push(EditedPart::Created(command, &script.path));
            }
            _ => {}
        }
    }
    let is_text = |command: &Command| match command {
        Command::EditScript { .. } => true,
        Command::Create { props, .. } => props.contains_key(SOURCE),
        _ => false,
    };
    if parts.is_empty() || !proposal.commands.iter().all(is_text) {
        parts.push(EditedPart::Call);
    }
    parts
}

const SOURCE: &str = "Source";

/// Asks which part to edit. None if the user does not choose one.
fn choose_part<'p>(
    parts: &[EditedPart<'p>],
    terminal: &Terminal,
) -> anyhow::Result<Option<EditedPart<'p>>> {
    if let [only] = parts {
        return Ok(Some(*only));
    }
    for (at, part) in parts.iter().enumerate() {
        terminal.show_message(&format!("  {}. {}", at + 1, part.describe()));
    }
    loop {
        let Some(answer) = terminal.ask_line("Edit which? (a number; Enter for none)")? else {
            return Ok(None);
        };
        if answer.is_empty() {
            return Ok(None);
        }
        let number = answer.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
        match number.and_then(|number| parts.get(number)) {
            Some(part) => return Ok(Some(*part)),
            None => print_status(&format!("  a number from 1 to {}", parts.len())),
        }
    }
}

/// Lets the user edit a proposal. Returns true if a new proposal replaces it.
pub(super) fn edit_proposal(
    run: &mut WorkflowRun,
    seq: Seq,
    proposal: &Proposal,
    terminal: &Terminal,
) -> anyhow::Result<bool> {
    let Some(part) = choose_part(&editable_parts(proposal), terminal)? else {
        return Ok(false);
    };
    let mut text = match part {
        EditedPart::Edited(_, target) => proposed_text(run, seq, proposal, target)?,
        EditedPart::Created(command, _) => created_text(proposal, command),
        EditedPart::Call => format_call_json(run, seq)?,
    };
    let Some(text) = text.as_mut() else {
        return Ok(false);
    };
    loop {
        let edited = match edit_text(text, part.file_suffix()) {
            Ok(edited) => edited,
            Err(error) => {
                print_status(&error_sentence(&error));
                return Ok(false);
            }
        };
        if edited == *text {
            print_status("Nothing was changed.");
            return Ok(false);
        }
        let revised =
            run.revise_proposal(seq, |draft| draft_edited_part(draft, proposal, part, &edited));
        if show_refusal(revised)?.is_some() {
            return Ok(true);
        }
        if !confirm_edit_again(terminal)? {
            return Ok(false);
        }
        // Keeps the user's text after a mistake.
        *text = edited;
    }
}

/// Drafts the proposal again with the edited part.
fn draft_edited_part(
    draft: &mut ProposalDraft<'_>,
    proposal: &Proposal,
    part: EditedPart<'_>,
    edited: &str,
) -> Result<(), Refusal> {
    let title = proposal.title.trim_end_matches(BY_HAND);
    match part {
        EditedPart::Edited(script, _) => {
            draft.set_title(format!("{title}{BY_HAND}"));
            let texts = [(script, PartText::Whole(edited.to_owned()))].into();
            draft_again(draft, proposal, |_| true, &texts)
        }
        EditedPart::Created(command, _) => {
            draft.set_title(format!("{title}{BY_HAND}"));
            let mut proposal = proposal.clone();
            if let Some(Command::Create { props, .. }) = proposal.commands.get_mut(command) {
                props.insert(SOURCE.to_owned(), Some(Value::String(edited.to_owned())));
            }
            draft_again(draft, &proposal, |_| true, &BTreeMap::new())
        }
        EditedPart::Call => run(edited, draft),
    }
}

fn created_text(proposal: &Proposal, command: usize) -> Option<String> {
    match proposal.commands.get(command)? {
        Command::Create { props, .. } => match props.get(SOURCE)? {
            Some(Value::String(text)) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

/// Asks whether to continue editing a text that was refused.
fn confirm_edit_again(terminal: &Terminal) -> anyhow::Result<bool> {
    loop {
        let Some(answer) = terminal.ask_line("Edit it again? [Y]es [n]o")? else {
            return Ok(false);
        };
        match answer.to_lowercase().as_str() {
            "" | "y" | "yes" => return Ok(true),
            "n" | "no" => return Ok(false),
            _ => print_status(
                "  y or Enter reopens your text; n discards it and asks about the proposal again",
            ),
        }
    }
}

/// The proposed text of a script. It is derived from the text before this proposal, because later
/// proposals may have changed the script further in the engine's scene.
fn proposed_text(
    run: &mut WorkflowRun,
    seq: Seq,
    proposal: &Proposal,
    target: &Target,
) -> anyhow::Result<Option<String>> {
    let mut text = None;
    let looked = run.revise_proposal(seq, |draft| {
        text = Some(read_drafted_text(draft, proposal, target)?);
        refuse!("Only viewed.")
    });
    match (text, looked) {
        (Some(text), _) => Ok(Some(text)),
        (None, looked) => show_refusal(looked).map(|_| None),
    }
}

fn read_drafted_text(
    draft: &ProposalDraft<'_>,
    proposal: &Proposal,
    target: &Target,
) -> Result<String, Refusal> {
    let node = draft.scene().locate(target)?;
    let mut text = draft.scene().script_text(node).unwrap_or_default().into_owned();
    for command in &proposal.commands {
        if let Command::EditScript { edits, .. } = command {
            text = vector_text_edit::apply_edits(&text, edits).map_err(Refusal::new)?;
        }
    }
    Ok(text)
}

/// Formats the proposal's call for editing.
fn format_call_json(run: &WorkflowRun, seq: Seq) -> anyhow::Result<Option<String>> {
    let call = run.workflow().and_then(|workflow| {
        let pending = workflow.proposal(seq)?;
        workflow.call(pending.call)
    });
    match call {
        Some((REVERT, _)) => {
            print_status("A revert cannot be edited; press s to apply only a part of it.");
            Ok(None)
        }
        Some((tool, args)) => {
            let call = json!({ "tool": tool, "args": args });
            Ok(Some(format!("{}\n", serde_json::to_string_pretty(&call)?)))
        }
        None => Ok(None),
    }
}

fn run(text: &str, draft: &mut ProposalDraft<'_>) -> Result<(), Refusal> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| Refusal(format!("This is not valid JSON: {error}.")))?;
    let (Some(tool), args) = (json["tool"].as_str(), &json["args"]) else {
        return refuse!("`tool` is missing; keep the form {{\"tool\": NAME, \"args\": {{...}}}}.");
    };
    tools::run_change(tool, args, draft).map(drop)
}

/// Opens the editor on a text, and returns the edited text.
pub(super) fn edit_text(text: &str, suffix: &str) -> anyhow::Result<String> {
    let mut file = tempfile::Builder::new()
        .prefix("vector-")
        .suffix(suffix)
        .tempfile()
        .context("no temporary file for the editor")?;
    file.write_all(text.as_bytes()).context("the temporary file cannot be written")?;
    // Some systems do not let another process open a file that is still open here.
    let path = file.into_temp_path();
    open_editor(&path)?;
    let mut edited = fs::read_to_string(&path).context("the edited file is not valid text")?;
    // Most editors add a newline to the last line, which a script need not have.
    if !text.ends_with('\n') && edited.ends_with('\n') {
        edited.pop();
    }
    Ok(edited)
}

fn open_editor(path: &Path) -> anyhow::Result<()> {
    let line = editor_command();
    let mut arguments = line.split_whitespace();
    let Some(program) = arguments.next() else {
        bail!("no editor is set; set VISUAL or EDITOR");
    };
    let status = Process::new(program).args(arguments).arg(path).status().with_context(|| {
        format!("the editor `{program}` cannot be started; check VISUAL or EDITOR")
    })?;
    if !status.success() {
        bail!("the editor `{program}` exited with {status}, so nothing was changed");
    }
    Ok(())
}

fn editor_command() -> String {
    let from_env = |name: &str| env::var(name).ok().filter(|it| !it.trim().is_empty());
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    from_env("VISUAL").or_else(|| from_env("EDITOR")).unwrap_or_else(|| usual.to_owned())
}
