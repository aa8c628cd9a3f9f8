//! Commands: the closed set of changes that a target can perform, and how they address instances.
//!
//! Tools are many and become lists of these; only these are implemented per target. A command says
//! what it expects to find, so that a target can refuse what is stale. How it is performed is not
//! known here.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::InstancePath;
use crate::text::TextEdit;
use crate::value::Value;

/// A stable name of an instance within one epoch of a session.
///
/// - `ref:N`: instance number N of a place file, as it was read;
/// - `studio:D`: the instance of a place that is open in Studio whose debug id is D;
/// - `new:K`: what a command of the same proposal creates as its Kth instance;
/// - `new:P.K`: the same, of the proposal that answers the call at ledger position P.
///
/// Only the scene gives it a meaning; everybody else carries it.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct InstanceId(pub String);

impl InstanceId {
    /// The id of what the proposal itself creates as number `k`.
    pub fn new_in_proposal(k: u32) -> Self {
        Self(format!("new:{k}"))
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An instance that a command addresses: the id decides, the path is for reading and for checking.
/// Where they disagree the command is refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The stable id that was resolved when the command was planned.
    pub id: InstanceId,
    /// The path at that moment.
    pub path: InstancePath,
}

/// A SHA-256 in lower-case hexadecimal: of a script's text, or of an instance's class, name and the
/// properties that a plan relied on (see the scene's fingerprint rules).
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

impl Fingerprint {
    /// The fingerprint of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hashing = Hashing::default();
        hashing.add(bytes);
        hashing.finish()
    }

    /// The first twelve digits, for people.
    pub fn short(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

/// A fingerprint in the making, of bytes that come in runs.
#[derive(Debug, Default)]
pub struct Hashing(sha2::Sha256);

impl Hashing {
    /// Takes the next bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        sha2::Digest::update(&mut self.0, bytes);
    }

    /// The fingerprint of all of them.
    #[must_use]
    pub fn finish(self) -> Fingerprint {
        const DIGITS: [char; 16] =
            ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f'];
        let hash = sha2::Digest::finalize(self.0);
        let digits = hash.iter().flat_map(|byte| [byte >> 4, byte & 15]);
        Fingerprint(digits.map(|digit| DIGITS[usize::from(digit)]).collect())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Properties by name. `Name` is a property, `Tags` holds all tags, and `@Key` is the attribute
/// `Key`. None (null) takes a property back to its default and removes an attribute.
pub type Props = BTreeMap<String, Option<Value>>;

/// One change to a place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "op", rename_all = "snake_case", deny_unknown_fields)]
pub enum Command {
    /// Make an instance of `class` as the last child of `parent`.
    Create {
        /// The id that later commands use for it.
        id: InstanceId,
        /// Where it goes.
        parent: Target,
        /// Its class, one that can be created.
        class: String,
        /// Its name.
        name: String,
        /// What differs from the class's defaults.
        props: Props,
        /// The parent's fingerprint; absent where this proposal makes the parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Copy an instance with all below it as the last child of `parent`. References inside the copy
    /// point into the copy. Its descendants take the ids behind `id` in depth-first order.
    Clone {
        /// The id that later commands use for the copy.
        id: InstanceId,
        /// What is copied.
        source: Target,
        /// Where the copy goes.
        parent: Target,
        /// The copy's name.
        name: String,
        /// How many instances the copy has.
        count: u32,
        /// The source's fingerprint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Set properties, attributes or tags, or rename (the property `Name`).
    Set {
        /// Whose.
        target: Target,
        /// The new values.
        props: Props,
        /// The fingerprint over the properties that are set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Give an instance another parent.
    Move {
        /// What moves.
        target: Target,
        /// Where it goes.
        parent: Target,
        /// Its place among the children there, from 0; behind the last one where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<u32>,
        /// The fingerprint over class and name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Remove an instance with all below it.
    Delete {
        /// What goes.
        target: Target,
        /// How many instances go, itself included.
        count: u32,
        /// The fingerprint over class and name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Bring back a deleted subtree. Its instances take `id` and the ids behind it, depth first.
    Restore {
        /// The id that later commands use for its root; in an open place, the id that it had.
        id: InstanceId,
        /// The blob that holds it: a binary model with one root. None in an open place, where Studio
        /// keeps what was deleted.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blob: Option<Fingerprint>,
        /// Where it goes.
        parent: Target,
        /// Its place among the children there, from 0; behind the last one where absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<u32>,
        /// The class of its root.
        class: String,
        /// The name of its root.
        name: String,
        /// How many instances it has.
        count: u32,
    },
    /// Change a script's text.
    EditScript {
        /// Which script.
        target: Target,
        /// Sorted, not overlapping, all in positions of the text before.
        edits: Vec<TextEdit>,
        /// The fingerprint of the text before.
        expect: Fingerprint,
    },
}

impl Command {
    /// The instance that the command changes, or the parent of the one it makes.
    pub fn target(&self) -> &Target {
        match self {
            Self::Create { parent, .. } | Self::Restore { parent, .. } => parent,
            Self::Clone { source, .. } => source,
            Self::Set { target, .. }
            | Self::Move { target, .. }
            | Self::Delete { target, .. }
            | Self::EditScript { target, .. } => target,
        }
    }
}
