//! Opening of a project: locating its project file, determining its boundary, and full or
//! incremental reading.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use rustc_hash::{FxHashMap, FxHashSet};
use vector_files::disk::canonical_path;
use vector_files::place_file::PlaceError;

use super::bounded_read::read_file;
use super::build_tree::{PreviousInstances, TreeBuilder, resolve_references};
use super::previous_tree::PreviousTree;
use super::project::{self, DEFAULT_NAMES};
use super::reader::{FileRules, ProjectReader, RealPath, normalize_path};
use super::snapshot::InstanceSnapshot;
use super::tree::{ProjectDiagnostic, ProjectInstance, ProjectTree};

/// A project file name that Rojo refuses but Vector accepts.
const UNUSUAL_NAME: &str = "rojo.json";

/// The stack size of the reader thread. The reader recurses into nested folders.
const STACK_BYTES: usize = 64 << 20;

/// The reason why a project could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    #[error(
        "there is no Rojo project at {0}: name a project file, or a folder with a \
         default.project.json"
    )]
    NotFound(PathBuf),
    #[error("the project {0} cannot be read: {1}")]
    Io(PathBuf, io::Error),
    /// The file is not a valid project.
    #[error("the project {0} cannot be read: {1}")]
    Invalid(PathBuf, String),
}

impl From<ProjectError> for PlaceError {
    fn from(error: ProjectError) -> Self {
        match error {
            ProjectError::NotFound(path) => Self::NoProject(path),
            ProjectError::Io(path, why) => Self::Project(path, why.to_string()),
            ProjectError::Invalid(path, why) => Self::Project(path, why),
        }
    }
}

impl ProjectTree {
    /// Reads a project, given a project file or a folder that contains one.
    ///
    /// # Errors
    /// Fails if there is no project, or if the project file itself is faulty.
    pub fn read(path: &Path) -> Result<Self, ProjectError> {
        let project = find_project_file(path)?;
        let folder = project.parent().unwrap_or(&project).to_owned();
        let boundary = path_boundary(&folder);
        let mut tree = Self { folder, project, boundary, ..Self::default() };
        tree.reload(&[])?;
        Ok(tree)
    }

    /// Reads what changed since the last reading. `changed` holds the paths of files and folders
    /// that were created, removed or modified, absolute like [`ProjectTree::folder`]. The result
    /// equals that of a full reading.
    ///
    /// # Errors
    /// Fails like [`ProjectTree::read`] and leaves the tree as it was.
    pub fn update(&mut self, changed: &[PathBuf]) -> Result<TreeUpdate, ProjectError> {
        if changed.is_empty() {
            return Ok(TreeUpdate::default());
        }
        let changed: Vec<PathBuf> = changed.iter().map(|path| normalize_path(path)).collect();
        match self.reload(&changed)? {
            // This should never happen, but an inconsistent tree must not be used.
            torn if torn.is_full_reload => self.reload_all(),
            changed => Ok(changed),
        }
    }

