//! From a changed scene to changed files: the other direction of the reader.
//!
//! A plan does not follow the commands. It compares where each instance stands now with where its file
//! is, and says what has to become of the files so that the project is read as the scene is. What no
//! file can hold is refused. Nothing is written here but by [`journal`]; that the files give the scene
//! indeed is looked at by whoever reads the project again.
//!
//! The way is `settle` (instances that came or stand elsewhere) -> `gone` -> `props` (texts, properties)
//! -> `model` (model files that hold what changed) -> `files` -> `journal`.

pub(super) mod back;
mod case;
mod files;
mod gone;
pub(super) mod journal;
mod json;
mod model;
mod names;
mod props;
mod settle;
mod text;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use rbx_types::Variant;
use rustc_hash::{FxHashMap, FxHashSet};

pub(super) use self::files::Changes;
use scene_schemas::refusal::{Refusal, refuse};
use vector_place::{Node, Scene};

use self::files::Files;
use super::glob::is_ignored;
use super::middleware::Middleware;
use super::read::Rules;
use super::tree::{Instance, Origin, Tree};

/// The stored properties that were set since the project was read, by instance.
pub(super) type Touched = BTreeMap<Node, BTreeSet<&'static str>>;

/// What has to become of a project's files so that they give a scene. `nodes` are the instances of
/// the tree in the scene.
///
/// # Errors
/// What no file can hold, and what to do instead.
pub(super) fn plan(
    tree: &Tree,
    nodes: &[Node],
    scene: &Scene,
    touched: &Touched,
) -> Result<Changes, Refusal> {
    let mut writer = Writer::new(tree, nodes, scene, touched);
    writer.settle()?;
    writer.drop_gone()?;
    writer.set_all()?;
    writer.write_models()?;
    writer.move_metas()?;
    let kept = std::mem::take(&mut writer.kept);
    Ok(Changes { kept, ..writer.files.finish()? })
}

/// A plan in the making.
struct Writer<'a> {
    tree: &'a Tree,
    nodes: &'a [Node],
    scene: &'a Scene,
    touched: &'a Touched,
    /// The instances of the tree by their nodes, but for those that leave their files and are written
    /// anew elsewhere.
    known: FxHashMap<Node, u32>,
    /// The instances of each file and folder.
    sharing: FxHashMap<PathBuf, Vec<u32>>,
    files: Files,
    /// The folders of instances whose folder is new or another one now.
    folders: FxHashMap<Node, PathBuf>,
    /// What is written as part of a model file.
    parts: FxHashSet<Node>,
    /// Instances that are part of the tree and whose files go.
    left: Vec<u32>,
    /// The roots of model files that hold something that changed.
    models: BTreeSet<u32>,
    /// What nodes mount that go, and stays.
    kept: Vec<PathBuf>,
    metas: Vec<MovedMeta>,
    /// Where the meta files of moved scripts will be.
    meta_of: FxHashMap<Node, PathBuf>,
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
enum Home {
    /// Files in a folder.
    Folder(PathBuf),
    /// Parts of a model file, by its root.
    Model(u32),
}

impl<'a> Writer<'a> {
    fn new(tree: &'a Tree, nodes: &'a [Node], scene: &'a Scene, touched: &'a Touched) -> Self {
        let mut sharing: FxHashMap<PathBuf, Vec<u32>> = FxHashMap::default();
        let (mut lua, mut luau) = (0, 0);
        for (number, instance) in (0..).zip(&tree.instances) {
            if let Some(path) = path_of(&instance.origin) {
                sharing.entry(path.to_owned()).or_default().push(number);
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
            sharing,
            files: Files::new(&tree.folder, &tree.boundary),
            folders: FxHashMap::default(),
            parts: FxHashSet::default(),
            left: Vec::new(),
            models: BTreeSet::new(),
            kept: Vec::new(),
            metas: Vec::new(),
            meta_of: FxHashMap::default(),
            extension: if lua > luau { "lua" } else { "luau" },
        }
    }

    fn instance(&self, number: u32) -> &'a Instance {
        &self.tree.instances[number as usize]
    }

    fn node(&self, number: u32) -> Node {
        self.nodes[number as usize]
    }

    /// The instance's path in the words of a person.
    fn path(&self, node: Node) -> String {
        self.scene.path(node).to_string()
    }

