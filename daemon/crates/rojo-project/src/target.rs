//! A Rojo project as a target: applies approved proposals to its files, all of them or none.
//!
//! Proposals are performed on a scene of the project. A plan then determines the file changes, and
//! all new content is stored in synced temporary files. The ledger records the step before the
//! first file is touched. Afterwards the project is read again. If the result differs from what was
//! approved, all files are restored.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use scene_schemas::Refusal;
use scene_schemas::entry::{ProjectPlace, Seq};
use scene_schemas::proposal::{Ack, Proposal, RestorePatch};
use scene_schemas::refusal::refuse;
use vector_core::planning_scene::PlanningScene;
use vector_core::proposal::{BlobStore, InverseCommands, build_inverse};
use vector_files::disk;
use vector_files::memory_file::{MemoryFile, ProjectMemory};
use vector_files::perform::{
    PerformedCommands, PerformedProposal, effect_outcome, perform_proposals,
};
use vector_files::place_file::PlaceError;
use vector_place::diff::{SceneDifference, diff_scenes};
use vector_place::{CodecError, JournalMark, Node, Scene};

use super::generated::{GeneratedFile, generated_files};
use super::open_project::{ProjectError, TreeUpdate, find_project_file};
use super::ownership::FileEffects;
use super::tree::{InstanceOrigin, ProjectTree};
use super::watch::{FileChanges, WatchUpdater};
use super::write::journal::{DoneStep, ReadyStep, StepJournal};
use super::write::rollback::RollbackFailure;
use super::write::{self, PlannedChanges};

/// A project that is open for editing.
#[derive(Debug)]
pub struct RojoProject {
    pub(super) tree: ProjectTree,
    /// The nodes of the tree's instances in the scene.
    pub(super) nodes: Vec<Node>,
    /// The journal mark of the unchanged scene.
    pub(super) start: JournalMark,
    /// The hashes of the project's files.
    pub(super) files: BTreeMap<PathBuf, Fingerprint>,
    /// The hash of all files combined.
    hash: Fingerprint,
    is_dry_run: bool,
    /// Whether commands were planned in another epoch, so that instances are found by path only.
    is_by_path: bool,
    pub(super) memory: ProjectMemory,
    /// Whether a reading failed half-way, so that the tree may not match the files.
    is_stale: bool,
    /// A step that was applied in part and could not be rolled back yet.
    partial_step: Option<DoneStep>,
    /// Updates the paths that are watched for changes.
    watch_updater: WatchUpdater,
}

/// Proposals that were performed on the scene and are ready to be committed.
#[derive(Debug)]
pub struct PreparedProject {
    /// The new files; None if no proposal could be performed.
    pub stored: Option<StoredFiles>,
    /// The proposals that could not be performed, each with the reason.
    pub refused: Vec<(Seq, String)>,
}

/// New files on the disk that do not have their final names yet.
#[derive(Debug)]
pub struct StoredFiles {
    /// None in a dry run.
    ready: Option<ReadyStep>,
    /// The ack for each proposal.
    pub acks: Vec<(Seq, Ack)>,
    /// The blobs for the ledger: the record of the step, the previous contents of files, and
    /// deleted instances.
    pub blobs: Vec<Vec<u8>>,
}

impl RojoProject {
    /// Opens a project for editing, given a project file or a folder that contains one. If
    /// `is_dry`, nothing is ever written.
    ///
    /// # Errors
    /// Fails if the project cannot be read.
    pub fn open(path: &Path, is_dry: bool) -> Result<(Self, PlanningScene), PlaceError> {
        let tree = ProjectTree::read(path)?;
        let (scene, nodes) = tree.to_scene();
        let files = hash_files(&tree, &BTreeMap::new())?;
        let memory = ProjectMemory::beside_project(&tree.project);
        let (start, hash) = (scene.journal_mark(), combine_hashes(&tree, &files));
        let project = Self {
            tree,
            nodes,
            start,
            files,
            hash,
            is_dry_run: is_dry,
            is_by_path: false,
            memory,
            is_stale: false,
            partial_step: None,
            watch_updater: WatchUpdater::default(),
        };
        let scene = project.add_memory(scene);
        Ok((project, scene))
    }

