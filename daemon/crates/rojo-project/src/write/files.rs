//! The files of a plan: collects the change of each file before anything is touched.
//!
//! A plan refers to existing files by their current paths. [`PlannedFiles::finish`] resolves the
//! final paths and contents to a list of [`FileChange`]s. This module reads the disk and never
//! writes to it.

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::fs;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use scene_schemas::refusal::{Refusal, refuse};
use vector_core::proposal::BlobStore;
use vector_files::disk::canonical_path;

use super::super::bounded_read::read_file;
use super::case_rename::CaseVariants;
use super::journal::{FileChange, FileContent, StepJournal};

/// The maximum nesting depth of folders that are moved or removed.
const MAX_DEPTH: usize = 500;

/// Files that systems and Git users leave in folders, and that hold no one's work.
const DISPOSABLE_FILES: [&str; 4] = [".DS_Store", ".gitkeep", "Thumbs.db", "desktop.ini"];

/// The change to the path of an existing file.
#[derive(Debug, Clone, PartialEq, Eq)]
enum FileFate {
    /// The file follows its folder, if that is moved or removed.
    Stay,
    Move(PathBuf),
    Remove,
}

/// An existing file that a plan refers to.
#[derive(Debug)]
struct FileSlot {
    fate: FileFate,
    bytes: Option<Vec<u8>>,
}

#[derive(Debug, Default)]
pub(super) struct PlannedFiles {
    /// Paths are displayed relative to this folder.
    folder: PathBuf,
    /// No path may lead out of this folder.
    boundary: PathBuf,
    slots: BTreeMap<PathBuf, FileSlot>,
    new_files: BTreeMap<PathBuf, Vec<u8>>,
    new_folders: BTreeSet<PathBuf>,
    /// The folders that are moved, each with its new path; None for a folder that is removed.
    folders: BTreeMap<PathBuf, Option<PathBuf>>,
    /// The files of removed instances.
    removable: BTreeSet<PathBuf>,
}

/// The result of planning.
#[derive(Debug, Default)]
pub(crate) struct PlannedChanges {
    pub(crate) files: Vec<FileChange>,
    /// Folders to create even if they stay empty, parents before children.
    pub(super) new_folders: Vec<PathBuf>,
    /// Folders to remove if they are empty by then, parents after children.
    pub(super) removed_folders: Vec<PathBuf>,
    /// Files and folders that stay although the nodes that mount them are removed.
    pub(crate) retained: Vec<PathBuf>,
}

impl PlannedChanges {
    /// Returns the folders that are created or removed.
    pub(crate) fn folders(&self) -> impl Iterator<Item = &Path> {
        self.new_folders.iter().chain(&self.removed_folders).map(PathBuf::as_path)
    }
}

impl PlannedFiles {
    pub(super) fn new(folder: &Path, boundary: &Path) -> Self {
        let (folder, boundary) = (folder.to_owned(), boundary.to_owned());
        Self { folder, boundary, ..Self::default() }
    }

    fn display_path(&self, path: &Path) -> String {
        path.strip_prefix(&self.folder).unwrap_or(path).display().to_string()
    }

    fn slot_mut(&mut self, file: &Path) -> &mut FileSlot {
        self.slots.entry(file.to_owned()).or_insert(FileSlot { fate: FileFate::Stay, bytes: None })
    }