    /// Reads the project. If it was read before, unchanged parts are kept.
    fn reload(&mut self, changed: &[PathBuf]) -> Result<TreeUpdate, ProjectError> {
        let file = self.project.clone();
        let failed = |error| ProjectError::Io(file.clone(), error);
        let bytes = read_file(&file).map_err(failed)?;
        let project = project::parse_project(&bytes, &file)
            .map_err(|why| ProjectError::Invalid(file.clone(), why))?;
        let place = RealPath::from_path(file.clone());
        let name = default_name(&file);
        thread::scope(|scope| {
            let work = || {
                let mut reader = ProjectReader::new(&self.folder, &self.boundary, &self.project);
                reader.rules.clone_from(&self.rules);
                if !self.instances.is_empty() {
                    reader.previous = Some(PreviousTree::new(self, changed));
                    reader.links.clone_from(&self.links);
                    reader.mounts.clone_from(&self.mounts);
                }
                let root = reader.read_nodes(&place, project, &name, &FileRules::default());
                let Some(root) = root else {
                    let why = reader.faults.into_iter().next();
                    let why =
                        why.map_or_else(|| "it has no instances".to_owned(), |it| it.1.message);
                    return Err(ProjectError::Invalid(place.path, why));
                };
                let ProjectReader {
                    faults,
                    visited,
                    reused_folders: known,
                    rules,
                    links,
                    mounts,
                    ..
                } = reader;
                self.rules = rules;
                self.links = unique_pairs(links);
                self.mounts = unique_pairs(mounts);
                self.merge_faults(faults, &visited, &known);
                Ok(self.replace_root(root))
            };
            let thread = thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work);
            let ended = thread.map_err(failed)?.join();
            ended.unwrap_or_else(|_| Err(failed(io::Error::other("the reader stopped"))))
        })
    }

    fn reload_all(&mut self) -> Result<TreeUpdate, ProjectError> {
        *self = Self::read(&self.project)?;
        let changed = (0..self.instances.len() as u32).collect();
        Ok(TreeUpdate { is_full_reload: true, changed, ..TreeUpdate::default() })
    }

    /// Replaces the tree with what was read, and returns the difference.
    fn replace_root(&mut self, root: InstanceSnapshot) -> TreeUpdate {
        let instances = std::mem::take(&mut self.instances);
        let mut stock = PreviousInstances::new(instances, std::mem::take(&mut self.notes));
        let mut grown = TreeBuilder::default();
        grown.add_snapshot(root, None, None, &mut stock);
        let TreeBuilder { instances, notes, mut new, renamed, is_inconsistent: is_torn, .. } =
            grown;
        (self.instances, self.notes) = (instances, notes);
        let holders = resolve_references(self);
        let mut were: FxHashMap<String, Option<ProjectInstance>> =
            stock.into_remaining().map(|instance| (instance.key.clone(), Some(instance))).collect();
        for (number, was) in renamed {
            new.push(number);
            were.insert(was, None);
        }
        new.sort_unstable();
        let mut changed = TreeUpdate { is_full_reload: is_torn, ..TreeUpdate::default() };
        for number in new {
            let instance = &self.instances[number as usize];
            match were.remove(&instance.key) {
                None => changed.added.push(number),
                Some(Some(was)) if is_same_instance(&was, instance) => {}
                Some(_) => changed.changed.push(number),
            }
        }
        changed.removed = were.into_keys().collect();
        changed.removed.sort();
        if !changed.added.is_empty() || !changed.removed.is_empty() || !changed.changed.is_empty() {
            changed.changed.extend(holders.iter().filter(|it| !changed.added.contains(it)));
            changed.changed.sort_unstable();
            changed.changed.dedup();
        }
        changed
    }

    /// Keeps the faults of entries that were not read again and still exist.
    fn merge_faults(
        &mut self,
        found: Vec<(PathBuf, ProjectDiagnostic)>,
        visited: &FxHashSet<PathBuf>,
        known: &FxHashSet<PathBuf>,
    ) {
        let nearest = |entry: &PathBuf| {
            entry.ancestors().skip(1).find(|above| visited.contains(*above)).map(Path::to_owned)
        };
        let should_keep = |(entry, _): &(PathBuf, ProjectDiagnostic)| {
            !visited.contains(entry)
                && nearest(entry).is_some_and(|folder| known.contains(&folder))
                && std::fs::symlink_metadata(entry).is_ok()
        };
        self.faults.retain(should_keep);
        self.faults.extend(found);
        self.faults.sort();
        self.faults.dedup();
        self.diagnostics = self.faults.iter().map(|(_, diagnostic)| diagnostic.clone()).collect();
        self.diagnostics.sort();
        self.diagnostics.dedup();
    }
}

fn unique_pairs(mut pairs: Vec<(PathBuf, PathBuf)>) -> Vec<(PathBuf, PathBuf)> {
    pairs.sort();
    pairs.dedup();
    pairs
}

/// The difference that an update made.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct TreeUpdate {
    /// The numbers of the added instances, in order.
    pub added: Vec<u32>,
    /// The numbers of the instances whose class, name, properties or origin changed, in order. An
    /// instance that refers to others by attributes may be listed without a change.
    pub changed: Vec<u32>,
    /// The keys of the removed instances, sorted.
    pub removed: Vec<String>,
    /// Whether the whole project was read again. Added and removed instances are then unknown, and
    /// all instances are listed in `changed`.
    pub is_full_reload: bool,
}

/// Whether two instances with the same key are equal. Parent and child numbers are not compared.
fn is_same_instance(a: &ProjectInstance, b: &ProjectInstance) -> bool {
    a.name == b.name
        && a.class == b.class
        && a.ignores_unknown == b.ignores_unknown
        && a.origin == b.origin
        && a.properties == b.properties
}

/// Finds the project file for a path; the result is absolute and free of symlinks.
pub(super) fn find_project_file(path: &Path) -> Result<PathBuf, ProjectError> {
    let not_found = || ProjectError::NotFound(path.to_owned());
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let real = canonical_path(path).map_err(|_| not_found())?;
    if real.is_file() {
        return Ok(real);
    }
    let names = DEFAULT_NAMES.into_iter().chain([UNUSUAL_NAME]);
    names.map(|name| real.join(name)).find(|file| file.is_file()).ok_or_else(not_found)
}

/// Returns the folder that links and paths may not leave: the enclosing repository, or `folder`.
fn path_boundary(folder: &Path) -> PathBuf {
    let repository = folder.ancestors().find(|folder| folder.join(".git").exists());
    repository.unwrap_or(folder).to_owned()
}

/// Returns the name of a project whose file does not specify one.
fn default_name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".project.json", ".project.jsonc", ".json"];
    let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    name.to_owned()
}
