//! Merges with open conflicts: what does not go together, and what a person decides about it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{InstancePath, TextConflict, Value};

/// Which side of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeSide {
    /// The one that is merged into.
    Ours,
    /// The one that is merged.
    Theirs,
}

/// What the two sides of a merge did that does not go together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "conflict", rename_all = "snake_case")]
pub enum ConflictView {
    /// Both gave a property another value.
    Property {
        /// The instance.
        path: InstancePath,
        /// Its class.
        class: String,
        /// The property; attributes begin with `@`.
        property: String,
        /// Its value before; none where it had none, here and below.
        base: Option<Value>,
        /// Its value in ours.
        ours: Option<Value>,
        /// Its value in theirs.
        theirs: Option<Value>,
    },
    /// Both changed the same lines of a script.
    Script {
        /// The script.
        path: InstancePath,
        /// Its class.
        class: String,
        /// The merged text, with both versions of these lines between conflict markers.
        text: String,
        /// These lines.
        hunks: Vec<TextConflict>,
    },
    /// One side deleted an instance that the other changed, added or moved something to, or made a
    /// reference to.
    Deleted {
        /// The instance, as the side calls it that has it.
        path: InstancePath,
        /// Its class.
        class: String,
        /// Who deleted it.
        by: MergeSide,
    },
    /// Both gave an instance another parent.
    Moved {
        /// Where ours has it.
        path: InstancePath,
        /// Its class.
        class: String,
        /// Where theirs has it.
        theirs: InstancePath,
    },
}

impl ConflictView {
    /// The instance that it is about.
    pub fn path(&self) -> &InstancePath {
        match self {
            Self::Property { path, .. }
            | Self::Script { path, .. }
            | Self::Deleted { path, .. }
            | Self::Moved { path, .. } => path,
        }
    }
}

/// What a person decided about a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictChoice {
    /// What ours has; in a script, its version of the lines in conflict.
    Ours,
    /// What theirs has; in a script, its version of the lines in conflict.
    Theirs,
    /// What is taken of each hunk of a script.
    Hunks(Vec<HunkChoice>),
}

/// What is taken of one conflict within a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HunkChoice {
    /// The lines of ours.
    Ours,
    /// The lines of theirs.
    Theirs,
    /// The lines of ours, and below them those of theirs.
    Both,
    /// Other lines.
    Edited(String),
}

/// A conflict, and what was decided about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedConflict {
    /// The conflict.
    pub conflict: ConflictView,
    /// What was decided; none while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<ConflictChoice>,
}

/// A merge with conflicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeView {
    /// Its name, by which it is decided.
    pub id: String,
    /// The file that it wrote.
    pub file: String,
    /// Whether Git asked for it, and takes the file as resolved when the merge is finished.
    pub in_git: bool,
    /// Whether the file was changed since.
    pub is_file_changed: bool,
    /// Its conflicts, in order.
    pub conflicts: Vec<RecordedConflict>,
}

impl MergeView {
    /// How many conflicts are open.
    pub fn open_count(&self) -> usize {
        self.conflicts.iter().filter(|it| it.choice.is_none()).count()
    }
}

/// The merges with conflicts beside the places that are open.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Merges {
    /// The merges, by file.
    pub merges: Vec<MergeView>,
}

/// A person decides about conflicts of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideConflicts {
    /// The merge.
    pub merge: String,
    /// The number of the conflict, from 1; all that are open where absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<usize>,
    /// What to take; where absent, the conflict is open again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<ConflictChoice>,
}

/// A person has the file of a merge written, and the merge closed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishMerge {
    /// The merge.
    pub merge: String,
    /// How.
    pub how: MergeEnd,
}

/// How a merge ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeEnd {
    /// The file is written, with all that was decided.
    Write,
    /// The same, although the file was changed since the merge.
    Overwrite,
    /// The file stays as it is.
    AsIs,
}

/// A merge is over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishedMerge {
    /// The file.
    pub file: String,
    /// Whether Git has taken it as resolved.
    pub is_staged: bool,
}
