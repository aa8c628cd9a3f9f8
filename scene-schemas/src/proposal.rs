//! Proposals, their previews, and the acknowledgements of targets that applied them.
//!
//! A person decides on a proposal by its preview and warnings. This module does not plan or apply
//! proposals.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::{Command, Fingerprint, InstanceId, Target};
use crate::entry::Seq;
use crate::path::InstancePath;
use crate::value::Value;
use crate::workers::ProposalAuthor;

/// How destructive a proposal is.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Only creates, or inserts text without removing any.
    Additive,
    /// Changes existing instances, properties or text.
    Modifying,
    /// Deletes, overwrites whole texts, or removes more text than it adds.
    Destructive,
}

/// Which proposals are approved without asking a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// None: every proposal waits for a decision.
    #[default]
    Confirm,
    /// Additive proposals without warnings and without new errors of scripts.
    Auto,
    /// All proposals except those with a warning that needs a second confirmation. Stale proposals
    /// are replanned first.
    Dangerous,
}

/// A warning for the person who decides on a proposal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// The kind of warning.
    pub kind: WarningKind,
    /// The warning as one sentence.
    pub text: String,
}

/// The kinds of warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// The proposal creates a parent that did not exist.
    ParentCreated,
    /// A name contains dots or slashes, or several siblings share it.
    Name,
    /// The inserted passage already exists nearby.
    Duplication,
    /// Suspicious code in a script, as reported by selene.
    Lint,
    /// Some of the named scripts have no match.
    NoMatch,
    /// A value that Roblox does not accept as it is.
    Range,
    /// The proposal breaks references from elsewhere.
    References,
    /// An inserted asset contains scripts.
    Scripts,
    /// An inserted asset uses images, meshes, sounds or other content that may not load.
    Content,
    /// Rojo syncs the place, so its files may overwrite changes made in Studio.
    Rojo,
    /// An edit was adapted to fit the script's text. Needs a second confirmation.
    Fuzzy,
    /// Code that reaches outside the place or hides what it does. Needs a second confirmation.
    Security,
    /// Files that remain on disk although their instances are deleted.
    FilesStay,
    /// A file that another tool generates and will overwrite. Needs a second confirmation.
    Generated,
    /// The proposal changes or deletes a large part of the place.
    LargeChange,
}

impl WarningKind {
    /// Whether this warning rules out automatic approval in every mode and requires the person to
    /// confirm twice.
    pub fn needs_second_confirmation(self) -> bool {
        matches!(self, Self::Fuzzy | Self::Security | Self::Generated)
    }
}

/// A proposed change to a place. The ledger position of its `proposed` entry identifies it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// One line for the card.
    pub title: String,
    /// How destructive the proposal is.
    pub class: Class,
    /// The commands, applied in this order and all or none.
    pub commands: Vec<Command>,
    /// The hash of the place file that the proposal was planned on.
    pub base: Fingerprint,
    /// A hash over the base and the commands. It ensures that exactly the previewed change is
    /// applied.
    pub patch_id: Fingerprint,
    /// The preview shown to the person.
    pub preview: Preview,
    /// Warnings for the person who decides.
    pub warnings: Vec<Warning>,
    /// Pending proposals of the same task that change what this one depends on, or depend on what it
    /// changes, and those that these depend on. They must be decided before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Seq>,
    /// What the plan relied on besides what its commands address.
    #[serde(default = "PlanRead::everything")]
    pub reads: Vec<PlanRead>,
    /// The instance that its call addresses by omitting a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub implicit_target: Option<ImplicitTarget>,
    /// The part of the proposal that changes files of a Rojo project instead of Studio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<ProjectFileChanges>,
    /// For a Rojo project: the changed files, relative to the project's folder and with `/` as
    /// separator.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_files: Vec<String>,
    /// The proposal that this one was derived from by a person's selection or edit, or that it
    /// reverts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Seq>,
    /// Proposals that this one reverts in order to restore a checkpoint, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reverts: Vec<Seq>,
    /// The withdrawn proposal of the same call that was replanned as this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Seq>,
    /// The worker that made the changes, if they were merged with those of other workers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub made_by: Option<ProposalAuthor>,
    /// What came of playing the game with the proposal. None if it was not played: no script runs, or
    /// the check is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub runs: Option<PlayCheck>,
}