    /// Returns a scene of the project together with the project's memory.
    fn add_memory(&self, scene: Scene) -> PlanningScene {
        let memory = self.memory.memory_file().map(|memory| memory.text().to_owned());
        PlanningScene::new(scene, memory)
    }

    /// Finds the project file for a path, absolute and free of symlinks. The ledger names the
    /// project by it.
    ///
    /// # Errors
    /// Fails if there is no project file.
    pub fn find_project_file(path: &Path) -> Result<PathBuf, ProjectError> {
        find_project_file(path)
    }

    /// Sets whether commands address instances by path, as is needed for commands of another epoch.
    #[must_use]
    pub fn with_path_addressing(self, by_path: bool) -> Self {
        Self { is_by_path: by_path, ..self }
    }

    /// Returns the project's name and hash for the ledger.
    pub fn ledger_place(&self) -> ProjectPlace {
        ProjectPlace { project: self.name(), hash: self.hash.clone() }
    }

    pub fn name(&self) -> String {
        self.tree.project.display().to_string()
    }

    pub fn project_folder(&self) -> &Path {
        &self.tree.folder
    }

    /// Returns the files of the scripts that have their own file, by their nodes in the scene that
    /// the project was opened with. Paths are relative to the project folder and use `/`.
    pub fn script_files(&self) -> HashMap<Node, String> {
        let pairs = self.nodes.iter().zip(&self.tree.instances);
        let own = pairs.filter_map(|(node, instance)| {
            let file = match &instance.origin {
                InstanceOrigin::File { file, .. } => file,
                InstanceOrigin::Folder { init: Some(init), .. } => init,
                _ => return None,
            };
            Some((*node, self.display_path(file)))
        });
        own.collect()
    }

    /// Returns the paths to watch for changes: the project files, the targets of their mounts
    /// (whether or not they exist), the meta files of mounted single files, and the targets of
    /// links.
    pub fn watch_roots(&self) -> Vec<PathBuf> {
        let mut roots = BTreeSet::from([self.tree.project.clone()]);
        for instance in &self.tree.instances {
            let mounted = match &instance.origin {
                InstanceOrigin::Node { project, .. } => {
                    roots.insert(project.clone());
                    continue;
                }
                InstanceOrigin::File { meta, mounted, .. } => {
                    if let (Some(meta), Some(_)) = (meta, mounted) {
                        roots.extend(["json", "jsonc"].map(|end| meta.with_extension(end)));
                    }
                    mounted
                }
                InstanceOrigin::Folder { mounted, .. } | InstanceOrigin::Model { mounted, .. } => {
                    mounted
                }
            };
            roots.extend(mounted.iter().map(|(project, _)| project.clone()));
        }
        let linked = self.tree.mounts.iter().chain(&self.tree.links).map(|(_, to)| to);
        roots.extend(linked.filter(|to| to.starts_with(&self.tree.boundary)).cloned());
        roots.into_iter().collect()
    }

    /// Sets the updater that receives the paths to watch, now and whenever they change.
    pub fn set_watch_updater(&mut self, follower: WatchUpdater) {
        self.watch_updater = follower;
        self.watch_updater.set_roots(&self.watch_roots());
    }

    /// Returns the hash of all files.
    pub fn hash(&self) -> &Fingerprint {
        &self.hash
    }

    /// Returns the faults of single files, which are left out of the project.
    pub fn diagnostics(&self) -> impl Iterator<Item = String> {
        self.tree.diagnostics.iter().map(|it| format!("{}: {}", it.file.display(), it.message))
    }

    /// Reads changes that were made to the files from outside. Returns the new scene; None if
    /// nothing changed.
    ///
    /// # Errors
    /// Fails if the project cannot be read now, and leaves it as it was.
    pub fn follow_changes(
        &mut self,
        changes: &FileChanges,
    ) -> Result<Option<PlanningScene>, PlaceError> {
        let scene = self.read_changed(changes);
        self.watch_updater.set_roots(&self.watch_roots());
        scene
    }

