//! What a project owns of a place that is open in Studio, and which places are its own.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use scene_schemas::Fingerprint;
use scene_schemas::Refusal;
use serde_json::Value as Json;
use vector_core::proposal::Ownership;
use vector_files::memory_file::ProjectMemory;
use vector_place::{Node, Scene};

use super::bounded_read::read_file;
use super::jsonc;
use super::target::RojoProject;
use super::tree::InstanceOrigin;
use super::write;

/// Who writes the files of a project does it alone, from the look at what they are to the look at what
/// they have become: several sessions may be at work on one project.
static WRITE_LOCK: Mutex<()> = Mutex::new(());

/// Waits until nobody else in this process writes the files of projects; nobody does while what is given
/// is held.
pub fn lock_project_files() -> MutexGuard<'static, ()> {
    WRITE_LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What becomes of files where they are to give a scene: paths from the project's folder and with `/`.
#[derive(Debug)]
pub struct FileEffects {
    /// The files that change, each with the hash of what it would hold; none of what goes.
    pub changed: BTreeMap<String, Option<Fingerprint>>,
    /// What stays on the disk, although the nodes go that name it.
    pub retained: Vec<String>,
}

/// How many scripts are looked for in a place.
const MAX_SAMPLED_SCRIPTS: usize = 200;

impl RojoProject {
    /// How the project holds an instance of the scene that it was opened with; none for others.
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

    /// The files that a scene would change, which stood for the project and was changed: from the
    /// folder and with `/`, each with the hash of what it would hold.
    ///
    /// # Errors
    /// What they cannot hold, and what to do instead.
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
        // A folder that comes or goes alone is all that there is to see of it.
        let is_alone = |folder: &&Path| !changes.files.iter().any(|it| it.path.starts_with(folder));
        let folders = changes.folders().filter(is_alone);
        let folders = folders.map(|folder| (format!("{}/", self.display_path(folder)), None));
        folders.chain(files).collect()
    }

    /// A file as a person reads it: from the folder and with `/`.
    pub(super) fn display_path(&self, file: &Path) -> String {
        let inside = file.strip_prefix(&self.tree.folder).unwrap_or(file);
        let names: Vec<_> = inside.iter().map(|name| name.to_string_lossy()).collect();
        names.join("/")
    }

    /// The files that were read, as a card names them, each with its hash.
    pub fn hashed_files(&self) -> BTreeMap<String, Fingerprint> {
        self.files.iter().map(|(file, hash)| (self.display_path(file), hash.clone())).collect()
    }

    /// The same project, whose memory is somebody else's business.
    #[must_use]
    pub fn without_memory(mut self) -> Self {
        self.memory = ProjectMemory::Elsewhere;
        self
    }

    /// Whether an open place is one that the project is synced with. Where the project names its
    /// places, they are; otherwise its scripts tell, of which nearly all have to be there.
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
        // A place that is named may not have been synced yet.
        served.is_some() || (found > 0 && found * 5 >= looked_for.len() * 4)
    }

    /// The places that the project file names: those that it is served to, where it says so, and those
    /// that it is not.
    fn read_place_ids(&self) -> (Option<Vec<u64>>, Vec<u64>) {
        let bytes = read_file(&self.tree.project).unwrap_or_default();
        let fields = jsonc::read_json(&bytes).unwrap_or_default();
        let listed = |name: &str| {
            let list = fields.get(name)?.as_array()?;
            Some(list.iter().filter_map(Json::as_u64).collect())
        };
        (listed("servePlaceIds"), listed("blockedPlaceIds").unwrap_or_default())
    }
}
