//! The place argument of a command: a place file or a Rojo project.
//!
//! A folder or a JSON file is a project, anything else is a place.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::bail;
use scene_schemas::entry::AttachmentSnapshot;
use vector_core::planning_scene::PlanningScene;
use vector_engine::Target;
use vector_files::place_file::{self, PlaceFile};
use vector_ledger::Ledger;
use vector_place::{Node, Scene};
use vector_providers::http::CancelSwitch;
use vector_rojo_project::{ProjectError, RojoProject};

use super::terminal::{Terminal, print_status};
use crate::tasks::mentions::{FileAccess, RequestPlace, StudioAccess, gather_mentions};

/// The maximum number of reported project faults.
const MAX_FAULTS: usize = 10;

/// Whether a path is a project: a folder or a project file.
fn is_project(path: &Path) -> bool {
    let end = path.extension().and_then(|end| end.to_str());
    path.is_dir() || matches!(end, Some("json" | "jsonc"))
}

/// Reads the mentions in a request from the user's shell.
pub(super) fn read_mentions(
    text: &str,
    scene: &Scene,
    folder: Option<&Path>,
    ledger: &Ledger,
) -> anyhow::Result<Vec<AttachmentSnapshot>> {
    let reach = FileAccess::Shell;
    let place = RequestPlace {
        file_access: reach,
        folder,
        has_chips: false,
        has_output: false,
        studio: StudioAccess::Closed,
        ledger,
    };
    let mentions = gather_mentions(text, scene, place).map_err(anyhow::Error::msg)?;
    let read = mentions.read_pending(&CancelSwitch::new()).map_err(anyhow::Error::msg)?;
    Ok(read.attached)
}

/// The place that a command works on.
#[derive(Debug, Clone, Copy)]
pub(super) enum PlaceArg<'a> {
    Place(&'a Path),
    /// A project file, or the folder that contains one.
    Project(&'a Path),
}

impl<'a> PlaceArg<'a> {
    pub(super) fn from_args(
        place: Option<&'a Path>,
        project: Option<&'a Path>,
    ) -> anyhow::Result<Self> {
        match (place, project) {
            // Neither a folder nor a JSON file is a place.
            (Some(place), None) if is_project(place) => Ok(Self::Project(place)),
            (Some(place), None) => Ok(Self::Place(place)),
            (None, Some(project)) => Ok(Self::Project(project)),
            _ => bail!("name a place, or a project with --project"),
        }
    }

    /// The path as given.
    pub(super) fn path(self) -> &'a Path {
        match self {
            Self::Place(path) | Self::Project(path) => path,
        }
    }

    /// The folder that contains the settings.
    pub(super) fn settings_folder(self) -> Option<&'a Path> {
        match self {
            Self::Project(path) if path.is_dir() => Some(path),
            Self::Place(path) | Self::Project(path) => path.parent(),
        }
    }

    /// The file by which the ledger names the place.
    pub(super) fn ledger_file(self) -> Result<PathBuf, ProjectError> {
        match self {
            Self::Place(path) => Ok(path.to_owned()),
            Self::Project(path) => RojoProject::find_project_file(path),
        }
    }

    /// Returns a function that reads the place, and prints nothing.
    pub(super) fn scene_reader(
        self,
    ) -> impl FnOnce() -> anyhow::Result<PlanningScene> + Send + use<> {
        let path = self.path().to_owned();
        let is_project = matches!(self, Self::Project(_));
        move || {
            if is_project {
                return Ok(RojoProject::open(&path, true)?.1);
            }
            Ok(place_file::load_scene(&path)?.into())
        }
    }

    /// Opens the place. A place file is written to `out`. A project opened for a `dry` run is not
    /// written.
    pub(super) fn open_target(
        self,
        terminal: &Terminal,
        out: Option<&Path>,
        dry: bool,
    ) -> anyhow::Result<(Target, PlanningScene)> {
        match self {
            Self::Place(path) => {
                let opened =
                    terminal.with_spinner("Reading the place", || PlaceFile::open(path, out))?;
                Ok((opened.0.into(), opened.1))
            }
            Self::Project(path) => {
                let opened = terminal
                    .with_spinner("Reading the project", || RojoProject::open(path, dry))?;
                report_faults(&opened.0);
                Ok((opened.0.into(), opened.1))
            }
        }
    }
}

/// A place that a command only reads.
#[derive(Debug)]
pub(super) struct ReadPlace {
    pub(super) scene: PlanningScene,
    /// The folder whose settings apply.
    pub(super) folder: PathBuf,
    /// The files of a project's scripts, relative to its folder, for the scripts that have their
    /// own.
    pub(super) files: HashMap<Node, String>,
}

/// Reads a place or model, or a Rojo project by its file or folder.
pub(super) fn read_place(path: &Path) -> anyhow::Result<ReadPlace> {
    if is_project(path) {
        let (project, scene) = RojoProject::open(path, true)?;
        report_faults(&project);
        let (folder, files) = (project.project_folder().to_owned(), project.script_files());
        return Ok(ReadPlace { scene, folder, files });
    }
    let scene = place_file::load_scene(path)?.into();
    let folder = place_file::real_path(path)?.parent().unwrap_or(Path::new(".")).to_owned();
    Ok(ReadPlace { scene, folder, files: HashMap::new() })
}

/// Prints the faults of single files, which are left out.
fn report_faults(project: &RojoProject) {
    let faults: Vec<String> = project.diagnostics().collect();
    for fault in faults.iter().take(MAX_FAULTS) {
        print_status(&format!("warning: {fault}"));
    }
    if faults.len() > MAX_FAULTS {
        let more = faults.len() - MAX_FAULTS;
        print_status(&format!("warning: {more} more; `vector sourcemap` lists them all"));
    }
}
