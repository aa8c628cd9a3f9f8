//! Work for the plugin, and what it says of it.
//!
//! Work is handed out, not popped: it is offered at every poll until it is answered, and the plugin
//! remembers what it has done, so that it happens once.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scene::PluginQuery;
use super::session::SessionId;
use crate::command::{Fingerprint, InstanceId, Target};
use crate::entry::Seq;
use crate::value::Value;

/// Something for the plugin to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "work", rename_all = "snake_case", deny_unknown_fields)]
pub enum Work {
    /// Perform an approved proposal; answered by `POST /api/proposals/{id}/apply`.
    Apply {
        /// It.
        apply: Apply,
    },
    /// Tell something; answered by a part `answered` of a scene update.
    Tell {
        /// Its number, in this session's epoch.
        number: u64,
        /// What.
        wanted: PluginQuery,
    },
}

/// An approved proposal: its actions are performed in order, all of them or none, in one recording.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Apply {
    /// Its number among the work of this session.
    pub number: u64,
    /// The proposal.
    pub proposal: Seq,
    /// What was approved.
    pub patch_id: Fingerprint,
    /// The recording's name; no two have the same.
    pub recording: String,
    /// What Studio's undo calls it.
    pub title: String,
    /// What is done.
    pub actions: Vec<Action>,
}

/// One thing that is done. `expect` is the fingerprint of what has to be there: over class and name,
/// and the properties in `over`; of a text, over its bytes. Ids `new:K` name what earlier actions of
/// the same proposal made.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "action", rename_all = "snake_case", deny_unknown_fields)]
pub enum Action {
    /// Make an instance as the last child of `parent`.
    Create {
        /// The id that later actions use for it.
        id: InstanceId,
        /// Where it goes.
        parent: Target,
        /// Its class.
        class: String,
        /// Its name.
        name: String,
        /// What is set before it is parented; `Source` among them for scripts.
        props: BTreeMap<String, Value>,
        /// The parent's fingerprint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Copy an instance with all below it, as the last child of `parent`. Its descendants take the
    /// ids behind `id` in depth-first order.
    Clone {
        /// The id that later actions use for the copy.
        id: InstanceId,
        /// What is copied.
        source: Target,
        /// Where the copy goes.
        parent: Target,
        /// The copy's name.
        name: String,
        /// How many instances the source has to have, itself included.
        count: u32,
        /// The source's fingerprint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Set properties, attributes (`@Key`), tags (`Tags`), or the name.
    Set {
        /// Whose.
        target: Target,
        /// The new values.
        props: BTreeMap<String, Value>,
        /// What goes back to its default, and attributes that go.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        reset: Vec<String>,
        /// What `expect` is over: the names of properties, and of each the type of its values as
        /// `__t` has it (`Bool` and `String` besides). Luau has one type of numbers and one of texts,
        /// so the plugin cannot tell what the canonical text has to say. Of what the daemon knows no
        /// type, such as an attribute that is not there, the text is empty.
        over: BTreeMap<String, String>,
        /// The fingerprint before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Give an instance another parent.
    Move {
        /// What moves.
        target: Target,
        /// Where it goes.
        parent: Target,
        /// The fingerprint before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Take an instance out of the place, with all below it; it is kept while Studio runs.
    Delete {
        /// What goes.
        target: Target,
        /// How many instances it has to have, itself included.
        count: u32,
        /// The fingerprint before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Bring back what a `delete` of this session took out.
    Restore {
        /// What.
        target: Target,
        /// Where it goes.
        parent: Target,
    },
    /// Give a script another text.
    Write {
        /// Which script.
        target: Target,
        /// The hash of the text that has to be there.
        expect: Fingerprint,
        /// The text.
        text: String,
        /// Its hash.
        after: Fingerprint,
    },
    /// Bring in an asset, as the last children of `parent`.
    Insert {
        /// The id that later actions use for its first root.
        id: InstanceId,
        /// The asset.
        asset: u64,
        /// Where it goes.
        parent: Target,
        /// The fingerprint of what it has to hold: over a line for each of its instances, depth first,
        /// `parent TAB class TAB bytes:name TAB hash NEWLINE`; the parent by its place in the list
        /// from 1 (0 is nobody), the length of the name, and the hash of a script's text.
        holds: Fingerprint,
        /// The parent's fingerprint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
}

/// What became of an approved proposal in Studio.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyAck {
    /// The session.
    pub session: SessionId,
    /// Its epoch.
    pub epoch: u64,
    /// What was approved.
    pub patch_id: Fingerprint,
    /// What became of it.
    pub outcome: ApplyOutcome,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "outcome", rename_all = "snake_case", deny_unknown_fields)]
pub enum ApplyOutcome {
    /// It is done, as one undo step.
    Applied {
        /// One for each action.
        acted: Vec<ActionResult>,
        /// The version of the place that has it; its changes are said before this is.
        version: u64,
    },
    /// Nothing of it is done: something else is there than was expected.
    Stale {
        /// What, and where.
        reason: String,
    },
    /// Nothing of it is done: Studio does not allow it now.
    Refused {
        /// Why, and what a person can do.
        reason: String,
    },
    /// It failed half-way, and not all of it could be taken back.
    Diverged {
        /// What is left, and what a person can do.
        reason: String,
    },
}

/// What became of one action.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionResult {
    /// The instances that it made, depth first, or the one that it changed; none where it is gone.
    pub ids: Vec<InstanceId>,
    /// The fingerprint of what it left behind: over what it expected, or of the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}

/// The daemon knows what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApplyReceipt {
    /// False where it was known before.
    pub is_news: bool,
}