    fn read_changed(&mut self, changes: &FileChanges) -> Result<Option<PlanningScene>, PlaceError> {
        let paths: Vec<PathBuf> = match changes {
            FileChanges::Paths(paths) if !self.is_stale => paths.iter().cloned().collect(),
            FileChanges::Paths(_) | FileChanges::All => {
                let (mut read, scene) = self.reopen()?;
                let is_same = !self.is_stale && self.has_same_content(&read);
                read.partial_step = self.partial_step.take();
                *self = read.with_path_addressing(true);
                return Ok((!is_same).then_some(scene));
            }
        };
        match self.update(&paths) {
            Ok(scene) => Ok(scene),
            // The reported paths are lost after an error, so the next call must read everything.
            Err(error) => {
                self.is_stale = true;
                Err(error)
            }
        }
    }

    fn update(&mut self, paths: &[PathBuf]) -> Result<Option<PlanningScene>, PlaceError> {
        let is_same = self.tree.update(paths)? == TreeUpdate::default();
        let is_unchanged = |file: &PathBuf| !paths.iter().any(|path| file.starts_with(path));
        let known = self.files.iter().filter(|(file, _)| is_unchanged(file));
        let known = known.map(|(file, hash)| (file.clone(), hash.clone())).collect();
        let files = hash_files(&self.tree, &known)?;
        let hash = combine_hashes(&self.tree, &files);
        let is_same = is_same && hash == self.hash;
        self.files = files;
        if is_same {
            return Ok(None);
        }
        let (scene, nodes) = self.tree.to_scene();
        (self.nodes, self.start, self.hash, self.is_by_path) =
            (nodes, scene.journal_mark(), hash, true);
        Ok(Some(self.add_memory(scene)))
    }

    /// Reads the memory file again. Returns its text; None if it cannot be read.
    pub fn read_memory(&mut self) -> Option<String> {
        self.memory = ProjectMemory::beside_project(&self.tree.project);
        self.memory.memory_file().map(|memory| memory.text().to_owned())
    }

    /// Opens the project again.
    ///
    /// # Errors
    /// Fails if the project can no longer be read.
    pub fn reopen(&self) -> Result<(Self, PlanningScene), PlaceError> {
        let (mut project, scene) = Self::open(&self.tree.project, self.is_dry_run)?;
        project.watch_updater = self.watch_updater.clone();
        let is_elsewhere = matches!(self.memory, ProjectMemory::Elsewhere);
        Ok((if is_elsewhere { project.without_memory() } else { project }, scene))
    }

    /// Checks that files can hold a scene, which must be a changed version of the project's own
    /// scene.
    ///
    /// # Errors
    /// Returns what the files cannot hold, and what to do instead.
    pub fn check_scene(&self, scene: &PlanningScene) -> Result<(), Refusal> {
        self.file_effects(scene).map(drop)
    }

    /// Returns the effects on files of applying a changed scene.
    ///
    /// # Errors
    /// Returns what the files cannot hold, and what to do instead.
    pub fn file_effects(&self, scene: &PlanningScene) -> Result<FileEffects, Refusal> {
        if self.is_stale {
            return refuse!(
                "The project {} cannot be read as it is now. Look what is wrong with it (`vector \
                 sourcemap` says), and ask again.",
                self.name()
            );
        }
        if self.partial_step.is_some() {
            return refuse!(
                "The project {} is changed in part, and must be restored first. Fix the \
                 problem that was reported, and restart Vector.",
                self.name()
            );
        }
        let changes = self.plan_changes(scene)?;
        let kept = changes.retained.iter().map(|path| self.display_path(path)).collect();
        Ok(FileEffects { changed: self.hashes_by_path(&changes), retained: kept })
    }

    /// Whether the files are still as the steps left them, so that the steps can be reverted.
    pub fn can_revert(steps: &[StepJournal], blobs: &BlobStore) -> bool {
        PlannedChanges::reverse_journals(steps, blobs).is_some()
    }

    /// Returns those of the given files that another tool generates.
    pub fn generated_files(&self, files: &[String]) -> Vec<GeneratedFile> {
        generated_files(self.project_folder(), files)
    }

    fn plan_changes(&self, scene: &PlanningScene) -> Result<PlannedChanges, Refusal> {
        let mut changes =
            write::plan_changes(&self.tree, &self.nodes, scene, &scene.touched_since(self.start))?;
        if let (Some(file), Some(text)) = (self.memory.memory_file(), scene.memory())
            && text != file.text()
        {
            changes.write_file(file.path(), text.as_bytes().to_vec())?;
        }
        Ok(changes)
    }

