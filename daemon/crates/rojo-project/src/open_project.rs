//! Opening a project: which file it is, how far it reaches, and reading it as a whole or again.

use std::io;
use std::path::{Path, PathBuf};
use std::thread;

use rustc_hash::{FxHashMap, FxHashSet};
use vector_files::place_file::PlaceError;

use super::bounded_read::read_file;
use super::build_tree::{PreviousInstances, TreeBuilder, resolve_references};
use super::previous_tree::PreviousTree;
use super::project::{self, DEFAULT_NAMES};
use super::reader::{FileRules, ProjectReader, RealPath, normalize_path};
use super::snapshot::InstanceSnapshot;
use super::tree::{ProjectDiagnostic, ProjectInstance, ProjectTree};

/// A project file that Rojo refuses by its name, and that we read.
const UNUSUAL_NAME: &str = "rojo.json";

/// The reader calls itself for what stands in a folder.
const STACK_BYTES: usize = 64 << 20;

/// Why a project could not be read at all.
#[derive(Debug, thiserror::Error)]
pub enum ProjectError {
    /// There is no project file.
    #[error(
        "there is no Rojo project at {0}: name a project file, or a folder with a \
         default.project.json"
    )]
    NotFound(PathBuf),
    /// It could not be read.
    #[error("the project {0} cannot be read: {1}")]
    Io(PathBuf, io::Error),
    /// It is no project.
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
    /// Reads a project: a project file, or a folder that has one.
    ///
    /// # Errors
    /// There is no project, or the project file itself is wrong.
    pub fn read(path: &Path) -> Result<Self, ProjectError> {
        let project = find_project_file(path)?;
        let folder = project.parent().unwrap_or(&project).to_owned();
        let boundary = path_boundary(&folder);
        let mut tree = Self { folder, project, boundary, ..Self::default() };
        tree.reload(&[])?;
        Ok(tree)
    }

    /// Reads what changed since it was read, by the paths of files and folders that came, went or are
    /// others now, absolute as [`Tree::folder`] is. What a full reading would give comes of it.
    ///
    /// # Errors
    /// As [`Tree::read`]; the tree is as it was.
    pub fn update(&mut self, changed: &[PathBuf]) -> Result<TreeUpdate, ProjectError> {
        if changed.is_empty() {
            return Ok(TreeUpdate::default());
        }
        let changed: Vec<PathBuf> = changed.iter().map(|path| normalize_path(path)).collect();
        match self.reload(&changed)? {
            // It never happens, but a tree that lacks something is no tree.
            torn if torn.is_full_reload => self.reload_all(),
            changed => Ok(changed),
        }
    }

    /// Reads the project; where it was read before, what did not change stays.
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

    /// Reads all of it anew.
    fn reload_all(&mut self) -> Result<TreeUpdate, ProjectError> {
        *self = Self::read(&self.project)?;
        let changed = (0..self.instances.len() as u32).collect();
        Ok(TreeUpdate { is_full_reload: true, changed, ..TreeUpdate::default() })
    }

    /// Puts what was read into the place of what was.
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

    /// Keeps what was wrong with entries that were not read again and are still there.
    fn merge_faults(
        &mut self,
        found: Vec<(PathBuf, ProjectDiagnostic)>,
        visited: &FxHashSet<PathBuf>,
        known: &FxHashSet<PathBuf>,
    ) {
        let nearest = |entry: &PathBuf| {
            entry.ancestors().skip(1).find(|above| visited.contains(*above)).map(Path::to_owned)
        };
        let stays = |(entry, _): &(PathBuf, ProjectDiagnostic)| {
            !visited.contains(entry)
                && nearest(entry).is_some_and(|folder| known.contains(&folder))
                && std::fs::symlink_metadata(entry).is_ok()
        };
        self.faults.retain(stays);
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

/// What an update changed.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct TreeUpdate {
    /// The numbers of the instances that came, in order.
    pub added: Vec<u32>,
    /// The numbers of those that have another class, name, property or origin now, in order. One that
    /// refers to others by attributes may be among them without a change of its own.
    pub changed: Vec<u32>,
    /// The keys of those that went, sorted.
    pub removed: Vec<String>,
    /// Whether all was read anew: then nobody knows which came and which went, and all are `changed`.
    pub is_full_reload: bool,
}

/// Whether an instance says the same of itself. References by number are not compared.
fn is_same_instance(a: &ProjectInstance, b: &ProjectInstance) -> bool {
    a.name == b.name
        && a.class == b.class
        && a.ignores_unknown == b.ignores_unknown
        && a.origin == b.origin
        && a.properties == b.properties
}

/// The project file that is meant, absolute and without links.
pub(super) fn find_project_file(path: &Path) -> Result<PathBuf, ProjectError> {
    let not_found = || ProjectError::NotFound(path.to_owned());
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    let real = std::fs::canonicalize(path).map_err(|_| not_found())?;
    if real.is_file() {
        return Ok(real);
    }
    let names = DEFAULT_NAMES.into_iter().chain([UNUSUAL_NAME]);
    names.map(|name| real.join(name)).find(|file| file.is_file()).ok_or_else(not_found)
}

/// How far links and paths may lead.
fn path_boundary(folder: &Path) -> PathBuf {
    let repository = folder.ancestors().find(|folder| folder.join(".git").exists());
    repository.unwrap_or(folder).to_owned()
}

/// The name of a project that gives none.
fn default_name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".project.json", ".project.jsonc", ".json"];
    let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    name.to_owned()
}
