//! Commands: the closed set of changes that a target can perform, and how they address instances.
//!
//! There are many tools, but they all produce lists of these commands, so each target implements
//! only these. A command states what it expects to find, so that a target can refuse a stale one.
//! This module does not know how commands are performed.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::path::InstancePath;
use crate::sandbox::ScriptSandbox;
use crate::text::TextEdit;
use crate::value::Value;

/// A stable id of an instance within one epoch of a session.
///
/// - `ref:N`: instance number N of a place file, as it was read;
/// - `studio:D`: the instance with debug id D in a place that is open in Studio;
/// - `new:K`: the Kth instance created by the commands of the same proposal;
/// - `new:P.K`: the same for the proposal that answers the call at ledger position P.
///
/// Only the scene interprets an id; all other code passes it on unchanged.
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct InstanceId(pub String);

impl InstanceId {
    /// Returns the id of the instance that a proposal creates as number `k`.
    pub fn new_in_proposal(k: u32) -> Self {
        Self(format!("new:{k}"))
    }
}

impl fmt::Display for InstanceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An instance that a command addresses. The id identifies it; the path is for display and as a
/// check. If the two disagree, the command is refused.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The stable id, resolved when the command was planned.
    pub id: InstanceId,
    /// The instance's path at that time.
    pub path: InstancePath,
}

/// A SHA-256 hash in lowercase hexadecimal. It covers a script's text, or an instance's class, name
/// and the properties that a plan relied on (see the scene's fingerprint rules).
#[derive(
    Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Fingerprint(pub String);

impl Fingerprint {
    /// Returns the fingerprint of these bytes.
    pub fn hash_bytes(bytes: &[u8]) -> Self {
        let mut hashing = FingerprintHasher::default();
        hashing.update(bytes);
        hashing.finish()
    }

    /// Returns the first twelve digits, for display.
    pub fn short_hex(&self) -> &str {
        self.0.get(..12).unwrap_or(&self.0)
    }
}

/// Computes a fingerprint from bytes that arrive in pieces.
#[derive(Debug, Default)]
pub struct FingerprintHasher(sha2::Sha256);

impl FingerprintHasher {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        sha2::Digest::update(&mut self.0, bytes);
    }

    /// Returns the fingerprint of all added bytes.
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
/// `Key`. None (null) resets a property to its default and removes an attribute.
pub type Props = BTreeMap<String, Option<Value>>;

/// The class of the links that keep a model the same as a package.
const PACKAGE_LINK: &str = "PackageLink";

/// The contents of an asset: its instances as columns, depth first, and the texts of its scripts.
/// All columns except `classes` have the same length.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssetContents {
    /// The class names that `class` refers to.
    pub classes: Vec<String>,
    /// Each instance's class, as an index into `classes`, from 0.
    pub class: Vec<u32>,
    /// Each instance's parent: n is the nth instance of this list, from 1; 0 means no parent in the
    /// asset.
    pub parents: Vec<u32>,
    /// Each instance's name.
    pub names: Vec<String>,
    /// The scripts among the instances.
    pub scripts: Vec<AssetScript>,
    /// What was found in the whole asset: first what the scan found, in the order of the instances, then
    /// the content that may not load. None if only the columns above are known, as in an open place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<AssetFinding>>,
}

/// What deserves review in an asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssetFinding {
    /// The instance's number in the list of instances, from 1.
    pub at: u32,
    /// A sentence about the instance.
    pub text: String,
    /// What the finding is about.
    #[serde(default, skip_serializing_if = "AssetFindingKind::is_code")]
    pub kind: AssetFindingKind,
}

/// What an [`AssetFinding`] is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AssetFindingKind {
    /// What a script does, or what an instance holds that a script can read.
    #[default]
    Code,
    /// An image, mesh, sound or other content that may not load.
    Content,
}

impl AssetFindingKind {
    /// Whether a finding is about what scripts do or can read.
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    fn is_code(&self) -> bool {
        *self == Self::Code
    }
}

/// A script of an asset.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AssetScript {
    /// The script's number in the list of instances, from 1.
    pub at: u32,
    /// The script's text.
    pub text: String,
}

impl AssetContents {
    /// Returns the number of instances.
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Whether the asset has no instances.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the class of an instance by its index in the list, from 0.
    pub fn class_of(&self, at: usize) -> &str {
        let class = self.class.get(at).and_then(|class| self.classes.get(*class as usize));
        class.map_or("", String::as_str)
    }

    /// Whether the columns are consistent, the instances are in depth-first order, and the scripts
    /// are in the order of the list.
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

    /// Whether another asset has the same instances and texts, whatever was found in them.
    pub fn has_same_instances(&self, other: &Self) -> bool {
        let Self { classes, class, parents, names, scripts, findings: _ } = self;
        *classes == other.classes
            && *class == other.class
            && *parents == other.parents
            && *names == other.names
            && *scripts == other.scripts
    }