    /// A file relative to the project, as a person writes it.
    fn show(&self, file: &Path) -> String {
        file.strip_prefix(&self.tree.folder).unwrap_or(file).display().to_string()
    }

    /// A stored property; none where it has its default.
    fn stored(&self, node: Node, name: &str) -> Option<Variant> {
        self.scene.stored_variant(node, name)
    }

    /// Whether a file or folder is one instance alone: what is done to it would be done to all.
    fn check_alone(&self, number: u32) -> Result<(), Refusal> {
        let origin = &self.instance(number).origin;
        let Some(path) = path_of(origin) else { return Ok(()) };
        let all = self.sharing.get(path).map_or(&[][..], Vec::as_slice);
        if all.len() < 2 {
            return Ok(());
        }
        refuse!(
            "{} is mounted in several places, all of which would change: {}. Change the file by hand, \
             or mount it once.",
            self.show(path),
            self.list(all)
        )
    }

    fn list(&self, numbers: &[u32]) -> String {
        let live = numbers.iter().map(|number| self.node(*number));
        let paths: Vec<String> =
            live.filter(|node| self.scene.is_live(*node)).map(|node| self.path(node)).collect();
        paths.join(", ")
    }

    /// The root of the model file that an instance is part of.
    fn model_root(&self, number: u32) -> u32 {
        let mut root = number;
        while let Origin::Model { at, .. } = &self.instance(root).origin
            && !at.is_empty()
            && let Some(parent) = self.instance(root).parent
        {
            root = parent;
        }
        root
    }

    /// What holds for files below an instance: the rules by which the nearest folder was read.
    fn rules(&self, node: Node) -> Rules {
        let mut at = Some(node);
        let above = std::iter::from_fn(|| {
            let node = at?;
            at = self.scene.parent(node);
            Some(node)
        });
        let mut folders = above
            .filter_map(|node| self.known.get(&node))
            .filter(|number| matches!(self.instance(**number).origin, Origin::Folder { .. }));
        let rules = folders.find_map(|number| {
            let rules = self.tree.notes.get(*number as usize)?.rules;
            self.tree.rules.get(rules as usize)
        });
        rules.cloned().unwrap_or_default()
    }

    /// Whether a file that is to be is read as what is meant, and a folder, or a meta file, as nothing
    /// else.
    fn check_read(
        &self,
        below: Option<Node>,
        path: &Path,
        wanted: Option<(Middleware, &str)>,
    ) -> Result<(), Refusal> {
        let rules = self.rules(below.unwrap_or_else(|| self.scene.root()));
        if is_ignored(&rules.ignores, path) {
            return refuse!(
                "A glob of `globIgnorePaths` leaves out {}; choose another name or place.",
                self.show(path)
            );
        }
        let file_name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        let is_other = match (rules.syncs.iter().find(|rule| rule.matches(path)), wanted) {
            (Some(rule), wanted) => Some((rule.middleware, rule.name(file_name))) != wanted,
            (None, Some(wanted)) => Middleware::of(file_name) != Some(wanted),
            (None, None) => false,
        };
        if is_other {
            return refuse!(
                "Rojo would read {} as something else; choose another name.",
                self.show(path)
            );
        }
        Ok(())
    }
}

/// The file or folder that is all of an instance.
fn path_of(origin: &Origin) -> Option<&Path> {
    match origin {
        Origin::File { file, .. } => Some(file),
        Origin::Folder { folder, .. } => Some(folder),
        Origin::Model { file, at, .. } => at.is_empty().then_some(file),
        Origin::Node { .. } => None,
    }
}

/// The file that has a script's text, or another one's content.
fn text_file(origin: &Origin) -> Option<&Path> {
    match origin {
        Origin::File { file, .. } => Some(file),
        Origin::Folder { init, .. } => init.as_deref(),
        Origin::Model { .. } | Origin::Node { .. } => None,
    }
}

/// The project file and the names of the node that an instance is, or is mounted by.
fn mount_of(origin: &Origin) -> Option<(&Path, &[String])> {
    match origin {
        Origin::Node { project, names } => Some((project, names)),
        Origin::File { mounted, .. }
        | Origin::Folder { mounted, .. }
        | Origin::Model { mounted, .. } => {
            mounted.as_ref().map(|(project, names)| (project.as_path(), names.as_slice()))
        }
    }
}

#[cfg(test)]
mod tests;
