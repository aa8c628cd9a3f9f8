//! Merges with open conflicts: the conflicts, and a person's decisions about them.
//!
//! These are data only; this module does not merge.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{InstancePath, TextConflict, Value};

/// A side of a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeSide {
    /// The side that is merged into.
    Ours,
    /// The side that is merged in.
    Theirs,
}

/// Conflicting changes of the two sides of a merge.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "conflict", rename_all = "snake_case")]
pub enum ConflictView {
    /// Both sides set a property to different values.
    Property {
        /// The instance.
        path: InstancePath,
        /// The instance's class.
        class: String,
        /// The property's name. Attributes begin with `@`.
        property: String,
        /// The value before the merge. None if the property had no value, which also applies to the
        /// two fields below.
        base: Option<Value>,
        /// The value on our side.
        ours: Option<Value>,
        /// The value on their side.
        theirs: Option<Value>,
    },
    /// Both sides changed the same lines of a script.
    Script {
        /// The script.
        path: InstancePath,
        /// The script's class.
        class: String,
        /// The merged text. It has both versions of the conflicting lines between conflict markers.
        text: String,
        /// The conflicting lines.
        hunks: Vec<TextConflict>,
    },
    /// One side deleted an instance that the other side changed, added or moved something to, or
    /// created a reference to.
    Deleted {
        /// The instance, by its path on the side that still has it.
        path: InstancePath,
        /// The instance's class.
        class: String,
        /// The side that deleted it.
        by: MergeSide,
    },
    /// The two sides moved an instance to different parents.
    Moved {
        /// The instance's path on our side.
        path: InstancePath,
        /// The instance's class.
        class: String,
        /// The instance's path on their side.
        theirs: InstancePath,
    },
}

impl ConflictView {
    /// Returns the instance in conflict; for a move, its path on our side.
    pub fn path(&self) -> &InstancePath {
        match self {
            Self::Property { path, .. }
            | Self::Script { path, .. }
            | Self::Deleted { path, .. }
            | Self::Moved { path, .. } => path,
        }
    }
}

/// A person's decision about a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictChoice {
    /// Take our side. In a script, take our version of the conflicting lines.
    Ours,
    /// Take their side. In a script, take their version of the conflicting lines.
    Theirs,
    /// Decide each hunk of a script, in order.
    Hunks(Vec<HunkChoice>),
}

/// A person's decision about one hunk of a script.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HunkChoice {
    /// Take the lines of our side.
    Ours,
    /// Take the lines of their side.
    Theirs,
    /// Take the lines of our side, followed by those of their side.
    Both,
    /// Take other lines.
    Edited(String),
}

/// A conflict and the decision about it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecordedConflict {
    /// The conflict.
    pub conflict: ConflictView,
    /// The decision. None while the conflict is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<ConflictChoice>,
}

/// A merge with conflicts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MergeView {
    /// The id of the merge, used in decisions.
    pub id: String,
    /// The output file of the merge.
    pub file: String,
    /// Whether Git started the merge. If so, finishing the merge also marks the file as resolved in
    /// Git.
    pub in_git: bool,
    /// Whether the file has changed since the merge wrote it.
    pub is_file_changed: bool,
    /// The conflicts, in order.
    pub conflicts: Vec<RecordedConflict>,
}

impl MergeView {
    /// Returns the number of open conflicts.
    pub fn open_count(&self) -> usize {
        self.conflicts.iter().filter(|it| it.choice.is_none()).count()
    }
}

/// The merges with conflicts in the folders of the open places.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Merges {
    /// The merges, by file.
    pub merges: Vec<MergeView>,
}

/// A person decides conflicts of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecideConflicts {
    /// The id of the merge.
    pub merge: String,
    /// The number of the conflict, from 1. If absent, the decision applies to all open conflicts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conflict: Option<usize>,
    /// The decision. If absent, the conflict is opened again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub choice: Option<ConflictChoice>,
}

/// A person finishes a merge, which may write its file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishMerge {
    /// The id of the merge.
    pub merge: String,
    /// What happens to the file.
    pub how: MergeEnd,
}

/// What happens to the file when a merge is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MergeEnd {
    /// Write the file with all decisions. Refused if the file has changed since the merge.
    Write,
    /// Write the file with all decisions, even if it has changed since the merge.
    Overwrite,
    /// Leave the file as it is.
    AsIs,
}

/// A merge was finished.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinishedMerge {
    /// The file.
    pub file: String,
    /// Whether the file is marked as resolved in Git.
    pub is_staged: bool,
}