    /// Returns the planned content of a file; None if there is no such file.
    pub(super) fn read_planned(&self, file: &Path) -> Result<Option<Vec<u8>>, Refusal> {
        if let Some(FileSlot { bytes: Some(bytes), .. }) = self.slots.get(file) {
            return Ok(Some(bytes.clone()));
        }
        match read_file(file) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
                Ok(self.new_files.get(file).cloned())
            }
            Err(why) => refuse!("{} cannot be read: {why}.", self.display_path(file)),
        }
    }

    /// Sets the content of a file: of an existing one if `is_there`, otherwise of one that is
    /// created at that path.
    pub(super) fn set_content(&mut self, file: &Path, is_there: bool, bytes: Vec<u8>) {
        if is_there {
            self.slot_mut(file).bytes = Some(bytes);
        } else {
            self.new_files.insert(file.to_owned(), bytes);
        }
    }

    /// Creates a file at its final path.
    pub(super) fn create_file(&mut self, to: PathBuf, bytes: Vec<u8>) -> Result<(), Refusal> {
        if self.new_files.contains_key(&to) {
            return refuse!(
                "{} would have to be two files; give other names.",
                self.display_path(&to)
            );
        }
        self.new_files.insert(to, bytes);
        Ok(())
    }

    /// Creates a folder at its final path.
    pub(super) fn create_folder(&mut self, to: PathBuf) {
        self.new_folders.insert(to);
    }

    pub(super) fn move_file(&mut self, file: &Path, to: PathBuf) {
        self.slot_mut(file).fate = FileFate::Move(to);
    }

    pub(super) fn remove_file(&mut self, file: &Path) {
        self.slot_mut(file).fate = FileFate::Remove;
    }

    /// Moves a folder, with everything in it that has no change of its own.
    pub(super) fn move_folder(&mut self, folder: &Path, to: PathBuf) {
        self.folders.insert(folder.to_owned(), Some(to));
    }

    /// Removes a folder, with everything in it that has no change of its own.
    pub(super) fn remove_folder(&mut self, folder: &Path) {
        self.folders.insert(folder.to_owned(), None);
    }

    /// Sets the files that may be removed along with their folders.
    pub(super) fn allow_removal(&mut self, files: BTreeSet<PathBuf>) {
        self.removable = files;
    }

    /// Whether a file is to be removed or moved.
    pub(super) fn is_leaving(&self, file: &Path) -> bool {
        self.slots.get(file).is_some_and(|slot| slot.fate != FileFate::Stay)
    }

    /// Returns the planned path of an entry that stays in its folder; the current path if the
    /// folder is removed.
    pub(super) fn planned_path(&self, path: &Path) -> PathBuf {
        match self.folder_fate(path) {
            FileFate::Move(to) => to,
            FileFate::Stay | FileFate::Remove => path.to_owned(),
        }
    }

    /// Returns the change to a path that results from its folders, or from the path itself as a
    /// folder.
    fn folder_fate(&self, path: &Path) -> FileFate {
        let found = path.ancestors().find_map(|above| Some((above, self.folders.get(above)?)));
        match found {
            None => FileFate::Stay,
            Some((_, None)) => FileFate::Remove,
            Some((above, Some(to))) => FileFate::Move(match path.strip_prefix(above) {
                Ok(rest) if rest != Path::new("") => to.join(rest),
                // Joining an empty path would append a slash.
                _ => to.clone(),
            }),
        }
    }

    /// Returns the final path of an existing file; None if it is removed.
    fn final_path(&self, file: &Path, slot: &FileSlot) -> Option<PathBuf> {
        let fate = match &slot.fate {
            FileFate::Stay => &self.folder_fate(file),
            fate => fate,
        };
        match fate {
            FileFate::Remove => None,
            FileFate::Move(to) => Some(to.clone()),
            FileFate::Stay => Some(file.to_owned()),
        }
    }

    /// Resolves the plan to a list of changes.
    ///
    /// # Errors
    /// Fails if two files would have the same path, if a file would leave the project, if a removed
    /// file belongs to no instance, or if a journal cannot hold a path.
    pub(super) fn finish(mut self) -> Result<PlannedChanges, Refusal> {
        let mut changes = PlannedChanges::default();
        let folders: Vec<PathBuf> = self.folders.keys().cloned().collect();
        for folder in folders {
            self.include_rest(&folder, &mut changes, 0)?;
        }
        self.check_unrelated_files()?;
        changes.new_folders.extend(std::mem::take(&mut self.new_folders));
        let mut before: BTreeMap<PathBuf, FileContent> = BTreeMap::new();
        let mut after: BTreeMap<PathBuf, FileContent> = BTreeMap::new();
        for (file, slot) in &self.slots {
            let end = self.final_path(file, slot);
            if end.as_ref() == Some(file) && slot.bytes.is_none() {
                continue;
            }
            let old = read_content(file)?;
            if let Some(end) = end {
                let bytes = slot.bytes.clone().unwrap_or_else(|| old.bytes.clone());
                let new = FileContent { bytes, mode: old.mode };
                if after.insert(end.clone(), new).is_some() {
                    return refuse!(
                        "{} would have to be two files; give other names.",
                        self.display_path(&end)
                    );
                }
            }
            before.insert(file.clone(), old);
        }
        for (file, bytes) in std::mem::take(&mut self.new_files) {
            if after.insert(file.clone(), FileContent { bytes, mode: None }).is_some() {
                return refuse!(
                    "{} would have to be two files; give other names.",
                    self.display_path(&file)
                );
            }
        }
        self.check_paths(&before, &after, &changes)?;
        let paths: BTreeSet<&PathBuf> = before.keys().chain(after.keys()).collect();
        for path in paths {
            let (old, new) = (before.get(path), after.get(path));
            if old != new {
                let (before, after) = (old.cloned(), new.cloned());
                changes.files.push(FileChange { path: path.clone(), before, after });
            }
        }
        let twins = changes.case_variants();
        changes
            .new_folders
            .retain(|folder| !twins.is_folder(folder) || changes.removed_folders.contains(folder));
        changes.new_folders.sort();
        changes.removed_folders.sort_by(|a, b| b.cmp(a));
        let files = changes.files.iter().map(|change| &change.path);
        for path in files.chain(&changes.new_folders).chain(&changes.removed_folders) {
            check_utf8(path, &self.folder)?;
        }
        Ok(changes)
    }

    /// Checks that removed folders contain only files that instances were read from.
    fn check_unrelated_files(&self) -> Result<(), Refusal> {
        let is_stranger = |(file, slot): &(&PathBuf, &FileSlot)| {
            let is_worthless = || DISPOSABLE_FILES.iter().any(|name| file.ends_with(name));
            slot.fate == FileFate::Stay
                && self.folder_fate(file) == FileFate::Remove
                && !self.removable.contains(*file)
                && !is_worthless()
        };
        let strangers: Vec<&PathBuf> =
            self.slots.iter().filter(is_stranger).map(|(file, _)| file).collect();
        let is_removed = |folder: &&Path| self.folders.get(*folder) == Some(&None);
        let Some(folder) =
            strangers.first().and_then(|file| file.ancestors().filter(is_removed).last())
        else {
            return Ok(());
        };
        let inside: Vec<&Path> =
            strangers.iter().filter_map(|file| file.strip_prefix(folder).ok()).collect();
        let first = inside.first().map(|file| file.display().to_string()).unwrap_or_default();
        let more = match inside.len() {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        refuse!(
            "{} contains files that are not instances: {first}{more}. Move them away first.",
            self.display_path(folder)
        )
    }

    /// Adds the remaining files of a folder that is moved or removed.
    fn include_rest(
        &mut self,
        folder: &Path,
        changes: &mut PlannedChanges,
        depth: usize,
    ) -> Result<(), Refusal> {
        if depth > MAX_DEPTH {
            return refuse!(
                "{} has folders more than {MAX_DEPTH} deep.",
                self.display_path(folder)
            );
        }
        let shown = self.display_path(folder);
        let failed = |why| Refusal(format!("{shown} cannot be read: {why}."));
        if depth > 0 && self.folders.contains_key(folder) {
            return Ok(());
        }
        changes.removed_folders.push(folder.to_owned());
        if let FileFate::Move(to) = self.folder_fate(folder) {
            changes.new_folders.push(to);
        }
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            check_utf8(&path, &self.folder)?;
            if kind.is_dir() {
                self.include_rest(&path, changes, depth + 1)?;
            } else if kind.is_file() {
                self.slot_mut(&path);
            } else {
                return refuse!(
                    "{} is a link or a device, which Vector does not move or delete; do that \
                     yourself first.",
                    self.display_path(&path)
                );
            }
        }
        Ok(())
    }

    /// Checks that new paths are inside the project, and that no other path differs from them only
    /// by case: some systems would treat the two as one.
    fn check_paths(
        &self,
        before: &BTreeMap<PathBuf, FileContent>,
        after: &BTreeMap<PathBuf, FileContent>,
        changes: &PlannedChanges,
    ) -> Result<(), Refusal> {
        let mut folded: BTreeMap<String, &PathBuf> = BTreeMap::new();
        let new = after.keys().filter(|path| !before.contains_key(*path));
        for path in new.clone().chain(&changes.new_folders) {
            if let Some(other) = folded.insert(path.to_string_lossy().to_lowercase(), path)
                && other != path
            {
                return refuse!(
                    "{} and {} would differ by case alone; give other names.",
                    self.display_path(other),
                    self.display_path(path)
                );
            }
        }
        let all = before
            .keys()
            .chain(after.keys())
            .chain(&changes.new_folders)
            .chain(&changes.removed_folders);
        let twins = CaseVariants::from_paths(all.map(PathBuf::as_path));
        for path in new.chain(&changes.new_folders) {
            self.check_inside(path)?;
            self.check_free(path, before, changes, &twins)?;
        }
        Ok(())
    }

    fn check_inside(&self, path: &Path) -> Result<(), Refusal> {
        let there = path.ancestors().skip(1).find_map(|above| canonical_path(above).ok());
        if there.is_some_and(|real| real.starts_with(&self.boundary)) {
            return Ok(());
        }
        refuse!("{} is outside of {}.", self.display_path(path), self.boundary.display())
    }

    /// Checks that no path that stays is equal to this one or differs from it only by case.
    fn check_free(
        &self,
        path: &Path,
        before: &BTreeMap<PathBuf, FileContent>,
        changes: &PlannedChanges,
        twins: &CaseVariants,
    ) -> Result<(), Refusal> {
        for part in path.ancestors() {
            let (Some(folder), Some(name)) = (part.parent(), part.file_name()) else { break };
            let wanted = name.to_string_lossy().to_lowercase();
            // A case-insensitive file system also finds the folder under a name that it does not
            // have.
            if !twins.has_exact_name(folder) {
                continue;
            }
            let Ok(entries) = fs::read_dir(folder) else { continue };
            for entry in entries.flatten() {
                let there = entry.path();
                let is_same = entry.file_name() == name;
                if entry.file_name().to_string_lossy().to_lowercase() != wanted
                    || (is_same && part != path)
                {
                    continue;
                }
                let is_removed = if there.is_dir() {
                    changes.removed_folders.contains(&there)
                } else {
                    before.contains_key(&there)
                };
                if !is_removed {
                    return refuse!(
                        "{} cannot be created, because {} already exists. Choose another name.",
                        self.display_path(path),
                        self.display_path(&there)
                    );
                }
            }
            if folder.is_dir() {
                break;
            }
        }
        Ok(())
    }
}

