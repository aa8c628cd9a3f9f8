//! Editing of a proposal in the user's own editor: the resulting text of a script, the values of
//! properties, or the tool call. If there are several parts, the user chooses one. The result is planned
//! and checked like any proposal, and decided as a new one.

use scene_schemas::InstancePath;
use scene_schemas::api::HandEdit;
use scene_schemas::entry::Seq;
use scene_schemas::proposal::Proposal;
use scene_schemas::refusal::{Refusal, refuse};
use serde_json::{Value as Json, json};
use vector_core::proposal::{
    ProposalDraft, draft_by_hand, editable_values, has_editable_parts, is_editable_script,
};
use vector_core::tools;
use vector_engine::{REVERT, WorkflowRun};

use super::decision_prompt::show_refusal;
use super::editor::{edit_text, keep_text};
use super::error_sentence;
use super::style::terminal_line;
use super::terminal::{Terminal, print_status};

/// A pending proposal that is edited, wherever it is kept.
pub(super) trait EditedProposal {
    fn proposal(&self) -> &Proposal;

    /// Returns the resulting text of a script in the preview. None if it cannot be read; the user has
    /// been told why.
    fn read_script(&mut self, script: usize) -> anyhow::Result<Option<String>>;

    /// Returns the tool call as text to edit. None if it cannot be edited here.
    fn read_call(&self) -> anyhow::Result<Option<String>>;

    /// Replaces the proposal. If it is not replaced, the user has been told why.
    fn replace(&mut self, edited: Edited<'_>) -> anyhow::Result<Replacement>;
}

/// What came of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replacement {
    /// This proposal replaces the old one.
    By(Seq),
    /// The result was refused.
    Refused,
    /// The proposal is not pending any more.
    Gone,
}

/// What the user made of a part.
#[derive(Debug)]
pub(super) enum Edited<'a> {
    Parts(Vec<HandEdit>),
    /// The text of the tool call.
    Call(&'a str),
}

/// The part of a proposal that is edited.
#[derive(Debug, Clone)]
enum EditedPart {
    /// The text of a changed or created script: its index in the preview, and its path.
    Script(usize, InstancePath),
    /// The values of properties.
    Values,
    /// The tool call that produced the proposal.
    Call,
}

impl EditedPart {
    fn file_suffix(&self) -> &'static str {
        match self {
            Self::Script(..) => ".luau",
            Self::Values => ".txt",
            Self::Call => ".json",
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Script(_, path) => terminal_line(&path.to_string()).into_owned(),
            Self::Values => "the values of properties".to_owned(),
            Self::Call => "the tool call, as JSON".to_owned(),
        }
    }
}

/// Lets the user edit a proposal. Returns the proposal that replaces it; None if none does.
pub(super) fn edit_proposal(
    edited: &mut impl EditedProposal,
    terminal: &Terminal,
) -> anyhow::Result<Option<Seq>> {
    let parts = editable_parts(edited)?;
    let Some(part) = choose_part(&parts, terminal)? else {
        return Ok(None);
    };
    let text = match part {
        EditedPart::Script(script, _) => edited.read_script(*script)?,
        EditedPart::Values => Some(write_values(edited.proposal())),
        EditedPart::Call => edited.read_call()?,
    };
    let Some(mut text) = text else {
        return Ok(None);
    };
    let keep = |typed: &str| keep_text(typed, "changes", part.file_suffix());
    loop {
        let typed = match edit_text(&text, part.file_suffix()) {
            Ok(typed) => typed,
            Err(error) => {
                print_status(&error_sentence(&error));
                return Ok(None);
            }
        };
        if typed == text {
            print_status("Nothing was changed.");
            return Ok(None);
        }
        let read = match part {
            EditedPart::Script(script, _) => {
                let (script, text) = (*script as u32, typed.clone());
                Ok(Edited::Parts(vec![HandEdit::Script { script, text }]))
            }
            EditedPart::Values => read_values(edited.proposal(), &typed).map(Edited::Parts),
            EditedPart::Call => Ok(Edited::Call(&typed)),
        };
        match read {
            Ok(change) => match edited.replace(change).inspect_err(|_| keep(&typed))? {
                Replacement::By(new) => return Ok(Some(new)),
                Replacement::Refused => {}
                Replacement::Gone => {
                    keep(&typed);
                    return Ok(None);
                }
            },
            Err(refusal) => print_status(&refusal.0),
        }
        if !confirm_edit_again(terminal)? {
            return Ok(None);
        }
        // Keeps the user's text after a mistake.
        text = typed;
    }
}

