//! Work for the plugin, and the plugin's acknowledgements.
//!
//! Work stays queued until the plugin answers it, so a poll may return it again. The plugin
//! remembers the work that it has done, so that each item is performed once.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scene::PluginQuery;
use super::session::SessionId;
use crate::command::{Fingerprint, InstanceId, Target};
use crate::entry::Seq;
use crate::path::InstancePath;
use crate::playtest::Playtest;
use crate::sandbox::ScriptSandbox;
use crate::value::Value;

/// An item of work for the plugin.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "work", rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// Apply an approved proposal. The answer is `POST /api/proposals/{id}/apply`.
    Apply {
        /// The proposal to apply.
        apply: Apply,
    },
    /// Answer a query. The answer is an `answered` part of a scene update.
    Query {
        /// The number of this work in the session's epoch.
        number: u64,
        /// The query.
        query: PluginQuery,
    },
    /// Play the game in Studio, beside other work. The answer is an `answered` part of a scene
    /// update.
    Playtest {
        /// The number of this work in the session's epoch.
        number: u64,
        /// The game to play.
        playtest: Playtest,
    },
    /// End a playtest, whose result is not needed any more. The answer is an `answered` part of a
    /// scene update.
    EndPlaytest {
        /// The number of this work in the session's epoch.
        number: u64,
        /// The number of the work that started it.
        playtest: u64,
    },
}

impl Work {
    /// Returns the number of the work in the session's epoch.
    pub fn number(&self) -> u64 {
        match self {
            Self::Apply { apply } => apply.number,
            Self::Query { number, .. }
            | Self::Playtest { number, .. }
            | Self::EndPlaytest { number, .. } => *number,
        }
    }
}

/// An approved proposal. The plugin performs its actions in order, all or none, in one recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Apply {
    /// The number of this work in the session's epoch.
    pub number: u64,
    /// The proposal.
    pub proposal: Seq,
    /// The approved content.
    pub patch_id: Fingerprint,
    /// The recording's name, which is unique.
    pub recording: String,
    /// The title of the undo step in Studio.
    pub title: String,
    /// The actions to perform.
    pub actions: Vec<Action>,
}

/// Instances that are changed in the same way as another, in columns of equal length.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MoreTargets {
    /// The ids of the instances.
    pub ids: Vec<InstanceId>,
    /// Their paths.
    pub paths: Vec<InstancePath>,
    /// Their fingerprints before the change.
    pub expects: Vec<Fingerprint>,
}