/// Something of a place that a plan relied on.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum PlanRead {
    /// That there is an instance at a path.
    Instance {
        /// The path at which the plan found the instance.
        path: InstancePath,
    },
    /// The value of a property, or the text of a script as its `Source`.
    Property {
        /// The path at which the plan found the instance.
        path: InstancePath,
        /// The property, as in the properties of a command.
        property: String,
    },
    /// Which instances a selector matches.
    Selector {
        /// The selector, in its canonical form.
        selector: String,
    },
    /// Anything of the place.
    Place {},
}

impl PlanRead {
    /// Returns what is assumed of a plan that does not tell what it relied on.
    fn everything() -> Vec<Self> {
        vec![Self::Place {}]
    }
}

/// What came of playing the game for some seconds with a proposal, compared with the game without
/// it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlayCheck {
    /// Whether there are new errors.
    pub result: PlayCheckResult,
    /// One line for the card, which begins with `runs:`.
    pub summary: String,
    /// The first new errors.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<ScriptError>,
    /// Number of further new errors.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_errors: u32,
}

/// The results of a check by playing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlayCheckResult {
    /// The whole game was played, and there are no new errors.
    Passed,
    /// There are new errors.
    NewErrors,
    /// The game could not be played, or not all of it.
    Unknown,
}

/// An error of a script while the game was played.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptError {
    /// `Server`, or the name of a player.
    pub peer: String,
    /// The message, which begins with the script and the line. Long ones are cut and end with `…`.
    pub message: String,
}

/// The part of a proposal in an open place that changes files of the Rojo project synced with the
/// place. If Studio made these changes, Rojo would overwrite them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectFileChanges {
    /// The project file.
    pub project: String,
    /// Indices of the proposal's commands that are applied to files, from 0, ascending. Studio
    /// applies the other commands.
    pub command_indices: Vec<u32>,
    /// The same commands, addressed as in the project.
    pub commands: Vec<Command>,
    /// The changed files, relative to the project's folder and with `/` as separator.
    pub files: Vec<String>,
}

/// Number of files that a card names.
const NAMED: usize = 5;

impl ProjectFileChanges {
    /// Returns the line of a card about these files.
    pub fn describe(&self) -> String {
        if self.files.is_empty() {
            return format!("In files of Rojo, of {}", self.project);
        }
        format!("In files of Rojo: {}", name_files(&self.files))
    }
}

/// Joins the names of the first files, and the count of the others.
pub fn name_files(files: &[String]) -> String {
    let mut names = files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if files.len() > NAMED {
        names.push_str(&format!(" and {} more", files.len() - NAMED));
    }
    names
}

impl Proposal {
    /// Returns the proposals that this one reverts, newest first. If `reverts` is empty, that is `from`, which was never applied if this proposal is a selection or edit of it.
    pub fn reverted_proposals(&self) -> impl Iterator<Item = Seq> {
        let from = self.from.filter(|_| self.reverts.is_empty());
        from.into_iter().chain(self.reverts.iter().copied())
    }

    /// Returns the path of the instance that the whole preview is about: the only changed one, or
    /// the one that the others are created or changed below. None if there is none.
    pub fn subject(&self) -> Option<&InstancePath> {
        if self.preview.more_rows > 0 {
            return None;
        }
        let rows = self.preview.rows.iter().map(|row| &row.path);
        let mut paths = rows.chain(self.preview.scripts.iter().map(|script| &script.path));
        let first = paths.next()?;
        paths.all(|path| path.is_within(first)).then_some(first)
    }

    /// Whether scripts fail with it that did not fail before, as far as it was played.
    pub fn has_new_errors(&self) -> bool {
        self.runs.as_ref().is_some_and(|check| check.result == PlayCheckResult::NewErrors)
    }