    /// Performs proposals on the scene of the project, and stores the resulting files as synced
    /// temporary files. If all proposals revert steps, `back` holds the records of these steps,
    /// newest first. The previous contents of the files are then restored exactly, provided the
    /// files are still as those steps left them.
    ///
    /// A step that was applied in part is rolled back first.
    ///
    /// # Errors
    /// Fails without storing anything, and leaves the scene as it was.
    pub fn prepare_proposals(
        &mut self,
        scene: &mut PlanningScene,
        proposals: &[(Seq, Seq, &Proposal)],
        blobs: &BlobStore,
        back: Option<&[StepJournal]>,
    ) -> Result<PreparedProject, PlaceError> {
        if let Some(step) = self.partial_step.take()
            && let Err(left) = step.roll_back()
        {
            return Err(self.fail_rollback(
                "an earlier change was not done as a whole",
                &left,
                Some(step),
            ));
        }
        self.check_unchanged()?;
        let start = scene.journal_mark();
        let mark = proposals.first().map(|(seq, _, proposal)| temporary_mark(*seq, proposal));
        let PerformedCommands { done, mut refused } =
            perform_proposals(scene, proposals, blobs, self.is_by_path);
        if done.is_empty() {
            return Ok(PreparedProject { stored: None, refused });
        }
        let back = back.filter(|_| refused.is_empty());
        let changes = match back.and_then(|back| PlannedChanges::reverse_journals(back, blobs)) {
            Some(changes) => Ok(changes),
            None => self.plan_changes(scene),
        };
        let changes = match changes {
            Ok(changes) => changes,
            Err(why) => {
                scene.rollback(start);
                refused.extend(done.into_iter().map(|one| (one.seq, why.0.clone())));
                return Ok(PreparedProject { stored: None, refused });
            }
        };
        match self.store_changes(scene, done, changes, &mark.unwrap_or_default()) {
            Ok(stored) => Ok(PreparedProject { stored: Some(stored), refused }),
            Err(error) => {
                scene.rollback(start);
                Err(error)
            }
        }
    }

    fn store_changes(
        &self,
        scene: &mut PlanningScene,
        done: Vec<PerformedProposal>,
        changes: PlannedChanges,
        mark: &str,
    ) -> Result<StoredFiles, PlaceError> {
        let after = self.hash_after(&changes);
        let ready =
            (!self.is_dry_run).then(|| ReadyStep::store_temporary(changes, mark)).transpose();
        let ready = ready.map_err(|why| self.write_error(why))?;
        let record = ready.as_ref().map(|it| it.journal.to_bytes()).unwrap_or_default();
        let bytes =
            RestorePatch { patch: Fingerprint::hash_bytes(&record), hash: self.hash.clone() };
        let blobs = ready.as_ref().map(ReadyStep::ledger_blobs).unwrap_or_default();
        let mut stored = StoredFiles { ready, acks: Vec::new(), blobs };
        for PerformedProposal { seq, call, effects: left, undo_steps: backs } in done {
            // Resolve `new:K` ids to the instances that this proposal created.
            scene.begin_scope(call);
            let outcomes = left.into_iter().map(|left| effect_outcome(scene, left)).collect();
            let InverseCommands { commands, witnesses, blobs } =
                build_inverse(scene.scene_mut(), backs).map_err(|refusal| PlaceError::Encode {
                    file: self.name(),
                    why: CodecError::Write(refusal.0),
                })?;
            stored.blobs.extend(blobs.into_values());
            let ack = Ack {
                file: Some(self.name()),
                before: Some(self.hash.clone()),
                after: Some(after.clone()),
                outcomes,
                inverse: commands,
                witnesses,
                bytes: Some(bytes.clone()),
                files: None,
            };
            stored.acks.push((seq, ack));
        }
        Ok(stored)
    }

