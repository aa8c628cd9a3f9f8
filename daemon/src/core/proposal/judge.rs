//! What Luau and a reader would say of a script's new text: errors refuse it, the rest are warnings
//! on the card.

use scene_schemas::command::Props;
use scene_schemas::proposal::{ScriptDiff, WarningKind};
use scene_schemas::{Command, InstancePath, Value};

use super::{CONTEXT, Draft, Text};
use crate::core::edit;
use crate::core::luau::{self, Finding};
use crate::core::refusal::{Refusal, refuse};
use crate::core::scene::count;

/// Scripts of this many characters cannot be written in Studio (`Source` refuses them).
const MAX_SCRIPT: usize = 200_000;

/// Bytes of all texts of a proposal that are linted, and lints of one that are listed: a person reads
/// no more.
const MAX_LINTED: usize = 1 << 20;
const MAX_LINTS: usize = 5;

/// Properties of services that open a game, and for what.
const SWITCHES: [(&str, &str); 2] = [
    ("HttpEnabled", "lets its scripts send and fetch over the internet"),
    ("LoadStringEnabled", "lets its scripts run text as code"),
];

impl Draft<'_> {
    /// Holds a script's new text against Luau, and describes the change.
    pub(super) fn judge_text(&mut self, text: &Text) -> Result<Option<ScriptDiff>, Refusal> {
        let path = self.scene.path(text.node);
        let after = self.scene.source(text.node).unwrap_or_default().into_owned();
        let before = &text.before;
        if *before == after {
            return Ok(None);
        }
        let length = after.encode_utf16().count();
        if !self.goes_back && length >= MAX_SCRIPT && after.len() > before.len() {
            return refuse!(
                "{path} would have {length} characters; Studio cannot hold a script of {MAX_SCRIPT} \
                 or more. Split it into ModuleScripts."
            );
        }
        if !self.goes_back
            && let Some(first) = luau::new_errors(before, &after).first()
        {
            return refuse!(
                "{path} would no longer compile: line {}: {}. Nothing was changed; mend the edit and \
                 send it again.",
                first.line,
                first.message
            );
        }
        if self.is_known(text.node) {
            self.class = self.class.max(edit::change_class(before, &after));
        }
        let edits =
            if text.edits.is_empty() { edit::whole(before, &after) } else { text.edits.clone() };
        for sentence in edit::duplicated(before, &edits) {
            self.warn(WarningKind::Duplication, format!("{path}: {sentence}"));
        }
        let suspicious = luau::added(&luau::security(before), luau::security(&after));
        self.warn_of(&path, suspicious);
        self.lint(&path, before, &after);
        let hunks = edit::hunks(before, &after, CONTEXT);
        let edit::LineCounts { added, removed } = edit::line_counts(before, &after);
        Ok(Some(ScriptDiff { command: text.command, path, added, removed, hunks }))
    }

    /// Warns of what a script reaches for or hides.
    pub(super) fn warn_of(&mut self, path: &InstancePath, suspicious: Vec<String>) {
        for sentence in luau::listed(suspicious) {
            self.warn(WarningKind::Security, format!("{path}: {sentence}"));
        }
    }

    /// Warns of a name that is given and looks like a service's.
    pub(super) fn judge_name(&mut self, name: &str) {
        if let Some(known) = luau::imitation(name) {
            let text = format!("The name {name:?} looks like {known}, and is another's.");
            self.warn(WarningKind::Security, text);
        }
    }

    /// Warns of what a command sets that opens the game: a name like a service's, a switch.
    pub(super) fn judge_command(&mut self, command: &Command) {
        let none = Props::new();
        let (name, props) = match command {
            Command::Create { name, props, .. } => (Some(name), props),
            Command::Clone { name, .. } => (Some(name), &none),
            Command::Set { props, .. } => (None, props),
            _ => return,
        };
        let named = match props.get("Name") {
            Some(Some(Value::String(name))) => Some(name),
            _ => name,
        };
        if let Some(name) = named.filter(|_| !self.goes_back) {
            self.judge_name(name);
        }
        let path = &command.target().path;
        for (switch, what) in SWITCHES {
            if matches!(props.get(switch), Some(Some(Value::Bool(true)))) && !self.goes_back {
                let text = format!("{path}: {switch} is switched on, which {what}.");
                self.warn(WarningKind::Security, text);
            }
        }
    }

    /// Warns of what is suspicious in a text and was not before.
    fn lint(&mut self, path: &InstancePath, before: &str, after: &str) {
        if self.goes_back || self.linted + after.len() > MAX_LINTED {
            return;
        }
        self.linted += after.len();
        let found = luau::lint(after);
        if found.is_empty() {
            return;
        }
        let new = luau::new_findings(&luau::lint(before), found);
        for Finding { at, message, code, .. } in new.iter().take(MAX_LINTS) {
            let text = format!("{path}: line {}: {message} ({code})", at.line);
            self.warn(WarningKind::Lint, text);
        }
        if new.len() > MAX_LINTS {
            let more = count(new.len() - MAX_LINTS, "more lint", "more lints");
            self.warn(WarningKind::Lint, format!("{path}: {more}."));
        }
    }
}
