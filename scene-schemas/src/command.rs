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
    pub fn hash_bytes(bytes: &[u8]) -> Self {
        let mut hashing = FingerprintHasher::default();
        hashing.update(bytes);
        hashing.finish()
    }

    /// The first twelve digits, for people.
    pub fn short_hex(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

/// A fingerprint in the making, of bytes that come in runs.
#[derive(Debug, Default)]
pub struct FingerprintHasher(sha2::Sha256);

impl FingerprintHasher {
    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
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

/// What an asset holds: its instances by columns, depth first, and the texts of its scripts. The columns
/// but `classes` are of one length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssetContents {
    /// Names of classes.
    pub classes: Vec<String>,
    /// Of each instance its class, as a place in `classes`, from 0.
    pub class: Vec<u32>,
    /// Its parent: n is the nth instance of this list, and 0 is nobody.
    pub parents: Vec<u32>,
    /// Its name.
    pub names: Vec<String>,
    /// The scripts among them.
    pub scripts: Vec<AssetScript>,
}

/// A script of an asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssetScript {
    /// Which instance of the list, from 1.
    pub at: u32,
    /// Its text.
    pub text: String,
}

impl AssetContents {
    /// How many instances it has.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// The class of the instance at this place of the list, from 0.
    pub fn class_of(&self, at: usize) -> &str {
        let class = self.class.get(at).and_then(|class| self.classes.get(*class as usize));
        class.map_or("", String::as_str)
    }

    /// Whether the columns fit each other, every instance is behind its parent and what is below
    /// that, and the scripts are in the order of the list.
    pub fn is_sound(&self) -> bool {
        let len = self.len();
        if self.class.len() != len || self.parents.len() != len {
            return false;
        }
        let mut line: Vec<u32> = Vec::new();
        for (at, parent) in self.parents.iter().enumerate() {
            while *parent != 0 && line.last().is_some_and(|above| above != parent) {
                line.pop();
            }
            if *parent == 0 {
                line.clear();
            } else if line.is_empty() {
                return false;
            }
            line.push(at as u32 + 1);
        }
        let has_class = |class: &u32| (*class as usize) < self.classes.len();
        let places: Vec<u32> = self.scripts.iter().map(|script| script.at).collect();
        self.class.iter().all(has_class)
            && places.is_sorted_by(|a, b| a < b)
            && places.iter().all(|at| (1..=len as u32).contains(at))
    }

    /// What tells it from other contents: of each instance a line of its parent, its class, the length
    /// of its name in bytes, its name, and where it is a script the hash of its text.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hashing = FingerprintHasher::default();
        let mut scripts = self.scripts.iter().peekable();
        for (at, (name, parent)) in self.names.iter().zip(&self.parents).enumerate() {
            let text = scripts.next_if(|script| script.at as usize == at + 1);
            let hash = text.map(|script| Fingerprint::hash_bytes(script.text.as_bytes()).0);
            let (class, hash) = (self.class_of(at), hash.unwrap_or_default());
            let line = format!("{parent}\t{class}\t{}:{name}\t{hash}\n", name.len());
            hashing.update(line.as_bytes());
        }
        hashing.finish()
    }
}

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
    /// Bring in an asset as the last children of `parent`. Its instances take `id` and the ids behind
    /// it, in the order of `holds`. Only Studio can.
    Insert {
        /// The id that later commands use for its first root.
        id: InstanceId,
        /// Its number.
        asset: u64,
        /// Where it goes.
        parent: Target,
        /// What it was seen to hold; the target refuses where it holds something else by then.
        holds: AssetContents,
        /// The parent's fingerprint; absent where this proposal makes the parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
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
    /// Change the project's memory, a text that stands beside the place and not in it.
    EditMemory {
        /// The place: `game`.
        target: Target,
        /// Sorted, not overlapping, all in positions of the text before.
        edits: Vec<TextEdit>,
        /// The fingerprint of the text before: of an empty one where there is none.
        expect: Fingerprint,
    },
}

impl Command {
    /// The instance that the command changes, or the parent of the one it makes.
    pub fn target(&self) -> &Target {
        match self {
            Self::Create { parent, .. }
            | Self::Restore { parent, .. }
            | Self::Insert { parent, .. } => parent,
            Self::Clone { source, .. } => source,
            Self::Set { target, .. }
            | Self::Move { target, .. }
            | Self::Delete { target, .. }
            | Self::EditScript { target, .. }
            | Self::EditMemory { target, .. } => target,
        }
    }

    /// The number of the first instance that it makes in its proposal.
    pub fn new_instance_number(&self) -> Option<u32> {
        let (Self::Create { id, .. }
        | Self::Clone { id, .. }
        | Self::Restore { id, .. }
        | Self::Insert { id, .. }) = self
        else {
            return None;
        };
        id.0.strip_prefix("new:")?.parse().ok()
    }

    /// Whether it changes the project's memory, and not the place.
    pub fn is_memory(&self) -> bool {
        matches!(self, Self::EditMemory { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::{AssetContents, AssetScript};

    fn contents(parents: &[u32]) -> AssetContents {
        AssetContents {
            classes: vec!["Model".to_owned(), "Script".to_owned()],
            class: parents.iter().map(|parent| u32::from(*parent > 0)).collect(),
            parents: parents.to_vec(),
            names: parents.iter().map(|parent| format!("below {parent}")).collect(),
            scripts: Vec::new(),
        }
    }

    #[test]
    fn an_asset_is_listed_depth_first() {
        for sound in [&[0, 1, 2, 1, 0, 5, 5][..], &[0, 0, 0], &[]] {
            assert!(contents(sound).is_sound(), "{sound:?}");
        }
        for not in [&[1][..], &[0, 2], &[0, 1, 0, 1], &[0, 1, 1, 2], &[0, 9]] {
            assert!(!contents(not).is_sound(), "{not:?}");
        }
        let mut other = contents(&[0, 1]);
        other.class[1] = 2;
        assert!(!other.is_sound());
        let mut other = contents(&[0, 1]);
        other.scripts = vec![AssetScript { at: 3, text: String::new() }];
        assert!(!other.is_sound());
    }

    #[test]
    fn what_an_asset_holds_is_told_from_what_it_held() {
        let with = |text: &str| {
            let scripts = vec![AssetScript { at: 2, text: text.to_owned() }];
            AssetContents { scripts, ..contents(&[0, 1]) }.fingerprint()
        };
        assert_eq!(with("a"), with("a"));
        assert_ne!(with("a"), with("b"));
        assert_ne!(with("a"), contents(&[0, 1]).fingerprint());
        let names = |names: [&str; 2]| {
            let names = names.map(str::to_owned).to_vec();
            AssetContents { names, ..contents(&[0, 0]) }.fingerprint()
        };
        assert_ne!(names(["a", "b"]), names(["a\t", "b"]));
    }
}
