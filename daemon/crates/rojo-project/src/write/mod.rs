//! From a changed scene to changed files: the other direction of the reader.
//!
//! A plan does not follow the commands. It compares where each instance is now with where its file
//! is, and says what has to become of the files so that the project is read as the scene is. What no
//! file can hold is refused. Nothing is written here but by [`journal`]; that the files give the scene
//! indeed is looked at by whoever reads the project again.
//!
//! The way is `settle` (instances that came or stand elsewhere) -> `gone` -> `props` (texts, properties)
//! -> `model` (model files that hold what changed) -> `files` -> `journal`.

mod case_rename;
mod delete;
mod file_names;
mod files;
pub(super) mod journal;
mod json;
mod model;
mod props;
mod restructure;
pub(super) mod rollback;
mod text;
mod value_json;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rbx_types::Variant;
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) use self::files::PlannedChanges;
use scene_schemas::refusal::{Refusal, refuse};
use vector_place::{Node, Scene};

use self::files::PlannedFiles;
use super::glob::is_ignored;
use super::middleware::FileMiddleware;
use super::reader::FileRules;
use super::tree::{InstanceOrigin, ProjectInstance, ProjectTree};

/// The stored properties that were set since the project was read, by instance.
pub(super) type TouchedProperties = BTreeMap<Node, BTreeSet<&'static str>>;

/// What has to become of a project's files so that they give a scene. `nodes` are the instances of
/// the tree in the scene.
///
/// # Errors
/// What no file can hold, and what to do instead.
pub(super) fn plan_changes(
    tree: &ProjectTree,
    nodes: &[Node],
    scene: &Scene,
    touched: &TouchedProperties,
) -> Result<PlannedChanges, Refusal> {
    let mut writer = ChangePlanner::new(tree, nodes, scene, touched);
    writer.restructure_files()?;
    writer.remove_deleted()?;
    writer.write_properties()?;
    writer.write_models()?;
    writer.move_metas()?;
    let kept = std::mem::take(&mut writer.retained);
    Ok(PlannedChanges { retained: kept, ..writer.files.finish()? })
}

/// A plan in the making.
struct ChangePlanner<'a> {
    tree: &'a ProjectTree,
    nodes: &'a [Node],
    scene: &'a Scene,
    touched: &'a TouchedProperties,
    /// The instances of the tree by their nodes, but for those that leave their files and are written
    /// anew elsewhere.
    known: FxHashMap<Node, u32>,
    /// The instances of each file and folder.
    instances_by_path: FxHashMap<PathBuf, Vec<u32>>,
    files: PlannedFiles,
    /// The folders of instances whose folder is new or another one now.
    folders: FxHashMap<Node, PathBuf>,
    /// What is written as part of a model file.
    new_parts: FxHashSet<Node>,
    /// Instances that are part of the tree and whose files go.
    detached: Vec<u32>,
    /// The roots of model files that hold something that changed.
    models: BTreeSet<u32>,
    /// What nodes mount that go, and stays.
    retained: Vec<PathBuf>,
    moved_metas: Vec<MovedMeta>,
    /// Where the meta files of moved scripts will be.
    moved_meta_paths: FxHashMap<Node, PathBuf>,
    /// What the texts of new scripts are called: `luau` or `lua`.
    extension: &'static str,
}

/// Meta files that go where their script goes.
struct MovedMeta {
    /// The script's file, and the name that it had.
    file: PathBuf,
    name: String,
    /// The new meta file, without `.json`; none where the script goes.
    to: Option<PathBuf>,
}

/// What children of an instance become.
enum ChildLocation {
    /// Files in a folder.
    Folder(PathBuf),
    /// Parts of a model file, by its root.
    Model(u32),
}

impl<'a> ChangePlanner<'a> {
    fn new(
        tree: &'a ProjectTree,
        nodes: &'a [Node],
        scene: &'a Scene,
        touched: &'a TouchedProperties,
    ) -> Self {
        let mut instances_by_path: FxHashMap<PathBuf, Vec<u32>> = FxHashMap::default();
        let (mut lua, mut luau) = (0, 0);
        for (number, instance) in (0..).zip(&tree.instances) {
            if let Some(path) = own_path(&instance.origin) {
                instances_by_path.entry(path.to_owned()).or_default().push(number);
            }
            match text_file(&instance.origin).and_then(Path::extension) {
                Some(end) if end == "lua" => lua += 1,
                Some(end) if end == "luau" => luau += 1,
                _ => {}
            }
        }
        Self {
            tree,
            nodes,
            scene,
            touched,
            known: nodes.iter().copied().zip(0..).collect(),
            instances_by_path,
            files: PlannedFiles::new(&tree.folder, &tree.boundary),
            folders: FxHashMap::default(),
            new_parts: FxHashSet::default(),
            detached: Vec::new(),
            models: BTreeSet::new(),
            retained: Vec::new(),
            moved_metas: Vec::new(),
            moved_meta_paths: FxHashMap::default(),
            extension: if lua > luau { "lua" } else { "luau" },
        }
    }