    /// Moves the stored files into place, and returns the scene that they produce; None in a dry
    /// run. This is the last point at which an outside change is detected.
    ///
    /// # Errors
    /// Fails and leaves the files as they were, except for those that the error names. With
    /// [`PlaceError::ForeignEdits`], they contain edits from outside, which are kept. With
    /// [`PlaceError::PartlyApplied`], they still have to be restored, which the next
    /// [`RojoProject::prepare_proposals`] tries.
    pub fn commit_files(
        &mut self,
        stored: StoredFiles,
        scene: &Scene,
    ) -> Result<Option<PlanningScene>, PlaceError> {
        let Some(ready) = stored.ready else { return Ok(None) };
        if let Some(file) = ready.first_changed_file() {
            return Err(PlaceError::Changed { file: file.display().to_string() });
        }
        match ready.perform() {
            Ok(done) => self.verify_result(done, scene).map(Some),
            Err(failed) => Err(match failed.left {
                None => self.write_error(failed.why),
                Some(left) => self.fail_rollback(&failed.why.to_string(), &left, Some(failed.step)),
            }),
        }
    }

    /// Reads the project again, and rolls the step back if the result differs from what was
    /// approved.
    fn verify_result(
        &mut self,
        done: DoneStep,
        scene: &Scene,
    ) -> Result<PlanningScene, PlaceError> {
        let what = match self.reopen() {
            Ok((project, read)) => match first_difference(scene, &read) {
                None => {
                    *self = project.with_path_addressing(true);
                    self.watch_updater.set_roots(&self.watch_roots());
                    return Ok(read);
                }
                Some(what) => what,
            },
            Err(error) => error.to_string(),
        };
        match done.roll_back() {
            Ok(()) => Err(PlaceError::ReadsDifferently { project: self.name(), what }),
            Err(left) => {
                let why = format!("its files are not read as what was approved ({what})");
                Err(self.fail_rollback(&why, &left, Some(done)))
            }
        }
    }

    /// Returns the error for a step that failed and could not be rolled back completely. Keeps the
    /// step if the rollback can be retried.
    fn fail_rollback(
        &mut self,
        why: &str,
        left: &RollbackFailure,
        step: Option<DoneStep>,
    ) -> PlaceError {
        let error = rollback_error(self.name(), why, left);
        if matches!(error, PlaceError::PartlyApplied { .. }) {
            self.partial_step = step;
        }
        error
    }

