//! What a project gives: a tree of instances, each of which knows where it comes from.
//!
//! Nothing here reads a file. How files become instances is the reader's business, how instances
//! become files the writer's; this is what they both speak of.

use std::collections::BTreeMap;
use std::path::PathBuf;

use rbx_types::{Ref, Variant};

use super::reader::FileRules;

/// A project as it was read.
#[derive(Debug, Default)]
pub struct ProjectTree {
    /// The project's folder, absolute, with no link in it.
    pub folder: PathBuf,
    pub project: PathBuf,
    /// The instances, a parent before its children; the first is the root. Those of one parent stand
    /// in the order in which Rojo writes them.
    pub instances: Vec<ProjectInstance>,
    /// What was wrong with single files, sorted by file.
    pub diagnostics: Vec<ProjectDiagnostic>,
    /// How far links and paths may lead: the repository that the project is part of, or its folder.
    pub boundary: PathBuf,
    /// What the reader knows of the instances besides, one by one.
    pub(super) notes: Vec<InstanceNote>,
    /// The rules that folders were read by; notes name them by number.
    pub(super) rules: Vec<FileRules>,
    /// The links that were followed, and where they lead.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// The entries that are projects, and where their `$path`s lead.
    pub(super) mounts: Vec<(PathBuf, PathBuf)>,
    /// What was wrong, each with the file or folder that was being read.
    pub(super) faults: Vec<(PathBuf, ProjectDiagnostic)>,
}

/// In the place of rules: a folder that is reached by a link is read anew each time.
pub(super) const LINKED: u32 = u32::MAX;

/// What the reader knows of an instance besides.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct InstanceNote {
    /// The files that Rojo would list for it, in its order.
    pub(super) files: Vec<PathBuf>,
    /// What references call it.
    pub(super) id: Option<String>,
    /// Whether a property of it refers to an instance of the same model file.
    pub(super) has_references: bool,
    /// What stands in the folder that is its parent, where that is what it comes from.
    pub(super) entry: Option<PathBuf>,
    /// The rules that hold for what is in the folder; [`LINKED`] where a link leads to it.
    pub(super) rules: u32,
    /// Its key before it was made unique, where that had to be.
    pub(super) base_key: Option<String>,
}

/// An instance of a project.
#[derive(Debug, Clone, PartialEq)]
pub struct ProjectInstance {
    pub name: String,
    pub class: String,
    /// The number of its parent; none for the root.
    pub parent: Option<u32>,
    /// The numbers of its children, in order.
    pub children: Vec<u32>,
    /// Its properties as a file would store them, with `Attributes`, `Tags` and `Source` (its line
    /// ends LF, as Rojo has it). A reference is `Ref::some(number of the instance + 1)`.
    pub properties: BTreeMap<String, Variant>,
    /// Whether Rojo leaves alone what it does not know below this instance.
    pub ignores_unknown: bool,
    /// What tells it from all others, and stays the same when other files change: the file relative
    /// to the folder, or the file and the names below it.
    pub key: String,
    /// Where it comes from.
    pub origin: InstanceOrigin,
}

/// Where an instance comes from, and so where a change of it goes. Paths are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstanceOrigin {
    /// A node of a project file without `$path`.
    Node {
        project: PathBuf,
        /// The names from its tree's root; empty for the root itself.
        names: Vec<String>,
    },
    /// A file that is one instance: a script, a text, a table, generated data.
    File {
        file: PathBuf,
        /// The meta file that is read with it, whether or not it is there; none where none would be.
        meta: Option<PathBuf>,
        /// The node of a project file whose `$path` this is, with its names.
        mounted: Option<(PathBuf, Vec<String>)>,
    },
    /// A folder; what it is may be told by an `init` file in it.
    Folder {
        folder: PathBuf,
        /// The `init` file, where there is one.
        init: Option<PathBuf>,
        /// The `init.meta.json` of it, whether or not it is there.
        meta: PathBuf,
        /// The node of a project file whose `$path` this is, with its names.
        mounted: Option<(PathBuf, Vec<String>)>,
    },
    /// Part of a model file: `.model.json`, `.rbxm` or `.rbxmx`.
    Model {
        file: PathBuf,
        /// The way from the file's root, by positions among the children; empty for the root.
        at: Vec<u32>,
        /// The node of a project file whose `$path` this is, with its names.
        mounted: Option<(PathBuf, Vec<String>)>,
    },
}

/// Something that is wrong with a file of a project, which is otherwise read.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProjectDiagnostic {
    pub file: PathBuf,
    /// What is wrong, and what to do, in a sentence.
    pub message: String,
    /// Whether Rojo itself would refuse the whole project for it.
    pub is_fatal_to_rojo: bool,
}

/// How a property of a [`Tree`] refers to an instance of it.
pub fn reference_to(instance: u32) -> Ref {
    Ref::some(u128::from(instance) + 1)
}

/// The instance that a property of a [`Tree`] refers to.
pub fn instance_of(to: Ref) -> Option<u32> {
    vector_place::referent_number(to)
}
