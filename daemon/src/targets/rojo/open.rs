//! Opening a project: which file it is, how far it reaches, and reading it as a whole.

use std::io;
use std::path::{Path, PathBuf};

use super::grow::grow;
use super::project::{self, DEFAULT_NAMES};
use super::read::{Place, Reader, Rules};
use super::tree::Tree;

/// A project file that Rojo refuses by its name, and that we read.
const UNUSUAL_NAME: &str = "rojo.json";

/// The reader calls itself for what stands in a folder.
const STACK: usize = 64 << 20;

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
    Wrong(PathBuf, String),
}

impl Tree {
    /// Reads a project: a project file, or a folder that has one.
    ///
    /// # Errors
    /// There is no project, or the project file itself is wrong.
    pub fn read(path: &Path) -> Result<Self, ProjectError> {
        let file = Self::locate(path)?;
        let bytes = std::fs::read(&file).map_err(|error| ProjectError::Io(file.clone(), error))?;
        let project =
            project::parse(&bytes, &file).map_err(|why| ProjectError::Wrong(file.clone(), why))?;
        let folder = file.parent().unwrap_or(&file).to_owned();
        let boundary = boundary(&folder);
        let mut tree = Self { folder, boundary, project: file.clone(), ..Self::default() };
        let name = name_of(&file);
        let read = std::thread::scope(|scope| {
            let tree = &mut tree;
            let read = move || {
                let mut reader = Reader::new(&tree.folder, &tree.boundary);
                let root = reader.nodes(&Place::of(file), project, &name, &Rules::default());
                let mut diagnostics = std::mem::take(&mut reader.diagnostics);
                diagnostics.sort_by(|a, b| (&a.file, &a.message).cmp(&(&b.file, &b.message)));
                diagnostics.dedup();
                tree.diagnostics = diagnostics;
                root.map(|root| grow(tree, root)).is_some()
            };
            let thread = std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, read)?;
            thread.join().map_err(|_| io::Error::other("the reader stopped"))
        });
        match read {
            Ok(true) => Ok(tree),
            Ok(false) => {
                let why = tree.diagnostics.into_iter().next();
                let why = why.map_or_else(|| "it has no instances".to_owned(), |it| it.message);
                Err(ProjectError::Wrong(tree.project, why))
            }
            Err(error) => Err(ProjectError::Io(tree.project, error)),
        }
    }

    /// The project file that is meant, absolute and without links.
    ///
    /// # Errors
    /// There is none.
    pub fn locate(path: &Path) -> Result<PathBuf, ProjectError> {
        let not_found = || ProjectError::NotFound(path.to_owned());
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        let real = std::fs::canonicalize(path).map_err(|_| not_found())?;
        if real.is_file() {
            return Ok(real);
        }
        let names = DEFAULT_NAMES.into_iter().chain([UNUSUAL_NAME]);
        names.map(|name| real.join(name)).find(|file| file.is_file()).ok_or_else(not_found)
    }
}

/// How far links and paths may lead.
fn boundary(folder: &Path) -> PathBuf {
    let repository = folder.ancestors().find(|folder| folder.join(".git").exists());
    repository.unwrap_or(folder).to_owned()
}

/// The name of a project that gives none.
fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ends = [".project.json", ".project.jsonc", ".json"];
    let name = ends.iter().find_map(|end| name.strip_suffix(end)).unwrap_or(&name);
    name.to_owned()
}
