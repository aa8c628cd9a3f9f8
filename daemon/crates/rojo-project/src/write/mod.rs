//! Planning of file changes from a changed scene: the reverse of the reader.
//!
//! A plan does not follow the commands. It compares the place of each instance in the scene with
//! the place of its file, and determines the file changes after which the project reads as the
//! scene. Changes that no file can hold are refused. Only [`journal`] writes anything. The caller
//! reads the project again to verify the result.
//!
//! The order is `restructure` (instances that are new, moved or renamed) -> `delete` -> `props`
//! (texts and properties) -> `model` (model files with changes) -> `files` -> `journal`.

mod case_rename;
mod delete;
mod file_names;
mod files;
pub(super) mod journal;
mod json;
mod model;
mod moved_folder;
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

/// Plans the changes of a project's files so that they produce a scene. `nodes` are the tree's
/// instances in the scene.
///
/// # Errors
/// Returns what no file can hold, and what to do instead.
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

/// A plan under construction.
struct ChangePlanner<'a> {
    tree: &'a ProjectTree,
    nodes: &'a [Node],
    scene: &'a Scene,
    touched: &'a TouchedProperties,
    /// The instances of the tree by node, without those that leave their files and are written
    /// elsewhere.
    known: FxHashMap<Node, u32>,
    instances_by_path: FxHashMap<PathBuf, Vec<u32>>,
    files: PlannedFiles,
    /// The folders of instances whose folder is new or has moved.
    folders: FxHashMap<Node, PathBuf>,
    /// Instances that are written as part of a model file.
    new_parts: FxHashSet<Node>,
    /// Instances of the tree whose files are removed.
    detached: Vec<u32>,
    /// The roots of model files with changes.
    models: BTreeSet<u32>,
    /// The paths that stay on the disk although the nodes that mount them are removed.
    retained: Vec<PathBuf>,
    moved_metas: Vec<MovedMeta>,
    /// The new paths of the meta files of moved scripts, without extension.
    moved_meta_paths: FxHashMap<Node, PathBuf>,
    /// The extension of new scripts: `luau` or `lua`.
    extension: &'static str,
}

/// The meta files of a script that is moved or removed.
struct MovedMeta {
    /// The file of the script, and its previous name.
    file: PathBuf,
    name: String,
    /// The new path of the meta file without `.json`; None if the script is removed.
    to: Option<PathBuf>,
}

/// The place for the children of an instance.
enum ChildLocation {
    /// Files in a folder.
    Folder(PathBuf),
    /// Parts of a model file, given by its root.
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

    /// Formats the path of an instance for the user.
    fn path_text(&self, node: Node) -> String {
        self.scene.path(node).to_string()
    }

    /// Formats a file path for the user, relative to the project folder.
    fn display_path(&self, file: &Path) -> String {
        file.strip_prefix(&self.tree.folder).unwrap_or(file).display().to_string()
    }

    /// Returns a stored property; None if it has its default value.
    fn stored_property(&self, node: Node, name: &str) -> Option<Variant> {
        self.scene.stored_variant(node, name)
    }

    /// Checks that a file or folder belongs to one instance only; a change to it would affect all
    /// of them.
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
        let nodes = numbers.iter().map(|number| self.node_at(*number));
        let paths: Vec<String> = nodes
            .filter(|node| self.scene.is_live(*node))
            .map(|node| self.path_text(node))
            .collect();
        paths.join(", ")
    }

    /// Returns the root of the model file that an instance is part of.
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

    /// Returns the rules for files below an instance: those by which the nearest folder was read.
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

    /// Checks that Rojo would read a new file as `wanted`. `wanted` is None for a folder or a meta
    /// file, which no sync rule may match.
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

/// Returns the file or folder that makes up the whole instance.
fn own_path(origin: &InstanceOrigin) -> Option<&Path> {
    match origin {
        InstanceOrigin::File { file, .. } => Some(file),
        InstanceOrigin::Folder { folder, .. } => Some(folder),
        InstanceOrigin::Model { file, at, .. } => at.is_empty().then_some(file),
        InstanceOrigin::Node { .. } => None,
    }
}

/// Returns the file with the text of a script, or with the content of another kind of instance.
fn text_file(origin: &InstanceOrigin) -> Option<&Path> {
    match origin {
        InstanceOrigin::File { file, .. } => Some(file),
        InstanceOrigin::Folder { init, .. } => init.as_deref(),
        InstanceOrigin::Model { .. } | InstanceOrigin::Node { .. } => None,
    }
}

/// Returns the project file and the node names, if the instance is a node or is mounted by one.
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
