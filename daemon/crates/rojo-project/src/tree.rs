//! The result of reading a project: a tree of instances, each with its origin.
//!
//! This module does no file access. The reader turns files into instances and the writer turns
//! instances into files; these are the types they share.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rbx_types::{Ref, Variant};

use super::reader::FileRules;

/// A project as it was read from disk.
#[derive(Debug, Default)]
pub struct ProjectTree {
    /// The project folder, absolute and free of symlinks.
    pub folder: PathBuf,
    pub project: PathBuf,
    /// The instances, parents before children; the first is the root. Siblings are in the order in
    /// which Rojo writes them.
    pub instances: Vec<ProjectInstance>,
    /// The faults of single files, sorted by file.
    pub diagnostics: Vec<ProjectDiagnostic>,
    /// The folder that links and paths may not leave: the enclosing repository, or the project
    /// folder.
    pub boundary: PathBuf,
    /// The reader's notes on the instances, one for each.
    pub(super) notes: Vec<InstanceNote>,
    /// The rules that folders were read by; [`InstanceNote::rules`] is an index into this list.
    pub(super) rules: Vec<FileRules>,
    /// The links that were followed, each with its target.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// The project entries, each with the target of one of its `$path`s.
    pub(super) mounts: Vec<(PathBuf, PathBuf)>,
    /// The faults, each with the file or folder that was being read.
    pub(super) faults: Vec<(PathBuf, ProjectDiagnostic)>,
}

/// The value of [`InstanceNote::rules`] for a folder that is reached through a link. Such a folder
/// is read again on every update.
pub(super) const LINKED: u32 = u32::MAX;

/// What the reader knows about an instance beyond its [`ProjectInstance`].
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct InstanceNote {
    /// The files that Rojo would list for the instance, in Rojo's order.
    pub(super) files: Vec<PathBuf>,
    /// The id by which references name the instance.
    pub(super) id: Option<String>,
    /// Whether a property refers to an instance of the same model file.
    pub(super) has_references: bool,
    /// The entry of the parent's folder that the instance was read from; None if it was not read
    /// from a folder entry.
    pub(super) entry: Option<PathBuf>,
    /// The index of the rules for the contents of the folder; [`LINKED`] if a link leads to it.
    pub(super) rules: u32,
    /// The key before it was made unique; None if it already was.
    pub(super) base_key: Option<String>,
}

/// An instance of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectInstance {
    pub name: String,
    pub class: String,
    /// The number of the parent; None for the root.
    pub parent: Option<u32>,
    /// The numbers of the children, in order.
    pub children: Vec<u32>,
    /// The properties as a file would store them, including `Attributes`, `Tags` and `Source` (with
    /// LF line endings, as in Rojo). A reference is `Ref::some(instance number + 1)`.
    pub properties: BTreeMap<String, Variant>,
    /// Whether Rojo leaves unknown instances below this one alone.
    pub ignores_unknown: bool,
    /// A unique key that stays the same when other files change: the path of the file relative to
    /// the project folder, or that path and the names of the nodes below it.
    pub key: String,
    pub origin: InstanceOrigin,
}

/// The source of an instance, and so the place where a change to it is written. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceOrigin {
    /// A node of a project file without `$path`.
    Node {
        project: PathBuf,
        /// The node names from the root of the file's tree; empty for the root itself.
        names: Vec<String>,
    },
    /// A file that is a single instance: a script, text, a localization table or generated data.
    File {
        file: PathBuf,
        /// The meta file that applies, whether or not it exists; None if no meta file can apply.
        meta: Option<PathBuf>,
        /// The project file and the node names, if the `$path` of a node leads here.
        mounted: Option<(PathBuf, Vec<String>)>,
    },
    /// A folder; an `init` file in it may define its class.
    Folder {
        folder: PathBuf,
        /// The `init` file, if there is one.
        init: Option<PathBuf>,
        /// The `init.meta.json` of the folder, whether or not it exists.
        meta: PathBuf,
        /// The project file and the node names, if the `$path` of a node leads here.
        mounted: Option<(PathBuf, Vec<String>)>,
    },
    /// Part of a model file: `.model.json`, `.rbxm` or `.rbxmx`.
    Model {
        file: PathBuf,
        /// The child indices that lead from the root of the file to the instance; empty for the
        /// root.
        at: Vec<u32>,
        /// The project file and the node names, if the `$path` of a node leads here.
        mounted: Option<(PathBuf, Vec<String>)>,
    },
}

/// A fault in one file of a project. The rest of the project is still read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProjectDiagnostic {
    pub file: PathBuf,
    /// The fault and its remedy, as one sentence.
    pub message: String,
    /// Whether Rojo itself would refuse the whole project because of the fault.
    pub is_fatal_to_rojo: bool,
}

/// Returns the reference by which properties of a [`ProjectTree`] refer to an instance.
pub fn reference_to(instance: u32) -> Ref {
    Ref::some(u128::from(instance) + 1)
}

/// Returns the number of the instance that a reference in a [`ProjectTree`] points to.
pub fn instance_of(to: Ref) -> Option<u32> {
    vector_place::referent_number(to)
}