    /// Whether an instance, by its index from 0, links a model to a package.
    pub fn is_package_link(&self, at: usize) -> bool {
        self.class_of(at) == PACKAGE_LINK
    }

    /// Returns what is left out of an asset unless a person keeps it: its scripts, and the links that
    /// replace a model by the newest version of a package. By their numbers, from 1.
    pub fn list_scripts_and_links(&self) -> Vec<u32> {
        let links = (0..self.len()).filter(|at| self.is_package_link(*at));
        let links = links.map(|at| at as u32 + 1);
        let all: BTreeSet<u32> = self.scripts.iter().map(|script| script.at).chain(links).collect();
        all.into_iter().collect()
    }

    /// Returns whether each instance is inserted if these are left out, by their numbers from 1, with
    /// their descendants.
    pub fn flag_inserted(&self, left_out: &[u32]) -> Vec<bool> {
        let mut kept = vec![true; self.len()];
        for number in left_out {
            if let Some(is_kept) = kept.get_mut((*number as usize).wrapping_sub(1)) {
                *is_kept = false;
            }
        }
        // A parent comes before its children.
        for at in 0..kept.len() {
            let above = self.parents.get(at).map_or(0, |parent| *parent as usize);
            if above > 0 && kept.get(above - 1) == Some(&false) {
                kept[at] = false;
            }
        }
        kept
    }

