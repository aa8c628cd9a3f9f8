//! Checks of a script's new text: compile errors refuse the proposal, and findings become warnings
//! on the card.

use scene_schemas::command::Props;
use scene_schemas::proposal::{Class, ScriptDiff, WarningKind};
use scene_schemas::refusal::{Refusal, refuse};
use scene_schemas::{Command, Fingerprint, InstancePath, Value};
use vector_luau::{ScanFinding, SourceFinding};
use vector_place::count_noun;
use vector_place::range::out_of_range;

use super::{CONTEXT, DraftText, ProposalDraft, activation};

/// Studio cannot write scripts of this many characters (`Source` rejects them).
const MAX_SCRIPT: usize = 200_000;

/// Maximum bytes of a proposal's texts that are linted, and maximum lints listed per text. A user
/// would not read more.
const MAX_LINTED: usize = 1 << 20;
const MAX_LINTS: usize = 5;

/// Service properties that open a game to risks, and the risk.
const SWITCHES: [(&str, &str); 2] = [
    ("HttpEnabled", "lets its scripts make HTTP requests"),
    ("LoadStringEnabled", "lets its scripts run strings as code"),
];

/// Returns the class of an edit to an existing script.
fn script_class(before: &str, after: &str) -> Class {
    if vector_luau::is_additive_edit(before, after) {
        Class::Additive
    } else {
        vector_text_edit::classify_loss(before, after)
    }
}

impl ProposalDraft<'_> {
    /// Checks a script's new text with Luau, and returns its diff.
    pub(super) fn judge_text(&mut self, text: &DraftText) -> Result<Option<ScriptDiff>, Refusal> {
        let path = self.scene.path(text.node);
        let after = self.scene.script_text(text.node).unwrap_or_default().into_owned();
        let before = &text.before;
        if *before == after {
            return Ok(None);
        }
        let length = after.encode_utf16().count();
        if !self.is_inverse && length >= MAX_SCRIPT && after.len() > before.len() {
            return refuse!(
                "{path} would have {length} characters; Studio cannot hold a script of {MAX_SCRIPT} \
                 or more. Split it into ModuleScripts."
            );
        }
        if !self.is_inverse
            && let Some(first) = vector_luau::new_errors(before, &after).first()
        {
            return refuse!(
                "{path} would no longer compile: line {}: {}. Nothing was changed. Fix the \
                 edit and send it again.",
                first.line,
                first.message
            );
        }
        if self.is_known(text.node) {
            self.class = self.class.max(script_class(before, &after));
        }
        let edits = if text.edits.is_empty() {
            vector_text_edit::diff_lines(before, &after)
        } else {
            text.edits.clone()
        };
        for sentence in vector_text_edit::find_duplicates(before, &edits) {
            self.add_warning(WarningKind::Duplication, format!("{path}: {sentence}"));
        }
        self.warn_of(&path, vector_luau::scan_change(before, &after));
        self.lint_change(&path, before, &after);
        let hunks = vector_text_edit::diff_hunks(before, &after, CONTEXT);
        let vector_text_edit::LineCounts { added, removed } =
            vector_text_edit::line_counts(before, &after);
        let (command, left_out) = (text.command, false);
        Ok(Some(ScriptDiff { command, path, left_out, added, removed, hunks }))
    }

    /// Adds a warning for each suspicious finding in a script.
    pub(super) fn warn_of(&mut self, path: &InstancePath, found: Vec<ScanFinding>) {
        for sentence in vector_luau::format_findings(found) {
            self.add_warning(WarningKind::Security, format!("{path}: {sentence}"));
        }
    }

    /// Warns if a new name imitates a service's name.
    pub(super) fn judge_name(&mut self, name: &str) {
        if let Some(known) = vector_luau::find_imitated_service(name) {
            let text = format!("The name {name:?} looks like {known} but is a different name.");
            self.add_warning(WarningKind::Security, text);
        }
    }

    /// Warns of risks that a command introduces: a name that imitates a service, a risky switch.
    pub(super) fn judge_command(&mut self, command: &Command) {
        let none = Props::new();
        let (name, props) = match command {
            Command::Create { name, props, .. } => (Some(name), props),
            Command::Clone { name, .. } => (Some(name), &none),
            Command::Set { props, .. } => (None, props),
            Command::SetMany { table, props, restores, .. } => {
                if !self.is_inverse && !restores {
                    self.judge_listed_ranges(table, props);
                }
                return;
            }
            _ => return,
        };
        let named = match props.get("Name") {
            Some(Some(Value::String(name))) => Some(name),
            _ => name,
        };
        if let Some(name) = named.filter(|_| !self.is_inverse) {
            self.judge_name(name);
        }
        if !self.is_inverse {
            self.judge_ranges(command, props);
        }
        let path = &command.target().path;
        for (switch, what) in SWITCHES {
            if matches!(props.get(switch), Some(Some(Value::Bool(true)))) && !self.is_inverse {
                let text = format!("{path}: {switch} is enabled, which {what}.");
                self.add_warning(WarningKind::Security, text);
            }
        }
        let link = props.get("LinkedSource").and_then(Option::as_ref);
        if link.is_some_and(activation::is_link) && !self.is_inverse {
            let path = match command {
                Command::Create { name, .. } => path.child(name, None),
                _ => path.clone(),
            };
            self.add_warning(WarningKind::Security, activation::linked_source_warning(&path));
        }
    }

    /// Warns of values that Roblox does not accept.
    fn judge_ranges(&mut self, command: &Command, props: &Props) {
        let target = command.target();
        let class = match command {
            Command::Create { class, .. } => class.clone(),
            _ => match self.scene.by_id(&target.id) {
                Some(node) => self.scene.class(node).to_owned(),
                None => return,
            },
        };
        let path = match command {
            Command::Create { parent, name, .. } => parent.path.child(name, None),
            _ => target.path.clone(),
        };
        self.judge_values(&class, &path, props);
    }

    /// Warns of values that Roblox does not accept, in the first listed instance of each class.
    fn judge_listed_ranges(&mut self, table: &Fingerprint, props: &Props) {
        let Ok(table) = self.scene.table(table, self.blobs) else {
            return;
        };
        for row in table.first_of_classes() {
            self.judge_values(table.class(row), &table.path(row), props);
        }
    }

    /// Warns of values of an instance that Roblox does not accept, once per property of a class.
    fn judge_values(&mut self, class: &str, path: &InstancePath, props: &Props) {
        for (property, value) in props {
            let Some(why) = value.as_ref().and_then(|value| out_of_range(class, property, value))
            else {
                continue;
            };
            let front = format!("`{property}` of {class} is out of range");
            let is_known = self.warnings.iter().any(|warning| {
                warning.kind == WarningKind::Range && warning.text.starts_with(&front)
            });
            if !is_known {
                self.add_warning(WarningKind::Range, format!("{front} ({path}): {why}."));
            }
        }
    }

    /// Warns of lints in a text that its previous version did not have.
    fn lint_change(&mut self, path: &InstancePath, before: &str, after: &str) {
        if self.is_inverse || self.linted + after.len() > MAX_LINTED {
            return;
        }
        self.linted += after.len();
        let found = vector_luau::lint_for_card(after);
        if found.is_empty() {
            return;
        }
        let new = vector_luau::new_findings(&vector_luau::lint_for_card(before), found);
        for SourceFinding { at, message, code, .. } in new.iter().take(MAX_LINTS) {
            let text = format!("{path}: line {}: {message} ({code})", at.line);
            self.add_warning(WarningKind::Lint, text);
        }
        if new.len() > MAX_LINTS {
            let more = count_noun(new.len() - MAX_LINTS, "more lint", "more lints");
            self.add_warning(WarningKind::Lint, format!("{path}: {more}."));
        }
    }
}

