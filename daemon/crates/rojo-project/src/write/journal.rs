//! Steps: changes of several files that are applied together or not at all.
//!
//! The journal of a step records every file before the first one is touched, with its content
//! before and after. The ledger keeps the contents by hash. So the next process can revert a step
//! that was interrupted, and a completed step can be reverted later.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use serde::{Deserialize, Serialize};
use tempfile::TempPath;
use vector_files::disk;
use vector_files::held::{persist_over, retry_while_held};

use super::case_rename::CaseVariants;
use super::files::{PlannedChanges, hash_content};
use super::rollback::RollbackFailure;

/// The content and permissions of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileContent {
    pub(crate) bytes: Vec<u8>,
    /// The Unix permissions; None on other systems and for new files with default permissions.
    pub(super) mode: Option<u32>,
}

/// A change of one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileChange {
    pub(crate) path: PathBuf,
    pub(super) before: Option<FileContent>,
    pub(crate) after: Option<FileContent>,
}

/// The record of a step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StepJournal {
    pub files: Vec<JournalFile>,
    /// The folders to create, parents before children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<PathBuf>,
    /// The folders to remove, parents after children.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<PathBuf>,
    /// The temporary files with the new contents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub temporary: Vec<PathBuf>,
    /// The prefix of the names of the step's temporary files.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mark: String,
}

/// A file in the record of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalFile {
    pub path: PathBuf,
    /// The previous content; None if the file did not exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<StoredContent>,
    /// The new content; None if the file is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<StoredContent>,
}

/// A file content that the ledger keeps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredContent {
    pub hash: Fingerprint,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// A step with its serialized record. A step whose record cannot be serialized is never started.
#[derive(Debug)]
pub(crate) struct JournalRecord {
    pub(super) step: StepJournal,
    bytes: Vec<u8>,
}

impl JournalRecord {
    fn new(step: StepJournal) -> io::Result<Self> {
        let bytes = serde_json::to_vec(&step)?;
        Ok(Self { step, bytes })
    }

    /// Returns the record as the ledger keeps it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }
}

/// A step that is ready to be performed: the new contents are in synced temporary files.
#[derive(Debug)]
pub(crate) struct ReadyStep {
    pub(crate) journal: JournalRecord,
    changes: PlannedChanges,
    /// The temporary file for each change; None if the file is removed.
    temporary: Vec<Option<TempPath>>,
}

impl ReadyStep {
    /// Stores the new contents in temporary files. Their names begin with a mark of the step, so
    /// they can be found even if a crash occurs before the record is kept.
    ///
    /// # Errors
    /// Fails if a file cannot be written, or if the record cannot be serialized because it holds a
    /// path that is not UTF-8. Nothing is left on the disk.
    pub(crate) fn store_temporary(changes: PlannedChanges, mark: &str) -> io::Result<Self> {
        let mut temporary = Vec::with_capacity(changes.files.len());
        let twins = changes.case_variants();
        for change in &changes.files {
            let stored = change.after.as_ref().map(|after| {
                let location = temporary_path(&change.path, &changes.removed_folders, &twins);
                let file = disk::write_marked(&location, mark, [&after.bytes[..]])?;
                set_mode(file.path(), after.mode)?;
                Ok::<_, io::Error>(file.into_temp_path())
            });
            temporary.push(stored.transpose()?);
        }
        let kept = |content: &FileContent| StoredContent {
            hash: Fingerprint::hash_bytes(&content.bytes),
            mode: content.mode,
        };
        let noted = |change: &FileChange| JournalFile {
            path: change.path.clone(),
            before: change.before.as_ref().map(kept),
            after: change.after.as_ref().map(kept),
        };
        let journal = StepJournal {
            files: changes.files.iter().map(noted).collect(),
            made: missing_folders(&changes, &twins),
            gone: changes.removed_folders.clone(),
            temporary: temporary.iter().flatten().map(|it| it.to_path_buf()).collect(),
            mark: mark.to_owned(),
        };
        Ok(Self { journal: JournalRecord::new(journal)?, changes, temporary })
    }

    /// Returns what the ledger keeps of the step: its record and the previous contents of the
    /// files.
    pub(crate) fn ledger_blobs(&self) -> Vec<Vec<u8>> {
        let before = self.changes.files.iter().filter_map(|it| it.before.as_ref());
        let mut blobs: Vec<Vec<u8>> = before.map(|it| it.bytes.clone()).collect();
        blobs.push(self.journal.to_bytes());
        blobs
    }

