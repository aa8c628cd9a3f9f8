//! Proposals: what a person is shown and decides upon, and what a target says it did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::{Command, Fingerprint, InstanceId, Target};
use crate::entry::Seq;
use crate::path::InstancePath;
use crate::value::Value;

/// How much a proposal can take away.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Only creates, or inserts text and removes none.
    Additive,
    /// Changes what is there.
    Modifying,
    /// Deletes, overwrites whole texts, or removes more text than it adds.
    Destructive,
}

/// Which proposals go without a person's yes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// None: everything waits.
    #[default]
    Confirm,
    /// Additive proposals without warnings.
    Auto,
    /// All but the stale, the fuzzy and those with a security warning.
    Dangerous,
}

/// Why a person should look twice.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Warning {
    /// What kind.
    pub kind: WarningKind,
    /// One sentence.
    pub text: String,
}

/// The kinds of warnings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WarningKind {
    /// A parent that did not exist is created on the way.
    ParentCreated,
    /// A name with dots or slashes, or one that several siblings share.
    Name,
    /// The inserted passage already stands nearby.
    Duplication,
    /// Something in a script is suspicious: selene says what.
    Lint,
    /// Some of the named scripts have no match.
    NoMatch,
    /// A value that Roblox does not take as it is.
    Range,
    /// References from elsewhere are lost.
    References,
    /// An asset brings scripts.
    Scripts,
    /// Rojo syncs the place, and what is written in Studio may be overwritten by its files.
    Rojo,
    /// An edit that was made to fit; it needs a second confirmation.
    Fuzzy,
    /// Code that reaches outside the place or hides what it does; it needs a second confirmation.
    Security,
    /// Files that stay on the disk although their instances go.
    FilesStay,
    /// A file that another tool writes and will overwrite; it needs a second confirmation.
    Generated,
}

impl WarningKind {
    /// Whether no mode lets it through and a yes must be said twice.
    pub fn needs_second_confirmation(self) -> bool {
        matches!(self, Self::Fuzzy | Self::Security | Self::Generated)
    }
}

/// A change that waits for a decision. It is named by the ledger position of its entry.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Proposal {
    /// One line for the card.
    pub title: String,
    /// How much it can take away.
    pub class: Class,
    /// What is done, in this order, whole or not at all.
    pub commands: Vec<Command>,
    /// The hash of the place file that it was planned on.
    pub base: Fingerprint,
    /// A hash over base and commands: what was seen is what is applied.
    pub patch_id: Fingerprint,
    /// What a person is shown.
    pub preview: Preview,
    /// Why to look twice.
    pub warnings: Vec<Warning>,
    /// Pending proposals that it was planned on top of and that must be applied before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Seq>,
    /// The instance that its call means where it leaves out a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub meant: Option<ImplicitTarget>,
    /// What of it goes to the files of a Rojo project, and not to Studio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<ProjectFileChanges>,
    /// Of a Rojo project: the files that change, from its folder and with `/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<String>,
    /// The proposal that this one was made from by a person's choice or edit, or that it reverts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<Seq>,
    /// What it takes back on the way to a checkpoint, newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub takes_back: Vec<Seq>,
    /// The proposal of the same call that was withdrawn so that it be planned again, as this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<Seq>,
}

/// What of a proposal in an open place goes to the files of the Rojo project that the place is synced
/// with: Rojo would overwrite it in Studio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectFileChanges {
    /// The project file.
    pub project: String,
    /// The commands of the proposal that files hold, from 0, in order. Studio does the others.
    pub owned: Vec<u32>,
    /// The same commands, addressed as in the project.
    pub commands: Vec<Command>,
    /// The files that change, from the project's folder and with `/`.
    pub files: Vec<String>,
}

/// How many files a card names.
const NAMED: usize = 5;

impl ProjectFileChanges {
    /// What a card says of it.
    pub fn describe(&self) -> String {
        if self.files.is_empty() {
            return format!("In files of Rojo, of {}", self.project);
        }
        format!("In files of Rojo: {}", name_files(&self.files))
    }
}

/// The names of some files, the first of many.
pub fn name_files(files: &[String]) -> String {
    let mut names = files.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    if files.len() > NAMED {
        names.push_str(&format!(" and {} more", files.len() - NAMED));
    }
    names
}

impl Proposal {
    /// The applied proposals that it takes back, newest first. Of one that was made from another that was
    /// never applied, that other one.
    pub fn reverted_proposals(&self) -> impl Iterator<Item = Seq> {
        let from = self.from.filter(|_| self.takes_back.is_empty());
        from.into_iter().chain(self.takes_back.iter().copied())
    }

    /// What a card says of the files that change.
    pub fn describe_files(&self) -> Option<String> {
        let written = || format!("Files: {}", name_files(&self.writes));
        let in_files = self.files.as_ref().map(ProjectFileChanges::describe);
        in_files.or_else(|| (!self.writes.is_empty()).then(written))
    }

    /// Whether Studio does nothing of a command, for files hold it.
    pub fn is_in_files(&self, command: usize) -> bool {
        let Some(files) = &self.files else {
            return false;
        };
        u32::try_from(command).is_ok_and(|command| files.owned.binary_search(&command).is_ok())
    }
}

