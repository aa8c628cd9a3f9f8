//! Changes of several files, as one step that is done or not.
//!
//! What a step will do is written down before the first file is touched: every file with what it was
//! and what it becomes. Contents are kept by their hashes, with the ledger. So a step that was cut off
//! can be reverted by the next process, and one that was done can be reverted later.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use scene_schemas::Fingerprint;
use serde::{Deserialize, Serialize};
use tempfile::TempPath;
use vector_files::disk;

use super::case_rename::CaseVariants;
use super::files::{PlannedChanges, hash_content};
use super::rollback::RollbackFailure;

/// What a file holds, and who may read and write it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileContent {
    pub(crate) bytes: Vec<u8>,
    /// The permissions of Unix, nothing elsewhere; none where they are what new files have.
    pub(super) mode: Option<u32>,
}

/// What becomes of a file.
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
    /// Folders that are made, a parent before what is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<PathBuf>,
    /// Folders that go, a parent behind what is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gone: Vec<PathBuf>,
    /// The temporary files that hold what is new.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub temporary: Vec<PathBuf>,
    /// What the names of temporary files of the step begin with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mark: String,
}

/// A file in the record of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JournalFile {
    pub path: PathBuf,
    /// What it was; none where it was not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<StoredContent>,
    /// What it becomes; none where it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<StoredContent>,
}

/// A content that the ledger has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StoredContent {
    pub hash: Fingerprint,
    /// The permissions of Unix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// A record that the ledger can keep. A step whose record cannot be written down is never begun.
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

    /// The record as the ledger keeps it.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }
}

/// A step that is ready: what is new stands in synced temporary files.
#[derive(Debug)]
pub(crate) struct ReadyStep {
    pub(crate) journal: JournalRecord,
    changes: PlannedChanges,
    /// For each change, the temporary file; none where the file goes.
    temporary: Vec<Option<TempPath>>,
}

impl ReadyStep {
    /// Stores what is new in temporary files, whose names begin with a mark of the step: so they are
    /// found though a crash comes before the record is kept.
    ///
    /// # Errors
    /// Something cannot be written, or the record cannot: it holds a path that is no UTF-8. Nothing is
    /// left on the disk.
    pub(crate) fn store_temporary(changes: PlannedChanges, mark: &str) -> io::Result<Self> {
        let mut temporary = Vec::with_capacity(changes.files.len());
        let twins = changes.case_variants();
        for change in &changes.files {
            let stored = change.after.as_ref().map(|after| {
                let beside = temporary_path(&change.path, &changes.removed_folders, &twins);
                let file = disk::write_marked(&beside, mark, [&after.bytes[..]])?;
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

    /// Everything that the ledger keeps of the step: its record, and what the files were.
    pub(crate) fn ledger_blobs(&self) -> Vec<Vec<u8>> {
        let before = self.changes.files.iter().filter_map(|it| it.before.as_ref());
        let mut blobs: Vec<Vec<u8>> = before.map(|it| it.bytes.clone()).collect();
        blobs.push(self.journal.to_bytes());
        blobs
    }

    /// The first file that is not what it was when the step was planned.
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
    /// It was not done; what had been done of it was taken back, as far as that was possible.
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

    /// What is done, in order: files that go make room for folders that come, and these for files.
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

    /// How many acts the step has.
    #[cfg(test)]
    pub(super) fn acts_in_all(&self) -> usize {
        let step = &self.journal.step;
        step.files.len() + step.made.len() + step.gone.len()
    }

    /// Is cut off after some acts, as by a crash: nothing is tidied up.
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

/// One thing that is done to the disk.
enum DiskAction<'a> {
    RemoveFile(&'a Path),
    RemoveFolder(&'a Path),
    MakeFolder(&'a Path),
    PlaceFile(TempPath, &'a Path),
}

impl DiskAction<'_> {
    fn perform(self) -> io::Result<()> {
        match self {
            Self::RemoveFile(file) => fs::remove_file(file),
            // What somebody has put there meanwhile stays.
            Self::RemoveFolder(folder) => {
                let _ = fs::remove_dir(folder);
                Ok(())
            }
            Self::MakeFolder(folder) => match fs::create_dir(folder) {
                Err(why) if why.kind() != io::ErrorKind::AlreadyExists => Err(why),
                _ => Ok(()),
            },
            Self::PlaceFile(file, to) => file.persist(to).map_err(|error| error.error),
        }
    }
}

/// A step that was done, and can still be taken back at once.
#[derive(Debug)]
pub(crate) struct DoneStep(ReadyStep);

impl DoneStep {
    /// Takes it back. Running it again goes on with what could not be.
    pub(crate) fn roll_back(&self) -> Result<(), RollbackFailure> {
        let before = |noted: &JournalFile| {
            let change = self.0.changes.files.iter().find(|change| change.path == noted.path);
            change.and_then(|change| change.before.as_ref()).map(|it| it.bytes.clone())
        };
        self.0.journal.step.roll_back(before)
    }
}

/// A step that could not be done.
#[derive(Debug)]
pub(crate) struct FailedStep {
    pub(crate) why: io::Error,
    /// What could not be taken back of it, where there is any.
    pub(crate) left: Option<RollbackFailure>,
    /// The step, by which that can be tried again.
    pub(crate) step: DoneStep,
}

impl StepJournal {
    /// Reads a record that the ledger kept; none where it is something else.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    /// The paths of the step that differ by case alone.
    pub(super) fn case_variants(&self) -> CaseVariants {
        let files = self.files.iter().map(|it| &it.path);
        CaseVariants::from_paths(files.chain(&self.made).chain(&self.gone).map(PathBuf::as_path))
    }

    /// What has to be fetched from the ledger to take the step back.
    pub fn required_blobs(&self) -> impl Iterator<Item = &Fingerprint> {
        self.files.iter().filter_map(|it| it.before.as_ref()).map(|kept| &kept.hash)
    }

    /// Takes away the temporary files that a stopped process has left.
    pub fn sweep_temporary(&self) {
        for file in &self.temporary {
            let _ = fs::remove_file(file);
        }
    }

    /// Renames are on the disk when their folders are. Systems that cannot sync a folder do without.
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

/// The hash of a file as it is; none where there is no file that is called so.
///
/// # Errors
/// It is there and cannot be read.
pub(super) fn hash_file(file: &Path, twins: &CaseVariants) -> io::Result<Option<Fingerprint>> {
    if !twins.has_exact_name(file) {
        return Ok(None);
    }
    match disk::hash_file(file) {
        Ok(hash) => Ok(Some(hash)),
        Err(why) if why.kind() == io::ErrorKind::NotFound => Ok(None),
        // A file where its folder was, or a folder in its own place.
        Err(why) if why.kind() == io::ErrorKind::NotADirectory => Ok(None),
        Err(_) if file.is_dir() => Ok(None),
        Err(why) => Err(why),
    }
}

/// A path in the nearest folder that is there and stays.
fn temporary_path(path: &Path, gone: &[PathBuf], twins: &CaseVariants) -> PathBuf {
    let stays = |folder: &&Path| twins.is_folder(folder) && !gone.iter().any(|it| it == folder);
    let folder = path.ancestors().skip(1).find(stays).unwrap_or(Path::new("."));
    // Permissions are given apart.
    folder.join(".vector-new")
}

/// The folders that have to be made, those on the way included.
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

/// Who may read and write a file, where that is a number.
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