    /// Returns the title, followed by the path that it is about, for lists without a preview.
    pub fn title_with_path(&self) -> Cow<'_, str> {
        match self.subject() {
            Some(path) => format!("{} ({path})", self.title).into(),
            None => self.title.as_str().into(),
        }
    }

    /// Returns the number of operations: one for each command, and one for each instance of a
    /// command over many.
    pub fn operation_count(&self) -> usize {
        let of = |command: &Command| command.member_count().map_or(1, |count| count as usize);
        self.commands.iter().map(of).sum()
    }

    /// Whether it changes files of a Rojo project.
    pub fn has_files(&self) -> bool {
        self.files.is_some() || !self.changed_files.is_empty()
    }

    /// Returns the line of a card about the changed files. None if the proposal changes no files.
    pub fn describe_files(&self) -> Option<String> {
        let written = || format!("Files: {}", name_files(&self.changed_files));
        let in_files = self.files.as_ref().map(ProjectFileChanges::describe);
        in_files.or_else(|| (!self.changed_files.is_empty()).then(written))
    }

    /// Returns the lines of a card about the worker that made it. Empty if it was not merged.
    pub fn describe_author(&self) -> Vec<String> {
        let Some(author) = &self.made_by else {
            return Vec::new();
        };
        let ProposalAuthor { part, worker, model, notices, .. } = author;
        let who = format!("Part {part} of the task, made by {model} in task {worker}.");
        std::iter::once(who).chain(notices.iter().cloned()).collect()
    }

    /// Whether a command is applied to files only, and not by Studio.
    pub fn is_in_files(&self, command: usize) -> bool {
        let Some(files) = &self.files else {
            return false;
        };
        u32::try_from(command)
            .is_ok_and(|command| files.command_indices.binary_search(&command).is_ok())
    }
}

/// The instance that a call addresses by omitting a path. It stays the same when the call is
/// replanned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImplicitTarget {
    /// The instance.
    pub target: Target,
    /// The reason for choosing it.
    pub by: ImplicitTargetReason,
}

/// The reason for choosing an implicit target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImplicitTargetReason {
    /// It is the only instance selected in Studio.
    Selected,
    /// It is the only instance that the person attached to the request.
    Attached,
    /// No single instance is selected or attached, so new instances are created in Workspace.
    Workspace,
    /// The file is a model, which has no Workspace, so new instances are created at its top.
    Top,
}

impl ImplicitTarget {
    /// Returns the line of a card about this instance.
    pub fn describe(&self) -> String {
        let what = match self.by {
            ImplicitTargetReason::Selected => "the selected instance ",
            ImplicitTargetReason::Attached => "the attached instance ",
            ImplicitTargetReason::Workspace | ImplicitTargetReason::Top => "",
        };
        format!("Path left out: {what}{}", self.target.path)
    }
}

/// The changes of a proposal, for display.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preview {
    /// Changes to instances and properties, in the order of the commands.
    pub rows: Vec<Row>,
    /// Number of rows that are left out because there are too many to read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_rows: u32,
    /// Changed texts, one entry for each script.
    pub scripts: Vec<ScriptDiff>,
}

impl Preview {
    /// Returns the scripts that the proposal changes or adds, without those of assets that it leaves out.
    pub fn changed_scripts(&self) -> impl Iterator<Item = &ScriptDiff> {
        self.scripts.iter().filter(|script| !script.left_out)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One row of the table of operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Index of the row's command, from 0.
    pub command: u32,
    /// For a command that changes many instances, the position of this one in their table, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub member: Option<u32>,
    /// The change to the instance.
    pub change: Change,
    /// The instance: its path after the change if it is created, before the change if it is
    /// deleted.
    pub path: InstancePath,
    /// The instance's class.
    pub class: String,
}

/// A change to an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// The instance is created.
    Created {
        /// Properties that differ from the class's defaults, in order.
        props: Vec<(String, Value)>,
    },
    /// The instance is created as a copy.
    Cloned {
        /// The instance that is copied.
        source: InstancePath,
        /// Number of instances in the copy.
        count: u32,
    },
    /// One property changes.
    Set {
        /// The name of the property.
        property: String,
        /// The value before. None if the property was not set.
        before: Option<Value>,
        /// The value after. None if the property is reset to its default.
        after: Option<Value>,
    },
    /// The instance moves to another parent.
    Moved {
        /// The new parent.
        to: InstancePath,
    },
    /// The instance is deleted with its descendants.
    Deleted {
        /// Number of deleted instances.
        count: u32,
    },
    /// The instance is inserted as one of the roots of an asset.
    Inserted {
        /// The asset's id on Roblox.
        asset: u64,
        /// Number of instances inserted with this root, including the root.
        count: u32,
    },
    /// The instance is restored.
    Restored {
        /// Number of restored instances.
        count: u32,
    },
}