impl PlannedChanges {
    /// Returns the paths of the plan that differ only by case.
    pub(super) fn case_variants(&self) -> CaseVariants {
        let files = self.files.iter().map(|it| &it.path);
        CaseVariants::from_paths(
            files.chain(&self.new_folders).chain(&self.removed_folders).map(PathBuf::as_path),
        )
    }

    /// Adds a file with a new content.
    ///
    /// # Errors
    /// Fails if the current content cannot be read, or if a journal cannot hold the path.
    pub(crate) fn write_file(&mut self, file: &Path, bytes: Vec<u8>) -> Result<(), Refusal> {
        check_utf8(file, Path::new(""))?;
        let before = file.exists().then(|| read_content(file)).transpose()?;
        let mode = before.as_ref().and_then(|it| it.mode);
        let after = Some(FileContent { bytes, mode });
        self.files.push(FileChange { path: file.to_owned(), before, after });
        Ok(())
    }

    /// Returns the changes that revert steps, given newest first. None if a file is not as the
    /// steps left it, or if its previous content is unknown.
    pub(crate) fn reverse_journals(journals: &[StepJournal], blobs: &BlobStore) -> Option<Self> {
        let mut files: BTreeMap<&Path, FileChange> = BTreeMap::new();
        let paths = journals.iter().flat_map(|it| &it.files).map(|noted| noted.path.as_path());
        let twins = CaseVariants::from_paths(paths);
        let (mut made, mut gone) = (BTreeSet::new(), BTreeSet::new());
        for journal in journals {
            for noted in &journal.files {
                let there = match files.entry(&noted.path) {
                    btree_map::Entry::Occupied(there) => there.into_mut(),
                    btree_map::Entry::Vacant(new) => {
                        let path = noted.path.clone();
                        let is_there = path.exists() && twins.has_exact_name(&path);
                        let before = is_there.then(|| read_content(&path)).transpose().ok()?;
                        new.insert(FileChange { path, after: before.clone(), before })
                    }
                };
                if hash_content(there.after.as_ref()).as_ref()
                    != noted.after.as_ref().map(|it| &it.hash)
                {
                    return None;
                }
                there.after = match &noted.before {
                    Some(kept) => {
                        let bytes = blobs.get(&kept.hash)?.clone();
                        Some(FileContent { bytes, mode: kept.mode })
                    }
                    None => None,
                };
            }
            for folder in &journal.made {
                made.remove(folder);
                gone.insert(folder.clone());
            }
            for folder in &journal.gone {
                gone.remove(folder);
                made.insert(folder.clone());
            }
        }
        let files = files.into_values().filter(|it| it.before != it.after).collect();
        let (made, gone) = (made.into_iter().collect(), gone.into_iter().rev().collect());
        Some(Self { files, new_folders: made, removed_folders: gone, retained: Vec::new() })
    }
}

/// Checks that a journal can hold a path.
fn check_utf8(path: &Path, folder: &Path) -> Result<(), Refusal> {
    if path.to_str().is_some() {
        return Ok(());
    }
    let inside = path.strip_prefix(folder).ok().filter(|inside| inside.to_str().is_none());
    refuse!(
        "The name of {} is not UTF-8, so Vector could not record and revert the change. Rename \
         it or move it away first.",
        inside.unwrap_or(path).display()
    )
}

/// Reads the current content of a file.
fn read_content(file: &Path) -> Result<FileContent, Refusal> {
    let failed = |why| Refusal(format!("{} cannot be read: {why}.", file.display()));
    let about = fs::symlink_metadata(file).map_err(failed)?;
    if !about.is_file() {
        return refuse!("{} is no longer a file.", file.display());
    }
    let bytes = fs::read(file).map_err(failed)?;
    Ok(FileContent { bytes, mode: Some(super::journal::file_mode(&about)) })
}

/// Returns the hash of a file's content as the plan read it.
pub(super) fn hash_content(content: Option<&FileContent>) -> Option<Fingerprint> {
    content.map(|content| Fingerprint::hash_bytes(&content.bytes))
}