    /// Removes temporary files of steps that a crash interrupted, including those whose record was
    /// not kept yet. No other process may be working on these proposals.
    pub fn sweep_temporary<'a>(&self, proposals: impl Iterator<Item = (Seq, &'a Proposal)>) {
        let marks: Vec<String> = proposals
            .map(|(seq, it)| format!("{}{}", disk::TEMPORARY_PREFIX, temporary_mark(seq, it)))
            .collect();
        if marks.is_empty() {
            return;
        }
        let files = self.files.keys();
        let folders = self.tree.instances.iter().filter_map(|instance| match &instance.origin {
            InstanceOrigin::Folder { folder, .. } => Some(folder),
            _ => None,
        });
        let memory = self.memory.memory_file().map(MemoryFile::path);
        let files = files.map(PathBuf::as_path).chain(memory);
        let above = files.filter_map(Path::parent).chain(folders.map(PathBuf::as_path));
        let inside = |folder: &&Path| folder.starts_with(&self.tree.boundary);
        let all: BTreeSet<&Path> = above.flat_map(Path::ancestors).filter(inside).collect();
        for entry in all.into_iter().filter_map(|it| std::fs::read_dir(it).ok()).flatten().flatten()
        {
            let name = entry.file_name();
            let is_ours = |name: &str| marks.iter().any(|mark| name.starts_with(mark.as_str()));
            if name.to_str().is_some_and(is_ours) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    fn write_error(&self, why: std::io::Error) -> PlaceError {
        PlaceError::Write { file: self.name(), hint: disk::error_hint(why.kind()), why }
    }

    /// Checks that the files are still as they were read. Reads all of them again, because a file
    /// may have been added, or written while the others were read.
    fn check_unchanged(&self) -> Result<(), PlaceError> {
        let (now, _) = self.reopen()?;
        if !self.is_stale && self.has_same_content(&now) {
            return Ok(());
        }
        let is_other =
            |(file, hash): &(&PathBuf, &Fingerprint)| self.files.get(*file) != Some(*hash);
        let file = now.files.iter().find(is_other).map(|(file, _)| file);
        let gone = self.files.keys().find(|file| !now.files.contains_key(*file));
        let file = file.or(gone).unwrap_or(&self.tree.project).display().to_string();
        Err(PlaceError::Changed { file })
    }

    /// Whether another reading has the same content.
    fn has_same_content(&self, other: &Self) -> bool {
        let memory = |it: &Self| it.memory.memory_file().map(|memory| memory.text().to_owned());
        self.hash == other.hash
            && self.tree.instances == other.tree.instances
            && memory(self) == memory(other)
    }

    fn hash_after(&self, changes: &PlannedChanges) -> Fingerprint {
        let memory = self.memory.memory_file().map(MemoryFile::path);
        let mut files = self.files.clone();
        for change in changes.files.iter().filter(|it| Some(it.path.as_path()) != memory) {
            match &change.after {
                Some(after) => {
                    files.insert(change.path.clone(), Fingerprint::hash_bytes(&after.bytes))
                }
                None => files.remove(&change.path),
            };
        }
        combine_hashes(&self.tree, &files)
    }
}

/// Returns the files of a project with their hashes. Hashes in `known` are not computed again.
fn hash_files(
    tree: &ProjectTree,
    known: &BTreeMap<PathBuf, Fingerprint>,
) -> Result<BTreeMap<PathBuf, Fingerprint>, PlaceError> {
    let mut files = BTreeMap::new();
    let own = tree.instances.iter().flat_map(|instance| match &instance.origin {
        InstanceOrigin::Node { project, .. } => vec![project.clone()],
        InstanceOrigin::File { file, .. } | InstanceOrigin::Model { file, .. } => {
            vec![file.clone()]
        }
        InstanceOrigin::Folder { init, .. } => init.iter().cloned().collect(),
    });
    let listed = tree.notes.iter().flat_map(|note| note.files.iter().cloned());
    for file in own.chain(listed).chain([tree.project.clone()]) {
        if files.contains_key(&file) {
            continue;
        }
        if let Some(hash) = known.get(&file) {
            files.insert(file, hash.clone());
            continue;
        }
        if !file.is_file() {
            continue;
        }
        match disk::hash_file(&file) {
            Ok(hash) => drop(files.insert(file, hash)),
            Err(why) if why.kind() == io::ErrorKind::NotFound => {}
            Err(why) => return Err(PlaceError::Read { file: file.display().to_string(), why }),
        }
    }
    Ok(files)
}

fn combine_hashes(tree: &ProjectTree, files: &BTreeMap<PathBuf, Fingerprint>) -> Fingerprint {
    let mut text = String::new();
    for (file, hash) in files {
        let name = file.strip_prefix(&tree.boundary).unwrap_or(file).to_string_lossy();
        text.push_str(&format!("{name}\0{hash}\n"));
    }
    Fingerprint::hash_bytes(text.as_bytes())
}

/// Returns the name prefix of a step's temporary files, derived from its first proposal.
fn temporary_mark(seq: Seq, proposal: &Proposal) -> String {
    format!("{seq}-{}-", proposal.patch_id.short_hex())
}

/// Returns the error for a step that failed and could not be rolled back completely.
pub fn rollback_error(project: String, why: &str, left: &RollbackFailure) -> PlaceError {
    let why = why.to_owned();
    if left.faults.is_empty() {
        let files: Vec<String> = left.foreign.iter().map(|it| it.display().to_string()).collect();
        return PlaceError::ForeignEdits { project, why, files: files.join(", ") };
    }
    PlaceError::PartlyApplied { project, why, left: left.to_string() }
}

/// Describes the first difference between the scene that was read and the one that was performed.
fn first_difference(performed: &Scene, read: &Scene) -> Option<String> {
    Some(match diff_scenes(performed, read).into_iter().next()? {
        SceneDifference::Added { path, class, .. } => {
            format!("{path}, a {class}, would be there too")
        }
        SceneDifference::Removed { path, class, .. } => {
            format!("{path}, a {class}, would be missing")
        }
        SceneDifference::Moved { from, to, .. } => format!("{from} would be {to}"),
        SceneDifference::Changed { path, properties, .. } => {
            let names: Vec<String> = properties.into_iter().map(|it| it.name).collect();
            format!("{} of {path}", names.join(", "))
        }
        SceneDifference::Script { path, .. } => format!("the text of {path}"),
    })
}

#[cfg(test)]
mod tests;