/// The changes to one script's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptDiff {
    /// Index of the last command that changes this script, from 0.
    pub command: u32,
    /// The script's path.
    pub path: InstancePath,
    /// Whether it is a script of an asset that is not inserted, unless the person keeps it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_out: bool,
    /// Number of added lines.
    pub added: u32,
    /// Number of removed lines.
    pub removed: u32,
    /// The changed passages, in order.
    pub hunks: Vec<Hunk>,
}

impl ScriptDiff {
    /// Whether the script has no old text.
    pub fn is_new(&self) -> bool {
        self.hunks.first().is_some_and(|hunk| hunk.old_start == 0)
    }

    /// Returns the first changed line of the new text, from 1.
    pub fn first_line(&self) -> u32 {
        let Some(hunk) = self.hunks.first() else {
            return 1;
        };
        let is_context = |line: &&DiffLine| matches!(line, DiffLine::Context(_));
        let context = hunk.lines.iter().take_while(is_context).count() as u32;
        hunk.new_start.saturating_add(context).max(1)
    }
}

/// A run of changed lines with its context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hunk {
    /// First line in the old text, from 1 (0 if the hunk has no old lines).
    pub old_start: u32,
    /// First line in the new text, from 1 (0 if the hunk has no new lines).
    pub new_start: u32,
    /// The lines, without their line endings.
    pub lines: Vec<DiffLine>,
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffLine {
    /// The line is unchanged.
    Context(String),
    /// The line is added.
    Added(String),
    /// The line is removed.
    Removed(String),
}

/// Passages of a script that conflict: the requested change and another change made since then both
/// touch them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// The script's path.
    pub path: InstancePath,
    /// The first conflicting passages, in order.
    pub passages: Vec<Passage>,
    /// Number of further conflicting passages.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

/// A conflicting passage. Long texts are cut and end with `…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Passage {
    /// First line of the passage in the script's current text, from 1.
    pub line: u32,
    /// The text that both changes started from.
    pub base: String,
    /// The current text.
    pub theirs: String,
    /// The text of the requested change.
    pub ours: String,
}

/// A target's acknowledgement that it applied a proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// The written file. None for a place that is open in Studio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The hash of that file before the change. None if the file did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Fingerprint>,
    /// The hash of that file after the change. None if there is no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Fingerprint>,
    /// The outcomes of the commands, one for each.
    pub outcomes: Vec<Outcome>,
    /// Commands that revert the proposal, addressed as in the written file. They expect the
    /// fingerprints that this proposal left behind.
    pub inverse: Vec<Command>,
    /// For each inverse command, a hash over everything it reverts, as this proposal left it. None
    /// if the fingerprints in the command are enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<Option<Fingerprint>>,
    /// The patch that restores the exact bytes from before the proposal. Proposals that were
    /// applied together share it and are reverted together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<RestorePatch>,
    /// For a proposal in an open place: the changes it also made to files of a Rojo project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Box<Self>>,
}

/// A patch that restores the earlier bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestorePatch {
    /// The blob with the patch. It turns the written file into the earlier bytes.
    pub patch: Fingerprint,
    /// The hash of the restored bytes.
    pub hash: Fingerprint,
}

/// The outcome of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The instance that was created or changed, by its id in the written file. None if it was
    /// deleted, or if the command changed many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<InstanceId>,
    /// The fingerprint of the state that the command left behind. None if the instance was deleted,
    /// or if the command changed many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}