/// The scripts and values of a proposal, and its tool call if the proposal does anything else.
fn editable_parts(edited: &impl EditedProposal) -> anyhow::Result<Vec<EditedPart>> {
    let proposal = edited.proposal();
    let scripts = (0..).zip(&proposal.preview.scripts);
    let scripts = scripts.filter(|(at, _)| is_editable_script(proposal, *at));
    let mut parts: Vec<EditedPart> =
        scripts.map(|(at, script)| EditedPart::Script(at, script.path.clone())).collect();
    if editable_values(proposal).next().is_some() {
        parts.push(EditedPart::Values);
    }
    let is_whole = parts.is_empty() || !proposal.commands.iter().all(has_editable_parts);
    if is_whole && edited.read_call()?.is_some() {
        parts.push(EditedPart::Call);
    }
    Ok(parts)
}

/// Asks which part to edit. None if the user does not choose one.
fn choose_part<'p>(
    parts: &'p [EditedPart],
    terminal: &Terminal,
) -> anyhow::Result<Option<&'p EditedPart>> {
    match parts {
        [] => {
            print_status("Nothing of it can be edited; press s to apply only a part of it.");
            return Ok(None);
        }
        [only] => return Ok(Some(only)),
        _ => {}
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
            Some(part) => return Ok(Some(part)),
            None => print_status(&format!("  a number from 1 to {}", parts.len())),
        }
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

const VALUES_HEAD: &str = "\
# Change what is right of the first `=`: numbers, true and false, names such as Neon, lists such as
# [4, 1, 2], colors such as \"#ff8800\", texts in quotes, null for the default. Keep the lines.
";

/// Writes the values of properties, one per line, below the instance that has them.
fn write_values(proposal: &Proposal) -> String {
    let mut text = VALUES_HEAD.to_owned();
    let mut last = None;
    for value in editable_values(proposal) {
        if last != Some(value.command) {
            text.push_str(&format!("\n# {}\n", value.path));
            last = Some(value.command);
        }
        text.push_str(&format!("{} = {}\n", value.property, value.json()));
    }
    text
}

/// Reads the changed values.
fn read_values(proposal: &Proposal, text: &str) -> Result<Vec<HandEdit>, Refusal> {
    let lines = text.lines().filter(|it| !it.trim().is_empty() && !it.starts_with('#'));
    let mut lines: Vec<&str> = lines.collect();
    lines.reverse();
    let mut edits = Vec::new();
    for value in editable_values(proposal) {
        let property = value.property;
        let typed = lines.pop().and_then(|line| {
            let typed = line.trim_start().strip_prefix(property)?.trim_start();
            typed.strip_prefix('=').map(str::trim)
        });
        let Some(typed) = typed else {
            return refuse!(
                "The line `{property} = ` of {} is missing or out of order. Change only what is right \
                 of `=`.",
                value.path
            );
        };
        let typed = serde_json::from_str(typed).unwrap_or_else(|_| Json::String(typed.to_owned()));
        if typed != value.json() {
            let property = property.to_owned();
            edits.push(HandEdit::Property {
                command: value.command as u32,
                property,
                value: typed,
            });
        }
    }
    match lines.pop() {
        Some(line) => refuse!("There is a line too many: `{line}`."),
        None if edits.is_empty() => refuse!("No value was changed."),
        None => Ok(edits),
    }
}

/// A proposal of a run in this process.
pub(super) struct OwnProposal<'a> {
    pub(super) run: &'a mut WorkflowRun,
    pub(super) seq: Seq,
    pub(super) proposal: &'a Proposal,
}

impl EditedProposal for OwnProposal<'_> {
    fn proposal(&self) -> &Proposal {
        self.proposal
    }

    fn read_script(&mut self, script: usize) -> anyhow::Result<Option<String>> {
        let texts = show_refusal(self.run.proposed_script(self.seq, script))?;
        Ok(texts.map(|texts| texts.text))
    }

    fn read_call(&self) -> anyhow::Result<Option<String>> {
        let call = self.run.workflow().and_then(|workflow| {
            let pending = workflow.proposal(self.seq)?;
            workflow.call(pending.call)
        });
        match call {
            Some((REVERT, _)) | None => Ok(None),
            Some((tool, args)) => {
                let call = json!({ "tool": tool, "args": args });
                Ok(Some(format!("{}\n", serde_json::to_string_pretty(&call)?)))
            }
        }
    }

    fn replace(&mut self, edited: Edited<'_>) -> anyhow::Result<Replacement> {
        let proposal = self.proposal;
        let new = show_refusal(self.run.revise_proposal(self.seq, |draft| match edited {
            Edited::Parts(edits) => draft_by_hand(draft, proposal, &edits),
            Edited::Call(text) => run_call(text, draft),
        }))?;
        Ok(new.map_or(Replacement::Refused, Replacement::By))
    }
}

fn run_call(text: &str, draft: &mut ProposalDraft<'_>) -> Result<(), Refusal> {
    let json: Json = serde_json::from_str(text)
        .map_err(|error| Refusal(format!("This is not valid JSON: {error}.")))?;
    let (Some(tool), args) = (json["tool"].as_str(), &json["args"]) else {
        return refuse!("`tool` is missing; keep the form {{\"tool\": NAME, \"args\": {{...}}}}.");
    };
    tools::run_change(tool, args, draft).map(drop)
}