/// The instance that a call means where it leaves out a path. It stays the same however often the call
/// is planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ImplicitTarget {
    /// Which.
    pub target: Target,
    /// Why this one.
    pub by: ImplicitTargetReason,
}

/// Why an instance is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImplicitTargetReason {
    /// It is the only one that is selected in Studio.
    Selected,
    /// It is the only one that the person attached to the request.
    Attached,
    /// Nothing else is known, and what is made goes there.
    Workspace,
}

impl ImplicitTarget {
    /// What a card says of it.
    pub fn describe(&self) -> String {
        let what = match self.by {
            ImplicitTargetReason::Selected => "the selected instance ",
            ImplicitTargetReason::Attached => "the attached instance ",
            ImplicitTargetReason::Workspace => "",
        };
        format!("Path left out: {what}{}", self.target.path)
    }
}

/// What changes, for reading.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Preview {
    /// Instances and properties, in the order of the commands.
    pub rows: Vec<Row>,
    /// Rows that are not listed here, because there are too many to read.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more_rows: u32,
    /// Texts, one for each script.
    pub scripts: Vec<ScriptDiff>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
pub(crate) fn is_zero(n: &u32) -> bool {
    *n == 0
}

/// One line of the table of operations.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// The command that it belongs to, from 0.
    pub command: u32,
    /// What happens.
    pub change: Change,
    /// To whom: the path afterwards for what is made, before for what goes.
    pub path: InstancePath,
    /// Its class.
    pub class: String,
}

/// What happens to an instance.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "change", rename_all = "snake_case", deny_unknown_fields)]
pub enum Change {
    /// It is made.
    Created {
        /// What differs from the defaults, in order.
        props: Vec<(String, Value)>,
    },
    /// It is made as a copy.
    Cloned {
        /// Of which instance.
        source: InstancePath,
        /// How many instances the copy has.
        count: u32,
    },
    /// One property changes.
    Set {
        /// Which property.
        property: String,
        /// Its value before; none where it was not set.
        before: Option<Value>,
        /// Its value afterwards; none where it is taken back to its default.
        after: Option<Value>,
    },
    /// It gets another parent.
    Moved {
        /// The new parent.
        to: InstancePath,
    },
    /// It goes, with all below it.
    Deleted {
        /// How many instances go.
        count: u32,
    },
    /// It comes with an asset, as one of its roots.
    Inserted {
        /// The asset's number.
        asset: u64,
        /// How many instances come with this root, itself included.
        count: u32,
    },
    /// It comes back.
    Restored {
        /// How many instances come back.
        count: u32,
    },
}

/// The change of one script's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScriptDiff {
    /// The last command that changes this script, from 0.
    pub command: u32,
    /// Which script.
    pub path: InstancePath,
    /// Lines that are added.
    pub added: u32,
    /// Lines that are removed.
    pub removed: u32,
    /// Where.
    pub hunks: Vec<Hunk>,
}

/// A run of changed lines with its context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hunk {
    /// First line in the text before, from 1 (0 where it has none).
    pub old_start: u32,
    /// First line in the text after, from 1 (0 where it has none).
    pub new_start: u32,
    /// The lines, without their line ends.
    pub lines: Vec<DiffLine>,
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiffLine {
    /// It stays.
    Context(String),
    /// It comes.
    Added(String),
    /// It goes.
    Removed(String),
}

/// Passages of a script that were changed twice: by a change that was asked for, and by somebody else
/// since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conflict {
    /// Which script.
    pub path: InstancePath,
    /// The first passages, in order.
    pub passages: Vec<Passage>,
    /// How many more there are.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u32,
}

/// A passage that was changed twice. Long ones end with `…`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Passage {
    /// Where it stands in the script as it is now, from 1.
    pub line: u32,
    /// What both started from.
    pub base: String,
    /// What stands there now.
    pub theirs: String,
    /// What was asked for.
    pub ours: String,
}

/// What a target says it did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// The file that was written; none for a place that is open in Studio.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The hash of that file before; none where there was no such file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Fingerprint>,
    /// Its hash afterwards, where there is a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Fingerprint>,
    /// One for each command.
    pub outcomes: Vec<Outcome>,
    /// Commands that take it back, addressed as in the file that was written; what they expect are
    /// the fingerprints that this proposal left behind.
    pub inverse: Vec<Command>,
    /// For each of these commands, a hash over all of what it takes back as it was left, where
    /// what the command itself expects is not enough to know it by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witnesses: Vec<Option<Fingerprint>>,
    /// How the very bytes come back that the proposal was performed on. Proposals that were applied
    /// together have the same, and go back together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<RestorePatch>,
    /// What was done to the files of a Rojo project besides, by a proposal in an open place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Box<Self>>,
}

/// How the bytes of a file come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RestorePatch {
    /// The blob by which they are made of the file that was written.
    pub patch: Fingerprint,
    /// Their hash.
    pub hash: Fingerprint,
}

/// What became of one command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// The instance that was made or changed, as it is called in the file that was written; none
    /// where it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<InstanceId>,
    /// The fingerprint of what the command left behind; none where it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}