    /// Returns these contents without some instances, by their numbers from 1, and without their
    /// descendants.
    pub fn remove_left_out(&self, left_out: &[u32]) -> Cow<'_, Self> {
        if left_out.is_empty() {
            return Cow::Borrowed(self);
        }
        let kept = self.flag_inserted(left_out);
        let mut rest = Self { classes: self.classes.clone(), ..Self::default() };
        let mut numbers = vec![0; self.len()];
        for at in (0..self.len()).filter(|at| kept[*at]) {
            rest.class.push(self.class[at]);
            let above = self.parents[at] as usize;
            rest.parents.push(if above == 0 { 0 } else { numbers[above - 1] });
            rest.names.push(self.names[at].clone());
            numbers[at] = rest.names.len() as u32;
        }
        let number = |script: &AssetScript| numbers.get((script.at as usize).wrapping_sub(1));
        let scripts = self.scripts.iter().filter_map(|script| {
            let at = *number(script)?;
            (at > 0).then(|| AssetScript { at, text: script.text.clone() })
        });
        rest.scripts = scripts.collect();
        Cow::Owned(rest)
    }

    /// Returns the fingerprint of these contents. It covers one line for each instance: its parent,
    /// its class, the length of its name in bytes, its name, and for a script the hash of its text.
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
    /// Creates an instance of `class` as the last child of `parent`.
    Create {
        /// The id that later commands use for the new instance.
        id: InstanceId,
        /// The parent of the new instance.
        parent: Target,
        /// The class of the new instance; it must be creatable.
        class: String,
        /// The name of the new instance.
        name: String,
        /// Properties that differ from the class's defaults.
        props: Props,
        /// The parent's fingerprint. Absent if this proposal creates the parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Copies an instance with its descendants as the last child of `parent`. References inside the
    /// copy point into the copy. The descendants take the ids after `id`, in depth-first order.
    Clone {
        /// The id that later commands use for the copy.
        id: InstanceId,
        /// The instance to copy.
        source: Target,
        /// The parent of the copy.
        parent: Target,
        /// The name of the copy.
        name: String,
        /// Number of instances in the copy.
        count: u32,
        /// The source's fingerprint.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Sets properties, attributes or tags, or renames the instance (the property `Name`).
    Set {
        /// The instance to change.
        target: Target,
        /// The new values.
        props: Props,
        /// The fingerprint over the properties that are set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Sets the same properties of many instances that were read from a place file, or restores
    /// their former values.
    SetMany {
        /// The closest common ancestor of the instances.
        target: Target,
        /// Number of instances.
        count: u32,
        /// The blob with the table of the instances: which they are, and their values of the
        /// properties in `props` before these were set.
        table: Fingerprint,
        /// The new values; if `restores` is set, the values that the instances have before this
        /// command.
        props: Props,
        /// Whether the instances get their values in the table.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        restores: bool,
    },
    /// Moves an instance to another parent.
    Move {
        /// The instance to move.
        target: Target,
        /// The new parent.
        parent: Target,
        /// Index among the new parent's children, from 0. If absent, the instance becomes the last
        /// child.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<u32>,
        /// The fingerprint over class and name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Deletes an instance with its descendants.
    Delete {
        /// The instance to delete.
        target: Target,
        /// Number of deleted instances, including the target itself.
        count: u32,
        /// The fingerprint over class and name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Restores a deleted subtree. Its instances take `id` and the ids after it, in depth-first
    /// order.
    Restore {
        /// The id that later commands use for the subtree's root. In an open place, the root's
        /// former id.
        id: InstanceId,
        /// The blob that holds the subtree: a binary model with one root. None in an open place,
        /// where the plugin keeps the deleted instances.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blob: Option<Fingerprint>,
        /// The parent of the restored root.
        parent: Target,
        /// Index among the parent's children, from 0. If absent, the root becomes the last child.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<u32>,
        /// The class of the subtree's root.
        class: String,
        /// The name of the subtree's root.
        name: String,
        /// Number of instances in the subtree.
        count: u32,
    },
    /// Inserts an asset as the last children of `parent`. Its instances take `id` and the ids after
    /// it, in the order of `contents` without those that are left out.
    Insert {
        /// The id that later commands use for the asset's first root.
        id: InstanceId,
        /// The asset's id on Roblox.
        asset: u64,
        /// The parent of the asset's roots.
        parent: Target,
        /// The asset's contents when the command was planned. The target refuses the command if
        /// they have changed since.
        contents: AssetContents,
        /// The instances of `contents` that are not inserted, by their numbers from 1, ascending.
        /// Their descendants are not inserted either.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        left_out: Vec<u32>,
        /// The sandbox of the scripts that are kept. None if they run like any other script.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        sandbox: Option<ScriptSandbox>,
        /// The blob that holds the asset as it was downloaded. None in an open place, where Studio
        /// loads it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        blob: Option<Fingerprint>,
        /// The parent's fingerprint. Absent if this proposal creates the parent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expect: Option<Fingerprint>,
    },
    /// Edits a script's text.
    EditScript {
        /// The script to edit.
        target: Target,
        /// The edits, sorted and not overlapping. All positions refer to the text before the first
        /// edit.
        edits: Vec<TextEdit>,
        /// The fingerprint of the text before the edits.
        expect: Fingerprint,
    },
    /// Edits the project's memory, a text stored next to the place and not in it.
    EditMemory {
        /// The place: `game`.
        target: Target,
        /// The edits, sorted and not overlapping. All positions refer to the text before the first
        /// edit.
        edits: Vec<TextEdit>,
        /// The fingerprint of the text before the edits. If there is no memory yet, that of the
        /// empty text.
        expect: Fingerprint,
    },
}

impl Command {
    /// Returns the instance that the command changes or copies, the parent of the one it creates,
    /// restores or inserts, or the closest common ancestor of many that it changes.
    pub fn target(&self) -> &Target {
        match self {
            Self::Create { parent, .. }
            | Self::Restore { parent, .. }
            | Self::Insert { parent, .. } => parent,
            Self::Clone { source, .. } => source,
            Self::Set { target, .. }
            | Self::SetMany { target, .. }
            | Self::Move { target, .. }
            | Self::Delete { target, .. }
            | Self::EditScript { target, .. }
            | Self::EditMemory { target, .. } => target,
        }
    }

    /// Returns the blob that a command reads and its plan wrote: a table, or an asset.
    pub fn planned_blob(&self) -> Option<&Fingerprint> {
        match self {
            Self::SetMany { table, .. } => Some(table),
            Self::Insert { blob, .. } => blob.as_ref(),
            _ => None,
        }
    }

    /// Returns the table that a command over many instances names.
    pub fn table(&self) -> Option<&Fingerprint> {
        match self {
            Self::SetMany { table, .. } => Some(table),
            _ => None,
        }
    }

    /// Returns the number of instances that a command over many changes; None for another command.
    pub fn member_count(&self) -> Option<u32> {
        match self {
            Self::SetMany { count, .. } => Some(*count),
            _ => None,
        }
    }

    /// Returns the number of the first instance that the command creates in its proposal. None if
    /// it creates none, or if its id is not `new:K`.
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

    /// Whether the command edits the project's memory instead of the place.
    pub fn is_memory(&self) -> bool {
        matches!(self, Self::EditMemory { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::{AssetContents, AssetFinding, AssetFindingKind, AssetScript};

    fn contents(parents: &[u32]) -> AssetContents {
        AssetContents {
            classes: vec!["Model".to_owned(), "Script".to_owned()],
            class: parents.iter().map(|parent| u32::from(*parent > 0)).collect(),
            parents: parents.to_vec(),
            names: parents.iter().map(|parent| format!("below {parent}")).collect(),
            scripts: Vec::new(),
            findings: None,
        }
    }

    #[test]
    fn asset_contents_must_be_listed_depth_first() {
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
    fn findings_of_old_ledgers_are_about_code() {
        let old = r#"{"at":3,"text":"Line 1 requires a module."}"#;
        let found: AssetFinding = serde_json::from_str(old).unwrap();
        assert_eq!((found.at, found.kind), (3, AssetFindingKind::Code));
        assert_eq!(serde_json::to_string(&found).unwrap(), old);
        let content = AssetFinding { kind: AssetFindingKind::Content, ..found };
        let written = serde_json::to_string(&content).unwrap();
        assert_eq!(serde_json::from_str::<AssetFinding>(&written).unwrap(), content);
    }

    #[test]
    fn asset_fingerprint_changes_with_its_contents() {
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