    fn instance_at(&self, number: u32) -> &'a ProjectInstance {
        &self.tree.instances[number as usize]
    }

    fn node_at(&self, number: u32) -> Node {
        self.nodes[number as usize]
    }

    /// The instance's path in the words of a person.
    fn path_text(&self, node: Node) -> String {
        self.scene.path(node).to_string()
    }

    /// A file relative to the project, as a person writes it.
    fn display_path(&self, file: &Path) -> String {
        file.strip_prefix(&self.tree.folder).unwrap_or(file).display().to_string()
    }

    /// A stored property; none where it has its default.
    fn stored_property(&self, node: Node, name: &str) -> Option<Variant> {
        self.scene.stored_variant(node, name)
    }

    /// Whether a file or folder is one instance alone: what is done to it would be done to all.
    fn check_unshared(&self, number: u32) -> Result<(), Refusal> {
        let origin = &self.instance_at(number).origin;
        let Some(path) = own_path(origin) else { return Ok(()) };
        let all = self.instances_by_path.get(path).map_or(&[][..], Vec::as_slice);
        if all.len() < 2 {
            return Ok(());
        }
        refuse!(
            "{} is mounted in several places, all of which would change: {}. Change the file by hand, \
             or mount it once.",
            self.display_path(path),
            self.list_paths(all)
        )
    }

    fn list_paths(&self, numbers: &[u32]) -> String {
        let live = numbers.iter().map(|number| self.node_at(*number));
        let paths: Vec<String> = live
            .filter(|node| self.scene.is_live(*node))
            .map(|node| self.path_text(node))
            .collect();
        paths.join(", ")
    }

    /// The root of the model file that an instance is part of.
    fn model_root(&self, number: u32) -> u32 {
        let mut root = number;
        while let InstanceOrigin::Model { at, .. } = &self.instance_at(root).origin
            && !at.is_empty()
            && let Some(parent) = self.instance_at(root).parent
        {
            root = parent;
        }
        root
    }

    /// What holds for files below an instance: the rules by which the nearest folder was read.
    fn rules_below(&self, node: Node) -> FileRules {
        let mut at = Some(node);
        let above = std::iter::from_fn(|| {
            let node = at?;
            at = self.scene.parent(node);
            Some(node)
        });
        let mut folders = above.filter_map(|node| self.known.get(&node)).filter(|number| {
            matches!(self.instance_at(**number).origin, InstanceOrigin::Folder { .. })
        });
        let rules = folders.find_map(|number| {
            let rules = self.tree.notes.get(*number as usize)?.rules;
            self.tree.rules.get(rules as usize)
        });
        rules.cloned().unwrap_or_default()
    }

    /// Whether a file that is to be is read as what is meant, and a folder, or a meta file, as nothing
    /// else.
    fn check_read_back(
        &self,
        below: Option<Node>,
        path: &Path,
        wanted: Option<(FileMiddleware, &str)>,
    ) -> Result<(), Refusal> {
        let rules = self.rules_below(below.unwrap_or_else(|| self.scene.root()));
        if is_ignored(&rules.ignores, path) {
            return refuse!(
                "A glob of `globIgnorePaths` leaves out {}; choose another name or place.",
                self.display_path(path)
            );
        }
        let file_name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let is_other = match (rules.syncs.iter().find(|rule| rule.matches(path)), wanted) {
            (Some(rule), wanted) => {
                Some((rule.middleware, rule.instance_name(file_name))) != wanted
            }
            (None, Some(wanted)) => FileMiddleware::from_file_name(file_name) != Some(wanted),
            (None, None) => false,
        };
        if is_other {
            return refuse!(
                "Rojo would read {} as something else; choose another name.",
                self.display_path(path)
            );
        }
        Ok(())
    }
}

/// The file or folder that is all of an instance.
fn own_path(origin: &InstanceOrigin) -> Option<&Path> {
    match origin {
        InstanceOrigin::File { file, .. } => Some(file),
        InstanceOrigin::Folder { folder, .. } => Some(folder),
        InstanceOrigin::Model { file, at, .. } => at.is_empty().then_some(file),
        InstanceOrigin::Node { .. } => None,
    }
}

/// The file that has a script's text, or another one's content.
fn text_file(origin: &InstanceOrigin) -> Option<&Path> {
    match origin {
        InstanceOrigin::File { file, .. } => Some(file),
        InstanceOrigin::Folder { init, .. } => init.as_deref(),
        InstanceOrigin::Model { .. } | InstanceOrigin::Node { .. } => None,
    }
}

/// The project file and the names of the node that an instance is, or is mounted by.
fn mount_node(origin: &InstanceOrigin) -> Option<(&Path, &[String])> {
    match origin {
        InstanceOrigin::Node { project, names } => Some((project, names)),
        InstanceOrigin::File { mounted, .. }
        | InstanceOrigin::Folder { mounted, .. }
        | InstanceOrigin::Model { mounted, .. } => {
            mounted.as_ref().map(|(project, names)| (project.as_path(), names.as_slice()))
        }
    }
}

#[cfg(test)]
mod tests;