    /// Returns the first file that has changed since the step was planned.
    pub(crate) fn first_changed_file(&self) -> Option<PathBuf> {
        let twins = self.changes.case_variants();
        let current = |file: &Path| hash_file(file, &twins).ok().flatten();
        let is_other =
            |change: &&FileChange| current(&change.path) != hash_content(change.before.as_ref());
        self.changes.files.iter().find(is_other).map(|change| change.path.clone())
    }

    /// Performs the step on the disk.
    ///
    /// # Errors
    /// Fails if an action fails. The actions before it are rolled back as far as possible.
    pub(crate) fn perform(mut self) -> Result<DoneStep, Box<FailedStep>> {
        let temporary = std::mem::take(&mut self.temporary);
        let done = self.replace_files(temporary);
        let step = DoneStep(self);
        match done {
            Ok(()) => Ok(step),
            Err(why) => {
                let left = step.roll_back().err();
                Err(Box::new(FailedStep { why, left, step }))
            }
        }
    }

    fn replace_files(&self, temporary: Vec<Option<TempPath>>) -> io::Result<()> {
        for act in self.disk_actions(temporary) {
            act.perform()?;
        }
        self.journal.step.sync_folders();
        Ok(())
    }

    /// Returns the actions in order: removed files make room for new folders, and new folders for
    /// new files.
    fn disk_actions(
        &self,
        temporary: Vec<Option<TempPath>>,
    ) -> impl Iterator<Item = DiskAction<'_>> {
        let removed = self.changes.files.iter().filter(|it| it.after.is_none());
        let removed = removed.map(|change| DiskAction::RemoveFile(change.path.as_path()));
        let gone = self
            .changes
            .removed_folders
            .iter()
            .map(|folder| DiskAction::RemoveFolder(folder.as_path()));
        let made =
            self.journal.step.made.iter().map(|folder| DiskAction::MakeFolder(folder.as_path()));
        let put = self.changes.files.iter().zip(temporary);
        let put = put.filter_map(|(change, file)| Some(DiskAction::PlaceFile(file?, &change.path)));
        removed.chain(gone).chain(made).chain(put)
    }

    /// Returns the number of actions of the step.
    #[cfg(test)]
    pub(super) fn acts_in_all(&self) -> usize {
        let step = &self.journal.step;
        step.files.len() + step.made.len() + step.gone.len()
    }

    /// Stops after some actions without any cleanup, like a crash.
    #[cfg(test)]
    pub(super) fn go_until(mut self, stop: usize) {
        let temporary = std::mem::take(&mut self.temporary);
        for (at, act) in self.disk_actions(temporary).enumerate() {
            match act {
                act if at < stop => act.perform().unwrap(),
                DiskAction::PlaceFile(file, _) => drop(file.keep().unwrap()),
                _ => {}
            }
        }
    }
}