/// One action. `expect` is the fingerprint that the plugin must find: over the instance's class,
/// name and the properties in `over`, or over the bytes of a text. An id `new:K` refers to an
/// instance that an earlier action of the same proposal created.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Creates an instance as the last child of `parent`.
    Create {
        /// The id that later actions use for the new instance.
        id: InstanceId,
        /// The parent of the new instance.
        parent: Target,
        /// The class of the new instance.
        class: String,
        /// The name of the new instance.
        name: String,
        /// Properties to set before the instance is parented. For a script, they include `Source`.
        props: BTreeMap<String, Value>,
        /// The parent's fingerprint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Copies an instance with its descendants, as the last child of `parent`. The descendants take
    /// the ids after `id`, in depth-first order.
    Clone {
        /// The id that later actions use for the copy.
        id: InstanceId,
        /// The instance to copy.
        source: Target,
        /// The parent of the copy.
        parent: Target,
        /// The name of the copy.
        name: String,
        /// Number of instances that the source must have, including itself.
        count: u32,
        /// The source's fingerprint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Sets properties, attributes (`@Key`), tags (`Tags`), or the name.
    Set {
        /// The instance to change.
        target: Target,
        /// The new values.
        props: BTreeMap<String, Value>,
        /// Properties to reset to their defaults, and attributes to remove.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reset: Vec<String>,
        /// The properties that `expect` covers, each with the type of its value as in `__t`, or
        /// `Bool` or `String`. The plugin needs the types for the canonical text, because Luau has
        /// only one type of numbers and one of strings. The type is empty if the daemon does not
        /// know it, for example for an attribute that does not exist.
        over: BTreeMap<String, String>,
        /// The fingerprint before the change.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
        /// Further instances that are changed in the same way, in order. Each is an action of its
        /// own, with a result of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        more: Option<MoreTargets>,
    },
    /// Moves an instance to another parent.
    Move {
        /// The instance to move.
        target: Target,
        /// The new parent.
        parent: Target,
        /// The fingerprint before the move.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Removes an instance with its descendants from the place. The plugin keeps it for `restore`
    /// until the plugin is reloaded.
    Delete {
        /// The instance to delete.
        target: Target,
        /// Number of instances that the subtree must have, including the target.
        count: u32,
        /// The fingerprint before the deletion.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Restores an instance that a `delete` of this session removed.
    Restore {
        /// The instance to restore.
        target: Target,
        /// The parent of the restored instance.
        parent: Target,
    },
    /// Replaces a script's text.
    Write {
        /// The script to change.
        target: Target,
        /// The hash that the current text must have.
        expect: Fingerprint,
        /// The new text.
        text: String,
        /// The hash of the new text.
        after: Fingerprint,
    },
    /// Inserts an asset as the last children of `parent`.
    Insert {
        /// The id that later actions use for the asset's first root.
        id: InstanceId,
        /// The asset's id on Roblox.
        asset: u64,
        /// The parent of the asset's roots.
        parent: Target,
        /// The fingerprint that the asset's contents must have. It covers one line for each
        /// instance, depth first: `parent TAB class TAB bytes:name TAB hash NEWLINE`. `parent` is
        /// the parent's number in the list from 1 (0 for a root), `bytes` is the length of the
        /// name, and `hash` is the hash of a script's text.
        contents: Fingerprint,
        /// The instances that are not inserted, by their numbers in that list, ascending. Their
        /// descendants are not inserted either.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<u32>,
        /// The sandbox of the scripts that are kept. The instances that become containers get
        /// `Sandboxed` and `Capabilities` before they get a parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<ScriptSandbox>,
        /// The parent's fingerprint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
}

/// The plugin's report on an approved proposal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyAck {
    /// The session.
    pub session: SessionId,
    /// The session's epoch.
    pub epoch: u64,
    /// The approved content, by its `patch_id`.
    pub patch_id: Fingerprint,
    /// The outcome in Studio.
    pub outcome: ApplyOutcome,
}

/// The outcome of applying a proposal in Studio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case", deny_unknown_fields)]
pub enum ApplyOutcome {
    /// The proposal was applied, as one undo step.
    Applied {
        /// The results of the actions, one for each. Those that do not fit into one request follow
        /// in further reports.
        results: Vec<ActionResult>,
        /// The number of results in earlier reports.
        #[serde(default, skip_serializing_if = "is_zero")]
        from: u32,
        /// Whether further results follow. The proposal is applied with the last report.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        more: bool,
        /// The version of the place that includes the changes. The plugin sends the scene updates
        /// up to this version first.
        version: u64,
    },
    /// Nothing was applied, because the place differs from what the proposal expects.
    Stale {
        /// The difference, and where it is.
        reason: String,
    },
    /// Nothing was applied, because Studio does not allow it now.
    Refused {
        /// The reason, and what a person can do about it.
        reason: String,
    },
    /// Nothing was applied, because the user has not given a permission that Studio asks for. The
    /// proposal waits for another approval.
    NotPermitted {
        /// The permission, and where to give it.
        reason: String,
    },
    /// Applying failed halfway, and some changes could not be reverted.
    Diverged {
        /// The changes that remain, and what a person can do about them.
        reason: String,
    },
}

/// The result of one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionResult {
    /// The instances that the action created, depth first, or the one that it changed. Empty if the
    /// instance was deleted.
    pub ids: Vec<InstanceId>,
    /// The fingerprint after the action: over the same properties as `expect`, or of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}

/// The daemon received the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyReceipt {
    /// False if the daemon already knew the outcome.
    pub is_new: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
