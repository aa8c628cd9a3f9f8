//! Ownership: which parts of an open place a project owns, and which open places it is synced with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use scene_schemas::Fingerprint;
use scene_schemas::Refusal;
use serde_json::Value as Json;
use vector_core::proposal::Ownership;
use vector_files::memory_file::ProjectMemory;
use vector_place::{Node, Scene};
use vector_text_edit::json::read_json;

use super::bounded_read::read_file;
use super::target::RojoProject;
use super::tree::InstanceOrigin;
use super::write;

/// Serializes writes to project files, from the check of the current files to the check of the
/// result. Several sessions may work on the same project.
static WRITE_LOCK: Mutex<()> = Mutex::new(());

/// Waits until no other thread of this process writes project files. The lock is held until the
/// guard is dropped.
pub fn lock_project_files() -> MutexGuard<'static, ()> {
    WRITE_LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The effects on files of applying a changed scene. Paths are relative to the project folder and
/// use `/`.
#[derive(Debug)]
pub struct FileEffects {
    /// The changed files, each with the hash of its new content; None for a file that is removed.
    pub changed: BTreeMap<String, Option<Fingerprint>>,
    /// The paths that stay on the disk although the nodes that mount them are removed.
    pub retained: Vec<String>,
}

/// The maximum number of scripts that are looked up in an open place.
const MAX_SAMPLED_SCRIPTS: usize = 200;

impl RojoProject {
    /// Returns how the project owns an instance of the scene it was opened with; None for other
    /// instances.
    pub fn ownership_of(&self, node: Node) -> Option<Ownership> {
        let number = self.nodes.binary_search(&node).ok()?;
        let instance = self.tree.instances.get(number)?;
        let ignores_unknown = instance.ignores_unknown;
        Some(match instance.origin {
            InstanceOrigin::Node { .. } => {
                let properties: BTreeSet<String> = instance.properties.keys().cloned().collect();
                Ownership::Node { properties, ignores_unknown }
            }
            InstanceOrigin::File { .. }
            | InstanceOrigin::Folder { .. }
            | InstanceOrigin::Model { .. } => Ownership::Files { ignores_unknown },
        })
    }

    /// Returns the files that would change if the project became the given scene, which must be a
    /// changed version of its own scene. Paths are relative to the project folder and use `/`. Each
    /// file has the hash of its new content; None if it is removed.
    ///
    /// # Errors
    /// Returns what the files cannot hold, and what to do instead.
    pub fn planned_hashes(
        &self,
        scene: &Scene,
    ) -> Result<BTreeMap<String, Option<Fingerprint>>, Refusal> {
        let touched = scene.touched_since(self.start);
        Ok(self.hashes_by_path(&write::plan_changes(&self.tree, &self.nodes, scene, &touched)?))
    }

    pub(super) fn hashes_by_path(
        &self,
        changes: &write::PlannedChanges,
    ) -> BTreeMap<String, Option<Fingerprint>> {
        let files = changes.files.iter().map(|change| {
            let after = change.after.as_ref().map(|after| Fingerprint::hash_bytes(&after.bytes));
            (self.display_path(&change.path), after)
        });
        // List a created or removed folder only if no changed file in it already shows the change.
        let is_alone = |folder: &&Path| !changes.files.iter().any(|it| it.path.starts_with(folder));
        let folders = changes.folders().filter(is_alone);
        let folders = folders.map(|folder| (format!("{}/", self.display_path(folder)), None));
        folders.chain(files).collect()
    }

    /// Formats a path for the user: relative to the project folder and with `/`.
    pub(super) fn display_path(&self, file: &Path) -> String {
        let inside = file.strip_prefix(&self.tree.folder).unwrap_or(file);
        let names: Vec<_> = inside.iter().map(|name| name.to_string_lossy()).collect();
        names.join("/")
    }

    /// Returns the files that were read, as a card names them, each with its hash.
    pub fn hashed_files(&self) -> BTreeMap<String, Fingerprint> {
        self.files.iter().map(|(file, hash)| (self.display_path(file), hash.clone())).collect()
    }

    /// Returns the project without its memory file, for the case that another target manages it.
    #[must_use]
    pub fn without_memory(mut self) -> Self {
        self.memory = ProjectMemory::Elsewhere;
        self
    }

    /// Whether an open place is synced with the project. If the project file names its places, they
    /// decide. Otherwise a sample of the project's scripts is looked up in the open place, and at
    /// least 80 % must exist there.
    pub fn is_synced_with(&self, place: u64, open: &Scene, own: &Scene) -> bool {
        if !self.tree.is_place() {
            return false;
        }
        let (served, blocked) = self.read_place_ids();
        if blocked.contains(&place) || served.as_ref().is_some_and(|it| !it.contains(&place)) {
            return false;
        }
        let scripts: Vec<Node> = own.subtree(own.root()).filter(|it| own.is_script(*it)).collect();
        let step = scripts.len().div_ceil(MAX_SAMPLED_SCRIPTS).max(1);
        let looked_for: Vec<Node> = scripts.into_iter().step_by(step).collect();
        let is_there = |node: &&Node| {
            let found = open.resolve(&own.path(**node));
            found.is_ok_and(|found| open.class(found) == own.class(**node))
        };
        let found = looked_for.iter().filter(is_there).count();
        // A place that the project file names may not have been synced yet.
        served.is_some() || (found > 0 && found * 5 >= looked_for.len() * 4)
    }

    /// Reads the ids of the universe (`gameId`) and the place (`placeId`) that a project file names.
    pub fn published_ids(project: &Path) -> Option<(u64, u64)> {
        let fields = project_fields(project);
        let id = |name: &str| fields.get(name).and_then(Json::as_u64);
        Some((id("gameId")?, id("placeId")?))
    }

    /// Reads all ids that a project file names: of places that it may be served to or is published as, and
    /// of the universe.
    pub fn named_ids(project: &Path) -> NamedIds {
        let fields = project_fields(project);
        let id = |name: &str| fields.get(name).and_then(Json::as_u64);
        let served = fields.get("servePlaceIds").and_then(Json::as_array).into_iter().flatten();
        let served = served.filter_map(Json::as_u64);
        NamedIds {
            places: id("placeId").into_iter().chain(served).collect(),
            universe: id("gameId"),
        }
    }

    /// Reads the place ids of the project file: the places it may be served to (None if not
    /// specified) and those it may not.
    fn read_place_ids(&self) -> (Option<Vec<u64>>, Vec<u64>) {
        let fields = project_fields(&self.tree.project);
        let listed = |name: &str| {
            let list = fields.get(name)?.as_array()?;
            Some(list.iter().filter_map(Json::as_u64).collect())
        };
        (listed("servePlaceIds"), listed("blockedPlaceIds").unwrap_or_default())
    }
}

/// The ids on Roblox that a project file names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamedIds {
    pub places: Vec<u64>,
    pub universe: Option<u64>,
}

/// Reads the fields of a project file; none if it cannot be read.
fn project_fields(project: &Path) -> Json {
    let bytes = read_file(project).unwrap_or_default();
    read_json(&bytes).unwrap_or_default()
}