enum DiskAction<'a> {
    RemoveFile(&'a Path),
    RemoveFolder(&'a Path),
    MakeFolder(&'a Path),
    PlaceFile(TempPath, &'a Path),
}

impl DiskAction<'_> {
    fn perform(self) -> io::Result<()> {
        match self {
            Self::RemoveFile(file) => retry_while_held(file, || fs::remove_file(file)),
            // Keep the folder if another process has put something into it.
            Self::RemoveFolder(folder) => {
                let _ = fs::remove_dir(folder);
                Ok(())
            }
            Self::MakeFolder(folder) => match fs::create_dir(folder) {
                Err(why) if why.kind() != io::ErrorKind::AlreadyExists => Err(why),
                _ => Ok(()),
            },
            Self::PlaceFile(file, to) => persist_over(file, to),
        }
    }
}

/// A step that was performed and can still be rolled back.
#[derive(Debug)]
pub(crate) struct DoneStep(ReadyStep);

impl DoneStep {
    /// Rolls the step back. Another call continues with what could not be restored.
    pub(crate) fn roll_back(&self) -> Result<(), RollbackFailure> {
        let before = |noted: &JournalFile| {
            let change = self.0.changes.files.iter().find(|change| change.path == noted.path);
            change.and_then(|change| change.before.as_ref()).map(|it| it.bytes.clone())
        };
        self.0.journal.step.roll_back(before)
    }
}

/// A step that could not be performed.
#[derive(Debug)]
pub(crate) struct FailedStep {
    pub(crate) why: io::Error,
    /// The parts that could not be rolled back; None if the rollback is complete.
    pub(crate) left: Option<RollbackFailure>,
    /// The step, to retry the rollback.
    pub(crate) step: DoneStep,
}

impl StepJournal {
    /// Parses a record from the ledger; None if the bytes are not a record.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// Returns the paths of the step that differ only by case.
    pub(super) fn case_variants(&self) -> CaseVariants {
        let files = self.files.iter().map(|it| &it.path);
        CaseVariants::from_paths(files.chain(&self.made).chain(&self.gone).map(PathBuf::as_path))
    }

    /// Returns the blobs that are needed from the ledger to revert the step.
    pub fn required_blobs(&self) -> impl Iterator<Item = &Fingerprint> {
        self.files.iter().filter_map(|it| it.before.as_ref()).map(|kept| &kept.hash)
    }

    /// Removes temporary files that a terminated process left behind.
    pub fn sweep_temporary(&self) {
        for file in &self.temporary {
            let _ = fs::remove_file(file);
        }
    }

    /// Syncs the parent folders, because a rename is durable only then. Systems that cannot sync a
    /// folder skip this.
    pub(super) fn sync_folders(&self) {
        let parents = self.files.iter().filter_map(|it| it.path.parent());
        let mut folders: Vec<&Path> = parents.collect();
        folders.extend(self.made.iter().chain(&self.gone).filter_map(|it| it.parent()));
        folders.sort_unstable();
        folders.dedup();
        for folder in folders {
            if let Ok(folder) = File::open(folder) {
                let _ = folder.sync_all();
            }
        }
    }
}

/// Returns the hash of a file; None if no file with exactly this name exists.
///
/// # Errors
/// Fails if the file exists and cannot be read.
pub(super) fn hash_file(file: &Path, twins: &CaseVariants) -> io::Result<Option<Fingerprint>> {
    if !twins.has_exact_name(file) {
        return Ok(None);
    }
    match disk::hash_file(file) {
        Ok(hash) => Ok(Some(hash)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        // A file is in the place of its parent folder, or a folder in its own place.
        Err(why) if why.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(_) if file.is_dir() => Ok(None),
        Err(why) => Err(why),
    }
}

/// Returns a path in the nearest parent folder that exists and is not removed.
fn temporary_path(path: &Path, gone: &[PathBuf], twins: &CaseVariants) -> PathBuf {
    let is_kept = |folder: &&Path| twins.is_folder(folder) && !gone.iter().any(|it| it == folder);
    let folder = path.ancestors().skip(1).find(is_kept).unwrap_or(Path::new("."));
    // The name does not exist, so that no permissions are copied from it; the mode is set
    // separately.
    folder.join(".vector-new")
}

/// Returns the folders that have to be created, including missing parents.
fn missing_folders(changes: &PlannedChanges, twins: &CaseVariants) -> Vec<PathBuf> {
    let parents =
        changes.files.iter().filter(|it| it.after.is_some()).filter_map(|it| it.path.parent());
    let wanted = parents.chain(changes.new_folders.iter().map(PathBuf::as_path));
    let is_missing = |folder: &&Path| {
        !twins.is_folder(folder) || changes.removed_folders.iter().any(|it| it == folder)
    };
    let mut missing: Vec<PathBuf> = wanted
        .flat_map(|folder| folder.ancestors().take_while(is_missing))
        .map(Path::to_owned)
        .collect();
    missing.sort();
    missing.dedup();
    missing
}

/// Returns the permission bits of a file.
#[cfg(unix)]
pub(super) fn file_mode(about: &fs::Metadata) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    about.permissions().mode() & 0o7777
}

#[cfg(not(unix))]
pub(super) fn file_mode(_: &fs::Metadata) -> u32 {
    0
}

#[cfg(unix)]
pub(super) fn set_mode(file: &Path, mode: Option<u32>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    match mode {
        Some(mode) => fs::set_permissions(file, fs::Permissions::from_mode(mode)),
        None => Ok(()),
    }
}

#[cfg(not(unix))]
pub(super) fn set_mode(_: &Path, _: Option<u32>) -> io::Result<()> {
    Ok(())
}