#[cfg(test)]
mod tests {
    use scene_schemas::Fingerprint;
    use scene_schemas::entry::Seq;
    use scene_schemas::proposal::WarningKind;
    use serde_json::{Value as Json, json};
    use vector_place::{FileFormat, Scene};

    use crate::proposal::BlobStore;
    use crate::tools::{self, Plan};

    /// Returns the out-of-range warnings of a call.
    fn warnings(tool: &str, args: &Json) -> Vec<String> {
        let mut scene = Scene::empty(FileFormat::Binary);
        let workspace = scene.create(scene.root(), "Workspace", "Workspace");
        for _ in 0..3 {
            scene.create(workspace, "Part", "Wall");
        }
        let (mut scene, base) = (scene.into(), Fingerprint::hash_bytes(b"base"));
        match tools::plan_call(Seq(9), tool, args, &mut scene, &base, &BlobStore::new(), None) {
            Ok(Plan::Propose(proposal, _)) => {
                let ranges =
                    proposal.warnings.into_iter().filter(|it| it.kind == WarningKind::Range);
                ranges.map(|it| it.text).collect()
            }
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn out_of_range_values_are_warned_once_per_class() {
        let set = |props: Json| {
            warnings("set_properties", &json!({ "selector": "Part", "props": props }))
        };
        let found = set(json!({ "Size": [-4, 0, 5], "Transparency": 17 }));
        assert_eq!(
            found,
            [
                "`Size` of Part is out of range (game.Workspace.Wall[1]): each of its numbers is from \
                 0.001 to 2048 in Roblox, and -4 is not.",
                "`Transparency` of Part is out of range (game.Workspace.Wall[1]): it is from 0 to 1 in \
                 Roblox, and 17 is not.",
            ]
        );
        assert_eq!(set(json!({ "Size": [4, 1, 5], "Transparency": 1 })), [""; 0]);
        let made = json!({ "className": "Sound", "parentPath": "game.Workspace",
            "props": { "Name": "Hum", "Volume": 11 } });
        let found = warnings("create_instance", &made);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("(game.Workspace.Hum): it is from 0 to 10"), "{found:?}");
    }
}
